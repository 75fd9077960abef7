// SPDX-License-Identifier: GPL-2.0
/*
 * slab: object caches as Linux had them until 6.7.
 *
 * Jeff Bonwick's design of 1994 as it grew in Linux: memory stays what it has
 * been, a cache cuts pages into objects of one kind, and keeps what is freed at
 * hand for the next allocation.  This is a new text, written from a description
 * of mm/slab.c as of 6.1.
 *
 * Three storeys.  Each processor has an array of free objects per cache, used
 * as a stack, with nothing but interrupts off: the object that was freed last is
 * the warmest and goes out first.  When the array is empty a batch comes up,
 * when it is full the oldest batch goes down.  Below is one shared array per
 * memory node, so that what one processor frees another may have; below that,
 * slabs, see slab_node.c.  Only the lower two have a lock, of the node, and it
 * is taken once a batch.
 *
 * So nearly all operations cost the same few instructions, however many objects
 * are out, and no search exists that could grow.  What it costs instead is
 * memory: arrays hold free objects that no other cache can use, slabs are half
 * empty, and a node keeps some wholly empty ones.
 *
 * Geometry, see slab_geometry.c, keeps what is left over of a slab below an
 * eighth.  The left-over is spent on colour: slab by slab the first object
 * starts one cache line further, lest the same object of all slabs compete for
 * the same line of the cache.
 *
 * General-purpose blocks come from caches of 32, 64, 96, 128, 192, 256 bytes and
 * so on up to two pages.  Larger ones are pages with a descriptor.
 *
 * Constructors run when a slab is populated; objects come back constructed.
 * SLAB_TYPESAFE_BY_RCU delays the end of slabs, not of objects.
 *
 * What keeps it in shape, see slab_tend.c: every two seconds a reaper lets go of
 * what lay idle; shrinking empties everything; the arrays of a processor that
 * goes away come home; limits may be set of a cache that is in use.
 *
 * Wrong frees.  Another cache's object, or one of the other side, is refused.
 * An object freed twice, or an address in the middle of one, goes into an array
 * and out again as any other, which only debug=verify finds: a look at the slab
 * would cost as much as all the rest.
 *
 * What differs from 6.1:
 * - a slab is described by a descriptor in the heap's own pages, found through
 *   the page map, not by struct page;
 * - slabs that have to go are given back with interrupts as the caller had them;
 * - a request for another memory node that has no pages is served from any node
 *   by the page allocator, not from other nodes' slabs first;
 * - the alien arrays are drained to their node when they are full, by the reaper
 *   and by a shrink, as there.
 */
#include <linux/kernel.h>
#include <linux/log2.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/topology.h>

#include "../core/pages.h"
#include "backend.h"
#include "slab.h"

/* From an array that nobody touched for long, no more than this comes up. */
#define MEMTB_SLAB_COLD_BATCH	16

/* ---- arrays ---- */

static struct memtb_slab_node *memtb_slab_here(struct memtb_slab_cache *sc)
{
	return sc->node[numa_mem_id()];
}

/* The newest @nr of one array, or as many as fit, on top of another. */
static bool memtb_slab_move(struct memtb_array *to,
			    struct memtb_array *from, unsigned int nr)
{
	nr = min3(nr, from->avail, to->limit - to->avail);
	from->avail -= nr;
	memcpy(to->entry + to->avail, from->entry + from->avail,
	       nr * sizeof(void *));
	to->avail += nr;
	return nr;
}

/* The oldest @nr of an array go home, the node's lock is held. */
void memtb_slab_drop(struct memtb_slab_cache *sc, struct memtb_slab_node *node,
		     struct memtb_array *array, unsigned int nr,
		     struct list_head *doomed)
{
	memtb_slab_give(sc, node, array->entry, nr, doomed);
	array->avail -= nr;
	memmove(array->entry, array->entry + nr, array->avail * sizeof(void *));
}

/* How many objects come up into an array. */
static unsigned int memtb_slab_batch(const struct memtb_array *array)
{
	if (array->touched)
		return array->batch;
	return min_t(unsigned int, array->batch, MEMTB_SLAB_COLD_BATCH);
}

