/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Between the two halves of the takeover: hooks.c knows the kernel's entry
 * points, takeover.c knows when they are in and whose an object is.
 */
#ifndef MEMTB_LIVE_HOOKS_H
#define MEMTB_LIVE_HOOKS_H

#include <linux/hashtable.h>
#include <linux/percpu.h>
#include <linux/slab.h>

#include "../core/pages.h"

#define MEMTB_MAX_HOOKS		16

/* What a hook counts as; the first two index memtb_hooks_count()'s sums. */
enum memtb_hook_kind { MEMTB_ALLOC, MEMTB_FREE, MEMTB_OTHER, MEMTB_NR_KINDS };

/**
 * struct memtb_live_cpu - per-CPU counters of the live stream
 * @taken: calls answered from the heap, by hook; bulk calls count objects
 * @native: calls left to the native allocator, by hook
 * @fallback: allocations that the heap could not serve
 * @enter: hook functions entered, by kind
 * @exit: hook functions left, by kind
 */
struct memtb_live_cpu {
	u64 taken[MEMTB_MAX_HOOKS];
	u64 native[MEMTB_MAX_HOOKS];
	u64 fallback;
	u64 enter[MEMTB_NR_KINDS];
	u64 exit[MEMTB_NR_KINDS];
};

/**
 * struct memtb_live_cache - a native cache and the one that stands in for it
 * @native: the key
 * @cache: its counterpart in the heap, or NULL if it is to stay native
 * @taken: objects handed out, per CPU
 */
struct memtb_live_cache {
	struct kmem_cache *native;
	struct memtb_cache *cache;
	u64 __percpu *taken;
};

/**
 * struct memtb_live - the live stream
 * @heap: where it goes
 * @taking: whether allocations go there now
 * @aside: the task between memtb_live_aside() and its end, or NULL
 * @cpu: counters
 */
struct memtb_live {
	struct memtb_heap *heap;
	bool taking;
	struct task_struct *aside;
	struct memtb_live_cpu __percpu *cpu;
};

extern struct memtb_live memtb_live;

/* Whether @obj is the heap's to free. */
static inline bool memtb_live_owns(const void *obj)
{
	struct memtb_owner *owner = memtb_owner(obj);

	return owner && owner->heap == memtb_live.heap;
}

/* hooks.c */
int memtb_hooks_install(unsigned long (*lookup)(const char *symbol));
void memtb_hooks_remove(void);
void memtb_hooks_exit(void);
void memtb_hooks_count(u64 taken[2], u64 native[2]);
void memtb_hooks_show(struct seq_file *m);

/* takeover.c */
struct memtb_live_cache *memtb_live_find(struct kmem_cache *native);
void memtb_live_scan_later(void);
bool memtb_live_forget(struct kmem_cache *native);

#endif /* MEMTB_LIVE_HOOKS_H */
