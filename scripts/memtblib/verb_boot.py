# SPDX-License-Identifier: GPL-2.0
"""memtb boot: run a script of yours in a guest."""

import json
import shlex
from pathlib import Path

from . import boot, kernel, module, paths, qemu, rootfs
from .errors import UserError

HELP = "run a job script in a guest and judge what came out"


def add_arguments(parser):
    """The command line."""
    parser.add_argument("script", nargs="?", type=Path,
                        help="job for the guest's sh (default: one that only says hello)")
    parser.add_argument("--flavour", default="x86_64-up",
                        help=f"kernel: {', '.join(kernel.names())} (default x86_64-up)")
    parser.add_argument("--mode", choices=qemu.MODES, default="functional",
                        help="icount: exact; functional: fast (the default)")
    parser.add_argument("--cpus", type=int, help="processors (default: 2 for an SMP kernel)")
    parser.add_argument("--memory", type=int, default=256, metavar="MB")
    parser.add_argument("--modules", action="store_true",
                        help="take memtb.ko and memtb_kunit.ko along, in /memtb/")
    parser.add_argument("--file", action="append", default=[], metavar="GUEST=HOST",
                        help="take a file along")
    parser.add_argument("--expect", action="append", metavar="NAME",
                        help="a result that must come (default: any)")
    parser.add_argument("--timeout", action="append", default=[], metavar="PHASE=SECONDS")
    parser.add_argument("--append", default="", help="more words for the kernel's command line")
    parser.add_argument("--title", default="boot")
    parser.add_argument("--results", type=Path, default=paths.RESULTS, metavar="DIR")
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


def job(args):
    """The job that the command line describes."""
    flavour = kernel.flavour(args.flavour)
    files = {guest: Path(host) for guest, host in pairs(args.file, "--file").items()}
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


def main(args):
    """Boot it, judge it, say it."""
    outcome = boot.run(job(args))
    show(outcome, args.json)
    return outcome.exit_code
