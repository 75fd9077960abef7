// SPDX-License-Identifier: GPL-2.0
/*
 * memtb_slob_list, memtb_slob_heap: the plain SLOB from the inside.
 *
 * The backend's source is compiled into this module a second time, so that the
 * tests see its list.  memtb_slob_list works on an arena, two neighbouring pages
 * that are handed to the list in pieces; all its numbers are units.
 * memtb_slob_heap works on whole heaps.
 */
#include <kunit/test.h>

#include "../module/backend/slob_list.c"
#include "../module/backend/slob.c"
#include "conformance.h"

#define MEMTB_ARENA_UNITS	(2 * MEMTB_SLOB_PAGE_UNITS)

struct memtb_slob_test {
	struct memtb_heap *heap;
	struct memtb_slob *slob;
	struct memtb_slob_block *arena;
};

/* A free run of the arena. */
struct memtb_slob_run {
	int start;
	int units;
};

static struct memtb_slob_test *memtb_slob_test_new(struct kunit *test)
{
	struct memtb_slob_test *t = kunit_kzalloc(test, sizeof(*t), GFP_KERNEL);

	if (!t)
		return NULL;
	t->heap = memtb_heap_create(&memtb_backend_slob, "slob", NULL);
	if (IS_ERR(t->heap))
		return NULL;
	t->slob = memtb_heap_priv(t->heap);
	/* Counts are exact only while nobody else walks. */
	timer_delete_sync(&t->slob->timer);
	test->priv = t;
	return t;
}

static int memtb_slob_list_test_init(struct kunit *test)
{
	struct memtb_slob_test *t = memtb_slob_test_new(test);

	if (!t)
		return -ENOMEM;
	t->arena = memtb_pages_get(&t->heap->owner, GFP_KERNEL, 1, NUMA_NO_NODE);
	return t->arena ? 0 : -ENOMEM;
}

/* The arena is no page of the list's own: it is taken out by force. */
static void memtb_slob_list_test_exit(struct kunit *test)
{
	struct memtb_slob_test *t = test->priv;

	if (!t)
		return;
	t->slob->list.sentinel.next = &t->slob->list.sentinel;
	t->slob->list.rover = &t->slob->list.sentinel;
	t->slob->list.nr_blocks = 0;
	if (t->arena)
		memtb_pages_put(&t->heap->owner, t->arena, 1);
	KUNIT_EXPECT_EQ(test, memtb_heap_destroy(t->heap), 0);
}

static bool memtb_test_give(struct memtb_slob_test *t, int start, int units)
{
	return memtb_slob_put(&t->slob->list, t->arena + start,
			      units * MEMTB_SLOB_UNIT);
}

/* Where in the arena the units are, or -1. */
static int memtb_test_take_aligned(struct memtb_slob_test *t, int units,
				   int align, int offset)
{
	struct memtb_slob_block *block;
	unsigned long flags;

	memtb_lock(&t->slob->list.lock, &flags);
	block = memtb_slob_take(&t->slob->list, units * MEMTB_SLOB_UNIT,
				align * MEMTB_SLOB_UNIT,
				offset * MEMTB_SLOB_UNIT);
	memtb_unlock(&t->slob->list.lock, flags);
	return block ? block - t->arena : -1;
}

static int memtb_test_take(struct memtb_slob_test *t, int units)
{
	return memtb_test_take_aligned(t, units, 1, 0);
}

static void memtb_test_rover(struct memtb_slob_test *t, int start)
{
	t->slob->list.rover = start < 0 ? &t->slob->list.sentinel : t->arena + start;
}

/* For cases that break things: see MEMTB_PLANTED. */
static struct memtb_slob_test *memtb_test_planted(struct kunit *test)
{
	struct memtb_slob_test *t = test->priv;

	strscpy(t->heap->name, MEMTB_PLANTED, sizeof(t->heap->name));
	return t;
}

/* The list must be these runs, in this order, and whole. */
static void memtb_test_expect(struct kunit *test,
			      const struct memtb_slob_run *runs, int nr)
{
	struct memtb_slob_test *t = test->priv;
	struct memtb_slob_block *cur = t->slob->list.sentinel.next;
	int i;

	KUNIT_EXPECT_EQ(test, t->slob->list.nr_blocks, nr);
	for (i = 0; i < nr; i++) {
		KUNIT_ASSERT_PTR_NE(test, cur, &t->slob->list.sentinel);
		KUNIT_EXPECT_EQ(test, (int)(cur - t->arena), runs[i].start);
		KUNIT_EXPECT_EQ(test, cur->units, runs[i].units);
		cur = cur->next;
	}
	KUNIT_EXPECT_PTR_EQ(test, cur, &t->slob->list.sentinel);
	KUNIT_EXPECT_EQ(test, memtb_heap_check(t->heap), 0);
}

#define memtb_test_list(test, ...) do {					\
	static const struct memtb_slob_run runs[] = { __VA_ARGS__ };	\
	memtb_test_expect(test, runs, ARRAY_SIZE(runs));		\
} while (0)

