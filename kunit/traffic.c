// SPDX-License-Identifier: GPL-2.0
/*
 * The threads of the traffic suites.
 *
 * They stand in a ring, each pinned to a processor, neighbours to different
 * ones where there are several.  Each fills what it allocates, puts it into its
 * box, and verifies and frees what it finds in the box of the one before it.
 * An exchange of the slot's content is all that they agree upon.
 */
#include <linux/delay.h>
#include <linux/kthread.h>
#include <linux/smp.h>

#include "conformance.h"
#include "traffic.h"

#define MEMTB_TRAFFIC_SEED	20051227
/* The largest blocks have pages of their own in every design. */
#define MEMTB_TRAFFIC_BLOCK	10000

/* ---- objects ---- */

static void memtb_traffic_fault(struct memtb_traffic *t, const char *fault)
{
	WRITE_ONCE(t->fault, fault);
}

static void memtb_traffic_fill(struct memtb_traffic_head *head,
			       struct memtb_cache *cache, size_t size, u8 fill)
{
	head->cache = cache;
	head->size = size;
	head->fill = fill;
	memset(head + 1, fill, size - sizeof(*head));
}

/* Which of the caches, or the blocks. */
static unsigned int memtb_traffic_what(struct memtb_traffic *t, u32 draw,
				       unsigned int nr)
{
	return READ_ONCE(t->narrow) ? 0 : draw % nr;
}

/* @i is the number of a cache; behind the last are blocks. */
static struct memtb_traffic_head *
memtb_traffic_alloc(struct memtb_traffic *t, unsigned int i, u32 draw,
		    gfp_t gfp)
{
	struct memtb_cache *cache = i < MEMTB_TRAFFIC_SIZES ? t->cache[i] :
							      NULL;
	struct memtb_traffic_head *head;
	size_t size;

	size = cache ? cache->size : sizeof(*head) + (draw >> 8) %
				     (draw & 7 ? 600 : MEMTB_TRAFFIC_BLOCK);
	gfp |= __GFP_NOWARN;
	head = cache ? memtb_cache_alloc(cache, gfp, NUMA_NO_NODE) :
		       memtb_alloc(t->heap, size, gfp, NUMA_NO_NODE);
	if (head)
		memtb_traffic_fill(head, cache, size, draw);
	return head;
}

/* Its content is trusted only if all of it is right. */
static bool memtb_traffic_intact(struct memtb_traffic *t,
				 struct memtb_traffic_head *head)
{
	size_t size = head->cache ? head->cache->size : head->size;

	if (size == head->size && head->fill <= 0xff &&
	    !memchr_inv(head + 1, head->fill, size - sizeof(*head)))
		return true;
	memtb_traffic_fault(t, "an object changed while it was allocated");
	return false;
}

static void memtb_traffic_free(struct memtb_traffic *t,
			       struct memtb_traffic_head *head)
{
	if (!head || !memtb_traffic_intact(t, head))
		return;
	if (head->cache)
		memtb_cache_free(head->cache, head);
	else
		memtb_free(t->heap, head);
}

/* ---- what workers do ---- */

static struct memtb_traffic_worker *
memtb_traffic_before(struct memtb_traffic_worker *w)
{
	unsigned int i = w - w->t->worker;

	return &w->t->worker[(i ?: w->t->nr) - 1];
}

/* Into the own box; what nobody took is in the hand then. */
static void memtb_traffic_give(struct memtb_traffic_worker *w, unsigned int nr)
{
	unsigned int i;

	for (i = 0; i < nr; i++)
		w->hand[i] = xchg(&w->box[i], w->hand[i]);
}

static void memtb_traffic_take(struct memtb_traffic_worker *w)
{
	struct memtb_traffic_worker *before = memtb_traffic_before(w);
	unsigned int i;

	for (i = 0; i < MEMTB_TRAFFIC_SLOTS; i++) {
		w->hand[i] = xchg(&before->box[i], NULL);
		w->passed += !!w->hand[i];
	}
}

static void memtb_traffic_drop(struct memtb_traffic_worker *w, unsigned int nr)
{
	unsigned int i;

	for (i = 0; i < nr; i++)
		memtb_traffic_free(w->t, w->hand[i]);
}

/* Objects of one kind, one by one. */
void memtb_traffic_singles(struct memtb_traffic_worker *w)
{
	u32 draw = prandom_u32_state(&w->rnd);
	unsigned int what = memtb_traffic_what(w->t, draw >> 8,
					       MEMTB_TRAFFIC_SIZES + 1);
	unsigned int i, nr = 1 + draw % MEMTB_TRAFFIC_SLOTS;

	for (i = 0; i < nr; i++) {
		w->hand[i] = memtb_traffic_alloc(w->t, what,
						 prandom_u32_state(&w->rnd),
						 GFP_KERNEL);
		if (!w->hand[i])
			memtb_traffic_fault(w->t, "an allocation failed");
	}
	memtb_traffic_give(w, nr);
	memtb_traffic_drop(w, nr);
	memtb_traffic_take(w);
	memtb_traffic_drop(w, MEMTB_TRAFFIC_SLOTS);
}

