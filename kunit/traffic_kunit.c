// SPDX-License-Identifier: GPL-2.0
/*
 * memtb_traffic: every design under traffic from all processors at once.
 *
 * How long a case takes is a number of laps, each up to 64 objects.  With one
 * processor the threads take turns, and interrupts come all the same.
 */
#include "traffic.h"

static const void *memtb_traffic_any(const void *prev, char *desc)
{
	return memtb_design_next(prev, desc, MEMTB_STORES, false);
}

static const void *memtb_traffic_tuned(const void *prev, char *desc)
{
	return memtb_design_next(prev, desc, MEMTB_STORES, true);
}

static void objects_are_freed_elsewhere(struct kunit *test)
{
	struct memtb_traffic *t;

	t = memtb_traffic_start(test, memtb_traffic_singles, NULL);
	if (!t)
		return;
	memtb_traffic_run(t, 400);
	memtb_traffic_end(test, t);
}

/*
 * An interrupt has to come between two instructions, so that many laps are needed;
 * KCSAN, which takes its time over each, needs no such luck.
 */
static void interrupts_meet_small_objects(struct kunit *test)
{
	const unsigned int laps = IS_ENABLED(CONFIG_KCSAN) ? 400 : 4000;
	struct memtb_traffic *t;

	t = memtb_traffic_start(test, memtb_traffic_singles, NULL);
	if (!t)
		return;
	WRITE_ONCE(t->narrow, true);
	memtb_traffic_run(t, laps);
	memtb_traffic_end(test, t);
}

static void bulks_come_and_go_at_once(struct kunit *test)
{
	struct memtb_traffic *t;

	t = memtb_traffic_start(test, memtb_traffic_bulks, NULL);
	if (!t)
		return;
	memtb_traffic_run(t, 400);
	memtb_traffic_end(test, t);
}

static void shrinking_meets_traffic(struct kunit *test)
{
	struct memtb_traffic *t;
	int i;

	t = memtb_traffic_start(test, memtb_traffic_singles, NULL);
	if (!t)
		return;
	for (i = 0; i < 12; i++) {
		memtb_traffic_run(t, 8);
		memtb_heap_shrink(t->heap);
		KUNIT_EXPECT_EQ(test, memtb_heap_check(t->heap), 0);
	}
	memtb_traffic_end(test, t);
}

static void tuning_meets_traffic(struct kunit *test)
{
	struct memtb_traffic *t;
	int i;

	t = memtb_traffic_start(test, memtb_traffic_singles, NULL);
	if (!t)
		return;
	for (i = 0; i < 24; i++) {
		memtb_traffic_run(t, 10);
		KUNIT_EXPECT_EQ(test, memtb_traffic_tune(t, i), 0);
	}
	memtb_traffic_end(test, t);
}

static void tuning_meets_bulks(struct kunit *test)
{
	struct memtb_traffic *t;
	int i;

	t = memtb_traffic_start(test, memtb_traffic_bulks, NULL);
	if (!t)
		return;
	WRITE_ONCE(t->narrow, true);
	for (i = 0; i < 40; i++) {
		memtb_traffic_run(t, 10);
		KUNIT_EXPECT_EQ(test, memtb_traffic_tune(t, i), 0);
	}
	memtb_traffic_end(test, t);
}

static void caches_come_and_go_beside_traffic(struct kunit *test)
{
	struct memtb_traffic_worker *visitor;
	struct memtb_traffic *t;

	t = memtb_traffic_start(test, memtb_traffic_singles,
				memtb_traffic_visit);
	if (!t)
		return;
	visitor = &t->worker[t->nr];
	while (READ_ONCE(visitor->laps) < 8)
		memtb_traffic_run(t, 10);
	memtb_traffic_end(test, t);
}

static struct kunit_case memtb_traffic_cases[] = {
	KUNIT_CASE_PARAM(objects_are_freed_elsewhere, memtb_traffic_any),
	KUNIT_CASE_PARAM(interrupts_meet_small_objects, memtb_traffic_any),
	KUNIT_CASE_PARAM(bulks_come_and_go_at_once, memtb_traffic_any),
	KUNIT_CASE_PARAM(shrinking_meets_traffic, memtb_traffic_any),
	KUNIT_CASE_PARAM(tuning_meets_traffic, memtb_traffic_tuned),
	KUNIT_CASE_PARAM(tuning_meets_bulks, memtb_traffic_tuned),
	KUNIT_CASE_PARAM(caches_come_and_go_beside_traffic, memtb_traffic_any),
	{}
};

static struct kunit_suite memtb_traffic_suite = {
	.name = "memtb_traffic",
	.test_cases = memtb_traffic_cases,
};
kunit_test_suite(memtb_traffic_suite);
