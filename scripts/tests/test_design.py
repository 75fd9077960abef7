# SPDX-License-Identifier: GPL-2.0
"""Designs with options: read from the module's tables, named in one way."""

import pytest
from memtblib import design, errors, module, smoke

TABLES = {
    "backend.c": "backends[] = {\n\t&memtb_backend_b,\n\t&memtb_backend_null,\n"
                 "\t&memtb_backend_a,\n\t&memtb_backend_c,\n};\n",
    "null.c": "const struct memtb_backend memtb_backend_null = {\n\t.name = \"null\",\n};\n",
    "a.c": "const struct memtb_backend memtb_backend_a = {\n\t.name = \"a-page\",\n"
           "\t.flags = MEMTB_OWNS_PAGES | MEMTB_RCU | MEMTB_ALIGNS,\n\t.options = a_words,\n};\n",
    "b.c": "const struct memtb_backend memtb_backend_b = {\n\t.name = \"b\",\n"
           "\t.flags = MEMTB_ALIGNS | MEMTB_OWNS_PAGES,\n};\n",
    "c.c": "const struct memtb_backend memtb_backend_c = {\n\t.name = \"c\",\n"
           "\t.flags = MEMTB_OWNS_PAGES,\n};\n",
}


@pytest.mark.parametrize("array", ['{\n\t"one", "two", NULL\n}', '{ [B] = "one",\n[C] = "two", }'])
def test_designs_are_those_of_the_tables(tmp_path, array):
    for name, text in TABLES.items():
        (tmp_path / name).write_text(text)
    with open(tmp_path / "a.c", "a", encoding="utf-8") as stream:
        stream.write(f"static const char * const a_words[] = {array};\n")
    found = design.read(tmp_path)
    assert found == {"b": (), "a-page": ("one", "two")}
    assert list(found) == ["b", "a-page"]


@pytest.mark.parametrize("flags", ["MEMTB_ALIGNS", "MEMTB_RCU | MEMTB_OWNS_PAGES"])
def test_an_option_that_a_kernel_cannot_live_with_is_none(tmp_path, flags):
    for name, text in TABLES.items():
        (tmp_path / name).write_text(text)
    (tmp_path / "a.c").write_text(
        TABLES["a.c"].replace("};", "\t.takes = a_takes,\n};") +
        "static const char * const a_words[] = {\n[ONE] = \"one\",\n[TWO] = \"two\",\n};\n"
        f"static const unsigned int a_takes[] = {{\n[ONE] = {flags},\n[TWO] = MEMTB_RCU,\n}};\n")
    assert design.read(tmp_path)["a-page"] == ("two",)


def test_the_designs_that_there_are():
    assert design.known()["slob-page"] == ("list2008",)
    assert design.known()["slob"] == ()
    assert design.known()["slob-new"] == ("stack", "classes")
    assert not {"null", "kernel"} & set(design.known())
    assert "slob, slob-new[+stack][+classes]" in design.choices()


@pytest.mark.parametrize("word", ["slob", "slob-new", "slob-new+stack", "slob-new+classes",
                                  "slob-new+stack+classes"])
def test_a_design_may_have_options(word):
    assert design.valid(word)
    design.check(word)


@pytest.mark.parametrize("word", ["", "slub", "null", "slob+stack", "slob-new+", "slob-new+stak",
                                  "slob-new+stack+stack", "slob-new+classes+stack", "+stack",
                                  "slob-page+align2019",
                                  "slob-new stack", "off"])
def test_what_is_none_is_refused_with_the_choices(word):
    assert not design.valid(word)
    with pytest.raises(errors.UserError) as caught:
        design.check(word)
    assert str(caught.value) == f"no design '{word}' (choose from {design.choices()})"


def test_smoke_takes_designs(monkeypatch):
    smoke.check("x86_64-smp", "slob-new+stack", 10, 1)
    with pytest.raises(errors.UserError, match="'slob\\+stack' takes no kernel over .choose"):
        smoke.check("x86_64-smp", "slob+stack", 10, 1)
    monkeypatch.setattr(smoke, "ext4_image", lambda: None)
    monkeypatch.setattr(module, "build", lambda flavour: flavour)
    monkeypatch.setattr(smoke.visitor, "build", lambda flavour: {})
    flavour = type("Flavour", (), {"name": "x", "cpus": 2, "memtb_ko": None})
    assert smoke.job(flavour, "slob-new+stack").env["SMOKE_BACKEND"] == "slob-new+stack"
