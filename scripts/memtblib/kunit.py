# SPDX-License-Identifier: GPL-2.0
"""The KUnit suites in a guest: booted, parsed by the kernel's own parser, counted.

The parser's word is not enough. What is wanted is read from the sources of the suites,
so that one which never ran is missed; the guest has to pass by its own rules (no splat,
no leak, both modules out); and a skipped test is not a passed one.
"""

import dataclasses
import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from . import boot, console, kernel, lint, module, paths, results, rootfs
from .errors import FAIL, MISS, UserError

EXPECT = ["kunit_load", "kunit_unload", "unload"]
BEGIN, END = "memtb-kunit: begin", "memtb-kunit: end"
NO_PASS = "the kernel's parser does not call this a pass"
STATUSES = {"PASS": "pass", "SKIP": "skip"}


@dataclasses.dataclass
class Report:
    """All leaves of the tree of tests, and what is wrong with the whole."""

    # [(suite, test, pass|fail|skip)]
    tests: list
    faults: list

    def count(self, status):
        """How many tests ended so."""
        return sum(test[2] == status for test in self.tests)


def left_out(place, config):
    """The sources that kunit/Kbuild builds only for a symbol which this .config lacks."""
    kbuild = Path(place) / "Kbuild"
    if not kbuild.is_file():
        return set()
    lines = re.findall(r"^memtb_kunit-\$\((CONFIG_\w+)\) \+= (.*)$",
                       kbuild.read_text(encoding="utf-8"), re.M)
    return {Path(name).with_suffix(".c").name for symbol, names in lines
            for name in names.split() if config.get(symbol) != "y"}


def wanted(config, place=paths.CHECKOUT / "kunit"):
    """{suite: [cases]} as the sources define them for a kernel with this {symbol: value}."""
    found = {}
    out = left_out(place, config)
    for path in sorted(Path(place).glob("*_kunit.c")):
        if path.name in out:
            continue
        text = path.read_text(encoding="utf-8")
        tables = {name: re.findall(r"KUNIT_CASE(?:_PARAM|_SLOW)?\((\w+)", body)
                  for name, body in re.findall(
                      r"struct kunit_case (\w+)\[\] = \{(.*?)\n\};", text, re.S)}
        for body in re.findall(r"struct kunit_suite \w+ = \{(.*?)\n\};", text, re.S):
            name = re.search(r'\.name = "([^"]+)"', body).group(1)
            found[name] = tables[re.search(r"\.test_cases = (\w+)", body).group(1)]
    if not found:
        raise UserError(f"no suite found in {place}", MISS)
    return found


def ktap(log, suites):
    """What the suites printed, in the form that the parser takes.

    A module's suites come without the header that they have at boot; without it the
    parser gives verdicts to the wrong suites.
    """
    lines = [console.STAMP.sub("", line.rstrip("\r")) for line in log.splitlines()]
    begin = max((i for i, line in enumerate(lines) if line == BEGIN), default=len(lines))
    end = next((i for i, line in enumerate(lines) if line == END and i > begin), len(lines))
    said = lines[begin + 1:end]
    # The parser stops where the plan does: one suite too many must not be lost.
    suites = max(suites, sum(bool(re.match(r"(not )?ok \d+ ", line)) for line in said))
    return "\n".join(["KTAP version 1", f"1..{suites}", *said]) + "\n"


def parse(text, source):
    """(tree of tests, faults) by the parser of this kernel source.

    The tree alone hides that a group ended without its own result line.
    """
    tool = Path(source) / "tools" / "testing" / "kunit" / "kunit.py"
    with tempfile.TemporaryDirectory(prefix="memtb-") as place:
        said, out = Path(place) / "ktap", Path(place) / "out.json"
        said.write_text(text, encoding="utf-8")
        result = subprocess.run([lint.PYTHON, str(tool), "parse", f"--json={out}", str(said)],
                                capture_output=True, text=True, check=False, cwd=place)
        try:
            return (json.loads(out.read_text(encoding="utf-8")),
                    complaints(result.returncode, result.stdout))
        except (OSError, ValueError):
            raise UserError(f"{tool} gave no result:\n{result.stdout}{result.stderr}",
                            MISS) from None


