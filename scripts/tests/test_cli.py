# SPDX-License-Identifier: GPL-2.0
"""Bad command lines: 128, one line, the valid choices named."""

import os
import subprocess
from pathlib import Path

import pytest

from memtblib import cli

MEMTB = Path(__file__).resolve().parents[1] / "memtb"


def memtb(*words, **env):
    """Run the command."""
    return subprocess.run([MEMTB, *words], capture_output=True, text=True, check=False,
                          env=dict(os.environ, **env))


@pytest.mark.parametrize("words, named", [
    (["frobnicate"], "choose from"), (["kernel", "pdp11"], "x86_64-up, x86_64-smp"),
    (["lint", "cobol"], "checkpatch"), (["rootfs", "vms"], "busybox, install"),
    (["module", "-W", "9"], "choose from 0, 1, 2"), (["setup", "--colour"], "--colour"),
    (["completeness", "pdp11"], "x86_64-up, x86_64-smp"),
])
def test_bad_line(words, named):
    result = memtb(*words)
    assert result.returncode == 128 and result.stdout == ""
    assert named in result.stderr and len(result.stderr.splitlines()) == 1


def test_no_verb_shows_what_there_is():
    result = memtb()
    assert result.returncode == 128 and "kernel" in result.stdout


@pytest.mark.parametrize("verb", cli.verbs())
def test_every_verb_has_help(verb):
    result = memtb(verb, "--help")
    assert result.returncode == 0 and cli.load(verb).HELP.split()[0] in result.stdout


def test_own_tree_that_is_none(tmp_path):
    result = memtb("kernel", "x86_64-up", KDIR=str(tmp_path), MEMTB_CACHE=str(tmp_path / "c"))
    assert result.returncode == 128 and "not a kernel source tree" in result.stderr
    assert "Traceback" not in result.stderr


def test_unwritable_cache_is_no_traceback():
    result = memtb("rootfs", "busybox", MEMTB_CACHE="/proc/memtb")
    assert result.returncode == 128 and "MEMTB_CACHE" in result.stderr
    assert "Traceback" not in result.stderr


def test_crash_is_not_taken_for_a_failed_test(monkeypatch, capsys):
    def crash(_args):
        raise ZeroDivisionError
    monkeypatch.setattr(cli.load("clean"), "main", crash)
    assert cli.main(["clean"]) == 128
    assert "ZeroDivisionError" in capsys.readouterr().err


def test_make_help_lists_every_target():
    top = MEMTB.parents[1]
    listed = subprocess.run(["make", "-s", "-C", top, "help"], capture_output=True, text=True,
                            check=True).stdout
    phony = next(line for line in (top / "Makefile").read_text().splitlines()
                 if line.startswith(".PHONY:"))
    for target in phony.split()[1:]:
        assert f"  {target} " in listed
