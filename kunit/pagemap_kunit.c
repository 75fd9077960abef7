// SPDX-License-Identifier: GPL-2.0
/*
 * memtb_pagemap: whose page is this, for any value that a pointer may have.
 */
#include <kunit/test.h>
#include <linux/mm.h>
#include <linux/vmalloc.h>

#include "../module/core/pages.h"

static int memtb_pagemap_value;

/* A map of the suite's own: what is set here is not seen by anybody else. */
static int memtb_pagemap_test_init(struct kunit *test)
{
	struct memtb_pagemap *map;

	map = kunit_kzalloc(test, sizeof(*map), GFP_KERNEL);
	if (!map)
		return -ENOMEM;
	test->priv = map;
	return memtb_pagemap_init(map);
}

static void memtb_pagemap_test_exit(struct kunit *test)
{
	if (test->priv)
		memtb_pagemap_exit(test->priv);
}

static void *memtb_pagemap_addr(unsigned long page)
{
	return (void *)(PAGE_OFFSET + (page << PAGE_SHIFT));
}

static void set_is_seen_in_every_byte_of_the_page(struct kunit *test)
{
	struct memtb_pagemap *map = test->priv;
	void *page = memtb_pagemap_addr(3), *value = &memtb_pagemap_value;

	KUNIT_ASSERT_EQ(test, memtb_pagemap_set(map, page, 1, value, GFP_KERNEL),
			0);
	KUNIT_EXPECT_PTR_EQ(test, memtb_pagemap_get(map, page), value);
	KUNIT_EXPECT_PTR_EQ(test, memtb_pagemap_get(map, page + 1), value);
	KUNIT_EXPECT_PTR_EQ(test, memtb_pagemap_get(map, page + PAGE_SIZE - 1),
			    value);
	KUNIT_EXPECT_NULL(test, memtb_pagemap_get(map, page - 1));
	KUNIT_EXPECT_NULL(test, memtb_pagemap_get(map, page + PAGE_SIZE));
}

static void clear_forgets_just_the_run(struct kunit *test)
{
	struct memtb_pagemap *map = test->priv;
	void *page = memtb_pagemap_addr(8), *value = &memtb_pagemap_value;

	KUNIT_ASSERT_EQ(test, memtb_pagemap_set(map, page, 4, value, GFP_KERNEL),
			0);
	memtb_pagemap_clear(map, page + PAGE_SIZE, 2);
	KUNIT_EXPECT_PTR_EQ(test, memtb_pagemap_get(map, page), value);
	KUNIT_EXPECT_NULL(test, memtb_pagemap_get(map, page + PAGE_SIZE));
	KUNIT_EXPECT_NULL(test, memtb_pagemap_get(map, page + 2 * PAGE_SIZE));
	KUNIT_EXPECT_PTR_EQ(test, memtb_pagemap_get(map, page + 3 * PAGE_SIZE),
			    value);
}

static void a_run_crosses_the_border_of_a_leaf(struct kunit *test)
{
	struct memtb_pagemap *map = test->priv;
	void *first = memtb_pagemap_addr(MEMTB_PAGEMAP_LEAF_SIZE - 1);
	void *value = &memtb_pagemap_value;

	KUNIT_ASSERT_EQ(test, memtb_pagemap_set(map, first, 2, value, GFP_KERNEL),
			0);
	KUNIT_EXPECT_PTR_EQ(test, memtb_pagemap_get(map, first), value);
	KUNIT_EXPECT_PTR_EQ(test, memtb_pagemap_get(map, first + PAGE_SIZE),
			    value);
	KUNIT_EXPECT_NULL(test, memtb_pagemap_get(map, first - 1));
	KUNIT_EXPECT_NULL(test, memtb_pagemap_get(map, first + 2 * PAGE_SIZE));
	memtb_pagemap_clear(map, first, 2);
	KUNIT_EXPECT_NULL(test, memtb_pagemap_get(map, first));
	KUNIT_EXPECT_NULL(test, memtb_pagemap_get(map, first + PAGE_SIZE));
}

static void first_and_last_page_have_a_slot(struct kunit *test)
{
	struct memtb_pagemap *map = test->priv;
	void *first = memtb_pagemap_addr(0), *value = &memtb_pagemap_value;
	void *last = memtb_pagemap_addr(map->nr_pages - 1);

	KUNIT_EXPECT_EQ(test, memtb_pagemap_set(map, first, 1, value, GFP_KERNEL),
			0);
	KUNIT_EXPECT_EQ(test, memtb_pagemap_set(map, last, 1, value, GFP_KERNEL),
			0);
	KUNIT_EXPECT_PTR_EQ(test, memtb_pagemap_get(map, first), value);
	KUNIT_EXPECT_PTR_EQ(test, memtb_pagemap_get(map, last), value);
}

