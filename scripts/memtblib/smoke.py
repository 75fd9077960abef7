# SPDX-License-Identifier: GPL-2.0
"""The smoke test: a guest that does everyday work while its kernel lives on a backend."""

import subprocess

from . import boot, cache, design, kernel, module, paths, rootfs, visitor
from .errors import MISS, UserError

BARE = ["smoke_exec", "smoke_fs", "smoke_net", "smoke_modules"]
EXPECT = ["smoke_fallback", "smoke_fallback_verify", "unload", *BARE, "smoke_late",
          "smoke_verify", "smoke_coverage", "smoke_check", "smoke_cycles",
          "smoke_cycles_verify", "smoke_off", "smoke_leave"]
# The job says how far it is so many times.
CHUNKS = 10
# A kernel thread has a dozen objects; a lost free in any of the loops is hundreds.
HELD_PER_CPU = 64
IMAGE_MB = 24
MKE2FS = ["mke2fs", "-q", "-F", "-t", "ext4", "-U", "6d656d74-6200-4000-8000-000000000001",
          "-E", "hash_seed=6d656d74-6200-4000-8000-000000000002"]


def ext4_image():
    """An empty ext4 file system, made here because the guest has no mke2fs."""
    return cache.entry("image", "ext4", {"command": MKE2FS, "mb": IMAGE_MB}, _make) / "ext4.img"


def _make(temp):
    path = temp / "ext4.img"
    with open(path, "wb") as stream:
        stream.truncate(IMAGE_MB << 20)
    result = subprocess.run([*MKE2FS, str(path)], capture_output=True, text=True, check=False)
    if result.returncode:
        raise UserError(f"mke2fs: {result.stderr.strip()}", MISS)


def check(name, backend, execs, cycles):
    """Refuse what cannot be meant."""
    flavours = kernel.names("takeover")
    if name not in flavours:
        raise UserError(f"no flavour '{name}' to take over (choose from {', '.join(flavours)})",
                        MISS)
    design.check(backend, "backend '{}' takes no kernel over")
    if execs < CHUNKS or cycles < 1:
        raise UserError(f"at least {CHUNKS} processes and 1 cycle, not {execs} and {cycles}", MISS)


def job(flavour, backend="slob", execs=3000, cycles=5, bare=False, results=paths.RESULTS):
    """The job for a KernelBuild."""
    built = module.build(flavour)
    files = {"/memtb/job": paths.QEMU / "guest" / "job-smoke.sh",
             "/memtb/ext4.img": ext4_image(), "/memtb/memtb.ko": built.memtb_ko,
             **{f"/memtb/{name}": path for name, path in visitor.build(flavour).items()}}
    env = {"SMOKE_BACKEND": backend, "SMOKE_EXECS": execs, "SMOKE_CHUNKS": CHUNKS,
           "SMOKE_CYCLES": cycles, "SMOKE_HELD": HELD_PER_CPU * flavour.cpus,
           "SMOKE_LOAD": "none" if bare else "takeover"}
    return boot.Job(flavour=flavour, job="/memtb/job", rootfs=[rootfs.busybox()], files=files,
                    env=env, title=f"smoke-{flavour.name}", cpus=flavour.cpus,
                    memory_mb=384, expect=BARE if bare else EXPECT, results_root=results,
                    timeouts={"exec": 240, "fs": 240, "cycles": 120})


def run(name="x86_64-up", backend="slob", execs=3000, cycles=5, **options):
    """Build what is missing and run it on the flavour of this name."""
    check(name, backend, execs, cycles)
    return boot.run(job(kernel.flavour(name), backend, execs, cycles, **options))
