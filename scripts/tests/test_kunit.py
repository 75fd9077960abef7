# SPDX-License-Identifier: GPL-2.0
"""The KUnit wrapper: what is not a pass, though a parser may say so."""

import io

import pytest
from memtblib import boot, console, errors, kernel, kunit, module, source

SUITES = {"one": ["a", "b"], "two": ["p"]}
ONE = ["    # Subtest: one", "    1..2", "    ok 1 a", "    ok 2 b",
       "# one: pass:2 fail:0 skip:0 total:2", "ok 1 one"]
TWO = ["    # Subtest: two", "    1..1", "        KTAP version 1", "        # Subtest: p",
       "        ok 1 null: x", "        ok 2 slob: x", "    # p: pass:2 fail:0 skip:0 total:2",
       "    ok 1 p", "ok 2 two"]


def parsed(*lines, suites=None):
    """The Report on a console with these lines."""
    suites = suites or SUITES
    log = "\n".join(f"[    1.{number:06}] {line}" for number, line in
                    enumerate([kunit.BEGIN, *lines, kunit.END]))
    return kunit.report(kunit.parse(kunit.ktap(log, len(suites)), source.linux()), suites)


def code(report, verdict="PASS", exit_code=0):
    """The exit code for a guest that ended so."""
    return kunit.exit_code(boot.Outcome(None, verdict, "none", [], exit_code, [], {}, {}, {}),
                           report)


def test_all_passed():
    report = parsed(*ONE, *TWO)
    assert report.faults == []
    assert [test[1] for test in report.tests] == ["a", "b", "p: null: x", "p: slob: x"]
    assert report.count("pass") == 4
    assert code(report) == errors.PASS


def test_a_guest_that_failed_outweighs_tests_that_passed():
    assert code(parsed(*ONE, *TWO), "FAIL", errors.FAIL) == errors.FAIL
    assert code(parsed(*ONE, *TWO), "ERROR", errors.BOOT_FAILED) == errors.BOOT_FAILED


def test_a_failed_test():
    report = parsed(*ONE[:3], "    not ok 2 b", "not ok 1 one", *TWO)
    assert ("one", "b", "fail") in report.tests
    assert code(report) == errors.FAIL


def test_a_failed_parameter():
    report = parsed(*ONE, *TWO[:5], "        not ok 2 slob: x", "    not ok 1 p", "not ok 2 two")
    assert report.count("fail") == 1
    assert code(report) == errors.FAIL


def test_a_suite_that_did_not_run():
    report = parsed(*ONE)
    assert "suite two did not run" in report.faults
    assert code(report) == errors.FAIL


def test_a_case_that_did_not_run():
    report = parsed("    # Subtest: one", "    1..1", "    ok 1 a", "ok 1 one", *TWO)
    assert report.faults == ["one: b is missing"]


def test_a_suite_cut_off_in_the_middle():
    report = parsed(*ONE, *TWO[:5])
    assert code(report) == errors.FAIL


def test_nothing_at_all():
    assert code(parsed("")) == errors.FAIL
    assert code(parsed(*ONE, suites={"one": []})) == errors.FAIL


def test_skipped_is_not_passed():
    report = parsed(*ONE[:3], "    ok 2 b # SKIP no", "ok 1 one", *TWO)
    assert report.faults == ["one: b was skipped"]
    assert code(report) == errors.FAIL


def test_what_is_wanted_comes_from_the_sources():
    symbols = ["SLAB", "SLOB", "NUMA_EMU", "HOTPLUG_CPU"]
    suites = kunit.wanted({f"CONFIG_{symbol}": "y" for symbol in symbols})
    assert "the_search_goes_on_behind_the_rover" in suites["memtb_slob_list"]
    assert suites["memtb_conformance"] == ["holds", "holds_when_verified"]
    assert sum(path.read_text().count("static struct kunit_suite ") for path in
               (kunit.paths.CHECKOUT / "kunit").glob("*.c")) == len(suites)


