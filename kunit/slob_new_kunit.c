// SPDX-License-Identifier: GPL-2.0
/*
 * memtb_slob_new: SLOB by caches from the inside.
 *
 * The backend's source is compiled into this module a second time, so that the
 * tests see its arenas; their list has the suite memtb_slob_list.
 */
#include <kunit/test.h>

#include "../module/backend/slob_new.c"
#include "conformance.h"

/* A page has room for three of these, and for a rest. */
#define MEMTB_NEW_ODD	ALIGN_DOWN(PAGE_SIZE * 2 / 7, 64)
#define MEMTB_NEW_FIT	3

struct memtb_new_test {
	struct memtb_heap *heap;
	struct memtb_slob_new *new;
};

static int memtb_new_test_make(struct kunit *test, unsigned long options)
{
	const struct memtb_heap_params params = { .options = options };
	struct memtb_new_test *t = kunit_kzalloc(test, sizeof(*t), GFP_KERNEL);

	if (!t)
		return -ENOMEM;
	t->heap = memtb_heap_create(&memtb_backend_slob_new, "new", &params);
	if (IS_ERR(t->heap))
		return PTR_ERR(t->heap);
	t->new = memtb_heap_priv(t->heap);
	test->priv = t;
	return 0;
}

static int memtb_new_test_init(struct kunit *test)
{
	return memtb_new_test_make(test, 0);
}

static int memtb_new_both_test_init(struct kunit *test)
{
	return memtb_new_test_make(test, BIT(MEMTB_SLOB_NEW_STACK) |
					 BIT(MEMTB_SLOB_NEW_CLASSES));
}

/* Every case frees what it allocated; destroying returns the pages. */
static void memtb_new_test_exit(struct kunit *test)
{
	struct memtb_new_test *t = test->priv;

	if (!t)
		return;
	KUNIT_EXPECT_EQ(test, memtb_heap_check(t->heap), 0);
	KUNIT_EXPECT_EQ(test, memtb_heap_destroy(t->heap), 0);
}

static u64 memtb_new_pages(struct kunit *test)
{
	struct memtb_new_test *t = test->priv;

	return memtb_test_stats(t->heap).pages_now;
}

static u64 memtb_new_steps(struct kunit *test)
{
	struct memtb_new_test *t = test->priv;

	return memtb_test_stats(t->heap).v[MEMTB_STAT_LIST_STEPS];
}

/* For cases that break things: see MEMTB_PLANTED. */
static void memtb_new_planted(struct kunit *test)
{
	struct memtb_new_test *t = test->priv;

	strscpy(t->heap->name, MEMTB_PLANTED, sizeof(t->heap->name));
}

static void *memtb_new_block(struct kunit *test, size_t size)
{
	struct memtb_new_test *t = test->priv;
	void *obj = memtb_alloc(t->heap, size, GFP_KERNEL, NUMA_NO_NODE);

	KUNIT_ASSERT_NOT_NULL(test, obj);
	return obj;
}

static struct memtb_cache *memtb_new_cache(struct kunit *test, size_t size,
					   size_t align)
{
	struct memtb_new_test *t = test->priv;
	struct memtb_cache *cache = memtb_cache_create(t->heap, "cache", size,
						       align, 0, NULL);

	KUNIT_ASSERT_FALSE(test, IS_ERR(cache));
	return cache;
}

static struct memtb_arena *memtb_new_arena(struct memtb_cache *cache)
{
	struct memtb_slob_new_cache *nc = memtb_cache_priv(cache);

	return &nc->arena;
}

static void *memtb_new_object(struct kunit *test, struct memtb_cache *cache)
{
	void *obj = memtb_cache_alloc(cache, GFP_KERNEL, NUMA_NO_NODE);

	KUNIT_ASSERT_NOT_NULL(test, obj);
	return obj;
}

/* ---- sizes ---- */

