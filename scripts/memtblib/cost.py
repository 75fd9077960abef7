# SPDX-License-Identifier: GPL-2.0
"""The cost table: guest instructions per operation, counted by memtb_cost.ko in a guest.

Which designs there are, only the module knows: names given by the user go to it as they
are, and it is the module that refuses them. What figures must come is known here, so
that one that is missing is a failure and not a gap in a table.
"""

import dataclasses
import datetime
import hashlib
import itertools
import json
import math
import re
import time
from pathlib import Path

from . import boot, judge, kernel, module, paths, report, results, rootfs, run
from .errors import MISS, UserError

VERSION = 2
SCHEMA = Path(__file__).parent / "cost.schema.json"
RECORD, TEXT = "cost.json", "cost.txt"
EXPECT = ["cost_load", "unload"]
OPS = {
    "pair": "one object of a cache, warm",
    "batch": "64 objects, then their frees in the order of allocation",
    "bulk": "32 objects at a time, by the calls that take an array",
    "block": "one block of the general-purpose side: memtb_alloc() or kmalloc()",
}
SIZES = (32, 256, 1024, 4096)
GROWTH = {
    "grow": "one of n live objects of 64 bytes is freed, another allocated, anywhere among n\n"
            "      holes that a cache of 32 bytes left; the cost grows with n to the power of k",
    "holes": "the same among n holes that their own cache left",
}
LIVE = (100, 1000, 10_000, 100_000, 1_000_000)
EMPTY, NATIVE = "empty", "native"
# 2,000,000 objects of 64 bytes, and where they are.
MEMORY_MB = 512
PHASE_S = 1800
WORDS = re.compile(r"[A-Za-z0-9_+,-]*")
# Enough to see that it works.
TRY = {"objects": 64, "repeats": 2, "live_max": 1000}


@dataclasses.dataclass(frozen=True)
class Plan:
    """What was asked for."""

    flavours: tuple = ("x86_64-up",)
    # As the user typed them; the module reads them.
    backends: str = "all"
    live_max: int = LIVE[-1]
    twice: bool = False
    attempt: bool = False
    results_root: Path = paths.RESULTS

    @property
    def params(self):
        """The module's parameters."""
        values = dict(TRY) if self.attempt else {"live_max": self.live_max}
        return {"designs": self.backends, **values}

    @property
    def live(self):
        """The numbers of live objects that come of it."""
        return tuple(number for number in LIVE if number <= self.params["live_max"])


@dataclasses.dataclass(frozen=True)
class Figure:
    """`instructions` for `operations`; `agree` repetitions came to the same."""

    op: str
    arg: int
    subject: str
    instructions: int
    operations: int
    agree: int

    @property
    def place(self):
        """Where in the table."""
        return self.op, self.arg, self.subject

    @property
    def each(self):
        """Per operation."""
        return self.instructions / self.operations


@dataclasses.dataclass
class Found:
    """What a guest measured, and what is wrong with it."""

    native: str = "unknown"
    exact: bool = False
    repeats: int = 0
    subjects: list = dataclasses.field(default_factory=list)
    figures: list = dataclasses.field(default_factory=list)
    faults: list = dataclasses.field(default_factory=list)

    def each(self, op, arg, subject):
        """Instructions per operation, or None."""
        return next((figure.each for figure in self.figures
                     if figure.place == (op, arg, subject)), None)


def check(plan):
    """Refuse what cannot be meant."""
    valid = kernel.names() if plan.attempt else kernel.names("measure")
    for name in plan.flavours:
        if name not in valid:
            raise UserError(f"no flavour '{name}' to measure on (choose from "
                            f"{', '.join(valid)})", MISS)
    if len(set(plan.flavours)) < len(plan.flavours):
        raise UserError("a flavour was given twice: " + ", ".join(plan.flavours), MISS)
    if not WORDS.fullmatch(plan.backends):
        raise UserError("--backends takes design[+option]... with commas between, or all", MISS)
    if plan.live_max not in LIVE:
        raise UserError(f"--live-max {plan.live_max} is not possible (choose from "
                        f"{', '.join(map(str, LIVE))})", MISS)
    if plan.twice and plan.attempt:
        raise UserError("--try has no exact figures: not together with --twice", MISS)


