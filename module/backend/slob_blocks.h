/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The free list of a page: what slob-page has once per page.
 *
 * The unit is two bytes.  Free blocks of a page are linked in order of address,
 * through themselves: a positive first word is a length in units, and the second
 * word is where the next block begins, in units from the start of the page.  A
 * block of one unit has room for the latter only, negated.  The last block names
 * the end of the page.
 */
#ifndef MEMTB_SLOB_BLOCKS_H
#define MEMTB_SLOB_BLOCKS_H

#include <linux/limits.h>
#include <linux/mm.h>

/**
 * struct memtb_slob_unit - the first word of a free block, or the second
 * @word: see above; two bytes reach over a page of up to 32 KiB
 */
struct memtb_slob_unit {
	typeof(__builtin_choose_expr(PAGE_SIZE / 2 <= S16_MAX,
				     (s16)0, (s32)0)) word;
};

#define MEMTB_BLOCKS_UNIT	sizeof(struct memtb_slob_unit)
#define MEMTB_BLOCKS_ALL	((int)(PAGE_SIZE / MEMTB_BLOCKS_UNIT))

/**
 * struct memtb_blocks - a page of blocks
 * @base: its address
 * @units: free units
 * @free: first free block, the end of the page if there is none
 */
struct memtb_blocks {
	void *base;
	int units;
	struct memtb_slob_unit *free;
};

/**
 * struct memtb_blocks_ask - a block that is wanted
 * @size: its bytes, fewer than a page has
 * @align: a power of two
 * @offset: the byte of the block that lies on a multiple of @align
 */
struct memtb_blocks_ask {
	size_t size;
	size_t align;
	size_t offset;
};

static inline int memtb_blocks_units(size_t size)
{
	return DIV_ROUND_UP(size, MEMTB_BLOCKS_UNIT);
}

void memtb_blocks_init(struct memtb_blocks *page, void *base);
void *memtb_blocks_take(struct memtb_blocks *page,
			const struct memtb_blocks_ask *ask,
			unsigned long *steps);
bool memtb_blocks_give(struct memtb_blocks *page, void *obj, size_t size,
		       unsigned long *steps);
const char *memtb_blocks_fault(const struct memtb_blocks *page);

#endif /* MEMTB_SLOB_BLOCKS_H */
