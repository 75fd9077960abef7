// SPDX-License-Identifier: GPL-2.0
/*
 * slob-new: SLOB broken up by caches, December 2005.
 *
 * Steven Rostedt's answer to the cost of the plain SLOB (see slob.c), posted two
 * weeks after it was reported: "make install" went from 86.8 to 28.0 seconds.
 * It was never merged.  This is a new text, written from a description of its
 * behaviour, and finished where he had left it.
 *
 * Arenas.  Each cache has what the plain SLOB has once: a list of free blocks in
 * order of address, a roving pointer, a lock.  All objects in it have one size,
 * so every free block is long enough, and a search ends with the first block.
 * Giving back still walks the list for the place of the block, but it is the
 * list of one cache, and what is freed was often allocated a moment ago, close
 * to the roving pointer.
 *
 * No headers.  The owner of a page is the arena that holds it, and the page map
 * finds the owner of any address, so a free needs no size in front of the
 * object.  In 2005 a word of struct page said so.
 *
 * Sizes.  A general-purpose block comes from a class: 32 bytes and the powers of
 * two above it, up to half a page, each an arena.  A larger block has pages of
 * its own and a descriptor, from an arena of its own, which is the owner of
 * those pages: it is found as fast as an arena, without a list.  Objects of a
 * cache that take more than half a page are pages, too.
 *
 * Pages go home when the heap is shrunk or the cache destroyed: one walk over
 * the list cuts out all that are wholly free.  Until then an arena keeps them,
 * as it did in 2005, when there was no way back at all.
 *
 * Cost.  A free is linear in the number of free blocks of its cache, under the
 * cache's lock with interrupts off.  A size is rounded up to a power of two.
 * Two options, neither of 2005, say what is left when each of these is gone:
 *
 * +stack.  An arena keeps its free objects as stacks, a page each, instead of a
 * list: nothing is searched, and pages go home when they are empty.  See
 * slob_stack.c.  The owner of a page is then its own descriptor, which says
 * whose arena it is.
 *
 * +classes.  Classes of 96 and 192 bytes beside the powers of two.  Matt Mackall
 * objected at the time that rounding to these throws away just the packing that
 * a small machine needs SLOB for; SLAB had these two sizes between.  They are
 * there only where they are aligned as every block is.
 *
 * What differs from 2005:
 * - only the part of a page that whole objects fill goes into the list.  With the
 *   rest in it, a search would look at one piece per page that fits nobody;
 * - destroying a cache returns its pages, shrinking works, a failed allocation
 *   counts nothing, several processors may use it;
 * - an object given back to a cache that it is not of, or at an address where
 *   none begins, is reported and left alone;
 * - SLAB_TYPESAFE_BY_RCU is as in slob.c: a footer, one object at a time.  It
 *   says that the object waits, so that a second free is found before it would
 *   queue the footer twice.
 */
#include <linux/kernel.h>
#include <linux/lockdep.h>
#include <linux/log2.h>
#include <linux/rcupdate.h>
#include <linux/slab.h>

#include "../core/pages.h"
#include "backend.h"
#include "slob_list.h"
#include "slob_stack.h"

/* Bits of the heap's options. */
enum {
	MEMTB_SLOB_NEW_STACK,
	MEMTB_SLOB_NEW_CLASSES,
};

/* The smallest class also suits DMA, as kmalloc()'s does. */
#define MEMTB_ARENA_MIN_SHIFT						\
	(ilog2(ARCH_KMALLOC_MINALIGN) > 5 ? ilog2(ARCH_KMALLOC_MINALIGN) : 5)
#define MEMTB_ARENA_MIN		BIT(MEMTB_ARENA_MIN_SHIFT)
#define MEMTB_ARENA_MAX		(PAGE_SIZE / 2)
#define MEMTB_ARENA_CLASSES	(PAGE_SHIFT - MEMTB_ARENA_MIN_SHIFT)

/* The sizes that +classes adds: three quarters of a power of two. */
static const size_t memtb_arena_between[] = { 96, 192 };

