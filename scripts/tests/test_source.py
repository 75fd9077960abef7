# SPDX-License-Identifier: GPL-2.0
"""Which kernel source is taken, and what stands for its content."""

import os

import pytest

from memtblib import source


@pytest.fixture(autouse=True, name="no_memory")
def _no_memory():
    """Identities are remembered for a whole run; here trees change."""
    source.identity.cache_clear()
    yield
    source.identity.cache_clear()


@pytest.fixture(name="tree")
def _tree(tmp_path):
    """A small kernel tree of a developer."""
    tree = tmp_path / "tree"
    for name in ("Kbuild", "init/main.c", "mm/slub.c", ".git/index"):
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        (tree / name).write_text(name)
    return tree


def identity(tree):
    """What stands for the tree now."""
    source.identity.cache_clear()
    return source.identity(tree)


def rewrite(path, text):
    """New content, dated later: what an editor does."""
    when = path.stat().st_mtime_ns + 1
    path.write_text(text)
    os.utime(path, ns=(when, when))


def back_dated(path, text):
    """New content of another length under the old date."""
    when = path.stat().st_mtime_ns
    path.write_text(text)
    os.utime(path, ns=(when, when))


@pytest.mark.parametrize("change", [
    lambda tree: rewrite(tree / "mm/slub.c", "mm/SLUB.c"),
    lambda tree: back_dated(tree / "mm/slub.c", "longer than before"),
    lambda tree: (tree / "mm/slub.c").rename(tree / "mm/slab.c"),
    lambda tree: (tree / "mm/slub.c").rename(tree / "init/slub.c"),
    lambda tree: (tree / "mm/new.c").write_text(""),
    lambda tree: (tree / "mm/slub.c").unlink(),
], ids=["same length", "same date", "renamed", "moved", "new", "gone"])
def test_the_identity_of_an_own_tree_follows_an_edit(own_cache, tree, change):
    before = identity(tree)
    assert identity(tree) == before
    change(tree)
    assert identity(tree) != before


def test_the_identity_of_an_own_tree_has_its_place(own_cache, tree):
    before = identity(tree)
    assert identity(tree.rename(tree.with_name("other"))) != before


def test_git_is_not_part_of_an_own_tree(own_cache, tree):
    before = identity(tree)
    rewrite(tree / ".git/index", "moved on")
    assert identity(tree) == before


def test_two_cached_trees_differ(own_cache):
    one, two = (own_cache / "source" / f"linux-6.1-{key}" / "linux-source-6.1"
                for key in ("0123", "4567"))
    assert identity(one) != identity(two)


def test_own_tree_comes_before_the_package(tree, monkeypatch):
    monkeypatch.setattr(source, "debian", lambda version: f"debian {version}")
    monkeypatch.setenv("KDIR", str(tree))
    assert source.linux() == tree
    monkeypatch.setenv("KDIR", "")
    assert source.linux() == "debian 6.1"


def test_own_tree_may_be_named_from_here(tree, monkeypatch):
    monkeypatch.chdir(tree.parent)
    monkeypatch.setenv("KDIR", "tree")
    assert source.linux() == tree


def test_version_of_a_tree(tree):
    assert source.version(tree) == "unknown"
    (tree / "Makefile").write_text("kernelversion:\n\t@echo 6.1.99\n")
    assert source.version(tree) == "6.1.99"
