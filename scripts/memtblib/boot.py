# SPDX-License-Identifier: GPL-2.0
"""Boots one job in a guest, watches it, ends it in time and has it judged."""

import dataclasses
import errno
import subprocess
import time
from pathlib import Path

from . import channel, guest, judge, kernel, kvm, paths, progress, qemu, results
from .errors import MISS, UserError

# Seconds of host time a phase may take; a phase without an entry gets that of "job".
TIMEOUTS = {"boot": 60, "job": 300, "unload": 60, "end": 60}
ICOUNT_FACTOR = 4
# A phase that is over its time goes on while the console moves, but not for ever.
STRETCH = 3
QUIET_S = 15
POLL_S = 0.05
ROOM_BYTES = 8 << 20
FLOOD_BYTES = 64 << 20
# Below it the kernel has no room for an initramfs, and says nothing.
LEAST_MB = 48


@dataclasses.dataclass
class Job:
    """What shall run in which guest, and what must come out of it."""

    flavour: kernel.KernelBuild
    job: str
    rootfs: list
    title: str = "run"
    mode: str = "functional"
    cpus: int = 1
    memory_mb: int = 256
    files: dict = dataclasses.field(default_factory=dict)
    env: dict = dataclasses.field(default_factory=dict)
    append: str = ""
    timeouts: dict = dataclasses.field(default_factory=dict)
    # Names of all results, each wanted once; None asks for one of any name at least.
    expect: list = None
    allow_taint: str = "O"
    # Classes of console.EXPECTED: trouble that the job provokes on purpose.
    expected_splats: tuple = ()
    results_root: Path = paths.RESULTS
    arch: str = "x86_64"


@dataclasses.dataclass
class Outcome:
    """What came out of a job."""

    dir: Path
    verdict: str
    cause: str
    reasons: list
    exit_code: int
    results: list
    files: dict
    facts: dict
    phase_seconds: dict


def limits(job):
    """Seconds per phase with the job's own figures put in."""
    factor = ICOUNT_FACTOR if job.mode == "icount" else 1
    return {**{name: seconds * factor for name, seconds in TIMEOUTS.items()}, **job.timeouts}


class Watch:
    """Follows a running guest: where it is, and whether its time is up."""

    def __init__(self, place, allowed, on_progress=None):
        self.place, self.allowed, self.on_progress = place, allowed, on_progress
        self.parser = channel.Parser()
        self.offset = self.console_bytes = 0
        self.started = self.phase_started = self.moved = time.monotonic()
        self.phase, self.phase_seconds = "boot", {}
        self.overall = STRETCH * sum(allowed.values())

    def limit(self):
        """Seconds that the current phase may take."""
        return self.allowed.get(self.phase, self.allowed["job"])

    def look(self):
        """Take in what is new; returns (how, detail) when the guest must be ended."""
        now = time.monotonic()
        self._read_channel(now)
        self._read_console(now)
        if self.on_progress:
            self.on_progress(self.phase, now - self.started)
        return self.no_room() or self._flood() or self._time(now)

    def _read_channel(self, now):
        data = _tail(self.place / results.CHANNEL, self.offset)
        self.offset += len(data)
        phase = self.parser.feed(data).phase
        if phase != self.phase:
            self._book(now)
            self.phase, self.phase_started, self.moved = phase, now, now

    def _book(self, now):
        spent = self.phase_seconds.get(self.phase, 0) + now - self.phase_started
        self.phase_seconds[self.phase] = round(spent, 2)

    def _read_console(self, now):
        size = _size(self.place / results.CONSOLE)
        if size != self.console_bytes:
            self.console_bytes, self.moved = size, now

    def _flood(self):
        if self.console_bytes > FLOOD_BYTES:
            return "flood", f"{self.console_bytes} bytes of console"
        return None

    def no_room(self):
        """QEMU writes its logs without a word when the disk is full: look ourselves."""
        if results.free_bytes(self.place) < ROOM_BYTES:
            return "disk-full", f"less than {ROOM_BYTES >> 20} MiB left at {self.place}"
        return None

    def _time(self, now):
        spent, quiet, limit = now - self.phase_started, now - self.moved, self.limit()
        if spent > limit and (quiet > min(QUIET_S, limit) or spent > STRETCH * limit):
            return "timeout", (f"{spent:.0f} s where {limit:.0f} were allowed, console silent "
                               f"for {quiet:.0f} s")
        if now - self.started > self.overall:
            return "overall", f"{self.overall:.0f} s in all"
        return None

    def close(self, how, detail, returncode):
        """The record that the judge reads."""
        now = time.monotonic()
        self._read_channel(now)
        self._book(now)
        return {"how": how, "detail": detail, "returncode": returncode, "phase": self.phase,
                "seconds": round(now - self.started, 2), "phase_seconds": self.phase_seconds}


