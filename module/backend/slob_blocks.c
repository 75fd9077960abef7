// SPDX-License-Identifier: GPL-2.0
/*
 * The free list of a page: first fit in order of address, joined on both sides.
 *
 * Its user has a lock for it, so nothing is printed here.
 */
#include "slob_blocks.h"

static struct memtb_slob_unit *
memtb_slob_unit_base(const struct memtb_slob_unit *block)
{
	return (void *)((unsigned long)block & PAGE_MASK);
}

static int memtb_slob_unit_length(const struct memtb_slob_unit *block)
{
	return block->word > 0 ? block->word : 1;
}

static struct memtb_slob_unit *
memtb_slob_unit_next(const struct memtb_slob_unit *block)
{
	return memtb_slob_unit_base(block) +
	       (block->word < 0 ? -block->word : block[1].word);
}

static void memtb_slob_unit_set(struct memtb_slob_unit *block, int units,
				const struct memtb_slob_unit *next)
{
	int offset = next - memtb_slob_unit_base(block);

	if (units == 1) {
		block->word = -offset;
		return;
	}
	block[0].word = units;
	block[1].word = offset;
}

static struct memtb_slob_unit *
memtb_blocks_end(const struct memtb_blocks *page)
{
	return page->base + PAGE_SIZE;
}

/**
 * memtb_blocks_init - let a page be one free block
 * @page: gets it
 * @base: the page's address
 *
 * Context: any.
 */
void memtb_blocks_init(struct memtb_blocks *page, void *base)
{
	page->base = base;
	page->units = MEMTB_BLOCKS_ALL;
	page->free = base;
	memtb_slob_unit_set(page->free, page->units, memtb_blocks_end(page));
}

/* Let @next follow free block @prev; without @prev it is the first. */
static void memtb_blocks_link(struct memtb_blocks *page,
			      struct memtb_slob_unit *prev,
			      struct memtb_slob_unit *next)
{
	if (prev)
		memtb_slob_unit_set(prev, memtb_slob_unit_length(prev), next);
	else
		page->free = next;
}

/*
 * Take @units units at @start out of free block @cur, which follows @prev.  The
 * pieces in front and behind stay free.
 */
static void memtb_blocks_cut(struct memtb_blocks *page,
			     struct memtb_slob_unit *prev,
			     struct memtb_slob_unit *cur,
			     struct memtb_slob_unit *start, int units)
{
	struct memtb_slob_unit *next = memtb_slob_unit_next(cur);
	int front = start - cur;
	int behind = memtb_slob_unit_length(cur) - front - units;

	if (behind) {
		memtb_slob_unit_set(start + units, behind, next);
		next = start + units;
	}
	if (front)
		memtb_slob_unit_set(cur, front, next);
	else
		memtb_blocks_link(page, prev, next);
	page->units -= units;
}

/* Where in free block @cur the wanted block begins, or NULL. */
static struct memtb_slob_unit *
memtb_blocks_fit(struct memtb_slob_unit *cur,
		 const struct memtb_blocks_ask *ask)
{
	int units = memtb_blocks_units(ask->size);
	struct memtb_slob_unit *start;

	if (memtb_slob_unit_length(cur) < units)
		return NULL;
	start = PTR_ALIGN((void *)cur + ask->offset, ask->align) - ask->offset;
	return memtb_slob_unit_length(cur) >= units + (start - cur) ? start :
								      NULL;
}

/**
 * memtb_blocks_take - take a block: first fit
 * @page: the page
 * @ask: what is wanted
 * @steps: grows by the number of free blocks looked at
 *
 * Context: the page's lock is held.
 * Return: the block, or NULL if nothing fits.
 */
void *memtb_blocks_take(struct memtb_blocks *page,
			const struct memtb_blocks_ask *ask,
			unsigned long *steps)
{
	struct memtb_slob_unit *prev = NULL, *cur = page->free, *start;

	while (cur != memtb_blocks_end(page)) {
		++*steps;
		start = memtb_blocks_fit(cur, ask);
		if (start) {
			memtb_blocks_cut(page, prev, cur, start,
					 memtb_blocks_units(ask->size));
			return start;
		}
		prev = cur;
		cur = memtb_slob_unit_next(cur);
	}
	return NULL;
}

/* The last free block in front of @block, or NULL. */
static struct memtb_slob_unit *
memtb_blocks_before(const struct memtb_blocks *page,
		    const struct memtb_slob_unit *block, unsigned long *steps)
{
	struct memtb_slob_unit *prev = NULL, *cur = page->free;

	while (cur < block) {
		++*steps;
		prev = cur;
		cur = memtb_slob_unit_next(cur);
	}
	return prev;
}

/**
 * memtb_blocks_give - give a block back
 * @page: the page
 * @obj: the block, wholly in the page
 * @size: its bytes
 * @steps: grows by the number of free blocks looked at
 *
 * Context: the page's lock is held.
 * Return: false if any of it is free already; then nothing has changed.
 */
bool memtb_blocks_give(struct memtb_blocks *page, void *obj, size_t size,
		       unsigned long *steps)
{
	struct memtb_slob_unit *prev, *next, *block = obj;
	int units = memtb_blocks_units(size);

	prev = memtb_blocks_before(page, block, steps);
	next = prev ? memtb_slob_unit_next(prev) : page->free;
	if (block + units > next ||
	    (prev && prev + memtb_slob_unit_length(prev) > block))
		return false;

	page->units += units;
	if (block + units == next && next != memtb_blocks_end(page)) {
		units += memtb_slob_unit_length(next);
		next = memtb_slob_unit_next(next);
	}
	if (prev && prev + memtb_slob_unit_length(prev) == block) {
		units += memtb_slob_unit_length(prev);
		memtb_slob_unit_set(prev, units, next);
		return true;
	}
	memtb_slob_unit_set(block, units, next);
	memtb_blocks_link(page, prev, block);
	return true;
}

/* What is wrong with a free block, or NULL; it begins within the page. */
static const char *memtb_slob_unit_fault(const struct memtb_slob_unit *cur,
					 const struct memtb_slob_unit *end)
{
	const struct memtb_slob_unit *behind, *next;

	/* Length 1 is not written down, see memtb_slob_unit_set(). */
	if (cur->word == 0 || cur->word == 1)
		return "a free block has no length";
	behind = cur + memtb_slob_unit_length(cur);
	if (behind > end)
		return "a free block is longer than the page";
	next = memtb_slob_unit_next(cur);
	if (next > end)
		return "a free block leads out of the page";
	if (behind > next)
		return "a free block overlaps the next";
	if (behind == next && next != end)
		return "a free block touches the next, not merged";
	return NULL;
}

/**
 * memtb_blocks_fault - look at every free block
 * @page: the page
 *
 * Each is found to end at or before the next one, so that the walk has an end.
 *
 * Context: the page's lock is held.
 * Return: what is wrong, or NULL.
 */
const char *memtb_blocks_fault(const struct memtb_blocks *page)
{
	const struct memtb_slob_unit *end = memtb_blocks_end(page);
	const struct memtb_slob_unit *cur = page->free;
	const char *fault;
	int units = 0;

	if ((void *)cur < page->base || cur > end)
		return "the first free block is not in the page";
	for (; cur != end; cur = memtb_slob_unit_next(cur)) {
		fault = memtb_slob_unit_fault(cur, end);
		if (fault)
			return fault;
		units += memtb_slob_unit_length(cur);
	}
	return units == page->units ? NULL : "the free blocks do not add up";
}
