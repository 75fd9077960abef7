# SPDX-License-Identifier: GPL-2.0
"""What is in the cache keys: a key that forgets an input gives a stale build."""

import os
import shutil
from pathlib import Path

import pytest

from memtblib import (cache, completeness, helpers, kernel, module, paths, rootfs, setup, source,
                      visitor)


class Asked(Exception):
    """Instead of an entry of the cache: its key."""

    def __init__(self, kind, material):
        super().__init__(kind)
        self.kind, self.key = kind, cache.key12(material)


@pytest.fixture(autouse=True, name="no_entries")
def _no_entries(monkeypatch):
    """The cache is asked for nothing in here."""
    def entry(kind, _name, material, _build, *_log):
        raise Asked(kind, material)
    monkeypatch.setattr(cache, "entry", entry)


def key(function, *arguments, **more):
    """The key under which a function looks for its entry."""
    with pytest.raises(Asked) as caught:
        function(*arguments, **more)
    return caught.value.key


def written(place, files):
    """The directory, with these small files."""
    for name in files:
        path = place / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(name)
    return place


def edit(path):
    """Other bytes, as many as before."""
    data = path.read_bytes()
    path.write_bytes(data[:-1] + bytes([data[-1] ^ 1]))


def build(number="k1"):
    """A kernel that was never built."""
    return kernel.KernelBuild("x86_64-up", number, Path("/k/build"), Path("/s"), False)


# ---- kernels ----

def give(owner, name, result):
    """A change: a function of the module returns something else."""
    return lambda patch: patch.setattr(owner, name, lambda *_: result)


@pytest.fixture(name="kernels")
def _kernels(monkeypatch):
    """Nothing that a kernel is made from comes from the host."""
    monkeypatch.setattr(source, "linux", lambda: Path("/linux"))
    monkeypatch.setattr(source, "check_own", lambda tree: tree)
    monkeypatch.setattr(source, "identity", str)
    monkeypatch.setattr(kernel, "toolchain", lambda llvm: [f"cc {llvm}"])
    monkeypatch.setattr(kernel, "merge_fragments", lambda _files: "CONFIG_A=y\n")
    monkeypatch.delenv("LLVM", raising=False)


@pytest.mark.parametrize("change", [
    give(kernel, "merge_fragments", "CONFIG_A=n\n"),
    give(kernel, "toolchain", ["cc 2"]),
    give(source, "identity", "other"),
    give(source, "linux", Path("/other")),
    lambda patch: patch.setenv("LLVM", "1"),
], ids=["config", "toolchain", "source", "tree", "llvm"])
@pytest.mark.parametrize("name", ["x86_64-up", "x86_64-smp-kasan"])
def test_the_key_of_a_kernel(kernels, monkeypatch, name, change):
    before = key(kernel.flavour, name)
    assert key(kernel.flavour, name) == before
    change(monkeypatch)
    assert key(kernel.flavour, name) != before


def test_the_key_of_a_kernel_has_the_tree_given_by_hand(kernels):
    keys = {key(kernel.flavour, "x86_64-up", kdir) for kdir in (None, "/one", "/two")}
    assert len(keys) == 3


def test_the_key_of_a_kernel_has_its_image(kernels, monkeypatch):
    def flavour(image):
        facts = kernel.Flavour(["base"], False, 1, 1, image=image)
        monkeypatch.setattr(kernel, "FLAVOURS", {"one": facts})
        return key(kernel.flavour, "one")
    assert len({flavour(image) for image in ("vmlinux", "bzImage", "arch/bzImage")}) == 3


# ---- modules ----

SOURCES = ["Kbuild", "module/Kbuild", "module/a.c", "module/a.h", "module/deep/b.c",
           "module/deep/b.h", "module/c.S", "kunit/Makefile", "kunit/t.c", "kunit/t.h"]


@pytest.fixture(name="checkout")
def _checkout(tmp_path, monkeypatch):
    """A checkout with a few sources."""
    written(tmp_path, [*SOURCES, "module/a.o", "module/notes.txt", "README"])
    real = module.source_files
    monkeypatch.setattr(paths, "CHECKOUT", tmp_path)
    monkeypatch.setattr(module, "source_files", lambda: real(tmp_path))
    return tmp_path


@pytest.mark.parametrize("name", SOURCES)
def test_the_key_of_the_modules_has_every_source(checkout, name):
    before = key(module.build, build())
    edit(checkout / name)
    changed = key(module.build, build())
    assert changed != before
    if name != "Kbuild":
        (checkout / name).unlink()
        assert key(module.build, build()) not in (before, changed)


@pytest.mark.parametrize("name", ["module/new.c", "module/new.h", "kunit/deep/Kbuild"])
def test_the_key_of_the_modules_has_a_new_source(checkout, name):
    before = key(module.build, build())
    written(checkout, [name])
    assert key(module.build, build()) != before


@pytest.mark.parametrize("name", ["module/a.o", "module/notes.txt", "README"])
def test_the_key_of_the_modules_has_nothing_else(checkout, name):
    before = key(module.build, build())
    edit(checkout / name)
    assert key(module.build, build()) == before


def test_the_key_of_the_modules_has_how_they_are_built(checkout):
    keys = {key(module.build, build(number), w=w, check=check)
            for number in ("k1", "k2") for w in (0, 1, 2) for check in (False, True)}
    assert len(keys) == 12


