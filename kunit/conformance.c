// SPDX-License-Identifier: GPL-2.0
/*
 * The properties: the table in Documentation/design.rst, row by row.
 */
#include <linux/err.h>
#include <linux/kthread.h>
#include <linux/mm.h>
#include <linux/prandom.h>
#include <linux/rcupdate.h>
#include <linux/sched/task.h>
#include <linux/smp.h>
#include <linux/vmalloc.h>

#include "conformance.h"

#define MEMTB_CONFORM_SEED	20051227

/* What several properties may have to say. */
#define MEMTB_SAY_CHANGED	"an object changed while it was allocated"
#define MEMTB_SAY_FAILED	"an allocation failed"
#define MEMTB_SAY_LEFT		"destroying the heap left something behind"
#define MEMTB_SAY_REFUSED	"a cache within the limits was refused"

/* ---- what is allocated ---- */

static bool memtb_conform_stores(const struct memtb_conform *c)
{
	return c->heap->backend->flags & MEMTB_STORES;
}

static struct memtb_conform_item *
memtb_conform_keep(struct memtb_conform *c, struct memtb_heap *heap,
		   struct memtb_cache *cache, void *obj, size_t size)
{
	struct memtb_conform_item *item = c->item + c->nr;

	if (!obj || WARN_ON(c->nr == MEMTB_CONFORM_ITEMS))
		return NULL;
	*item = (struct memtb_conform_item){
		.heap = heap, .cache = cache, .obj = obj, .size = size,
	};
	c->nr++;
	return item;
}

static struct memtb_conform_item *
memtb_conform_object(struct memtb_conform *c, struct memtb_cache *cache,
		     gfp_t gfp)
{
	return memtb_conform_keep(c, cache->heap, cache,
				  memtb_cache_alloc(cache, gfp, NUMA_NO_NODE),
				  cache->size);
}

static struct memtb_conform_item *
memtb_conform_block(struct memtb_conform *c, struct memtb_heap *heap,
		    size_t size, gfp_t gfp)
{
	return memtb_conform_keep(c, heap, NULL,
				  memtb_alloc(heap, size, gfp, NUMA_NO_NODE),
				  size);
}

/* From here on the bytes of the item are looked after. */
static void memtb_conform_fill(struct memtb_conform *c,
			       struct memtb_conform_item *item)
{
	if (!item || !memtb_conform_stores(c))
		return;
	item->fill = (item - c->item) * 37 + 1;
	item->filled = true;
	memset(item->obj, item->fill, item->size);
}

static bool memtb_conform_intact(const struct memtb_conform_item *item)
{
	return !item->filled ||
	       !memchr_inv(item->obj, item->fill, item->size);
}

/* Free item @i; the last one takes its place. */
static const char *memtb_conform_drop(struct memtb_conform *c, unsigned int i)
{
	struct memtb_conform_item item = c->item[i];

	c->item[i] = c->item[--c->nr];
	if (!memtb_conform_intact(&item)) {
		item.filled = false;
		c->item[c->nr++] = item;
		return MEMTB_SAY_CHANGED;
	}
	if (item.cache)
		memtb_cache_free(item.cache, item.obj);
	else
		memtb_free(item.heap, item.obj);
	return NULL;
}

static const char *memtb_conform_drop_all(struct memtb_conform *c)
{
	const char *fault = NULL;

	while (c->nr && !fault)
		fault = memtb_conform_drop(c, c->nr - 1);
	return fault;
}

static struct memtb_heap *
memtb_conform_second(struct memtb_conform *c, const char *name,
		     const struct memtb_heap_params *params)
{
	c->other = memtb_heap_create(c->heap->backend, name, params);
	if (IS_ERR(c->other))
		c->other = NULL;
	return c->other;
}

static struct memtb_heap *memtb_conform_other(struct memtb_conform *c,
					      unsigned long max_pages,
					      unsigned long fail_page)
{
	struct memtb_heap_params params = c->params;

	params.max_pages = max_pages;
	params.fail_page = fail_page;
	return memtb_conform_second(c, c->heap->name, &params);
}

static unsigned long memtb_conform_pages(struct memtb_heap *heap)
{
	memtb_heap_shrink(heap);
	return memtb_test_stats(heap).pages_now;
}

/* Everything is free: nothing may be counted or held, and every walk is clean. */
static const char *memtb_conform_clean(struct memtb_heap *heap)
{
	if (memtb_test_stats(heap).objects_live)
		return "objects are counted as live after the last was freed";
	if (memtb_conform_pages(heap))
		return "pages are held after the last object was freed";
	if (memtb_heap_check(heap))
		return "the heap's own check complains";
	if (memtb_test_stats(heap).v[MEMTB_STAT_VIOLATIONS])
		return "debug=verify found a violation";
	return NULL;
}

static const char *memtb_conform_end(struct memtb_heap *heap)
{
	const char *fault = memtb_conform_clean(heap);

	if (memtb_heap_destroy(heap))
		return MEMTB_SAY_LEFT;
	return fault;
}

/**
 * memtb_conform_run - ask a backend for a property
 * @property: what
 * @backend: whom; has all that the property needs
 * @heap_name: MEMTB_PLANTED if it is expected not to hold
 * @params: run-time checks and options
 *
 * Whatever the property says, the heaps have to be clean in the end.
 *
 * Context: process, sleeps.
 * Return: NULL if it holds, otherwise what does not.
 */
const char *memtb_conform_run(const struct memtb_conform_property *property,
			      const struct memtb_backend *backend,
			      const char *heap_name,
			      const struct memtb_heap_params *params)
{
	struct memtb_conform *c = kvzalloc(sizeof(*c), GFP_KERNEL);
	const char *fault, *left = NULL, *end;

	if (!c)
		return "no memory for the test";
	c->params = *params;
	c->heap = memtb_heap_create(backend, heap_name, params);
	if (IS_ERR(c->heap)) {
		kvfree(c);
		return "no heap could be made";
	}
	fault = property->ask(c);
	while (c->nr)
		left = memtb_conform_drop_all(c) ?: left;
	if (c->other) {
		end = memtb_conform_end(c->other);
		left = left ?: end;
	}
	end = memtb_conform_end(c->heap);
	kvfree(c);
	return fault ?: left ?: end;
}

/* ---- alignment and content ---- */

