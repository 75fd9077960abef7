// SPDX-License-Identifier: GPL-2.0
/*
 * The takeover: the state of the live stream, and which native cache is which.
 *
 * Every native cache that exists when the takeover begins gets its counterpart
 * in the heap then.  One that is created later is served natively until a work
 * item has walked the kernel's list again, because a backend may have to sleep
 * to make a cache.  The table from native to own cache is read in every hooked
 * call, without a lock; slab_mutex, which also keeps native caches alive during
 * the walk, orders its writers.
 *
 * Arriving.  The hooks are put in and the caches adopted at once, so that what
 * cannot be is refused; the stream itself starts when memtb is wholly loaded.
 * Reading the state waits for that.
 *
 * Leaving.  After "off" no allocation comes in any more, but objects are out.
 * The hooks of the frees stay until the last one is home; so does a reference
 * on the module, which makes an early rmmod fail instead of crash.  A worker
 * looks twice a second whether it is time.
 */
#include <linux/ctype.h>
#include <linux/hash.h>
#include <linux/irq_work.h>
#include <linux/kprobes.h>
#include <linux/module.h>
#include <linux/rcupdate.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/workqueue.h>

#include "../backend/backend.h"
#include "hooks.h"
#include "live.h"
#include "native.h"

#define MEMTB_LIVE_BITS		10
#define MEMTB_LIVE_CACHES	BIT(MEMTB_LIVE_BITS)
#define MEMTB_LIVE_DRAIN_PERIOD	(HZ / 2)

/* What of a native cache's flags memtb cannot stand in for. */
#define MEMTB_LIVE_NATIVE_FLAGS (SLAB_CACHE_DMA | SLAB_CACHE_DMA32 |	\
				 SLAB_RED_ZONE | SLAB_POISON |		\
				 SLAB_STORE_USER | SLAB_TRACE |		\
				 SLAB_CONSISTENCY_CHECKS)

struct memtb_live memtb_live;

/* Orders changes of mode. */
static DEFINE_MUTEX(memtb_live_lock);
static enum memtb_live_mode memtb_live_state;

/*
 * Open addressing.  A slot whose cache has gone keeps the address of the table
 * as its key, so that a search goes on behind it.
 */
static struct memtb_live_cache memtb_live_caches[MEMTB_LIVE_CACHES];
#define MEMTB_LIVE_GONE		((struct kmem_cache *)memtb_live_caches)

/* The kernel's list of caches and its lock, which are not exported. */
static struct list_head *memtb_slab_caches;
static struct mutex *memtb_slab_mutex;

/* ---- the table of caches ---- */

static unsigned int memtb_live_slot(const struct kmem_cache *native,
				    unsigned int i)
{
	return (hash_ptr(native, MEMTB_LIVE_BITS) + i) % MEMTB_LIVE_CACHES;
}

/**
 * memtb_live_find - the counterpart of a native cache
 * @native: the native cache
 *
 * Context: any, lock-free.
 * Return: its entry, or NULL if it has none yet.
 */
struct memtb_live_cache *memtb_live_find(struct kmem_cache *native)
{
	struct memtb_live_cache *lc;
	struct kmem_cache *key;
	unsigned int i;

	for (i = 0; i < MEMTB_LIVE_CACHES; i++) {
		lc = &memtb_live_caches[memtb_live_slot(native, i)];
		/* Pairs with the release in memtb_live_publish(). */
		key = smp_load_acquire(&lc->native);
		if (key == native)
			return lc;
		if (!key)
			return NULL;
	}
	return NULL;
}

static int memtb_live_publish(struct kmem_cache *native,
			      struct memtb_cache *cache, u64 __percpu *taken)
{
	struct memtb_live_cache *lc;
	unsigned int i;

	for (i = 0; i < MEMTB_LIVE_CACHES; i++) {
		lc = &memtb_live_caches[memtb_live_slot(native, i)];
		if (lc->native && lc->native != MEMTB_LIVE_GONE)
			continue;
		lc->cache = cache;
		lc->taken = taken;
		/* A reader that sees the key sees what belongs to it. */
		smp_store_release(&lc->native, native);
		return 0;
	}
	return -ENOSPC;
}

