# SPDX-License-Identifier: GPL-2.0
"""memtb cost: what an operation costs in each design, and in the kernel's own allocator."""

import json
import shlex
import sys
from pathlib import Path

from . import cost, kernel, paths

HELP = "guest instructions per operation of every design, beside the kernel's own allocator"


def add_arguments(parser):
    """The command line."""
    parser.add_argument("--flavour", action="append", metavar="F",
                        help=f"some of: {', '.join(kernel.names('measure'))}; may be given more "
                        "than once (default x86_64-up)")
    parser.add_argument("--backends", default="all", metavar="A,B",
                        help="designs, with options as in slob-new+stack (default all)")
    parser.add_argument("--live-max", type=int, default=cost.LIVE[-1], metavar="N",
                        help="most live objects of `grow` and `holes`: "
                        f"{', '.join(map(str, cost.LIVE))} (default the last)")
    parser.add_argument("--twice", action="store_true",
                        help="boot each guest again: a figure that differs is a failure")
    parser.add_argument("--try", dest="attempt", action="store_true",
                        help="a fast guest: whether every figure comes, not what it is")
    parser.add_argument("--results", type=Path, default=paths.RESULTS, metavar="DIR")
    parser.add_argument("--json", action="store_true", help="the record instead of the table")


def main(args):
    """Run it, print it."""
    plan = cost.Plan(flavours=tuple(args.flavour or ["x86_64-up"]), backends=args.backends,
                     live_max=args.live_max, twice=args.twice, attempt=args.attempt,
                     results_root=args.results)
    record, place, code = cost.run_all(plan, shlex.join(["scripts/memtb", *sys.argv[1:]]))
    print(f"results in {place}", file=sys.stderr, flush=True)
    if args.json:
        print(json.dumps(record, indent=1))
    elif args.attempt:
        show(record)
    else:
        print(cost.text(record), end="")
    return code


def show(record):
    """What is wrong, then the count."""
    for table in record["tables"]:
        for reason in table["reasons"]:
            print(f"FAIL {table['flavour']}: {reason}")
    print("{} passed, {} failed".format(*cost.tally(record)))
