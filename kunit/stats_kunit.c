// SPDX-License-Identifier: GPL-2.0
/*
 * memtb_stats: counters to the last one, and what debug=verify must find.
 */
#include <kunit/test.h>

#include "conformance.h"

struct memtb_stats_test {
	struct memtb_heap *heap;
	struct memtb_cache *cache;
	struct memtb_cache *other;
};

static int memtb_stats_test_new(struct kunit *test, const char *name,
				unsigned int debug)
{
	const struct memtb_heap_params params = { .debug = debug };
	struct memtb_stats_test *t;

	t = kunit_kzalloc(test, sizeof(*t), GFP_KERNEL);
	if (!t)
		return -ENOMEM;
	t->heap = memtb_heap_create(memtb_backend_find("slob"), name, &params);
	if (IS_ERR(t->heap))
		return PTR_ERR(t->heap);
	test->priv = t;
	t->cache = memtb_cache_create(t->heap, "cache", 48, 0, 0, NULL);
	t->other = memtb_cache_create(t->heap, "other", 48, 0, 0, NULL);
	return IS_ERR(t->cache) || IS_ERR(t->other) ? -ENOMEM : 0;
}

static int memtb_stats_test_init(struct kunit *test)
{
	return memtb_stats_test_new(test, "stats", 0);
}

static int memtb_verify_test_init(struct kunit *test)
{
	return memtb_stats_test_new(test, MEMTB_PLANTED, MEMTB_DEBUG_VERIFY);
}

static void memtb_stats_test_exit(struct kunit *test)
{
	struct memtb_stats_test *t = test->priv;

	if (t)
		KUNIT_EXPECT_EQ(test, memtb_heap_destroy(t->heap), 0);
}

static void objects_and_bytes_are_counted(struct kunit *test)
{
	struct memtb_stats_test *t = test->priv;
	struct memtb_stats stats;
	void *obj, *block;

	obj = memtb_cache_alloc(t->cache, GFP_KERNEL, NUMA_NO_NODE);
	block = memtb_alloc(t->heap, 100, GFP_KERNEL, NUMA_NO_NODE);
	memtb_free(t->heap, memtb_alloc(t->heap, 7, GFP_KERNEL, NUMA_NO_NODE));
	memtb_heap_stats(t->heap, &stats);
	KUNIT_EXPECT_EQ(test, stats.v[MEMTB_STAT_ALLOCS], 3);
	KUNIT_EXPECT_EQ(test, stats.v[MEMTB_STAT_FREES], 1);
	KUNIT_EXPECT_EQ(test, stats.objects_live, 2);
	KUNIT_EXPECT_EQ(test, stats.v[MEMTB_STAT_BYTES_REQUESTED], 48 + 100 + 7);
	KUNIT_EXPECT_EQ(test, stats.v[MEMTB_STAT_ALLOC_FAILED], 0);
	KUNIT_EXPECT_EQ(test, stats.v[MEMTB_STAT_BAD_FREES], 0);
	memtb_cache_free(t->cache, obj);
	memtb_free(t->heap, block);
}

static void pages_are_counted(struct kunit *test)
{
	struct memtb_stats_test *t = test->priv;
	void *small = memtb_alloc(t->heap, 8, GFP_KERNEL, NUMA_NO_NODE);
	void *big = memtb_alloc(t->heap, 4 * PAGE_SIZE, GFP_KERNEL, NUMA_NO_NODE);
	struct memtb_stats stats;

	memtb_heap_stats(t->heap, &stats);
	KUNIT_EXPECT_EQ(test, stats.pages_now, 5);
	memtb_free(t->heap, big);
	memtb_free(t->heap, small);
	memtb_heap_shrink(t->heap);
	memtb_heap_stats(t->heap, &stats);
	KUNIT_EXPECT_EQ(test, stats.pages_now, 0);
	KUNIT_EXPECT_EQ(test, stats.pages_peak, 5);
	KUNIT_EXPECT_EQ(test, stats.pages_got, 5);
	KUNIT_EXPECT_EQ(test, stats.pages_put, 5);
	KUNIT_EXPECT_EQ(test, stats.pages_failed, 0);
}

/* Each section under the lock is one hold, and some time passes in it. */
static void lock_holds_are_counted(struct kunit *test)
{
	struct memtb_stats_test *t = test->priv;
	void *block = memtb_alloc(t->heap, 64, GFP_KERNEL, NUMA_NO_NODE);
	u64 before = memtb_test_stats(t->heap).v[MEMTB_STAT_LOCK_HOLDS];

	memtb_free(t->heap, block);
	block = memtb_alloc(t->heap, 64, GFP_KERNEL, NUMA_NO_NODE);
	KUNIT_EXPECT_EQ(test, memtb_test_stats(t->heap).v[MEMTB_STAT_LOCK_HOLDS],
			before + 2);
	KUNIT_EXPECT_GE(test, memtb_test_stats(t->heap).v[MEMTB_STAT_LOCK_HOLD_NS],
			memtb_test_stats(t->heap).v[MEMTB_STAT_LOCK_HOLD_MAX_NS]);
	memtb_free(t->heap, block);
}

