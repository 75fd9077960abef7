/* SPDX-License-Identifier: GPL-2.0 */
/*
 * memtb - a test bed for kernel object allocators: the public interface.
 *
 * A *backend* is an allocator design.  A *heap* is one instance of it: its
 * pages, its caches, its general-purpose (kmalloc-like) side and its counters.
 * Any number of heaps, of the same or of different backends, live side by side.
 *
 * Unless a comment says otherwise: allocation and free may be called from any
 * context but NMI, with any lock held, and sleep only where @gfp allows it;
 * create and destroy calls sleep.
 */
#ifndef MEMTB_H
#define MEMTB_H

#include <linux/gfp.h>
#include <linux/numa.h>
#include <linux/slab.h>
#include <linux/types.h>

struct memtb_backend;
struct memtb_cache;
struct memtb_heap;

/* Longest heap or cache name, in bytes, without the terminating NUL. */
#define MEMTB_NAME_MAX		63

/*
 * Cache flags, in the kernel's own encoding: SLAB_TYPESAFE_BY_RCU has a meaning
 * for every design, the others are hints that some have a use for.
 * SLAB_HWCACHE_ALIGN is refused: callers state an alignment in bytes, so that
 * every backend gets the same request.
 */
#define MEMTB_CACHE_FLAGS	(SLAB_TYPESAFE_BY_RCU |	\
				 SLAB_RECLAIM_ACCOUNT | SLAB_NOLEAKTRACE)

/* Longest name of a design with options, in bytes, with the terminating NUL. */
#define MEMTB_DESIGN_MAX	96

/* Run-time checks of a heap, the bits of the ``debug=`` parameter. */
#define MEMTB_DEBUG_VERIFY	0x1	/* overlap and owner of every object */

/**
 * struct memtb_heap_params - what is fixed when a heap is created
 * @max_pages: page budget, in pages; 0 means no limit
 * @fail_page: every @fail_page-th page request fails; 0 means none does
 * @debug: run-time checks, a mask of MEMTB_DEBUG_* bits
 * @options: variants of the design, see memtb_backend_parse(); 0 is the design
 *	as its essay describes it
 */
struct memtb_heap_params {
	unsigned long max_pages;
	unsigned long fail_page;
	unsigned int debug;
	unsigned long options;
};

/**
 * enum memtb_stat - counters of a heap
 * @MEMTB_STAT_ALLOCS: objects handed out
 * @MEMTB_STAT_FREES: objects taken back
 * @MEMTB_STAT_ALLOC_FAILED: requests answered with NULL
 * @MEMTB_STAT_BYTES_REQUESTED: sum of the sizes of all objects handed out
 * @MEMTB_STAT_BAD_FREES: frees that were refused
 * @MEMTB_STAT_VIOLATIONS: faults that the checks found
 * @MEMTB_STAT_LIST_STEPS: blocks looked at in searches
 * @MEMTB_STAT_LIST_STEPS_MAX: most blocks looked at in one search
 * @MEMTB_STAT_LOCK_HOLDS: sections with interrupts off
 * @MEMTB_STAT_LOCK_HOLD_NS: time in them, in ns
 * @MEMTB_STAT_LOCK_HOLD_MAX_NS: longest of them, in ns
 * @MEMTB_STAT_LOCK_CONTENDED: times that a lock was held by somebody else
 * @MEMTB_STAT_CPU_REFILLS: times that a processor's own store was empty
 * @MEMTB_STAT_CPU_FLUSHES: times that it was full
 * @MEMTB_STAT_SLABS_MADE: slabs made of fresh pages
 * @MEMTB_NR_STATS: number of counters
 *
 * The same for every backend; a mechanism that a design lacks stays at zero.
 */
enum memtb_stat {
	MEMTB_STAT_ALLOCS,
	MEMTB_STAT_FREES,
	MEMTB_STAT_ALLOC_FAILED,
	MEMTB_STAT_BYTES_REQUESTED,
	MEMTB_STAT_BAD_FREES,
	MEMTB_STAT_VIOLATIONS,
	MEMTB_STAT_LIST_STEPS,
	MEMTB_STAT_LIST_STEPS_MAX,
	MEMTB_STAT_LOCK_HOLDS,
	MEMTB_STAT_LOCK_HOLD_NS,
	MEMTB_STAT_LOCK_HOLD_MAX_NS,
	MEMTB_STAT_LOCK_CONTENDED,
	MEMTB_STAT_CPU_REFILLS,
	MEMTB_STAT_CPU_FLUSHES,
	MEMTB_STAT_SLABS_MADE,
	MEMTB_NR_STATS
};

