// SPDX-License-Identifier: GPL-2.0
/*
 * memtb_slob_page: SLOB by pages from the inside.
 *
 * The backend's source is compiled into this module a second time, so that the
 * tests see its lists and descriptors; the free list of a page has the suite
 * memtb_slob_blocks.
 */
#include <kunit/test.h>

#include "../module/backend/slob_page.c"
#include "conformance.h"

/* A cache per list; objects of each fill a page without a rest. */
static const size_t memtb_slobp_sizes[MEMTB_SLOBP_NR_LISTS] = { 64, 512, 1024 };

/* A page's objects, at most. */
#define MEMTB_SLOBP_MANY	(PAGE_SIZE / 64)

struct memtb_slobp_test {
	struct memtb_heap *heap;
	struct memtb_slobp *sp;
	struct memtb_cache *cache[MEMTB_SLOBP_NR_LISTS];
};

static int memtb_slobp_test_init(struct kunit *test)
{
	struct memtb_slobp_test *t = kunit_kzalloc(test, sizeof(*t), GFP_KERNEL);
	int i;

	if (!t)
		return -ENOMEM;
	t->heap = memtb_heap_create(&memtb_backend_slob_page, "page", NULL);
	if (IS_ERR(t->heap))
		return PTR_ERR(t->heap);
	t->sp = memtb_heap_priv(t->heap);
	test->priv = t;
	for (i = 0; i < MEMTB_SLOBP_NR_LISTS; i++) {
		t->cache[i] = memtb_cache_create(t->heap, "cache",
						 memtb_slobp_sizes[i], 0, 0, NULL);
		if (IS_ERR(t->cache[i]))
			return PTR_ERR(t->cache[i]);
	}
	return 0;
}

/* Every case frees what it allocated. */
static void memtb_slobp_test_exit(struct kunit *test)
{
	struct memtb_slobp_test *t = test->priv;

	if (!t)
		return;
	KUNIT_EXPECT_EQ(test, memtb_heap_check(t->heap), 0);
	KUNIT_EXPECT_EQ(test, memtb_heap_destroy(t->heap), 0);
}

/* Pages of objects.  Also for readers, who must not sleep for all counters. */
static long memtb_slobp_pages(struct kunit *test)
{
	struct memtb_slobp_test *t = test->priv;

	/* Not memtb_heap_stats(), which may sleep: a case asks as a reader. */
	return atomic_long_read(&t->heap->pages_now) -
	       atomic_long_read(&t->heap->pages_desc);
}

static u64 memtb_slobp_stat(struct kunit *test, enum memtb_stat stat)
{
	struct memtb_slobp_test *t = test->priv;

	return memtb_test_stats(t->heap).v[stat];
}

/* For cases that break things: see MEMTB_PLANTED. */
static void memtb_slobp_planted(struct kunit *test)
{
	struct memtb_slobp_test *t = test->priv;

	strscpy(t->heap->name, MEMTB_PLANTED, sizeof(t->heap->name));
}

static void *memtb_slobp_object(struct kunit *test, enum memtb_slobp_list list)
{
	struct memtb_slobp_test *t = test->priv;
	void *obj = memtb_cache_alloc(t->cache[list], GFP_KERNEL, NUMA_NO_NODE);

	KUNIT_ASSERT_NOT_NULL(test, obj);
	return obj;
}

static void *memtb_slobp_block(struct kunit *test, size_t size)
{
	struct memtb_slobp_test *t = test->priv;
	void *obj = memtb_alloc(t->heap, size, GFP_KERNEL, NUMA_NO_NODE);

	KUNIT_ASSERT_NOT_NULL(test, obj);
	return obj;
}

/* Fill a page with objects; their number. */
static int memtb_slobp_fill(struct kunit *test, enum memtb_slobp_list list,
			    void **obj)
{
	int i, nr = PAGE_SIZE / memtb_slobp_sizes[list];

	for (i = 0; i < nr; i++)
		obj[i] = memtb_slobp_object(test, list);
	return nr;
}

static void memtb_slobp_free_all(struct kunit *test, enum memtb_slobp_list list,
				 void **obj, int nr)
{
	struct memtb_slobp_test *t = test->priv;

	while (nr--)
		memtb_cache_free(t->cache[list], obj[nr]);
}

/* So many pages are in the lists. */
static void memtb_slobp_expect(struct kunit *test, int small, int medium,
			       int large)
{
	const int want[MEMTB_SLOBP_NR_LISTS] = { small, medium, large };
	struct memtb_slobp_test *t = test->priv;
	struct list_head *node;
	int i, nr;

	for (i = 0; i < MEMTB_SLOBP_NR_LISTS; i++) {
		nr = 0;
		list_for_each(node, &t->sp->pages[i])
			nr++;
		KUNIT_EXPECT_EQ_MSG(test, nr, want[i], "list %d", i);
	}
	KUNIT_EXPECT_EQ(test, t->sp->nr_pages, small + medium + large);
}

