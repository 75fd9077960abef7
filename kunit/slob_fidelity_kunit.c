// SPDX-License-Identifier: GPL-2.0
/*
 * memtb_slob_fidelity: backend slob-page beside the kernel's own SLOB.
 *
 * Only in kernels with CONFIG_SLOB.  One stream of requests goes to the kernel's
 * heap and then to one of memtb's; one after the other, as both count their
 * pages in the same place.  At each turn of the stream the two have to hold the
 * same number of pages, and what they hand out has to lie at the same places.
 *
 * The kernel's heap is everybody's, and two things make it a fresh one.  While
 * the stream runs, interrupts are off: with the one processor that such kernels
 * have here, nobody else allocates or frees.  And the holes that are there
 * already are filled first, in each of its three lists, until nothing that the
 * stream will ask for fits in any page but a new one.
 *
 * Type-safe objects only go home with interrupts on.  Where places are compared
 * they wait until the stream has ended; otherwise they go at each turn, which
 * lets others into the heap, so that only pages are compared.
 */
#include <kunit/test.h>
#include <linux/mm.h>
#include <linux/prandom.h>
#include <linux/rcupdate.h>
#include <linux/vmalloc.h>
#include <linux/vmstat.h>

#include "conformance.h"

/*
 * Objects and allocations in a stream, at most.  Behind a turn the number of
 * objects may still rise a little.
 */
#define MEMTB_SLOBF_LIVE	11000
#define MEMTB_SLOBF_ALLOCS	50000

/* Objects at which the stream turns; up and down in turn. */
static const unsigned int memtb_slobf_turns[] = {
	6000, 2000, 10000, 4000, 9000, 1500,
};

#define MEMTB_SLOBF_NR_TURNS	ARRAY_SIZE(memtb_slobf_turns)

struct memtb_slobf_kind {
	size_t size;
	size_t align;
	slab_flags_t flags;
};

/*
 * The type-safe ones are last.  Their sizes are such that a footer needs no
 * padding: slob-page aligns it, the kernel does not.
 */
static const struct memtb_slobf_kind memtb_slobf_kinds[] = {
	{ 8 }, { 40 }, { 100 }, { 192, 64 }, { 256 }, { 320, 128 }, { 700 },
	{ 1024, 1024 }, { 2000 }, { 5000 },
	{ 48, 0, SLAB_TYPESAFE_BY_RCU }, { 1000, 0, SLAB_TYPESAFE_BY_RCU },
};

#define MEMTB_SLOBF_NR_KINDS	ARRAY_SIZE(memtb_slobf_kinds)
#define MEMTB_SLOBF_NR_PLAIN	(MEMTB_SLOBF_NR_KINDS - 2)
#define MEMTB_SLOBF_BLOCK	MEMTB_SLOBF_NR_KINDS

/* The least that the stream asks of each list, so that no smaller hole counts. */
static const size_t memtb_slobf_least[] = { 8, 256, 1024 };

#define MEMTB_SLOBF_NR_LISTS	ARRAY_SIZE(memtb_slobf_least)

struct memtb_slobf_plug {
	struct memtb_slobf_plug *next;
};

/* A kind, or MEMTB_SLOBF_BLOCK for what has a header. */
struct memtb_slobf_object {
	void *obj;
	unsigned int kind;
};

/* Where an object lies in its page, and the pages held when it was there. */
struct memtb_slobf_place {
	u16 offset;
	u16 pages;
};

struct memtb_slobf_log {
	bool failed;
	long before;
	long turn[MEMTB_SLOBF_NR_TURNS];
	long left;		/* under type-safe objects that wait */
	unsigned int nr;
	struct memtb_slobf_place place[MEMTB_SLOBF_ALLOCS];
};

/**
 * struct memtb_slobf - a stream
 * @heap: whom it goes to, NULL for the kernel
 * @log: what became of it
 * @places: whether places will be compared
 * @rnd: what comes next
 * @nr: objects that are out
 * @nr_waiting: type-safe objects that wait for a moment with interrupts on
 * @live: the former
 * @waiting: the latter
 * @cache: caches of the heap
 * @native: caches of the kernel
 * @filler: caches of the kernel that fill holes
 * @plugs: what fills them
 * @nr_plugs: their number
 * @theirs: what became of the kernel's stream
 * @ours: what became of memtb's
 */
