// SPDX-License-Identifier: GPL-2.0
/*
 * cost: guest instructions per operation, for every design and for the kernel's
 * own allocator beside it.
 *
 * What.  A *subject* is a design, called by the public functions of memtb.h;
 * `native`, the running kernel's own allocator, called directly; or `empty`, the
 * same loops around nothing.  An *operation* always is the allocation and the
 * free of one object, in one of six ways: see enum memtb_cost_op.  `pair`,
 * `batch`, `bulk` and `block` are measured at several sizes, on a heap or cache
 * of their own that holds nothing else.  `grow` and `holes` are measured at one
 * size among ever more live objects.
 *
 * Nothing is subtracted from anything.  What the loop costs is the row `empty`;
 * `null` minus `empty` is memtb's common path, and a design minus `null` what
 * the design itself does.
 *
 * How.  Under QEMU's -icount shift=0 the time stamp counter counts instructions,
 * so get_cycles() twice gives their number.  ktime_get() would not do: it scales
 * the counter, and rounds.  Whether the counter really counts instructions is
 * found out first, on a stretch of code of known length (`exact`).
 *
 * A figure is the least of several repetitions, the first of which, with cold
 * caches and pages to get, does not count.  That is exact, not lucky: a warm
 * allocator does the same in each repetition, and whatever comes in between can
 * only add to it.  Little can: the thread is bound to a processor and interrupts
 * are off, hence GFP_ATOMIC everywhere.  Only `bulk` has them on, because SLAB's
 * and SLUB's own bulk calls turn them on; there a timer's tick now and then falls
 * into a repetition, but not into all, as one lasts less than the time from tick
 * to tick.  With several processors the counter has the instructions of all, but
 * the others sleep.  `agree` is the number of repetitions that came to the same,
 * the least, number.
 *
 * Of `grow` and `holes` there is one repetition only, since the places are drawn
 * at random: see memtb_cost_swap().
 *
 * All is done while the module is being loaded; the figures are in debugfs,
 * memtb_cost.  It uses nothing of memtb.ko but what that exports.
 */
#include <linux/debugfs.h>
#include <linux/err.h>
#include <linux/irqflags.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/prandom.h>
#include <linux/sched.h>
#include <linux/seq_file.h>
#include <linux/timex.h>
#include <linux/workqueue.h>

#include "cost.h"

/*
 * Of `grow` and `holes`: bytes per object, and per object of the other cache,
 * whose holes are too small; operations timed, and what the places come from.
 */
#define MEMTB_COST_SWAP_SIZE	64
#define MEMTB_COST_OTHER_SIZE	32
#define MEMTB_COST_SWAP_OPS	128
#define MEMTB_COST_SWAP_SEED	2005

#define MEMTB_COST_OBJECTS_MAX	65536
#define MEMTB_COST_REPEATS_MAX	64
#define MEMTB_COST_LIVE_MIN	100
#define MEMTB_COST_LIVE_MAX	1000000

#define MEMTB_COST_SUBJECTS	32
/* Four operations at four sizes, two among five numbers of live objects. */
#define MEMTB_COST_FIGURES	(MEMTB_COST_SUBJECTS * (4 * 4 + 2 * 5))

static char *memtb_cost_param_designs = "all";
module_param_named(designs, memtb_cost_param_designs, charp, 0444);
MODULE_PARM_DESC(designs, "what is measured beside the kernel's own allocator: design[+option]... with commas between, or all (default all)");

static unsigned int memtb_cost_param_objects = 1024;
module_param_named(objects, memtb_cost_param_objects, uint, 0444);
MODULE_PARM_DESC(objects, "operations per repetition, a multiple of 64 up to 65536 (default 1024)");

static unsigned int memtb_cost_param_repeats = 8;
module_param_named(repeats, memtb_cost_param_repeats, uint, 0444);
MODULE_PARM_DESC(repeats, "repetitions that count, 1 to 64 (default 8)");

static unsigned int memtb_cost_param_live_max = MEMTB_COST_LIVE_MAX;
module_param_named(live_max, memtb_cost_param_live_max, uint, 0444);
MODULE_PARM_DESC(live_max, "most live objects of grow and holes, 100 to 1000000, each takes 144 bytes (default 1000000)");

static const unsigned int memtb_cost_sizes[] = { 32, 256, 1024, 4096 };

