# SPDX-License-Identifier: GPL-2.0
"""When a guest is ended: the watch over it, by a clock that these tests move."""

import json
import subprocess
import time

import pytest

from memtblib import boot, results

ALLOWED = {"boot": 60, "job": 100, "short": 4}


class Guest:
    """The directory of a guest under watch, and its clock."""

    def __init__(self, place):
        self.place, self.now, self.free = place, 1000.0, 1 << 40

    def says(self, text):
        """More on the results channel."""
        with open(self.place / results.CHANNEL, "ab") as stream:
            stream.write(text.encode())

    def talks(self):
        """More on the console."""
        with open(self.place / results.CONSOLE, "ab") as stream:
            stream.write(b"still here\n")

    def until_ended(self, watch, each=lambda second: None):
        """(seconds that it ran, how it was ended), looked at every second."""
        start = self.now
        for second in range(1, 2000):
            self.now = start + second
            each(second)
            stop = watch.look()
            if stop:
                return second, stop[0]
        return None


@pytest.fixture(name="guest")
def _guest(tmp_path, monkeypatch):
    """A guest that does only what it is told."""
    made = Guest(tmp_path)
    monkeypatch.setattr(time, "monotonic", lambda: made.now)
    monkeypatch.setattr(results, "free_bytes", lambda _place: made.free)
    return made


@pytest.fixture(name="watch")
def _watch(guest):
    return boot.Watch(guest.place, dict(ALLOWED))


@pytest.mark.parametrize("words, limit", [
    ("", 60), ("memtb-guest 1\n", 100), ("memtb-guest 1\nphase other\n", 100),
    ("memtb-guest 1\nphase short\n", 4),
])
def test_a_quiet_hang_ends_at_the_limit_of_its_phase(guest, watch, words, limit):
    guest.says(words)
    watch.look()
    assert guest.until_ended(watch) == (limit + 1, "timeout")


@pytest.mark.parametrize("words, limit", [
    ("", 60), ("memtb-guest 1\n", 100), ("memtb-guest 1\nphase short\n", 4)])
def test_a_hang_that_talks_ends_when_the_limit_was_stretched(guest, watch, words, limit):
    guest.says(words)
    watch.look()
    assert guest.until_ended(watch, lambda _: guest.talks()) == (3 * limit + 1, "timeout")


@pytest.mark.parametrize("last, ends", [(10, 61), (45, 61), (46, 62), (59, 75), (100, 116)])
def test_one_that_fell_silent_late_ends_soon(guest, watch, last, ends):
    assert guest.until_ended(watch, lambda second: second <= last and guest.talks()) == (
        ends, "timeout")


def test_a_new_phase_has_its_own_time(guest, watch):
    guest.says("memtb-guest 1\n")
    found = guest.until_ended(watch, lambda second: guest.says("phase two\n")
                              if second == 90 else None)
    assert found == (191, "timeout")


def test_all_phases_together_have_a_limit(guest, watch):
    guest.says("memtb-guest 1\n")
    found = guest.until_ended(watch, lambda second: guest.says(f"phase p{second}\n")
                              if second % 50 == 0 else None)
    assert found == (3 * (60 + 100 + 4) + 1, "overall")


def test_a_flood_is_ended(guest, watch, monkeypatch):
    monkeypatch.setattr(boot, "FLOOD_BYTES", 110)
    assert guest.until_ended(watch, lambda _: guest.talks()) == (11, "flood")


def test_a_disk_that_is_full_ends_the_guest(guest, watch):
    guest.free = boot.ROOM_BYTES
    assert watch.look() is None
    guest.free -= 1
    assert watch.look()[0] == "disk-full"


def test_the_record_has_every_phase(guest, watch):
    for words, seconds in (("memtb-guest 1\nphase a\n", 2), ("phase b\n", 3), ("phase a\n", 5)):
        guest.now += seconds
        guest.says(words)
        watch.look()
    guest.now += 7
    guest.says("end\n")
    record = watch.close("exit", "", 0)
    assert record["phase_seconds"] == {"boot": 2, "a": 3 + 7, "b": 5, "end": 0}
    assert record["seconds"] == 17 and record["phase"] == "end"


def test_progress_is_told(guest):
    told = []
    watch = boot.Watch(guest.place, ALLOWED, lambda *words: told.append(words))
    guest.now += 5
    guest.says("memtb-guest 1\nphase a\n")
    watch.look()
    assert told == [("a", 5.0)]


class Process:
    """A QEMU that ends after some looks at it."""

    pid = 1234

    def __init__(self, looks=0):
        self.looks, self.killed, self.returncode = looks, False, None

    def poll(self):
        """Its exit status, or None while it runs."""
        self.looks -= 1
        self.returncode = 0 if self.looks < 0 or self.killed else None
        return self.returncode

    def kill(self):
        """Like that of a real process."""
        self.killed = True

    def wait(self):
        """Ends at once when it was killed."""
        assert self.poll() is not None, "would wait for ever"


@pytest.fixture(name="sleeps")
def _sleeps(guest, monkeypatch):
    """Nobody sleeps: the clock goes on by a minute."""
    def sleep(_seconds):
        guest.now += 60
    monkeypatch.setattr(time, "sleep", sleep)


def test_one_that_ended_is_followed_no_more(watch, sleeps):
    assert boot.follow(Process(), watch) == ("exit", "")
    assert boot.follow(Process(1), watch) == ("exit", "")


def test_one_that_ended_on_a_full_disk_has_not_ended_well(guest, watch, sleeps):
    guest.free = 0
    assert boot.follow(Process(), watch)[0] == "disk-full"


def test_one_that_does_not_end_is_followed_to_its_limit(watch, sleeps):
    assert boot.follow(Process(1000), watch)[0] == "timeout"


def test_qemu_dies_with_us(guest, monkeypatch):
    started = []

    def popen(words, **more):
        started.append((words, more))
        return Process()
    monkeypatch.setattr(subprocess, "Popen", popen)
    boot.start(guest.place, ["qemu", "-x"])
    (words, more), = started
    assert words == ["setpriv", "--pdeathsig", "KILL", "qemu", "-x"]
    assert more["cwd"] == guest.place and more["stdin"] == subprocess.DEVNULL
    assert (guest.place / "qemu.pid").read_text() == "1234\n"


@pytest.mark.parametrize("how, error", [
    ("interrupted", KeyboardInterrupt), ("interrupted", ZeroDivisionError), ("timeout", None)])
def test_whatever_happens_qemu_is_ended_and_that_written_down(
        guest, monkeypatch, how, error):
    process = Process(1000)

    def follow(*_):
        if error:
            raise error
        return "timeout", "too long"
    monkeypatch.setattr(boot, "start", lambda *_: process)
    monkeypatch.setattr(boot, "follow", follow)
    try:
        boot.attend(guest.place, [], ALLOWED)
    except (KeyboardInterrupt, ZeroDivisionError) as caught:
        assert isinstance(caught, error)
    assert process.killed
    assert json.loads((guest.place / results.END).read_text())["how"] == how


@pytest.mark.parametrize("mode, factor", [("functional", 1), ("icount", 4)])
def test_limits_of_a_job(mode, factor):
    job = boot.Job(None, "/memtb/job", [], mode=mode, timeouts={"job": 7, "kunit": 8})
    assert boot.limits(job) == {"boot": 60 * factor, "job": 7, "unload": 60 * factor,
                                "end": 60 * factor, "kunit": 8}
