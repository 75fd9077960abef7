# SPDX-License-Identifier: GPL-2.0
"""A run's directory: what is written down before the guest starts, and under which name."""

import datetime
import json
import os
import subprocess
from pathlib import Path
from types import SimpleNamespace

import pytest
from memtblib import boot, judge, paths, qemu, results

WORDS = ["qemu-system-x86_64", "-m", "256"]
GOT = 'CONFIG_CC_VERSION_TEXT="gcc 12.2"\nCONFIG_A=y\nCONFIG_B=m\n'


def git(place, *words):
    """What git prints."""
    return subprocess.run(["git", "-C", place, "-c", "user.name=n", "-c", "user.email=e", *words],
                          capture_output=True, text=True, check=True).stdout


@pytest.fixture(name="checkout", autouse=True)
def _checkout(tmp_path, monkeypatch):
    """A git repository with one commit, in the checkout's place; no QEMU is asked."""
    place = tmp_path / "checkout"
    place.mkdir()
    for name in ("staged", "unstaged"):
        (place / name).write_text("old\n")
    git(place, "init", "-q")
    git(place, "add", "staged", "unstaged")
    git(place, "commit", "-qm", "m")
    monkeypatch.setattr(paths, "CHECKOUT", place)
    monkeypatch.setattr(qemu, "version", lambda binary: ((8, 1, 0), f"{binary} version 8.1.0"))
    return place


@pytest.fixture(name="job")
def _job(tmp_path):
    """A job for a kernel that was asked for CONFIG_A and CONFIG_B."""
    wanted = tmp_path / "wanted.config"
    wanted.write_text("CONFIG_A=y\nCONFIG_B=m\n# CONFIG_C is not set\n")
    return boot.Job(flavour=SimpleNamespace(name="x86_64-up", key="k123", wanted=wanted),
                    job="/memtb/job", rootfs=[Path("/r.cpio")], files={"/memtb/b": 1, "/a": 2},
                    title="a title", mode="icount", cpus=2, memory_mb=77, env={"X": "1"},
                    append="quiet", timeouts={"boot": 9}, expect=["one"], allow_taint="OW",
                    expected_splats=("planted",))


@pytest.mark.parametrize("got, dropped", [
    (GOT, []),
    (GOT.replace("CONFIG_B=m\n", ""), ["CONFIG_B: wanted m, got n"]),
    (GOT.replace("CONFIG_B=m", "CONFIG_B=y"), ["CONFIG_B: wanted m, got y"]),
    (GOT + "CONFIG_C=y\n", ["CONFIG_C: wanted n, got y"]),
    ("", ["CONFIG_A: wanted y, got n", "CONFIG_B: wanted m, got n"]),
])
def test_what_kconfig_dropped_is_written_down(job, got, dropped):
    assert results.describe(job, WORDS, got)["config_dropped"] == dropped


def test_a_kernel_that_nobody_asked_for_dropped_nothing(job):
    job.flavour.wanted.unlink()
    assert results.describe(job, WORDS, "")["config_dropped"] == []


@pytest.mark.parametrize("line, built_in", [
    ("CONFIG_DEBUG_KMEMLEAK=y", True), ("# CONFIG_DEBUG_KMEMLEAK is not set", False),
    ("CONFIG_HAVE_DEBUG_KMEMLEAK=y", False), ("CONFIG_DEBUG_KMEMLEAK_MEM_POOL_SIZE=16000", False)])
def test_kmemleak_is_known_when_it_is_built_in(job, line, built_in):
    assert results.describe(job, WORDS, GOT + line + "\n")["kmemleak"] is built_in


def test_a_job_is_described_by_its_own_words(job, checkout):
    (checkout / "new").touch()
    host = os.uname()
    assert results.describe(job, WORDS, GOT) == {
        "title": "a title", "arch": "x86_64", "mode": "icount", "cpus": 2, "memory_mb": 77,
        "job": "/memtb/job", "env": {"X": "1"}, "append": "quiet", "rootfs": ["/r.cpio"],
        "files": ["/a", "/memtb/b"], "timeouts": {"boot": 9}, "expect": ["one"],
        "allow_taint": "OW", "expected_splats": ["planted"], "command": WORDS,
        "flavour": "x86_64-up", "kernel_key": "k123", "config_dropped": [], "kmemleak": False,
        "compiler": "gcc 12.2", "qemu": "qemu-system-x86_64 version 8.1.0",
        "git_commit": git(checkout, "rev-parse", "HEAD").strip(), "git_untracked": ["new"],
        "host": {"system": host.sysname, "node": host.nodename, "release": host.release,
                 "version": host.version, "machine": host.machine}}


