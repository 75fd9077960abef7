# SPDX-License-Identifier: GPL-2.0
"""Linters: each a function that returns complaints; none is a pass."""

import re
import subprocess
import sys

from . import paths, source

PYTHON = "/usr/bin/python3"
LINE = 100
C_ROOMS = ("module/", "kunit/", "qemu/guest/")
# What has no comments, or is the licence itself.
NO_SPDX = {"COPYING"}
CHECKPATCH_IGNORE = {
    "LINUX_VERSION_CODE": "compat.h is where version tests belong",
    "CONSTANT_COMPARISON": "takes every name in capitals for a constant",
    "COMPLEX_MACRO": "lists of X(...) cannot be in parentheses",
    "BRACKET_SPACE": "does not know designators inside a macro",
    "VSPRINTF_SPECIFIER_PX": "a report of damage needs addresses that can be compared",
}


def files(base=paths.CHECKOUT):
    """Files of the checkout, relative: what git tracks or would track."""
    result = subprocess.run(["git", "-C", base, "ls-files", "-z", "-c", "-o",
                             "--exclude-standard"], capture_output=True, text=True, check=False)
    if result.returncode == 0:
        found = [name for name in result.stdout.split("\0") if name]
    else:
        found = [str(path.relative_to(base)) for path in base.rglob("*")
                 if "results" not in path.parts and "__pycache__" not in path.parts]
    return sorted(name for name in set(found) if (base / name).is_file())


def _first_line(name):
    with open(paths.CHECKOUT / name, "rb") as stream:
        return stream.readline(80).decode(errors="replace")


def _run(command):
    result = subprocess.run(command, capture_output=True, text=True, check=False,
                            cwd=paths.CHECKOUT)
    if not result.returncode:
        return []
    lines = [line for line in (result.stdout or result.stderr).splitlines() if line.strip()]
    if not lines:
        lines = [f"{command[0]} ended with {result.returncode}"]
    return lines


def c_files():
    """C sources of modules and guests."""
    return [name for name in files() if name.startswith(C_ROOMS) and name.endswith((".c", ".h"))]


def shell_files():
    """Shell scripts, by name or by shebang."""
    return [name for name in files()
            if name.endswith(".sh") or re.match(r"#!\s*\S*/(env )?(ba|da)?sh\b", _first_line(name))]


def python_files():
    """Python sources, by name or by shebang."""
    return [name for name in files()
            if name.endswith(".py") or re.match(r"#!.*python3", _first_line(name))]


def checkpatch():
    """The kernel's own style check over all C."""
    names = c_files()
    tree = source.linux()
    command = ["perl", str(tree / "scripts/checkpatch.pl"), f"--root={tree}", "--terse",
               "--no-summary", "--quiet", "--show-types",
               f"--ignore={','.join(CHECKPATCH_IGNORE)}", "--file", *names]
    return _run(command) if names else []


def shellcheck():
    """All shell, guest scripts included."""
    names = shell_files()
    # SC1091: a guest script names files where they are in the guest.
    return _run(["shellcheck", "--format=gcc", "--exclude=SC1091", *names]) if names else []


def flake8():
    """Python style. Tabs are in embedded scripts; Python itself refuses them mixed in code."""
    return _run([PYTHON, "-m", "flake8", f"--max-line-length={LINE}",
                 "--extend-ignore=E101,W191", *python_files()])


def pylint():
    """Python errors."""
    return _run([PYTHON, "-m", "pylint", "-E", "--disable=import-error",
                 f"--init-hook=import sys; sys.path.insert(0, '{paths.SCRIPTS}')",
                 *python_files()])


def spdx():
    """A licence line at the top of every file."""
    found = []
    for name in files():
        if name in NO_SPDX:
            continue
        with open(paths.CHECKOUT / name, "rb") as stream:
            head = b"".join(stream.readline(400) for _ in range(5))
        if not re.search(rb'SPDX-License-Identifier"?: "?GPL-2\.0', head):
            found.append(f"{name}: no SPDX-License-Identifier: GPL-2.0 in the first lines")
    return found


LINTERS = {"checkpatch": checkpatch, "shellcheck": shellcheck, "flake8": flake8,
           "pylint": pylint, "spdx": spdx}


def run(names=None, out=sys.stdout):
    """Run linters, print complaints; {name: number of complaints}."""
    result = {}
    for name in names or LINTERS:
        complaints = LINTERS[name]()
        result[name] = len(complaints)
        print(f"{name}: {'clean' if not complaints else f'{len(complaints)} complaints'}",
              file=out)
        for line in complaints:
            print(f"  {line}", file=out)
    return result