#define memtb_test_list_empty(test) memtb_test_expect(test, NULL, 0)

/* ---- taking ---- */

static void exact_fit_takes_the_whole_block(struct kunit *test)
{
	struct memtb_slob_test *t = test->priv;

	KUNIT_EXPECT_TRUE(test, memtb_test_give(t, 10, 4));
	KUNIT_EXPECT_EQ(test, memtb_test_take(t, 4), 10);
	memtb_test_list_empty(test);
}

static void one_unit_too_few_is_no_fit(struct kunit *test)
{
	struct memtb_slob_test *t = test->priv;

	memtb_test_give(t, 10, 4);
	KUNIT_EXPECT_EQ(test, memtb_test_take(t, 5), -1);
	memtb_test_list(test, { 10, 4 });
}

static void what_is_left_stays_down_to_one_unit(struct kunit *test)
{
	struct memtb_slob_test *t = test->priv;

	memtb_test_give(t, 10, 4);
	KUNIT_EXPECT_EQ(test, memtb_test_take(t, 1), 10);
	memtb_test_list(test, { 11, 3 });
	KUNIT_EXPECT_EQ(test, memtb_test_take(t, 2), 11);
	memtb_test_list(test, { 13, 1 });
	KUNIT_EXPECT_EQ(test, memtb_test_take(t, 1), 13);
	memtb_test_list_empty(test);
}

static void bytes_are_rounded_up_to_units(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, memtb_slob_units(1), 1);
	KUNIT_EXPECT_EQ(test, memtb_slob_units(MEMTB_SLOB_UNIT - 1), 1);
	KUNIT_EXPECT_EQ(test, memtb_slob_units(MEMTB_SLOB_UNIT), 1);
	KUNIT_EXPECT_EQ(test, memtb_slob_units(MEMTB_SLOB_UNIT + 1), 2);
}

static void an_aligned_start_leaves_pieces_on_both_sides(struct kunit *test)
{
	struct memtb_slob_test *t = test->priv;

	memtb_test_give(t, 1, 20);
	KUNIT_EXPECT_EQ(test, memtb_test_take_aligned(t, 3, 16, 0), 16);
	memtb_test_list(test, { 1, 15 }, { 19, 2 });
}

static void an_aligned_fit_may_end_with_the_block(struct kunit *test)
{
	struct memtb_slob_test *t = test->priv;

	memtb_test_give(t, 1, 20);
	KUNIT_EXPECT_EQ(test, memtb_test_take_aligned(t, 6, 16, 0), -1);
	memtb_test_list(test, { 1, 20 });
	KUNIT_EXPECT_EQ(test, memtb_test_take_aligned(t, 5, 16, 0), 16);
	memtb_test_list(test, { 1, 15 });
}

static void an_aligned_block_has_no_front(struct kunit *test)
{
	struct memtb_slob_test *t = test->priv;

	memtb_test_give(t, 16, 4);
	KUNIT_EXPECT_EQ(test, memtb_test_take_aligned(t, 4, 16, 0), 16);
	memtb_test_list_empty(test);
}

/* The header may lie anywhere, what follows it is aligned. */
static void the_payload_is_what_is_aligned(struct kunit *test)
{
	struct memtb_slob_test *t = test->priv;

	memtb_test_give(t, 0, 20);
	KUNIT_EXPECT_EQ(test, memtb_test_take_aligned(t, 3, 4, 1), 3);
	memtb_test_list(test, { 0, 3 }, { 6, 14 });
}

static void the_search_goes_on_behind_the_rover(struct kunit *test)
{
	struct memtb_slob_test *t = test->priv;

	memtb_test_give(t, 0, 2);
	memtb_test_give(t, 4, 2);
	memtb_test_give(t, 8, 2);
	memtb_test_rover(t, 0);
	KUNIT_EXPECT_EQ(test, memtb_test_take(t, 1), 4);
	/* And stays in front of what it took. */
	KUNIT_EXPECT_PTR_EQ(test, t->slob->list.rover, t->arena + 0);
	KUNIT_EXPECT_EQ(test, memtb_test_take(t, 2), 8);
	KUNIT_EXPECT_EQ(test, memtb_test_take(t, 2), 0);
	memtb_test_list(test, { 5, 1 });
}

static void the_rover_stays_in_the_list_when_a_front_is_cut(struct kunit *test)
{
	struct memtb_slob_test *t = test->priv;

	memtb_test_give(t, 1, 20);
	memtb_test_take_aligned(t, 3, 16, 0);
	KUNIT_EXPECT_PTR_EQ(test, t->slob->list.rover, t->arena + 1);
	KUNIT_EXPECT_EQ(test, memtb_test_take(t, 2), 19);
	memtb_test_list(test, { 1, 15 });
}