static const char * const memtb_cost_op_names[MEMTB_COST_NR_OPS] = {
	[MEMTB_COST_PAIR] = "pair",
	[MEMTB_COST_BATCHES] = "batch",
	[MEMTB_COST_BULKS] = "bulk",
	[MEMTB_COST_BLOCK] = "block",
	[MEMTB_COST_GROW] = "grow",
	[MEMTB_COST_HOLES] = "holes",
};

/**
 * struct memtb_cost_subject - what is measured
 * @name: for the figures
 * @kind: how it is called
 * @backend: the design; NULL if it is none
 * @options: of the design
 */
struct memtb_cost_subject {
	char name[MEMTB_DESIGN_MAX];
	const struct memtb_cost_kind *kind;
	const struct memtb_backend *backend;
	unsigned long options;
};

/**
 * struct memtb_cost_figure - one result
 * @subject: whose
 * @op: of what
 * @arg: bytes per object; of `grow` and `holes`, live objects
 * @cycles: instructions of all operations together
 * @nr: number of operations
 * @agree: repetitions that came to @cycles
 */
struct memtb_cost_figure {
	const struct memtb_cost_subject *subject;
	enum memtb_cost_op op;
	unsigned int arg;
	u64 cycles;
	unsigned int nr;
	unsigned int agree;
};

/* Written while the module is being loaded, by one thread; then only read. */
static struct memtb_cost_subject memtb_cost_subjects[MEMTB_COST_SUBJECTS];
static unsigned int memtb_cost_nr_subjects;
static struct memtb_cost_figure memtb_cost_figures[MEMTB_COST_FIGURES];
static unsigned int memtb_cost_nr_figures;
static bool memtb_cost_exact;
static struct dentry *memtb_cost_dentry;

/* Functions of their own, so that they differ in @text and nothing else. */
#define MEMTB_COST_STRETCH(name, text)					\
static noinline u64 memtb_cost_##name(void)				\
{									\
	u64 start = get_cycles();					\
									\
	asm volatile(text);						\
	return get_cycles() - start;					\
}

MEMTB_COST_STRETCH(nothing, "")
MEMTB_COST_STRETCH(thousand, ".rept 1000\n\tnop\n\t.endr")

/* Whether a cycle is an instruction. */
static bool memtb_cost_is_exact(void)
{
	unsigned long flags;
	u64 nothing, thousand;

	local_irq_save(flags);
	nothing = memtb_cost_nothing();
	thousand = memtb_cost_thousand();
	local_irq_restore(flags);
	return thousand - nothing == 1000;
}

/* Cycles of @nr operations, 0 if there was no memory for them. */
static u64 memtb_cost_time(const struct memtb_cost_subject *subject,
			   enum memtb_cost_op op,
			   const struct memtb_cost_place *place,
			   unsigned int nr)
{
	bool irqs_off = op != MEMTB_COST_BULKS;
	unsigned long flags = 0;
	u64 start, cycles;
	bool done;

	if (irqs_off)
		local_irq_save(flags);
	start = get_cycles();
	done = subject->kind->loop[op](place, nr);
	cycles = get_cycles() - start;
	if (irqs_off)
		local_irq_restore(flags);
	cond_resched();
	return done ? cycles : 0;
}

static int memtb_cost_note(const struct memtb_cost_figure *figure)
{
	if (!figure->cycles) {
		pr_err("cost: %s: no memory for %s at %u\n",
		       figure->subject->name, memtb_cost_op_names[figure->op],
		       figure->arg);
		return -ENOMEM;
	}
	memtb_cost_figures[memtb_cost_nr_figures++] = *figure;
	return 0;
}

/* A cache of objects of @size bytes, in @heap if the subject is a design. */
static int memtb_cost_cache(struct memtb_heap *heap, const char *name,
			    size_t size, struct memtb_cost_place *place)
{
	*place = (struct memtb_cost_place){ .heap = heap, .size = size };
	if (!heap) {
		place->native = kmem_cache_create(name, size, 0, 0, NULL);
		return place->native ? 0 : -ENOMEM;
	}
	place->cache = memtb_cache_create(heap, name, size, 0, 0, NULL);
	return PTR_ERR_OR_ZERO(place->cache);
}

/* What it lost. */
static unsigned long memtb_cost_cache_end(const struct memtb_cost_place *place)
{
	if (place->heap)
		return memtb_cache_destroy(place->cache);
	kmem_cache_destroy(place->native);
	return 0;
}

