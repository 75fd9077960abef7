/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What memtb_cost.ko measures with: the loops, apart from whoever times them.
 */
#ifndef MEMTB_LOAD_COST_H
#define MEMTB_LOAD_COST_H

#include <linux/slab.h>
#include <linux/types.h>

#include "../memtb.h"

/* Objects out at a time; loops take multiples of the larger one. */
#define MEMTB_COST_BATCH	64
#define MEMTB_COST_BULK		32

/**
 * enum memtb_cost_op - operations; each is one allocation and one free
 * @MEMTB_COST_PAIR: one object of a cache, over and over
 * @MEMTB_COST_BATCHES: MEMTB_COST_BATCH objects of a cache, then their frees in
 *	the order of the allocations
 * @MEMTB_COST_BULKS: MEMTB_COST_BULK objects by the calls that take an array
 * @MEMTB_COST_BLOCK: one block of the general-purpose side, over and over
 * @MEMTB_COST_GROW: one of many live objects is freed, another allocated, among
 *	holes that another cache left
 * @MEMTB_COST_HOLES: the same among holes of their own cache
 * @MEMTB_COST_NR_OPS: number of operations
 */
enum memtb_cost_op {
	MEMTB_COST_PAIR,
	MEMTB_COST_BATCHES,
	MEMTB_COST_BULKS,
	MEMTB_COST_BLOCK,
	MEMTB_COST_GROW,
	MEMTB_COST_HOLES,
	MEMTB_COST_NR_OPS
};

/**
 * struct memtb_cost_place - what a loop works on
 * @heap: a design's heap
 * @cache: a design's cache, in @heap
 * @native: the kernel's own cache
 * @size: bytes per object
 * @objs: the live objects, for MEMTB_COST_GROW and _HOLES
 * @order: which of @objs are freed, one after the other
 */
struct memtb_cost_place {
	struct memtb_heap *heap;
	struct memtb_cache *cache;
	struct kmem_cache *native;
	size_t size;
	void **objs;
	u32 *order;
};

/* Runs @nr operations; false if there was no memory. */
typedef bool (*memtb_cost_loop_t)(const struct memtb_cost_place *place,
				  unsigned int nr);

/**
 * struct memtb_cost_kind - how one kind of subject is called
 * @loop: a loop with direct calls for each operation
 * @alloc: one object of the cache, for what is not timed
 * @free: its end
 */
struct memtb_cost_kind {
	memtb_cost_loop_t loop[MEMTB_COST_NR_OPS];
	void *(*alloc)(const struct memtb_cost_place *place);
	void (*free)(const struct memtb_cost_place *place, void *obj);
};

extern const struct memtb_cost_kind memtb_cost_kind_empty;
extern const struct memtb_cost_kind memtb_cost_kind_native;
extern const struct memtb_cost_kind memtb_cost_kind_design;

#endif /* MEMTB_LOAD_COST_H */
