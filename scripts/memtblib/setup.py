# SPDX-License-Identifier: GPL-2.0
"""What the host must have: Debian packages, and a QEMU that is exact on several CPUs.

Nothing here names a mirror: backports are looked for where the machine already gets
its release from, with the same key.
"""

import dataclasses
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

from . import cache, progress
from .errors import MISS, UserError

APT = Path("/etc/apt")
OUR_SOURCE = "sources.list.d/memtb-backports.sources"
QEMU_NEEDED = (8, 1)
QEMU_PACKAGE = "qemu-system-x86"

SOURCE_PACKAGE = "linux-source-6.1"

PACKAGES = {
    # The source with KDIR=, too: the install load serves a tree that is always the same.
    "kernel and modules": [SOURCE_PACKAGE, "gcc", "libc6-dev", "make", "binutils", "bc", "bison",
                           "flex", "libelf-dev", "libssl-dev", "ccache", "cpio", "kmod", "lz4",
                           "xz-utils", "perl", "rsync"],
    "guests": ["mmdebstrap", "busybox-static", "e2fsprogs", "python3-jsonschema"],
    "checks": ["git", "sparse", "shellcheck", "flake8", "pylint", "python3-pytest"],
}


@dataclasses.dataclass
class Plan:
    """What is missing and where it will come from."""

    packages: list
    backports: list
    suite: str
    source_text: str = ""

    def empty(self):
        """Is there nothing to do?"""
        return not (self.packages or self.backports)


def wanted_packages():
    """All packages but QEMU."""
    return [name for group in PACKAGES.values() for name in group]


def installed(names):
    """Those of the names that dpkg has."""
    try:
        result = subprocess.run(
            ["dpkg-query", "-W", "-f", "${Package} ${db:Status-Status}\n", *names],
            capture_output=True, text=True, check=False)
    except FileNotFoundError:
        raise UserError("this is not a Debian system (no dpkg-query): install by hand what "
                        "provides " + " ".join(names), MISS) from None
    return {line.split()[0] for line in result.stdout.splitlines()
            if line.endswith(" installed")}


def qemu_version():
    """(major, minor) of qemu-system-x86_64 in PATH, or (0, 0)."""
    try:
        result = subprocess.run(["qemu-system-x86_64", "--version"], capture_output=True,
                                text=True, check=False)
    except FileNotFoundError:
        return (0, 0)
    found = re.search(r"version (\d+)\.(\d+)", result.stdout)
    return (int(found.group(1)), int(found.group(2))) if found else (0, 0)


def codename(os_release=Path("/etc/os-release")):
    """'bookworm' on Debian 12."""
    found = re.search(r"^VERSION_CODENAME=\"?(\w+)", os_release.read_text(encoding="utf-8"), re.M)
    return found.group(1) if found else ""


def _stanzas(path):
    """Stanzas of a deb822 sources file as dicts; continuation lines stay in the value."""
    stanza, field = {}, None
    for line in path.read_text(encoding="utf-8").splitlines() + [""]:
        if line.startswith("#"):
            continue
        if not line.strip():
            if stanza:
                yield stanza
            stanza, field = {}, None
        elif line[0].isspace() and field:
            stanza[field] += "\n" + line
        elif ":" in line:
            field, _, value = line.partition(":")
            field = field.strip().lower()
            stanza[field] = value.strip()


def _list_lines(path):
    """Lines of a one-line-format sources file, in the same shape as stanzas."""
    shape = re.compile(r"\s*deb\s+(?:\[([^\]]*)\]\s+)?(\S+)\s+(\S+)\s+(.*?)\s*(?:#.*)?$")
    for line in path.read_text(encoding="utf-8").splitlines():
        found = shape.match(line)
        if found:
            options = dict(word.split("=", 1) for word in (found.group(1) or "").split()
                           if "=" in word)
            yield {"types": "deb", "uris": found.group(2), "suites": found.group(3),
                   "components": found.group(4), "signed-by": options.get("signed-by", "")}


