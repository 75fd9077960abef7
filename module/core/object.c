// SPDX-License-Identifier: GPL-2.0
/*
 * The object path.
 *
 * Every allocation and every free of every heap, single, bulk or realloc, goes
 * through one of four functions here: memtb_object_alloc/free for the objects
 * of a cache, memtb_block_alloc/free for the general-purpose side.  Whatever is
 * to happen before or after each one (counting, zeroing, checks) has its place
 * in them and nowhere else.
 */
#include <linux/export.h>
#include <linux/overflow.h>
#include <linux/string.h>

#include "../backend/backend.h"
#include "check.h"
#include "object.h"
#include "pages.h"

/* An object of a cache is counted in the cache: one instruction, not three. */
static void *memtb_count_alloc(struct memtb_heap *heap, void *obj, size_t size)
{
	if (!obj) {
		memtb_stat_add(heap, MEMTB_STAT_ALLOC_FAILED, 1);
		return NULL;
	}
	memtb_stat_add(heap, MEMTB_STAT_ALLOCS, 1);
	memtb_stat_add(heap, MEMTB_STAT_BYTES_REQUESTED, size);
	return obj;
}

/* What is seldom to be done after an object was handed out. */
static noinline void *memtb_object_finish(struct memtb_cache *cache, void *obj,
					  gfp_t gfp)
{
	struct memtb_heap *heap = cache->heap;

	memtb_check_alloc(heap, cache, obj, cache->size);
	if (gfp & __GFP_ZERO && heap->backend->flags & MEMTB_STORES)
		memset(obj, 0, cache->size);
	return obj;
}

static __always_inline void *memtb_object_got(struct memtb_cache *cache,
					      void *obj, gfp_t gfp)
{
	this_cpu_inc(cache->cpu->allocs);
	if (static_branch_unlikely(&memtb_checks) || gfp & __GFP_ZERO)
		return memtb_object_finish(cache, obj, gfp);
	return obj;
}

static noinline void *memtb_object_alloc_slow(struct memtb_cache *cache,
					      gfp_t gfp, int node)
{
	void *obj = cache->heap->backend->alloc(cache, gfp, node);

	if (!obj)
		return memtb_count_alloc(cache->heap, NULL, 0);
	return memtb_object_got(cache, obj, gfp);
}

static __always_inline void *memtb_object_alloc_fast(struct memtb_cache *cache,
						     gfp_t gfp, int node)
{
	void *obj;

	if (!cache->array)
		return memtb_object_alloc_slow(cache, gfp, node);
	obj = memtb_array_pop(&cache->array);
	if (unlikely(!obj))
		return memtb_object_alloc_slow(cache, gfp, node);
	return memtb_object_got(cache, obj, gfp);
}

void *memtb_object_alloc(struct memtb_cache *cache, gfp_t gfp, int node)
{
	return memtb_object_alloc_fast(cache, gfp, node);
}

static noinline void memtb_object_free_slow(struct memtb_cache *cache,
					    void *obj)
{
	struct memtb_heap *heap = cache->heap;

	if (!memtb_check_free(heap, cache, obj, cache->size))
		return;
	if (heap->backend->free(cache, obj))
		this_cpu_inc(cache->cpu->frees);
	else
		memtb_stat_add(heap, MEMTB_STAT_BAD_FREES, 1);
}

/* False if it takes more than putting it on top of an array. */
static __always_inline bool memtb_object_free_fast(struct memtb_cache *cache,
						   void *obj)
{
	struct memtb_owner *owner = memtb_owner(obj);

	if (static_branch_unlikely(&memtb_checks) || !owner ||
	    owner->cache != cache || !memtb_array_push(&cache->array, obj))
		return false;
	this_cpu_inc(cache->cpu->frees);
	return true;
}

void memtb_object_free(struct memtb_cache *cache, void *obj)
{
	if (!memtb_object_free_fast(cache, obj))
		memtb_object_free_slow(cache, obj);
}

void *memtb_block_alloc(struct memtb_heap *heap, size_t size, gfp_t gfp,
			int node)
{
	const struct memtb_backend *backend = heap->backend;
	void *obj;

	obj = memtb_count_alloc(heap, backend->gp_alloc(heap, size, gfp, node),
				size);
	if (!obj)
		return NULL;
	memtb_check_alloc(heap, NULL, obj, size);
	/* All that the user may ever use: realloc() may grow in place. */
	if (gfp & __GFP_ZERO && backend->flags & MEMTB_STORES)
		memset(obj, 0, backend->gp_size(heap, obj));
	return obj;
}

void memtb_block_free(struct memtb_heap *heap, void *obj)
{
	if (!memtb_check_free(heap, NULL, obj, 0))
		return;
	memtb_stat_add(heap, heap->backend->gp_free(heap, obj) ?
			     MEMTB_STAT_FREES : MEMTB_STAT_BAD_FREES, 1);
}

