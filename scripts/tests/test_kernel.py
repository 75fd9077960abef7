# SPDX-License-Identifier: GPL-2.0
"""Fragments, the check of wanted against got, and own trees."""

import pytest

from memtblib import kernel, source
from memtblib.errors import UserError


def test_dropped_reports_every_difference():
    wanted = ("CONFIG_A=y\nCONFIG_B=8\n# CONFIG_C is not set\n# CONFIG_D is not set\n"
              "CONFIG_E=m\nCONFIG_F=y\n")
    got = "CONFIG_A=y\nCONFIG_B=16\nCONFIG_C=y\n# CONFIG_E is not set\n"
    assert kernel.dropped(wanted, got) == [
        "CONFIG_B: wanted 8, got 16", "CONFIG_C: wanted n, got y", "CONFIG_E: wanted m, got n",
        "CONFIG_F: wanted y, got n"]


def test_nothing_dropped():
    assert kernel.dropped("CONFIG_A=y\n# CONFIG_B is not set\n", "CONFIG_A=y\n") == []


def test_fragments_that_contradict_each_other_are_refused(tmp_path):
    one, two = tmp_path / "one.config", tmp_path / "two.config"
    one.write_text("CONFIG_A=y\nCONFIG_B=y\n")
    two.write_text("CONFIG_B=y\n# CONFIG_A is not set\n")
    with pytest.raises(UserError, match="two.config: CONFIG_A=n, but one.config says y"):
        kernel.merge_fragments([one, two])


def test_merge_keeps_every_symbol(tmp_path):
    one = tmp_path / "one.config"
    one.write_text("# a comment\nCONFIG_A=y\n\nCONFIG_S=\"x y\"\n# CONFIG_B is not set\n")
    assert kernel.merge_fragments([one]) == "CONFIG_A=y\nCONFIG_S=\"x y\"\n# CONFIG_B is not set\n"


@pytest.mark.parametrize("name", kernel.names())
def test_the_real_fragments_merge(name):
    values = kernel.parse_config(kernel.merge_fragments(kernel.fragment_files(name)))
    assert values["CONFIG_SMP"] == ("y" if kernel.FLAVOURS[name].smp else "n")


def test_unknown_flavour_names_the_valid_ones():
    with pytest.raises(UserError, match="choose from x86_64-up, x86_64-smp"):
        kernel.flavour("pdp11")


def own_tree(tmp_path):
    """What looks like a kernel tree."""
    (tmp_path / "init").mkdir()
    (tmp_path / "init" / "main.c").write_text("")
    (tmp_path / "Kbuild").write_text("")
    return tmp_path


def test_clean_own_tree_is_taken(tmp_path):
    assert source.check_own(own_tree(tmp_path)) == tmp_path


def test_headers_are_no_tree(tmp_path):
    with pytest.raises(UserError, match="not a kernel source tree"):
        source.check_own(tmp_path)


@pytest.mark.parametrize("sign", [".config", "include/config", "arch/x86/include/generated"])
def test_tree_configured_in_place_is_refused_with_the_way_out(tmp_path, sign):
    tree = own_tree(tmp_path)
    (tree / sign).mkdir(parents=True)
    with pytest.raises(UserError, match=r"make -C .* mrproper") as caught:
        source.check_own(tree)
    assert "\n" not in str(caught.value)


def test_identity_follows_an_edit_but_not_git(tmp_path, own_cache):
    tree = own_tree(tmp_path)
    (tree / ".git").mkdir()

    def identity():
        source.identity.cache_clear()
        return source.identity(tree)
    before = identity()
    (tree / ".git" / "index").write_text("x")
    assert identity() == before
    (tree / "init" / "main.c").write_text("int x;")
    assert identity() != before


def test_missing_source_package_says_what_to_run(monkeypatch, own_cache):
    monkeypatch.delenv("KDIR", raising=False)
    with pytest.raises(UserError, match="memtb setup"):
        source.linux("0.0")
