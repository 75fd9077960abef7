# SPDX-License-Identifier: GPL-2.0
"""The judge on results directories made by hand: a good one, and one change to it."""

import itertools
import json

import pytest
from memtblib import errors, judge, results

JOB = {"title": "by hand", "expect": ["work", "unload"], "allow_taint": "O",
       "config_dropped": [], "kmemleak": False, "expected_splats": []}
END = {"how": "exit", "detail": "", "phase": "end", "returncode": 0,
       "phase_seconds": {"boot": 2.0, "end": 0.5}}
SAID = """memtb-guest 1
phase work
result work pass n=1
file note 6
a
b c

phase unload
result unload pass
fact job-exit 0
phase end
fact kmemleak none
fact taint 4096
fact modules-left none
end
"""
CONSOLE = """[    0.000000] Linux version 6.1.1
[    1.234567] memtb: loaded, backend slob, live takeover
[    2.345678] memtb: live: off, 12 objects are still out
[    3.456789] memtb: unloaded, 0 pages leaked
[    3.567890] memtb-guest: end
[    3.678901] reboot: Restarting system
"""
# Bit by bit as in Documentation/admin-guide/tainted-kernels.rst.
KERNEL_TAINTS = "PFSRMBUDAWCIOELKXTN"
PASS = ("PASS", "none", errors.PASS)
BUG = "[    3.000000] BUG: planted"
PLANTED = "[    3.000000] memtb: heap planted: 0000000012345678 (16 bytes) is free already"


class Guest:
    """What a good guest leaves behind; `change` takes rows of the tables below."""

    def __init__(self):
        self.files = {results.JOB: json.dumps(JOB), results.END: json.dumps(END),
                      results.CHANNEL: SAID, results.CONSOLE: CONSOLE}

    def change(self, *changes):
        """Make all of the changes."""
        for change in changes:
            change(self.files)
        return self

    def judged(self, place, **more):
        """Write the directory and judge it."""
        for name, data in self.files.items():
            (place / name).write_bytes(data if isinstance(data, bytes) else data.encode())
        return judge.judge(place, **more)


def text(name, old, new=""):
    """Other words in a file."""
    def change(files):
        assert old in files[name]
        files[name] = files[name].replace(old, new)
    return change


def said(old, new=""):
    """Other words from the guest."""
    return text(results.CHANNEL, old, new)


def logged(*lines):
    """More lines on the console, before the last ones."""
    last = "[    3.456789] memtb: unloaded"
    return text(results.CONSOLE, last, "\n".join([*lines, last]))


def whole(name, data):
    """A file with other content, or none."""
    def change(files):
        files.pop(name, None)
        if data is not None:
            files[name] = data
    return change


def keys(name, without=(), **values):
    """Other values in a record."""
    def change(files):
        record = {**json.loads(files[name]), **values}
        files[name] = json.dumps({key: record[key] for key in record if key not in without})
    return change


def job(**values):
    """Another job.json."""
    return keys(results.JOB, **values)


def end(**values):
    """Another end.json."""
    return keys(results.END, **values)


def fact(key, value):
    """Another value of a fact, or no such fact."""
    def change(files):
        lines = [line for line in files[results.CHANNEL].splitlines(keepends=True)
                 if not line.startswith(f"fact {key} ")]
        new = [] if value is None else [f"fact {key} {value}\n"]
        files[results.CHANNEL] = "".join([*lines[:-1], *new, lines[-1]])
    return change


