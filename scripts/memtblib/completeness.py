# SPDX-License-Identifier: GPL-2.0
"""Does the takeover miss a way into the native allocator? Asked of the binary.

A hook sits at the entry of a function, so a call of the function is always led
through it. What escapes is a copy of the function's body that the compiler inlined
elsewhere. In SLUB every such copy, fast path or not, ends in a call of one of few
inner functions; so each caller of an inner function has to be a hooked entry point,
or an inner function itself. The callers come from the disassembly of vmlinux.
"""

import collections
import dataclasses
import re
import struct
import subprocess

from . import cache, paths, progress
from .errors import MISS, UserError

# Raised when what `calls()` stores changes.
FORMAT = 2
DISASSEMBLE_S = 60

# mm/slub.c and mm/slab_common.c of 6.1. What lies below these (get_partial, new_slab,
# discard_slab ...) is static, and has no way in but through them.
INNER = {
    "slab_alloc_node": "the allocation, in every entry point",
    "slab_alloc": "slab_alloc_node without a node",
    "__slab_alloc": "slow path behind every inlined slab_alloc_node",
    "___slab_alloc": "slow path behind every inlined slab_alloc_node",
    "__kmem_cache_alloc_lru": "kmem_cache_alloc and kmem_cache_alloc_lru",
    "__kmem_cache_alloc_bulk": "kmem_cache_alloc_bulk",
    "slab_free": "the free, in every entry point",
    "do_slab_free": "slab_free behind its checks",
    "__slab_free": "slow path behind every inlined slab_free",
    "free_to_partial_list": "slow path of debugging caches",
    "build_detached_freelist": "kmem_cache_free_bulk, one slab's worth",
    "__kmem_cache_free": "kfree of a slab object",
    "___cache_free": "late free out of KASAN's quarantine",
    "free_large_kmalloc": "kfree of what is not a slab object: ours would end there",
}

# mm/slub.c frees the nodes of a cache through a partly inlined kmem_cache_free(). That is
# harmless as long as the takeover leaves this one cache native, so its source has to name it.
NATIVE_CACHE = "kmem_cache_node"
NODE_OWNERS = {"free_kmem_cache_nodes", "init_kmem_cache_nodes", "kmem_cache_open",
               "__kmem_cache_create", "__kmem_cache_release", "early_kmem_cache_node_alloc"}

# Functions that look into the slab of an object: hooked wherever the kernel has them.
LOOKING = {
    "__ksize": "the size comes from the slab",
    "__check_heap_object": "hardened usercopy looks into the slab",
}

# Their callers in the same file could have got a copy inlined that calls nothing.
MUST_CALL = {
    "ksize": {"__ksize"},
    "__do_krealloc": {"ksize", "__ksize"},
    "krealloc": {"ksize", "__ksize", "__do_krealloc"},
    "kfree_sensitive": {"ksize", "__ksize"},
}

CLONE = re.compile(r"\.(constprop|isra|part|localalias|lto_priv|llvm)(\.\d+)*")
FUNCTION = re.compile(r"^[0-9a-f]+ <([^>]+)>:$")
BRANCH = re.compile(r"\s(call|j[a-z]+)\s+(?:[0-9a-f]+) <([^>+]+)(\+0x[0-9a-f]+)?>$")
REFERENCE = re.compile(r"(?:# |\$0x)([0-9a-f]{8,16})(?: <([^>+]+)>)?$")


@dataclasses.dataclass(frozen=True)
class Call:
    """A direct branch from one function into another, or the taking of an address."""

    caller: str
    callee: str
    kind: str       # call, mid (into the middle) or address


def base(symbol):
    """The function that a clone was made from; a cold part is the function itself."""
    return CLONE.sub("", symbol.removesuffix(".cold")).removesuffix(".cold")


def whole(symbol):
    """The symbol without .cold: a cold part is no function of its own."""
    return symbol.removesuffix(".cold")


