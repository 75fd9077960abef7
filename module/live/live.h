/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The live stream: the running kernel's own allocations, led through a heap.
 *
 * off: nothing is touched.  pass: the hooks are in, everything goes to the
 * native allocator; this is what the hooks cost.  takeover: allocations come
 * from the heap, and each free goes to whoever owns the page.  draining: as
 * off, but objects of the heap are still out, so frees are still looked at.
 */
#ifndef MEMTB_LIVE_H
#define MEMTB_LIVE_H

#include <linux/types.h>

struct memtb_heap;
struct seq_file;

enum memtb_live_mode {
	MEMTB_LIVE_OFF,
	MEMTB_LIVE_PASS,
	MEMTB_LIVE_TAKEOVER,
	MEMTB_LIVE_DRAINING,
	MEMTB_NR_LIVE_MODES
};

extern const char * const memtb_live_mode_names[MEMTB_NR_LIVE_MODES];

int memtb_live_init(struct memtb_heap *heap);
void memtb_live_exit(void);
int memtb_live_set(enum memtb_live_mode mode);
enum memtb_live_mode memtb_live_mode(void);
void memtb_live_show(struct seq_file *m);

/*
 * In between, what the calling task allocates does not come from the heap: for what
 * stays until all is home.  Sleeps; taken inside slab_mutex, outside the heap's lock.
 */
void memtb_live_aside(void);
void memtb_live_aside_end(void);

#endif /* MEMTB_LIVE_H */
