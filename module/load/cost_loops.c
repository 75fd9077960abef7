// SPDX-License-Identifier: GPL-2.0
/*
 * The measured loops.
 *
 * Each exists once, as a template; the compiler makes of it a loop with direct
 * calls for each kind of subject.  So all kinds pay the same around the calls,
 * and the calls are those that any module would make.
 */
#include "cost.h"

/* The public functions of memtb.h, on whatever design the heap has. */

static __always_inline void *
memtb_cost_design_alloc(const struct memtb_cost_place *place)
{
	return memtb_cache_alloc(place->cache, GFP_ATOMIC, NUMA_NO_NODE);
}

static __always_inline void
memtb_cost_design_free(const struct memtb_cost_place *place, void *obj)
{
	memtb_cache_free(place->cache, obj);
}

static __always_inline bool
memtb_cost_design_alloc_bulk(const struct memtb_cost_place *place, void **objs)
{
	return memtb_cache_alloc_bulk(place->cache, GFP_ATOMIC,
				      MEMTB_COST_BULK, objs);
}

static __always_inline void
memtb_cost_design_free_bulk(const struct memtb_cost_place *place, void **objs)
{
	memtb_cache_free_bulk(place->cache, MEMTB_COST_BULK, objs);
}

static __always_inline void *
memtb_cost_design_gp_alloc(const struct memtb_cost_place *place)
{
	return memtb_alloc(place->heap, place->size, GFP_ATOMIC, NUMA_NO_NODE);
}

static __always_inline void
memtb_cost_design_gp_free(const struct memtb_cost_place *place, void *obj)
{
	memtb_free(place->heap, obj);
}

/* The running kernel's own allocator. */

static __always_inline void *
memtb_cost_native_alloc(const struct memtb_cost_place *place)
{
	return kmem_cache_alloc(place->native, GFP_ATOMIC);
}

static __always_inline void
memtb_cost_native_free(const struct memtb_cost_place *place, void *obj)
{
	kmem_cache_free(place->native, obj);
}

static __always_inline bool
memtb_cost_native_alloc_bulk(const struct memtb_cost_place *place, void **objs)
{
	return kmem_cache_alloc_bulk(place->native, GFP_ATOMIC, MEMTB_COST_BULK,
				     objs);
}

static __always_inline void
memtb_cost_native_free_bulk(const struct memtb_cost_place *place, void **objs)
{
	kmem_cache_free_bulk(place->native, MEMTB_COST_BULK, objs);
}

/* Not a constant size: kmalloc() has to find its cache, as memtb_alloc() has. */
static __always_inline void *
memtb_cost_native_gp_alloc(const struct memtb_cost_place *place)
{
	return kmalloc(place->size, GFP_ATOMIC);
}

static __always_inline void
memtb_cost_native_gp_free(const struct memtb_cost_place *place, void *obj)
{
	kfree(obj);
}

/*
 * Nothing.  The compiler must not know what comes out, nor drop what goes in:
 * then the loop around it is the loop around a call.
 */

static __always_inline void *
memtb_cost_empty_alloc(const struct memtb_cost_place *place)
{
	void *obj = (void *)place;

	OPTIMIZER_HIDE_VAR(obj);
	return obj;
}

static __always_inline void
memtb_cost_empty_free(const struct memtb_cost_place *place, void *obj)
{
	asm volatile("" : : "r" (obj) : "memory");
}

static __always_inline bool
memtb_cost_empty_alloc_bulk(const struct memtb_cost_place *place, void **objs)
{
	asm volatile("" : : "r" (objs) : "memory");
	return memtb_cost_empty_alloc(place);
}

static __always_inline void
memtb_cost_empty_free_bulk(const struct memtb_cost_place *place, void **objs)
{
	asm volatile("" : : "r" (objs) : "memory");
}

#define memtb_cost_empty_gp_alloc	memtb_cost_empty_alloc
#define memtb_cost_empty_gp_free	memtb_cost_empty_free