static void the_rover_itself_is_looked_at_last(struct kunit *test)
{
	struct memtb_slob_test *t = test->priv;
	u64 before = memtb_test_stats(t->heap).v[MEMTB_STAT_LIST_STEPS];

	memtb_test_give(t, 0, 3);
	memtb_test_give(t, 4, 2);
	memtb_test_give(t, 8, 2);
	memtb_test_rover(t, 0);
	before = memtb_test_stats(t->heap).v[MEMTB_STAT_LIST_STEPS];
	/* 4, 8, the sentinel, 0. */
	KUNIT_EXPECT_EQ(test, memtb_test_take(t, 3), 0);
	KUNIT_EXPECT_EQ(test,
			memtb_test_stats(t->heap).v[MEMTB_STAT_LIST_STEPS] - before,
			4);
	memtb_test_list(test, { 4, 2 }, { 8, 2 });
}

static void a_vain_search_is_one_lap(struct kunit *test)
{
	struct memtb_slob_test *t = test->priv;
	u64 before;
	int i;

	for (i = 0; i < 5; i++)
		memtb_test_give(t, 3 * i, 2);
	for (i = -1; i < 5; i++) {
		memtb_test_rover(t, 3 * i);
		before = memtb_test_stats(t->heap).v[MEMTB_STAT_LIST_STEPS];
		KUNIT_EXPECT_EQ(test, memtb_test_take(t, 3), -1);
		KUNIT_EXPECT_EQ(test, memtb_test_stats(t->heap).v[MEMTB_STAT_LIST_STEPS],
				before + 6);
	}
	KUNIT_EXPECT_EQ(test,
			memtb_test_stats(t->heap).v[MEMTB_STAT_LIST_STEPS_MAX], 6);
}

/* ---- giving back ---- */

static void a_block_joins_the_one_in_front(struct kunit *test)
{
	struct memtb_slob_test *t = test->priv;

	memtb_test_give(t, 10, 4);
	KUNIT_EXPECT_TRUE(test, memtb_test_give(t, 14, 1));
	memtb_test_list(test, { 10, 5 });
}

static void a_block_joins_the_one_behind(struct kunit *test)
{
	struct memtb_slob_test *t = test->priv;

	memtb_test_give(t, 10, 4);
	KUNIT_EXPECT_TRUE(test, memtb_test_give(t, 9, 1));
	memtb_test_list(test, { 9, 5 });
}

static void a_block_joins_both(struct kunit *test)
{
	struct memtb_slob_test *t = test->priv;

	memtb_test_give(t, 10, 2);
	memtb_test_give(t, 15, 2);
	memtb_test_give(t, 20, 1);
	KUNIT_EXPECT_TRUE(test, memtb_test_give(t, 12, 3));
	memtb_test_list(test, { 10, 7 }, { 20, 1 });
}

static void a_gap_of_one_unit_keeps_blocks_apart(struct kunit *test)
{
	struct memtb_slob_test *t = test->priv;

	memtb_test_give(t, 10, 2);
	memtb_test_give(t, 15, 2);
	KUNIT_EXPECT_TRUE(test, memtb_test_give(t, 13, 1));
	memtb_test_list(test, { 10, 2 }, { 13, 1 }, { 15, 2 });
}

static void blocks_join_across_the_border_of_pages(struct kunit *test)
{
	struct memtb_slob_test *t = test->priv;
	const int border = MEMTB_SLOB_PAGE_UNITS;
	const struct memtb_slob_run joined = { border - 6, 10 };

	memtb_test_give(t, border - 6, 6);
	memtb_test_give(t, border, 4);
	memtb_test_expect(test, &joined, 1);
	KUNIT_EXPECT_EQ(test, memtb_test_take(t, 10), border - 6);
}

static void the_list_is_in_order_whatever_comes_first(struct kunit *test)
{
	static const int orders[][3] = {
		{ 0, 4, 8 }, { 0, 8, 4 }, { 4, 0, 8 },
		{ 4, 8, 0 }, { 8, 0, 4 }, { 8, 4, 0 },
	};
	struct memtb_slob_test *t = test->priv;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(orders); i++) {
		memtb_test_give(t, orders[i][0], 1);
		memtb_test_give(t, orders[i][1], 1);
		memtb_test_give(t, orders[i][2], 1);
		memtb_test_list(test, { 0, 1 }, { 4, 1 }, { 8, 1 });
		while (memtb_test_take(t, 1) >= 0)
			;
	}
}

static void the_walk_to_a_place_counts_its_steps(struct kunit *test)
{
	struct memtb_slob_test *t = test->priv;
	u64 before;
	int i;

	for (i = 0; i < 4; i++)
		memtb_test_give(t, 10 + 2 * i, 1);
	memtb_test_rover(t, -1);
	before = memtb_test_stats(t->heap).v[MEMTB_STAT_LIST_STEPS];
	/* The sentinel, 10, 12, 14, 16. */
	memtb_test_give(t, 18, 1);
	KUNIT_EXPECT_EQ(test, memtb_test_stats(t->heap).v[MEMTB_STAT_LIST_STEPS],
			before + 5);
	memtb_test_rover(t, -1);
	memtb_test_give(t, 8, 1);
	KUNIT_EXPECT_EQ(test, memtb_test_stats(t->heap).v[MEMTB_STAT_LIST_STEPS],
			before + 6);
	KUNIT_EXPECT_PTR_EQ(test, t->slob->list.rover, &t->slob->list.sentinel);
}

