# SPDX-License-Identifier: GPL-2.0
"""QEMU: its exact command line, and the versions that are refused."""

import subprocess
from pathlib import Path

import pytest

from memtblib import boot, kernel, qemu
from memtblib.errors import MISS, UserError

MACHINE = ["qemu-system-x86_64", "-M", "microvm,acpi=off,rtc=on", "-cpu", "qemu64"]
KERNEL = ("console=ttyS0 reboot=t tsc=reliable nokaslr random.trust_cpu=off{up} panic=-1 "
          "oops=panic rcupdate.rcu_cpu_stall_timeout=300{more}")
UP = " noapictimer no_timer_check"
DEVICES = ["-chardev", "file,id=console,path=console.log", "-serial", "chardev:console",
           "-device", "virtio-serial-device", "-chardev", "file,id=channel,path=channel.log",
           "-device", "virtserialport,chardev=channel,name=memtb"]


def job(smp, **more):
    """A job for a kernel that was never built."""
    name = "x86_64-smp" if smp else "x86_64-up"
    build = kernel.KernelBuild(name, "k", Path("/k/build"), Path("/s"), smp)
    return boot.Job(build, "/memtb/job", [], **more)


def test_the_command_of_a_functional_job():
    words = qemu.command(job(True, cpus=2, memory_mb=512), "", "kvm")
    assert words == [
        *MACHINE, "-accel", "kvm", "-m", "512", "-smp", "2", "-nodefaults", "-nographic",
        "-no-reboot", "-kernel", "/k/build/vmlinux", "-initrd", "initrd.cpio",
        "-append", KERNEL.format(up="", more=""), *DEVICES]


def test_the_command_of_an_icount_job():
    words = qemu.command(job(False, mode="icount"), "", "tcg")
    assert words == [
        *MACHINE, "-accel", "tcg", "-m", "256", "-smp", "1", "-nodefaults", "-nographic",
        "-no-reboot", "-kernel", "/k/build/vmlinux", "-initrd", "initrd.cpio",
        "-append", KERNEL.format(up=UP, more=""), *DEVICES,
        "-icount", "shift=0,sleep=off", "-rtc", "base=2020-01-01,clock=vm", "-seed", "1",
        "-global", "virtio-mmio.ioeventfd=off"]


@pytest.mark.parametrize("config, append, more", [
    ("CONFIG_LOCKUP_DETECTOR=y\n", "", " watchdog_thresh=60"),
    ("CONFIG_DETECT_HUNG_TASK=y\n", "", " sysctl.kernel.hung_task_timeout_secs=600"),
    ("# CONFIG_LOCKUP_DETECTOR is not set\n", "", ""),
    ("", "one two=3", " one two=3"),
])
def test_more_words_for_the_kernel(config, append, more):
    words = qemu.command(job(True, append=append), config, "tcg")
    assert words[words.index("-append") + 1] == KERNEL.format(up="", more=more)


def test_a_kernel_with_another_image_boots_that(monkeypatch):
    facts = kernel.Flavour(["base"], True, 1, 1, image="arch/x86/boot/bzImage")
    monkeypatch.setattr(kernel, "FLAVOURS", {"x86_64-smp": facts})
    words = qemu.command(job(True), "", "tcg")
    assert words[words.index("-kernel") + 1] == "/k/build/arch/x86/boot/bzImage"


@pytest.mark.parametrize("line, found", [
    ("QEMU emulator version 10.0.2 (Debian 1:10.0.2+ds-2)", (10, 0, 2)),
    ("QEMU emulator version 8.1.0", (8, 1, 0)), ("QEMU emulator version 8.1", (8, 1, 0)),
    ("QEMU emulator version 8.2.50 (v8.2.0-1-g0)", (8, 2, 50)),
])
def test_versions_that_will_do(line, found):
    assert qemu.checked_version("qemu", line) == found


@pytest.mark.parametrize("line, message", [
    ("QEMU emulator version 8.0.9", "qemu is 8.0.9, memtb needs 8.1 or newer"),
    ("QEMU emulator version 7.2.11 (Debian)", "qemu is 7.2.11, memtb needs 8.1 or newer"),
    ("QEMU emulator version 7.2", "qemu is 7.2.0"),
    ("", "cannot tell its version"), ("no QEMU", "cannot tell its version"),
])
def test_versions_that_are_refused(line, message):
    with pytest.raises(UserError, match=message) as caught:
        qemu.checked_version("qemu", line)
    assert caught.value.code == MISS


def binary(place, line):
    """A program that says which version it is."""
    place.write_text(f"#!/bin/sh\n[ \"$*\" = --version ] && printf '%s\\nmore\\n' '{line}'\n")
    place.chmod(0o755)
    return str(place)


def test_the_version_is_asked_of_the_program(tmp_path):
    line = "QEMU emulator version 9.1.2"
    assert qemu.version(binary(tmp_path / "new", line)) == ((9, 1, 2), line)
    with pytest.raises(UserError, match="8.0.2, memtb needs"):
        qemu.version(binary(tmp_path / "old", "QEMU emulator version 8.0.2"))
    with pytest.raises(UserError, match="is missing: run scripts/memtb setup"):
        qemu.version(str(tmp_path / "none"))


def test_a_job_for_an_old_qemu_is_refused(tmp_path, monkeypatch):
    old = binary(tmp_path / "qemu-system-old", "QEMU emulator version 8.0.2")
    monkeypatch.setattr(qemu, "facts", lambda _arch: {"qemu": old})
    with pytest.raises(UserError, match="8.0.2, memtb needs"):
        boot.check(job(False, files={"/memtb/job": b""}))


def test_an_unknown_architecture_names_the_known():
    with pytest.raises(UserError, match="no guests for architecture 'vax' .choose from x86_64"):
        qemu.facts("vax")


def test_the_script_runs_the_very_same_words(tmp_path):
    fake = tmp_path / "qemu it's"
    fake.write_text("#!/bin/sh\nprintf '%s\\0' \"$@\" >../said\ncat initrd.cpio >../initrd\n")
    fake.chmod(0o755)
    words = ["-append", "a 'b' \"c\" $HOME", "-device", "x,y", "-nographic", "-m", "1"]
    for name in ("one", "it's two"):
        (tmp_path / name).write_text(name)
    script = tmp_path / "qemu.sh"
    script.write_text(qemu.script([str(fake), *words],
                                  [tmp_path / "one", tmp_path / "it's two"]))
    subprocess.run(["sh", script], check=True, cwd="/", capture_output=True)
    assert (tmp_path / "said").read_text().split("\0")[:-1] == words
    assert (tmp_path / "initrd").read_text() == "oneit's two"
