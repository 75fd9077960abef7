#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# Everything that memtb.ko has to refuse, and that it left nothing behind: the file
# `said` has what was tried, the exit status and the log of each.
. /memtb/lib.sh

try() {
	echo "try: $*"
	dmesg -c >/dev/null
	"$@" 2>/dev/null
	echo "status: $?"
	dmesg | sed -n 's/^\[[^]]*\] memtb: /log: /p'
}

# A redirection that fails is no command that fails: hence a function.
put() {
	echo "$1" >"$2"
}

insmod_lines() {
	insmod /memtb/memtb.ko 'backend="slob
junk"'
}

put_nul() {
	printf '%s\0junk' "$1" >"$2"
}

try_all() {
	for words in backend= backend=slub backend=SLOB backend=slob+stack \
		backend=slob-new+stak backend=slob-new+stack+ live=on live=draining debug=all \
		debug=verify,x max_pages=-1 max_pages=1.5 max_pages=2147483648 \
		max_pages=99999999999999999999 fail_page=x fail_page=; do
		try insmod /memtb/memtb.ko "$words"
	done
	for words in live=takeover debug=verify max_pages=1 fail_page=1; do
		try insmod /memtb/memtb.ko backend=null "$words"
		try insmod /memtb/memtb.ko backend=kernel "$words"
	done
	try insmod_lines
	insmod /memtb/memtb.ko backend=slob
	for words in on draining 'takeover off' '' offoffoffoffoffoffoffoffoffoffoff; do
		try put "$words" "$MEMTB_DEBUGFS/live"
	done
	try put_nul off "$MEMTB_DEBUGFS/live"
	for words in 2 abc ''; do
		try put "$words" "$MEMTB_DEBUGFS/heaps/default/shrink"
	done
	try put 'kmalloc-32 120 60 8' "$MEMTB_DEBUGFS/heaps/default/slabinfo"
	rmmod memtb
	insmod /memtb/memtb.ko backend=slab
	for words in '' kmalloc-32 'kmalloc-32 120 60' 'kmalloc-32 120 60 8 8' \
		'kmalloc-32 4294967416 60 8' 'kmalloc-32 120 4294967356 8' \
		'kmalloc-32 120 60 4294967304' 'kmalloc-32 120 60 8x' 'kmalloc-32 -1 60 8' \
		'kmalloc-32 2049 60 8' 'kmalloc-32 120 121 8' 'kmalloc-32 120 0 8' \
		'kmalloc-32 120 60 65' 'kmalloc-33 120 60 8' ' kmalloc-32'; do
		try put "$words" "$MEMTB_DEBUGFS/heaps/default/slabinfo"
	done
	for words in 'kmalloc-32 120 60 8' 'kmalloc-64  2048   2048 64 '; do
		put "$words" "$MEMTB_DEBUGFS/heaps/default/slabinfo" ||
			echo "try: $words after all"
	done
	rmmod memtb
	insmod /memtb/memtb.ko backend=slob
	echo 0 >/proc/sys/kernel/ftrace_enabled
	for words in takeover pass takeover; do
		try put "$words" "$MEMTB_DEBUGFS/live"
	done
	echo 1 >/proc/sys/kernel/ftrace_enabled
	# What was refused must not have spoilt what is allowed.
	for words in pass off takeover; do
		echo "$words" >"$MEMTB_DEBUGFS/live" || echo "try: $words after all"
	done
	memtb_drain 20
	rmmod memtb
	insmod /memtb/memtb.ko backend=kernel
	try put takeover "$MEMTB_DEBUGFS/live"
	rmmod memtb
}

try_all >/tmp/said
send_file said /tmp/said
memtb_load backend=slob max_pages=5 fail_page=3 debug=verify
memtb_unload
