# SPDX-License-Identifier: GPL-2.0
"""The served tree: the compiler's stand-in, what is served, what ends a build, the cache's key."""

import hashlib
import json
import os
import subprocess
from pathlib import Path

import pytest
from memtblib import cache, errors, kernel, source, standin, tree


def record(*argv, out="", err="", status=0):
    return {"argv": list(argv), "stdout": out, "stderr": err, "status": status}


def ask(path, *argv):
    """What the stand-in answers."""
    result = subprocess.run([path, *argv], capture_output=True, text=True, check=False,
                            stdin=subprocess.DEVNULL, env={"PATH": os.environ["PATH"]})
    return result.stdout, result.stderr, result.returncode


@pytest.fixture(name="gcc")
def _gcc(tmp_path):
    def write(*records):
        standin.write(tmp_path / "gcc", records, "gcc 12")
        return tmp_path / "gcc"
    return write


def test_answers_are_played_back(gcc):
    path = gcc(record("-v", out="it's $HOME\\n\n"), record("-x", "c", err="no 'c'\n", status=1))
    assert ask(path, "-v") == ("it's $HOME\\n\n", "", 0)
    assert ask(path, "-x", "c") == ("", "no 'c'\n", 1)


def test_what_was_not_asked_fails_loudly(gcc):
    out, err, status = ask(gcc(record("-v")), "-c", "main.c")
    assert (out, status) == ("", standin.UNKNOWN)
    assert "no recorded answer to: gcc -c main.c" in err


def test_names_of_temporary_files_do_not_matter(gcc):
    path = gcc(record("-c", "-o", ".tmp_123/tmp", "x*y"))
    assert ask(path, "-c", "-o", ".tmp_4567/tmp", "x*y")[2] == 0
    assert ask(path, "-c", "-o", ".tmp_4567/tmp", "xzy")[2] == standin.UNKNOWN


def test_two_answers_to_one_question_are_refused():
    with pytest.raises(errors.UserError, match="two answers to: gcc -v"):
        standin.unify([record("-v", out="1"), record("-v", out="2")])
    same = standin.unify([record("-v", out="1"), {**record("-v"), "stdout": None}])
    assert same == {"-v": ("1", "", 0)}


def test_no_question_is_no_recording(gcc):
    with pytest.raises(errors.UserError, match="asked the compiler nothing"):
        gcc()


def test_the_recorder_passes_on_and_writes_down(tmp_path):
    real = tmp_path / "real"
    real.write_text("#!/bin/sh\necho out $1; echo err >&2; exit 3\n")
    real.chmod(0o755)
    standin.write_recorder(tmp_path / "front", real, tmp_path / "log")
    assert ask(tmp_path / "front" / "gcc", "a b") == ("out a b\n", "err\n", 3)
    assert standin.read_records(tmp_path / "log") == [
        record("a b", out="out a b\n", err="err\n", status=3)]


def test_what_make_says_when_it_makes_something():
    log = "  CALL    scripts/checksyscalls.sh\n  CC      init/main.o\nmake: done\n  LD  x\n"
    assert tree.rebuilt(log) == ["CC      init/main.o", "LD  x"]
    assert tree.rebuilt("  INSTALL /boot\n  DEPMOD  /lib\n  CHK  x\n") == []


def test_only_sources_that_the_build_named_are_served(tmp_path):
    (tmp_path / "a").mkdir()
    for name in ("a/used.c", "a/unused.c", "a/used.h"):
        (tmp_path / name).touch()
    (tmp_path / "a" / ".used.o.cmd").write_text(
        "source_a/used.o := a/used.c\n"
        "deps_a/used.o := \\\n  a/../a/used.h \\\n  /usr/include/y.h\n")
    assert tree.used_sources(tmp_path, ["a/.used.o.cmd", "a/used.o"]) >= {"a/used.c", "a/used.h"}
    assert "a/unused.c" not in tree.used_sources(tmp_path, ["a/.used.o.cmd"])


