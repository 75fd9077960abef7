/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The free list of 2005: what the plain SLOB has once and slob-new once a cache.
 *
 * Blocks of whole units stand in a circle in order of address, linked through
 * themselves.  A sentinel of zero units, which can neither be taken nor merged,
 * keeps the circle from ever being empty.
 */
#ifndef MEMTB_SLOB_LIST_H
#define MEMTB_SLOB_LIST_H

#include <linux/mm.h>
#include <linux/rcupdate.h>
#include <linux/spinlock.h>

#include "../core/lock.h"

/**
 * struct memtb_slob_block - the header of a free block
 * @units: length of the block in units, this one included
 * @next: next free block by address; the first follows the last
 *
 * Its size is the unit: an int and a pointer, 16 bytes on 64-bit, 8 on 32-bit.
 */
struct memtb_slob_block {
	int units;
	struct memtb_slob_block *next;
};

#define MEMTB_SLOB_UNIT		sizeof(struct memtb_slob_block)
#define MEMTB_SLOB_PAGE_UNITS	((int)(PAGE_SIZE / MEMTB_SLOB_UNIT))

/**
 * struct memtb_slob_list - a free list
 * @sentinel: always in the circle
 * @rover: the block behind which the next walk starts
 * @nr_blocks: blocks in the circle, the sentinel not counted
 * @lock: protects the circle; held, with interrupts off, for a whole walk
 * @owner: of the pages that the blocks lie in
 * @run: bytes at the beginning of a fresh page that become a block
 */
struct memtb_slob_list {
	struct memtb_slob_block sentinel;
	struct memtb_slob_block *rover;
	unsigned long nr_blocks;
	struct memtb_lock lock;
	struct memtb_owner *owner;
	size_t run;
};

/* Whether, in pages of objects of this size, one may begin here. */
static inline bool memtb_slob_begins(const void *obj, unsigned int stride)
{
	unsigned int offset = offset_in_page(obj);

	return offset + stride <= PAGE_SIZE && offset % stride == 0;
}

static inline int memtb_slob_units(size_t size)
{
	return DIV_ROUND_UP(size, MEMTB_SLOB_UNIT);
}

/**
 * struct memtb_slob_footer - behind a type-safe object that waits for a grace
 * period
 * @rcu: for call_rcu()
 * @cache: whose object it is
 */
struct memtb_slob_footer {
	struct rcu_head rcu;
	struct memtb_cache *cache;
};

static inline size_t memtb_slob_footer_offset(size_t size)
{
	return ALIGN(size, __alignof__(struct memtb_slob_footer));
}

void memtb_slob_list_init(struct memtb_slob_list *list,
			  struct memtb_owner *owner, size_t run);
void *memtb_slob_take(struct memtb_slob_list *list, size_t size, size_t align,
		      size_t offset);
void *memtb_slob_get(struct memtb_slob_list *list, size_t size, size_t align,
		     size_t offset, gfp_t gfp, int node);
bool memtb_slob_put(struct memtb_slob_list *list, void *obj, size_t size);
unsigned long memtb_slob_list_shrink(struct memtb_slob_list *list);
unsigned long memtb_slob_list_check(struct memtb_slob_list *list,
				    const char *whose);

#endif /* MEMTB_SLOB_LIST_H */