/* The warmest object of an array that has any. */
static void *memtb_slab_top(struct memtb_array *array)
{
	array->touched = true;
	return array->entry[--array->avail];
}

/* A batch comes up into an empty array, if there is one.  Interrupts are off. */
static void memtb_slab_refill(struct memtb_slab_cache *sc,
			      struct memtb_array *array)
{
	struct memtb_slab_node *node = memtb_slab_here(sc);
	unsigned int batch = memtb_slab_batch(array);

	memtb_stat_add(memtb_slab_core(sc)->heap, MEMTB_STAT_CPU_REFILLS, 1);
	memtb_lock_irqs_off(&node->lock);
	if (node->shared && memtb_slab_move(array, node->shared, batch))
		node->shared->touched = true;
	else
		memtb_slab_take(sc, node, array, batch);
	memtb_unlock_irqs_off(&node->lock);
}

/* The oldest batch goes down: what is shared first, the rest home. */
static void memtb_slab_flush(struct memtb_slab_cache *sc,
			     struct memtb_array *array,
			     struct list_head *doomed)
{
	struct memtb_slab_node *node = memtb_slab_here(sc);
	struct memtb_array *shared;
	unsigned int batch = array->batch;

	memtb_stat_add(memtb_slab_core(sc)->heap, MEMTB_STAT_CPU_FLUSHES, 1);
	memtb_lock_irqs_off(&node->lock);
	shared = node->shared;
	if (shared && shared->avail < shared->limit) {
		batch = min(batch, shared->limit - shared->avail);
		memcpy(shared->entry + shared->avail, array->entry,
		       batch * sizeof(void *));
		shared->avail += batch;
		array->avail -= batch;
		memmove(array->entry, array->entry + batch,
			array->avail * sizeof(void *));
	} else {
		memtb_slab_drop(sc, node, array, batch, doomed);
	}
	memtb_unlock_irqs_off(&node->lock);
}

/* ---- objects of other memory nodes ---- */

static bool memtb_slab_is_far(int nid)
{
	return IS_ENABLED(CONFIG_NUMA) && nid != numa_mem_id();
}

/* Alien objects to their node.  The alien array's lock is held. */
void memtb_slab_alien_drain(struct memtb_slab_cache *sc,
			    struct memtb_slab_alien *alien, int nid,
			    struct list_head *doomed)
{
	struct memtb_array *array = &alien->array;
	struct memtb_slab_node *node = sc->node[nid];

	if (!array->avail)
		return;
	memtb_lock_irqs_off(&node->lock);
	if (node->shared)
		memtb_slab_move(node->shared, array, array->limit);
	memtb_slab_drop(sc, node, array, array->avail, doomed);
	memtb_unlock_irqs_off(&node->lock);
}

/* An object of node @nid, freed here.  Interrupts are off. */
static void memtb_slab_free_far(struct memtb_slab_cache *sc, void *obj, int nid,
				struct list_head *doomed)
{
	struct memtb_slab_node *here = memtb_slab_here(sc);
	struct memtb_slab_alien *alien;

	alien = here->alien ? here->alien[nid] : NULL;
	if (!alien) {
		memtb_lock_irqs_off(&sc->node[nid]->lock);
		memtb_slab_give(sc, sc->node[nid], &obj, 1, doomed);
		memtb_unlock_irqs_off(&sc->node[nid]->lock);
		return;
	}
	raw_spin_lock(&alien->lock);
	if (alien->array.avail == alien->array.limit)
		memtb_slab_alien_drain(sc, alien, nid, doomed);
	alien->array.entry[alien->array.avail++] = obj;
	raw_spin_unlock(&alien->lock);
}

/* One object of the slabs of a node.  Interrupts are off. */
static void *memtb_slab_alloc_far(struct memtb_slab_cache *sc, int nid)
{
	struct memtb_slab_node *node = sc->node[nid];
	struct {
		struct memtb_array array;
		void *entry;
	} one = {};

	memtb_lock_irqs_off(&node->lock);
	memtb_slab_take(sc, node, &one.array, 1);
	memtb_unlock_irqs_off(&node->lock);
	return one.array.avail ? one.array.entry[0] : NULL;
}

