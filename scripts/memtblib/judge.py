# SPDX-License-Identifier: GPL-2.0
"""The verdict on a results directory, from what lies there; can be repeated at any time.

Evidence is sorted by whom it speaks against. MISS: the harness broke. ERROR: the guest
never got to the point, or nobody can tell. FAIL: the code under test is at fault. The
first of these that has any evidence is the verdict, except that evidence of a fault
outweighs a time-out, which alone may be the host's.
"""

import dataclasses
import re
from pathlib import Path

from . import channel, console, errors, results

EXIT_CODES = {"PASS": errors.PASS, "FAIL": errors.FAIL, "ERROR": errors.BOOT_FAILED,
              "SKIP": errors.SKIP, "MISS": errors.MISS}
# The worst first.
ORDER = ("MISS", "FAIL", "ERROR", "SKIP")
# /proc/sys/kernel/tainted, bit by bit.
TAINTS = "PFSRMBUDAWCIOELKXTN"
MISS_ENDS = {
    "disk-full": "no room left for the results",
    "interrupted": "interrupted",
}
TIMEOUT_ENDS = ("timeout", "overall", "flood")
# What job.json and end.json must say for a run to be one.
JOB_KEYS = {"title": str, "expect": list | None, "allow_taint": str, "config_dropped": list,
            "kmemleak": bool}
END_KEYS = {"how": str, "phase": str, "returncode": int | None}
NUMBER = re.compile(r"[0-9]{1,18}$")
# The last line that init has the kernel print.
CONSOLE_END = b"memtb-guest: end"
SHOWN_SPLATS = 8


@dataclasses.dataclass
class Verdict:
    """What came out; `cause` is one word for the first reason."""

    verdict: str
    cause: str
    reasons: list
    results: list
    facts: dict
    phases: dict = dataclasses.field(default_factory=dict)

    @property
    def exit_code(self):
        """The plain run's exit code."""
        return EXIT_CODES[self.verdict]