static int memtb_cost_begin(const struct memtb_cost_subject *subject,
			    size_t size, struct memtb_cost_place *place)
{
	struct memtb_heap_params params = { .options = subject->options };
	struct memtb_heap *heap = NULL;
	int err;

	if (subject->backend)
		heap = memtb_heap_create(subject->backend, "cost", &params);
	if (IS_ERR(heap))
		return PTR_ERR(heap);
	err = memtb_cost_cache(heap, "memtb_cost", size, place);
	if (err && heap)
		memtb_heap_destroy(heap);
	return err;
}

static int memtb_cost_end(const struct memtb_cost_subject *subject,
			  const struct memtb_cost_place *place)
{
	unsigned long lost = memtb_cost_cache_end(place);

	if (place->heap)
		lost += memtb_heap_destroy(place->heap);
	if (lost)
		pr_err("cost: %s: %lu objects or pages are lost\n",
		       subject->name, lost);
	return lost ? -EBUSY : 0;
}

static int memtb_cost_op(const struct memtb_cost_subject *subject,
			 enum memtb_cost_op op,
			 const struct memtb_cost_place *place)
{
	struct memtb_cost_figure figure = {
		.subject = subject, .op = op, .arg = place->size,
		.nr = memtb_cost_param_objects,
	};
	unsigned int i;
	u64 cycles;

	/* Cold, and not kept. */
	memtb_cost_time(subject, op, place, figure.nr);
	for (i = 0; i < memtb_cost_param_repeats; i++) {
		cycles = memtb_cost_time(subject, op, place, figure.nr);
		if (!i || cycles < figure.cycles) {
			figure.cycles = cycles;
			figure.agree = 0;
		}
		figure.agree += cycles == figure.cycles;
	}
	return memtb_cost_note(&figure);
}

static int memtb_cost_size(const struct memtb_cost_subject *subject,
			   size_t size)
{
	struct memtb_cost_place place;
	enum memtb_cost_op op;
	int err;

	err = memtb_cost_begin(subject, size, &place);
	if (err)
		return err;
	for (op = 0; op < MEMTB_COST_GROW && !err; op++)
		err = memtb_cost_op(subject, op, &place);
	return memtb_cost_end(subject, &place) ?: err;
}

/*
 * Twice @live objects, every second of them from @other and freed again: @live
 * objects, @live holes.
 */
static bool memtb_cost_fill(const struct memtb_cost_subject *subject,
			    const struct memtb_cost_place *place,
			    const struct memtb_cost_place *other,
			    unsigned int live)
{
	unsigned int i;

	for (i = 0; i < 2 * live; i++) {
		place->objs[i] = subject->kind->alloc(i % 2 ? other : place);
		if (!place->objs[i])
			return false;
		if (!(i % MEMTB_COST_BATCH))
			cond_resched();
	}
	for (i = 1; i < 2 * live; i += 2) {
		subject->kind->free(other, place->objs[i]);
		place->objs[i] = NULL;
	}
	return true;
}

static void memtb_cost_drain(const struct memtb_cost_subject *subject,
			     const struct memtb_cost_place *place,
			     const struct memtb_cost_place *other,
			     unsigned int live)
{
	unsigned int i;

	for (i = 0; i < 2 * live; i++) {
		if (place->objs[i])
			subject->kind->free(i % 2 ? other : place,
					    place->objs[i]);
		if (!(i % MEMTB_COST_BATCH))
			cond_resched();
	}
}

static void memtb_cost_draw(u32 *order, unsigned int nr, unsigned int live)
{
	struct rnd_state state;
	unsigned int i;

	prandom_seed_state(&state, MEMTB_COST_SWAP_SEED);
	for (i = 0; i < nr; i++)
		order[i] = prandom_u32_state(&state) % live * 2;
}

/*
 * The state of the 2005 report: many objects live, as many holes between them,
 * and what is freed lies anywhere, not where the last operation left off.  All
 * subjects get the same places; the first quarter of the operations is for
 * warming up.
 */
