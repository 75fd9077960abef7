// SPDX-License-Identifier: GPL-2.0
/*
 * A module that does with the kernel's allocator what modules do: caches of its
 * own (with a constructor, type-safe by RCU), the kmalloc family, bulk calls,
 * kfree_rcu.  The smoke test loads and unloads it while the kernel's allocations
 * go through memtb.  Everything is checked; a wrong byte refuses the load, or
 * the write to the parameter "visit", which does all of it but the keeping again.
 */

#include <linux/module.h>
#include <linux/rcupdate.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "memtb_visitor.h"

#define MEMTB_VISITOR_OBJECTS	64
#define MEMTB_VISITOR_MAGIC	0x6d656d74u

struct memtb_visitor_object {
	u32 magic;
	u32 index;
	struct rcu_head rcu;
	u8 body[100];
};

static struct kmem_cache *memtb_visitor_plain;
static struct kmem_cache *memtb_visitor_typesafe;
static struct memtb_visitor_object *memtb_visitor_kept[MEMTB_VISITOR_OBJECTS];

static void memtb_visitor_ctor(void *object)
{
	struct memtb_visitor_object *visitor = object;

	visitor->magic = MEMTB_VISITOR_MAGIC;
}

/* Sizes around the kmalloc classes, up to what is still a slab object. */
static int memtb_visitor_kmalloc(void)
{
	size_t size;

	for (size = 1; size <= 8192; size += 1 + size / 3) {
		u8 *bytes = kzalloc(size, GFP_KERNEL);
		u8 *grown;
		bool clean;

		if (!bytes)
			return -ENOMEM;
		clean = !memchr_inv(bytes, 0, size) && ksize(bytes) >= size;
		memset(bytes, 0x5a, size);
		grown = krealloc(bytes, size + 40, GFP_KERNEL);
		clean = clean && grown && !memchr_inv(grown, 0x5a, size);
		kfree(grown ?: bytes);
		if (!clean)
			return -EILSEQ;
	}
	return 0;
}

static int memtb_visitor_bulk(struct kmem_cache *cache)
{
	void *objects[16];
	int i, n;

	n = kmem_cache_alloc_bulk(cache, GFP_KERNEL, ARRAY_SIZE(objects),
				  objects);
	if (n != ARRAY_SIZE(objects))
		return -ENOMEM;
	for (i = 0; i < n; i++)
		memset(objects[i], i, sizeof(struct memtb_visitor_object));
	for (i = 0; i < n; i++)
		if (memchr_inv(objects[i], i,
			       sizeof(struct memtb_visitor_object)))
			n = -EILSEQ;
	kmem_cache_free_bulk(cache, ARRAY_SIZE(objects), objects);
	return n < 0 ? n : 0;
}

static int memtb_visitor_constructed(struct kmem_cache *cache)
{
	struct memtb_visitor_object *object;
	int i;

	for (i = 0; i < MEMTB_VISITOR_OBJECTS; i++) {
		object = kmem_cache_alloc(cache, GFP_KERNEL);
		if (!object)
			return -ENOMEM;
		if (object->magic != MEMTB_VISITOR_MAGIC) {
			kmem_cache_free(cache, object);
			return -EILSEQ;
		}
		kmem_cache_free(cache, object);
	}
	return 0;
}

static int memtb_visitor_keep(void)
{
	struct memtb_visitor_object *object;
	int i;

	for (i = 0; i < MEMTB_VISITOR_OBJECTS; i++) {
		object = kmem_cache_zalloc(memtb_visitor_plain, GFP_KERNEL);
		if (!object)
			return -ENOMEM;
		object->index = i;
		memtb_visitor_kept[i] = object;
	}
	return 0;
}

static void memtb_visitor_leave(void)
{
	struct memtb_visitor_object *object;
	int i;

	for (i = 0; i < MEMTB_VISITOR_OBJECTS; i++) {
		object = memtb_visitor_kept[i];
		if (object && object->index != i)
			pr_err("BUG: object %d reads %u\n", i, object->index);
		if (object)
			kmem_cache_free(memtb_visitor_plain, object);
	}
	object = kmalloc(sizeof(*object), GFP_KERNEL);
	if (object)
		kfree_rcu(object, rcu);
	kmem_cache_destroy(memtb_visitor_typesafe);
	kmem_cache_destroy(memtb_visitor_plain);
	rcu_barrier();
}

/**
 * memtb_visitor_greet() - what memtb_visitor_user.ko needs, so that one module
 * depends on the other
 * @name: a text
 *
 * Return: an allocated copy, to be freed with kfree(), or NULL.
 */
char *memtb_visitor_greet(const char *name)
{
	return kasprintf(GFP_KERNEL, "hello %s", name);
}
EXPORT_SYMBOL_GPL(memtb_visitor_greet);

static int memtb_visitor_visit(void)
{
	int err = memtb_visitor_kmalloc();

	if (!err)
		err = memtb_visitor_bulk(memtb_visitor_plain);
	if (!err)
		err = memtb_visitor_constructed(memtb_visitor_typesafe);
	return err;
}

static int memtb_visitor_again(const char *value, const struct kernel_param *kp)
{
	/* Also called with insmod's arguments, when there is no cache yet. */
	return memtb_visitor_typesafe ? memtb_visitor_visit() : -EINVAL;
}

static const struct kernel_param_ops memtb_visitor_ops = {
	.set = memtb_visitor_again,
};
module_param_cb(visit, &memtb_visitor_ops, NULL, 0200);
MODULE_PARM_DESC(visit, "written: allocate and free again");

static int __init memtb_visitor_init(void)
{
	int err = -ENOMEM;

	memtb_visitor_plain =
		kmem_cache_create("memtb_visitor",
				  sizeof(struct memtb_visitor_object), 0,
				  SLAB_HWCACHE_ALIGN, NULL);
	memtb_visitor_typesafe =
		kmem_cache_create("memtb_visitor_typesafe",
				  sizeof(struct memtb_visitor_object), 0,
				  SLAB_TYPESAFE_BY_RCU, memtb_visitor_ctor);
	if (memtb_visitor_plain && memtb_visitor_typesafe)
		err = memtb_visitor_visit();
	if (!err)
		err = memtb_visitor_keep();
	if (err)
		memtb_visitor_leave();
	return err;
}

static void __exit memtb_visitor_exit(void)
{
	memtb_visitor_leave();
}

module_init(memtb_visitor_init);
module_exit(memtb_visitor_exit);
MODULE_DESCRIPTION("memtb smoke test: a module that allocates");
MODULE_LICENSE("GPL");
