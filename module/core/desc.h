/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Descriptors: equal small structures that describe a heap's pages.
 *
 * Where an allocator inside the kernel writes into struct page, a backend has a
 * descriptor, found through the page map.  Descriptors cannot come from the
 * kernel's allocator, which may be just what the heap stands in for; they come
 * from pages of the heap, so that what a design costs in memory is counted.
 */
#ifndef MEMTB_CORE_DESC_H
#define MEMTB_CORE_DESC_H

#include <linux/list.h>
#include <linux/spinlock.h>

#include "heap.h"

/**
 * struct memtb_desc_pool - where descriptors of one kind come from
 * @owner: of the pages that they lie in
 * @lock: protects the rest, and what the pages' heads say
 * @pages: pages with room, the one that was used last in front
 * @size: bytes per descriptor
 */
struct memtb_desc_pool {
	struct memtb_owner owner;
	raw_spinlock_t lock;
	struct list_head pages;
	size_t size;
};

void memtb_desc_init(struct memtb_desc_pool *pool, struct memtb_heap *heap,
		     size_t size);
void *memtb_desc_get(struct memtb_desc_pool *pool, gfp_t gfp, int node);
void memtb_desc_put(struct memtb_desc_pool *pool, void *desc);
unsigned long memtb_desc_shrink(struct memtb_desc_pool *pool);

#endif /* MEMTB_CORE_DESC_H */
