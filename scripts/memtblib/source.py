# SPDX-License-Identifier: GPL-2.0
"""Kernel source: Debian's source package, or a developer's own tree (KDIR=)."""

import functools
import hashlib
import os
import subprocess
from pathlib import Path

from . import cache, progress
from .errors import MISS, UserError

TARBALL = "/usr/src/linux-source-{version}.tar.xz"
UNPACK_S = 45


def kdir():
    """The developer's tree named by the environment, or None."""
    named = os.environ.get("KDIR")
    return Path(named).absolute() if named else None


def linux(version="6.1"):
    """The source tree to build from: KDIR's, else the unpacked Debian package."""
    return check_own(kdir()) if kdir() else debian(version)


def check_own(tree):
    """Refuse what cannot be built out of tree, saying what to do instead."""
    if not ((tree / "Kbuild").is_file() and (tree / "init" / "main.c").is_file()):
        raise UserError(f"KDIR={tree} is not a kernel source tree "
                        "(headers alone are not enough: give the full source)", MISS)
    signs = [".config", "include/config", "arch/x86/include/generated"]
    if any((tree / sign).exists() for sign in signs):
        raise UserError(f"KDIR={tree} was configured in place: keep its .config elsewhere and "
                        f"run 'make -C {tree} mrproper', or name a clean checkout", MISS)
    return tree


def debian(version="6.1"):
    """The unpacked source of the Debian package, whatever KDIR says."""
    tarball = Path(TARBALL.format(version=version))
    if not tarball.is_file():
        raise UserError(f"{tarball} is missing: run scripts/memtb setup", MISS)
    state = tarball.stat()
    key = {"tarball": tarball.name, "bytes": state.st_size, "mtime": int(state.st_mtime)}

    def build(temp):
        command = ["tar", "-xJf", tarball, "-C", temp]
        code, _ = progress.run(command, temp / "unpack.log", f"unpack {tarball.name}",
                               estimate_s=UNPACK_S)
        if code:
            raise UserError(f"cannot unpack {tarball}:\n{progress.tail(temp / 'unpack.log', 5)}",
                            MISS)

    return cache.entry("source", f"linux-{version}", key, build) / f"linux-source-{version}"


@functools.lru_cache(maxsize=None)
def identity(path):
    """What stands for a tree's content in cache keys."""
    path = Path(path)
    if cache.root() in path.parents:
        return path.parent.name
    return _fingerprint(path)


def _fingerprint(tree):
    """Names, sizes and dates of all files: a second for a whole kernel tree."""
    digest = hashlib.sha256(str(tree).encode())
    for place, dirs, files in os.walk(tree):
        dirs[:] = sorted(name for name in dirs if name != ".git")
        for name in sorted(files):
            state = os.lstat(os.path.join(place, name))
            digest.update(f"{place}/{name}\0{state.st_size}\0{state.st_mtime_ns}\n".encode())
    return digest.hexdigest()[:24]


def version(tree):
    """'6.1.192' of a source tree."""
    result = subprocess.run(["make", "-s", "-C", str(tree), "kernelversion"],
                            capture_output=True, text=True, check=False)
    return result.stdout.strip() or "unknown"