static void classes_are_the_powers_of_two(struct kunit *test)
{
	struct memtb_new_test *t = test->priv;
	size_t size;
	int i;

	KUNIT_EXPECT_PTR_EQ(test, memtb_slob_new_class(t->new, 1),
			    &t->new->class[0]);
	for (i = 0, size = MEMTB_ARENA_MIN; size <= PAGE_SIZE / 2; i++, size *= 2) {
		KUNIT_EXPECT_PTR_EQ(test, memtb_slob_new_class(t->new, size),
				    &t->new->class[i]);
		KUNIT_EXPECT_PTR_EQ(test, memtb_slob_new_class(t->new, size / 2 + 1),
				    &t->new->class[i]);
		KUNIT_EXPECT_EQ(test, t->new->class[i].stride, size);
		KUNIT_EXPECT_EQ(test, t->new->class[i].list.run, PAGE_SIZE);
	}
	KUNIT_EXPECT_EQ(test, i, MEMTB_ARENA_CLASSES);
}

static void usable_size_is_that_of_the_class(struct kunit *test)
{
	struct memtb_new_test *t = test->priv;
	static const size_t sizes[][2] = {
		{ 1, MEMTB_ARENA_MIN }, { 129, 256 }, { 256, 256 },
		{ PAGE_SIZE / 2, PAGE_SIZE / 2 },
		{ PAGE_SIZE / 2 + 1, PAGE_SIZE }, { PAGE_SIZE, PAGE_SIZE },
		{ PAGE_SIZE + 1, 2 * PAGE_SIZE },
	};
	void *obj;
	int i;

	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		obj = memtb_new_block(test, sizes[i][0]);
		KUNIT_EXPECT_EQ(test, memtb_size(t->heap, obj), sizes[i][1]);
		memtb_free(t->heap, obj);
	}
}

/* What a block of each size takes, without and with the classes between. */
static const size_t memtb_new_rounded[][3] = {
	{ 1, 32, 32 }, { 32, 32, 32 }, { 33, 64, 64 }, { 64, 64, 64 },
	{ 65, 128, 96 }, { 96, 128, 96 }, { 97, 128, 128 }, { 128, 128, 128 },
	{ 129, 256, 192 }, { 192, 256, 192 }, { 193, 256, 256 },
	{ 256, 256, 256 }, { 257, 512, 512 },
};

/* Where DMA wants more, there are fewer classes. */
static size_t memtb_new_expected(size_t size, size_t rounded)
{
	if (IS_ALIGNED(rounded, MEMTB_ARENA_MIN))
		return rounded;
	return max(roundup_pow_of_two(size), MEMTB_ARENA_MIN);
}

static void memtb_new_expect_classes(struct kunit *test, int column)
{
	struct memtb_new_test *t = test->priv;
	size_t size, expected;
	void *obj[3];
	int i, k;

	for (i = 0; i < ARRAY_SIZE(memtb_new_rounded); i++) {
		size = memtb_new_rounded[i][0];
		expected = memtb_new_expected(size, memtb_new_rounded[i][column]);
		KUNIT_EXPECT_EQ(test, memtb_slob_new_class(t->new, size)->stride,
				expected);
		for (k = 0; k < ARRAY_SIZE(obj); k++) {
			obj[k] = memtb_new_block(test, size);
			KUNIT_EXPECT_EQ(test, memtb_size(t->heap, obj[k]), expected);
			KUNIT_EXPECT_TRUE(test, IS_ALIGNED((unsigned long)obj[k],
							   expected & -expected));
		}
		while (k--)
			memtb_free(t->heap, obj[k]);
	}
}

static void sizes_are_rounded_to_the_powers_of_two(struct kunit *test)
{
	struct memtb_new_test *t = test->priv;

	KUNIT_EXPECT_EQ(test, t->new->nr_classes, MEMTB_ARENA_CLASSES);
	memtb_new_expect_classes(test, 1);
}

static void classes_between_waste_less(struct kunit *test)
{
	memtb_new_expect_classes(test, 2);
}