/* What happens after many were handed out at once. */
static void memtb_objects_got(struct memtb_cache *cache, gfp_t gfp, size_t nr,
			      void **objs)
{
	size_t i;

	this_cpu_add(cache->cpu->allocs, nr);
	if (!memtb_check_on(cache->heap) && !(gfp & __GFP_ZERO))
		return;
	for (i = 0; i < nr; i++)
		memtb_object_finish(cache, objs[i], gfp);
}

/* What lies in a page of another heap, or of nobody, is not freed here. */
static bool memtb_object_foreign(struct memtb_heap *heap, const void *obj)
{
	struct memtb_owner *owner;

	if (!(heap->backend->flags & MEMTB_OWNS_PAGES))
		return false;
	owner = memtb_owner(obj);
	if (owner && owner->heap == heap)
		return false;
	memtb_stat_add(heap, MEMTB_STAT_BAD_FREES, 1);
	pr_err("heap %s: %p is not an object of this heap\n", heap->name, obj);
	return true;
}

/**
 * memtb_cache_alloc - allocate an object
 * @cache: the cache
 * @gfp: how to get pages; __GFP_ZERO clears the object and is refused if the
 *	cache has a constructor
 * @node: wanted memory node or NUMA_NO_NODE
 *
 * Context: any but NMI; sleeps only if @gfp allows blocking.
 * Return: the object, or NULL.
 */
void *memtb_cache_alloc(struct memtb_cache *cache, gfp_t gfp, int node)
{
	if (gfp & __GFP_ZERO && cache->ctor)
		return NULL;
	might_alloc(gfp);
	return memtb_object_alloc_fast(cache, gfp, node);
}
EXPORT_SYMBOL_GPL(memtb_cache_alloc);

static noinline void memtb_cache_free_slow(struct memtb_cache *cache, void *obj)
{
	if (obj && !memtb_object_foreign(cache->heap, obj))
		memtb_object_free_slow(cache, obj);
}

/**
 * memtb_cache_free - free an object
 * @cache: the cache that it came from
 * @obj: the object, or NULL, which is nothing
 *
 * An address outside the heap's pages is reported and left alone.
 *
 * Context: any but NMI, never sleeps.
 */
void memtb_cache_free(struct memtb_cache *cache, void *obj)
{
	if (!memtb_object_free_fast(cache, obj))
		memtb_cache_free_slow(cache, obj);
}
EXPORT_SYMBOL_GPL(memtb_cache_free);

/* One after the other, where the design has no better way. */
static bool memtb_objects_alloc(struct memtb_cache *cache, gfp_t gfp, size_t nr,
				void **objs)
{
	size_t i;

	for (i = 0; i < nr; i++) {
		objs[i] = memtb_cache_alloc(cache, gfp, NUMA_NO_NODE);
		if (!objs[i]) {
			memtb_cache_free_bulk(cache, i, objs);
			return false;
		}
	}
	return true;
}

/* Whether all may be freed at once: none is NULL or somebody else's. */
static bool memtb_objects_ours(struct memtb_heap *heap, size_t nr, void **objs)
{
	struct memtb_owner *owner;
	size_t i;

	for (i = 0; i < nr; i++) {
		owner = memtb_owner(objs[i]);
		if (!owner || owner->heap != heap)
			return false;
	}
	return true;
}

/**
 * memtb_cache_alloc_bulk - allocate many objects, or none
 * @cache: the cache
 * @gfp: as for memtb_cache_alloc()
 * @nr: how many
 * @objs: where to put them; undefined if the call fails
 *
 * Context: as memtb_cache_alloc().
 * Return: true if all @nr were allocated; otherwise nothing is.
 */
bool memtb_cache_alloc_bulk(struct memtb_cache *cache, gfp_t gfp, size_t nr,
			    void **objs)
{
	const struct memtb_backend *backend = cache->heap->backend;

	if (!nr)
		return true;
	if (!backend->alloc_bulk)
		return memtb_objects_alloc(cache, gfp, nr, objs);
	if (gfp & __GFP_ZERO && cache->ctor)
		return false;
	might_alloc(gfp);
	if (!backend->alloc_bulk(cache, gfp, nr, objs)) {
		memtb_count_alloc(cache->heap, NULL, 0);
		return false;
	}
	memtb_objects_got(cache, gfp, nr, objs);
	return true;
}
EXPORT_SYMBOL_GPL(memtb_cache_alloc_bulk);

/**
 * memtb_cache_free_bulk - free many objects of one cache
 * @cache: the cache
 * @nr: how many
 * @objs: the objects; each as for memtb_cache_free()
 *
 * Context: as memtb_cache_free().
 */
void memtb_cache_free_bulk(struct memtb_cache *cache, size_t nr, void **objs)
{
	struct memtb_heap *heap = cache->heap;
	size_t i, done;

	if (!heap->backend->free_bulk || memtb_check_on(heap) ||
	    !memtb_objects_ours(heap, nr, objs)) {
		for (i = 0; i < nr; i++)
			memtb_cache_free(cache, objs[i]);
		return;
	}
	done = heap->backend->free_bulk(cache, nr, objs);
	this_cpu_add(cache->cpu->frees, done);
	memtb_stat_add(heap, MEMTB_STAT_BAD_FREES, nr - done);
}
EXPORT_SYMBOL_GPL(memtb_cache_free_bulk);

