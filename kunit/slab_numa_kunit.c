// SPDX-License-Identifier: GPL-2.0
/*
 * memtb_slab_numa: backend slab with objects of two memory nodes.
 *
 * With one node nothing here can be seen, so the suite fails then: boot with
 * numa=fake=2.  It works on one processor; the far node may have none.
 */
#include <kunit/test.h>
#include <linux/mm.h>
#include <linux/nodemask.h>
#include <linux/sched.h>
#include <linux/topology.h>

#include "../module/backend/backend.h"
#include "../module/backend/slab.h"
#include "conformance.h"

#define MEMTB_NUMA_OBJS		32
/* So many wait for their node. */
#define MEMTB_NUMA_ALIENS	12

struct memtb_numa_test {
	struct memtb_heap *heap;
	struct memtb_cache *cache;
	struct memtb_slab_cache *sc;
	struct memtb_slab_node *far;
	struct memtb_array *alien;
	int here;
	int there;
	void *obj[MEMTB_NUMA_OBJS];
};

static int memtb_numa_nid(const void *obj)
{
	return page_to_nid(virt_to_page(obj));
}

static int memtb_numa_init(struct kunit *test)
{
	struct memtb_numa_test *t = kunit_kzalloc(test, sizeof(*t), GFP_KERNEL);

	if (!t)
		return -ENOMEM;
	set_cpus_allowed_ptr(current, cpumask_of(0));
	t->here = numa_mem_id();
	t->there = next_node_in(t->here, node_states[N_MEMORY]);
	if (t->there == t->here) {
		kunit_err(test, "one memory node: boot with numa=fake=2\n");
		return -ENODEV;
	}
	t->heap = memtb_heap_create(memtb_backend_find("slab"), "numa", NULL);
	if (IS_ERR(t->heap))
		return PTR_ERR(t->heap);
	test->priv = t;
	return 0;
}

static void memtb_numa_exit(struct kunit *test)
{
	struct memtb_numa_test *t = test->priv;

	if (!t)
		return;
	KUNIT_EXPECT_EQ(test, memtb_heap_check(t->heap), 0);
	KUNIT_EXPECT_EQ(test, memtb_heap_destroy(t->heap), 0);
}

/* A cache; with @shared eight objects of each node may lie there, too. */
static void memtb_numa_cache(struct kunit *test, bool shared)
{
	struct memtb_numa_test *t = test->priv;

	t->cache = memtb_cache_create(t->heap, "cache", 512, 0, 0, NULL);
	KUNIT_ASSERT_FALSE(test, IS_ERR(t->cache));
	KUNIT_ASSERT_EQ(test, memtb_cache_tune(t->heap, "cache", 8, 8, shared),
			0);
	t->sc = memtb_cache_priv(t->cache);
	t->far = t->sc->node[t->there];
	t->alien = &t->sc->node[t->here]->alien[t->there]->array;
	KUNIT_EXPECT_NULL(test, (void __force *)t->cache->array);
}

static void memtb_numa_alloc(struct kunit *test, int nid)
{
	struct memtb_numa_test *t = test->priv;
	unsigned int i;

	for (i = 0; i < MEMTB_NUMA_OBJS; i++) {
		t->obj[i] = memtb_cache_alloc(t->cache, GFP_KERNEL, nid);
		KUNIT_ASSERT_NOT_NULL(test, t->obj[i]);
	}
}

static void memtb_numa_free(struct kunit *test, unsigned int from,
			    unsigned int to)
{
	struct memtb_numa_test *t = test->priv;

	for (; from < to; from++)
		memtb_cache_free(t->cache, t->obj[from]);
}

static void objects_are_of_the_node_asked_for(struct kunit *test)
{
	struct memtb_numa_test *t = test->priv;
	const int nid[] = { t->there, t->here, NUMA_NO_NODE };
	unsigned int i, k;

	memtb_numa_cache(test, false);
	for (i = 0; i < ARRAY_SIZE(nid); i++) {
		memtb_numa_alloc(test, nid[i]);
		for (k = 0; k < MEMTB_NUMA_OBJS; k++)
			KUNIT_EXPECT_EQ(test, memtb_numa_nid(t->obj[k]),
					i ? t->here : t->there);
		memtb_numa_free(test, 0, MEMTB_NUMA_OBJS);
	}
}

static void blocks_are_of_the_node_asked_for(struct kunit *test)
{
	static const size_t size[] = { 8, 200, PAGE_SIZE, 5 * PAGE_SIZE };
	struct memtb_numa_test *t = test->priv;
	unsigned int i;
	void *block;

	for (i = 0; i < ARRAY_SIZE(size); i++) {
		block = memtb_alloc(t->heap, size[i], GFP_KERNEL, t->there);
		KUNIT_ASSERT_NOT_NULL(test, block);
		KUNIT_EXPECT_EQ(test, memtb_numa_nid(block), t->there);
		memtb_free(t->heap, block);
		block = memtb_alloc(t->heap, size[i], GFP_KERNEL, NUMA_NO_NODE);
		KUNIT_ASSERT_NOT_NULL(test, block);
		KUNIT_EXPECT_EQ(test, memtb_numa_nid(block), t->here);
		memtb_free(t->heap, block);
	}
	memtb_heap_shrink(t->heap);
	KUNIT_EXPECT_EQ(test, memtb_test_stats(t->heap).pages_now, 0);
}

