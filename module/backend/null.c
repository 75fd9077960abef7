// SPDX-License-Identifier: GPL-2.0
/*
 * null: the floor.
 *
 * Every object is the same place, no page is got and no work is done, so what a
 * run costs with it is what the harness costs.  Nobody may write to an object,
 * and no constructor runs.
 */
#include <linux/mm.h>

#include "backend.h"

static char memtb_null_object[PAGE_SIZE] __aligned(PAGE_SIZE);

static void *memtb_null_alloc(struct memtb_cache *cache, gfp_t gfp, int node)
{
	return memtb_null_object;
}

static bool memtb_null_free(struct memtb_cache *cache, void *obj)
{
	return true;
}

static void *memtb_null_gp_alloc(struct memtb_heap *heap, size_t size,
				 gfp_t gfp, int node)
{
	return memtb_null_object;
}

static bool memtb_null_gp_free(struct memtb_heap *heap, void *obj)
{
	return true;
}

static size_t memtb_null_gp_size(struct memtb_heap *heap, void *obj)
{
	return sizeof(memtb_null_object);
}

const struct memtb_backend memtb_backend_null = {
	.name = "null",
	.summary = "no allocator: the cost of the harness",
	.flags = MEMTB_RCU | MEMTB_ALIGNS,
	.max_size = sizeof(memtb_null_object),
	.max_align = sizeof(memtb_null_object),
	.gp_min_align = sizeof(memtb_null_object),
	.alloc = memtb_null_alloc,
	.free = memtb_null_free,
	.gp_alloc = memtb_null_gp_alloc,
	.gp_free = memtb_null_gp_free,
	.gp_size = memtb_null_gp_size,
};