def complaints(status, text):
    """What the parser found wrong, from its exit status and the report for people."""
    errors = re.findall(r"\[ERROR\] (.*)", text)
    return [f"parser: {line}" for line in errors] or ([NO_PASS] if status else [])


def leaves(suite, group):
    """(suite, test, status) of every test in a group that has no tests of its own."""
    for case in group["test_cases"]:
        yield suite, case["name"], STATUSES.get(case["status"], "fail")
    for sub in group["sub_groups"]:
        yield from ((suite, f"{sub['name']}: {name}", status)
                    for _, name, status in leaves(suite, sub))


def report(parsed, suites):
    """Compare what was parsed with what is wanted."""
    tree, faults = parsed
    tests = []
    groups = {group["name"]: group for group in tree["sub_groups"]}
    for suite, cases in suites.items():
        group = groups.pop(suite, None)
        if group is None:
            faults.append(f"suite {suite} did not run")
            continue
        names = [part["name"] for part in group["test_cases"] + group["sub_groups"]]
        faults += [f"{suite}: {name} is missing" for name in cases if name not in names]
        faults += [f"{suite}: {name} was not expected" for name in names if name not in cases]
        tests += leaves(suite, group)
        if not any(test[0] == suite and test[2] == "pass" for test in tests):
            faults.append(f"suite {suite} passed nothing")
    faults += [f"suite {name} was not expected" for name in groups]
    faults += [f"{suite}: {name} was skipped" for suite, name, status in tests if status == "skip"]
    found = Report(tests, faults)
    if found.count("fail") and NO_PASS in faults:
        faults.remove(NO_PASS)
    return found


def config(flavour):
    """What the kernel of a KernelBuild was configured with."""
    return kernel.parse_config(flavour.config.read_text(encoding="utf-8"))


def job(flavour, where=paths.RESULTS):
    """The job for a KernelBuild."""
    files = {"/memtb/job": paths.QEMU / "guest" / "job-kunit.sh",
             **module.build(flavour).guest_files}
    # Two memory nodes, where the kernel can make them of one.
    append = "numa=fake=2" if config(flavour).get("CONFIG_NUMA_EMU") == "y" else ""
    return boot.Job(flavour=flavour, job="/memtb/job", rootfs=[rootfs.busybox()], files=files,
                    title=f"kunit-{flavour.name}", cpus=flavour.cpus,
                    memory_mb=512, expect=EXPECT, results_root=where, allow_taint="ON",
                    append=append, expected_splats=("planted",), timeouts={"kunit": 600})


def run(name="x86_64-up", where=paths.RESULTS):
    """Build, boot, parse; (outcome of the guest, Report)."""
    flavour = kernel.flavour(name)
    outcome = boot.run(job(flavour, where))
    log = outcome.dir / results.CONSOLE if outcome.dir else None
    if log is None or not log.is_file():
        return outcome, Report([], ["the guest left no console"])
    suites = wanted(config(flavour))
    text = ktap(log.read_text(encoding="utf-8", errors="replace"), len(suites))
    (outcome.dir / "kunit.ktap").write_text(text, encoding="utf-8")
    found = report(parse(text, flavour.source), suites)
    results.write_json(outcome.dir / "kunit.json", dataclasses.asdict(found))
    return outcome, found


def show(outcome, found, out=sys.stdout):
    """A line for everything that is not fine, then the count."""
    for suite, name, status in found.tests:
        if status == "fail":
            print(f"not ok {suite}: {name}", file=out)
    for fault in found.faults:
        print(f"FAIL {fault}", file=out)
    for reason in outcome.reasons:
        print(f"{outcome.verdict} {reason}", file=out)
    failed = found.count("fail") + len(found.faults) + (outcome.exit_code != 0)
    print(f"results: {outcome.dir}", file=out)
    print(f"{found.count('pass')} passed, {failed} failed", file=out)


def exit_code(outcome, found):
    """The guest's, unless it passed and a test did not."""
    if outcome.exit_code:
        return outcome.exit_code
    return FAIL if found.faults or found.count("fail") or not found.count("pass") else 0
