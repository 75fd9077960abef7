// SPDX-License-Identifier: GPL-2.0
/*
 * The hooks of the takeover: the kernel's entry points and what stands behind
 * each.  The table at the end is for SLUB of 6.1; Kbuild decides whether this
 * kernel is one.
 *
 * How a call is led away.  Each entry point has an ftrace_ops of its own with
 * IPMODIFY.  Its handler decides: either it does nothing, and the call goes on
 * as if there were no hook, or it sets the instruction pointer to the hook
 * function, which takes the arguments as they are and returns to the caller.
 * A free is led away if the page map says that the object is the heap's; an
 * allocation, if the takeover is on.
 *
 * A hook that wants the native function just calls it: the handler sees that
 * the caller is this module and lets the call pass.  For that to be true no
 * such call may become a jump, so this file is built without sibling-call
 * optimisation, and without -pg, so that no hook traces itself.
 *
 * Nothing here allocates, sleeps on its own account, takes a lock or prints,
 * unless something is wrong.
 */
#include <linux/ftrace.h>
#include <linux/module.h>
#include <linux/seq_file.h>
#include <linux/slab.h>

#include "../core/object.h"
#include "hooks.h"
#include "native.h"

enum memtb_hook_id {
	MEMTB_HOOK_kfree,
	MEMTB_HOOK_kmem_cache_free,
	MEMTB_HOOK_kmem_cache_free_bulk,
	MEMTB_HOOK___ksize,
	MEMTB_HOOK___kmem_cache_shutdown,
	MEMTB_HOOK___kmem_cache_shrink,
	MEMTB_HOOK_kmem_cache_alloc,
	MEMTB_HOOK_kmem_cache_alloc_lru,
	MEMTB_HOOK_kmem_cache_alloc_node,
	MEMTB_HOOK_kmem_cache_alloc_bulk,
	MEMTB_HOOK___kmem_cache_alloc_node,
	MEMTB_NR_HOOKS
};

/**
 * struct memtb_hook - an entry point
 * @symbol: its name
 * @native: the function itself
 * @function: where a call is led to
 * @kind: what it counts as
 * @ops: its handler
 */
struct memtb_hook {
	const char *symbol;
	void *native;
	void *function;
	enum memtb_hook_kind kind;
	struct ftrace_ops ops;
};

static struct memtb_hook memtb_hooks[MEMTB_NR_HOOKS];

/* The entry points that are not exported, called through the table. */
typedef void *(*memtb_native_alloc_node_t)(struct kmem_cache *s, gfp_t gfp,
					   int node, size_t size,
					   unsigned long caller);
typedef int (*memtb_native_cache_t)(struct kmem_cache *s);