# ---- what the guest said ----

def _figure(words):
    op, arg, subject, *numbers = words
    instructions, operations, agree = map(int, numbers)
    if not instructions or not operations:
        raise ValueError
    return Figure(op, int(arg), subject, instructions, operations, agree)


def parse(text):
    """The Found of the file that memtb_cost.ko made."""
    found = Found()
    handlers = {
        "native": lambda words: setattr(found, "native", words[0]),
        "exact": lambda words: setattr(found, "exact", words[0] == "1"),
        "repeats": lambda words: setattr(found, "repeats", int(words[0])),
        "subject": lambda words: found.subjects.append(words[0]),
        "figure": lambda words: found.figures.append(_figure(words)),
    }
    for line in text.splitlines():
        key, *words = line.split()
        try:
            handlers[key](words)
        except (KeyError, ValueError, IndexError):
            found.faults.append(f"not understood: {line}")
    return found


def expected(subjects, live):
    """Every place in the table."""
    args = [*itertools.product(OPS, SIZES), *itertools.product(GROWTH, live)]
    return [(op, arg, subject) for subject in subjects for op, arg in args]


def designs(plan, listed):
    """Subjects that have to be there; `listed` is the module's own list of backends."""
    if plan.backends != "all":
        return plan.backends.split(",")
    return [re.sub(r"[][]", "", word).split("+")[0] for word in listed.split()]


def _same(design):
    """The module puts a design's options in an order of its own."""
    return sorted(design.split("+")[1:]), design.split("+")[0]


def inspect(plan, found, listed):
    """Add to the faults what is missing, or was not asked for."""
    subjects = [EMPTY, NATIVE, *designs(plan, listed)]
    if sorted(map(_same, subjects)) != sorted(map(_same, found.subjects)):
        found.faults.append(f"subjects are {', '.join(found.subjects) or 'none'}, not "
                            + ", ".join(subjects))
    wanted = expected(found.subjects, plan.live)
    got = [figure.place for figure in found.figures]
    found.faults += [f"{op} {arg} {subject}: no figure"
                     for op, arg, subject in wanted if (op, arg, subject) not in got]
    found.faults += [f"{op} {arg} {subject}: was not expected"
                     for op, arg, subject in got if (op, arg, subject) not in wanted]
    found.faults += [f"{op} {arg} {subject}: {got.count((op, arg, subject))} figures"
                     for op, arg, subject in sorted(set(got)) if got.count((op, arg, subject)) > 1]
    if not plan.attempt and not found.exact:
        found.faults.append("the guest's counter does not count instructions")


def differences(first, second):
    """A line for every figure that a second boot did not give again."""
    one = {figure.place: figure.instructions for figure in first.figures}
    two = {figure.place: figure.instructions for figure in second.figures}
    return [f"{' '.join(map(str, place))}: {one.get(place)} instructions, then {two.get(place)}"
            for place in dict.fromkeys([*one, *two]) if one.get(place) != two.get(place)]


def exponent(points):
    """The power of n that the cost grows with: least squares on both logarithms."""
    pairs = [(math.log(number), math.log(cost)) for number, cost in points]
    if len(pairs) < 2:
        return None
    mean_x = sum(x for x, _ in pairs) / len(pairs)
    mean_y = sum(y for _, y in pairs) / len(pairs)
    slope = (sum((x - mean_x) * (y - mean_y) for x, y in pairs)
             / sum((x - mean_x) ** 2 for x, _ in pairs))
    return round(slope, 3) + 0.0


# ---- guests ----