static const size_t memtb_conform_sizes[] = {
	1, 2, 7, 8, 9, 15, 16, 17, 24, 31, 32, 33, 48, 63, 64, 65, 96, 100, 127,
	128, 129, 192, 255, 256, 257, 500, 511, 512, 513, 1000, 1023, 1024, 1025,
	2000, 2047, 2048, 2049, 3000, PAGE_SIZE - 17, PAGE_SIZE - 16,
	PAGE_SIZE - 15, PAGE_SIZE - 8, PAGE_SIZE - 1, PAGE_SIZE, PAGE_SIZE + 1,
	2 * PAGE_SIZE - 1, 2 * PAGE_SIZE, 2 * PAGE_SIZE + 1, 4 * PAGE_SIZE,
};

/* An odd block in between shifts whatever comes next. */
static const char *memtb_conform_cache_aligned(struct memtb_conform *c,
					       size_t size, size_t align)
{
	struct memtb_conform_item *item;
	struct memtb_cache *cache;
	int i;

	cache = memtb_cache_create(c->heap, "aligned", size, align, 0, NULL);
	if (IS_ERR(cache))
		return MEMTB_SAY_REFUSED;
	for (i = 0; i < 4; i++) {
		memtb_conform_block(c, c->heap, 8 + 24 * i, GFP_KERNEL);
		item = memtb_conform_object(c, cache, GFP_KERNEL);
		if (!item)
			return MEMTB_SAY_FAILED;
		if (!IS_ALIGNED((unsigned long)item->obj, max(align, sizeof(void *))))
			return "an object of a cache is not aligned as stated";
		memtb_conform_fill(c, item);
	}
	return memtb_conform_drop_all(c);
}

static const char *objects_are_aligned(struct memtb_conform *c)
{
	const size_t max = min_t(size_t, c->heap->backend->max_align, PAGE_SIZE);
	const char *fault;
	size_t align;
	int i;

	for (align = 1; align <= max; align *= 2)
		for (i = 0; i < ARRAY_SIZE(memtb_conform_sizes); i += 3) {
			if (memtb_conform_sizes[i] > c->heap->backend->max_size)
				break;
			fault = memtb_conform_cache_aligned(c,
							    memtb_conform_sizes[i],
							    align);
			if (fault)
				return fault;
		}
	return NULL;
}

static const char *memtb_conform_blocks_aligned(struct memtb_conform *c,
						bool naturally)
{
	const struct memtb_backend *backend = c->heap->backend;
	struct memtb_conform_item *item;
	size_t align;
	int i, round;

	for (round = 0; round < 4; round++)
		for (i = 0; i < ARRAY_SIZE(memtb_conform_sizes); i++) {
			size_t size = memtb_conform_sizes[i];

			if (size > backend->max_size)
				break;
			item = memtb_conform_block(c, c->heap, size, GFP_KERNEL);
			if (!item)
				return MEMTB_SAY_FAILED;
			align = backend->gp_min_align;
			if (naturally && is_power_of_2(size))
				align = max(align, size);
			if (!IS_ALIGNED((unsigned long)item->obj, align))
				return "a block is not aligned";
			memtb_conform_fill(c, item);
		}
	return memtb_conform_drop_all(c);
}

static const char *blocks_are_aligned(struct memtb_conform *c)
{
	return memtb_conform_blocks_aligned(c, false);
}

static const char *powers_of_two_are_naturally_aligned(struct memtb_conform *c)
{
	return memtb_conform_blocks_aligned(c, true);
}

static struct memtb_conform_item *
memtb_conform_any(struct memtb_conform *c, struct memtb_cache **caches, int nr,
		  struct rnd_state *rnd)
{
	u32 choice = prandom_u32_state(rnd) % (2 * nr);
	size_t size = memtb_conform_sizes[prandom_u32_state(rnd) %
					  ARRAY_SIZE(memtb_conform_sizes)];

	if (choice < nr)
		return memtb_conform_object(c, caches[choice], GFP_KERNEL);
	return memtb_conform_block(c, c->heap, size, GFP_KERNEL);
}

/* The heap breathes: it fills up and empties again, in random order. */
static const char *objects_do_not_overlap(struct memtb_conform *c)
{
	static const size_t sizes[] = { 8, 24, 40, 104, 192, 600, 1064, 5000 };
	struct memtb_cache *caches[ARRAY_SIZE(sizes)];
	const char *fault = NULL;
	struct rnd_state rnd;
	int i;

	prandom_seed_state(&rnd, MEMTB_CONFORM_SEED);
	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		caches[i] = memtb_cache_create(c->heap, "churn", sizes[i],
					       0, 0, NULL);
		if (IS_ERR(caches[i]))
			return MEMTB_SAY_REFUSED;
	}
	for (i = 0; i < 12000 && !fault; i++) {
		bool filling = i / 1500 % 2 == 0;
		bool alloc = prandom_u32_state(&rnd) % 4 < (filling ? 3 : 1);

		if (alloc && c->nr < MEMTB_CONFORM_ITEMS)
			memtb_conform_fill(c, memtb_conform_any(c, caches,
								ARRAY_SIZE(sizes),
								&rnd));
		else if (c->nr)
			fault = memtb_conform_drop(c, prandom_u32_state(&rnd) %
						   c->nr);
	}
	return fault ?: memtb_conform_drop_all(c);
}

static const char *usable_size_may_be_used(struct memtb_conform *c)
{
	struct memtb_conform_item *item;
	int i;

	for (i = 0; i < ARRAY_SIZE(memtb_conform_sizes); i++) {
		size_t size = memtb_conform_sizes[i], usable;

		if (size > c->heap->backend->max_size)
			break;
		item = memtb_conform_block(c, c->heap, size, GFP_KERNEL);
		if (!item)
			return MEMTB_SAY_FAILED;
		usable = memtb_size(c->heap, item->obj);
		if (usable < size)
			return "a block's usable size is less than was asked for";
		/* The check of the heap knows only what was asked for. */
		if (!c->params.debug)
			item->size = usable;
		memtb_conform_fill(c, item);
	}
	return memtb_conform_drop_all(c);
}

/* ---- sizes at the ends ---- */

