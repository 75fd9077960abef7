# SPDX-License-Identifier: GPL-2.0
"""memtb completeness: prove that no allocation of a kernel escapes the takeover."""

from . import completeness, kernel
from .errors import FAIL, PASS

HELP = "prove on vmlinux that no path into the allocator escapes the hooks"


def add_arguments(parser):
    """The command line."""
    parser.add_argument("flavour", nargs="*", metavar="FLAVOUR",
                        help=f"one or more of: {', '.join(kernel.names('takeover'))} "
                        "(default: all)")
    parser.add_argument("--list", action="store_true", help="list every call that was judged")


def main(args):
    """Check each flavour."""
    bad = 0
    for name in args.flavour or kernel.names("takeover"):
        found, seen = completeness.check(kernel.flavour(name))
        for call in sorted(seen, key=lambda call: (call.callee, call.caller)) if args.list else []:
            print(f"{name}: {call.kind} {call.caller} -> {call.callee}")
        for line in found:
            print(f"{name}: ESCAPE {line}")
        print(f"{name}: {len(seen)} calls of inner functions, {len(found)} escape the hooks")
        bad += len(found)
    return FAIL if bad else PASS
