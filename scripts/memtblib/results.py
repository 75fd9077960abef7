# SPDX-License-Identifier: GPL-2.0
"""A directory for each run: all that is needed to judge it again and to boot it again."""

import datetime
import json
import os
import re
import shutil
import subprocess

from . import kernel, paths, qemu

CONSOLE, CHANNEL, QEMU_LOG = "console.log", "channel.log", "qemu.log"
JOB, END, VERDICT = "job.json", "end.json", "verdict.json"


def create(root, title):
    """A new directory named by date and title; never one that exists."""
    stamp = datetime.datetime.now(datetime.timezone.utc).strftime("%Y%m%d-%H%M%S")
    name = re.sub(r"[^A-Za-z0-9_.+-]+", "-", title).strip("-") or "run"
    root.mkdir(parents=True, exist_ok=True)
    for number in range(1000):
        place = root / (f"{stamp}-{name}" + (f"-{number}" if number else ""))
        try:
            place.mkdir()
            return place
        except FileExistsError:
            continue
    raise FileExistsError(f"{root}: a thousand runs of this name in one second")


def write_json(path, value):
    """In one go, so that a reader sees all of it or nothing."""
    temp = path.with_name(f".{path.name}.tmp")
    temp.write_text(json.dumps(value, indent=1, default=str) + "\n", encoding="utf-8")
    temp.rename(path)


def read_json(path):
    """What write_json wrote, or None."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return None


def read_record(path, keys):
    """An object that has all of the keys, with values of these types, or None."""
    value = read_json(path)
    right = isinstance(value, dict) and all(
        name in value and isinstance(value[name], kind) for name, kind in keys.items())
    return value if right else None


def _git(*words):
    result = subprocess.run(["git", "-C", str(paths.CHECKOUT), *words], capture_output=True,
                            text=True, errors="replace", check=False)
    return result.stdout if result.returncode == 0 else ""


def compiler(config):
    """The compiler that a kernel's .config names."""
    match = re.search(r'CONFIG_CC_VERSION_TEXT="(.*)"', config)
    return match.group(1) if match else "unknown"


def write_before(place, job, words, archives, config):
    """Everything that is known before the guest starts."""
    script = place / "qemu.sh"
    script.write_text(qemu.script(words, archives), encoding="utf-8")
    script.chmod(0o755)
    (place / "kernel.config").write_text(config, encoding="utf-8")
    if job.flavour.wanted.is_file():
        shutil.copyfile(job.flavour.wanted, place / "kernel.wanted")
    (place / "git.diff").write_text(_git("diff", "HEAD"), encoding="utf-8")
    write_json(place / JOB, describe(job, words, config))


def describe(job, words, config):
    """The job as judge.py and people read it."""
    asked = (place.read_text(encoding="utf-8") if (place := job.flavour.wanted).is_file() else "")
    return {
        "title": job.title, "arch": job.arch, "mode": job.mode, "cpus": job.cpus,
        "memory_mb": job.memory_mb, "job": job.job, "env": job.env, "append": job.append,
        "rootfs": [str(path) for path in job.rootfs], "files": sorted(map(str, job.files)),
        "timeouts": job.timeouts, "expect": job.expect, "allow_taint": job.allow_taint,
        "expected_splats": list(job.expected_splats), "command": words,
        "flavour": job.flavour.name, "kernel_key": job.flavour.key,
        "config_dropped": kernel.dropped(asked, config) if asked else [],
        "kmemleak": "CONFIG_DEBUG_KMEMLEAK=y" in config,
        "compiler": compiler(config), "qemu": qemu.version(words[0])[1],
        "git_commit": _git("rev-parse", "HEAD").strip(),
        "git_untracked": _git("ls-files", "--others", "--exclude-standard").split("\n")[:-1],
        "host": dict(zip(("system", "node", "release", "version", "machine"), os.uname())),
    }


def free_bytes(place):
    """Room on the file system of the results."""
    state = os.statvfs(place)
    return state.f_bavail * state.f_frsize