def test_sums_are_those_of_sha256sum(tmp_path):
    root = tmp_path / "root"
    (root / "lib" / "modules").mkdir(parents=True)
    (root / "b").write_text("b")
    (root / "lib" / "modules" / "a.ko").write_text("a")
    (root / "lib" / "modules" / "modules.dep.bin").write_text("differs")
    (root / "link").symlink_to("b")
    said = subprocess.run("find . -type f ! -name 'modules.*bin' | LC_ALL=C sort | xargs sha256sum",
                          shell=True, cwd=root, capture_output=True, text=True, check=True).stdout
    assert tree.sums(root) == said


def test_no_such_tree():
    with pytest.raises(errors.UserError, match="choose from small, full"):
        tree.build("huge")


# ---- what is in the sums, what is a rebuild ----

@pytest.mark.parametrize("name", [
    "modules.dep", "modules.alias", "modules.symbols", "modules.softdep", "modules.devname",
    "modules.order", "modules.builtin", "modules.builtin.modinfo", "kernel/modules.ko",
    "kernel/bin", "modules.bin.txt"])
def test_an_installed_file_is_in_the_sums(tmp_path, name):
    assert summed(tmp_path, name) == [f"./lib/modules/6.1.1/{name}"]


@pytest.mark.parametrize("name", ["modules.dep.bin", "modules.alias.bin", "modules.symbols.bin",
                                  "modules.builtin.bin", "modules.builtin.alias.bin"])
def test_what_depends_on_depmods_version_is_not(tmp_path, name):
    assert summed(tmp_path, name) == []


def summed(root, name):
    """The names in the sums of a root that has this one file."""
    path = root / "lib" / "modules" / "6.1.1" / name
    path.parent.mkdir(parents=True)
    path.write_text("content")
    return tree.sums(root).split()[1::2]


@pytest.mark.parametrize("word", [
    "CC", "AS", "LD", "AR", "HOSTCC", "HOSTLD", "OBJCOPY", "GEN", "UPD", "MKPIGGY", "CPP",
    "GZIP", "SYNC", "KSYMS", "SYSMAP", "SORTTAB", "VDSO", "BUILD", "RELOCS", "VOFFSET",
    "ZOFFSET", "MODPOST", "WRAP", "LDS", "SYSHDR", "NM", "VDSO2C", "CCX"])
@pytest.mark.parametrize("line", ["  {}      x/y", "  {} [M]  x/y", "  {}"])
def test_each_of_kbuilds_words_is_a_rebuild(word, line):
    log = "make: begin\n" + line.format(word) + "\nmake: end\n"
    assert tree.rebuilt(log) == [line.format(word).strip()]


@pytest.mark.parametrize("line", [
    "  INSTALL x", "  DEPMOD  /lib", "  CALL    x", "  CHK     x", "  DESCEND objtool",
    "CC      x", "make: CC x", "  x CC y"])
def test_nothing_else_is(line):
    assert tree.rebuilt(line + "\n") == []


# ---- the steps of a build ----

class Make:
    """In make's place: says what it is told to, and installs one file of each kind."""

    def __init__(self):
        self.said = {}          # {(how many times before, first word): what is printed}
        self.module = {}        # {how many times before: the installed module}
        self.calls = []

    def __call__(self, _title, *words, cwd=None, env=None, **_options):
        before = sum(call[0] == words[0] for call in self.calls)
        self.calls.append((words[0], cwd, env, words[1:]))
        for word in words:
            name, _, value = word.partition("=")
            if name == "INSTALL_PATH":
                (Path(value) / "vmlinuz").write_text("kernel")
            if name == "INSTALL_MOD_PATH":
                Path(value).mkdir()
                (Path(value) / "a.ko").write_text(self.module.get(before, "module"))
        return self.said.get((before, words[0]), "  INSTALL x\n"), 11