def job(flavour, plan, title, where):
    """The job for a KernelBuild."""
    files = {"/memtb/job": paths.QEMU / "guest" / "job-cost.sh",
             **module.build(flavour).guest_files}
    params = " ".join(f"{key}={value}" for key, value in plan.params.items())
    # A cache that was merged with another one would be as warm as that one's users left it.
    return boot.Job(flavour=flavour, job="/memtb/job", rootfs=[rootfs.busybox()], files=files,
                    env={"COST_PARAMS": params}, title=title, cpus=flavour.cpus,
                    mode="functional" if plan.attempt else "icount", append="slab_nomerge",
                    memory_mb=MEMORY_MB, expect=EXPECT, results_root=where,
                    timeouts={"cost": PHASE_S})


def _read(outcome, name):
    path = outcome.files.get(name)
    return path.read_text(encoding="utf-8", errors="replace") if path else ""


def measure(flavour, plan, title, where):
    """One guest: (Outcome, Found). A word that the module refused is the user's to mend."""
    outcome = boot.run(job(flavour, plan, title, where))
    refused = _read(outcome, "refused").strip()
    if refused:
        raise UserError(f"memtb cost: {flavour.name}: {refused}", MISS)
    found = parse(_read(outcome, "cost"))
    inspect(plan, found, _read(outcome, "backends"))
    return outcome, found


def table_of(flavour, plan, where):
    """The record of one flavour."""
    outcome, found = measure(flavour, plan, flavour.name, where)
    outcomes = [outcome]
    if plan.twice:
        again, second = measure(flavour, plan, f"{flavour.name}-again", where)
        outcomes.append(again)
        found.faults += second.faults + differences(found, second)
    verdicts = [outcome.verdict for outcome in outcomes] + (["FAIL"] if found.faults else [])
    config = flavour.config.read_text(encoding="utf-8")
    return {
        "flavour": flavour.name, "kernel": flavour.release, "kernel_key": flavour.key,
        "compiler": results.compiler(config), "cpus": flavour.cpus, "native": found.native,
        "exact": found.exact, "repeats": found.repeats, "boots": len(outcomes),
        "verdict": judge.worst(verdicts),
        "reasons": [reason for outcome in outcomes for reason in outcome.reasons] + found.faults,
        "dirs": [outcome.dir.name for outcome in outcomes if outcome.dir],
        "subjects": found.subjects, "figures": rows(found),
        "exponents": {op: {subject: exponent(growth(found, op, subject))
                           for subject in found.subjects} for op in GROWTH},
    }


def growth(found, op, subject):
    """(live objects, instructions per operation) of a subject."""
    return [(figure.arg, figure.each) for figure in found.figures
            if figure.op == op and figure.subject == subject]


def rows(found):
    """The figures with what follows from them."""
    return [{**dataclasses.asdict(figure), "per_operation": round(figure.each, 3),
             "ratio": report.ratio(figure.each, found.each(figure.op, figure.arg, NATIVE))}
            for figure in found.figures]


def run_all(plan, command):
    """All of it: (record, directory, exit code)."""
    check(plan)
    flavours = [kernel.flavour(name) for name in plan.flavours]
    place = results.create(Path(plan.results_root), "cost")
    # Now: the checkout may be another commit's when the guests are done.
    commit, started = run.commit(), time.monotonic()
    tables = [table_of(flavour, plan, place) for flavour in flavours]
    record = {
        "version": VERSION, "command": command, "commit": commit,
        "unit": "guest instructions" if not plan.attempt else "cycles, not exact",
        "params": {key: str(value) for key, value in plan.params.items()},
        "verdict": judge.worst([table["verdict"] for table in tables]),
        "tables": tables, "figures": fingerprint(tables),
        "host": {"seconds": round(time.monotonic() - started, 1),
                 "date": datetime.datetime.now(datetime.timezone.utc).isoformat("T", "seconds")},
    }
    report.validate(record, SCHEMA)
    results.write_json(place / RECORD, record)
    (place / TEXT).write_text(text(record), encoding="utf-8")
    return record, place, judge.EXIT_CODES[record["verdict"]]