/**
 * struct memtb_stats - a snapshot of a heap's counters
 * @v: the counters of enum memtb_stat
 * @pages_now: pages held
 * @pages_desc: those of them that hold descriptors of the others
 * @pages_peak: most pages ever held
 * @pages_got: pages ever requested and received
 * @pages_put: pages ever given back
 * @pages_failed: page requests that failed, for whatever reason
 * @objects_live: objects handed out and not yet taken back
 *
 * Not atomic: exact only while nobody allocates or frees.
 */
struct memtb_stats {
	u64 v[MEMTB_NR_STATS];
	u64 pages_now;
	u64 pages_desc;
	u64 pages_peak;
	u64 pages_got;
	u64 pages_put;
	u64 pages_failed;
	u64 objects_live;
};

/* What memtb_cache_tune() takes at most. */
#define MEMTB_TUNE_LIMIT_MAX	2048
#define MEMTB_TUNE_SHARED_MAX	64

/**
 * struct memtb_cache_info - a cache in the columns of /proc/slabinfo
 * @active_objs: objects that are out
 * @num_objs: objects that there is room for
 * @stride: bytes from one object to the next
 * @objs_per_slab: objects in a slab
 * @pages_per_slab: pages in a slab
 * @limit: most objects in the store of a processor
 * @batch: objects that come and go at once
 * @shared: length of the common store, in batches
 * @active_slabs: slabs with an object that is out
 * @num_slabs: all slabs
 * @shared_avail: objects in the common store
 */
struct memtb_cache_info {
	unsigned long active_objs;
	unsigned long num_objs;
	size_t stride;
	unsigned int objs_per_slab;
	unsigned int pages_per_slab;
	unsigned int limit;
	unsigned int batch;
	unsigned int shared;
	unsigned long active_slabs;
	unsigned long num_slabs;
	unsigned long shared_avail;
};

/* The visible name of each counter, in the order of enum memtb_stat. */
extern const char * const memtb_stat_names[MEMTB_NR_STATS];

/* heap.c */
struct memtb_heap *memtb_heap_create(const struct memtb_backend *backend,
				     const char *name,
				     const struct memtb_heap_params *params);
unsigned long memtb_heap_destroy(struct memtb_heap *heap);
unsigned long memtb_heap_shrink(struct memtb_heap *heap);
unsigned long memtb_heap_check(struct memtb_heap *heap);
void memtb_heap_stats(struct memtb_heap *heap, struct memtb_stats *stats);

/* cache.c */
struct memtb_cache *memtb_cache_create(struct memtb_heap *heap,
				       const char *name, size_t size,
				       size_t align, slab_flags_t flags,
				       void (*ctor)(void *obj));
unsigned long memtb_cache_destroy(struct memtb_cache *cache);
int memtb_cache_tune(struct memtb_heap *heap, const char *name,
		     unsigned int limit, unsigned int batch,
		     unsigned int shared);

/* object.c: objects of a cache */
void *memtb_cache_alloc(struct memtb_cache *cache, gfp_t gfp, int node);
void memtb_cache_free(struct memtb_cache *cache, void *obj);
bool memtb_cache_alloc_bulk(struct memtb_cache *cache, gfp_t gfp, size_t nr,
			    void **objs);
void memtb_cache_free_bulk(struct memtb_cache *cache, size_t nr, void **objs);

/* object.c: the general-purpose side */
void *memtb_alloc(struct memtb_heap *heap, size_t size, gfp_t gfp, int node);
void *memtb_alloc_array(struct memtb_heap *heap, size_t n, size_t size,
			gfp_t gfp);
void *memtb_realloc(struct memtb_heap *heap, void *obj, size_t size,
		    gfp_t gfp);
void memtb_free(struct memtb_heap *heap, void *obj);
size_t memtb_size(struct memtb_heap *heap, void *obj);

/* backend/backend.c */
const struct memtb_backend *memtb_backend_find(const char *name);
const struct memtb_backend *memtb_backend_nth(unsigned int i);
const struct memtb_backend *memtb_backend_parse(const char *word,
						unsigned long *options);
void memtb_backend_design(const struct memtb_backend *backend,
			  unsigned long options, char *buf, size_t size);
void memtb_backend_names(char *buf, size_t size);

#endif /* MEMTB_H */
