// SPDX-License-Identifier: GPL-2.0
/*
 * memtb_slab: the arrays, slabs and lists of backend slab from the inside.
 *
 * The backend's sources are compiled into this module a second time, so that
 * the tests see them.  What they count is exact only on one processor, so each
 * case runs on the first, which cannot be switched off.
 */
#include <kunit/test.h>
#include <linux/completion.h>
#include <linux/cpu.h>
#include <linux/delay.h>

#include "../module/backend/slab.c"
#include "../module/backend/slab_node.c"
#include "../module/backend/slab_tend.c"
#include "conformance.h"

#define MEMTB_SLAB_TEST_OBJS	1024

struct memtb_slab_test {
	struct memtb_heap *heap;
	struct memtb_slab_heap *sh;
	struct memtb_cache *cache;
	struct memtb_slab_cache *sc;
	struct memtb_slab_node *node;
	unsigned int nr;
	void *obj[MEMTB_SLAB_TEST_OBJS];
};

static int memtb_slab_test_init(struct kunit *test)
{
	struct memtb_slab_test *t = kunit_kzalloc(test, sizeof(*t), GFP_KERNEL);

	if (!t)
		return -ENOMEM;
	t->heap = memtb_heap_create(&memtb_backend_slab, "slab", NULL);
	if (IS_ERR(t->heap))
		return PTR_ERR(t->heap);
	t->sh = memtb_heap_priv(t->heap);
	test->priv = t;
	set_cpus_allowed_ptr(current, cpumask_of(0));
	return 0;
}

/* Every case frees what it allocated; destroying returns the pages. */
static void memtb_slab_test_exit(struct kunit *test)
{
	struct memtb_slab_test *t = test->priv;

	if (!t)
		return;
	KUNIT_EXPECT_EQ(test, memtb_heap_check(t->heap), 0);
	KUNIT_EXPECT_EQ(test, memtb_heap_destroy(t->heap), 0);
}

/* The cache that a case works with. */
static void memtb_slab_test_cache(struct kunit *test, size_t size, size_t align,
				  slab_flags_t flags, void (*ctor)(void *obj))
{
	struct memtb_slab_test *t = test->priv;

	t->cache = memtb_cache_create(t->heap, "cache", size, align, flags, ctor);
	KUNIT_ASSERT_FALSE(test, IS_ERR(t->cache));
	t->sc = memtb_cache_priv(t->cache);
	t->node = memtb_slab_here(t->sc);
}

/* Without stores in front of the slabs, but for one object. */
static void memtb_slab_test_bare(struct kunit *test, size_t size)
{
	struct memtb_slab_test *t = test->priv;

	memtb_slab_test_cache(test, size, 0, 0, NULL);
	KUNIT_ASSERT_EQ(test, memtb_cache_tune(t->heap, "cache", 1, 1, 0), 0);
}

static struct memtb_array *memtb_slab_test_array(struct kunit *test)
{
	struct memtb_slab_test *t = test->priv;

	return raw_cpu_ptr(t->sc->cpu);
}

static void memtb_slab_test_alloc(struct kunit *test, unsigned int nr)
{
	struct memtb_slab_test *t = test->priv;

	KUNIT_ASSERT_LE(test, t->nr + nr, MEMTB_SLAB_TEST_OBJS);
	while (nr--) {
		t->obj[t->nr] = memtb_cache_alloc(t->cache, GFP_KERNEL,
						  NUMA_NO_NODE);
		KUNIT_ASSERT_NOT_NULL(test, t->obj[t->nr]);
		t->nr++;
	}
}

/* The object that was allocated @i-th, which the caller forgets. */
static void memtb_slab_test_free(struct kunit *test, unsigned int i)
{
	struct memtb_slab_test *t = test->priv;

	memtb_cache_free(t->cache, t->obj[i]);
}

/* All that are still allocated, in the order of their allocation. */
static void memtb_slab_test_free_all(struct kunit *test, unsigned int from)
{
	struct memtb_slab_test *t = test->priv;

	for (; from < t->nr; from++)
		memtb_slab_test_free(test, from);
	t->nr = 0;
}

static struct memtb_stats memtb_slab_test_stats(struct kunit *test)
{
	struct memtb_slab_test *t = test->priv;

	return memtb_test_stats(t->heap);
}

/* For cases that break things: see MEMTB_PLANTED. */
static void memtb_slab_test_planted(struct kunit *test)
{
	struct memtb_slab_test *t = test->priv;

	strscpy(t->heap->name, MEMTB_PLANTED, sizeof(t->heap->name));
}

static unsigned int memtb_slab_count(const struct list_head *list)
{
	struct list_head *at;
	unsigned int nr = 0;

	list_for_each(at, list)
		nr++;
	return nr;
}

static void memtb_slab_expect_lists(struct kunit *test, unsigned int full,
				    unsigned int partial, unsigned int empty)
{
	struct memtb_slab_test *t = test->priv;

	KUNIT_EXPECT_EQ(test, memtb_slab_count(&t->node->full), full);
	KUNIT_EXPECT_EQ(test, memtb_slab_count(&t->node->partial), partial);
	KUNIT_EXPECT_EQ(test, memtb_slab_count(&t->node->empty), empty);
}

/* ---- arrays ---- */