/* ---- the object path ---- */

/* An object without a fresh slab, if there is one.  Interrupts are off. */
static void *memtb_slab_alloc_here(struct memtb_slab_cache *sc, int nid)
{
	struct memtb_array *array = memtb_array_mine(&sc->cpu);

	if (memtb_slab_is_far(nid))
		return memtb_slab_alloc_far(sc, nid);
	if (!array->avail)
		memtb_slab_refill(sc, array);
	return array->avail ? memtb_slab_top(array) : NULL;
}

/*
 * A batch of a fresh slab goes at once into the array of this processor, so that
 * it is not taken from the slab in a second step.
 */
static void *memtb_slab_alloc_fresh(struct memtb_slab_cache *sc,
				    struct memtb_slab *slab)
{
	struct memtb_slab_node *node = sc->node[slab->nid];
	struct memtb_array *array;
	unsigned long flags;
	void *obj = NULL;

	local_irq_save(flags);
	array = memtb_array_mine(&sc->cpu);
	if (memtb_slab_is_far(slab->nid))
		obj = memtb_slab_pop(sc, slab);
	else if (!array->avail)
		memtb_slab_fill(sc, array, slab, memtb_slab_batch(array));
	memtb_lock_irqs_off(&node->lock);
	memtb_slab_link(node, slab);
	memtb_unlock_irqs_off(&node->lock);
	if (!obj)
		obj = memtb_slab_top(array);
	local_irq_restore(flags);
	return obj;
}

static noinline void *memtb_slab_alloc_slow(struct memtb_slab_cache *sc,
					    gfp_t gfp, int nid)
{
	struct memtb_slab *slab;
	unsigned long flags;
	void *obj;

	if (nid == NUMA_NO_NODE || !IS_ENABLED(CONFIG_NUMA))
		nid = numa_mem_id();
	local_irq_save(flags);
	obj = memtb_slab_alloc_here(sc, nid);
	local_irq_restore(flags);
	if (obj)
		return obj;
	slab = memtb_slab_grow(sc, gfp, nid);
	if (slab)
		return memtb_slab_alloc_fresh(sc, slab);
	/* No page; but somebody may have freed an object meanwhile. */
	local_irq_save(flags);
	obj = memtb_slab_alloc_here(sc, nid);
	local_irq_restore(flags);
	return obj;
}

/* Whether arrays can hold nothing but objects of this processor's node. */
static bool memtb_slab_one_node(void)
{
	return !IS_ENABLED(CONFIG_NUMA) || nr_node_ids == 1;
}

/* For blocks; the core does this for objects. */
static void *memtb_slab_get(struct memtb_slab_cache *sc, gfp_t gfp, int nid)
{
	void *obj = NULL;

	if (memtb_slab_one_node())
		obj = memtb_array_pop(&sc->cpu);
	return likely(obj) ? obj : memtb_slab_alloc_slow(sc, gfp, nid);
}

static noinline void memtb_slab_free_slow(struct memtb_slab_cache *sc,
					  void *obj, int nid)
{
	struct memtb_array *array;
	unsigned long flags;
	LIST_HEAD(doomed);

	local_irq_save(flags);
	if (memtb_slab_is_far(nid)) {
		memtb_slab_free_far(sc, obj, nid, &doomed);
	} else {
		array = memtb_array_mine(&sc->cpu);
		if (array->avail >= array->limit)
			memtb_slab_flush(sc, array, &doomed);
		array->entry[array->avail++] = obj;
	}
	local_irq_restore(flags);
	memtb_slab_destroy(sc, &doomed);
}

static void memtb_slab_put(struct memtb_slab_cache *sc,
			   struct memtb_slab *slab, void *obj)
{
	if (!memtb_slab_one_node() || !memtb_array_push(&sc->cpu, obj))
		memtb_slab_free_slow(sc, obj, slab->nid);
}

