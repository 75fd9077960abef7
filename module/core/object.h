/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The object path without the checks of its arguments, for callers inside the
 * module that have already found out whose the object is.
 */
#ifndef MEMTB_CORE_OBJECT_H
#define MEMTB_CORE_OBJECT_H

#include "heap.h"

void *memtb_object_alloc(struct memtb_cache *cache, gfp_t gfp, int node);
void memtb_object_free(struct memtb_cache *cache, void *obj);
void *memtb_block_alloc(struct memtb_heap *heap, size_t size, gfp_t gfp,
			int node);
void memtb_block_free(struct memtb_heap *heap, void *obj);

#endif /* MEMTB_CORE_OBJECT_H */