static void the_last_freed_is_the_first_out(struct kunit *test)
{
	struct memtb_slab_test *t = test->priv;

	memtb_slab_test_cache(test, 64, 0, 0, NULL);
	memtb_slab_test_alloc(test, 3);
	memtb_slab_test_free(test, 0);
	memtb_slab_test_free(test, 2);
	memtb_slab_test_alloc(test, 2);
	KUNIT_EXPECT_PTR_EQ(test, t->obj[3], t->obj[2]);
	KUNIT_EXPECT_PTR_EQ(test, t->obj[4], t->obj[0]);
	memtb_slab_test_free_all(test, 3);
	memtb_cache_free(t->cache, t->obj[1]);
}

static void limits_go_by_size(struct kunit *test)
{
	static const struct {
		size_t size;
		unsigned int limit;
		unsigned int batch;
		unsigned int shared;
	} want[] = {
		{ 256, 120, 60, 8 }, { 257, 54, 27, 8 }, { 1024, 54, 27, 8 },
		{ 1025, 24, 12, 8 }, { PAGE_SIZE, 24, 12, 8 },
		{ PAGE_SIZE + 1, 8, 4, 0 }, { 128 << 10, 8, 4, 0 },
		{ (128 << 10) + 1, 1, 1, 0 },
	};
	struct memtb_slab_test *t = test->priv;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(want); i++) {
		memtb_slab_test_cache(test, want[i].size, 0, 0, NULL);
		KUNIT_EXPECT_EQ(test, t->sc->limit, want[i].limit);
		KUNIT_EXPECT_EQ(test, t->sc->batch, want[i].batch);
		KUNIT_EXPECT_EQ(test, t->sc->shared,
				num_possible_cpus() > 1 ? want[i].shared : 0);
		KUNIT_EXPECT_EQ(test, memtb_slab_test_array(test)->limit,
				want[i].limit);
		memtb_cache_destroy(t->cache);
	}
}

/* An array that nobody took from lately gets sixteen, others a batch. */
static void a_cold_array_gets_little(struct kunit *test)
{
	struct memtb_array *array;

	memtb_slab_test_cache(test, 256, 0, 0, NULL);
	array = memtb_slab_test_array(test);
	memtb_slab_test_alloc(test, 1);
	KUNIT_EXPECT_EQ(test, array->avail, MEMTB_SLAB_COLD_BATCH - 1);
	KUNIT_EXPECT_TRUE(test, array->touched);
	memtb_slab_test_alloc(test, MEMTB_SLAB_COLD_BATCH);
	/* Sixteen to a slab: all of a fresh one, and a batch would be more. */
	KUNIT_EXPECT_EQ(test, array->avail, MEMTB_SLAB_COLD_BATCH - 1);
	memtb_slab_test_free_all(test, 0);
}

static void a_warm_array_gets_a_batch(struct kunit *test)
{
	struct memtb_slab_test *t = test->priv;
	struct memtb_array *array;
	unsigned int nr;

	memtb_slab_test_cache(test, 32, 0, 0, NULL);
	KUNIT_ASSERT_EQ(test, memtb_cache_tune(t->heap, "cache", 60, 40, 0), 0);
	array = memtb_slab_test_array(test);
	nr = t->sc->geometry.nr;
	KUNIT_ASSERT_GT(test, nr, 16 + 40);
	memtb_slab_test_alloc(test, 16);
	KUNIT_EXPECT_EQ(test, array->avail, 0);
	memtb_slab_test_alloc(test, 1);
	KUNIT_EXPECT_EQ(test, array->avail, 40 - 1);
	KUNIT_EXPECT_EQ(test, t->node->nr_free, nr - 16 - 40);
	KUNIT_EXPECT_EQ(test, memtb_slab_test_stats(test).v[MEMTB_STAT_CPU_REFILLS], 2);
	memtb_slab_test_free_all(test, 0);
}

static void a_full_array_sends_the_oldest_home(struct kunit *test)
{
	struct memtb_slab_test *t = test->priv;
	struct memtb_array *array;
	unsigned int i;

	memtb_slab_test_cache(test, 512, 0, 0, NULL);
	KUNIT_ASSERT_EQ(test, memtb_cache_tune(t->heap, "cache", 10, 4, 0), 0);
	memtb_slab_test_alloc(test, 32);
	/* What is left of the last refill is older than what comes now. */
	array = memtb_slab_test_array(test);
	KUNIT_ASSERT_EQ(test, array->avail, 0);
	for (i = 0; i < 10; i++)
		memtb_slab_test_free(test, i);
	KUNIT_EXPECT_EQ(test, array->avail, 10);
	KUNIT_EXPECT_EQ(test, t->node->nr_free, 0);
	memtb_slab_test_free(test, 10);
	KUNIT_EXPECT_EQ(test, array->avail, 10 - 4 + 1);
	KUNIT_EXPECT_EQ(test, t->node->nr_free, 4);
	KUNIT_EXPECT_PTR_EQ(test, array->entry[0], t->obj[4]);
	KUNIT_EXPECT_PTR_EQ(test, array->entry[6], t->obj[10]);
	KUNIT_EXPECT_EQ(test, memtb_slab_test_stats(test).v[MEMTB_STAT_CPU_FLUSHES], 1);
	memtb_slab_test_free_all(test, 11);
}

