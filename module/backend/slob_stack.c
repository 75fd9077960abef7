// SPDX-License-Identifier: GPL-2.0
/*
 * Free objects as stacks, constant time: what slob-new+stack has for a free list.
 *
 * The list of 2005 is in order of address so that neighbours can be joined, and
 * whoever frees walks it.  In the pool of one cache nobody needs a joined piece:
 * all objects have one size.  Without the order there is nothing to walk for.
 *
 * Each page is a stack of its free objects, linked through themselves.  The pool
 * has a list of the pages that have any.  An allocation takes the top of the
 * first page, so what was freed last, and may still be in the processor's cache,
 * is used first; a free finds its page through the page map.  A page whose last
 * free object goes out leaves the list, and comes back to its front with the
 * first that returns.  Both ways are one step, whatever the number of free
 * objects.
 *
 * Pages go home as soon as they are empty, but for one: a pool with an object
 * that comes and goes would otherwise get and return a page each time.  The one
 * that stays is the last of the list, so it is not touched while there is room
 * elsewhere, and goes when the heap is shrunk or the cache destroyed.  Counting
 * makes that free of charge; the list of 2005 would have to look for such pages.
 *
 * The descriptor of a page, not the page itself, says how many objects are out,
 * and which, as a bit of each.  A second free finds its bit clear and is refused:
 * also this takes no walk.  What it cannot see is that the object has been given
 * to somebody else in the meantime; debug=verify does not see it either, nor
 * could a list.
 *
 * Cost.  A descriptor of 80 bytes for each page, 2 % (64-bit).  The list gave out
 * one free block from end to end; here neighbours in time are no neighbours in
 * memory once the heap is old.  A fresh page has all its objects linked at once,
 * before the lock is taken, so that an allocation which needs one costs as much
 * as the page has objects, as it does with SLAB.
 */
#include <linux/bitmap.h>
#include <linux/mm.h>

#include "../core/pages.h"
#include "slob_stack.h"

/**
 * memtb_slob_stack_init - a pool without pages
 * @stack: the pool
 * @descs: for descriptors of sizeof(struct memtb_slob_page)
 * @place: what the page map is to say of its pages; stays valid
 * @stride: bytes per object, a multiple of the unit, at most half a page
 *
 * Context: any.
 */
void memtb_slob_stack_init(struct memtb_slob_stack *stack,
			   struct memtb_desc_pool *descs,
			   const struct memtb_place *place, size_t stride)
{
	INIT_LIST_HEAD(&stack->pages);
	stack->nr_pages = 0;
	stack->empty = NULL;
	memtb_lock_init(&stack->lock, place->owner.heap);
	stack->descs = descs;
	stack->place = place;
	stack->stride = stride;
}

/* Of an object of such a pool. */
static struct memtb_slob_page *memtb_slob_page(const void *obj)
{
	return container_of(memtb_owner(obj), struct memtb_slob_page,
			    place.owner);
}

static unsigned int memtb_slob_unit(const void *obj)
{
	return offset_in_page(obj) / MEMTB_SLOB_UNIT;
}

/* ---- pages; the lock is not held ---- */

/* The lowest object comes first. */
static void memtb_slob_page_cut_up(struct memtb_slob_page *page, void *base,
				   size_t stride)
{
	size_t at = rounddown(PAGE_SIZE, stride);
	void **obj;

	page->free = NULL;
	do {
		at -= stride;
		obj = base + at;
		*obj = page->free;
		page->free = obj;
	} while (at);
}

/* A page of which all is free, not in the list yet. */
static struct memtb_slob_page *
memtb_slob_page_get(struct memtb_slob_stack *stack, gfp_t gfp, int node)
{
	struct memtb_slob_page *page = memtb_desc_get(stack->descs, gfp, node);
	void *base;

	if (!page)
		return NULL;
	page->place = *stack->place;
	page->used = 0;
	bitmap_zero(page->out, MEMTB_SLOB_PAGE_UNITS);
	base = memtb_pages_get(&page->place.owner, gfp, 0, node);
	if (!base)
		goto out_put_desc;
	memtb_slob_page_cut_up(page, base, stack->stride);
	return page;

out_put_desc:
	memtb_desc_put(stack->descs, page);
	return NULL;
}