static const char *size_zero_is_no_object(struct memtb_conform *c)
{
	void *obj = memtb_alloc(c->heap, 0, GFP_KERNEL, NUMA_NO_NODE);
	struct memtb_cache *cache;

	if (obj != ZERO_SIZE_PTR)
		return "size 0 does not give ZERO_SIZE_PTR";
	if (memtb_alloc_array(c->heap, 0, 8, GFP_KERNEL) != ZERO_SIZE_PTR)
		return "an array of nothing does not give ZERO_SIZE_PTR";
	if (memtb_size(c->heap, obj) || memtb_size(c->heap, NULL))
		return "ZERO_SIZE_PTR or NULL has a usable size";
	cache = memtb_cache_create(c->heap, "zero", 8, 0, 0, NULL);
	if (IS_ERR(cache))
		return MEMTB_SAY_REFUSED;
	memtb_free(c->heap, obj);
	memtb_free(c->heap, NULL);
	memtb_cache_free(cache, NULL);
	if (memtb_test_stats(c->heap).v[MEMTB_STAT_FREES] ||
	    memtb_test_stats(c->heap).v[MEMTB_STAT_BAD_FREES])
		return "freeing nothing was counted";
	return NULL;
}

static const char *too_large_is_null(struct memtb_conform *c)
{
	const size_t max = c->heap->backend->max_size;
	const gfp_t gfp = GFP_KERNEL | __GFP_NOWARN;
	struct memtb_conform_item *item;

	if (memtb_conform_block(c, c->heap, max + 1, gfp) ||
	    memtb_conform_block(c, c->heap, SIZE_MAX, gfp))
		return "more than max_size was given out";
	if (memtb_conform_keep(c, c->heap, NULL,
			       memtb_alloc_array(c->heap, SIZE_MAX / 4 + 2, 4, gfp),
			       4))
		return "n * size overflowed";
	if (memtb_test_stats(c->heap).v[MEMTB_STAT_ALLOC_FAILED] != 3)
		return "a refused request was not counted";
	if (!IS_ERR(memtb_cache_create(c->heap, "large", max + 1, 0, 0, NULL)))
		return "a cache of more than max_size was made";
	/* So large a block there may not be; if there is, all of it is there. */
	item = memtb_conform_block(c, c->heap, max, gfp);
	memtb_conform_fill(c, item);
	return memtb_conform_drop_all(c);
}

/* ---- realloc and zeroing ---- */

/* Let @item be what realloc() made of it. */
static bool memtb_conform_realloc(struct memtb_conform_item *item, size_t size,
				  gfp_t gfp)
{
	void *new = memtb_realloc(item->heap, item->obj, size, gfp);

	if (!new)
		return false;
	item->obj = new;
	item->size = size;
	return true;
}

static const char *realloc_keeps_content(struct memtb_conform *c)
{
	struct memtb_conform_item *item;
	int i, k;

	for (i = 0; i < ARRAY_SIZE(memtb_conform_sizes); i++)
		for (k = 0; k < ARRAY_SIZE(memtb_conform_sizes); k += 4) {
			size_t from = memtb_conform_sizes[i];
			size_t to = memtb_conform_sizes[k];

			item = memtb_conform_block(c, c->heap, from, GFP_KERNEL);
			memtb_conform_fill(c, item);
			if (!item || !memtb_conform_realloc(item, to, GFP_KERNEL))
				return MEMTB_SAY_FAILED;
			item->size = min(from, to);
			if (!memtb_conform_intact(item))
				return "realloc lost content";
			item->size = to;
			memtb_conform_fill(c, item);
			if (c->nr > 20 && memtb_conform_drop(c, 0))
				return "a block changed under realloc";
		}
	return memtb_conform_drop_all(c);
}

static const char *realloc_at_the_ends(struct memtb_conform *c)
{
	const gfp_t gfp = GFP_KERNEL | __GFP_NOWARN;
	struct memtb_heap *heap = c->heap;
	struct memtb_conform_item *item;

	item = memtb_conform_keep(c, heap, NULL,
				  memtb_realloc(heap, NULL, 100, gfp), 100);
	if (!item)
		return "realloc of NULL does not allocate";
	memtb_conform_fill(c, item);
	if (memtb_realloc(heap, item->obj, heap->backend->max_size + 1, gfp))
		return "realloc beyond max_size gave something";
	if (memtb_test_stats(heap).objects_live != 1 || !memtb_conform_intact(item))
		return "a failed realloc did not leave the old block";
	if (memtb_realloc(heap, item->obj, 0, gfp) != ZERO_SIZE_PTR)
		return "realloc to 0 does not give ZERO_SIZE_PTR";
	c->nr = 0;
	if (memtb_test_stats(heap).objects_live)
		return "realloc to 0 does not free";
	item = memtb_conform_keep(c, heap, NULL,
				  memtb_realloc(heap, ZERO_SIZE_PTR, 8, gfp), 8);
	return item ? memtb_conform_drop_all(c) :
		      "realloc of ZERO_SIZE_PTR does not allocate";
}

/* What is used again is dirty. */
static const char *memtb_conform_soil(struct memtb_conform *c, size_t size)
{
	int i;

	for (i = 0; i < 16; i++)
		memtb_conform_fill(c, memtb_conform_block(c, c->heap, size,
							  GFP_KERNEL));
	return memtb_conform_drop_all(c);
}

static const char *zeroed_blocks_are_zero(struct memtb_conform *c)
{
	const gfp_t gfp = GFP_KERNEL | __GFP_ZERO;
	struct memtb_conform_item *item;
	const char *fault;
	int i, k;

	for (i = 0; i < ARRAY_SIZE(memtb_conform_sizes); i++) {
		size_t size = memtb_conform_sizes[i];

		fault = memtb_conform_soil(c, size);
		if (fault)
			return fault;
		for (k = 0; k < 4; k++) {
			item = memtb_conform_block(c, c->heap, size, gfp);
			if (!item)
				return MEMTB_SAY_FAILED;
			if (memchr_inv(item->obj, 0, item->size))
				return "__GFP_ZERO left a byte";
			/* Shorter and longer again, across the usable size. */
			memset(item->obj, 0xff, size);
			if (!memtb_conform_realloc(item, (size + 1) / 2, gfp) ||
			    !memtb_conform_realloc(item, 2 * size, gfp))
				return MEMTB_SAY_FAILED;
			if (memchr_inv(item->obj + (size + 1) / 2, 0,
				       2 * size - (size + 1) / 2))
				return "__GFP_ZERO left a byte that realloc added";
		}
		fault = memtb_conform_drop_all(c);
		if (fault)
			return fault;
	}
	return NULL;
}

