# SPDX-License-Identifier: GPL-2.0
"""Does KVM work here? A node in /dev proves nothing: boot a guest, within a time limit."""

import dataclasses
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from . import cache, guest, paths, qemu, results, rootfs

NODE = Path("/dev/kvm")
PROBE_S = 20
FAST, SLOW = "kvm", "tcg,thread=multi"


def accelerator(job):
    """KVM where a guest has been seen to boot with it, else plain emulation."""
    if not os.access(NODE, os.R_OK | os.W_OK):
        return SLOW
    note = "kvm-" + cache.key12(_circumstances(job))
    answer = cache.read_note(note)
    if answer is None:
        _say(f"KVM: {NODE} is there, does it work? Booting a tiny guest (at most {PROBE_S} s)")
        answer = probe(job)
        cache.write_note(note, answer)
        _say("KVM: works" if answer["works"] else
             f"KVM: does not work ({answer['why']}); using emulation from now on")
    return FAST if answer["works"] else SLOW


def _circumstances(job):
    return {"node": NODE.stat().st_ctime_ns, "host": list(os.uname()), "arch": job.arch,
            "qemu": qemu.version(qemu.facts(job.arch)["qemu"])[1]}


def _say(text):
    print(text, file=sys.stderr, flush=True)


def probe(job):
    """Boot the smallest job with KVM; {"works": bool, "why": text}."""
    small = dataclasses.replace(job, mode="functional", cpus=1, memory_mb=256, append="",
                                job="/memtb/job", env={}, title="kvm-probe",
                                files={"/memtb/job": paths.QEMU / "guest" / "job-probe.sh"})
    with tempfile.TemporaryDirectory(prefix="memtb-kvm-") as name:
        place = Path(name)
        guest.write_overlay(small, place / "overlay.cpio")
        guest.concatenate([rootfs.busybox(), place / "overlay.cpio"], place / "initrd.cpio")
        config = job.flavour.config.read_text(encoding="utf-8")
        return _try(place, qemu.command(small, config, FAST))


def _try(place, words):
    try:
        result = subprocess.run(words, cwd=place, stdin=subprocess.DEVNULL, capture_output=True,
                                timeout=PROBE_S, check=False)
    except subprocess.TimeoutExpired:
        return {"works": False, "why": f"the guest did not end within {PROBE_S} s"}
    said = (place / results.CHANNEL).read_bytes() if (place / results.CHANNEL).exists() else b""
    if b"\nresult boot pass" in said and said.endswith(b"\nend\n"):
        return {"works": True, "why": ""}
    complaint = result.stderr.decode(errors="replace").strip().split("\n")[-1][:200]
    return {"works": False, "why": complaint or f"QEMU ended with status {result.returncode}"}