/* An empty page that has left the list goes home. */
static void memtb_slob_page_put(struct memtb_slob_stack *stack,
				struct memtb_slob_page *page)
{
	memtb_pages_put(&page->place.owner, PTR_ALIGN_DOWN(page->free, PAGE_SIZE),
			0);
	memtb_desc_put(stack->descs, page);
}

/* ---- the list and the stacks; the lock is held ---- */

static void memtb_slob_page_join(struct memtb_slob_stack *stack,
				 struct memtb_slob_page *page)
{
	list_add(&page->node, &stack->pages);
	stack->nr_pages++;
}

static void memtb_slob_page_leave(struct memtb_slob_stack *stack,
				  struct memtb_slob_page *page)
{
	list_del(&page->node);
	stack->nr_pages--;
}

/* The top of the first page, or NULL. */
static void *memtb_slob_pop(struct memtb_slob_stack *stack)
{
	struct memtb_slob_page *page;
	void **obj;

	page = list_first_entry_or_null(&stack->pages, struct memtb_slob_page,
					node);
	if (!page)
		return NULL;
	memtb_stat_steps(stack->lock.heap, 1);
	obj = page->free;
	page->free = *obj;
	page->used++;
	__set_bit(memtb_slob_unit(obj), page->out);
	if (page == stack->empty)
		stack->empty = NULL;
	if (!page->free)
		memtb_slob_page_leave(stack, page);
	return obj;
}

/*
 * Onto its page.  Whether that has left the list for good: it is empty, and not
 * the only one.
 */
static bool memtb_slob_push(struct memtb_slob_stack *stack,
			    struct memtb_slob_page *page, void **obj)
{
	memtb_stat_steps(stack->lock.heap, 1);
	if (!page->free)
		memtb_slob_page_join(stack, page);
	*obj = page->free;
	page->free = obj;
	if (--page->used)
		return false;
	if (stack->empty) {
		memtb_slob_page_leave(stack, page);
		return true;
	}
	stack->empty = page;
	list_move_tail(&page->node, &stack->pages);
	return false;
}

/**
 * memtb_slob_stack_get - take an object
 * @stack: the pool
 * @gfp: how to get a page
 * @node: wanted memory node or NUMA_NO_NODE
 *
 * Context: any but NMI, the pool's lock not held; sleeps only if @gfp allows
 * blocking.
 * Return: the object, or NULL if there is no page.
 */
void *memtb_slob_stack_get(struct memtb_slob_stack *stack, gfp_t gfp, int node)
{
	struct memtb_slob_page *page;
	unsigned long flags;
	void *obj;

	memtb_lock(&stack->lock, &flags);
	obj = memtb_slob_pop(stack);
	memtb_unlock(&stack->lock, flags);
	if (obj)
		return obj;
	page = memtb_slob_page_get(stack, gfp, node);
	if (!page)
		return NULL;
	memtb_lock(&stack->lock, &flags);
	memtb_slob_page_join(stack, page);
	obj = memtb_slob_pop(stack);
	memtb_unlock(&stack->lock, flags);
	return obj;
}

/**
 * memtb_slob_stack_put - give an object back
 * @stack: the pool
 * @obj: an address in its pages at which an object begins
 *
 * Context: any but NMI, the pool's lock not held, never sleeps.
 * Return: false if the object is free already, which is reported; then nothing
 * has changed.
 */