static const char *zeroed_objects_are_zero(struct memtb_conform *c)
{
	struct memtb_conform_item *item;
	struct memtb_cache *cache;
	int i, round;

	cache = memtb_cache_create(c->heap, "zeroed", 72, 0, 0, NULL);
	if (IS_ERR(cache))
		return MEMTB_SAY_REFUSED;
	for (round = 0; round < 3; round++) {
		for (i = 0; i < 200; i++) {
			item = memtb_conform_object(c, cache,
						    GFP_KERNEL | __GFP_ZERO);
			if (!item)
				return MEMTB_SAY_FAILED;
			if (memchr_inv(item->obj, 0, item->size))
				return "__GFP_ZERO left a byte";
			memtb_conform_fill(c, item);
		}
		if (memtb_conform_drop_all(c))
			return MEMTB_SAY_CHANGED;
	}
	return NULL;
}

/* ---- caches ---- */

#define MEMTB_CONFORM_BUILT	0x6d656d7462637472ULL

struct memtb_conform_built {
	u64 head;
	char body[152];
	u64 tail;
};

static void memtb_conform_ctor(void *obj)
{
	struct memtb_conform_built *built = obj;

	built->head = MEMTB_CONFORM_BUILT;
	built->tail = ~MEMTB_CONFORM_BUILT;
}

/* The user leaves an object as the constructor made it, and soils the rest. */
static const char *objects_come_constructed(struct memtb_conform *c)
{
	struct memtb_conform_built *built;
	struct memtb_conform_item *item;
	struct memtb_cache *cache;
	int i, round;

	cache = memtb_cache_create(c->heap, "built", sizeof(*built), 0, 0,
				   memtb_conform_ctor);
	if (IS_ERR(cache))
		return MEMTB_SAY_REFUSED;
	if (memtb_conform_object(c, cache, GFP_KERNEL | __GFP_ZERO))
		return "__GFP_ZERO was not refused with a constructor";
	for (round = 0; round < 4; round++) {
		for (i = 0; i < 100; i++) {
			item = memtb_conform_object(c, cache, GFP_KERNEL);
			if (!item)
				return MEMTB_SAY_FAILED;
			built = item->obj;
			if (built->head != MEMTB_CONFORM_BUILT ||
			    built->tail != ~MEMTB_CONFORM_BUILT)
				return "an object came without its constructor";
			memset(built->body, 0x5a, sizeof(built->body));
		}
		if (memtb_conform_drop_all(c) || memtb_conform_soil(c, 100))
			return MEMTB_SAY_CHANGED;
	}
	return NULL;
}

static const char *bulk_is_all_of_it(struct memtb_conform *c)
{
	struct memtb_cache *cache;
	void *objs[33];
	int i;

	cache = memtb_cache_create(c->heap, "bulk", 48, 0, 0, NULL);
	if (IS_ERR(cache))
		return MEMTB_SAY_REFUSED;
	if (!memtb_cache_alloc_bulk(cache, GFP_KERNEL, 0, objs) ||
	    memtb_test_stats(c->heap).objects_live)
		return "a bulk of none is not none";
	if (!memtb_cache_alloc_bulk(cache, GFP_KERNEL, ARRAY_SIZE(objs), objs))
		return MEMTB_SAY_FAILED;
	for (i = 0; i < ARRAY_SIZE(objs); i++)
		memtb_conform_fill(c, memtb_conform_keep(c, c->heap, cache,
							 objs[i], 48));
	if (memtb_test_stats(c->heap).objects_live != ARRAY_SIZE(objs))
		return "a bulk was not counted as that many objects";
	for (i = 0; i < ARRAY_SIZE(objs); i++)
		if (!memtb_conform_intact(c->item + i))
			return "objects of a bulk overlap";
	c->nr = 0;
	memtb_cache_free_bulk(cache, ARRAY_SIZE(objs), objs);
	return NULL;
}

static const char *bulk_is_all_or_nothing(struct memtb_conform *c)
{
	const size_t nr = 4 * PAGE_SIZE / 64;
	struct memtb_heap *heap = memtb_conform_other(c, 3, 0);
	struct memtb_cache *cache;
	const char *fault = NULL;
	void **objs;

	cache = heap ? memtb_cache_create(heap, "bulk", 64, 0, 0, NULL) : NULL;
	if (IS_ERR_OR_NULL(cache))
		return MEMTB_SAY_REFUSED;
	objs = kmalloc_array(nr, sizeof(*objs), GFP_KERNEL);
	if (!objs)
		return "no memory for the test";
	if (memtb_cache_alloc_bulk(cache, GFP_KERNEL | __GFP_NOWARN, nr, objs)) {
		memtb_cache_free_bulk(cache, nr, objs);
		fault = "a bulk of more than the budget was given out";
	} else if (memtb_test_stats(heap).objects_live) {
		fault = "a failed bulk left objects allocated";
	}
	kfree(objs);
	return fault;
}

static bool memtb_conform_refused(struct memtb_cache *cache)
{
	return IS_ERR(cache) && PTR_ERR(cache) == -EINVAL;
}