static void what_is_shared_comes_before_slabs(struct kunit *test)
{
	struct memtb_slab_test *t = test->priv;
	struct memtb_array *array, *shared;
	unsigned int i;

	memtb_slab_test_cache(test, 512, 0, 0, NULL);
	KUNIT_ASSERT_EQ(test, memtb_cache_tune(t->heap, "cache", 8, 4, 2), 0);
	array = memtb_slab_test_array(test);
	shared = t->node->shared;
	KUNIT_ASSERT_NOT_NULL(test, shared);
	KUNIT_EXPECT_EQ(test, shared->limit, 8);
	memtb_slab_test_alloc(test, 32);
	for (i = 0; i < 9; i++)
		memtb_slab_test_free(test, i);
	/* The oldest four lie in the shared array now, and no slab has any. */
	KUNIT_EXPECT_EQ(test, shared->avail, 4);
	KUNIT_EXPECT_PTR_EQ(test, shared->entry[0], t->obj[0]);
	KUNIT_EXPECT_EQ(test, t->node->nr_free, 0);
	for (; i < 24; i++)
		memtb_slab_test_free(test, i);
	KUNIT_EXPECT_EQ(test, shared->avail, 8);
	KUNIT_EXPECT_EQ(test, t->node->nr_free, 24 - 8 - array->avail);
	/* And they come back from there, the newest first. */
	memtb_slab_test_alloc(test, array->avail + 1);
	KUNIT_EXPECT_EQ(test, shared->avail, 4);
	KUNIT_EXPECT_TRUE(test, shared->touched);
	KUNIT_EXPECT_PTR_EQ(test, t->obj[t->nr - 1], t->obj[7]);
	memtb_slab_test_free_all(test, 24);
}

/* ---- slabs ---- */

static void slabs_stand_in_their_lists(struct kunit *test)
{
	struct memtb_slab_test *t = test->priv;
	unsigned int nr, i;

	memtb_slab_test_bare(test, 512);
	nr = t->sc->geometry.nr;
	memtb_slab_test_alloc(test, 2 * nr);
	memtb_slab_expect_lists(test, 2, 0, 0);
	/* One object stays in the array, and counts as out. */
	memtb_slab_test_free(test, 0);
	memtb_slab_expect_lists(test, 2, 0, 0);
	memtb_slab_test_free(test, 1);
	memtb_slab_expect_lists(test, 1, 1, 0);
	for (i = 2; i <= nr; i++)
		memtb_slab_test_free(test, i);
	memtb_slab_expect_lists(test, 1, 0, 1);
	memtb_slab_test_free(test, nr + 1);
	memtb_slab_expect_lists(test, 0, 1, 1);
	/* Partial slabs serve before empty ones. */
	memtb_slab_test_alloc(test, 1 + 1);
	memtb_slab_expect_lists(test, 1, 0, 1);
	memtb_slab_test_free_all(test, nr + 2);
}

/* Who gets an object back goes to the end: its others have time to come. */
static void slabs_with_returns_queue_behind(struct kunit *test)
{
	struct memtb_slab_test *t = test->priv;
	struct memtb_slab *first, *second;
	unsigned int nr;

	memtb_slab_test_bare(test, 512);
	nr = t->sc->geometry.nr;
	memtb_slab_test_alloc(test, 2 * nr);
	first = memtb_slab_of(t->obj[0]);
	second = memtb_slab_of(t->obj[nr]);
	KUNIT_ASSERT_PTR_NE(test, first, second);
	memtb_slab_test_free(test, 0);
	memtb_slab_test_free(test, nr);
	memtb_slab_test_free(test, 1);
	memtb_slab_test_free(test, 2);
	/* Order of returns to slabs: first, second, first. */
	KUNIT_EXPECT_PTR_EQ(test, list_first_entry(&t->node->partial,
						   struct memtb_slab, node), second);
	KUNIT_EXPECT_PTR_EQ(test, list_last_entry(&t->node->partial,
						  struct memtb_slab, node), first);
	t->obj[nr] = t->obj[3];
	memtb_slab_test_free(test, nr);
	for (t->nr = 0; t->nr < 2 * nr; t->nr++)
		if (t->nr > 3 && t->nr != nr)
			memtb_slab_test_free(test, t->nr);
	t->nr = 0;
}

static void too_many_empty_slabs_go_at_once(struct kunit *test)
{
	struct memtb_slab_test *t = test->priv;
	unsigned long limit;
	unsigned int i, kept = 0;

	memtb_slab_test_bare(test, 1024);
	limit = (1 + nr_cpus_node(numa_mem_id())) * 1 + t->sc->geometry.nr;
	KUNIT_EXPECT_EQ(test, t->node->free_limit, limit);
	memtb_slab_test_alloc(test, 100);
	for (i = 0; i < 100; i++) {
		memtb_slab_test_free(test, i);
		kept += t->node->nr_free == limit &&
			!list_empty(&t->node->empty);
		KUNIT_EXPECT_LE(test, t->node->nr_free, limit);
	}
	t->nr = 0;
	/* Just as many as the limit are not too many. */
	KUNIT_EXPECT_GT(test, kept, 0);
	KUNIT_EXPECT_GT(test, t->node->nr_free, limit - t->sc->geometry.nr);
}