static void beyond_the_last_page_nothing_is_set(struct kunit *test)
{
	struct memtb_pagemap *map = test->priv;
	void *last = memtb_pagemap_addr(map->nr_pages - 1);
	void *value = &memtb_pagemap_value;

	KUNIT_EXPECT_EQ(test,
			memtb_pagemap_set(map, last + PAGE_SIZE, 1, value,
					  GFP_KERNEL), -ERANGE);
	KUNIT_EXPECT_EQ(test, memtb_pagemap_set(map, last, 2, value, GFP_KERNEL),
			-ERANGE);
	KUNIT_EXPECT_NULL(test, memtb_pagemap_get(map, last));
	KUNIT_EXPECT_NULL(test, memtb_pagemap_get(map, last + PAGE_SIZE));
}

/* With every slot set, only the linear map may answer. */
static void garbage_belongs_to_nobody(struct kunit *test)
{
	static char in_data;
	struct memtb_pagemap *map = test->priv;
	void *in_vmalloc = vmalloc(PAGE_SIZE);
	const void *garbage[] = {
		NULL, ZERO_SIZE_PTR, (void *)1, (void *)PAGE_SIZE,
		(void *)0x400000, (void *)~0UL, (void *)(~0UL - PAGE_SIZE),
		(void *)(PAGE_OFFSET - 1), (void *)LONG_MAX,
		(void *)((unsigned long)LONG_MAX + 1), high_memory, in_vmalloc,
		&in_data, garbage_belongs_to_nobody, vfree,
	};
	unsigned int i;

	KUNIT_ASSERT_NOT_NULL(test, in_vmalloc);
	KUNIT_ASSERT_EQ(test,
			memtb_pagemap_set(map, memtb_pagemap_addr(0),
					  map->nr_pages, &memtb_pagemap_value,
					  GFP_KERNEL), 0);
	for (i = 0; i < ARRAY_SIZE(garbage); i++)
		KUNIT_EXPECT_PTR_EQ_MSG(test, memtb_pagemap_get(map, garbage[i]),
					NULL, "garbage %u", i);
	vfree(in_vmalloc);
}

static void an_empty_map_knows_nobody(struct kunit *test)
{
	struct memtb_pagemap *map = test->priv;

	KUNIT_EXPECT_NULL(test, memtb_pagemap_get(map, memtb_pagemap_addr(0)));
	KUNIT_EXPECT_NULL(test, memtb_pagemap_get(map, test));
}

static void a_page_is_the_heaps_while_it_holds_it(struct kunit *test)
{
	struct memtb_heap *heap;
	void *page;

	heap = memtb_heap_create(memtb_backend_find("slob"), "owner", NULL);
	KUNIT_ASSERT_FALSE(test, IS_ERR(heap));
	page = memtb_pages_get(&heap->owner, GFP_KERNEL, 1, NUMA_NO_NODE);
	KUNIT_EXPECT_NOT_NULL(test, page);
	if (page) {
		KUNIT_EXPECT_PTR_EQ(test, memtb_owner(page), &heap->owner);
		KUNIT_EXPECT_PTR_EQ(test, memtb_owner(page + 2 * PAGE_SIZE - 1),
				    &heap->owner);
		memtb_pages_put(&heap->owner, page, 1);
		KUNIT_EXPECT_NULL(test, memtb_owner(page));
		KUNIT_EXPECT_NULL(test, memtb_owner(page + PAGE_SIZE));
	}
	KUNIT_EXPECT_EQ(test, memtb_heap_destroy(heap), 0);
}

static struct kunit_case memtb_pagemap_cases[] = {
	KUNIT_CASE(set_is_seen_in_every_byte_of_the_page),
	KUNIT_CASE(clear_forgets_just_the_run),
	KUNIT_CASE(a_run_crosses_the_border_of_a_leaf),
	KUNIT_CASE(first_and_last_page_have_a_slot),
	KUNIT_CASE(beyond_the_last_page_nothing_is_set),
	KUNIT_CASE(garbage_belongs_to_nobody),
	KUNIT_CASE(an_empty_map_knows_nobody),
	KUNIT_CASE(a_page_is_the_heaps_while_it_holds_it),
	{}
};

static struct kunit_suite memtb_pagemap_suite = {
	.name = "memtb_pagemap",
	.init = memtb_pagemap_test_init,
	.exit = memtb_pagemap_test_exit,
	.test_cases = memtb_pagemap_cases,
};
kunit_test_suite(memtb_pagemap_suite);
