# SPDX-License-Identifier: GPL-2.0
"""All tests in one go: steps that yield items, each passed or failed with a reason.

A step that cannot run is a failed item, and the others still run: what is missing
must never look like what is fine.
"""

import dataclasses
import os
import re
import subprocess
import sys
import time
import traceback
import xml.etree.ElementTree as ElementTree

from . import completeness, design, kernel, lint, module, paths, progress, setup
from .errors import UserError

LAST_LINE = re.compile(r"^(\d+) passed, (\d+) failed$")


@dataclasses.dataclass
class Item:
    """One thing that was tested; `count` of them when only their number is known."""

    name: str
    passed: bool
    reason: str = ""
    where: str = ""
    count: int = 1


def new_directory():
    """results/check-<time>, never one that is there already."""
    stem = paths.RESULTS / time.strftime("check-%Y%m%d-%H%M%S")
    for suffix in ("", *(f"-{number}" for number in range(1, 100))):
        place = stem.with_name(stem.name + suffix)
        try:
            place.mkdir(parents=True)
            return place
        except FileExistsError:
            continue
    raise UserError(f"cannot make a new directory like {stem}")


# ---- the steps: each gets the results directory ----

def step_setup(_where):
    """What the host must have."""
    setup.ensure()
    yield Item("setup", True)


def step_kernels(_where):
    """The guest kernels, wanted compared with got."""
    for name in kernel.names():
        yield from guarded(f"kernel {name}", lambda name=name: (kernel.flavour(name), None)[1])


def step_modules(where):
    """Module builds, with W=1 and with sparse; a warning is a failure."""
    for name in kernel.names():
        for sparse in (False, True):
            label = f"modules {name} {'sparse' if sparse else 'W=1'}"
            yield from guarded(label, lambda name=name, sparse=sparse: _module(name, sparse, where))


def _module(name, sparse, where):
    """The first complaints, or None."""
    found = module.build(kernel.flavour(name), w=1, check=sparse).warnings
    if not found:
        return None
    log = where / f"modules-{name}{'-sparse' if sparse else ''}.log"
    log.write_text("\n".join(found) + "\n", encoding="utf-8")
    return "\n".join([f"{len(found)} warnings ({log})", *found[:5]])


def step_lint(where):
    """checkpatch and the other linters."""
    for name in lint.LINTERS:
        yield from guarded(f"lint {name}", lambda name=name: _lint(name, where))


def _lint(name, where):
    found = lint.LINTERS[name]()
    if not found:
        return None
    log = where / f"lint-{name}.log"
    log.write_text("\n".join(found) + "\n", encoding="utf-8")
    return "\n".join([f"{len(found)} complaints ({log})", *found[:5]])


def step_completeness(_where):
    """No way into the allocator but the hooked ones."""
    for name in kernel.names("takeover"):
        yield from guarded(f"completeness {name}", lambda name=name: "\n".join(
            completeness.check(kernel.flavour(name))[0]))


def step_host_tests(where):
    """The tests of the scripts."""
    report, log = where / "host-tests.xml", where / "host-tests.log"
    command = [lint.PYTHON, "-m", "pytest", "-v", "-p", "no:cacheprovider", f"--junitxml={report}",
               paths.SCRIPTS / "tests"]
    code, _ = progress.run(command, log, "host tests", step=r"scripts/tests/|.*::",
                           cwd=paths.CHECKOUT)
    if not report.is_file():
        yield Item("host tests", False, f"pytest ended with {code} and no report", str(log))
        return
    yield from junit_items(ElementTree.parse(report).getroot(), log)


def junit_items(root, log):
    """Items of a JUnit report: the passed ones as a number, the others one by one."""
    passed = 0
    for case in root.iter("testcase"):
        bad = [part for part in case if part.tag in ("failure", "error")]
        if bad:
            name = f"host test {case.get('classname')}::{case.get('name')}"
            yield Item(name, False, (bad[0].get("message") or "no message").splitlines()[0],
                       str(log))
        elif case.find("skipped") is None:
            passed += 1
    if not passed:
        yield Item("host tests", False, "not one test passed", str(log))
    else:
        yield Item("host tests", True, count=passed)


def step_kunit(where):
    """KUnit in guests."""
    for name in kernel.names():
        yield from verb_items(where, f"kunit {name}", ["kunit", "--flavour", name])


