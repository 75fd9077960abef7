// SPDX-License-Identifier: GPL-2.0
/*
 * Loading and unloading.
 */
#include <linux/module.h>

#include "../backend/backend.h"
#include "../core/pages.h"
#include "control.h"

static struct memtb_heap *memtb_default_heap;

static int __init memtb_start(const struct memtb_setup *setup)
{
	struct memtb_heap *heap;
	int err;

	heap = memtb_heap_create(setup->backend, "default", &setup->heap);
	if (IS_ERR(heap))
		return PTR_ERR(heap);
	err = memtb_live_init(heap);
	if (err)
		goto out_destroy_heap;
	/* First, so that its own dentries and inodes stay out of the heap. */
	memtb_debugfs_init(heap);
	err = memtb_live_set(setup->live);
	if (err)
		goto out_exit_debugfs;
	memtb_default_heap = heap;
	return 0;

out_exit_debugfs:
	memtb_debugfs_exit();
	memtb_live_exit();
out_destroy_heap:
	memtb_heap_destroy(heap);
	return err;
}

static int __init memtb_init(void)
{
	struct memtb_setup setup = {};
	char design[MEMTB_DESIGN_MAX];
	int err;

	err = memtb_params_parse(&setup);
	if (err)
		return err;
	err = memtb_pagemap_init(&memtb_pagemap);
	if (err)
		return err;
	err = memtb_start(&setup);
	if (err) {
		memtb_pagemap_exit(&memtb_pagemap);
		return err;
	}
	memtb_backend_design(setup.backend, setup.heap.options, design,
			     sizeof(design));
	pr_info("loaded, backend %s, live %s\n", design,
		memtb_live_mode_names[setup.live]);
	return 0;
}
module_init(memtb_init);

static void __exit memtb_exit(void)
{
	memtb_debugfs_exit();
	memtb_live_exit();
	memtb_heap_destroy(memtb_default_heap);
	pr_info("unloaded, %ld pages leaked\n", memtb_pages_held());
	memtb_pagemap_exit(&memtb_pagemap);
}
module_exit(memtb_exit);

MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("Test bed for kernel object allocators");