static void the_list_moves_into_a_free_object(struct kunit *test)
{
	struct memtb_slab_test *t = test->priv;
	struct memtb_slab *slab;
	unsigned int nr;

	memtb_slab_test_bare(test, 512);
	nr = t->sc->geometry.nr;
	KUNIT_ASSERT_EQ(test, t->sc->geometry.place, MEMTB_SLAB_IN_OBJECT);
	memtb_slab_test_alloc(test, 1);
	slab = memtb_slab_of(t->obj[0]);
	KUNIT_EXPECT_PTR_EQ(test, (void *)slab->list,
			    slab->objs + (nr - 1) * t->sc->geometry.stride);
	memtb_slab_test_alloc(test, nr - 1);
	KUNIT_EXPECT_PTR_EQ(test, slab->list, NULL);
	memtb_slab_test_free(test, 3);
	memtb_slab_test_free(test, 4);
	KUNIT_EXPECT_PTR_EQ(test, (void *)slab->list, t->obj[3]);
	/* Who holds the list is the last to go. */
	memtb_slab_test_alloc(test, 1);
	KUNIT_EXPECT_PTR_EQ(test, t->obj[nr], t->obj[4]);
	memtb_slab_test_alloc(test, 1);
	KUNIT_EXPECT_PTR_EQ(test, t->obj[nr + 1], t->obj[3]);
	memtb_slab_test_free_all(test, 5);
	t->nr = 3;
	memtb_slab_test_free_all(test, 0);
}

static void lists_off_the_slab_are_blocks(struct kunit *test)
{
	struct memtb_slab_test *t = test->priv;
	struct memtb_cache *class;
	struct memtb_slab *slab;

	/* A constructor keeps the list out of the objects, 512 fill the slab. */
	memtb_slab_test_cache(test, 512, 0, SLAB_TYPESAFE_BY_RCU, NULL);
	KUNIT_ASSERT_EQ(test, t->sc->geometry.place, MEMTB_SLAB_OFF_SLAB);
	memtb_slab_test_alloc(test, 1);
	slab = memtb_slab_of(t->obj[0]);
	class = t->sh->class[order_base_2(MEMTB_SLAB_MIN_CLASS)];
	KUNIT_EXPECT_PTR_EQ(test, (void *)memtb_slab_of(slab->list)->cache,
			    memtb_cache_priv(class));
	memtb_slab_test_free_all(test, 0);
	KUNIT_EXPECT_GT(test, memtb_heap_shrink(t->heap), 0);
	KUNIT_EXPECT_EQ(test, memtb_slab_test_stats(test).pages_now, 0);
}

static void lists_on_the_slab_are_behind_the_objects(struct kunit *test)
{
	struct memtb_slab_test *t = test->priv;
	struct memtb_slab *slab;

	memtb_slab_test_cache(test, 32, 0, 0, NULL);
	KUNIT_ASSERT_EQ(test, t->sc->geometry.place, MEMTB_SLAB_ON_SLAB);
	memtb_slab_test_alloc(test, t->sc->geometry.nr);
	slab = memtb_slab_of(t->obj[0]);
	KUNIT_EXPECT_PTR_EQ(test, (void *)(slab->list + t->sc->geometry.nr),
			    slab->pages + (PAGE_SIZE << slab->order));
	memset(t->obj[0], 0xff, 32);
	memtb_slab_test_free_all(test, 0);
}

static void every_slab_has_the_next_colour(struct kunit *test)
{
	struct memtb_slab_test *t = test->priv;
	unsigned int colours, colour, nr, i;
	struct memtb_slab *slab;

	memtb_slab_test_bare(test, 320);
	colours = t->sc->geometry.colours;
	colour = t->sc->geometry.colour;
	nr = t->sc->geometry.nr;
	KUNIT_ASSERT_GT(test, colours, 1);
	memtb_slab_test_alloc(test, (colours + 1) * nr);
	for (i = 0; i <= colours; i++) {
		slab = memtb_slab_of(t->obj[i * nr]);
		KUNIT_EXPECT_EQ(test, slab->objs - slab->pages,
				(i + 1) % colours * colour);
	}
	memtb_slab_test_free_all(test, 0);
}

static unsigned int memtb_slab_ctors;

static void memtb_slab_test_ctor(void *obj)
{
	memtb_slab_ctors++;
	*(unsigned int *)obj = 4711;
}

static void objects_are_constructed_with_their_slab(struct kunit *test)
{
	struct memtb_slab_test *t = test->priv;
	unsigned int i;

	memtb_slab_ctors = 0;
	memtb_slab_test_cache(test, 256, 0, 0, memtb_slab_test_ctor);
	memtb_slab_test_alloc(test, 1);
	KUNIT_EXPECT_EQ(test, memtb_slab_ctors, t->sc->geometry.nr);
	memtb_slab_test_free_all(test, 0);
	for (i = 0; i < 100; i++) {
		memtb_slab_test_alloc(test, 1);
		KUNIT_EXPECT_EQ(test, *(unsigned int *)t->obj[0], 4711);
		memtb_slab_test_free_all(test, 0);
	}
	KUNIT_EXPECT_EQ(test, memtb_slab_ctors, t->sc->geometry.nr);
}

