# SPDX-License-Identifier: GPL-2.0
"""The overlay of a job: its settings, its files, the same bytes each time."""

import subprocess

import pytest

from memtblib import boot, guest
from memtblib.errors import UserError


def job(**more):
    """A job that is nothing but its settings."""
    return boot.Job(**{"flavour": None, "job": "/memtb/job", "rootfs": [], **more})


def read_by_sh(text, shell, tmp_path):
    """{name: value} that a process has whose parent took the settings in."""
    (tmp_path / "env").write_text(text)
    out = subprocess.run([*shell, "-c", f". {tmp_path}/env; exec /usr/bin/env -0"], env={},
                         capture_output=True, check=True).stdout.decode()
    return dict(pair.split("=", 1) for pair in out.split("\0") if pair)


@pytest.mark.parametrize("shell", [["/bin/sh"], ["/bin/busybox", "sh"]])
@pytest.mark.parametrize("value", [
    "plain", "", "two words", "  blanks  at both ends ", "it's", 'say "x"', "'\"'", "a\nb",
    "$HOME `id` $(id) \\", "a;b&c|d>e", "*", "#no comment", "-n", "=", "ä", 3000, 0.5])
def test_settings_survive_the_shell(tmp_path, shell, value):
    text = guest.environment(job(env={"ONE": value, "TWO": "x"}))
    seen = read_by_sh(text, shell, tmp_path)
    assert (seen["ONE"], seen["TWO"], seen["MEMTB_JOB"]) == (str(value), "x", "/memtb/job")


def test_settings_do_not_replace_the_job():
    assert "MEMTB_JOB=/memtb/job\n" in guest.environment(job(env={"MEMTB_JOB": "/other"}))


def test_what_every_guest_has():
    found = guest.contents(job())
    assert set(found) == {"init", "memtb/lib.sh", "memtb/env"}
    assert found["init"] == ((guest.GUEST / "init").read_bytes(), 0o755)


@pytest.mark.parametrize("data, mode", [(b"#!/bin/sh\n", 0o755), (b"data", 0o644)])
def test_text_that_is_a_script_can_be_run(data, mode):
    assert guest.contents(job(files={"/memtb/job": data}))["memtb/job"] == (data, mode)


@pytest.mark.parametrize("on_host, mode", [(0o700, 0o755), (0o600, 0o644), (0o655, 0o644)])
def test_a_file_keeps_whether_it_can_be_run(tmp_path, on_host, mode):
    path = tmp_path / "x"
    path.write_bytes(b"x")
    path.chmod(on_host)
    for source in (path, str(path)):
        assert guest.contents(job(files={"/x": source}))["x"] == (b"x", mode)


@pytest.mark.parametrize("name", ["nothing", "."])
def test_a_missing_file_is_named(tmp_path, name):
    with pytest.raises(UserError, match="the guest needs it") as caught:
        guest.contents(job(files={"/x": tmp_path / name}))
    assert str(tmp_path / name) in str(caught.value)


def listed(path):
    """The names in an archive, in order."""
    return subprocess.run(["cpio", "-it", "--quiet"], input=path.read_bytes(), check=True,
                          capture_output=True).stdout.decode().split()


def test_the_overlay_has_every_directory_before_what_is_in_it(tmp_path):
    guest.write_overlay(job(files={"/a/b/c": b"", "/a/d": b"", "/memtb/job": b""}),
                        tmp_path / "x")
    names = listed(tmp_path / "x")
    assert names == ["a", "a/b", "a/b/c", "a/d", "init", "memtb", "memtb/env", "memtb/job",
                     "memtb/lib.sh"]


def test_the_same_job_gives_the_same_bytes(tmp_path):
    for number in (1, -1):
        names = ["/a/b", "/c", "/memtb/job"][::number]
        guest.write_overlay(job(files={name: name.encode() for name in names},
                                env={name[1]: name for name in names}), tmp_path / str(number))
    assert (tmp_path / "1").read_bytes() == (tmp_path / "-1").read_bytes()


def test_archives_come_one_after_the_other_each_on_a_border(tmp_path):
    for name, size in (("a", 1), ("b", 512), ("c", 513)):
        (tmp_path / name).write_bytes(name.encode() * size)
    guest.concatenate([tmp_path / name for name in "abc"], tmp_path / "all")
    data = (tmp_path / "all").read_bytes()
    assert data == (b"a" + b"\0" * 511 + b"b" * 512 + b"c" * 513 + b"\0" * 511)
