# SPDX-License-Identifier: GPL-2.0
"""The splat scan on lines as kernels print them: every kind of trouble, and none of the rest."""

import pytest
from memtblib import console

# Most are lines of Linux 6.1; others are by older and newer kernels, by arm64 or by debuggers
# that are not built in here, and a few are short on purpose, so that one word alone decides.
SPLATS = {
    "panic": [
        "[    1.503211] Kernel panic - not syncing: Fatal exception in interrupt",
        "[    0.613001] Kernel panic - not syncing: Attempted to kill init! exitcode=0x00000100",
        "[    0.613001] ---[ end Kernel panic - not syncing: VFS: Unable to mount root fs ]---",
    ],
    "kasan": ["[   13.039435] BUG: KASAN: slab-out-of-bounds in memtb_slob_take+0x8a/0x1d0 [memtb]",
              "[    3.672194] BUG: KASAN: use-after-free in memtb_slob_return_page+0x42/0x110"],
    "kcsan": ["[   12.295395] BUG: KCSAN: data-race in memtb_alloc [memtb] / memtb_x [memtb]",
              "[   12.295395] BUG: KCSAN: data-race in __list_add / memtb_pages_get [memtb]"],
    "kfence": ["[   12.123456] BUG: KFENCE: use-after-free read in memtb_free+0x1a/0x40 [memtb]"],
    "kmsan": ["[    9.100000] BUG: KMSAN: uninit-value in memtb_alloc+0x2f5/0x7a0 [memtb]"],
    "kmemleak": ["[   42.100345] kmemleak: 3 new suspected memory leaks "
                 "(see /sys/kernel/debug/kmemleak)"],
    "lockup": [
        "[   52.012345] watchdog: BUG: soft lockup - CPU#0 stuck for 26s! [insmod:97]",
        "[   52.012345] BUG: soft lockup - CPU#1 stuck for 22s! [make:97]",
        "[   52.012345] watchdog: BUG: something that is not known yet",
        "[   60.345678] BUG: workqueue lockup - pool cpus=0 node=0 flags=0x0 nice=0 stuck for 33s!",
        "[   60.456789] NMI watchdog: Watchdog detected hard LOCKUP on cpu 0",
    ],
    "atomic-sleep": [
        "[    2.101010] BUG: sleeping function called from invalid context at mm/slab.h:494",
        "[    2.101010] BUG: scheduling while atomic: swapper/0/1/0x00000002",
    ],
    "bug": [
        "[    1.456213] [ BUG: Invalid wait context ]",
        "[   13.078030] BUG: unable to handle page fault for address: 000000000002416d",
        "[   13.078030] BUG: kernel NULL pointer dereference, address: 0000000000000008",
        "[    4.010203] kernel BUG at mm/slub.c:419!",
        "[    4.010203] BUG kmalloc-64 (Not tainted): Right Redzone overwritten",
        "[    4.010203] BUG dentry (Tainted: G           O     ): Poison overwritten",
        "[    5.000001] BUG memtb_x (Not tainted): Objects remaining in memtb_x on "
        "__kmem_cache_shutdown()",
        "[    6.123123] BUG: Bad page state in process insmod  pfn:03f01",
        "[    6.123123] BUG: Bad page map in process sh  pte:800000000 pmd:03f01067",
        "[    6.123123] BUG: Bad rss-counter state mm:00000000abcdef01 type:MM_ANONPAGES val:1",
        "[    7.000000] BUG: looking up invalid subclass: 8",
        "[    7.000000] BUG: MAX_LOCKDEP_ENTRIES too low!",
        "[    7.000000] BUG: TASK stack guard page was hit at 00000000abcdef01 (stack is "
        "00000000abcd0000..00000000abcd4000)",
        "[    7.000000] BUG: planted",
    ],
    "oops": [
        "[   13.078998] Oops: 0002 [#1] PREEMPT SMP NOPTI",
        "[   13.078998] Oops: general protection fault, probably for non-canonical address "
        "0xdead000000000100: 0000 [#1] SMP",
        "[   13.078998] Oops: 0002",
        "[   13.078998] Internal error: Oops - undefined instruction: 02000000 [#1] SMP",
        "[   13.078998] Unable to handle kernel paging request at virtual address dead000000000100",
        "[   13.078998] Unable to handle kernel NULL pointer dereference at virtual address 0008",
        "[   13.078998] kernel NULL pointer dereference, address: 0000000000000008",
        "[    3.330001] general protection fault, probably for non-canonical address "
        "0xdead000000000122: 0000 [#1] PREEMPT SMP",
        "[    3.330001] general protection fault: 0000 [#1] SMP",
        "[    3.330001] invalid opcode: 0000 [#1] PREEMPT SMP",
        "[    3.330001] stack segment: 0000 [#1] SMP",
        "[    3.330001] traps: double fault: 0000 [#1] SMP",
        "[    3.330001] int3: 0000 [#1] SMP",
        "[    3.330001] divide error: 0000 [#1] PREEMPT SMP",
        "[    3.330001] traps: PANIC: something, error_code: 0x0",
        "[    3.330001] kernel stack overflow (page fault): 0000 [#1]",
    ],
    "lockdep": [
        "[    1.973673] WARNING: possible circular locking dependency detected",
        "[    1.973673] possible circular locking dependency detected",
        "[    1.973673] [ INFO: possible circular locking dependency detected ]",
        "[    1.973673] [ INFO: possible recursive locking detected ]",
        "[    1.973673] WARNING: possible recursive locking detected",
        "[    1.973673] possible recursive locking detected",
        "[    1.973673] [ INFO: possible irq lock inversion dependency detected ]",
        "[    1.973673] WARNING: possible irq lock inversion dependency detected",
        "[    1.973673] possible unsafe locking scenario",
        "[    1.973673] WARNING: inconsistent lock state",
        "[    1.973673] WARNING: HARDIRQ-safe -> HARDIRQ-unsafe lock order detected",
        "[    1.973673] WARNING: SOFTIRQ-safe -> SOFTIRQ-unsafe lock order detected",
        "[    1.973673] WARNING: bad unlock balance detected!",
        "[    1.973673] WARNING: held lock freed!",
        "[    1.973673] WARNING: lock held when returning to user space!",
        "[    1.973673] WARNING: Nested lock was not taken",
        "[    1.973673] WARNING: suspicious RCU usage",
        "[    1.973673] INFO: trying to register non-static key.",
        "[    1.973673] turning off the locking correctness validator.",
    ],
    "rcu-stall": [
        "[   81.000123] rcu: INFO: rcu_preempt self-detected stall on CPU",
        "[   81.000123] rcu: INFO: rcu_sched detected stalls on CPUs/tasks:",
        "[   81.000123] rcu: INFO: rcu_sched detected expedited stalls on CPUs/tasks: { 0-... }",
        "[   81.000123] rcu: INFO: rcu_x hit by a stall",
        "[   81.000123] rcu: rcu_sched kthread starved for 5252 jiffies! g881 f0x0",
        "[   81.000123] rcu: rcu_sched kthread timer wakeup didn't happen for 5251 jiffies! g881",
        "[   81.000123] INFO: rcu_sched self-detected stall on CPU",
        "[   81.000123] INFO: rcu_tasks detected stalls on tasks:",
        "[   81.000123] [ INFO: suspicious RCU usage. ]",
    ],
    "hung-task": ["[  245.012345] INFO: task rmmod:97 blocked for more than 122 seconds."],
    "ubsan": ["[    2.220001] UBSAN: shift-out-of-bounds in module/backends/slob.c:120:18",
              "[    2.220001] UBSAN: array-index-out-of-bounds in mm/slub.c:33:2"],
    "warning": [
        "[    2.500000] ------------[ cut here ]------------",
        "[    2.500001] WARNING: CPU: 0 PID: 97 at mm/slub.c:1234 kfree+0x1f/0x40",
        "[    2.500001] WARNING: chain_key collision",
    ],
    "page-allocator": [
        "[   14.000001] insmod: page allocation failure: order:4, mode:0xcc0(GFP_KERNEL), "
        "nodemask=(null),cpuset=/,mems_allowed=0",
        "[   14.000001] page dumped because: PAGE_FLAGS_CHECK_AT_FREE flag(s) set",
        "[   14.000001] bad because of flags: nonzero _refcount",
        "[   14.000001] bad because of flags: nonzero mapcount",
        "[   14.000001] Bad page state in process 'insmod'",
        "[   14.000001] Bad page map in process sh  pte:800000000 pmd:03f01067",
    ],
    "oom": [
        "[   15.000001] make invoked oom-killer: gfp_mask=0x140cca(GFP_HIGHUSER_MOVABLE), order=0",
        "[   15.000001] Out of memory: Killed process 99 (cc1) total-vm:99kB, anon-rss:9kB",
    ],
    "list": [
        "[   16.000001] list_add corruption. next->prev should be prev (ffff888001), but was 0.",
        "[   16.000001] list_del corruption, ffff888001234560->next is LIST_POISON1",
        "[   16.000001] refcount_t: underflow; use-after-free.",
        "[   16.000001] refcount_t: overflow; use-after-free.",
        "[   16.000001] refcount_t: addition on 0; use-after-free.",
        "[   16.000001] refcount_t: saturated; leaking memory.",
    ],
    "slab": [
        "[   17.000001] Objects remaining in memtb_x on __kmem_cache_shutdown()",
        "[   17.000001] kmem_cache_destroy memtb_x: Slab cache still has objects when called from "
        "memtb_exit+0x1c/0x40 [memtb]",
        "[   17.000001] Slab cache still has objects when called from memtb_exit+0x1c/0x40",
        "[   17.000001] slab_common: kmem_cache_destroy memtb_x: refused",
        "[   17.000001] Slab 0x0000000012345678 start 0x0000000087654321 objects=21 used=1 fp=0x00",
    ],
    "memtb-leak": [
        "[   18.000001] memtb: unloaded, 1 pages leaked",
        "[   18.000001] memtb: unloaded, 10 pages leaked",
        "[   18.000001] memtb: unloaded, 100 pages leaked",
        "[   18.000001] memtb: unloaded, -1 pages leaked",
        "[   18.000001] memtb: unloaded, 0",
    ],
    "memtb-planted": [
        "[    1.038101] memtb: heap planted: (____ptrval____) (112 bytes) is free already",
        "[    0.631554] memtb: heap planted: (____ptrval____) is not an object of this heap",
        "[    0.528628] memtb: heap planted: destroyed with 4 live objects, 2 pages stay behind",
        "[    0.528628] memtb: cache planted: destroyed with 4 live objects",
        "[    1.079083] memtb: violation: heap planted, cache -, object 00000000abcdef01: freed, "
        "but not allocated here",
        "[    1.067063] memtb: violation: heap planted: 1 blocks in the list, 1 counted, 0 seams",
    ],
    "memtb": [
        "[    1.038101] memtb: heap default: (____ptrval____) (112 bytes) is free already",
        "[    0.631554] memtb: heap default: (____ptrval____) is not an object of this heap",
        "[    0.528628] memtb: heap h: destroyed with 4 live objects, 2 pages stay behind",
        "[    0.528628] memtb: cache c: destroyed with 1 live objects",
        "[   13.070064] memtb: violation: heap default, cache dentry, object 00000000abcdef01: "
        "not in a page of the heap",
        "[   13.070064] memtb: violation: heap planted2: 1 blocks in the list, 1 counted, 0 seams",
        "[   13.070064] memtb: violation: heap default, cache planted, object 00000000abcdef01: x",
        "[   13.070064] memtb: page list corrupt",
        "[   13.070064] memtb: blocks overlap",
        "[   13.070064] memtb: double free of 00000000abcdef01",
        "[   13.070064] memtb: leaked 1 pages",
        "[   13.070064] memtb: Leaked 12 pages",
    ],
    "module-load": [
        "[    1.900001] memtb_kunit: Unknown symbol memtb_heap_create (err -2)",
        "[    1.900001] memtb: disagrees about version of symbol module_layout",
        "[    1.900001] memtb: no symbol version for module_layout",
        "insmod: ERROR: could not insert module memtb.ko: Invalid module format",
    ],
    "init-died": [
        "[    0.600001] Run /sbin/init as init process",
        "[    0.600001] Failed to execute /init (error -2)",
        "[    0.600001] Attempted to kill init! exitcode=0x0000000b",
    ],
    "call-trace": ["[    1.077338] Call Trace:", "[    1.077338]  Call Trace:",
                   "[    1.077338]   Call Trace:", "[    1.077338] Call Trace: <IRQ>"],
}
CLEAN = [
    "[    0.000000] Linux version 6.1.1 (root@host) (gcc 12.2.0) #1 SMP PREEMPT_DYNAMIC",
    "[    1.200000] memtb: loading out-of-tree module taints kernel.",
    "[    1.200000] memtb_kunit: loading out-of-tree module taints kernel.",
    "[    1.210000] memtb: loaded, backend slob, live takeover",
    "[    1.300000] memtb: live: off, 0 objects are still out",
    "[    1.300000] memtb: live: off, 51234 objects are still out",
    "[    1.310000] memtb: live: drained",
    "[    1.310000] memtb: live: cache dentry stays native (-22)",
    "[    1.400000] memtb: unloaded, 0 pages leaked",
    "[    1.410000] memtb: leaked 0 pages",
    "[    1.210000] memtb: backend=vms: there is none of this name, valid are null, kernel, slob",
    "[    0.100000] Spectre V1 : Mitigation: usercopy/swapgs barriers",
    "[    0.100000] Spectre V2 : WARNING: LFENCE mitigation is not recommended for this CPU",
    "[    0.100000] RETBleed: WARNING: Spectre v2 mitigation leaves CPU vulnerable to RETBleed",
    "[    0.100000] MDS: Vulnerable: WARNING: no microcode",
    "[    0.100000] TAA: WARNING: x",
    "[    0.100000] MMIO Stale Data: WARNING: x",
    "[    0.100000] Speculative Return Stack Overflow: WARNING: x",
    "[    0.100000] L1TF: WARNING: x",
    "[    1.000000] x86/bugs: BUGS in a word are no trouble",
    "[    1.000000] BUGS: none known",
    "[    1.000000] DEBUG: all is well",
    "[    1.000000] a bug: in small letters",
    "[    1.000000] UNWARNING: x",
    "[    1.000000] no WARNINGS: x",
    "[    1.000000] Oops",
    "[    1.000000] Floops: 0002",
    "[    1.000000] rcu: Hierarchical RCU implementation.",
    "[    1.000000] rcu: \tRCU restricting CPUs from NR_CPUS=8 to nr_cpu_ids=2.",
    "[    1.000000] rcu: RCU calculated value of scheduler-enlistment delay is 25 jiffies.",
    "[    1.000000] kmemleak: Kernel memory leak detector initialized (mem pool available: 15712)",
    "[    1.000000] kmemleak: Automatic memory scanning thread started",
    "[    1.000000] kcsan: enabled early",
    "[    0.295395] BUG: KCSAN: data-race in lapic_cal_handler / setup_boot_APIC_clock",
    "[    0.295395] BUG: KCSAN: data-race in tick_nohz_next_event+0x1a/0x40",
    "[    0.295395] BUG: KCSAN: data-race in lapic_cal_handler / setup_boot_APIC_clock",
    "[    1.000000] kfence: initialized - using 2097152 bytes for 255 objects",
    "[    1.000000] Lock dependency validator: Copyright (c) 2006 Red Hat, Inc., Ingo Molnar",
    "[    1.000000] ... MAX_LOCKDEP_ENTRIES:     32768",
    "[    1.000000] Run /init as init process",
    "[    1.000000] SLUB: HWalign=64, Order=0-3, MinObjects=0, CPUs=2, Nodes=1",
    "[    1.000000] the Call Trace: of another",
    "[    1.000000]     ok 1 right_frees_are_no_violation",
    "[    1.000000] # Subtest: list_add",
    "[    2.000000] reboot: Restarting system",
    "",
]
ROWS = [pytest.param(kind, line, id=f"{kind}-{number}")
        for kind, lines in SPLATS.items() for number, line in enumerate(lines)]