/* The native name, less what memtb does not take as one. */
static void memtb_live_name(char *name, const struct kmem_cache *native)
{
	char *c;

	strscpy(name, native->name, MEMTB_NAME_MAX + 1);
	for (c = name; *c; c++)
		if (!isgraph(*c) || *c == '/')
			*c = '_';
}

/*
 * The allocator's own caches stay its own.  It frees the nodes of a cache
 * through a copy of kmem_cache_free() that the compiler made for the purpose,
 * past any hook.
 */
static const char * const memtb_live_own[] = { "kmem_cache", "kmem_cache_node" };

static bool memtb_live_stays(const struct kmem_cache *native)
{
	return native->flags & (MEMTB_LIVE_NATIVE_FLAGS | SLAB_KMALLOC) ||
	       match_string(memtb_live_own, ARRAY_SIZE(memtb_live_own),
			    native->name) >= 0;
}

static struct memtb_cache *memtb_live_make(struct kmem_cache *native)
{
	char name[MEMTB_NAME_MAX + 1];

	if (memtb_live_stays(native))
		return NULL;
	memtb_live_name(name, native);
	return memtb_cache_create(memtb_live.heap, name, native->object_size,
				  native->align,
				  native->flags & MEMTB_CACHE_FLAGS,
				  native->ctor);
}

/* A cache that has no counterpart for any reason stays native. */
static int memtb_live_adopt(struct kmem_cache *native)
{
	struct memtb_cache *cache;
	u64 __percpu *taken;
	int err = -ENOMEM;

	taken = alloc_percpu(u64);
	if (!taken)
		return -ENOMEM;
	cache = memtb_live_make(native);
	if (IS_ERR(cache)) {
		pr_info("live: cache %s stays native (%ld)\n", native->name,
			PTR_ERR(cache));
		cache = NULL;
	}
	err = memtb_live_publish(native, cache, taken);
	if (err) {
		if (cache)
			memtb_cache_destroy(cache);
		free_percpu(taken);
	}
	return err;
}

static DEFINE_MUTEX(memtb_live_aside_lock);

void memtb_live_aside(void)
{
	mutex_lock(&memtb_live_aside_lock);
	WRITE_ONCE(memtb_live.aside, current);
}

void memtb_live_aside_end(void)
{
	WRITE_ONCE(memtb_live.aside, NULL);
	mutex_unlock(&memtb_live_aside_lock);
}

/* Adopts every native cache that is new. */
static int memtb_live_scan(void)
{
	struct kmem_cache *native;
	int err = 0;

	mutex_lock(memtb_slab_mutex);
	/* A counterpart lives until all is home: not on the heap it serves. */
	memtb_live_aside();
	list_for_each_entry(native, memtb_slab_caches, list) {
		if (!memtb_live_find(native))
			err = memtb_live_adopt(native);
		if (err)
			break;
	}
	memtb_live_aside_end();
	mutex_unlock(memtb_slab_mutex);
	return err;
}

static void memtb_live_scan_work(struct work_struct *work)
{
	/* What could not be adopted is served natively, and asks again. */
	memtb_live_scan();
}

static DECLARE_WORK(memtb_live_scanner, memtb_live_scan_work);

static void memtb_live_scan_irq(struct irq_work *work)
{
	schedule_work(&memtb_live_scanner);
}

static DEFINE_IRQ_WORK(memtb_live_scan_kick, memtb_live_scan_irq);

/*
 * From a hook, so in any context and under any lock: not even the work queue's
 * may be taken here.
 */
void memtb_live_scan_later(void)
{
	irq_work_queue(&memtb_live_scan_kick);
}

static void memtb_live_drop(struct memtb_live_cache *lc)
{
	free_percpu(lc->taken);
	lc->cache = NULL;
	lc->taken = NULL;
	WRITE_ONCE(lc->native, MEMTB_LIVE_GONE);
}

/**
 * memtb_live_forget - a native cache is being destroyed
 * @native: the cache; the caller holds slab_mutex
 *
 * Context: process, sleeps.
 * Return: false if objects of its counterpart are out, so that it must stay.
 */
bool memtb_live_forget(struct kmem_cache *native)
{
	struct memtb_live_cache *lc = memtb_live_find(native);

	if (!lc)
		return true;
	if (lc->cache && memtb_cache_destroy(lc->cache))
		return false;
	memtb_live_drop(lc);
	return true;
}

