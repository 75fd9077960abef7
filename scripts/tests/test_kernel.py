# SPDX-License-Identifier: GPL-2.0
"""Fragments, the check of wanted against got, and own trees."""

from pathlib import Path

import pytest

from memtblib import kernel, progress, source
from memtblib.errors import BUILD_FAILED, UserError


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


def build(smp):
    """A kernel that was never built."""
    return kernel.KernelBuild("x86_64-up", "k", Path("/k/build"), Path("/s"), smp)


@pytest.mark.parametrize("smp, cpus", [(False, 1), (True, 2)])
def test_a_guest_has_two_processors_where_the_kernel_can(smp, cpus):
    assert build(smp).cpus == cpus


@pytest.mark.parametrize("image", ["vmlinux", "arch/x86/boot/bzImage"])
def test_where_the_parts_of_a_kernel_are(monkeypatch, image):
    facts = kernel.Flavour(["base"], False, 1, 1, image=image)
    monkeypatch.setattr(kernel, "FLAVOURS", {"x86_64-up": facts})
    one = build(False)
    assert one.image == Path("/k/build") / image and one.vmlinux == Path("/k/build/vmlinux")
    assert one.config == Path("/k/build/.config") and one.wanted == Path("/k/wanted.config")


@pytest.fixture(name="kconfig")
def _kconfig(tmp_path, monkeypatch):
    """kconfig(config that comes out, exit code): runs configure(); what make was told."""
    told = []

    def configure(got, code=0):
        def run(command, log, _title, env=None):
            told.append((command, env))
            log.write_text("Kconfig:1: error: no such thing\n")
            (tmp_path / ".config").write_text(got)
            return code, 0
        monkeypatch.setattr(progress, "run", run)
        wanted = tmp_path / "wanted.config"
        wanted.write_text("CONFIG_A=y\n# CONFIG_B is not set\nCONFIG_C=8\n")
        kernel.configure(Path("/tree"), tmp_path, wanted, tmp_path / "log", "kernel x")
        return told[-1]
    return configure


@pytest.mark.parametrize("got, line", [
    ("CONFIG_C=8\n", "CONFIG_A: wanted y, got n"),
    ("CONFIG_A=m\nCONFIG_C=8\n", "CONFIG_A: wanted y, got m"),
    ("CONFIG_A=y\nCONFIG_B=y\nCONFIG_C=8\n", "CONFIG_B: wanted n, got y"),
    ("CONFIG_A=y\nCONFIG_C=16\n", "CONFIG_C: wanted 8, got 16"),
])
def test_a_kernel_for_which_kconfig_dropped_something_is_not_built(kconfig, got, line):
    with pytest.raises(UserError, match=line) as caught:
        kconfig(got)
    assert caught.value.code == BUILD_FAILED


def test_a_kernel_that_got_all_it_wanted_is_configured(kconfig, tmp_path):
    command, env = kconfig("CONFIG_A=y\nCONFIG_C=8\nCONFIG_MORE=y\n")
    assert command[-1] == "allnoconfig" and f"O={tmp_path}" in command
    assert env["KCONFIG_ALLCONFIG"] == str(tmp_path / "wanted.config")


def test_a_failed_configuration_says_why(kconfig):
    with pytest.raises(UserError, match="no such thing") as caught:
        kconfig("CONFIG_A=y\nCONFIG_C=8\n", code=2)
    assert caught.value.code == BUILD_FAILED


@pytest.mark.parametrize("name", [
    "KDIR", "O", "M", "W", "C", "V", "LLVM", "ARCH", "CROSS_COMPILE", "MAKEFLAGS", "MFLAGS",
    "MAKELEVEL", "KCFLAGS", "KBUILD_OUTPUT", "KCONFIG_ALLCONFIG", "CHECK"])
def test_the_callers_variables_do_not_leak_into_a_kernel_build(monkeypatch, name):
    monkeypatch.setenv(name, "x")
    assert name not in kernel.make_environment()


def test_the_rest_of_the_environment_is_handed_on(monkeypatch, own_cache):
    monkeypatch.setenv("MEMTB_TRY", "x")
    monkeypatch.setenv("LC_ALL", "de_DE.UTF-8")
    env = kernel.make_environment()
    assert env["MEMTB_TRY"] == "x" and env["LC_ALL"] == "C"
    assert env["CCACHE_DIR"] == str(own_cache / "ccache")


@pytest.mark.parametrize("llvm, compiler", [("", "gcc"), ("1", "clang")])
def test_what_every_make_is_told(monkeypatch, llvm, compiler):
    monkeypatch.setenv("LLVM", llvm)
    monkeypatch.setenv("V", "1")
    assert kernel.make_arguments() == [
        "KBUILD_BUILD_TIMESTAMP=2020-01-01", "KBUILD_BUILD_USER=memtb",
        "KBUILD_BUILD_HOST=memtb", "KBUILD_BUILD_VERSION=1", "LOCALVERSION=",
        f"CC=ccache {compiler}", f"HOSTCC=ccache {compiler}",
        *(["LLVM=1"] if llvm else []), "V=1"]
