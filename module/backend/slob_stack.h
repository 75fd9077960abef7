/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Free objects of one size as stacks, one per page: slob-new+stack has a pool of
 * such pages where slob-new has a free list.
 */
#ifndef MEMTB_SLOB_STACK_H
#define MEMTB_SLOB_STACK_H

#include <linux/bitops.h>
#include <linux/list.h>

#include "../core/desc.h"
#include "slob_list.h"

struct memtb_arena;

/**
 * struct memtb_place - whose an address is, by the page map
 * @owner: what the map holds
 * @arena: the objects in the page are of this one; NULL: they are one big block
 */
struct memtb_place {
	struct memtb_owner owner;
	struct memtb_arena *arena;
};

/**
 * struct memtb_slob_page - the descriptor of a page of objects
 * @place: owns the page
 * @node: in the pool's list, unless every object is out
 * @free: the object that was freed last; each holds the address of the next
 * @used: objects that are out
 * @out: which: a bit for each unit that one may begin with
 */
struct memtb_slob_page {
	struct memtb_place place;
	struct list_head node;
	void **free;
	unsigned int used;
	DECLARE_BITMAP(out, MEMTB_SLOB_PAGE_UNITS);
};

/**
 * struct memtb_slob_stack - the pages with objects of one size
 * @pages: those with free objects; the first serves, the empty one comes last
 * @nr_pages: how many these are
 * @empty: the one without an object in use, or NULL
 * @lock: protects the list, and what the descriptors say
 * @descs: where these come from
 * @place: what each of them says of its page
 * @stride: bytes from one object to the next, a multiple of the unit
 */
struct memtb_slob_stack {
	struct list_head pages;
	unsigned long nr_pages;
	struct memtb_slob_page *empty;
	struct memtb_lock lock;
	struct memtb_desc_pool *descs;
	const struct memtb_place *place;
	size_t stride;
};

void memtb_slob_stack_init(struct memtb_slob_stack *stack,
			   struct memtb_desc_pool *descs,
			   const struct memtb_place *place, size_t stride);
void *memtb_slob_stack_get(struct memtb_slob_stack *stack, gfp_t gfp, int node);
bool memtb_slob_stack_put(struct memtb_slob_stack *stack, void *obj);
unsigned long memtb_slob_stack_shrink(struct memtb_slob_stack *stack);
unsigned long memtb_slob_stack_check(struct memtb_slob_stack *stack,
				     const char *whose);

#endif /* MEMTB_SLOB_STACK_H */