static void every_counter_has_a_name(struct kunit *test)
{
	int i, k;

	for (i = 0; i < MEMTB_NR_STATS; i++) {
		KUNIT_ASSERT_NOT_NULL(test, memtb_stat_names[i]);
		for (k = 0; k < i; k++)
			KUNIT_EXPECT_STRNEQ(test, memtb_stat_names[i],
					    memtb_stat_names[k]);
	}
}

/* ---- debug=verify ---- */

/* So many were found so far, and none of them changed the heap. */
static void memtb_verify_expect(struct kunit *test, u64 violations)
{
	struct memtb_stats_test *t = test->priv;

	KUNIT_EXPECT_EQ(test, memtb_test_stats(t->heap).v[MEMTB_STAT_VIOLATIONS],
			violations);
	KUNIT_EXPECT_EQ(test, memtb_heap_check(t->heap), 0);
}

static void right_frees_are_no_violation(struct kunit *test)
{
	struct memtb_stats_test *t = test->priv;
	void *obj = memtb_cache_alloc(t->cache, GFP_KERNEL, NUMA_NO_NODE);
	void *block = memtb_alloc(t->heap, 100, GFP_KERNEL, NUMA_NO_NODE);

	block = memtb_realloc(t->heap, block, 20, GFP_KERNEL);
	block = memtb_realloc(t->heap, block, 500, GFP_KERNEL);
	memtb_cache_free(t->cache, obj);
	memtb_free(t->heap, block);
	memtb_verify_expect(test, 0);
}

static void a_second_free_is_found(struct kunit *test)
{
	struct memtb_stats_test *t = test->priv;
	void *obj = memtb_cache_alloc(t->cache, GFP_KERNEL, NUMA_NO_NODE);
	void *block = memtb_alloc(t->heap, 100, GFP_KERNEL, NUMA_NO_NODE);

	memtb_cache_free(t->cache, obj);
	memtb_cache_free(t->cache, obj);
	memtb_verify_expect(test, 1);
	memtb_free(t->heap, block);
	memtb_free(t->heap, block);
	memtb_verify_expect(test, 2);
}

static void a_free_to_another_cache_is_found(struct kunit *test)
{
	struct memtb_stats_test *t = test->priv;
	void *obj = memtb_cache_alloc(t->cache, GFP_KERNEL, NUMA_NO_NODE);

	memtb_cache_free(t->other, obj);
	memtb_verify_expect(test, 1);
	memtb_free(t->heap, obj);
	memtb_verify_expect(test, 2);
	memtb_cache_free(t->cache, obj);
	memtb_verify_expect(test, 2);
}

static void a_free_of_the_middle_is_found(struct kunit *test)
{
	struct memtb_stats_test *t = test->priv;
	void *block = memtb_alloc(t->heap, 100, GFP_KERNEL, NUMA_NO_NODE);

	memtb_free(t->heap, block + 16);
	memtb_verify_expect(test, 1);
	memtb_free(t->heap, block);
	memtb_verify_expect(test, 1);
}

static struct kunit_case memtb_stats_cases[] = {
	KUNIT_CASE(objects_and_bytes_are_counted),
	KUNIT_CASE(pages_are_counted),
	KUNIT_CASE(lock_holds_are_counted),
	KUNIT_CASE(every_counter_has_a_name),
	{}
};

static struct kunit_suite memtb_stats_suite = {
	.name = "memtb_stats",
	.init = memtb_stats_test_init,
	.exit = memtb_stats_test_exit,
	.test_cases = memtb_stats_cases,
};

static struct kunit_case memtb_verify_cases[] = {
	KUNIT_CASE(right_frees_are_no_violation),
	KUNIT_CASE(a_second_free_is_found),
	KUNIT_CASE(a_free_to_another_cache_is_found),
	KUNIT_CASE(a_free_of_the_middle_is_found),
	{}
};

static struct kunit_suite memtb_verify_suite = {
	.name = "memtb_verify",
	.init = memtb_verify_test_init,
	.exit = memtb_stats_test_exit,
	.test_cases = memtb_verify_cases,
};

kunit_test_suites(&memtb_stats_suite, &memtb_verify_suite);
