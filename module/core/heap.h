/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Heaps and caches as the core and the backends see them.
 */
#ifndef MEMTB_CORE_HEAP_H
#define MEMTB_CORE_HEAP_H

#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/percpu.h>

#include "../memtb.h"
#include "array.h"

/**
 * struct memtb_owner - what the page map says of a page
 * @heap: the heap that holds the page
 * @cache: a cache whose objects are all that lies there, and may be pushed on
 *	its arrays; otherwise NULL
 *
 * A backend that must find more than the heap from an object embeds this as
 * the first member of its own descriptor.
 */
struct memtb_owner {
	struct memtb_heap *heap;
	struct memtb_cache *cache;
};

/* Per-CPU counters of a heap; private to stats.c and memtb_stat_*(). */
struct memtb_heap_cpu {
	u64 v[MEMTB_NR_STATS];
};

/**
 * struct memtb_heap - one instance of a backend
 * @owner: what the page map holds for pages of the heap itself
 * @backend: the design
 * @params: fixed at creation
 * @name: copied at creation
 * @cpu: per-CPU counters
 * @pages_now: pages held; the budget is enforced on it
 * @pages_desc: those of them that hold descriptors
 * @pages_peak: the most that @pages_now ever was
 * @pages_got: pages received
 * @pages_put: pages given back
 * @pages_failed: requests refused
 * @page_requests: all requests, counted for fail_page
 * @caches: the caches of the heap, under @lock
 * @lock: protects @caches; taken in process context only
 * @priv: the backend's own state
 */
struct memtb_heap {
	struct memtb_owner owner;
	const struct memtb_backend *backend;
	struct memtb_heap_params params;
	char name[MEMTB_NAME_MAX + 1];
	struct memtb_heap_cpu __percpu *cpu;
	atomic_long_t pages_now;
	atomic_long_t pages_desc;
	atomic_long_t pages_peak;
	atomic_long_t pages_got;
	atomic_long_t pages_put;
	atomic_long_t pages_failed;
	atomic_long_t page_requests;
	struct list_head caches;
	struct mutex lock; /* protects caches */
	unsigned long priv[];
};

/* Per-CPU counters of a cache; only their sums mean something. */
struct memtb_cache_cpu {
	u64 allocs;
	u64 frees;
};

/**
 * struct memtb_cache - an object cache of a heap
 * @heap: whose
 * @cpu: per-CPU counters
 * @array: arrays that the core takes from and puts into, if the design has any
 * @ctor: constructor or NULL
 * @size: bytes that the user asked for per object
 * @align: alignment of each object in bytes, a power of two, at least
 *	that of a pointer
 * @flags: a mask of MEMTB_CACHE_FLAGS
 * @inner: made by the design for its own use: it serves the heap's blocks and
 *	other caches, and ends after them
 * @name: copied at creation
 * @node: in the heap's list
 * @priv: the backend's own state
 */
struct memtb_cache {
	struct memtb_heap *heap;
	struct memtb_cache_cpu __percpu *cpu;
	struct memtb_array __percpu *array;
	void (*ctor)(void *obj);
	size_t size;
	size_t align;
	slab_flags_t flags;
	bool inner;
	char name[MEMTB_NAME_MAX + 1];
	struct list_head node;
	unsigned long priv[];
};

static inline void *memtb_heap_priv(struct memtb_heap *heap)
{
	return heap->priv;
}

static inline void *memtb_cache_priv(struct memtb_cache *cache)
{
	return cache->priv;
}

/* Any context, any number of CPUs: the counter of this CPU. */
static inline void memtb_stat_add(struct memtb_heap *heap,
				  enum memtb_stat stat, u64 n)
{
	this_cpu_add(heap->cpu->v[stat], n);
}

/*
 * For maxima.  The caller has preemption and interrupts off, which every
 * backend has while it holds the lock that it measures.
 */
static inline void memtb_stat_max(struct memtb_heap *heap,
				  enum memtb_stat stat, u64 n)
{
	if (n > __this_cpu_read(heap->cpu->v[stat]))
		__this_cpu_write(heap->cpu->v[stat], n);
}

/* One search, of @steps steps.  As for memtb_stat_max(). */
static inline void memtb_stat_steps(struct memtb_heap *heap,
				    unsigned long steps)
{
	memtb_stat_add(heap, MEMTB_STAT_LIST_STEPS, steps);
	memtb_stat_max(heap, MEMTB_STAT_LIST_STEPS_MAX, steps);
}

/* A lock is about to be released, after @ns ns.  As for memtb_stat_max(). */
static inline void memtb_stat_held(struct memtb_heap *heap, u64 ns)
{
	memtb_stat_add(heap, MEMTB_STAT_LOCK_HOLDS, 1);
	memtb_stat_add(heap, MEMTB_STAT_LOCK_HOLD_NS, ns);
	memtb_stat_max(heap, MEMTB_STAT_LOCK_HOLD_MAX_NS, ns);
}

bool memtb_name_valid(const char *name);
u64 memtb_stat_read(struct memtb_heap *heap, enum memtb_stat stat);
u64 memtb_heap_live(struct memtb_heap *heap);
void memtb_cache_count(struct memtb_cache *cache, u64 *allocs, u64 *frees);
unsigned long memtb_cache_live(struct memtb_cache *cache);
void memtb_cache_info(struct memtb_cache *cache, struct memtb_cache_info *info);
int memtb_stats_init(struct memtb_heap *heap);
void memtb_stats_exit(struct memtb_heap *heap);

#endif /* MEMTB_CORE_HEAP_H */
