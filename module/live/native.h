/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The only file that looks into struct kmem_cache.
 *
 * The header that has it also has inlines over struct slab, which is private
 * to mm.  Nothing here calls them; they need something to compile against.
 */
#ifndef MEMTB_LIVE_NATIVE_H
#define MEMTB_LIVE_NATIVE_H

#include <linux/reciprocal_div.h>
#include <linux/slab.h>

struct slab {
	unsigned int objects;
};

static inline void *slab_address(const struct slab *slab)
{
	return NULL;
}

#include <linux/slub_def.h>

#endif /* MEMTB_LIVE_NATIVE_H */
