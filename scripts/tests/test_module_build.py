# SPDX-License-Identifier: GPL-2.0
"""The build of the modules: what it is told, and which of its lines are complaints."""

from pathlib import Path

import pytest

from memtblib import kernel, module, paths, progress
from memtblib.errors import BUILD_FAILED, UserError

COMPLAINTS = [
    "module/x.c:3:5: warning: unused variable 'y' [-Wunused-variable]",
    "module/x.c:3:5: error: expected ';' before '}' token",
    "module/x.c:3:5: warning: symbol 'y' was not declared. Should it be static?",
    "module/x.c:3:5: warning: context imbalance in 'y' - unexpected unlock",
    "module/x.c:3:5: warning: incorrect type in argument 1 (different address spaces)",
    "module/x.c:3:5: error: incompatible types for operation (<)",
    "module/x.c:3: warning: Function parameter or member 'y' not described in 'z'",
    "WARNING: modpost: memtb.o: section mismatch in reference: y (section: .text)",
    "WARNING: modpost: missing MODULE_LICENSE() in memtb.o",
    "ERROR: modpost: \"y\" [memtb.ko] undefined!",
    "memtb.o: warning: objtool: y() falls through to next function z()",
    "ld: warning: memtb.o: missing .note.GNU-stack section implies executable stack",
    "cc1: warning: command-line option is not valid",
]
NO_COMPLAINTS = [
    "  CC [M]  module/warning.o", "  CHECK   module/x.c", "  LD [M]  memtb.ko",
    "gcc -Wall -Werror=implicit -Wno-error -o x.o", "make: Entering directory '/k/build'",
    "  MODPOST Module.symvers", "module/x.c: note: declared here", "", "warnings are good",
]


@pytest.mark.parametrize("line", COMPLAINTS)
def test_a_line_in_which_a_tool_complains(line):
    assert module.complaints(f"before\n{line}\n{line}\nafter\n") == [line, line]


@pytest.mark.parametrize("line", NO_COMPLAINTS)
def test_a_line_that_is_no_complaint(line):
    assert module.complaints(line + "\n") == []


class Make:
    """Instead of make: what it was told and what it found."""

    def __init__(self):
        self.command, self.env, self.code, self.says, self.found = [], {}, 0, "", set()

    def run(self, command, log, _title, env=None, **_more):
        """Like progress.run."""
        self.command, self.env = [str(word) for word in command], env
        copy = Path(next(word[2:] for word in self.command if word.startswith("M=")))
        self.found = {str(path.relative_to(copy)) for path in copy.rglob("*") if path.is_file()}
        log.write_text(self.says.format(copy=copy))
        return self.code, 0


@pytest.fixture(name="make")
def _make(tmp_path, monkeypatch, own_cache):
    """A checkout with few files and no compiler."""
    checkout = tmp_path / "checkout"
    for name in ("Kbuild", "module/a.c", "module/deep/a.h", "kunit/Makefile", "module/notes"):
        (checkout / name).parent.mkdir(parents=True, exist_ok=True)
        (checkout / name).write_text("")
    made, real = Make(), module.source_files
    monkeypatch.setattr(paths, "CHECKOUT", checkout)
    monkeypatch.setattr(module, "source_files", lambda: real(checkout))
    monkeypatch.setattr(progress, "run", made.run)
    return made


FLAVOUR = kernel.KernelBuild("x86_64-up", "k", Path("/k/build"), Path("/s"), False)


@pytest.mark.parametrize("w, check, words", [
    (1, True, ["W=1", "C=2", "CHECK=sparse"]), (0, True, ["C=2", "CHECK=sparse"]),
    (1, False, ["W=1"]), (2, False, ["W=2"]), (0, False, []),
])
def test_warnings_and_sparse_are_asked_for(make, w, check, words):
    module.build(FLAVOUR, w=w, check=check)
    start = make.command.index(kernel.make_arguments()[-1]) + 1
    assert make.command[start:] == [*words, "modules"]
    assert make.command[:3] == ["make", "-C", "/k/build"] and "ARCH=x86_64" in make.command


def test_warnings_are_asked_for_unless_told_otherwise(make):
    module.build(FLAVOUR)
    assert "W=1" in make.command and "C=2" not in make.command


def test_the_build_has_all_sources_and_a_clean_environment(make, monkeypatch):
    monkeypatch.setenv("KCFLAGS", "-w")
    module.build(FLAVOUR)
    assert make.found == {"Kbuild", "module/a.c", "module/deep/a.h", "kunit/Makefile"}
    assert "KCFLAGS" not in make.env


def test_complaints_name_the_file_in_the_checkout_now_and_later(make):
    make.says = "  CC x\n{copy}/module/a.c:1:1: warning: no\nWARNING: modpost: {copy}/x.o\n"
    wanted = ["module/a.c:1:1: warning: no", "WARNING: modpost: x.o"]
    assert module.build(FLAVOUR, check=True).warnings == wanted
    make.says = ""
    again = module.build(FLAVOUR, check=True)
    assert again.warnings == wanted
    assert again.memtb_ko == again.dir / "memtb.ko"
    assert again.guest_files == {f"/memtb/{name}": again.dir / name for name in (
        "memtb.ko", "memtb_kunit.ko", "memtb_cost.ko")}


def test_a_failed_build_says_why_and_leaves_no_entry(make):
    make.code, make.says = 2, "  CC x\n{copy}/module/a.c:1:1: error: no\n"
    for _ in range(2):
        with pytest.raises(UserError, match="\nmodule/a.c:1:1: error: no") as caught:
            module.build(FLAVOUR)
        assert caught.value.code == BUILD_FAILED


def test_no_sources_no_build(make):
    (paths.CHECKOUT / "Kbuild").unlink()
    with pytest.raises(UserError, match="no Kbuild"):
        module.build(FLAVOUR)
