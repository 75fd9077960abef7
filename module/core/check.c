// SPDX-License-Identifier: GPL-2.0
/*
 * debug=verify: who owns every granule of every page.
 *
 * Each page of a heap with this check has a shadow page.  Eight bytes of memory
 * are one granule and have one word of shadow: zero while free, the owner's tag
 * while allocated.  The tag is made of the object's address and of its cache
 * (or of the heap, for a general-purpose block), so that one comparison per
 * granule finds, at allocation, memory that is already somebody's, and at free,
 * an object that was never given out or is freed twice, freed to the wrong
 * cache, of another size than was given out, or overrun by an allocation that
 * should not have been there.
 *
 * The shadow is nowhere near the objects, so a stray write cannot forge it, and
 * objects keep the size and the place that they have without the check.  It
 * says nothing of what users write: that is what red zones are for.
 */
#include <linux/export.h>
#include <linux/hash.h>

#include "../backend/backend.h"
#include "check.h"
#include "pages.h"

#define MEMTB_GRANULE		8
/* Beyond this the console has been told; the count goes on. */
#define MEMTB_VERIFY_REPORTS	10

DEFINE_STATIC_KEY_FALSE(memtb_checks);

static struct memtb_pagemap memtb_shadow;
static atomic_t memtb_verify_reports = ATOMIC_INIT(0);
static DEFINE_MUTEX(memtb_shadow_lock);
static unsigned int memtb_shadow_users;

bool memtb_check_valid(const struct memtb_backend *backend, unsigned int debug)
{
	if (debug & ~MEMTB_DEBUG_VERIFY)
		return false;
	return !debug || backend->flags & MEMTB_OWNS_PAGES;
}

/* The shadow's map exists while some heap has the check on. */
int memtb_check_init(struct memtb_heap *heap)
{
	int err = 0;

	if (!heap->params.debug)
		return 0;
	mutex_lock(&memtb_shadow_lock);
	if (!memtb_shadow_users)
		err = memtb_pagemap_init(&memtb_shadow);
	if (!err) {
		memtb_shadow_users++;
		static_branch_inc(&memtb_checks);
	}
	mutex_unlock(&memtb_shadow_lock);
	return err;
}

void memtb_check_exit(struct memtb_heap *heap)
{
	if (!heap->params.debug)
		return;
	mutex_lock(&memtb_shadow_lock);
	static_branch_dec(&memtb_checks);
	if (!--memtb_shadow_users)
		memtb_pagemap_exit(&memtb_shadow);
	mutex_unlock(&memtb_shadow_lock);
}

int memtb_check_pages_get(struct memtb_heap *heap, void *base,
			  unsigned int order, gfp_t gfp)
{
	unsigned long i, nr = 1UL << order;
	struct page *page;
	int err;

	if (!memtb_check_on(heap))
		return 0;
	page = alloc_pages(gfp | __GFP_ZERO | (order ? __GFP_COMP : 0), order);
	if (!page)
		return -ENOMEM;
	for (i = 0; i < nr; i++) {
		err = memtb_pagemap_set(&memtb_shadow, base + i * PAGE_SIZE, 1,
					page_address(page) + i * PAGE_SIZE,
					gfp);
		if (err)
			goto out_clear;
	}
	return 0;

out_clear:
	memtb_pagemap_clear(&memtb_shadow, base, i);
	__free_pages(page, order);
	return err;
}

void memtb_check_pages_put(struct memtb_heap *heap, void *base,
			   unsigned int order)
{
	void *shadow;

	if (!memtb_check_on(heap))
		return;
	shadow = memtb_pagemap_get(&memtb_shadow, base);
	memtb_pagemap_clear(&memtb_shadow, base, 1UL << order);
	__free_pages(virt_to_page(shadow), order);
}

/*
 * The shadow word of the granule at @addr, NULL where no heap has a page.  To
 * find where an object ends, memtb_verify_span() looks one word further, which
 * another processor may be writing: whatever it finds there, it is not the tag.
 */
static u64 *memtb_verify_word(const void *addr)
{
	u64 *shadow = memtb_pagemap_get(&memtb_shadow, addr);

	return shadow ? shadow + offset_in_page(addr) / MEMTB_GRANULE : NULL;
}

static u64 memtb_verify_tag(struct memtb_heap *heap, struct memtb_cache *cache,
			    const void *obj)
{
	u64 owner = cache ? (unsigned long)cache : (unsigned long)heap;

	/*
	 * Addresses of owners and objects follow the same patterns; unhashed,
	 * the tags of neighbours in two caches are equal now and then.
	 */
	return (unsigned long)obj ^ hash_64(owner, 64);
}

static void memtb_verify_report(struct memtb_heap *heap,
				struct memtb_cache *cache, const void *obj,
				const char *what)
{
	memtb_stat_add(heap, MEMTB_STAT_VIOLATIONS, 1);
	if (atomic_inc_return(&memtb_verify_reports) > MEMTB_VERIFY_REPORTS)
		return;
	pr_err("violation: heap %s, cache %s, object %p: %s\n", heap->name,
	       cache ? cache->name : "-", obj, what);
	dump_stack();
}

void memtb_verify_alloc(struct memtb_heap *heap, struct memtb_cache *cache,
			void *obj, size_t size)
{
	u64 tag = memtb_verify_tag(heap, cache, obj);
	const char *what = NULL;
	size_t i;

	for (i = 0; i < size; i += MEMTB_GRANULE) {
		u64 *word = memtb_verify_word(obj + i);

		if (!word) {
			what = "not in a page of the heap";
			break;
		}
		if (*word)
			what = "overlaps an allocated object";
		WRITE_ONCE(*word, tag);
	}
	if (what)
		memtb_verify_report(heap, cache, obj, what);
}

/* Bytes from @obj on, in granules, that carry @tag. */
static size_t memtb_verify_span(const void *obj, u64 tag)
{
	size_t i = 0;
	u64 *word;

	while ((word = memtb_verify_word(obj + i)) && READ_ONCE(*word) == tag)
		i += MEMTB_GRANULE;
	return i;
}

static void memtb_verify_set(void *obj, size_t from, size_t to, u64 tag)
{
	for (; from < to; from += MEMTB_GRANULE)
		WRITE_ONCE(*memtb_verify_word(obj + from), tag);
}

bool memtb_verify_free(struct memtb_heap *heap, struct memtb_cache *cache,
		       void *obj, size_t size)
{
	size_t span = memtb_verify_span(obj, memtb_verify_tag(heap, cache, obj));

	if (!span) {
		memtb_verify_report(heap, cache, obj,
				    "freed, but not allocated here");
		return false;
	}
	if (size && span != ALIGN(size, MEMTB_GRANULE)) {
		memtb_verify_report(heap, cache, obj,
				    "freed, but partly somebody else's");
		return false;
	}
	memtb_verify_set(obj, 0, span, 0);
	return true;
}

bool memtb_verify_resize(struct memtb_heap *heap, void *obj, size_t size)
{
	u64 tag = memtb_verify_tag(heap, NULL, obj);
	size_t span = memtb_verify_span(obj, tag);

	if (!span) {
		memtb_verify_report(heap, NULL, obj,
				    "resized, but not allocated here");
		return false;
	}
	size = ALIGN(size, MEMTB_GRANULE);
	memtb_verify_set(obj, span, size, tag);
	memtb_verify_set(obj, size, span, 0);
	return true;
}
