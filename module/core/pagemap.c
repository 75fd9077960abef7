// SPDX-License-Identifier: GPL-2.0
/*
 * The page map: whose page is this?
 *
 * A two-level table, root and leaves of one page, indexed by an address's page
 * in the kernel's linear map.  It needs no field of struct page, so it neither
 * clashes with what mm keeps there nor cares how struct page shrinks, and an
 * address that is not memtb's (native, stack, module, user, garbage) is told
 * apart without following any pointer out of foreign memory.
 *
 * Readers take no lock.  A slot is written by whoever holds the page, so two
 * writers never meet in a slot; they may meet over a missing leaf, which
 * cmpxchg() decides.  Leaves stay until the map goes.
 */
#include <linux/export.h>
#include <linux/gfp.h>
#include <linux/mm.h>
#include <linux/vmalloc.h>

#include "pages.h"

struct memtb_pagemap memtb_pagemap;
EXPORT_SYMBOL_GPL(memtb_pagemap);

static unsigned long memtb_pagemap_nr_leaves(const struct memtb_pagemap *map)
{
	return DIV_ROUND_UP(map->nr_pages, MEMTB_PAGEMAP_LEAF_SIZE);
}

/**
 * memtb_pagemap_init - make an empty map of the linear map as it is now
 * @map: the map
 *
 * Pages that memory hotplug adds later have no slot; see memtb_pagemap_set().
 *
 * Context: process, sleeps.
 * Return: 0 or -ENOMEM.
 */
int memtb_pagemap_init(struct memtb_pagemap *map)
{
	map->nr_pages = ((unsigned long)high_memory - PAGE_OFFSET) >> PAGE_SHIFT;
	map->root = vzalloc(array_size(memtb_pagemap_nr_leaves(map),
				       sizeof(*map->root)));
	return map->root ? 0 : -ENOMEM;
}
EXPORT_SYMBOL_GPL(memtb_pagemap_init);

/**
 * memtb_pagemap_exit - free a map that nobody reads any more
 * @map: the map
 *
 * Context: process, sleeps.
 */
void memtb_pagemap_exit(struct memtb_pagemap *map)
{
	unsigned long i;

	for (i = 0; i < memtb_pagemap_nr_leaves(map); i++)
		free_page((unsigned long)map->root[i]);
	vfree(map->root);
	map->root = NULL;
	map->nr_pages = 0;
}
EXPORT_SYMBOL_GPL(memtb_pagemap_exit);

static struct memtb_pagemap_leaf *
memtb_pagemap_leaf(struct memtb_pagemap_leaf **where, gfp_t gfp)
{
	struct memtb_pagemap_leaf *leaf = READ_ONCE(*where), *found;

	if (leaf)
		return leaf;
	leaf = (void *)get_zeroed_page(gfp);
	if (!leaf)
		return NULL;
	found = cmpxchg(where, NULL, leaf);
	if (!found)
		return leaf;
	free_page((unsigned long)leaf);
	return found;
}

/**
 * memtb_pagemap_set - say what a run of pages belongs to
 * @map: the map
 * @base: first address of the first page
 * @nr: number of pages
 * @value: what memtb_pagemap_get() will return
 * @gfp: for leaves that are missing
 *
 * Context: any but NMI; sleeps only if @gfp allows blocking.
 * Return: 0; -ENOMEM without memory for a leaf, -ERANGE for a page that the
 * map has no slot for; then nothing is set.
 */
int memtb_pagemap_set(struct memtb_pagemap *map, const void *base,
		      unsigned long nr, void *value, gfp_t gfp)
{
	unsigned long first = ((unsigned long)base - PAGE_OFFSET) >> PAGE_SHIFT;
	struct memtb_pagemap_leaf **where, *leaf;
	unsigned long i;

	for (i = first; i < first + nr; i++) {
		if (i >= map->nr_pages) {
			memtb_pagemap_clear(map, base, i - first);
			return -ERANGE;
		}
		where = &map->root[i >> MEMTB_PAGEMAP_LEAF_SHIFT];
		leaf = memtb_pagemap_leaf(where, gfp);
		if (!leaf) {
			memtb_pagemap_clear(map, base, i - first);
			return -ENOMEM;
		}
		WRITE_ONCE(leaf->slot[i & (MEMTB_PAGEMAP_LEAF_SIZE - 1)], value);
	}
	return 0;
}
EXPORT_SYMBOL_GPL(memtb_pagemap_set);

/**
 * memtb_pagemap_clear - forget a run of pages
 * @map: the map
 * @base: first address of the first page
 * @nr: number of pages, all of them set before
 *
 * Context: any.
 */
void memtb_pagemap_clear(struct memtb_pagemap *map, const void *base,
			 unsigned long nr)
{
	unsigned long i = ((unsigned long)base - PAGE_OFFSET) >> PAGE_SHIFT;
	struct memtb_pagemap_leaf *leaf;

	for (; nr; nr--, i++) {
		leaf = map->root[i >> MEMTB_PAGEMAP_LEAF_SHIFT];
		WRITE_ONCE(leaf->slot[i & (MEMTB_PAGEMAP_LEAF_SIZE - 1)], NULL);
	}
}
EXPORT_SYMBOL_GPL(memtb_pagemap_clear);