/* Whether the page of @obj is the one that a search begins with. */
static bool memtb_slobp_is_first(struct kunit *test, enum memtb_slobp_list list,
				 const void *obj)
{
	struct memtb_slobp_test *t = test->priv;

	return list_is_first(&memtb_slobp_page(t->sp, obj)->node,
			     &t->sp->pages[list]);
}

/* ---- lists ---- */

static void lists_break_at_256_and_1024(struct kunit *test)
{
	static const size_t size[] = { 8, 255, 256, 1023, 1024, PAGE_SIZE - 16 };
	struct memtb_slobp_test *t = test->priv;
	void *obj[ARRAY_SIZE(size)];
	int i;

	/* The header counts. */
	for (i = 0; i < ARRAY_SIZE(size); i++)
		obj[i] = memtb_slobp_block(test, size[i] - (i ? MEMTB_SLOBP_HEADER : 0));
	KUNIT_EXPECT_EQ(test, memtb_slobp_pages(test), 4);
	memtb_slobp_expect(test, 1, 1, 2);
	KUNIT_EXPECT_PTR_EQ(test, memtb_slobp_page(t->sp, obj[0]),
			    memtb_slobp_page(t->sp, obj[1]));
	KUNIT_EXPECT_PTR_EQ(test, memtb_slobp_page(t->sp, obj[2]),
			    memtb_slobp_page(t->sp, obj[3]));
	KUNIT_EXPECT_PTR_NE(test, memtb_slobp_page(t->sp, obj[1]),
			    memtb_slobp_page(t->sp, obj[2]));
	for (i = 0; i < ARRAY_SIZE(size); i++)
		memtb_free(t->heap, obj[i]);
	memtb_slobp_expect(test, 0, 0, 0);
}

static void a_full_page_is_in_no_list(struct kunit *test)
{
	void *obj[MEMTB_SLOBP_MANY];
	int nr = memtb_slobp_fill(test, MEMTB_SLOBP_SMALL, obj);

	memtb_slobp_expect(test, 0, 0, 0);
	KUNIT_EXPECT_EQ(test, memtb_slobp_pages(test), 1);
	memtb_slobp_free_all(test, MEMTB_SLOBP_SMALL, obj, nr);
}

/* Two full pages; an object of the second, and of the first, is freed. */
static void a_page_without_units_enough_is_not_walked(struct kunit *test)
{
	struct memtb_slobp_test *t = test->priv;
	struct memtb_cache *wide = memtb_cache_create(t->heap, "wide", 128, 0, 0, NULL);
	void *one[MEMTB_SLOBP_MANY], *two[MEMTB_SLOBP_MANY], *obj;
	int nr = memtb_slobp_fill(test, MEMTB_SLOBP_SMALL, one);
	u64 before;

	KUNIT_ASSERT_FALSE(test, IS_ERR(wide));
	memtb_slobp_fill(test, MEMTB_SLOBP_SMALL, two);
	memtb_cache_free(t->cache[MEMTB_SLOBP_SMALL], two[9]);
	memtb_cache_free(t->cache[MEMTB_SLOBP_SMALL], two[5]);
	memtb_cache_free(t->cache[MEMTB_SLOBP_SMALL], one[7]);
	before = memtb_slobp_stat(test, MEMTB_STAT_LIST_STEPS);
	obj = memtb_cache_alloc(wide, GFP_KERNEL, NUMA_NO_NODE);
	/*
	 * The first is not worth a look, the second is, in vain: 1 and 1 + 2; then
	 * a new page and its block.
	 */
	KUNIT_EXPECT_EQ(test, memtb_slobp_stat(test, MEMTB_STAT_LIST_STEPS) - before,
			1 + 3 + 2);
	KUNIT_EXPECT_EQ(test, memtb_slobp_pages(test), 3);
	memtb_cache_free(wide, obj);
	two[9] = two[nr - 1];
	two[5] = two[nr - 2];
	one[7] = one[nr - 1];
	memtb_slobp_free_all(test, MEMTB_SLOBP_SMALL, one, nr - 1);
	memtb_slobp_free_all(test, MEMTB_SLOBP_SMALL, two, nr - 2);
}