static int memtb_cost_swap(const struct memtb_cost_subject *subject,
			   enum memtb_cost_op op,
			   struct memtb_cost_place *place,
			   const struct memtb_cost_place *other,
			   unsigned int live)
{
	struct memtb_cost_figure figure = {
		.subject = subject, .op = op, .arg = live,
		.nr = MEMTB_COST_SWAP_OPS, .agree = 1,
	};
	const unsigned int warm = MEMTB_COST_SWAP_OPS / 4;
	u32 order[MEMTB_COST_SWAP_OPS + MEMTB_COST_SWAP_OPS / 4];

	memtb_cost_draw(order, ARRAY_SIZE(order), live);
	if (memtb_cost_fill(subject, place, other, live)) {
		place->order = order;
		memtb_cost_time(subject, op, place, warm);
		place->order = order + warm;
		figure.cycles = memtb_cost_time(subject, op, place, figure.nr);
	}
	memtb_cost_drain(subject, place, other, live);
	return memtb_cost_note(&figure);
}

/* @place has the objects' cache and room for all of them. */
static int memtb_cost_grow(const struct memtb_cost_subject *subject,
			   struct memtb_cost_place *place, unsigned int live)
{
	struct memtb_cost_place other;
	int err;

	err = memtb_cost_cache(place->heap, "memtb_cost_other",
			       MEMTB_COST_OTHER_SIZE, &other);
	if (err)
		return err;
	err = memtb_cost_swap(subject, MEMTB_COST_GROW, place, &other, live);
	return memtb_cost_cache_end(&other) ? -EBUSY : err;
}

static int memtb_cost_live(const struct memtb_cost_subject *subject,
			   enum memtb_cost_op op, unsigned int live)
{
	struct memtb_cost_place place;
	int err;

	err = memtb_cost_begin(subject, MEMTB_COST_SWAP_SIZE, &place);
	if (err)
		return err;
	place.objs = kvcalloc(2 * live, sizeof(*place.objs), GFP_KERNEL);
	if (!place.objs)
		err = -ENOMEM;
	else if (op == MEMTB_COST_GROW)
		err = memtb_cost_grow(subject, &place, live);
	else
		err = memtb_cost_swap(subject, op, &place, &place, live);
	kvfree(place.objs);
	return memtb_cost_end(subject, &place) ?: err;
}

static int memtb_cost_subject(const struct memtb_cost_subject *subject)
{
	enum memtb_cost_op op;
	unsigned int i, live;
	int err = 0;

	for (i = 0; i < ARRAY_SIZE(memtb_cost_sizes) && !err; i++)
		err = memtb_cost_size(subject, memtb_cost_sizes[i]);
	for (op = MEMTB_COST_GROW; op <= MEMTB_COST_HOLES; op++)
		for (live = MEMTB_COST_LIVE_MIN;
		     live <= memtb_cost_param_live_max && !err; live *= 10)
			err = memtb_cost_live(subject, op, live);
	return err;
}

/* On the one processor that everything is measured on. */
static long memtb_cost_run(void *unused)
{
	unsigned int i;
	int err = 0;

	memtb_cost_exact = memtb_cost_is_exact();
	for (i = 0; i < memtb_cost_nr_subjects && !err; i++)
		err = memtb_cost_subject(&memtb_cost_subjects[i]);
	return err;
}

static int memtb_cost_add(const char *name, const struct memtb_cost_kind *kind,
			  const struct memtb_backend *backend,
			  unsigned long options)
{
	struct memtb_cost_subject *subject;
	unsigned int i;

	for (i = 0; i < memtb_cost_nr_subjects; i++) {
		if (!strcmp(memtb_cost_subjects[i].name, name)) {
			pr_err("cost: designs=%s: named twice\n", name);
			return -EINVAL;
		}
	}
	if (i == MEMTB_COST_SUBJECTS) {
		pr_err("cost: designs=: valid are up to %u\n",
		       MEMTB_COST_SUBJECTS - 2);
		return -EINVAL;
	}
	subject = &memtb_cost_subjects[memtb_cost_nr_subjects++];
	strscpy(subject->name, name, sizeof(subject->name));
	subject->kind = kind;
	subject->backend = backend;
	subject->options = options;
	return 0;
}

