# SPDX-License-Identifier: GPL-2.0
"""memtb kunit: the KUnit suites in a guest."""

import dataclasses
import json
from pathlib import Path

from . import kernel, kunit, paths

HELP = "run the KUnit suites in a guest"


def add_arguments(parser):
    """The command line."""
    parser.add_argument("--flavour", default="x86_64-up",
                        help=f"kernel: {', '.join(kernel.names())} (default x86_64-up)")
    parser.add_argument("--results", type=Path, default=paths.RESULTS, metavar="DIR")
    parser.add_argument("--json", action="store_true", help="every test's status as JSON")


def main(args):
    """Run it on one flavour."""
    outcome, found = kunit.run(args.flavour, args.results)
    code = kunit.exit_code(outcome, found)
    if args.json:
        print(json.dumps({"exit_code": code, "verdict": outcome.verdict,
                          "reasons": outcome.reasons, "directory": str(outcome.dir),
                          **dataclasses.asdict(found)}, indent=1))
    else:
        kunit.show(outcome, found)
    return code
