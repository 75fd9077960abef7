// SPDX-License-Identifier: GPL-2.0
/*
 * memtb_busted: backends with one planted fault each.
 *
 * Each is slob with one or two members put in front of the real ones.  No fault
 * reaches beyond the heap: what a fake does wrong it keeps account of, and makes
 * good at the latest when its heap ends.  The property named beside a fault has
 * to find it; if it does not, the conformance suite proves less than it says.
 */
#include <kunit/test.h>
#include <linux/slab.h>

#include "../module/core/pages.h"
#include "conformance.h"

static const struct memtb_backend *memtb_real;

/* What the fake of the running test keeps account of. */
static struct memtb_busted {
	unsigned int calls;
	/* One object that has two owners now and then. */
	struct memtb_cache *shared_cache;
	void *shared;
	unsigned int sharers;
	/* What it should have given back. */
	struct {
		struct memtb_heap *heap;
		void *obj;
	} kept[256];
	unsigned int nr_kept;
	/* Set by the first failure. */
	struct memtb_heap *stuck;
} memtb_busted;

static bool memtb_busted_every(unsigned int n)
{
	return ++memtb_busted.calls % n == 0;
}

static bool memtb_busted_keep(struct memtb_heap *heap, void *obj)
{
	unsigned int i = memtb_busted.nr_kept;

	if (!obj || i == ARRAY_SIZE(memtb_busted.kept))
		return false;
	memtb_busted.kept[i].heap = heap;
	memtb_busted.kept[i].obj = obj;
	memtb_busted.nr_kept++;
	return true;
}

/* Something that was kept from this heap, or NULL. */
static void *memtb_busted_unkeep(struct memtb_heap *heap)
{
	struct memtb_busted *b = &memtb_busted;
	unsigned int i;
	void *obj;

	for (i = 0; i < b->nr_kept; i++) {
		if (b->kept[i].heap != heap)
			continue;
		obj = b->kept[i].obj;
		b->kept[i] = b->kept[--b->nr_kept];
		return obj;
	}
	return NULL;
}

/* ---- alignment and content ---- */

static int memtb_busted_init_unaligned(struct memtb_cache *cache)
{
	cache->align = sizeof(void *);
	return memtb_real->cache_init(cache);
}

/* A power of two is asked for as something else. */
static void *memtb_busted_gp_alloc_unaligned(struct memtb_heap *heap,
					     size_t size, gfp_t gfp, int node)
{
	return memtb_real->gp_alloc(heap, size < PAGE_SIZE / 2 ? size + 1 : size,
				    gfp, node);
}

/* The contract says max_size; this one stops at a page. */
static void *memtb_busted_gp_alloc_small(struct memtb_heap *heap, size_t size,
					 gfp_t gfp, int node)
{
	return size <= PAGE_SIZE ? memtb_real->gp_alloc(heap, size, gfp, node) :
				   NULL;
}

static void *memtb_busted_alloc_shared(struct memtb_cache *cache, gfp_t gfp,
				       int node)
{
	struct memtb_busted *b = &memtb_busted;
	void *obj;

	if (b->shared && b->shared_cache == cache && b->sharers == 1 &&
	    memtb_busted_every(20)) {
		b->sharers = 2;
		return b->shared;
	}
	obj = memtb_real->alloc(cache, gfp, node);
	if (obj && !b->shared) {
		b->shared = obj;
		b->shared_cache = cache;
		b->sharers = 1;
	}
	return obj;
}

static bool memtb_busted_free_shared(struct memtb_cache *cache, void *obj)
{
	struct memtb_busted *b = &memtb_busted;

	if (obj == b->shared) {
		if (--b->sharers)
			return true;
		b->shared = NULL;
	}
	return memtb_real->free(cache, obj);
}

static size_t memtb_busted_gp_size_half(struct memtb_heap *heap, void *obj)
{
	return memtb_real->gp_size(heap, obj) / 2;
}

static void *memtb_busted_alloc_unbuilt(struct memtb_cache *cache, gfp_t gfp,
					int node)
{
	void *obj = memtb_real->alloc(cache, gfp, node);

	return obj ? memset(obj, 0, cache->size) : NULL;
}

static int memtb_busted_init_untyped(struct memtb_cache *cache)
{
	cache->flags &= ~SLAB_TYPESAFE_BY_RCU;
	return memtb_real->cache_init(cache);
}

/* ---- objects and pages that do not come back ---- */

static bool memtb_busted_gp_free_lost(struct memtb_heap *heap, void *obj)
{
	if (memtb_busted_every(10) && memtb_busted_keep(heap, obj))
		return true;
	return memtb_real->gp_free(heap, obj);
}

static void memtb_busted_exit_lost(struct memtb_heap *heap)
{
	void *obj;

	while ((obj = memtb_busted_unkeep(heap)))
		memtb_real->gp_free(heap, obj);
	memtb_real->heap_exit(heap);
}

/* After a failure it takes a page to be prepared for the next one. */
static void *memtb_busted_gp_alloc_hoard(struct memtb_heap *heap, size_t size,
					 gfp_t gfp, int node)
{
	void *obj = memtb_real->gp_alloc(heap, size, gfp, node);

	if (!obj)
		memtb_busted_keep(heap, memtb_pages_get(&heap->owner, gfp, 0,
							node));
	return obj;
}

static void memtb_busted_exit_hoard(struct memtb_heap *heap)
{
	void *page;

	while ((page = memtb_busted_unkeep(heap)))
		memtb_pages_put(&heap->owner, page, 0);
	memtb_real->heap_exit(heap);
}

