# SPDX-License-Identifier: GPL-2.0
"""memtb rootfs: build the guests' user lands and say where they are."""

from . import rootfs
from .errors import UserError

HELP = "build the guests' user lands (cached)"
KINDS = {"busybox": rootfs.busybox, "install": rootfs.install}


def add_arguments(parser):
    """The command line."""
    parser.add_argument("kind", nargs="*", metavar="KIND",
                        help=f"one or more of: {', '.join(KINDS)} (default: all)")


def main(args):
    """Build each kind."""
    for kind in args.kind or KINDS:
        if kind not in KINDS:
            raise UserError(f"no user land '{kind}' (choose from {', '.join(KINDS)})")
        path = KINDS[kind]()
        print(f"{kind}: {path.stat().st_size >> 20} MiB, {path}")
    return 0
