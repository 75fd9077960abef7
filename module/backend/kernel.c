// SPDX-License-Identifier: GPL-2.0
/*
 * kernel: the running kernel's own allocator behind the common interface.
 *
 * A cache is a kmem_cache, a general-purpose block comes from kmalloc().  The
 * pages are the kernel's, so a heap of this backend holds none, has no budget
 * and cannot be asked whose an object is.
 */
#include <linux/atomic.h>
#include <linux/slab.h>

#include "backend.h"

struct memtb_kernel_cache {
	struct kmem_cache *cache;
};

static int memtb_kernel_cache_init(struct memtb_cache *cache)
{
	struct memtb_kernel_cache *kc = memtb_cache_priv(cache);
	/* Two kmem_caches of one name are one too many for sysfs. */
	static atomic_t serial = ATOMIC_INIT(0);
	char name[sizeof("memtb-") + 10 + 1 + sizeof(cache->name)];

	snprintf(name, sizeof(name), "memtb-%u-%s",
		 (unsigned int)atomic_inc_return(&serial), cache->name);
	kc->cache = kmem_cache_create(name, cache->size, cache->align,
				      cache->flags, cache->ctor);
	return kc->cache ? 0 : -ENOMEM;
}

static void memtb_kernel_cache_exit(struct memtb_cache *cache)
{
	struct memtb_kernel_cache *kc = memtb_cache_priv(cache);

	kmem_cache_destroy(kc->cache);
}

static void *memtb_kernel_alloc(struct memtb_cache *cache, gfp_t gfp, int node)
{
	struct memtb_kernel_cache *kc = memtb_cache_priv(cache);

	return kmem_cache_alloc_node(kc->cache, gfp & ~__GFP_ZERO, node);
}

static bool memtb_kernel_free(struct memtb_cache *cache, void *obj)
{
	struct memtb_kernel_cache *kc = memtb_cache_priv(cache);

	kmem_cache_free(kc->cache, obj);
	return true;
}

static void *memtb_kernel_gp_alloc(struct memtb_heap *heap, size_t size,
				   gfp_t gfp, int node)
{
	return kmalloc_node(size, gfp & ~__GFP_ZERO, node);
}

static bool memtb_kernel_gp_free(struct memtb_heap *heap, void *obj)
{
	kfree(obj);
	return true;
}

static size_t memtb_kernel_gp_size(struct memtb_heap *heap, void *obj)
{
	return ksize(obj);
}

static unsigned long memtb_kernel_shrink(struct memtb_heap *heap)
{
	struct memtb_kernel_cache *kc;
	struct memtb_cache *cache;

	mutex_lock(&heap->lock);
	list_for_each_entry(cache, &heap->caches, node) {
		kc = memtb_cache_priv(cache);
		kmem_cache_shrink(kc->cache);
	}
	mutex_unlock(&heap->lock);
	/* The kernel does not say how many pages it gave back. */
	return 0;
}

const struct memtb_backend memtb_backend_kernel = {
	.name = "kernel",
	.summary = "the running kernel's own allocator",
	.flags = MEMTB_STORES | MEMTB_RCU | MEMTB_ALIGNS,
	.max_size = KMALLOC_MAX_SIZE,
	.max_align = PAGE_SIZE,
	.cache_size = sizeof(struct memtb_kernel_cache),
	.gp_min_align = ARCH_KMALLOC_MINALIGN,
	.cache_init = memtb_kernel_cache_init,
	.cache_exit = memtb_kernel_cache_exit,
	.alloc = memtb_kernel_alloc,
	.free = memtb_kernel_free,
	.gp_alloc = memtb_kernel_gp_alloc,
	.gp_free = memtb_kernel_gp_free,
	.gp_size = memtb_kernel_gp_size,
	.shrink = memtb_kernel_shrink,
};