struct memtb_slobf {
	struct memtb_heap *heap;
	struct memtb_slobf_log *log;
	bool places;
	struct rnd_state rnd;
	unsigned int nr;
	unsigned int nr_waiting;
	struct memtb_slobf_object live[MEMTB_SLOBF_LIVE];
	struct memtb_slobf_object waiting[MEMTB_SLOBF_ALLOCS];
	struct memtb_cache *cache[MEMTB_SLOBF_NR_KINDS];
	struct kmem_cache *native[MEMTB_SLOBF_NR_KINDS];
	struct kmem_cache *filler[MEMTB_SLOBF_NR_LISTS];
	struct memtb_slobf_plug *plugs[MEMTB_SLOBF_NR_LISTS];
	unsigned int nr_plugs;
	struct memtb_slobf_log theirs;
	struct memtb_slobf_log ours;
};

static int memtb_slobf_init(struct kunit *test)
{
	struct memtb_slobf *s = vzalloc(sizeof(*s));
	const struct memtb_slobf_kind *kind;
	unsigned int i;

	if (!s)
		return -ENOMEM;
	test->priv = s;
	for (i = 0; i < MEMTB_SLOBF_NR_KINDS; i++) {
		kind = &memtb_slobf_kinds[i];
		s->native[i] = kmem_cache_create("memtb-fidelity", kind->size,
						 kind->align, kind->flags,
						 NULL);
		if (!s->native[i])
			return -ENOMEM;
	}
	for (i = 0; i < MEMTB_SLOBF_NR_LISTS; i++) {
		s->filler[i] = kmem_cache_create("memtb-filler",
						 memtb_slobf_least[i], 0, 0,
						 NULL);
		if (!s->filler[i])
			return -ENOMEM;
	}
	return 0;
}

static void memtb_slobf_exit(struct kunit *test)
{
	struct memtb_slobf *s = test->priv;
	unsigned int i;

	if (!s)
		return;
	for (i = 0; i < MEMTB_SLOBF_NR_KINDS; i++)
		kmem_cache_destroy(s->native[i]);
	for (i = 0; i < MEMTB_SLOBF_NR_LISTS; i++)
		kmem_cache_destroy(s->filler[i]);
	vfree(s);
}

/* ---- one side ---- */

/* Pages of objects. */
static long memtb_slobf_pages(const struct memtb_slobf *s)
{
	struct memtb_stats stats;

	if (!s->heap)
		return global_node_page_state_pages(NR_SLAB_UNRECLAIMABLE_B) +
		       global_node_page_state_pages(NR_SLAB_RECLAIMABLE_B);
	stats = memtb_test_stats(s->heap);
	return stats.pages_now - stats.pages_desc;
}

static void *memtb_slobf_get(struct memtb_slobf *s, unsigned int kind,
			     size_t size)
{
	if (s->heap)
		return kind == MEMTB_SLOBF_BLOCK ?
		       memtb_alloc(s->heap, size, GFP_ATOMIC, NUMA_NO_NODE) :
		       memtb_cache_alloc(s->cache[kind], GFP_ATOMIC,
					 NUMA_NO_NODE);
	return kind == MEMTB_SLOBF_BLOCK ? kmalloc(size, GFP_ATOMIC) :
	       kmem_cache_alloc(s->native[kind], GFP_ATOMIC);
}

static void memtb_slobf_put(struct memtb_slobf *s,
			    const struct memtb_slobf_object *object)
{
	unsigned int kind = object->kind;

	if (s->heap && kind == MEMTB_SLOBF_BLOCK)
		memtb_free(s->heap, object->obj);
	else if (s->heap)
		memtb_cache_free(s->cache[kind], object->obj);
	else if (kind == MEMTB_SLOBF_BLOCK)
		kfree(object->obj);
	else
		kmem_cache_free(s->native[kind], object->obj);
}

/* A heap of memtb's has no other users. */
static void memtb_slobf_quiet(const struct memtb_slobf *s)
{
	if (!s->heap)
		local_irq_disable();
}

