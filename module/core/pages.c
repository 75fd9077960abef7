// SPDX-License-Identifier: GPL-2.0
/*
 * Pages: the only caller of the page allocator on a backend's behalf.
 *
 * It knows whose page is whose, keeps a heap to its budget, makes requests fail
 * on demand and counts.
 */
#include <linux/export.h>
#include <linux/gfp.h>
#include <linux/mm.h>
#include <linux/vmstat.h>

#include "check.h"
#include "pages.h"

/*
 * What of a user's gfp mask reaches the page allocator: how hard to try.  Zones
 * and accounting are not for a heap to pass on, zeroing is the core's, per
 * object.
 */
#define MEMTB_GFP_PAGES	(__GFP_RECLAIM | __GFP_HIGH | MEMTB_GFP_ATOMIC |	\
			 __GFP_IO | __GFP_FS | __GFP_NOWARN |			\
			 __GFP_RETRY_MAYFAIL | __GFP_NORETRY | __GFP_NOFAIL |	\
			 __GFP_MEMALLOC | __GFP_NOMEMALLOC)

/* Pages that all heaps together hold, also those left behind by a leak. */
static atomic_long_t memtb_pages_all = ATOMIC_LONG_INIT(0);

long memtb_pages_held(void)
{
	return atomic_long_read(&memtb_pages_all);
}

static void memtb_pages_account(void *base, long nr)
{
	atomic_long_add(nr, &memtb_pages_all);
	mod_node_page_state(page_pgdat(virt_to_page(base)),
			    NR_SLAB_UNRECLAIMABLE_B, nr * (long)PAGE_SIZE);
}

static void memtb_pages_peak(struct memtb_heap *heap, long now)
{
	long peak = atomic_long_read(&heap->pages_peak);

	while (now > peak &&
	       !atomic_long_try_cmpxchg(&heap->pages_peak, &peak, now))
		;
}

/* Counts pages as held, unless that were more than the budget. */
static bool memtb_pages_charge(struct memtb_heap *heap, long nr)
{
	const unsigned long max = heap->params.max_pages ?: LONG_MAX;
	long now = atomic_long_read(&heap->pages_now);

	do {
		if (now + nr > max)
			return false;
	} while (!atomic_long_try_cmpxchg(&heap->pages_now, &now, now + nr));
	memtb_pages_peak(heap, now + nr);
	return true;
}

/* Whether this request may go ahead; if so, its pages are counted as held. */
static bool memtb_pages_reserve(struct memtb_heap *heap, long nr)
{
	unsigned long request = atomic_long_inc_return(&heap->page_requests);
	unsigned long every = heap->params.fail_page;

	if (every && request % every == 0)
		return false;
	return memtb_pages_charge(heap, nr);
}

/* The pages themselves, entered in the map and in the shadow, or nothing. */
static void *memtb_pages_get_mapped(struct memtb_owner *owner, gfp_t gfp,
				    unsigned int order, int node)
{
	struct page *page;
	void *base;

	page = alloc_pages_node(node, gfp | (order ? __GFP_COMP : 0), order);
	if (!page)
		return NULL;
	base = page_address(page);
	if (memtb_pagemap_set(&memtb_pagemap, base, 1UL << order, owner, gfp))
		goto out_free_pages;
	if (memtb_check_pages_get(owner->heap, base, order, gfp))
		goto out_clear_map;
	return base;

out_clear_map:
	memtb_pagemap_clear(&memtb_pagemap, base, 1UL << order);
out_free_pages:
	__free_pages(page, order);
	return NULL;
}

/**
 * memtb_pages_get - get a block of pages for a heap
 * @owner: what memtb_owner() will say of every page of the block; its heap
 *	pays
 * @gfp: the user's mask; zone, accounting and zeroing bits are ignored
 * @order: log2 of the number of pages
 * @node: wanted memory node or NUMA_NO_NODE
 *
 * The caller holds no lock and has interrupts as its own caller had them.
 *
 * Context: any but NMI; sleeps only if @gfp allows blocking.
 * Return: the block's address, naturally aligned, content undefined; or NULL.
 */
void *memtb_pages_get(struct memtb_owner *owner, gfp_t gfp, unsigned int order,
		      int node)
{
	struct memtb_heap *heap = owner->heap;
	long nr = 1L << order;
	void *base;

	gfp &= MEMTB_GFP_PAGES;
	if (!memtb_pages_reserve(heap, nr))
		goto out_failed;
	base = memtb_pages_get_mapped(owner, gfp, order, node);
	if (!base)
		goto out_unreserve;
	atomic_long_add(nr, &heap->pages_got);
	memtb_pages_account(base, nr);
	return base;

out_unreserve:
	atomic_long_sub(nr, &heap->pages_now);
out_failed:
	atomic_long_inc(&heap->pages_failed);
	return NULL;
}
EXPORT_SYMBOL_GPL(memtb_pages_get);

/**
 * memtb_pages_put - give a block of pages back
 * @owner: as memtb_pages_get() was told
 * @base: what it returned
 * @order: as it was told
 *
 * Context: any but NMI, never sleeps.
 */
void memtb_pages_put(struct memtb_owner *owner, void *base, unsigned int order)
{
	struct memtb_heap *heap = owner->heap;
	long nr = 1L << order;

	memtb_pages_account(base, -nr);
	memtb_check_pages_put(heap, base, order);
	memtb_pagemap_clear(&memtb_pagemap, base, nr);
	__free_pages(virt_to_page(base), order);
	atomic_long_add(nr, &heap->pages_put);
	atomic_long_sub(nr, &heap->pages_now);
}
EXPORT_SYMBOL_GPL(memtb_pages_put);
