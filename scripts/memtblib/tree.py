# SPDX-License-Identifier: GPL-2.0
"""The served tree: a kernel built where its source lies, as one ext4 image for the guest.

Built in place, every path that kbuild writes down is relative: the tree may be mounted
anywhere. Dates are set afterwards, one for what was there and a later one for what was
made, so that they do not tell the building machine's clock. Only what the build used is
served. What the guest will do is done here first, on a copy of what it gets and with the
compiler's stand-in: nothing may be rebuilt, and what was installed is the reference.
"""

import dataclasses
import hashlib
import json
import os
import re
import shutil
import subprocess
from pathlib import Path

from . import cache, cpio, kernel, paths, progress, source, standin
from .errors import BUILD_FAILED, MISS, UserError

SIZES = ("small", "full")
# The only variables that may differ between host and guest are the two install paths.
MAKE = ["make", "ARCH=i386", "LOCALVERSION=", "KBUILD_BUILD_TIMESTAMP=2005-12-10",
        "KBUILD_BUILD_USER=memtb", "KBUILD_BUILD_HOST=memtb", "KBUILD_BUILD_VERSION=1",
        "INSTALLKERNEL=none"]
CHECK = ["vmlinux", "bzImage"]
SOURCE_DATE, BUILD_DATE = 1104537600, 1134172800    # 2005-01-01, 2005-12-10
CPU_S = {"small": 300, "full": 800}
STEPS = {"small": 620, "full": 1450}
IMAGE_FLAGS = ["-q", "-F", "-t", "ext4", "-b", "4096", "-m", "0", "-O", "^has_journal",
               "-U", "6d656d74-6200-4000-8000-000000000003", "-E",
               "hash_seed=6d656d74-6200-4000-8000-000000000004,lazy_itable_init=0"]
# Kbuild prints a word in capitals for each thing that it makes; these it says each time.
REBUILT = re.compile(r"\s+(?!(?:CALL|CHK|DEPMOD|DESCEND|INSTALL)\s)[A-Z][A-Z0-9_]*(\s|$)")
# Read without being a dependency in any .cmd file: what kbuild itself is made of.
KBUILD_FILE = re.compile(r"(^|/)(Makefile|Kbuild|Kconfig)[^/]*$|^scripts/|\.(tbl|bc|sh|awk)$|"
                         r"^arch/x86/include/|^include/(uapi/)?asm-generic/")
# depmod's binary files depend on its version; the text files beside them say the same.
UNCHECKED = re.compile(r"/modules\.[a-z.]*bin$")


@dataclasses.dataclass(frozen=True)
class Tree:
    """A built tree, ready to be served."""

    dir: Path
    facts: dict

    @property
    def cpio(self):
        """The archive for the guest: image, stand-in and check sums."""
        return self.dir / "tree.cpio"


def config_file(size):
    """The configuration of the served kernel."""
    return paths.QEMU / "tree" / f"{size}.config"


def build(size="small"):
    """The tree of this size, built when it is not in the cache."""
    if size not in SIZES:
        raise UserError(f"no tree '{size}' (choose from {', '.join(SIZES)})", MISS)
    origin = source.debian()
    here = Path(__file__).parent
    key = {"source": source.identity(origin), "toolchain": kernel.toolchain(),
           "config": config_file(size).read_text(encoding="utf-8"),
           "made by": cache.hash_files(here, [here / name for name in
                                              ("tree.py", "standin.py", "cpio.py")])}
    place = cache.entry("tree", size, key, lambda temp: _build(size, origin, temp))
    facts = json.loads((place / "facts.json").read_text(encoding="utf-8"))
    return Tree(place, facts)


def _build(size, origin, temp):
    work = Work(size, origin, temp)
    try:
        work.compile()
        work.stage()
        work.pack(work.record())
    except UserError:
        kept = cache.root() / "failed" / f"tree-{size}.log"
        kept.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(work.log, kept)
        raise
    for scratch in (work.tree, work.served, work.image, temp / "reference", temp / "recorder"):
        cache.remove_tree(scratch)


