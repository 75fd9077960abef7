// SPDX-License-Identifier: GPL-2.0
/*
 * slob-page: SLOB by pages, 2.6.25 to 6.1.
 *
 * What became of the plain SLOB (see slob.c) in the kernel: Nick Piggin gave
 * each page a free list of its own in 2.6.23, Matt Mackall sorted the pages into
 * three lists in 2.6.25, and so it stayed, but for details, until SLOB was
 * removed in 6.4.  This is a new text, written from a description of its
 * behaviour.
 *
 * Pages.  A page that is neither full nor empty stands in one of three lists:
 * for blocks below 256 bytes, below 1024, and the others.  A request searches
 * the list of its size, and in it only pages that have as many free units as it
 * needs and lie in the memory node that it asked for, if any.  The list is
 * then turned so that the next search begins with the page that served this
 * one.  If there is none, a new page comes to the front.  A page that has become
 * full leaves its list; the first block that is freed in it brings it back, to
 * the list of that block's size, which may be another.  A page that has become
 * empty goes home at once.
 *
 * Blocks.  The free blocks of a page are linked in order of address, through
 * themselves, by words of two bytes: see slob_blocks.h.  Within the page it is
 * first fit; pieces in front of an aligned start and behind the end stay free; a
 * block given back joins its neighbours, but never across a page's border.
 *
 * Sizes.  A general-purpose block carries a header in front, large enough not
 * to spoil the alignment of what follows, with its length in the first four
 * bytes.  A power of two is naturally aligned, what comes behind the header is,
 * so a page has room for seven blocks of 512 bytes, three of 1024 or one of
 * 2048, and for smaller ones in the holes between.  What would leave no room for
 * the header is pages of its own, and all of them are usable.  A cache is
 * nothing but a size, an alignment and a constructor, which runs each time an
 * object is handed out; its objects have no header, and from a page upwards
 * they are pages.
 *
 * Descriptors.  What the kernel kept in struct page (free units, first free
 * block, place in a list) is here in a descriptor, which is what the page map
 * finds for any address of the page.  The pages that descriptors take are
 * counted (pages_desc); the kernel had none of them.
 *
 * Cost.  One lock with interrupts off, as in 2005, but what is walked under it
 * are pages, and blocks of one page.  A page with enough free units in pieces
 * that are too small is walked in vain, each time.  list_steps counts pages and
 * blocks looked at.
 *
 * Options.
 * - list2008: a full page comes back to the list of small blocks, whatever was
 *   freed in it, as it did until 2010 (2.6.36);
 * - align2019: powers of two are aligned no better than other sizes, as they were
 *   until 2019 (5.4).
 *
 * What differs from 6.1:
 * - a block that is freed is compared with its free neighbours first.  One that
 *   overlaps is reported and refused.  For this, the free blocks are walked also
 *   when the page becomes empty: at most two of them;
 * - an address is refused if its page is none of blocks, if it is not aligned as
 *   its like are, or if its length, known or out of a header, would end beyond
 *   the page;
 * - the RCU footer of a type-safe object is aligned as it ought to be.
 *
 * What it cannot tell: a small object from one of another cache, as their pages
 * have both; an object of a cache from a block, if what lies in front looks like
 * a header; a second free from the first, if the place was given out again in
 * between; and a second free of a type-safe object before the grace period.
 */
#include <linux/kernel.h>
#include <linux/list.h>
#include <linux/log2.h>
#include <linux/rcupdate.h>
#include <linux/slab.h>

#include "../core/desc.h"
#include "../core/pages.h"
#include "backend.h"
#include "slob_blocks.h"
#include "slob_list.h"

enum memtb_slobp_option {
	MEMTB_SLOBP_LIST2008,
	MEMTB_SLOBP_ALIGN2019,
};

/* The lists of pages, by the size of what is asked for or was freed. */
enum memtb_slobp_list {
	MEMTB_SLOBP_SMALL,
	MEMTB_SLOBP_MEDIUM,
	MEMTB_SLOBP_LARGE,
	MEMTB_SLOBP_NR_LISTS
};

