# SPDX-License-Identifier: GPL-2.0
"""The dispatcher: finds the verbs, parses the line, turns errors into exit codes."""

import argparse
import errno
import importlib
import os
import signal
import sys
import traceback
from pathlib import Path

from .errors import MISS, UserError

# What the person at the keyboard can mend; anything else is shown with its traceback.
QUIET = (errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES, errno.EEXIST, errno.ENOENT,
         errno.ENOTDIR, errno.EISDIR, errno.ENAMETOOLONG)


class Parser(argparse.ArgumentParser):
    """A wrong command line means that the harness never ran: 128, one line."""

    def error(self, message):
        raise UserError(f"{self.prog}: {message}")


def verbs():
    """Names of all verbs: one verb_<name>.py file each."""
    here = Path(__file__).parent
    return sorted(path.stem[len("verb_"):].replace("_", "-")
                  for path in here.glob("verb_*.py"))


def load(verb):
    """The module behind a verb."""
    return importlib.import_module("memtblib.verb_" + verb.replace("-", "_"))


def usage():
    """The text of `memtb --help`."""
    lines = ["usage: memtb VERB [--help | options]", "", "verbs:"]
    lines += [f"  {verb:14}{load(verb).HELP}" for verb in verbs()]
    return "\n".join(lines)


def terminate(_signum, _frame):
    """SIGTERM unwinds like Ctrl-C, so that half-built things are removed."""
    raise KeyboardInterrupt


def dispatch(argv):
    """Run one verb."""
    if not argv or argv[0] in ("-h", "--help", "help"):
        print(usage())
        return 0 if argv else MISS
    verb, rest = argv[0], argv[1:]
    if verb not in verbs():
        raise UserError(f"memtb: no verb '{verb}' (choose from {', '.join(verbs())})")
    module = load(verb)
    parser = Parser(prog=f"memtb {verb}", description=module.HELP, allow_abbrev=False)
    module.add_arguments(parser)
    return module.main(parser.parse_args(rest))


def main(argv):
    """Entry point: an exit code for every way to end."""
    signal.signal(signal.SIGTERM, terminate)
    try:
        return dispatch(argv)
    except UserError as error:
        print(f"memtb: {error}" if not str(error).startswith("memtb") else error,
              file=sys.stderr)
        return error.code
    except KeyboardInterrupt:
        print("memtb: interrupted", file=sys.stderr)
        return 130
    except BrokenPipeError:
        # The reader went away (head, less): nobody is left to tell.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return MISS
    except OSError as error:
        print(f"memtb: {error.strerror}: {error.filename or 'while writing'}", file=sys.stderr)
        if error.errno not in QUIET:
            traceback.print_exc()
        return MISS
    except Exception:  # pylint: disable=broad-except
        # Python would exit with 1, which says that the code under test is at fault.
        traceback.print_exc()
        return MISS
