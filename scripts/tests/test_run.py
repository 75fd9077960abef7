# SPDX-License-Identifier: GPL-2.0
"""The main job without its guests: plans, jobs, the race, verdicts and exit codes."""

import dataclasses
import itertools
import re
import subprocess
import threading
from pathlib import Path
from types import SimpleNamespace

import pytest
from memtblib import boot, cache, errors, paths, report, rootfs, run, tree

# The worst first, each with its exit code.
VERDICTS = [("MISS", 128), ("FAIL", 1), ("ERROR", 3), ("SKIP", 4), ("PASS", 0)]
FACTS = {"size": "small", "version": "6.1.1", "files": 10, "objects": 5, "modules": 2,
         "questions": 3, "installed": 4, "image_bytes": 4096}
LONG = 10       # seconds that no step of a test takes


@pytest.fixture(name="parts")
def _parts(tmp_path):
    """Everything that had to be built, as names only."""
    config = tmp_path / ".config"
    config.write_text('CONFIG_CC_VERSION_TEXT="gcc 12.2"\n')
    flavour = SimpleNamespace(name="x86_64-up", key="k123", cpus=7, config=config,
                              release="6.1.1")
    return run.Parts(flavour, Path("/built/memtb.ko"), Path("/built/rootfs.cpio"),
                     SimpleNamespace(cpio=Path("/built/tree.cpio"), facts=FACTS),
                     {"/memtb/timed": Path("/built/timed")})


def ended(verdict="PASS", code=errors.PASS, place=None, seconds=None):
    """The outcome of a guest that ended so."""
    return boot.Outcome(place, verdict, "none", [], code, [], {}, {}, seconds or {})


@pytest.mark.parametrize("plan, message", [
    ({"load": "exec"}, "no load 'exec' \\(choose from install\\)"),
    ({"arch": "vax"}, "no architecture 'vax' \\(choose from x86_64\\)"),
    ({"configs": ("off", "slub")},
     "no configuration 'slub' \\(choose from off, pass, slob, slob-new\\[\\+stack\\]"),
    ({"configs": ("slob+stack",)}, "no configuration 'slob\\+stack'"),
    ({"configs": ("off+stack",)}, "no configuration 'off\\+stack'"),
    ({"configs": ("off", "off")}, "given twice"),
    ({"configs": ()}, "no configuration"),
    ({"runs": 0}, "0 runs .*1 to 20"),
    ({"runs": 21}, "21 runs .*1 to 20"),
])
def test_what_cannot_be_meant_is_refused(plan, message):
    with pytest.raises(errors.UserError, match=message):
        run.check(run.Plan(**plan))


@pytest.mark.parametrize("plan", [{}, {"runs": 1}, {"runs": 20}, {"configs": ("slob",)},
                                  {"configs": ("slob", "off", "pass")},
                                  {"configs": ("slob-new+stack", "slob-new+stack+classes")}])
def test_what_can_be_meant_is_not(plan):
    run.check(run.Plan(**plan))


@pytest.mark.parametrize("smp, full, flavour, size", [
    (False, False, "x86_64-up", "small"), (True, False, "x86_64-smp", "small"),
    (False, True, "x86_64-up", "full"), (True, True, "x86_64-smp", "full")])
def test_a_plan_names_its_kernel_and_its_tree(smp, full, flavour, size):
    plan = run.Plan(smp=smp, full=full)
    assert (plan.flavour, plan.size) == (flavour, size)


def test_each_run_is_a_phase_of_its_own():
    assert run.run_names(1) == ["run1"]
    assert run.run_names(3) == ["run1", "run2", "run3"]


# ---- the guest of a configuration ----

@pytest.mark.parametrize("config, memtb", [
    ("off", "none"), ("pass", "live=pass"), ("slob", "backend=slob live=takeover"),
    ("slob-new+stack+classes", "backend=slob-new+stack+classes live=takeover")])
def test_a_guest_loads_what_its_configuration_says(parts, config, memtb):
    assert run.job(run.Plan(), parts, config, Path("/r")).env == {
        "INSTALL_MEMTB": memtb, "INSTALL_MAKE": " ".join(tree.MAKE), "INSTALL_RUNS": 3,
        "INSTALL_SMP": ""}


@pytest.mark.parametrize("config, smp, runs, expect", [
    ("off", False, 3, ["run1", "run2", "run3", "clock"]),
    ("off", True, 3, ["run1", "run2", "run3"]),
    ("pass", False, 2, ["run1", "run2", "clock", "heap_check"]),
    ("pass", True, 1, ["run1", "heap_check"]),
    ("slob", False, 1, ["run1", "clock", "heap_check", "slabtop"]),
    ("slob", True, 3, ["run1", "run2", "run3", "heap_check", "slabtop"]),
])
def test_a_guest_must_give_these_results(parts, config, smp, runs, expect):
    job = run.job(run.Plan(smp=smp, runs=runs), parts, config, Path("/r"))
    assert sorted(job.expect) == sorted(expect)
    assert (job.env["INSTALL_RUNS"], job.env["INSTALL_SMP"]) == (runs, "yes" if smp else "")


