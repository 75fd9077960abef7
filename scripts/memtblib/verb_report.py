# SPDX-License-Identifier: GPL-2.0
"""memtb report: the table of a run that was made before."""

import json
from pathlib import Path

from . import report

HELP = "print the table of an earlier run from its results directory"


def add_arguments(parser):
    """The command line."""
    parser.add_argument("place", type=Path, metavar="DIR", help="a directory below results/")
    parser.add_argument("--json", action="store_true", help="the record instead of the table")


def main(args):
    """Read, check, print."""
    record = report.read(args.place)
    print(json.dumps(record, indent=1) if args.json else report.text(record))
    return 0
