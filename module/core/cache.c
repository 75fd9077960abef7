// SPDX-License-Identifier: GPL-2.0
/*
 * Caches: creating and destroying.
 */
#include <linux/export.h>
#include <linux/log2.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "../backend/backend.h"

static bool memtb_cache_valid(const struct memtb_backend *backend,
			      const char *name, size_t size, size_t align,
			      slab_flags_t flags)
{
	if (!memtb_name_valid(name) || !size || size > backend->max_size)
		return false;
	if (align && (!is_power_of_2(align) || align > backend->max_align))
		return false;
	if (flags & ~MEMTB_CACHE_FLAGS)
		return false;
	return !(flags & SLAB_TYPESAFE_BY_RCU) || backend->flags & MEMTB_RCU;
}

/**
 * memtb_cache_create - make an object cache in a heap
 * @heap: the heap
 * @name: for reports, copied; need not be unique; rules as for heaps
 * @size: bytes per object, 1 to the backend's max_size
 * @align: alignment of every object in bytes, a power of two up to the
 *	backend's max_align, or 0 for that of a pointer
 * @flags: a mask of MEMTB_CACHE_FLAGS
 * @ctor: constructor or NULL; runs before an object is handed out the first
 *	time, or each time, as the backend says; must not sleep or allocate
 *
 * Context: process, sleeps.
 * Return: the cache, or ERR_PTR: -EINVAL, -ENOMEM, or what the backend says.
 */
struct memtb_cache *memtb_cache_create(struct memtb_heap *heap,
				       const char *name, size_t size,
				       size_t align, slab_flags_t flags,
				       void (*ctor)(void *obj))
{
	const struct memtb_backend *backend = heap->backend;
	struct memtb_cache *cache;
	int err = -ENOMEM;

	if (!memtb_cache_valid(backend, name, size, align, flags))
		return ERR_PTR(-EINVAL);

	cache = kzalloc(sizeof(*cache) + backend->cache_size, GFP_KERNEL);
	if (!cache)
		return ERR_PTR(-ENOMEM);
	cache->heap = heap;
	strscpy(cache->name, name, sizeof(cache->name));
	cache->size = size;
	cache->align = max(align, sizeof(void *));
	cache->flags = flags;
	cache->ctor = ctor;
	cache->cpu = alloc_percpu(struct memtb_cache_cpu);
	if (!cache->cpu)
		goto out_free_cache;

	err = backend->cache_init ? backend->cache_init(cache) : 0;
	if (err)
		goto out_free_cpu;

	mutex_lock(&heap->lock);
	list_add_tail(&cache->node, &heap->caches);
	mutex_unlock(&heap->lock);
	return cache;

out_free_cpu:
	free_percpu(cache->cpu);
out_free_cache:
	kfree(cache);
	return ERR_PTR(err);
}
EXPORT_SYMBOL_GPL(memtb_cache_create);

/* Exact only while nobody allocates or frees; frees never exceed allocations. */
void memtb_cache_count(struct memtb_cache *cache, u64 *allocs, u64 *frees)
{
	int cpu;

	*allocs = 0;
	*frees = 0;
	for_each_possible_cpu(cpu)
		*frees += READ_ONCE(per_cpu_ptr(cache->cpu, cpu)->frees);
	/* What was freed had been allocated: the sums must not say otherwise. */
	smp_rmb();
	for_each_possible_cpu(cpu)
		*allocs += READ_ONCE(per_cpu_ptr(cache->cpu, cpu)->allocs);
}

/**
 * memtb_cache_live - objects that are out
 * @cache: the cache; may be in use
 *
 * Context: any.
 * Return: their number, exact only while nobody allocates or frees.
 */
unsigned long memtb_cache_live(struct memtb_cache *cache)
{
	u64 allocs, frees;

	memtb_cache_count(cache, &allocs, &frees);
	return allocs - frees;
}
EXPORT_SYMBOL_GPL(memtb_cache_live);

/**
 * memtb_cache_info - a cache in the columns of /proc/slabinfo
 * @cache: the cache; the caller holds the heap's lock
 * @info: filled in; what a design does not know is zero
 *
 * Context: process, against running traffic.
 */
void memtb_cache_info(struct memtb_cache *cache, struct memtb_cache_info *info)
{
	const struct memtb_backend *backend = cache->heap->backend;
	unsigned long live = memtb_cache_live(cache);

	*info = (struct memtb_cache_info){
		.active_objs = live, .num_objs = live, .stride = cache->size,
	};
	if (backend->info)
		backend->info(cache, info);
}

/**
 * memtb_cache_tune - set what the design lets one set of a cache
 * @heap: the heap; may be in use
 * @name: of the cache; the first of this name
 * @limit: length of the store of each processor, in objects
 * @batch: objects that come and go at once
 * @shared: length of the common store, in batches
 *
 * Context: process, sleeps.
 * Return: 0; -EOPNOTSUPP if the design has no such stores, -ENOENT without a
 * cache of this name, -EINVAL, -ENOMEM.
 */
int memtb_cache_tune(struct memtb_heap *heap, const char *name,
		     unsigned int limit, unsigned int batch,
		     unsigned int shared)
{
	struct memtb_cache *cache;
	int err = -ENOENT;

	if (!heap->backend->tune)
		return -EOPNOTSUPP;
	if (!batch || batch > limit || limit > MEMTB_TUNE_LIMIT_MAX ||
	    shared > MEMTB_TUNE_SHARED_MAX)
		return -EINVAL;
	mutex_lock(&heap->lock);
	list_for_each_entry(cache, &heap->caches, node) {
		if (strcmp(cache->name, name))
			continue;
		err = heap->backend->tune(cache, limit, batch, shared);
		break;
	}
	mutex_unlock(&heap->lock);
	return err;
}
EXPORT_SYMBOL_GPL(memtb_cache_tune);

/* Out of the heap's list, but not out of its counters. */
static void memtb_cache_unlink(struct memtb_cache *cache)
{
	struct memtb_heap *heap = cache->heap;
	u64 allocs, frees;

	mutex_lock(&heap->lock);
	memtb_cache_count(cache, &allocs, &frees);
	memtb_stat_add(heap, MEMTB_STAT_ALLOCS, allocs);
	memtb_stat_add(heap, MEMTB_STAT_FREES, frees);
	memtb_stat_add(heap, MEMTB_STAT_BYTES_REQUESTED, allocs * cache->size);
	list_del(&cache->node);
	mutex_unlock(&heap->lock);
}

/**
 * memtb_cache_destroy - destroy a cache
 * @cache: the cache; nobody allocates from it any more
 *
 * With live objects nothing is destroyed: the cache stays, so that they may
 * still be freed, and the call may be made again.
 *
 * Context: process, sleeps; waits for the cache's RCU callbacks.
 * Return: number of live objects; with 0 the cache is gone.
 */
unsigned long memtb_cache_destroy(struct memtb_cache *cache)
{
	struct memtb_heap *heap = cache->heap;
	unsigned long live = memtb_cache_live(cache);

	if (live) {
		pr_err("cache %s: destroyed with %lu live objects\n",
		       cache->name, live);
		return live;
	}
	memtb_cache_unlink(cache);
	if (heap->backend->cache_exit)
		heap->backend->cache_exit(cache);
	free_percpu(cache->cpu);
	kfree(cache);
	return 0;
}
EXPORT_SYMBOL_GPL(memtb_cache_destroy);
