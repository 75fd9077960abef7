# SPDX-License-Identifier: GPL-2.0
"""Set-up on machines that lack something, with an apt that only pretends."""

import os

import pytest

from memtblib import setup
from memtblib.errors import UserError

RELEASE = """Types: deb
# a comment between the fields
URIs: http://mirror.invalid/debian
Suites: bookworm bookworm-updates
Components: main contrib
Signed-By: /keys/debian.pgp

Types: deb
URIs: http://mirror.invalid/debian-security
Suites: bookworm-security
Components: main
"""
BACKPORTS = """Types: deb
URIs: http://mirror.invalid/debian
Suites: bookworm-backports
Components: main
"""
OLD_FORM = ("# deb http://other.invalid/ bookworm main\n"
            "deb [arch=amd64 signed-by=/keys/old.pgp] http://old.invalid/debian bookworm main\n")
DPKG_QUERY = """#!/bin/sh
shift 3
for name; do
    grep -qx "$name" "$FAKE/installed" && echo "$name installed"
done
exit 0
"""
APT_GET = """#!/bin/sh
echo "apt-get $*" >> "$FAKE/calls"
[ "$1" = install ] || exit 0
[ -e "$FAKE/broken" ] && { echo "E: Unable to locate package"; exit 100; }
for word; do
    echo "$word" >> "$FAKE/installed"
    [ "$word" = qemu-system-x86 ] && printf '#!/bin/sh\\necho version 10.0.2\\n' \
        > "$FAKE/bin/qemu-system-x86_64" && chmod +x "$FAKE/bin/qemu-system-x86_64"
done
exit 0
"""


class Machine:
    """A pretended Debian 12: its sources, its packages, what apt-get was asked."""

    def __init__(self, place):
        self.place, self.apt = place, place / "apt"
        (self.apt / "sources.list.d").mkdir(parents=True)
        (place / "bin").mkdir()
        self.script("dpkg-query", DPKG_QUERY)
        self.script("apt-get", APT_GET)
        (place / "installed").write_text("")
        self.source("debian.sources", RELEASE)

    def script(self, name, text):
        """A command in the machine's PATH."""
        path = self.place / "bin" / name
        path.write_text(text)
        path.chmod(0o755)

    def source(self, name, text):
        """A package source."""
        (self.apt / "sources.list.d" / name).write_text(text)

    def has(self, *names):
        """Packages that are installed."""
        (self.place / "installed").write_text("".join(f"{name}\n" for name in names))

    def qemu(self, version):
        """An installed QEMU."""
        self.script("qemu-system-x86_64", f"#!/bin/sh\necho QEMU emulator version {version}\n")

    def calls(self):
        """What apt-get was asked so far."""
        path = self.place / "calls"
        return path.read_text().splitlines() if path.exists() else []


@pytest.fixture
def machine(tmp_path, monkeypatch, own_cache):
    """A bare machine, as root."""
    made = Machine(tmp_path)
    monkeypatch.setenv("FAKE", str(tmp_path))
    monkeypatch.setenv("PATH", f"{tmp_path}/bin:/usr/bin:/bin")
    monkeypatch.delenv("KDIR", raising=False)
    monkeypatch.setattr(setup, "codename", lambda *_: "bookworm")
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    made.qemu("7.2.1")
    return made


def test_bare_machine_gets_everything_and_backports(machine):
    setup.ensure(machine.apt)
    text = (machine.apt / setup.OUR_SOURCE).read_text()
    assert "Suites: bookworm-backports\n" in text
    assert "URIs: http://mirror.invalid/debian\n" in text
    assert "Signed-By: /keys/debian.pgp\n" in text
    update, packages, qemu = machine.calls()
    assert update == "apt-get update"
    assert "mmdebstrap" in packages and setup.SOURCE_PACKAGE in packages
    assert qemu.endswith("-t bookworm-backports qemu-system-x86")


def test_second_call_does_nothing(machine):
    setup.ensure(machine.apt)
    before = machine.calls()
    setup.ensure(machine.apt)
    assert machine.calls() == before


def test_present_backports_source_is_used(machine):
    machine.source("backports.sources", BACKPORTS)
    setup.ensure(machine.apt)
    assert not (machine.apt / setup.OUR_SOURCE).exists()
    assert machine.calls()[-1].endswith("-t bookworm-backports qemu-system-x86")


def test_disabled_backports_source_does_not_count(machine):
    machine.source("backports.sources", "Enabled: no\n" + BACKPORTS)
    setup.ensure(machine.apt)
    assert (machine.apt / setup.OUR_SOURCE).exists()


def test_one_line_sources_are_read(machine):
    machine.source("debian.sources", "")
    (machine.apt / "sources.list").write_text(OLD_FORM)
    setup.ensure(machine.apt)
    # sources.list has the suffix .list as the files in sources.list.d have.
    text = (machine.apt / setup.OUR_SOURCE).read_text()
    assert "URIs: http://old.invalid/debian\n" in text and "Signed-By: /keys/old.pgp\n" in text