/* A page of blocks of 96 bytes has 42 of them, not 32. */
static void a_page_has_room_for_more_of_them(struct kunit *test)
{
	struct memtb_new_test *t = test->priv;
	size_t size = memtb_new_expected(96, 96);
	int i, nr = PAGE_SIZE / size;
	void *obj[PAGE_SIZE / 96];
	u64 pages;

	obj[0] = memtb_new_block(test, 96);
	pages = memtb_new_pages(test);
	for (i = 1; i < nr; i++)
		obj[i] = memtb_new_block(test, 96);
	KUNIT_EXPECT_EQ(test, memtb_new_pages(test), pages);
	while (i--)
		memtb_free(t->heap, obj[i]);
}

static void a_block_has_no_header(struct kunit *test)
{
	struct memtb_new_test *t = test->priv;
	void *obj[PAGE_SIZE / 512 + 1];
	int i;

	for (i = 0; i < PAGE_SIZE / 512; i++)
		obj[i] = memtb_new_block(test, 512);
	KUNIT_EXPECT_EQ(test, memtb_new_pages(test), 1);
	KUNIT_EXPECT_EQ(test, memtb_slob_new_class(t->new, 512)->list.nr_blocks, 0);
	obj[i++] = memtb_new_block(test, 512);
	KUNIT_EXPECT_EQ(test, memtb_new_pages(test), 2);
	while (i--)
		memtb_free(t->heap, obj[i]);
}

static void more_than_half_a_page_is_a_big_block(struct kunit *test)
{
	struct memtb_new_test *t = test->priv;
	void *small = memtb_new_block(test, PAGE_SIZE / 2);
	void *big = memtb_new_block(test, PAGE_SIZE / 2 + 1);

	KUNIT_EXPECT_NOT_NULL(test, memtb_place(t->new, small)->arena);
	KUNIT_EXPECT_NULL(test, memtb_place(t->new, big)->arena);
	/* A page of the class, one of the block, one of descriptors. */
	KUNIT_EXPECT_EQ(test, memtb_new_pages(test), 3);
	memtb_free(t->heap, big);
	KUNIT_EXPECT_EQ(test, memtb_new_pages(test), 2);
	memtb_free(t->heap, small);
}

static void a_big_block_without_pages_leaves_no_descriptor(struct kunit *test)
{
	struct memtb_new_test *t = test->priv;

	t->heap->params.max_pages = 1;
	KUNIT_EXPECT_NULL(test, memtb_alloc(t->heap, PAGE_SIZE, GFP_KERNEL,
					    NUMA_NO_NODE));
	KUNIT_EXPECT_EQ(test, memtb_heap_shrink(t->heap), 1);
	KUNIT_EXPECT_EQ(test, memtb_new_pages(test), 0);
}

/* Pages that one object of this size makes the heap hold. */
static void memtb_new_expect_object(struct kunit *test, size_t size,
				    size_t align, size_t stride, int pages)
{
	struct memtb_new_test *t = test->priv;
	struct memtb_cache *cache = memtb_new_cache(test, size, align);
	struct memtb_arena *arena = memtb_new_arena(cache);
	void *obj = memtb_new_object(test, cache);

	KUNIT_EXPECT_EQ(test, arena->stride, stride);
	KUNIT_EXPECT_EQ(test, memtb_new_pages(test), pages);
	KUNIT_EXPECT_EQ(test, memtb_arena_whole(arena), stride > PAGE_SIZE / 2);
	memtb_cache_free(cache, obj);
	memtb_heap_shrink(t->heap);
	KUNIT_EXPECT_EQ(test, memtb_cache_destroy(cache), 0);
}

static void an_object_of_more_than_half_a_page_is_pages(struct kunit *test)
{
	size_t unit = MEMTB_SLOB_UNIT;

	memtb_new_expect_object(test, 1, 0, unit, 1);
	memtb_new_expect_object(test, 24, 64, 64, 1);
	memtb_new_expect_object(test, 65, 64, 128, 1);
	memtb_new_expect_object(test, PAGE_SIZE / 2, 0, PAGE_SIZE / 2, 1);
	memtb_new_expect_object(test, PAGE_SIZE / 2 + 1, 0, PAGE_SIZE / 2 + unit, 1);
	memtb_new_expect_object(test, 8, PAGE_SIZE, PAGE_SIZE, 1);
	memtb_new_expect_object(test, PAGE_SIZE + 1, 0, PAGE_SIZE + unit, 2);
}

