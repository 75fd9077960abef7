// SPDX-License-Identifier: GPL-2.0
/*
 * memtb_slob_stack: pages of objects as stacks, from the inside, and the contract
 * with both options of slob-new at once.
 */
#include <kunit/test.h>

#include "../module/backend/slob_stack.c"
#include "conformance.h"

#define MEMTB_STACK_STRIDE	512
#define MEMTB_STACK_FIT		(PAGE_SIZE / MEMTB_STACK_STRIDE)

/**
 * struct memtb_stack_test - a pool in pages of a heap that is not used otherwise
 * @heap: the heap
 * @descs: descriptors of the pool's pages
 * @place: of the pages
 * @stack: the pool
 */
struct memtb_stack_test {
	struct memtb_heap *heap;
	struct memtb_desc_pool descs;
	struct memtb_place place;
	struct memtb_slob_stack stack;
};

static int memtb_stack_test_init(struct kunit *test)
{
	struct memtb_stack_test *t = kunit_kzalloc(test, sizeof(*t), GFP_KERNEL);

	if (!t)
		return -ENOMEM;
	t->heap = memtb_heap_create(&memtb_backend_slob_new, "stack", NULL);
	if (IS_ERR(t->heap))
		return PTR_ERR(t->heap);
	memtb_desc_init(&t->descs, t->heap, sizeof(struct memtb_slob_page));
	t->place.owner.heap = t->heap;
	t->place.arena = (void *)t;
	memtb_slob_stack_init(&t->stack, &t->descs, &t->place,
			      MEMTB_STACK_STRIDE);
	test->priv = t;
	return 0;
}

/* Every case gives back what it took. */
static void memtb_stack_test_exit(struct kunit *test)
{
	struct memtb_stack_test *t = test->priv;

	if (!t)
		return;
	KUNIT_EXPECT_EQ(test, memtb_slob_stack_check(&t->stack, "test"), 0);
	memtb_slob_stack_shrink(&t->stack);
	memtb_desc_shrink(&t->descs);
	KUNIT_EXPECT_EQ(test, memtb_heap_destroy(t->heap), 0);
}

/* For cases that break things: see MEMTB_PLANTED. */
static void memtb_stack_planted(struct kunit *test)
{
	struct memtb_stack_test *t = test->priv;

	strscpy(t->heap->name, MEMTB_PLANTED, sizeof(t->heap->name));
}

static u64 memtb_stack_pages(struct kunit *test)
{
	struct memtb_stack_test *t = test->priv;

	return memtb_test_stats(t->heap).pages_now;
}

static void *memtb_stack_take(struct kunit *test)
{
	struct memtb_stack_test *t = test->priv;
	void *obj = memtb_slob_stack_get(&t->stack, GFP_KERNEL, NUMA_NO_NODE);

	KUNIT_ASSERT_NOT_NULL(test, obj);
	return obj;
}

static void memtb_stack_take_all(struct kunit *test, void **obj, int nr)
{
	while (nr--)
		*obj++ = memtb_stack_take(test);
}

static void memtb_stack_give(struct kunit *test, void *obj)
{
	struct memtb_stack_test *t = test->priv;

	KUNIT_EXPECT_TRUE(test, memtb_slob_stack_put(&t->stack, obj));
}

static void memtb_stack_give_all(struct kunit *test, void **obj, int nr)
{
	while (nr--)
		memtb_stack_give(test, *obj++);
}

/* ---- the stack of a page ---- */

static void what_was_freed_last_comes_first(struct kunit *test)
{
	void *obj[3];

	memtb_stack_take_all(test, obj, 3);
	memtb_stack_give(test, obj[0]);
	memtb_stack_give(test, obj[2]);
	memtb_stack_give(test, obj[1]);
	KUNIT_EXPECT_PTR_EQ(test, memtb_stack_take(test), obj[1]);
	KUNIT_EXPECT_PTR_EQ(test, memtb_stack_take(test), obj[2]);
	KUNIT_EXPECT_PTR_EQ(test, memtb_stack_take(test), obj[0]);
	memtb_stack_give_all(test, obj, 3);
}

