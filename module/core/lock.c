// SPDX-License-Identifier: GPL-2.0
/*
 * The lock of a design, measured.
 */
#include <linux/export.h>
#include <linux/irqflags.h>
#include <linux/sched/clock.h>

#include "lock.h"

/**
 * memtb_lock - switch interrupts off and take a lock
 * @lock: the lock
 * @flags: whether interrupts were on, for memtb_unlock()
 *
 * Context: any but NMI.
 */
void memtb_lock(struct memtb_lock *lock, unsigned long *flags)
	__acquires(&lock->raw)
{
	local_irq_save(*flags);
	if (raw_spin_is_locked(&lock->raw))
		memtb_stat_add(lock->heap, MEMTB_STAT_LOCK_CONTENDED, 1);
	raw_spin_lock(&lock->raw);
	lock->since = local_clock();
}
EXPORT_SYMBOL_GPL(memtb_lock);

/**
 * memtb_unlock - release a lock and let interrupts be as they were
 * @lock: the lock
 * @flags: from memtb_lock()
 *
 * Context: as memtb_lock().
 */
void memtb_unlock(struct memtb_lock *lock, unsigned long flags)
	__releases(&lock->raw)
{
	memtb_stat_held(lock->heap, local_clock() - lock->since);
	raw_spin_unlock(&lock->raw);
	local_irq_restore(flags);
}
EXPORT_SYMBOL_GPL(memtb_unlock);

/**
 * memtb_lock_irqs_off - take a lock where interrupts are off anyhow
 * @lock: the lock
 *
 * Context: any but NMI, interrupts off.
 */
void memtb_lock_irqs_off(struct memtb_lock *lock)
	__acquires(&lock->raw)
{
	unsigned long flags;

	memtb_lock(lock, &flags);
	/* For sparse, which does not look into what is called. */
	__acquire(&lock->raw);
}
EXPORT_SYMBOL_GPL(memtb_lock_irqs_off);

/**
 * memtb_unlock_irqs_off - release a lock, with interrupts still off
 * @lock: the lock
 *
 * Context: as memtb_lock_irqs_off().
 */
void memtb_unlock_irqs_off(struct memtb_lock *lock)
	__releases(&lock->raw)
{
	unsigned long flags;

	local_save_flags(flags);
	memtb_unlock(lock, flags);
	__release(&lock->raw);
}
EXPORT_SYMBOL_GPL(memtb_unlock_irqs_off);
