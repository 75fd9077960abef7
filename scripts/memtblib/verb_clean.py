# SPDX-License-Identifier: GPL-2.0
"""memtb clean: remove what builds left."""

from . import cache, paths

HELP = "remove what building in place left; --cache empties the build cache"
# The marks of in-place builds, below the rooms that hold sources.
ROOMS = ["module", "kunit", "scripts"]
SUFFIXES = (".o", ".ko", ".a", ".mod", ".mod.c", ".cmd")
TOP = ["Module.symvers", "modules.order", ".tmp_versions", ".pytest_cache"]


def add_arguments(parser):
    """The command line."""
    parser.add_argument("--cache", action="store_true",
                        help=f"empty the build cache instead (now {cache.root()})")


def leavings():
    """Everything an in-place build leaves in the checkout."""
    top = paths.CHECKOUT
    found = [top / name for name in TOP]
    found += [path for path in top.iterdir() if path.is_file() and path.name.endswith(SUFFIXES)]
    for room in ROOMS:
        found += [path for path in (top / room).rglob("*")
                  if path.name.endswith(SUFFIXES) or path.name in ("__pycache__", *TOP)]
    return [path for path in found if path.exists()]


def main(args):
    """Remove."""
    if args.cache:
        cache.empty()
        print(f"emptied {cache.root()}")
        return 0
    for path in leavings():
        cache.remove_tree(path)
    return 0
