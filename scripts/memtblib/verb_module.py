# SPDX-License-Identifier: GPL-2.0
"""memtb module: build the modules and say where they are."""

from . import kernel, module
from .errors import BUILD_FAILED

HELP = "build memtb.ko and the modules beside it for the guest kernels (cached)"


def add_arguments(parser):
    """The command line."""
    parser.add_argument("flavour", nargs="*", metavar="FLAVOUR",
                        help=f"one or more of: {', '.join(kernel.names())} (default: all)")
    parser.add_argument("--check", action="store_true", help="run sparse over every file, too")
    parser.add_argument("-W", dest="w", type=int, choices=[0, 1, 2], default=1,
                        help="kbuild's W= (default 1)")


def main(args):
    """Build for each flavour; any warning is a failure."""
    bad = 0
    for name in args.flavour or kernel.names():
        result = module.build(kernel.flavour(name), args.w, args.check)
        for line in result.warnings:
            print(line)
        bad += len(result.warnings)
        print(f"{name}: {len(result.warnings)} warnings, modules in {result.dir}")
    return BUILD_FAILED if bad else 0
