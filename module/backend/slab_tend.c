// SPDX-License-Identifier: GPL-2.0
/*
 * What happens to slab's caches now and then: arrays made and exchanged, idle
 * memory reaped, everything shrunk, processors that come and go.
 *
 * The reaper comes by every two seconds on each processor and every four on
 * each node.  What was used since its last visit it leaves alone; of what was
 * not, it takes a fifth, so that a cache that nobody uses is empty after a few
 * visits, and one with a pause loses little.
 */
#include <linux/cpuhotplug.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/smp.h>
#include <linux/topology.h>

#include "slab.h"

#define MEMTB_SLAB_CPU_PERIOD	(2 * HZ)
#define MEMTB_SLAB_NODE_PERIOD	(4 * HZ)
/* The reaper takes one part in so many. */
#define MEMTB_SLAB_REAP_PART	5
#define MEMTB_SLAB_ALIEN_LIMIT	12

/**
 * struct memtb_slab_reaper - the reaper of a processor
 * @work: comes by itself again
 * @sh: the heap
 * @far: the memory node whose alien objects went home last
 */
struct memtb_slab_reaper {
	struct delayed_work work;
	struct memtb_slab_heap *sh;
	int far;
};

/* ---- arrays ---- */

static void memtb_slab_array_init(struct memtb_array *array,
				  unsigned int limit, unsigned int batch)
{
	array->avail = 0;
	array->limit = limit;
	array->batch = batch;
	array->touched = false;
}

static struct memtb_array __percpu *
memtb_slab_cpu_arrays(unsigned int limit, unsigned int batch)
{
	struct memtb_array __percpu *arrays;
	struct memtb_array *array;
	int cpu;

	arrays = __alloc_percpu(struct_size(array, entry, limit),
				__alignof__(*array));
	if (!arrays)
		return NULL;
	for_each_possible_cpu(cpu)
		memtb_slab_array_init(per_cpu_ptr(arrays, cpu), limit, batch);
	return arrays;
}

/*
 * Whole pages: a shared array may be exchanged while the heap stands in for the
 * kernel's allocator, and must not be an object of the heap then.
 */
static void memtb_slab_shared_free(struct memtb_array *shared)
{
	if (shared)
		free_pages_exact(shared, struct_size(shared, entry,
						     shared->limit));
}

static struct memtb_array *memtb_slab_shared_new(unsigned int limit,
						      unsigned int batch)
{
	struct memtb_array *shared;

	shared = alloc_pages_exact(struct_size(shared, entry, limit),
				   GFP_KERNEL);
	if (shared)
		memtb_slab_array_init(shared, limit, batch);
	return shared;
}

static void memtb_slab_shared_undo(struct memtb_array **shared)
{
	int nid;

	for_each_node(nid)
		memtb_slab_shared_free(shared[nid]);
	kfree(shared);
}

/* One for each node, or NULL without memory. */
static struct memtb_array **memtb_slab_shared_all(unsigned int limit,
						       unsigned int batch)
{
	struct memtb_array **shared;
	int nid;

	shared = kcalloc(nr_node_ids, sizeof(*shared), GFP_KERNEL);
	if (!shared || !limit)
		return shared;
	for_each_node(nid) {
		shared[nid] = memtb_slab_shared_new(limit, batch);
		if (!shared[nid]) {
			memtb_slab_shared_undo(shared);
			return NULL;
		}
	}
	return shared;
}

/* Everything in an array of a node goes home. */
static void memtb_slab_empty(struct memtb_slab_cache *sc, int nid,
			     struct memtb_array *array,
			     struct list_head *doomed)
{
	struct memtb_slab_node *node = sc->node[nid];
	unsigned long flags;

	memtb_lock(&node->lock, &flags);
	memtb_slab_drop(sc, node, array, array->avail, doomed);
	memtb_unlock(&node->lock, flags);
}

static void memtb_slab_alien_free(struct memtb_slab_node *node)
{
	int nid;

	if (!node->alien)
		return;
	for_each_node(nid)
		kfree(node->alien[nid]);
	kfree(node->alien);
	node->alien = NULL;
}

