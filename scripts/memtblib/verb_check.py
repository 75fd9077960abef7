# SPDX-License-Identifier: GPL-2.0
"""memtb check: all tests; the last line is "N passed, N failed"."""

from . import check
from .errors import FAIL, PASS, UserError

HELP = "run all tests, warnings and linters (about ten minutes once all is built)"


def add_arguments(parser):
    """The command line."""
    parser.add_argument("step", nargs="*", metavar="STEP",
                        help=f"one or more of: {', '.join(check.STEPS)} (default: all)")


def main(args):
    """Run the steps."""
    for name in args.step:
        if name not in check.STEPS:
            raise UserError(f"no step '{name}' (choose from {', '.join(check.STEPS)})")
    print(f"memtb check of {check.commit()}")
    passed, failed = check.run(args.step)
    return FAIL if failed or not passed else PASS