static void a_fresh_page_is_used_from_its_beginning(struct kunit *test)
{
	void *obj[MEMTB_STACK_FIT];
	int i;

	memtb_stack_take_all(test, obj, MEMTB_STACK_FIT);
	for (i = 0; i < MEMTB_STACK_FIT; i++) {
		KUNIT_EXPECT_EQ(test, offset_in_page(obj[i]),
				i * MEMTB_STACK_STRIDE);
		KUNIT_EXPECT_PTR_EQ(test, memtb_slob_page(obj[i]),
				    memtb_slob_page(obj[0]));
	}
	/* One of objects, one of descriptors. */
	KUNIT_EXPECT_EQ(test, memtb_stack_pages(test), 2);
	memtb_stack_give_all(test, obj, MEMTB_STACK_FIT);
}

/* What is left of a page behind the last whole object is nobody's. */
static void only_whole_objects_are_given_out(struct kunit *test)
{
	struct memtb_stack_test *t = test->priv;
	void *obj[PAGE_SIZE / 96];

	t->stack.stride = 96;
	memtb_stack_take_all(test, obj, PAGE_SIZE / 96);
	KUNIT_EXPECT_EQ(test, memtb_stack_pages(test), 2);
	KUNIT_EXPECT_EQ(test, offset_in_page(obj[PAGE_SIZE / 96 - 1]),
			(PAGE_SIZE / 96 - 1) * 96);
	KUNIT_EXPECT_EQ(test, t->stack.nr_pages, 0);
	memtb_stack_give_all(test, obj, PAGE_SIZE / 96);
}

static void the_smallest_objects_have_a_mark_each(struct kunit *test)
{
	struct memtb_stack_test *t = test->priv;
	int nr = MEMTB_SLOB_PAGE_UNITS;
	struct memtb_slob_page *page;
	void **obj = kunit_kmalloc_array(test, nr, sizeof(*obj), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, obj);
	t->stack.stride = MEMTB_SLOB_UNIT;
	memtb_stack_take_all(test, obj, nr);
	page = memtb_slob_page(obj[0]);
	KUNIT_EXPECT_EQ(test, page->used, nr);
	KUNIT_EXPECT_EQ(test, bitmap_weight(page->out, nr), nr);
	memtb_stack_give_all(test, obj, nr);
	KUNIT_EXPECT_TRUE(test, bitmap_empty(page->out, MEMTB_SLOB_PAGE_UNITS));
}

/* ---- the list of pages ---- */

static void a_full_page_leaves_the_list_and_comes_back(struct kunit *test)
{
	struct memtb_stack_test *t = test->priv;
	void *obj[MEMTB_STACK_FIT];

	memtb_stack_take_all(test, obj, MEMTB_STACK_FIT - 1);
	KUNIT_EXPECT_EQ(test, t->stack.nr_pages, 1);
	obj[MEMTB_STACK_FIT - 1] = memtb_stack_take(test);
	KUNIT_EXPECT_EQ(test, t->stack.nr_pages, 0);
	KUNIT_EXPECT_TRUE(test, list_empty(&t->stack.pages));
	memtb_stack_give(test, obj[3]);
	KUNIT_EXPECT_EQ(test, t->stack.nr_pages, 1);
	KUNIT_EXPECT_PTR_EQ(test, t->stack.pages.next,
			    &memtb_slob_page(obj[0])->node);
	KUNIT_EXPECT_PTR_EQ(test, memtb_stack_take(test), obj[3]);
	KUNIT_EXPECT_EQ(test, t->stack.nr_pages, 0);
	memtb_stack_give_all(test, obj, MEMTB_STACK_FIT);
}