/* All objects are home. */
static void memtb_live_forget_all(void)
{
	unsigned int i;

	mutex_lock(memtb_slab_mutex);
	for (i = 0; i < MEMTB_LIVE_CACHES; i++) {
		struct memtb_live_cache *lc = &memtb_live_caches[i];

		if (lc->native && lc->native != MEMTB_LIVE_GONE)
			memtb_live_forget(lc->native);
	}
	memset(memtb_live_caches, 0, sizeof(memtb_live_caches));
	mutex_unlock(memtb_slab_mutex);
}

/* ---- finding what is not exported ---- */

static unsigned long memtb_live_symbol(const char *symbol)
{
	static unsigned long (*lookup)(const char *name);
	/* Only its address is wanted: the probe is never armed. */
	struct kprobe kp = {
		.symbol_name = "kallsyms_lookup_name",
		.flags = KPROBE_FLAG_DISABLED,
	};

	if (!lookup) {
		if (register_kprobe(&kp))
			return 0;
		lookup = (void *)kp.addr;
		unregister_kprobe(&kp);
	}
	return lookup(symbol);
}

static int memtb_live_find_kernel(void)
{
	memtb_slab_caches = (void *)memtb_live_symbol("slab_caches");
	memtb_slab_mutex = (void *)memtb_live_symbol("slab_mutex");
	if (memtb_slab_caches && memtb_slab_mutex)
		return 0;
	pr_err("live: needs CONFIG_KPROBES and CONFIG_KALLSYMS_ALL: slab_caches, slab_mutex not found\n");
	return -EOPNOTSUPP;
}

/* ---- the state ---- */

static u64 memtb_live_sum(size_t offset)
{
	u64 sum = 0;
	int cpu;

	for_each_possible_cpu(cpu)
		sum += READ_ONCE(*(u64 *)((void *)per_cpu_ptr(memtb_live.cpu,
							      cpu) + offset));
	return sum;
}

#define memtb_live_count(field)						\
	memtb_live_sum(offsetof(struct memtb_live_cpu, field))

static bool memtb_live_inside(enum memtb_hook_kind kind)
{
	/* Left before entered, so that equality means nobody was in between. */
	u64 left = memtb_live_sum(offsetof(struct memtb_live_cpu, exit[kind]));

	return left != memtb_live_sum(offsetof(struct memtb_live_cpu,
					       enter[kind]));
}

/*
 * Until no task is in a hook of the first @nr kinds, which none enters any more.
 * One that is between the handler and its first instruction, or preempted there,
 * is waited for by synchronize_rcu_tasks(); one that sleeps inside, in the page
 * allocator, by the counters.
 */
static void memtb_live_quiesce(enum memtb_hook_kind nr)
{
	enum memtb_hook_kind kind;

	synchronize_rcu_tasks();
	for (kind = 0; kind < nr; kind++)
		while (memtb_live_inside(kind))
			schedule_timeout_uninterruptible(1);
	synchronize_rcu_tasks();
}

/*
 * While memtb itself is being loaded, the kernel allocates what it keeps until
 * memtb is unloaded.  From the heap that could never come home, so the stream
 * starts when the module's initialisation memory has gone.
 */
static void memtb_live_start_work(struct work_struct *work)
{
	while (memtb_module_loading(THIS_MODULE))
		schedule_timeout_uninterruptible(1);
	WRITE_ONCE(memtb_live.taking, true);
}

static DECLARE_WORK(memtb_live_starter, memtb_live_start_work);

static int memtb_live_install(void)
{
	int cpu, err;

	err = memtb_live_find_kernel();
	if (err)
		return err;
	for_each_possible_cpu(cpu)
		memset(per_cpu_ptr(memtb_live.cpu, cpu), 0,
		       sizeof(struct memtb_live_cpu));
	err = memtb_hooks_install(memtb_live_symbol);
	if (!err)
		memtb_live_state = MEMTB_LIVE_PASS;
	return err;
}

static void memtb_live_remove(void)
{
	memtb_hooks_remove();
	memtb_live_quiesce(MEMTB_NR_KINDS);
	/* A late scan would adopt what nobody reports the end of any more. */
	irq_work_sync(&memtb_live_scan_kick);
	cancel_work_sync(&memtb_live_scanner);
	memtb_live_state = MEMTB_LIVE_OFF;
}