@pytest.mark.parametrize("full, runs, memory, timeouts", [
    (False, 2, 1536, {"run1": 1500, "run2": 1500}), (True, 1, 2560, {"run1": 4000})])
def test_a_bigger_tree_gets_more_memory_and_time(parts, full, runs, memory, timeouts):
    job = run.job(run.Plan(full=full, runs=runs), parts, "slob", Path("/r"))
    assert job.memory_mb == memory
    assert job.timeouts == {"boot": 300, "load": 120, "server": 300, **timeouts}


@pytest.mark.parametrize("config", run.CONFIGS)
def test_a_guest_is_measured_by_its_instructions(parts, config):
    job = run.job(run.Plan(), parts, config, Path("/r"))
    assert (job.mode, job.cpus, job.flavour) == ("icount", 7, parts.flavour)
    assert (job.title, job.results_root) == (config, Path("/r"))
    assert job.rootfs == [Path("/built/rootfs.cpio"), Path("/built/tree.cpio")]
    assert job.expected_splats == () and job.allow_taint == "O"


@pytest.mark.parametrize("config", run.CONFIGS)
def test_only_a_guest_with_memtb_has_the_module(parts, config):
    job = run.job(run.Plan(), parts, config, Path("/r"))
    module = {} if config == "off" else {"/memtb/memtb.ko": Path("/built/memtb.ko")}
    assert job.job == "/memtb/job"
    assert job.files == {"/memtb/job": paths.QEMU / "guest" / "job-install.sh",
                         "/memtb/busybox": rootfs.BUSYBOX,
                         "/memtb/timed": Path("/built/timed"), **module}


# ---- guests side by side ----

@pytest.fixture(name="race")
def _race(own_cache, parts, monkeypatch):   # pylint: disable=unused-argument
    """race(plan, guest): a Race whose guests are calls of guest(configuration, on_progress)."""
    def make(plan, guest):
        monkeypatch.setattr(boot, "run", lambda job, moved: guest(job.title, moved))
        return run.Race(plan, parts, Path("/r"))
    return make


class Noting(dict):
    """Tells when a certain configuration's outcome is there."""

    def __init__(self, awaited, over):
        super().__init__()
        self.awaited, self.over = awaited, over

    def __setitem__(self, name, outcome):
        super().__setitem__(name, outcome)
        if name == self.awaited:
            self.over.set()


@pytest.mark.parametrize("configs", [("off", "slob"), ("slob", "off")])
@pytest.mark.parametrize("first, last", [("off", "slob"), ("slob", "off")])
def test_outcomes_are_in_the_plans_order_whatever_ends_first(race, configs, first, last):
    over, expected = threading.Event(), {name: ended() for name in configs}

    def guest(name, _moved):
        if name == last:
            assert over.wait(LONG)
        return expected[name]
    race_ = race(run.Plan(configs=configs), guest)
    race_.outcomes = Noting(first, over)
    found = race_.run()
    assert list(race_.outcomes) == [first, last]
    assert list(found) == list(configs)
    assert all(found[name] is expected[name] for name in configs)


@pytest.mark.parametrize("spent, left", [
    ({}, 300), ({"slob": 100}, 200), ({"slob": 250, "off": 50}, 50), ({"slob": 300}, 100),
    ({"slob": 299, "off": 98}, 2), ({"slob": 400, "off": 100}, None)])
def test_the_time_left_is_that_of_the_lanes(race, spent, left):
    running = race(run.Plan(configs=("off", "slob")), None)
    running.left, running.spent = {"off": 100, "slob": 300}, spent
    assert running.seconds_left() == left


def test_the_longest_guests_start_first(race):
    # Which of the first two is seen first is the host's affair.
    started, both = [], threading.Barrier(2)

    def guest(name, _moved):
        started.append(name)
        if name != "off":
            both.wait(LONG)
        return ended()
    assert list(race(run.Plan(configs=("off", "pass", "slob")), guest).run()) == [
        "off", "pass", "slob"]
    assert sorted(started[:2]) == ["pass", "slob"] and started[2] == "off"


def test_a_guest_that_passed_is_remembered_for_the_estimate(race):
    seconds = {"boot": 20, "load": 10, "run1": 100, "run2": 60, "end": 4}
    plan = run.Plan(configs=("slob",), runs=2)
    race(plan, lambda _name, _moved: ended(seconds=seconds)).run()
    assert cache.read_note("run-x86_64-up-small-slob") == {"fixed_s": 34, "run_s": 80}
    longer = dataclasses.replace(plan, runs=5)
    assert race(longer, None).guess("slob") == 34 + 5 * 80
    assert race(dataclasses.replace(plan, full=True), None).guess("slob") == 500 * 2.5 * 2 / 3


