// SPDX-License-Identifier: GPL-2.0
/*
 * memtb_slab_fidelity: backend slab beside the kernel's own SLAB.
 *
 * Only in kernels with CONFIG_SLAB.  Geometry is read from the native cache's
 * descriptor, which a public header of such kernels describes.  What the cache
 * does with it is read from the addresses that both hand out for one stream of
 * requests: within their slabs they have to be the same ones, which they are
 * only as long as arrays, batches, lists and colours work alike.
 */
#include <kunit/test.h>
#include <linux/mm.h>
#include <linux/prandom.h>

/*
 * The header's inline functions, which nobody calls here, look into the private
 * struct slab.
 */
struct slab {
	void *s_mem;
};

static inline void *slab_address(const struct slab *slab)
{
	return slab->s_mem;
}

#include <linux/slab_def.h>

#include "../module/backend/slab.h"
#include "conformance.h"

/* Bits of a native cache's flags that say where its list is; see mm/slab.c. */
#define MEMTB_NATIVE_IN_OBJECT	((slab_flags_t __force)0x40000000U)
#define MEMTB_NATIVE_OFF_SLAB	((slab_flags_t __force)0x80000000U)

/* Differences that are printed; all are counted. */
#define MEMTB_FIDELITY_SHOWN	20

#define MEMTB_FIDELITY_OPS	6000
#define MEMTB_FIDELITY_LIVE	600

struct memtb_fidelity {
	struct kunit *test;
	struct memtb_heap *heap;
	unsigned int compared;
	unsigned int different;
};

struct memtb_fidelity_request {
	size_t size;
	size_t align;
	slab_flags_t flags;
	void (*ctor)(void *obj);
};

static int memtb_fidelity_init(struct kunit *test)
{
	struct memtb_fidelity *f = kunit_kzalloc(test, sizeof(*f), GFP_KERNEL);

	if (!f)
		return -ENOMEM;
	f->test = test;
	f->heap = memtb_heap_create(memtb_backend_find("slab"), "fidelity",
				    NULL);
	if (IS_ERR(f->heap))
		return PTR_ERR(f->heap);
	test->priv = f;
	return 0;
}

static void memtb_fidelity_exit(struct kunit *test)
{
	struct memtb_fidelity *f = test->priv;

	if (f)
		KUNIT_EXPECT_EQ(test, memtb_heap_destroy(f->heap), 0);
}

static void memtb_fidelity_ctor(void *obj)
{
}

static enum memtb_slab_place memtb_native_place(const struct kmem_cache *native)
{
	if (native->flags & MEMTB_NATIVE_IN_OBJECT)
		return MEMTB_SLAB_IN_OBJECT;
	if (native->flags & MEMTB_NATIVE_OFF_SLAB)
		return MEMTB_SLAB_OFF_SLAB;
	return MEMTB_SLAB_ON_SLAB;
}

static bool memtb_fidelity_equal(const struct kmem_cache *native,
				 const struct memtb_slab_cache *sc)
{
	const struct memtb_slab_geometry *geometry = &sc->geometry;

	return native->size == geometry->stride &&
	       native->gfporder == geometry->order &&
	       native->num == geometry->nr &&
	       memtb_native_place(native) == geometry->place &&
	       max_t(size_t, native->colour, 1) == geometry->colours &&
	       native->colour_off == geometry->colour &&
	       native->limit == sc->limit && native->batchcount == sc->batch &&
	       native->shared == sc->shared;
}

static void memtb_fidelity_show(struct memtb_fidelity *f,
				const struct memtb_fidelity_request *request,
				const struct kmem_cache *native,
				const struct memtb_slab_cache *sc)
{
	const struct memtb_slab_geometry *geometry = &sc->geometry;

	if (f->different++ >= MEMTB_FIDELITY_SHOWN)
		return;
	kunit_info(f->test, "size %zu align %zu flags %x%s\n", request->size,
		   request->align, (unsigned int __force)request->flags,
		   request->ctor ? " ctor" : "");
	kunit_info(f->test, " native: stride %u order %u nr %u place %d colours %zu of %u, limit %u batch %u shared %u\n",
		   native->size, native->gfporder, native->num,
		   memtb_native_place(native), native->colour,
		   native->colour_off, native->limit, native->batchcount,
		   native->shared);
	kunit_info(f->test, " slab: stride %zu order %u nr %u place %d colours %u of %u, limit %u batch %u shared %u\n",
		   geometry->stride, geometry->order, geometry->nr,
		   geometry->place, geometry->colours, geometry->colour,
		   sc->limit, sc->batch, sc->shared);
}

