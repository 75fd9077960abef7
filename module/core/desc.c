// SPDX-License-Identifier: GPL-2.0
/*
 * Descriptors, constant time: each page is a head and a stack of free places.
 */
#include <linux/export.h>
#include <linux/mm.h>

#include "desc.h"
#include "pages.h"

/**
 * struct memtb_desc_page - the head of a page of descriptors
 * @node: in the pool's list, unless the page is full
 * @free: the free place that was used last; each holds the address of the next
 * @used: descriptors that are out
 */
struct memtb_desc_page {
	struct list_head node;
	void **free;
	unsigned int used;
};

#define MEMTB_DESC_FIRST	ALIGN(sizeof(struct memtb_desc_page),	\
				      sizeof(u64))

/**
 * memtb_desc_init - an empty pool
 * @pool: the pool
 * @heap: pays for its pages
 * @size: bytes per descriptor, at least a pointer's, far below a page's
 *
 * Context: any.
 */
void memtb_desc_init(struct memtb_desc_pool *pool, struct memtb_heap *heap,
		     size_t size)
{
	pool->owner.heap = heap;
	pool->owner.cache = NULL;
	raw_spin_lock_init(&pool->lock);
	INIT_LIST_HEAD(&pool->pages);
	pool->size = ALIGN(size, sizeof(u64));
}
EXPORT_SYMBOL_GPL(memtb_desc_init);

static struct memtb_desc_page *memtb_desc_grow(struct memtb_desc_pool *pool,
					       gfp_t gfp, int node)
{
	struct memtb_desc_page *page = memtb_pages_get(&pool->owner, gfp, 0, node);
	size_t at;

	if (!page)
		return NULL;
	atomic_long_inc(&pool->owner.heap->pages_desc);
	page->used = 0;
	page->free = NULL;
	for (at = MEMTB_DESC_FIRST; at + pool->size <= PAGE_SIZE;
	     at += pool->size) {
		void **place = (void *)page + at;

		*place = page->free;
		page->free = place;
	}
	return page;
}

static void memtb_desc_page_put(struct memtb_desc_pool *pool,
				struct memtb_desc_page *page)
{
	atomic_long_dec(&pool->owner.heap->pages_desc);
	memtb_pages_put(&pool->owner, page, 0);
}

/* A place of the first page that has one.  Caller holds the lock. */
static void *memtb_desc_take(struct memtb_desc_pool *pool)
{
	struct memtb_desc_page *page;
	void **place;

	page = list_first_entry_or_null(&pool->pages, struct memtb_desc_page,
					node);
	if (!page)
		return NULL;
	place = page->free;
	page->free = *place;
	page->used++;
	if (!page->free)
		list_del(&page->node);
	return place;
}

/**
 * memtb_desc_get - get a descriptor
 * @pool: the pool
 * @gfp: how to get a page for more of them
 * @node: wanted memory node or NUMA_NO_NODE
 *
 * Context: any but NMI; sleeps only if @gfp allows blocking.
 * Return: the descriptor, content undefined; or NULL.
 */
void *memtb_desc_get(struct memtb_desc_pool *pool, gfp_t gfp, int node)
{
	struct memtb_desc_page *page;
	unsigned long flags;
	void *desc;

	raw_spin_lock_irqsave(&pool->lock, flags);
	desc = memtb_desc_take(pool);
	raw_spin_unlock_irqrestore(&pool->lock, flags);
	if (desc)
		return desc;
	page = memtb_desc_grow(pool, gfp, node);
	if (!page)
		return NULL;
	raw_spin_lock_irqsave(&pool->lock, flags);
	list_add(&page->node, &pool->pages);
	desc = memtb_desc_take(pool);
	raw_spin_unlock_irqrestore(&pool->lock, flags);
	return desc;
}
EXPORT_SYMBOL_GPL(memtb_desc_get);

/*
 * Into its page; returns that page if it is empty now and not the last with
 * room, which stays lest it come and go with every single descriptor.
 */
static struct memtb_desc_page *memtb_desc_give(struct memtb_desc_pool *pool,
					       void **place)
{
	struct memtb_desc_page *page = (void *)((unsigned long)place & PAGE_MASK);

	if (!page->free)
		list_add(&page->node, &pool->pages);
	*place = page->free;
	page->free = place;
	if (--page->used || list_is_singular(&pool->pages))
		return NULL;
	list_del(&page->node);
	return page;
}

/**
 * memtb_desc_put - give a descriptor back
 * @pool: the pool
 * @desc: what memtb_desc_get() returned
 *
 * Context: any but NMI, never sleeps.
 */
void memtb_desc_put(struct memtb_desc_pool *pool, void *desc)
{
	struct memtb_desc_page *page;
	unsigned long flags;

	raw_spin_lock_irqsave(&pool->lock, flags);
	page = memtb_desc_give(pool, desc);
	raw_spin_unlock_irqrestore(&pool->lock, flags);
	if (page)
		memtb_desc_page_put(pool, page);
}
EXPORT_SYMBOL_GPL(memtb_desc_put);

/**
 * memtb_desc_shrink - return every page without a descriptor in use
 * @pool: the pool
 *
 * Context: any but NMI, never sleeps.
 * Return: number of pages.
 */
unsigned long memtb_desc_shrink(struct memtb_desc_pool *pool)
{
	struct memtb_desc_page *page, *next;
	unsigned long nr = 0, flags;
	LIST_HEAD(empty);

	raw_spin_lock_irqsave(&pool->lock, flags);
	list_for_each_entry_safe(page, next, &pool->pages, node)
		if (!page->used)
			list_move(&page->node, &empty);
	raw_spin_unlock_irqrestore(&pool->lock, flags);
	list_for_each_entry_safe(page, next, &empty, node) {
		memtb_desc_page_put(pool, page);
		nr++;
	}
	return nr;
}
EXPORT_SYMBOL_GPL(memtb_desc_shrink);