def kinds(*lines, **more):
    """The kinds of trouble in a log of these lines."""
    return [splat.kind for splat in console.scan("\n".join(lines).encode(), **more)]


@pytest.mark.parametrize("kind, line", ROWS)
def test_trouble_is_seen_and_named(kind, line):
    assert kinds(line) == [kind]


@pytest.mark.parametrize("line", CLEAN)
def test_a_line_that_only_looks_like_trouble_is_clean(line):
    assert kinds(line) == []


def test_every_kind_has_a_line():
    assert SPLATS.keys() == {kind for kind, _ in console.SPLATS}


@pytest.mark.parametrize("stamp", ["", "[    1.234567] ", "[ 1234.567890] ", "<4>[    1.234567] ",
                                   "[    1.234567][    T1] ", "[    1.234567][   C12] ",
                                   "[    1.234567]"])
def test_a_time_stamp_hides_nothing_and_is_taken_off(stamp):
    splat, = console.scan(f"{stamp}Call Trace:\r\n".encode())
    assert (splat.kind, splat.text) == ("call-trace", "Call Trace:")
    assert kinds(f"{stamp}Spectre V2 : WARNING: x") == []


def test_a_splat_says_where_it_is():
    splat, = console.scan(b"[    0.1] one\n[    0.2] two\n[    0.3] BUG: x\n[    0.4] four\n")
    assert (splat.line_number, splat.text) == (3, "BUG: x")
    assert str(splat) == "bug: console line 3: BUG: x"


