// SPDX-License-Identifier: GPL-2.0
/*
 * Slabs and their lists.
 *
 * A slab is a run of pages cut into objects, with a stack of the indices of
 * those that are free.  It stands in one of three lists of its memory node.
 * Objects come from partial slabs first, then from empty ones, so that slabs
 * tend to be either full or wholly free.  A slab that gets an object back goes
 * to the end of the partial ones, where its other objects have the longest time
 * to come back, too.
 *
 * Everything here is constant time per object.
 */
#include <linux/bitmap.h>
#include <linux/kernel.h>
#include <linux/mm.h>
#include <linux/rcupdate.h>
#include <linux/slab.h>
#include <linux/topology.h>

#include "../core/pages.h"
#include "slab.h"

/* ---- objects of a slab ---- */

static bool memtb_slab_full(const struct memtb_slab_cache *sc,
			    const struct memtb_slab *slab)
{
	return slab->active == sc->geometry.nr;
}

void *memtb_slab_pop(struct memtb_slab_cache *sc, struct memtb_slab *slab)
{
	void *obj = slab->objs +
		    slab->list[slab->active++] * sc->geometry.stride;

	/* The last one to go is the one that holds the list. */
	if (memtb_slab_full(sc, slab) &&
	    sc->geometry.place == MEMTB_SLAB_IN_OBJECT)
		slab->list = NULL;
	return obj;
}

static void memtb_slab_push(struct memtb_slab_cache *sc,
			    struct memtb_slab *slab, void *obj)
{
	if (!slab->list)
		slab->list = obj;
	slab->list[--slab->active] = reciprocal_divide(obj - slab->objs,
						       sc->reciprocal);
}

/* ---- making slabs and unmaking them ---- */

static size_t memtb_slab_list_bytes(const struct memtb_slab_cache *sc)
{
	return sc->geometry.nr * sizeof(memtb_slab_index_t);
}

/* Where the list of a fresh slab is, or NULL without memory for it. */
static void *memtb_slab_list(struct memtb_slab_cache *sc,
			     struct memtb_slab *slab, gfp_t gfp)
{
	const struct memtb_slab_geometry *geometry = &sc->geometry;

	switch (geometry->place) {
	case MEMTB_SLAB_IN_OBJECT:
		return slab->objs + (geometry->nr - 1) * geometry->stride;
	case MEMTB_SLAB_OFF_SLAB:
		return memtb_slab_class_alloc(memtb_slab_heap(sc),
					      memtb_slab_list_bytes(sc), gfp,
					      slab->nid);
	default:
		return slab->pages + (PAGE_SIZE << geometry->order) -
		       memtb_slab_list_bytes(sc);
	}
}

/* The first object of the next slab of a node: bytes behind its beginning. */
static size_t memtb_slab_next_colour(struct memtb_slab_cache *sc, int nid)
{
	struct memtb_slab_node *node = sc->node[nid];
	unsigned long flags;
	unsigned int colour;

	if (sc->geometry.colours == 1)
		return 0;
	memtb_lock(&node->lock, &flags);
	node->colour = (node->colour + 1) % sc->geometry.colours;
	colour = node->colour;
	memtb_unlock(&node->lock, flags);
	return colour * sc->geometry.colour;
}

static void memtb_slab_populate(struct memtb_slab_cache *sc,
				struct memtb_slab *slab)
{
	void (*ctor)(void *obj) = memtb_slab_core(sc)->ctor;
	unsigned int i;

	slab->active = 0;
	for (i = 0; i < sc->geometry.nr; i++) {
		slab->list[i] = i;
		if (ctor)
			ctor(slab->objs + i * sc->geometry.stride);
	}
}