MUTE = whole(results.CHANNEL, "")
# Ended by the runner in the middle of its work.
STUCK = said(SAID[SAID.index("phase unload"):])
QEMU_DIED = end(returncode=1, phase="work")
NO_RESULTS = said("result work pass n=1\n"), said("result unload pass\n")
PASSED = {
    "nothing": [],
    "no expect, and a result": [job(expect=None)],
    "no expect, and a result that is done": [job(expect=None), said("work pass", "work done")],
    "expect nothing, and no result": [job(expect=[]), *NO_RESULTS],
    "not loaded, not unloaded": [job(expect=["work"]), said("result unload pass\n"),
                                 text(results.CONSOLE, "memtb: unloaded, 0 pages leaked", "-")],
    "kmemleak 0": [fact("kmemleak", "0"), job(kmemleak=True)],
    "taint 0": [fact("taint", "0")],
    "two taints, both allowed": [fact("taint", 1 << 12 | 1 << 9), job(allow_taint="WO")],
    "memtb may stay": [fact("modules-left", "memtb "), fact("may-stay", "memtb")],
    "both may stay": [fact("modules-left", "memtb memtb_cputime"),
                      fact("may-stay", "memtb_cputime memtb")],
    "may stay, but went": [fact("may-stay", "memtb")],
    "planted trouble that was announced": [logged(PLANTED, "[    3.0] Call Trace:"),
                                           job(expected_splats=["planted"])],
    "an old job that announces nothing": [keys(results.JOB, ["expected_splats"])],
    "an end without detail and times": [keys(results.END, ["detail", "phase_seconds"])],
}
FAILED = {
    "no expect, no result": ("missing-result", [job(expect=None), *NO_RESULTS]),
    "a result missing": ("missing-result", [said("result work pass n=1\n")]),
    "a result not expected": ("count", [job(expect=["unload"])]),
    "a result where none was expected": ("count", [job(expect=[])]),
    "a result twice": ("count", [said("result work pass n=1\n", "result work pass n=1\n" * 2)]),
    "a result twice, no expect": ("count", [
        job(expect=None), said("result work pass n=1\n", "result work pass\nresult work done\n")]),
    "a result that failed": ("result", [said("work pass", "work fail")]),
    "failed and skipped": ("result", [said("work pass", "work skip"),
                                      said("unload pass", "unload fail")]),
    "no unload line": ("unload", [text(results.CONSOLE, "memtb: unloaded, 0 pages leaked", "-")]),
    "leaked pages": ("memtb-leak", [text(results.CONSOLE, "0 pages", "3 pages")]),
    "less than no pages": ("memtb-leak", [text(results.CONSOLE, "0 pages", "-1 pages")]),
    "leaked pages, unload failed": ("memtb-leak", [said("unload pass", "unload fail"),
                                                   text(results.CONSOLE, "0 pages", "10 pages")]),
    "leaked pages, nobody unloaded": ("memtb-leak", [
        job(expect=["work"]), said("result unload pass\n"),
        text(results.CONSOLE, "0 pages", "3 pages")]),
    "no kmemleak scan": ("no-scan", [job(kmemleak=True)]),
    "no kmemleak fact": ("no-scan", [job(kmemleak=True), fact("kmemleak", None)]),
    "one leaked object": ("kmemleak", [job(kmemleak=True), fact("kmemleak", "1")]),
    "a leaked object nobody looks for": ("kmemleak", [fact("kmemleak", "1")]),
    "no taint fact": ("no-scan", [fact("taint", None)]),
    "taint is no number": ("no-scan", [fact("taint", "-1")]),
    "no taint is allowed": ("taint", [job(allow_taint="")]),
    "taint unknown here": ("taint", [fact("taint", 1 << 25)]),
    "taint next to the last known": ("taint", [fact("taint", 1 << 19)]),
    "no fact job-exit": ("job-failed", [fact("job-exit", None)]),
    "the job died": ("job-failed", [fact("job-exit", "1"), fact("died", "no more")]),
    "the job was killed": ("job-failed", [fact("job-exit", "137")]),
    "damage": ("channel-damaged", [said("phase unload\n", "phase unload\n\x01\x02\n")]),
    "damage after the end": ("channel-damaged", [said("\nend\n", "\nend\nphase late\n")]),
    "no end": ("no-end", [said("\nend\n", "\n")]),
    "a console without a word": ("no-scan", [whole(results.CONSOLE, ""), job(expect=["work"]),
                                             said("result unload pass\n")]),
    "no console": ("no-scan", [whole(results.CONSOLE, None), job(expect=["work"]),
                               said("result unload pass\n")]),
    "a console cut short": ("no-scan", [
        text(results.CONSOLE, CONSOLE[CONSOLE.index("[    3.56"):])]),
    "a console cut in its last line": ("no-scan", [
        text(results.CONSOLE, CONSOLE[CONSOLE.index(": end"):])]),
    "nobody looked for modules": ("no-scan", [fact("modules-left", None)]),
    "a module left": ("unload", [fact("modules-left", "memtb")]),
    "a second module left": ("unload", [fact("modules-left", "memtb memtb_cputime"),
                                        fact("may-stay", "memtb")]),
    "another module may stay": ("unload", [fact("modules-left", "memtb"),
                                           fact("may-stay", "memtb_cputime")]),
    "planted trouble": ("memtb-planted", [logged(PLANTED)]),
    "a bug among planted trouble": ("bug", [logged(PLANTED, BUG),
                                            job(expected_splats=["planted"])]),
    "a panic after other trouble": ("panic", [
        logged(BUG, "[    3.0] Kernel panic - not syncing: Fatal exception")]),
}
MISSED = {
    "QEMU failed": ("qemu-failed", [end(returncode=1)]),
    "QEMU was killed": ("qemu-killed", [end(returncode=-9)]),
    "no return code": ("no-run", [end(returncode=None)]),
    "a return code of words": ("no-run", [end(returncode="0")]),
    "an end that is none": ("no-run", [end(how="tired")]),
    "no end is told": ("no-run", [end(how=None)]),
    "interrupted": ("interrupted", [end(how="interrupted", returncode=-9)]),
    "no room": ("disk-full", [end(how="disk-full", detail="7 MiB left", returncode=-9)]),
    "Kconfig dropped something": ("config", [job(config_dropped=["CONFIG_A: wanted y, got n"])]),
}
ERRED = {
    "no hello": ("boot-failed", [said("memtb-guest 1\n")]),
    "not a word": ("boot-failed", [MUTE]),
    "no channel": ("boot-failed", [whole(results.CHANNEL, None)]),
    "a splat before hello": ("boot-failed", [MUTE, logged(BUG)]),
    "a hello of another version": ("boot-failed", [said("memtb-guest 1", "memtb-guest 2")]),
    "time-out in the boot": ("boot-hang", [end(how="timeout", phase="boot", returncode=-9), MUTE]),
    "time-out": ("hang", [end(how="timeout", phase="work", returncode=-9), STUCK]),
    "over the time of all": ("hang", [end(how="overall", phase="work", returncode=-9), STUCK]),
    "flood": ("console-flood", [end(how="flood", phase="work", returncode=-9), STUCK]),
    "time-out after all was said": ("hang", [end(how="timeout", returncode=-9)]),
    "time-out in the middle of a line": ("hang", [
        end(how="timeout", phase="work", returncode=-9), STUCK, said("b c\n\n", "b c\n\nresu")]),
}