@pytest.fixture(name="work")
def _work(own_cache, tmp_path, monkeypatch):    # pylint: disable=unused-argument
    """A Work whose make is a Make, with an empty source and one question recorded."""
    origin, temp = tmp_path / "origin", tmp_path / "temp"
    origin.mkdir()
    temp.mkdir()
    made = tree.Work("small", origin, temp)
    made.make = Make()
    monkeypatch.setattr(made, "_make_image", lambda: None)
    monkeypatch.setattr(kernel, "toolchain", lambda: ["gcc 12"])
    (temp / "questions.json").write_text(json.dumps(record("-v", out="12\n")) + "\n")
    return made


def test_two_equal_installs_are_the_reference(work):
    sum_of = {text: hashlib.sha256(text.encode()).hexdigest() for text in ("kernel", "module")}
    assert work.record() == (f"{sum_of['kernel']}  ./boot/vmlinuz\n"
                             f"{sum_of['module']}  ./root/a.ko\n")
    assert (work.facts["questions"], work.facts["installed"]) == (1, 2)
    assert ask(work.temp / "bin" / "gcc", "-v") == ("12\n", "", 0)


@pytest.mark.parametrize("which", [0, 1])
def test_two_installs_that_differ_are_refused(work, which):
    work.make.module[which] = "other"
    with pytest.raises(errors.UserError, match="two installs differ") as caught:
        work.record()
    assert caught.value.code == errors.BUILD_FAILED


@pytest.mark.parametrize("which", [0, 1])
@pytest.mark.parametrize("goal", ["vmlinux", "install", "modules_install"])
def test_an_up_to_date_tree_makes_nothing(work, which, goal):
    work.make.said[(which, goal)] = "  CALL    x\n  LD      vmlinux\n"
    with pytest.raises(errors.UserError, match="not up to date.*\n  LD      vmlinux$") as caught:
        work.record()
    assert caught.value.code == errors.BUILD_FAILED


def test_the_compiler_is_asked_first_and_done_without_then(work):
    work.record()
    assert [(goal, cwd) for goal, cwd, _env, _words in work.make.calls] == [
        (goal, work.served) for goal in ("vmlinux", "install", "modules_install")] * 2
    fronts = [env["PATH"].split(":") for _goal, _cwd, env, _words in work.make.calls]
    assert [front[0] for front in fronts] == (
        [str(work.temp / "recorder")] * 3 + [str(work.temp / "bin")] * 3)
    assert not any("/usr/lib/ccache" in front for front in fronts)


@pytest.fixture(name="configured")
def _configured(work, monkeypatch, tmp_path):
    """configured(wanted, got): the Work behind compile(), whose Kconfig gave `got`."""
    def compile_(wanted, got):
        (tmp_path / "wanted").write_text(wanted)
        monkeypatch.setattr(tree, "config_file", lambda _size: tmp_path / "wanted")
        (work.origin / ".config").write_text(got)
        work.compile()
        return work
    return compile_


@pytest.mark.parametrize("got, said", [
    ("CONFIG_A=y\n", "CONFIG_B: wanted m, got n"),
    ("CONFIG_A=y\nCONFIG_B=y\n", "CONFIG_B: wanted m, got y"),
    ("# CONFIG_A is not set\nCONFIG_B=m\n", "CONFIG_A: wanted y, got n"),
    ("CONFIG_A=y\nCONFIG_B=m\nCONFIG_C=y\n", "CONFIG_C: wanted n, got y"),
])
def test_a_symbol_that_kconfig_dropped_ends_the_build(configured, work, got, said):
    with pytest.raises(errors.UserError, match=f"Kconfig dropped\n  {said}$") as caught:
        configured("CONFIG_A=y\nCONFIG_B=m\n# CONFIG_C is not set\n", got)
    assert caught.value.code == errors.BUILD_FAILED
    assert [call[0] for call in work.make.calls] == ["allnoconfig"]


def test_a_tree_is_configured_then_built(configured, tmp_path):
    work = configured("CONFIG_A=y\n", "CONFIG_A=y\nCONFIG_D=y\n")
    (first, _, env, _), (second, _, _, words), (third, _, _, again) = work.make.calls
    assert (first, second, third) == ("allnoconfig", f"-j{kernel.jobs()}", "vmlinux")
    assert env["KCONFIG_ALLCONFIG"] == str(tmp_path / "wanted")
    assert words == ("vmlinux", "bzImage", "modules")
    # Alone, as the guest asks for it.
    assert again == ("bzImage",)
    assert cache.read_note("tree-small") == {"steps": 11}