def environment(front=None):
    """What make gets; `front` comes first in PATH."""
    env = kernel.make_environment()
    before = [str(front)] if front else []
    env["PATH"] = ":".join([*before, "/usr/lib/ccache", env.get("PATH", "")])
    return env


def checked_environment(front):
    """As in the guest: no compiler but the stand-in or recorder in front."""
    env = environment(front)
    env["PATH"] = ":".join(word for word in env["PATH"].split(":") if word != "/usr/lib/ccache")
    return env


def used_sources(tree, outputs):
    """Source files named by the build's own .cmd files."""
    found = set()
    for name in outputs:
        if name.endswith(".cmd"):
            text = (tree / name).read_text(encoding="utf-8", errors="replace")
            found.update(word.rstrip(":") for word in text.split() if "/" in word or "." in word)
    return {os.path.normpath(name) for name in found if (tree / name).is_file()}


def list_files(root):
    """Relative names of all files and links."""
    names = set()
    for place, _dirs, files in os.walk(root):
        names.update(os.path.relpath(os.path.join(place, name), root) for name in files)
    return names


def rebuilt(log_text):
    """Lines of a make log in which something is made."""
    return [line.strip() for line in log_text.splitlines() if REBUILT.match(line)]


def sums(root):
    """sha256sum lines for all installed files, sorted by name."""
    lines = []
    for name in sorted(list_files(root)):
        path = Path(root) / name
        if not path.is_symlink() and not UNCHECKED.search("/" + name):
            lines.append(f"{hashlib.sha256(path.read_bytes()).hexdigest()}  ./{name}")
    return "\n".join(lines) + "\n"