@pytest.fixture(name="judged")
def _judged(tmp_path):
    """judged(*changes): the Verdict on a good guest's directory after these changes."""
    return lambda *changes, **more: Guest().change(*changes).judged(tmp_path, **more)


def seen(verdict):
    """Verdict, cause and exit code, with the reasons if the assertion fails."""
    print(verdict.reasons)
    return verdict.verdict, verdict.cause, verdict.exit_code


def why(verdict):
    """All reasons as one text."""
    return "\n".join(verdict.reasons)


def table(rows):
    """The rows of a table with their names."""
    return [pytest.param(*(row if isinstance(row, tuple) else (row,)), id=name)
            for name, row in rows.items()]


@pytest.mark.parametrize("changes", table(PASSED))
def test_what_may_be_passes(judged, changes):
    verdict = judged(*changes)
    assert seen(verdict) == PASS and verdict.reasons == []


@pytest.mark.parametrize("cause, changes", table(FAILED))
def test_a_fault_of_the_code_under_test_fails(judged, cause, changes):
    assert seen(judged(*changes)) == ("FAIL", cause, 1)


@pytest.mark.parametrize("cause, changes", table(MISSED))
def test_a_broken_harness_is_a_miss(judged, cause, changes):
    assert seen(judged(*changes)) == ("MISS", cause, 128)


@pytest.mark.parametrize("cause, changes", table(ERRED))
def test_a_guest_that_did_not_get_there_is_an_error(judged, cause, changes):
    assert seen(judged(*changes)) == ("ERROR", cause, 3)