def sources(apt=APT):
    """All enabled binary package sources of this machine."""
    places = [apt / "sources.list", *sorted((apt / "sources.list.d").glob("*"))]
    found = []
    for path in places:
        if path.is_file() and path.suffix == ".sources":
            found += _stanzas(path)
        elif path.is_file() and path.suffix == ".list":
            found += _list_lines(path)
    return [item for item in found if "deb" in item.get("types", "").split()
            and item.get("enabled", "yes").lower() not in ("no", "false", "0")]


def format_sources(items):
    """Sources in deb822 form again."""
    fields = (("Types", "types"), ("URIs", "uris"), ("Suites", "suites"),
              ("Components", "components"), ("Signed-By", "signed-by"))
    return "\n".join("".join(f"{label}: {item[name]}\n" for label, name in fields
                             if item.get(name)) for item in items)


def backports_source(suite, known):
    """The text of a backports source like the release's own; '' when there is one already."""
    wanted = f"{suite}-backports"
    if any(wanted in item.get("suites", "").split() for item in known):
        return ""
    for item in known:
        if suite in item["suites"].split() and "main" in item.get("components", "").split():
            ours = dict(item, types="deb", suites=wanted, components="main")
            return "# Written by memtb setup: a QEMU that icount needs.\n" + format_sources([ours])
    raise UserError(f"no package source for {suite} main found, so none for {wanted}: "
                    f"install QEMU {'.'.join(map(str, QEMU_NEEDED))} or newer by hand", MISS)


def plan(apt=APT, os_release=Path("/etc/os-release")):
    """Find out what is missing; no apt call, no network."""
    wanted = wanted_packages()
    have = installed(wanted)
    result = Plan([name for name in wanted if name not in have], [], codename(os_release))
    if qemu_version() < QEMU_NEEDED:
        if result.suite == "bookworm":
            result.backports = [QEMU_PACKAGE]
            result.source_text = backports_source(result.suite, sources(apt))
        else:
            result.packages.append(QEMU_PACKAGE)
    return result


def commands(todo):
    """The apt calls of a plan."""
    install = ["apt-get", "install", "-y", "--no-install-recommends",
               "-o", "DPkg::Lock::Timeout=300"]
    lines = [["apt-get", "update"]]
    if todo.packages:
        lines.append(install + todo.packages)
    if todo.backports:
        lines.append(install + ["-t", f"{todo.suite}-backports"] + todo.backports)
    return lines


def advice(todo, apt=APT):
    """The exact commands to type for one who is not root."""
    lines = []
    if todo.source_text:
        text = shlex.quote(todo.source_text.rstrip("\n"))
        lines.append(f"printf '%s\\n' {text} | sudo tee {apt / OUR_SOURCE}")
    lines += ["sudo " + shlex.join(command) for command in commands(todo)]
    return "\n".join(lines)


def ensure(apt=APT):
    """Install what is missing when we may; otherwise say what to type. Silent when all is there."""
    todo = plan(apt)
    if todo.empty():
        return
    names = " ".join(todo.packages + todo.backports)
    if os.geteuid() != 0:
        raise UserError(f"missing Debian packages: {names}\nType:\n{advice(todo, apt)}", MISS)
    print(f"memtb setup: installing {names} (a few minutes)", file=sys.stderr)
    if todo.source_text:
        (apt / OUR_SOURCE).write_text(todo.source_text, encoding="utf-8")
    _install(todo)
    left = plan(apt)
    if not left.empty():
        raise UserError("still missing after the installation: "
                        + " ".join(left.packages + left.backports), MISS)


def _install(todo):
    log = cache.make_root() / "setup.log"
    env = dict(os.environ, DEBIAN_FRONTEND="noninteractive", LC_ALL="C.UTF-8")
    for command in commands(todo):
        code, _ = progress.run(command, log, " ".join(command[:2]), env=env,
                               step=r"^(Get|Unpacking|Setting up)")
        if code:
            raise UserError(f"'{shlex.join(command)}' failed:\n{progress.tail(log, 12)}", MISS)
