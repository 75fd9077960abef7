# SPDX-License-Identifier: GPL-2.0
"""memtb boot: run a script of yours in a guest."""

import json
import shlex
from pathlib import Path

from . import boot, kernel, module, paths, qemu, results, rootfs
from .errors import UserError

# What a guest needs and --file may not replace.
RESERVED = ("/init", "/memtb/job", "/memtb/env", "/memtb/lib.sh")
HELP = "run a job script in a guest and judge what came out"


def add_arguments(parser):
    """The command line."""
    parser.add_argument("script", nargs="?", type=Path,
                        help="job for the guest's sh (default: one that only reports that "
                        "it runs); Documentation/usage.rst says how to write one")
    parser.add_argument("--flavour", default="x86_64-up",
                        help=f"kernel: {', '.join(kernel.names())} (default x86_64-up)")
    parser.add_argument("--mode", choices=qemu.MODES, default="functional",
                        help="icount: exact; functional: fast (the default)")
    parser.add_argument("--cpus", type=int, help="processors (default: 2 for an SMP kernel)")
    parser.add_argument("--memory", type=int, default=256, metavar="MB",
                        help="default 256")
    parser.add_argument("--modules", action="store_true",
                        help="take memtb.ko and the modules beside it along, in /memtb/")
    parser.add_argument("--file", action="append", default=[], metavar="GUEST=HOST",
                        help="take a file along; may be given more than once")
    parser.add_argument("--expect", action="append", metavar="NAME",
                        help="a result that must come, and none but these; may be given more "
                        "than once (default: at least one, of any name)")
    parser.add_argument("--timeout", action="append", default=[], metavar="PHASE=SECONDS",
                        help="host seconds for a phase: boot, job, unload, end, or one that "
                        "the job announces; may be given more than once")
    parser.add_argument("--append", default="", help="more words for the kernel's command line")
    parser.add_argument("--title", default="boot", help="part of the directory's name")
    parser.add_argument("--results", type=Path, default=paths.RESULTS, metavar="DIR",
                        help="where to make the directory (default results/)")
    parser.add_argument("--json", action="store_true", help="the verdict as JSON")


def pairs(words, option):
    """{key: value} of KEY=VALUE words."""
    if not all("=" in word for word in words):
        raise UserError(f"memtb boot: {option} takes KEY=VALUE")
    return dict(word.split("=", 1) for word in words)


def seconds(words):
    """{phase: seconds} of --timeout."""
    try:
        return {name: float(value) for name, value in pairs(words, "--timeout").items()}
    except ValueError as error:
        raise UserError("memtb boot: --timeout takes PHASE=SECONDS") from error


def extra_files(words):
    """{guest path: host path} of --file."""
    files = {guest: Path(host) for guest, host in pairs(words, "--file").items()}
    for name in files:
        if not name.startswith("/") or ".." in name.split("/") or name in RESERVED:
            raise UserError(f"memtb boot: --file {name}=...: the guest's path is absolute and "
                            f"none of {', '.join(RESERVED)}")
    return files


def job(args):
    """The job that the command line describes."""
    flavour = kernel.flavour(args.flavour)
    files = extra_files(args.file)
    files["/memtb/job"] = args.script or paths.QEMU / "guest" / "job-probe.sh"
    if args.modules:
        files.update(module.build(flavour).guest_files)
    return boot.Job(flavour=flavour, job="/memtb/job", rootfs=[rootfs.busybox()], files=files,
                    title=args.title, mode=args.mode, memory_mb=args.memory,
                    cpus=flavour.cpus if args.cpus is None else args.cpus, append=args.append,
                    timeouts=seconds(args.timeout), expect=args.expect,
                    results_root=args.results)


def show(outcome, as_json):
    """Verdict, reasons and where everything is."""
    if as_json:
        path = outcome.dir / "verdict.json" if outcome.dir else None
        print(path.read_text(encoding="utf-8") if path and path.is_file() else json.dumps(
            {"verdict": outcome.verdict, "cause": outcome.cause, "reasons": outcome.reasons}))
        return
    for result in outcome.results:
        values = " ".join(f"{key}={shlex.quote(value)}"
                          for key, value in result["values"].items())
        print(f"  {result['status']:5}{result['name']} {values}".rstrip())
    for reason in outcome.reasons:
        print(f"  {reason}")
    cause = "" if outcome.cause == "none" else f" ({outcome.cause})"
    print(f"{outcome.verdict}{cause}: {outcome.dir or 'no results'}")
    if outcome.dir and outcome.verdict != "PASS":
        print(f"  what the guest printed: {outcome.dir / results.CONSOLE}")


def main(args):
    """Boot it, judge it, say it."""
    outcome = boot.run(job(args))
    show(outcome, args.json)
    return outcome.exit_code