def test_a_skipped_result_is_a_skip(judged):
    verdict = judged(said("work pass n=1", "work skip why=cpu"))
    assert seen(verdict) == ("SKIP", "skipped", 4)
    assert verdict.reasons == ["work was skipped why=cpu"]


def test_verdict_and_files_are_written_down(judged, tmp_path):
    verdict = judged()
    assert seen(verdict) == PASS
    assert verdict.results == [{"name": "work", "status": "pass", "values": {"n": "1"}},
                               {"name": "unload", "status": "pass", "values": {}}]
    record = json.loads((tmp_path / results.VERDICT).read_text())
    assert record == {
        "verdict": "PASS", "cause": "none", "reasons": [], "exit_code": 0, "version": 1,
        "title": "by hand", "results": verdict.results, "facts": verdict.facts,
        "phases": END["phase_seconds"], "qemu_end": END}
    assert verdict.facts["taint"] == "4096"
    assert {name: path.read_bytes() for name, path in judge.files(tmp_path).items()} == {
        "note": b"a\nb c\n"}


def test_a_bad_verdict_is_written_down_too(judged, tmp_path):
    judged(said("work pass", "work fail"))
    record = json.loads((tmp_path / results.VERDICT).read_text())
    assert (record["verdict"], record["cause"], record["exit_code"]) == ("FAIL", "result", 1)
    assert record["reasons"] == ["work failed n=1"]


def test_a_second_look_says_the_same(judged, tmp_path):
    assert judged(end(returncode=1)) == judge.judge(tmp_path)


def test_a_look_may_leave_everything_as_it_is(judged, tmp_path):
    assert seen(judged(write=False)) == PASS
    assert not (tmp_path / results.VERDICT).exists() and judge.files(tmp_path) == {}


def test_no_files_no_directory(judged, tmp_path):
    assert seen(judged(said("file note 6\na\nb c\n\n"))) == PASS
    assert not (tmp_path / "files").exists()


@pytest.mark.parametrize("data", ["[]", "{}", '"x"', "1", "null", None, "", b"\xff\xfe",
                                  json.dumps(END)[:40]])
@pytest.mark.parametrize("name", [results.JOB, results.END])
def test_a_record_that_is_none_is_a_miss(judged, name, data, tmp_path):
    verdict = judged(whole(name, data))
    assert seen(verdict) == ("MISS", "no-run", 128)
    assert f"{tmp_path} holds no finished run" in why(verdict)
    # Without its job.json a directory is not one of ours.
    assert (tmp_path / results.VERDICT).exists() == (name == results.END)


@pytest.mark.parametrize("name, key", [
    *((results.JOB, key) for key in sorted(JOB.keys() - {"expected_splats"})),
    *((results.END, key) for key in ("how", "phase", "returncode"))])
def test_a_record_that_lacks_a_key_is_a_miss(judged, name, key):
    timed_out = end(how="timeout", phase="work")
    assert seen(judged(timed_out, STUCK, keys(name, [key]))) == ("MISS", "no-run", 128)


@pytest.mark.parametrize("change", [
    end(how=["exit"]), end(phase=1), job(expect="work"), job(expect=1), job(allow_taint=None),
    job(config_dropped=1), job(kmemleak="no"), whole(results.END, "[" * 100000)])
def test_a_record_with_values_of_another_kind_is_a_miss(judged, change):
    assert seen(judged(change)) == ("MISS", "no-run", 128)


@pytest.mark.parametrize("key", ["taint", "kmemleak"])
@pytest.mark.parametrize("value", ["9" * 5000, "\u0663"])
def test_a_number_that_is_none_is_no_scan(judged, key, value):
    assert seen(judged(job(kmemleak=True), fact("kmemleak", "0"), fact(key, value)))[1] == "no-scan"


def test_an_empty_directory_is_a_miss(tmp_path):
    assert seen(judge.judge(tmp_path)) == ("MISS", "no-run", 128)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("bit, letter", enumerate(KERNEL_TAINTS))