static void a_page_comes_back_to_the_front(struct kunit *test)
{
	struct memtb_stack_test *t = test->priv;
	void *obj[MEMTB_STACK_FIT + 1];

	memtb_stack_take_all(test, obj, ARRAY_SIZE(obj));
	memtb_stack_give(test, obj[0]);
	KUNIT_EXPECT_EQ(test, t->stack.nr_pages, 2);
	KUNIT_EXPECT_PTR_EQ(test, memtb_stack_take(test), obj[0]);
	memtb_stack_give_all(test, obj, ARRAY_SIZE(obj));
}

static void one_empty_page_stays_and_no_more(struct kunit *test)
{
	struct memtb_stack_test *t = test->priv;
	void *obj[3 * MEMTB_STACK_FIT];
	int i;

	memtb_stack_take_all(test, obj, ARRAY_SIZE(obj));
	KUNIT_EXPECT_EQ(test, memtb_stack_pages(test), 4);
	for (i = 0; i < 3; i++) {
		memtb_stack_give_all(test, obj + i * MEMTB_STACK_FIT,
				     MEMTB_STACK_FIT - 1);
		KUNIT_EXPECT_EQ(test, memtb_stack_pages(test), i ? 5 - i : 4);
		memtb_stack_give(test, obj[(i + 1) * MEMTB_STACK_FIT - 1]);
		KUNIT_EXPECT_EQ(test, memtb_stack_pages(test), 4 - i);
		KUNIT_EXPECT_EQ(test, t->stack.nr_pages, 1);
	}
}

static void the_empty_page_is_used_last(struct kunit *test)
{
	struct memtb_stack_test *t = test->priv;
	void *obj[MEMTB_STACK_FIT + 1], *next;

	memtb_stack_take_all(test, obj, ARRAY_SIZE(obj));
	memtb_stack_give_all(test, obj, MEMTB_STACK_FIT);
	KUNIT_EXPECT_PTR_EQ(test, t->stack.empty, memtb_slob_page(obj[0]));
	next = memtb_stack_take(test);
	KUNIT_EXPECT_PTR_EQ(test, memtb_slob_page(next),
			    memtb_slob_page(obj[MEMTB_STACK_FIT]));
	KUNIT_EXPECT_NOT_NULL(test, t->stack.empty);
	memtb_stack_give(test, next);
	memtb_stack_give(test, obj[MEMTB_STACK_FIT]);
}

static void what_comes_and_goes_keeps_its_page(struct kunit *test)
{
	struct memtb_stack_test *t = test->priv;
	int i;

	for (i = 0; i < 100; i++)
		memtb_stack_give(test, memtb_stack_take(test));
	KUNIT_EXPECT_EQ(test, memtb_test_stats(t->heap).pages_got, 2);
	KUNIT_EXPECT_EQ(test, memtb_test_stats(t->heap).pages_put, 0);
}

static void shrink_returns_the_empty_page(struct kunit *test)
{
	struct memtb_stack_test *t = test->priv;
	void *obj = memtb_stack_take(test);

	KUNIT_EXPECT_EQ(test, memtb_slob_stack_shrink(&t->stack), 0);
	memtb_stack_give(test, obj);
	KUNIT_EXPECT_EQ(test, memtb_slob_stack_shrink(&t->stack), 1);
	KUNIT_EXPECT_EQ(test, memtb_slob_stack_shrink(&t->stack), 0);
	KUNIT_EXPECT_NULL(test, t->stack.empty);
	KUNIT_EXPECT_EQ(test, memtb_desc_shrink(&t->descs), 1);
	KUNIT_EXPECT_EQ(test, memtb_stack_pages(test), 0);
}

static void without_a_page_no_descriptor_is_kept(struct kunit *test)
{
	struct memtb_stack_test *t = test->priv;

	t->heap->params.max_pages = 1;
	KUNIT_EXPECT_NULL(test, memtb_slob_stack_get(&t->stack, GFP_KERNEL,
						     NUMA_NO_NODE));
	KUNIT_EXPECT_EQ(test, memtb_stack_pages(test), 1);
	KUNIT_EXPECT_EQ(test, memtb_desc_shrink(&t->descs), 1);
	KUNIT_EXPECT_EQ(test, memtb_stack_pages(test), 0);
}

