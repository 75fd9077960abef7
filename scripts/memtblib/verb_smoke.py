# SPDX-License-Identifier: GPL-2.0
"""memtb smoke: everyday work in a guest whose kernel lives on a backend."""

from pathlib import Path

from . import design, kernel, paths, smoke, verb_boot

HELP = "everyday work in a guest whose kernel lives on a backend (takeover, verify mode)"


def add_arguments(parser):
    """The command line."""
    parser.add_argument("--flavour", default="x86_64-up",
                        help=f"kernel: {', '.join(kernel.names('takeover'))} (default x86_64-up)")
    parser.add_argument("--backend", default="slob",
                        help=f"one of: {design.choices()} (default slob)")
    parser.add_argument("--execs", type=int, default=3000,
                        help=f"processes, at least {smoke.CHUNKS} (default 3000)")
    parser.add_argument("--cycles", type=int, default=5, help="on/off cycles (default 5)")
    parser.add_argument("--bare", action="store_true",
                        help="the work without memtb: tries the test itself")
    parser.add_argument("--results", type=Path, default=paths.RESULTS, metavar="DIR")
    parser.add_argument("--json", action="store_true", help="the verdict as JSON")


def main(args):
    """Run it on one flavour."""
    outcome = smoke.run(args.flavour, backend=args.backend, execs=args.execs,
                        cycles=args.cycles, bare=args.bare, results=args.results)
    verb_boot.show(outcome, args.json)
    return outcome.exit_code
