# SPDX-License-Identifier: GPL-2.0
"""The splat scan: lines of a kernel log after which no run may pass.

A pattern names the trouble; the allow-list names the few lines that look like trouble
and are not. Both are matched against the text behind printk's time stamp.
"""

import dataclasses
import re

STAMP = re.compile(r"^(?:<\d+>)?\[\s*\d+\.\d+\](?:\[\s*[TC]\d+\])?\s?")

# (kind, expression); the first match names the line. Oops-like kinds come first.
SPLATS = [(kind, re.compile(text)) for kind, text in (
    ("panic", r"Kernel panic - not syncing"),
    ("kasan", r"BUG: KASAN: "),
    ("kcsan", r"BUG: KCSAN: "),
    ("kfence", r"BUG: KFENCE: "),
    ("kmsan", r"BUG: KMSAN: "),
    ("kmemleak", r"kmemleak: \d+ new suspected memory leaks"),
    ("lockup", r"BUG: (soft lockup|workqueue lockup)|watchdog: BUG: |hard LOCKUP"),
    ("atomic-sleep", r"BUG: (sleeping function called|scheduling while atomic)"),
    ("bug", r"\bBUG: |kernel BUG at |BUG \S+ \((Tainted|Not tainted)"),
    ("oops", r"\bOops: |\bOops\b.*#\d|Unable to handle kernel|kernel NULL pointer dereference"),
    ("oops", r"general protection fault|invalid opcode: |stack segment: |double fault"
             r"|int3: 0000|divide error: |PANIC: |kernel stack overflow"),
    ("lockdep", r"(possible|INFO: possible) (circular|recursive|irq lock|unsafe locking)"
                r"|WARNING: (possible|suspicious|bad unlock|inconsistent|Nested lock"
                r"|HARDIRQ|SOFTIRQ|held lock freed|lock held)"
                r"|BUG: (looking up invalid|MAX_LOCK|MAX_STACK)|INFO: trying to register non-static"
                r"|turning off the locking correctness"),
    ("rcu-stall", r"rcu: INFO: .*(stall|detected)|rcu_\w+ kthread (starved|timer wakeup)"
                  r"|INFO: rcu_\w+ (self-)?detected|suspicious RCU usage"),
    ("hung-task", r"INFO: task .+ blocked for more than"),
    ("ubsan", r"UBSAN: "),
    ("warning", r"\bWARNING: |------------\[ cut here \]------------"),
    ("page-allocator", r"page allocation failure|BUG: Bad (page|rss)|Bad page (state|map)"
                       r"|nonzero _refcount|nonzero mapcount|page dumped because"),
    ("oom", r"invoked oom-killer|Out of memory: "),
    ("list", r"list_(add|del) corruption|refcount_t: (underflow|overflow|addition|saturated)"),
    ("slab", r"Slab .* start .* fp=|Objects remaining in|Slab cache still has objects"
             r"|kmem_cache_destroy .*: "),
    ("memtb-leak", r"memtb: unloaded, (?!0 pages leaked)"),
    # Names that tests give to what they break on purpose: MEMTB_PLANTED in kunit/.
    ("memtb-planted", r"memtb: (violation: )?(heap|cache) planted\b"),
    ("memtb", r"memtb: .*(violation:|is free already|is not an object|live objects|corrupt"
              r"|overlap|double free|[Ll]eaked (?!0))"),
    ("module-load", r"Invalid module format|Unknown symbol|disagrees about version"
                    r"|no symbol version"),
    ("init-died", r"Attempted to kill init|Run /sbin/init as init|Failed to execute /init"),
    ("call-trace", r"^Call Trace:|^ *Call Trace:$"),
)]

ALLOWED = [re.compile(text) for text in (
    # Emulated processors lack what these mitigations want; nothing here needs them.
    r"^(Spectre|MDS|TAA|MMIO|RETBleed|Speculative Return Stack Overflow|L1TF)\b.*",
    # Races of the kernel with itself; what memtb has a part in has its name.
    r"^BUG: KCSAN: data-race in (?!.*\[memtb)",
)]

# What a class of expected trouble takes out. A violation comes with a call trace; no real
# splat consists of a trace alone, so that no other is lost with it.
EXPECTED = {"planted": {"memtb-planted", "call-trace"}}


@dataclasses.dataclass(frozen=True)
class Splat:
    """One line of trouble."""

    kind: str
    line_number: int
    text: str

    def __str__(self):
        return f"{self.kind}: console line {self.line_number}: {self.text}"


def kind_of(text):
    """The kind of trouble in one line without its stamp, or None."""
    if any(pattern.search(text) for pattern in ALLOWED):
        return None
    return next((kind for kind, pattern in SPLATS if pattern.search(text)), None)


def scan(data, expected=()):
    """All splats of a console log given as bytes; `expected` names classes to leave out."""
    ignored = set().union(*(EXPECTED[name] for name in expected))
    found = []
    for number, raw in enumerate(data.split(b"\n"), 1):
        text = STAMP.sub("", raw.decode("utf-8", errors="replace").rstrip("\r"))
        kind = kind_of(text)
        if kind and kind not in ignored:
            found.append(Splat(kind, number, text[:200]))
    return found


def panicked(data):
    """Whether the kernel said that it is dead."""
    return b"Kernel panic - not syncing" in data


def unloads(data):
    """Leaked pages of each unload of memtb.ko, in order."""
    return [int(count) for count in re.findall(rb"memtb: unloaded, (\d{1,18}) pages leaked", data)]