/* An array for each other node, where there are any. */
static int memtb_slab_alien_init(struct memtb_slab_node *node, int here)
{
	const size_t entries = MEMTB_SLAB_ALIEN_LIMIT * sizeof(void *);
	struct memtb_slab_alien *alien;
	int nid;

	if (num_possible_nodes() == 1)
		return 0;
	node->alien = kcalloc(nr_node_ids, sizeof(*node->alien), GFP_KERNEL);
	if (!node->alien)
		return -ENOMEM;
	for_each_node(nid) {
		if (nid == here)
			continue;
		alien = kzalloc_node(sizeof(*alien) + entries, GFP_KERNEL, here);
		if (!alien)
			return -ENOMEM;
		raw_spin_lock_init(&alien->lock);
		memtb_slab_array_init(&alien->array, MEMTB_SLAB_ALIEN_LIMIT, 1);
		node->alien[nid] = alien;
	}
	return 0;
}

/* Everything in front of the slabs, from what sc says. */
int memtb_slab_arrays_init(struct memtb_slab_cache *sc)
{
	struct memtb_array **shared;
	int nid, err = 0;

	shared = memtb_slab_shared_all(sc->shared * sc->batch, sc->batch);
	if (!shared)
		return -ENOMEM;
	for_each_node(nid)
		sc->node[nid]->shared = shared[nid];
	kfree(shared);
	for_each_node(nid)
		err = err ?: memtb_slab_alien_init(sc->node[nid], nid);
	sc->cpu = memtb_slab_cpu_arrays(sc->limit, sc->batch);
	if (!sc->cpu || err) {
		memtb_slab_arrays_exit(sc);
		return -ENOMEM;
	}
	/* Where objects of several nodes come back, a push is not all there is. */
	if (nr_node_ids == 1)
		memtb_slab_core(sc)->array = sc->cpu;
	memtb_slab_limits(sc);
	return 0;
}

/* They are empty. */
void memtb_slab_arrays_exit(struct memtb_slab_cache *sc)
{
	int nid;

	free_percpu(sc->cpu);
	for_each_node(nid) {
		memtb_slab_shared_free(sc->node[nid]->shared);
		memtb_slab_alien_free(sc->node[nid]);
	}
}

/* ---- tuning ---- */

static void memtb_slab_exchange_cpu(struct memtb_slab_cache *sc,
				    struct memtb_array __percpu *fresh,
				    struct list_head *doomed)
{
	struct memtb_cache *core = memtb_slab_core(sc);
	struct memtb_array __percpu *old = sc->cpu;
	int cpu;

	/* Whoever sees them sees that they are empty, and how long they are. */
	smp_wmb();
	WRITE_ONCE(sc->cpu, fresh);
	if (core->array)
		WRITE_ONCE(core->array, fresh);
	/* Whoever saw the old ones did so with interrupts off. */
	synchronize_rcu();
	for_each_possible_cpu(cpu)
		memtb_slab_empty(sc, cpu_to_mem(cpu), per_cpu_ptr(old, cpu),
				 doomed);
	free_percpu(old);
}

static void memtb_slab_exchange_shared(struct memtb_slab_cache *sc, int nid,
				       struct memtb_array *fresh,
				       struct list_head *doomed)
{
	struct memtb_slab_node *node = sc->node[nid];
	struct memtb_array *old;
	unsigned long flags;

	memtb_lock(&node->lock, &flags);
	old = node->shared;
	node->shared = fresh;
	memtb_unlock(&node->lock, flags);
	if (old)
		memtb_slab_empty(sc, nid, old, doomed);
	memtb_slab_shared_free(old);
}