/* A slab in no list, all objects free. */
struct memtb_slab *memtb_slab_grow(struct memtb_slab_cache *sc, gfp_t gfp,
				   int nid)
{
	struct memtb_slab_heap *sh = memtb_slab_heap(sc);
	struct memtb_cache *core = memtb_slab_core(sc);
	struct memtb_slab *slab;

	slab = memtb_desc_get(&sh->descs, gfp, nid);
	if (!slab)
		return NULL;
	slab->owner.heap = sh->heap;
	slab->owner.cache = core->array ? core : NULL;
	slab->cache = sc;
	slab->order = sc->geometry.order;
	slab->pages = memtb_pages_get(&slab->owner, gfp, slab->order, nid);
	if (!slab->pages)
		goto out_put_desc;
	slab->nid = page_to_nid(virt_to_page(slab->pages));
	slab->objs = slab->pages + memtb_slab_next_colour(sc, slab->nid);
	slab->list = memtb_slab_list(sc, slab, gfp);
	if (!slab->list)
		goto out_put_pages;
	memtb_slab_populate(sc, slab);
	memtb_stat_add(sh->heap, MEMTB_STAT_SLABS_MADE, 1);
	return slab;

out_put_pages:
	memtb_pages_put(&slab->owner, slab->pages, slab->order);
out_put_desc:
	memtb_desc_put(&sh->descs, slab);
	return NULL;
}

static void memtb_slab_release(struct memtb_slab *slab)
{
	struct memtb_slab_heap *sh = memtb_slab_heap(slab->cache);

	if (slab->cache->geometry.place == MEMTB_SLAB_OFF_SLAB)
		memtb_slab_class_free(sh, slab->list);
	memtb_pages_put(&slab->owner, slab->pages, slab->order);
	memtb_desc_put(&sh->descs, slab);
}

static void memtb_slab_release_rcu(struct rcu_head *rcu)
{
	memtb_slab_release(container_of(rcu, struct memtb_slab, rcu));
}

/* Slabs that are in no list any more; no lock is held.  Number of their pages. */
unsigned long memtb_slab_destroy(struct memtb_slab_cache *sc,
				 struct list_head *doomed)
{
	bool typesafe = memtb_slab_core(sc)->flags & SLAB_TYPESAFE_BY_RCU;
	struct memtb_slab *slab, *next;
	unsigned long nr = 0;

	list_for_each_entry_safe(slab, next, doomed, node) {
		nr += 1UL << slab->order;
		if (typesafe)
			call_rcu(&slab->rcu, memtb_slab_release_rcu);
		else
			memtb_slab_release(slab);
	}
	return nr;
}

/* ---- the lists; the node's lock is held ---- */

/* Into the list that it belongs to: in front, or behind if an object came back. */
static void memtb_slab_file(struct memtb_slab_cache *sc,
			    struct memtb_slab_node *node,
			    struct memtb_slab *slab, bool back)
{
	if (memtb_slab_full(sc, slab)) {
		list_move(&slab->node, &node->full);
	} else if (!slab->active) {
		list_move(&slab->node, &node->empty);
		node->nr_empty++;
	} else if (back) {
		list_move_tail(&slab->node, &node->partial);
	} else {
		list_move(&slab->node, &node->partial);
	}
}

/* A fresh slab, perhaps with objects taken already. */
void memtb_slab_link(struct memtb_slab_node *node, struct memtb_slab *slab)
{
	struct memtb_slab_cache *sc = slab->cache;

	INIT_LIST_HEAD(&slab->node);
	memtb_slab_file(sc, node, slab, true);
	node->nr_slabs++;
	node->nr_free += sc->geometry.nr - slab->active;
}

/* Up to @nr objects of one slab into an array that has room for them. */
void memtb_slab_fill(struct memtb_slab_cache *sc, struct memtb_array *array,
		     struct memtb_slab *slab, unsigned int nr)
{
	while (nr-- && !memtb_slab_full(sc, slab))
		array->entry[array->avail++] = memtb_slab_pop(sc, slab);
}

static struct memtb_slab *memtb_slab_first(struct memtb_slab_node *node)
{
	struct memtb_slab *slab;

