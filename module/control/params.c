// SPDX-License-Identifier: GPL-2.0
/*
 * Parameters: read as words, understood as a set, refused with one line that
 * names what is valid.
 */
#include <linux/err.h>
#include <linux/kernel.h>
#include <linux/module.h>
#include <linux/string.h>

#include "../backend/backend.h"
#include "control.h"

static char *memtb_param_backend = "slob";
module_param_named(backend, memtb_param_backend, charp, 0444);
MODULE_PARM_DESC(backend, "design of the default heap: null, kernel, slob, slob-new, slob-page, slab (default slob)");

static char *memtb_param_live = "off";
module_param_named(live, memtb_param_live, charp, 0444);
MODULE_PARM_DESC(live, "the kernel's own allocations: off, pass, takeover (default off)");

static char *memtb_param_debug = "none";
module_param_named(debug, memtb_param_debug, charp, 0444);
MODULE_PARM_DESC(debug, "checks of every object: none, verify (default none)");

static char *memtb_param_max_pages = "0";
module_param_named(max_pages, memtb_param_max_pages, charp, 0444);
MODULE_PARM_DESC(max_pages, "page budget of the default heap, 0 to 2147483647, 0 for no limit (default 0)");

static char *memtb_param_fail_page = "0";
module_param_named(fail_page, memtb_param_fail_page, charp, 0444);
MODULE_PARM_DESC(fail_page, "every n-th page request of the default heap fails, 0 to 2147483647, 0 for none (default 0)");

const char * const memtb_live_mode_names[MEMTB_NR_LIVE_MODES] = {
	[MEMTB_LIVE_OFF] = "off",
	[MEMTB_LIVE_PASS] = "pass",
	[MEMTB_LIVE_TAKEOVER] = "takeover",
	[MEMTB_LIVE_DRAINING] = "draining",
};

/* A user's word in a message: not too long, and in one line. */
#define MEMTB_WORD		"%*pE"
#define memtb_word(word)	(int)strnlen(word, 32), word

static int memtb_setup_backend(const char *word, struct memtb_setup *setup)
{
	char names[256];

	setup->backend = memtb_backend_parse(word, &setup->heap.options);
	if (!IS_ERR(setup->backend))
		return 0;
	memtb_backend_names(names, sizeof(names));
	pr_err("backend=" MEMTB_WORD ": there is no %s of this name, valid are %s\n",
	       memtb_word(word),
	       PTR_ERR(setup->backend) == -ENOENT ? "backend" : "option",
	       names);
	return -EINVAL;
}

int memtb_live_refuse(const char *word)
{
	pr_err("live=" MEMTB_WORD ": valid are off, pass, takeover\n",
	       memtb_word(word));
	return -EINVAL;
}

/* Draining is a state, not a wish. */
int memtb_live_parse(const char *word, enum memtb_live_mode *mode)
{
	unsigned int i;

	for (i = MEMTB_LIVE_OFF; i <= MEMTB_LIVE_TAKEOVER; i++) {
		if (sysfs_streq(word, memtb_live_mode_names[i])) {
			*mode = i;
			return 0;
		}
	}
	return memtb_live_refuse(word);
}

static int memtb_debug_parse(const char *word, unsigned int *debug)
{
	if (sysfs_streq(word, "none"))
		*debug = 0;
	else if (sysfs_streq(word, "verify"))
		*debug = MEMTB_DEBUG_VERIFY;
	else
		goto invalid;
	return 0;

invalid:
	pr_err("debug=" MEMTB_WORD ": valid are none, verify\n",
	       memtb_word(word));
	return -EINVAL;
}

static int memtb_number_parse(const char *name, const char *word,
			      unsigned long *number)
{
	unsigned int value;

	if (kstrtouint(word, 10, &value) || value > INT_MAX) {
		pr_err("%s=" MEMTB_WORD ": valid are whole numbers from 0 to %d\n",
		       name, memtb_word(word), INT_MAX);
		return -EINVAL;
	}
	*number = value;
	return 0;
}

/* Each value is right; are they right together? */
static int memtb_params_agree(const struct memtb_setup *setup)
{
	const struct memtb_heap_params *heap = &setup->heap;
	unsigned int flags = memtb_backend_flags(setup->backend, heap->options);

	if (setup->live == MEMTB_LIVE_TAKEOVER && !(flags & MEMTB_ALIGNS)) {
		pr_err("backend=" MEMTB_WORD " does not align powers of two, the kernel relies on that: no live=takeover with it\n",
		       memtb_word(memtb_param_backend));
		return -EINVAL;
	}
	if (flags & MEMTB_OWNS_PAGES)
		return 0;
	if (!heap->debug && !heap->max_pages && !heap->fail_page &&
	    setup->live != MEMTB_LIVE_TAKEOVER)
		return 0;
	pr_err("backend=%s owns no pages: no live=takeover, debug=verify, max_pages= or fail_page= with it; slob takes them\n",
	       setup->backend->name);
	return -EINVAL;
}

/**
 * memtb_params_parse - what the user asked for
 * @setup: filled in
 *
 * Return: 0, or -EINVAL after one line in the log.
 */
int memtb_params_parse(struct memtb_setup *setup)
{
	int err;

	err = memtb_setup_backend(memtb_param_backend, setup);
	if (!err)
		err = memtb_live_parse(memtb_param_live, &setup->live);
	if (!err)
		err = memtb_debug_parse(memtb_param_debug, &setup->heap.debug);
	if (!err)
		err = memtb_number_parse("max_pages", memtb_param_max_pages,
					 &setup->heap.max_pages);
	if (!err)
		err = memtb_number_parse("fail_page", memtb_param_fail_page,
					 &setup->heap.fail_page);
	return err ?: memtb_params_agree(setup);
}
