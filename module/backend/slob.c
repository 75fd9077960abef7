// SPDX-License-Identifier: GPL-2.0
/*
 * slob: the plain "simple list of blocks" allocator of December 2005.
 *
 * The design is Matt Mackall's for small machines, as it stood in 2.6.15-rc5-rt2
 * and went into 2.6.16; this is a new text, written from a description of its
 * behaviour.  It is here because of what it does when a heap grows: see
 * "Cost" below and Documentation/backends.rst.
 *
 * Blocks.  A heap is one set of free blocks of whole units; a unit is what a
 * block's header takes (an int and a pointer: 16 bytes on 64-bit, 8 on 32-bit).
 * All free blocks stand in one circular list in order of address, linked
 * through themselves.  A sentinel of zero units, which lies in the heap's
 * descriptor and can neither be taken nor merged, keeps the list from ever
 * being empty.
 *
 * Taking.  Next fit: the search starts behind the block where the last operation
 * left off, takes the first block that is large enough, cuts off what is in
 * front of an aligned start and what is left behind the end, and leaves those
 * pieces in the list.  After one lap without success the heap grows by one
 * page, got with the lock dropped and put into the list like a freed block.
 *
 * Giving back.  A walk finds the two free blocks around the address; the block
 * joins both where they touch, also across a page border if two pages happen to
 * be neighbours.
 *
 * Sizes.  A general-purpose block carries one unit in front that holds its
 * length; from a page less a unit upwards it is a "big block": pages of its own,
 * found again through a list of descriptors, which come from the heap itself
 * and have a lock of their own.  An address that is not on a page border cannot
 * be big, so the list is searched only for those that are.  A cache is nothing
 * but a size, an alignment and a constructor, which runs each time an object is
 * handed out; its objects have no header, and from a page upwards they are
 * pages.
 *
 * Pages go home one at a time: once a second a timer takes a free block that is
 * exactly a page, if there is one.
 *
 * Cost.  Both walks are linear in the number of free blocks *of the whole
 * heap*, under one lock with interrupts off.  The heap counts the blocks looked
 * at (list_steps) and times every section (lock_hold_*): that, not elapsed
 * time, is what made `make install` three times slower.
 *
 * What differs from 2005:
 * - today's kernel relies on kmalloc() aligning powers of two naturally, so a
 *   general-purpose block may start behind a gap: its payload is aligned, not
 *   its header.  2005 aligned to a unit;
 * - SLAB_TYPESAFE_BY_RCU (2.6.22): a footer behind the object carries an
 *   rcu_head, and the block is given back after a grace period;
 * - before a block joins the list it is compared with its new neighbours, and
 *   the walk is given up when it comes around a second time.  A block that
 *   overlaps is reported and dropped; 2005 looped or corrupted the list;
 * - a heap can be emptied: shrink returns every whole free page at once.
 */
#include <linux/kernel.h>
#include <linux/log2.h>
#include <linux/rcupdate.h>
#include <linux/sched/clock.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/timer.h>

#include "../core/pages.h"
#include "backend.h"

/**
 * struct memtb_slob_block - the header of a free or general-purpose block
 * @units: length of the block in units, this one included
 * @next: next free block by address; the first follows the last
 */
struct memtb_slob_block {
	int units;
	struct memtb_slob_block *next;
};

#define MEMTB_SLOB_UNIT		sizeof(struct memtb_slob_block)
#define MEMTB_SLOB_PAGE_UNITS	((int)(PAGE_SIZE / MEMTB_SLOB_UNIT))

/**
 * struct memtb_slob_big - a block that has pages of its own
 * @order: log2 of their number
 * @pages: their address
 * @next: the next descriptor, newest first
 */
struct memtb_slob_big {
	unsigned int order;
	void *pages;
	struct memtb_slob_big *next;
};