static void a_footer_must_fit_in_the_largest_size(struct kunit *test)
{
	struct memtb_new_test *t = test->priv;
	size_t most = KMALLOC_MAX_SIZE - sizeof(struct memtb_slob_footer);
	struct memtb_cache *cache;

	cache = memtb_cache_create(t->heap, "rcu", most + 1, 0,
				   SLAB_TYPESAFE_BY_RCU, NULL);
	KUNIT_EXPECT_EQ(test, PTR_ERR_OR_ZERO(cache), -EINVAL);
	cache = memtb_cache_create(t->heap, "rcu", most, 0,
				   SLAB_TYPESAFE_BY_RCU, NULL);
	KUNIT_ASSERT_FALSE(test, IS_ERR(cache));
	KUNIT_EXPECT_EQ(test, memtb_cache_destroy(cache), 0);
}

/* ---- arenas ---- */

static void a_search_ends_with_the_first_block(struct kunit *test)
{
	struct memtb_cache *cache = memtb_new_cache(test, MEMTB_NEW_ODD, 0);
	struct memtb_arena *arena = memtb_new_arena(cache);
	int i, nr = MEMTB_NEW_FIT;
	void *obj[3 * MEMTB_NEW_FIT];
	u64 before;

	KUNIT_EXPECT_EQ(test, arena->list.run, (size_t)nr * MEMTB_NEW_ODD);
	for (i = 0; i < 3 * nr; i++) {
		before = memtb_new_steps(test);
		obj[i] = memtb_new_object(test, cache);
		/* One; or one in vain, one to put a page in, one that finds it. */
		KUNIT_EXPECT_EQ(test, memtb_new_steps(test) - before,
				i % nr ? 1 : 3);
	}
	KUNIT_EXPECT_EQ(test, memtb_new_pages(test), 3);
	KUNIT_EXPECT_EQ(test, arena->list.nr_blocks, 0);
	while (i--)
		memtb_cache_free(cache, obj[i]);
	KUNIT_EXPECT_EQ(test, memtb_cache_destroy(cache), 0);
}

static void a_free_does_not_walk_other_caches(struct kunit *test)
{
	struct memtb_cache *busy = memtb_new_cache(test, 64, 0);
	struct memtb_cache *quiet = memtb_new_cache(test, 64, 0);
	void *obj[64], *other = memtb_new_object(test, quiet);
	u64 before;
	int i;

	for (i = 0; i < ARRAY_SIZE(obj); i++)
		obj[i] = memtb_new_object(test, busy);
	for (i = 0; i < ARRAY_SIZE(obj); i += 2)
		memtb_cache_free(busy, obj[i]);
	KUNIT_EXPECT_GE(test, memtb_new_arena(busy)->list.nr_blocks,
			ARRAY_SIZE(obj) / 2 - 1);
	before = memtb_new_steps(test);
	memtb_cache_free(quiet, other);
	KUNIT_EXPECT_LE(test, memtb_new_steps(test) - before, 3);
	for (i = 1; i < ARRAY_SIZE(obj); i += 2)
		memtb_cache_free(busy, obj[i]);
	KUNIT_EXPECT_EQ(test, memtb_cache_destroy(busy), 0);
	KUNIT_EXPECT_EQ(test, memtb_cache_destroy(quiet), 0);
}