static void memtb_traffic_drop_bulk(struct memtb_traffic_worker *w,
				    unsigned int nr)
{
	void *objs[MEMTB_TRAFFIC_SLOTS];
	unsigned int i, k, found;

	for (k = 0; k < MEMTB_TRAFFIC_SIZES; k++) {
		for (i = found = 0; i < nr; i++) {
			if (!w->hand[i] || w->hand[i]->cache != w->t->cache[k])
				continue;
			if (memtb_traffic_intact(w->t, w->hand[i]))
				objs[found++] = w->hand[i];
			w->hand[i] = NULL;
		}
		memtb_cache_free_bulk(w->t->cache[k], found, objs);
	}
	for (i = 0; i < nr; i++)
		if (w->hand[i])
			memtb_traffic_fault(w->t, "an object has lost its cache");
}

/* Objects of one cache, all at once. */
void memtb_traffic_bulks(struct memtb_traffic_worker *w)
{
	u32 draw = prandom_u32_state(&w->rnd);
	struct memtb_cache *cache =
		w->t->cache[memtb_traffic_what(w->t, draw >> 8,
					       MEMTB_TRAFFIC_SIZES)];
	unsigned int i, nr = 1 + draw % MEMTB_TRAFFIC_SLOTS;

	if (!memtb_cache_alloc_bulk(cache, GFP_KERNEL, nr, (void **)w->hand)) {
		memtb_traffic_fault(w->t, "a bulk allocation failed");
		return;
	}
	for (i = 0; i < nr; i++)
		memtb_traffic_fill(w->hand[i], cache, cache->size, draw + i);
	memtb_traffic_give(w, nr);
	memtb_traffic_drop_bulk(w, nr);
	memtb_traffic_take(w);
	memtb_traffic_drop_bulk(w, MEMTB_TRAFFIC_SLOTS);
}

/* So that each processor has something of the visiting cache at hand. */
static void memtb_traffic_touch(void *data)
{
	struct memtb_cache *cache = data;

	memtb_cache_free(cache, memtb_cache_alloc(cache,
						  GFP_ATOMIC | __GFP_NOWARN,
						  NUMA_NO_NODE));
}

static void memtb_traffic_use(struct memtb_traffic_worker *w,
			      struct memtb_cache *cache)
{
	unsigned int i;
	void *obj;

	for (i = 0; i < MEMTB_TRAFFIC_SLOTS; i++) {
		obj = memtb_cache_alloc(cache, GFP_KERNEL, NUMA_NO_NODE);
		w->hand[i] = obj;
		if (obj)
			memtb_traffic_fill(obj, cache, cache->size, i);
	}
	on_each_cpu(memtb_traffic_touch, cache, true);
	memtb_traffic_drop(w, MEMTB_TRAFFIC_SLOTS);
}

/* Another cache of the heap comes and is used. */
struct memtb_cache *memtb_traffic_come(struct memtb_traffic_worker *w)
{
	static const size_t size[] = { 40, 200, 1100, 3000 };
	struct memtb_heap *heap = w->t->heap;
	struct memtb_cache *cache;
	slab_flags_t flags = 0;

	if (w->laps & 1 && heap->backend->flags & MEMTB_RCU)
		flags = SLAB_TYPESAFE_BY_RCU;
	cache = memtb_cache_create(heap, "visitor",
				   size[w->laps / 2 % ARRAY_SIZE(size)], 0,
				   flags, NULL);
	if (IS_ERR(cache)) {
		memtb_traffic_fault(w->t, "a cache was refused");
		return NULL;
	}
	memtb_traffic_use(w, cache);
	return cache;
}

/* And goes, with what is free in it. */
void memtb_traffic_go(struct memtb_traffic_worker *w, struct memtb_cache *cache)
{
	if (cache && memtb_cache_destroy(cache))
		memtb_traffic_fault(w->t, "a cache could not be destroyed");
}

void memtb_traffic_visit(struct memtb_traffic_worker *w)
{
	memtb_traffic_go(w, memtb_traffic_come(w));
}

/* ---- interrupts ---- */

/*
 * Allocates or frees in turn, so that what it interrupts finds other numbers
 * than before.
 */