/*
 * Whatever overlaps a free block is refused, from wherever the walk starts, and
 * leaves no trace; whatever does not is taken.
 */
static void what_is_free_cannot_be_given_again(struct kunit *test)
{
	static const int rovers[] = { -1, 4, 8, 13 };
	struct memtb_slob_test *t = memtb_test_planted(test);
	int rover, start, units;

	memtb_test_give(t, 4, 2);
	memtb_test_give(t, 8, 3);
	memtb_test_give(t, 13, 1);
	for (rover = 0; rover < ARRAY_SIZE(rovers); rover++)
		for (start = 0; start < 16; start++)
			for (units = 1; start + units <= 16; units++) {
				int end = start + units;

				if (!((start < 6 && end > 4) ||
				      (start < 11 && end > 8) ||
				      (start < 14 && end > 13)))
					continue;
				memtb_test_rover(t, rovers[rover]);
				KUNIT_EXPECT_FALSE_MSG(test,
						       memtb_test_give(t, start,
								       units),
						       "rover %d: %d units at %d",
						       rovers[rover], units,
						       start);
			}
	memtb_test_list(test, { 4, 2 }, { 8, 3 }, { 13, 1 });
}

/* ---- against a model: one bit per unit ---- */

static void memtb_test_against_model(struct kunit *test,
				     const unsigned long *model)
{
	struct memtb_slob_test *t = test->priv;
	struct memtb_slob_block *cur = t->slob->list.sentinel.next;
	unsigned int start, end = 0;

	for (;;) {
		start = find_next_bit(model, MEMTB_ARENA_UNITS, end);
		if (start == MEMTB_ARENA_UNITS)
			break;
		end = find_next_zero_bit(model, MEMTB_ARENA_UNITS, start);
		KUNIT_ASSERT_EQ(test, (int)(cur - t->arena), (int)start);
		KUNIT_ASSERT_EQ(test, cur->units, (int)(end - start));
		cur = cur->next;
	}
	KUNIT_ASSERT_PTR_EQ(test, cur, &t->slob->list.sentinel);
}

static unsigned int memtb_test_random(u32 *seed, unsigned int below)
{
	*seed = *seed * 1664525 + 1013904223;
	return (*seed >> 8) % below;
}

static void the_list_is_the_free_runs_of_a_bitmap(struct kunit *test)
{
	struct memtb_slob_test *t = test->priv;
	DECLARE_BITMAP(model, MEMTB_ARENA_UNITS) = {};
	struct memtb_slob_run out[64] = {};
	int round, i, align;
	u32 seed = 20051210;

	memtb_test_give(t, 0, MEMTB_ARENA_UNITS);
	bitmap_set(model, 0, MEMTB_ARENA_UNITS);
	for (round = 0; round < 4000; round++) {
		i = memtb_test_random(&seed, ARRAY_SIZE(out));
		if (out[i].units) {
			KUNIT_ASSERT_TRUE(test, memtb_test_give(t, out[i].start,
								out[i].units));
			bitmap_set(model, out[i].start, out[i].units);
			out[i].units = 0;
		} else {
			out[i].units = 1 + memtb_test_random(&seed, 12);
			align = 1 << memtb_test_random(&seed, 5);
			out[i].start = memtb_test_take_aligned(t, out[i].units,
							       align, 0);
			if (out[i].start < 0) {
				out[i].units = 0;
				continue;
			}
			KUNIT_ASSERT_EQ(test, out[i].start % align, 0);
			bitmap_clear(model, out[i].start, out[i].units);
		}
		memtb_test_against_model(test, model);
	}
	KUNIT_EXPECT_EQ(test, memtb_heap_check(t->heap), 0);
}

/* ---- the check finds what is wrong ---- */

static void the_check_finds_a_block_without_size(struct kunit *test)
{
	struct memtb_slob_test *t = memtb_test_planted(test);

	memtb_test_give(t, 4, 2);
	t->arena[4].units = 0;
	KUNIT_EXPECT_EQ(test, memtb_slob_check(t->heap), 1);
	t->arena[4].units = -1;
	KUNIT_EXPECT_EQ(test, memtb_slob_check(t->heap), 1);
	t->arena[4].units = 1;
	KUNIT_EXPECT_EQ(test, memtb_slob_check(t->heap), 0);
}

static void the_check_finds_blocks_that_overlap_or_touch(struct kunit *test)
{
	struct memtb_slob_test *t = memtb_test_planted(test);

	memtb_test_give(t, 4, 2);
	memtb_test_give(t, 8, 2);
	t->arena[4].units = 5;
	KUNIT_EXPECT_EQ(test, memtb_slob_check(t->heap), 1);
	t->arena[4].units = 4;
	KUNIT_EXPECT_EQ(test, memtb_slob_check(t->heap), 1);
	t->arena[4].units = 3;
	KUNIT_EXPECT_EQ(test, memtb_slob_check(t->heap), 0);
}

