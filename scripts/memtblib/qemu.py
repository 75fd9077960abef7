# SPDX-License-Identifier: GPL-2.0
"""QEMU: which one, which version, which accelerator, and the exact command line."""

import functools
import json
import re
import shlex
import shutil
import subprocess

from . import paths
from .errors import MISS, UserError

# Older ones give icount's vCPUs no fair share: a guest with several hangs at boot.
OLDEST = (8, 1)
# Without ioeventfd=off a virtqueue is served by QEMU's main loop, whenever the host runs it:
# every line on the results channel would shift what comes after it by some microseconds.
ICOUNT = ["-icount", "shift=0,sleep=off", "-rtc", "base=2020-01-01,clock=vm", "-seed", "1",
          "-global", "virtio-mmio.ioeventfd=off"]
MODES = ("icount", "functional")


@functools.lru_cache(maxsize=None)
def facts(arch="x86_64"):
    """What is particular to an architecture's guests."""
    known = sorted(path.stem for path in (paths.QEMU / "arch").glob("*.json"))
    if arch not in known:
        raise UserError(f"no guests for architecture '{arch}' (choose from {', '.join(known)})")
    return json.loads((paths.QEMU / "arch" / f"{arch}.json").read_text(encoding="utf-8"))


def parse_version(text):
    """(10, 0, 2) out of the first line of --version."""
    match = re.search(r"version (\d+)\.(\d+)(?:\.(\d+))?", text)
    return tuple(int(part or 0) for part in match.groups()) if match else None


@functools.lru_cache(maxsize=None)
def version(binary):
    """(version tuple, first line of --version); refuses what is missing or too old."""
    if shutil.which(binary) is None:
        raise UserError(f"{binary} is missing: run scripts/memtb setup", MISS)
    result = subprocess.run([binary, "--version"], capture_output=True, text=True, check=False)
    line = result.stdout.split("\n", 1)[0].strip()
    return checked_version(binary, line), line


def checked_version(binary, line):
    """The version in the line, or a refusal that says why."""
    found = parse_version(line)
    if found is None:
        raise UserError(f"{binary} --version says {line!r}: cannot tell its version", MISS)
    if found < OLDEST:
        raise UserError(
            f"{binary} is {'.'.join(map(str, found))}, memtb needs {OLDEST[0]}.{OLDEST[1]} or "
            "newer (older ones hang guests with two processors under icount): "
            "run scripts/memtb setup, it takes QEMU from bookworm-backports", MISS)
    return found


def kernel_arguments(job, config):
    """The kernel's command line. `config` is the text of its .config."""
    known = facts(job.arch)
    words = known["append"] + ([] if job.flavour.smp else known["append_up"])
    words += ["panic=-1", "oops=panic"]
    # An emulated processor is slow: what a watchdog sees is not a stall.
    words += ["rcupdate.rcu_cpu_stall_timeout=300"]
    if "CONFIG_LOCKUP_DETECTOR=y" in config:
        words += ["watchdog_thresh=60"]
    if "CONFIG_DETECT_HUNG_TASK=y" in config:
        words += ["sysctl.kernel.hung_task_timeout_secs=600"]
    # As it is: quotes in it are the kernel's to read.
    return words + ([job.append] if job.append else [])


def command(job, config, accel):
    """The whole command line; runs in the results directory, so that its paths are short."""
    known = facts(job.arch)
    words = [known["qemu"], "-M", known["machine"], "-cpu", known["cpu"],
             "-accel", accel, "-m", str(job.memory_mb), "-smp", str(job.cpus),
             "-nodefaults", "-nographic", "-no-reboot",
             "-kernel", str(job.flavour.image), "-initrd", "initrd.cpio",
             "-append", " ".join(kernel_arguments(job, config)),
             "-chardev", "file,id=console,path=console.log", "-serial", "chardev:console",
             "-device", "virtio-serial-device",
             "-chardev", "file,id=channel,path=channel.log",
             "-device", "virtserialport,chardev=channel,name=memtb"]
    return words + (ICOUNT if job.mode == "icount" else [])


def script(words, archives):
    """A shell script that boots the very same guest again, in a directory of its own."""
    lines = [[]]
    for word in words:
        if word.startswith("-"):
            lines.append([])
        lines[-1].append(shlex.quote(word))
    inputs = " ".join(shlex.quote(str(path)) for path in archives)
    return "\n".join([
        "#!/bin/sh", "# Boots the guest of this directory again; the new logs come into again-*/.",
        "set -e", 'cd "$(dirname "$0")"', "again=again-$$", 'mkdir "$again"',
        f'cat {inputs} >"$again/initrd.cpio"', 'cd "$again"',
        " \\\n\t".join(" ".join(line) for line in lines), 'echo "logs are in $PWD"', ""])
