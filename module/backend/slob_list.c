// SPDX-License-Identifier: GPL-2.0
/*
 * The free list of 2005: next fit, in order of address, joined on both sides.
 *
 * Both walks are linear in the number of free blocks.  What that costs depends
 * on who shares a list: see slob.c and slob_new.c.
 */
#include "../core/pages.h"
#include "slob_list.h"

/**
 * struct memtb_slob_audit - what a walk over the whole list found
 * @blocks: blocks, the sentinel counted
 * @seams: places where the address does not rise
 * @closed: whether the walk came back to the sentinel
 * @nr_faults: blocks with something wrong
 * @fault: what is wrong with the first of them
 * @at: that block
 * @units: its length
 * @counted: blocks that the list believes to have
 */
struct memtb_slob_audit {
	unsigned long blocks;
	unsigned long seams;
	bool closed;
	unsigned long nr_faults;
	const char *fault;
	const void *at;
	int units;
	unsigned long counted;
};

void memtb_slob_list_init(struct memtb_slob_list *list,
			  struct memtb_owner *owner, size_t run)
{
	list->sentinel.units = 0;
	list->sentinel.next = &list->sentinel;
	list->rover = &list->sentinel;
	list->nr_blocks = 0;
	memtb_lock_init(&list->lock, owner->heap);
	list->owner = owner;
	list->run = run;
}

/*
 * The part of free block @cur that starts where the byte @offset behind it is
 * aligned; a general-purpose block aligns what lies behind its header.
 */
static struct memtb_slob_block *
memtb_slob_aligned(struct memtb_slob_block *cur, size_t align, size_t offset)
{
	return (void *)ALIGN((unsigned long)cur + offset, align) - offset;
}

/*
 * Take the @units units at @start out of free block @cur, which follows @prev.
 * The pieces in front and behind stay in the list.  Returns the block in front
 * of what was taken.
 */
static struct memtb_slob_block *
memtb_slob_cut(struct memtb_slob_list *list, struct memtb_slob_block *prev,
	       struct memtb_slob_block *cur, struct memtb_slob_block *start,
	       int units)
{
	struct memtb_slob_block *next = cur->next, *tail = start + units;
	int front = start - cur;
	int behind = cur->units - front - units;

	list->nr_blocks--;
	if (front) {
		cur->units = front;
		prev->next = cur;
		prev = cur;
		list->nr_blocks++;
	}
	if (behind) {
		tail->units = behind;
		tail->next = next;
		next = tail;
		list->nr_blocks++;
	}
	prev->next = next;
	return prev;
}

/*
 * Where in free block @cur a block of @units begins whose byte @offset lies on a
 * multiple of @align, or NULL.  Most blocks are too small wherever it begins.
 */
static struct memtb_slob_block *
memtb_slob_fit(struct memtb_slob_block *cur, int units, size_t align,
	       size_t offset)
{
	struct memtb_slob_block *start;

	if (cur->units < units)
		return NULL;
	start = memtb_slob_aligned(cur, align, offset);
	return cur->units >= units + (start - cur) ? start : NULL;
}

/**
 * memtb_slob_take - take a block: next fit, one lap from the rover
 * @list: the list
 * @size: bytes, rounded up to units
 * @align: a power of two
 * @offset: the byte of the block that lies on a multiple of @align
 *
 * Context: interrupts off, the list's lock held.
 * Return: the block, its length in its first word; or NULL if nothing fits.
 */
void *memtb_slob_take(struct memtb_slob_list *list, size_t size, size_t align,
		      size_t offset)
{
	struct memtb_slob_block *prev = list->rover, *cur, *start;
	int units = memtb_slob_units(size);
	unsigned long steps = 0;

	do {
		cur = prev->next;
		steps++;
		start = memtb_slob_fit(cur, units, align, offset);
		if (start) {
			list->rover = memtb_slob_cut(list, prev, cur, start,
						     units);
			start->units = units;
			break;
		}
		prev = cur;
	} while (prev != list->rover);

	memtb_stat_steps(list->owner->heap, steps);
	return start;
}

/*
 * Between the last block and the first: does @block belong here?  Out of line,
 * so that the compiler keeps the walk itself short.
 */