static void memtb_traffic_interrupt(struct memtb_traffic *t)
{
	unsigned int cpu = smp_processor_id() % MEMTB_TRAFFIC_CPUS, i, what;
	struct memtb_traffic_head **pocket, *head;
	u32 tick;

	tick = atomic_inc_return(&t->ticks);
	what = memtb_traffic_what(t, tick / 8, MEMTB_TRAFFIC_SIZES + 1);
	pocket = t->pocket[cpu];
	head = xchg(&pocket[0], NULL);
	if (head) {
		memtb_traffic_free(t, head);
		for (i = 1; i < MEMTB_TRAFFIC_POCKET; i++)
			memtb_traffic_free(t, xchg(&pocket[i], NULL));
		return;
	}
	for (i = MEMTB_TRAFFIC_POCKET; i--; ) {
		head = memtb_traffic_alloc(t, what, tick, GFP_ATOMIC);
		memtb_traffic_free(t, xchg(&pocket[i], head));
	}
}

static enum hrtimer_restart memtb_traffic_timer(struct hrtimer *timer)
{
	memtb_traffic_interrupt(container_of(timer, struct memtb_traffic_worker,
					     timer)->t);
	return HRTIMER_NORESTART;
}

/*
 * Somewhere in the lap that begins, or a later one: put off again and again, it
 * would never come where laps are short and timers late.
 */
static void memtb_traffic_arm(struct memtb_traffic_worker *w)
{
	u32 ns = prandom_u32_state(&w->rnd) % (50 * NSEC_PER_USEC);

	if (!hrtimer_active(&w->timer))
		hrtimer_start(&w->timer, ns_to_ktime(ns),
			      HRTIMER_MODE_REL_PINNED_HARD);
}

/* ---- the threads ---- */

/* Works until it is stopped, not before: who parks it must find it. */
static int memtb_traffic_work(void *data)
{
	struct memtb_traffic_worker *w = data;

	while (!kthread_should_stop()) {
		if (kthread_should_park())
			kthread_parkme();
		memtb_traffic_arm(w);
		w->lap(w);
		WRITE_ONCE(w->laps, w->laps + 1);
		cond_resched();
	}
	hrtimer_cancel(&w->timer);
	return 0;
}

/* ---- start and end ---- */

/* Let all begin: a busy processor takes its time. */
static void memtb_traffic_await(struct memtb_traffic *t)
{
	unsigned int i;

	for (i = 0; i < t->nr; i++)
		while (!READ_ONCE(t->worker[i].laps))
			usleep_range(20, 60);
}

static unsigned long memtb_traffic_laps(struct memtb_traffic *t)
{
	unsigned long laps = 0;
	unsigned int i;

	for (i = 0; i < t->nr; i++)
		laps += READ_ONCE(t->worker[i].laps);
	return laps;
}

/* Let all workers together run @laps more. */
void memtb_traffic_run(struct memtb_traffic *t, unsigned long laps)
{
	unsigned long until = memtb_traffic_laps(t) + laps;

	while (time_before(memtb_traffic_laps(t), until))
		usleep_range(20, 60);
}

/* Other lengths of all stores of a cache, the @i-th; as memtb_cache_tune(). */
int memtb_traffic_tune(struct memtb_traffic *t, unsigned int i)
{
	static const unsigned int to[][3] = {
		{ 1, 1, 0 }, { 120, 60, 8 }, { 7, 3, 2 }, { 40, 40, 1 },
		{ 12, 12, 0 }
	};
	const unsigned int *tune = to[i % ARRAY_SIZE(to)];
	unsigned int what = memtb_traffic_what(t, i, MEMTB_TRAFFIC_SIZES);

	return memtb_cache_tune(t->heap, t->cache[what]->name,
				tune[0], tune[1], tune[2]);
}

static const char *memtb_traffic_caches(struct memtb_traffic *t)
{
	static const size_t size[MEMTB_TRAFFIC_SIZES] = { 24, 136, 700, 3000 };
	struct memtb_cache *cache;
	char name[16];
	int i;

	for (i = 0; i < MEMTB_TRAFFIC_SIZES; i++) {
		snprintf(name, sizeof(name), "traffic-%d", i);
		cache = memtb_cache_create(t->heap, name, size[i], 0, 0, NULL);
		if (IS_ERR(cache))
			return "a cache was refused";
		t->cache[i] = cache;
		/* Small stores overflow and run dry all the time. */
		if (i & 1)
			memtb_cache_tune(t->heap, name, 8, 4, 1);
	}
	return NULL;
}