static void shrink_returns_pages_that_are_wholly_free(struct kunit *test)
{
	struct memtb_new_test *t = test->priv;
	struct memtb_cache *cache = memtb_new_cache(test, MEMTB_NEW_ODD, 0);
	int i, nr = MEMTB_NEW_FIT;
	void *obj[3 * MEMTB_NEW_FIT];

	for (i = 0; i < 3 * nr; i++)
		obj[i] = memtb_new_object(test, cache);
	KUNIT_EXPECT_EQ(test, memtb_heap_shrink(t->heap), 0);
	/* One object of each of the outer pages stays. */
	for (i = 1; i < 3 * nr - 1; i++)
		memtb_cache_free(cache, obj[i]);
	KUNIT_EXPECT_EQ(test, memtb_new_pages(test), 3);
	KUNIT_EXPECT_EQ(test, memtb_heap_shrink(t->heap), 1);
	KUNIT_EXPECT_EQ(test, memtb_new_pages(test), 2);
	KUNIT_EXPECT_EQ(test, memtb_heap_check(t->heap), 0);
	memtb_cache_free(cache, obj[0]);
	KUNIT_EXPECT_EQ(test, memtb_heap_shrink(t->heap), 1);
	memtb_cache_free(cache, obj[3 * nr - 1]);
	KUNIT_EXPECT_EQ(test, memtb_heap_shrink(t->heap), 1);
	KUNIT_EXPECT_EQ(test, memtb_new_pages(test), 0);
	KUNIT_EXPECT_EQ(test, memtb_cache_destroy(cache), 0);
}

/* Pages of @owner until two are neighbours; how many that took. */
static unsigned int memtb_new_neighbours(struct kunit *test,
					 struct memtb_owner *owner,
					 void **page, unsigned int max)
{
	unsigned int i;

	for (i = 0; i < max; i++) {
		page[i] = memtb_pages_get(owner, GFP_KERNEL, 0, NUMA_NO_NODE);
		KUNIT_ASSERT_NOT_NULL(test, page[i]);
		if (memtb_owner(page[i] - PAGE_SIZE) == owner ||
		    memtb_owner(page[i] + PAGE_SIZE) == owner)
			return i + 1;
	}
	kunit_err(test, "no neighbours among %u pages\n", max);
	KUNIT_ASSERT_LT(test, i, max);
	return max;
}

/* Pages that happen to be neighbours become one block, and come apart again. */
static void neighbouring_pages_come_apart(struct kunit *test)
{
	const unsigned int max = 4096;
	struct memtb_new_test *t = test->priv;
	struct memtb_arena *arena = memtb_slob_new_class(t->new, 64);
	void **page = kunit_kcalloc(test, max, sizeof(*page), GFP_KERNEL);
	unsigned int i, nr;

	KUNIT_ASSERT_NOT_NULL(test, page);
	nr = memtb_new_neighbours(test, &arena->place.owner, page, max);
	for (i = 0; i < nr; i++)
		KUNIT_EXPECT_TRUE(test, memtb_slob_put(&arena->list, page[i],
						       PAGE_SIZE));
	KUNIT_EXPECT_LT(test, arena->list.nr_blocks, nr);
	KUNIT_EXPECT_EQ(test, memtb_heap_check(t->heap), 0);
	KUNIT_EXPECT_EQ(test, memtb_heap_shrink(t->heap), nr);
	KUNIT_EXPECT_EQ(test, arena->list.nr_blocks, 0);
}

static void destroying_a_cache_returns_its_pages(struct kunit *test)
{
	struct memtb_cache *cache = memtb_new_cache(test, MEMTB_NEW_ODD, 0);

	memtb_cache_free(cache, memtb_new_object(test, cache));
	KUNIT_EXPECT_EQ(test, memtb_new_pages(test), 1);
	KUNIT_EXPECT_EQ(test, memtb_cache_destroy(cache), 0);
	KUNIT_EXPECT_EQ(test, memtb_new_pages(test), 0);
}

static void a_failed_allocation_counts_nothing(struct kunit *test)
{
	struct memtb_new_test *t = test->priv;
	struct memtb_cache *cache = memtb_new_cache(test, MEMTB_NEW_ODD, 0);

	t->heap->params.fail_page = 1;
	KUNIT_EXPECT_NULL(test, memtb_cache_alloc(cache, GFP_KERNEL, NUMA_NO_NODE));
	KUNIT_EXPECT_EQ(test, memtb_test_stats(t->heap).objects_live, 0);
	KUNIT_EXPECT_EQ(test, memtb_new_pages(test), 0);
	KUNIT_EXPECT_EQ(test, memtb_cache_destroy(cache), 0);
}

/* ---- what is refused ---- */

