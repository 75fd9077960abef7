// SPDX-License-Identifier: GPL-2.0
/*
 * All designs: every backend, plain and with each of its options alone.
 */
#include <kunit/test.h>

#include "design.h"

/* They are numbered backend by backend: plain, then one per option. */
const struct memtb_backend *memtb_design(unsigned int i, unsigned long *options)
{
	const struct memtb_backend *backend;
	unsigned int nr, k;

	for (k = 0; (backend = memtb_backend_nth(k)); k++, i -= nr) {
		nr = 1 + memtb_backend_nr_options(backend);
		if (i < nr)
			break;
	}
	*options = i ? BIT(i - 1) : 0;
	return backend;
}

/*
 * The next design with these capabilities and, if @tuned, with something to
 * tune.  A parameter is the number of its design plus one.
 */
const void *memtb_design_next(const void *prev, char *desc, unsigned int needs,
			      bool tuned)
{
	const struct memtb_backend *backend;
	unsigned long i = (unsigned long)prev;
	unsigned long options;

	for (; (backend = memtb_design(i, &options)); i++) {
		if (needs & ~memtb_backend_flags(backend, options))
			continue;
		if (tuned && !backend->tune)
			continue;
		memtb_backend_design(backend, options, desc,
				     KUNIT_PARAM_DESC_SIZE);
		return (void *)(i + 1);
	}
	return NULL;
}

/* The design that a parameter stands for. */
const struct memtb_backend *memtb_design_of(const void *param,
					    unsigned long *options)
{
	return memtb_design((unsigned long)param - 1, options);
}
