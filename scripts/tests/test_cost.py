# SPDX-License-Identifier: GPL-2.0
"""The cost table: what a guest said, what must have come, what follows from it."""

import copy
import dataclasses
import json
import re

import pytest
from memtblib import boot, cli, cost, errors, kernel, module, paths, report

PLAN = cost.Plan(live_max=1000)
LISTED = "[null] kernel slob-new\n"
SUBJECTS = ["empty", "native", "null", "kernel", "slob-new"]
# Instructions of one operation; each figure's are others.
BASE = {"empty": 5, "native": 150, "null": 120, "kernel": 270, "slob-new": 600}
OP = {"pair": 0, "batch": 1000, "bulk": 2000, "block": 3000}


def each(op, arg, subject):
    """What an operation costs here; with `holes`, slob-new's is linear in n."""
    if op == "grow":
        return BASE[subject]
    if op == "holes":
        return arg * 6 if subject == "slob-new" else BASE[subject]
    return BASE[subject] + OP[op] + arg


def said(subjects=None, live=(100, 1000), agree=8, drop=()):
    """The file of a guest."""
    subjects = subjects or SUBJECTS
    lines = ["native SLUB", "exact 1", "repeats 8", *(f"subject {name}" for name in subjects)]
    for op, arg, subject in cost.expected(subjects, live):
        number = 128 if op in cost.GROWTH else 1024
        lines.append(f"figure {op} {arg} {subject} {number * each(op, arg, subject)} {number} "
                     f"{1 if op in cost.GROWTH else agree}")
    return "\n".join(line for line in lines if not line.startswith(tuple(drop))) + "\n"


def inspected(text, plan=PLAN, listed=LISTED):
    """The Found with its faults."""
    found = cost.parse(text)
    cost.inspect(plan, found, listed)
    return found


def test_a_whole_guest_has_no_fault():
    found = inspected(said())
    assert found.faults == []
    assert (found.native, found.exact, found.repeats) == ("SLUB", True, 8)
    assert found.subjects == SUBJECTS
    # Five subjects, four operations at four sizes, two more at two numbers of live objects.
    assert len(found.figures) == 5 * (4 * 4 + 2 * 2)
    assert found.each("bulk", 256, "kernel") == 270 + 2000 + 256
    assert found.each("bulk", 257, "kernel") is None


@pytest.mark.parametrize("drop, fault", [
    ("figure bulk 256 kernel", "bulk 256 kernel: no figure"),
    ("figure grow 1000 native", "grow 1000 native: no figure"),
    ("subject slob-new", "subjects are empty, native, null, kernel, not "
     "empty, native, null, kernel, slob-new"),
    ("exact", "the guest's counter does not count instructions"),
])
def test_what_is_missing_is_a_fault(drop, fault):
    assert fault in inspected(said(drop=[drop])).faults


def test_nothing_at_all_is_a_fault():
    assert any(fault.startswith("subjects are none") for fault in inspected("").faults)


@pytest.mark.parametrize("line, fault", [
    ("figure pair 33 null 1 1 1", "pair 33 null: was not expected"),
    ("figure pair 32 null 1 1 1", "pair 32 null: 2 figures"),
    ("figure pair 32 null 1 1", "not understood: figure pair 32 null 1 1"),
    ("figure pair 32 null 0 1024 8", "not understood: figure pair 32 null 0 1024 8"),
    ("figure pair 32 null x 1024 8", "not understood: figure pair 32 null x 1024 8"),
    ("subject", "not understood: subject"),
    ("nonsense 1", "not understood: nonsense 1"),
])
def test_what_is_too_much_is_a_fault(line, fault):
    assert fault in inspected(said() + line + "\n").faults


def test_a_design_that_the_module_lists_and_did_not_measure():
    faults = inspected(said(), listed="[null] kernel slob slob-new").faults
    assert faults == ["subjects are empty, native, null, kernel, slob-new, not "
                      "empty, native, null, kernel, slob, slob-new"]


def test_options_may_come_back_in_another_order(monkeypatch):
    plan = dataclasses.replace(PLAN, backends="slob-new+b+a")
    subjects = ["empty", "native", "slob-new+a+b"]
    monkeypatch.setitem(BASE, "slob-new+a+b", 7)
    assert inspected(said(subjects), plan).faults == []
    other = dataclasses.replace(PLAN, backends="slob-new+b")
    assert len(inspected(said(subjects), other).faults) == 1


