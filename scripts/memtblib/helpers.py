# SPDX-License-Identifier: GPL-2.0
"""What the install guest needs besides Debian: the exact clock's module and `timed`."""

import shutil

from . import cache, kernel, paths, progress
from .errors import BUILD_FAILED, UserError

GUEST = paths.QEMU / "guest"
CPUTIME = GUEST / "cputime"
TIMED_FLAGS = ["-O2", "-static", "-Wall", "-Wextra", "-Werror"]


def build(flavour):
    """{guest path: host path} of the helpers, for a KernelBuild."""
    key = {"files": cache.hash_files(GUEST, [*CPUTIME.iterdir(), GUEST / "timed.c"]),
           "kernel": flavour.key, "flags": TIMED_FLAGS, "toolchain": kernel.toolchain()}
    place = cache.entry("helpers", flavour.name, key, lambda temp: _build(flavour, temp))
    return {"/memtb/memtb_cputime.ko": place / "src" / "memtb_cputime.ko",
            "/memtb/timed": place / "timed"}


def _build(flavour, temp):
    log, copy = temp / "build.log", temp / "src"
    shutil.copytree(CPUTIME, copy)
    module = ["make", "-C", flavour.dir, f"M={copy}", "ARCH=x86_64", *kernel.make_arguments(),
              "W=1", "modules"]
    timed = ["gcc", *TIMED_FLAGS, "-o", temp / "timed", GUEST / "timed.c"]
    for command in (module, timed):
        code, _ = progress.run(command, log, f"install guest's helpers for {flavour.name}",
                               env=kernel.make_environment())
        if code:
            raise UserError("install guest's helpers: build failed\n"
                            + progress.first_errors(log, 20), BUILD_FAILED)
