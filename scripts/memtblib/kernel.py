# SPDX-License-Identifier: GPL-2.0
"""Guest kernels: fragments to configuration to vmlinux, cached, one entry per flavour."""

import dataclasses
import os
import re
import subprocess
from pathlib import Path

from . import cache, paths, progress, source
from .errors import BUILD_FAILED, MISS, UserError

# In every flavour; the order is that of the merged file, it has no meaning otherwise.
COMMON = ["base", "x86_64"]
FULL = COMMON + ["slub", "fs", "net-nfs", "takeover", "test"]


@dataclasses.dataclass(frozen=True)
class Flavour:
    """What one kernel is made from. `steps` and `cpu_s` feed the first time estimate."""

    fragments: list
    smp: bool
    steps: int
    cpu_s: int
    # What QEMU boots, under the build directory: an ELF kernel is entered by PVH.
    image: str = "vmlinux"


FLAVOURS = {
    "x86_64-up": Flavour(FULL + ["measure", "up"], False, 1420, 950),
    "x86_64-smp": Flavour(FULL + ["measure", "smp"], True, 1436, 950),
    "x86_64-smp-lockdep": Flavour(FULL + ["smp", "lockdep", "numa"], True, 1500, 1100),
    # PVH's way in runs before KASAN has its shadow; that of a bzImage sets it up first.
    "x86_64-smp-kasan": Flavour(COMMON + ["smp", "test", "kasan"], True, 1180, 800,
                                image="arch/x86/boot/bzImage"),
    "x86_64-smp-kcsan": Flavour(COMMON + ["smp", "test", "kcsan"], True, 1180, 800,
                                image="arch/x86/boot/bzImage"),
    # The kernel's own SLAB and SLOB, for fidelity and cost beside them; never taken over.
    "x86_64-up-slab": Flavour(COMMON + ["measure", "up", "test", "slab"], False, 1160, 700),
    "x86_64-smp-slab": Flavour(COMMON + ["measure", "smp", "test", "slab"], True, 1180, 700),
    "x86_64-up-slob": Flavour(COMMON + ["measure", "up", "test", "slob"], False, 1160, 700),
}


@dataclasses.dataclass(frozen=True)
class KernelBuild:
    """A built kernel; `dir` is the O= directory that external modules build against."""

    name: str
    key: str
    dir: Path
    source: Path
    smp: bool

    @property
    def cpus(self):
        """Processors of a guest, unless a job wants more: two show what SMP breaks."""
        return 2 if self.smp else 1

    @property
    def max_cpus(self):
        """What the kernel can use."""
        if not self.smp:
            return 1
        values = parse_config(self.config.read_text(encoding="utf-8"))
        return int(values["CONFIG_NR_CPUS"])

    @property
    def vmlinux(self):
        """The ELF kernel: what disassembly reads."""
        return self.dir / "vmlinux"

    @property
    def image(self):
        """What QEMU boots."""
        return self.dir / FLAVOURS[self.name].image

    @property
    def config(self):
        """The configuration that came out."""
        return self.dir / ".config"

    @property
    def wanted(self):
        """The merged fragments: the configuration asked for."""
        return self.dir.parent / "wanted.config"

    @property
    def release(self):
        """uname -r of the guest."""
        return (self.dir / "include/config/kernel.release").read_text(encoding="ascii").strip()


def names(fragment="base"):
    """The flavours that have a fragment; "takeover" those whose kernel memtb can take over."""
    return [name for name, facts in FLAVOURS.items() if fragment in facts.fragments]


def jobs():
    """Processors that this process may use; MEMTB_JOBS says otherwise."""
    return int(os.environ.get("MEMTB_JOBS") or len(os.sched_getaffinity(0)))


def parse_config(text):
    """{symbol: value}, with 'n' for '# CONFIG_X is not set'."""
    values = {}
    for line in text.splitlines():
        assigned = re.match(r"(CONFIG_\w+)=(.*)$", line)
        unset = re.match(r"# (CONFIG_\w+) is not set$", line)
        if assigned:
            values[assigned.group(1)] = assigned.group(2)
        elif unset:
            values[unset.group(1)] = "n"
    return values


def merge_fragments(files):
    """The text of all fragments; two that contradict each other are an error."""
    merged, origin = {}, {}
    for path in files:
        for symbol, value in parse_config(path.read_text(encoding="utf-8")).items():
            if merged.get(symbol, value) != value:
                raise UserError(f"{path.name}: {symbol}={value}, but {origin[symbol]} "
                                f"says {merged[symbol]}", MISS)
            merged[symbol], origin[symbol] = value, path.name
    lines = [f"# {symbol} is not set" if value == "n" else f"{symbol}={value}"
             for symbol, value in merged.items()]
    return "\n".join(lines) + "\n"


def dropped(wanted, got):
    """Lines on every symbol that Kconfig did not set as asked."""
    have = parse_config(got)
    return [f"{symbol}: wanted {value}, got {have.get(symbol, 'n')}"
            for symbol, value in parse_config(wanted).items()
            if have.get(symbol, "n") != value]


def toolchain(llvm=None):
    """The first --version line of each tool that makes the bits."""
    tools = ["clang", "ld.lld"] if llvm else ["gcc", "ld", "as"]
    lines = []
    for tool in tools:
        result = subprocess.run([tool, "--version"], capture_output=True, text=True, check=False)
        lines += result.stdout.splitlines()[:1]
    return lines


