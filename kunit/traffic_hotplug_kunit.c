// SPDX-License-Identifier: GPL-2.0
/*
 * memtb_traffic_hotplug: a processor goes and comes back under traffic.
 */
#include <linux/cpu.h>
#include <linux/delay.h>
#include <linux/kthread.h>

#include "traffic.h"

static const void *memtb_hotplug_any(const void *prev, char *desc)
{
	return memtb_design_next(prev, desc, MEMTB_STORES, false);
}

/*
 * The whole time: caches come and go, stores are exchanged, pages go home.  A
 * processor is to go while a cache has free objects there, so that comes where
 * most time is spent.
 */
static void memtb_hotplug_disturb(struct memtb_traffic_worker *w)
{
	struct memtb_cache *cache;

	memtb_heap_shrink(w->t->heap);
	cache = memtb_traffic_come(w);
	if (w->t->heap->backend->tune && memtb_traffic_tune(w->t, w->laps))
		WRITE_ONCE(w->t->fault, "a cache could not be tuned");
	usleep_range(2000, 4000);
	memtb_traffic_go(w, cache);
}

static void memtb_hotplug_park(struct memtb_traffic *t, unsigned int cpu)
{
	unsigned int i;

	for (i = 0; i < t->nr; i++)
		if (t->worker[i].cpu == cpu)
			kthread_park(t->worker[i].task);
}

/* Those that were parked, and those that were moved away. */
static void memtb_hotplug_back(struct kunit *test, struct memtb_traffic *t,
			       unsigned int cpu)
{
	unsigned int i;

	for (i = 0; i < t->nr; i++) {
		struct memtb_traffic_worker *w = &t->worker[i];

		if (w->cpu != cpu)
			continue;
		KUNIT_EXPECT_EQ(test, set_cpus_allowed_ptr(w->task,
							   cpumask_of(cpu)), 0);
		kthread_unpark(w->task);
	}
}

/* One processor is away for a while.  Whether it came back. */
static bool memtb_hotplug_round(struct kunit *test, struct memtb_traffic *t,
				unsigned int cpu, bool park)
{
	int err;

	if (park)
		memtb_hotplug_park(t, cpu);
	err = remove_cpu(cpu);
	KUNIT_EXPECT_EQ(test, err, 0);
	if (!err) {
		memtb_traffic_run(t, 20);
		KUNIT_EXPECT_EQ(test, memtb_heap_check(t->heap), 0);
		err = add_cpu(cpu);
		KUNIT_EXPECT_EQ(test, err, 0);
	}
	if (!err)
		memtb_hotplug_back(test, t, cpu);
	memtb_traffic_run(t, 20);
	return !err;
}

/* The end comes while a processor is away: what it had must be home. */
static void memtb_hotplug_end(struct kunit *test, struct memtb_traffic *t)
{
	unsigned int cpu = cpumask_next(0, cpu_online_mask);
	int err = -ENODEV;

	if (cpu < nr_cpu_ids) {
		err = remove_cpu(cpu);
		KUNIT_EXPECT_EQ(test, err, 0);
	}
	memtb_traffic_end(test, t);
	if (!err)
		KUNIT_EXPECT_EQ(test, add_cpu(cpu), 0);
}

/* The first processor stays; with one processor there is traffic only. */
static void a_processor_goes_and_comes_back(struct kunit *test)
{
	unsigned int round, cpu = 0;
	struct memtb_traffic *t;

	t = memtb_traffic_start(test, memtb_traffic_singles,
				memtb_hotplug_disturb);
	if (!t)
		return;
	memtb_traffic_run(t, 20);
	for (round = 0; round < 4; round++) {
		cpu = cpumask_next(cpu, cpu_online_mask);
		if (cpu >= nr_cpu_ids)
			cpu = cpumask_next(0, cpu_online_mask);
		if (cpu >= nr_cpu_ids ||
		    !memtb_hotplug_round(test, t, cpu, round & 1))
			break;
	}
	memtb_hotplug_end(test, t);
}

static struct kunit_case memtb_traffic_hotplug_cases[] = {
	KUNIT_CASE_PARAM(a_processor_goes_and_comes_back, memtb_hotplug_any),
	{}
};

static struct kunit_suite memtb_traffic_hotplug_suite = {
	.name = "memtb_traffic_hotplug",
	.test_cases = memtb_traffic_hotplug_cases,
};
kunit_test_suite(memtb_traffic_hotplug_suite);