static void the_search_goes_on_with_the_page_that_served_last(struct kunit *test)
{
	struct memtb_slobp_test *t = test->priv;
	struct memtb_cache *cache = t->cache[MEMTB_SLOBP_MEDIUM];
	void *obj[3][8], *again, *half;
	int i, nr = 0;

	for (i = 0; i < 3; i++)
		nr = memtb_slobp_fill(test, MEMTB_SLOBP_MEDIUM, obj[i]);
	KUNIT_ASSERT_EQ(test, nr, 8);
	/* Two places in page 0, which comes last now; one in 1 and in 2. */
	memtb_cache_free(cache, obj[0][2]);
	memtb_cache_free(cache, obj[0][3]);
	memtb_cache_free(cache, obj[1][3]);
	memtb_cache_free(cache, obj[2][3]);
	KUNIT_EXPECT_TRUE(test, memtb_slobp_is_first(test, MEMTB_SLOBP_MEDIUM, obj[2][0]));
	/* Fits in page 0 only, and leaves room there. */
	half = memtb_slobp_block(test, 700);
	KUNIT_EXPECT_PTR_EQ(test, half - MEMTB_SLOBP_HEADER, obj[0][2]);
	KUNIT_EXPECT_TRUE(test, memtb_slobp_is_first(test, MEMTB_SLOBP_MEDIUM, obj[0][0]));
	/* Turned, not moved: behind 0 comes what was first, 2, and then 1. */
	KUNIT_EXPECT_PTR_EQ(test, list_next_entry(memtb_slobp_page(t->sp, half), node),
			    memtb_slobp_page(t->sp, obj[2][0]));
	/* Page 2 becomes full: nothing is turned. */
	again = memtb_slobp_object(test, MEMTB_SLOBP_MEDIUM);
	KUNIT_EXPECT_PTR_EQ(test, again, obj[2][3]);
	memtb_slobp_expect(test, 0, 2, 0);
	KUNIT_EXPECT_TRUE(test, memtb_slobp_is_first(test, MEMTB_SLOBP_MEDIUM, obj[0][0]));
	memtb_free(t->heap, half);
	obj[0][2] = obj[0][7];
	obj[0][3] = obj[0][6];
	obj[1][3] = obj[1][7];
	memtb_slobp_free_all(test, MEMTB_SLOBP_MEDIUM, obj[0], 6);
	memtb_slobp_free_all(test, MEMTB_SLOBP_MEDIUM, obj[1], 7);
	memtb_slobp_free_all(test, MEMTB_SLOBP_MEDIUM, obj[2], 8);
}

/* Turning: 0 1 2 becomes 1 2 0, not 1 0 2. */
static void the_list_is_turned_as_a_ring(struct kunit *test)
{
	struct memtb_slobp_test *t = test->priv;
	struct memtb_cache *cache = t->cache[MEMTB_SLOBP_MEDIUM];
	struct memtb_slobp_page *page[3];
	void *obj[3][8], *big;
	int i;

	for (i = 2; i >= 0; i--) {
		memtb_slobp_fill(test, MEMTB_SLOBP_MEDIUM, obj[i]);
		page[i] = memtb_slobp_page(t->sp, obj[i][0]);
	}
	for (i = 2; i >= 0; i--) {
		memtb_cache_free(cache, obj[i][1]);
		if (i == 1)
			memtb_cache_free(cache, obj[i][2]);
	}
	big = memtb_slobp_block(test, 700);
	KUNIT_EXPECT_PTR_EQ(test, memtb_slobp_page(t->sp, big), page[1]);
	KUNIT_EXPECT_PTR_EQ(test, list_next_entry(page[1], node), page[2]);
	KUNIT_EXPECT_PTR_EQ(test, list_next_entry(page[2], node), page[0]);
	memtb_free(t->heap, big);
	for (i = 0; i < 3; i++) {
		obj[i][1] = obj[i][7];
		obj[i][2] = i == 1 ? obj[i][6] : obj[i][2];
		memtb_slobp_free_all(test, MEMTB_SLOBP_MEDIUM, obj[i], i == 1 ? 6 : 7);
	}
}

static void an_empty_page_goes_home_at_once(struct kunit *test)
{
	struct memtb_slobp_test *t = test->priv;
	void *obj = memtb_slobp_object(test, MEMTB_SLOBP_SMALL);
	void *whole[MEMTB_SLOBP_MANY];
	int nr;

	KUNIT_EXPECT_EQ(test, memtb_slobp_pages(test), 1);
	memtb_cache_free(t->cache[MEMTB_SLOBP_SMALL], obj);
	KUNIT_EXPECT_EQ(test, memtb_slobp_pages(test), 0);
	memtb_slobp_expect(test, 0, 0, 0);
	nr = memtb_slobp_fill(test, MEMTB_SLOBP_SMALL, whole);
	memtb_slobp_free_all(test, MEMTB_SLOBP_SMALL, whole + 1, nr - 1);
	KUNIT_EXPECT_EQ(test, memtb_slobp_pages(test), 1);
	memtb_slobp_free_all(test, MEMTB_SLOBP_SMALL, whole, 1);
	KUNIT_EXPECT_EQ(test, memtb_slobp_pages(test), 0);
	/* The page of descriptors is what is left to shrink. */
	KUNIT_EXPECT_EQ(test, memtb_test_stats(t->heap).pages_desc, 1);
	KUNIT_EXPECT_EQ(test, memtb_heap_shrink(t->heap), 1);
	KUNIT_EXPECT_EQ(test, memtb_test_stats(t->heap).pages_now, 0);
}