def make_arguments():
    """Variables for every kernel make: fixed names for equal binaries, ccache, pass-through."""
    llvm = os.environ.get("LLVM", "")
    compiler = "clang" if llvm else "gcc"
    words = ["KBUILD_BUILD_TIMESTAMP=2020-01-01", "KBUILD_BUILD_USER=memtb",
             "KBUILD_BUILD_HOST=memtb", "KBUILD_BUILD_VERSION=1", "LOCALVERSION=",
             f"CC=ccache {compiler}", f"HOSTCC=ccache {compiler}"]
    words += [f"{name}={os.environ[name]}" for name in ("LLVM", "V") if os.environ.get(name)]
    return words


def make_environment():
    """The caller's environment without what would leak into a kernel build."""
    leaks = ("KDIR", "O", "M", "W", "C", "V", "LLVM", "ARCH", "CROSS_COMPILE", "MAKEFLAGS",
             "MFLAGS", "MAKELEVEL", "KCFLAGS", "KCPPFLAGS", "KAFLAGS", "KBUILD_OUTPUT",
             "KBUILD_CHECKSRC", "KBUILD_EXTRA_WARN", "KBUILD_MODPOST_WARN", "KCONFIG_CONFIG",
             "KCONFIG_ALLCONFIG", "CHECK")
    env = {name: value for name, value in os.environ.items() if name not in leaks}
    env.update(CCACHE_DIR=str(cache.root() / "ccache"), LC_ALL="C")
    return env


def fragment_files(name):
    """The fragments of a flavour."""
    return [paths.QEMU / "kernel" / f"{part}.config" for part in FLAVOURS[name].fragments]


def flavour(name, kdir=None):
    """The kernel of a flavour, built when it is not in the cache."""
    if name not in FLAVOURS:
        raise UserError(f"no kernel flavour '{name}' (choose from {', '.join(FLAVOURS)})", MISS)
    tree = source.check_own(Path(kdir).absolute()) if kdir else source.linux()
    wanted = merge_fragments(fragment_files(name))
    key = {"source": source.identity(tree), "config": wanted,
           "toolchain": toolchain(os.environ.get("LLVM"))}
    if FLAVOURS[name].image != "vmlinux":
        key["image"] = FLAVOURS[name].image
    place = cache.entry("kernel", name, key, lambda temp: _build(name, tree, wanted, temp))
    return KernelBuild(name, place.name.rsplit("-", 1)[1], place / "build", tree,
                       FLAVOURS[name].smp)


def configure(tree, out, wanted_file, log, title):
    """allnoconfig with the fragments; fails when Kconfig dropped anything."""
    env = dict(make_environment(), KCONFIG_ALLCONFIG=str(wanted_file))
    command = ["make", "-C", tree, f"O={out}", "ARCH=x86_64", *make_arguments(), "allnoconfig"]
    code, _ = progress.run(command, log, f"{title}: configure", env=env)
    if code:
        raise UserError(f"{title}: configuration failed\n{progress.first_errors(log)}",
                        BUILD_FAILED)
    missing = dropped(wanted_file.read_text(encoding="utf-8"),
                      (out / ".config").read_text(encoding="utf-8"))
    if missing:
        raise UserError(f"{title}: Kconfig dropped what the fragments ask for:\n  "
                        + "\n  ".join(missing), BUILD_FAILED)


def _build(name, tree, wanted, temp):
    out, log, title = temp / "build", temp / "build.log", f"kernel {name}"
    out.mkdir()
    (temp / "wanted.config").write_text(wanted, encoding="utf-8")
    try:
        configure(tree, out, temp / "wanted.config", log, title)
        _compile(name, tree, out, log, title)
    except UserError:
        _keep_log(log, name)
        raise
    _trim(out)


def _compile(name, tree, out, log, title):
    facts = FLAVOURS[name]
    past = cache.read_note(f"kernel-{name}", {})
    command = ["make", "-C", tree, f"O={out}", "ARCH=x86_64", f"-j{jobs()}",
               *make_arguments(), "vmlinux", Path(facts.image).name, "modules"]
    code, seen = progress.run(command, log, title, past.get("steps", facts.steps),
                              estimate_s=facts.cpu_s / jobs(), env=make_environment())
    if code:
        raise UserError(f"{title}: build failed (log: {_kept_log(name)})\n"
                        + progress.first_errors(log), BUILD_FAILED)
    cache.write_note(f"kernel-{name}", {"steps": seen})


def _kept_log(name):
    return cache.root() / "failed" / f"kernel-{name}.log"


def _keep_log(log, name):
    """The temporary directory goes; its log is what the user wants to read."""
    _kept_log(name).parent.mkdir(parents=True, exist_ok=True)
    _kept_log(name).write_bytes(log.read_bytes() if log.exists() else b"")


def _trim(out):
    """Drop objects that nobody reads any more; module builds need scripts/ and tools/ whole."""
    keep = {out / "scripts", out / "tools", out / "include"}
    for place, dirs, files in os.walk(out):
        dirs[:] = [name for name in dirs if Path(place) / name not in keep]
        for name in files:
            if name.endswith((".o", ".a", ".cmd", ".order")) and name != "modules.order":
                os.unlink(os.path.join(place, name))