static void *memtb_busted_alloc_stuck(struct memtb_cache *cache, gfp_t gfp,
				      int node)
{
	void *obj = NULL;

	if (memtb_busted.stuck != cache->heap)
		obj = memtb_real->alloc(cache, gfp, node);
	if (!obj)
		memtb_busted.stuck = cache->heap;
	return obj;
}

static unsigned long memtb_busted_shrink_nothing(struct memtb_heap *heap)
{
	return 0;
}

static unsigned long memtb_busted_check_complains(struct memtb_heap *heap)
{
	return 1;
}

/**
 * struct memtb_busted_fault - a fault and who has to find it
 * @name: what is wrong
 * @property: name of the property that has to notice
 * @with: the members that are not slob's
 */
struct memtb_busted_fault {
	const char *name;
	const char *property;
	struct memtb_backend with;
};

static const struct memtb_busted_fault memtb_busted_faults[] = {
	{ "a cache's alignment is ignored", "objects_are_aligned",
	  { .cache_init = memtb_busted_init_unaligned } },
	{ "powers of two are not aligned", "powers_of_two_are_naturally_aligned",
	  { .gp_alloc = memtb_busted_gp_alloc_unaligned } },
	{ "blocks end at a page", "blocks_are_aligned",
	  { .gp_alloc = memtb_busted_gp_alloc_small } },
	{ "an object has two owners", "objects_do_not_overlap",
	  { .alloc = memtb_busted_alloc_shared,
	    .free = memtb_busted_free_shared } },
	{ "half the usable size", "usable_size_may_be_used",
	  { .gp_size = memtb_busted_gp_size_half } },
	{ "the constructor's work is lost", "objects_come_constructed",
	  { .alloc = memtb_busted_alloc_unbuilt } },
	{ "type safety is forgotten", "type_safe_objects_keep_their_type",
	  { .cache_init = memtb_busted_init_untyped } },
	{ "a tenth of the frees is lost", "the_last_free_returns_every_page",
	  { .gp_free = memtb_busted_gp_free_lost,
	    .heap_exit = memtb_busted_exit_lost } },
	{ "a failure costs a page", "page_failures_leak_nothing",
	  { .gp_alloc = memtb_busted_gp_alloc_hoard,
	    .heap_exit = memtb_busted_exit_hoard } },
	{ "the first failure is for ever", "a_budget_is_kept",
	  { .alloc = memtb_busted_alloc_stuck } },
	{ "shrink does nothing", "the_last_free_returns_every_page",
	  { .shrink = memtb_busted_shrink_nothing } },
	{ "the check complains", "size_zero_is_no_object",
	  { .check = memtb_busted_check_complains } },
};

static struct memtb_backend memtb_busted_fake(const struct memtb_backend *with)
{
	struct memtb_backend fake = *memtb_real;

	fake.heap_exit = with->heap_exit ?: fake.heap_exit;
	fake.cache_init = with->cache_init ?: fake.cache_init;
	fake.alloc = with->alloc ?: fake.alloc;
	fake.free = with->free ?: fake.free;
	fake.gp_alloc = with->gp_alloc ?: fake.gp_alloc;
	fake.gp_free = with->gp_free ?: fake.gp_free;
	fake.gp_size = with->gp_size ?: fake.gp_size;
	fake.shrink = with->shrink ?: fake.shrink;
	fake.check = with->check ?: fake.check;
	return fake;
}

static void memtb_busted_describe(const struct memtb_busted_fault *fault,
				  char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "%s", fault->name);
}

KUNIT_ARRAY_PARAM(memtb_busted, memtb_busted_faults, memtb_busted_describe);

static void is_found(struct kunit *test)
{
	const struct memtb_busted_fault *fault = test->param_value;
	const struct memtb_conform_property *property;
	struct memtb_backend fake = memtb_busted_fake(&fault->with);
	const struct memtb_heap_params none = {};
	const char *found;

	property = memtb_conform_find(fault->property);
	KUNIT_ASSERT_NOT_NULL(test, property);
	found = memtb_conform_run(property, &fake, MEMTB_PLANTED, &none);
	KUNIT_EXPECT_NOT_NULL_MSG(test, found, "%s does not find it",
				  fault->property);
	if (found)
		kunit_info(test, "found: %s\n", found);
}

/* So that it is the fault which is found. */
static void nothing_is_found_without_a_fault(struct kunit *test)
{
	const struct memtb_busted_fault *fault = memtb_busted_faults;
	struct memtb_backend fake = *memtb_real;
	const struct memtb_heap_params none = {};
	const char *found;
	int i;

	for (i = 0; i < ARRAY_SIZE(memtb_busted_faults); i++, fault++) {
		found = memtb_conform_run(memtb_conform_find(fault->property),
					  &fake, "faultless", &none);
		KUNIT_EXPECT_NULL_MSG(test, found, "%s: %s", fault->property,
				      found);
	}
}

static int memtb_busted_test_init(struct kunit *test)
{
	memset(&memtb_busted, 0, sizeof(memtb_busted));
	memtb_real = memtb_backend_find("slob");
	return memtb_real ? 0 : -ENOENT;
}

static struct kunit_case memtb_busted_cases[] = {
	KUNIT_CASE_PARAM(is_found, memtb_busted_gen_params),
	KUNIT_CASE(nothing_is_found_without_a_fault),
	{}
};

static struct kunit_suite memtb_busted_suite = {
	.name = "memtb_busted",
	.init = memtb_busted_test_init,
	.test_cases = memtb_busted_cases,
};
kunit_test_suite(memtb_busted_suite);
