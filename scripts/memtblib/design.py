# SPDX-License-Identifier: GPL-2.0
"""The designs that may take a kernel over, with their options, as the module's sources say."""

import functools
import re

from . import paths
from .errors import MISS, UserError

SOURCES = paths.CHECKOUT / "module" / "backend"


NEEDED = "MEMTB_OWNS_PAGES", "MEMTB_ALIGNS"


def _array(text, table, field):
    """What is between the braces of the array that this field of the table points to."""
    array = re.search(rf"\.{field} = (\w+),", table)
    return array and re.search(rf"\b{array.group(1)}\[\] = \{{(.*?)\}};", text, re.S).group(1)


def _options(text, table):
    """The words of a table's options that take away nothing that the kernel needs."""
    takes = _array(text, table, "takes") or ""
    barred = {bit for bit, flags in re.findall(r"\[(\w+)\] = ([^,]+)", takes)
              if any(flag in flags for flag in NEEDED)}
    words = re.findall(r'(?:\[(\w+)\] = )?"([^"]+)"', _array(text, table, "options") or "")
    return tuple(word for bit, word in words if bit not in barred)


def read(place=SOURCES):
    """{name: options} of the backends that a kernel can live on, in the order of the registry."""
    found = {}
    for path in place.glob("*.c"):
        text = path.read_text(encoding="utf-8")
        for symbol, table in re.findall(r"^const struct memtb_backend (\w+) = \{\n(.*?)^\};",
                                        text, re.S | re.M):
            if all(flag in table for flag in NEEDED):
                name = re.search(r'\.name = "([^"]+)"', table).group(1)
                found[symbol] = name, _options(text, table)
    registry = re.findall(r"&(memtb_backend_\w+)\b",
                          (place / "backend.c").read_text(encoding="utf-8"))
    return dict(found[symbol] for symbol in registry if symbol in found)


@functools.lru_cache(maxsize=None)
def known():
    """What read() finds here."""
    return read()


def choices():
    """For messages: slob, slob-new[+stack][+classes]."""
    return ", ".join(name + "".join(f"[+{option}]" for option in options)
                     for name, options in known().items())


def valid(word):
    """Whether it names a design: a backend, then some of its options in their order.

    The module takes any order; here a design has one name, so that records compare.
    """
    name, *options = word.split("+")
    return name in known() and options == [option for option in known()[name]
                                           if option in options]


def check(word, what="no design '{}'"):
    """Refuse what is none, in one line that names what is."""
    if not valid(word):
        raise UserError(f"{what.format(word)} (choose from {choices()})", MISS)