/* Half a page of medium objects, half of large ones: both came to the medium list. */
static void memtb_slobp_come_back(struct kunit *test, unsigned long options,
				  enum memtb_slobp_list by_medium,
				  enum memtb_slobp_list by_large)
{
	struct memtb_slobp_test *t = test->priv;
	struct memtb_cache **cache = t->cache;
	void *medium[4], *wide, *rest;
	int i, pages[MEMTB_SLOBP_NR_LISTS] = {};

	t->heap->params.options = options;
	for (i = 0; i < 4; i++)
		medium[i] = memtb_slobp_object(test, MEMTB_SLOBP_MEDIUM);
	/* The page has to be in the list of large blocks for one to come into it. */
	list_move(&memtb_slobp_page(t->sp, medium[0])->node,
		  &t->sp->pages[MEMTB_SLOBP_LARGE]);
	wide = memtb_slobp_object(test, MEMTB_SLOBP_LARGE);
	rest = memtb_slobp_object(test, MEMTB_SLOBP_LARGE);
	KUNIT_EXPECT_EQ(test, memtb_slobp_pages(test), 1);
	memtb_slobp_expect(test, 0, 0, 0);

	pages[by_large] = 1;
	memtb_cache_free(cache[MEMTB_SLOBP_LARGE], wide);
	memtb_slobp_expect(test, pages[0], pages[1], pages[2]);
	list_move(&memtb_slobp_page(t->sp, rest)->node,
		  &t->sp->pages[MEMTB_SLOBP_LARGE]);
	wide = memtb_slobp_object(test, MEMTB_SLOBP_LARGE);
	memtb_slobp_expect(test, 0, 0, 0);

	pages[by_large] = 0;
	pages[by_medium] = 1;
	memtb_cache_free(cache[MEMTB_SLOBP_MEDIUM], medium[2]);
	memtb_slobp_expect(test, pages[0], pages[1], pages[2]);
	/* No longer full: what is freed next does not move it. */
	memtb_cache_free(cache[MEMTB_SLOBP_LARGE], wide);
	memtb_slobp_expect(test, pages[0], pages[1], pages[2]);
	memtb_cache_free(cache[MEMTB_SLOBP_LARGE], rest);
	medium[2] = medium[3];
	memtb_slobp_free_all(test, MEMTB_SLOBP_MEDIUM, medium, 3);
}

static void a_full_page_comes_back_by_what_was_freed(struct kunit *test)
{
	memtb_slobp_come_back(test, 0, MEMTB_SLOBP_MEDIUM, MEMTB_SLOBP_LARGE);
}

static void with_list2008_it_comes_back_to_the_small_ones(struct kunit *test)
{
	memtb_slobp_come_back(test, BIT(MEMTB_SLOBP_LIST2008),
			      MEMTB_SLOBP_SMALL, MEMTB_SLOBP_SMALL);
}

static void a_page_of_another_node_is_passed_over(struct kunit *test)
{
	struct memtb_slobp_test *t = test->priv;
	struct memtb_cache *cache = t->cache[MEMTB_SLOBP_SMALL];
	void *far = memtb_slobp_object(test, MEMTB_SLOBP_SMALL), *near, *any;
	int nid = memtb_slobp_page(t->sp, far)->nid;

	memtb_slobp_page(t->sp, far)->nid = nid + 1;
	near = memtb_cache_alloc(cache, GFP_KERNEL, nid);
	KUNIT_ASSERT_NOT_NULL(test, near);
	KUNIT_EXPECT_EQ(test, memtb_slobp_pages(test), 2);
	/* Who asks for no node takes what comes first: move far to the front. */
	list_move(&memtb_slobp_page(t->sp, far)->node,
		  &t->sp->pages[MEMTB_SLOBP_SMALL]);
	any = memtb_slobp_object(test, MEMTB_SLOBP_SMALL);
	KUNIT_EXPECT_PTR_EQ(test, memtb_slobp_page(t->sp, any),
			    memtb_slobp_page(t->sp, far));
	memtb_cache_free(cache, any);
	memtb_cache_free(cache, near);
	memtb_cache_free(cache, far);
}

