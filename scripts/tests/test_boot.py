# SPDX-License-Identifier: GPL-2.0
"""Guests that go wrong in every way that there is: the right verdict, in bounded time."""

import os
import re
import signal
import subprocess
import textwrap
import time

import pytest
from memtblib import boot, errors, kernel, module, paths, results, rootfs

HEAD = "#!/bin/sh\n. /memtb/lib.sh\n"
QUICK = {"boot": 60, "job": 30, "end": 20}


@pytest.fixture(scope="module", name="flavour")
def _flavour():
    return kernel.flavour("x86_64-up")


@pytest.fixture(name="guest")
def _guest(flavour, tmp_path):
    """guest(lines of the job, **fields of boot.Job): the Outcome."""
    def run(*lines, on_progress=None, modules=None, **more):
        script = (HEAD + "\n".join(lines) + "\n").encode()
        built = {"/memtb/memtb.ko": module.build(modules).memtb_ko} if modules else {}
        fields = {"timeouts": QUICK, "results_root": tmp_path / "results", "memory_mb": 128,
                  "files": {"/memtb/job": script, **built}, **more}
        return boot.run(boot.Job(flavour=flavour, job="/memtb/job", rootfs=[rootfs.busybox()],
                                 **fields), on_progress)
    return run


def said(outcome):
    """Verdict and cause, with everything known if the assertion fails."""
    print(outcome.reasons)
    return outcome.verdict, outcome.cause, outcome.exit_code


def test_a_good_job_passes(guest):
    outcome = guest("result hello pass n=1", "send_file version /proc/version", expect=["hello"])
    assert said(outcome) == ("PASS", "none", errors.PASS)
    assert outcome.results == [{"name": "hello", "status": "pass", "values": {"n": "1"}}]
    assert outcome.files["version"].read_text().startswith("Linux version")
    assert not (outcome.dir / "initrd.cpio").exists()