def parse(lines, addresses=None):
    """Every Call in a disassembly. `addresses` ({address: symbol}) are those looked for
    in operands that are no branches."""
    found, caller = set(), None
    for line in lines:
        if line.endswith(">:\n"):
            caller = whole(FUNCTION.match(line.rstrip("\n")).group(1))
            continue
        line = line.split("\t", 2)[-1].rstrip()
        branch = BRANCH.search(" " + line) if line.endswith(">") else None
        if branch:
            callee = whole(branch.group(2))
            if callee != caller:
                kind = "mid" if branch.group(3) else "call"
                found.add(Call(caller, callee, kind))
        elif addresses:
            operand = REFERENCE.search(line.split(",", 1)[0] if "$0x" in line else line)
            symbol = operand and addresses.get(int(operand.group(1), 16))
            if symbol and symbol != caller:
                found.add(Call(caller, symbol, "address"))
    return found


def sites(lines):
    """Functions whose first instruction (behind an endbr) is an ftrace site."""
    traced, symbol, first = set(), None, False
    for line in lines:
        if line.endswith(">:\n"):
            symbol, first = FUNCTION.match(line.rstrip("\n")).group(1), True
        elif first and "\t" in line and "endbr" not in line:
            if "<__fentry__>" in line or "nopl   0x0(%rax,%rax,1)" in line:
                traced.add(symbol)
            first = False
    return traced


def hooked_symbols(text):
    """The entry points in the table of module/live/hooks.c."""
    return set(re.findall(r"^\s+MEMTB_HOOK\((\w+),", text, re.M))


def read_hooks():
    """The hook table of this checkout."""
    path = paths.CHECKOUT / "module" / "live" / "hooks.c"
    if not path.is_file():
        raise UserError("module/live/hooks.c is missing: nothing to check", MISS)
    found = hooked_symbols(path.read_text(encoding="utf-8"))
    if not found:
        raise UserError("module/live/hooks.c has no MEMTB_HOOK(symbol, ...) lines", MISS)
    return found


def keeps_nodes_native():
    """Does the takeover's source name the cache that has to stay native?"""
    return any(f'"{NATIVE_CACHE}"' in path.read_text(encoding="utf-8")
               for path in (paths.CHECKOUT / "module" / "live").glob("*.c"))


def allowed(call, nodes_native):
    """May this call be there though its caller is not hooked?"""
    return (nodes_native and base(call.caller) in NODE_OWNERS
            and base(call.callee) == "kmem_cache_free" and call.kind == "call")


def is_inner(symbol, hooked):
    """An inner function, a clone of one, or a clone of a hooked one (it has no hook)."""
    return base(symbol) in INNER or (symbol not in hooked and base(symbol) in hooked)


def escapes(calls, traced, functions, hooked, nodes_native=False):
    """One line for each way past the hooks."""
    found = []
    for call in sorted(calls, key=dataclasses.astuple):
        if not is_inner(call.callee, hooked) or allowed(call, nodes_native):
            continue
        if call.kind == "address":
            found.append(f"{call.caller} takes the address of {call.callee}")
        elif call.caller not in hooked and not is_inner(call.caller, hooked):
            found.append(f"{call.caller} calls {call.callee}")
    found += [f"{symbol} has no ftrace site" for symbol in sorted(hooked - traced)
              if symbol in functions]
    found += [f"{symbol} is not in this kernel" for symbol in sorted(hooked - functions)]
    found += [f"{symbol} is not hooked ({why})" for symbol, why in LOOKING.items()
              if symbol in functions and symbol not in hooked]
    return found + inlined_lookers(calls, functions)


def inlined_lookers(calls, functions):
    """Functions that must call a looking one and do not: they got a copy of it."""
    callees = collections.defaultdict(set)
    for call in calls:
        callees[base(call.caller)].add(base(call.callee))
    return [f"{symbol} calls none of {', '.join(sorted(wanted))}: a copy was inlined"
            for symbol, wanted in MUST_CALL.items()
            if symbol in functions and not callees[symbol] & wanted]


# ---- a real vmlinux ----

def symbols(vmlinux):
    """{symbol: address} of all text symbols, and the borders of the ftrace site table."""
    result = subprocess.run(["nm", vmlinux], capture_output=True, text=True, check=True)
    table = {}
    for line in result.stdout.splitlines():
        words = line.split()
        if len(words) == 3 and (words[1] in "tTwW" or words[2].endswith("_mcount_loc")):
            table[words[2]] = int(words[0], 16)
    return table


