# SPDX-License-Identifier: GPL-2.0
"""The main job without its guests: plans, records, tables, the schema and its page."""

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
        "compiler": "gcc", "tree": TREE}


def times(scale):
    """What `timed` wrote in a guest: three runs of three steps."""
    lines = []
    for name in ("run1", "run2", "run3"):
        for step in report.STEPS:
            lines.append(f"{name}.{step} real_ns={scale * 9_000_000} user_us={4000} "
                         f"sys_us={scale * 2000} machine_user_ns=4100000 "
                         f"machine_sys_ns={scale * 3_000_000} machine_idle_ns=7 status=0")
    return "\n".join(lines) + "\n"


def stats(number):
    """debugfs stats after `number` steps of work."""
    values = {"allocs": 1000 * number, "frees": 900 * number, "list_steps": 190_000 * number,
              "lock_holds": 2000 * number, "lock_hold_ns": 10 ** 6 * number,
              "list_steps_max": 777, "lock_hold_max_ns": 5000, "pages_now": 4, "pages_peak": 5,
              "pages_got": 6, "pages_put": 2}
    return "".join(f"{name} {value}\n" for name, value in values.items())


@pytest.fixture(name="outcomes")
def _outcomes(tmp_path):
    """The outcomes of `off` and `slob`, whose kernel works four times as long."""
    def outcome(name, files, verdict="PASS", code=errors.PASS):
        place = tmp_path / name
        place.mkdir()
        for file, text in files.items():
            (place / file).write_text(text)
        return boot.Outcome(place, verdict, "none", [], code, [],
                            {file: place / file for file in files}, {}, {})
    live = "mode takeover\ncoverage_permille 998\nalloc_taken 998\nalloc_native 2\n"
    looks = ("start", "run1", "run2", "run3")
    memtb = {f"stats-{look}": stats(number) for number, look in enumerate(looks)}
    memtb.update({f"live-{look}": live for look in looks})
    return {"off": outcome("off", {"times": times(1)}),
            "slob": outcome("slob", {"times": times(4), **memtb})}


def record(outcomes):
    return report.record(HEAD, outcomes, run.verdict_of(outcomes))


def test_figures_are_added_and_divided(outcomes):
    off, slob = record(outcomes)["configs"]
    assert [one["name"] for one in off["runs"]] == ["run1", "run2", "run3"]
    assert off["mean"]["real"] == 27_000_000 and off["mean"]["sys"] == 6_000_000
    assert slob["ratio"] == {"real": 4.0, "user": 1.0, "sys": 4.0, "machine_sys": 4.0}
    assert off["memtb"] is None and "counters" not in off["runs"][0]
    assert slob["runs"][1]["counters"]["list_steps_per_op"] == 100.0
    assert slob["memtb"]["timed"]["allocs"] == 3000
    assert slob["memtb"]["coverage_permille"] == 998


def test_the_record_is_written_read_and_shown_alike(outcomes, tmp_path):
    data = record(outcomes)
    report.write(tmp_path, data)
    assert report.read(tmp_path) == report.read(tmp_path / report.RECORD) == data
    assert (tmp_path / report.TEXT).read_text() == report.text(data)
    assert re.search(r"x off +4\.000 +1\.000 +4\.000 +4\.000", report.text(data))
    assert "100.00 per operation (at most 777)" in report.text(data)
    assert max(map(len, report.text(data).splitlines())) <= report.WIDTH


def test_the_digest_sees_every_figure(outcomes):
    data = record(outcomes)
    assert record(outcomes)["figures"] == data["figures"]
    outcomes["slob"].files["times"].write_text(times(4).replace("=7 ", "=8 "))
    assert record(outcomes)["figures"] != data["figures"]


def test_a_guest_that_failed_is_in_the_record(outcomes):
    lost = dataclasses.replace(outcomes["slob"], verdict="ERROR", exit_code=3, files={}, dir=None,
                               reasons=["hang in phase run1"])
    outcomes = {**outcomes, "slob": lost}
    data = record(outcomes)
    report.validate(data)
    assert data["verdict"] == "ERROR" and run.exit_code_of(outcomes) == errors.BOOT_FAILED
    assert "hang in phase run1" in report.text(data)
    assert data["configs"][1]["mean"] is None


def test_the_worst_verdict_wins(outcomes):
    def ended(verdict, code):
        return dataclasses.replace(outcomes["off"], verdict=verdict, exit_code=code)
    some = {"off": ended("FAIL", 1), "slob": ended("MISS", 128)}
    assert run.exit_code_of(some) == errors.MISS
    some = {"off": ended("ERROR", 3), "slob": ended("FAIL", 1)}
    assert run.exit_code_of(some) == errors.FAIL
    assert run.exit_code_of({"off": ended("PASS", 0), "slob": ended("SKIP", 4)}) == errors.SKIP
    assert run.exit_code_of({"off": ended("FAIL", 1), "slob": ended("PASS", 0)}) == errors.FAIL


@pytest.mark.parametrize("change", [
    lambda data: data.pop("figures"),
    lambda data: data.update(surprise=1),
    lambda data: data["configs"][1]["runs"][0].update(real="1"),
    lambda data: data["configs"][1]["memtb"].update(coverage_permille=1001),
    lambda data: data["configs"][0].update(name="slab"),
])
def test_what_is_not_a_record_is_refused(outcomes, tmp_path, change):
    data = copy.deepcopy(record(outcomes))
    change(data)
    (tmp_path / report.RECORD).write_text(json.dumps(data))
    with pytest.raises(errors.UserError, match="not a result record"):
        report.read(tmp_path)


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


@pytest.mark.parametrize("plan, message", [
    ({"load": "exec"}, "no load 'exec' \\(choose from install\\)"),
    ({"arch": "vax"}, "no architecture 'vax' \\(choose from x86_64\\)"),
    ({"configs": ("off", "slub")}, "no configuration 'slub' \\(choose from off, pass, slob\\)"),
    ({"configs": ("off", "off")}, "given twice"),
    ({"configs": ()}, "no configuration"),
    ({"runs": 0}, "0 runs .*1 to 20"),
    ({"runs": 21}, "21 runs .*1 to 20"),
])
def test_what_cannot_be_meant_is_refused(plan, message):
    with pytest.raises(errors.UserError, match=message):
        run.check(run.Plan(**plan))