/**
 * memtb_alloc - allocate a block from the general-purpose side
 * @heap: the heap
 * @size: bytes; 0 gives ZERO_SIZE_PTR
 * @gfp: how to get pages; __GFP_ZERO clears the block
 * @node: wanted memory node or NUMA_NO_NODE
 *
 * Powers of two are naturally aligned, unless the heap's options say otherwise,
 * other sizes at least as kmalloc().
 *
 * Context: any but NMI; sleeps only if @gfp allows blocking.
 * Return: the block, or NULL; a @size above the backend's max_size fails, with
 * one warning for the life of the module and none with __GFP_NOWARN.
 */
void *memtb_alloc(struct memtb_heap *heap, size_t size, gfp_t gfp, int node)
{
	if (!size)
		return ZERO_SIZE_PTR;
	if (size > heap->backend->max_size) {
		if (!(gfp & __GFP_NOWARN))
			pr_warn_once("heap %s: %zu bytes asked for, %zu is the most\n",
				     heap->name, size, heap->backend->max_size);
		return memtb_count_alloc(heap, NULL, 0);
	}
	might_alloc(gfp);
	return memtb_block_alloc(heap, size, gfp, node);
}
EXPORT_SYMBOL_GPL(memtb_alloc);

/**
 * memtb_alloc_array - allocate an array
 * @heap: the heap
 * @n: number of elements
 * @size: bytes per element
 * @gfp: as for memtb_alloc()
 *
 * Context: as memtb_alloc().
 * Return: as memtb_alloc(); NULL also if @n * @size overflows.
 */
void *memtb_alloc_array(struct memtb_heap *heap, size_t n, size_t size,
			gfp_t gfp)
{
	size_t bytes;

	if (check_mul_overflow(n, size, &bytes))
		bytes = SIZE_MAX;
	return memtb_alloc(heap, bytes, gfp, NUMA_NO_NODE);
}
EXPORT_SYMBOL_GPL(memtb_alloc_array);

/**
 * memtb_size - usable size of a block
 * @heap: the heap that it came from
 * @obj: the block; NULL and ZERO_SIZE_PTR have none
 *
 * Context: any but NMI.
 * Return: bytes; 0 also for an address that is not the heap's.
 */
size_t memtb_size(struct memtb_heap *heap, void *obj)
{
	if (ZERO_OR_NULL_PTR(obj) || memtb_object_foreign(heap, obj))
		return 0;
	return heap->backend->gp_size(heap, obj);
}
EXPORT_SYMBOL_GPL(memtb_size);

/**
 * memtb_realloc - change the size of a block
 * @heap: the heap
 * @obj: the block; NULL or ZERO_SIZE_PTR means a new one
 * @size: new size in bytes; 0 frees and gives ZERO_SIZE_PTR
 * @gfp: as for memtb_alloc(); __GFP_ZERO clears what the block grows by, if it
 *	was passed to every call for this block, as with krealloc()
 *
 * Content is kept up to the smaller of both sizes.
 *
 * Context: as memtb_alloc().
 * Return: the block, perhaps moved, or NULL; then @obj is as it was.
 */
void *memtb_realloc(struct memtb_heap *heap, void *obj, size_t size, gfp_t gfp)
{
	bool stores = heap->backend->flags & MEMTB_STORES;
	size_t old = memtb_size(heap, obj);
	void *new;

	if (!size) {
		memtb_free(heap, obj);
		return ZERO_SIZE_PTR;
	}
	if (!ZERO_OR_NULL_PTR(obj) && !old)
		return NULL;
	if (size <= old && memtb_check_resize(heap, obj, size)) {
		/* What is cut off must be clear if the block grows again. */
		if (gfp & __GFP_ZERO && stores)
			memset(obj + size, 0, old - size);
		return obj;
	}
	new = memtb_alloc(heap, size, gfp, NUMA_NO_NODE);
	if (!new)
		return NULL;
	if (stores)
		memcpy(new, obj, min(old, size));
	memtb_free(heap, obj);
	return new;
}
EXPORT_SYMBOL_GPL(memtb_realloc);

/**
 * memtb_free - free a block of the general-purpose side
 * @heap: the heap that it came from
 * @obj: the block; NULL and ZERO_SIZE_PTR are nothing
 *
 * An address outside the heap's pages is reported and left alone.
 *
 * Context: any but NMI, never sleeps.
 */
void memtb_free(struct memtb_heap *heap, void *obj)
{
	if (!ZERO_OR_NULL_PTR(obj) && !memtb_object_foreign(heap, obj))
		memtb_block_free(heap, obj);
}
EXPORT_SYMBOL_GPL(memtb_free);