def test_a_taint_counts_unless_it_is_allowed(judged, bit, letter):
    others = KERNEL_TAINTS.replace(letter, "")
    verdict = judged(fact("taint", 1 << bit), job(allow_taint=others))
    assert seen(verdict) == ("FAIL", "taint", 1)
    assert verdict.reasons == [f"kernel tainted: {letter} ({1 << bit})"]
    assert seen(judged(fact("taint", 1 << bit), job(allow_taint=letter))) == PASS


def test_every_taint_that_the_judge_knows_is_tried():
    assert judge.TAINTS == KERNEL_TAINTS


def test_only_the_taint_that_is_not_allowed_is_named(judged):
    verdict = judged(fact("taint", 1 << 12 | 1 << 9 | 1 << 1))
    assert verdict.reasons == [f"kernel tainted: F W ({1 << 12 | 1 << 9 | 1 << 1})"]


@pytest.mark.parametrize("how", ["timeout", "overall", "flood"])
def test_a_splat_outweighs_a_time_out(judged, how):
    verdict = judged(end(how=how, phase="work", returncode=-9), STUCK, logged(BUG))
    assert seen(verdict) == ("FAIL", "bug", 1)


@pytest.mark.parametrize("how", ["timeout", "overall", "flood"])
def test_a_splat_does_not_outweigh_a_boot_without_end(judged, how):
    verdict = judged(end(how=how, phase="boot", returncode=-9), MUTE, logged(BUG))
    assert seen(verdict) == ("ERROR", "boot-hang", 3)
    assert "bug: console line 4: BUG: planted" in verdict.reasons


def test_a_failed_result_outweighs_a_time_out(judged):
    verdict = judged(end(how="timeout", phase="work", returncode=-9), STUCK,
                     said("work pass", "work fail"))
    assert seen(verdict) == ("FAIL", "result", 1)


@pytest.mark.parametrize("change", [
    said("work pass", "work fail"), said("work pass", "work skip"), fact("taint", "1"),
    said("phase work", "what"), logged(BUG), fact("job-exit", "1")])
def test_before_hello_nothing_but_the_harness_outweighs_the_boot(judged, change):
    verdict = judged(said("memtb-guest 1\n"), change)
    assert seen(verdict) == ("ERROR", "boot-failed", 3)
    assert len(verdict.reasons) == 2


@pytest.mark.parametrize("reason, changes", [
    ("hang in phase work: 9 s", [end(how="timeout", phase="work", detail="9 s"), STUCK]),
    ("hang in phase boot", [end(how="timeout", phase="boot"), MUTE]),
    ("console flood in phase work", [end(how="flood", phase="work"), STUCK]),
    ("no room left for the results: 1 MiB", [end(how="disk-full", detail="1 MiB")]),
    ("no room left for the results", [keys(results.END, ["detail"], how="disk-full")]),
    ("interrupted", [end(how="interrupted")]),
    ("end.json tells of no end that there is: tired", [end(how="tired")]),
    ("end.json has no exit status of QEMU", [end(returncode=None)]),
    ("QEMU was killed by signal 11 in phase work, not by this run",
     [end(returncode=-11, phase="work")]),
    ("QEMU ended with status 2: no room \ufffd",
     [end(returncode=2), whole(results.QEMU_LOG, b"no room \xff\n")]),
    ("Kconfig dropped: A: b; C: d", [job(config_dropped=["A: b", "C: d"])]),
    ("the job ended with status 3: no more", [fact("job-exit", "3"), fact("died", "no more")]),
    ("the job ended with status 3: no message", [fact("job-exit", "3")]),
    ("the job ended with status unknown: no message", [fact("job-exit", None)]),
    ("the guest's init never said hello", [MUTE]),
    ("the guest's init never said hello (kernel panic)",
     [MUTE, logged("[    1.0] Kernel panic - not syncing: x")]),
    ("the guest stopped without saying end", [said("\nend\n", "\n")]),
    ("results channel: not understood: 'what'", [said("phase work\n", "phase work\nwhat\n")]),
    ("work failed a=b n=1", [said("work pass", "work fail a=b")]),
    ("result work came 3 times", [said("result work pass n=1\n", "result work pass\n" * 3)]),
    ("result work is missing", [said("result work pass n=1\n")]),
    ("result work was not expected", [job(expect=["unload"])]),
    ("no result came", [job(expect=None), *NO_RESULTS]),
    ("still loaded at the end: memtb_a memtb_b", [fact("modules-left", "memtb_b memtb_a")]),
    ("nobody looked for modules left behind", [fact("modules-left", None)]),
    ("the taint check did not run", [fact("taint", None)]),
    ("kmemleak is built in, its scan did not run", [job(kmemleak=True)]),
    ("kmemleak: 7 leaked objects (files/kmemleak)", [fact("kmemleak", "7")]),
    ("console.log does not reach the guest's end: trouble may be missing",
     [text(results.CONSOLE, "memtb-guest: end", "-")]),
    ("memtb.ko went, but no leak count is on the console",
     [text(results.CONSOLE, "memtb: unloaded, 0 pages leaked", "-")]),
    ("bug: console line 4: BUG: planted", [logged(BUG)]),
])
def test_the_reason_says_it(judged, reason, changes):
    assert reason in judged(*changes).reasons