/* ---- steps ---- */

#define MEMTB_STACK_FREE	10000

/* The design's heap with every second of many objects free. */
static struct memtb_cache *memtb_stack_sieve(struct kunit *test, const char *word,
					     void **obj)
{
	struct memtb_heap_params params = {};
	struct memtb_cache *cache;
	struct memtb_heap *heap;
	int i;

	memtb_backend_parse(word, &params.options);
	heap = memtb_heap_create(&memtb_backend_slob_new, "sieve", &params);
	KUNIT_ASSERT_FALSE(test, IS_ERR(heap));
	cache = memtb_cache_create(heap, "sieve", 64, 0, 0, NULL);
	KUNIT_ASSERT_FALSE(test, IS_ERR(cache));
	for (i = 0; i < 2 * MEMTB_STACK_FREE; i++) {
		obj[i] = memtb_cache_alloc(cache, GFP_KERNEL, NUMA_NO_NODE);
		KUNIT_ASSERT_NOT_NULL(test, obj[i]);
	}
	for (i = 0; i < 2 * MEMTB_STACK_FREE; i += 2) {
		memtb_cache_free(cache, obj[i]);
		obj[i] = NULL;
	}
	return cache;
}

/*
 * The most steps of one operation after a few more frees, the last of them first:
 * a list in order of address goes round for each of these.
 */
static struct memtb_stats memtb_stack_stats(struct kunit *test, const char *word)
{
	void **obj = kvmalloc_array(2 * MEMTB_STACK_FREE, sizeof(*obj),
				    GFP_KERNEL);
	struct memtb_cache *cache;
	struct memtb_stats stats;
	int i;

	KUNIT_ASSERT_NOT_NULL(test, obj);
	cache = memtb_stack_sieve(test, word, obj);
	for (i = 0; i < 8; i++) {
		memtb_cache_free(cache, obj[2 * (MEMTB_STACK_FREE - i) - 1]);
		obj[2 * (MEMTB_STACK_FREE - i) - 1] = NULL;
	}
	memtb_heap_stats(cache->heap, &stats);
	for (i = 0; i < 2 * MEMTB_STACK_FREE; i++)
		memtb_cache_free(cache, obj[i]);
	kvfree(obj);
	KUNIT_EXPECT_EQ(test, memtb_heap_destroy(cache->heap), 0);
	return stats;
}

static void an_operation_is_one_step_where_the_list_walks(struct kunit *test)
{
	struct memtb_stats stack = memtb_stack_stats(test, "slob-new+stack");
	struct memtb_stats list = memtb_stack_stats(test, "slob-new");

	KUNIT_EXPECT_EQ(test, stack.v[MEMTB_STAT_LIST_STEPS_MAX], 1);
	KUNIT_EXPECT_EQ(test, stack.v[MEMTB_STAT_LIST_STEPS],
			stack.v[MEMTB_STAT_ALLOCS] + stack.v[MEMTB_STAT_FREES]);
	KUNIT_EXPECT_GE(test, stack.v[MEMTB_STAT_LOCK_HOLDS],
			stack.v[MEMTB_STAT_LIST_STEPS]);
	KUNIT_EXPECT_GT(test, list.v[MEMTB_STAT_LIST_STEPS_MAX],
			MEMTB_STACK_FREE / 2);
}

/* ---- what is refused ---- */

static void memtb_stack_refused(struct kunit *test, void *obj)
{
	struct memtb_stack_test *t = test->priv;
	struct memtb_slob_page *page = memtb_slob_page(obj), before = *page;

	KUNIT_EXPECT_FALSE(test, memtb_slob_stack_put(&t->stack, obj));
	KUNIT_EXPECT_EQ(test, memcmp(&before, page, sizeof(before)), 0);
}

