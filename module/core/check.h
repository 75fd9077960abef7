/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Run-time checks of objects, behind one static key: while no heap has any
 * switched on, the hooks below are no-ops in the instruction stream.
 */
#ifndef MEMTB_CORE_CHECK_H
#define MEMTB_CORE_CHECK_H

#include <linux/jump_label.h>

#include "heap.h"

DECLARE_STATIC_KEY_FALSE(memtb_checks);

bool memtb_check_valid(const struct memtb_backend *backend,
		       unsigned int debug);
int memtb_check_init(struct memtb_heap *heap);
void memtb_check_exit(struct memtb_heap *heap);
int memtb_check_pages_get(struct memtb_heap *heap, void *base,
			  unsigned int order, gfp_t gfp);
void memtb_check_pages_put(struct memtb_heap *heap, void *base,
			   unsigned int order);

void memtb_verify_alloc(struct memtb_heap *heap, struct memtb_cache *cache,
			void *obj, size_t size);
bool memtb_verify_free(struct memtb_heap *heap, struct memtb_cache *cache,
		       void *obj, size_t size);
bool memtb_verify_resize(struct memtb_heap *heap, void *obj, size_t size);

static inline bool memtb_check_on(const struct memtb_heap *heap)
{
	return static_branch_unlikely(&memtb_checks) && heap->params.debug;
}

/* After the backend gave @obj out; @cache is NULL for a general block. */
static inline void memtb_check_alloc(struct memtb_heap *heap,
				     struct memtb_cache *cache, void *obj,
				     size_t size)
{
	if (memtb_check_on(heap))
		memtb_verify_alloc(heap, cache, obj, size);
}

/*
 * Before the backend takes @obj back; @size is 0 for a general block.  False
 * means that the free is wrong, was reported and must not happen.
 */
static inline bool memtb_check_free(struct memtb_heap *heap,
				    struct memtb_cache *cache, void *obj,
				    size_t size)
{
	return !memtb_check_on(heap) ||
	       memtb_verify_free(heap, cache, obj, size);
}

/* Before a block keeps its place with a new size; false if it may not. */
static inline bool memtb_check_resize(struct memtb_heap *heap, void *obj,
				      size_t size)
{
	return !memtb_check_on(heap) || memtb_verify_resize(heap, obj, size);
}

#endif /* MEMTB_CORE_CHECK_H */