def test_functional_guests_need_not_be_exact():
    plan = dataclasses.replace(PLAN, attempt=True)
    assert plan.live == (100, 1000)
    assert inspected(said(drop=["exact"]), plan).faults == []


def test_two_boots_that_differ():
    first, second = cost.parse(said()), cost.parse(said())
    assert cost.differences(first, second) == []
    figure = second.figures[3]
    second.figures[3] = dataclasses.replace(figure, instructions=figure.instructions + 1)
    place = " ".join(map(str, figure.place))
    assert cost.differences(first, second) == [
        f"{place}: {figure.instructions} instructions, then {figure.instructions + 1}"]
    del second.figures[3]
    assert cost.differences(first, second) == [
        f"{place}: {figure.instructions} instructions, then None"]


@pytest.mark.parametrize("points, power", [
    ([(100, 7), (1000, 7), (10_000, 7)], 0),
    ([(100, 200), (1000, 2000)], 1),
    ([(100, 3), (10_000, 30)], 0.5),
    ([(10, 5), (100, 500), (1000, 50_000)], 2),
    # Least squares, not the line through the ends: by hand, x = 0 1 2, y = 0 2 1.
    ([(1, 1), (10, 100), (100, 10)], 0.5),
    ([(100, 7)], None),
    ([], None),
])
def test_exponent(points, power):
    assert cost.exponent(points) == power


# ---- refusals ----

@pytest.mark.parametrize("words, valid", [
    (["--flavour", "x86_64-smp-kasan"], ", ".join(kernel.names("measure"))),
    (["--try", "--flavour", "nope"], ", ".join(kernel.names())),
    (["--flavour", "x86_64-up", "--flavour", "x86_64-up"], "twice"),
    (["--backends", "a b"], "design[+option]"),
    (["--backends", "$(reboot)"], "design[+option]"),
    (["--backends", "null\n"], "design[+option]"),
    (["--live-max", "99"], "100, 1000, 10000, 100000, 1000000"),
    (["--try", "--twice"], "--twice"),
])
def test_bad_arguments_are_one_line_and_128(monkeypatch, capsys, words, valid):
    monkeypatch.setattr(kernel, "flavour", lambda name: pytest.fail("went on"))
    assert cli.main(["cost", *words]) == errors.MISS
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 1 and valid in lines[0]


def test_what_the_module_refuses_is_the_users_to_mend(guests, capsys, tmp_path):
    line = "designs=foo: there is no design of this name, valid are null, kernel"
    guests({"refused": line + "\n", "backends": LISTED}, verdict="FAIL", exit_code=1)
    assert cli.main(["cost", "--backends", "foo", "--results", str(tmp_path)]) == errors.MISS
    assert capsys.readouterr().err == f"memtb cost: x86_64-up: {line}\n"


# ---- guests ----

@pytest.fixture(name="guests")
def fixture_guests(monkeypatch, tmp_path):
    """No guest is booted: what each of them sends is given, the last one again and again."""
    build = tmp_path / "build"
    (build / "include/config").mkdir(parents=True)
    (build / ".config").write_text('CONFIG_CC_VERSION_TEXT="gcc 12"\n', encoding="utf-8")
    (build / "include/config/kernel.release").write_text("6.1.1\n", encoding="ascii")
    monkeypatch.setattr(kernel, "flavour", lambda name: kernel.KernelBuild(
        name, "k", build, tmp_path, "smp" in name))
    monkeypatch.setattr(module, "build", lambda _: module.ModuleBuild(tmp_path, []))
    monkeypatch.setattr(cost.rootfs, "busybox", lambda: tmp_path / "busybox.cpio")
    jobs = []

    def give(*sent, verdict="PASS", exit_code=0):
        def run(job):
            files = sent[min(len(jobs), len(sent) - 1)]
            place = tmp_path / f"guest-{len(jobs)}"
            place.mkdir()
            jobs.append(job)
            paths_of = {}
            for name, text in files.items():
                paths_of[name] = place / name
                paths_of[name].write_text(text, encoding="utf-8")
            reasons = [] if verdict == "PASS" else ["a reason"]
            return boot.Outcome(place, verdict, "none", reasons, exit_code, [], paths_of, {}, {})
        monkeypatch.setattr(boot, "run", run)
        return jobs
    return give