/* The core has looked into this processor's array. */
static void *memtb_slab_alloc(struct memtb_cache *cache, gfp_t gfp, int nid)
{
	return memtb_slab_alloc_slow(memtb_cache_priv(cache), gfp, nid);
}

/* Of an address that is known to lie in the heap. */
static struct memtb_slab *memtb_slab_of(const void *obj)
{
	return container_of(memtb_owner(obj), struct memtb_slab, owner);
}

/* Also a descriptor's page has an owner, whose next words are no such cache. */
static bool memtb_slab_owns(struct memtb_cache *cache, void *obj)
{
	if (likely(memtb_slab_of(obj)->cache == memtb_cache_priv(cache)))
		return true;
	pr_err("heap %s: %p is not an object of cache %s\n", cache->heap->name,
	       obj, cache->name);
	return false;
}

static bool memtb_slab_free(struct memtb_cache *cache, void *obj)
{
	if (!memtb_slab_owns(cache, obj))
		return false;
	memtb_slab_free_slow(memtb_cache_priv(cache), obj,
			     memtb_slab_of(obj)->nid);
	return true;
}

/* ---- many at once ---- */

/* Up to @nr objects with interrupts off once.  How many there were. */
static size_t memtb_slab_get_many(struct memtb_slab_cache *sc, size_t nr,
				  void **objs)
{
	struct memtb_array *array;
	unsigned long flags;
	size_t done = 0;

	local_irq_save(flags);
	array = memtb_array_mine(&sc->cpu);
	while (done < nr) {
		if (!array->avail)
			memtb_slab_refill(sc, array);
		if (!array->avail)
			break;
		while (done < nr && array->avail)
			objs[done++] = array->entry[--array->avail];
		array->touched = true;
	}
	local_irq_restore(flags);
	return done;
}

/* They are of this cache. */
static void memtb_slab_put_many(struct memtb_slab_cache *sc, size_t nr,
				void **objs)
{
	struct memtb_array *array;
	unsigned long flags;
	LIST_HEAD(doomed);
	size_t i;

	local_irq_save(flags);
	array = memtb_array_mine(&sc->cpu);
	for (i = 0; i < nr; i++) {
		int nid = memtb_slab_of(objs[i])->nid;

		if (memtb_slab_is_far(nid)) {
			memtb_slab_free_far(sc, objs[i], nid, &doomed);
			continue;
		}
		if (array->avail >= array->limit)
			memtb_slab_flush(sc, array, &doomed);
		array->entry[array->avail++] = objs[i];
	}
	local_irq_restore(flags);
	memtb_slab_destroy(sc, &doomed);
}

static bool memtb_slab_alloc_bulk(struct memtb_cache *cache, gfp_t gfp,
				  size_t nr, void **objs)
{
	struct memtb_slab_cache *sc = memtb_cache_priv(cache);
	size_t done = 0;

	while (done < nr) {
		done += memtb_slab_get_many(sc, nr - done, objs + done);
		if (done == nr)
			break;
		objs[done] = memtb_slab_alloc_slow(sc, gfp, NUMA_NO_NODE);
		if (!objs[done]) {
			memtb_slab_put_many(sc, done, objs);
			return false;
		}
		done++;
	}
	return true;
}

static size_t memtb_slab_free_bulk(struct memtb_cache *cache, size_t nr,
				   void **objs)
{
	struct memtb_slab_cache *sc = memtb_cache_priv(cache);
	size_t i, from = 0, done = 0;

	for (i = 0; i < nr; i++) {
		if (memtb_slab_owns(cache, objs[i]))
			continue;
		memtb_slab_put_many(sc, i - from, objs + from);
		done += i - from;
		from = i + 1;
	}
	memtb_slab_put_many(sc, nr - from, objs + from);
	return done + nr - from;
}

/* ---- the general-purpose side ---- */

