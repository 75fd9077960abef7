#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# Runs memtb's KUnit suites: they run, and print, while memtb_kunit.ko is loaded. What
# they said is read from the console by the runner, between the two lines below.
. /memtb/lib.sh

say() {
	echo "memtb-kunit: $1" >/dev/kmsg
}

[ ! -e /sys/kernel/debug/kcsan ] || echo on >/sys/kernel/debug/kcsan
memtb_load backend=null
phase kunit
say begin
check kunit_load insmod /memtb/memtb_kunit.ko
say end
check kunit_unload rmmod memtb_kunit
memtb_unload
