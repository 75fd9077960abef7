// SPDX-License-Identifier: GPL-2.0
/*
 * memtb_slob_blocks: the free list of a page from the inside.
 *
 * The list's source is compiled into this module a second time.  All numbers are
 * units, but for words.  What lies behind the page looks like a free block, too.
 */
#include <kunit/test.h>
#include <linux/gfp.h>

#include "../module/backend/slob_blocks.c"

/* A free block. */
struct memtb_run {
	int start;
	int units;
};

#define MEMTB_RUNS(...)		((const struct memtb_run[]){ __VA_ARGS__, {} })

static int memtb_blocks_test_init(struct kunit *test)
{
	struct memtb_blocks *page, behind;
	void *base;

	page = kunit_kzalloc(test, sizeof(*page), GFP_KERNEL);
	base = (void *)__get_free_pages(GFP_KERNEL, 1);
	if (!page || !base)
		return -ENOMEM;
	memtb_blocks_init(&behind, base + PAGE_SIZE);
	memtb_blocks_init(page, base);
	test->priv = page;
	return 0;
}

static void memtb_blocks_test_exit(struct kunit *test)
{
	struct memtb_blocks *page = test->priv;

	if (page)
		free_pages((unsigned long)page->base, 1);
}

static struct memtb_slob_unit *memtb_blocks_at(struct kunit *test, int unit)
{
	struct memtb_blocks *page = test->priv;

	return (struct memtb_slob_unit *)page->base + unit;
}

/* Where a block was found whose unit @offset is aligned, or -1. */
static int memtb_blocks_test_take(struct kunit *test, int units, int align,
				  int offset)
{
	const struct memtb_blocks_ask ask = {
		.size = units * MEMTB_BLOCKS_UNIT,
		.align = align * MEMTB_BLOCKS_UNIT,
		.offset = offset * MEMTB_BLOCKS_UNIT,
	};
	struct memtb_slob_unit *block;
	unsigned long steps = 0;

	block = memtb_blocks_take(test->priv, &ask, &steps);
	return block ? block - memtb_blocks_at(test, 0) : -1;
}

static bool memtb_blocks_test_give(struct kunit *test, int start, int units)
{
	unsigned long steps = 0;

	return memtb_blocks_give(test->priv, memtb_blocks_at(test, start),
				 units * MEMTB_BLOCKS_UNIT, &steps);
}

/* The whole page taken, these blocks of it given back. */
static void memtb_blocks_lay_out(struct kunit *test, const struct memtb_run *run)
{
	KUNIT_ASSERT_EQ(test, 0,
			memtb_blocks_test_take(test, MEMTB_BLOCKS_ALL, 1, 0));
	for (; run->units; run++)
		KUNIT_ASSERT_TRUE(test, memtb_blocks_test_give(test, run->start,
							       run->units));
}

/* Just these blocks are free. */
static void memtb_blocks_expect(struct kunit *test, const struct memtb_run *run)
{
	struct memtb_blocks *page = test->priv;
	struct memtb_slob_unit *cur = page->free;
	int units = 0;

	for (; run->units; run++) {
		KUNIT_ASSERT_PTR_EQ(test, cur, memtb_blocks_at(test, run->start));
		KUNIT_ASSERT_EQ(test, memtb_slob_unit_length(cur), run->units);
		units += run->units;
		cur = memtb_slob_unit_next(cur);
	}
	KUNIT_EXPECT_PTR_EQ(test, cur, memtb_blocks_end(page));
	KUNIT_EXPECT_EQ(test, page->units, units);
	KUNIT_EXPECT_NULL(test, memtb_blocks_fault(page));
}

static void a_fresh_page_is_one_free_block(struct kunit *test)
{
	memtb_blocks_expect(test, MEMTB_RUNS({ 0, MEMTB_BLOCKS_ALL }));
	KUNIT_EXPECT_EQ(test, -1, memtb_blocks_test_take(test,
							 MEMTB_BLOCKS_ALL + 1,
							 1, 0));
	KUNIT_EXPECT_EQ(test, 0, memtb_blocks_test_take(test, MEMTB_BLOCKS_ALL,
							1, 0));
	memtb_blocks_expect(test, MEMTB_RUNS({}));
}