	slab = list_first_entry_or_null(&node->partial, struct memtb_slab, node);
	if (slab)
		return slab;
	slab = list_first_entry_or_null(&node->empty, struct memtb_slab, node);
	if (slab) {
		node->nr_empty--;
		node->empty_touched = true;
	}
	return slab;
}

/* As many as there are, until the array has @nr. */
void memtb_slab_take(struct memtb_slab_cache *sc, struct memtb_slab_node *node,
		     struct memtb_array *array, unsigned int nr)
{
	unsigned int had = array->avail, steps = 0;
	struct memtb_slab *slab;

	while (array->avail < nr) {
		slab = memtb_slab_first(node);
		if (!slab)
			break;
		steps++;
		memtb_slab_fill(sc, array, slab, nr - array->avail);
		memtb_slab_file(sc, node, slab, false);
	}
	node->nr_free -= array->avail - had;
	memtb_stat_steps(memtb_slab_core(sc)->heap, steps);
}

/* Up to @nr empty slabs, the coldest first, to be destroyed without the lock. */
void memtb_slab_doom(struct memtb_slab_cache *sc, struct memtb_slab_node *node,
		     unsigned long nr, struct list_head *doomed)
{
	for (; nr && !list_empty(&node->empty); nr--) {
		list_move(node->empty.prev, doomed);
		node->nr_empty--;
		node->nr_slabs--;
		node->nr_free -= sc->geometry.nr;
	}
}

/*
 * Objects of this node back into their slabs.  With @doomed NULL no slab has to
 * go, however many are empty.
 */
void memtb_slab_give(struct memtb_slab_cache *sc, struct memtb_slab_node *node,
		     void **objs, unsigned int nr, struct list_head *doomed)
{
	struct memtb_slab *slab;
	unsigned int i;

	for (i = 0; i < nr; i++) {
		slab = container_of(memtb_owner(objs[i]), struct memtb_slab,
				    owner);
		memtb_slab_push(sc, slab, objs[i]);
		memtb_slab_file(sc, node, slab, true);
	}
	node->nr_free += nr;
	while (doomed && node->nr_free > node->free_limit && !list_empty(&node->empty))
		memtb_slab_doom(sc, node, 1, doomed);
}

/* ---- nodes ---- */

/* What a node may keep in empty slabs depends on batch and processors. */
void memtb_slab_limits(struct memtb_slab_cache *sc)
{
	unsigned long limit;
	int nid;

	for_each_node(nid) {
		limit = (1 + nr_cpus_node(nid)) * sc->batch + sc->geometry.nr;
		WRITE_ONCE(sc->node[nid]->free_limit, limit);
	}
}

int memtb_slab_nodes_init(struct memtb_slab_cache *sc)
{
	struct memtb_slab_node *node;
	int nid;

	sc->node = kcalloc(nr_node_ids, sizeof(*sc->node), GFP_KERNEL);
	if (!sc->node)
		return -ENOMEM;
	for_each_node(nid) {
		node = kzalloc_node(sizeof(*node), GFP_KERNEL, nid);
		if (!node) {
			memtb_slab_nodes_exit(sc);
			return -ENOMEM;
		}
		memtb_lock_init(&node->lock, memtb_slab_core(sc)->heap);
		INIT_LIST_HEAD(&node->full);
		INIT_LIST_HEAD(&node->partial);
		INIT_LIST_HEAD(&node->empty);
		sc->node[nid] = node;
	}
	return 0;
}

void memtb_slab_nodes_exit(struct memtb_slab_cache *sc)
{
	int nid;

	for_each_node(nid)
		kfree(sc->node[nid]);
	kfree(sc->node);
}

/* ---- the check ---- */

struct memtb_slab_audit {
	struct memtb_slab_cache *sc;
	struct memtb_slab_node *node;
	unsigned long *seen;
	unsigned long slabs;
	unsigned long empty;
	unsigned long free;
	unsigned long nr_faults;
	const char *fault;
	const void *at;
};