static noinline bool memtb_slob_at_seam(const struct memtb_slob_block *last,
					const struct memtb_slob_block *first,
					const struct memtb_slob_block *block)
{
	return last < block || block < first;
}

/*
 * The free block in front of @block, or NULL if the circle has no place for it:
 * whoever comes to the seam, where the last block is followed by the first, a
 * second time has seen all of them.
 */
static struct memtb_slob_block *
memtb_slob_before(struct memtb_slob_list *list,
		  const struct memtb_slob_block *block)
{
	struct memtb_slob_block *cur = list->rover, *next;
	unsigned long steps = 0;
	bool lap = false;

	for (;; cur = next) {
		next = cur->next;
		steps++;
		if (likely(cur < next)) {
			if (cur < block && block < next)
				break;
			continue;
		}
		if (memtb_slob_at_seam(cur, next, block))
			break;
		if (lap) {
			cur = NULL;
			break;
		}
		lap = true;
	}
	memtb_stat_steps(list->owner->heap, steps);
	return cur;
}

/* Whether a block of @units overlaps the free blocks around it. */
static bool memtb_slob_overlaps(const struct memtb_slob_block *before,
				const struct memtb_slob_block *block, int units)
{
	const struct memtb_slob_block *next = before->next;

	return (before < block && before + before->units > block) ||
	       (block < next && block + units > next);
}

/*
 * Give @size bytes back to the list, unless they are in it.  Caller holds the
 * lock, so nothing is printed here: a console may allocate, even from this heap.
 */
static bool memtb_slob_give(struct memtb_slob_list *list, void *obj,
			    size_t size)
{
	struct memtb_slob_block *block = obj, *before;
	int units = memtb_slob_units(size);

	before = memtb_slob_before(list, block);
	if (!before || memtb_slob_overlaps(before, block, units))
		return false;

	block->units = units;
	block->next = before->next;
	list->nr_blocks++;
	if (block + units == block->next) {
		block->units += block->next->units;
		block->next = block->next->next;
		list->nr_blocks--;
	}
	if (before + before->units == block) {
		before->units += block->units;
		block = block->next;
		list->nr_blocks--;
	}
	before->next = block;
	list->rover = before;
	return true;
}

/**
 * memtb_slob_put - give a block back
 * @list: the list
 * @obj: the block
 * @size: its length in bytes, rounded up to units
 *
 * Context: any but NMI, the list's lock not held.
 * Return: false if any of it is free already, which is reported; then nothing
 * has changed.
 */
bool memtb_slob_put(struct memtb_slob_list *list, void *obj, size_t size)
{
	unsigned long flags;
	bool done;

	memtb_lock(&list->lock, &flags);
	done = memtb_slob_give(list, obj, size);
	memtb_unlock(&list->lock, flags);
	if (!done)
		pr_err("heap %s: %p (%zu bytes) is free already\n",
		       list->owner->heap->name, obj, size);
	return done;
}

static bool memtb_slob_grow(struct memtb_slob_list *list, gfp_t gfp, int node)
{
	void *page = memtb_pages_get(list->owner, gfp, 0, node);

	return page && memtb_slob_put(list, page, list->run);
}

/**
 * memtb_slob_get - take a block, growing the list as long as nothing fits
 * @list: the list
 * @size: as for memtb_slob_take()
 * @align: as for memtb_slob_take()
 * @offset: as for memtb_slob_take()
 * @gfp: how to get a page
 * @node: wanted memory node or NUMA_NO_NODE
 *
 * A page of its own would fit, but another CPU may be faster.
 *
 * Context: any but NMI, the list's lock not held; sleeps only if @gfp allows
 * blocking.
 * Return: the block, or NULL if there is no page.
 */
void *memtb_slob_get(struct memtb_slob_list *list, size_t size, size_t align,
		     size_t offset, gfp_t gfp, int node)
{
	unsigned long flags;
	void *obj;

	do {
		memtb_lock(&list->lock, &flags);
		obj = memtb_slob_take(list, size, align, offset);
		memtb_unlock(&list->lock, flags);
	} while (!obj && memtb_slob_grow(list, gfp, node));
	return obj;
}

