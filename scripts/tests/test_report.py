# SPDX-License-Identifier: GPL-2.0
"""The record and the report, from guests in which no figure comes twice.

Equal runs would hide every mix-up, so all runs, steps and counters differ. What is
expected was worked out by hand from the tables below.
"""

import copy
import dataclasses
import json
import re

import pytest
from memtblib import boot, errors, paths, report, run

TREE = {"size": "small", "version": "6.1.1", "files": 10, "objects": 5, "modules": 2,
        "questions": 3, "installed": 4, "image_bytes": 4096}
HEAD = {"load": "install", "arch": "x86_64", "smp": False, "runs": 3, "command": "make run",
        "commit": "0123", "kernel": "6.1.1", "flavour": "x86_64-up", "kernel_key": "ab",
        "compiler": "gcc (Debian) 12.2.0", "tree": TREE}
MS = 1_000_000
STATUSES = ("PASS", "FAIL", "ERROR", "SKIP", "MISS")

# Milliseconds: real, user, sys, machine's user, sys and idle. A sum is that of three steps.
OFF = {
    "run1": {"check": (900, 500, 100, 505, 300, 95), "install": (60, 20, 15, 21, 25, 14),
             "modules": (340, 180, 45, 199, 125, 16)},
    "run2": {"check": (700, 470, 90, 480, 170, 50), "install": (50, 18, 14, 19, 24, 7),
             "modules": (250, 162, 41, 171, 66, 13)},
    "run3": {"check": (690, 460, 70, 470, 165, 55), "install": (45, 17, 12, 18, 23, 4),
             "modules": (235, 153, 33, 163, 62, 10)},
}
OFF_SUMS = {"run1": (1300, 700, 160, 725, 450, 125), "run2": (1000, 650, 145, 670, 260, 70),
            "run3": (970, 630, 115, 651, 250, 69)}
OFF_MEAN = (1090 * MS, 660 * MS, 140 * MS, 682 * MS, 320 * MS, 88 * MS)
SLOB = {
    "run1": {"check": (2000, 510, 800, 520, 1400, 80), "install": (200, 25, 90, 27, 160, 13),
             "modules": (900, 185, 310, 198, 640, 62)},
    "run2": {"check": (1700, 490, 690, 500, 1200, 20), "install": (150, 23, 70, 24, 120, 6),
             "modules": (750, 177, 240, 187, 530, 13)},
    "run3": {"check": (1600, 480, 650, 490, 1230, 15), "install": (145, 22, 68, 23, 118, 4),
             "modules": (730, 167, 232, 177, 602, 11)},
}
SLOB_SUMS = {"run1": (3100, 720, 1200, 745, 2200, 155), "run2": (2600, 690, 1000, 711, 1850, 39),
             "run3": (2475, 669, 950, 690, 1950, 30)}
SLOB_MEAN = (2725 * MS, 693 * MS, 1050 * MS, 715_333_333, 2000 * MS, 74_666_666)

LOOKS = ("start", "run1", "run2", "run3")
# At each look: what only grows, then what is the greatest or the latest.
STATS = {
    "allocs": (500, 1500, 3700, 6000), "frees": (400, 1000, 2800, 5000),
    "list_steps": (7000, 39_000, 299_000, 380_000), "lock_holds": (1000, 2700, 6800, 11_400),
    "lock_hold_ns": (1 * MS, 41 * MS, 541 * MS, 661 * MS),
    "list_steps_max": (100, 300, 700, 777), "lock_hold_max_ns": (5000, 61_000, 90_000, 123_400),
    "pages_now": (10, 20, 40, 30), "pages_peak": (11, 21, 44, 55),
    "pages_got": (12, 50, 90, 130), "pages_put": (2, 31, 51, 100),
}
LIVE = {
    "coverage_permille": (500, 990, 995, 998), "alloc_taken": (60, 9900, 29_850, 59_880),
    "alloc_native": (61, 100, 150, 120), "alloc_fallback": (1, 2, 4, 7),
    "free_taken": (3, 9000, 27_000, 50_000), "free_native": (5, 11, 22, 33),
    "live_objects": (57, 889, 2828, 9913),
}
COUNTERS = {
    "run1": {"allocs": 1000, "frees": 600, "list_steps": 32_000, "lock_holds": 1700,
             "lock_hold_ns": 40 * MS, "list_steps_per_op": 20.0},
    "run2": {"allocs": 2200, "frees": 1800, "list_steps": 260_000, "lock_holds": 4100,
             "lock_hold_ns": 500 * MS, "list_steps_per_op": 65.0},
    "run3": {"allocs": 2300, "frees": 2200, "list_steps": 81_000, "lock_holds": 4600,
             "lock_hold_ns": 120 * MS, "list_steps_per_op": 18.0},
}
TIMED = {"allocs": 5500, "frees": 4600, "list_steps": 373_000, "lock_holds": 10_400,
         "lock_hold_ns": 660 * MS, "list_steps_per_op": 36.93}