static void a_failed_page_leaves_no_descriptor(struct kunit *test)
{
	struct memtb_slobp_test *t = test->priv;

	t->heap->params.max_pages = 1;
	KUNIT_EXPECT_NULL(test, memtb_alloc(t->heap, 100, GFP_KERNEL, NUMA_NO_NODE));
	KUNIT_EXPECT_NULL(test, memtb_alloc(t->heap, PAGE_SIZE, GFP_KERNEL,
					    NUMA_NO_NODE));
	KUNIT_EXPECT_EQ(test, memtb_heap_shrink(t->heap), 1);
	KUNIT_EXPECT_EQ(test, memtb_test_stats(t->heap).pages_now, 0);
}

/* ---- sizes ---- */

static void a_header_says_the_length(struct kunit *test)
{
	static const size_t size[] = { 1, 2, 3, 8, 33, 1000, PAGE_SIZE - 200 };
	struct memtb_slobp_test *t = test->priv;
	void *obj;
	int i;

	for (i = 0; i < ARRAY_SIZE(size); i++) {
		obj = memtb_slobp_block(test, size[i]);
		KUNIT_EXPECT_EQ(test, *(u32 *)(obj - MEMTB_SLOBP_HEADER), size[i]);
		KUNIT_EXPECT_EQ(test, memtb_size(t->heap, obj), ALIGN(size[i], 2));
		KUNIT_EXPECT_EQ(test, memtb_slobp_page(t->sp, obj)->blocks.units,
				MEMTB_BLOCKS_ALL -
				memtb_blocks_units(size[i] + MEMTB_SLOBP_HEADER));
		memtb_free(t->heap, obj);
	}
}

/* How many blocks of a size come out of one page. */
static int memtb_slobp_room(struct kunit *test, size_t size)
{
	struct memtb_slobp_test *t = test->priv;
	void *obj[MEMTB_SLOBP_MANY];
	int i, nr = 0;

	do
		obj[nr++] = memtb_slobp_block(test, size);
	while (memtb_slobp_pages(test) == 1 && nr < MEMTB_SLOBP_MANY);
	for (i = 0; i < nr; i++)
		memtb_free(t->heap, obj[i]);
	return nr - 1;
}

/* A header in front of an aligned block lies where another one could end. */
static void every_second_place_is_lost_to_headers(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, memtb_slobp_room(test, PAGE_SIZE / 8), 4);
	KUNIT_EXPECT_EQ(test, memtb_slobp_room(test, PAGE_SIZE / 4), 2);
	KUNIT_EXPECT_EQ(test, memtb_slobp_room(test, PAGE_SIZE / 2), 1);
}

static void with_align2019_blocks_lie_close(struct kunit *test)
{
	struct memtb_slobp_test *t = test->priv;

	t->heap->params.options = BIT(MEMTB_SLOBP_ALIGN2019);
	KUNIT_EXPECT_EQ(test, memtb_slobp_room(test, PAGE_SIZE / 8), 7);
	KUNIT_EXPECT_EQ(test, memtb_slobp_room(test, PAGE_SIZE / 4), 3);
	KUNIT_EXPECT_EQ(test, memtb_slobp_room(test, PAGE_SIZE / 2), 1);
}

static void holes_before_aligned_blocks_are_used(struct kunit *test)
{
	struct memtb_slobp_test *t = test->priv;
	size_t hole = 512 - 2 * MEMTB_SLOBP_HEADER;
	void *one = memtb_slobp_block(test, 512), *two = memtb_slobp_block(test, 512);
	void *first = memtb_slobp_block(test, hole);
	void *second = memtb_slobp_block(test, hole);

	KUNIT_EXPECT_EQ(test, offset_in_page(first), MEMTB_SLOBP_HEADER);
	KUNIT_EXPECT_EQ(test, offset_in_page(one), 512);
	KUNIT_EXPECT_EQ(test, offset_in_page(second), 1024 + MEMTB_SLOBP_HEADER);
	KUNIT_EXPECT_EQ(test, offset_in_page(two), 1536);
	KUNIT_EXPECT_EQ(test, memtb_slobp_pages(test), 1);
	memtb_free(t->heap, one);
	memtb_free(t->heap, two);
	memtb_free(t->heap, first);
	memtb_free(t->heap, second);
}