def whole(**options):
    """What a guest sends."""
    return {"cost": said(**options), "backends": LISTED}


def run_verb(capsys, tmp_path, *words):
    """(exit code, standard output, the record in the results directory)."""
    code = cli.main(["cost", "--live-max", "1000", "--results", str(tmp_path / "out"), *words])
    place = max((tmp_path / "out").iterdir())
    record = json.loads((place / cost.RECORD).read_text(encoding="utf-8"))
    return code, capsys.readouterr().out, record


def test_the_job(guests, capsys, tmp_path):
    jobs = guests(whole())
    run_verb(capsys, tmp_path, "--flavour", "x86_64-smp")
    job = jobs[0]
    assert (job.mode, job.cpus, job.expect) == ("icount", 2, ["cost_load", "unload"])
    assert job.env == {"COST_PARAMS": "designs=all live_max=1000"}
    assert "slab_nomerge" in job.append
    assert set(job.files) >= {"/memtb/job", "/memtb/memtb.ko", "/memtb/memtb_cost.ko"}


def test_table_and_record(guests, capsys, tmp_path):
    jobs = guests(whole())
    code, out, record = run_verb(capsys, tmp_path)
    assert code == 0 and len(jobs) == 1
    rows = [re.sub(r" +", " ", line.strip()) for line in out.splitlines()]
    # 150 + 0 + 32 of native, 600 + 0 + 32 of slob-new: 3.47 times.
    assert "native 182.0 406.0 1174.0 4246.0 1.00 1.00 1.00 1.00" in rows
    assert "slob-new 632.0 856.0 1624.0 4696.0 3.47 2.11 1.38 1.11" in rows
    assert "slob-new 600.0 6000.0 1.00" in rows and "native 150.0 150.0 0.00" in rows
    assert "PASS x86_64-up: kernel 6.1.1, gcc 12" in rows
    table = record["tables"][0]
    assert (table["native"], table["boots"], table["verdict"]) == ("SLUB", 1, "PASS")
    assert table["exponents"]["holes"]["slob-new"] == 1
    assert table["exponents"]["holes"]["empty"] == table["exponents"]["grow"]["slob-new"] == 0
    assert {"op": "block", "arg": 32, "subject": "null", "instructions": 1024 * 3152,
            "operations": 1024, "agree": 8, "per_operation": 3152.0,
            "ratio": 0.991} in table["figures"]


def test_json(guests, capsys, tmp_path):
    guests(whole())
    code, out, record = run_verb(capsys, tmp_path, "--json")
    assert code == 0 and json.loads(out) == record


def test_several_flavours_have_a_table_each(guests, capsys, tmp_path):
    jobs = guests(whole())
    code, out, record = run_verb(capsys, tmp_path, "--flavour", "x86_64-up", "--flavour",
                                 "x86_64-up-slab")
    assert code == 0
    assert [job.title for job in jobs] == ["x86_64-up", "x86_64-up-slab"]
    assert [table["flavour"] for table in record["tables"]] == ["x86_64-up", "x86_64-up-slab"]
    assert out.count("pair: ") == 2


def test_twice_boots_again_and_compares(guests, capsys, tmp_path):
    jobs = guests(whole())
    code, out, record = run_verb(capsys, tmp_path, "--twice")
    assert code == 0 and "equal in two boots" in out
    assert [job.title for job in jobs] == ["x86_64-up", "x86_64-up-again"]
    assert record["tables"][0]["boots"] == 2


def test_twice_fails_if_one_digit_differs(guests, capsys, tmp_path):
    other = whole()
    other["cost"] = other["cost"].replace("figure pair 32 null 155648 ",
                                          "figure pair 32 null 155649 ")
    guests(whole(), other)
    code, out, record = run_verb(capsys, tmp_path, "--twice")
    assert code == errors.FAIL
    reason = "pair 32 null: 155648 instructions, then 155649"
    assert record["tables"][0]["reasons"] == [reason]
    assert f"FAIL x86_64-up: {reason}" in out and "equal in two boots" not in out


