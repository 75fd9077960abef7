# SPDX-License-Identifier: GPL-2.0
"""The completeness check on small disassemblies that are made to have escapes."""

import dataclasses
import subprocess
import types

import pytest

from memtblib import completeness
from memtblib.completeness import Call
from memtblib.errors import UserError

HOOKED = {"kmem_cache_alloc", "kfree", "__ksize"}
GOOD = """
vmlinux:     file format elf64-x86-64


Disassembly of section .text:

ffffffff81000000 <kmem_cache_alloc>:
ffffffff81000000:\tendbr64
ffffffff81000004:\tcall   ffffffff81000900 <__fentry__>
ffffffff81000009:\tje     ffffffff81000020 <kmem_cache_alloc+0x20>
ffffffff81000010:\tcall   ffffffff81000400 <___slab_alloc.constprop.0>
ffffffff81000020:\tret

ffffffff81000100 <kfree>:
ffffffff81000100:\tnopl   0x0(%rax,%rax,1)
ffffffff81000105:\tjmp    ffffffff81000500 <__kmem_cache_free>

ffffffff81000200 <ksize>:
ffffffff81000200:\tcall   ffffffff81000300 <__ksize>

ffffffff81000300 <__ksize>:
ffffffff81000300:\tcall   ffffffff81000900 <__fentry__>
ffffffff81000305:\tret

ffffffff81000400 <___slab_alloc.constprop.0>:
ffffffff81000400:\tcall   ffffffff81000900 <__fentry__>
ffffffff81000405:\tret

ffffffff81000500 <__kmem_cache_free>:
ffffffff81000500:\tcall   ffffffff81000600 <__slab_free>

ffffffff81000600 <__slab_free>:
ffffffff81000600:\tret

ffffffff81000700 <user>:
ffffffff81000700:\tcall   ffffffff81000000 <kmem_cache_alloc>
ffffffff81000705:\tjmp    ffffffff81000100 <kfree>
"""
FUNCTIONS = {"kmem_cache_alloc", "kfree", "ksize", "__ksize", "___slab_alloc.constprop.0",
             "__kmem_cache_free", "__slab_free", "user", "escapee"}


def judge(text, hooked=frozenset(HOOKED), functions=frozenset(FUNCTIONS), **more):
    """Escapes in a disassembly."""
    lines = text.splitlines(keepends=True)
    calls = completeness.parse(lines, {0xffffffff81000600: "__slab_free"})
    return completeness.escapes(calls, completeness.sites(lines), set(functions), set(hooked),
                                **more)


def escapee(*instructions):
    """GOOD, and a function of these instructions."""
    lines = [f"ffffffff8100080{number}:\t{text}\n" for number, text in enumerate(instructions)]
    return GOOD + "\nffffffff81000800 <escapee>:\n" + "".join(lines)


def test_all_hooked():
    assert judge(GOOD) == []


@pytest.mark.parametrize("instruction, found", [
    ("call   ffffffff81000400 <___slab_alloc.constprop.0>",
     "escapee calls ___slab_alloc.constprop.0"),
    ("jmp    ffffffff81000600 <__slab_free>", "escapee calls __slab_free"),
    ("jne    ffffffff81000600 <__slab_free>", "escapee calls __slab_free"),
    ("jmp    ffffffff81000604 <__slab_free+0x4>", "escapee calls __slab_free"),
    ("call   ffffffff81000500 <__kmem_cache_free>", "escapee calls __kmem_cache_free"),
    ("lea    0x100(%rip),%rdi        # ffffffff81000600 <__slab_free>",
     "escapee takes the address of __slab_free"),
    ("mov    $0xffffffff81000600,%rdi", "escapee takes the address of __slab_free"),
])
def test_escape_is_found(instruction, found):
    assert judge(escapee("push   %rbx", instruction)) == [found]


def test_unhooked_entry_point_escapes():
    assert judge(GOOD, HOOKED - {"kfree"}) == ["kfree calls __kmem_cache_free"]