static void from_a_page_less_a_header_a_block_is_pages(struct kunit *test)
{
	static const size_t sizes[][2] = {
		{ PAGE_SIZE - MEMTB_SLOBP_HEADER - 1, PAGE_SIZE - MEMTB_SLOBP_HEADER },
		{ PAGE_SIZE - MEMTB_SLOBP_HEADER, PAGE_SIZE },
		{ PAGE_SIZE, PAGE_SIZE }, { PAGE_SIZE + 1, 2 * PAGE_SIZE },
		{ 5 * PAGE_SIZE, 8 * PAGE_SIZE },
	};
	struct memtb_slobp_test *t = test->priv;
	void *obj;
	int i;

	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		obj = memtb_slobp_block(test, sizes[i][0]);
		KUNIT_EXPECT_EQ(test, memtb_size(t->heap, obj), sizes[i][1]);
		KUNIT_EXPECT_EQ(test, memtb_slobp_pages(test),
				DIV_ROUND_UP(sizes[i][1], PAGE_SIZE));
		KUNIT_EXPECT_EQ(test, !memtb_slobp_page(t->sp, obj)->whose, !i);
		memtb_free(t->heap, obj);
		KUNIT_EXPECT_EQ(test, memtb_slobp_pages(test), 0);
	}
}

static void from_a_page_an_object_is_pages(struct kunit *test)
{
	static const size_t sizes[][2] = {
		{ PAGE_SIZE - 2, 1 }, { PAGE_SIZE - 1, 1 }, { PAGE_SIZE, 1 },
		{ PAGE_SIZE + 1, 2 },
	};
	struct memtb_slobp_test *t = test->priv;
	struct memtb_cache *cache;
	void *obj;
	int i;

	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		cache = memtb_cache_create(t->heap, "large", sizes[i][0], 0, 0, NULL);
		KUNIT_ASSERT_FALSE(test, IS_ERR(cache));
		obj = memtb_cache_alloc(cache, GFP_KERNEL, NUMA_NO_NODE);
		KUNIT_ASSERT_NOT_NULL(test, obj);
		KUNIT_EXPECT_PTR_EQ(test, memtb_slobp_page(t->sp, obj)->whose,
				    (const void *)(i ? cache : NULL));
		KUNIT_EXPECT_EQ(test, memtb_slobp_pages(test), sizes[i][1]);
		memtb_cache_free(cache, obj);
		KUNIT_EXPECT_EQ(test, memtb_cache_destroy(cache), 0);
	}
}

/* ---- type-safe by RCU ---- */

static void a_type_safe_object_waits_with_a_footer(struct kunit *test)
{
	struct memtb_slobp_test *t = test->priv;
	struct memtb_slobp_cache *sc;
	struct memtb_cache *cache;
	void *obj;

	cache = memtb_cache_create(t->heap, "rcu", 50, 0, SLAB_TYPESAFE_BY_RCU, NULL);
	KUNIT_ASSERT_FALSE(test, IS_ERR(cache));
	sc = memtb_cache_priv(cache);
	KUNIT_EXPECT_EQ(test, sc->footer, ALIGN(50, sizeof(void *)));
	KUNIT_EXPECT_EQ(test, sc->size,
			sc->footer + sizeof(struct memtb_slob_footer));
	obj = memtb_cache_alloc(cache, GFP_KERNEL, NUMA_NO_NODE);
	KUNIT_ASSERT_NOT_NULL(test, obj);
	memset(obj, 0x5a, 50);
	rcu_read_lock();
	memtb_cache_free(cache, obj);
	KUNIT_EXPECT_EQ(test, memtb_slobp_pages(test), 1);
	KUNIT_EXPECT_NULL(test, memchr_inv(obj, 0x5a, 50));
	rcu_read_unlock();
	rcu_barrier();
	KUNIT_EXPECT_EQ(test, memtb_slobp_pages(test), 0);
	KUNIT_EXPECT_EQ(test, memtb_cache_destroy(cache), 0);
}

