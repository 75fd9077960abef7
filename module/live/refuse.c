// SPDX-License-Identifier: GPL-2.0
/*
 * In place of the takeover, on kernels that it has no table of entry points or
 * no way in for: every mode but off is refused with the reason.
 */
#include <linux/errno.h>
#include <linux/printk.h>
#include <linux/seq_file.h>

#include "live.h"

int memtb_live_init(struct memtb_heap *heap)
{
	return 0;
}

void memtb_live_exit(void)
{
}

int memtb_live_set(enum memtb_live_mode mode)
{
	if (mode == MEMTB_LIVE_OFF)
		return 0;
	pr_err("live: needs x86_64, Linux 6.1, CONFIG_SLUB, DYNAMIC_FTRACE_WITH_ARGS, KPROBES, KALLSYMS_ALL, and no KASAN\n");
	return -EOPNOTSUPP;
}

enum memtb_live_mode memtb_live_mode(void)
{
	return MEMTB_LIVE_OFF;
}

void memtb_live_show(struct seq_file *m)
{
	seq_puts(m, "mode off\n");
}

void memtb_live_aside(void)
{
}

void memtb_live_aside_end(void)
{
}
