// SPDX-License-Identifier: GPL-2.0
/*
 * Exact user and system times for measured guests.
 *
 * By ticks, a process shorter than a tick is booked as user time whole, and `make` starts
 * thousands of those. VIRT_CPU_ACCOUNTING_GEN takes the time at every border between user
 * and kernel instead, but only on processors whose borders are watched, which nothing
 * short of nohz_full= or CONTEXT_TRACKING_USER_FORCE asks for; and even then it keeps what
 * is less than a tick in a task's pocket, where it is lost when the task ends (hence "user
 * time 0" with FORCE on).
 *
 * This module switches the watching on, empties the pocket at each switch of tasks, and
 * that of a new task, who was born with a copy of its parent's.
 * It stays: an instrument, loaded before anything is measured, in every configuration.
 * /sys/kernel/debug/memtb_cputime has the sums of the whole machine in nanoseconds.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/context_tracking.h>
#include <linux/cpumask.h>
#include <linux/debugfs.h>
#include <linux/kernel_stat.h>
#include <linux/module.h>
#include <linux/sched.h>
#include <linux/sched/clock.h>
#include <linux/seq_file.h>
#include <linux/smp.h>
#include <linux/tracepoint.h>

/* Book all that a running, not idle task has used up to now. Interrupts are off. */
static void memtb_cputime_flush(struct task_struct *task)
{
	struct vtime *vtime = &task->vtime;
	u64 *stat = kcpustat_this_cpu->cpustat;
	u64 now = sched_clock();

	if (vtime->state != VTIME_SYS)
		return;
	write_seqcount_begin(&vtime->seqcount);
	if (now > vtime->starttime) {
		vtime->stime += now - vtime->starttime;
		vtime->starttime = now;
	}
	task->stime += vtime->stime;
	task->utime += vtime->utime;
	stat[CPUTIME_SYSTEM] += vtime->stime;
	stat[CPUTIME_USER] += vtime->utime;
	vtime->stime = 0;
	vtime->utime = 0;
	write_seqcount_end(&vtime->seqcount);
}

static void memtb_cputime_switch(void *data, bool preempt, struct task_struct *prev,
				 struct task_struct *next, unsigned int prev_state)
{
	memtb_cputime_flush(prev);
}

/* It does not run yet. */
static void memtb_cputime_fork(void *data, struct task_struct *parent,
			       struct task_struct *child)
{
	child->vtime.stime = 0;
	child->vtime.utime = 0;
}

static struct tracepoint *memtb_cputime_tp_switch;
static struct tracepoint *memtb_cputime_tp_fork;

static void memtb_cputime_find(struct tracepoint *tp, void *unused)
{
	if (!strcmp(tp->name, "sched_switch"))
		memtb_cputime_tp_switch = tp;
	else if (!strcmp(tp->name, "sched_process_fork"))
		memtb_cputime_tp_fork = tp;
}

static int memtb_cputime_attach(void)
{
	int err;

	for_each_kernel_tracepoint(memtb_cputime_find, NULL);
	if (!memtb_cputime_tp_switch || !memtb_cputime_tp_fork)
		return -ENOENT;
	err = tracepoint_probe_register(memtb_cputime_tp_fork,
					memtb_cputime_fork, NULL);
	if (err)
		return err;
	err = tracepoint_probe_register(memtb_cputime_tp_switch,
					memtb_cputime_switch, NULL);
	if (err) {
		tracepoint_probe_unregister(memtb_cputime_tp_fork,
					    memtb_cputime_fork, NULL);
		tracepoint_synchronize_unregister();
	}
	return err;
}

/* The running task never came through a switch that would have started its clock. */
static void memtb_cputime_watch(void *unused)
{
	struct vtime *vtime = &current->vtime;
	unsigned long flags;

	local_irq_save(flags);
	write_seqcount_begin(&vtime->seqcount);
	vtime->state = is_idle_task(current) ? VTIME_IDLE : VTIME_SYS;
	vtime->starttime = sched_clock();
	vtime->cpu = smp_processor_id();
	write_seqcount_end(&vtime->seqcount);
	__this_cpu_write(context_tracking.active, true);
	local_irq_restore(flags);
}

static int memtb_cputime_show(struct seq_file *s, void *unused)
{
	u64 user = 0, system = 0, irq = 0, idle = 0;
	unsigned long flags;
	int cpu;

	local_irq_save(flags);
	memtb_cputime_flush(current);
	local_irq_restore(flags);
	for_each_online_cpu(cpu) {
		u64 *stat = kcpustat_cpu(cpu).cpustat;

		user += stat[CPUTIME_USER] + stat[CPUTIME_NICE];
		system += stat[CPUTIME_SYSTEM];
		irq += stat[CPUTIME_IRQ] + stat[CPUTIME_SOFTIRQ];
		idle += stat[CPUTIME_IDLE] + stat[CPUTIME_IOWAIT];
	}
	seq_printf(s, "user_ns %llu\nsystem_ns %llu\nidle_ns %llu\n", user, system + irq, idle);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(memtb_cputime);

static int __init memtb_cputime_init(void)
{
	int err;

	if (context_tracking_enabled()) {
		pr_err("user and kernel are told apart already (nohz_full=?)\n");
		return -EBUSY;
	}
	err = memtb_cputime_attach();
	if (err)
		return err;
	static_branch_inc(&context_tracking_key);
	on_each_cpu(memtb_cputime_watch, NULL, 1);
	debugfs_create_file("memtb_cputime", 0444, NULL, NULL, &memtb_cputime_fops);
	/* Nothing switches the watching off again: keep the probe, too. */
	__module_get(THIS_MODULE);
	return 0;
}
module_init(memtb_cputime_init);

MODULE_DESCRIPTION("Exact user and system times for measured guests");
MODULE_LICENSE("GPL");