/* All pages that are wholly free, linked by @next.  Caller holds the lock. */
static struct memtb_slob_block *
memtb_slob_cut_pages(struct memtb_slob_list *list)
{
	struct memtb_slob_block *prev = &list->sentinel, *page, *pages = NULL;
	int units = memtb_slob_units(list->run);

	while (prev->next != &list->sentinel) {
		page = memtb_slob_fit(prev->next, units, PAGE_SIZE, 0);
		if (!page) {
			prev = prev->next;
			continue;
		}
		prev = memtb_slob_cut(list, prev, prev->next, page, units);
		page->next = pages;
		pages = page;
	}
	list->rover = &list->sentinel;
	return pages;
}

/**
 * memtb_slob_list_shrink - return every page that is wholly free
 * @list: the list
 *
 * Context: any but NMI, the list's lock not held.
 * Return: number of pages.
 */
unsigned long memtb_slob_list_shrink(struct memtb_slob_list *list)
{
	struct memtb_slob_block *page, *next;
	unsigned long nr = 0, flags;

	memtb_lock(&list->lock, &flags);
	page = memtb_slob_cut_pages(list);
	memtb_unlock(&list->lock, flags);
	for (; page; page = next, nr++) {
		next = page->next;
		memtb_pages_put(list->owner, page, 0);
	}
	return nr;
}

/* What is wrong with a free block, or NULL. */
static const char *memtb_slob_block_fault(struct memtb_slob_list *list,
					  struct memtb_slob_block *cur)
{
	struct memtb_slob_block *end = cur + cur->units;

	if (cur == &list->sentinel)
		return cur->units ? "sentinel has a size" : NULL;
	if (cur->units <= 0)
		return "no size";
	if (memtb_owner(cur) != list->owner ||
	    memtb_owner((void *)end - 1) != list->owner)
		return "not in the list's pages";
	if (cur < cur->next && end > cur->next)
		return "overlaps the next";
	if (end == cur->next)
		return "touches the next, not merged";
	return NULL;
}

static void memtb_slob_audit_block(struct memtb_slob_list *list,
				   struct memtb_slob_block *cur,
				   struct memtb_slob_audit *audit)
{
	const char *fault = memtb_slob_block_fault(list, cur);

	audit->blocks++;
	audit->seams += cur->next <= cur;
	if (!fault || audit->nr_faults++)
		return;
	audit->fault = fault;
	audit->at = cur;
	audit->units = cur->units;
}

static void memtb_slob_walk(struct memtb_slob_list *list,
			    struct memtb_slob_audit *audit)
{
	struct memtb_slob_block *cur = &list->sentinel;

	*audit = (struct memtb_slob_audit){ .counted = list->nr_blocks };
	do {
		memtb_slob_audit_block(list, cur, audit);
		cur = cur->next;
	} while (cur != &list->sentinel && audit->blocks <= list->nr_blocks);
	audit->closed = cur == &list->sentinel;
}

/**
 * memtb_slob_list_check - look at every block, print what is wrong
 * @list: the list
 * @whose: what is in it, for the message
 *
 * Context: any but NMI, the list's lock not held.
 * Return: number of faults.
 */
unsigned long memtb_slob_list_check(struct memtb_slob_list *list,
				    const char *whose)
{
	const char *heap = list->owner->heap->name;
	struct memtb_slob_audit audit;
	unsigned long flags;

	memtb_lock(&list->lock, &flags);
	memtb_slob_walk(list, &audit);
	memtb_unlock(&list->lock, flags);

	if (audit.nr_faults)
		pr_err("violation: heap %s, list of %s: free block %p, %d units: %s; %lu such blocks\n",
		       heap, whose, audit.at, audit.units, audit.fault,
		       audit.nr_faults);
	/* A walk that was cut short may have seen just the right number. */
	if (audit.closed && audit.blocks == audit.counted + 1 &&
	    audit.seams == 1)
		return audit.nr_faults;
	pr_err("violation: heap %s, list of %s: %lu blocks in the list, %lu counted, %lu seams\n",
	       heap, whose, audit.blocks - 1, audit.counted, audit.seams);
	return audit.nr_faults + 1;
}