static void a_block_of_one_unit_names_the_next_only(struct kunit *test)
{
	memtb_blocks_lay_out(test, MEMTB_RUNS({ 10, 3 }, { 20, 1 }, { 30, 2 }));
	KUNIT_EXPECT_EQ(test, memtb_blocks_at(test, 10)[0].word, 3);
	KUNIT_EXPECT_EQ(test, memtb_blocks_at(test, 10)[1].word, 20);
	KUNIT_EXPECT_EQ(test, memtb_blocks_at(test, 20)[0].word, -30);
	KUNIT_EXPECT_EQ(test, memtb_blocks_at(test, 30)[0].word, 2);
	KUNIT_EXPECT_EQ(test, memtb_blocks_at(test, 30)[1].word, MEMTB_BLOCKS_ALL);
}

static void the_last_unit_of_a_page_can_be_free(struct kunit *test)
{
	int last = MEMTB_BLOCKS_ALL - 1;

	memtb_blocks_lay_out(test, MEMTB_RUNS({ last, 1 }));
	KUNIT_EXPECT_EQ(test, memtb_blocks_at(test, last)->word, -MEMTB_BLOCKS_ALL);
	memtb_blocks_expect(test, MEMTB_RUNS({ last, 1 }));
	KUNIT_EXPECT_EQ(test, last, memtb_blocks_test_take(test, 1, 1, 0));
}

static void the_first_block_that_fits_is_taken(struct kunit *test)
{
	memtb_blocks_lay_out(test, MEMTB_RUNS({ 10, 3 }, { 20, 9 }, { 40, 4 }));
	KUNIT_EXPECT_EQ(test, 20, memtb_blocks_test_take(test, 4, 1, 0));
	memtb_blocks_expect(test, MEMTB_RUNS({ 10, 3 }, { 24, 5 }, { 40, 4 }));
	KUNIT_EXPECT_EQ(test, 10, memtb_blocks_test_take(test, 3, 1, 0));
	memtb_blocks_expect(test, MEMTB_RUNS({ 24, 5 }, { 40, 4 }));
	KUNIT_EXPECT_EQ(test, 24, memtb_blocks_test_take(test, 4, 1, 0));
	memtb_blocks_expect(test, MEMTB_RUNS({ 28, 1 }, { 40, 4 }));
	KUNIT_EXPECT_EQ(test, 40, memtb_blocks_test_take(test, 4, 1, 0));
	memtb_blocks_expect(test, MEMTB_RUNS({ 28, 1 }));
}

static void pieces_in_front_and_behind_stay_free(struct kunit *test)
{
	memtb_blocks_lay_out(test, MEMTB_RUNS({ 3, 1 }, { 15, 20 }, { 50, 2 }));
	KUNIT_EXPECT_EQ(test, 16, memtb_blocks_test_take(test, 4, 8, 0));
	memtb_blocks_expect(test, MEMTB_RUNS({ 3, 1 }, { 15, 1 }, { 20, 15 },
					     { 50, 2 }));
	KUNIT_EXPECT_EQ(test, 24, memtb_blocks_test_take(test, 11, 8, 0));
	memtb_blocks_expect(test, MEMTB_RUNS({ 3, 1 }, { 15, 1 }, { 20, 4 },
					     { 50, 2 }));
}

/* What is aligned lies behind @offset units, which a header takes. */
static void the_part_behind_the_header_is_aligned(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, 28, memtb_blocks_test_take(test, 4 + 32, 32, 4));
	memtb_blocks_expect(test, MEMTB_RUNS({ 0, 28 },
					     { 64, MEMTB_BLOCKS_ALL - 64 }));
	KUNIT_EXPECT_EQ(test, 0, memtb_blocks_test_take(test, 4 + 4, 4, 4));
}