static int memtb_cost_add_word(const char *word)
{
	const struct memtb_backend *backend;
	char name[MEMTB_DESIGN_MAX];
	unsigned long options;
	char names[256];

	backend = memtb_backend_parse(word, &options);
	if (!IS_ERR(backend)) {
		memtb_backend_design(backend, options, name, sizeof(name));
		return memtb_cost_add(name, &memtb_cost_kind_design, backend,
				      options);
	}
	memtb_backend_names(names, sizeof(names));
	pr_err("cost: designs=%*pE: there is no %s of this name, valid are %s\n",
	       (int)strnlen(word, 32), word,
	       PTR_ERR(backend) == -ENOENT ? "design" : "option", names);
	return -EINVAL;
}

static int memtb_cost_add_all(void)
{
	const struct memtb_backend *backend;
	char name[MEMTB_DESIGN_MAX];
	unsigned int i;
	int err = 0;

	for (i = 0; (backend = memtb_backend_nth(i)) && !err; i++) {
		memtb_backend_design(backend, 0, name, sizeof(name));
		err = memtb_cost_add(name, &memtb_cost_kind_design, backend, 0);
	}
	return err;
}

static int memtb_cost_add_words(void)
{
	char *words, *rest, *word;
	int err = 0;

	words = kstrdup(memtb_cost_param_designs, GFP_KERNEL);
	if (!words)
		return -ENOMEM;
	for (rest = words; (word = strsep(&rest, ",")) && !err;)
		err = memtb_cost_add_word(word);
	kfree(words);
	return err;
}

static int memtb_cost_add_subjects(void)
{
	int err;

	err = memtb_cost_add("empty", &memtb_cost_kind_empty, NULL, 0);
	if (!err)
		err = memtb_cost_add("native", &memtb_cost_kind_native, NULL, 0);
	if (err)
		return err;
	return strcmp(memtb_cost_param_designs, "all") ?
		memtb_cost_add_words() : memtb_cost_add_all();
}

static int memtb_cost_check_params(void)
{
	const char *what;

	if (!memtb_cost_param_objects ||
	    memtb_cost_param_objects % MEMTB_COST_BATCH ||
	    memtb_cost_param_objects > MEMTB_COST_OBJECTS_MAX)
		what = "objects=: valid are multiples of 64 up to 65536";
	else if (!memtb_cost_param_repeats ||
		 memtb_cost_param_repeats > MEMTB_COST_REPEATS_MAX)
		what = "repeats=: valid are 1 to 64";
	else if (memtb_cost_param_live_max < MEMTB_COST_LIVE_MIN ||
		 memtb_cost_param_live_max > MEMTB_COST_LIVE_MAX)
		what = "live_max=: valid are 100 to 1000000";
	else
		return 0;
	pr_err("cost: %s\n", what);
	return -EINVAL;
}

static int memtb_cost_show(struct seq_file *m, void *unused)
{
	const struct memtb_cost_figure *figure;
	unsigned int i;

	seq_printf(m, "native %s\n", IS_ENABLED(CONFIG_SLAB) ? "SLAB" :
		   IS_ENABLED(CONFIG_SLOB) ? "SLOB" : "SLUB");
	seq_printf(m, "exact %d\nrepeats %u\n", memtb_cost_exact,
		   memtb_cost_param_repeats);
	for (i = 0; i < memtb_cost_nr_subjects; i++)
		seq_printf(m, "subject %s\n", memtb_cost_subjects[i].name);
	for (i = 0; i < memtb_cost_nr_figures; i++) {
		figure = &memtb_cost_figures[i];
		seq_printf(m, "figure %s %u %s %llu %u %u\n",
			   memtb_cost_op_names[figure->op], figure->arg,
			   figure->subject->name, figure->cycles, figure->nr,
			   figure->agree);
	}
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(memtb_cost);

static int __init memtb_cost_init(void)
{
	int err;

	err = memtb_cost_check_params();
	if (!err)
		err = memtb_cost_add_subjects();
	if (!err)
		err = work_on_cpu(0, memtb_cost_run, NULL);
	if (err)
		return err;
	memtb_cost_dentry = debugfs_create_file("memtb_cost", 0444, NULL, NULL,
						&memtb_cost_fops);
	pr_info("cost: %u figures of %u subjects\n", memtb_cost_nr_figures,
		memtb_cost_nr_subjects);
	return 0;
}
module_init(memtb_cost_init);

static void __exit memtb_cost_exit(void)
{
	debugfs_remove(memtb_cost_dentry);
}
module_exit(memtb_cost_exit);

MODULE_DESCRIPTION("memtb: instructions per operation of every design");
MODULE_LICENSE("GPL");
