/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The parts of backend slab, see slab.c: slabs and their lists (slab_node.c),
 * arrays of free objects in front of them (slab.c), what happens now and then
 * (slab_tend.c).
 */
#ifndef MEMTB_SLAB_H
#define MEMTB_SLAB_H

#include <linux/reciprocal_div.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>

#include "../core/desc.h"
#include "../core/lock.h"
#include "slab_geometry.h"

#if PAGE_SIZE / 256 <= 16
typedef u8 memtb_slab_index_t;
#else
typedef u16 memtb_slab_index_t;
#endif

/* The smallest class also suits DMA, as kmalloc()'s does. */
#define MEMTB_SLAB_MIN_CLASS	max_t(size_t, 32, ARCH_KMALLOC_MINALIGN)
#define MEMTB_SLAB_MAX_CLASS	(2 * PAGE_SIZE)
/* By log2 of the size; the first two, which no size has, are 96 and 192. */
#define MEMTB_SLAB_CLASSES	(PAGE_SHIFT + 2)
/* Up to here a table says which class a size has, in steps of 8 bytes. */
#define MEMTB_SLAB_TABLED	192

/**
 * struct memtb_slab - a slab, or a large block
 * @owner: of its pages
 * @cache: whose slab; NULL if it is a large block
 * @node: in one of the lists of its memory node
 * @pages: its memory
 * @objs: the first object, behind the colour
 * @list: indices of objects, the free ones from @active on; NULL while a slab
 *	that keeps them in a free object has none
 * @active: objects that are out, to users and to arrays
 * @order: log2 of the pages
 * @nid: memory node of the pages
 * @rcu: to wait for readers of type-safe objects
 */
struct memtb_slab {
	struct memtb_owner owner;
	struct memtb_slab_cache *cache;
	struct list_head node;
	void *pages;
	void *objs;
	memtb_slab_index_t *list;
	unsigned int active;
	unsigned int order;
	int nid;
	struct rcu_head rcu;
};

/**
 * struct memtb_slab_alien - objects on their way to another memory node
 * @lock: protects @array; taken before the lock of that node
 * @array: the objects
 */
struct memtb_slab_alien {
	raw_spinlock_t lock;
	struct memtb_array array;
};

/**
 * struct memtb_slab_node - what a cache has on a memory node
 * @lock: protects all of it but @alien
 * @full: slabs without a free object
 * @partial: slabs with some of either kind
 * @empty: slabs with free objects only
 * @nr_slabs: slabs in the three lists
 * @nr_empty: slabs in @empty
 * @nr_free: free objects in the slabs
 * @free_limit: empty slabs go as long as @nr_free is above it
 * @colour: of the last slab
 * @shared: objects that all processors of the node may take, or NULL
 * @alien: objects freed here that belong to other nodes, by node; or NULL
 * @next_reap: jiffies; not before it the reaper takes of @shared and @empty
 * @empty_touched: whether an empty slab was taken since the reaper looked
 */
struct memtb_slab_node {
	struct memtb_lock lock;
	struct list_head full;
	struct list_head partial;
	struct list_head empty;
	unsigned long nr_slabs;
	unsigned long nr_empty;
	unsigned long nr_free;
	unsigned long free_limit;
	unsigned int colour;
	struct memtb_array *shared;
	struct memtb_slab_alien **alien;
	unsigned long next_reap;
	bool empty_touched;
};

/**
 * struct memtb_slab_cache - a cache
 * @cpu: the arrays of the processors
 * @geometry: of its slabs
 * @reciprocal: of the stride
 * @limit: of each array in @cpu
 * @batch: of each array in @cpu
 * @shared: length of the shared array of a node in batches
 * @node: by memory node
 */
struct memtb_slab_cache {
	struct memtb_array __percpu *cpu;
	struct memtb_slab_geometry geometry;
	struct reciprocal_value reciprocal;
	unsigned int limit;
	unsigned int batch;
	unsigned int shared;
	struct memtb_slab_node **node;
};

