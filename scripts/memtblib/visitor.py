# SPDX-License-Identifier: GPL-2.0
"""The small modules that come and go in the smoke test, built for one kernel and cached."""

import shutil

from . import cache, kernel, paths, progress
from .errors import BUILD_FAILED, UserError

SOURCE = paths.QEMU / "guest" / "visitor"
NAMES = ("memtb_visitor.ko", "memtb_visitor_user.ko")


def build(flavour):
    """{file name: path} of the modules."""
    files = [path for path in SOURCE.iterdir() if path.suffix in (".c", ".h", "")]
    key = {"files": cache.hash_files(SOURCE, files), "kernel": flavour.key}
    place = cache.entry("visitor", flavour.name, key, lambda temp: _build(flavour, files, temp))
    return {name: place / "src" / name for name in NAMES}


def _build(flavour, files, temp):
    copy, log = temp / "src", temp / "build.log"
    copy.mkdir()
    for path in files:
        shutil.copyfile(path, copy / path.name)
    command = ["make", "-C", flavour.dir, f"M={copy}", "ARCH=x86_64",
               *kernel.make_arguments(), "W=1", "modules"]
    code, _ = progress.run(command, log, f"smoke test's modules for {flavour.name}",
                           env=kernel.make_environment())
    if code:
        raise UserError(f"smoke test's modules for {flavour.name}: build failed\n"
                        + progress.first_errors(log, 20), BUILD_FAILED)
