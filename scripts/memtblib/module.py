# SPDX-License-Identifier: GPL-2.0
"""memtb.ko and the modules beside it for one kernel, built in a copy: the checkout stays clean."""

import dataclasses
import re
import shutil
from pathlib import Path

from . import cache, kernel, paths, progress
from .errors import BUILD_FAILED, MISS, UserError

# The places that a module build reads.
SOURCES = ["Kbuild", "module", "kunit"]
SUFFIXES = {".c", ".h", ".S"}


@dataclasses.dataclass(frozen=True)
class ModuleBuild:
    """The built modules of one kernel, and every complaint of compiler and sparse."""

    dir: Path
    warnings: list

    @property
    def memtb_ko(self):
        """The test bed."""
        return self.dir / "memtb.ko"

    @property
    def kunit_ko(self):
        """Its KUnit suites."""
        return self.dir / "memtb_kunit.ko"

    @property
    def cost_ko(self):
        """The instrument behind `memtb cost`."""
        return self.dir / "memtb_cost.ko"

    @property
    def guest_files(self):
        """All of them, where jobs in a guest look for them."""
        return {f"/memtb/{path.name}": path
                for path in (self.memtb_ko, self.kunit_ko, self.cost_ko)}


def source_files(base=paths.CHECKOUT):
    """Every file that determines the modules."""
    found = [base / "Kbuild"]
    for room in SOURCES[1:]:
        found += [path for path in (base / room).rglob("*")
                  if path.suffix in SUFFIXES or path.name in ("Kbuild", "Makefile")]
    return sorted(path for path in found if path.is_file())


def complaints(log_text):
    """The lines of a build log in which a tool complains."""
    wanted = re.compile(r"(\bwarning:|\bWARNING:|\berror:|\bERROR:)")
    return [line for line in log_text.splitlines() if wanted.search(line)]


def build(flavour, w=1, check=False):
    """Build for a KernelBuild, with W= and, for `check`, sparse over every file."""
    files = source_files()
    if paths.CHECKOUT / "Kbuild" not in files:
        raise UserError("no Kbuild in the checkout: nothing to build", MISS)
    key = {"files": cache.hash_files(paths.CHECKOUT, files), "kernel": flavour.key,
           "w": w, "check": check}
    place = cache.entry("module", flavour.name, key,
                        lambda temp: _build(flavour, files, w, check, temp))
    log = (place / "build.log").read_text(encoding="utf-8", errors="replace")
    return ModuleBuild(place / "src", complaints(log))


def _build(flavour, files, w, check, temp):
    copy, log = temp / "src", temp / "build.log"
    for path in files:
        target = copy / path.relative_to(paths.CHECKOUT)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, target)
    command = ["make", "-C", flavour.dir, f"M={copy}", "ARCH=x86_64", f"-j{kernel.jobs()}",
               *kernel.make_arguments()]
    command += [f"W={w}"] if w else []
    command += ["C=2", "CHECK=sparse"] if check else []
    code, _ = progress.run([*command, "modules"], log,
                           f"modules for {flavour.name}" + (" with sparse" if check else ""),
                           env=kernel.make_environment())
    _name_checkout(log, copy)
    if code:
        raise UserError(f"modules for {flavour.name}: build failed\n"
                        + progress.first_errors(log, 20), BUILD_FAILED)


def _name_checkout(log, copy):
    """Complaints shall name the file that the developer edits, not its copy."""
    text = log.read_text(encoding="utf-8", errors="replace")
    log.write_text(text.replace(f"{copy}/", ""), encoding="utf-8")
