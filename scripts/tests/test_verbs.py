# SPDX-License-Identifier: GPL-2.0
"""The exit code of every verb that judges something, with its back end replaced."""

import io
import itertools
import json

import pytest
from memtblib import (boot, check, cli, completeness, judge, kernel, kunit, lint, module, report,
                      run, smoke, verb_boot)

# The worst first, each with its exit code.
VERDICTS = [("MISS", 128), ("FAIL", 1), ("ERROR", 3), ("SKIP", 4), ("PASS", 0)]


def ended(verdict, code):
    """The outcome of a guest that ended so."""
    return boot.Outcome(None, verdict, "none", ["a reason"], code, [], {}, {}, {})


@pytest.fixture(autouse=True)
def _no_kernel(monkeypatch):
    """Nothing is built: a kernel is its name."""
    monkeypatch.setattr(kernel, "flavour", lambda name: name)


# ---- one guest or several ----

@pytest.mark.parametrize("verdict, code", VERDICTS)
def test_boot_ends_as_its_guest_did(monkeypatch, capsys, verdict, code):
    monkeypatch.setattr(verb_boot, "job", lambda args: args.title)
    monkeypatch.setattr(boot, "run", lambda job: ended(verdict, code) if job == "t" else None)
    assert cli.main(["boot", "--title", "t"]) == code
    assert capsys.readouterr().out == f"  a reason\n{verdict}: no results\n"


@pytest.mark.parametrize("verdict, code", VERDICTS)
def test_boot_ends_so_in_json_too(monkeypatch, capsys, verdict, code):
    monkeypatch.setattr(verb_boot, "job", lambda args: args)
    monkeypatch.setattr(boot, "run", lambda _job: ended(verdict, code))
    assert cli.main(["boot", "--json"]) == code
    assert json.loads(capsys.readouterr().out)["verdict"] == verdict


@pytest.mark.parametrize("verdict, code", VERDICTS)
def test_smoke_ends_as_its_guest_did(monkeypatch, capsys, verdict, code):
    asked = []

    def backend(*words, **options):
        asked.append((words, options))
        return ended(verdict, code)
    monkeypatch.setattr(smoke, "run", backend)
    assert cli.main(["smoke", "--flavour", "x86_64-smp", "--execs", "77", "--bare"]) == code
    assert f"{verdict}: no results\n" in capsys.readouterr().out
    words, options = asked[0]
    assert len(asked) == 1
    assert "x86_64-smp" in [*words, *options.values()]
    assert (options["execs"], options["bare"], options["backend"]) == (77, True, "slob")


@pytest.mark.parametrize("verdict, code", VERDICTS)
def test_run_ends_as_the_worst_guest_did(monkeypatch, capsys, verdict, code):
    asked = []

    def backend(plan, command):
        asked.append((plan, command))
        return {"verdict": verdict}, "/the/place", code
    monkeypatch.setattr(run, "run", backend)
    monkeypatch.setattr(report, "text", lambda record: f"table of {record['verdict']}")
    assert cli.main(["run", "--configs", "off, slob", "--runs", "2", "--smp", "--full"]) == code
    said = capsys.readouterr()
    assert said.out == f"table of {verdict}\n" and said.err == "results in /the/place\n"
    assert cli.main(["run", "--json"]) == code
    assert json.loads(capsys.readouterr().out) == {"verdict": verdict}
    plans = [plan for plan, _command in asked]
    assert plans == [run.Plan(configs=("off", "slob"), runs=2, smp=True, full=True), run.Plan()]


# How the guest ended, what its tests said and what was wrong with them: the exit code, and
# how many count as failed.
KUNIT = [
    ("PASS", 0, ["pass"], [], 0, 0),
    ("PASS", 0, ["pass", "fail"], [], 1, 1),
    ("PASS", 0, ["fail", "pass"], [], 1, 1),
    ("PASS", 0, ["pass"], ["suite two did not run"], 1, 1),
    ("PASS", 0, ["fail", "fail", "pass"], ["suite two did not run"], 1, 3),
    ("PASS", 0, [], [], 1, 0),
    ("PASS", 0, ["skip"], [], 1, 0),
    ("FAIL", 1, ["pass", "pass"], [], 1, 1),
    ("ERROR", 3, ["pass"], [], 3, 1),
    ("ERROR", 3, ["fail"], ["suite two did not run"], 3, 3),
    ("SKIP", 4, ["pass"], [], 4, 1),
    ("MISS", 128, ["pass"], [], 128, 1),
]


def kunit_report(tests, faults):
    """A Report of tests that ended so."""
    return kunit.Report([("suite", "test", status) for status in tests], faults)


@pytest.mark.parametrize("verdict, guest, tests, faults, code, _failed", KUNIT)
def test_kunit_passes_when_guest_and_tests_do(monkeypatch, capsys, verdict, guest, tests, faults,
                                              code, _failed):
    back = ended(verdict, guest), kunit_report(tests, faults)
    monkeypatch.setattr(kunit, "run", lambda _name, _where: back)
    assert cli.main(["kunit"]) == code
    capsys.readouterr()
    assert cli.main(["kunit", "--json"]) == code
    assert json.loads(capsys.readouterr().out)["exit_code"] == code


