# SPDX-License-Identifier: GPL-2.0
"""The cache: whole entries or none, one builder at a time."""

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from memtblib import cache
from memtblib.errors import UserError

SCRIPTS = Path(__file__).resolve().parents[1]
BUILDER = """
import signal, sys, time
sys.path.insert(0, sys.argv[1])
from memtblib import cache
# The background jobs of a shell, these tests perhaps among them, are born deaf to it.
signal.signal(signal.SIGINT, signal.default_int_handler)
def build(temp):
    (temp / "half").write_text("x")
    with open(sys.argv[2], "a") as log:
        log.write("built\\n")
    time.sleep(float(sys.argv[3]))
    (temp / "whole").write_text("x")
print(cache.entry("kind", "name", {"a": 1}, build))
"""


def builder(log, seconds):
    """A process that builds the one entry, slowly."""
    return subprocess.Popen([sys.executable, "-c", BUILDER, str(SCRIPTS), str(log), str(seconds)],
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def wait_for(path):
    """Until a path is there."""
    for _ in range(200):
        if path.exists():
            return
        time.sleep(0.05)
    raise AssertionError(f"{path} did not appear")


def whole(temp):
    """A build that works."""
    (temp / "whole").write_text("x")


def test_second_call_builds_nothing(own_cache):
    first = cache.entry("kind", "name", {"a": 1}, whole)
    second = cache.entry("kind", "name", {"a": 1}, lambda temp: pytest.fail("built again"))
    assert first == second and first.parent == own_cache / "kind"


def test_key_decides(own_cache):
    places = {cache.entry("kind", "name", {"a": value}, whole) for value in (1, 2, "1")}
    assert len(places) == 3


def test_entry_is_not_there_before_it_is_whole(own_cache):
    place = own_cache / "kind" / ("name-" + cache.key12("k"))
    cache.entry("kind", "name", "k", lambda temp: (whole(temp), pytest.fail("early")
                                                   if place.exists() else None))
    assert (place / "whole").exists()


@pytest.mark.parametrize("error", [OSError("full"), KeyboardInterrupt(), UserError("no")])
def test_failed_build_leaves_nothing(own_cache, error):
    def build(temp):
        whole(temp)
        raise error
    with pytest.raises(type(error)):
        cache.entry("kind", "name", "k", build)
    assert [path.name for path in (own_cache / "kind").iterdir() if path.is_dir()] == []
    assert cache.entry("kind", "name", "k", whole).is_dir()


def test_two_builders_build_once(own_cache, tmp_path):
    log = tmp_path / "log"
    first = builder(log, 1.5)
    wait_for(log)
    second = builder(log, 0)
    outputs = [process.communicate(timeout=20) for process in (first, second)]
    assert outputs[0][0] == outputs[1][0] and outputs[0][0].strip()
    assert "waiting" in outputs[1][1]
    assert log.read_text() == "built\n"


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_killed_builder_leaves_no_valid_entry(own_cache, tmp_path, number):
    log = tmp_path / "log"
    process = builder(log, 30)
    wait_for(log)
    os.kill(process.pid, number)
    process.communicate(timeout=20)
    place = cache.entry("kind", "name", {"a": 1}, whole)
    assert (place / "whole").exists() and not (place / "half").exists()


def test_leavings_of_a_dead_builder_are_swept_by_any_build(own_cache, tmp_path):
    log = tmp_path / "log"
    process = builder(log, 30)
    wait_for(log)
    process.kill()
    process.communicate(timeout=20)
    assert list((own_cache / "kind").glob(".*.tmp"))
    cache.entry("kind", "other", "k", whole)
    assert not list((own_cache / "kind").glob(".*.tmp"))


def test_work_in_progress_is_not_swept(own_cache, tmp_path):
    log = tmp_path / "log"
    process = builder(log, 1.5)
    wait_for(log)
    cache.entry("kind", "other", "k", whole)
    output, _ = process.communicate(timeout=20)
    assert (Path(output.strip()) / "half").exists() and process.returncode == 0


def test_empty_refuses_what_is_not_ours(tmp_path, monkeypatch):
    (tmp_path / "precious").write_text("x")
    monkeypatch.setenv("MEMTB_CACHE", str(tmp_path))
    with pytest.raises(UserError, match="memtb did not make it"):
        cache.empty()
    assert (tmp_path / "precious").exists()


def test_empty_refuses_while_a_build_runs(own_cache, tmp_path):
    log = tmp_path / "log"
    process = builder(log, 1.5)
    wait_for(log)
    with pytest.raises(UserError, match="under way"):
        cache.empty()
    assert process.wait(timeout=20) == 0
    cache.empty()
    assert [path.name for path in own_cache.iterdir()] == [cache.TAG_FILE]


def test_read_only_directories_can_be_removed(tmp_path):
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / "a" / "b" / "c").write_text("x")
    (tmp_path / "a" / "b").chmod(0o555)
    cache.remove_tree(tmp_path / "a")
    assert not (tmp_path / "a").exists()


