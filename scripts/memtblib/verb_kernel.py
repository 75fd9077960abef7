# SPDX-License-Identifier: GPL-2.0
"""memtb kernel: build guest kernels and say where they are."""

from . import kernel

HELP = "build the guest kernels (cached; KDIR= takes your own tree)"


def add_arguments(parser):
    """The command line."""
    parser.add_argument("flavour", nargs="*", metavar="FLAVOUR",
                        help=f"one or more of: {', '.join(kernel.names())} (default: all)")


def main(args):
    """Build each flavour."""
    for name in args.flavour or kernel.names():
        build = kernel.flavour(name)
        print(f"{name}: {build.release} in {build.dir}")
    return 0