/**
 * struct memtb_slob - a heap
 * @lock: protects the free list; held, with interrupts off, for a whole walk
 * @since: when @lock was taken, in ns
 * @sentinel: always in the list
 * @rover: the block behind which the next walk starts
 * @nr_blocks: blocks in the list, the sentinel not counted
 * @big_lock: protects @big; never held together with @lock
 * @big: the big blocks
 * @timer: returns a page a second
 * @heap: for @timer
 */
struct memtb_slob {
	raw_spinlock_t lock;
	u64 since;
	struct memtb_slob_block sentinel;
	struct memtb_slob_block *rover;
	unsigned long nr_blocks;
	raw_spinlock_t big_lock;
	struct memtb_slob_big *big;
	struct timer_list timer;
	struct memtb_heap *heap;
};

/**
 * struct memtb_slob_cache - a cache
 * @size: bytes taken per object, with the footer if there is one
 * @footer: offset of the footer in bytes, 0 if there is none
 */
struct memtb_slob_cache {
	size_t size;
	size_t footer;
};

/* Behind an object of a type-safe cache while it waits for a grace period. */
struct memtb_slob_footer {
	struct rcu_head rcu;
	struct memtb_cache *cache;
};

/* A general-purpose block's alignment also suits DMA, as kmalloc()'s does. */
#define MEMTB_SLOB_GP_ALIGN						\
	(ARCH_KMALLOC_MINALIGN > MEMTB_SLOB_UNIT ?			\
	 ARCH_KMALLOC_MINALIGN : MEMTB_SLOB_UNIT)

static int memtb_slob_units(size_t size)
{
	return DIV_ROUND_UP(size, MEMTB_SLOB_UNIT);
}

static void memtb_slob_lock(struct memtb_slob *slob, unsigned long *flags)
	__acquires(&slob->lock)
{
	raw_spin_lock_irqsave(&slob->lock, *flags);
	slob->since = local_clock();
}

static void memtb_slob_unlock(struct memtb_slob *slob, unsigned long flags)
	__releases(&slob->lock)
{
	u64 ns = local_clock() - slob->since;

	memtb_stat_add(slob->heap, MEMTB_STAT_LOCK_HOLDS, 1);
	memtb_stat_add(slob->heap, MEMTB_STAT_LOCK_HOLD_NS, ns);
	memtb_stat_max(slob->heap, MEMTB_STAT_LOCK_HOLD_MAX_NS, ns);
	raw_spin_unlock_irqrestore(&slob->lock, flags);
}