/* See struct memtb_backend. */
int memtb_slab_tune(struct memtb_cache *cache, unsigned int limit,
		    unsigned int batch, unsigned int shared)
{
	struct memtb_slab_cache *sc = memtb_cache_priv(cache);
	struct memtb_array **fresh_shared;
	struct memtb_array __percpu *fresh;
	LIST_HEAD(doomed);
	int nid;

	fresh_shared = memtb_slab_shared_all(shared * batch, batch);
	fresh = memtb_slab_cpu_arrays(limit, batch);
	if (!fresh_shared || !fresh) {
		free_percpu(fresh);
		if (fresh_shared)
			memtb_slab_shared_undo(fresh_shared);
		return -ENOMEM;
	}
	sc->limit = limit;
	sc->batch = batch;
	sc->shared = shared;
	memtb_slab_limits(sc);
	memtb_slab_exchange_cpu(sc, fresh, &doomed);
	for_each_node(nid)
		memtb_slab_exchange_shared(sc, nid, fresh_shared[nid], &doomed);
	kfree(fresh_shared);
	memtb_slab_destroy(sc, &doomed);
	return 0;
}

/* ---- shrinking ---- */

/* On each processor; no slab is destroyed here, with interrupts off. */
static void memtb_slab_empty_here(void *cache)
{
	struct memtb_slab_cache *sc = cache;

	memtb_slab_empty(sc, numa_mem_id(), memtb_array_mine(&sc->cpu),
			 NULL);
}

static void memtb_slab_empty_alien(struct memtb_slab_cache *sc, int from,
				   int to, struct list_head *doomed)
{
	struct memtb_slab_alien **alien = sc->node[from]->alien;
	unsigned long flags;

	if (!alien || !alien[to])
		return;
	raw_spin_lock_irqsave(&alien[to]->lock, flags);
	memtb_slab_alien_drain(sc, alien[to], to, doomed);
	raw_spin_unlock_irqrestore(&alien[to]->lock, flags);
}

/* All empty slabs of a node, once its shared array is empty, too. */
static void memtb_slab_doom_all(struct memtb_slab_cache *sc, int nid,
				struct list_head *doomed)
{
	struct memtb_slab_node *node = sc->node[nid];
	unsigned long flags;

	memtb_lock(&node->lock, &flags);
	if (node->shared)
		memtb_slab_drop(sc, node, node->shared, node->shared->avail,
				doomed);
	memtb_slab_doom(sc, node, node->nr_empty, doomed);
	memtb_unlock(&node->lock, flags);
}

/* Everything that is free.  Number of pages. */
unsigned long memtb_slab_cache_shrink(struct memtb_slab_cache *sc)
{
	LIST_HEAD(doomed);
	int from, to;

	on_each_cpu(memtb_slab_empty_here, sc, true);
	for_each_node(from)
		for_each_node(to)
			memtb_slab_empty_alien(sc, from, to, &doomed);
	for_each_node(to)
		memtb_slab_doom_all(sc, to, &doomed);
	return memtb_slab_destroy(sc, &doomed);
}

/*
 * Everything, of a cache that nobody uses any more.  A processor that has just
 * gone is not asked by the above, and memtb_slab_dead() does not find the cache,
 * which has left the heap's list.
 */
void memtb_slab_cache_empty(struct memtb_slab_cache *sc)
{
	LIST_HEAD(doomed);
	int cpu;

	for_each_possible_cpu(cpu)
		memtb_slab_empty(sc, cpu_to_mem(cpu), per_cpu_ptr(sc->cpu, cpu),
				 &doomed);
	memtb_slab_destroy(sc, &doomed);
	memtb_slab_cache_shrink(sc);
}

/* ---- the reaper ---- */

/* A fifth of an array, unless it was used.  The node's lock is held. */
static void memtb_slab_reap_array(struct memtb_slab_cache *sc,
				  struct memtb_slab_node *node,
				  struct memtb_array *array,
				  struct list_head *doomed)
{
	unsigned int nr = DIV_ROUND_UP(array->limit, MEMTB_SLAB_REAP_PART);

	if (array->touched) {
		array->touched = false;
		return;
	}
	if (nr > array->avail)
		nr = DIV_ROUND_UP(array->avail, 2);
	memtb_slab_drop(sc, node, array, nr, doomed);
}