static void an_object_of_another_cache_is_refused(struct kunit *test)
{
	struct memtb_new_test *t = test->priv;
	struct memtb_cache *one = memtb_new_cache(test, 64, 0);
	struct memtb_cache *other = memtb_new_cache(test, 64, 0);
	void *obj = memtb_new_object(test, one);
	void *block = memtb_new_block(test, 64);

	memtb_new_planted(test);
	memtb_cache_free(other, obj);
	memtb_cache_free(other, block);
	memtb_free(t->heap, obj);
	KUNIT_EXPECT_EQ(test, memtb_test_stats(t->heap).v[MEMTB_STAT_BAD_FREES], 3);
	KUNIT_EXPECT_EQ(test, memtb_test_stats(t->heap).objects_live, 2);
	memtb_cache_free(one, obj);
	memtb_free(t->heap, block);
	KUNIT_EXPECT_EQ(test, memtb_test_stats(t->heap).v[MEMTB_STAT_BAD_FREES], 3);
	KUNIT_EXPECT_EQ(test, memtb_cache_destroy(one), 0);
	KUNIT_EXPECT_EQ(test, memtb_cache_destroy(other), 0);
}

static void where_no_object_begins_nothing_is_freed(struct kunit *test)
{
	struct memtb_new_test *t = test->priv;
	struct memtb_cache *cache = memtb_new_cache(test, MEMTB_NEW_ODD, 0);
	void *obj = memtb_new_object(test, cache);
	void *big = memtb_new_block(test, 3 * PAGE_SIZE);
	void *descriptor = memtb_place(t->new, big);
	void *pages = memtb_place(t->new, obj);
	void *rest = PTR_ALIGN_DOWN(obj, PAGE_SIZE) + MEMTB_NEW_FIT * MEMTB_NEW_ODD;

	memtb_new_planted(test);
	memtb_cache_free(cache, obj + MEMTB_SLOB_UNIT);
	memtb_cache_free(cache, rest);
	memtb_free(t->heap, big + PAGE_SIZE);
	memtb_free(t->heap, big + 32);
	memtb_free(t->heap, descriptor);
	memtb_free(t->heap, pages);
	memtb_cache_free(cache, pages);
	KUNIT_EXPECT_EQ(test, memtb_test_stats(t->heap).v[MEMTB_STAT_BAD_FREES], 7);
	memtb_cache_free(cache, obj);
	memtb_free(t->heap, big);
	KUNIT_EXPECT_EQ(test, memtb_test_stats(t->heap).v[MEMTB_STAT_BAD_FREES], 7);
	KUNIT_EXPECT_EQ(test, memtb_cache_destroy(cache), 0);
}

static void an_object_of_pages_is_freed_at_its_beginning(struct kunit *test)
{
	struct memtb_new_test *t = test->priv;
	struct memtb_cache *cache = memtb_new_cache(test, 3 * PAGE_SIZE, 0);
	void *obj = memtb_new_object(test, cache);

	memtb_new_planted(test);
	memtb_cache_free(cache, obj + 64);
	memtb_cache_free(cache, obj + PAGE_SIZE);
	KUNIT_EXPECT_EQ(test, memtb_test_stats(t->heap).v[MEMTB_STAT_BAD_FREES], 2);
	KUNIT_EXPECT_EQ(test, memtb_new_pages(test), 4);
	memtb_cache_free(cache, obj);
	KUNIT_EXPECT_EQ(test, memtb_new_pages(test), 0);
	memtb_cache_free(cache, obj);
	KUNIT_EXPECT_EQ(test, memtb_test_stats(t->heap).v[MEMTB_STAT_BAD_FREES], 3);
	KUNIT_EXPECT_EQ(test, memtb_cache_destroy(cache), 0);
}

static void a_second_free_changes_nothing(struct kunit *test)
{
	struct memtb_new_test *t = test->priv;
	struct memtb_cache *cache = memtb_new_cache(test, MEMTB_NEW_ODD, 0);
	void *obj = memtb_new_object(test, cache);

	memtb_new_planted(test);
	memtb_cache_free(cache, obj);
	memtb_cache_free(cache, obj);
	KUNIT_EXPECT_EQ(test, memtb_test_stats(t->heap).v[MEMTB_STAT_BAD_FREES], 1);
	KUNIT_EXPECT_EQ(test, memtb_heap_check(t->heap), 0);
	KUNIT_EXPECT_EQ(test, memtb_cache_destroy(cache), 0);
}