def fingerprint(tables):
    """A digest of all figures, to compare two calls at a glance."""
    figures = [[table["flavour"], table["figures"]] for table in tables]
    return hashlib.sha256(json.dumps(figures, sort_keys=True).encode()).hexdigest()[:16]


# ---- text ----

def _cell(value, width, digits=1):
    return f"{'-' if value is None else format(value, f'.{digits}f'):>{width}}"


def _lookup(table):
    return {(row["op"], row["arg"], row["subject"]): row for row in table["figures"]}


def _width(table):
    return 2 + max(len(name) for name in [*table["subjects"], "bytes"])


def _op(table, op):
    found, width = _lookup(table), _width(table)
    lines = [f"{op}: {OPS[op]}",
             f"  {'bytes':{width}}" + "".join(f"{size:>9}" for size in SIZES)
             + "   x native" + "".join(f"{size:>7}" for size in SIZES)]
    for subject in table["subjects"]:
        row = [found.get((op, size, subject), {}) for size in SIZES]
        lines.append(f"  {subject:{width}}"
                     + "".join(_cell(cell.get("per_operation"), 9) for cell in row) + " " * 11
                     + "".join(_cell(cell.get("ratio"), 7, 2) for cell in row))
    return lines + [""]


def _growth(table, op):
    found, width = _lookup(table), _width(table)
    live = sorted({row["arg"] for row in table["figures"] if row["op"] == op})
    if not live:
        return []
    lines = [f"{op}: {GROWTH[op]}",
             f"  {'n':{width}}" + "".join(f"{number:>11}" for number in live) + f"{'k':>8}"]
    for subject in table["subjects"]:
        row = [found.get((op, number, subject), {}) for number in live]
        lines.append(f"  {subject:{width}}"
                     + "".join(_cell(cell.get("per_operation"), 11) for cell in row)
                     + _cell(table["exponents"][op].get(subject), 8, 2))
    return lines + [""]


def _alone(table):
    """Figures that no second repetition came to: right, but perhaps not the least."""
    return [f"{row['op']} {row['arg']} {row['subject']}" for row in table["figures"]
            if row["op"] in OPS and row["agree"] < 2]


def _table(table, unit):
    lines = [f"{table['flavour']}: {unit} per operation; native is the kernel's own "
             f"{table['native']}", ""]
    lines += itertools.chain.from_iterable(_op(table, op) for op in OPS)
    lines += itertools.chain.from_iterable(_growth(table, op) for op in GROWTH)
    alone = _alone(table)
    if alone:
        lines += [f"one repetition of {table['repeats']} only came to: {', '.join(alone)}", ""]
    again = "equal in two boots, " if table["boots"] > 1 else ""
    lines.append(f"{table['verdict']} {table['flavour']}: " + (
        f"{again}kernel {table['kernel']}, {table['compiler']}" if table["verdict"] == "PASS"
        else "; ".join(table["reasons"][:5])))
    return lines + [""]


def text(record):
    """The tables."""
    lines = itertools.chain.from_iterable(
        _table(table, record["unit"]) for table in record["tables"])
    return "\n".join([
        *lines, "An operation is one allocation and one free. Nothing is subtracted: every row",
        "has the loop in it, which is `empty`; `null` minus `empty` is memtb's common path.",
        f"command   {record['command']}", f"commit    {record['commit']}",
        f"figures   {record['figures']} (a digest of all of the above)"]) + "\n"


def tally(record):
    """(passed, failed): figures that came, and what is wrong."""
    passed = sum(len(table["figures"]) for table in record["tables"])
    return passed, sum(len(table["reasons"]) or (table["verdict"] != "PASS")
                       for table in record["tables"])
