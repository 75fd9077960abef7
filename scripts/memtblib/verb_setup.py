# SPDX-License-Identifier: GPL-2.0
"""memtb setup: make the host able to build and boot guests."""

from . import setup, source

HELP = "install (as root) or name what the host lacks"


def add_arguments(parser):
    """The command line."""
    parser.add_argument("--fetch-only", action="store_true",
                        help="packages only; do not unpack the kernel source")


def main(args):
    """Packages, then the kernel source."""
    setup.ensure()
    if not args.fetch_only:
        source.linux()
    major, minor = setup.qemu_version()
    print(f"set up: QEMU {major}.{minor}, kernel source {source.kdir() or setup.SOURCE_PACKAGE}")
    return 0