def _tail(path, offset):
    try:
        with open(path, "rb") as stream:
            stream.seek(offset)
            return stream.read()
    except FileNotFoundError:
        return b""


def _size(path):
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0


def follow(process, watch):
    """Until QEMU ends or has to be ended; (how, detail)."""
    while process.poll() is None:
        stop = watch.look()
        if stop:
            return stop
        time.sleep(POLL_S)
    # A guest whose logs could not be written ends like any other.
    return watch.no_room() or ("exit", "")


def end(process):
    """End the QEMU that we started, by its process id."""
    if process.poll() is None:
        process.kill()
    process.wait()
    return process.returncode


def start(place, words):
    """Start QEMU in its results directory; it dies with us, however we die."""
    with open(place / results.QEMU_LOG, "wb") as log:
        process = subprocess.Popen(  # pylint: disable=consider-using-with
            ["setpriv", "--pdeathsig", "KILL", *words], cwd=place, stdin=subprocess.DEVNULL,
            stdout=log, stderr=subprocess.STDOUT)
    (place / "qemu.pid").write_text(f"{process.pid}\n", encoding="ascii")
    return process


def attend(place, words, allowed, on_progress=None):
    """Run QEMU to its end, whoever causes it, and write down how it ended."""
    watch = Watch(place, allowed, on_progress)
    process = start(place, words)
    how, detail = "interrupted", ""
    try:
        how, detail = follow(process, watch)
    finally:
        code = end(process)
        (place / "qemu.pid").unlink(missing_ok=True)
        results.write_json(place / results.END, watch.close(how, detail, code))


def accelerator(job):
    """What -accel gets."""
    if job.mode == "icount":
        return "tcg"
    return kvm.accelerator(job)


def check(job):
    """Refuse a job that cannot be meant."""
    if job.mode not in qemu.MODES:
        raise UserError(f"no mode '{job.mode}' (choose from {', '.join(qemu.MODES)})", MISS)
    most = job.flavour.max_cpus
    if not 1 <= job.cpus <= most:
        some = "one processor" if most == 1 else f"1 to {most} processors"
        raise UserError(f"{job.flavour.name} is a kernel for {some}, not {job.cpus}", MISS)
    if job.memory_mb < LEAST_MB:
        raise UserError(f"a guest has at least {LEAST_MB} MB", MISS)
    for phase, seconds in job.timeouts.items():
        if not 0 < seconds < float("inf"):
            raise UserError(f"phase {phase}: {seconds} is no number of seconds above 0", MISS)
    if str(job.job) not in map(str, job.files) and not job.rootfs:
        raise UserError(f"the guest has no {job.job}", MISS)
    qemu.version(qemu.facts(job.arch)["qemu"])


def run(job, on_progress=None):
    """Boot the job and judge it. `on_progress(phase, seconds)` is called now and then."""
    check(job)
    accel = accelerator(job)
    place = None
    try:
        place = results.create(Path(job.results_root), job.title)
        _run_in(place, job, accel, on_progress)
        return outcome(place, judge.judge(place))
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT):
            raise
        reason = f"no room left for the results at {job.results_root}"
        return Outcome(place, "MISS", "disk-full", [reason], MISS, [], {}, {}, {})


def _run_in(place, job, accel, on_progress):
    config = job.flavour.config.read_text(encoding="utf-8")
    words = qemu.command(job, config, accel)
    overlay, initrd = place / "overlay.cpio", place / "initrd.cpio"
    guest.write_overlay(job, overlay)
    archives = [*job.rootfs, overlay]
    results.write_before(place, job, words, archives, config)
    try:
        guest.concatenate(archives, initrd)
        if on_progress:
            attend(place, words, limits(job), on_progress)
        else:
            _with_progress(place, job, words)
    finally:
        # It can be had again from its parts (qemu.sh does), and it is big.
        initrd.unlink(missing_ok=True)


def _with_progress(place, job, words):
    with progress.Progress(f"guest {job.title}") as shown:
        attend(place, words, limits(job),
               lambda phase, _seconds: shown.update(detail=f"phase {phase}"))


def outcome(place, verdict):
    """A judged directory as callers see it."""
    return Outcome(place, verdict.verdict, verdict.cause, verdict.reasons, verdict.exit_code,
                   verdict.results, judge.files(place), verdict.facts, verdict.phases)