/* Bytes in front of a general-purpose block, and the least that it is aligned to. */
#define MEMTB_SLOBP_HEADER						\
	(ARCH_KMALLOC_MINALIGN > ARCH_SLAB_MINALIGN ?			\
	 ARCH_KMALLOC_MINALIGN : ARCH_SLAB_MINALIGN)

/**
 * struct memtb_slobp_page - the descriptor of a page of blocks, or of the pages
 * of one large object
 * @owner: what the page map holds
 * @whose: NULL if the page is one of blocks; of a large object the cache, or the
 *	heap if it is a general-purpose block
 * @blocks: the page and its free blocks; of a large object only the address
 * @order: log2 of the number of pages
 * @nid: memory node
 * @node: in a list of the heap while there is a free block
 */
struct memtb_slobp_page {
	struct memtb_owner owner;
	const void *whose;
	struct memtb_blocks blocks;
	unsigned int order;
	int nid;
	struct list_head node;
};

/**
 * struct memtb_slobp - a heap
 * @lock: protects the lists and all that is in their pages; held, with
 *	interrupts off, for a whole search
 * @pages: pages with free blocks
 * @nr_pages: their number, in all lists
 * @descs: descriptors
 * @heap: whose state this is
 */
struct memtb_slobp {
	struct memtb_lock lock;
	struct list_head pages[MEMTB_SLOBP_NR_LISTS];
	unsigned long nr_pages;
	struct memtb_desc_pool descs;
	struct memtb_heap *heap;
};

/**
 * struct memtb_slobp_cache - a cache
 * @size: bytes taken per object, with the footer if there is one
 * @footer: offset of the footer in bytes, 0 if there is none
 * @align: alignment of an object in bytes
 */
struct memtb_slobp_cache {
	size_t size;
	size_t footer;
	size_t align;
};

/* ---- pages and their lists ---- */

static enum memtb_slobp_list memtb_slobp_list(size_t size)
{
	if (size < 256)
		return MEMTB_SLOBP_SMALL;
	return size < 1024 ? MEMTB_SLOBP_MEDIUM : MEMTB_SLOBP_LARGE;
}

static void memtb_slobp_join(struct memtb_slobp *sp,
			     struct memtb_slobp_page *page,
			     enum memtb_slobp_list list)
{
	list_add(&page->node, &sp->pages[list]);
	sp->nr_pages++;
}

static void memtb_slobp_leave(struct memtb_slobp *sp,
			      struct memtb_slobp_page *page)
{
	list_del(&page->node);
	sp->nr_pages--;
}

/* Pages with a descriptor that tells whose they are. */
static struct memtb_slobp_page *
memtb_slobp_pages_get(struct memtb_slobp *sp, const void *whose,
		      unsigned int order, gfp_t gfp, int node)
{
	struct memtb_slobp_page *page = memtb_desc_get(&sp->descs, gfp, node);

	if (!page)
		return NULL;
	*page = (struct memtb_slobp_page){
		.owner.heap = sp->heap, .whose = whose, .order = order,
	};
	page->blocks.base = memtb_pages_get(&page->owner, gfp, order, node);
	if (!page->blocks.base) {
		memtb_desc_put(&sp->descs, page);
		return NULL;
	}
	page->nid = page_to_nid(virt_to_page(page->blocks.base));
	return page;
}

static void memtb_slobp_pages_put(struct memtb_slobp *sp,
				  struct memtb_slobp_page *page)
{
	memtb_pages_put(&page->owner, page->blocks.base, page->order);
	memtb_desc_put(&sp->descs, page);
}

/* Of any address of the heap; NULL for a descriptor's, which is no object's. */
static struct memtb_slobp_page *memtb_slobp_page(struct memtb_slobp *sp,
						 const void *obj)
{
	struct memtb_owner *owner = memtb_owner(obj);

	return owner == &sp->descs.owner ? NULL :
	       container_of(owner, struct memtb_slobp_page, owner);
}

/* Whether it is worth looking into the page. */
static bool memtb_slobp_suits(const struct memtb_slobp_page *page,
			      const struct memtb_blocks_ask *ask, int node)
{
	return page->blocks.units >= memtb_blocks_units(ask->size) &&
	       (node == NUMA_NO_NODE || node == page->nid);
}

