# SPDX-License-Identifier: GPL-2.0
"""The main job: one load in guests that differ in who serves the kernel's allocations."""

import concurrent.futures
import dataclasses
import datetime
import subprocess
import threading
import time
from pathlib import Path

from . import (boot, cache, design, helpers, judge, kernel, module, paths, progress, report,
               results, rootfs, tree)
from .errors import MISS, UserError

# Configurations that are no design: insmod's arguments. Ratios are to the first.
BASE = "off"
NATIVE = {"off": "none", "pass": "live=pass"}
# Those of a run that names none.
CONFIGS = (*NATIVE, *design.known())
LOADS = ("install",)
ARCHES = ("x86_64",)
MAX_RUNS = 20
MEMORY_MB = {"small": 1536, "full": 2560}
# Guests at a time: each keeps one processor of the host busy.
SIDE_BY_SIDE = 2
# Host seconds of three runs, until a configuration is through its first call here.
FIRST_GUESS_S = {"off": 110, "pass": 120, "slob": 500}
OTHER_GUESS_S = 130
FULL_FACTOR = 2.5
# Host seconds for one phase: far above what a slow host needs, far below for ever.
PHASE_S = {"boot": 300, "load": 120, "server": 300}
RUN_S = {"small": 1500, "full": 4000}


@dataclasses.dataclass(frozen=True)
class Plan:
    """What was asked for."""

    configs: tuple = CONFIGS
    runs: int = 3
    full: bool = False
    smp: bool = False
    load: str = "install"
    arch: str = "x86_64"
    results_root: Path = paths.RESULTS

    @property
    def size(self):
        """The served tree's name."""
        return "full" if self.full else "small"

    @property
    def flavour(self):
        """The guest kernel's name."""
        return f"{self.arch}-{'smp' if self.smp else 'up'}"


def _choose(what, value, valid):
    if value not in valid:
        raise UserError(f"no {what} '{value}' (choose from {', '.join(valid)})", MISS)


def choices():
    """For messages: every configuration."""
    return ", ".join([*NATIVE, design.choices()])


def arguments(config):
    """What insmod is given."""
    return NATIVE.get(config) or f"backend={config} live=takeover"


def check(plan):
    """Refuse what cannot be meant, in one line that names the valid values."""
    _choose("load", plan.load, LOADS)
    _choose("architecture", plan.arch, ARCHES)
    if not plan.configs:
        raise UserError(f"no configuration given (choose from {choices()})", MISS)
    for name in plan.configs:
        if name not in NATIVE and not design.valid(name):
            raise UserError(f"no configuration '{name}' (choose from {choices()})", MISS)
    if len(set(plan.configs)) < len(plan.configs):
        raise UserError("a configuration was given twice: " + ",".join(plan.configs), MISS)
    if not 1 <= plan.runs <= MAX_RUNS:
        raise UserError(f"{plan.runs} runs are not possible (choose from 1 to {MAX_RUNS})", MISS)


def run_names(runs):
    """The phases that are measured."""
    return [f"run{number}" for number in range(1, runs + 1)]


@dataclasses.dataclass(frozen=True)
class Parts:
    """Everything that had to be built."""

    flavour: kernel.KernelBuild
    memtb_ko: Path
    rootfs: Path
    tree: tree.Tree
    helpers: dict


def prepare(plan):
    """Build what is missing."""
    flavour = kernel.flavour(plan.flavour)
    return Parts(flavour, module.build(flavour).memtb_ko, rootfs.install(),
                 tree.build(plan.size), helpers.build(flavour))


def job(plan, parts, config, place):
    """The guest of one configuration."""
    names = run_names(plan.runs)
    expect = [*names, *([] if plan.smp else ["clock"]),
              *([] if config == BASE else ["heap_check"]),
              *([] if config in NATIVE else ["slabtop"])]
    files = {"/memtb/job": paths.QEMU / "guest" / "job-install.sh",
             "/memtb/busybox": rootfs.BUSYBOX, **parts.helpers}
    if config != BASE:
        files["/memtb/memtb.ko"] = parts.memtb_ko
    env = {"INSTALL_MEMTB": arguments(config), "INSTALL_MAKE": " ".join(tree.MAKE),
           "INSTALL_RUNS": plan.runs, "INSTALL_SMP": "yes" if plan.smp else ""}
    return boot.Job(flavour=parts.flavour, job="/memtb/job", mode="icount",
                    rootfs=[parts.rootfs, parts.tree.cpio], files=files, env=env,
                    title=config, cpus=parts.flavour.cpus, memory_mb=MEMORY_MB[plan.size],
                    expect=expect, results_root=place,
                    timeouts={**PHASE_S, **{name: RUN_S[plan.size] for name in names}})