/**
 * struct memtb_arena - blocks of one size
 * @place: owns the pages; with +stack their descriptors are copies of it
 * @stacked: whether the free blocks are in @stack, otherwise they are in @list
 * @list: the free blocks, in order of address
 * @stack: the free blocks, by page
 * @stride: bytes from one object to the next, a multiple of the unit
 * @key: the lock's class
 */
struct memtb_arena {
	struct memtb_place place;
	bool stacked;
	union {
		struct memtb_slob_list list;
		struct memtb_slob_stack stack;
	};
	size_t stride;
	struct lock_class_key key;
};

/**
 * struct memtb_big - a block that has pages of its own
 * @place: owns them
 * @order: log2 of their number
 * @pages: their address
 */
struct memtb_big {
	struct memtb_place place;
	unsigned int order;
	void *pages;
};

/**
 * struct memtb_slob_new - a heap
 * @class: the general-purpose side: the powers of two, then the sizes between
 * @nr_classes: how many there are
 * @bigs: descriptors of big blocks
 * @descs: descriptors of pages, with +stack
 */
struct memtb_slob_new {
	struct memtb_arena class[MEMTB_ARENA_CLASSES +
				 ARRAY_SIZE(memtb_arena_between)];
	unsigned int nr_classes;
	struct memtb_arena bigs;
	struct memtb_desc_pool descs;
};

/**
 * struct memtb_slob_new_cache - a cache
 * @arena: its objects; if they are pages, only the owner of these
 * @footer: offset of the footer in bytes, 0 if there is none
 */
struct memtb_slob_new_cache {
	struct memtb_arena arena;
	size_t footer;
};

/* ---- arenas ---- */

static void memtb_arena_init(struct memtb_arena *arena, struct memtb_heap *heap,
			     size_t stride)
{
	struct memtb_slob_new *new = memtb_heap_priv(heap);

	arena->place.owner.heap = heap;
	arena->place.arena = arena;
	arena->stride = stride;
	lockdep_register_key(&arena->key);
	arena->stacked = memtb_option(heap, MEMTB_SLOB_NEW_STACK);
	if (arena->stacked) {
		memtb_slob_stack_init(&arena->stack, &new->descs, &arena->place,
				      stride);
		lockdep_set_class(&arena->stack.lock.raw, &arena->key);
	} else {
		memtb_slob_list_init(&arena->list, &arena->place.owner,
				     rounddown(PAGE_SIZE, stride));
		lockdep_set_class(&arena->list.lock.raw, &arena->key);
	}
}

static unsigned long memtb_arena_shrink(struct memtb_arena *arena,
					const char *name)
{
	return arena->stacked ? memtb_slob_stack_shrink(&arena->stack) :
				memtb_slob_list_shrink(&arena->list);
}

static unsigned long memtb_arena_check(struct memtb_arena *arena,
				       const char *name)
{
	return arena->stacked ? memtb_slob_stack_check(&arena->stack, name) :
				memtb_slob_list_check(&arena->list, name);
}

static void *memtb_arena_get(struct memtb_arena *arena, gfp_t gfp, int node)
{
	return arena->stacked ?
	       memtb_slob_stack_get(&arena->stack, gfp, node) :
	       memtb_slob_get(&arena->list, arena->stride, MEMTB_SLOB_UNIT, 0,
			      gfp, node);
}

/* Objects that are pages: the arena only owns them. */
static bool memtb_arena_whole(const struct memtb_arena *arena)
{
	return arena->stride > MEMTB_ARENA_MAX;
}

/* Whether an object of the arena may begin at this address of its pages. */
static bool memtb_arena_begins(const struct memtb_arena *arena, const void *obj)
{
	if (memtb_arena_whole(arena) ?
	    IS_ALIGNED((unsigned long)obj, PAGE_SIZE << get_order(arena->stride)) :
	    memtb_slob_begins(obj, arena->stride))
		return true;
	pr_err("heap %s: %p is not an object: none begins there\n",
	       arena->place.owner.heap->name, obj);
	return false;
}