static struct memtb_cache *memtb_new_typesafe(struct kunit *test)
{
	struct memtb_new_test *t = test->priv;
	struct memtb_cache *cache;

	cache = memtb_cache_create(t->heap, "typesafe", 40, 0,
				   SLAB_TYPESAFE_BY_RCU, NULL);
	KUNIT_ASSERT_FALSE(test, IS_ERR(cache));
	return cache;
}

/* While it waits, after that, and once it is out again. */
static void a_second_free_finds_a_type_safe_object(struct kunit *test)
{
	struct memtb_new_test *t = test->priv;
	struct memtb_cache *cache = memtb_new_typesafe(test);
	void *obj = memtb_new_object(test, cache);
	void *other = memtb_new_object(test, cache);

	memtb_new_planted(test);
	memtb_cache_free(cache, obj + MEMTB_SLOB_UNIT);
	memtb_cache_free(cache, obj);
	memtb_cache_free(cache, obj);
	KUNIT_EXPECT_EQ(test, memtb_test_stats(t->heap).v[MEMTB_STAT_BAD_FREES], 2);
	rcu_barrier();
	memtb_cache_free(cache, obj);
	KUNIT_EXPECT_EQ(test, memtb_test_stats(t->heap).v[MEMTB_STAT_BAD_FREES], 3);
	KUNIT_EXPECT_PTR_EQ(test, memtb_new_object(test, cache), obj);
	memtb_cache_free(cache, obj);
	memtb_cache_free(cache, other);
	KUNIT_EXPECT_EQ(test, memtb_test_stats(t->heap).v[MEMTB_STAT_BAD_FREES], 3);
	KUNIT_EXPECT_EQ(test, memtb_cache_destroy(cache), 0);
}

/* Until then its place is nobody's. */
static void a_type_safe_object_waits_in_its_place(struct kunit *test)
{
	struct memtb_cache *cache = memtb_new_typesafe(test);
	void *obj = memtb_new_object(test, cache), *next;

	rcu_read_lock();
	memtb_cache_free(cache, obj);
	next = memtb_cache_alloc(cache, GFP_ATOMIC, NUMA_NO_NODE);
	rcu_read_unlock();
	KUNIT_EXPECT_NOT_NULL(test, next);
	KUNIT_EXPECT_PTR_NE(test, next, obj);
	memtb_cache_free(cache, next);
	KUNIT_EXPECT_EQ(test, memtb_cache_destroy(cache), 0);
}

static void empty_pages_go_home_unasked(struct kunit *test)
{
	struct memtb_new_test *t = test->priv;
	struct memtb_cache *cache = memtb_new_cache(test, MEMTB_NEW_ODD, 0);
	void *obj[8 * MEMTB_NEW_FIT];
	int i;

	for (i = 0; i < ARRAY_SIZE(obj); i++)
		obj[i] = memtb_new_object(test, cache);
	/* Eight of objects, one of descriptors. */
	KUNIT_EXPECT_EQ(test, memtb_new_pages(test), 9);
	while (i--)
		memtb_cache_free(cache, obj[i]);
	KUNIT_EXPECT_EQ(test, memtb_new_pages(test), 2);
	KUNIT_EXPECT_EQ(test, memtb_cache_destroy(cache), 0);
	KUNIT_EXPECT_EQ(test, memtb_new_pages(test), 1);
	KUNIT_EXPECT_EQ(test, memtb_heap_shrink(t->heap), 1);
}

static void descriptors_of_pages_are_of_no_class(struct kunit *test)
{
	struct memtb_new_test *t = test->priv;
	void *block = memtb_new_block(test, 64);
	struct memtb_place *page = memtb_place(t->new, block);

	KUNIT_EXPECT_PTR_EQ(test, page->arena, memtb_slob_new_class(t->new, 64));
	KUNIT_EXPECT_PTR_EQ(test, memtb_place(t->new, page), &t->new->bigs.place);
	memtb_free(t->heap, block);
}

