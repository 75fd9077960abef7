# SPDX-License-Identifier: GPL-2.0
"""The build cache: whole entries or none, one builder at a time.

An entry is built in a directory beside its final place and renamed there when it
is whole. The builder holds a lock for as long as its directory exists, so that a
directory whose lock can be had belongs to nobody: that is how the leavings of
killed builders are told from work in progress (a process id would lie across
containers and after a reboot).
"""

import contextlib
import fcntl
import hashlib
import json
import os
import shutil
import sys
from pathlib import Path

from .errors import UserError

KEY_FILE = "key.json"
TAG_FILE = "CACHEDIR.TAG"
TAG = ("Signature: 8a477f597d28d172789f06886806bc55\n"
       "# The build cache of memtb; scripts/memtb clean --cache empties it.\n")


def root():
    """The cache directory: MEMTB_CACHE, else the XDG one."""
    own = os.environ.get("MEMTB_CACHE")
    if own:
        return Path(own).absolute()
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "memtb"


def make_root():
    """Create the cache directory and mark it as ours, so that it may be emptied."""
    place = root()
    try:
        place.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UserError(f"cannot make the cache {place} ({error.strerror}): "
                        "set MEMTB_CACHE to a place that can be written") from None
    if not any(place.iterdir()):
        (place / TAG_FILE).write_text(TAG, encoding="ascii")
    return place


def empty():
    """Remove all that is in the cache; refuses a directory that is not ours, or in use."""
    place = root()
    if not place.is_dir():
        return
    if not (place / TAG_FILE).is_file():
        raise UserError(f"{place} has no {TAG_FILE}, so memtb did not make it: "
                        "remove by hand what you do not need there")
    for lock in place.glob("*/.*.lock"):
        with _locked(lock.parent / lock.name[1:-len(".lock")]) as mine:
            if not mine:
                raise UserError(f"{lock.parent}: a build is under way, nothing removed")
    for path in place.iterdir():
        if path.name != TAG_FILE:
            remove_tree(path)


def key12(material):
    """Twelve hex digits that stand for everything that determines an entry."""
    text = json.dumps(material, sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def hash_files(base, paths):
    """A digest over names and contents, in sorted order."""
    digest = hashlib.sha256()
    for path in sorted(paths):
        data = path.read_bytes()
        digest.update(f"{path.relative_to(base)}\0{len(data)}\0".encode() + data)
    return digest.hexdigest()


def _say(text):
    print(text, file=sys.stderr, flush=True)


def _lock_path(place):
    return place.parent / f".{place.name}.lock"


def _temp_path(place):
    return place.parent / f".{place.name}.tmp"


def remove_tree(path):
    """Remove a tree even where its directories are read-only."""
    def retry(function, name, _error):
        os.chmod(os.path.dirname(name), 0o700)
        function(name)
    if path.is_symlink() or not path.is_dir():
        path.unlink(missing_ok=True)
    else:
        shutil.rmtree(path, onerror=retry)


@contextlib.contextmanager
def _locked(place, log=None):
    """Hold the entry's lock; says so when somebody else has it. Yields False with log None."""
    with open(_lock_path(place), "w", encoding="ascii") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if log is None:
                yield False
                return
            log(f"{place.name}: another build is under way, waiting for it")
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield True


def sweep(directory):
    """Remove what killed builders left in one kind's directory."""
    for temp in directory.glob(".*.tmp"):
        place = directory / temp.name[1:-len(".tmp")]
        with _locked(place) as mine:
            if mine:
                remove_tree(temp)


def entry(kind, name, key_material, build, log=_say):
    """The directory of an entry; `build(tmpdir)` fills it when it is not there yet."""
    place = root() / kind / f"{name}-{key12(key_material)}"
    if place.is_dir():
        return place
    make_root()
    place.parent.mkdir(parents=True, exist_ok=True)
    sweep(place.parent)
    with _locked(place, log):
        if not place.is_dir():
            _build(place, key_material, build)
    return place


def _build(place, key_material, build):
    temp = _temp_path(place)
    remove_tree(temp)
    temp.mkdir()
    try:
        build(temp)
        text = json.dumps(key_material, sort_keys=True, indent=1, default=str)
        (temp / KEY_FILE).write_text(text + "\n", encoding="utf-8")
        temp.rename(place)
    except BaseException:
        remove_tree(temp)
        raise


def read_note(name, default=None):
    """A small remembered fact, such as how long a build took last time."""
    try:
        return json.loads((root() / "notes" / f"{name}.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return default


def write_note(name, value):
    """Remember a small fact; losing it costs nothing but the fact."""
    directory = make_root() / "notes"
    directory.mkdir(parents=True, exist_ok=True)
    temp = directory / f".{name}.{os.getpid()}"
    temp.write_text(json.dumps(value) + "\n", encoding="utf-8")
    temp.rename(directory / f"{name}.json")