@pytest.fixture(name="shell")
def _shell(tmp_path, monkeypatch):
    """A Work whose make is a shell: make(title, script)."""
    monkeypatch.setattr(tree, "MAKE", ["sh", "-c"])
    made = tree.Work("small", tmp_path, tmp_path)
    made.tree.mkdir()
    return made


@pytest.mark.parametrize("status", [1, 2, 127])
def test_a_make_that_fails_ends_the_build(shell, status):
    with pytest.raises(errors.UserError, match="compile failed\n(.*\n)*it broke$") as caught:
        shell.make("compile", f"echo it broke; exit {status}")
    assert caught.value.code == errors.BUILD_FAILED


def test_what_make_printed_is_that_of_this_call(shell):
    shell.make("first", "echo '  CC      a.o'")
    text, seen = shell.make("second", "echo '  INSTALL b'; pwd")
    assert seen == 1
    assert text.splitlines()[1:] == ["  INSTALL b", str(shell.tree)]
    assert tree.rebuilt(text) == []


@pytest.mark.parametrize("step", ["compile", "stage", "record", "pack"])
def test_the_log_of_a_build_that_failed_is_kept(own_cache, tmp_path, monkeypatch, step):
    def fail(self, *_args):
        self.log.write_text("what make said\n")
        raise errors.UserError("no")
    for name in ("compile", "stage", "record", "pack"):
        monkeypatch.setattr(tree.Work, name, fail if name == step else lambda *_args: None)
    with pytest.raises(errors.UserError, match="no"):
        tree._build("small", tmp_path, tmp_path)    # pylint: disable=protected-access
    assert (own_cache / "failed" / "tree-small.log").read_text() == "what make said\n"


# ---- what makes an entry of the cache another one ----

@pytest.fixture(name="key")
def _key(tmp_path, monkeypatch):
    """key(): the key under which build("small") looks for its entry."""
    seen = []

    def entry(kind, name, material, _build):
        assert (kind, name) == ("tree", "small")
        seen.append(cache.key12(material))
        return tmp_path
    for name in ("tree.py", "standin.py", "cpio.py"):
        (tmp_path / name).write_text(f"# {name}\n")
    (tmp_path / "small.config").write_text("CONFIG_A=y\n")
    (tmp_path / "facts.json").write_text('{"objects": 5}\n')
    monkeypatch.setattr(tree, "__file__", str(tmp_path / "tree.py"))
    monkeypatch.setattr(tree, "config_file", lambda size: tmp_path / f"{size}.config")
    monkeypatch.setattr(source, "debian", lambda: tmp_path)
    monkeypatch.setattr(source, "identity", lambda _origin: "6.1.1")
    monkeypatch.setattr(kernel, "toolchain", lambda: ["gcc 12"])
    monkeypatch.setattr(cache, "entry", entry)

    def ask_for_it():
        assert tree.build("small") == tree.Tree(tmp_path, {"objects": 5})
        return seen[-1]
    return ask_for_it


def test_a_tree_is_built_once(key):
    assert key() == key()


@pytest.mark.parametrize("name", ["small.config", "standin.py", "tree.py", "cpio.py"])
def test_a_tree_is_built_anew_when_a_file_behind_it_changed(key, tmp_path, name):
    before = key()
    (tmp_path / name).write_text("another\n")
    assert key() != before


@pytest.mark.parametrize("module, name, value", [(source, "identity", "6.1.2"),
                                                 (kernel, "toolchain", ["gcc 13"])])
def test_a_tree_is_built_anew_when_its_makers_changed(key, monkeypatch, module, name, value):
    before = key()
    monkeypatch.setattr(module, name, lambda *_args: value)
    assert key() != before