def test_cold_part_belongs_to_its_function():
    text = GOOD + ("\nffffffff81000800 <kmem_cache_alloc.cold>:\n"
                   "ffffffff81000800:\tcall   ffffffff81000400 <___slab_alloc.constprop.0>\n"
                   "ffffffff81000805:\tjmp    ffffffff81000010 <kmem_cache_alloc+0x10>\n")
    assert judge(text) == []


def test_escape_from_a_cold_part_is_told_by_the_function():
    text = escapee("jmp    ffffffff81000600 <__slab_free>").replace("<escapee>", "<escapee.cold>")
    assert judge(text) == ["escapee calls __slab_free"]


def test_split_part_of_a_hooked_function_has_no_hook():
    text = escapee("call   ffffffff81000a00 <kfree.part.0>")
    assert judge(text) == ["escapee calls kfree.part.0"]


def test_nodes_are_forgiven_only_while_their_cache_stays_native():
    text = GOOD + ("\nffffffff81000800 <__kmem_cache_release>:\n"
                   "ffffffff81000800:\tcall   ffffffff81000a00 <kmem_cache_free.part.0>\n")
    text += "\nffffffff81000a00 <kmem_cache_free>:\n" \
            "ffffffff81000a00:\tcall   ffffffff81000900 <__fentry__>\n"
    hooked = HOOKED | {"kmem_cache_free"}
    functions = FUNCTIONS | {"kmem_cache_free"}
    assert judge(text, hooked, functions, nodes_native=True) == []
    assert judge(text, hooked, functions) == ["__kmem_cache_release calls kmem_cache_free.part.0"]


def test_hook_without_a_site():
    text = GOOD.replace("\tnopl   0x0(%rax,%rax,1)", "\tpush   %rbx")
    assert judge(text) == ["kfree has no ftrace site"]


def test_hook_that_this_kernel_lacks():
    assert judge(GOOD, HOOKED | {"kmem_cache_alloc_lru"}) == [
        "kmem_cache_alloc_lru is not in this kernel"]


def test_usercopy_check_has_to_be_hooked_where_it_is():
    found = judge(GOOD, functions=FUNCTIONS | {"__check_heap_object"})
    assert found == ["__check_heap_object is not hooked (hardened usercopy looks into the slab)"]


def test_inlined_ksize_is_found():
    text = GOOD.replace("call   ffffffff81000300 <__ksize>", "mov    0x8(%rdi),%rax")
    assert judge(text) == ["ksize calls none of __ksize: a copy was inlined"]


def test_base():
    assert completeness.base("___slab_alloc.constprop.0.isra.0.cold") == "___slab_alloc"
    assert completeness.base("kfree.part.0") == "kfree"
    assert completeness.base("kmem_cache_alloc") == "kmem_cache_alloc"


def test_hook_table_is_read_but_not_the_macro():
    text = ("#define MEMTB_HOOK(name, counts, handler)\t\\\n"
            "\tMEMTB_HOOK(kfree, MEMTB_FREE, x),\n\tMEMTB_HOOK(__ksize, MEMTB_OTHER, y),\n")
    assert completeness.hooked_symbols(text) == {"kfree", "__ksize"}


def test_the_call_kinds():
    calls = completeness.parse(GOOD.splitlines(keepends=True))
    assert Call("user", "kfree", "call") in calls
    assert not any(call.caller == call.callee for call in calls)


# Written out: a name that is lost from the module's own table is lost from a loop over it.
INNER = ["slab_alloc_node", "slab_alloc", "__slab_alloc", "___slab_alloc",
         "__kmem_cache_alloc_lru", "__kmem_cache_alloc_bulk", "slab_free", "do_slab_free",
         "__slab_free", "free_to_partial_list", "build_detached_freelist", "__kmem_cache_free",
         "___cache_free", "free_large_kmalloc"]