static void a_gap_in_front_must_leave_room_enough(struct kunit *test)
{
	memtb_blocks_lay_out(test, MEMTB_RUNS({ 10, 9 }, { 33, 11 }, { 64, 4 }));
	/* Of the first remain 3 behind unit 16, of the second 4 behind 40. */
	KUNIT_EXPECT_EQ(test, 64, memtb_blocks_test_take(test, 4, 16, 0));
	KUNIT_EXPECT_EQ(test, 40, memtb_blocks_test_take(test, 4, 8, 0));
	KUNIT_EXPECT_EQ(test, -1, memtb_blocks_test_take(test, 4, 8, 0));
	KUNIT_EXPECT_EQ(test, 16, memtb_blocks_test_take(test, 3, 8, 0));
	memtb_blocks_expect(test, MEMTB_RUNS({ 10, 6 }, { 33, 7 }));
}

static void a_block_joins_what_it_touches(struct kunit *test)
{
	memtb_blocks_lay_out(test, MEMTB_RUNS({ 40, 2 }, { 10, 3 }, { 20, 1 }));
	memtb_blocks_expect(test, MEMTB_RUNS({ 10, 3 }, { 20, 1 }, { 40, 2 }));
	/* Behind the first. */
	KUNIT_EXPECT_TRUE(test, memtb_blocks_test_give(test, 13, 1));
	memtb_blocks_expect(test, MEMTB_RUNS({ 10, 4 }, { 20, 1 }, { 40, 2 }));
	/* In front of the second, and of the first. */
	KUNIT_EXPECT_TRUE(test, memtb_blocks_test_give(test, 18, 2));
	KUNIT_EXPECT_TRUE(test, memtb_blocks_test_give(test, 9, 1));
	memtb_blocks_expect(test, MEMTB_RUNS({ 9, 5 }, { 18, 3 }, { 40, 2 }));
	/* Between both. */
	KUNIT_EXPECT_TRUE(test, memtb_blocks_test_give(test, 14, 4));
	memtb_blocks_expect(test, MEMTB_RUNS({ 9, 12 }, { 40, 2 }));
	/* Near none. */
	KUNIT_EXPECT_TRUE(test, memtb_blocks_test_give(test, 30, 5));
	memtb_blocks_expect(test, MEMTB_RUNS({ 9, 12 }, { 30, 5 }, { 40, 2 }));
}

static void nothing_joins_across_the_end_of_the_page(struct kunit *test)
{
	int start = MEMTB_BLOCKS_ALL - 5;

	memtb_blocks_lay_out(test, MEMTB_RUNS({ start, 5 }));
	memtb_blocks_expect(test, MEMTB_RUNS({ start, 5 }));
	KUNIT_EXPECT_TRUE(test, memtb_blocks_test_give(test, 0, start));
	memtb_blocks_expect(test, MEMTB_RUNS({ 0, MEMTB_BLOCKS_ALL }));
}

static void what_overlaps_a_free_block_is_refused(struct kunit *test)
{
	static const struct memtb_run overlaps[] = {
		{ 10, 4 }, { 10, 1 }, { 11, 2 }, { 13, 1 }, { 13, 5 }, { 8, 3 },
		{ 8, 8 }, { 19, 2 }, { 20, 1 }, { 20, 4 }, { 5, 20 }, { 14, 7 },
	};
	int i;

	memtb_blocks_lay_out(test, MEMTB_RUNS({ 10, 4 }, { 20, 1 }));
	for (i = 0; i < ARRAY_SIZE(overlaps); i++) {
		KUNIT_EXPECT_FALSE_MSG(test,
				       memtb_blocks_test_give(test, overlaps[i].start,
							      overlaps[i].units),
				       "%d units at %d", overlaps[i].units,
				       overlaps[i].start);
		memtb_blocks_expect(test, MEMTB_RUNS({ 10, 4 }, { 20, 1 }));
	}
	KUNIT_EXPECT_TRUE(test, memtb_blocks_test_give(test, 14, 6));
	memtb_blocks_expect(test, MEMTB_RUNS({ 10, 11 }));
}

