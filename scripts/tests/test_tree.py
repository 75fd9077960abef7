# SPDX-License-Identifier: GPL-2.0
"""The served tree's parts: the compiler's stand-in, what is served, what counts as a rebuild."""

import os
import subprocess

import pytest
from memtblib import errors, standin, tree


def record(*argv, out="", err="", status=0):
    return {"argv": list(argv), "stdout": out, "stderr": err, "status": status}


def ask(path, *argv):
    """What the stand-in answers."""
    result = subprocess.run([path, *argv], capture_output=True, text=True, check=False,
                            stdin=subprocess.DEVNULL, env={"PATH": os.environ["PATH"]})
    return result.stdout, result.stderr, result.returncode


@pytest.fixture(name="gcc")
def _gcc(tmp_path):
    def write(*records):
        standin.write(tmp_path / "gcc", records, "gcc 12")
        return tmp_path / "gcc"
    return write


def test_answers_are_played_back(gcc):
    path = gcc(record("-v", out="it's $HOME\\n\n"), record("-x", "c", err="no 'c'\n", status=1))
    assert ask(path, "-v") == ("it's $HOME\\n\n", "", 0)
    assert ask(path, "-x", "c") == ("", "no 'c'\n", 1)


def test_what_was_not_asked_fails_loudly(gcc):
    out, err, status = ask(gcc(record("-v")), "-c", "main.c")
    assert (out, status) == ("", standin.UNKNOWN)
    assert "no recorded answer to: gcc -c main.c" in err


def test_names_of_temporary_files_do_not_matter(gcc):
    path = gcc(record("-c", "-o", ".tmp_123/tmp", "x*y"))
    assert ask(path, "-c", "-o", ".tmp_4567/tmp", "x*y")[2] == 0
    assert ask(path, "-c", "-o", ".tmp_4567/tmp", "xzy")[2] == standin.UNKNOWN


def test_two_answers_to_one_question_are_refused():
    with pytest.raises(errors.UserError, match="two answers to: gcc -v"):
        standin.unify([record("-v", out="1"), record("-v", out="2")])
    same = standin.unify([record("-v", out="1"), {**record("-v"), "stdout": None}])
    assert same == {"-v": ("1", "", 0)}


def test_no_question_is_no_recording(gcc):
    with pytest.raises(errors.UserError, match="asked the compiler nothing"):
        gcc()


def test_the_recorder_passes_on_and_writes_down(tmp_path):
    real = tmp_path / "real"
    real.write_text("#!/bin/sh\necho out $1; echo err >&2; exit 3\n")
    real.chmod(0o755)
    standin.write_recorder(tmp_path / "front", real, tmp_path / "log")
    assert ask(tmp_path / "front" / "gcc", "a b") == ("out a b\n", "err\n", 3)
    assert standin.read_records(tmp_path / "log") == [
        record("a b", out="out a b\n", err="err\n", status=3)]


def test_what_make_says_when_it_makes_something():
    log = "  CALL    scripts/checksyscalls.sh\n  CC      init/main.o\nmake: done\n  LD  x\n"
    assert tree.rebuilt(log) == ["CC      init/main.o", "LD  x"]
    assert tree.rebuilt("  INSTALL /boot\n  DEPMOD  /lib\n  CHK  x\n") == []


def test_only_sources_that_the_build_named_are_served(tmp_path):
    (tmp_path / "a").mkdir()
    for name in ("a/used.c", "a/unused.c", "a/used.h"):
        (tmp_path / name).touch()
    (tmp_path / "a" / ".used.o.cmd").write_text(
        "source_a/used.o := a/used.c\n"
        "deps_a/used.o := \\\n  a/../a/used.h \\\n  /usr/include/y.h\n")
    assert tree.used_sources(tmp_path, ["a/.used.o.cmd", "a/used.o"]) >= {"a/used.c", "a/used.h"}
    assert "a/unused.c" not in tree.used_sources(tmp_path, ["a/.used.o.cmd"])


def test_sums_are_those_of_sha256sum(tmp_path):
    root = tmp_path / "root"
    (root / "lib" / "modules").mkdir(parents=True)
    (root / "b").write_text("b")
    (root / "lib" / "modules" / "a.ko").write_text("a")
    (root / "lib" / "modules" / "modules.dep.bin").write_text("differs")
    (root / "link").symlink_to("b")
    said = subprocess.run("find . -type f ! -name 'modules.*bin' | LC_ALL=C sort | xargs sha256sum",
                          shell=True, cwd=root, capture_output=True, text=True, check=True).stdout
    assert tree.sums(root) == said


def test_no_such_tree():
    with pytest.raises(errors.UserError, match="choose from small, full"):
        tree.build("huge")