/* Of an address at which an object begins. */
static bool memtb_arena_put(struct memtb_arena *arena, void *obj)
{
	return arena->stacked ?
	       memtb_slob_stack_put(&arena->stack, obj) :
	       memtb_slob_put(&arena->list, obj, arena->stride);
}

/*
 * Of an address that is known to lie in the heap.  Descriptors of pages are as
 * those of big blocks: of an arena, but nobody's to free.
 */
static struct memtb_place *memtb_place(struct memtb_slob_new *new,
				       const void *obj)
{
	struct memtb_owner *owner = memtb_owner(obj);

	return owner == &new->descs.owner ? &new->bigs.place :
	       container_of(owner, struct memtb_place, owner);
}

/* ---- objects of a cache ---- */

static struct memtb_slob_footer *
memtb_slob_new_footer(struct memtb_slob_new_cache *nc, void *obj)
{
	return obj + nc->footer;
}

static void *memtb_slob_new_alloc(struct memtb_cache *cache, gfp_t gfp,
				  int node)
{
	struct memtb_slob_new_cache *nc = memtb_cache_priv(cache);
	struct memtb_arena *arena = &nc->arena;
	void *obj;

	if (memtb_arena_whole(arena))
		obj = memtb_pages_get(&arena->place.owner, gfp,
				      get_order(arena->stride), node);
	else
		obj = memtb_arena_get(arena, gfp, node);
	if (obj && nc->footer)
		memtb_slob_new_footer(nc, obj)->cache = NULL;
	if (obj && cache->ctor)
		cache->ctor(obj);
	return obj;
}

static bool memtb_slob_new_release(struct memtb_slob_new_cache *nc, void *obj)
{
	struct memtb_arena *arena = &nc->arena;

	if (!memtb_arena_whole(arena))
		return memtb_arena_put(arena, obj);
	memtb_pages_put(&arena->place.owner, obj, get_order(arena->stride));
	return true;
}

static void memtb_slob_new_release_rcu(struct rcu_head *rcu)
{
	struct memtb_slob_footer *footer =
		container_of(rcu, struct memtb_slob_footer, rcu);
	struct memtb_slob_new_cache *nc = memtb_cache_priv(footer->cache);

	memtb_slob_new_release(nc, (void *)footer - nc->footer);
}

/* The first free of an object leaves the cache's address in its footer. */
static bool memtb_slob_new_defer(struct memtb_cache *cache, void *obj)
{
	struct memtb_slob_footer *footer =
		memtb_slob_new_footer(memtb_cache_priv(cache), obj);

	if (cmpxchg(&footer->cache, NULL, cache)) {
		pr_err("heap %s: %p is free already, or will be\n",
		       cache->heap->name, obj);
		return false;
	}
	call_rcu(&footer->rcu, memtb_slob_new_release_rcu);
	return true;
}

static bool memtb_slob_new_free(struct memtb_cache *cache, void *obj)
{
	struct memtb_slob_new_cache *nc = memtb_cache_priv(cache);

	if (memtb_place(memtb_heap_priv(cache->heap), obj)->arena != &nc->arena) {
		pr_err("heap %s: %p is not an object of cache %s\n",
		       cache->heap->name, obj, cache->name);
		return false;
	}
	if (!memtb_arena_begins(&nc->arena, obj))
		return false;
	return nc->footer ? memtb_slob_new_defer(cache, obj) :
			    memtb_slob_new_release(nc, obj);
}

static int memtb_slob_new_cache_init(struct memtb_cache *cache)
{
	struct memtb_slob_new_cache *nc = memtb_cache_priv(cache);
	size_t size = cache->size;

	if (cache->flags & SLAB_TYPESAFE_BY_RCU) {
		nc->footer = memtb_slob_footer_offset(size);
		size = nc->footer + sizeof(struct memtb_slob_footer);
	}
	size = ALIGN(size, max(cache->align, MEMTB_SLOB_UNIT));
	if (size > KMALLOC_MAX_SIZE)
		return -EINVAL;
	memtb_arena_init(&nc->arena, cache->heap, size);
	return 0;
}