/**
 * struct memtb_slab_heap - a heap
 * @heap: the core's side of it
 * @class: the general-purpose side
 * @table: index of the class, for each small size
 * @descs: all struct memtb_slab
 * @reaper: one work item per processor
 * @online: runs and stops the reaper of a processor
 * @dead: empties the arrays of a processor that has gone
 */
struct memtb_slab_heap {
	struct memtb_heap *heap;
	struct memtb_cache *class[MEMTB_SLAB_CLASSES];
	u8 table[MEMTB_SLAB_TABLED / 8];
	struct memtb_desc_pool descs;
	struct memtb_slab_reaper __percpu *reaper;
	struct hlist_node online;
	struct hlist_node dead;
};

static inline struct memtb_cache *
memtb_slab_core(const struct memtb_slab_cache *sc)
{
	return container_of((void *)sc, struct memtb_cache, priv);
}

static inline struct memtb_slab_heap *
memtb_slab_heap(const struct memtb_slab_cache *sc)
{
	return memtb_heap_priv(memtb_slab_core(sc)->heap);
}

/* slab_node.c */
int memtb_slab_nodes_init(struct memtb_slab_cache *sc);
void memtb_slab_nodes_exit(struct memtb_slab_cache *sc);
void memtb_slab_limits(struct memtb_slab_cache *sc);
struct memtb_slab *memtb_slab_grow(struct memtb_slab_cache *sc, gfp_t gfp,
				   int nid);
void memtb_slab_link(struct memtb_slab_node *node, struct memtb_slab *slab);
void *memtb_slab_pop(struct memtb_slab_cache *sc, struct memtb_slab *slab);
void memtb_slab_take(struct memtb_slab_cache *sc, struct memtb_slab_node *node,
		     struct memtb_array *array, unsigned int nr);
void memtb_slab_fill(struct memtb_slab_cache *sc, struct memtb_array *array,
		     struct memtb_slab *slab, unsigned int nr);
void memtb_slab_give(struct memtb_slab_cache *sc, struct memtb_slab_node *node,
		     void **objs, unsigned int nr, struct list_head *doomed);
void memtb_slab_doom(struct memtb_slab_cache *sc, struct memtb_slab_node *node,
		     unsigned long nr, struct list_head *doomed);
unsigned long memtb_slab_destroy(struct memtb_slab_cache *sc,
				 struct list_head *doomed);
unsigned long memtb_slab_node_check(struct memtb_slab_cache *sc,
				    struct memtb_slab_node *node);

/* slab.c */
void *memtb_slab_class_alloc(struct memtb_slab_heap *sh, size_t size, gfp_t gfp,
			     int nid);
void memtb_slab_class_free(struct memtb_slab_heap *sh, void *obj);
void memtb_slab_drop(struct memtb_slab_cache *sc, struct memtb_slab_node *node,
		     struct memtb_array *array, unsigned int nr,
		     struct list_head *doomed);
void memtb_slab_alien_drain(struct memtb_slab_cache *sc,
			    struct memtb_slab_alien *alien, int nid,
			    struct list_head *doomed);

/* slab_tend.c */
int memtb_slab_arrays_init(struct memtb_slab_cache *sc);
void memtb_slab_arrays_exit(struct memtb_slab_cache *sc);
int memtb_slab_tune(struct memtb_cache *cache, unsigned int limit,
		    unsigned int batch, unsigned int shared);
unsigned long memtb_slab_cache_shrink(struct memtb_slab_cache *sc);
void memtb_slab_cache_empty(struct memtb_slab_cache *sc);
void memtb_slab_reap(struct memtb_slab_heap *sh);
int memtb_slab_tend(struct memtb_slab_heap *sh);
void memtb_slab_untend(struct memtb_slab_heap *sh);

#endif /* MEMTB_SLAB_H */
