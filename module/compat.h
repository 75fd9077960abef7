/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The only file that knows kernel versions.  Force-included into every object,
 * so that the rest is written against one kernel.
 */
#ifndef MEMTB_COMPAT_H
#define MEMTB_COMPAT_H

#define pr_fmt(fmt) "memtb: " fmt

#include <linux/gfp.h>
#include <linux/timer.h>
#include <linux/version.h>

/* The bit went in 6.3, its meaning into __GFP_HIGH. */
#ifdef __GFP_ATOMIC
#define MEMTB_GFP_ATOMIC	__GFP_ATOMIC
#else
#define MEMTB_GFP_ATOMIC	((__force gfp_t)0)
#endif

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 2, 0)
#define timer_delete_sync(timer)	del_timer_sync(timer)
#endif

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 16, 0)
#define timer_container_of(var, timer, field)	from_timer(var, timer, field)
#endif

/*
 * The n-th argument of a hooked function, in its ftrace handler.  A macro, so
 * that linux/ftrace.h stays with the one file that needs it.
 */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 2, 0)
#define memtb_ftrace_arg(fregs, n)	regs_get_kernel_argument(&(fregs)->regs, n)
#else
#define memtb_ftrace_arg(fregs, n)	ftrace_regs_get_argument(fregs, n)
#endif

/* Whether a module still has the memory that goes when it is wholly loaded. */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 4, 0)
#define memtb_module_loading(mod)	READ_ONCE((mod)->init_layout.size)
#else
#define memtb_module_loading(mod)	READ_ONCE((mod)->mem[MOD_INIT_TEXT].size)
#endif

#endif /* MEMTB_COMPAT_H */