static void twelve_wait_and_the_thirteenth_sends_them_home(struct kunit *test)
{
	struct memtb_numa_test *t = test->priv;
	unsigned long free;

	memtb_numa_cache(test, false);
	memtb_numa_alloc(test, t->there);
	free = t->far->nr_free;
	memtb_numa_free(test, 0, MEMTB_NUMA_ALIENS);
	KUNIT_EXPECT_EQ(test, t->alien->avail, MEMTB_NUMA_ALIENS);
	KUNIT_EXPECT_PTR_EQ(test, t->alien->entry[0], t->obj[0]);
	KUNIT_EXPECT_EQ(test, t->far->nr_free, free);
	memtb_numa_free(test, MEMTB_NUMA_ALIENS, MEMTB_NUMA_ALIENS + 1);
	KUNIT_EXPECT_EQ(test, t->alien->avail, 1);
	KUNIT_EXPECT_PTR_EQ(test, t->alien->entry[0],
			    t->obj[MEMTB_NUMA_ALIENS]);
	KUNIT_EXPECT_EQ(test, t->far->nr_free, free + MEMTB_NUMA_ALIENS);
	memtb_numa_free(test, MEMTB_NUMA_ALIENS + 1, MEMTB_NUMA_OBJS);
}

static void what_is_shared_there_is_filled_first(struct kunit *test)
{
	struct memtb_numa_test *t = test->priv;
	unsigned long free;

	memtb_numa_cache(test, true);
	memtb_numa_alloc(test, t->there);
	free = t->far->nr_free;
	KUNIT_ASSERT_NOT_NULL(test, t->far->shared);
	memtb_numa_free(test, 0, MEMTB_NUMA_ALIENS + 1);
	KUNIT_EXPECT_EQ(test, t->far->shared->avail, 8);
	KUNIT_EXPECT_EQ(test, t->far->nr_free, free + MEMTB_NUMA_ALIENS - 8);
	KUNIT_EXPECT_EQ(test, t->alien->avail, 1);
	memtb_numa_free(test, MEMTB_NUMA_ALIENS + 1, MEMTB_NUMA_OBJS);
}

static void a_bulk_is_sorted_by_node(struct kunit *test)
{
	struct memtb_numa_test *t = test->priv;
	void *near;

	memtb_numa_cache(test, false);
	memtb_numa_alloc(test, t->there);
	near = memtb_cache_alloc(t->cache, GFP_KERNEL, t->here);
	KUNIT_ASSERT_NOT_NULL(test, near);
	swap(near, t->obj[3]);
	memtb_cache_free_bulk(t->cache, 8, t->obj);
	KUNIT_EXPECT_EQ(test, t->alien->avail, 7);
	memtb_cache_free(t->cache, near);
	KUNIT_EXPECT_EQ(test, t->alien->avail, 8);
	memtb_numa_free(test, 8, MEMTB_NUMA_OBJS);
}

static void shrinking_brings_all_home(struct kunit *test)
{
	struct memtb_numa_test *t = test->priv;

	memtb_numa_cache(test, true);
	memtb_numa_alloc(test, t->there);
	memtb_numa_free(test, 0, MEMTB_NUMA_OBJS);
	KUNIT_EXPECT_GT(test, t->alien->avail, 0);
	KUNIT_EXPECT_GT(test, memtb_heap_shrink(t->heap), 0);
	KUNIT_EXPECT_EQ(test, t->alien->avail, 0);
	KUNIT_EXPECT_EQ(test, t->far->shared->avail, 0);
	KUNIT_EXPECT_EQ(test, memtb_test_stats(t->heap).pages_now, 0);
}

static void a_cache_takes_its_aliens_along(struct kunit *test)
{
	struct memtb_numa_test *t = test->priv;

	memtb_numa_cache(test, false);
	memtb_numa_alloc(test, t->there);
	memtb_numa_free(test, 0, MEMTB_NUMA_OBJS);
	KUNIT_EXPECT_GT(test, t->alien->avail, 0);
	KUNIT_EXPECT_EQ(test, memtb_cache_destroy(t->cache), 0);
	memtb_heap_shrink(t->heap);
	KUNIT_EXPECT_EQ(test, memtb_test_stats(t->heap).pages_now, 0);
}

static struct kunit_case memtb_slab_numa_cases[] = {
	KUNIT_CASE(objects_are_of_the_node_asked_for),
	KUNIT_CASE(blocks_are_of_the_node_asked_for),
	KUNIT_CASE(twelve_wait_and_the_thirteenth_sends_them_home),
	KUNIT_CASE(what_is_shared_there_is_filled_first),
	KUNIT_CASE(a_bulk_is_sorted_by_node),
	KUNIT_CASE(shrinking_brings_all_home),
	KUNIT_CASE(a_cache_takes_its_aliens_along),
	{}
};

static struct kunit_suite memtb_slab_numa_suite = {
	.name = "memtb_slab_numa",
	.init = memtb_numa_init,
	.exit = memtb_numa_exit,
	.test_cases = memtb_slab_numa_cases,
};
kunit_test_suite(memtb_slab_numa_suite);