def test_a_guest_that_failed_is_not(race):
    race(run.Plan(configs=("off",)),
         lambda _name, _moved: ended("FAIL", 1, seconds={"run1": 1})).run()
    assert cache.read_note("run-x86_64-up-small-off") is None


def test_a_guest_that_cannot_start_stops_the_others(race):
    stopped, begun = [], threading.Event()

    def guest(name, moved):
        if name == "off":
            assert begun.wait(LONG)
            raise errors.UserError("no qemu")
        begun.set()
        assert race_.stop.wait(LONG)
        try:
            moved("run1", 1)
        except KeyboardInterrupt:
            stopped.append(name)
            raise
    race_ = race(run.Plan(configs=("off", "slob")), guest)
    with pytest.raises(errors.UserError, match="no qemu"):
        race_.run()
    assert stopped == ["slob"]


# ---- verdicts ----

@pytest.mark.parametrize("one, other", itertools.product(range(len(VERDICTS)), repeat=2))
def test_the_worst_verdict_wins(one, other):
    outcomes = {"off": ended(*VERDICTS[one]), "slob": ended(*VERDICTS[other])}
    verdict, code = VERDICTS[min(one, other)]
    assert run.verdict_of(outcomes) == verdict
    assert run.exit_code_of(outcomes) == code


@pytest.mark.parametrize("words, code", [
    ("PASS PASS PASS", 0), ("PASS PASS SKIP", 4), ("PASS ERROR SKIP", 3), ("ERROR PASS FAIL", 1),
    ("FAIL ERROR MISS", 128)])
def test_the_worst_of_three_wins(words, code):
    codes = dict(VERDICTS)
    assert run.exit_code_of({word + str(number): ended(word, codes[word])
                             for number, word in enumerate(words.split())}) == code


# ---- the commit ----

@pytest.fixture(name="checkout")
def _checkout(tmp_path, monkeypatch):
    """A git repository with one commit, in the checkout's place."""
    place = tmp_path / "checkout"
    place.mkdir()
    (place / "file").write_text("one\n")
    for words in (["init", "-q"], ["add", "file"],
                  ["-c", "user.name=n", "-c", "user.email=e", "commit", "-qm", "m"]):
        subprocess.run(["git", "-C", place, *words], check=True)
    monkeypatch.setattr(paths, "CHECKOUT", place)
    return place


def test_a_clean_checkout_is_its_commit(checkout):
    assert re.fullmatch(r"[0-9a-f]{12}", run.commit())
    full = subprocess.run(["git", "-C", checkout, "rev-parse", "HEAD"], capture_output=True,
                          text=True, check=True).stdout
    assert full.startswith(run.commit())


@pytest.mark.parametrize("staged", [False, True])
def test_a_changed_checkout_is_dirty(checkout, staged):
    clean = run.commit()
    (checkout / "file").write_text("two\n")
    if staged:
        subprocess.run(["git", "-C", checkout, "add", "file"], check=True)
    assert run.commit() == f"{clean}-dirty"


def test_without_git_nobody_knows(tmp_path, monkeypatch):
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    monkeypatch.setattr(paths, "CHECKOUT", tmp_path)
    assert run.commit() == "unknown"


# ---- all of it ----

def test_what_cannot_be_meant_is_refused_before_anything_is_built(monkeypatch):
    monkeypatch.setattr(run, "prepare", lambda _plan: pytest.fail("something was built"))
    with pytest.raises(errors.UserError, match="0 runs"):
        run.run(run.Plan(runs=0), "memtb run")


@pytest.mark.parametrize("verdict, code", VERDICTS)
def test_a_call_leaves_its_record(race, parts, monkeypatch, tmp_path, verdict, code):
    def guest(name, _moved):
        return ended(verdict, code) if name == "pass" else ended()
    plan = run.Plan(runs=2, results_root=tmp_path / "results")
    race(plan, guest)
    monkeypatch.setattr(run, "prepare", lambda asked: parts if asked is plan else None)
    data, place, seen = run.run(plan, "memtb run --runs 2")
    assert seen == code
    assert place.parent == tmp_path / "results" and place.name.endswith("-install-x86_64-up")
    assert report.read(place) == data
    assert [(one["name"], one["verdict"]) for one in data["configs"]] == [
        (name, verdict if name == "pass" else "PASS") for name in run.CONFIGS]
    assert {key: data[key] for key in ("load", "arch", "smp", "runs", "command", "kernel",
                                       "flavour", "kernel_key", "compiler", "tree", "verdict")
            } == {"load": "install", "arch": "x86_64", "smp": False, "runs": 2,
                  "command": "memtb run --runs 2", "kernel": "6.1.1", "flavour": "x86_64-up",
                  "kernel_key": "k123", "compiler": "gcc 12.2", "tree": FACTS,
                  "verdict": verdict}