static void memtb_slobf_loud(const struct memtb_slobf *s)
{
	if (!s->heap)
		local_irq_enable();
}

/* ---- the holes in the kernel's heap ---- */

/* Fill those of one list; the plug that finds none gets a new page. */
static bool memtb_slobf_fill(struct memtb_slobf *s, unsigned int list)
{
	long before = memtb_slobf_pages(s);
	struct memtb_slobf_plug *plug;

	for (;;) {
		plug = kmem_cache_alloc(s->filler[list], GFP_ATOMIC);
		if (!plug)
			return false;
		if (memtb_slobf_pages(s) != before)
			break;
		plug->next = s->plugs[list];
		s->plugs[list] = plug;
		s->nr_plugs++;
	}
	kmem_cache_free(s->filler[list], plug);
	return memtb_slobf_pages(s) == before;
}

static bool memtb_slobf_fill_all(struct memtb_slobf *s)
{
	unsigned int list;

	for (list = 0; list < MEMTB_SLOBF_NR_LISTS; list++)
		if (!memtb_slobf_fill(s, list))
			return false;
	return true;
}

static void memtb_slobf_unfill(struct memtb_slobf *s)
{
	struct memtb_slobf_plug *plug;
	unsigned int list;

	for (list = 0; list < MEMTB_SLOBF_NR_LISTS; list++) {
		while (s->plugs[list]) {
			plug = s->plugs[list];
			s->plugs[list] = plug->next;
			kmem_cache_free(s->filler[list], plug);
		}
	}
}

/* ---- the stream ---- */

static u32 memtb_slobf_random(struct memtb_slobf *s, u32 below)
{
	return prandom_u32_state(&s->rnd) % below;
}

/* Mostly small; some powers of two, and some about as long as a page. */
static size_t memtb_slobf_size(struct memtb_slobf *s)
{
	u32 limit;

	if (!memtb_slobf_random(s, 256))
		return PAGE_SIZE - 16 + memtb_slobf_random(s, 24);
	if (!memtb_slobf_random(s, 8))
		return 8UL << memtb_slobf_random(s, 9);
	limit = min(32U << memtb_slobf_random(s, 8), 4000U);
	return 1 + memtb_slobf_random(s, limit);
}

static bool memtb_slobf_alloc(struct memtb_slobf *s)
{
	struct memtb_slobf_log *log = s->log;
	struct memtb_slobf_object *object = &s->live[s->nr];
	size_t size = 0;

	if (s->nr == MEMTB_SLOBF_LIVE || log->nr == MEMTB_SLOBF_ALLOCS)
		return false;
	object->kind = MEMTB_SLOBF_BLOCK;
	if (memtb_slobf_random(s, 3))
		size = memtb_slobf_size(s);
	else
		object->kind = memtb_slobf_random(s, MEMTB_SLOBF_NR_KINDS);
	object->obj = memtb_slobf_get(s, object->kind, size);
	if (!object->obj)
		return false;
	s->nr++;
	log->place[log->nr++] = (struct memtb_slobf_place){
		.offset = offset_in_page(object->obj),
		.pages = memtb_slobf_pages(s) - log->before,
	};
	return true;
}

static void memtb_slobf_free(struct memtb_slobf *s, unsigned int i)
{
	struct memtb_slobf_object object = s->live[i];

	s->live[i] = s->live[--s->nr];
	if (object.kind >= MEMTB_SLOBF_NR_PLAIN &&
	    object.kind != MEMTB_SLOBF_BLOCK)
		s->waiting[s->nr_waiting++] = object;
	else
		memtb_slobf_put(s, &object);
}

/* Let type-safe objects go, in the order in which they were freed. */
static void memtb_slobf_retire(struct memtb_slobf *s)
{
	unsigned int i;

	if (!s->nr_waiting)
		return;
	memtb_slobf_loud(s);
	for (i = 0; i < s->nr_waiting; i++)
		memtb_slobf_put(s, &s->waiting[i]);
	s->nr_waiting = 0;
	rcu_barrier();
	memtb_slobf_quiet(s);
}