def test_a_suite_for_some_kernels_is_wanted_only_there():
    assert "memtb_slab_fidelity" in kunit.wanted({"CONFIG_SLAB": "y"})
    assert "memtb_slab_fidelity" not in kunit.wanted({"CONFIG_SLAB": "n"})
    assert "memtb_slab_fidelity" not in kunit.wanted({"CONFIG_SLUB": "y"})
    assert "memtb_slob_fidelity" in kunit.wanted({"CONFIG_SLOB": "y"})
    assert "memtb_slob_fidelity" not in kunit.wanted({"CONFIG_SLAB": "y"})


def test_no_sources_no_verdict(tmp_path):
    with pytest.raises(errors.UserError, match="no suite found"):
        kunit.wanted({}, tmp_path)


def test_only_planted_trouble_is_expected():
    planted = b"memtb: violation: heap planted, cache -, object 1: x\nCall Trace:\n"
    real = b"memtb: violation: heap default, cache -, object 1: x\n"
    assert console.scan(planted, ("planted",)) == []
    assert [splat.kind for splat in console.scan(planted + real, ("planted",))] == ["memtb"]
    assert len(console.scan(planted)) == 2


def test_no_such_flavour():
    with pytest.raises(errors.UserError, match="choose from x86_64-up"):
        kernel.flavour("vax")


def tree(**suites):
    """What the parser gives for {suite: {test: status}}."""
    return {"sub_groups": [
        {"name": suite, "sub_groups": [],
         "test_cases": [{"name": name, "status": status} for name, status in tests.items()]}
        for suite, tests in suites.items()]}


ALL = {"one": {"a": "PASS", "b": "PASS"}, "two": {"p": "PASS"}}


def faults(said=(), **changes):
    """The faults when these suites are not as they should be."""
    return kunit.report((tree(**{**ALL, **changes}), list(said)), SUITES).faults


def test_a_tree_of_passes_has_no_fault():
    assert faults() == []


@pytest.mark.parametrize("changes, fault", [
    ({"three": {"x": "PASS"}}, "suite three was not expected"),
    ({"two": {"p": "PASS", "q": "PASS"}}, "two: q was not expected"),
    ({"two": {"p": "FAIL"}}, "suite two passed nothing"),
    ({"two": {"p": "ERROR"}}, "suite two passed nothing"),
    ({"one": {"a": "PASS", "b": "SKIP"}}, "one: b was skipped"),
    ({"one": {"a": "PASS"}}, "one: b is missing"),
])
def test_what_differs_from_the_sources_is_a_fault(changes, fault):
    assert faults(**changes) == [fault]


def test_a_suite_that_nobody_expected_is_a_fault_on_a_console_too():
    assert "suite two was not expected" in parsed(*TWO, *ONE, suites={"one": ["a", "b"]}).faults


@pytest.mark.parametrize("status", ["FAIL", "ERROR", "TEST_CRASHED", "NO_TESTS", "", "pass"])
def test_what_has_no_known_status_has_failed(status):
    found = kunit.report((tree(**{**ALL, "one": {"a": "PASS", "b": status}}), []), SUITES)
    assert found.tests.count(("one", "b", "fail")) == 1 and code(found) == errors.FAIL


@pytest.mark.parametrize("status, text, found", [
    (0, "", []),
    (1, "", [kunit.NO_PASS]),
    (1, "[FAILED] x\n", [kunit.NO_PASS]),
    (1, "[ERROR] Test x: none\n", ["parser: Test x: none"]),
    (0, "[12:00:00] [ERROR] one\n[ERROR] two\n", ["parser: one", "parser: two"]),
])
def test_complaints_of_the_parser(status, text, found):
    assert kunit.complaints(status, text) == found


def test_the_parsers_no_counts_though_the_tree_has_passes_only():
    assert faults([kunit.NO_PASS]) == [kunit.NO_PASS]
    assert faults(["parser: x"]) == ["parser: x"]


def test_the_parsers_no_is_said_once_where_a_test_says_why():
    assert faults([kunit.NO_PASS], one={"a": "PASS", "b": "FAIL"}) == []
    assert faults(["parser: x"], one={"a": "PASS", "b": "FAIL"}) == ["parser: x"]


