// SPDX-License-Identifier: GPL-2.0
/*
 * Counters.  Writers touch only their own CPU's copy; a reader sums, or takes
 * the maximum of maxima.
 */
#include <linux/export.h>
#include <linux/percpu.h>
#include <linux/string.h>

#include "heap.h"

const char * const memtb_stat_names[MEMTB_NR_STATS] = {
	[MEMTB_STAT_ALLOCS] = "allocs",
	[MEMTB_STAT_FREES] = "frees",
	[MEMTB_STAT_ALLOC_FAILED] = "alloc_failed",
	[MEMTB_STAT_BYTES_REQUESTED] = "bytes_requested",
	[MEMTB_STAT_BAD_FREES] = "bad_frees",
	[MEMTB_STAT_VIOLATIONS] = "violations",
	[MEMTB_STAT_LIST_STEPS] = "list_steps",
	[MEMTB_STAT_LIST_STEPS_MAX] = "list_steps_max",
	[MEMTB_STAT_LOCK_HOLDS] = "lock_holds",
	[MEMTB_STAT_LOCK_HOLD_NS] = "lock_hold_ns",
	[MEMTB_STAT_LOCK_HOLD_MAX_NS] = "lock_hold_max_ns",
	[MEMTB_STAT_LOCK_CONTENDED] = "lock_contended",
	[MEMTB_STAT_CPU_REFILLS] = "cpu_refills",
	[MEMTB_STAT_CPU_FLUSHES] = "cpu_flushes",
	[MEMTB_STAT_SLABS_MADE] = "slabs_made",
};
EXPORT_SYMBOL_GPL(memtb_stat_names);

int memtb_stats_init(struct memtb_heap *heap)
{
	heap->cpu = alloc_percpu(struct memtb_heap_cpu);
	return heap->cpu ? 0 : -ENOMEM;
}

void memtb_stats_exit(struct memtb_heap *heap)
{
	free_percpu(heap->cpu);
}

static bool memtb_stat_is_max(enum memtb_stat stat)
{
	return stat == MEMTB_STAT_LIST_STEPS_MAX ||
	       stat == MEMTB_STAT_LOCK_HOLD_MAX_NS;
}

u64 memtb_stat_read(struct memtb_heap *heap, enum memtb_stat stat)
{
	u64 sum = 0;
	int cpu;

	for_each_possible_cpu(cpu) {
		u64 v = READ_ONCE(per_cpu_ptr(heap->cpu, cpu)->v[stat]);

		sum = memtb_stat_is_max(stat) ? max(sum, v) : sum + v;
	}
	return sum;
}

/* Objects of a cache are counted in the cache, see object.c. */
static void memtb_stats_caches(struct memtb_heap *heap,
			       struct memtb_stats *stats)
{
	struct memtb_cache *cache;
	u64 allocs, frees;

	list_for_each_entry(cache, &heap->caches, node) {
		memtb_cache_count(cache, &allocs, &frees);
		stats->v[MEMTB_STAT_ALLOCS] += allocs;
		stats->v[MEMTB_STAT_FREES] += frees;
		stats->v[MEMTB_STAT_BYTES_REQUESTED] += allocs * cache->size;
	}
}

/**
 * memtb_heap_stats - snapshot of a heap's counters
 * @heap: the heap; may be in use
 * @stats: filled in
 *
 * Context: process, may sleep.
 */
void memtb_heap_stats(struct memtb_heap *heap, struct memtb_stats *stats)
{
	unsigned int i;

	/* A cache that is destroyed meanwhile is counted once. */
	mutex_lock(&heap->lock);
	for (i = MEMTB_NR_STATS; i-- > 0;) {
		stats->v[i] = memtb_stat_read(heap, i);
		/* Frees before allocations, of which there are never fewer. */
		smp_rmb();
	}
	memtb_stats_caches(heap, stats);
	mutex_unlock(&heap->lock);
	stats->pages_now = atomic_long_read(&heap->pages_now);
	stats->pages_desc = atomic_long_read(&heap->pages_desc);
	stats->pages_peak = atomic_long_read(&heap->pages_peak);
	stats->pages_got = atomic_long_read(&heap->pages_got);
	stats->pages_put = atomic_long_read(&heap->pages_put);
	stats->pages_failed = atomic_long_read(&heap->pages_failed);
	stats->objects_live = stats->v[MEMTB_STAT_ALLOCS] -
			      stats->v[MEMTB_STAT_FREES];
}
EXPORT_SYMBOL_GPL(memtb_heap_stats);

/**
 * memtb_heap_live - objects that are out
 * @heap: the heap; may be in use
 *
 * Context: process, may sleep.
 * Return: their number, exact only while nobody allocates or frees.
 */
u64 memtb_heap_live(struct memtb_heap *heap)
{
	struct memtb_stats stats;

	memtb_heap_stats(heap, &stats);
	return stats.objects_live;
}
