# SPDX-License-Identifier: GPL-2.0
"""The archives: the same bytes for the same content, whatever the host's dates."""

import io
import os
import subprocess

from memtblib import cpio, rootfs


def pack(root, **more):
    """The archive of a directory."""
    stream = io.BytesIO()
    cpio.pack_tree(root, stream, **more)
    return stream.getvalue()


def tree(place, order):
    """A small tree, its files made in the given order."""
    place.mkdir()
    for name in order:
        (place / name).parent.mkdir(exist_ok=True)
        (place / name).write_text(name)
    (place / "link").symlink_to("b")
    (place / "b").chmod(0o755)
    return place


def test_same_content_same_bytes(tmp_path):
    one = tree(tmp_path / "1", ["a", "b", "d/c"])
    two = tree(tmp_path / "2", ["d/c", "b", "a"])
    (two / "b").chmod(0o4775)
    (one / "d").chmod(0o700 | 0o070)
    (two / "d").chmod(0o750)
    os.utime(two / "a", (2_000_000_000, 2_000_000_000))
    assert pack(one) == pack(two)


def test_cpio_reads_it_back(tmp_path):
    blob = pack(tree(tmp_path / "1", ["a", "b", "d/c"]), devices=[("console", 5, 1)])
    listed = subprocess.run(["cpio", "-itv", "--quiet"], input=blob, capture_output=True,
                            check=True).stdout.decode()
    assert "crw-------   1 root     root       5,   1" in listed
    assert "link -> b" in listed and "-rwxr-xr-x   1 root     root            1" in listed


def test_archives_can_be_concatenated(tmp_path):
    assert len(pack(tree(tmp_path / "1", ["a", "b"]))) % 512 == 0


def test_busybox_has_a_shell(own_cache):
    blob = rootfs.busybox().read_bytes()
    listed = subprocess.run(["cpio", "-itv", "--quiet"], input=blob, capture_output=True,
                            check=True).stdout.decode()
    assert "bin/sh -> /bin/busybox" in listed and "dev/console" in listed


def test_manifests_hold_words_only():
    names = rootfs.read_list(rootfs.paths.QEMU / "rootfs" / "install.list")
    assert "make" in names and all(" " not in name and "#" not in name for name in names)
