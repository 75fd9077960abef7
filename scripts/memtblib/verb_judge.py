# SPDX-License-Identifier: GPL-2.0
"""memtb judge: the verdict on a results directory, again."""

from pathlib import Path

from . import boot, judge, verb_boot
from .errors import UserError

HELP = "judge results directories again"


def add_arguments(parser):
    """The command line."""
    parser.add_argument("directory", nargs="+", type=Path, help="directories under results/")
    parser.add_argument("--json", action="store_true", help="the verdicts as JSON")


def main(args):
    """The worst of all verdicts is the exit code."""
    verdicts = []
    for place in args.directory:
        if not place.is_dir():
            raise UserError(f"memtb judge: {place} is not a directory")
        outcome = boot.outcome(place, judge.judge(place))
        verb_boot.show(outcome, args.json)
        verdicts.append(outcome.verdict)
    return judge.EXIT_CODES[judge.worst(verdicts)]
