# SPDX-License-Identifier: GPL-2.0
"""The archives: the same bytes for the same content, whatever the host's dates."""

import io
import os
import subprocess

import pytest

from memtblib import cpio, rootfs
from memtblib.errors import BUILD_FAILED, UserError


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


@pytest.mark.parametrize("backwards", [False, True])
def test_the_order_of_the_host_does_not_count(tmp_path, monkeypatch, backwards):
    place = tree(tmp_path / "1", ["e/x", "e/y", "b", "c/x", "a", "d/y", "d/x"])
    walk = os.walk

    def ordered(root):
        for room, dirs, files in walk(root):
            dirs.sort(reverse=backwards)
            files.sort(reverse=backwards)
            yield room, dirs, files
    before = pack(place)
    monkeypatch.setattr(os, "walk", ordered)
    assert pack(place) == before
    listed = subprocess.run(["cpio", "-it", "--quiet"], input=before, capture_output=True,
                            check=True).stdout.decode().split()
    assert listed == ["a", "b", "c", "d", "e", "link", "c/x", "d/x", "d/y", "e/x", "e/y"]


def test_dates_are_kept_only_when_that_is_asked_for(tmp_path):
    place = tree(tmp_path / "1", ["a", "b"])
    before = pack(place), pack(place, keep_mtime=True)
    os.utime(place / "a", (cpio.EPOCH + 1000,) * 2)
    assert pack(place) == before[0] and pack(place, keep_mtime=True) != before[1]
    os.utime(place / "a", (cpio.EPOCH - 1000,) * 2)
    assert pack(place) != before[0]


def test_no_busybox_says_what_to_run(tmp_path, monkeypatch):
    monkeypatch.setattr(rootfs, "BUSYBOX", tmp_path / "busybox")
    with pytest.raises(UserError, match="memtb setup"):
        rootfs.busybox()


def test_a_failed_mmdebstrap_says_why(own_cache, monkeypatch):
    def run(_command, log, _title, **_more):
        log.write_text("E: no such package\n")
        return 1, 0
    monkeypatch.setattr(rootfs.progress, "run", run)
    monkeypatch.setattr(rootfs.setup, "codename", lambda: "bookworm")
    with pytest.raises(UserError, match="E: no such package") as caught:
        rootfs.install()
    assert caught.value.code == BUILD_FAILED


@pytest.fixture(name="bootstrapped")
def _bootstrapped(monkeypatch, own_cache):
    """The names and contents in the install archive made from a pretended mmdebstrap."""
    said = []

    def run(command, _log, _title, **_more):
        said.extend(map(str, command))
        root = rootfs.Path(command[-2])
        for name in ("usr/bin/mawk", "usr/share/doc/x/copyright", "etc/fstab", "etc/mtab"):
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text("host")
        return 0, 0
    monkeypatch.setattr(rootfs.progress, "run", run)
    monkeypatch.setattr(rootfs.setup, "codename", lambda: "bookworm")
    monkeypatch.setattr(rootfs.setup, "sources", lambda: [
        {"suites": name, "uris": name} for name in (
            "bookworm bookworm-updates", "bookworm-security", "bookworm-backports", "trixie")])
    listed = subprocess.run(["cpio", "-itv", "--quiet"], input=rootfs.install().read_bytes(),
                            capture_output=True, check=True).stdout.decode()
    source = list((own_cache / "rootfs").glob("install-*/host.sources"))[0].read_text()
    return said, listed, source


def test_the_install_user_land_is_what_the_lists_say(bootstrapped):
    said, listed, source = bootstrapped
    names = rootfs.read_list(rootfs.paths.QEMU / "rootfs" / "install.list")
    assert f"--include={','.join(names)}" in said
    assert "usr/bin/mawk" in listed and "usr/share/doc/x" not in listed
    assert "usr/bin/awk -> mawk" in listed and "etc/mtab -> /proc/self/mounts" in listed
    assert "5,   1" in listed and "dev/console" in listed
    for line in listed.splitlines():
        if line.endswith(" etc/fstab"):
            assert line.split()[4] == "0"
    assert [line.split(" ", 1)[1] for line in source.splitlines() if line.startswith("Suites")] == [
        "bookworm bookworm-updates", "bookworm-security"]