/* The templates. */

static __always_inline bool
memtb_cost_pairs(const struct memtb_cost_place *place, unsigned int nr,
		 void *(*alloc)(const struct memtb_cost_place *place),
		 void (*free)(const struct memtb_cost_place *place, void *obj))
{
	void *obj;

	while (nr--) {
		obj = alloc(place);
		if (!obj)
			return false;
		free(place, obj);
	}
	return true;
}

static __always_inline bool
memtb_cost_batches(const struct memtb_cost_place *place, unsigned int nr,
		   void *(*alloc)(const struct memtb_cost_place *place),
		   void (*free)(const struct memtb_cost_place *place,
				void *obj))
{
	void *objs[MEMTB_COST_BATCH];
	unsigned int i, got;

	for (; nr; nr -= MEMTB_COST_BATCH) {
		for (got = 0; got < MEMTB_COST_BATCH; got++) {
			objs[got] = alloc(place);
			if (!objs[got])
				break;
		}
		for (i = 0; i < got; i++)
			free(place, objs[i]);
		if (got < MEMTB_COST_BATCH)
			return false;
	}
	return true;
}

static __always_inline bool
memtb_cost_bulks(const struct memtb_cost_place *place, unsigned int nr,
		 bool (*alloc)(const struct memtb_cost_place *place,
			       void **objs),
		 void (*free)(const struct memtb_cost_place *place,
			      void **objs))
{
	void *objs[MEMTB_COST_BULK];

	for (; nr; nr -= MEMTB_COST_BULK) {
		if (!alloc(place, objs))
			return false;
		free(place, objs);
	}
	return true;
}

static __always_inline bool
memtb_cost_swaps(const struct memtb_cost_place *place, unsigned int nr,
		 void *(*alloc)(const struct memtb_cost_place *place),
		 void (*free)(const struct memtb_cost_place *place, void *obj))
{
	unsigned int i;
	void **slot;

	for (i = 0; i < nr; i++) {
		slot = &place->objs[place->order[i]];
		free(place, *slot);
		*slot = alloc(place);
		if (!*slot)
			return false;
	}
	return true;
}

#define MEMTB_COST_LOOP(kind, op, template, alloc, free)		\
static bool								\
memtb_cost_##kind##_##op(const struct memtb_cost_place *place,		\
			 unsigned int nr)				\
{									\
	return memtb_cost_##template(place, nr,				\
				     memtb_cost_##kind##_##alloc,	\
				     memtb_cost_##kind##_##free);	\
}

#define MEMTB_COST_KIND(kind)						\
MEMTB_COST_LOOP(kind, pair, pairs, alloc, free)				\
MEMTB_COST_LOOP(kind, batch, batches, alloc, free)			\
MEMTB_COST_LOOP(kind, bulk, bulks, alloc_bulk, free_bulk)		\
MEMTB_COST_LOOP(kind, block, pairs, gp_alloc, gp_free)			\
MEMTB_COST_LOOP(kind, swap, swaps, alloc, free)				\
const struct memtb_cost_kind memtb_cost_kind_##kind = {			\
	.loop[MEMTB_COST_PAIR] = memtb_cost_##kind##_pair,		\
	.loop[MEMTB_COST_BATCHES] = memtb_cost_##kind##_batch,		\
	.loop[MEMTB_COST_BULKS] = memtb_cost_##kind##_bulk,		\
	.loop[MEMTB_COST_BLOCK] = memtb_cost_##kind##_block,		\
	.loop[MEMTB_COST_GROW] = memtb_cost_##kind##_swap,		\
	.loop[MEMTB_COST_HOLES] = memtb_cost_##kind##_swap,		\
	.alloc = memtb_cost_##kind##_alloc,				\
	.free = memtb_cost_##kind##_free,				\
}

MEMTB_COST_KIND(empty);
MEMTB_COST_KIND(native);
MEMTB_COST_KIND(design);