static void type_safe_slabs_wait_for_readers(struct kunit *test)
{
	struct memtb_slab_test *t = test->priv;
	u64 pages;

	memtb_slab_test_cache(test, 1024, 0, SLAB_TYPESAFE_BY_RCU, NULL);
	memtb_slab_test_alloc(test, 8);
	memtb_slab_test_free_all(test, 0);
	pages = memtb_slab_test_stats(test).pages_now;
	rcu_read_lock();
	/* Not memtb_heap_shrink(), which would wait for this reader. */
	local_irq_disable();
	memtb_slab_empty_here(t->sc);
	local_irq_enable();
	{
		LIST_HEAD(doomed);

		memtb_slab_doom_all(t->sc, numa_mem_id(), &doomed);
		KUNIT_EXPECT_GT(test, memtb_slab_destroy(t->sc, &doomed), 0);
	}
	KUNIT_EXPECT_EQ(test, atomic_long_read(&t->heap->pages_now), pages);
	rcu_read_unlock();
	rcu_barrier();
	KUNIT_EXPECT_LT(test, atomic_long_read(&t->heap->pages_now), pages);
}

/* ---- many at once ---- */

static void a_bulk_crosses_slabs_and_batches(struct kunit *test)
{
	struct memtb_slab_test *t = test->priv;
	unsigned int i, sizes[] = { 0, 1, 15, 16, 17, 31, 32, 33, 200, 500 };

	memtb_slab_test_cache(test, 256, 0, 0, NULL);
	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		KUNIT_ASSERT_TRUE(test, memtb_cache_alloc_bulk(t->cache, GFP_KERNEL,
							       sizes[i], t->obj));
		KUNIT_EXPECT_EQ(test, memtb_cache_live(t->cache), sizes[i]);
		memtb_cache_free_bulk(t->cache, sizes[i], t->obj);
		KUNIT_EXPECT_EQ(test, memtb_cache_live(t->cache), 0);
	}
}

/* Five slabs wanted, each but the last to be had: all comes back. */
static void a_bulk_without_its_last_page_is_none(struct kunit *test)
{
	struct memtb_slab_test *t = test->priv;
	unsigned int slabs;

	memtb_slab_test_cache(test, 1024, 0, 0, NULL);
	for (slabs = 0; slabs < 5; slabs++) {
		/* One page is the descriptors'. */
		t->heap->params.max_pages = 1 + slabs;
		KUNIT_EXPECT_FALSE(test, memtb_cache_alloc_bulk(t->cache,
				GFP_KERNEL | __GFP_NOWARN, 5 * 4, t->obj));
		KUNIT_EXPECT_EQ(test, memtb_cache_live(t->cache), 0);
		memtb_heap_shrink(t->heap);
		KUNIT_EXPECT_EQ(test, memtb_slab_test_stats(test).pages_now, 0);
	}
	t->heap->params.max_pages = 6;
	KUNIT_EXPECT_TRUE(test, memtb_cache_alloc_bulk(t->cache, GFP_KERNEL,
						       5 * 4, t->obj));
	memtb_cache_free_bulk(t->cache, 5 * 4, t->obj);
}

static void a_bulk_free_refuses_what_is_not_its_own(struct kunit *test)
{
	struct memtb_slab_test *t = test->priv;
	struct memtb_cache *other;
	void *theirs, *objs[4];

	memtb_slab_test_planted(test);
	memtb_slab_test_cache(test, 64, 0, 0, NULL);
	other = memtb_cache_create(t->heap, "other", 64, 0, 0, NULL);
	KUNIT_ASSERT_FALSE(test, IS_ERR(other));
	memtb_slab_test_alloc(test, 4);
	memcpy(objs, t->obj, sizeof(objs));
	theirs = memtb_cache_alloc(other, GFP_KERNEL, NUMA_NO_NODE);
	objs[2] = theirs;
	memtb_cache_free_bulk(t->cache, 4, objs);
	KUNIT_EXPECT_EQ(test, memtb_cache_live(t->cache), 1);
	KUNIT_EXPECT_EQ(test, memtb_cache_live(other), 1);
	KUNIT_EXPECT_EQ(test, memtb_slab_test_stats(test).v[MEMTB_STAT_BAD_FREES], 1);
	/* NULL and a foreign address among them: the others are freed. */
	objs[0] = NULL;
	objs[1] = &objs;
	objs[2] = t->obj[2];
	memtb_cache_free_bulk(t->cache, 3, objs);
	KUNIT_EXPECT_EQ(test, memtb_cache_live(t->cache), 0);
	KUNIT_EXPECT_EQ(test, memtb_slab_test_stats(test).v[MEMTB_STAT_BAD_FREES], 2);
	memtb_cache_free(other, theirs);
}

/* ---- general-purpose blocks ---- */

/* How much a block of @size bytes has, and whether that comes from a class. */
static void memtb_slab_test_block(struct kunit *test, size_t size,
				  size_t usable, bool class)
{
	struct memtb_slab_test *t = test->priv;
	void *block = memtb_alloc(t->heap, size, GFP_KERNEL, NUMA_NO_NODE);

	KUNIT_ASSERT_NOT_NULL(test, block);
	KUNIT_EXPECT_EQ(test, memtb_size(t->heap, block), usable);
	KUNIT_EXPECT_EQ(test, !!memtb_slab_of(block)->cache, class);
	memtb_free(t->heap, block);
}

static void blocks_are_of_the_smallest_class_that_fits(struct kunit *test)
{
	struct memtb_slab_test *t = test->priv;
	struct memtb_slab_machine machine;
	struct list_head *entry;
	size_t size, class;
	long nr = 0;

	memtb_slab_machine(&machine);
	for (size = 0; size < MEMTB_SLAB_MAX_CLASS; size = class) {
		class = memtb_slab_class(&machine, size + 1);
		memtb_slab_test_block(test, size + 1, class, true);
		memtb_slab_test_block(test, class, class, true);
		nr++;
	}
	KUNIT_EXPECT_EQ(test, size, MEMTB_SLAB_MAX_CLASS);
	memtb_slab_test_block(test, size + 1, 2 * size, false);
	list_for_each(entry, &t->heap->caches)
		nr--;
	KUNIT_EXPECT_EQ(test, nr, 0);
}

