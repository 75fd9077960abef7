/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The contract between the core and an allocator design.
 *
 * A backend is one const table, last in its file.  It calls down to core/
 * (pages, counters) and never up: no load, live or control header.  The core
 * has checked every argument before a member is called, and does after it what
 * is alike for all designs (zeroing, counting, checks), so a backend holds
 * nothing but its design.
 */
#ifndef MEMTB_BACKEND_H
#define MEMTB_BACKEND_H

#include <linux/types.h>

#include "../core/heap.h"

/*
 * Capabilities.  A test or a user that needs one asks for it by name.
 *
 * MEMTB_OWNS_PAGES: all memory comes from memtb_pages_get(), so that "whose
 * object is this?" has an answer.  No live stream goes without.
 * MEMTB_STORES: objects are real memory.  Without it they may overlap, and
 * nobody may write to one.
 * MEMTB_RCU: SLAB_TYPESAFE_BY_RCU is kept.
 * MEMTB_ALIGNS: general-purpose blocks of a power of two are naturally aligned.
 * The kernel has relied on that since 5.4; no live stream goes without.
 */
#define MEMTB_OWNS_PAGES	0x1
#define MEMTB_STORES		0x2
#define MEMTB_RCU		0x4
#define MEMTB_ALIGNS		0x8

/**
 * struct memtb_backend - an allocator design
 * @name: what users type; equals the suffix of the file, with - for _
 * @summary: one line for the list of backends
 * @flags: capabilities, MEMTB_OWNS_PAGES and the others
 * @max_size: largest object or block in bytes; larger requests never get here
 * @max_align: largest alignment of a cache's objects in bytes
 * @heap_size: bytes of private state per heap, zeroed, see memtb_heap_priv()
 * @cache_size: bytes of private state per cache, zeroed, memtb_cache_priv()
 * @gp_min_align: alignment in bytes that every general-purpose block has
 * @options: names of variants, each a bit of the heap's params.options in this
 *	order, NULL behind the last.  Optional.
 * @takes: capabilities that each of @options takes away, in the same order.
 *	Optional: without it none does.
 *
 * @heap_init: Sets up private heap state.  Process context, may sleep.
 *	0 or a negative errno; after an error nothing is left behind.
 *	Optional.
 * @heap_exit: Undoes @heap_init.  Process context, may sleep, nobody uses the
 *	heap any more.  Waits for what it deferred (RCU, timers), returns every
 *	page that holds no live object.  If any is left, the heap and its caches
 *	stay: objects have to come home as ever, and then it is called again.
 *	Optional.
 * @cache_init: Sets up private cache state; size, align, flags and ctor of
 *	@cache are set and valid.  Process context, may sleep.  0 or a negative
 *	errno.  Optional.
 * @cache_exit: Undoes @cache_init.  Process context, may sleep; no object is
 *	out.  Waits for what it deferred, returns every page.  Optional.
 *
 * @alloc: Hands out one object of @cache, constructed if it has a constructor,
 *	otherwise with undefined content.  Any context but NMI, concurrent;
 *	sleeps only if @gfp allows blocking.  @node is a wish.  NULL when no
 *	page is to be had.
 * @free: Takes back an object that @alloc gave out.  Any context but NMI,
 *	concurrent, never sleeps.  False if the design found, and reported, that
 *	@obj is not out; then nothing has changed.
 * @alloc_bulk: Hands out @nr objects at once, as @alloc does one; all or none.
 *	False if there is no page.  Optional: without it @alloc is called.
 * @free_bulk: Takes back objects; they are known to lie in the heap.  Number of
 *	those that it took; the others it reported, as @free does.  Optional.
 * @gp_alloc: Hands out @size bytes, 1 <= @size <= @max_size, aligned to
 *	@gp_min_align, and powers of two naturally unless MEMTB_ALIGNS is
 *	missing.  Otherwise as @alloc.
 * @gp_free: Takes back what @gp_alloc gave out; otherwise as @free.
 * @gp_size: Usable bytes of a block that @gp_alloc gave out, never less than
 *	was asked for.  Any context but NMI.
 * @shrink: Returns the pages that can be returned now to the page allocator.
 *	Process context, may sleep, against running traffic.  Number of pages
 *	returned.  Optional.
 * @tune: Sets what the design lets one set of a running cache, in the words of
 *	/proc/slabinfo: length of the stores of each processor, objects that
 *	come and go at once, length of the common store as a multiple of that.
 *	Process context, may sleep, against running traffic; the heap's lock is
 *	held; the numbers are valid.  0 or -ENOMEM.  Optional.
 * @info: Fills in what the design knows of a cache; the rest is zero.  Process
 *	context, against running traffic; the heap's lock is held.  Optional.
 * @check: Walks every structure of the heap, prints each violation, returns
 *	their number.  Process context, against running traffic: takes the
 *	design's own locks.  Optional only where there is no structure.
 */
struct memtb_backend {
	const char *name;
	const char *summary;
	unsigned int flags;
	size_t max_size;
	size_t max_align;
	size_t heap_size;
	size_t cache_size;
	size_t gp_min_align;
	const char * const *options;
	const unsigned int *takes;

	int (*heap_init)(struct memtb_heap *heap);
	void (*heap_exit)(struct memtb_heap *heap);
	int (*cache_init)(struct memtb_cache *cache);
	void (*cache_exit)(struct memtb_cache *cache);

	void *(*alloc)(struct memtb_cache *cache, gfp_t gfp, int node);
	bool (*free)(struct memtb_cache *cache, void *obj);

	bool (*alloc_bulk)(struct memtb_cache *cache, gfp_t gfp, size_t nr,
			   void **objs);
	size_t (*free_bulk)(struct memtb_cache *cache, size_t nr, void **objs);

	void *(*gp_alloc)(struct memtb_heap *heap, size_t size, gfp_t gfp,
			  int node);
	bool (*gp_free)(struct memtb_heap *heap, void *obj);
	size_t (*gp_size)(struct memtb_heap *heap, void *obj);

	unsigned long (*shrink)(struct memtb_heap *heap);
	int (*tune)(struct memtb_cache *cache, unsigned int limit,
		    unsigned int batch, unsigned int shared);
	void (*info)(struct memtb_cache *cache, struct memtb_cache_info *info);
	unsigned long (*check)(struct memtb_heap *heap);
};

extern const struct memtb_backend memtb_backend_null;
extern const struct memtb_backend memtb_backend_kernel;
extern const struct memtb_backend memtb_backend_slob;
extern const struct memtb_backend memtb_backend_slob_new;
extern const struct memtb_backend memtb_backend_slab;
extern const struct memtb_backend memtb_backend_slob_page;

bool memtb_backend_valid(const struct memtb_backend *backend);
unsigned int memtb_backend_nr_options(const struct memtb_backend *backend);
unsigned int memtb_backend_flags(const struct memtb_backend *backend,
				 unsigned long options);

/* Whether the heap runs variant @option, a number of the backend's options. */
static inline bool memtb_option(const struct memtb_heap *heap,
				unsigned int option)
{
	return heap->params.options & BIT(option);
}

#endif /* MEMTB_BACKEND_H */