/* What a node has for all its processors.  Its lock is held. */
static void memtb_slab_reap_node(struct memtb_slab_cache *sc,
				 struct memtb_slab_node *node,
				 struct list_head *doomed)
{
	unsigned long part = MEMTB_SLAB_REAP_PART * sc->geometry.nr;

	if (time_before(jiffies, node->next_reap))
		return;
	node->next_reap = jiffies + MEMTB_SLAB_NODE_PERIOD;
	if (node->shared)
		memtb_slab_reap_array(sc, node, node->shared, doomed);
	if (!node->empty_touched)
		memtb_slab_doom(sc, node, DIV_ROUND_UP(node->free_limit, part),
				doomed);
	node->empty_touched = false;
}

static void memtb_slab_reap_cache(struct memtb_slab_cache *sc, int far)
{
	struct memtb_slab_node *node;
	unsigned long flags;
	LIST_HEAD(doomed);

	memtb_slab_empty_alien(sc, numa_mem_id(), far, &doomed);
	local_irq_save(flags);
	node = sc->node[numa_mem_id()];
	memtb_lock_irqs_off(&node->lock);
	memtb_slab_reap_array(sc, node, memtb_array_mine(&sc->cpu),
			      &doomed);
	memtb_slab_reap_node(sc, node, &doomed);
	memtb_unlock(&node->lock, flags);
	memtb_slab_destroy(sc, &doomed);
}

/* One visit on this processor; the heap's lock is held. */
void memtb_slab_reap(struct memtb_slab_heap *sh)
{
	struct memtb_slab_reaper *reaper = raw_cpu_ptr(sh->reaper);
	struct memtb_cache *cache;

	reaper->far = next_node_in(reaper->far, node_possible_map);
	list_for_each_entry(cache, &sh->heap->caches, node)
		memtb_slab_reap_cache(memtb_cache_priv(cache), reaper->far);
}

static void memtb_slab_reap_later(struct memtb_slab_reaper *reaper, int cpu)
{
	schedule_delayed_work_on(cpu, &reaper->work,
				 round_jiffies_relative(MEMTB_SLAB_CPU_PERIOD));
}

static void memtb_slab_reap_work(struct work_struct *work)
{
	struct memtb_slab_reaper *reaper =
		container_of(to_delayed_work(work), struct memtb_slab_reaper,
			     work);
	struct mutex *lock = &reaper->sh->heap->lock;

	/* Whoever holds it may be waiting for this to end. */
	if (mutex_trylock(lock)) {
		memtb_slab_reap(reaper->sh);
		mutex_unlock(lock);
	}
	memtb_slab_reap_later(reaper, smp_processor_id());
}

/* ---- processors ---- */

/* The states are there while some heap is. */
static DEFINE_MUTEX(memtb_slab_states_lock);
static unsigned int memtb_slab_states_users;
static enum cpuhp_state memtb_slab_dead_state;
static enum cpuhp_state memtb_slab_online_state;

static void memtb_slab_all_limits(struct memtb_slab_heap *sh)
{
	struct memtb_cache *cache;

	mutex_lock(&sh->heap->lock);
	list_for_each_entry(cache, &sh->heap->caches, node)
		memtb_slab_limits(memtb_cache_priv(cache));
	mutex_unlock(&sh->heap->lock);
}

static int memtb_slab_online(unsigned int cpu, struct hlist_node *node)
{
	struct memtb_slab_heap *sh =
		container_of(node, struct memtb_slab_heap, online);

	memtb_slab_all_limits(sh);
	memtb_slab_reap_later(per_cpu_ptr(sh->reaper, cpu), cpu);
	return 0;
}

static int memtb_slab_offline(unsigned int cpu, struct hlist_node *node)
{
	struct memtb_slab_heap *sh =
		container_of(node, struct memtb_slab_heap, online);

	cancel_delayed_work_sync(&per_cpu_ptr(sh->reaper, cpu)->work);
	return 0;
}

