// SPDX-License-Identifier: GPL-2.0
/*
 * Heaps: creating, destroying, shrinking and checking an instance of a backend.
 */
#include <linux/cpumask.h>
#include <linux/ctype.h>
#include <linux/export.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "../backend/backend.h"
#include "check.h"

/*
 * Names end up in debugfs, in reports and in columns of text: printable, not
 * blank, and no path.
 */
bool memtb_name_valid(const char *name)
{
	size_t i;

	if (!name || !*name)
		return false;
	for (i = 0; name[i]; i++)
		if (i == MEMTB_NAME_MAX || !isgraph(name[i]) || name[i] == '/')
			return false;
	return true;
}

/**
 * memtb_heap_create - make a heap
 * @backend: the design, see memtb_backend_find()
 * @name: for reports; copied; printable, without blanks and slashes, at most
 *	MEMTB_NAME_MAX bytes
 * @params: fixed for the heap's life; NULL means no budget, no faults, no
 *	checks
 *
 * Context: process, sleeps.
 * Return: the heap, or ERR_PTR: -EINVAL for a bad name, bad parameters or a
 * malformed backend, -ENOMEM, or what the backend says.
 */
struct memtb_heap *memtb_heap_create(const struct memtb_backend *backend,
				     const char *name,
				     const struct memtb_heap_params *params)
{
	struct memtb_heap *heap;
	int err;

	if (!memtb_backend_valid(backend) || !memtb_name_valid(name))
		return ERR_PTR(-EINVAL);
	if (params && (!memtb_check_valid(backend, params->debug) ||
		       params->options >> memtb_backend_nr_options(backend)))
		return ERR_PTR(-EINVAL);

	heap = kzalloc(sizeof(*heap) + backend->heap_size, GFP_KERNEL);
	if (!heap)
		return ERR_PTR(-ENOMEM);
	heap->owner.heap = heap;
	heap->backend = backend;
	if (params)
		heap->params = *params;
	strscpy(heap->name, name, sizeof(heap->name));
	INIT_LIST_HEAD(&heap->caches);
	mutex_init(&heap->lock);
	/*
	 * The live heap's is taken inside slab_mutex; a heap whose objects are
	 * the kernel's own calls the kernel, which takes slab_mutex, inside it.
	 */
	lockdep_set_subclass(&heap->lock, !!(backend->flags & MEMTB_OWNS_PAGES));

	err = memtb_stats_init(heap);
	if (err)
		goto out_free_heap;
	err = memtb_check_init(heap);
	if (err)
		goto out_exit_stats;
	err = backend->heap_init ? backend->heap_init(heap) : 0;
	if (err)
		goto out_exit_check;
	return heap;

out_exit_check:
	memtb_check_exit(heap);
out_exit_stats:
	memtb_stats_exit(heap);
out_free_heap:
	kfree(heap);
	return ERR_PTR(err);
}
EXPORT_SYMBOL_GPL(memtb_heap_create);

/*
 * Unlocked: nobody may use the heap any more.  The last first: one that serves
 * another was made before it.
 */
static void memtb_heap_destroy_caches(struct memtb_heap *heap, bool inner)
{
	struct memtb_cache *cache, *next;

	list_for_each_entry_safe_reverse(cache, next, &heap->caches, node)
		if (cache->inner == inner)
			memtb_cache_destroy(cache);
}

/**
 * memtb_heap_destroy - destroy a heap and its caches
 * @heap: the heap; nobody uses it any more
 *
 * With objects out, they are reported, and the heap keeps their pages and what
 * it needs to take them back: they may still be freed, and the call may be made
 * again.  Nothing of it runs by itself any more, so that it may also be left.
 *
 * Context: process, sleeps; waits for RCU callbacks of the heap's objects.
 * Return: the number of objects and pages that stay behind; 0 is a clean end.
 */
unsigned long memtb_heap_destroy(struct memtb_heap *heap)
{
	unsigned long live, pages;

	memtb_heap_destroy_caches(heap, false);
	live = memtb_heap_live(heap);
	if (!live)
		memtb_heap_destroy_caches(heap, true);
	if (heap->backend->heap_exit)
		heap->backend->heap_exit(heap);

	pages = atomic_long_read(&heap->pages_now);
	if (live || pages) {
		pr_err("heap %s: destroyed with %lu live objects, %lu pages stay behind\n",
		       heap->name, live, pages);
		return live + pages;
	}
	memtb_check_exit(heap);
	memtb_stats_exit(heap);
	mutex_destroy(&heap->lock);
	kfree(heap);
	return 0;
}
EXPORT_SYMBOL_GPL(memtb_heap_destroy);

/**
 * memtb_heap_shrink - give unused pages back
 * @heap: the heap; may be in use
 *
 * Context: process, sleeps.
 * Return: number of pages given back.
 */
unsigned long memtb_heap_shrink(struct memtb_heap *heap)
{
	return heap->backend->shrink ? heap->backend->shrink(heap) : 0;
}
EXPORT_SYMBOL_GPL(memtb_heap_shrink);

/**
 * memtb_heap_check - walk every structure of a heap
 * @heap: the heap; may be in use, and is held up while the walk lasts
 *
 * Context: process.
 * Return: number of violations; each was printed and counted.
 */
unsigned long memtb_heap_check(struct memtb_heap *heap)
{
	unsigned long nr = 0;

	if (heap->backend->check)
		nr = heap->backend->check(heap);
	memtb_stat_add(heap, MEMTB_STAT_VIOLATIONS, nr);
	return nr;
}
EXPORT_SYMBOL_GPL(memtb_heap_check);