class Work:
    """The steps of one build, in a directory of the cache."""

    def __init__(self, size, origin, temp):
        self.size, self.origin, self.temp = size, origin, temp
        self.tree, self.served = temp / "build", temp / "served"
        self.image, self.log = temp / "tree.ext4", temp / "build.log"
        self.facts = {"size": size}

    def make(self, title, *words, cwd=None, env=None, **options):
        """Run make with the fixed variables; what it printed."""
        start = self.log.stat().st_size if self.log.exists() else 0
        code, seen = progress.run([*MAKE, *words], self.log, f"served tree: {title}",
                                  env=env or environment(), cwd=cwd or self.tree, **options)
        with open(self.log, encoding="utf-8", errors="replace") as log:
            log.seek(start)
            text = log.read()
        if code:
            raise UserError(f"served tree: {title} failed\n" + progress.tail(self.log, 15),
                            BUILD_FAILED)
        return text, seen

    def compile(self):
        """Configure and build, in place, in a copy made of links."""
        subprocess.run(["cp", "-al", self.origin, self.tree], check=True)
        wanted = config_file(self.size)
        self.make("configure", "allnoconfig",
                  env=dict(environment(), KCONFIG_ALLCONFIG=str(wanted)))
        missing = kernel.dropped(wanted.read_text(encoding="utf-8"),
                                 (self.tree / ".config").read_text(encoding="utf-8"))
        if missing:
            raise UserError("served tree: Kconfig dropped\n  " + "\n  ".join(missing),
                            BUILD_FAILED)
        note = f"tree-{self.size}"
        _, seen = self.make("compile", f"-j{kernel.jobs()}", *CHECK, "modules",
                            steps=cache.read_note(note, {}).get("steps", STEPS[self.size]),
                            estimate_s=CPU_S[self.size] / kernel.jobs())
        cache.write_note(note, {"steps": seen})
        # A few files are made only when these are the only goals (vmlinux.symvers).
        self.make("bring up to date", *CHECK)

    def stage(self):
        """Copy what is served and set its dates."""
        originals = list_files(self.origin)
        outputs = list_files(self.tree) - originals
        sources = used_sources(self.tree, outputs) & originals
        sources |= {name for name in originals if KBUILD_FILE.search(name)}
        for names, date in ((sources, SOURCE_DATE), (outputs, BUILD_DATE)):
            for name in sorted(names):
                self._copy(name, date)
        for place, _dirs, _files in os.walk(self.served, topdown=False):
            os.utime(place, (BUILD_DATE, BUILD_DATE))
        self.facts.update(
            files=len(sources) + len(outputs),
            objects=sum(name.endswith(".o") for name in outputs),
            modules=sum(name.endswith(".ko") for name in outputs),
            version=(self.tree / "include/config/kernel.release").read_text("ascii").strip())

    def _copy(self, name, date):
        target = self.served / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(self.tree / name, target, follow_symlinks=False)
        os.utime(target, (date, date), follow_symlinks=False)

    def _everything(self, title, front, install):
        """What one run in the guest does; the log of it."""
        env = checked_environment(front)
        boot, root = install / "boot", install / "root"
        boot.mkdir(parents=True)
        text, _ = self.make(f"{title}, check", *CHECK, cwd=self.served, env=env)
        text += self.make(f"{title}, install", "install", f"INSTALL_PATH={boot}",
                          cwd=self.served, env=env)[0]
        text += self.make(f"{title}, modules", "modules_install", f"INSTALL_MOD_PATH={root}",
                          cwd=self.served, env=env)[0]
        made = rebuilt(text)
        if made:
            raise UserError("served tree: not up to date, make wants to rebuild\n  "
                            + "\n  ".join(made[:10]), BUILD_FAILED)

    def record(self):
        """Image first, then ask the compiler, then do without it. The expected sums."""
        self._make_image()
        log, recorder = self.temp / "questions.json", self.temp / "recorder"
        real = shutil.which("gcc", path="/usr/bin:/bin:/usr/local/bin")
        standin.write_recorder(recorder, real, log)
        reference = self.temp / "reference"
        self._everything("record the compiler", recorder, reference / "1")
        records = standin.read_records(log)
        standin.write(self.temp / "bin" / "gcc", records, kernel.toolchain()[0])
        self._everything("try the stand-in", self.temp / "bin", reference / "2")
        expected = sums(reference / "1")
        if not expected.strip():
            raise UserError("served tree: nothing was installed", BUILD_FAILED)
        if sums(reference / "2") != expected:
            raise UserError("served tree: two installs differ", BUILD_FAILED)
        self.facts.update(questions=len(standin.unify(records)),
                          installed=len(expected.splitlines()))
        return expected

    def _make_image(self):
        used = sum(-(-(self.served / name).lstat().st_size // 4096) + 1
                   for name in list_files(self.served))
        blocks = (used * 5 // 4 + 4096) // 256 * 256
        command = ["mke2fs", *IMAGE_FLAGS, "-N", str(self.facts["files"] * 2), "-d",
                   str(self.served), str(self.image), str(blocks)]
        env = dict(os.environ, E2FSPROGS_FAKE_TIME=str(BUILD_DATE))
        result = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
        if result.returncode:
            raise UserError(f"mke2fs: {result.stderr.strip()}", MISS)
        self.facts["image_bytes"] = blocks * 4096

    def pack(self, expected):
        """The archive for the guest, and the facts."""
        with open(self.temp / "tree.cpio", "wb") as stream:
            writer, seen = cpio.Writer(stream), set()
            for name, data, mode in (
                    ("memtb/bin/gcc", (self.temp / "bin" / "gcc").read_bytes(), 0o755),
                    ("memtb/installed.sha256", expected.encode(), 0o644),
                    ("memtb/tree.ext4", self.image.read_bytes(), 0o644)):
                writer.parents(name, seen)
                writer.file(name, data, mode)
            writer.close()
        text = json.dumps(self.facts, indent=1, sort_keys=True)
        (self.temp / "facts.json").write_text(text + "\n", encoding="utf-8")