def test_anything_can_be_removed(tmp_path):
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "link").symlink_to(tmp_path)
    for name in ("fifo", "link", "nothing"):
        cache.remove_tree(tmp_path / name)
    assert not list(tmp_path.iterdir())


def test_place(monkeypatch):
    monkeypatch.delenv("MEMTB_CACHE", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", "/x")
    assert cache.root() == Path("/x/memtb")
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert cache.root() == Path.home() / ".cache" / "memtb"
    monkeypatch.setenv("MEMTB_CACHE", "/y")
    assert cache.root() == Path("/y")


def digest(place, **files):
    """The hash of a directory with these files in it."""
    place.mkdir()
    for name, text in files.items():
        (place / name).write_text(text)
    return cache.hash_files(place, place.iterdir())


@pytest.mark.parametrize("files", [
    {"a": "xz", "b": "z"},                      # the same sizes
    {"a": "xy", "c": "z"},                      # renamed
    {"a": "x", "b": "yz"},                      # a byte moved between the files
    {"a": "z", "b": "xy"},                      # contents swapped
    {"a": "xy"},
    {"a": "xy", "b": "z", "c": ""},
    {"a": "xyb\0z"},                            # one file that looks like two
])
def test_a_digest_of_files_covers_names_and_contents(tmp_path, files):
    assert digest(tmp_path / "1", **files) != digest(tmp_path / "2", a="xy", b="z")


def test_a_digest_of_files_does_not_say_where_they_are(tmp_path):
    assert digest(tmp_path / "1", a="xy", b="z") == digest(tmp_path / "2", b="z", a="xy")


def test_a_digest_of_files_has_no_order(tmp_path):
    paths = [tmp_path / name for name in "abc"]
    for path in paths:
        path.write_text(path.name)
    assert cache.hash_files(tmp_path, paths) == cache.hash_files(tmp_path, paths[::-1])


def test_a_foreign_directory_does_not_become_ours_by_use(tmp_path, monkeypatch):
    (tmp_path / "precious").write_text("x")
    monkeypatch.setenv("MEMTB_CACHE", str(tmp_path))
    cache.make_root()
    cache.entry("kind", "name", "k", whole)
    with pytest.raises(UserError, match="memtb did not make it"):
        cache.empty()
    assert (tmp_path / "precious").exists() and not (tmp_path / cache.TAG_FILE).exists()


def test_an_empty_directory_becomes_ours(tmp_path, monkeypatch):
    monkeypatch.setenv("MEMTB_CACHE", str(tmp_path))
    cache.entry("kind", "name", "k", whole)
    cache.empty()
    assert [path.name for path in tmp_path.iterdir()] == [cache.TAG_FILE]


def test_a_key_is_twelve_hex_digits():
    for material in ("k", {"a": 1}, {"a": Path("/x"), "b": [None, 2]}):
        assert re.fullmatch("[0-9a-f]{12}", cache.key12(material))


@pytest.mark.parametrize("one, two", [
    ({"a": Path("/x")}, {"a": Path("/y")}), ([Path("x")], [Path("y")]),
    ({"a": 1}, {"b": 1}), ({"a": ["x", "y"]}, {"a": ["y", "x"]}), ({"a": True}, {"a": False}),
])
def test_everything_in_a_key_counts(one, two):
    assert cache.key12(one) != cache.key12(two)


def test_the_order_in_which_a_key_was_made_does_not_count():
    assert cache.key12({"a": 1, "b": 2}) == cache.key12({"b": 2, "a": 1})