static void memtb_slob_steps(struct memtb_slob *slob, unsigned long steps)
{
	memtb_stat_add(slob->heap, MEMTB_STAT_LIST_STEPS, steps);
	memtb_stat_max(slob->heap, MEMTB_STAT_LIST_STEPS_MAX, steps);
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
memtb_slob_cut(struct memtb_slob *slob, struct memtb_slob_block *prev,
	       struct memtb_slob_block *cur, struct memtb_slob_block *start,
	       int units)
{
	struct memtb_slob_block *next = cur->next, *tail = start + units;
	int front = start - cur;
	int behind = cur->units - front - units;

	slob->nr_blocks--;
	if (front) {
		cur->units = front;
		prev->next = cur;
		prev = cur;
		slob->nr_blocks++;
	}
	if (behind) {
		tail->units = behind;
		tail->next = next;
		next = tail;
		slob->nr_blocks++;
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

/*
 * Next fit: one lap from the rover.  @size bytes, so that the byte @offset lies
 * on a multiple of @align.  Caller holds the lock.
 */
static void *memtb_slob_take(struct memtb_slob *slob, size_t size, size_t align,
			     size_t offset)
{
	struct memtb_slob_block *prev = slob->rover, *cur, *start;
	int units = memtb_slob_units(size);
	unsigned long steps = 0;

	do {
		cur = prev->next;
		steps++;
		start = memtb_slob_fit(cur, units, align, offset);
		if (start) {
			slob->rover = memtb_slob_cut(slob, prev, cur, start,
						     units);
			start->units = units;
			break;
		}
		prev = cur;
	} while (prev != slob->rover);

	memtb_slob_steps(slob, steps);
	return start;
}

/*
 * The free block in front of @block, or NULL if the circle has no place for it:
 * whoever comes to the seam, where the last block is followed by the first, a
 * second time has seen all of them.
 */
static struct memtb_slob_block *
memtb_slob_before(struct memtb_slob *slob, const struct memtb_slob_block *block)
{
	struct memtb_slob_block *cur = slob->rover, *next;
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
		if (cur < block || block < next)
			break;
		if (lap) {
			cur = NULL;
			break;
		}
		lap = true;
	}
	memtb_slob_steps(slob, steps);
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
static bool memtb_slob_give(struct memtb_slob *slob, void *obj, size_t size)
{
	struct memtb_slob_block *block = obj, *before;
	int units = memtb_slob_units(size);

	before = memtb_slob_before(slob, block);
	if (!before || memtb_slob_overlaps(before, block, units))
		return false;

	block->units = units;
	block->next = before->next;
	slob->nr_blocks++;
	if (block + units == block->next) {
		block->units += block->next->units;
		block->next = block->next->next;
		slob->nr_blocks--;
	}
	if (before + before->units == block) {
		before->units += block->units;
		block = block->next;
		slob->nr_blocks--;
	}
	before->next = block;
	slob->rover = before;
	return true;
}

static bool memtb_slob_put(struct memtb_slob *slob, void *obj, size_t size)
{
	unsigned long flags;
	bool done;

	memtb_slob_lock(slob, &flags);
	done = memtb_slob_give(slob, obj, size);
	memtb_slob_unlock(slob, flags);
	if (!done)
		pr_err("heap %s: %p (%zu bytes) is free already\n",
		       slob->heap->name, obj, size);
	return done;
}

static bool memtb_slob_grow(struct memtb_slob *slob, gfp_t gfp, int node)
{
	void *page = memtb_pages_get(&slob->heap->owner, gfp, 0, node);

	return page && memtb_slob_put(slob, page, PAGE_SIZE);
}

/*
 * From the list, growing the heap as long as nothing fits.  A page of its own
 * would fit, but another CPU may be faster.
 */
static void *memtb_slob_get(struct memtb_slob *slob, size_t size, size_t align,
			    size_t offset, gfp_t gfp, int node)
{
	unsigned long flags;
	void *obj;

	do {
		memtb_slob_lock(slob, &flags);
		obj = memtb_slob_take(slob, size, align, offset);
		memtb_slob_unlock(slob, flags);
	} while (!obj && memtb_slob_grow(slob, gfp, node));
	return obj;
}

/* Returns one whole free page to the page allocator, if there is one. */
static bool memtb_slob_return_page(struct memtb_slob *slob)
{
	unsigned long flags;
	void *page;

	memtb_slob_lock(slob, &flags);
	page = memtb_slob_take(slob, PAGE_SIZE, PAGE_SIZE, 0);
	memtb_slob_unlock(slob, flags);
	if (page)
		memtb_pages_put(&slob->heap->owner, page, 0);
	return page;
}

static void memtb_slob_tick(struct timer_list *timer)
{
	struct memtb_slob *slob = timer_container_of(slob, timer, timer);

	memtb_slob_return_page(slob);
	mod_timer(&slob->timer, jiffies + HZ);
}

/* ---- objects of a cache ---- */

static void *memtb_slob_alloc(struct memtb_cache *cache, gfp_t gfp, int node)
{
	struct memtb_slob *slob = memtb_heap_priv(cache->heap);
	struct memtb_slob_cache *sc = memtb_cache_priv(cache);
	void *obj;

	if (sc->size < PAGE_SIZE)
		obj = memtb_slob_get(slob, sc->size,
				     max(cache->align, MEMTB_SLOB_UNIT), 0, gfp,
				     node);
	else
		obj = memtb_pages_get(&cache->heap->owner, gfp,
				      get_order(sc->size), node);
	if (obj && cache->ctor)
		cache->ctor(obj);
	return obj;
}

static bool memtb_slob_release(struct memtb_cache *cache, void *obj)
{
	struct memtb_slob_cache *sc = memtb_cache_priv(cache);

	if (sc->size < PAGE_SIZE)
		return memtb_slob_put(memtb_heap_priv(cache->heap), obj,
				      sc->size);
	memtb_pages_put(&cache->heap->owner, obj, get_order(sc->size));
	return true;
}

static void memtb_slob_release_rcu(struct rcu_head *rcu)
{
	struct memtb_slob_footer *footer =
		container_of(rcu, struct memtb_slob_footer, rcu);
	struct memtb_slob_cache *sc = memtb_cache_priv(footer->cache);

	memtb_slob_release(footer->cache, (void *)footer - sc->footer);
}

static bool memtb_slob_free(struct memtb_cache *cache, void *obj)
{
	struct memtb_slob_cache *sc = memtb_cache_priv(cache);
	struct memtb_slob_footer *footer = obj + sc->footer;

	if (!sc->footer)
		return memtb_slob_release(cache, obj);
	footer->cache = cache;
	call_rcu(&footer->rcu, memtb_slob_release_rcu);
	return true;
}

static int memtb_slob_cache_init(struct memtb_cache *cache)
{
	struct memtb_slob_cache *sc = memtb_cache_priv(cache);

	sc->size = cache->size;
	if (cache->flags & SLAB_TYPESAFE_BY_RCU) {
		sc->footer = ALIGN(cache->size,
				   __alignof__(struct memtb_slob_footer));
		sc->size = sc->footer + sizeof(struct memtb_slob_footer);
	}
	return sc->size > KMALLOC_MAX_SIZE ? -EINVAL : 0;
}

static void memtb_slob_cache_exit(struct memtb_cache *cache)
{
	if (cache->flags & SLAB_TYPESAFE_BY_RCU)
		rcu_barrier();
}

/* ---- the general-purpose side ---- */

static size_t memtb_slob_gp_align(size_t size)
{
	return is_power_of_2(size) ? max(size, MEMTB_SLOB_GP_ALIGN) :
				     MEMTB_SLOB_GP_ALIGN;
}

/* A block that could not be sure to fit behind its header in a fresh page. */
static bool memtb_slob_is_big(size_t size)
{
	return size >= PAGE_SIZE - MEMTB_SLOB_UNIT ||
	       ALIGN(MEMTB_SLOB_UNIT, memtb_slob_gp_align(size)) + size >
	       PAGE_SIZE;
}

static void *memtb_slob_big_alloc(struct memtb_slob *slob, size_t size,
				  gfp_t gfp, int node)
{
	struct memtb_slob_big *big;
	unsigned long flags;

	big = memtb_slob_get(slob, sizeof(*big), MEMTB_SLOB_UNIT, 0, gfp, node);
	if (!big)
		return NULL;
	big->order = get_order(size);
	big->pages = memtb_pages_get(&slob->heap->owner, gfp, big->order, node);
	if (!big->pages) {
		memtb_slob_put(slob, big, sizeof(*big));
		return NULL;
	}
	raw_spin_lock_irqsave(&slob->big_lock, flags);
	big->next = slob->big;
	slob->big = big;
	raw_spin_unlock_irqrestore(&slob->big_lock, flags);
	return big->pages;
}

/* Where the list points to the descriptor of @obj.  Caller holds big_lock. */
static struct memtb_slob_big **memtb_slob_big_find(struct memtb_slob *slob,
						   const void *obj)
{
	struct memtb_slob_big **where = &slob->big;
	unsigned long steps = 0;

	while (*where && (*where)->pages != obj) {
		where = &(*where)->next;
		steps++;
	}
	memtb_slob_steps(slob, steps);
	return where;
}

/*
 * The descriptor of @obj if it is a big block, otherwise NULL; with @unlink it
 * leaves the list.
 */
static struct memtb_slob_big *memtb_slob_big_get(struct memtb_slob *slob,
						 const void *obj, bool unlink)
{
	struct memtb_slob_big **where, *big;
	unsigned long flags;

	if (offset_in_page(obj))
		return NULL;
	raw_spin_lock_irqsave(&slob->big_lock, flags);
	where = memtb_slob_big_find(slob, obj);
	big = *where;
	if (big && unlink)
		*where = big->next;
	raw_spin_unlock_irqrestore(&slob->big_lock, flags);
	return big;
}

static void *memtb_slob_gp_alloc(struct memtb_heap *heap, size_t size,
				 gfp_t gfp, int node)
{
	struct memtb_slob *slob = memtb_heap_priv(heap);
	struct memtb_slob_block *block;

	if (memtb_slob_is_big(size))
		return memtb_slob_big_alloc(slob, size, gfp, node);
	block = memtb_slob_get(slob, size + MEMTB_SLOB_UNIT,
			       memtb_slob_gp_align(size), MEMTB_SLOB_UNIT, gfp,
			       node);
	return block ? block + 1 : NULL;
}

static bool memtb_slob_gp_free(struct memtb_heap *heap, void *obj)
{
	struct memtb_slob *slob = memtb_heap_priv(heap);
	struct memtb_slob_big *big = memtb_slob_big_get(slob, obj, true);
	struct memtb_slob_block *block = obj - MEMTB_SLOB_UNIT;

	if (!big)
		return memtb_slob_put(slob, block,
				      block->units * MEMTB_SLOB_UNIT);
	memtb_pages_put(&heap->owner, big->pages, big->order);
	return memtb_slob_put(slob, big, sizeof(*big));
}

static size_t memtb_slob_gp_size(struct memtb_heap *heap, void *obj)
{
	struct memtb_slob *slob = memtb_heap_priv(heap);
	struct memtb_slob_big *big = memtb_slob_big_get(slob, obj, false);
	struct memtb_slob_block *block = obj - MEMTB_SLOB_UNIT;

	if (big)
		return PAGE_SIZE << big->order;
	return (block->units - 1) * MEMTB_SLOB_UNIT;
}

/* ---- the heap ---- */

static unsigned long memtb_slob_shrink(struct memtb_heap *heap)
{
	struct memtb_slob *slob = memtb_heap_priv(heap);
	unsigned long nr = 0;

	while (memtb_slob_return_page(slob))
		nr++;
	return nr;
}

static bool memtb_slob_in_heap(struct memtb_heap *heap, const void *addr)
{
	struct memtb_owner *owner = memtb_owner(addr);

	return owner && owner->heap == heap;
}

/* What is wrong with a free block, or NULL. */
static const char *memtb_slob_block_fault(struct memtb_slob *slob,
					  struct memtb_slob_block *cur)
{
	struct memtb_slob_block *end = cur + cur->units;

	if (cur == &slob->sentinel)
		return cur->units ? "sentinel has a size" : NULL;
	if (cur->units <= 0)
		return "no size";
	if (!memtb_slob_in_heap(slob->heap, cur) ||
	    !memtb_slob_in_heap(slob->heap, (void *)end - 1))
		return "not in the heap's pages";
	if (cur < cur->next && end > cur->next)
		return "overlaps the next";
	if (end == cur->next)
		return "touches the next, not merged";
	return NULL;
}

/**
 * struct memtb_slob_audit - what a walk over the whole list found
 * @blocks: blocks, the sentinel counted
 * @seams: places where the address does not rise
 * @closed: whether the walk came back to the sentinel
 * @nr_faults: blocks with something wrong
 * @fault: what is wrong with the first of them
 * @at: that block
 * @units: its length
 */
struct memtb_slob_audit {
	unsigned long blocks;
	unsigned long seams;
	bool closed;
	unsigned long nr_faults;
	const char *fault;
	const void *at;
	int units;
};

static void memtb_slob_audit_block(struct memtb_slob *slob,
				   struct memtb_slob_block *cur,
				   struct memtb_slob_audit *audit)
{
	const char *fault = memtb_slob_block_fault(slob, cur);

	audit->blocks++;
	audit->seams += cur->next <= cur;
	if (!fault || audit->nr_faults++)
		return;
	audit->fault = fault;
	audit->at = cur;
	audit->units = cur->units;
}

/* Under the lock nothing is printed, as in memtb_slob_give(). */
static void memtb_slob_walk(struct memtb_slob *slob,
			    struct memtb_slob_audit *audit)
{
	struct memtb_slob_block *cur = &slob->sentinel;

	do {
		memtb_slob_audit_block(slob, cur, audit);
		cur = cur->next;
	} while (cur != &slob->sentinel && audit->blocks <= slob->nr_blocks);
	audit->closed = cur == &slob->sentinel;
}

static unsigned long memtb_slob_check(struct memtb_heap *heap)
{
	struct memtb_slob *slob = memtb_heap_priv(heap);
	struct memtb_slob_audit audit = {};
	unsigned long counted, flags;

	memtb_slob_lock(slob, &flags);
	memtb_slob_walk(slob, &audit);
	counted = slob->nr_blocks;
	memtb_slob_unlock(slob, flags);

	if (audit.nr_faults)
		pr_err("violation: heap %s: free block %p, %d units: %s; %lu such blocks\n",
		       heap->name, audit.at, audit.units, audit.fault,
		       audit.nr_faults);
	/* A walk that was cut short may have seen just the right number. */
	if (audit.closed && audit.blocks == counted + 1 && audit.seams == 1)
		return audit.nr_faults;
	pr_err("violation: heap %s: %lu blocks in the list, %lu counted, %lu seams\n",
	       heap->name, audit.blocks - 1, counted, audit.seams);
	return audit.nr_faults + 1;
}

static int memtb_slob_heap_init(struct memtb_heap *heap)
{
	struct memtb_slob *slob = memtb_heap_priv(heap);

	raw_spin_lock_init(&slob->lock);
	raw_spin_lock_init(&slob->big_lock);
	slob->sentinel.next = &slob->sentinel;
	slob->rover = &slob->sentinel;
	slob->heap = heap;
	timer_setup(&slob->timer, memtb_slob_tick, 0);
	mod_timer(&slob->timer, jiffies + HZ);
	return 0;
}

static void memtb_slob_heap_exit(struct memtb_heap *heap)
{
	struct memtb_slob *slob = memtb_heap_priv(heap);

	timer_delete_sync(&slob->timer);
	rcu_barrier();
	memtb_slob_shrink(heap);
}

const struct memtb_backend memtb_backend_slob = {
	.name = "slob",
	.summary = "one address-ordered list, next fit (plain SLOB, 2005)",
	.flags = MEMTB_OWNS_PAGES | MEMTB_STORES | MEMTB_RCU,
	.max_size = KMALLOC_MAX_SIZE,
	.max_align = PAGE_SIZE,
	.heap_size = sizeof(struct memtb_slob),
	.cache_size = sizeof(struct memtb_slob_cache),
	.gp_min_align = MEMTB_SLOB_GP_ALIGN,
	.heap_init = memtb_slob_heap_init,
	.heap_exit = memtb_slob_heap_exit,
	.cache_init = memtb_slob_cache_init,
	.cache_exit = memtb_slob_cache_exit,
	.alloc = memtb_slob_alloc,
	.free = memtb_slob_free,
	.gp_alloc = memtb_slob_gp_alloc,
	.gp_free = memtb_slob_gp_free,
	.gp_size = memtb_slob_gp_size,
	.shrink = memtb_slob_shrink,
	.check = memtb_slob_check,
};
