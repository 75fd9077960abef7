/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The module's controls: parameters and debugfs.
 */
#ifndef MEMTB_CONTROL_H
#define MEMTB_CONTROL_H

#include "../live/live.h"
#include "../memtb.h"

/**
 * struct memtb_setup - the parameters, understood
 * @backend: design of the default heap
 * @heap: parameters of the default heap
 * @live: mode of the live stream at the start
 */
struct memtb_setup {
	const struct memtb_backend *backend;
	struct memtb_heap_params heap;
	enum memtb_live_mode live;
};

int memtb_params_parse(struct memtb_setup *setup);
/* One line that names the valid modes; -EINVAL. */
int memtb_live_refuse(const char *word);
int memtb_live_parse(const char *word, enum memtb_live_mode *mode);

void memtb_debugfs_init(struct memtb_heap *heap);
void memtb_debugfs_exit(void);

#endif /* MEMTB_CONTROL_H */