def test_its_command_boots_again(guest):
    outcome = guest("result hello pass", expect=["hello"])
    subprocess.run([outcome.dir / "qemu.sh"], check=True, timeout=60, cwd="/",
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    again, = outcome.dir.glob("again-*")
    assert b"result hello pass" in (again / results.CHANNEL).read_bytes()


def test_icount_is_exact(guest):
    job = ["cat /proc/uptime >/tmp/uptime", "send_file uptime /tmp/uptime",
           "result hello pass"]
    first, second = (guest(*job, mode="icount") for _ in range(2))
    assert said(first)[0] == said(second)[0] == "PASS"
    assert first.files["uptime"].read_bytes() == second.files["uptime"].read_bytes()
    assert ((first.dir / results.CONSOLE).read_bytes()
            == (second.dir / results.CONSOLE).read_bytes())


def test_a_panic_is_the_kernels_fault(guest):
    outcome = guest("result hello pass", "echo c >/proc/sysrq-trigger", expect=["hello"])
    assert said(outcome) == ("FAIL", "panic", errors.FAIL)


def test_a_panic_before_init_is_a_failed_boot(guest):
    outcome = guest("result hello pass", append="rdinit=/nowhere")
    assert said(outcome) == ("ERROR", "boot-failed", errors.BOOT_FAILED)


def test_a_hang_ends_in_time(guest):
    started = time.monotonic()
    outcome = guest("result hello pass", "phase stuck", "sleep 1000", expect=["hello"],
                    timeouts={**QUICK, "stuck": 3})
    assert said(outcome) == ("ERROR", "hang", errors.BOOT_FAILED)
    assert "phase stuck" in outcome.reasons[0]
    assert time.monotonic() - started < 60


def test_a_hang_that_goes_on_talking_ends_in_time(guest):
    outcome = guest("phase stuck", "while :; do echo still here; sleep 1; done",
                    timeouts={**QUICK, "stuck": 3})
    assert said(outcome)[:2] == ("ERROR", "hang")


def test_a_splat_outweighs_a_hang(guest):
    outcome = guest("echo 'BUG: planted' >/dev/kmsg", "phase stuck", "sleep 1000",
                    timeouts={**QUICK, "stuck": 2})
    assert said(outcome)[0] == "FAIL"


def test_a_boot_without_an_end(guest):
    outcome = guest("result hello pass", timeouts={"boot": 0.01})
    assert said(outcome) == ("ERROR", "boot-hang", errors.BOOT_FAILED)


def test_a_flood_of_messages_is_ended(guest, monkeypatch):
    monkeypatch.setattr(boot, "FLOOD_BYTES", 1 << 20)
    outcome = guest("phase flood", "yes memtb")
    assert said(outcome) == ("ERROR", "console-flood", errors.BOOT_FAILED)


def test_a_killed_qemu_is_the_harness(guest, tmp_path):
    def kill(phase, _seconds):
        if phase == "stuck":
            for path in tmp_path.rglob("qemu.pid"):
                os.kill(int(path.read_text(encoding="ascii")), signal.SIGKILL)
    outcome = guest("phase stuck", "sleep 1000", on_progress=kill)
    assert said(outcome) == ("MISS", "qemu-killed", errors.MISS)


@pytest.mark.skipif(os.geteuid() != 0, reason="mounting a small disk takes root")
def test_a_full_disk_is_the_harness(guest, tmp_path):
    disk = tmp_path / "disk"

    def fill(phase, _seconds):
        if phase == "stuck":
            # Ends when there is no more room.
            subprocess.run(["dd", "if=/dev/zero", f"of={disk}/rest", "bs=1M"], check=False)
    disk.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=24m", "tmpfs", disk], check=True)
    try:
        outcome = guest("phase stuck", "sleep 1000", results_root=disk, on_progress=fill)
        assert said(outcome) == ("MISS", "disk-full", errors.MISS)
        outcome = guest("result hello pass", results_root=disk)
        assert said(outcome) == ("MISS", "disk-full", errors.MISS)
    finally:
        subprocess.run(["umount", disk], check=True)


def test_trouble_after_the_last_result_counts(guest):
    outcome = guest("result hello pass", "echo 'BUG: KASAN: planted' >/dev/kmsg", expect=["hello"])
    assert said(outcome) == ("FAIL", "kasan", errors.FAIL)


def test_the_console_cannot_give_results(guest):
    outcome = guest("echo result hello pass", "echo end", "echo 'ok 1 hello' >/dev/kmsg",
                    expect=["hello"])
    assert said(outcome) == ("FAIL", "missing-result", errors.FAIL)


def test_a_result_that_does_not_come_is_a_failure(guest):
    outcome = guest("result hello pass", expect=["hello", "world"])
    assert said(outcome) == ("FAIL", "missing-result", errors.FAIL)


def test_a_result_that_comes_twice_is_a_failure(guest):
    outcome = guest("result hello pass", "result hello pass", expect=["hello"])
    assert said(outcome) == ("FAIL", "count", errors.FAIL)


def test_a_failed_result_is_a_failure(guest):
    outcome = guest("result hello fail why=so", expect=["hello"])
    assert said(outcome) == ("FAIL", "result", errors.FAIL)


def test_a_skipped_result_is_no_pass(guest):
    outcome = guest("result hello skip", expect=["hello"])
    assert said(outcome) == ("SKIP", "skipped", errors.SKIP)


def test_an_end_without_a_word_is_a_failure(guest):
    outcome = guest("result hello pass", "reboot -f", expect=["hello"])
    assert said(outcome) == ("FAIL", "no-end", errors.FAIL)


def test_a_job_that_dies_is_a_failure(guest):
    outcome = guest("result hello pass", "die no more", expect=["hello"])
    assert said(outcome) == ("FAIL", "job-failed", errors.FAIL)
    assert "no more" in outcome.reasons[0]


def test_noise_on_the_channel_is_a_failure(guest):
    outcome = guest("result hello pass", "head -c 3000 /dev/urandom >&3", expect=["hello"])
    assert said(outcome)[0] == "FAIL"


def test_a_taint_is_a_failure(guest):
    outcome = guest("result hello pass", "echo 32 >/proc/sys/kernel/tainted", expect=["hello"])
    assert said(outcome) == ("FAIL", "taint", errors.FAIL)


def test_what_cannot_be_meant_is_refused(guest):
    with pytest.raises(errors.UserError, match="no mode 'exact'"):
        guest("result hello pass", mode="exact")
    with pytest.raises(errors.UserError, match="one processor, not 2"):
        guest("result hello pass", cpus=2)
    with pytest.raises(errors.UserError, match="one processor, not 0"):
        guest("result hello pass", cpus=0)
    with pytest.raises(errors.UserError, match="at least 48 MB"):
        guest("result hello pass", memory_mb=1)
    for seconds in (0, -1, float("nan"), float("inf")):
        with pytest.raises(errors.UserError, match="no number of seconds above 0"):
            guest("result hello pass", timeouts={"boot": seconds})


def test_an_smp_kernel_knows_how_many_processors_it_takes(tmp_path):
    smp = kernel.flavour("x86_64-smp")
    with pytest.raises(errors.UserError, match=f"1 to {smp.max_cpus} processors, not 999"):
        boot.run(boot.Job(flavour=smp, job="/memtb/job", rootfs=[rootfs.busybox()], cpus=999,
                          results_root=tmp_path))


def test_quotes_on_the_command_line_are_the_kernels(guest):
    outcome = guest("grep -q 'memtb=\"a b\" it.s' /proc/cmdline && result hello pass",
                    append="memtb=\"a b\" it's", expect=["hello"])
    assert said(outcome) == ("PASS", "none", errors.PASS)


LEAVE = ["insmod /memtb/memtb.ko", "result hello pass"]


def test_a_module_left_behind_is_a_failure(flavour, guest):
    outcome = guest(*LEAVE, modules=flavour, expect=["hello"])
    assert said(outcome) == ("FAIL", "unload", errors.FAIL)
    assert outcome.reasons == ["still loaded at the end: memtb"]


def test_a_module_may_stay_if_the_job_says_so(flavour, guest):
    outcome = guest(*LEAVE, "may_stay memtb", modules=flavour, expect=["hello"])
    assert said(outcome) == ("PASS", "none", errors.PASS)


def test_the_job_in_the_documentation_works(flavour, guest):
    text = (paths.CHECKOUT / "Documentation/usage.rst").read_text(encoding="utf-8")
    block = re.search(r"lib\.sh``::\n\n((?:    .*\n)+)", text).group(1)
    outcome = guest(*textwrap.dedent(block).splitlines(), modules=flavour,
                    expect=["nothing_violated", "unload"])
    assert said(outcome) == ("PASS", "none", errors.PASS)
    assert outcome.files["live"].read_text(encoding="utf-8").startswith("mode takeover\n")