MUST_CALL = {"ksize": ["__ksize"], "__do_krealloc": ["__ksize", "ksize"],
             "krealloc": ["__do_krealloc", "__ksize", "ksize"],
             "kfree_sensitive": ["__ksize", "ksize"]}
LOOKING = ["__ksize", "__check_heap_object"]
NODE_OWNERS = ["free_kmem_cache_nodes", "init_kmem_cache_nodes", "kmem_cache_open",
               "__kmem_cache_create", "__kmem_cache_release", "early_kmem_cache_node_alloc"]


@pytest.mark.parametrize("suffix", ["", ".constprop.0", ".isra.0"])
@pytest.mark.parametrize("name", INNER)
def test_every_inner_function_gives_its_callers_away(name, suffix):
    text = escapee(f"call   ffffffff81000b00 <{name}{suffix}>")
    assert judge(text) == [f"escapee calls {name}{suffix}"]


def test_the_lists_in_here_are_whole():
    assert sorted(completeness.INNER) == sorted(INNER)
    assert {name: sorted(wanted) for name, wanted in completeness.MUST_CALL.items()} == MUST_CALL
    assert list(completeness.LOOKING) == LOOKING
    assert sorted(completeness.NODE_OWNERS) == sorted(NODE_OWNERS)


@pytest.mark.parametrize("name", MUST_CALL)
def test_a_copy_that_was_inlined_is_found(name):
    text = f"{name} calls none of {', '.join(MUST_CALL[name])}: a copy was inlined"
    assert completeness.inlined_lookers({Call(name, "kfree", "call")}, {name}) == [text]
    assert completeness.inlined_lookers({Call("other", "__ksize", "call")}, {name}) == [text]
    assert completeness.inlined_lookers(set(), {"other"}) == []


@pytest.mark.parametrize("name, callee", [(name, callee) for name, callees in MUST_CALL.items()
                                          for callee in callees])
def test_one_call_shows_that_nothing_was_inlined(name, callee):
    for caller in (name, name + ".part.0", name + ".cold"):
        assert completeness.inlined_lookers({Call(caller, callee, "call")}, {name}) == []


@pytest.mark.parametrize("name", LOOKING)
def test_what_looks_into_a_slab_has_to_be_hooked(name):
    found = judge(GOOD, HOOKED - {name}, FUNCTIONS | {name})
    assert len(found) == 1 and found[0].startswith(f"{name} is not hooked (")


@pytest.mark.parametrize("owner", NODE_OWNERS)
@pytest.mark.parametrize("call, native, fine", [
    (Call("", "kmem_cache_free", "call"), True, True),
    (Call("", "kmem_cache_free.part.0", "call"), True, True),
    (Call("", "kmem_cache_free.part.0", "mid"), True, False),
    (Call("", "kmem_cache_free.part.0", "address"), True, False),
    (Call("", "kmem_cache_free.part.0", "call"), False, False),
    (Call("", "kfree.part.0", "call"), True, False),
    (Call("", "__slab_free", "call"), True, False),
])
def test_a_node_owner_may_call_the_free_of_nodes_and_no_more(owner, call, native, fine):
    call = dataclasses.replace(call, caller=owner)
    assert completeness.allowed(call, native) == fine


def test_others_may_not_free_nodes():
    assert not completeness.allowed(Call("user", "kmem_cache_free.part.0", "call"), True)


@pytest.mark.parametrize("name, text, keeps", [
    ("module/live/a.c", 'x = "kmem_cache_node";', True),
    ("module/live/a.c", "x = kmem_cache_node;", False),
    ("module/live/a.c", 'x = "kmem_cache";', False),
    ("module/live/a.txt", 'x = "kmem_cache_node";', False),
    ("module/other/a.c", 'x = "kmem_cache_node";', False),
])
def test_the_source_has_to_name_the_native_cache(tmp_path, monkeypatch, name, text, keeps):
    for path in ("module/live/b.c", name):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text("int x;\n" if path != name else text)
    monkeypatch.setattr(completeness.paths, "CHECKOUT", tmp_path)
    assert completeness.keeps_nodes_native() == keeps


