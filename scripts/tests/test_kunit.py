# SPDX-License-Identifier: GPL-2.0
"""The KUnit wrapper: what is not a pass, though a parser may say so."""

import pytest
from memtblib import boot, console, errors, kernel, kunit, source

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
    suites = kunit.wanted()
    assert "the_search_goes_on_behind_the_rover" in suites["memtb_slob_list"]
    assert suites["memtb_conformance"] == ["holds", "holds_when_verified"]
    assert sum("kunit_suite " in path.read_text() for path in
               (kunit.paths.CHECKOUT / "kunit").glob("*.c")) == 5


def test_no_sources_no_verdict(tmp_path):
    with pytest.raises(errors.UserError, match="no suite found"):
        kunit.wanted(tmp_path)


def test_only_planted_trouble_is_expected():
    planted = b"memtb: violation: heap planted, cache -, object 1: x\nCall Trace:\n"
    real = b"memtb: violation: heap default, cache -, object 1: x\n"
    assert console.scan(planted, ("planted",)) == []
    assert [splat.kind for splat in console.scan(planted + real, ("planted",))] == ["memtb"]
    assert len(console.scan(planted)) == 2


def test_no_such_flavour():
    with pytest.raises(errors.UserError, match="choose from x86_64-up"):
        kernel.flavour("vax")