/* Whether the kernel can live on a heap of this design and with these options. */
static bool memtb_live_suits(const struct memtb_heap *heap)
{
	unsigned int flags = memtb_backend_flags(heap->backend,
						 heap->params.options);

	if (!(flags & MEMTB_OWNS_PAGES))
		pr_err("live: backend %s owns no pages, takeover needs one that does: slob\n",
		       heap->backend->name);
	else if (!(flags & MEMTB_ALIGNS))
		pr_err("live: the heap does not align powers of two, takeover needs one that does: slob\n");
	else
		return true;
	return false;
}

static int memtb_live_take(void)
{
	bool draining = memtb_live_state == MEMTB_LIVE_DRAINING;
	bool fresh = memtb_live_state == MEMTB_LIVE_OFF;
	int err;

	if (!memtb_live_suits(memtb_live.heap))
		return -EINVAL;
	if (fresh) {
		err = memtb_live_install();
		if (err)
			return err;
	}
	err = memtb_live_scan();
	if (err) {
		if (fresh)
			memtb_live_remove();
		if (!draining)
			memtb_live_forget_all();
		return err;
	}
	/* Draining has kept its reference. */
	if (!draining)
		__module_get(THIS_MODULE);
	memtb_live_state = MEMTB_LIVE_TAKEOVER;
	schedule_work(&memtb_live_starter);
	return 0;
}

/* Returns whether the last object is home, and then has left altogether. */
static bool memtb_live_drained(void)
{
	if (memtb_heap_live(memtb_live.heap))
		return false;
	memtb_live_remove();
	memtb_live_forget_all();
	memtb_heap_shrink(memtb_live.heap);
	pr_info("live: drained\n");
	return true;
}

static void memtb_live_drain_work(struct work_struct *work);
static DECLARE_DELAYED_WORK(memtb_live_drainer, memtb_live_drain_work);

static void memtb_live_drain_work(struct work_struct *work)
{
	bool drained = false;

	mutex_lock(&memtb_live_lock);
	if (memtb_live_state == MEMTB_LIVE_DRAINING) {
		drained = memtb_live_drained();
		if (!drained)
			schedule_delayed_work(&memtb_live_drainer,
					      MEMTB_LIVE_DRAIN_PERIOD);
	}
	mutex_unlock(&memtb_live_lock);
	/* Module exit flushes this work, so the reference is not the last. */
	if (drained)
		module_put(THIS_MODULE);
}

static void memtb_live_leave(void)
{
	flush_work(&memtb_live_starter);
	WRITE_ONCE(memtb_live.taking, false);
	/* Frees go on. */
	memtb_live_quiesce(MEMTB_ALLOC + 1);
	memtb_live_state = MEMTB_LIVE_DRAINING;
	pr_info("live: off, %llu objects are still out\n",
		memtb_heap_live(memtb_live.heap));
	mod_delayed_work(system_wq, &memtb_live_drainer, 0);
}

static int memtb_live_pass(void)
{
	if (memtb_live_state == MEMTB_LIVE_PASS)
		return 0;
	if (memtb_live_state == MEMTB_LIVE_OFF)
		return memtb_live_install();
	pr_err("live: pass comes after off, and this is %s\n",
	       memtb_live_mode_names[memtb_live_state]);
	return -EBUSY;
}

static int memtb_live_change(enum memtb_live_mode to)
{
	switch (to) {
	case MEMTB_LIVE_TAKEOVER:
		return memtb_live_state == to ? 0 : memtb_live_take();
	case MEMTB_LIVE_PASS:
		return memtb_live_pass();
	case MEMTB_LIVE_OFF:
		if (memtb_live_state == MEMTB_LIVE_PASS)
			memtb_live_remove();
		else if (memtb_live_state == MEMTB_LIVE_TAKEOVER)
			memtb_live_leave();
		return 0;
	default:
		return -EINVAL;
	}
}