# ---- a kernel that is no kernel ----

# Pointers in data: a table, the list of ftrace sites, and what lies right behind that.
POINTERS = """
void _start(void) {} void user(void) {} void __slab_free(void) {} void slab_free(void) {}
void ___cache_free(void) {}
void (*const table[])(void) = { user, __slab_free, user };
void (*variable)(void) = ___cache_free;
__asm__(".section .sites, \\"aw\\"\\n__start_mcount_loc: .quad slab_free, user, __slab_free\\n"
        "__stop_mcount_loc: .quad %s\\n");
"""
TABLE = Call("data in .rodata", "__slab_free", "address")
VARIABLE = Call("data in .data", "___cache_free", "address")


@pytest.fixture(name="linked")
def _linked(tmp_path):
    """linked(symbol behind the sites): a small ELF file like a vmlinux."""
    def link(behind="user"):
        place = tmp_path / "linked" / "build"
        place.mkdir(parents=True)
        (place / "x.c").write_text(POINTERS % behind)
        subprocess.run(["gcc", "-O0", "-static", "-nostdlib", "-no-pie", "-fno-pie",
                        "-fcf-protection=none", "-o", place / "vmlinux", place / "x.c"], check=True)
        return place / "vmlinux"
    return link


@pytest.mark.parametrize("behind, more", [
    ("user", set()),
    ("slab_free", {Call("data in .sites", "slab_free", "address")}),
])
def test_addresses_stored_in_data_are_found_but_not_ftrace_sites(linked, behind, more):
    vmlinux = linked(behind)
    found = completeness.stored_addresses(vmlinux, completeness.symbols(vmlinux))
    assert found == {TABLE, VARIABLE} | more


def test_a_stored_address_escapes(linked, own_cache):
    vmlinux = linked()
    build = types.SimpleNamespace(name="one", key="k", vmlinux=vmlinux)
    calls, _, functions = completeness.scan(build)
    assert functions >= {"user", "__slab_free"}
    assert "data_in_.rodata takes the address of __slab_free" in completeness.escapes(
        calls, set(), functions, set())


def test_a_disassembler_that_fails_is_an_error(tmp_path, monkeypatch, linked, own_cache):
    tool = tmp_path / "objdump"
    tool.write_text("#!/bin/sh\necho 'ffffffff81000000 <kfree>:'\nexit 1\n")
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    build = types.SimpleNamespace(name="one", key="k", vmlinux=linked())
    with pytest.raises(UserError, match="objdump failed"):
        completeness.scan(build)
    assert not any(path.is_dir() for path in (own_cache / "calls").iterdir())


@pytest.mark.parametrize("calls", [set(), {Call("user", "kfree", "call")}])
def test_a_scan_that_saw_no_inner_call_is_no_verdict(monkeypatch, calls):
    monkeypatch.setattr(completeness, "scan", lambda _: (calls, HOOKED, HOOKED))
    with pytest.raises(UserError, match="no call of an inner function"):
        completeness.check(types.SimpleNamespace(name="one"), HOOKED)


@pytest.mark.parametrize("native", [False, True])
def test_the_check_asks_whether_nodes_stay_native(monkeypatch, native):
    hooked = HOOKED | {"kmem_cache_free"}
    node, good = (Call("__kmem_cache_release", "kmem_cache_free.part.0", "call"),
                  Call("kfree", "__slab_free", "call"))
    monkeypatch.setattr(completeness, "scan", lambda _: ({node, good}, hooked, hooked))
    monkeypatch.setattr(completeness, "keeps_nodes_native", lambda: native)
    found, seen = completeness.check(types.SimpleNamespace(name="one"), hooked)
    assert len(seen) == 2
    assert found == ([] if native else ["__kmem_cache_release calls kmem_cache_free.part.0"])