/* A block of a page in the lists, or NULL.  Caller holds the lock. */
static void *memtb_slobp_take(struct memtb_slobp *sp,
			      const struct memtb_blocks_ask *ask, int node)
{
	struct list_head *pages = &sp->pages[memtb_slobp_list(ask->size)];
	struct memtb_slobp_page *page;
	unsigned long steps = 0;
	void *block = NULL;

	list_for_each_entry(page, pages, node) {
		steps++;
		if (memtb_slobp_suits(page, ask, node))
			block = memtb_blocks_take(&page->blocks, ask, &steps);
		if (!block)
			continue;
		if (!page->blocks.units)
			memtb_slobp_leave(sp, page);
		else if (!list_is_first(&page->node, pages))
			list_rotate_to_front(&page->node, pages);
		break;
	}
	memtb_stat_steps(sp->heap, steps);
	return block;
}

/* A block of a new page, or NULL.  It may be all of the page. */
static void *memtb_slobp_take_new(struct memtb_slobp *sp,
				  const struct memtb_blocks_ask *ask,
				  gfp_t gfp, int node)
{
	struct memtb_slobp_page *page;
	unsigned long flags, steps = 1;
	void *block;

	page = memtb_slobp_pages_get(sp, NULL, 0, gfp, node);
	if (!page)
		return NULL;
	memtb_blocks_init(&page->blocks, page->blocks.base);
	memtb_lock(&sp->lock, &flags);
	block = memtb_blocks_take(&page->blocks, ask, &steps);
	if (page->blocks.units)
		memtb_slobp_join(sp, page, memtb_slobp_list(ask->size));
	memtb_stat_steps(sp->heap, steps);
	memtb_unlock(&sp->lock, flags);
	return block;
}

static void *memtb_slobp_get(struct memtb_slobp *sp,
			     const struct memtb_blocks_ask *ask, gfp_t gfp,
			     int node)
{
	unsigned long flags;
	void *block;

	memtb_lock(&sp->lock, &flags);
	block = memtb_slobp_take(sp, ask, node);
	memtb_unlock(&sp->lock, flags);
	return block ?: memtb_slobp_take_new(sp, ask, gfp, node);
}

/* The list that a full page comes back to with this block. */
static enum memtb_slobp_list memtb_slobp_back(struct memtb_slobp *sp,
					      size_t size)
{
	return memtb_option(sp->heap, MEMTB_SLOBP_LIST2008) ?
	       MEMTB_SLOBP_SMALL : memtb_slobp_list(size);
}

/*
 * Give a block back to its page, and the page to a list, or take the page out
 * if it is empty now.  False if any of the block is free already.  Caller holds
 * the lock, so nothing is printed here.
 */
static bool memtb_slobp_give(struct memtb_slobp *sp,
			     struct memtb_slobp_page *page, void *block,
			     size_t size)
{
	bool full = !page->blocks.units, done;
	unsigned long steps = 0;

	done = memtb_blocks_give(&page->blocks, block, size, &steps);
	memtb_stat_steps(sp->heap, steps);
	if (!done)
		return false;
	if (full)
		memtb_slobp_join(sp, page, memtb_slobp_back(sp, size));
	if (page->blocks.units == MEMTB_BLOCKS_ALL)
		memtb_slobp_leave(sp, page);
	return true;
}

static bool memtb_slobp_put(struct memtb_slobp *sp,
			    struct memtb_slobp_page *page, void *block,
			    size_t size)
{
	unsigned long flags;
	bool done, empty;

	memtb_lock(&sp->lock, &flags);
	done = memtb_slobp_give(sp, page, block, size);
	empty = page->blocks.units == MEMTB_BLOCKS_ALL;
	memtb_unlock(&sp->lock, flags);
	if (!done)
		pr_err("heap %s: %p (%zu bytes) is free already\n",
		       sp->heap->name, block, size);
	else if (empty)
		memtb_slobp_pages_put(sp, page);
	return done;
}