static void steps_are_blocks_looked_at(struct kunit *test)
{
	const struct memtb_blocks_ask ask = {
		.size = 5 * MEMTB_BLOCKS_UNIT, .align = 1,
	};
	unsigned long steps = 0;

	memtb_blocks_lay_out(test, MEMTB_RUNS({ 10, 3 }, { 20, 4 }, { 30, 5 },
					      { 40, 6 }));
	KUNIT_EXPECT_PTR_EQ(test, memtb_blocks_take(test->priv, &ask, &steps),
			    (void *)memtb_blocks_at(test, 30));
	KUNIT_EXPECT_EQ(test, steps, 3);
	KUNIT_EXPECT_TRUE(test, memtb_blocks_give(test->priv,
						  memtb_blocks_at(test, 30),
						  ask.size, &steps));
	KUNIT_EXPECT_EQ(test, steps, 3 + 2);
}

/* Plant a word, see that it is found, put back what was there. */
static void memtb_blocks_plant(struct kunit *test, int at, int word,
			       const char *fault)
{
	struct memtb_slob_unit *unit = memtb_blocks_at(test, at), was = *unit;

	unit->word = word;
	KUNIT_EXPECT_STREQ(test, fault,
			   memtb_blocks_fault(test->priv) ?: "nothing");
	*unit = was;
	KUNIT_EXPECT_NULL(test, memtb_blocks_fault(test->priv));
}

static void every_damage_is_found(struct kunit *test)
{
	struct memtb_blocks *page = test->priv;
	int last = MEMTB_BLOCKS_ALL - 1;

	memtb_blocks_lay_out(test, MEMTB_RUNS({ 10, 3 }, { 20, 4 }, { last, 1 }));
	memtb_blocks_plant(test, 10, 0, "a free block has no length");
	memtb_blocks_plant(test, last, 1, "a free block has no length");
	memtb_blocks_plant(test, last, 2, "a free block is longer than the page");
	memtb_blocks_plant(test, 11, MEMTB_BLOCKS_ALL + 1,
			   "a free block leads out of the page");
	memtb_blocks_plant(test, 10, 11, "a free block overlaps the next");
	memtb_blocks_plant(test, 21, 10, "a free block overlaps the next");
	memtb_blocks_plant(test, 10, 10, "a free block touches the next, not merged");
	memtb_blocks_plant(test, 20, 5, "the free blocks do not add up");
	memtb_blocks_plant(test, 11, last, "the free blocks do not add up");
	page->free = memtb_blocks_end(page) + 1;
	KUNIT_EXPECT_STREQ(test, memtb_blocks_fault(page) ?: "nothing",
			   "the first free block is not in the page");
	page->free = memtb_blocks_at(test, -1);
	KUNIT_EXPECT_STREQ(test, memtb_blocks_fault(page) ?: "nothing",
			   "the first free block is not in the page");
}

static struct kunit_case memtb_slob_blocks_cases[] = {
	KUNIT_CASE(a_fresh_page_is_one_free_block),
	KUNIT_CASE(a_block_of_one_unit_names_the_next_only),
	KUNIT_CASE(the_last_unit_of_a_page_can_be_free),
	KUNIT_CASE(the_first_block_that_fits_is_taken),
	KUNIT_CASE(pieces_in_front_and_behind_stay_free),
	KUNIT_CASE(the_part_behind_the_header_is_aligned),
	KUNIT_CASE(a_gap_in_front_must_leave_room_enough),
	KUNIT_CASE(a_block_joins_what_it_touches),
	KUNIT_CASE(nothing_joins_across_the_end_of_the_page),
	KUNIT_CASE(what_overlaps_a_free_block_is_refused),
	KUNIT_CASE(steps_are_blocks_looked_at),
	KUNIT_CASE(every_damage_is_found),
	{}
};

static struct kunit_suite memtb_slob_blocks_suite = {
	.name = "memtb_slob_blocks",
	.init = memtb_blocks_test_init,
	.exit = memtb_blocks_test_exit,
	.test_cases = memtb_slob_blocks_cases,
};
kunit_test_suite(memtb_slob_blocks_suite);
