/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Free objects at hand: a stack per processor in front of a cache.
 *
 * A design that keeps such stacks fills and empties them; taking one object and
 * putting one back is done by the core, without a call, because these few
 * instructions are what nearly every operation consists of.
 */
#ifndef MEMTB_CORE_ARRAY_H
#define MEMTB_CORE_ARRAY_H

#include <linux/irqflags.h>
#include <linux/percpu.h>

/**
 * struct memtb_array - free objects, the warmest last
 * @avail: how many there are
 * @limit: how many there may be
 * @batch: how many come and go at once
 * @touched: whether any was taken since somebody cleared this
 * @entry: the objects
 */
struct memtb_array {
	unsigned int avail;
	unsigned int limit;
	unsigned int batch;
	unsigned int touched;
	void *entry[];
};

/*
 * This processor's.  Interrupts are off: who exchanges arrays of a cache that is
 * in use waits for all such sections before the old ones go.
 */
static __always_inline struct memtb_array *
memtb_array_mine(struct memtb_array __percpu * const *arrays)
{
	return this_cpu_ptr(READ_ONCE(*arrays));
}

/**
 * memtb_array_pop - take the object that was put last
 * @arrays: where it says which arrays, one per processor
 *
 * Context: any but NMI.
 * Return: the object, or NULL if this processor's array is empty.
 */
static __always_inline void *
memtb_array_pop(struct memtb_array __percpu * const *arrays)
{
	struct memtb_array *array;
	unsigned long flags;
	void *obj = NULL;

	local_irq_save(flags);
	array = memtb_array_mine(arrays);
	if (likely(array->avail)) {
		array->touched = true;
		obj = array->entry[--array->avail];
	}
	local_irq_restore(flags);
	return obj;
}

/**
 * memtb_array_push - put an object that is free
 * @arrays: as for memtb_array_pop()
 * @obj: the object
 *
 * Context: any but NMI.
 * Return: false if this processor's array is full.
 */
static __always_inline bool
memtb_array_push(struct memtb_array __percpu * const *arrays, void *obj)
{
	struct memtb_array *array;
	unsigned long flags;
	bool done = false;

	local_irq_save(flags);
	array = memtb_array_mine(arrays);
	if (likely(array->avail < array->limit)) {
		array->entry[array->avail++] = obj;
		done = true;
	}
	local_irq_restore(flags);
	return done;
}

#endif /* MEMTB_CORE_ARRAY_H */
