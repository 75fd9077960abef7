/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The contract as properties, each of which holds for a backend or does not.
 *
 * They know nothing of KUnit: the conformance suite asks them of every backend
 * and wants no complaint; the busted suite asks them of backends with a planted
 * fault and wants one.
 */
#ifndef MEMTB_CONFORMANCE_H
#define MEMTB_CONFORMANCE_H

#include "../module/backend/backend.h"

/*
 * A heap or a cache with this name may complain on the console: what it
 * complains of was planted by a test.  scripts/memtb kunit knows the name.
 */
#define MEMTB_PLANTED		"planted"

/* A snapshot as a value: memtb_test_stats(heap).pages_now. */
static inline struct memtb_stats memtb_test_stats(struct memtb_heap *heap)
{
	struct memtb_stats stats;

	memtb_heap_stats(heap, &stats);
	return stats;
}

#define MEMTB_CONFORM_ITEMS	1024

/**
 * struct memtb_conform_item - something that is allocated just now
 * @heap: where from
 * @cache: cache, or NULL for a general-purpose block
 * @obj: the address
 * @size: bytes that belong to the property
 * @fill: what each of them holds, once memtb_conform_fill() was called
 * @filled: whether it was
 */
struct memtb_conform_item {
	struct memtb_heap *heap;
	struct memtb_cache *cache;
	void *obj;
	size_t size;
	u8 fill;
	bool filled;
};

/**
 * struct memtb_conform - what a property works with
 * @heap: a fresh heap of the backend
 * @other: a second one, if the property makes one
 * @params: checks and options of both
 * @nr: number of @item
 * @item: everything allocated; whatever is left is freed after the property,
 *	so that it may return at the first fault
 */
struct memtb_conform {
	struct memtb_heap *heap;
	struct memtb_heap *other;
	struct memtb_heap_params params;
	unsigned int nr;
	struct memtb_conform_item item[MEMTB_CONFORM_ITEMS];
};

/**
 * struct memtb_conform_property - a row of the contract
 * @name: what holds, as a sentence
 * @needs: capabilities without which the question makes no sense
 * @ask: NULL if it holds, otherwise one line that says what does not
 */
struct memtb_conform_property {
	const char *name;
	unsigned int needs;
	const char *(*ask)(struct memtb_conform *c);
};

/* Ends with an empty element. */
extern const struct memtb_conform_property memtb_conform_properties[];

const struct memtb_conform_property *memtb_conform_find(const char *name);
const char *memtb_conform_run(const struct memtb_conform_property *property,
			      const struct memtb_backend *backend,
			      const char *heap_name,
			      const struct memtb_heap_params *params);

#endif /* MEMTB_CONFORMANCE_H */