static const char *bad_names_are_refused(struct memtb_conform *c)
{
	static const char * const bad[] = {
		NULL, "", " ", "a b", "a\n", "a\tb", "a/b", "\x01",
		"0123456789012345678901234567890123456789012345678901234567890123",
	};
	struct memtb_cache *first, *second;
	char name[MEMTB_NAME_MAX + 1];
	int i;

	for (i = 0; i < ARRAY_SIZE(bad); i++)
		if (!memtb_conform_refused(memtb_cache_create(c->heap, bad[i], 8,
							      0, 0, NULL)))
			return "a bad name was not refused with -EINVAL";
	memset(name, 'n', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	first = memtb_cache_create(c->heap, name, 8, 0, 0, NULL);
	second = memtb_cache_create(c->heap, name, 16, 0, 0, NULL);
	if (IS_ERR(first) || IS_ERR(second))
		return "a name of full length, or the same name twice, was refused";
	name[0] = 'x';
	if (first->name[0] != 'n' || strlen(first->name) != MEMTB_NAME_MAX)
		return "a name was not copied";
	if (memtb_cache_destroy(first))
		return "an unused cache could not be destroyed";
	name[0] = 'n';
	if (IS_ERR(memtb_cache_create(c->heap, name, 8, 0, 0, NULL)))
		return "the name of a destroyed cache was refused";
	return NULL;
}

static const char *bad_caches_are_refused(struct memtb_conform *c)
{
	const size_t align = 2 * c->heap->backend->max_align;
	struct memtb_heap *heap = c->heap;

	if (!memtb_conform_refused(memtb_cache_create(heap, "bad", 0, 0, 0, NULL)))
		return "size 0 was not refused with -EINVAL";
	if (!memtb_conform_refused(memtb_cache_create(heap, "bad", 8, 3, 0, NULL)) ||
	    !memtb_conform_refused(memtb_cache_create(heap, "bad", 8, 24, 0, NULL)) ||
	    !memtb_conform_refused(memtb_cache_create(heap, "bad", 8, align, 0, NULL)))
		return "a bad alignment was not refused with -EINVAL";
	if (!memtb_conform_refused(memtb_cache_create(heap, "bad", 8, 0,
						      SLAB_HWCACHE_ALIGN, NULL)))
		return "an unknown flag was not refused with -EINVAL";
	return NULL;
}

/* Seven allocated, three freed. */
static const char *destroy_counts_live_objects(struct memtb_conform *c)
{
	struct memtb_cache *cache;
	int i;

	cache = memtb_cache_create(c->heap, MEMTB_PLANTED, 56, 0, 0, NULL);
	if (IS_ERR(cache))
		return MEMTB_SAY_REFUSED;
	for (i = 0; i < 7; i++)
		memtb_conform_fill(c, memtb_conform_object(c, cache, GFP_KERNEL));
	for (i = 0; i < 3; i++)
		if (memtb_conform_drop(c, i))
			return MEMTB_SAY_CHANGED;
	if (memtb_cache_destroy(cache) != 4)
		return "destroying a cache with four live objects did not say four";
	if (memtb_conform_drop_all(c))
		return "destroying a cache took its live objects";
	if (memtb_cache_destroy(cache))
		return "a cache could not be destroyed after the last free";
	return NULL;
}

/* A second heap that will say on the console that it could not be destroyed. */
static struct memtb_heap *memtb_conform_doomed(struct memtb_conform *c)
{
	return memtb_conform_second(c, MEMTB_PLANTED, &c->params);
}

/* With objects out.  They are gone if the heap is, so nobody may look at them. */
static const char *memtb_conform_destroy_in_vain(struct memtb_conform *c)
{
	unsigned long nr = c->nr;

	if (memtb_heap_destroy(c->other) >= nr)
		return NULL;
	c->other = NULL;
	c->nr = 0;
	return "destroying a heap with live objects did not count them";
}

/* They are looked after until the last is free; then the heap has to end well. */
static const char *objects_outlive_a_destroy(struct memtb_conform *c)
{
	static const size_t sizes[] = { 40, 700, PAGE_SIZE, 3 * PAGE_SIZE };
	struct memtb_heap *heap = memtb_conform_doomed(c);
	struct memtb_cache *cache;
	int i, k;

	for (i = 0; heap && i < ARRAY_SIZE(sizes); i++) {
		cache = memtb_cache_create(heap, MEMTB_PLANTED, sizes[i], 0, 0,
					   NULL);
		for (k = 0; k < 40 && !IS_ERR(cache); k++) {
			memtb_conform_fill(c, memtb_conform_object(c, cache,
								   GFP_KERNEL));
			memtb_conform_fill(c, memtb_conform_block(c, heap, sizes[i],
								  GFP_KERNEL));
		}
	}
	if (c->nr != 2 * k * ARRAY_SIZE(sizes))
		return MEMTB_SAY_FAILED;
	return memtb_conform_destroy_in_vain(c) ?: memtb_conform_drop_all(c);
}

/* ---- pages ---- */

#define MEMTB_CONFORM_BUDGET	8

/* Objects until there are no more; how many. */
static unsigned int memtb_conform_exhaust(struct memtb_conform *c,
					  struct memtb_cache *cache)
{
	unsigned int from = c->nr;

	while (c->nr < MEMTB_CONFORM_ITEMS &&
	       memtb_conform_object(c, cache, GFP_KERNEL | __GFP_NOWARN))
		memtb_conform_fill(c, c->item + c->nr - 1);
	return c->nr - from;
}

static const char *a_budget_is_kept(struct memtb_conform *c)
{
	struct memtb_heap *heap = memtb_conform_other(c, MEMTB_CONFORM_BUDGET, 0);
	struct memtb_cache *cache;
	struct memtb_stats stats;
	unsigned int first, again;

	cache = heap ? memtb_cache_create(heap, "budget", 100, 0, 0, NULL) : NULL;
	if (IS_ERR_OR_NULL(cache))
		return MEMTB_SAY_REFUSED;
	first = memtb_conform_exhaust(c, cache);
	memtb_heap_stats(heap, &stats);
	if (!first || first == MEMTB_CONFORM_ITEMS)
		return "a budget of some pages gave no object, or no end of them";
	if (stats.pages_now > MEMTB_CONFORM_BUDGET ||
	    stats.pages_peak > MEMTB_CONFORM_BUDGET || !stats.pages_failed)
		return "more pages were held than the budget has";
	if (stats.objects_live != first)
		return "the failure was counted as an object";
	/* A single hole is found again. */
	if (memtb_conform_drop(c, first / 2) ||
	    !memtb_conform_object(c, cache, GFP_KERNEL | __GFP_NOWARN))
		return "the place of a freed object was lost";
	if (memtb_conform_drop_all(c))
		return MEMTB_SAY_CHANGED;
	again = memtb_conform_exhaust(c, cache);
	/* More is well: neighbouring pages may have become one run. */
	if (again < first)
		return "after the failure there is not as much as before";
	return memtb_conform_drop_all(c);
}

static void memtb_conform_some_of_all(struct memtb_conform *c,
				      struct memtb_heap *heap,
				      struct memtb_cache **caches, int nr)
{
	const gfp_t gfp = GFP_KERNEL | __GFP_NOWARN;
	struct memtb_conform_item *item;
	void *objs[9];
	int i, k;

	for (i = 0; i < ARRAY_SIZE(memtb_conform_sizes); i++) {
		item = memtb_conform_block(c, heap, memtb_conform_sizes[i], gfp);
		if (item && i % 3 == 0)
			memtb_conform_realloc(item, 3 * item->size, gfp);
		memtb_conform_fill(c, item);
	}
	for (i = 0; i < nr; i++) {
		for (k = 0; k < 20; k++)
			memtb_conform_fill(c, memtb_conform_object(c, caches[i],
								   gfp));
		if (!memtb_cache_alloc_bulk(caches[i], gfp, ARRAY_SIZE(objs), objs))
			continue;
		for (k = 0; k < ARRAY_SIZE(objs); k++)
			memtb_conform_fill(c, memtb_conform_keep(c, heap, caches[i],
								 objs[k],
								 caches[i]->size));
	}
}

/* Every k-th page request fails: the same work, without a leak and without a splat. */
static const char *memtb_conform_fail_page(struct memtb_conform *c,
					   unsigned long k)
{
	static const size_t sizes[] = { 32, 200, 1500, PAGE_SIZE, 3 * PAGE_SIZE };
	struct memtb_cache *caches[ARRAY_SIZE(sizes)];
	struct memtb_heap *heap = memtb_conform_other(c, 0, k);
	const char *fault;
	int i, nr = 0;

	/* A design may need a page to make a heap or a cache. */
	if (!heap)
		return NULL;
	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		caches[nr] = memtb_cache_create(heap, "failing", sizes[i], 0, 0,
						NULL);
		nr += !IS_ERR(caches[nr]);
	}
	memtb_conform_some_of_all(c, heap, caches, nr);
	if (!memtb_test_stats(heap).v[MEMTB_STAT_ALLOC_FAILED])
		return "no allocation failed though pages did";
	fault = memtb_conform_drop_all(c);
	if (fault)
		return fault;
	c->other = NULL;
	return memtb_conform_end(heap);
}