def test_a_missing_figure_fails_though_the_guest_passed(guests, capsys, tmp_path):
    guests(whole(drop=["figure batch 1024 slob-new"]))
    code, out, record = run_verb(capsys, tmp_path)
    assert code == errors.FAIL and record["verdict"] == "FAIL"
    assert "batch 1024 slob-new: no figure" in out


@pytest.mark.parametrize("verdict, code", [("FAIL", 1), ("ERROR", 3), ("MISS", 128)])
def test_the_guests_verdict_counts_though_all_figures_came(guests, capsys, tmp_path, verdict,
                                                           code):
    guests(whole(), verdict=verdict, exit_code=code)
    got, _, record = run_verb(capsys, tmp_path)
    assert (got, record["verdict"]) == (code, verdict)


def test_try_counts_figures_and_wants_a_fast_guest(guests, capsys, tmp_path):
    jobs = guests(whole(drop=["exact"]))
    code, out, _ = run_verb(capsys, tmp_path, "--try", "--flavour", "x86_64-smp-kasan")
    assert code == 0 and out == "100 passed, 0 failed\n"
    assert jobs[0].mode == "functional"
    assert "objects=64 repeats=2 live_max=1000" in jobs[0].env["COST_PARAMS"]


def test_try_says_what_is_missing(guests, capsys, tmp_path):
    guests(whole(drop=["figure batch 1024 slob-new", "figure grow 100 null"]))
    code, out, _ = run_verb(capsys, tmp_path, "--try")
    assert code == errors.FAIL
    assert out.splitlines() == ["FAIL x86_64-up: grow 100 null: no figure",
                                "FAIL x86_64-up: batch 1024 slob-new: no figure",
                                "98 passed, 2 failed"]


def test_figures_that_no_second_repetition_came_to_are_named(guests, capsys, tmp_path):
    sent = whole()
    sent["cost"] = sent["cost"].replace(" 155648 1024 8", " 155648 1024 1")
    guests(sent)
    _, out, _ = run_verb(capsys, tmp_path)
    assert "one repetition of 8 only came to: pair 32 null\n" in out


# ---- the record, and what both sides know ----

@pytest.fixture(name="record")
def fixture_record(guests, capsys, tmp_path):
    """A right one."""
    guests(whole())
    return run_verb(capsys, tmp_path)[2]


@pytest.mark.parametrize("damage", [
    lambda record: record.pop("commit"),
    lambda record: record.update(extra=1),
    lambda record: record.update(version=1),
    lambda record: record.update(tables=[]),
    lambda record: record["tables"][0].update(native="SLQB"),
    lambda record: record["tables"][0]["figures"][0].update(op="other"),
    lambda record: record["tables"][0]["figures"][0].update(instructions=0),
    lambda record: record["tables"][0]["figures"][0].pop("ratio"),
])
def test_the_schema_refuses_a_damaged_record(record, damage):
    report.validate(record, cost.SCHEMA)
    damaged = copy.deepcopy(record)
    damage(damaged)
    with pytest.raises(errors.UserError, match="not a result record"):
        report.validate(damaged, cost.SCHEMA)


def test_the_digest_is_that_of_the_figures(record):
    same = copy.deepcopy(record["tables"])
    same[0]["compiler"] = "another"
    assert cost.fingerprint(same) == record["figures"]
    same[0]["figures"][0]["instructions"] += 1
    assert cost.fingerprint(same) != record["figures"]


def test_module_and_host_know_the_same_operations_and_sizes():
    text = (paths.CHECKOUT / "module/load/cost.c").read_text(encoding="utf-8")
    sizes = re.search(r"memtb_cost_sizes\[\] = \{ (.*) \}", text).group(1)
    assert tuple(int(size) for size in sizes.split(", ")) == cost.SIZES
    names = re.findall(r"\[MEMTB_COST_\w+\] = \"(\w+)\"", text)
    assert names == [*cost.OPS, *cost.GROWTH]
    limits = dict(re.findall(r"#define (MEMTB_COST_LIVE_\w+)\s+(\d+)", text))
    assert (int(limits["MEMTB_COST_LIVE_MIN"]), int(limits["MEMTB_COST_LIVE_MAX"])) == (
        cost.LIVE[0], cost.LIVE[-1])