def test_the_log_of_qemu_is_shown_by_its_end(judged):
    verdict = judged(end(returncode=1), whole(results.QEMU_LOG, "A" * 999 + "B" * 400 + "\n"))
    assert verdict.reasons == ["QEMU ended with status 1: " + "B" * 400]


def test_much_trouble_is_shown_in_part(judged):
    verdict = judged(logged(*[BUG] * (judge.SHOWN_SPLATS + 2)))
    assert len(verdict.reasons) == judge.SHOWN_SPLATS + 1
    assert verdict.reasons[-1] == "and 2 more lines of trouble"
    assert len(judged(logged(*[BUG] * judge.SHOWN_SPLATS)).reasons) == judge.SHOWN_SPLATS


@pytest.mark.parametrize("unloads, lines, verdict", [
    (1, 2, PASS), (2, 2, ("FAIL", "count", 1)), (2, 1, ("FAIL", "count", 1))])
def test_every_unload_that_passed_needs_its_line(judged, unloads, lines, verdict):
    line = "[    3.456789] memtb: unloaded, 0 pages leaked\n"
    judgement = judged(said("result unload pass\n", "result unload pass\n" * unloads),
                       text(results.CONSOLE, line, line * lines))
    assert seen(judgement) == verdict
    assert ("no leak count" in why(judgement)) == (unloads > lines)


def test_an_unload_that_failed_needs_no_line(judged):
    verdict = judged(said("unload pass", "unload fail"),
                     text(results.CONSOLE, "memtb: unloaded, 0 pages leaked", "-"))
    assert verdict.reasons == ["unload failed"]


# From the weightiest to the lightest; each is there with all that are lighter.
@pytest.mark.parametrize("verdict, cause, changes", [
    ("MISS", "config", [job(config_dropped=["CONFIG_A: wanted y, got n"]), logged(BUG),
                        said("work pass", "work skip"), end(how="timeout", phase="unload")]),
    ("FAIL", "bug", [logged(BUG), said("work pass", "work skip"),
                     end(how="timeout", phase="unload")]),
    ("ERROR", "hang", [said("work pass", "work skip"), end(how="timeout", phase="unload")]),
    ("SKIP", "skipped", [said("work pass", "work skip")]),
])
def test_the_heaviest_counts_and_comes_first(judged, verdict, cause, changes):
    judgement = judged(*changes)
    assert seen(judgement)[:2] == (verdict, cause)
    # Each change is one reason: what is outweighed is still told.
    assert len(judgement.reasons) == len(changes)


def test_a_miss_outweighs_a_boot_that_failed(judged):
    assert seen(judged(MUTE, QEMU_DIED)) == ("MISS", "qemu-failed", 128)


@pytest.mark.parametrize("one, other", itertools.product(
    ["MISS", "FAIL", "ERROR", "SKIP", "PASS"], repeat=2))
def test_of_two_verdicts_the_worse_counts(one, other):
    order = ["MISS", "FAIL", "ERROR", "SKIP", "PASS"]
    assert judge.worst([one, other]) == min(one, other, key=order.index)


def test_of_no_verdicts_none_is_bad():
    assert judge.worst([]) == "PASS"