static struct memtb_slab_cache *memtb_slab_class_of(struct memtb_slab_heap *sh,
						    size_t size)
{
	unsigned int i;

	if (size <= MEMTB_SLAB_TABLED)
		i = sh->table[(size - 1) / 8];
	else
		i = fls_long(size - 1);
	return memtb_cache_priv(sh->class[i]);
}

/* Not counted: for the design's own use. */
void *memtb_slab_class_alloc(struct memtb_slab_heap *sh, size_t size, gfp_t gfp,
			     int nid)
{
	return memtb_slab_get(memtb_slab_class_of(sh, size), gfp, nid);
}

void memtb_slab_class_free(struct memtb_slab_heap *sh, void *obj)
{
	struct memtb_slab *slab = memtb_slab_of(obj);

	memtb_slab_put(slab->cache, slab, obj);
}

static noinline void *memtb_slab_large_alloc(struct memtb_slab_heap *sh, size_t size,
				    gfp_t gfp, int nid)
{
	struct memtb_slab *slab = memtb_desc_get(&sh->descs, gfp, nid);

	if (!slab)
		return NULL;
	slab->owner.heap = sh->heap;
	slab->owner.cache = NULL;
	slab->cache = NULL;
	slab->order = get_order(size);
	slab->pages = memtb_pages_get(&slab->owner, gfp, slab->order, nid);
	if (slab->pages)
		return slab->pages;
	memtb_desc_put(&sh->descs, slab);
	return NULL;
}

static void *memtb_slab_gp_alloc(struct memtb_heap *heap, size_t size,
				 gfp_t gfp, int nid)
{
	struct memtb_slab_heap *sh = memtb_heap_priv(heap);

	if (unlikely(size > MEMTB_SLAB_MAX_CLASS))
		return memtb_slab_large_alloc(sh, size, gfp, nid);
	return memtb_slab_get(memtb_slab_class_of(sh, size), gfp, nid);
}

/* Whether a block begins here; @slab is what holds it, if anything does. */
static bool memtb_slab_is_block(struct memtb_slab_heap *sh,
				struct memtb_slab *slab, void *obj)
{
	if (&slab->owner == &sh->descs.owner)
		return false;
	return slab->cache ? memtb_slab_core(slab->cache)->inner :
			     slab->pages == obj;
}

static bool memtb_slab_gp_free(struct memtb_heap *heap, void *obj)
{
	struct memtb_slab_heap *sh = memtb_heap_priv(heap);
	struct memtb_slab *slab = memtb_slab_of(obj);

	if (unlikely(!memtb_slab_is_block(sh, slab, obj))) {
		pr_err("heap %s: %p is not an object of the general-purpose side\n",
		       heap->name, obj);
		return false;
	}
	if (likely(slab->cache)) {
		memtb_slab_put(slab->cache, slab, obj);
		return true;
	}
	memtb_pages_put(&slab->owner, slab->pages, slab->order);
	memtb_desc_put(&sh->descs, slab);
	return true;
}

static size_t memtb_slab_gp_size(struct memtb_heap *heap, void *obj)
{
	struct memtb_slab *slab = memtb_slab_of(obj);

	if (!memtb_slab_is_block(memtb_heap_priv(heap), slab, obj))
		return 0;
	if (!slab->cache)
		return PAGE_SIZE << slab->order;
	return memtb_slab_core(slab->cache)->size;
}

/* ---- caches ---- */

static void memtb_slab_machine(struct memtb_slab_machine *machine)
{
	*machine = (struct memtb_slab_machine){
		.page_shift = PAGE_SHIFT,
		.word = sizeof(void *),
		.cache_line = cache_line_size(),
		.min_class = MEMTB_SLAB_MIN_CLASS,
		/* Small machines have no runs of pages to spare. */
		.max_order = totalram_pages() > (32UL << 20) >> PAGE_SHIFT,
		.page_order = get_order(KMALLOC_MAX_SIZE),
	};
}

/* Longest array of a processor for objects of this size, stride in bytes. */
static unsigned int memtb_slab_default_limit(size_t stride)
{
	if (stride > 128 << 10)
		return 1;
	if (stride > PAGE_SIZE)
		return 8;
	if (stride > 1024)
		return 24;
	return stride > 256 ? 54 : 120;
}