def test_new_qemu_needs_no_backports(machine):
    machine.qemu("8.1.0")
    machine.has(*setup.wanted_packages()[1:])
    setup.ensure(machine.apt)
    assert machine.calls() == ["apt-get update",
                               "apt-get install -y --no-install-recommends -o "
                               f"DPkg::Lock::Timeout=300 {setup.wanted_packages()[0]}"]


def test_qemu_8_0_is_too_old(machine):
    machine.qemu("8.0.9")
    assert setup.plan(machine.apt).backports == ["qemu-system-x86"]


def test_own_tree_still_needs_the_source_package_for_the_served_tree(machine, monkeypatch):
    monkeypatch.setenv("KDIR", "/somewhere")
    assert setup.SOURCE_PACKAGE in setup.plan(machine.apt).packages


def test_others_are_told_what_to_type(machine, monkeypatch):
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with pytest.raises(UserError) as caught:
        setup.ensure(machine.apt)
    text = str(caught.value)
    assert caught.value.code == 128 and machine.calls() == []
    assert "sudo apt-get update\n" in text and "sudo tee" in text
    assert "sudo apt-get install -y" in text and "-t bookworm-backports" in text


def test_failing_apt_is_reported_with_its_words(machine):
    (machine.place / "broken").write_text("")
    with pytest.raises(UserError, match="Unable to locate package") as caught:
        setup.ensure(machine.apt)
    assert caught.value.code == 128


def test_apt_that_installs_nothing_is_noticed(machine):
    machine.script("apt-get", "#!/bin/sh\nexit 0\n")
    with pytest.raises(UserError, match="still missing.*mmdebstrap"):
        setup.ensure(machine.apt)


def test_no_source_to_derive_backports_from(machine):
    machine.source("debian.sources", "")
    with pytest.raises(UserError, match="no package source for bookworm"):
        setup.ensure(machine.apt)


# What the scripts, the guests' jobs and the kernel's build call or read: where it comes from.
TOOLS = {
    "linux-source-6.1.tar.xz": "linux-source-6.1", "gcc": "gcc", "stdio.h": "libc6-dev",
    "make": "make", "ld": "binutils", "bc": "bc", "bison": "bison", "flex": "flex",
    "libelf.h": "libelf-dev", "openssl/opensslv.h": "libssl-dev", "ccache": "ccache",
    "cpio": "cpio", "depmod": "kmod", "lz4": "lz4", "xz": "xz-utils", "perl": "perl",
    "rsync": "rsync", "mmdebstrap": "mmdebstrap", "/bin/busybox": "busybox-static",
    "mke2fs": "e2fsprogs", "jsonschema": "python3-jsonschema", "git": "git", "sparse": "sparse",
    "shellcheck": "shellcheck", "flake8": "flake8", "pylint": "pylint",
    "pytest": "python3-pytest",
}


def test_every_tool_that_is_called_is_installed(machine):
    setup.ensure(machine.apt)
    asked = " ".join(machine.calls()).split()
    assert [tool for tool, package in TOOLS.items() if package not in asked] == []


@pytest.mark.parametrize("status", ["not-installed", "config-files", "half-installed", "unpacked",
                                    "half-configured"])
def test_what_dpkg_knows_but_has_not_installed_is_missing(machine, status):
    machine.script("dpkg-query", f'#!/bin/sh\nshift 3\nfor name; do\n'
                   f'    if [ "$name" = make ]; then echo "$name {status}"\n'
                   f'    else echo "$name installed"; fi\ndone\n')
    assert setup.plan(machine.apt).packages == ["make"]


def test_what_dpkg_never_heard_of_is_missing(machine):
    assert setup.installed(["make"]) == set()
    machine.has("make")
    assert setup.installed(["make", "gcc"]) == {"make"}


def test_no_debian_says_so(machine, monkeypatch):
    monkeypatch.setenv("PATH", str(machine.place / "nothing"))
    with pytest.raises(UserError, match="not a Debian system"):
        setup.installed(["make"])


@pytest.mark.parametrize("text, version", [
    ("QEMU emulator version 10.0.2 (Debian 1:10.0.2)", (10, 0)), ("version 8.1", (8, 1)),
    ("what?", (0, 0))])
def test_the_version_of_qemu(machine, text, version):
    machine.script("qemu-system-x86_64", f"#!/bin/sh\necho '{text}'\n")
    assert setup.qemu_version() == version


def test_newer_debian_has_a_new_qemu_itself(machine, monkeypatch):
    monkeypatch.setattr(setup, "codename", lambda *_: "trixie")
    todo = setup.plan(machine.apt)
    assert todo.packages[-1] == "qemu-system-x86" and todo.backports == []
