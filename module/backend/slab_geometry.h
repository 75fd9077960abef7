/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Geometry of a slab: how many objects, in how many pages, with the list of the
 * free ones where.  A function of numbers only, so that any machine's slabs can
 * be computed on any other.
 */
#ifndef MEMTB_SLAB_GEOMETRY_H
#define MEMTB_SLAB_GEOMETRY_H

#include <linux/types.h>

/**
 * struct memtb_slab_machine - what geometry depends on beside the request
 * @page_shift: log2 of the page size
 * @word: bytes of a pointer
 * @cache_line: bytes
 * @min_class: bytes of the smallest general-purpose class
 * @max_order: log2 of the pages of a slab, unless an object needs more
 * @page_order: log2 of the most pages that can be had at once
 */
struct memtb_slab_machine {
	unsigned int page_shift;
	unsigned int word;
	unsigned int cache_line;
	unsigned int min_class;
	unsigned int max_order;
	unsigned int page_order;
};

/**
 * struct memtb_slab_request - the cache
 * @size: bytes per object
 * @align: of each object, a power of two
 * @constructed: free objects keep their content for a constructor's sake
 * @flags: SLAB_TYPESAFE_BY_RCU, SLAB_RECLAIM_ACCOUNT and SLAB_NOLEAKTRACE
 *	matter; so do SLAB_RED_ZONE and SLAB_STORE_USER, which make an object
 *	longer
 */
struct memtb_slab_request {
	size_t size;
	size_t align;
	bool constructed;
	slab_flags_t flags;
};

/* Where the indices of the free objects are, in the order of preference. */
enum memtb_slab_place {
	MEMTB_SLAB_IN_OBJECT,	/* in the last of the free objects */
	MEMTB_SLAB_OFF_SLAB,	/* in a general-purpose block */
	MEMTB_SLAB_ON_SLAB,	/* behind the objects */
};

/**
 * struct memtb_slab_geometry - the result
 * @stride: bytes from one object to the next
 * @order: log2 of the pages of a slab
 * @nr: objects in it
 * @place: where the list is
 * @index: bytes of an index
 * @colours: number of different places of the first object, at least 1
 * @colour: bytes between them
 */
struct memtb_slab_geometry {
	size_t stride;
	unsigned int order;
	unsigned int nr;
	enum memtb_slab_place place;
	unsigned int index;
	unsigned int colours;
	unsigned int colour;
};

bool memtb_slab_geometry(const struct memtb_slab_machine *machine,
			 const struct memtb_slab_request *request,
			 struct memtb_slab_geometry *geometry);
size_t memtb_slab_class(const struct memtb_slab_machine *machine, size_t size);

#endif /* MEMTB_SLAB_GEOMETRY_H */
