// SPDX-License-Identifier: GPL-2.0
/*
 * The registry: which designs there are.
 */
#include <linux/export.h>
#include <linux/kernel.h>
#include <linux/log2.h>
#include <linux/string.h>

#include "backend.h"

static const struct memtb_backend * const memtb_backends[] = {
	&memtb_backend_null,
	&memtb_backend_kernel,
	&memtb_backend_slob,
	&memtb_backend_slob_new,
};

/* Whether a table has all that the contract calls mandatory. */
bool memtb_backend_valid(const struct memtb_backend *backend)
{
	return backend && memtb_name_valid(backend->name) && backend->summary &&
	       backend->max_size && is_power_of_2(backend->max_align) &&
	       is_power_of_2(backend->gp_min_align) && backend->alloc &&
	       backend->free && backend->gp_alloc && backend->gp_free &&
	       backend->gp_size;
}

/**
 * memtb_backend_nth - the backends, one after the other
 * @i: 0 and up
 *
 * Context: any.
 * Return: a backend, or NULL when there are no more.
 */
const struct memtb_backend *memtb_backend_nth(unsigned int i)
{
	return i < ARRAY_SIZE(memtb_backends) ? memtb_backends[i] : NULL;
}
EXPORT_SYMBOL_GPL(memtb_backend_nth);

/**
 * memtb_backend_find - look a backend up
 * @name: its name; a trailing newline is ignored
 *
 * Context: any.
 * Return: the backend, or NULL.
 */
const struct memtb_backend *memtb_backend_find(const char *name)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(memtb_backends); i++)
		if (sysfs_streq(name, memtb_backends[i]->name))
			return memtb_backends[i];
	return NULL;
}
EXPORT_SYMBOL_GPL(memtb_backend_find);