static const char *page_failures_leak_nothing(struct memtb_conform *c)
{
	const char *fault = NULL;
	unsigned long k;

	for (k = 1; k <= 24 && !fault; k++)
		fault = memtb_conform_fail_page(c, k);
	return fault;
}

static const char *the_last_free_returns_every_page(struct memtb_conform *c)
{
	int i, round;

	for (round = 0; round < 3; round++) {
		for (i = 0; i < ARRAY_SIZE(memtb_conform_sizes); i++)
			memtb_conform_fill(c, memtb_conform_block(c, c->heap,
								  memtb_conform_sizes[i],
								  GFP_KERNEL));
		if (!memtb_conform_pages(c->heap))
			return "objects are live and no page is held";
		if (memtb_conform_drop_all(c))
			return MEMTB_SAY_CHANGED;
		if (memtb_conform_pages(c->heap))
			return "pages are held after the last object was freed";
	}
	return NULL;
}

/* ---- whose object is it? ---- */

static const char *foreign_addresses_are_refused(struct memtb_conform *c)
{
	const struct memtb_backend *backend = c->heap->backend;
	struct memtb_heap *heap, *near;
	void *native, *mapped, *theirs, *ours;
	struct memtb_cache *cache;
	const char *fault = "no memory for the test";
	int local, i;

	heap = memtb_heap_create(backend, MEMTB_PLANTED, NULL);
	near = memtb_heap_create(backend, MEMTB_PLANTED, NULL);
	if (IS_ERR(heap) || IS_ERR(near))
		return "no heap could be made";
	cache = memtb_cache_create(heap, "ours", 64, 0, 0, NULL);
	native = kmalloc(64, GFP_KERNEL);
	mapped = vmalloc(PAGE_SIZE);
	theirs = memtb_alloc(near, 64, GFP_KERNEL, NUMA_NO_NODE);
	ours = memtb_alloc(heap, 64, GFP_KERNEL, NUMA_NO_NODE);
	if (!IS_ERR(cache) && native && mapped && theirs && ours) {
		void *foreign[] = { native, mapped, theirs, &local, &i,
				    (void *)64, (void *)~0UL, heap };

		fault = NULL;
		for (i = 0; i < ARRAY_SIZE(foreign); i++) {
			memtb_free(heap, foreign[i]);
			memtb_cache_free(cache, foreign[i]);
			if (memtb_size(heap, foreign[i]))
				fault = "a foreign address has a usable size";
		}
		if (memtb_test_stats(heap).v[MEMTB_STAT_BAD_FREES] !=
		    3 * ARRAY_SIZE(foreign))
			fault = "a foreign address was not refused, or not counted";
		if (memtb_test_stats(heap).objects_live != 1 || memtb_test_stats(near).objects_live != 1)
			fault = "a foreign free changed a heap";
	}
	memtb_free(heap, ours);
	memtb_free(near, theirs);
	vfree(mapped);
	kfree(native);
	return memtb_conform_end(heap) ?: memtb_conform_end(near) ?: fault;
}

static const char *heaps_are_apart(struct memtb_conform *c)
{
	struct memtb_heap *other = memtb_conform_other(c, 0, 0);
	unsigned int i, nr;

	if (!other)
		return "no second heap could be made";
	for (i = 0; i < 200; i++)
		memtb_conform_fill(c, memtb_conform_block(c, i % 2 ? other : c->heap,
							  8 + i, GFP_KERNEL));
	nr = c->nr;
	if (nr != 200 || memtb_test_stats(c->heap).objects_live != nr / 2 ||
	    memtb_test_stats(other).objects_live != nr / 2)
		return "an object was counted in another heap";
	for (i = nr; i-- > 0; )
		if (c->item[i].heap == other && memtb_conform_drop(c, i))
			return "objects of two heaps overlap";
	c->other = NULL;
	if (memtb_heap_destroy(other))
		return "destroying the second heap left something behind";
	return memtb_conform_drop_all(c);
}

/* ---- type-safe by RCU ---- */

static bool memtb_conform_touches(const void *obj, size_t size,
				  const void *other, size_t other_size)
{
	return obj < other + other_size && other < obj + size;
}

/*
 * Inside a read section: what was freed may be handed out again by its cache,
 * and is nothing else.
 */