MEMTB = {
    "coverage_permille": 998, "alloc_taken": 59_880, "alloc_native": 120, "alloc_fallback": 7,
    "free_taken": 50_000, "free_native": 33, "live_objects": 9913, "timed": TIMED,
    "list_steps_max": 777, "lock_hold_max_ns": 123_400, "pages_now": 30, "pages_peak": 55,
    "pages_got": 130, "pages_put": 100,
}

GOLDEN = """\
make install over NFS, x86_64-up, 3 runs each

off: the kernel's own allocator, no memtb
                     real          user           sys   machine sys
  run1              1.300         0.700         0.160         0.450
  run2              1.000         0.650         0.145         0.260
  run3              0.970         0.630         0.115         0.250
  mean              1.090         0.660         0.140         0.320

slob: the kernel lives on memtb's plain SLOB
                     real          user           sys   machine sys
  run1              3.100         0.720         1.200         2.200
  run2              2.600         0.690         1.000         1.850
  run3              2.475         0.669         0.950         1.950
  mean              2.725         0.693         1.050         2.000
  x off             2.500         1.050         7.500         6.250
  coverage          99.8 % of 60000 allocations since the switch
  list steps        36.93 per operation (at most 777)
  interrupts off    123.4 us at the longest, 0.660 s in all
  lock holds        10400 in all runs
  pages             30 now, 55 at the peak

                      real          user           sys   machine sys
off                  x1.00         x1.00         x1.00         x1.00
slob                 x2.50         x1.05         x7.50         x6.25

verdict   PASS; check sums of the installed tree: equal in every run
load      up-to-date check of a built kernel tree on NFS (small:
          5 objects, 2 modules), install, modules_install
units     seconds of guest time: guest instructions, 1 insn = 1 ns,
          not host time; equal on every call, to the last digit.
          user and sys are make's and its children's; machine sys is
          all kernel time, nfsd and rpciod included. run1 begins with
          an empty NFS client.
kernel    6.1.1 x86_64-up, gcc (Debian) 12.2.0
command   make run
commit    0123
figures   0123456789abcdef (a digest of all of the above figures)
"""


def named(values, scale=1):
    """{time: ns} of six figures."""
    return {name: value * scale for name, value in zip(report.TIMES, values)}


def times(runs):
    """The file that `timed` writes in a guest."""
    lines = []
    for name, steps in runs.items():
        for step, (real, user, sys_, machine_user, machine_sys, idle) in steps.items():
            lines.append(f"{name}.{step} real_ns={real * MS} user_us={user * 1000} "
                         f"sys_us={sys_ * 1000} machine_user_ns={machine_user * MS} "
                         f"machine_sys_ns={machine_sys * MS} machine_idle_ns={idle * MS} status=0")
    return "\n".join(lines) + "\n"


def look(table, number):
    """One of debugfs's files at one look."""
    return "mode takeover\n" + "".join(f"{name} {values[number]}\n"
                                       for name, values in table.items())


