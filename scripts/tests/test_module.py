# SPDX-License-Identifier: GPL-2.0
"""What memtb.ko refuses: each with an error, one line, and the valid choices in it."""

import re

import pytest
from memtblib import boot, kernel, module, paths, rootfs

CHOICES = {
    r"insmod \S+ backend=\w*": r"no backend .* valid are null, kernel, slob, slob-new\S+s\], ",
    r"insmod \S+ backend=[\w-]+\+\S*": r"no option .* slob, slob-new\[\+stack\]\[\+classes\], ",
    r"insmod \S+ live=\w+": r"valid are off, pass, takeover$",
    r"insmod \S+ debug=\S+": r"valid are none, verify$",
    r"insmod \S+ (max|fail)_page\S*": r"valid are whole numbers from 0 to 2147483647$",
    r"insmod \S+ backend=(null|kernel) \S+":
        r"owns no pages: no live=takeover, .* slob takes them$",
    r"insmod_lines": r"=slob\\njunk: .* valid are null, kernel, slob, slob-new\S+classes\], ",
    r"put (on|draining|takeover off|(off)*) \S+/live": r"valid are off, pass, takeover$",
    r"put_nul off \S+/live": r"valid are off, pass, takeover$",
    r"put (2|abc|) \S+/shrink": r"write 1$",
    r"put kmalloc-32 120 60 8 \S+/slabinfo": r"backend slob has nothing to tune$",
    r"put kmalloc-33 120 60 8 \S+/slabinfo": r"no cache kmalloc-33, slabinfo lists them$",
    r"put (| ?kmalloc-32(?! 120 60 8 [^8]).*) \S+/slabinfo":
        r"write NAME LIMIT BATCHCOUNT SHARED, 1 <= BATCHCOUNT <= LIMIT <= 2048, SHARED <= 64$",
    r"put (takeover|pass) \S+/live": r"owns no pages|kernel.ftrace_enabled has to be 1",
}


def said(name, job, where):
    """[(command, status, lines of the log)] of a guest with this kernel and job."""
    flavour = kernel.flavour(name)
    files = {"/memtb/job": job, "/memtb/memtb.ko": module.build(flavour).memtb_ko}
    outcome = boot.run(boot.Job(
        flavour=flavour, job="/memtb/job", rootfs=[rootfs.busybox()], files=files,
        expect=["unload"], results_root=where))
    assert outcome.verdict == "PASS", outcome.reasons
    text = outcome.files["said"].read_text()
    return [(command, int(status), re.findall("^log: (.*)", log, re.M)) for command, status, log in
            re.findall(r"^try: (.*)\nstatus: (\d+)\n((?:log: .*\n)*)", text, re.M)]


@pytest.fixture(scope="module", name="tries")
def _tries(tmp_path_factory):
    """What was said on UP."""
    return said("x86_64-up", paths.QEMU / "guest" / "job-refuse.sh",
                tmp_path_factory.mktemp("results"))


def test_all_of_it_was_tried(tries):
    assert len(tries) == 16 + 8 + 1 + 6 + 3 + 1 + 15 + 3 + 1


def test_nothing_was_accepted(tries):
    assert [command for command, status, _ in tries if status == 0] == []


def test_each_was_told_the_valid_choices_in_one_line(tries):
    for command, _, log in tries:
        # busybox's insmod asks twice, by each of the two system calls.
        said = {line for line in log if "out-of-tree" not in line}
        wanted = [line for pattern, line in CHOICES.items() if re.fullmatch(pattern, command)]
        assert len(wanted) == 1, command
        assert len(said) == 1 and re.search(wanted[0], said.pop()), (command, log)


def test_a_kernel_with_kasan_cannot_be_taken_over(tmp_path):
    job = b"""#!/bin/sh
. /memtb/lib.sh
dmesg -c >/dev/null
insmod /memtb/memtb.ko live=takeover
printf 'try: insmod\\nstatus: %d\\n' $? >/tmp/said
dmesg | sed -n 's/.*memtb: /log: /p' >>/tmp/said
send_file said /tmp/said
memtb_load
memtb_unload
"""
    (_, status, log), = said("x86_64-smp-kasan", job, tmp_path)
    assert status
    assert "no KASAN" in {line for line in log if "out-of-tree" not in line}.pop()