static const char *memtb_conform_grace(struct memtb_conform *c,
				       struct memtb_cache *cache)
{
	const gfp_t gfp = GFP_ATOMIC | __GFP_NOWARN;
	struct memtb_conform_item *item;
	void *gone = c->item[0].obj;
	int i;

	if (memtb_conform_drop(c, 0))
		return MEMTB_SAY_CHANGED;
	for (i = 0; i < 200; i++) {
		item = memtb_conform_block(c, c->heap, 1 + i % cache->size, gfp);
		if (item && memtb_conform_touches(gone, cache->size, item->obj,
						  item->size))
			return "a type-safe object became a block at once";
	}
	return NULL;
}

static struct memtb_cache *memtb_conform_typesafe(struct memtb_conform *c,
						  struct memtb_heap *heap)
{
	struct memtb_cache *cache;
	int i;

	cache = memtb_cache_create(heap, "typesafe", 128, 0,
				   SLAB_TYPESAFE_BY_RCU, NULL);
	for (i = 0; i < 8 && !IS_ERR(cache); i++)
		memtb_conform_fill(c, memtb_conform_object(c, cache, GFP_KERNEL));
	return c->nr == 8 ? cache : NULL;
}

static const char *type_safe_objects_keep_their_type(struct memtb_conform *c)
{
	struct memtb_cache *cache = memtb_conform_typesafe(c, c->heap);
	const char *fault;

	if (!cache)
		return MEMTB_SAY_FAILED;
	rcu_read_lock();
	fault = memtb_conform_grace(c, cache);
	rcu_read_unlock();
	fault = fault ?: memtb_conform_drop_all(c);
	rcu_barrier();
	return fault;
}

static const char *destroy_waits_for_a_grace_period(struct memtb_conform *c)
{
	struct memtb_heap *heap = memtb_conform_other(c, 0, 0);

	if (!heap || !memtb_conform_typesafe(c, heap))
		return MEMTB_SAY_FAILED;
	if (memtb_conform_drop_all(c))
		return MEMTB_SAY_CHANGED;
	c->other = NULL;
	return memtb_heap_destroy(heap) ?
	       MEMTB_SAY_LEFT : NULL;
}

/* One object stays out; whatever holds no other has to go, if not at once. */
static const char *a_destroy_in_vain_returns_pages(struct memtb_conform *c)
{
	struct memtb_heap *heap = memtb_conform_doomed(c);
	struct memtb_cache *cache;
	const char *fault;
	u64 pages;

	cache = heap ? memtb_conform_typesafe(c, heap) : NULL;
	if (!cache)
		return MEMTB_SAY_FAILED;
	strscpy(cache->name, MEMTB_PLANTED, sizeof(cache->name));
	while (c->nr < 500 && memtb_conform_object(c, cache, GFP_KERNEL))
		memtb_conform_fill(c, c->item + c->nr - 1);
	while (c->nr > 1)
		if (memtb_conform_drop(c, c->nr - 1))
			return MEMTB_SAY_CHANGED;
	fault = memtb_conform_destroy_in_vain(c);
	if (fault)
		return fault;
	pages = memtb_test_stats(heap).pages_now;
	rcu_barrier();
	if (memtb_conform_pages(heap) != pages)
		return "destroying the heap left pages without an object behind";
	fault = memtb_conform_drop_all(c);
	rcu_barrier();
	return fault;
}

/* ---- context ---- */

struct memtb_conform_interrupt {
	struct memtb_heap *heap;
	struct memtb_cache *cache;
	atomic_t failed;
};

static void memtb_conform_in_interrupt(void *data)
{
	const gfp_t gfp = GFP_ATOMIC | __GFP_NOWARN;
	struct memtb_conform_interrupt *in = data;
	void *block = memtb_alloc(in->heap, 200, gfp, NUMA_NO_NODE);
	void *obj = memtb_cache_alloc(in->cache, gfp, NUMA_NO_NODE);

	if (!block || !obj)
		atomic_inc(&in->failed);
	memtb_free(in->heap, block);
	memtb_cache_free(in->cache, obj);
}

/* With interrupts off, from every processor, while the heap is in use. */
static const char *interrupts_may_allocate(struct memtb_conform *c)
{
	struct memtb_conform_interrupt in = { .heap = c->heap };
	int i;

	in.cache = memtb_cache_create(c->heap, "interrupt", 80, 0, 0, NULL);
	if (IS_ERR(in.cache))
		return MEMTB_SAY_REFUSED;
	for (i = 0; i < 100; i++) {
		memtb_conform_fill(c, memtb_conform_object(c, in.cache, GFP_KERNEL));
		on_each_cpu(memtb_conform_in_interrupt, &in, 1);
		if (irqs_disabled())
			return "interrupts were left off";
	}
	if (atomic_read(&in.failed))
		return MEMTB_SAY_FAILED;
	return memtb_conform_drop_all(c);
}

#define MEMTB_CONFORM_WORKERS	4
#define MEMTB_CONFORM_SLOTS	64

/* Every object of the crowd begins with this. */
struct memtb_conform_head {
	struct memtb_cache *cache;
	size_t size;
	u64 fill;
};

struct memtb_conform_crowd {
	struct memtb_heap *heap;
	struct memtb_cache *cache;
	struct memtb_conform_head *slot[MEMTB_CONFORM_SLOTS];
	const char *fault;
	atomic_t seed;
	atomic_t left;
	struct completion done;
};

static struct memtb_conform_head *
memtb_conform_crowd_alloc(struct memtb_conform_crowd *crowd,
			  struct rnd_state *rnd)
{
	u32 draw = prandom_u32_state(rnd);
	struct memtb_cache *cache = draw & 1 ? crowd->cache : NULL;
	size_t size = cache ? cache->size : sizeof(struct memtb_conform_head) +
					    (draw >> 8) % 1200;
	gfp_t gfp = (draw & 2 ? GFP_ATOMIC : GFP_KERNEL) | __GFP_NOWARN;
	struct memtb_conform_head *head;

	head = cache ? memtb_cache_alloc(cache, gfp, NUMA_NO_NODE) :
		       memtb_alloc(crowd->heap, size, gfp, NUMA_NO_NODE);
	if (!head)
		return NULL;
	head->cache = cache;
	head->size = size;
	head->fill = draw & 0xff;
	memset(head + 1, head->fill, size - sizeof(*head));
	return head;
}