/* ---- wrong frees ---- */

static void frees_to_the_wrong_side_are_refused(struct kunit *test)
{
	struct memtb_slab_test *t = test->priv;
	void *block, *large, *desc;

	memtb_slab_test_planted(test);
	memtb_slab_test_cache(test, 64, 0, 0, NULL);
	memtb_slab_test_alloc(test, 1);
	block = memtb_alloc(t->heap, 64, GFP_KERNEL, NUMA_NO_NODE);
	large = memtb_alloc(t->heap, 4 * PAGE_SIZE, GFP_KERNEL, NUMA_NO_NODE);
	desc = memtb_slab_of(large);
	memtb_free(t->heap, t->obj[0]);
	memtb_free(t->heap, large + PAGE_SIZE);
	memtb_free(t->heap, desc);
	memtb_cache_free(t->cache, block);
	memtb_cache_free(t->cache, large);
	memtb_cache_free(t->cache, desc);
	KUNIT_EXPECT_EQ(test, memtb_slab_test_stats(test).v[MEMTB_STAT_BAD_FREES], 6);
	KUNIT_EXPECT_EQ(test, memtb_slab_test_stats(test).objects_live, 3);
	KUNIT_EXPECT_EQ(test, memtb_size(t->heap, desc), 0);
	KUNIT_EXPECT_EQ(test, memtb_size(t->heap, t->obj[0]), 0);
	KUNIT_EXPECT_EQ(test, memtb_size(t->heap, large), 4 * PAGE_SIZE);
	KUNIT_EXPECT_EQ(test, memtb_size(t->heap, block), 64);
	memtb_free(t->heap, block);
	memtb_free(t->heap, large);
	memtb_slab_test_free_all(test, 0);
}

static void the_check_finds_damage(struct kunit *test)
{
	struct memtb_slab_test *t = test->priv;
	struct memtb_slab *slab;
	memtb_slab_index_t index;
	void *objs;

	memtb_slab_test_planted(test);
	memtb_slab_test_bare(test, 512);
	memtb_slab_test_alloc(test, 2);
	slab = memtb_slab_of(t->obj[0]);

	index = slab->list[4];
	slab->list[4] = slab->list[5];
	KUNIT_EXPECT_EQ(test, memtb_heap_check(t->heap), 1);
	slab->list[4] = t->sc->geometry.nr;
	KUNIT_EXPECT_EQ(test, memtb_heap_check(t->heap), 1);
	slab->list[4] = index;

	list_move(&slab->node, &t->node->full);
	KUNIT_EXPECT_EQ(test, memtb_heap_check(t->heap), 1);
	list_move(&slab->node, &t->node->partial);

	/* Its free objects are counted wrong, too. */
	slab->active += t->sc->geometry.nr;
	KUNIT_EXPECT_EQ(test, memtb_heap_check(t->heap), 2);
	slab->active -= t->sc->geometry.nr;

	t->node->nr_free++;
	KUNIT_EXPECT_EQ(test, memtb_heap_check(t->heap), 1);
	t->node->nr_free--;
	t->node->nr_slabs++;
	KUNIT_EXPECT_EQ(test, memtb_heap_check(t->heap), 1);
	t->node->nr_slabs--;

	objs = slab->objs;
	slab->objs = t->heap;
	KUNIT_EXPECT_EQ(test, memtb_heap_check(t->heap), 1);
	slab->objs = objs;
	KUNIT_EXPECT_EQ(test, memtb_heap_check(t->heap), 0);
	memtb_slab_test_free_all(test, 0);
}

/* ---- what happens now and then ---- */

/* One visit; the time of the node has come if @due. */
static void memtb_slab_test_reap(struct kunit *test, bool due)
{
	struct memtb_slab_test *t = test->priv;

	t->node->next_reap = due ? jiffies : jiffies + HZ * 1000;
	mutex_lock(&t->heap->lock);
	memtb_slab_reap(t->sh);
	mutex_unlock(&t->heap->lock);
}

static void the_reaper_takes_a_fifth_of_what_lies_idle(struct kunit *test)
{
	struct memtb_array *array;

	memtb_slab_test_cache(test, 1024, 0, 0, NULL);
	array = memtb_slab_test_array(test);
	memtb_slab_test_alloc(test, 40);
	memtb_slab_test_free_all(test, 0);
	KUNIT_ASSERT_GE(test, array->avail, 27);
	while (array->avail > 30)
		memtb_slab_test_alloc(test, 1);
	memtb_slab_test_free_all(test, 0);
	array->avail = min(array->avail, 54U);
	array->touched = true;
	memtb_slab_test_reap(test, false);
	KUNIT_EXPECT_FALSE(test, array->touched);
	{
		unsigned int before = array->avail;

		memtb_slab_test_reap(test, false);
		KUNIT_EXPECT_EQ(test, array->avail, before - 11);
	}
	/* Of less than a fifth it takes half, and in the end nothing is left. */
	while (array->avail > 11)
		memtb_slab_test_reap(test, false);
	while (array->avail) {
		unsigned int before = array->avail;

		memtb_slab_test_reap(test, false);
		KUNIT_EXPECT_EQ(test, array->avail,
				before == 11 ? 0 : before / 2);
	}
}