PASSED = ("one", "a", "pass")


@pytest.mark.parametrize("report", [
    kunit.Report([], []),
    kunit.Report([PASSED], ["a fault"]),
    kunit.Report([PASSED, ("one", "b", "fail")], []),
    kunit.Report([("one", "a", "skip")], []),
])
def test_a_guest_that_passed_is_not_enough(report):
    assert code(report) == errors.FAIL


@pytest.mark.parametrize("verdict, exit_code, report, last", [
    ("PASS", 0, kunit.Report([PASSED] * 3, []), "3 passed, 0 failed"),
    ("ERROR", 3, kunit.Report([PASSED] * 3, []), "3 passed, 1 failed"),
    ("PASS", 0, kunit.Report([PASSED], ["x", "y"]), "1 passed, 2 failed"),
    ("FAIL", 1, kunit.Report([PASSED, ("one", "b", "fail")], ["x"]), "1 passed, 3 failed"),
    ("MISS", 128, kunit.Report([], []), "0 passed, 1 failed"),
])
def test_the_last_line_counts_everything_that_failed(verdict, exit_code, report, last):
    outcome = boot.Outcome(None, verdict, "none", ["the reason"], exit_code, [], {}, {}, {})
    out = io.StringIO()
    kunit.show(outcome, report, out)
    lines = out.getvalue().splitlines()
    assert lines[-1] == last and f"{verdict} the reason" in lines
    assert all(f"FAIL {fault}" in lines for fault in report.faults)
    assert ("not ok one: b" in lines) == (report.count("fail") == 1)


def built(monkeypatch, place, config="", smp=False):
    """A kernel of this configuration, its modules and its user land."""
    monkeypatch.setattr(kunit.module, "build", lambda _: module.ModuleBuild(place, []))
    monkeypatch.setattr(kunit.rootfs, "busybox", lambda: place / "busybox.cpio")
    flavour = kernel.KernelBuild("x86_64-up", "k", place, place, smp)
    flavour.config.write_text(config, encoding="utf-8")
    return flavour


@pytest.mark.parametrize("smp", [False, True])
def test_the_job_wants_all_results_and_forgives_no_other_taint(monkeypatch, tmp_path, smp):
    flavour = built(monkeypatch, tmp_path, smp=smp)
    job = kunit.job(flavour, tmp_path)
    assert job.expect == ["kunit_load", "kunit_unload", "unload"]
    # O: from outside the tree. N: KUnit ran.
    assert job.allow_taint == "ON"
    assert job.expected_splats == ("planted",)
    assert (job.flavour, job.cpus, job.results_root) == (flavour, 2 if smp else 1, tmp_path)
    assert job.job == "/memtb/job" and job.rootfs == [tmp_path / "busybox.cpio"]
    assert set(job.files) >= {"/memtb/job", "/memtb/memtb.ko", "/memtb/memtb_kunit.ko"}


@pytest.mark.parametrize("config, append", [
    ("CONFIG_NUMA=y\nCONFIG_NUMA_EMU=y\n", "numa=fake=2"),
    ("CONFIG_NUMA=y\n# CONFIG_NUMA_EMU is not set\n", ""),
    ("", ""),
])
def test_a_kernel_that_can_have_nodes_gets_two(monkeypatch, tmp_path, config, append):
    assert kunit.job(built(monkeypatch, tmp_path, config), tmp_path).append == append


def test_a_guest_without_a_console_is_no_pass(monkeypatch):
    lost = boot.Outcome(None, "MISS", "disk-full", ["no room"], errors.MISS, [], {}, {}, {})
    monkeypatch.setattr(kernel, "flavour", lambda _: None)
    monkeypatch.setattr(kunit, "job", lambda *_: None)
    monkeypatch.setattr(boot, "run", lambda _: lost)
    outcome, found = kunit.run()
    assert found.faults == ["the guest left no console"]
    assert kunit.exit_code(outcome, found) == errors.MISS