/* On top of the stack, deep in it, and in a page that is empty. */
static void a_second_free_is_found_wherever_the_object_is(struct kunit *test)
{
	struct memtb_stack_test *t = test->priv;
	void *obj[3];

	memtb_stack_planted(test);
	memtb_stack_take_all(test, obj, 3);
	memtb_stack_give(test, obj[0]);
	memtb_stack_refused(test, obj[0]);
	memtb_stack_give(test, obj[1]);
	memtb_stack_refused(test, obj[0]);
	memtb_stack_give(test, obj[2]);
	KUNIT_EXPECT_NOT_NULL(test, t->stack.empty);
	memtb_stack_refused(test, obj[1]);
	/* Never given out at all. */
	memtb_stack_refused(test, obj[2] + MEMTB_STACK_STRIDE);
}

/* ---- the check ---- */

static void memtb_stack_no_end(struct memtb_slob_stack *stack,
			       struct memtb_slob_page *page)
{
	*(void **)page->free[0] = page->free;
}

static void memtb_stack_leads_out(struct memtb_slob_stack *stack,
				  struct memtb_slob_page *page)
{
	*page->free = stack;
}

static void memtb_stack_between_objects(struct memtb_slob_stack *stack,
					struct memtb_slob_page *page)
{
	void **next = *page->free, **beside = (void *)next + MEMTB_SLOB_UNIT;

	*beside = *next;
	*page->free = beside;
}

static void memtb_stack_loses_one(struct memtb_slob_stack *stack,
				  struct memtb_slob_page *page)
{
	page->free = *page->free;
}

/* A page that should have left the list. */
static void memtb_stack_nothing_free(struct memtb_slob_stack *stack,
				     struct memtb_slob_page *page)
{
	void **obj;

	for (obj = page->free; obj; obj = *obj)
		__set_bit(memtb_slob_unit(obj), page->out);
	page->used = MEMTB_STACK_FIT;
	page->free = NULL;
}

static void memtb_stack_miscounts(struct memtb_slob_stack *stack,
				  struct memtb_slob_page *page)
{
	page->used++;
}

static void memtb_stack_marks_a_free_one(struct memtb_slob_stack *stack,
					 struct memtb_slob_page *page)
{
	__change_bit(0, page->out);
	__set_bit(memtb_slob_unit(page->free), page->out);
}

static void memtb_stack_forgets_a_mark(struct memtb_slob_stack *stack,
				       struct memtb_slob_page *page)
{
	bitmap_zero(page->out, MEMTB_SLOB_PAGE_UNITS);
}

static void memtb_stack_foreign_page(struct memtb_slob_stack *stack,
				     struct memtb_slob_page *page)
{
	page->place.arena = NULL;
}

static void memtb_stack_falsely_empty(struct memtb_slob_stack *stack,
				      struct memtb_slob_page *page)
{
	stack->empty = page;
}

static void memtb_stack_page_too_many(struct memtb_slob_stack *stack,
				      struct memtb_slob_page *page)
{
	stack->nr_pages--;
}

static void memtb_stack_page_too_few(struct memtb_slob_stack *stack,
				     struct memtb_slob_page *page)
{
	stack->nr_pages++;
}

static void (* const memtb_stack_damages[])(struct memtb_slob_stack *stack,
					    struct memtb_slob_page *page) = {
	memtb_stack_no_end,
	memtb_stack_leads_out,
	memtb_stack_between_objects,
	memtb_stack_loses_one,
	memtb_stack_nothing_free,
	memtb_stack_miscounts,
	memtb_stack_marks_a_free_one,
	memtb_stack_forgets_a_mark,
	memtb_stack_foreign_page,
	memtb_stack_falsely_empty,
	memtb_stack_page_too_many,
	memtb_stack_page_too_few,
};