class Race:
    """Guests side by side, the longest first, with one line of progress for all."""

    def __init__(self, plan, parts, place):
        self.plan, self.parts, self.place = plan, parts, place
        self.stop = threading.Event()
        self.spent, self.phase, self.outcomes = {}, {}, {}
        self.left = {name: self.guess(name) for name in plan.configs}

    def _note(self, config):
        return f"run-{self.plan.flavour}-{self.plan.size}-{config}"

    def guess(self, config):
        """Host seconds that a configuration will take."""
        past = cache.read_note(self._note(config))
        if past:
            return past["fixed_s"] + past["run_s"] * self.plan.runs
        return (FIRST_GUESS_S.get(config, OTHER_GUESS_S) * (FULL_FACTOR if self.plan.full else 1)
                * self.plan.runs / 3)

    def _learn(self, config, outcome):
        seconds = outcome.phase_seconds
        total = sum(seconds.values())
        runs = sum(seconds.get(name, 0) for name in run_names(self.plan.runs))
        cache.write_note(self._note(config), {"fixed_s": total - runs,
                                              "run_s": runs / self.plan.runs})

    def _one(self, config):
        def moved(phase, seconds):
            if self.stop.is_set():
                raise KeyboardInterrupt
            self.phase[config], self.spent[config] = phase, seconds

        moved("boot", 0)
        outcome = boot.run(job(self.plan, self.parts, config, self.place), moved)
        if outcome.verdict == "PASS":
            self._learn(config, outcome)
        self.outcomes[config] = outcome
        return outcome

    def seconds_left(self):
        """What remains: the work spread over the lanes, or the longest guest alone.

        None if that took longer than ever before: then nobody knows.
        """
        open_ = [max(self.left[name] - self.spent.get(name, 0), 0)
                 for name in self.plan.configs if name not in self.outcomes]
        return max([sum(open_) / SIDE_BY_SIDE, *open_], default=0) or None

    def _show(self, shown):
        left = self.seconds_left()
        shown.estimate_s = shown.elapsed() + left if left else None
        running = [f"{name}: {phase}" for name, phase in sorted(self.phase.items())
                   if name not in self.outcomes]
        shown.update(detail=f"{len(self.outcomes)} of {len(self.plan.configs)} guests done, "
                            + ", ".join(running))

    def run(self):
        """{configuration: Outcome} in the plan's order."""
        order = sorted(self.plan.configs, key=lambda name: -self.left[name])
        with progress.Progress(f"{self.plan.load} on {self.plan.flavour}",
                               self.seconds_left()) as shown, \
                concurrent.futures.ThreadPoolExecutor(SIDE_BY_SIDE) as pool:
            waiting = {pool.submit(self._one, name) for name in order}
            try:
                while waiting:
                    done, waiting = concurrent.futures.wait(waiting, timeout=0.5)
                    for future in done:
                        future.result()
                    self._show(shown)
            except BaseException:
                self.stop.set()
                pool.shutdown(cancel_futures=True)
                raise
        return {name: self.outcomes[name] for name in self.plan.configs}


def verdict_of(outcomes):
    """The worst verdict of all guests."""
    return judge.worst([outcome.verdict for outcome in outcomes.values()])


def exit_code_of(outcomes):
    """The exit code that goes with it."""
    return judge.EXIT_CODES[verdict_of(outcomes)]


def commit():
    """The checkout's commit, with -dirty when it is not that commit's content."""
    result = subprocess.run(["git", "-C", str(paths.CHECKOUT), "describe", "--always", "--dirty",
                             "--abbrev=12"], capture_output=True, text=True, check=False)
    return result.stdout.strip() or "unknown"


def head(plan, parts, command):
    """What is said once for all configurations."""
    config = parts.flavour.config.read_text(encoding="utf-8")
    return {
        "load": plan.load, "arch": plan.arch, "smp": plan.smp, "runs": plan.runs,
        "command": command, "commit": commit(), "kernel": parts.flavour.release,
        "flavour": parts.flavour.name, "kernel_key": parts.flavour.key,
        "compiler": results.compiler(config), "tree": parts.tree.facts,
    }


def run(plan, command):
    """All of it: (record, directory, exit code)."""
    check(plan)
    parts = prepare(plan)
    place = results.create(Path(plan.results_root), f"{plan.load}-{plan.flavour}")
    # Now: the checkout may be another commit's when the guests are done.
    said = head(plan, parts, command)
    started = time.monotonic()
    outcomes = Race(plan, parts, place).run()
    record = report.record(said, outcomes, verdict_of(outcomes))
    record["host"] = {"seconds": round(time.monotonic() - started, 1),
                      "date": datetime.datetime.now(datetime.timezone.utc).isoformat("T",
                                                                                     "seconds")}
    report.write(place, record)
    return record, place, exit_code_of(outcomes)