static void the_check_finds_a_block_beyond_the_pages(struct kunit *test)
{
	struct memtb_slob_test *t = memtb_test_planted(test);

	memtb_test_give(t, MEMTB_ARENA_UNITS - 2, 2);
	KUNIT_EXPECT_EQ(test, memtb_slob_check(t->heap), 0);
	t->arena[MEMTB_ARENA_UNITS - 2].units = 3;
	KUNIT_EXPECT_EQ(test, memtb_slob_check(t->heap), 1);
}

static void the_check_finds_a_sentinel_with_a_size(struct kunit *test)
{
	struct memtb_slob_test *t = memtb_test_planted(test);

	t->slob->list.sentinel.units = 1;
	KUNIT_EXPECT_EQ(test, memtb_slob_check(t->heap), 1);
	t->slob->list.sentinel.units = 0;
	KUNIT_EXPECT_EQ(test, memtb_slob_check(t->heap), 0);
}

static void the_check_counts_the_blocks(struct kunit *test)
{
	struct memtb_slob_test *t = memtb_test_planted(test);

	memtb_test_give(t, 4, 2);
	memtb_test_give(t, 8, 2);
	t->slob->list.nr_blocks = 1;
	KUNIT_EXPECT_EQ(test, memtb_slob_check(t->heap), 1);
	t->slob->list.nr_blocks = 3;
	KUNIT_EXPECT_EQ(test, memtb_slob_check(t->heap), 1);
	t->slob->list.nr_blocks = 2;
	KUNIT_EXPECT_EQ(test, memtb_slob_check(t->heap), 0);
}

static void the_check_finds_blocks_out_of_order(struct kunit *test)
{
	struct memtb_slob_test *t = memtb_test_planted(test);
	struct memtb_slob_block *sentinel = &t->slob->list.sentinel;

	memtb_test_give(t, 4, 2);
	memtb_test_give(t, 8, 2);
	memtb_test_give(t, 12, 2);
	sentinel->next = t->arena + 8;
	t->arena[8].next = t->arena + 4;
	t->arena[4].next = t->arena + 12;
	KUNIT_EXPECT_NE(test, memtb_slob_check(t->heap), 0);
}

static struct kunit_case memtb_slob_list_cases[] = {
	KUNIT_CASE(exact_fit_takes_the_whole_block),
	KUNIT_CASE(one_unit_too_few_is_no_fit),
	KUNIT_CASE(what_is_left_stays_down_to_one_unit),
	KUNIT_CASE(bytes_are_rounded_up_to_units),
	KUNIT_CASE(an_aligned_start_leaves_pieces_on_both_sides),
	KUNIT_CASE(an_aligned_fit_may_end_with_the_block),
	KUNIT_CASE(an_aligned_block_has_no_front),
	KUNIT_CASE(the_payload_is_what_is_aligned),
	KUNIT_CASE(the_search_goes_on_behind_the_rover),
	KUNIT_CASE(the_rover_stays_in_the_list_when_a_front_is_cut),
	KUNIT_CASE(the_rover_itself_is_looked_at_last),
	KUNIT_CASE(a_vain_search_is_one_lap),
	KUNIT_CASE(a_block_joins_the_one_in_front),
	KUNIT_CASE(a_block_joins_the_one_behind),
	KUNIT_CASE(a_block_joins_both),
	KUNIT_CASE(a_gap_of_one_unit_keeps_blocks_apart),
	KUNIT_CASE(blocks_join_across_the_border_of_pages),
	KUNIT_CASE(the_list_is_in_order_whatever_comes_first),
	KUNIT_CASE(the_walk_to_a_place_counts_its_steps),
	KUNIT_CASE(what_is_free_cannot_be_given_again),
	KUNIT_CASE(the_list_is_the_free_runs_of_a_bitmap),
	KUNIT_CASE(the_check_finds_a_block_without_size),
	KUNIT_CASE(the_check_finds_blocks_that_overlap_or_touch),
	KUNIT_CASE(the_check_finds_a_block_beyond_the_pages),
	KUNIT_CASE(the_check_finds_a_sentinel_with_a_size),
	KUNIT_CASE(the_check_counts_the_blocks),
	KUNIT_CASE(the_check_finds_blocks_out_of_order),
	{}
};

static struct kunit_suite memtb_slob_list_suite = {
	.name = "memtb_slob_list",
	.init = memtb_slob_list_test_init,
	.exit = memtb_slob_list_test_exit,
	.test_cases = memtb_slob_list_cases,
};

/* ---- whole heaps ---- */

static int memtb_slob_heap_test_init(struct kunit *test)
{
	return memtb_slob_test_new(test) ? 0 : -ENOMEM;
}

/* Every case frees what it allocated. */
static void memtb_slob_heap_test_exit(struct kunit *test)
{
	struct memtb_slob_test *t = test->priv;

	if (!t)
		return;
	KUNIT_EXPECT_EQ(test, memtb_heap_check(t->heap), 0);
	KUNIT_EXPECT_EQ(test, memtb_heap_destroy(t->heap), 0);
}

