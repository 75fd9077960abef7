# SPDX-License-Identifier: GPL-2.0
"""memtb check: a failure or a step that cannot run is never lost."""

import io
import re
import xml.etree.ElementTree as ElementTree

import pytest

from memtblib import check, completeness, design, kernel, lint, module, paths, progress
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


FLAVOURS = {name: kernel.Flavour(fragments, False, 1, 1) for name, fragments in
            {"one": ["base", "takeover"], "two": ["base"], "three": ["base", "takeover"]}.items()}


@pytest.fixture(name="builds")
def _builds(monkeypatch, tmp_path):
    """Three flavours, two of which can be taken over; nothing is built or booted, all is good."""
    asked = []

    def build(flavour, w=0, check=False):
        asked.append((flavour, w, check))
        return module.ModuleBuild(tmp_path, [])

    def verb_items(_where, label, words):
        asked.append(words)
        yield check.Item(label, True)
    monkeypatch.setattr(kernel, "FLAVOURS", FLAVOURS)
    monkeypatch.setattr(kernel, "flavour", lambda name: name)
    monkeypatch.setattr(module, "build", build)
    monkeypatch.setattr(completeness, "check", lambda _: ([], ["seen"]))
    monkeypatch.setattr(check, "verb_items", verb_items)
    return asked


def lines(step, where):
    """[(name, passed)] of a step."""
    return [(item.name, item.passed) for item in step(where)]


@pytest.mark.parametrize("step, names", [
    (check.step_kernels, ["kernel one", "kernel two", "kernel three"]),
    (check.step_modules, [f"modules {name} {how}" for name in ("one", "two", "three")
                          for how in ("W=1", "sparse")]),
    (check.step_completeness, ["completeness one", "completeness three"]),
    (check.step_kunit, ["kunit one", "kunit two", "kunit three"]),
    (check.step_smoke, [f"smoke {name} {backend}" for name in ("one", "three")
                        for backend in design.known()] + ["smoke x86_64-smp slob-new+stack"]),
])
def test_a_step_goes_over_all_flavours_that_it_is_for(builds, tmp_path, step, names):
    assert lines(step, tmp_path) == [(name, True) for name in names]


def test_kunit_is_told_its_flavour(builds, tmp_path):
    lines(check.step_kunit, tmp_path)
    assert builds == [["kunit", "--flavour", name] for name in FLAVOURS]


def test_smoke_is_told_its_flavour_and_backend(builds, tmp_path):
    lines(check.step_smoke, tmp_path)
    assert builds == [["smoke", "--flavour", name, "--backend", backend]
                      for name, backend in [*((name, backend) for name in ("one", "three")
                                              for backend in design.known()),
                                            ("x86_64-smp", "slob-new+stack")]]


def test_modules_are_built_with_warnings_and_with_sparse(builds, tmp_path):
    lines(check.step_modules, tmp_path)
    assert builds == [(name, 1, sparse) for name in FLAVOURS for sparse in (False, True)]


def test_one_escape_is_a_failure(builds, monkeypatch, tmp_path):
    monkeypatch.setattr(completeness, "check", lambda name: (["x"] if name == "one" else [], [1]))
    assert lines(check.step_completeness, tmp_path) == [
        ("completeness one", False), ("completeness three", True)]


def test_one_warning_of_a_module_is_a_failure(builds, monkeypatch, tmp_path):
    warning = "module/x.c:1: warning: y"
    monkeypatch.setattr(module, "build", lambda name, w, check: module.ModuleBuild(
        tmp_path, [warning] if name == "two" and check else []))
    failed, = (item for item in check.step_modules(tmp_path) if not item.passed)
    assert failed.name == "modules two sparse" and warning in failed.reason
    assert (tmp_path / "modules-two-sparse.log").read_text() == warning + "\n"


def test_one_complaint_of_a_linter_is_a_failure(monkeypatch, tmp_path):
    monkeypatch.setattr(lint, "LINTERS", {"a": lambda: [], "b": lambda: ["x.c:1: y"]})
    good_item, bad_item = check.step_lint(tmp_path)
    assert good_item == check.Item("lint a", True)
    assert not bad_item.passed and "x.c:1: y" in bad_item.reason
    assert (tmp_path / "lint-b.log").read_text() == "x.c:1: y\n"


def test_what_raises_is_a_failed_item_and_the_next_still_comes(builds, monkeypatch, tmp_path):
    def broken(*_, **__):
        raise UserError("no compiler")
    item, = check.guarded("x", broken)
    assert item == check.Item("x", False, "no compiler")
    monkeypatch.setattr(kernel, "flavour", broken)
    for step in (check.step_kernels, check.step_modules, check.step_completeness):
        found = list(step(tmp_path))
        assert len(found) > 1 and not any(item.passed for item in found)


@pytest.mark.parametrize("reason, passed", [(None, True), ("", True), ("wrong", False)])
def test_what_a_function_says_is_the_reason(reason, passed):
    assert list(check.guarded("x", lambda: reason)) == [check.Item("x", passed, reason or "")]


def test_host_tests_that_leave_no_report_are_a_failure(monkeypatch, tmp_path):
    monkeypatch.setattr(progress, "run", lambda *_, **__: (0, 0))
    assert lines(check.step_host_tests, tmp_path) == [("host tests", False)]


def test_the_steps_are_those_of_the_documentation():
    page = (paths.CHECKOUT / "Documentation" / "testing.rst").read_text()
    table = re.search(r"^=+  =+\nstep .*?\n=+  =+\n(.*?)^=+  =+\n", page, re.S | re.M).group(1)
    assert re.findall(r"^``([a-z-]+)``", table, re.M) == list(check.STEPS)
    assert list(check.STEPS) == ["setup", "kernels", "modules", "lint", "completeness",
                                 "host-tests", "kunit", "smoke", "cost"]
    for name, step in check.STEPS.items():
        assert step.__name__ == "step_" + name.replace("-", "_")