/* From one turn to the next. */
static bool memtb_slobf_wave(struct memtb_slobf *s, unsigned int until)
{
	unsigned int up = until > s->nr ? 75 : 25;

	while (s->nr != until) {
		if (s->nr && memtb_slobf_random(s, 100) >= up)
			memtb_slobf_free(s, memtb_slobf_random(s, s->nr));
		else if (!memtb_slobf_alloc(s))
			return false;
	}
	return true;
}

static void memtb_slobf_waves(struct memtb_slobf *s)
{
	struct memtb_slobf_log *log = s->log;
	unsigned int i;

	log->before = memtb_slobf_pages(s);
	for (i = 0; i < MEMTB_SLOBF_NR_TURNS && !log->failed; i++) {
		log->failed = !memtb_slobf_wave(s, memtb_slobf_turns[i]);
		if (!s->places)
			memtb_slobf_retire(s);
		log->turn[i] = memtb_slobf_pages(s) - log->before;
	}
	while (s->nr)
		memtb_slobf_free(s, memtb_slobf_random(s, s->nr));
	log->left = memtb_slobf_pages(s) - log->before;
	memtb_slobf_retire(s);
}

static void memtb_slobf_start(struct memtb_slobf *s, u32 seed,
			      struct memtb_slobf_log *log)
{
	prandom_seed_state(&s->rnd, seed);
	s->log = log;
	log->failed = false;
	log->nr = 0;
}

/* The stream of a seed to the kernel. */
static void memtb_slobf_native(struct kunit *test, u32 seed)
{
	struct memtb_slobf *s = test->priv;

	memtb_slobf_start(s, seed, &s->theirs);
	s->heap = NULL;
	memtb_slobf_quiet(s);
	if (memtb_slobf_fill_all(s))
		memtb_slobf_waves(s);
	else
		s->theirs.failed = true;
	memtb_slobf_unfill(s);
	memtb_slobf_loud(s);
	kunit_info(test, "%u holes filled, %u allocations\n", s->nr_plugs,
		   s->theirs.nr);
	KUNIT_ASSERT_FALSE(test, s->theirs.failed);
}

static bool memtb_slobf_caches(struct memtb_slobf *s)
{
	const struct memtb_slobf_kind *kind;
	unsigned int i;

	for (i = 0; i < MEMTB_SLOBF_NR_KINDS; i++) {
		kind = &memtb_slobf_kinds[i];
		s->cache[i] = memtb_cache_create(s->heap, "fidelity",
						 kind->size, kind->align,
						 kind->flags, NULL);
		if (IS_ERR(s->cache[i]))
			return false;
	}
	return true;
}

/* The same to a heap of the design. */
static void memtb_slobf_memtb(struct kunit *test, u32 seed, const char *design)
{
	struct memtb_slobf *s = test->priv;
	struct memtb_heap_params params = {};
	const struct memtb_backend *backend;

	backend = memtb_backend_parse(design, &params.options);
	s->heap = memtb_heap_create(backend, "fidelity", &params);
	KUNIT_ASSERT_FALSE(test, IS_ERR(s->heap));
	memtb_slobf_start(s, seed, &s->ours);
	if (memtb_slobf_caches(s))
		memtb_slobf_waves(s);
	else
		s->ours.failed = true;
	KUNIT_EXPECT_FALSE(test, s->ours.failed);
	KUNIT_EXPECT_EQ(test, memtb_slobf_pages(s), 0);
	KUNIT_EXPECT_EQ(test, memtb_heap_check(s->heap), 0);
	KUNIT_EXPECT_EQ(test, memtb_heap_destroy(s->heap), 0);
}

/* ---- comparison ---- */

/* The largest difference of pages at a turn, in parts of a thousand. */
static long memtb_slobf_compare_turns(struct kunit *test)
{
	struct memtb_slobf *s = test->priv;
	long theirs, ours, part, worst = 0;
	unsigned int i;

	for (i = 0; i < MEMTB_SLOBF_NR_TURNS; i++) {
		theirs = s->theirs.turn[i];
		ours = s->ours.turn[i];
		/* Upwards, so that no difference is none. */
		part = DIV_ROUND_UP(abs(theirs - ours) * 1000, max(theirs, 1L));
		worst = max(worst, part);
		kunit_info(test, "%u objects: kernel %ld pages, memtb %ld\n",
			   memtb_slobf_turns[i], theirs, ours);
	}
	kunit_info(test, "largest difference: %ld.%ld %%\n", worst / 10,
		   worst % 10);
	return worst;
}