static void a_heap_grows_by_one_page_when_nothing_fits(struct kunit *test)
{
	struct memtb_slob_test *t = test->priv;
	size_t size = PAGE_SIZE - 2 * MEMTB_SLOB_UNIT;
	void *first, *second, *third;

	first = memtb_alloc(t->heap, size, GFP_KERNEL, NUMA_NO_NODE);
	KUNIT_EXPECT_EQ(test, memtb_test_stats(t->heap).pages_now, 1);
	/* Just one unit is left: enough for a header, not for a byte. */
	second = memtb_alloc(t->heap, 1, GFP_KERNEL, NUMA_NO_NODE);
	KUNIT_EXPECT_EQ(test, memtb_test_stats(t->heap).pages_now, 2);
	third = memtb_alloc(t->heap, 1, GFP_KERNEL, NUMA_NO_NODE);
	KUNIT_EXPECT_EQ(test, memtb_test_stats(t->heap).pages_now, 2);
	memtb_free(t->heap, first);
	memtb_free(t->heap, second);
	memtb_free(t->heap, third);
}

static void a_block_is_big_when_a_page_cannot_hold_its_header(struct kunit *test)
{
	KUNIT_EXPECT_FALSE(test, memtb_slob_is_big(1));
	KUNIT_EXPECT_FALSE(test, memtb_slob_is_big(PAGE_SIZE / 2));
	KUNIT_EXPECT_FALSE(test,
			   memtb_slob_is_big(PAGE_SIZE - MEMTB_SLOB_GP_ALIGN -
					     1));
	KUNIT_EXPECT_TRUE(test, memtb_slob_is_big(PAGE_SIZE - MEMTB_SLOB_UNIT));
	KUNIT_EXPECT_TRUE(test, memtb_slob_is_big(PAGE_SIZE));
}

static void the_largest_small_block_fits_a_fresh_page(struct kunit *test)
{
	struct memtb_slob_test *t = test->priv;
	size_t size = PAGE_SIZE - MEMTB_SLOB_GP_ALIGN - 1;
	void *obj = memtb_alloc(t->heap, size, GFP_KERNEL, NUMA_NO_NODE);

	KUNIT_ASSERT_NOT_NULL(test, obj);
	KUNIT_EXPECT_EQ(test, memtb_test_stats(t->heap).pages_now, 1);
	KUNIT_EXPECT_GE(test, memtb_size(t->heap, obj), size);
	KUNIT_EXPECT_PTR_EQ(test, t->slob->big, NULL);
	memset(obj, 0xa5, size);
	memtb_free(t->heap, obj);
}

static void half_a_page_fits_behind_its_header(struct kunit *test)
{
	struct memtb_slob_test *t = test->priv;
	void *obj = memtb_alloc(t->heap, PAGE_SIZE / 2, GFP_KERNEL,
				NUMA_NO_NODE);

	KUNIT_ASSERT_NOT_NULL(test, obj);
	KUNIT_EXPECT_EQ(test, (unsigned long)obj % (PAGE_SIZE / 2), 0);
	KUNIT_EXPECT_EQ(test, memtb_test_stats(t->heap).pages_now, 1);
	memtb_free(t->heap, obj);
}

static void size_is_what_the_units_hold(struct kunit *test)
{
	struct memtb_slob_test *t = test->priv;
	size_t size;
	void *obj;

	for (size = 1; size < 5 * MEMTB_SLOB_UNIT; size++) {
		obj = memtb_alloc(t->heap, size, GFP_KERNEL, NUMA_NO_NODE);
		KUNIT_ASSERT_NOT_NULL(test, obj);
		KUNIT_EXPECT_EQ(test, memtb_size(t->heap, obj),
				ALIGN(size, MEMTB_SLOB_UNIT));
		memtb_free(t->heap, obj);
	}
}

static void a_big_block_has_its_pages_and_a_descriptor(struct kunit *test)
{
	struct memtb_slob_test *t = test->priv;
	void *obj = memtb_alloc(t->heap, PAGE_SIZE + 1, GFP_KERNEL,
				NUMA_NO_NODE);

	KUNIT_ASSERT_NOT_NULL(test, obj);
	KUNIT_EXPECT_EQ(test, (int)offset_in_page(obj), 0);
	KUNIT_EXPECT_EQ(test, memtb_size(t->heap, obj), 2 * PAGE_SIZE);
	KUNIT_EXPECT_EQ(test, memtb_test_stats(t->heap).pages_now, 3);
	memtb_free(t->heap, obj);
	KUNIT_EXPECT_PTR_EQ(test, t->slob->big, NULL);
	KUNIT_EXPECT_EQ(test, memtb_test_stats(t->heap).pages_now, 1);
}