@pytest.mark.parametrize("verdict, guest, tests, faults, _code, failed", KUNIT)
def test_kunits_last_line_counts(verdict, guest, tests, faults, _code, failed):
    out = io.StringIO()
    kunit.show(ended(verdict, guest), kunit_report(tests, faults), out)
    assert out.getvalue().splitlines()[-1] == f"{tests.count('pass')} passed, {failed} failed"


# ---- directories that are judged again ----

@pytest.fixture(name="judged")
def _judged(monkeypatch, tmp_path):
    """judged(verdicts): the exit code of `memtb judge` over directories with these."""
    def verdict_of(place):
        word = place.name.split("-")[1]
        return judge.Verdict(word, "none", [], [], {})
    monkeypatch.setattr(judge, "judge", verdict_of)

    def main(*words):
        places = [tmp_path / f"{number}-{word}" for number, word in enumerate(words)]
        for place in places:
            place.mkdir()
        return cli.main(["judge", *map(str, places)])
    return main


def test_the_order_of_verdicts_is_the_one_that_these_tests_know():
    assert [*judge.ORDER, "PASS"] == [word for word, _code in VERDICTS]


@pytest.mark.parametrize("one, other", itertools.product(range(len(VERDICTS)), repeat=2))
def test_judge_ends_with_the_worst_of_two(judged, one, other):
    assert judged(VERDICTS[one][0], VERDICTS[other][0]) == VERDICTS[min(one, other)][1]


@pytest.mark.parametrize("words, code", [
    (["PASS"], 0), (["SKIP"], 4), (["PASS", "SKIP", "PASS"], 4), (["ERROR", "PASS", "FAIL"], 1),
    (["SKIP", "ERROR", "PASS"], 3), (["FAIL", "MISS", "ERROR"], 128)])
def test_judge_ends_with_the_worst_of_all(judged, capsys, words, code):
    assert judged(*words) == code
    said = [line.split(":")[0] for line in capsys.readouterr().out.splitlines()
            if not line.startswith(" ")]
    assert said == words


def test_judge_refuses_what_is_no_directory(judged, tmp_path, capsys):
    assert cli.main(["judge", str(tmp_path / "nowhere")]) == 128
    assert "not a directory" in capsys.readouterr().err
    assert judged("PASS") == 0


# ---- checks without a guest ----

@pytest.mark.parametrize("passed, failed, code", [
    (5, 0, 0), (5, 1, 1), (0, 0, 1), (0, 1, 1), (1, 0, 0), (0, 256, 1)])
def test_check_passes_when_something_did_and_nothing_failed(monkeypatch, passed, failed, code):
    asked = []

    def backend(steps):
        asked.append(steps)
        return passed, failed
    monkeypatch.setattr(check, "run", backend)
    assert cli.main(["check", "lint", "kunit"]) == code
    assert asked == [["lint", "kunit"]]


@pytest.mark.parametrize("escapes, code", [
    ({}, 0), ({"x86_64-up": 1}, 1), ({"x86_64-smp": 1}, 1), ({"x86_64-up": 3}, 1),
    ({"x86_64-up": 128, "x86_64-smp": 128}, 1)])
@pytest.mark.parametrize("names", [[], ["x86_64-up", "x86_64-smp"]])
def test_completeness_passes_when_nothing_escapes(monkeypatch, capsys, names, escapes, code):
    monkeypatch.setattr(completeness, "check", lambda name: (
        [f"{name} calls kfree"] * escapes.get(name, 0),
        [completeness.Call("kfree", "__slab_free", "call")]))
    assert cli.main(["completeness", *names]) == code
    said = capsys.readouterr().out
    assert said.count("ESCAPE") == sum(escapes.values())
    for name in names or kernel.names("takeover"):
        assert f"{name}: 1 calls of inner functions, {escapes.get(name, 0)} escape" in said


@pytest.mark.parametrize("complaints, code", [
    ({"flake8": 0, "spdx": 0}, 0), ({"flake8": 2, "spdx": 0}, 1), ({"flake8": 0, "spdx": 1}, 1)])
def test_lint_passes_when_nothing_complains(monkeypatch, complaints, code):
    monkeypatch.setattr(lint, "run", lambda names: {name: complaints[name] for name in names})
    assert cli.main(["lint", *complaints]) == code


@pytest.mark.parametrize("bad, code", [(None, 0), ("x86_64-up", 2), ("x86_64-smp", 2)])
def test_module_passes_without_a_warning(monkeypatch, tmp_path, bad, code):
    def build(name, *_options):
        return module.ModuleBuild(tmp_path, ["a.c:1: warning"] if name == bad else [])
    monkeypatch.setattr(module, "build", build)
    assert cli.main(["module", "x86_64-up", "x86_64-smp"]) == code
