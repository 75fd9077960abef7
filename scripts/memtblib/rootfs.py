# SPDX-License-Identifier: GPL-2.0
"""Guest user lands as cpio archives: busybox alone, and a small Debian for the install load."""

import subprocess
from pathlib import Path

from . import cache, cpio, paths, progress, setup
from .errors import BUILD_FAILED, MISS, UserError

BUSYBOX = Path("/bin/busybox")
DIRECTORIES = ["bin", "sbin", "usr", "usr/bin", "usr/sbin", "dev", "proc", "sys", "tmp", "etc",
               "mnt", "root", "run", "var", "lib", "lib/modules"]
# The kernel opens /dev/console before anybody can mount devtmpfs.
DEVICES = [("dev/console", 5, 1), ("dev/null", 1, 3)]


def busybox():
    """A cpio with static busybox at /bin/busybox and a link for each of its applets."""
    if not BUSYBOX.is_file():
        raise UserError("busybox is missing: run scripts/memtb setup", MISS)
    key = {"busybox": cache.hash_files(BUSYBOX.parent, [BUSYBOX]), "packer": _packer()}
    return cache.entry("rootfs", "busybox", key, _build_busybox) / "busybox.cpio"


def _packer():
    """This file and the archive writer determine the archives, too."""
    here = Path(__file__).parent
    return cache.hash_files(here, [Path(__file__), here / "cpio.py"])


def _applets():
    result = subprocess.run([BUSYBOX, "--list-full"], capture_output=True, text=True, check=True)
    return sorted(result.stdout.split())


def _build_busybox(temp):
    with open(temp / "busybox.cpio", "wb") as stream:
        writer = cpio.Writer(stream)
        for name in DIRECTORIES:
            writer.directory(name, 0o1777 if name == "tmp" else 0o755)
        for name, major, minor in DEVICES:
            writer.device(name, major, minor)
        writer.file("bin/busybox", BUSYBOX.read_bytes(), 0o755)
        for name in _applets():
            if name != "bin/busybox" and name.rsplit("/", 1)[0] in DIRECTORIES:
                writer.symlink(name, "/bin/busybox")
        writer.close()


# What maintainer scripts would have done: none of them runs when packages are only unpacked.
FILES = {
    "etc/passwd": "root:x:0:0:root:/root:/bin/sh\n_rpc:x:100:65534::/run/rpcbind:/bin/false\n"
                  "statd:x:101:65534::/var/lib/nfs:/bin/false\n"
                  "nobody:x:65534:65534:nobody:/nonexistent:/bin/false\n",
    "etc/group": "root:x:0:\ntty:x:5:\nnogroup:x:65534:\n",
    "etc/nsswitch.conf": "\n".join(
        f"{name}: files" for name in ("passwd", "group", "hosts", "networks", "protocols",
                                      "services", "rpc", "ethers", "netgroup")) + "\n",
    "etc/hosts": "127.0.0.1 localhost memtb\n",
    "etc/hostname": "memtb\n",
    "etc/exports": "",
    "etc/fstab": "",
    "var/lib/nfs/etab": "",
    "var/lib/nfs/rmtab": "",
    "var/lib/nfs/state": "",
}
LINKS = {"usr/bin/awk": "mawk", "etc/mtab": "/proc/self/mounts", "var/run": "/run"}
INSTALL_DIRECTORIES = DIRECTORIES + ["run/rpcbind", "run/lock", "var/tmp", "var/lib/nfs",
                                     "var/lib/nfs/sm", "var/lib/nfs/sm.bak", "proc/fs"]
INSTALL_S = 45


def read_list(path):
    """The words of a manifest, one a line, '#' starts a comment."""
    lines = path.read_text(encoding="utf-8").splitlines()
    return [line.strip() for line in lines if line.strip() and not line.startswith("#")]


def install():
    """The cpio of the Debian user land that make install and NFS need."""
    manifest = read_list(paths.QEMU / "rootfs" / "install.list")
    trim = read_list(paths.QEMU / "rootfs" / "install.trim")
    suite = setup.codename()
    known = [item for item in setup.sources()
             if any(name.split("-")[0] == suite and not name.endswith("-backports")
                    for name in item.get("suites", "").split())]
    key = {"packages": manifest, "trim": trim, "suite": suite, "sources": known,
           "packer": _packer()}
    place = cache.entry("rootfs", "install", key,
                        lambda temp: _build_install(temp, suite, known, manifest, trim))
    return place / "install.cpio"


def _build_install(temp, suite, known, manifest, trim):
    root, log = temp / "root", temp / "mmdebstrap.log"
    apt_source = temp / "host.sources"
    apt_source.write_text(setup.format_sources(known), encoding="utf-8")
    command = ["mmdebstrap", "--mode=chrootless", "--variant=extract", "--architectures=amd64",
               f"--include={','.join(manifest)}", suite, root, apt_source]
    code, _ = progress.run(command, log, "user land from Debian packages", estimate_s=INSTALL_S)
    if code:
        raise UserError(f"mmdebstrap failed:\n{progress.tail(log, 12)}", BUILD_FAILED)
    _finish_root(root, trim)
    with open(temp / "install.cpio", "wb") as stream:
        cpio.pack_tree(root, stream, DEVICES)
    cache.remove_tree(root)


def _finish_root(root, trim):
    for pattern in trim:
        for path in root.glob(pattern):
            cache.remove_tree(path)
    for name in INSTALL_DIRECTORIES:
        (root / name).mkdir(parents=True, exist_ok=True)
    for name, text in FILES.items():
        (root / name).unlink(missing_ok=True)
        (root / name).write_text(text, encoding="utf-8")
    for name, target in LINKS.items():
        cache.remove_tree(root / name)
        (root / name).symlink_to(target)
    for name in ("tmp", "var/tmp"):
        (root / name).chmod(0o1777)