/* Whether the indices from the top of the stack on are all different objects. */
static bool memtb_slab_list_sound(const struct memtb_slab_audit *audit,
				  const struct memtb_slab *slab)
{
	unsigned int nr = audit->sc->geometry.nr, i;

	bitmap_zero(audit->seen, nr);
	for (i = slab->active; i < nr; i++)
		if (slab->list[i] >= nr ||
		    __test_and_set_bit(slab->list[i], audit->seen))
			return false;
	return true;
}

static const char *memtb_slab_fault(const struct memtb_slab_audit *audit,
				    const struct memtb_slab *slab,
				    const struct list_head *list)
{
	const struct memtb_slab_node *node = audit->node;
	const struct memtb_slab_cache *sc = audit->sc;
	void *end = slab->objs + sc->geometry.nr * sc->geometry.stride;

	if (slab->cache != sc || memtb_owner(slab->objs) != &slab->owner ||
	    memtb_owner(end - 1) != &slab->owner)
		return "not the owner of its pages";
	if (slab->active > sc->geometry.nr)
		return "more objects out than it has";
	if (memtb_slab_full(sc, slab) != (list == &node->full) ||
	    !slab->active != (list == &node->empty))
		return "in the wrong list";
	if (memtb_slab_full(sc, slab))
		return NULL;
	if (!slab->list)
		return "free objects and no list of them";
	if (!memtb_slab_list_sound(audit, slab))
		return "its list names what is none, or one twice";
	return NULL;
}

static void memtb_slab_audit_list(struct memtb_slab_audit *audit,
				  const struct list_head *list)
{
	struct memtb_slab *slab;
	const char *fault;

	list_for_each_entry(slab, list, node) {
		audit->slabs++;
		audit->empty += !slab->active;
		audit->free += audit->sc->geometry.nr - slab->active;
		fault = memtb_slab_fault(audit, slab, list);
		if (!fault || audit->nr_faults++)
			continue;
		audit->fault = fault;
		audit->at = slab->pages;
	}
}

/* Whether the node's own counts are right. */
static bool memtb_slab_audit_node(struct memtb_slab_audit *audit)
{
	struct memtb_slab_node *node = audit->node;
	unsigned long flags;
	bool counted;

	memtb_lock(&node->lock, &flags);
	memtb_slab_audit_list(audit, &node->full);
	memtb_slab_audit_list(audit, &node->partial);
	memtb_slab_audit_list(audit, &node->empty);
	counted = audit->slabs == node->nr_slabs &&
		  audit->empty == node->nr_empty &&
		  audit->free == node->nr_free;
	memtb_unlock(&node->lock, flags);
	return counted;
}

/* Every slab of a node; prints the first fault.  Number of faults. */
unsigned long memtb_slab_node_check(struct memtb_slab_cache *sc,
				    struct memtb_slab_node *node)
{
	struct memtb_slab_audit audit = { .sc = sc, .node = node };
	const struct memtb_cache *cache = memtb_slab_core(sc);
	bool counted;

	audit.seen = bitmap_zalloc(sc->geometry.nr, GFP_KERNEL);
	if (!audit.seen) {
		pr_err("violation: heap %s, cache %s: no memory to look at it\n",
		       cache->heap->name, cache->name);
		return 1;
	}
	counted = memtb_slab_audit_node(&audit);
	bitmap_free(audit.seen);

	if (audit.nr_faults)
		pr_err("violation: heap %s, cache %s: slab %p: %s; %lu such slabs\n",
		       cache->heap->name, cache->name, audit.at, audit.fault,
		       audit.nr_faults);
	if (counted)
		return audit.nr_faults;
	pr_err("violation: heap %s, cache %s: %lu slabs, %lu empty, %lu objects free, but others are counted\n",
	       cache->heap->name, cache->name, audit.slabs, audit.empty,
	       audit.free);
	return audit.nr_faults + 1;
}