def test_all_trouble_is_told_in_its_order():
    assert kinds("x", "BUG: x", "Call Trace:", "y", "UBSAN: x") == ["bug", "call-trace", "ubsan"]


def test_a_line_of_a_mile_is_shown_in_part():
    splat, = console.scan(b"BUG: " + b"x" * 5000)
    assert splat.text == "BUG: " + "x" * 195


@pytest.mark.parametrize("data", [b"\xff\xfe\n[    1.0] BUG: \xff\xc3(\n\xff", b"\0\nBUG: \0",
                                  b"\xf0\x9f\n\rBUG: \x80\r"])
def test_a_bad_byte_hides_nothing(data):
    assert [(splat.kind, splat.line_number) for splat in console.scan(data)] == [("bug", 2)]


@pytest.mark.parametrize("data", [bytes(range(256)) * 9, b"", b"\n\n", b"\xff"])
def test_any_bytes_may_be_scanned(data):
    assert console.scan(data) == []


@pytest.mark.parametrize("kind, line", ROWS)
def test_planted_trouble_covers_for_nothing_else(kind, line):
    hidden = kind in ("memtb-planted", "call-trace")
    assert kinds(line, expected=("planted",)) == ([] if hidden else [kind])


def test_no_trouble_is_expected_unasked():
    assert kinds("memtb: heap planted: x", "Call Trace:") == ["memtb-planted", "call-trace"]


def test_around_planted_trouble_the_rest_stays():
    lines = [*SPLATS["memtb-planted"], *SPLATS["call-trace"], "WARNING: x", *CLEAN, "BUG: x",
             *SPLATS["memtb-planted"]]
    assert kinds(*lines, expected=["planted"]) == ["warning", "bug"]


@pytest.mark.parametrize("text, dead", [
    (b"[    1.5] Kernel panic - not syncing: x\n", True), (b"", False),
    (b"[    1.5] kernel panic is near\n", False), (b"[    1.5] BUG: x\n", False)])
def test_a_dead_kernel_is_told_from_others(text, dead):
    assert console.panicked(text) == dead


def test_unloads_are_counted_page_by_page():
    log = "\n".join(["[    1.0] memtb: unloaded, 0 pages leaked", "[    1.1] memtb: loaded",
                     "[    1.2] memtb: unloaded, 12 pages leaked\r", "unloaded, 3 pages leaked"])
    assert console.unloads(log.encode()) == [0, 12]
    assert console.unloads(b"") == []
