# SPDX-License-Identifier: GPL-2.0
"""Guest user lands as cpio archives: busybox alone, and a small Debian for the install load."""

import subprocess
from pathlib import Path

from . import cache, cpio
from .errors import MISS, UserError

BUSYBOX = Path("/bin/busybox")
DIRECTORIES = ["bin", "sbin", "usr", "usr/bin", "usr/sbin", "dev", "proc", "sys", "tmp", "etc",
               "mnt", "root", "run", "var", "lib", "lib/modules"]
# The kernel opens /dev/console before anybody can mount devtmpfs.
DEVICES = [("dev/console", 5, 1), ("dev/null", 1, 3)]


def busybox():
    """A cpio with static busybox at /bin/busybox and a link for each of its applets."""
    if not BUSYBOX.is_file():
        raise UserError("busybox is missing: run scripts/memtb setup", MISS)
    key = {"busybox": cache.hash_files(BUSYBOX.parent, [BUSYBOX]), "layout": DIRECTORIES}
    return cache.entry("rootfs", "busybox", key, _build_busybox) / "busybox.cpio"


def _applets():
    result = subprocess.run([BUSYBOX, "--list-full"], capture_output=True, text=True, check=True)
    return sorted(result.stdout.split())


def _build_busybox(temp):
    with open(temp / "busybox.cpio", "wb") as stream:
        writer = cpio.Writer(stream)
        for name in DIRECTORIES:
            writer.directory(name, 0o1777 if name == "tmp" else 0o755)
        for name, major, minor in DEVICES:
            writer.device(name, major, minor)
        writer.file("bin/busybox", BUSYBOX.read_bytes(), 0o755)
        for name in _applets():
            if name != "bin/busybox" and name.rsplit("/", 1)[0] in DIRECTORIES:
                writer.symlink(name, "/bin/busybox")
        writer.close()