/* A large object. */
static void *memtb_slobp_get_pages(struct memtb_slobp *sp, const void *whose,
				   size_t size, gfp_t gfp, int node)
{
	struct memtb_slobp_page *page;

	page = memtb_slobp_pages_get(sp, whose, get_order(size), gfp, node);
	return page ? page->blocks.base : NULL;
}

/* ---- objects of a cache ---- */

static void *memtb_slobp_alloc(struct memtb_cache *cache, gfp_t gfp, int node)
{
	struct memtb_slobp *sp = memtb_heap_priv(cache->heap);
	struct memtb_slobp_cache *sc = memtb_cache_priv(cache);
	const struct memtb_blocks_ask ask = {
		.size = sc->size, .align = sc->align,
	};
	void *obj;

	if (sc->size < PAGE_SIZE)
		obj = memtb_slobp_get(sp, &ask, gfp, node);
	else
		obj = memtb_slobp_get_pages(sp, cache, sc->size, gfp, node);
	if (obj && cache->ctor)
		cache->ctor(obj);
	return obj;
}

static bool memtb_slobp_release(struct memtb_cache *cache, void *obj)
{
	struct memtb_slobp *sp = memtb_heap_priv(cache->heap);
	struct memtb_slobp_cache *sc = memtb_cache_priv(cache);
	struct memtb_slobp_page *page = memtb_slobp_page(sp, obj);

	if (!page->whose)
		return memtb_slobp_put(sp, page, obj, sc->size);
	memtb_slobp_pages_put(sp, page);
	return true;
}

static void memtb_slobp_release_rcu(struct rcu_head *rcu)
{
	struct memtb_slob_footer *footer =
		container_of(rcu, struct memtb_slob_footer, rcu);
	struct memtb_slobp_cache *sc = memtb_cache_priv(footer->cache);

	memtb_slobp_release(footer->cache, (void *)footer - sc->footer);
}

/* Whether an object of the cache may begin here. */
static bool memtb_slobp_is_object(struct memtb_cache *cache, void *obj)
{
	struct memtb_slobp *sp = memtb_heap_priv(cache->heap);
	struct memtb_slobp_cache *sc = memtb_cache_priv(cache);
	struct memtb_slobp_page *page = memtb_slobp_page(sp, obj);

	if (!page)
		return false;
	if (sc->size >= PAGE_SIZE)
		return page->whose == cache && page->blocks.base == obj;
	return !page->whose && IS_ALIGNED((unsigned long)obj, sc->align) &&
	       offset_in_page(obj) + sc->size <= PAGE_SIZE;
}

static bool memtb_slobp_free(struct memtb_cache *cache, void *obj)
{
	struct memtb_slobp_cache *sc = memtb_cache_priv(cache);
	struct memtb_slob_footer *footer = obj + sc->footer;

	if (!memtb_slobp_is_object(cache, obj)) {
		pr_err("heap %s: %p is not an object of cache %s\n",
		       cache->heap->name, obj, cache->name);
		return false;
	}
	if (!sc->footer)
		return memtb_slobp_release(cache, obj);
	footer->cache = cache;
	call_rcu(&footer->rcu, memtb_slobp_release_rcu);
	return true;
}

static int memtb_slobp_cache_init(struct memtb_cache *cache)
{
	struct memtb_slobp_cache *sc = memtb_cache_priv(cache);

	sc->size = cache->size;
	if (cache->flags & SLAB_TYPESAFE_BY_RCU) {
		sc->footer = memtb_slob_footer_offset(cache->size);
		sc->size = sc->footer + sizeof(struct memtb_slob_footer);
	}
	sc->size = ALIGN(sc->size, MEMTB_BLOCKS_UNIT);
	sc->align = max_t(size_t, cache->align, ARCH_SLAB_MINALIGN);
	return sc->size > KMALLOC_MAX_SIZE ? -EINVAL : 0;
}

static void memtb_slobp_cache_exit(struct memtb_cache *cache)
{
	if (cache->flags & SLAB_TYPESAFE_BY_RCU)
		rcu_barrier();
}

/* ---- the general-purpose side ---- */