static void a_footer_must_fit_in_the_largest_size(struct kunit *test)
{
	struct memtb_slobp_test *t = test->priv;
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

/* ---- what is refused ---- */

static void memtb_slobp_expect_bad_frees(struct kunit *test, u64 nr)
{
	struct memtb_slobp_test *t = test->priv;

	KUNIT_EXPECT_EQ(test, memtb_slobp_stat(test, MEMTB_STAT_BAD_FREES), nr);
	KUNIT_EXPECT_EQ(test, memtb_heap_check(t->heap), 0);
}

static void a_second_free_is_refused(struct kunit *test)
{
	struct memtb_slobp_test *t = test->priv;
	struct memtb_cache *cache = t->cache[MEMTB_SLOBP_MEDIUM];
	void *obj[8], *block = memtb_slobp_block(test, 40);
	void *next = memtb_slobp_block(test, 40);
	int nr = memtb_slobp_fill(test, MEMTB_SLOBP_MEDIUM, obj);

	memtb_slobp_planted(test);
	memtb_cache_free(cache, obj[2]);
	memtb_cache_free(cache, obj[2]);
	memtb_slobp_expect_bad_frees(test, 1);
	/* Half of the page; were the next free counted twice, all of it. */
	memtb_slobp_free_all(test, MEMTB_SLOBP_MEDIUM, obj + 3, 5);
	memtb_cache_free(cache, obj[5]);
	memtb_cache_free(cache, obj[3]);
	memtb_slobp_expect_bad_frees(test, 3);
	memtb_cache_free(cache, obj[0]);
	/* The last one but one is free; one is out. */
	memtb_cache_free(cache, obj[0]);
	memtb_slobp_expect_bad_frees(test, 4);
	KUNIT_EXPECT_EQ(test, memtb_slobp_pages(test), 2);
	memtb_cache_free(cache, obj[1]);
	KUNIT_EXPECT_EQ(test, memtb_slobp_pages(test), 1);

	memtb_free(t->heap, block);
	memtb_free(t->heap, block);
	memtb_slobp_expect_bad_frees(test, 5);
	memtb_free(t->heap, next);
	KUNIT_EXPECT_EQ(test, nr, 8);
	KUNIT_EXPECT_EQ(test, memtb_test_stats(t->heap).objects_live, 0);
}

/* A second free whose units would make the page look empty. */
static void a_second_free_does_not_take_the_page_away(struct kunit *test)
{
	struct memtb_slobp_test *t = test->priv;
	struct memtb_cache *half = memtb_cache_create(t->heap, "half", PAGE_SIZE / 2,
						      0, 0, NULL);
	void *one, *two;

	KUNIT_ASSERT_FALSE(test, IS_ERR(half));
	memtb_slobp_planted(test);
	one = memtb_cache_alloc(half, GFP_KERNEL, NUMA_NO_NODE);
	two = memtb_cache_alloc(half, GFP_KERNEL, NUMA_NO_NODE);
	memtb_cache_free(half, one);
	memtb_cache_free(half, one);
	memtb_slobp_expect_bad_frees(test, 1);
	KUNIT_EXPECT_EQ(test, memtb_slobp_pages(test), 1);
	memtb_cache_free(half, two);
}

static void where_nothing_can_begin_nothing_is_freed(struct kunit *test)
{
	struct memtb_slobp_test *t = test->priv;
	struct memtb_cache *cache = t->cache[MEMTB_SLOBP_MEDIUM];
	void *obj = memtb_slobp_object(test, MEMTB_SLOBP_MEDIUM);
	void *large = memtb_slobp_block(test, 3 * PAGE_SIZE);
	void *descriptor = memtb_slobp_page(t->sp, large);
	void *block = memtb_slobp_block(test, 100);
	void *base = memtb_slobp_page(t->sp, block)->blocks.base;
	void *bad[] = { large + PAGE_SIZE, large + 64, descriptor, base, block + 1 };
	int i;

	memtb_slobp_planted(test);
	memtb_cache_free(cache, obj + 1);
	memtb_cache_free(cache, PTR_ALIGN(obj + 1, PAGE_SIZE) - 8);
	memtb_cache_free(cache, descriptor);
	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		KUNIT_EXPECT_EQ(test, memtb_size(t->heap, bad[i]), 0);
		memtb_free(t->heap, bad[i]);
	}
	memtb_slobp_expect_bad_frees(test, 3 + ARRAY_SIZE(bad));
	memtb_free(t->heap, block);
	memtb_free(t->heap, large);
	memtb_cache_free(cache, obj);
	memtb_slobp_expect_bad_frees(test, 3 + ARRAY_SIZE(bad));
}

static void a_header_that_cannot_be_is_no_block(struct kunit *test)
{
	struct memtb_slobp_test *t = test->priv;
	void *front = memtb_slobp_block(test, 100);
	void *block = memtb_slobp_block(test, 100);
	u32 bad[] = { 0, PAGE_SIZE - 100, PAGE_SIZE, U32_MAX, 1024 }, *header;
	int i;

	memtb_slobp_planted(test);
	header = block - MEMTB_SLOBP_HEADER;
	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		*header = bad[i];
		memtb_free(t->heap, block);
		KUNIT_EXPECT_EQ(test, memtb_size(t->heap, block), 0);
	}
	*header = 100;
	memtb_slobp_expect_bad_frees(test, ARRAY_SIZE(bad));
	memtb_free(t->heap, block);
	memtb_free(t->heap, front);
}

