// SPDX-License-Identifier: GPL-2.0
/*
 * The registry: which designs there are.
 */
#include <linux/err.h>
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
	&memtb_backend_slob_page,
	&memtb_backend_slab,
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

/* How many variants a design can be switched to. */
unsigned int memtb_backend_nr_options(const struct memtb_backend *backend)
{
	unsigned int nr = 0;

	while (backend->options && backend->options[nr])
		nr++;
	return nr;
}
EXPORT_SYMBOL_GPL(memtb_backend_nr_options);

/* The capabilities that a design has with these options. */
unsigned int memtb_backend_flags(const struct memtb_backend *backend,
				 unsigned long options)
{
	unsigned int flags = backend->flags;
	unsigned int i, nr = memtb_backend_nr_options(backend);

	for (i = 0; backend->takes && i < nr; i++)
		if (options & BIT(i))
			flags &= ~backend->takes[i];
	return flags;
}
EXPORT_SYMBOL_GPL(memtb_backend_flags);

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

/* The bit of the option that @word names, 0 if there is none. */
static unsigned long memtb_backend_option(const struct memtb_backend *backend,
					  const char *word)
{
	unsigned int i, nr = memtb_backend_nr_options(backend);

	for (i = 0; i < nr; i++)
		if (sysfs_streq(word, backend->options[i]))
			return BIT(i);
	return 0;
}

/**
 * memtb_backend_parse - a design as users type it: name[+option]...
 * @word: for example slob-page+list2008; a trailing newline is ignored
 * @options: the options named, for struct memtb_heap_params
 *
 * Context: any.
 * Return: the backend; ERR_PTR(-ENOENT) if there is none of this name,
 * ERR_PTR(-EINVAL) if it has not all of the options.
 */
const struct memtb_backend *memtb_backend_parse(const char *word,
						unsigned long *options)
{
	char copy[MEMTB_DESIGN_MAX], *rest = copy;
	const struct memtb_backend *backend;
	unsigned long bit;

	*options = 0;
	if (strscpy(copy, word, sizeof(copy)) < 0)
		return ERR_PTR(-ENOENT);
	backend = memtb_backend_find(strsep(&rest, "+"));
	if (!backend)
		return ERR_PTR(-ENOENT);
	while (rest) {
		bit = memtb_backend_option(backend, strsep(&rest, "+"));
		if (!bit)
			return ERR_PTR(-EINVAL);
		*options |= bit;
	}
	return backend;
}
EXPORT_SYMBOL_GPL(memtb_backend_parse);

/**
 * memtb_backend_design - the words that memtb_backend_parse() takes
 * @backend: the design
 * @options: its options
 * @buf: gets them
 * @size: bytes of @buf; MEMTB_DESIGN_MAX is enough
 *
 * Context: any.
 */
void memtb_backend_design(const struct memtb_backend *backend,
			  unsigned long options, char *buf, size_t size)
{
	unsigned int i, nr = memtb_backend_nr_options(backend);

	strscpy(buf, backend->name, size);
	for (i = 0; i < nr; i++) {
		if (!(options & BIT(i)))
			continue;
		strlcat(buf, "+", size);
		strlcat(buf, backend->options[i], size);
	}
}
EXPORT_SYMBOL_GPL(memtb_backend_design);

/**
 * memtb_backend_names - all that memtb_backend_parse() takes, for messages
 * @buf: gets the names and their options in one line
 * @size: bytes of @buf
 *
 * Context: any.
 */
void memtb_backend_names(char *buf, size_t size)
{
	const struct memtb_backend *backend;
	unsigned int i, k;

	*buf = '\0';
	for (i = 0; (backend = memtb_backend_nth(i)); i++) {
		strlcat(buf, i ? ", " : "", size);
		strlcat(buf, backend->name, size);
		for (k = 0; k < memtb_backend_nr_options(backend); k++) {
			strlcat(buf, "[+", size);
			strlcat(buf, backend->options[k], size);
			strlcat(buf, "]", size);
		}
	}
}
EXPORT_SYMBOL_GPL(memtb_backend_names);