static void memtb_slob_new_cache_exit(struct memtb_cache *cache)
{
	struct memtb_slob_new_cache *nc = memtb_cache_priv(cache);

	if (nc->footer)
		rcu_barrier();
	memtb_arena_shrink(&nc->arena, cache->name);
	lockdep_unregister_key(&nc->arena.key);
}

/* ---- the general-purpose side ---- */

/* A size between 64 and 96, say, is just above two thirds of the latter. */
static struct memtb_arena *memtb_slob_new_class(struct memtb_slob_new *new,
						size_t size)
{
	struct memtb_arena *arena = new->class + MEMTB_ARENA_CLASSES;

	for (; arena < new->class + new->nr_classes; arena++)
		if (size <= arena->stride && size > arena->stride / 3 * 2)
			return arena;
	size = max(size, MEMTB_ARENA_MIN);
	return &new->class[order_base_2(size) - MEMTB_ARENA_MIN_SHIFT];
}

static void *memtb_big_alloc(struct memtb_slob_new *new,
			     struct memtb_heap *heap, size_t size, gfp_t gfp,
			     int node)
{
	struct memtb_big *big = memtb_arena_get(&new->bigs, gfp, node);

	if (!big)
		return NULL;
	big->place.owner.heap = heap;
	big->place.owner.cache = NULL;
	big->place.arena = NULL;
	big->order = get_order(size);
	big->pages = memtb_pages_get(&big->place.owner, gfp, big->order, node);
	if (big->pages)
		return big->pages;
	memtb_arena_put(&new->bigs, big);
	return NULL;
}

static bool memtb_big_free(struct memtb_slob_new *new, struct memtb_big *big,
			   void *obj)
{
	if (obj != big->pages) {
		pr_err("heap %s: %p is not an object: none begins there\n",
		       big->place.owner.heap->name, obj);
		return false;
	}
	memtb_pages_put(&big->place.owner, obj, big->order);
	return memtb_arena_put(&new->bigs, big);
}

/* A cache's object is no block. */
static bool memtb_slob_new_is_class(const struct memtb_slob_new *new,
				    const struct memtb_arena *arena)
{
	return arena >= new->class && arena < new->class + new->nr_classes;
}

static void *memtb_slob_new_gp_alloc(struct memtb_heap *heap, size_t size,
				     gfp_t gfp, int node)
{
	struct memtb_slob_new *new = memtb_heap_priv(heap);

	if (size > MEMTB_ARENA_MAX)
		return memtb_big_alloc(new, heap, size, gfp, node);
	return memtb_arena_get(memtb_slob_new_class(new, size), gfp, node);
}

static bool memtb_slob_new_gp_free(struct memtb_heap *heap, void *obj)
{
	struct memtb_slob_new *new = memtb_heap_priv(heap);
	struct memtb_place *place = memtb_place(new, obj);
	struct memtb_arena *arena = place->arena;

	if (!arena)
		return memtb_big_free(new, container_of(place, struct memtb_big,
							place), obj);
	if (memtb_slob_new_is_class(new, arena))
		return memtb_arena_begins(arena, obj) &&
		       memtb_arena_put(arena, obj);
	pr_err("heap %s: %p is not an object of the general-purpose side\n",
	       heap->name, obj);
	return false;
}

static size_t memtb_slob_new_gp_size(struct memtb_heap *heap, void *obj)
{
	struct memtb_place *place = memtb_place(memtb_heap_priv(heap), obj);

	if (place->arena)
		return place->arena->stride;
	return PAGE_SIZE << container_of(place, struct memtb_big, place)->order;
}

/* ---- the heap ---- */

/* Every arena of the heap in turn: the classes, the descriptors, the caches. */
static unsigned long
memtb_slob_new_each(struct memtb_heap *heap,
		    unsigned long (*ask)(struct memtb_arena *arena,
					 const char *name))
{
	struct memtb_slob_new *new = memtb_heap_priv(heap);
	struct memtb_slob_new_cache *nc;
	struct memtb_cache *cache;
	unsigned long sum;
	int i;

	sum = ask(&new->bigs, "big blocks");
	for (i = 0; i < new->nr_classes; i++)
		sum += ask(&new->class[i], "a class");
	mutex_lock(&heap->lock);
	list_for_each_entry(cache, &heap->caches, node) {
		nc = memtb_cache_priv(cache);
		sum += ask(&nc->arena, cache->name);
	}
	mutex_unlock(&heap->lock);
	return sum;
}