def test_without_git_a_job_is_described_all_the_same(job, tmp_path, monkeypatch):
    monkeypatch.setattr(paths, "CHECKOUT", tmp_path / "nowhere")
    said = results.describe(job, WORDS, GOT)
    assert (said["git_commit"], said["git_untracked"]) == ("", [])


@pytest.mark.parametrize("got", [GOT, GOT + "CONFIG_C=y\nCONFIG_DEBUG_KMEMLEAK=y\n"])
def test_all_that_is_known_is_there_before_the_guest_starts(job, tmp_path, got):
    results.write_before(tmp_path, job, WORDS, [Path("/r.cpio")], got)
    said = json.loads((tmp_path / "job.json").read_text())
    assert said == results.describe(job, WORDS, got) and set(judge.JOB_KEYS) <= set(said)
    assert (tmp_path / "kernel.config").read_text() == got
    assert (tmp_path / "kernel.wanted").read_text() == job.flavour.wanted.read_text()
    assert (tmp_path / "git.diff").read_text() == ""
    assert (tmp_path / "qemu.sh").read_text() == qemu.script(WORDS, [Path("/r.cpio")])
    assert os.access(tmp_path / "qemu.sh", os.X_OK)


def test_every_edit_of_the_checkout_is_recorded(job, checkout, tmp_path):
    for name in ("staged", "unstaged"):
        (checkout / name).write_text(f"new in {name}\n")
    git(checkout, "add", "staged")
    results.write_before(tmp_path, job, WORDS, [], GOT)
    diff = (tmp_path / "git.diff").read_text()
    assert "+new in staged\n" in diff and "+new in unstaged\n" in diff
    git(checkout, "checkout", "-qf", "HEAD")
    git(checkout, "apply", tmp_path / "git.diff")
    assert (checkout / "staged").read_text() == "new in staged\n"


# ---- the directory's name ----

@pytest.fixture(name="second")
def _second(monkeypatch):
    """The clock stands still."""
    now = datetime.datetime(2026, 1, 2, 3, 4, 5, tzinfo=datetime.timezone.utc)
    monkeypatch.setattr(results, "datetime", SimpleNamespace(
        datetime=SimpleNamespace(now=now.astimezone), timezone=datetime.timezone))


@pytest.mark.usefixtures("second")
def test_runs_in_one_second_never_share_a_directory(tmp_path):
    places = [results.create(tmp_path / "results", "run") for _ in range(3)]
    assert [place.name for place in places] == [
        "20260102-030405-run", "20260102-030405-run-1", "20260102-030405-run-2"]
    assert all(place.is_dir() and place.parent == tmp_path / "results" for place in places)


@pytest.mark.usefixtures("second")
def test_a_directory_that_is_there_is_left_alone(tmp_path):
    first = results.create(tmp_path, "run")
    (first / "file").touch()
    assert not list(results.create(tmp_path, "run").iterdir())
    assert [path.name for path in first.iterdir()] == ["file"]


@pytest.mark.usefixtures("second")
@pytest.mark.parametrize("title, name", [
    ("smoke-x86_64-up", "smoke-x86_64-up"), ("a b/../c", "a-b-..-c"), ("/", "run"), ("", "run")])
def test_a_title_becomes_part_of_a_name(tmp_path, title, name):
    assert results.create(tmp_path, title) == tmp_path / f"20260102-030405-{name}"


# ---- JSON ----

def test_what_was_written_is_read(tmp_path):
    results.write_json(tmp_path / "a.json", {"path": Path("/x"), "number": 1})
    assert results.read_json(tmp_path / "a.json") == {"path": "/x", "number": 1}
    assert [path.name for path in tmp_path.iterdir() if path.is_file()] == ["a.json"]


@pytest.mark.parametrize("text", [None, "", '{"half": ', "\udcff"])
def test_what_cannot_be_read_is_none(tmp_path, text):
    if text is not None:
        (tmp_path / "a.json").write_bytes(text.encode(errors="surrogateescape"))
    assert results.read_json(tmp_path / "a.json") is None