/* On another processor, when @cpu does not run any more. */
static int memtb_slab_dead(unsigned int cpu, struct hlist_node *node)
{
	struct memtb_slab_heap *sh =
		container_of(node, struct memtb_slab_heap, dead);
	struct memtb_slab_cache *sc;
	struct memtb_cache *cache;
	LIST_HEAD(doomed);

	mutex_lock(&sh->heap->lock);
	list_for_each_entry(cache, &sh->heap->caches, node) {
		sc = memtb_cache_priv(cache);
		memtb_slab_empty(sc, cpu_to_mem(cpu), per_cpu_ptr(sc->cpu, cpu),
				 &doomed);
		memtb_slab_limits(sc);
		memtb_slab_destroy(sc, &doomed);
		INIT_LIST_HEAD(&doomed);
	}
	mutex_unlock(&sh->heap->lock);
	return 0;
}

static int memtb_slab_states_new(void)
{
	int state;

	state = cpuhp_setup_state_multi(CPUHP_BP_PREPARE_DYN, "memtb/slab:dead",
					NULL, memtb_slab_dead);
	if (state < 0)
		return state;
	memtb_slab_dead_state = state;
	state = cpuhp_setup_state_multi(CPUHP_AP_ONLINE_DYN,
					"memtb/slab:online", memtb_slab_online,
					memtb_slab_offline);
	if (state < 0) {
		cpuhp_remove_multi_state(memtb_slab_dead_state);
		return state;
	}
	memtb_slab_online_state = state;
	return 0;
}

static int memtb_slab_states_get(void)
{
	int err = 0;

	mutex_lock(&memtb_slab_states_lock);
	if (!memtb_slab_states_users)
		err = memtb_slab_states_new();
	if (!err)
		memtb_slab_states_users++;
	mutex_unlock(&memtb_slab_states_lock);
	return err;
}

static void memtb_slab_states_put(void)
{
	mutex_lock(&memtb_slab_states_lock);
	if (!--memtb_slab_states_users) {
		cpuhp_remove_multi_state(memtb_slab_online_state);
		cpuhp_remove_multi_state(memtb_slab_dead_state);
	}
	mutex_unlock(&memtb_slab_states_lock);
}

static int memtb_slab_states_add(struct memtb_slab_heap *sh)
{
	int err;

	err = cpuhp_state_add_instance(memtb_slab_dead_state, &sh->dead);
	if (err)
		return err;
	err = cpuhp_state_add_instance(memtb_slab_online_state, &sh->online);
	if (err)
		cpuhp_state_remove_instance(memtb_slab_dead_state, &sh->dead);
	return err;
}

/* From here on the heap is looked after. */
int memtb_slab_tend(struct memtb_slab_heap *sh)
{
	struct memtb_slab_reaper *reaper;
	int cpu, err;

	sh->reaper = alloc_percpu(struct memtb_slab_reaper);
	if (!sh->reaper)
		return -ENOMEM;
	for_each_possible_cpu(cpu) {
		reaper = per_cpu_ptr(sh->reaper, cpu);
		reaper->sh = sh;
		INIT_DEFERRABLE_WORK(&reaper->work, memtb_slab_reap_work);
	}
	err = memtb_slab_states_get();
	if (err)
		goto out_free_reaper;
	err = memtb_slab_states_add(sh);
	if (!err)
		return 0;
	memtb_slab_states_put();
out_free_reaper:
	free_percpu(sh->reaper);
	return err;
}

/* Also once more, if the heap could not be destroyed. */
void memtb_slab_untend(struct memtb_slab_heap *sh)
{
	if (!sh->reaper)
		return;
	/* This one takes the processors off line, as far as the heap knows. */
	cpuhp_state_remove_instance(memtb_slab_online_state, &sh->online);
	cpuhp_state_remove_instance(memtb_slab_dead_state, &sh->dead);
	memtb_slab_states_put();
	free_percpu(sh->reaper);
	sh->reaper = NULL;
}
