# SPDX-License-Identifier: GPL-2.0
"""The overlay archive of one job: init, lib.sh, the job's settings and its files."""

import shlex
import shutil
from pathlib import Path

from . import cpio, paths
from .errors import MISS, UserError

GUEST = paths.QEMU / "guest"


def environment(job):
    """The text of /memtb/env."""
    values = dict(job.env, MEMTB_JOB=job.job)
    return "".join(f"{name}={shlex.quote(str(value))}\nexport {name}\n"
                   for name, value in sorted(values.items()))


def contents(job):
    """{guest path without leading slash: (bytes, mode)} of everything in the overlay."""
    files = {"/init": GUEST / "init", "/memtb/lib.sh": GUEST / "lib.sh", **job.files,
             "/memtb/env": environment(job).encode()}
    return {str(name).lstrip("/"): _content(source) for name, source in files.items()}


def _content(source):
    if isinstance(source, bytes):
        return source, 0o755 if source.startswith(b"#!") else 0o644
    source = Path(source)
    if not source.is_file():
        raise UserError(f"{source}: no such file, the guest needs it", MISS)
    return source.read_bytes(), 0o755 if source.stat().st_mode & 0o100 else 0o644


def write_overlay(job, path):
    """The archive, the same bytes for the same job."""
    with open(path, "wb") as stream:
        writer, seen = cpio.Writer(stream), set()
        for name, (data, mode) in sorted(contents(job).items()):
            writer.parents(name, seen)
            writer.file(name, data, mode)
        writer.close()


def concatenate(archives, path):
    """QEMU takes one -initrd; the kernel unpacks archives one after the other."""
    with open(path, "wb") as out:
        for archive in archives:
            with open(archive, "rb") as data:
                shutil.copyfileobj(data, out, 1 << 20)
            out.write(b"\0" * (-out.tell() % 512))