bool memtb_slob_stack_put(struct memtb_slob_stack *stack, void *obj)
{
	struct memtb_slob_page *page = memtb_slob_page(obj);
	bool done, home = false;
	unsigned long flags;

	memtb_lock(&stack->lock, &flags);
	done = __test_and_clear_bit(memtb_slob_unit(obj), page->out);
	if (done)
		home = memtb_slob_push(stack, page, obj);
	memtb_unlock(&stack->lock, flags);
	if (home)
		memtb_slob_page_put(stack, page);
	if (!done)
		pr_err("heap %s: %p (%zu bytes) is free already\n",
		       stack->lock.heap->name, obj, stack->stride);
	return done;
}

/**
 * memtb_slob_stack_shrink - return the page that is empty
 * @stack: the pool
 *
 * Context: any but NMI, the pool's lock not held, never sleeps.
 * Return: number of pages, descriptors not counted.
 */
unsigned long memtb_slob_stack_shrink(struct memtb_slob_stack *stack)
{
	struct memtb_slob_page *page;
	unsigned long flags;

	memtb_lock(&stack->lock, &flags);
	page = stack->empty;
	stack->empty = NULL;
	if (page)
		memtb_slob_page_leave(stack, page);
	memtb_unlock(&stack->lock, flags);
	if (page)
		memtb_slob_page_put(stack, page);
	return !!page;
}

/* ---- the check ---- */

/* What is wrong with the stack of a page, or NULL. */
static const char *memtb_slob_page_stack_fault(struct memtb_slob_stack *stack,
					       struct memtb_slob_page *page)
{
	unsigned int fit = PAGE_SIZE / stack->stride, nr = 0;
	void **obj;

	for (obj = page->free; obj; obj = *obj) {
		if (memtb_owner(obj) != &page->place.owner ||
		    !memtb_slob_begins(obj, stack->stride))
			return "what is free is no object of the page";
		if (test_bit(memtb_slob_unit(obj), page->out))
			return "a free object is marked as out";
		if (++nr > fit)
			return "the stack has no end";
	}
	if (nr + page->used != fit)
		return "free and used objects are not all of them";
	return NULL;
}

static const char *memtb_slob_page_fault(struct memtb_slob_stack *stack,
					 struct memtb_slob_page *page)
{
	if (page->place.arena != stack->place->arena)
		return "not the pool's";
	if (!page->free)
		return "nothing is free";
	if (bitmap_weight(page->out, MEMTB_SLOB_PAGE_UNITS) != page->used)
		return "not as many are marked as out as are counted";
	if (!page->used != (page == stack->empty))
		return "empty, but not known as such, or the other way round";
	return memtb_slob_page_stack_fault(stack, page);
}

/**
 * memtb_slob_stack_check - look at every page in the list, print what is wrong
 * @stack: the pool
 * @whose: what is in it, for the message
 *
 * Pages of which every object is out are in no list and not looked at.
 *
 * Context: any but NMI, the pool's lock not held.
 * Return: number of faults.
 */
unsigned long memtb_slob_stack_check(struct memtb_slob_stack *stack,
				     const char *whose)
{
	unsigned long nr = 0, nr_faults = 0, counted, flags;
	const char *heap = stack->lock.heap->name;
	const char *what, *fault = NULL;
	struct memtb_slob_page *page;

	memtb_lock(&stack->lock, &flags);
	counted = stack->nr_pages;
	list_for_each_entry(page, &stack->pages, node) {
		if (++nr > counted)
			break;
		what = memtb_slob_page_fault(stack, page);
		nr_faults += !!what;
		fault = fault ?: what;
	}
	memtb_unlock(&stack->lock, flags);

	if (nr_faults)
		pr_err("violation: heap %s, pages of %s: %s; %lu such pages\n",
		       heap, whose, fault, nr_faults);
	if (nr == counted)
		return nr_faults;
	pr_err("violation: heap %s, pages of %s: %lu pages counted, not all or more in the list\n",
	       heap, whose, counted);
	return nr_faults + 1;
}
