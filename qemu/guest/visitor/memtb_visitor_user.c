// SPDX-License-Identifier: GPL-2.0
/* Depends on memtb_visitor.ko and keeps an object of its making. */

#include <linux/module.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "memtb_visitor.h"

static char *memtb_visitor_user_text;

static int __init memtb_visitor_user_init(void)
{
	memtb_visitor_user_text = memtb_visitor_greet(KBUILD_MODNAME);
	return memtb_visitor_user_text ? 0 : -ENOMEM;
}

static void __exit memtb_visitor_user_exit(void)
{
	if (strcmp(memtb_visitor_user_text, "hello " KBUILD_MODNAME))
		pr_err("BUG: text reads '%.40s'\n", memtb_visitor_user_text);
	kfree(memtb_visitor_user_text);
}

module_init(memtb_visitor_user_init);
module_exit(memtb_visitor_user_exit);
MODULE_DESCRIPTION("memtb smoke test: a module that needs another");
MODULE_LICENSE("GPL");