def memtb_files():
    """What a guest with memtb sends besides its times."""
    return {f"{kind}-{name}": look(table, number) for number, name in enumerate(LOOKS)
            for kind, table in (("stats", STATS), ("live", LIVE))}


@pytest.fixture(name="outcome")
def _outcome(tmp_path):
    """outcome(name, files): how a guest that sent these files and passed comes back."""
    def make(name, files):
        place = tmp_path / name
        place.mkdir()
        for file, text in files.items():
            (place / file).write_text(text)
        return boot.Outcome(place, "PASS", "none", [], errors.PASS, [],
                            {file: place / file for file in files}, {}, {})
    return make


@pytest.fixture(name="outcomes")
def _outcomes(outcome):
    return {"off": outcome("off", {"times": times(OFF)}),
            "slob": outcome("slob", {"times": times(SLOB), **memtb_files()})}


def record(outcomes):
    return report.record(HEAD, outcomes, run.verdict_of(outcomes))


def change(outcome, file, old, new):
    """Put another figure into one of the guest's files."""
    text = outcome.files[file].read_text()
    assert text.count(old) == 1
    outcome.files[file].write_text(text.replace(old, new))


# ---- the record ----

@pytest.mark.parametrize("number, figures, sums", [(0, OFF, OFF_SUMS), (1, SLOB, SLOB_SUMS)])
def test_a_run_is_the_sum_of_its_steps(outcomes, number, figures, sums):
    runs = record(outcomes)["configs"][number]["runs"]
    assert [one["name"] for one in runs] == ["run1", "run2", "run3"]
    for one in runs:
        assert {key: one[key] for key in report.TIMES} == named(sums[one["name"]], MS)
        assert one["steps"] == {step: named(values, MS)
                                for step, values in figures[one["name"]].items()}


def test_the_mean_is_that_of_all_runs(outcomes):
    off, slob = record(outcomes)["configs"]
    assert off["mean"] == named(OFF_MEAN)
    assert slob["mean"] == named(SLOB_MEAN)


def test_ratios_are_the_means_over_those_of_off(outcomes):
    off, slob = record(outcomes)["configs"]
    assert off["ratio"] == {"real": 1.0, "user": 1.0, "sys": 1.0, "machine_sys": 1.0}
    assert slob["ratio"] == {"real": 2.5, "user": 1.05, "sys": 7.5, "machine_sys": 6.25}


def test_the_counters_of_a_run_are_its_own(outcomes):
    off, slob = record(outcomes)["configs"]
    assert {one["name"]: one["counters"] for one in slob["runs"]} == COUNTERS
    assert not any("counters" in one for one in off["runs"])


def test_memtbs_figures_are_those_of_the_last_look(outcomes):
    off, slob = record(outcomes)["configs"]
    assert off["memtb"] is None
    assert slob["memtb"] == MEMTB


@pytest.mark.parametrize("step", report.STEPS)
def test_a_run_that_was_cut_short_does_not_count(outcome, step):
    cut = {**SLOB, "run3": {name: values for name, values in SLOB["run3"].items()
                            if name != step}}
    data = record({"slob": outcome("slob", {"times": times(cut), **memtb_files()})})
    slob, = data["configs"]
    assert [one["name"] for one in slob["runs"]] == ["run1", "run2"]
    assert slob["mean"] == named((2850, 705, 1100, 728, 2025, 97), MS)
    assert (slob["memtb"]["coverage_permille"], slob["memtb"]["pages_peak"]) == (995, 44)
    assert slob["memtb"]["timed"]["allocs"] == 3200
    report.validate(data)


def test_a_guest_that_ended_before_its_first_run_has_no_mean(outcome):
    data = record({"off": outcome("off", {"times": ""}),
                   "slob": outcome("slob", {"stats-start": look(STATS, 0),
                                            "live-start": look(LIVE, 0)})})
    off, slob = data["configs"]
    assert off["runs"] == slob["runs"] == []
    assert off["mean"] is slob["mean"] is slob["ratio"] is slob["memtb"]["timed"] is None
    assert slob["memtb"]["coverage_permille"] == 500
    report.validate(data)
    assert "mean" not in report.text(data)