static int memtb_slab_cache_init(struct memtb_cache *cache)
{
	struct memtb_slab_cache *sc = memtb_cache_priv(cache);
	const struct memtb_slab_request request = {
		.size = cache->size, .align = cache->align,
		.constructed = cache->ctor, .flags = cache->flags,
	};
	struct memtb_slab_machine machine;
	int err;

	memtb_slab_machine(&machine);
	if (!memtb_slab_geometry(&machine, &request, &sc->geometry))
		return -E2BIG;
	sc->reciprocal = reciprocal_value(sc->geometry.stride);
	sc->limit = memtb_slab_default_limit(sc->geometry.stride);
	sc->batch = DIV_ROUND_UP(sc->limit, 2);
	if (sc->geometry.stride <= PAGE_SIZE && num_possible_cpus() > 1)
		sc->shared = 8;
	err = memtb_slab_nodes_init(sc);
	if (err)
		return err;
	err = memtb_slab_arrays_init(sc);
	if (err)
		memtb_slab_nodes_exit(sc);
	return err;
}

static void memtb_slab_cache_exit(struct memtb_cache *cache)
{
	struct memtb_slab_cache *sc = memtb_cache_priv(cache);

	memtb_slab_cache_empty(sc);
	if (cache->flags & SLAB_TYPESAFE_BY_RCU)
		rcu_barrier();
	memtb_slab_arrays_exit(sc);
	memtb_slab_nodes_exit(sc);
}

/* ---- the heap ---- */

static int memtb_slab_make_class(struct memtb_slab_heap *sh, unsigned int i,
				 size_t size)
{
	size_t align = is_power_of_2(size) ? size : ARCH_KMALLOC_MINALIGN;
	char name[MEMTB_NAME_MAX];

	snprintf(name, sizeof(name), "kmalloc-%zu", size);
	sh->class[i] = memtb_cache_create(sh->heap, name, size,
					  min_t(size_t, align, PAGE_SIZE), 0,
					  NULL);
	if (IS_ERR(sh->class[i]))
		return PTR_ERR(sh->class[i]);
	sh->class[i]->inner = true;
	return 0;
}

static unsigned int memtb_slab_index(size_t size)
{
	return size == 96 ? 0 : size == 192 ? 1 : order_base_2(size);
}

static int memtb_slab_make_classes(struct memtb_slab_heap *sh)
{
	struct memtb_slab_machine machine;
	size_t size, step;
	int err = 0;

	memtb_slab_machine(&machine);
	for (size = 0; size < MEMTB_SLAB_MAX_CLASS && !err; size = step) {
		step = memtb_slab_class(&machine, size + 1);
		err = memtb_slab_make_class(sh, memtb_slab_index(step), step);
	}
	for (size = 8; size <= MEMTB_SLAB_TABLED; size += 8)
		sh->table[size / 8 - 1] =
			memtb_slab_index(memtb_slab_class(&machine, size));
	return err;
}

static void memtb_slab_undo_classes(struct memtb_slab_heap *sh)
{
	int i;

	for (i = 0; i < MEMTB_SLAB_CLASSES; i++)
		if (!IS_ERR_OR_NULL(sh->class[i]))
			memtb_cache_destroy(sh->class[i]);
}

static int memtb_slab_heap_init(struct memtb_heap *heap)
{
	struct memtb_slab_heap *sh = memtb_heap_priv(heap);
	int err;

	sh->heap = heap;
	memtb_desc_init(&sh->descs, heap, sizeof(struct memtb_slab));
	err = memtb_slab_make_classes(sh);
	if (!err)
		err = memtb_slab_tend(sh);
	if (err)
		memtb_slab_undo_classes(sh);
	return err;
}

static unsigned long memtb_slab_shrink_caches(struct memtb_heap *heap,
					      bool class)
{
	struct memtb_cache *cache;
	unsigned long nr = 0;

	list_for_each_entry(cache, &heap->caches, node)
		if (cache->inner == class)
			nr += memtb_slab_cache_shrink(memtb_cache_priv(cache));
	return nr;
}

