# SPDX-License-Identifier: GPL-2.0
"""memtb run: a load in measured guests, without and with memtb, and the table of it."""

import json
import shlex
import sys
from pathlib import Path

from . import paths, report, run

HELP = "the main job: a load without memtb and on its backends, exact figures"


def add_arguments(parser):
    """The command line."""
    parser.add_argument("--load", default="install", help=f"one of: {', '.join(run.LOADS)}")
    parser.add_argument("--arch", default="x86_64", help=f"one of: {', '.join(run.ARCHES)}")
    size = parser.add_mutually_exclusive_group()
    size.add_argument("--up", dest="smp", action="store_false", default=False,
                      help="one processor, a kernel without SMP (the default)")
    size.add_argument("--smp", dest="smp", action="store_true",
                      help="two processors, an SMP kernel")
    parser.add_argument("--configs", default=",".join(run.CONFIGS), metavar="A,B",
                        help=f"some of: {run.choices()} (default {','.join(run.CONFIGS)})")
    parser.add_argument("--runs", type=int, default=3, metavar="N",
                        help=f"timed runs of each, 1 to {run.MAX_RUNS} (default 3)")
    parser.add_argument("--full", action="store_true",
                        help="a served tree of the historical size: about 27 s a run")
    parser.add_argument("--results", type=Path, default=paths.RESULTS, metavar="DIR")
    parser.add_argument("--json", action="store_true", help="the record instead of the table")


def main(args):
    """Run it, print it."""
    names = tuple(name.strip() for name in args.configs.split(",") if name.strip())
    # The others are compared with it, so it comes first.
    names = tuple(sorted(names, key=lambda name: name != run.BASE))
    plan = run.Plan(configs=names, runs=args.runs, full=args.full, smp=args.smp,
                    load=args.load, arch=args.arch, results_root=args.results)
    command = shlex.join(["scripts/memtb", *sys.argv[1:]])
    record, place, code = run.run(plan, command)
    print(json.dumps(record, indent=1) if args.json else report.text(record))
    print(f"results in {place}", file=sys.stderr)
    return code
