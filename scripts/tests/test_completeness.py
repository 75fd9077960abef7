# SPDX-License-Identifier: GPL-2.0
"""The completeness check on small disassemblies that are made to have escapes."""

import pytest

from memtblib import completeness
from memtblib.completeness import Call

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
