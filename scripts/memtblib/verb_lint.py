# SPDX-License-Identifier: GPL-2.0
"""memtb lint: style and static checks over the checkout."""

from . import lint
from .errors import FAIL, PASS, UserError

HELP = "checkpatch, shellcheck, flake8, pylint, SPDX lines (sparse: memtb module --check)"


def add_arguments(parser):
    """The command line."""
    parser.add_argument("linter", nargs="*", metavar="LINTER",
                        help=f"one or more of: {', '.join(lint.LINTERS)} (default: all)")


def main(args):
    """Run them all, fail if any complains."""
    for name in args.linter:
        if name not in lint.LINTERS:
            raise UserError(f"no linter '{name}' (choose from {', '.join(lint.LINTERS)})")
    return FAIL if any(lint.run(args.linter).values()) else PASS
