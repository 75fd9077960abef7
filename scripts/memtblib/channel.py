# SPDX-License-Identifier: GPL-2.0
"""The results channel: what the guest says, apart from anything that printk says.

One line a message, and `file` with its bytes behind it:

    memtb-guest 1                        the guest's init runs
    phase NAME                           a new phase begins; its time-out starts
    result NAME STATUS [key=value ...]   STATUS is pass, fail, skip or done
    file NAME NBYTES                     then NBYTES bytes and a newline
    fact KEY VALUE                       what init found out: taint, exit status of the job
    end                                  nothing comes after it

The parser takes any bytes: what it does not understand it counts and keeps going, so
that a damaged stream is a verdict and never an exception.
"""

import dataclasses
import re

HELLO = "memtb-guest 1"
SIZE = re.compile(r"[0-9]{1,12}$")
STATUSES = ("pass", "fail", "skip", "done")
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.+-]{0,99}$")


@dataclasses.dataclass
class Message:
    """Everything that one guest said."""

    hello: bool = False
    ended: bool = False
    phases: list = dataclasses.field(default_factory=list)
    results: list = dataclasses.field(default_factory=list)
    files: dict = dataclasses.field(default_factory=dict)
    facts: dict = dataclasses.field(default_factory=dict)
    damage: list = dataclasses.field(default_factory=list)

    @property
    def phase(self):
        """The phase that the guest is in."""
        if not self.hello:
            return "boot"
        return "end" if self.ended else (self.phases or ["job"])[-1]


class Parser:
    """Takes the stream in pieces of any size; `message` is what is known so far."""

    def __init__(self):
        self.message = Message()
        self._rest = b""
        self._file = None       # (name, bytes in all) while a file is under way

    def feed(self, data):
        """More of the stream."""
        self._rest += data
        while self._step():
            pass
        return self.message

    def close(self):
        """The stream is over: what is unfinished now is damage."""
        if self._file:
            self._damage(f"file {self._file[0]}: {len(self._rest)} of {self._file[1]} bytes came")
        elif self._rest:
            self._damage(f"line without an end: {_shown(self._rest)}")
        self._rest, self._file = b"", None
        return self.message

    def _step(self):
        if self._file:
            return self._take_file()
        line, newline, rest = self._rest.partition(b"\n")
        if not newline:
            return False
        self._rest = rest
        self._line(line)
        return True

    def _take_file(self):
        name, size = self._file
        if len(self._rest) <= size:
            return False
        if self._rest[size:size + 1] != b"\n":
            self._damage(f"file {name}: its end is not where it should be")
        self.message.files[name] = self._rest[:size]
        self._rest = self._rest[size + 1:]
        self._file = None
        return True

    def _line(self, raw):
        # The terminal layer of an older guest kernel may add a carriage return.
        words = raw.decode("utf-8", errors="replace").rstrip("\r").split(" ")
        handler = getattr(self, "_on_" + words[0].replace("-", "_"), None)
        if self.message.ended or handler is None or not handler(words[1:]):
            self._damage(f"not understood: {_shown(raw)}")

    def _damage(self, text):
        # A guest that goes mad must not fill the host's memory.
        if len(self.message.damage) < 20:
            self.message.damage.append(text)

    def _on_memtb_guest(self, words):
        fresh = words == ["1"] and not self.message.hello
        self.message.hello = self.message.hello or fresh
        return fresh

    def _on_phase(self, words):
        if len(words) != 1 or not NAME.match(words[0]):
            return False
        self.message.phases.append(words[0])
        return True

    def _on_result(self, words):
        if len(words) < 2 or not NAME.match(words[0]) or words[1] not in STATUSES:
            return False
        pairs = [word.partition("=") for word in words[2:] if word]
        if not all(key and equals for key, equals, _ in pairs):
            return False
        values = {key: value for key, _, value in pairs}
        self.message.results.append({"name": words[0], "status": words[1], "values": values})
        return True

    def _on_file(self, words):
        if len(words) != 2 or not NAME.match(words[0]) or not SIZE.match(words[1]):
            return False
        if words[0] in self.message.files:
            return False
        self._file = (words[0], int(words[1]))
        return True

    def _on_fact(self, words):
        if len(words) < 2 or not NAME.match(words[0]) or words[0] in self.message.facts:
            return False
        self.message.facts[words[0]] = " ".join(words[1:])
        return True

    def _on_end(self, words):
        self.message.ended = not words
        return not words


def _shown(raw):
    text = raw[:80].decode("ascii", errors="backslashreplace")
    return repr(text + ("..." if len(raw) > 80 else ""))


def parse(data):
    """The whole stream at once."""
    parser = Parser()
    parser.feed(data)
    return parser.close()