@pytest.mark.parametrize("value, base, expected", [(5, 2, 2.5), (2, 3, 0.667), (0, 2, 0.0),
                                                   (2, 0, None)])
def test_a_ratio_has_three_decimals(value, base, expected):
    assert report.ratio(value, base) == expected


# ---- the digest ----

def test_equal_figures_have_equal_digests(outcomes):
    data = record(outcomes)
    assert re.fullmatch(r"[0-9a-f]{16}", data["figures"])
    assert record(outcomes)["figures"] == data["figures"]


@pytest.mark.parametrize("name, file, old, new", [
    ("off", "times", "machine_idle_ns=10000000", "machine_idle_ns=10000001"),
    ("slob", "times", "real_ns=145000000", "real_ns=145000001"),
    ("slob", "stats-run3", "pages_peak 55", "pages_peak 56"),
    ("slob", "stats-run3", "lock_hold_max_ns 123400", "lock_hold_max_ns 123401"),
    ("slob", "stats-run2", "list_steps 299000", "list_steps 299001"),
    ("slob", "live-run3", "coverage_permille 998", "coverage_permille 997"),
    ("slob", "live-run3", "free_native 33", "free_native 34"),
])
def test_the_digest_sees_every_figure(outcomes, name, file, old, new):
    before = record(outcomes)["figures"]
    change(outcomes[name], file, old, new)
    assert record(outcomes)["figures"] != before


def test_the_digest_sees_whose_figures_they_are(outcomes):
    assert (record({"pass": outcomes["slob"]})["figures"]
            != record({"slob": outcomes["slob"]})["figures"])


# ---- the report ----

def test_the_report_to_the_letter(outcomes):
    assert report.text({**record(outcomes), "figures": "0123456789abcdef"}) == GOLDEN
    assert max(map(len, GOLDEN.splitlines())) <= report.WIDTH


@pytest.mark.parametrize("nanoseconds, text", [(1_234_500_000, "1.234"), (27 * 10 ** 9, "27.000"),
                                               (600_000, "0.001"), (0, "0.000")])
def test_times_are_in_seconds(nanoseconds, text):
    assert report.seconds(nanoseconds) == text


@pytest.mark.parametrize("names", [("pass", "slob"), ("slob",), ("pass",)])
def test_without_off_nothing_is_compared(outcomes, names):
    data = record({name: outcomes["slob"] for name in names})
    assert [config["ratio"] for config in data["configs"]] == [None] * len(names)
    assert not re.search(r"x off|x\d+\.\d", report.text(data))


def test_pass_is_compared_with_off(outcomes):
    data = record({"off": outcomes["off"], "pass": outcomes["slob"]})
    assert "pass: memtb's hooks in, all passed to the kernel's own allocator" in report.text(data)
    assert re.search(r"^  x off +2\.500 +1\.050 +7\.500 +6\.250$", report.text(data), re.M)
    assert re.search(r"^pass +x2\.50 +x1\.05 +x7\.50 +x6\.25$", report.text(data), re.M)


def test_a_ratio_to_nothing_is_a_dash(outcome):
    idle = {name: {step: (*values[:2], 0, *values[3:]) for step, values in steps.items()}
            for name, steps in OFF.items()}
    data = record({"off": outcome("off", {"times": times(idle)}),
                   "slob": outcome("slob", {"times": times(SLOB)})})
    report.validate(data)
    assert re.search(r"^  x off +2\.500 +1\.050 +- +6\.250$", report.text(data), re.M)
    assert re.search(r"^slob +x2\.50 +x1\.05 +- +x6\.25$", report.text(data), re.M)