#define memtb_native_call(type, name, ...)				\
	(((type)memtb_hooks[MEMTB_HOOK_##name].native)(__VA_ARGS__))

#define memtb_count(counter, n)	this_cpu_add(memtb_live.cpu->counter, n)
#define memtb_taken(symbol, n)	memtb_count(taken[MEMTB_HOOK_##symbol], n)
#define memtb_native(symbol, n)	memtb_count(native[MEMTB_HOOK_##symbol], n)

/* ---- the handlers: to lead away or not ---- */

static struct memtb_hook *memtb_hook_of(struct ftrace_ops *ops)
{
	return container_of(ops, struct memtb_hook, ops);
}

static void memtb_hook_redirect(struct memtb_hook *hook,
				struct ftrace_regs *fregs)
{
	memtb_count(enter[hook->kind], 1);
	ftrace_instruction_pointer_set(fregs, (unsigned long)hook->function);
}

static void memtb_hook_leave(struct memtb_hook *hook)
{
	memtb_count(native[hook - memtb_hooks], 1);
}

static void memtb_hook_on_alloc(unsigned long ip, unsigned long parent_ip,
				struct ftrace_ops *ops,
				struct ftrace_regs *fregs)
{
	struct memtb_hook *hook = memtb_hook_of(ops);

	if (READ_ONCE(memtb_live.taking) &&
	    READ_ONCE(memtb_live.aside) != current &&
	    !within_module(parent_ip, THIS_MODULE))
		memtb_hook_redirect(hook, fregs);
	else
		memtb_hook_leave(hook);
}

static void memtb_hook_on_object(struct memtb_hook *hook,
				 struct ftrace_regs *fregs, unsigned int arg)
{
	if (memtb_live_owns((void *)memtb_ftrace_arg(fregs, arg)))
		memtb_hook_redirect(hook, fregs);
	else
		memtb_hook_leave(hook);
}

static void memtb_hook_on_object0(unsigned long ip, unsigned long parent_ip,
				  struct ftrace_ops *ops,
				  struct ftrace_regs *fregs)
{
	memtb_hook_on_object(memtb_hook_of(ops), fregs, 0);
}

static void memtb_hook_on_object1(unsigned long ip, unsigned long parent_ip,
				  struct ftrace_ops *ops,
				  struct ftrace_regs *fregs)
{
	memtb_hook_on_object(memtb_hook_of(ops), fregs, 1);
}

/* For entry points that concern both sides; the hook counts. */
static void memtb_hook_on_both(unsigned long ip, unsigned long parent_ip,
			       struct ftrace_ops *ops,
			       struct ftrace_regs *fregs)
{
	if (!within_module(parent_ip, THIS_MODULE))
		memtb_hook_redirect(memtb_hook_of(ops), fregs);
}

/* ---- the hooks ---- */

/* Only what any lowmem page can serve; other zones stay native. */
static bool memtb_hook_takes(gfp_t gfp)
{
	return !(gfp & GFP_ZONEMASK & ~__GFP_MOVABLE);
}

static void *memtb_hook_block(size_t size, gfp_t gfp, int node)
{
	void *obj;

	if (!memtb_hook_takes(gfp))
		return NULL;
	obj = memtb_block_alloc(memtb_live.heap, size, gfp, node);
	if (!obj)
		memtb_count(fallback, 1);
	return obj;
}

/* NULL if the native allocator has to serve, for whatever reason. */
static void *memtb_hook_object(struct kmem_cache *s, gfp_t gfp, int node)
{
	struct memtb_live_cache *lc;
	void *obj;

	if (s->flags & SLAB_KMALLOC)
		return memtb_hook_block(s->object_size, gfp, node);
	lc = memtb_live_find(s);
	if (!lc) {
		memtb_live_scan_later();
		return NULL;
	}
	if (!lc->cache || !memtb_hook_takes(gfp))
		return NULL;
	obj = memtb_object_alloc(lc->cache, gfp, node);
	if (obj)
		this_cpu_inc(*lc->taken);
	else
		memtb_count(fallback, 1);
	return obj;
}

/* @s is NULL for what kmalloc() gave out. */
static void memtb_hook_release(struct kmem_cache *s, void *obj)
{
	struct memtb_live_cache *lc;

	if (!s || s->flags & SLAB_KMALLOC) {
		memtb_block_free(memtb_live.heap, obj);
		return;
	}
	lc = memtb_live_find(s);
	if (lc && lc->cache)
		memtb_object_free(lc->cache, obj);
	else
		WARN_ONCE(1, "memtb: %p freed to %s, which gave nothing out\n",
			  obj, s->name);
}

/* An object that was taken for a bulk which could not be filled. */
static void memtb_hook_undo(struct kmem_cache *s, void *obj)
{
	struct memtb_live_cache *lc = memtb_live_find(s);

	memtb_hook_release(s, obj);
	if (lc && lc->cache)
		this_cpu_dec(*lc->taken);
}

static void *memtb_hook_kmem_cache_alloc(struct kmem_cache *s, gfp_t gfp)
{
	void *obj = memtb_hook_object(s, gfp, NUMA_NO_NODE);

	if (obj)
		memtb_taken(kmem_cache_alloc, 1);
	else
		obj = kmem_cache_alloc(s, gfp);
	memtb_count(exit[MEMTB_ALLOC], 1);
	return obj;
}

static void *memtb_hook_kmem_cache_alloc_lru(struct kmem_cache *s,
					     struct list_lru *lru, gfp_t gfp)
{
	void *obj = memtb_hook_object(s, gfp, NUMA_NO_NODE);

	if (obj)
		memtb_taken(kmem_cache_alloc_lru, 1);
	else
		obj = kmem_cache_alloc_lru(s, lru, gfp);
	memtb_count(exit[MEMTB_ALLOC], 1);
	return obj;
}

static void *memtb_hook_kmem_cache_alloc_node(struct kmem_cache *s, gfp_t gfp,
					      int node)
{
	void *obj = memtb_hook_object(s, gfp, node);

	if (obj)
		memtb_taken(kmem_cache_alloc_node, 1);
	else
		obj = kmem_cache_alloc_node(s, gfp, node);
	memtb_count(exit[MEMTB_ALLOC], 1);
	return obj;
}

static void *memtb_hook___kmem_cache_alloc_node(struct kmem_cache *s, gfp_t gfp,
						int node, size_t size,
						unsigned long caller)
{
	void *obj = memtb_hook_block(size, gfp, node);

	if (obj)
		memtb_taken(__kmem_cache_alloc_node, 1);
	else
		obj = memtb_native_call(memtb_native_alloc_node_t,
					__kmem_cache_alloc_node, s, gfp, node,
					size, caller);
	memtb_count(exit[MEMTB_ALLOC], 1);
	return obj;
}

/* All or nothing: what the heap cannot serve in full, it does not serve. */
static int memtb_hook_kmem_cache_alloc_bulk(struct kmem_cache *s, gfp_t gfp,
					    size_t nr, void **objs)
{
	int ret = nr;
	size_t i;

	for (i = 0; i < nr; i++) {
		objs[i] = memtb_hook_object(s, gfp, NUMA_NO_NODE);
		if (!objs[i])
			break;
	}
	if (i == nr) {
		memtb_taken(kmem_cache_alloc_bulk, nr);
	} else {
		while (i--)
			memtb_hook_undo(s, objs[i]);
		/* The handler counts one; the others are counted here. */
		memtb_native(kmem_cache_alloc_bulk, nr - 1);
		ret = kmem_cache_alloc_bulk(s, gfp, nr, objs);
	}
	memtb_count(exit[MEMTB_ALLOC], 1);
	return ret;
}

static void memtb_hook_kfree(void *obj)
{
	memtb_hook_release(NULL, obj);
	memtb_taken(kfree, 1);
	memtb_count(exit[MEMTB_FREE], 1);
}

static void memtb_hook_kmem_cache_free(struct kmem_cache *s, void *obj)
{
	memtb_hook_release(s, obj);
	memtb_taken(kmem_cache_free, 1);
	memtb_count(exit[MEMTB_FREE], 1);
}

/* The array may mix owners: free ours, close the gaps, hand on the rest. */
static void memtb_hook_kmem_cache_free_bulk(struct kmem_cache *s, size_t nr,
					    void **objs)
{
	size_t i, rest = 0;

	for (i = 0; i < nr; i++) {
		if (memtb_live_owns(objs[i]))
			memtb_hook_release(s, objs[i]);
		else
			objs[rest++] = objs[i];
	}
	memtb_taken(kmem_cache_free_bulk, nr - rest);
	memtb_native(kmem_cache_free_bulk, rest);
	if (rest)
		kmem_cache_free_bulk(s, rest, objs);
	memtb_count(exit[MEMTB_FREE], 1);
}

static size_t memtb_hook___ksize(const void *obj)
{
	size_t size = memtb_size(memtb_live.heap, (void *)obj);

	memtb_taken(__ksize, 1);
	memtb_count(exit[MEMTB_OTHER], 1);
	return size;
}

/* Nonzero means that objects are still out; the native caller reports it. */
static int memtb_hook___kmem_cache_shutdown(struct kmem_cache *s)
{
	int busy = 1;

	if (memtb_live_forget(s))
		busy = memtb_native_call(memtb_native_cache_t,
					 __kmem_cache_shutdown, s);
	memtb_count(exit[MEMTB_OTHER], 1);
	return busy;
}

static int memtb_hook___kmem_cache_shrink(struct kmem_cache *s)
{
	int busy = memtb_native_call(memtb_native_cache_t, __kmem_cache_shrink,
				     s);

	memtb_heap_shrink(memtb_live.heap);
	memtb_count(exit[MEMTB_OTHER], 1);
	return busy;
}

/*
 * Frees come first: they are in before anything of the heap can be out, and
 * they go last.
 */
#define MEMTB_HOOK(name, counts, handler)				\
	[MEMTB_HOOK_##name] = {						\
		.symbol = #name,					\
		.function = memtb_hook_##name,				\
		.kind = counts,						\
		.ops = {						\
			.func = handler,				\
			.flags = FTRACE_OPS_FL_IPMODIFY |		\
				 FTRACE_OPS_FL_PERMANENT,		\
		},							\
	}

static struct memtb_hook memtb_hooks[MEMTB_NR_HOOKS] = {
	MEMTB_HOOK(kfree, MEMTB_FREE, memtb_hook_on_object0),
	MEMTB_HOOK(kmem_cache_free, MEMTB_FREE, memtb_hook_on_object1),
	MEMTB_HOOK(kmem_cache_free_bulk, MEMTB_FREE, memtb_hook_on_both),
	MEMTB_HOOK(__ksize, MEMTB_OTHER, memtb_hook_on_object0),
	MEMTB_HOOK(__kmem_cache_shutdown, MEMTB_OTHER, memtb_hook_on_both),
	MEMTB_HOOK(__kmem_cache_shrink, MEMTB_OTHER, memtb_hook_on_both),
	MEMTB_HOOK(kmem_cache_alloc, MEMTB_ALLOC, memtb_hook_on_alloc),
	MEMTB_HOOK(kmem_cache_alloc_lru, MEMTB_ALLOC, memtb_hook_on_alloc),
	MEMTB_HOOK(kmem_cache_alloc_node, MEMTB_ALLOC, memtb_hook_on_alloc),
	MEMTB_HOOK(kmem_cache_alloc_bulk, MEMTB_ALLOC, memtb_hook_on_alloc),
	MEMTB_HOOK(__kmem_cache_alloc_node, MEMTB_ALLOC, memtb_hook_on_alloc),
};

/* ---- in and out ---- */

static int memtb_hook_install(struct memtb_hook *hook)
{
	int err = ftrace_set_filter_ip(&hook->ops, (unsigned long)hook->native,
				       0, 1);

	if (err) {
		pr_err("live: %s cannot be traced (%d)\n", hook->symbol, err);
		return err;
	}
	err = register_ftrace_function(&hook->ops);
	if (err)
		pr_err("live: %s cannot be hooked (%d): kernel.ftrace_enabled has to be 1, and nobody else may redirect it\n",
		       hook->symbol, err);
	return err;
}

static void memtb_hooks_remove_first(unsigned int nr)
{
	while (nr--)
		unregister_ftrace_function(&memtb_hooks[nr].ops);
}

/* Every entry point of the table, or none. */
int memtb_hooks_install(unsigned long (*lookup)(const char *symbol))
{
	struct memtb_hook *hook;
	unsigned int i;
	int err;

	BUILD_BUG_ON(MEMTB_NR_HOOKS > MEMTB_MAX_HOOKS);
	for (i = 0; i < MEMTB_NR_HOOKS; i++) {
		hook = &memtb_hooks[i];
		hook->native = (void *)lookup(hook->symbol);
		if (!hook->native) {
			pr_err("live: this kernel has no %s\n", hook->symbol);
			return -EOPNOTSUPP;
		}
	}
	for (i = 0; i < MEMTB_NR_HOOKS; i++) {
		err = memtb_hook_install(&memtb_hooks[i]);
		if (err) {
			memtb_hooks_remove_first(i);
			return err;
		}
	}
	return 0;
}

void memtb_hooks_remove(void)
{
	memtb_hooks_remove_first(MEMTB_NR_HOOKS);
}

/*
 * Once, in the end: what ftrace_free_filter() has freed stays in the ops, and
 * the next filter that is set would use it.
 */
void memtb_hooks_exit(void)
{
	unsigned int i;

	for (i = 0; i < MEMTB_NR_HOOKS; i++)
		ftrace_free_filter(&memtb_hooks[i].ops);
}

/* ---- counters ---- */

static u64 memtb_hook_sum(unsigned int i, bool taken)
{
	struct memtb_live_cpu *c;
	u64 sum = 0;
	int cpu;

	for_each_possible_cpu(cpu) {
		c = per_cpu_ptr(memtb_live.cpu, cpu);
		sum += taken ? c->taken[i] : c->native[i];
	}
	return sum;
}

/**
 * memtb_hooks_count - calls answered and left alone
 * @taken: filled in: allocations, frees
 * @native: filled in: allocations, frees
 */
void memtb_hooks_count(u64 taken[2], u64 native[2])
{
	enum memtb_hook_kind kind;
	unsigned int i;

	memset(taken, 0, 2 * sizeof(*taken));
	memset(native, 0, 2 * sizeof(*native));
	for (i = 0; i < MEMTB_NR_HOOKS; i++) {
		kind = memtb_hooks[i].kind;
		if (kind == MEMTB_OTHER)
			continue;
		taken[kind] += memtb_hook_sum(i, true);
		native[kind] += memtb_hook_sum(i, false);
	}
}

void memtb_hooks_show(struct seq_file *m)
{
	unsigned int i;

	for (i = 0; i < MEMTB_NR_HOOKS; i++)
		seq_printf(m, "entry %s %llu %llu\n", memtb_hooks[i].symbol,
			   memtb_hook_sum(i, true), memtb_hook_sum(i, false));
}