static void big_blocks_are_searched_only_for_whole_pages(struct kunit *test)
{
	struct memtb_slob_test *t = test->priv;
	void *big[3], *small;
	u64 before;
	int i;

	for (i = 0; i < ARRAY_SIZE(big); i++)
		big[i] = memtb_alloc(t->heap, PAGE_SIZE, GFP_KERNEL,
				     NUMA_NO_NODE);
	small = memtb_alloc(t->heap, 1, GFP_KERNEL, NUMA_NO_NODE);
	before = memtb_test_stats(t->heap).v[MEMTB_STAT_LIST_STEPS];
	memtb_size(t->heap, small);
	KUNIT_EXPECT_EQ(test, memtb_test_stats(t->heap).v[MEMTB_STAT_LIST_STEPS],
			before);
	/* The newest is first. */
	memtb_size(t->heap, big[2]);
	KUNIT_EXPECT_EQ(test, memtb_test_stats(t->heap).v[MEMTB_STAT_LIST_STEPS],
			before);
	memtb_size(t->heap, big[0]);
	KUNIT_EXPECT_EQ(test, memtb_test_stats(t->heap).v[MEMTB_STAT_LIST_STEPS],
			before + 2);
	memtb_free(t->heap, big[1]);
	memtb_free(t->heap, big[0]);
	memtb_free(t->heap, big[2]);
	memtb_free(t->heap, small);
	KUNIT_EXPECT_PTR_EQ(test, t->slob->big, NULL);
}

static void a_big_block_without_pages_leaves_no_descriptor(struct kunit *test)
{
	struct memtb_slob_test *t = test->priv;

	/* One page for the descriptor, none for the block. */
	t->heap->params.max_pages = 1;
	KUNIT_EXPECT_NULL(test, memtb_alloc(t->heap, PAGE_SIZE, GFP_KERNEL,
					    NUMA_NO_NODE));
	KUNIT_EXPECT_PTR_EQ(test, t->slob->big, NULL);
	KUNIT_EXPECT_EQ(test, memtb_heap_shrink(t->heap), 1);
	KUNIT_EXPECT_EQ(test, memtb_test_stats(t->heap).pages_now, 0);
}

/* Pages that one object of this size makes the heap hold, and the lock holds. */
static void memtb_test_cache_object(struct kunit *test, size_t size, int pages,
				    bool from_list)
{
	struct memtb_slob_test *t = test->priv;
	struct memtb_cache *cache;
	u64 holds;
	void *obj;

	cache = memtb_cache_create(t->heap, "object", size, 0, 0, NULL);
	KUNIT_ASSERT_FALSE(test, IS_ERR(cache));
	holds = memtb_test_stats(t->heap).v[MEMTB_STAT_LOCK_HOLDS];
	obj = memtb_cache_alloc(cache, GFP_KERNEL, NUMA_NO_NODE);
	KUNIT_EXPECT_EQ(test, memtb_test_stats(t->heap).pages_now, pages);
	memtb_cache_free(cache, obj);
	KUNIT_EXPECT_EQ(test, memtb_test_stats(t->heap).pages_now, from_list ? 1 : 0);
	KUNIT_EXPECT_EQ(test, holds != memtb_test_stats(t->heap).v[MEMTB_STAT_LOCK_HOLDS],
			from_list);
	memtb_heap_shrink(t->heap);
	KUNIT_EXPECT_EQ(test, memtb_cache_destroy(cache), 0);
}

static void an_object_of_a_page_is_a_page(struct kunit *test)
{
	memtb_test_cache_object(test, PAGE_SIZE - 1, 1, true);
	memtb_test_cache_object(test, PAGE_SIZE, 1, false);
	memtb_test_cache_object(test, PAGE_SIZE + 1, 2, false);
}

static void a_type_safe_object_has_a_footer(struct kunit *test)
{
	struct memtb_slob_test *t = test->priv;
	struct memtb_slob_cache *sc;
	struct memtb_cache *cache;

	cache = memtb_cache_create(t->heap, "rcu", 20, 0, SLAB_TYPESAFE_BY_RCU,
				   NULL);
	KUNIT_ASSERT_FALSE(test, IS_ERR(cache));
	sc = memtb_cache_priv(cache);
	KUNIT_EXPECT_EQ(test, sc->footer, ALIGN(20, sizeof(void *)));
	KUNIT_EXPECT_EQ(test, sc->size,
			sc->footer + sizeof(struct memtb_slob_footer));
	KUNIT_EXPECT_EQ(test, memtb_cache_destroy(cache), 0);
	cache = memtb_cache_create(t->heap, "plain", 20, 0, 0, NULL);
	KUNIT_ASSERT_FALSE(test, IS_ERR(cache));
	sc = memtb_cache_priv(cache);
	KUNIT_EXPECT_EQ(test, sc->footer, 0);
	KUNIT_EXPECT_EQ(test, sc->size, 20);
	KUNIT_EXPECT_EQ(test, memtb_cache_destroy(cache), 0);
}