static unsigned long memtb_slob_new_shrink(struct memtb_heap *heap)
{
	struct memtb_slob_new *new = memtb_heap_priv(heap);
	unsigned long nr = memtb_slob_new_each(heap, memtb_arena_shrink);

	return nr + memtb_desc_shrink(&new->descs);
}

static unsigned long memtb_slob_new_check(struct memtb_heap *heap)
{
	return memtb_slob_new_each(heap, memtb_arena_check);
}

static void memtb_slob_new_add_between(struct memtb_slob_new *new,
				       struct memtb_heap *heap)
{
	int i;

	for (i = 0; i < ARRAY_SIZE(memtb_arena_between); i++)
		if (IS_ALIGNED(memtb_arena_between[i], MEMTB_ARENA_MIN))
			memtb_arena_init(&new->class[new->nr_classes++], heap,
					 memtb_arena_between[i]);
}

static int memtb_slob_new_heap_init(struct memtb_heap *heap)
{
	struct memtb_slob_new *new = memtb_heap_priv(heap);
	int i;

	memtb_desc_init(&new->descs, heap, sizeof(struct memtb_slob_page));
	for (i = 0; i < MEMTB_ARENA_CLASSES; i++)
		memtb_arena_init(&new->class[i], heap, MEMTB_ARENA_MIN << i);
	new->nr_classes = i;
	if (memtb_option(heap, MEMTB_SLOB_NEW_CLASSES))
		memtb_slob_new_add_between(new, heap);
	memtb_arena_init(&new->bigs, heap,
			 ALIGN(sizeof(struct memtb_big), MEMTB_SLOB_UNIT));
	return 0;
}

static void memtb_slob_new_heap_exit(struct memtb_heap *heap)
{
	struct memtb_slob_new *new = memtb_heap_priv(heap);
	int i;

	rcu_barrier();
	memtb_slob_new_shrink(heap);
	/* What is left will be freed yet, under locks of these classes. */
	if (atomic_long_read(&heap->pages_now))
		return;
	for (i = 0; i < new->nr_classes; i++)
		lockdep_unregister_key(&new->class[i].key);
	lockdep_unregister_key(&new->bigs.key);
}

static const char * const memtb_slob_new_options[] = {
	[MEMTB_SLOB_NEW_STACK] = "stack",
	[MEMTB_SLOB_NEW_CLASSES] = "classes",
	NULL
};

const struct memtb_backend memtb_backend_slob_new = {
	.name = "slob-new",
	.summary = "a list per cache, no headers (Rostedt's SLOB, 2005)",
	.flags = MEMTB_OWNS_PAGES | MEMTB_STORES | MEMTB_RCU | MEMTB_ALIGNS,
	.max_size = KMALLOC_MAX_SIZE,
	.max_align = PAGE_SIZE,
	.heap_size = sizeof(struct memtb_slob_new),
	.cache_size = sizeof(struct memtb_slob_new_cache),
	.gp_min_align = MEMTB_ARENA_MIN,
	.options = memtb_slob_new_options,
	.heap_init = memtb_slob_new_heap_init,
	.heap_exit = memtb_slob_new_heap_exit,
	.cache_init = memtb_slob_new_cache_init,
	.cache_exit = memtb_slob_new_cache_exit,
	.alloc = memtb_slob_new_alloc,
	.free = memtb_slob_new_free,
	.gp_alloc = memtb_slob_new_gp_alloc,
	.gp_free = memtb_slob_new_gp_free,
	.gp_size = memtb_slob_new_gp_size,
	.shrink = memtb_slob_new_shrink,
	.check = memtb_slob_new_check,
};
