/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Traffic: threads on all processors that allocate, and free what others have
 * allocated, while interrupts do the same and a test does something else.
 */
#ifndef MEMTB_KUNIT_TRAFFIC_H
#define MEMTB_KUNIT_TRAFFIC_H

#include <kunit/test.h>
#include <linux/hrtimer.h>
#include <linux/prandom.h>

#include "design.h"

#define MEMTB_TRAFFIC_SIZES	4
/* More than a batch of any design, so that each of its storeys is reached. */
#define MEMTB_TRAFFIC_SLOTS	64
#define MEMTB_TRAFFIC_CPUS	8
#define MEMTB_TRAFFIC_POCKET	5

/* What an object of the traffic begins with; the rest is filled. */
struct memtb_traffic_head {
	struct memtb_cache *cache;
	u32 size;
	u32 fill;
};

struct memtb_traffic;

/**
 * struct memtb_traffic_worker - one of the threads
 * @t: the whole
 * @task: the thread
 * @lap: what it does again and again
 * @cpu: where it is wanted; negative if anywhere
 * @laps: how often it did
 * @passed: objects of its predecessor that it freed
 * @rnd: its dice
 * @timer: interrupts it, once a lap
 * @box: objects for its successor
 * @hand: objects it is about to free
 */
struct memtb_traffic_worker {
	struct memtb_traffic *t;
	struct task_struct *task;
	void (*lap)(struct memtb_traffic_worker *w);
	int cpu;
	unsigned long laps;
	unsigned long passed;
	struct rnd_state rnd;
	struct hrtimer timer;
	struct memtb_traffic_head *box[MEMTB_TRAFFIC_SLOTS];
	struct memtb_traffic_head *hand[MEMTB_TRAFFIC_SLOTS];
};

/**
 * struct memtb_traffic - a heap and who works on it
 * @heap: of the design of the test's parameter
 * @cache: objects of several sizes, "traffic-0" and so on
 * @narrow: whether only the first of them, which are small, are in use: then
 *	most of the time goes into allocating and freeing
 * @nr: number of workers that pass objects on
 * @worker: they stand in a ring; behind them a place for one that disturbs
 * @pocket: what interrupts hold, by processor
 * @ticks: number of interrupts
 * @fault: what went wrong, or NULL
 */
struct memtb_traffic {
	struct memtb_heap *heap;
	struct memtb_cache *cache[MEMTB_TRAFFIC_SIZES];
	bool narrow;
	unsigned int nr;
	struct memtb_traffic_worker worker[MEMTB_TRAFFIC_CPUS + 1];
	struct memtb_traffic_head *
		pocket[MEMTB_TRAFFIC_CPUS][MEMTB_TRAFFIC_POCKET];
	atomic_t ticks;
	const char *fault;
};

/* Laps of a worker. */
void memtb_traffic_singles(struct memtb_traffic_worker *w);
void memtb_traffic_bulks(struct memtb_traffic_worker *w);
struct memtb_cache *memtb_traffic_come(struct memtb_traffic_worker *w);
void memtb_traffic_go(struct memtb_traffic_worker *w,
		      struct memtb_cache *cache);
void memtb_traffic_visit(struct memtb_traffic_worker *w);

struct memtb_traffic *
memtb_traffic_start(struct kunit *test,
		    void (*lap)(struct memtb_traffic_worker *w),
		    void (*disturb)(struct memtb_traffic_worker *w));
void memtb_traffic_run(struct memtb_traffic *t, unsigned long laps);
int memtb_traffic_tune(struct memtb_traffic *t, unsigned int i);
void memtb_traffic_end(struct kunit *test, struct memtb_traffic *t);

#endif /* MEMTB_KUNIT_TRAFFIC_H */