static void an_object_of_the_other_kind_is_refused(struct kunit *test)
{
	struct memtb_slobp_test *t = test->priv;
	struct memtb_cache *one, *other, *small = t->cache[MEMTB_SLOBP_SMALL];
	void *obj, *block = memtb_slobp_block(test, PAGE_SIZE);

	one = memtb_cache_create(t->heap, "one", PAGE_SIZE, 0, 0, NULL);
	other = memtb_cache_create(t->heap, "other", PAGE_SIZE, 0, 0, NULL);
	KUNIT_ASSERT_FALSE(test, IS_ERR(one) || IS_ERR(other));
	obj = memtb_cache_alloc(one, GFP_KERNEL, NUMA_NO_NODE);
	KUNIT_ASSERT_NOT_NULL(test, obj);
	memtb_slobp_planted(test);
	memtb_cache_free(other, obj);
	memtb_cache_free(small, obj);
	memtb_cache_free(one, block);
	memtb_free(t->heap, obj);
	KUNIT_EXPECT_EQ(test, memtb_size(t->heap, obj), 0);
	memtb_slobp_expect_bad_frees(test, 4);
	memtb_cache_free(one, obj);
	memtb_free(t->heap, block);
	memtb_slobp_expect_bad_frees(test, 4);
}

/* ---- the check ---- */

static void damage_is_found(struct kunit *test)
{
	struct memtb_slobp_test *t = test->priv;
	void *one = memtb_slobp_object(test, MEMTB_SLOBP_SMALL);
	void *two = memtb_slobp_object(test, MEMTB_SLOBP_LARGE);
	struct memtb_slobp_page *page = memtb_slobp_page(t->sp, two);

	KUNIT_EXPECT_EQ(test, memtb_heap_check(t->heap), 0);
	memtb_slobp_planted(test);
	page->blocks.units++;
	KUNIT_EXPECT_EQ(test, memtb_heap_check(t->heap), 1);
	memtb_slobp_page(t->sp, one)->blocks.free->word--;
	KUNIT_EXPECT_EQ(test, memtb_heap_check(t->heap), 2);
	memtb_slobp_page(t->sp, one)->blocks.free->word++;
	page->blocks.units--;
	/* A page lost, and one too many. */
	list_del(&page->node);
	KUNIT_EXPECT_EQ(test, memtb_heap_check(t->heap), 1);
	list_add(&page->node, &t->sp->pages[MEMTB_SLOBP_MEDIUM]);
	t->sp->nr_pages--;
	KUNIT_EXPECT_EQ(test, memtb_heap_check(t->heap), 1);
	t->sp->nr_pages++;
	page->owner.heap = t->heap;
	page->whose = t->heap;
	KUNIT_EXPECT_EQ(test, memtb_heap_check(t->heap), 1);
	page->whose = NULL;
	KUNIT_EXPECT_EQ(test, memtb_heap_check(t->heap), 0);
	memtb_cache_free(t->cache[MEMTB_SLOBP_SMALL], one);
	memtb_cache_free(t->cache[MEMTB_SLOBP_LARGE], two);
}

static struct kunit_case memtb_slob_page_cases[] = {
	KUNIT_CASE(lists_break_at_256_and_1024),
	KUNIT_CASE(a_full_page_is_in_no_list),
	KUNIT_CASE(a_page_without_units_enough_is_not_walked),
	KUNIT_CASE(the_search_goes_on_with_the_page_that_served_last),
	KUNIT_CASE(the_list_is_turned_as_a_ring),
	KUNIT_CASE(an_empty_page_goes_home_at_once),
	KUNIT_CASE(a_full_page_comes_back_by_what_was_freed),
	KUNIT_CASE(with_list2008_it_comes_back_to_the_small_ones),
	KUNIT_CASE(a_page_of_another_node_is_passed_over),
	KUNIT_CASE(a_failed_page_leaves_no_descriptor),
	KUNIT_CASE(a_header_says_the_length),
	KUNIT_CASE(every_second_place_is_lost_to_headers),
	KUNIT_CASE(with_align2019_blocks_lie_close),
	KUNIT_CASE(holes_before_aligned_blocks_are_used),
	KUNIT_CASE(from_a_page_less_a_header_a_block_is_pages),
	KUNIT_CASE(from_a_page_an_object_is_pages),
	KUNIT_CASE(a_type_safe_object_waits_with_a_footer),
	KUNIT_CASE(a_footer_must_fit_in_the_largest_size),
	KUNIT_CASE(a_second_free_is_refused),
	KUNIT_CASE(a_second_free_does_not_take_the_page_away),
	KUNIT_CASE(where_nothing_can_begin_nothing_is_freed),
	KUNIT_CASE(a_header_that_cannot_be_is_no_block),
	KUNIT_CASE(an_object_of_the_other_kind_is_refused),
	KUNIT_CASE(damage_is_found),
	{}
};

static struct kunit_suite memtb_slob_page_suite = {
	.name = "memtb_slob_page",
	.init = memtb_slobp_test_init,
	.exit = memtb_slobp_test_exit,
	.test_cases = memtb_slob_page_cases,
};
kunit_test_suite(memtb_slob_page_suite);