/* A native cache and one of the same kind in the heap; false if one is missing. */
static bool memtb_fidelity_pair(struct memtb_fidelity *f,
				const struct memtb_fidelity_request *request,
				struct kmem_cache **native,
				struct memtb_cache **cache)
{
	*native = kmem_cache_create("memtb-fidelity", request->size,
				    request->align, request->flags,
				    request->ctor);
	if (!*native)
		return false;
	/* Alignment by cache line is the caller's to compute, see memtb.h. */
	*cache = memtb_cache_create(f->heap, "fidelity", request->size,
				    request->flags & SLAB_HWCACHE_ALIGN ?
				    (*native)->align : request->align,
				    request->flags & MEMTB_CACHE_FLAGS,
				    request->ctor);
	if (!IS_ERR(*cache))
		return true;
	kmem_cache_destroy(*native);
	return false;
}

static void memtb_fidelity_compare(struct memtb_fidelity *f,
				   const struct memtb_fidelity_request *request)
{
	struct kmem_cache *native;
	struct memtb_cache *cache;

	if (!memtb_fidelity_pair(f, request, &native, &cache)) {
		KUNIT_FAIL(f->test, "no cache of size %zu align %zu",
			   request->size, request->align);
		return;
	}
	f->compared++;
	if (!memtb_fidelity_equal(native, memtb_cache_priv(cache)))
		memtb_fidelity_show(f, request, native, memtb_cache_priv(cache));
	memtb_cache_destroy(cache);
	kmem_cache_destroy(native);
}

static const slab_flags_t memtb_fidelity_flags[] = {
	0, SLAB_HWCACHE_ALIGN, SLAB_RECLAIM_ACCOUNT, SLAB_TYPESAFE_BY_RCU,
	SLAB_NOLEAKTRACE, SLAB_NOLEAKTRACE | SLAB_TYPESAFE_BY_RCU,
};

/* Sizes 8 to 8192 of one alignment, with all flags, and with a constructor. */
static void memtb_fidelity_sweep(struct memtb_fidelity *f, size_t align)
{
	struct memtb_fidelity_request request = { .align = align };
	unsigned int i;

	for (request.size = 8; request.size <= 8192; request.size += 8) {
		request.ctor = NULL;
		for (i = 0; i < ARRAY_SIZE(memtb_fidelity_flags); i++) {
			request.flags = memtb_fidelity_flags[i];
			memtb_fidelity_compare(f, &request);
		}
		request.flags = 0;
		request.ctor = memtb_fidelity_ctor;
		memtb_fidelity_compare(f, &request);
	}
}

static void geometry_is_the_kernels(struct kunit *test)
{
	static const size_t aligns[] = { 0, 8, 64, 256, 4096 };
	struct memtb_fidelity *f = test->priv;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(aligns); i++)
		memtb_fidelity_sweep(f, aligns[i]);
	kunit_info(test, "%u combinations compared, %u differ\n", f->compared,
		   f->different);
	KUNIT_EXPECT_EQ(test, f->compared, 5 * 1024 *
			(ARRAY_SIZE(memtb_fidelity_flags) + 1));
	KUNIT_EXPECT_EQ(test, f->different, 0);
}

/* ---- one stream through both ---- */

static size_t memtb_native_offset(const void *obj)
{
	return obj - page_address(virt_to_head_page(obj));
}

struct memtb_fidelity_stream {
	struct kmem_cache *native;
	struct memtb_cache *cache;
	struct rnd_state rnd;
	unsigned int nr;
	void *theirs[MEMTB_FIDELITY_LIVE];
	void *ours[MEMTB_FIDELITY_LIVE];
};