static void the_reaper_takes_of_shared_and_empty(struct kunit *test)
{
	struct memtb_slab_test *t = test->priv;
	unsigned long empty;

	memtb_slab_test_cache(test, 512, 0, 0, NULL);
	KUNIT_ASSERT_EQ(test, memtb_cache_tune(t->heap, "cache", 20, 20, 1), 0);
	memtb_slab_test_alloc(test, 80);
	memtb_slab_test_free_all(test, 0);
	KUNIT_ASSERT_EQ(test, t->node->shared->avail, 20);
	t->node->shared->touched = false;
	t->node->empty_touched = true;
	memtb_slab_test_array(test)->touched = true;
	memtb_slab_test_reap(test, false);
	KUNIT_EXPECT_EQ(test, t->node->shared->avail, 20);
	memtb_slab_test_array(test)->touched = true;
	memtb_slab_test_reap(test, true);
	KUNIT_EXPECT_EQ(test, t->node->shared->avail, 16);
	KUNIT_EXPECT_FALSE(test, t->node->empty_touched);
	empty = t->node->nr_empty;
	KUNIT_ASSERT_GT(test, empty, 1);
	memtb_slab_test_array(test)->touched = true;
	t->node->shared->touched = true;
	memtb_slab_test_reap(test, true);
	KUNIT_EXPECT_EQ(test, t->node->nr_empty, empty -
			DIV_ROUND_UP(t->node->free_limit,
				     5 * t->sc->geometry.nr));
	KUNIT_EXPECT_EQ(test, t->node->shared->avail, 16);
}

static void the_reaper_comes_by_itself(struct kunit *test)
{
	struct memtb_array *array;
	unsigned int i;

	memtb_slab_test_cache(test, 1024, 0, 0, NULL);
	array = memtb_slab_test_array(test);
	memtb_slab_test_alloc(test, 20);
	memtb_slab_test_free_all(test, 0);
	KUNIT_ASSERT_GT(test, array->avail, 0);
	/* Two visits: one sees that it was used, the next takes. */
	for (i = 0; i < 200 && READ_ONCE(array->touched); i++)
		msleep(100);
	KUNIT_EXPECT_FALSE(test, READ_ONCE(array->touched));
}

static void a_cache_in_use_may_be_tuned(struct kunit *test)
{
	struct memtb_slab_test *t = test->priv;
	struct memtb_array __percpu *before;
	u64 free;

	memtb_slab_test_cache(test, 64, 0, 0, NULL);
	memtb_slab_test_alloc(test, 200);
	while (t->nr > 100)
		memtb_cache_free(t->cache, t->obj[--t->nr]);
	before = t->sc->cpu;
	KUNIT_EXPECT_EQ(test, memtb_cache_tune(t->heap, "cache", 0, 0, 0), -EINVAL);
	KUNIT_EXPECT_EQ(test, memtb_cache_tune(t->heap, "cache", 5, 6, 0), -EINVAL);
	KUNIT_EXPECT_EQ(test, memtb_cache_tune(t->heap, "cache", 5, 0, 0), -EINVAL);
	KUNIT_EXPECT_EQ(test, memtb_cache_tune(t->heap, "cache", 2049, 1, 0), -EINVAL);
	KUNIT_EXPECT_EQ(test, memtb_cache_tune(t->heap, "cache", 1, 1, 65), -EINVAL);
	KUNIT_EXPECT_EQ(test, memtb_cache_tune(t->heap, "none", 1, 1, 0), -ENOENT);
	KUNIT_EXPECT_TRUE(test, t->sc->cpu == before);
	KUNIT_EXPECT_EQ(test, memtb_cache_tune(t->heap, "cache", 2048, 2048, 64), 0);
	KUNIT_EXPECT_EQ(test, memtb_cache_tune(t->heap, "cache", 7, 3, 0), 0);
	KUNIT_EXPECT_EQ(test, memtb_slab_test_array(test)->limit, 7);
	KUNIT_EXPECT_EQ(test, memtb_slab_test_array(test)->batch, 3);
	KUNIT_EXPECT_EQ(test, memtb_slab_test_array(test)->avail, 0);
	KUNIT_EXPECT_PTR_EQ(test, t->node->shared, NULL);
	/* What lay in the old arrays is in the slabs. */
	free = t->node->nr_slabs * t->sc->geometry.nr - 100;
	KUNIT_EXPECT_EQ(test, t->node->nr_free, free);
	memtb_slab_test_free_all(test, 0);
	KUNIT_EXPECT_LE(test, memtb_slab_test_array(test)->avail, 7);
}

/* ---- several processors ---- */

/* Runs on another processor; it holds on to what it frees. */
static long memtb_slab_test_elsewhere(void *arg)
{
	struct memtb_slab_test *t = arg;
	unsigned int i;

	for (i = 0; i < t->nr; i++)
		memtb_cache_free(t->cache, t->obj[i]);
	return per_cpu_ptr(t->sc->cpu, smp_processor_id())->avail;
}

static unsigned int memtb_slab_test_other(void)
{
	return cpumask_any_but(cpu_online_mask, raw_smp_processor_id());
}