# ---- what goes into guests ----

@pytest.fixture(name="user_land")
def _user_land(tmp_path, monkeypatch):
    """The inputs of the user lands, in a directory of our own."""
    written(tmp_path, ["rootfs/install.list", "rootfs/install.trim", "busybox"])
    for name in ("rootfs.py", "cpio.py"):
        shutil.copy(Path(rootfs.__file__).with_name(name), tmp_path)
    monkeypatch.setattr(rootfs, "__file__", str(tmp_path / "rootfs.py"))
    monkeypatch.setattr(paths, "QEMU", tmp_path)
    monkeypatch.setattr(rootfs, "BUSYBOX", tmp_path / "busybox")
    monkeypatch.setattr(setup, "codename", lambda: "bookworm")
    monkeypatch.setattr(setup, "sources", lambda: [{"suites": "bookworm trixie", "uris": "one"}])
    return tmp_path


@pytest.mark.parametrize("name", ["rootfs/install.list", "rootfs/install.trim", "rootfs.py",
                                  "cpio.py"])
def test_the_key_of_the_install_user_land_has_its_files(user_land, name):
    before = key(rootfs.install)
    edit(user_land / name)
    assert key(rootfs.install) != before


@pytest.mark.parametrize("change", [
    give(setup, "codename", "trixie"),
    give(setup, "sources", [{"suites": "bookworm trixie", "uris": "other"}]),
], ids=["suite", "sources"])
def test_the_key_of_the_install_user_land_has_where_packages_come_from(
        user_land, monkeypatch, change):
    before = key(rootfs.install)
    change(monkeypatch)
    assert key(rootfs.install) != before


@pytest.mark.parametrize("name", ["busybox", "rootfs.py", "cpio.py"])
def test_the_key_of_busybox_has_its_files(user_land, name):
    before = key(rootfs.busybox)
    edit(user_land / name)
    assert key(rootfs.busybox) != before


@pytest.fixture(name="guest")
def _guest(tmp_path, monkeypatch):
    """The sources of the guest's small modules and tools, in a directory of our own."""
    written(tmp_path, ["visitor/Kbuild", "visitor/v.c", "visitor/v.h", "cputime/Kbuild",
                       "cputime/c.c", "timed.c"])
    monkeypatch.setattr(visitor, "SOURCE", tmp_path / "visitor")
    monkeypatch.setattr(helpers, "GUEST", tmp_path)
    monkeypatch.setattr(helpers, "CPUTIME", tmp_path / "cputime")
    monkeypatch.setattr(kernel, "toolchain", lambda *_: ["cc 1"])
    return tmp_path


@pytest.mark.parametrize("what, name", [
    (visitor, "visitor/Kbuild"), (visitor, "visitor/v.c"), (visitor, "visitor/v.h"),
    (helpers, "cputime/Kbuild"), (helpers, "cputime/c.c"), (helpers, "timed.c"),
])
def test_the_keys_of_the_guests_modules_have_their_files(guest, what, name):
    before = key(what.build, build())
    edit(guest / name)
    assert key(what.build, build()) != before


@pytest.mark.parametrize("function", [visitor.build, helpers.build, completeness.scan])
def test_keys_of_what_belongs_to_a_kernel_have_the_kernel(guest, function):
    assert key(function, build("k1")) != key(function, build("k2"))


@pytest.mark.parametrize("change", [
    give(kernel, "toolchain", ["cc 2"]),
    lambda patch: patch.setattr(helpers, "TIMED_FLAGS", ["-O3"]),
], ids=["toolchain", "flags"])
def test_the_key_of_the_helpers_has_how_they_are_built(guest, monkeypatch, change):
    before = key(helpers.build, build())
    change(monkeypatch)
    assert key(helpers.build, build()) != before


@pytest.mark.parametrize("name, value", [("FORMAT", 0), ("INNER", {"slab_free": ""})])
def test_the_key_of_a_scan_has_what_it_looks_for(monkeypatch, name, value):
    before = key(completeness.scan, build())
    monkeypatch.setattr(completeness, name, value)
    assert key(completeness.scan, build()) != before


# ---- kernel sources ----

@pytest.fixture(name="tarball")
def _tarball(tmp_path, monkeypatch):
    """A source package, not a real one."""
    path = tmp_path / "linux-source-6.1.tar.xz"
    path.write_text("packed")
    monkeypatch.setattr(source, "TARBALL", str(tmp_path / "linux-source-{version}.tar.xz"))
    return path


@pytest.mark.parametrize("text, seconds", [("packed", 2000), ("packed more", 1000)])
def test_the_key_of_a_source_has_size_and_date_of_the_package(tarball, text, seconds):
    def dated(content, when):
        tarball.write_text(content)
        os.utime(tarball, (when, when))
        return key(source.debian)
    assert dated(text, seconds) != dated("packed", 1000) == dated("packed", 1000)


def test_the_key_of_a_source_has_the_name_of_the_package(tarball):
    other = tarball.with_name("linux-source-6.2.tar.xz")
    other.write_text("packed")
    times = tarball.stat()
    os.utime(other, ns=(times.st_atime_ns, times.st_mtime_ns))
    assert key(source.debian) != key(source.debian, "6.2")