/* The classes last: they have the lists of the others' slabs. */
static unsigned long memtb_slab_shrink(struct memtb_heap *heap)
{
	struct memtb_slab_heap *sh = memtb_heap_priv(heap);
	unsigned long nr;

	mutex_lock(&heap->lock);
	nr = memtb_slab_shrink_caches(heap, false);
	/* Slabs of type-safe caches are on their way. */
	rcu_barrier();
	nr += memtb_slab_shrink_caches(heap, true);
	mutex_unlock(&heap->lock);
	return nr + memtb_desc_shrink(&sh->descs);
}

/* The core has destroyed the classes, unless something is out. */
static void memtb_slab_heap_exit(struct memtb_heap *heap)
{
	memtb_slab_untend(memtb_heap_priv(heap));
	memtb_slab_shrink(heap);
}

static unsigned long memtb_slab_check(struct memtb_heap *heap)
{
	struct memtb_slab_cache *sc;
	struct memtb_cache *cache;
	unsigned long nr = 0;
	int nid;

	mutex_lock(&heap->lock);
	list_for_each_entry(cache, &heap->caches, node) {
		sc = memtb_cache_priv(cache);
		for_each_node(nid)
			nr += memtb_slab_node_check(sc, sc->node[nid]);
	}
	mutex_unlock(&heap->lock);
	return nr;
}

static void memtb_slab_node_info(struct memtb_slab_cache *sc,
				 struct memtb_slab_node *node,
				 struct memtb_cache_info *info)
{
	unsigned long flags;

	memtb_lock(&node->lock, &flags);
	info->num_slabs += node->nr_slabs;
	info->active_slabs += node->nr_slabs - node->nr_empty;
	info->num_objs += node->nr_slabs * sc->geometry.nr;
	info->active_objs += node->nr_slabs * sc->geometry.nr - node->nr_free;
	if (node->shared)
		info->shared_avail += node->shared->avail;
	memtb_unlock(&node->lock, flags);
}

/* As in the kernel: what lies in arrays counts as out. */
static void memtb_slab_info(struct memtb_cache *cache,
			    struct memtb_cache_info *info)
{
	struct memtb_slab_cache *sc = memtb_cache_priv(cache);
	int nid;

	info->stride = sc->geometry.stride;
	info->objs_per_slab = sc->geometry.nr;
	info->pages_per_slab = 1U << sc->geometry.order;
	info->limit = sc->limit;
	info->batch = sc->batch;
	info->shared = sc->shared;
	for_each_node(nid)
		memtb_slab_node_info(sc, sc->node[nid], info);
}

const struct memtb_backend memtb_backend_slab = {
	.name = "slab",
	.summary = "arrays per processor before slabs (Linux's SLAB, 6.1)",
	.flags = MEMTB_OWNS_PAGES | MEMTB_STORES | MEMTB_RCU | MEMTB_ALIGNS,
	.max_size = KMALLOC_MAX_SIZE,
	.max_align = PAGE_SIZE,
	.heap_size = sizeof(struct memtb_slab_heap),
	.cache_size = sizeof(struct memtb_slab_cache),
	.gp_min_align = ARCH_KMALLOC_MINALIGN,
	.heap_init = memtb_slab_heap_init,
	.heap_exit = memtb_slab_heap_exit,
	.cache_init = memtb_slab_cache_init,
	.cache_exit = memtb_slab_cache_exit,
	.alloc = memtb_slab_alloc,
	.free = memtb_slab_free,
	.alloc_bulk = memtb_slab_alloc_bulk,
	.free_bulk = memtb_slab_free_bulk,
	.gp_alloc = memtb_slab_gp_alloc,
	.gp_free = memtb_slab_gp_free,
	.gp_size = memtb_slab_gp_size,
	.shrink = memtb_slab_shrink,
	.tune = memtb_slab_tune,
	.info = memtb_slab_info,
	.check = memtb_slab_check,
};
