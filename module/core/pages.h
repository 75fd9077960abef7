/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The only way of a backend to the page allocator, and the table that tells
 * whose page an address lies in.
 */
#ifndef MEMTB_CORE_PAGES_H
#define MEMTB_CORE_PAGES_H

#include <linux/mm.h>

#include "heap.h"

void *memtb_pages_get(struct memtb_owner *owner, gfp_t gfp, unsigned int order,
		      int node);
void memtb_pages_put(struct memtb_owner *owner, void *base,
		     unsigned int order);
long memtb_pages_held(void);

/* pagemap.c */

/*
 * Leaves are one page each, so that the map's own memory is a fraction of
 * 1/512 of what it describes.
 */
#define MEMTB_PAGEMAP_LEAF_SHIFT	(PAGE_SHIFT - ilog2(sizeof(void *)))
#define MEMTB_PAGEMAP_LEAF_SIZE		BIT(MEMTB_PAGEMAP_LEAF_SHIFT)

struct memtb_pagemap_leaf {
	void *slot[MEMTB_PAGEMAP_LEAF_SIZE];
};

/**
 * struct memtb_pagemap - a sparse array indexed by linear-map page
 * @root: leaves, NULL where there is none yet
 * @nr_pages: pages that the linear map had when the map was made
 */
struct memtb_pagemap {
	struct memtb_pagemap_leaf **root;
	unsigned long nr_pages;
};

extern struct memtb_pagemap memtb_pagemap;

int memtb_pagemap_init(struct memtb_pagemap *map);
void memtb_pagemap_exit(struct memtb_pagemap *map);
int memtb_pagemap_set(struct memtb_pagemap *map, const void *base,
		      unsigned long nr, void *value, gfp_t gfp);
void memtb_pagemap_clear(struct memtb_pagemap *map, const void *base,
			 unsigned long nr);

/**
 * memtb_pagemap_get - look an address up
 * @map: the map
 * @addr: any value at all: an object, a stack or user address, garbage
 *
 * Follows no pointer that lies outside the map, so it is safe for any @addr.
 * Any context, lock-free.
 *
 * Return: what was set for the page of @addr, or NULL.
 */
static inline void *memtb_pagemap_get(const struct memtb_pagemap *map,
				      const void *addr)
{
	unsigned long i = ((unsigned long)addr - PAGE_OFFSET) >> PAGE_SHIFT;
	struct memtb_pagemap_leaf *leaf;

	if (i >= map->nr_pages)
		return NULL;
	leaf = READ_ONCE(map->root[i >> MEMTB_PAGEMAP_LEAF_SHIFT]);
	if (!leaf)
		return NULL;
	return READ_ONCE(leaf->slot[i & (MEMTB_PAGEMAP_LEAF_SIZE - 1)]);
}

/**
 * memtb_owner - whose page does an address lie in?
 * @addr: any value at all
 *
 * Return: the owner of the page, or NULL if memtb does not hold it.
 */
static inline struct memtb_owner *memtb_owner(const void *addr)
{
	return memtb_pagemap_get(&memtb_pagemap, addr);
}

#endif /* MEMTB_CORE_PAGES_H */