/* Allocations with another place or another number of pages. */
static unsigned int memtb_slobf_compare_places(struct kunit *test)
{
	struct memtb_slobf *s = test->priv;
	const struct memtb_slobf_place *theirs, *ours;
	unsigned int i, nr = 0;

	for (i = 0; i < s->theirs.nr; i++) {
		theirs = &s->theirs.place[i];
		ours = &s->ours.place[i];
		if (theirs->offset == ours->offset &&
		    theirs->pages == ours->pages)
			continue;
		if (!nr++)
			kunit_info(test, "allocation %u: kernel at %u with %u pages, memtb at %u with %u\n",
				   i, theirs->offset, theirs->pages,
				   ours->offset, ours->pages);
	}
	kunit_info(test, "%u of %u places differ\n", nr, s->theirs.nr);
	return nr;
}

static const u32 memtb_slobf_seeds[] = { 1, 2005, 20080225 };

static void memtb_slobf_describe(const u32 *seed, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "seed %u", *seed);
}

KUNIT_ARRAY_PARAM(memtb_slobf, memtb_slobf_seeds, memtb_slobf_describe);

static void one_stream_takes_the_same_pages(struct kunit *test)
{
	const u32 *seed = test->param_value;
	struct memtb_slobf *s = test->priv;

	s->places = false;
	memtb_slobf_native(test, *seed);
	memtb_slobf_memtb(test, *seed, "slob-page");
	KUNIT_EXPECT_GT(test, s->theirs.turn[2], 1000);
	KUNIT_EXPECT_LE(test, memtb_slobf_compare_turns(test), 10);
}

static void one_stream_gets_the_same_places(struct kunit *test)
{
	const u32 *seed = test->param_value;
	struct memtb_slobf *s = test->priv;

	s->places = true;
	memtb_slobf_native(test, *seed);
	memtb_slobf_memtb(test, *seed, "slob-page");
	KUNIT_EXPECT_EQ(test, memtb_slobf_compare_turns(test), 0);
	KUNIT_EXPECT_EQ(test, s->ours.left, s->theirs.left);
	KUNIT_EXPECT_EQ(test, s->ours.nr, s->theirs.nr);
	KUNIT_EXPECT_EQ(test, memtb_slobf_compare_places(test), 0);
}

/* What the kernel left behind in 2010 and 2019 is told from what it kept. */
static void what_it_was_before_is_not_the_same(struct kunit *test)
{
	static const char * const designs[] = {
		"slob-page+list2008", "slob-page+align2019",
	};
	struct memtb_slobf *s = test->priv;
	unsigned int i;

	s->places = true;
	memtb_slobf_native(test, 1);
	for (i = 0; i < ARRAY_SIZE(designs); i++) {
		kunit_info(test, "%s\n", designs[i]);
		memtb_slobf_memtb(test, 1, designs[i]);
		KUNIT_EXPECT_GT(test, memtb_slobf_compare_turns(test), 0);
		KUNIT_EXPECT_GT(test, memtb_slobf_compare_places(test), 0);
	}
}

static struct kunit_case memtb_slob_fidelity_cases[] = {
	KUNIT_CASE_PARAM(one_stream_takes_the_same_pages,
			 memtb_slobf_gen_params),
	KUNIT_CASE_PARAM(one_stream_gets_the_same_places,
			 memtb_slobf_gen_params),
	KUNIT_CASE(what_it_was_before_is_not_the_same),
	{}
};

static struct kunit_suite memtb_slob_fidelity_suite = {
	.name = "memtb_slob_fidelity",
	.init = memtb_slobf_init,
	.exit = memtb_slobf_exit,
	.test_cases = memtb_slob_fidelity_cases,
};
kunit_test_suite(memtb_slob_fidelity_suite);