/* Whether both hand out an object at the same place of its slab. */
static bool memtb_fidelity_alloc(struct memtb_fidelity_stream *s)
{
	void *theirs = kmem_cache_alloc(s->native, GFP_KERNEL);
	void *ours = memtb_cache_alloc(s->cache, GFP_KERNEL, NUMA_NO_NODE);

	if (!theirs || !ours)
		return false;
	s->theirs[s->nr] = theirs;
	s->ours[s->nr++] = ours;
	return memtb_native_offset(theirs) == memtb_native_offset(ours);
}

static void memtb_fidelity_free(struct memtb_fidelity_stream *s, unsigned int i)
{
	kmem_cache_free(s->native, s->theirs[i]);
	memtb_cache_free(s->cache, s->ours[i]);
	s->nr--;
	s->theirs[i] = s->theirs[s->nr];
	s->ours[i] = s->ours[s->nr];
}

/* Up and down in waves, so that slabs fill, empty and go. */
static bool memtb_fidelity_grows(struct memtb_fidelity_stream *s,
				 unsigned int op)
{
	unsigned int up = op / 1000 % 2 ? 40 : 60;

	if (!s->nr || s->nr == MEMTB_FIDELITY_LIVE)
		return !s->nr;
	return prandom_u32_state(&s->rnd) % 100 < up;
}

/* The first operation that differs, or MEMTB_FIDELITY_OPS. */
static unsigned int memtb_fidelity_run(struct memtb_fidelity_stream *s)
{
	unsigned int op;

	for (op = 0; op < MEMTB_FIDELITY_OPS; op++) {
		if (!memtb_fidelity_grows(s, op))
			memtb_fidelity_free(s, prandom_u32_state(&s->rnd) % s->nr);
		else if (!memtb_fidelity_alloc(s))
			break;
	}
	while (s->nr)
		memtb_fidelity_free(s, 0);
	return op;
}

static const struct memtb_fidelity_request memtb_fidelity_streams[] = {
	{ 16 }, { 32 }, { 64 }, { 100 }, { 128, 0, 0, memtb_fidelity_ctor },
	{ 192, 64 }, { 256 }, { 320 }, { 320, 0, SLAB_RECLAIM_ACCOUNT },
	{ 700 }, { 1000 }, { 1024, 1024 }, { 1500 },
	{ 2048, 0, SLAB_NOLEAKTRACE }, { 3000 }, { 4096 }, { 5000 }, { 9000 },
};

static void memtb_fidelity_describe(const struct memtb_fidelity_request *request,
				    char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "size %zu align %zu flags %x%s",
		 request->size, request->align,
		 (unsigned int __force)request->flags,
		 request->ctor ? " ctor" : "");
}

KUNIT_ARRAY_PARAM(memtb_fidelity, memtb_fidelity_streams,
		  memtb_fidelity_describe);

static void one_stream_gets_the_same_places(struct kunit *test)
{
	const struct memtb_fidelity_request *request = test->param_value;
	struct memtb_fidelity *f = test->priv;
	struct memtb_fidelity_stream *s;

	s = kunit_kzalloc(test, sizeof(*s), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, s);
	KUNIT_ASSERT_TRUE(test, memtb_fidelity_pair(f, request, &s->native,
						    &s->cache));
	prandom_seed_state(&s->rnd, request->size);
	/* Arrays are the processors'. */
	migrate_disable();
	KUNIT_EXPECT_EQ(test, memtb_fidelity_run(s), MEMTB_FIDELITY_OPS);
	migrate_enable();
	KUNIT_EXPECT_EQ(test, memtb_cache_destroy(s->cache), 0);
	kmem_cache_destroy(s->native);
}

static struct kunit_case memtb_slab_fidelity_cases[] = {
	KUNIT_CASE(geometry_is_the_kernels),
	KUNIT_CASE_PARAM(one_stream_gets_the_same_places,
			 memtb_fidelity_gen_params),
	{}
};

static struct kunit_suite memtb_slab_fidelity_suite = {
	.name = "memtb_slab_fidelity",
	.init = memtb_fidelity_init,
	.exit = memtb_fidelity_exit,
	.test_cases = memtb_slab_fidelity_cases,
};
kunit_test_suite(memtb_slab_fidelity_suite);