/* A page with an object out, its content and the pool put right afterwards. */
static void check_finds_what_is_broken(struct kunit *test)
{
	struct memtb_stack_test *t = test->priv;
	void *obj = memtb_stack_take(test), *copy;
	struct memtb_slob_page *page = memtb_slob_page(obj), page_before = *page;
	struct memtb_slob_stack stack_before = t->stack;
	int i;

	memtb_stack_planted(test);
	copy = kunit_kzalloc(test, PAGE_SIZE, GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, copy);
	memcpy(copy, obj, PAGE_SIZE);
	KUNIT_EXPECT_EQ(test, memtb_slob_stack_check(&t->stack, "test"), 0);
	for (i = 0; i < ARRAY_SIZE(memtb_stack_damages); i++) {
		memtb_stack_damages[i](&t->stack, page);
		KUNIT_EXPECT_EQ_MSG(test, memtb_slob_stack_check(&t->stack, "test"),
				    1, "%ps", memtb_stack_damages[i]);
		memcpy(obj, copy, PAGE_SIZE);
		*page = page_before;
		t->stack = stack_before;
	}
	KUNIT_EXPECT_EQ(test, memtb_slob_stack_check(&t->stack, "test"), 0);
	memtb_stack_give(test, obj);
}

static void check_knows_the_empty_page(struct kunit *test)
{
	struct memtb_stack_test *t = test->priv;
	struct memtb_slob_page *empty;

	memtb_stack_planted(test);
	memtb_stack_give(test, memtb_stack_take(test));
	empty = t->stack.empty;
	t->stack.empty = NULL;
	KUNIT_EXPECT_EQ(test, memtb_slob_stack_check(&t->stack, "test"), 1);
	t->stack.empty = empty;
}

/* ---- the contract ---- */

static const void *memtb_stack_next_property(const void *prev, char *desc)
{
	const struct memtb_conform_property *property = prev;

	property = property ? property + 1 : memtb_conform_properties;
	if (!property->name)
		return NULL;
	strscpy(desc, property->name, KUNIT_PARAM_DESC_SIZE);
	return property;
}

static void holds_with_both_options(struct kunit *test)
{
	struct memtb_heap_params params = {};
	const struct memtb_backend *backend;
	const char *fault;

	backend = memtb_backend_parse("slob-new+stack+classes", &params.options);
	KUNIT_ASSERT_FALSE(test, IS_ERR(backend));
	KUNIT_ASSERT_EQ(test, hweight_long(params.options), 2);
	fault = memtb_conform_run(test->param_value, backend, "both", &params);
	KUNIT_EXPECT_TRUE_MSG(test, !fault, "%s", fault);
}

static struct kunit_case memtb_slob_stack_cases[] = {
	KUNIT_CASE(what_was_freed_last_comes_first),
	KUNIT_CASE(a_fresh_page_is_used_from_its_beginning),
	KUNIT_CASE(only_whole_objects_are_given_out),
	KUNIT_CASE(the_smallest_objects_have_a_mark_each),
	KUNIT_CASE(a_full_page_leaves_the_list_and_comes_back),
	KUNIT_CASE(a_page_comes_back_to_the_front),
	KUNIT_CASE(one_empty_page_stays_and_no_more),
	KUNIT_CASE(the_empty_page_is_used_last),
	KUNIT_CASE(what_comes_and_goes_keeps_its_page),
	KUNIT_CASE(shrink_returns_the_empty_page),
	KUNIT_CASE(without_a_page_no_descriptor_is_kept),
	KUNIT_CASE(an_operation_is_one_step_where_the_list_walks),
	KUNIT_CASE(a_second_free_is_found_wherever_the_object_is),
	KUNIT_CASE(check_finds_what_is_broken),
	KUNIT_CASE(check_knows_the_empty_page),
	KUNIT_CASE_PARAM(holds_with_both_options, memtb_stack_next_property),
	{}
};

static struct kunit_suite memtb_slob_stack_suite = {
	.name = "memtb_slob_stack",
	.init = memtb_stack_test_init,
	.exit = memtb_stack_test_exit,
	.test_cases = memtb_slob_stack_cases,
};
kunit_test_suite(memtb_slob_stack_suite);