/**
 * memtb_live_set - switch the live stream
 * @mode: off, pass or takeover
 *
 * Off from takeover leads through draining, which ends by itself.  To pass one
 * gets only from off.
 *
 * Context: process, sleeps.
 * Return: 0, -EBUSY, -EINVAL for a backend that cannot, -EOPNOTSUPP for a
 * kernel that cannot, -ENOMEM; nothing has changed then.
 */
int memtb_live_set(enum memtb_live_mode mode)
{
	int err;

	mutex_lock(&memtb_live_lock);
	err = memtb_live_change(mode);
	mutex_unlock(&memtb_live_lock);
	return err;
}

enum memtb_live_mode memtb_live_mode(void)
{
	return READ_ONCE(memtb_live_state);
}

/* ---- what is to be seen ---- */

static u64 memtb_live_taken(struct memtb_live_cache *lc)
{
	u64 sum = 0;
	int cpu;

	for_each_possible_cpu(cpu)
		sum += *per_cpu_ptr(lc->taken, cpu);
	return sum;
}

/* One line per cache; what kmalloc() serves is what remains. */
static void memtb_live_show_caches(struct seq_file *m, u64 taken, u64 live)
{
	struct memtb_live_cache *lc;
	u64 lc_taken, lc_live;

	for (lc = memtb_live_caches;
	     lc < memtb_live_caches + MEMTB_LIVE_CACHES; lc++) {
		if (!lc->cache)
			continue;
		lc_taken = memtb_live_taken(lc);
		lc_live = memtb_cache_live(lc->cache);
		/* Counted while they change, so that a rest may be negative. */
		taken -= min(taken, lc_taken);
		live -= min(live, lc_live);
		if (lc_taken)
			seq_printf(m, "cache %s %zu %llu %llu\n",
				   lc->cache->name, lc->cache->size, lc_taken,
				   lc_live);
	}
	seq_printf(m, "cache kmalloc 0 %llu %llu\n", taken, live);
}

static void memtb_live_show_locked(struct seq_file *m)
{
	struct memtb_heap *heap = memtb_live.heap;
	u64 taken[2], native[2], live = memtb_heap_live(heap);
	char design[MEMTB_DESIGN_MAX];

	memtb_hooks_count(taken, native);
	seq_printf(m, "mode %s\n", memtb_live_mode_names[memtb_live_state]);
	memtb_backend_design(heap->backend, heap->params.options, design,
			     sizeof(design));
	seq_printf(m, "backend %s\n", design);
	seq_printf(m, "debug %s\n", heap->params.debug ? "verify" : "none");
	seq_printf(m, "alloc_taken %llu\n", taken[0]);
	seq_printf(m, "alloc_native %llu\n", native[0]);
	seq_printf(m, "alloc_fallback %llu\n", memtb_live_count(fallback));
	seq_printf(m, "free_taken %llu\n", taken[1]);
	seq_printf(m, "free_native %llu\n", native[1]);
	seq_printf(m, "live_objects %llu\n", live);
	seq_printf(m, "coverage_permille %llu\n",
		   div64_u64(taken[0] * 1000, max(taken[0] + native[0], 1ULL)));
	seq_printf(m, "violations %llu\n",
		   memtb_stat_read(heap, MEMTB_STAT_VIOLATIONS));
	memtb_hooks_show(m);
	if (memtb_live_state == MEMTB_LIVE_OFF)
		return;
	mutex_lock(memtb_slab_mutex);
	memtb_live_show_caches(m, taken[0], live);
	mutex_unlock(memtb_slab_mutex);
}

void memtb_live_show(struct seq_file *m)
{
	/* Who reads "takeover" may rely on it. */
	flush_work(&memtb_live_starter);
	mutex_lock(&memtb_live_lock);
	memtb_live_show_locked(m);
	mutex_unlock(&memtb_live_lock);
}

int memtb_live_init(struct memtb_heap *heap)
{
	memtb_live.heap = heap;
	memtb_live.cpu = alloc_percpu(struct memtb_live_cpu);
	return memtb_live.cpu ? 0 : -ENOMEM;
}

/* Nothing is out: with an object out, the module cannot be unloaded. */
void memtb_live_exit(void)
{
	memtb_live_set(MEMTB_LIVE_OFF);
	cancel_delayed_work_sync(&memtb_live_drainer);
	memtb_hooks_exit();
	free_percpu(memtb_live.cpu);
}
