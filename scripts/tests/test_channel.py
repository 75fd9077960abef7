# SPDX-License-Identifier: GPL-2.0
"""The results channel: any bytes give a Message, in pieces of any size, and no exception."""

import pytest
from memtblib import channel

HELLO = b"memtb-guest 1\n"
END = b"end\n"
# What there is room for: see channel.Parser.
MOST_DAMAGE = 20


def message(hello=True, **fields):
    """What is expected; a guest has said hello unless told otherwise."""
    return channel.Message(hello=hello, **fields)


def result(name, status, **values):
    """One result of a Message."""
    return {"name": name, "status": status, "values": values}


def odd(shown):
    """The damage by one line that is not understood."""
    return f"not understood: '{shown}'"


# (bytes, Message)
GOOD = {
    "nothing": (b"", message(hello=False)),
    "hello": (HELLO, message()),
    "hello and end": (HELLO + END, message(ended=True)),
    "phases": (HELLO + b"phase a\nphase b-1.c+d_e\n", message(phases=["a", "b-1.c+d_e"])),
    "every status": (
        HELLO + b"result a pass\nresult b fail\nresult c skip\nresult d done\n",
        message(results=[result("a", "pass"), result("b", "fail"), result("c", "skip"),
                         result("d", "done")])),
    "values": (
        HELLO + b"result a pass n=1  why= x=a=b \n",
        message(results=[result("a", "pass", n="1", why="", x="a=b")])),
    "a result twice": (HELLO + b"result a pass\nresult a fail\n",
                       message(results=[result("a", "pass"), result("a", "fail")])),
    "facts": (HELLO + b"fact taint 0\nfact died it did  not \nfact empty \n",
              message(facts={"taint": "0", "died": "it did  not ", "empty": ""})),
    "a file": (HELLO + b"file a.log 3\nabc\n", message(files={"a.log": b"abc"})),
    "an empty file": (HELLO + b"file a 0\n\nphase b\n",
                      message(files={"a": b""}, phases=["b"])),
    "a size with noughts": (HELLO + b"file a 000000000001\nx\n", message(files={"a": b"x"})),
    "a file of newlines and NULs": (
        HELLO + b"file a 8\n\0\n\n\r\0\xff\n\n\nphase b\n",
        message(files={"a": b"\0\n\n\r\0\xff\n\n"}, phases=["b"])),
    "a file that looks like messages": (
        HELLO + b"file a 18\nend\nresult x pass\n\nend\n",
        message(files={"a": b"end\nresult x pass\n"}, ended=True)),
    "two files": (HELLO + b"file a 1\nx\nfile b 1\ny\n", message(files={"a": b"x", "b": b"y"})),
    "carriage returns": (
        b"memtb-guest 1\r\nphase a\r\nresult b pass n=1\r\nfact c d\r\nfile e 1\r\nx\nend\r\n",
        message(phases=["a"], results=[result("b", "pass", n="1")], facts={"c": "d"},
                files={"e": b"x"}, ended=True)),
    "text before hello": (b"phase a\n" + HELLO, message(phases=["a"])),
}
# The Message has the rest, and this damage.
BAD = {
    "a file cut short": (HELLO + b"file a 9\nabc\n", message(), "file a: 4 of 9 bytes came"),
    "a file without its newline": (HELLO + b"file a 3\nabc", message(),
                                   "file a: 3 of 3 bytes came"),
    "a file of which nothing came": (HELLO + b"file a 3\n", message(),
                                     "file a: 0 of 3 bytes came"),
    "a file that is too long": (
        HELLO + b"file a 3\nabcde\nphase b\n", message(files={"a": b"abc"}, phases=["b"]),
        "file a: its end is not where it should be", odd("e")),
    "a line without end": (HELLO + b"result a pass\nresult b pa",
                           message(results=[result("a", "pass")]),
                           "line without an end: 'result b pa'"),
    "an end without end": (HELLO + b"end", message(), "line without an end: 'end'"),
    "a file twice": (
        HELLO + b"file a 1\nx\nfile a 6\nend 1\n\nphase b\n",
        message(files={"a": b"x"}, phases=["b"]), odd("file a 6"), odd("end 1"), odd("")),
    "a fact twice": (HELLO + b"fact a 1\nfact a 2\n", message(facts={"a": "1"}), odd("fact a 2")),
    "a result after the end": (HELLO + END + b"result a pass\n", message(ended=True),
                               odd("result a pass")),
    "a fact after the end": (HELLO + END + b"fact a b\n", message(ended=True), odd("fact a b")),
    "an end after the end": (HELLO + END + END, message(ended=True), odd("end")),
    "a file after the end": (HELLO + END + b"file a 1\nx\n", message(ended=True),
                             odd("file a 1"), odd("x")),
    "a newline after the end": (HELLO + END + b"\n", message(ended=True), odd("")),
    "half a line after the end": (HELLO + END + b"x", message(ended=True),
                                  "line without an end: 'x'"),
    "a second hello": (HELLO + b"phase a\n" + HELLO, message(phases=["a"]),
                       odd("memtb-guest 1")),
    "hello of another version": (b"memtb-guest 2\n", message(hello=False), odd("memtb-guest 2")),
    "hello and more": (b"memtb-guest 1 2\n", message(hello=False), odd("memtb-guest 1 2")),
    "hello alone": (b"memtb-guest\n", message(hello=False), odd("memtb-guest")),
    "garbage": (HELLO + b"\x01\x02\x7f[m\n", message(), odd(r"\x01\x02\x7f[m")),
    "an unknown word": (HELLO + b"results a pass\n", message(), odd("results a pass")),
    "the word in capitals": (HELLO + b"END\n", message(), odd("END")),
    "a blank first": (HELLO + b" end\n", message(), odd(" end")),
    "an empty line": (HELLO + b"\n", message(), odd("")),
    "an unknown status": (HELLO + b"result a good\n", message(), odd("result a good")),
    "a status in capitals": (HELLO + b"result a PASS\n", message(), odd("result a PASS")),
    "no status": (HELLO + b"result a\n", message(), odd("result a")),
    "a result without name": (HELLO + b"result  pass\n", message(), odd("result  pass")),
    "a value without key": (HELLO + b"result a pass =1\n", message(), odd("result a pass =1")),
    "a key without value": (HELLO + b"result a pass n\n", message(), odd("result a pass n")),
    "a phase of two words": (HELLO + b"phase a b\n", message(), odd("phase a b")),
    "a phase without name": (HELLO + b"phase\n", message(), odd("phase")),
    "end and more": (HELLO + b"end it\n", message(), odd("end it")),
    "a fact without value": (HELLO + b"fact a\n", message(), odd("fact a")),
    "a file without size": (HELLO + b"file a\n", message(), odd("file a")),
    "a file with a blank in its name": (HELLO + b"file a b 1\n", message(), odd("file a b 1")),
    "a size below nought": (HELLO + b"file a -1\n", message(), odd("file a -1")),
    "a size of letters": (HELLO + b"file a 0x1\n", message(), odd("file a 0x1")),
    "a size of 13 digits": (HELLO + b"file a 1000000000000\n", message(),
                            odd("file a 1000000000000")),
    "a size of 5000 digits": (HELLO + b"file a " + b"9" * 5000 + b"\nphase b\n",
                              message(phases=["b"]), odd("file a " + "9" * 73 + "...")),
    "80 letters": (HELLO + b"x" * 80 + b"\n", message(), odd("x" * 80)),
    "81 letters": (HELLO + b"x" * 81 + b"\n", message(), odd("x" * 80 + "...")),
}
# Names become names of files on the host.
NAMES = ["", "..", "../x", "/x", "a/b", ".hidden", "-x", "_a", "a*", "a\0", "a\\", "a\u00e4"]