static bool memtb_traffic_hire(struct memtb_traffic *t, unsigned int i, int cpu,
			       void (*lap)(struct memtb_traffic_worker *w))
{
	struct memtb_traffic_worker *w = &t->worker[i];
	struct task_struct *task;

	task = kthread_create(memtb_traffic_work, w, "memtb_traffic/%u", i);
	if (IS_ERR(task))
		return false;
	*w = (struct memtb_traffic_worker){
		.t = t, .task = task, .lap = lap, .cpu = cpu,
	};
	prandom_seed_state(&w->rnd, MEMTB_TRAFFIC_SEED + i);
	hrtimer_init(&w->timer, CLOCK_MONOTONIC, HRTIMER_MODE_REL_PINNED_HARD);
	w->timer.function = memtb_traffic_timer;
	return cpu < 0 || !set_cpus_allowed_ptr(task, cpumask_of(cpu));
}

/* The workers, on all processors in turn: at least three, one on each. */
static const char *
memtb_traffic_hire_all(struct memtb_traffic *t,
		       void (*lap)(struct memtb_traffic_worker *w),
		       void (*disturb)(struct memtb_traffic_worker *w))
{
	unsigned int cpus = min_t(unsigned int, num_online_cpus(),
				  MEMTB_TRAFFIC_CPUS);
	int cpu = -1;
	unsigned int i;

	t->nr = cpus * DIV_ROUND_UP(3, cpus);
	for (i = 0; i < t->nr; i++) {
		cpu = cpumask_next(cpu, cpu_online_mask);
		if (cpu >= nr_cpu_ids)
			cpu = cpumask_first(cpu_online_mask);
		if (!memtb_traffic_hire(t, i, cpu, lap))
			return "no thread for the test";
	}
	if (disturb && !memtb_traffic_hire(t, t->nr, -1, disturb))
		return "no thread for the test";
	for (i = 0; i <= t->nr; i++)
		if (t->worker[i].task)
			wake_up_process(t->worker[i].task);
	memtb_traffic_await(t);
	return NULL;
}

/*
 * Traffic on a heap of the design that the test's parameter stands for, and one
 * more thread for @disturb unless that is NULL.  Nobody may leave the test
 * before memtb_traffic_end().  NULL, and the test has failed, if it cannot be.
 */
struct memtb_traffic *
memtb_traffic_start(struct kunit *test,
		    void (*lap)(struct memtb_traffic_worker *w),
		    void (*disturb)(struct memtb_traffic_worker *w))
{
	struct memtb_heap_params params = {};
	const struct memtb_backend *backend;
	struct memtb_traffic *t;

	t = kunit_kzalloc(test, sizeof(*t), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, t);
	backend = memtb_design_of(test->param_value, &params.options);
	t->heap = memtb_heap_create(backend, "traffic", &params);
	KUNIT_ASSERT_FALSE(test, IS_ERR(t->heap));
	t->fault = memtb_traffic_caches(t);
	if (!t->fault)
		t->fault = memtb_traffic_hire_all(t, lap, disturb);
	if (!t->fault)
		return t;
	memtb_traffic_end(test, t);
	return NULL;
}

static void memtb_traffic_stop(struct memtb_traffic *t)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(t->worker); i++)
		if (t->worker[i].task)
			kthread_stop(t->worker[i].task);
}

/* What is still on its way. */
static void memtb_traffic_collect(struct memtb_traffic *t)
{
	unsigned int i, k;

	for (i = 0; i < t->nr; i++)
		for (k = 0; k < MEMTB_TRAFFIC_SLOTS; k++)
			memtb_traffic_free(t, t->worker[i].box[k]);
	for (i = 0; i < MEMTB_TRAFFIC_CPUS; i++)
		for (k = 0; k < MEMTB_TRAFFIC_POCKET; k++)
			memtb_traffic_free(t, t->pocket[i][k]);
}

/* Stop all, and see that nothing was lost. */
void memtb_traffic_end(struct kunit *test, struct memtb_traffic *t)
{
	unsigned long passed = 0;
	struct memtb_stats stats;
	unsigned int i;

	memtb_traffic_stop(t);
	memtb_traffic_collect(t);
	KUNIT_EXPECT_TRUE_MSG(test, !t->fault, "%s", t->fault);
	for (i = 0; i < t->nr; i++)
		passed += t->worker[i].passed;
	KUNIT_EXPECT_GT(test, passed, 0);
	KUNIT_EXPECT_EQ(test, memtb_heap_check(t->heap), 0);
	rcu_barrier();
	memtb_heap_shrink(t->heap);
	stats = memtb_test_stats(t->heap);
	KUNIT_EXPECT_EQ(test, stats.objects_live, 0);
	KUNIT_EXPECT_EQ(test, stats.pages_now, 0);
	KUNIT_EXPECT_EQ(test, stats.v[MEMTB_STAT_BAD_FREES], 0);
	KUNIT_EXPECT_EQ(test, memtb_heap_check(t->heap), 0);
	KUNIT_EXPECT_EQ(test, memtb_heap_destroy(t->heap), 0);
}