class Case:
    """Collects evidence: (verdict word, cause, reason)."""

    def __init__(self, place):
        self.place = Path(place)
        self.job = results.read_record(self.place / results.JOB, JOB_KEYS)
        self.end = results.read_record(self.place / results.END, END_KEYS)
        self.said = channel.parse(self._read(results.CHANNEL))
        self.console = self._read(results.CONSOLE)
        self.evidence = []

    def _read(self, name):
        try:
            return (self.place / name).read_bytes()
        except OSError:
            return b""

    @property
    def timed_out(self):
        """Whether the runner had to end the guest."""
        return self.end["how"] in TIMEOUT_ENDS

    def add(self, word, cause, reason):
        """One piece of evidence."""
        self.evidence.append((word, cause, reason))

    def harness(self):
        """Did the harness itself get through?"""
        if self.job is None or self.end is None:
            self.add("MISS", "no-run", f"{self.place} holds no finished run "
                     f"({results.JOB} and {results.END} are needed)")
            return
        how, code = self.end["how"], self.end.get("returncode")
        if how in MISS_ENDS:
            self.add("MISS", how, MISS_ENDS[how] + _detail(self.end))
        elif how != "exit":
            if how not in TIMEOUT_ENDS:
                self.add("MISS", "no-run", f"{results.END} tells of no end that there is: {how}")
        elif not isinstance(code, int):
            self.add("MISS", "no-run", f"{results.END} has no exit status of QEMU")
        elif code < 0:
            self.add("MISS", "qemu-killed", f"QEMU was killed by signal {-code} in phase "
                     f"{self.end['phase']}, not by this run")
        elif code:
            self.add("MISS", "qemu-failed", f"QEMU ended with status {code}: "
                     + self._read(results.QEMU_LOG).decode(errors="replace").strip()[-400:])
        if self.job["config_dropped"]:
            self.add("MISS", "config", "Kconfig dropped: " + "; ".join(self.job["config_dropped"]))

    def time_outs(self):
        """Did every phase end in its time?"""
        if not self.timed_out:
            return
        phase = self.end["phase"]
        word = {"flood": "console flood"}.get(self.end["how"], "hang")
        self.add("ERROR", "boot-hang" if phase == "boot" else word.replace(" ", "-"),
                 f"{word} in phase {phase}{_detail(self.end)}")

    def boot(self):
        """Did the guest get to its init?"""
        if self.said.hello:
            return
        dead = " (kernel panic)" if console.panicked(self.console) else ""
        self.add("ERROR", "boot-failed", f"the guest's init never said hello{dead}")

    def splats(self):
        """What does the kernel log complain of?"""
        found = console.scan(self.console, self.job.get("expected_splats", ()))
        # A guest that never came up is a failed boot, whatever it printed on its way.
        word = "FAIL" if self.said.hello else "ERROR"
        found.sort(key=lambda splat: splat.kind != "panic")
        for splat in found[:SHOWN_SPLATS]:
            self.add(word, splat.kind, str(splat))
        if len(found) > SHOWN_SPLATS:
            self.add(word, "splat", f"and {len(found) - SHOWN_SPLATS} more lines of trouble")

    def wholeness(self):
        """Did the guest say all that it had to?"""
        word = "ERROR" if self.timed_out or not self.said.hello else "FAIL"
        for text in self.said.damage:
            self.add(word, "channel-damaged", f"results channel: {text}")
        if not self.said.ended:
            self.add(word, "no-end", "the guest stopped without saying end")
            return
        if self.said.facts.get("job-exit") != "0":
            died = self.said.facts.get("died", "no message")
            self.add("FAIL", "job-failed", "the job ended with status "
                     f"{self.said.facts.get('job-exit', 'unknown')}: {died}")
        if CONSOLE_END not in self.console:
            self.add("FAIL", "no-scan", f"{results.CONSOLE} does not reach the guest's end: "
                     "trouble may be missing")
        self._taint()
        self._modules()
        self._kmemleak()

    def _modules(self):
        value = self.said.facts.get("modules-left")
        if value is None:
            self.add("FAIL", "no-scan", "nobody looked for modules left behind")
            return
        left = set(value.split()) - {"none"} - set(self.said.facts.get("may-stay", "").split())
        if left:
            self.add("FAIL", "unload", f"still loaded at the end: {' '.join(sorted(left))}")

    def _taint(self):
        value = self.said.facts.get("taint", "")
        if not NUMBER.match(value):
            self.add("FAIL", "no-scan", "the taint check did not run")
            return
        found = {letter for bit, letter in enumerate(TAINTS) if int(value) >> bit & 1}
        extra = sorted(found - set(self.job["allow_taint"]))
        if extra or int(value) >> len(TAINTS):
            self.add("FAIL", "taint", f"kernel tainted: {' '.join(extra)} ({value})")

    def _kmemleak(self):
        value = self.said.facts.get("kmemleak", "")
        number = NUMBER.match(value)
        if self.job["kmemleak"] and not number:
            self.add("FAIL", "no-scan", "kmemleak is built in, its scan did not run")
        elif number and int(value):
            self.add("FAIL", "kmemleak", f"kmemleak: {value} leaked objects (files/kmemleak)")

    def verdicts(self):
        """Are all results there, once each, and good?"""
        lost = "ERROR" if self.timed_out or not self.said.hello else "FAIL"
        names = [result["name"] for result in self.said.results]
        for name in sorted({name for name in names if names.count(name) > 1}):
            self.add("FAIL", "count", f"result {name} came {names.count(name)} times")
        wanted = self.job["expect"]
        if wanted is None and not names:
            self.add(lost, "missing-result", "no result came")
        for name in wanted or []:
            if name not in names:
                self.add(lost, "missing-result", f"result {name} is missing")
        for name in sorted(set(names) - set(names if wanted is None else wanted)):
            self.add("FAIL", "count", f"result {name} was not expected")
        for result in self.said.results:
            self._one(result)

    def _one(self, result):
        values = " ".join(f"{key}={value}" for key, value in result["values"].items())
        if result["status"] == "fail":
            self.add("FAIL", "result", f"{result['name']} failed {values}".rstrip())
        elif result["status"] == "skip":
            self.add("SKIP", "skipped", f"{result['name']} was skipped {values}".rstrip())

    def unload(self):
        """An unload that passed must have left its line, and the line must say zero."""
        passed = sum(result["name"] == "unload" and result["status"] == "pass"
                     for result in self.said.results)
        if passed > len(console.unloads(self.console)):
            self.add("FAIL", "unload", "memtb.ko went, but no leak count is on the console")

    def judge(self):
        """All of the above, in order."""
        self.harness()
        if self.job is not None and self.end is not None:
            for look in (self.time_outs, self.boot, self.splats, self.verdicts, self.wholeness,
                         self.unload):
                look()
        return self._weigh()

    def _weigh(self):
        words = [word for word, _, _ in self.evidence]
        booted = self.said.hello
        order = ORDER if booted else ("MISS", "ERROR", "FAIL", "SKIP")
        verdict = next((word for word in order if word in words), "PASS")
        ranked = sorted(self.evidence, key=lambda item: order.index(item[0]))
        # A time-out and a failed boot are looked for first: they explain what follows.
        cause = next((cause for word, cause, _ in ranked if word == verdict), "none")
        return Verdict(verdict, cause, [reason for _, _, reason in ranked], self.said.results,
                       self.said.facts, (self.end or {}).get("phase_seconds", {}))


def worst(verdicts):
    """Of several verdicts the one that counts."""
    return next((word for word in ORDER if word in verdicts), "PASS")


def _detail(end):
    return f": {end['detail']}" if end.get("detail") else ""


def judge(place, write=True):
    """Judge a results directory, write verdict.json and the files that the guest sent."""
    case = Case(place)
    verdict = case.judge()
    if write and case.job is not None:
        _write(case, verdict)
    return verdict


def _write(case, verdict):
    if case.said.files:
        (case.place / "files").mkdir(exist_ok=True)
    for name, data in case.said.files.items():
        (case.place / "files" / name).write_bytes(data)
    record = dataclasses.asdict(verdict)
    record.update(version=1, exit_code=verdict.exit_code, title=case.job["title"],
                  qemu_end=case.end)
    results.write_json(case.place / results.VERDICT, record)


def files(place):
    """{name: path} of what the guest sent."""
    found = Path(place) / "files"
    return {path.name: path for path in sorted(found.iterdir())} if found.is_dir() else {}