def data_sections(vmlinux):
    """(name, address, bytes) of each loaded section that holds no code."""
    blob = vmlinux.read_bytes()
    offset, = struct.unpack_from("<Q", blob, 0x28)
    size, count, strings = struct.unpack_from("<HHH", blob, 0x3a)
    heads = [struct.unpack_from("<IIQQQQ", blob, offset + size * index)
             for index in range(count)]
    for name, kind, flags, address, start, length in heads:
        # SHT_PROGBITS, SHF_ALLOC, not SHF_EXECINSTR
        if kind == 1 and flags & 2 and not flags & 4:
            label = blob[heads[strings][4] + name:].split(b"\0", 1)[0].decode()
            yield label, address, blob[start:start + length]


def stored_addresses(vmlinux, table):
    """Calls for inner functions' addresses that lie in data (tables of function pointers)."""
    low, high = table.get("__start_mcount_loc", 0), table.get("__stop_mcount_loc", 0)
    found = set()
    sections = list(data_sections(vmlinux))
    for symbol, address in table.items():
        if base(symbol) not in INNER:
            continue
        needle = struct.pack("<Q", address)
        for label, start, data in sections:
            at = data.find(needle)
            while at >= 0:
                if not low <= start + at < high:
                    found.add(Call(f"data in {label}", symbol, "address"))
                at = data.find(needle, at + 1)
    return found


def _disassembly(vmlinux):
    command = ["objdump", "-d", "--no-show-raw-insn", "-w", str(vmlinux)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        yield from process.stdout
    if process.returncode:
        raise UserError(f"objdump failed on {vmlinux}", MISS)


def _tee(lines, function, result):
    """Feed `function` the first lines of each function on the way through."""
    window = []
    for line in lines:
        if line.endswith(">:\n"):
            result |= function(window)
            window = []
        if len(window) < 4:
            window.append(line)
        yield line
    result |= function(window)


def _scan(vmlinux, temp):
    table = symbols(vmlinux)
    inner = {address: symbol for symbol, address in table.items() if base(symbol) in INNER}
    traced = set()
    with progress.Progress(f"disassemble {vmlinux.parent.parent.name}", DISASSEMBLE_S) as shown:
        lines = _ticking(_tee(_disassembly(vmlinux), sites, traced), shown)
        found = parse(lines, inner) | stored_addresses(vmlinux, table)
    rows = [f"{call.kind} {call.caller.replace(' ', '_')} {call.callee}" for call in found]
    rows += [f"site {symbol}" for symbol in traced]
    rows += [f"function {symbol}" for symbol in table]
    (temp / "calls").write_text("\n".join(sorted(rows)) + "\n", encoding="utf-8")


def _ticking(lines, shown):
    for number, line in enumerate(lines):
        if number % 20000 == 0:
            shown.update()
        yield line


def scan(kernel_build):
    """(calls, traced, functions) of a kernel, from the cache after the first time."""
    key = {"kernel": kernel_build.key, "format": FORMAT, "inner": sorted(INNER)}
    place = cache.entry("calls", kernel_build.name, key,
                        lambda temp: _scan(kernel_build.vmlinux, temp))
    calls, traced, functions = set(), set(), set()
    for row in (place / "calls").read_text(encoding="utf-8").splitlines():
        kind, *names = row.split()
        if kind == "site":
            traced.add(names[0])
        elif kind == "function":
            functions.add(names[0])
        else:
            calls.add(Call(*names, kind))
    return calls, traced, functions


def check(kernel_build, hooked=None):
    """(escapes, inner calls seen) for a kernel. No inner call at all is no verdict."""
    hooked = hooked or read_hooks()
    calls, traced, functions = scan(kernel_build)
    seen = [call for call in calls if is_inner(call.callee, hooked)]
    if not seen:
        raise UserError(f"{kernel_build.name}: no call of an inner function of SLUB found: "
                        "the names have changed, or the kernel has another allocator", MISS)
    return escapes(calls, traced, functions, hooked, keeps_nodes_native()), seen