@pytest.mark.parametrize("verdict", STATUSES)
def test_sums_are_called_equal_only_in_a_run_that_passed(outcomes, verdict):
    outcomes["slob"] = dataclasses.replace(outcomes["slob"], verdict=verdict)
    text = report.text(record(outcomes))
    assert f"verdict   {verdict}; check sums" in text
    assert ("equal in every run" in text) == (verdict == "PASS")


@pytest.mark.parametrize("verdict", [word for word in STATUSES if word != "PASS"])
def test_reasons_are_told_where_they_belong(outcomes, verdict):
    outcomes["slob"] = dataclasses.replace(outcomes["slob"], verdict=verdict,
                                           reasons=["first thing", "second thing"])
    off, slob = report.text(record(outcomes)).split("\nslob: ")
    assert f"\n  {verdict}:\n    first thing\n    second thing\n\n" in slob
    assert verdict not in off


def test_a_guest_that_was_lost_is_in_the_record(outcomes):
    outcomes["slob"] = dataclasses.replace(
        outcomes["slob"], verdict="ERROR", exit_code=errors.BOOT_FAILED, files={}, dir=None,
        reasons=["hang in phase run1"])
    data = record(outcomes)
    report.validate(data)
    slob = data["configs"][1]
    assert data["verdict"] == slob["verdict"] == "ERROR"
    assert slob["dir"] is slob["mean"] is slob["ratio"] is slob["memtb"] is None
    assert "hang in phase run1" in report.text(data)


def test_a_design_with_options_is_named_with_them(outcomes):
    outcomes["slob-new+stack+classes"] = outcomes.pop("slob")
    data = record(outcomes)
    report.validate(data)
    shown = report.text(data)
    assert "\nslob-new+stack+classes: the kernel lives on memtb's SLOB by caches\n" in shown
    table = [line for line in shown.splitlines() if re.match("(off|slob).* x", line)]
    assert [line.split() for line in table] == [
        ["off", "x1.00", "x1.00", "x1.00", "x1.00"],
        ["slob-new+stack+classes", "x2.50", "x1.05", "x7.50", "x6.25"]]
    assert len(set(map(len, table))) == 1 and len(table[0]) <= report.WIDTH


# ---- the files ----

def test_the_record_names_the_guests_directories_only(outcomes):
    assert [config["dir"] for config in record(outcomes)["configs"]] == ["off", "slob"]


def test_the_record_is_written_read_and_shown_alike(outcomes, tmp_path):
    data = record(outcomes)
    report.write(tmp_path, data)
    assert report.read(tmp_path) == report.read(tmp_path / report.RECORD) == data
    assert (tmp_path / report.TEXT).read_text() == report.text(data)


@pytest.mark.parametrize("spoil", [
    lambda data: data.pop("figures"),
    lambda data: data.update(surprise=1),
    lambda data: data["configs"][1]["runs"][0].update(real="1"),
    lambda data: data["configs"][1]["memtb"].update(coverage_permille=1001),
    lambda data: data["configs"][0].update(name="slob "),
    lambda data: data["configs"][0].update(name="slob+"),
    lambda data: data["configs"][0].update(name=""),
])
def test_what_is_not_a_record_is_refused(outcomes, tmp_path, spoil):
    data = copy.deepcopy(record(outcomes))
    spoil(data)
    (tmp_path / report.RECORD).write_text(json.dumps(data))
    with pytest.raises(errors.UserError, match="not a result record"):
        report.read(tmp_path)
    with pytest.raises(errors.UserError, match="not a result record"):
        report.write(tmp_path, data)


def test_no_record_no_report(tmp_path):
    with pytest.raises(errors.UserError, match="no result record"):
        report.read(tmp_path)


def test_every_field_of_the_schema_is_in_the_documentation():
    schema = json.loads(report.SCHEMA.read_text())
    fields = set(schema["properties"])
    for part in schema["definitions"].values():
        fields |= set(part.get("properties", {}))
    page = (paths.CHECKOUT / "Documentation" / "results.rst").read_text()
    said = set(re.findall(r"``(\w+)``", page))
    assert sorted(fields - said) == []
