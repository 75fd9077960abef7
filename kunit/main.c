// SPDX-License-Identifier: GPL-2.0
/*
 * memtb_kunit.ko: the test suites, a module of their own.
 *
 * KUnit runs a module's suites before or after its init function, depending on
 * the kernel.  This module has none, and needs nothing of memtb.ko but what it
 * exports.
 */
#include <linux/module.h>

MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("KUnit suites of memtb");