static size_t memtb_slobp_gp_align(struct memtb_heap *heap, size_t size)
{
	if (!is_power_of_2(size) || memtb_option(heap, MEMTB_SLOBP_ALIGN2019))
		return MEMTB_SLOBP_HEADER;
	return max_t(size_t, size, MEMTB_SLOBP_HEADER);
}

static bool memtb_slobp_fits_in_page(size_t size)
{
	return size < PAGE_SIZE - MEMTB_SLOBP_HEADER;
}

static void *memtb_slobp_gp_alloc(struct memtb_heap *heap, size_t size,
				  gfp_t gfp, int node)
{
	struct memtb_slobp *sp = memtb_heap_priv(heap);
	const struct memtb_blocks_ask ask = {
		.size = size + MEMTB_SLOBP_HEADER,
		.align = memtb_slobp_gp_align(heap, size),
		.offset = MEMTB_SLOBP_HEADER,
	};
	u32 *header;

	if (!memtb_slobp_fits_in_page(size))
		return memtb_slobp_get_pages(sp, heap, size, gfp, node);
	header = memtb_slobp_get(sp, &ask, gfp, node);
	if (!header)
		return NULL;
	*header = size;
	return (void *)header + MEMTB_SLOBP_HEADER;
}

/* The length in the header of a small block; 0 if none can begin here. */
static size_t memtb_slobp_gp_length(struct memtb_heap *heap, void *obj)
{
	size_t offset = offset_in_page(obj), size;
	u32 *header = obj - MEMTB_SLOBP_HEADER;

	if (!offset || !IS_ALIGNED(offset, MEMTB_SLOBP_HEADER))
		return 0;
	size = *header;
	if (!memtb_slobp_fits_in_page(size) || offset + size > PAGE_SIZE ||
	    !IS_ALIGNED(offset, memtb_slobp_gp_align(heap, size)))
		return 0;
	return size;
}

static bool memtb_slobp_gp_free(struct memtb_heap *heap, void *obj)
{
	struct memtb_slobp *sp = memtb_heap_priv(heap);
	struct memtb_slobp_page *page = memtb_slobp_page(sp, obj);
	size_t size = page && !page->whose ?
		      memtb_slobp_gp_length(heap, obj) : 0;

	if (size)
		return memtb_slobp_put(sp, page, obj - MEMTB_SLOBP_HEADER,
				       size + MEMTB_SLOBP_HEADER);
	if (page && page->whose == heap && page->blocks.base == obj) {
		memtb_slobp_pages_put(sp, page);
		return true;
	}
	pr_err("heap %s: %p is not an object of the general-purpose side\n",
	       heap->name, obj);
	return false;
}

static size_t memtb_slobp_gp_size(struct memtb_heap *heap, void *obj)
{
	struct memtb_slobp_page *page = memtb_slobp_page(memtb_heap_priv(heap),
							 obj);

	if (page && !page->whose)
		return ALIGN(memtb_slobp_gp_length(heap, obj),
			     MEMTB_BLOCKS_UNIT);
	return page && page->whose == heap && page->blocks.base == obj ?
	       PAGE_SIZE << page->order : 0;
}

/* ---- the heap ---- */

/**
 * struct memtb_slobp_audit - what a walk over all lists found
 * @pages: pages in them
 * @counted: pages that the heap believes to have there
 * @nr_faults: pages with something wrong
 * @fault: what is wrong with the first of them
 * @at: that page
 * @units: its free units
 */
struct memtb_slobp_audit {
	unsigned long pages;
	unsigned long counted;
	unsigned long nr_faults;
	const char *fault;
	const void *at;
	int units;
};

/* What is wrong with a page of a list, or NULL. */
static const char *memtb_slobp_page_fault(const struct memtb_slobp_page *page)
{
	if (page->whose || memtb_owner(page->blocks.base) != &page->owner)
		return "not a page of blocks";
	if (!page->blocks.units || page->blocks.units == MEMTB_BLOCKS_ALL)
		return "full or empty, but in a list";
	return memtb_blocks_fault(&page->blocks);
}

