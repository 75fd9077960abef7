# SPDX-License-Identifier: GPL-2.0
"""memtb check: a failure or a step that cannot run is never lost."""

import io
import xml.etree.ElementTree as ElementTree

import pytest

from memtblib import check, paths
from memtblib.errors import UserError


@pytest.fixture
def steps(monkeypatch, tmp_path):
    """Run steps of our own; (last line, whole output)."""
    monkeypatch.setattr(paths, "RESULTS", tmp_path)
    monkeypatch.setattr(paths, "CHECKOUT", tmp_path)

    def run(**functions):
        monkeypatch.setattr(check, "STEPS", functions)
        out = io.StringIO()
        check.run(out=out)
        return out.getvalue().splitlines()[-1], out.getvalue()
    return run


def good(_where):
    yield check.Item("good", True, count=3)


def bad(_where):
    yield check.Item("bad", False, "it broke", "")


def crash(_where):
    yield check.Item("begun", True)
    raise ZeroDivisionError("oh")


def missing(_where):
    raise UserError("no qemu")
    yield  # pylint: disable=unreachable


def test_all_good(steps):
    assert steps(one=good, two=good)[0] == "6 passed, 0 failed"


def test_goes_on_after_a_failure_and_says_why(steps):
    last, text = steps(one=bad, two=good)
    assert last == "3 passed, 1 failed" and "it broke" in text


@pytest.mark.parametrize("step, passed, word", [(crash, 4, "ZeroDivisionError"),
                                                (missing, 3, "no qemu")])
def test_a_step_that_cannot_run_is_a_failure(steps, step, passed, word):
    last, text = steps(one=step, two=good)
    assert last == f"{passed} passed, 1 failed" and word in text


def items(code, *lines):
    """(passed, failed) of a verb's output."""
    found = list(check.counted("x", code, list(lines), "log"))
    return (sum(item.count for item in found if item.passed),
            sum(item.count for item in found if not item.passed))


def test_counts_of_a_verb():
    assert items(0, "12 passed, 0 failed") == (12, 0)
    assert items(1, "FAIL y", "12 passed, 2 failed") == (12, 2)
    assert items(0, "something else") == (1, 0)


def test_exit_code_has_the_last_word():
    assert items(3, "12 passed, 0 failed") == (12, 1)
    assert items(128) == (0, 1)
    assert items(0, "0 passed, 2 failed") == (0, 2)


def junit(*cases):
    """(passed, failed) of a report."""
    text = "".join(f'<testcase classname="c" name="n">{case}</testcase>' for case in cases)
    found = list(check.junit_items(ElementTree.fromstring(f"<t><s>{text}</s></t>"), "log"))
    return (sum(item.count for item in found if item.passed),
            sum(item.count for item in found if not item.passed))


def test_host_tests():
    assert junit("", "", '<failure message="m\nn"/>', '<error message="m"/>') == (2, 2)
    assert junit("", "<skipped/>") == (1, 0)


def test_host_tests_that_all_skip_are_a_failure():
    assert junit("<skipped/>") == (0, 1)
    assert junit() == (0, 1)


def test_directories_are_never_shared(monkeypatch, tmp_path):
    monkeypatch.setattr(paths, "RESULTS", tmp_path)
    assert len({check.new_directory() for _ in range(3)}) == 3