# Options that change how the kernel's objects are kept; once each is enough.
SMOKE_OPTIONS = [("x86_64-smp", "slob-new+stack")]


def step_smoke(where):
    """The takeover under a few thousand execs, file systems, loopback network."""
    pairs = [(name, backend) for name in kernel.names("takeover") for backend in design.known()]
    for name, backend in [*pairs, *SMOKE_OPTIONS]:
        yield from verb_items(where, f"smoke {name} {backend}",
                              ["smoke", "--flavour", name, "--backend", backend])


def step_cost(where):
    """That the instrument gives every figure; not what they are."""
    for name in kernel.names():
        yield from verb_items(where, f"cost {name}", ["cost", "--try", "--flavour", name])


def verb_items(where, label, words):
    """Run one of our own verbs; its last line may say how many passed and failed."""
    log = where / (label.replace(" ", "-") + ".log")
    code, _ = progress.run([paths.SCRIPTS / "memtb", *words], log, label, step=r".")
    with open(log, encoding="utf-8", errors="replace") as text:
        lines = [line.rstrip() for line in text if line.strip()]
    yield from counted(label, code, lines, log)


def counted(label, code, lines, log):
    """Items of a verb's output. The exit code has the last word."""
    tally = LAST_LINE.match(lines[-1]) if lines else None
    passed, failed = (int(word) for word in tally.groups()) if tally else (0, 0)
    why = [line for line in lines if re.match(r"\s*(FAIL|ERROR|MISS|not ok)\b", line)]
    reason = "\n".join([f"exit code {code}", *(why or lines)[-6:]])
    if passed:
        yield Item(label, True, count=passed)
    if failed:
        yield Item(label, False, reason, str(log), failed)
    elif code:
        yield Item(label, False, reason, str(log))
    elif not passed:
        yield Item(label, True)


STEPS = {
    "setup": step_setup,
    "kernels": step_kernels,
    "modules": step_modules,
    "lint": step_lint,
    "completeness": step_completeness,
    "host-tests": step_host_tests,
    "kunit": step_kunit,
    "smoke": step_smoke,
    "cost": step_cost,
}


def guarded(label, function):
    """One item from a function that returns what is wrong, or nothing."""
    try:
        reason = function()
    except UserError as error:
        reason = str(error)
    yield Item(label, not reason, reason or "")


def run_step(name, where):
    """The items of a step; a crash of the step itself is a failed item."""
    try:
        yield from STEPS[name](where)
    except UserError as error:
        yield Item(name, False, f"could not run: {error}")
    except Exception as error:  # pylint: disable=broad-except
        log = where / f"{name}-crash.log"
        log.write_text(traceback.format_exc(), encoding="utf-8")
        yield Item(name, False, f"could not run: {type(error).__name__}: {error}", str(log))


def show(item, out):
    """A line for a passed item, a paragraph for a failed one."""
    times = f" ({item.count})" if item.count > 1 else ""
    print(f"{'PASS' if item.passed else 'FAIL'} {item.name}{times}", file=out)
    for line in item.reason.splitlines() if not item.passed else []:
        print(f"     {line}", file=out)
    if item.where:
        print(f"     see {os.path.relpath(item.where, paths.CHECKOUT)}", file=out)
    out.flush()


def run(names=None, out=sys.stdout):
    """Run steps; (passed, failed)."""
    where = new_directory()
    passed = failed = 0
    bad = []
    for name in names or STEPS:
        print(f"== {name}", file=out, flush=True)
        started = time.monotonic()
        for item in run_step(name, where):
            show(item, out)
            passed += item.count if item.passed else 0
            failed += 0 if item.passed else item.count
            bad += [] if item.passed else [item.name]
        print(f"   {name}: {progress.clock(time.monotonic() - started)} min", file=out, flush=True)
    print(f"logs: {os.path.relpath(where, paths.CHECKOUT)}", file=out)
    for name in bad:
        print(f"failed: {name}", file=out)
    print(f"{passed} passed, {failed} failed", file=out, flush=True)
    return passed, failed


def commit():
    """What was tested, for the head of the output."""
    result = subprocess.run(["git", "-C", paths.CHECKOUT, "describe", "--always", "--dirty"],
                            capture_output=True, text=True, check=False)
    return result.stdout.strip() or "no git"