/* The footer counts: what could be made must also be able to serve. */
static void a_footer_must_fit_in_the_largest_size(struct kunit *test)
{
	struct memtb_slob_test *t = test->priv;
	size_t most = KMALLOC_MAX_SIZE - sizeof(struct memtb_slob_footer);
	struct memtb_cache *cache;
	void *obj;

	cache = memtb_cache_create(t->heap, "rcu", most + 1, 0,
				   SLAB_TYPESAFE_BY_RCU, NULL);
	KUNIT_EXPECT_EQ(test, PTR_ERR_OR_ZERO(cache), -EINVAL);
	cache = memtb_cache_create(t->heap, "rcu", most, 0,
				   SLAB_TYPESAFE_BY_RCU, NULL);
	KUNIT_ASSERT_FALSE(test, IS_ERR(cache));
	obj = memtb_cache_alloc(cache, GFP_KERNEL | __GFP_NOWARN, NUMA_NO_NODE);
	KUNIT_EXPECT_NOT_ERR_OR_NULL(test, obj);
	memtb_cache_free(cache, obj);
	rcu_barrier();
	KUNIT_EXPECT_EQ(test, memtb_cache_destroy(cache), 0);
}

static void only_a_whole_free_page_is_returned(struct kunit *test)
{
	struct memtb_slob_test *t = test->priv;
	void *obj = memtb_alloc(t->heap, 1, GFP_KERNEL, NUMA_NO_NODE);

	KUNIT_EXPECT_FALSE(test, memtb_slob_return_page(t->slob));
	memtb_free(t->heap, obj);
	KUNIT_EXPECT_EQ(test, memtb_test_stats(t->heap).pages_now, 1);
	KUNIT_EXPECT_TRUE(test, memtb_slob_return_page(t->slob));
	KUNIT_EXPECT_EQ(test, memtb_test_stats(t->heap).pages_now, 0);
	KUNIT_EXPECT_FALSE(test, memtb_slob_return_page(t->slob));
}

static void a_tick_returns_one_page(struct kunit *test)
{
	struct memtb_slob_test *t = test->priv;
	size_t size = PAGE_SIZE - 2 * MEMTB_SLOB_UNIT;
	void *first = memtb_alloc(t->heap, size, GFP_KERNEL, NUMA_NO_NODE);
	void *second = memtb_alloc(t->heap, size, GFP_KERNEL, NUMA_NO_NODE);

	memtb_free(t->heap, first);
	memtb_free(t->heap, second);
	KUNIT_EXPECT_EQ(test, memtb_test_stats(t->heap).pages_now, 2);
	memtb_slob_tick(&t->slob->timer);
	KUNIT_EXPECT_TRUE(test, timer_pending(&t->slob->timer));
	timer_delete_sync(&t->slob->timer);
	KUNIT_EXPECT_EQ(test, memtb_test_stats(t->heap).pages_now, 1);
	KUNIT_EXPECT_EQ(test, memtb_heap_shrink(t->heap), 1);
	KUNIT_EXPECT_EQ(test, memtb_heap_shrink(t->heap), 0);
}

static void a_second_free_changes_nothing(struct kunit *test)
{
	struct memtb_slob_test *t = memtb_test_planted(test);
	void *keep = memtb_alloc(t->heap, 40, GFP_KERNEL, NUMA_NO_NODE);
	void *obj = memtb_alloc(t->heap, 40, GFP_KERNEL, NUMA_NO_NODE);
	struct memtb_stats stats;

	memtb_free(t->heap, obj);
	memtb_free(t->heap, obj);
	memtb_heap_stats(t->heap, &stats);
	KUNIT_EXPECT_EQ(test, stats.v[MEMTB_STAT_BAD_FREES], 1);
	KUNIT_EXPECT_EQ(test, stats.objects_live, 1);
	memtb_free(t->heap, keep);
}

static struct kunit_case memtb_slob_heap_cases[] = {
	KUNIT_CASE(a_heap_grows_by_one_page_when_nothing_fits),
	KUNIT_CASE(a_block_is_big_when_a_page_cannot_hold_its_header),
	KUNIT_CASE(the_largest_small_block_fits_a_fresh_page),
	KUNIT_CASE(half_a_page_fits_behind_its_header),
	KUNIT_CASE(size_is_what_the_units_hold),
	KUNIT_CASE(a_big_block_has_its_pages_and_a_descriptor),
	KUNIT_CASE(big_blocks_are_searched_only_for_whole_pages),
	KUNIT_CASE(a_big_block_without_pages_leaves_no_descriptor),
	KUNIT_CASE(an_object_of_a_page_is_a_page),
	KUNIT_CASE(a_type_safe_object_has_a_footer),
	KUNIT_CASE(a_footer_must_fit_in_the_largest_size),
	KUNIT_CASE(only_a_whole_free_page_is_returned),
	KUNIT_CASE(a_tick_returns_one_page),
	KUNIT_CASE(a_second_free_changes_nothing),
	{}
};

static struct kunit_suite memtb_slob_heap_suite = {
	.name = "memtb_slob_heap",
	.init = memtb_slob_heap_test_init,
	.exit = memtb_slob_heap_test_exit,
	.test_cases = memtb_slob_heap_cases,
};

kunit_test_suites(&memtb_slob_list_suite, &memtb_slob_heap_suite);