static void memtb_conform_crowd_free(struct memtb_conform_crowd *crowd,
				     struct memtb_conform_head *head)
{
	if (!head)
		return;
	if (memchr_inv(head + 1, head->fill, head->size - sizeof(*head)))
		WRITE_ONCE(crowd->fault, MEMTB_SAY_CHANGED);
	if (head->cache)
		memtb_cache_free(head->cache, head);
	else
		memtb_free(crowd->heap, head);
}

/* What one worker puts into a slot another one frees. */
static int memtb_conform_worker(void *data)
{
	struct memtb_conform_crowd *crowd = data;
	struct rnd_state rnd;
	int i;

	prandom_seed_state(&rnd, atomic_inc_return(&crowd->seed));
	for (i = 0; i < 4000; i++) {
		u32 at = prandom_u32_state(&rnd) % MEMTB_CONFORM_SLOTS;

		memtb_conform_crowd_free(crowd,
			xchg(&crowd->slot[at],
			     memtb_conform_crowd_alloc(crowd, &rnd)));
		if (i % 16 == 0)
			cond_resched();
	}
	if (atomic_dec_and_test(&crowd->left))
		complete(&crowd->done);
	return 0;
}

/* How many could be started. */
static int memtb_conform_crowd_start(struct memtb_conform_crowd *crowd,
				     struct task_struct **tasks)
{
	int i;

	for (i = 0; i < MEMTB_CONFORM_WORKERS; i++) {
		tasks[i] = kthread_create(memtb_conform_worker, crowd,
					  "memtb_crowd/%d", i);
		if (IS_ERR(tasks[i]))
			break;
		get_task_struct(tasks[i]);
	}
	return i;
}

static void memtb_conform_crowd_run(struct memtb_conform_crowd *crowd)
{
	struct task_struct *tasks[MEMTB_CONFORM_WORKERS];
	int i, nr = memtb_conform_crowd_start(crowd, tasks);

	if (nr < MEMTB_CONFORM_WORKERS)
		crowd->fault = "no thread for the test";
	init_completion(&crowd->done);
	atomic_set(&crowd->seed, MEMTB_CONFORM_SEED);
	atomic_set(&crowd->left, nr);
	for (i = 0; i < nr; i++)
		wake_up_process(tasks[i]);
	if (nr)
		wait_for_completion(&crowd->done);
	/* Their last steps are steps of this module, too. */
	for (i = 0; i < nr; i++) {
		kthread_stop(tasks[i]);
		put_task_struct(tasks[i]);
	}
	for (i = 0; i < MEMTB_CONFORM_SLOTS; i++)
		memtb_conform_crowd_free(crowd, crowd->slot[i]);
}

static const char *threads_may_work_at_once(struct memtb_conform *c)
{
	struct memtb_conform_crowd *crowd;
	const char *fault;

	crowd = kzalloc(sizeof(*crowd), GFP_KERNEL);
	if (!crowd)
		return "no memory for the test";
	crowd->heap = c->heap;
	crowd->cache = memtb_cache_create(c->heap, "crowd", 136, 0, 0, NULL);
	if (IS_ERR(crowd->cache))
		crowd->fault = MEMTB_SAY_REFUSED;
	else
		memtb_conform_crowd_run(crowd);
	fault = crowd->fault;
	kfree(crowd);
	return fault;
}

#define MEMTB_PROPERTY(ask, needs)	{ #ask, needs, ask }

const struct memtb_conform_property memtb_conform_properties[] = {
	MEMTB_PROPERTY(objects_are_aligned, 0),
	MEMTB_PROPERTY(blocks_are_aligned, 0),
	MEMTB_PROPERTY(powers_of_two_are_naturally_aligned, MEMTB_ALIGNS),
	MEMTB_PROPERTY(objects_do_not_overlap, MEMTB_STORES),
	MEMTB_PROPERTY(usable_size_may_be_used, 0),
	MEMTB_PROPERTY(size_zero_is_no_object, 0),
	MEMTB_PROPERTY(too_large_is_null, 0),
	MEMTB_PROPERTY(realloc_keeps_content, MEMTB_STORES),
	MEMTB_PROPERTY(realloc_at_the_ends, 0),
	MEMTB_PROPERTY(zeroed_blocks_are_zero, MEMTB_STORES),
	MEMTB_PROPERTY(zeroed_objects_are_zero, MEMTB_STORES),
	MEMTB_PROPERTY(objects_come_constructed, MEMTB_STORES),
	MEMTB_PROPERTY(bulk_is_all_of_it, 0),
	MEMTB_PROPERTY(bulk_is_all_or_nothing, MEMTB_OWNS_PAGES),
	MEMTB_PROPERTY(bad_names_are_refused, 0),
	MEMTB_PROPERTY(bad_caches_are_refused, 0),
	MEMTB_PROPERTY(destroy_counts_live_objects, 0),
	MEMTB_PROPERTY(objects_outlive_a_destroy, MEMTB_STORES),
	MEMTB_PROPERTY(a_budget_is_kept, MEMTB_OWNS_PAGES),
	MEMTB_PROPERTY(page_failures_leak_nothing, MEMTB_OWNS_PAGES),
	MEMTB_PROPERTY(the_last_free_returns_every_page, MEMTB_OWNS_PAGES),
	MEMTB_PROPERTY(foreign_addresses_are_refused, MEMTB_OWNS_PAGES),
	MEMTB_PROPERTY(heaps_are_apart, 0),
	MEMTB_PROPERTY(type_safe_objects_keep_their_type,
		       MEMTB_RCU | MEMTB_STORES),
	MEMTB_PROPERTY(destroy_waits_for_a_grace_period, MEMTB_RCU),
	MEMTB_PROPERTY(a_destroy_in_vain_returns_pages,
		       MEMTB_RCU | MEMTB_OWNS_PAGES),
	MEMTB_PROPERTY(interrupts_may_allocate, 0),
	MEMTB_PROPERTY(threads_may_work_at_once, MEMTB_STORES),
	{}
};

/* By its name, NULL if there is none. */
const struct memtb_conform_property *memtb_conform_find(const char *name)
{
	const struct memtb_conform_property *property;

	for (property = memtb_conform_properties; property->name; property++)
		if (!strcmp(property->name, name))
			return property;
	return NULL;
}