static void check_looks_at_every_stack(struct kunit *test)
{
	struct memtb_new_test *t = test->priv;
	struct memtb_cache *cache = memtb_new_cache(test, 64, 0);

	memtb_new_planted(test);
	memtb_new_arena(cache)->stack.nr_pages++;
	memtb_slob_new_class(t->new, 192)->stack.nr_pages++;
	t->new->bigs.stack.nr_pages++;
	KUNIT_EXPECT_EQ(test, memtb_heap_check(t->heap), 3);
	memtb_new_arena(cache)->stack.nr_pages--;
	memtb_slob_new_class(t->new, 192)->stack.nr_pages--;
	t->new->bigs.stack.nr_pages--;
	KUNIT_EXPECT_EQ(test, memtb_cache_destroy(cache), 0);
}

static struct kunit_case memtb_slob_new_cases[] = {
	KUNIT_CASE(classes_are_the_powers_of_two),
	KUNIT_CASE(usable_size_is_that_of_the_class),
	KUNIT_CASE(sizes_are_rounded_to_the_powers_of_two),
	KUNIT_CASE(a_block_has_no_header),
	KUNIT_CASE(more_than_half_a_page_is_a_big_block),
	KUNIT_CASE(a_big_block_without_pages_leaves_no_descriptor),
	KUNIT_CASE(an_object_of_more_than_half_a_page_is_pages),
	KUNIT_CASE(a_footer_must_fit_in_the_largest_size),
	KUNIT_CASE(a_search_ends_with_the_first_block),
	KUNIT_CASE(a_free_does_not_walk_other_caches),
	KUNIT_CASE(shrink_returns_pages_that_are_wholly_free),
	KUNIT_CASE(neighbouring_pages_come_apart),
	KUNIT_CASE(destroying_a_cache_returns_its_pages),
	KUNIT_CASE(a_failed_allocation_counts_nothing),
	KUNIT_CASE(an_object_of_another_cache_is_refused),
	KUNIT_CASE(where_no_object_begins_nothing_is_freed),
	KUNIT_CASE(an_object_of_pages_is_freed_at_its_beginning),
	KUNIT_CASE(a_second_free_changes_nothing),
	KUNIT_CASE(a_second_free_finds_a_type_safe_object),
	KUNIT_CASE(a_type_safe_object_waits_in_its_place),
	{}
};

/* Both options at once, and what has to be as without them. */
static struct kunit_case memtb_slob_new_both_cases[] = {
	KUNIT_CASE(classes_between_waste_less),
	KUNIT_CASE(a_page_has_room_for_more_of_them),
	KUNIT_CASE(a_footer_must_fit_in_the_largest_size),
	KUNIT_CASE(empty_pages_go_home_unasked),
	KUNIT_CASE(a_failed_allocation_counts_nothing),
	KUNIT_CASE(an_object_of_another_cache_is_refused),
	KUNIT_CASE(where_no_object_begins_nothing_is_freed),
	KUNIT_CASE(an_object_of_pages_is_freed_at_its_beginning),
	KUNIT_CASE(a_second_free_changes_nothing),
	KUNIT_CASE(a_second_free_finds_a_type_safe_object),
	KUNIT_CASE(a_type_safe_object_waits_in_its_place),
	KUNIT_CASE(descriptors_of_pages_are_of_no_class),
	KUNIT_CASE(check_looks_at_every_stack),
	{}
};

static struct kunit_suite memtb_slob_new_suite = {
	.name = "memtb_slob_new",
	.init = memtb_new_test_init,
	.exit = memtb_new_test_exit,
	.test_cases = memtb_slob_new_cases,
};

static struct kunit_suite memtb_slob_new_both_suite = {
	.name = "memtb_slob_new_both",
	.init = memtb_new_both_test_init,
	.exit = memtb_new_test_exit,
	.test_cases = memtb_slob_new_both_cases,
};
kunit_test_suites(&memtb_slob_new_suite, &memtb_slob_new_both_suite);
