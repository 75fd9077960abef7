# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=sh
# What jobs in the guest speak to the runner with. File descriptor 3 is the results
# channel; the grammar is in scripts/memtblib/channel.py. Source it: . /memtb/lib.sh

MEMTB_DEBUGFS=/sys/kernel/debug/memtb

# A line goes out in one write, so that jobs in the background cannot tear it.
phase() {
	printf 'phase %s\n' "$1" >&3
}

fact() {
	printf 'fact %s %s\n' "$1" "$2" >&3
}

# result NAME STATUS [key=value ...]; values without blanks.
result() {
	printf 'result %s\n' "$*" >&3
}

# send_file NAME PATH; what changes while it is read (/proc, debugfs) is copied first.
send_file() {
	cp "$2" "/tmp/.send.$$" 2>/dev/null || cat "$2" >"/tmp/.send.$$" || return 1
	printf 'file %s %d\n' "$1" "$(wc -c <"/tmp/.send.$$")" >&3
	cat "/tmp/.send.$$" >&3
	printf '\n' >&3
	rm -f "/tmp/.send.$$"
}

# The job cannot go on; the runner sees the exit status and the missing results.
die() {
	fact died "$*"
	echo "job: $*"
	exit 1
}

# check NAME COMMAND...: the command's exit status becomes the result.
check() {
	check_name=$1
	shift
	if "$@"; then
		result "$check_name" pass
	else
		result "$check_name" fail "status=$?"
	fi
}

# live_value KEY, stats_value KEY: one number out of debugfs.
live_value() {
	sed -n "s/^$1 //p" "$MEMTB_DEBUGFS/live"
}

stats_value() {
	sed -n "s/^$1 //p" "$MEMTB_DEBUGFS/heaps/default/stats"
}

heap_violations() {
	sed -n 's/^violations //p' "$MEMTB_DEBUGFS/heaps/default/check"
}

memtb_load() {
	insmod /memtb/memtb.ko "$@" || die "insmod memtb.ko $*: refused"
}

# memtb_drain SECONDS: off, then wait until the last object is home and the hooks are out.
memtb_drain() {
	[ "$(live_value mode)" = off ] || echo off >"$MEMTB_DEBUGFS/live"
	# The channel frees the buffer of a line when the next one is written.
	phase unload
	drain_left=$(($1 * 5))
	while [ "$(live_value mode)" != off ]; do
		[ "$drain_left" -gt 0 ] || return 1
		drain_left=$((drain_left - 1))
		sleep 0.2
	done
}

# memtb_unload [SECONDS]: drain and remove; a result either way, with what is still out.
memtb_unload() {
	if memtb_drain "${1:-20}" && rmmod memtb; then
		result unload pass
	else
		send_file unload-live "$MEMTB_DEBUGFS/live"
		result unload fail "mode=$(live_value mode)" "objects_out=$(live_value live_objects)"
	fi
}

# Where kmemleak is built in: objects younger than five seconds are no leaks to it.
scan_kmemleak() {
	if [ ! -e /sys/kernel/debug/kmemleak ]; then
		fact kmemleak none
		return
	fi
	sleep 6
	echo scan >/sys/kernel/debug/kmemleak
	sleep 6
	echo scan >/sys/kernel/debug/kmemleak
	leaks=$(grep -c '^unreferenced object' /sys/kernel/debug/kmemleak)
	fact kmemleak "$leaks"
	[ "$leaks" = 0 ] || send_file kmemleak /sys/kernel/debug/kmemleak
}

# may_stay MODULE...: what the job leaves loaded on purpose.
may_stay() {
	fact may-stay "$*"
}

# What init says at the end of every run, the last of it on the console.
epilogue() {
	scan_kmemleak
	fact taint "$(cat /proc/sys/kernel/tainted)"
	left=$(sed -n 's/^\(memtb[a-z_]*\) .*/\1/p' /proc/modules | tr '\n' ' ')
	fact modules-left "${left:-none}"
	echo '<1>memtb-guest: end' >/dev/kmsg
}
