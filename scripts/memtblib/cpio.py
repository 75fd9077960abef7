# SPDX-License-Identifier: GPL-2.0
"""Initramfs archives (newc) that depend on nothing but their content.

cpio(1) would store the device, inode and date of each file and has to be root to
make device nodes; these few lines store what is given.
"""

import os
import stat

EPOCH = 1577836800      # 2020-01-01, the day on which every guest boots


class Writer:
    """Writes entries in the order given; parents are up to the caller."""

    def __init__(self, stream):
        self.stream = stream
        self.inode = 0

    def _put(self, name, mode, data=b"", mtime=EPOCH, rdev=(0, 0)):
        self.inode += 1
        encoded = os.fsencode(name) + b"\0"
        links = 2 if stat.S_ISDIR(mode) else 1
        fields = (self.inode, mode, 0, 0, links, int(mtime), len(data), 0, 0, *rdev,
                  len(encoded), 0)
        head = b"070701" + b"".join(b"%08X" % field for field in fields)
        self._padded(head + encoded)
        self._padded(data)

    def _padded(self, data):
        self.stream.write(data + b"\0" * (-len(data) % 4))

    def directory(self, name, mode=0o755, mtime=EPOCH):
        """A directory."""
        self._put(name, stat.S_IFDIR | mode, mtime=mtime)

    def file(self, name, data, mode=0o644, mtime=EPOCH):
        """A file with this content."""
        self._put(name, stat.S_IFREG | mode, data, mtime)

    def symlink(self, name, target):
        """A symbolic link."""
        self._put(name, stat.S_IFLNK | 0o777, os.fsencode(target))

    def device(self, name, major, minor, mode=0o600):
        """A character device."""
        self._put(name, stat.S_IFCHR | mode, rdev=(major, minor))

    def parents(self, name, seen):
        """Directories above `name` that are not in the set `seen` yet."""
        parts = name.split("/")[:-1]
        for depth in range(1, len(parts) + 1):
            above = "/".join(parts[:depth])
            if above not in seen:
                seen.add(above)
                self.directory(above)

    def close(self):
        """The trailer; padded so that archives can be concatenated."""
        self.inode = -1
        self._put("TRAILER!!!", 0, mtime=0)
        self.stream.write(b"\0" * (-self.stream.tell() % 512))


def pack_tree(root, stream, devices=(), keep_mtime=False):
    """All of a directory, sorted, owned by root; dates clamped to EPOCH unless kept.

    `devices` are (name, major, minor); nobody but root could make them in the directory.
    """
    writer = Writer(stream)
    for place, dirs, files in os.walk(root):
        dirs.sort()
        for name in sorted(dirs + files):
            path = os.path.join(place, name)
            state = os.lstat(path)
            mtime = state.st_mtime if keep_mtime else min(state.st_mtime, EPOCH)
            inside = os.path.relpath(path, root)
            # Set-uid and group-writable files depend on who unpacked; guests need none.
            mode = stat.S_IMODE(state.st_mode)
            mode &= 0o1777 if mode & stat.S_ISVTX else 0o755
            if stat.S_ISLNK(state.st_mode):
                writer.symlink(inside, os.readlink(path))
            elif stat.S_ISDIR(state.st_mode):
                writer.directory(inside, mode, mtime)
            elif stat.S_ISREG(state.st_mode):
                with open(path, "rb") as data:
                    writer.file(inside, data.read(), mode, mtime)
    for name, major, minor in devices:
        writer.device(name, major, minor)
    writer.close()