static void memtb_slobp_audit_list(struct memtb_slobp *sp,
				   struct list_head *pages,
				   struct memtb_slobp_audit *audit)
{
	struct memtb_slobp_page *page;
	const char *fault;

	list_for_each_entry(page, pages, node) {
		/* A list that leads into itself has no end. */
		if (++audit->pages > sp->nr_pages)
			break;
		fault = memtb_slobp_page_fault(page);
		if (!fault || audit->nr_faults++)
			continue;
		audit->fault = fault;
		audit->at = page->blocks.base;
		audit->units = page->blocks.units;
	}
}

static unsigned long memtb_slobp_check(struct memtb_heap *heap)
{
	struct memtb_slobp *sp = memtb_heap_priv(heap);
	struct memtb_slobp_audit audit = {};
	unsigned long flags;
	int i;

	memtb_lock(&sp->lock, &flags);
	audit.counted = sp->nr_pages;
	for (i = 0; i < MEMTB_SLOBP_NR_LISTS; i++)
		memtb_slobp_audit_list(sp, &sp->pages[i], &audit);
	memtb_unlock(&sp->lock, flags);

	if (audit.nr_faults)
		pr_err("violation: heap %s, page %p, %d units free: %s; %lu such pages\n",
		       heap->name, audit.at, audit.units, audit.fault,
		       audit.nr_faults);
	if (audit.pages == audit.counted)
		return audit.nr_faults;
	pr_err("violation: heap %s: %lu pages in the lists, %lu counted\n",
	       heap->name, audit.pages, audit.counted);
	return audit.nr_faults + 1;
}

/* All other pages that could be returned have been. */
static unsigned long memtb_slobp_shrink(struct memtb_heap *heap)
{
	struct memtb_slobp *sp = memtb_heap_priv(heap);

	return memtb_desc_shrink(&sp->descs);
}

static int memtb_slobp_heap_init(struct memtb_heap *heap)
{
	struct memtb_slobp *sp = memtb_heap_priv(heap);
	int i;

	memtb_lock_init(&sp->lock, heap);
	for (i = 0; i < MEMTB_SLOBP_NR_LISTS; i++)
		INIT_LIST_HEAD(&sp->pages[i]);
	memtb_desc_init(&sp->descs, heap, sizeof(struct memtb_slobp_page));
	sp->heap = heap;
	return 0;
}

static void memtb_slobp_heap_exit(struct memtb_heap *heap)
{
	rcu_barrier();
	memtb_slobp_shrink(heap);
}

static const char * const memtb_slobp_options[] = {
	[MEMTB_SLOBP_LIST2008] = "list2008",
	[MEMTB_SLOBP_ALIGN2019] = "align2019",
	NULL
};

static const unsigned int memtb_slobp_takes[] = {
	[MEMTB_SLOBP_ALIGN2019] = MEMTB_ALIGNS,
};

const struct memtb_backend memtb_backend_slob_page = {
	.name = "slob-page",
	.summary = "three lists of pages, free blocks in each (SLOB, 2008)",
	.flags = MEMTB_OWNS_PAGES | MEMTB_STORES | MEMTB_RCU | MEMTB_ALIGNS,
	.max_size = KMALLOC_MAX_SIZE,
	.max_align = PAGE_SIZE,
	.heap_size = sizeof(struct memtb_slobp),
	.cache_size = sizeof(struct memtb_slobp_cache),
	.gp_min_align = MEMTB_SLOBP_HEADER,
	.options = memtb_slobp_options,
	.takes = memtb_slobp_takes,
	.heap_init = memtb_slobp_heap_init,
	.heap_exit = memtb_slobp_heap_exit,
	.cache_init = memtb_slobp_cache_init,
	.cache_exit = memtb_slobp_cache_exit,
	.alloc = memtb_slobp_alloc,
	.free = memtb_slobp_free,
	.gp_alloc = memtb_slobp_gp_alloc,
	.gp_free = memtb_slobp_gp_free,
	.gp_size = memtb_slobp_gp_size,
	.shrink = memtb_slobp_shrink,
	.check = memtb_slobp_check,
};
