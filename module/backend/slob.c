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
#include "slob_list.h"

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
 * @list: all free blocks
 * @big_lock: protects @big; never held together with the list's lock
 * @big: the big blocks
 * @timer: returns a page a second
 * @heap: for @timer
 */
struct memtb_slob {
	struct memtb_slob_list list;
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

/* A general-purpose block's alignment also suits DMA, as kmalloc()'s does. */
#define MEMTB_SLOB_GP_ALIGN						\
	(ARCH_KMALLOC_MINALIGN > MEMTB_SLOB_UNIT ?			\
	 ARCH_KMALLOC_MINALIGN : MEMTB_SLOB_UNIT)

/* Returns one whole free page to the page allocator, if there is one. */
static bool memtb_slob_return_page(struct memtb_slob *slob)
{
	unsigned long flags;
	void *page;

	memtb_lock(&slob->list.lock, &flags);
	page = memtb_slob_take(&slob->list, PAGE_SIZE, PAGE_SIZE, 0);
	memtb_unlock(&slob->list.lock, flags);
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
		obj = memtb_slob_get(&slob->list, sc->size,
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
		sc->footer = memtb_slob_footer_offset(cache->size);
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

	big = memtb_slob_get(&slob->list, sizeof(*big), MEMTB_SLOB_UNIT, 0, gfp, node);
	if (!big)
		return NULL;
	big->order = get_order(size);
	big->pages = memtb_pages_get(&slob->heap->owner, gfp, big->order, node);
	if (!big->pages) {
		memtb_slob_put(&slob->list, big, sizeof(*big));
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
	memtb_stat_steps(slob->heap, steps);
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
	block = memtb_slob_get(&slob->list, size + MEMTB_SLOB_UNIT,
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
		return memtb_slob_put(&slob->list, block,
				      block->units * MEMTB_SLOB_UNIT);
	memtb_pages_put(&heap->owner, big->pages, big->order);
	return memtb_slob_put(&slob->list, big, sizeof(*big));
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

	return memtb_slob_list_shrink(&slob->list);
}

static unsigned long memtb_slob_check(struct memtb_heap *heap)
{
	struct memtb_slob *slob = memtb_heap_priv(heap);

	return memtb_slob_list_check(&slob->list, "all");
}

static int memtb_slob_heap_init(struct memtb_heap *heap)
{
	struct memtb_slob *slob = memtb_heap_priv(heap);

	raw_spin_lock_init(&slob->big_lock);
	memtb_slob_list_init(&slob->list, &heap->owner, PAGE_SIZE);
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
	.flags = MEMTB_OWNS_PAGES | MEMTB_STORES | MEMTB_RCU | MEMTB_ALIGNS,
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