static void shrinking_empties_other_processors(struct kunit *test)
{
	struct memtb_slab_test *t = test->priv;
	unsigned int other = memtb_slab_test_other();

	memtb_slab_test_cache(test, 256, 0, 0, NULL);
	memtb_slab_test_alloc(test, 100);
	if (other < nr_cpu_ids)
		KUNIT_EXPECT_GE(test, work_on_cpu(other, memtb_slab_test_elsewhere, t), 100);
	else
		memtb_slab_test_free_all(test, 0);
	t->nr = 0;
	KUNIT_EXPECT_GT(test, memtb_heap_shrink(t->heap), 0);
	KUNIT_EXPECT_EQ(test, memtb_slab_test_stats(test).pages_now, 0);
}

/* A processor goes and comes back; alone, only what the heap does then is done. */
#ifdef CONFIG_HOTPLUG_CPU
static void memtb_slab_test_lose(struct kunit *test, unsigned int cpu)
{
	KUNIT_ASSERT_EQ(test, remove_cpu(cpu), 0);
}

static void memtb_slab_test_regain(struct kunit *test, unsigned int cpu)
{
	KUNIT_ASSERT_EQ(test, add_cpu(cpu), 0);
}
#else
static void memtb_slab_test_lose(struct kunit *test, unsigned int cpu)
{
	struct memtb_slab_test *t = test->priv;

	memtb_slab_offline(cpu, &t->sh->online);
	memtb_slab_dead(cpu, &t->sh->dead);
}

static void memtb_slab_test_regain(struct kunit *test, unsigned int cpu)
{
	struct memtb_slab_test *t = test->priv;

	memtb_slab_online(cpu, &t->sh->online);
}
#endif

static void the_objects_of_a_lost_processor_come_home(struct kunit *test)
{
	struct memtb_slab_test *t = test->priv;
	unsigned int other = memtb_slab_test_other();
	unsigned long limit;

	memtb_slab_test_cache(test, 256, 0, 0, NULL);
	memtb_slab_test_alloc(test, 100);
	limit = t->node->free_limit;
	other = min_t(unsigned int, other, nr_cpu_ids - 1);
	KUNIT_EXPECT_GE(test, work_on_cpu(other, memtb_slab_test_elsewhere, t), 100);
	t->nr = 0;
	memtb_slab_test_lose(test, other);
	KUNIT_EXPECT_EQ(test, per_cpu_ptr(t->sc->cpu, other)->avail, 0);
	if (IS_ENABLED(CONFIG_HOTPLUG_CPU))
		KUNIT_EXPECT_EQ(test, t->node->free_limit, limit - t->sc->batch);
	KUNIT_EXPECT_FALSE(test, delayed_work_pending(&per_cpu_ptr(t->sh->reaper, other)->work));
	KUNIT_EXPECT_EQ(test, memtb_heap_check(t->heap), 0);
	memtb_slab_test_regain(test, other);
	KUNIT_EXPECT_EQ(test, t->node->free_limit, limit);
	KUNIT_EXPECT_TRUE(test, delayed_work_pending(&per_cpu_ptr(t->sh->reaper, other)->work));
}

static struct kunit_case memtb_slab_cases[] = {
	KUNIT_CASE(the_last_freed_is_the_first_out),
	KUNIT_CASE(limits_go_by_size),
	KUNIT_CASE(a_cold_array_gets_little),
	KUNIT_CASE(a_warm_array_gets_a_batch),
	KUNIT_CASE(a_full_array_sends_the_oldest_home),
	KUNIT_CASE(what_is_shared_comes_before_slabs),
	KUNIT_CASE(slabs_stand_in_their_lists),
	KUNIT_CASE(slabs_with_returns_queue_behind),
	KUNIT_CASE(too_many_empty_slabs_go_at_once),
	KUNIT_CASE(the_list_moves_into_a_free_object),
	KUNIT_CASE(lists_off_the_slab_are_blocks),
	KUNIT_CASE(lists_on_the_slab_are_behind_the_objects),
	KUNIT_CASE(every_slab_has_the_next_colour),
	KUNIT_CASE(objects_are_constructed_with_their_slab),
	KUNIT_CASE(type_safe_slabs_wait_for_readers),
	KUNIT_CASE(a_bulk_crosses_slabs_and_batches),
	KUNIT_CASE(a_bulk_without_its_last_page_is_none),
	KUNIT_CASE(a_bulk_free_refuses_what_is_not_its_own),
	KUNIT_CASE(blocks_are_of_the_smallest_class_that_fits),
	KUNIT_CASE(frees_to_the_wrong_side_are_refused),
	KUNIT_CASE(the_check_finds_damage),
	KUNIT_CASE(the_reaper_takes_a_fifth_of_what_lies_idle),
	KUNIT_CASE(the_reaper_takes_of_shared_and_empty),
	KUNIT_CASE(the_reaper_comes_by_itself),
	KUNIT_CASE(a_cache_in_use_may_be_tuned),
	KUNIT_CASE(shrinking_empties_other_processors),
	KUNIT_CASE(the_objects_of_a_lost_processor_come_home),
	{}
};

static struct kunit_suite memtb_slab_suite = {
	.name = "memtb_slab",
	.init = memtb_slab_test_init,
	.exit = memtb_slab_test_exit,
	.test_cases = memtb_slab_cases,
};
kunit_test_suite(memtb_slab_suite);
