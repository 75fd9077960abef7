/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The lock of a design: interrupts are off while it is held, and how long that
 * is, how often, and whether somebody waits for it is what memtb is here to say.
 */
#ifndef MEMTB_CORE_LOCK_H
#define MEMTB_CORE_LOCK_H

#include <linux/spinlock.h>

#include "heap.h"

/**
 * struct memtb_lock - a lock that measures how long it is held
 * @raw: the lock
 * @since: when it was taken, in ns
 * @heap: counts the holds
 */
struct memtb_lock {
	raw_spinlock_t raw;
	u64 since;
	struct memtb_heap *heap;
};

/* A macro, so that each place of use has a lockdep class of its own. */
#define memtb_lock_init(lock, of)		\
do {						\
	raw_spin_lock_init(&(lock)->raw);	\
	(lock)->heap = (of);			\
} while (0)

void memtb_lock_irqs_off(struct memtb_lock *lock)
	__acquires(&lock->raw);
void memtb_unlock_irqs_off(struct memtb_lock *lock)
	__releases(&lock->raw);
void memtb_lock(struct memtb_lock *lock, unsigned long *flags)
	__acquires(&lock->raw);
void memtb_unlock(struct memtb_lock *lock, unsigned long flags)
	__releases(&lock->raw);

#endif /* MEMTB_CORE_LOCK_H */