def whole(data):
    """All at once."""
    return channel.parse(data)


def bytewise(data):
    """Byte by byte."""
    parser = channel.Parser()
    for number in range(len(data)):
        parser.feed(data[number:number + 1])
    return parser.close()


@pytest.mark.parametrize("parse", [whole, bytewise])
@pytest.mark.parametrize("data, expected", GOOD.values(), ids=GOOD)
def test_a_good_stream_is_understood(parse, data, expected):
    assert parse(data) == expected


@pytest.mark.parametrize("parse", [whole, bytewise])
@pytest.mark.parametrize("case", BAD.values(), ids=BAD)
def test_a_bad_stream_is_damage_and_the_rest_is_kept(parse, case):
    data, expected, *damage = case
    found = parse(data)
    assert found.damage == damage
    found.damage = []
    assert found == expected


@pytest.mark.parametrize("line", ["phase {}", "result {} pass", "fact {} x", "file {} 1"])
@pytest.mark.parametrize("name", NAMES)
def test_a_name_is_no_path(line, name):
    found = channel.parse(HELLO + line.format(name).encode() + b"\n" + END)
    assert len(found.damage) == 1
    found.damage = []
    assert found == message(ended=True)


@pytest.mark.parametrize("data", [b"phase \xff\n", b"\xff\xfe\xfd\n", b"result \xc3\x28 pass\n"])
def test_bytes_that_are_no_text_are_damage(data):
    for parse in whole, bytewise:
        found = parse(HELLO + data + END)
        assert len(found.damage) == 1 and found.ended


def test_bytes_that_are_no_text_may_be_in_values():
    found = channel.parse(HELLO + b"result a fail x=\xff\nfact died \xff\n")
    assert found == message(results=[result("a", "fail", x="\ufffd")], facts={"died": "\ufffd"})


@pytest.mark.parametrize("data, damage", [
    (b"x\n" * (MOST_DAMAGE - 1), MOST_DAMAGE - 1), (b"x\n" * MOST_DAMAGE, MOST_DAMAGE),
    (b"x\n" * 500 + b"y", MOST_DAMAGE), (b"\n" * 500 + b"file a 5\nx", MOST_DAMAGE)])
def test_damage_is_bounded(data, damage):
    for parse in whole, bytewise:
        assert len(parse(HELLO + data).damage) == damage


def test_after_much_damage_the_rest_is_still_heard():
    found = channel.parse(HELLO + b"x\n" * 500 + b"result a pass\n" + END)
    assert found.ended and found.results == [result("a", "pass")]


@pytest.mark.parametrize("data, phase", [
    (b"", "boot"), (b"phase a\n", "boot"), (HELLO, "job"), (HELLO + b"phase a\n", "a"),
    (HELLO + b"phase a\nphase b\n", "b"), (HELLO + b"phase a\n" + END, "end"),
    (HELLO + b"phase a", "job")])
def test_the_phase_follows_the_stream(data, phase):
    assert channel.Parser().feed(data).phase == phase


def test_what_came_is_known_before_the_stream_is_over():
    parser = channel.Parser()
    assert parser.feed(HELLO + b"result a pass\nfile b 4\nen") == message(
        results=[result("a", "pass")])
    assert parser.feed(b"d\n\n").files == {"b": b"end\n"}
    assert parser.close().damage == []
