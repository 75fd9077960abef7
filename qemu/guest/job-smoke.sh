#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# Everyday work while the kernel's own allocations go through a backend: processes,
# file systems, the network, modules that come and go; then the counters and checks,
# on/off cycles, off for good, and out. Settings: SMOKE_BACKEND,
# SMOKE_EXECS, SMOKE_CHUNKS, SMOKE_CYCLES, SMOKE_HELD (objects that may stay out).
# SMOKE_LOAD=none leaves memtb out: that tries the work itself.
. /memtb/lib.sh

work=/tmp/smoke
churners=
bare=
[ "$SMOKE_LOAD" != none ] || bare=yes

# Background work on the other processors, for as long as the file `churn` is there.
churn() {
	while [ -e "$work/churn" ]; do
		mkdir -p "$work/churn.$1"
		(cd "$work/churn.$1" && seq 1 60 | xargs -n1 /bin/touch && cp -r . "../churned.$1" &&
			find "../churned.$1" -type f -exec md5sum {} \; >/dev/null)
		rm -rf "$work/churn.$1" "$work/churned.$1"
	done
}

start_churn() {
	touch "$work/churn"
	number=1
	while [ "$number" -lt "$(grep -c ^processor /proc/cpuinfo)" ]; do
		churn "$number" >/dev/null 2>&1 &
		churners="$churners $!"
		number=$((number + 1))
	done
}

stop_churn() {
	rm -f "$work/churn"
	for process in $churners; do
		wait "$process"
	done
	churners=
}

# Every line that comes out is a process that ran and could write. On a busy host this
# takes minutes: who watches shall see that the guest is alive.
smoke_exec() {
	ran=0
	for chunk in $(seq 1 "$SMOKE_CHUNKS"); do
		from=$((SMOKE_EXECS * (chunk - 1) / SMOKE_CHUNKS + 1))
		lines=$(seq "$from" $((SMOKE_EXECS * chunk / SMOKE_CHUNKS)) | xargs -n1 /bin/echo | wc -l)
		ran=$((ran + lines))
		echo "smoke: $ran of $SMOKE_EXECS processes"
	done
	if [ "$ran" -eq "$SMOKE_EXECS" ]; then
		result smoke_exec pass "execs=$ran"
	else
		result smoke_exec fail "execs=$ran" "wanted=$SMOKE_EXECS"
	fi
}

sums() {
	(cd "$1" && find . -type f | sort | xargs md5sum)
}

make_tree() {
	mkdir -p "$1" || return
	for dir in a b c d/e/f g/h; do
		mkdir -p "$1/$dir" || return
		seq 1 40 | while read -r name; do
			seq "$name" 400 >"$1/$dir/file$name" || return
		done
		ln -s "file1" "$1/$dir/symlink"
		ln "$1/$dir/file2" "$1/$dir/hardlink" || return
	done
}

# Copies, moves and links: the sums of the last copy must be those of the first tree.
work_tree() {
	make_tree "$1/tree" || return
	sums "$1/tree" >"$work/sums.first"
	cp -a "$1/tree" "$1/copy" && mv "$1/copy" "$1/moved" && rm -rf "$1/tree" &&
		cp -r "$1/moved" "$1/last" && rm -rf "$1/moved" || return
	sums "$1/last" >"$work/sums.last"
	cmp "$work/sums.first" "$work/sums.last" && rm -rf "$1/last"
}

smoke_fs() {
	work_tree "$work" || return
	for round in $(seq 1 "${1:-3}"); do
		mount -t tmpfs tmpfs "$work/tmpfs" && work_tree "$work/tmpfs" &&
			umount "$work/tmpfs" || return
		mount -t ext4 -o loop /memtb/ext4.img "$work/ext4" && work_tree "$work/ext4" &&
			sync && echo "$round" >/proc/sys/vm/drop_caches &&
			umount "$work/ext4" || return
	done
}

serve() {
	mkdir -p "$work/www"
	seq 1 30000 >"$work/www/numbers"
	httpd -f -p 127.0.0.1:8080 -h "$work/www" &
	server=$!
	until wget -q -O /dev/null http://127.0.0.1:8080/numbers 2>/dev/null; do
		sleep 0.1
	done
}

fetch_many() {
	for round in $(seq 1 "$1"); do
		wget -q -O "$work/fetched" http://127.0.0.1:8080/numbers &&
			cmp "$work/fetched" "$work/www/numbers" || return
		echo "$round" | nc 127.0.0.1 8080 >/dev/null
	done
}

smoke_net() {
	serve
	fetch_many "${1:-30}"
	net_status=$?
	kill "$server"
	wait "$server"
	return "$net_status"
}

smoke_modules() {
	for round in $(seq 1 "${1:-20}"); do
		insmod /memtb/memtb_visitor.ko && insmod /memtb/memtb_visitor_user.ko || return
		# One module needs the other: it must not go first.
		rmmod memtb_visitor 2>/dev/null && return 10
		rmmod memtb_visitor_user && rmmod memtb_visitor || return "$round"
	done
}

# no_violations NAME COUNT
no_violations() {
	if [ "$2" = 0 ]; then
		result "$1" pass violations=0
	else
		result "$1" fail "violations=${2:-unreadable}"
	fi
}

smoke_coverage() {
	permille=$(live_value coverage_permille)
	status=fail
	[ "${permille:-0}" -ge 950 ] && status=pass
	result smoke_coverage "$status" "permille=${permille:-unreadable}" \
		"taken=$(live_value alloc_taken)" "native=$(live_value alloc_native)" \
		"fallback=$(live_value alloc_fallback)" \
		"frees_taken=$(live_value free_taken)" "frees_native=$(live_value free_native)"
}

little_work() {
	seq 1 100 | xargs -n1 /bin/echo >/dev/null
	cp -r /memtb "$work/memtb" && rm -rf "$work/memtb"
}

smoke_cycles() {
	for round in $(seq 1 "$SMOKE_CYCLES"); do
		echo off >"$MEMTB_DEBUGFS/live" || return
		little_work
		echo takeover >"$MEMTB_DEBUGFS/live" || return "$round"
		little_work
		[ "$(live_value mode)" = takeover ] || return
	done
}

# A cache that is made after the switch is native until memtb has seen it, soon after.
smoke_late() {
	insmod /memtb/memtb_visitor.ko || return
	for round in $(seq 1 50); do
		echo 1 >/sys/module/memtb_visitor/parameters/visit || return
		grep -q '^cache memtb_visitor_typesafe ' "$MEMTB_DEBUGFS/live" && break
		sleep 0.1
	done
	rmmod memtb_visitor && [ "$round" -lt 50 ]
}

# After the switch nothing more is taken, whatever runs.
smoke_off() {
	echo off >"$MEMTB_DEBUGFS/live" || return
	taken=$(live_value alloc_taken)
	little_work
	[ "$(live_value alloc_taken)" = "$taken" ]
}

drop_caches() {
	# What was used of late gets another chance, once or twice.
	for round in 1 2 3 4; do
		echo 3 >/proc/sys/vm/drop_caches
	done
}

# A short visit, with every second page refused to the heap: what it cannot serve the
# native allocator must. Nothing in the kernel has had the time to keep an object for
# good, so that memtb must get out altogether.
in_and_out() {
	load_takeover fail_page=2
	little_work
	fallback=$(live_value alloc_fallback)
	check smoke_fallback [ "$fallback" -gt 0 ]
	no_violations smoke_fallback_verify "$(live_value violations)"
	echo off >"$MEMTB_DEBUGFS/live"
	drop_caches
	memtb_unload
}

# After long work a kernel thread born on the way may keep some objects until it ends,
# minutes later: then memtb has to stay, to say so, and to have no more than these.
smoke_leave() {
	phase leave
	if memtb_drain 10; then
		rmmod memtb
		result smoke_leave pass how=removed
		return
	fi
	send_file held "$MEMTB_DEBUGFS/live"
	out=$(live_value live_objects)
	held=$(awk '$1 == "cache" && $5 > 0 { printf "%s:%d,", $2, $5 }' "$MEMTB_DEBUGFS/live")
	if rmmod memtb 2>/dev/null || [ "$out" -gt "$SMOKE_HELD" ]; then
		result smoke_leave fail "objects_out=$out" "held=$held"
	else
		may_stay memtb
		result smoke_leave pass how=held "objects_out=$out" "held=$held"
	fi
}

load_takeover() {
	memtb_load "backend=$SMOKE_BACKEND" live=takeover debug=verify "$@"
}

evidence() {
	send_file live "$MEMTB_DEBUGFS/live"
	send_file stats "$MEMTB_DEBUGFS/heaps/default/stats"
	send_file slabinfo "$MEMTB_DEBUGFS/heaps/default/slabinfo"
}

# What the kernel makes at the first mount, connection or module and keeps for good shall
# not be memtb's: it would keep memtb.ko for good, too.
warm_up() {
	ip link set lo up
	# Sockets in TIME_WAIT would be out for a minute.
	echo 0 >/proc/sys/net/ipv4/tcp_max_tw_buckets
	# Above 4095 the table of process ids grows by a node that never goes.
	echo 4000 >/proc/sys/kernel/pid_max
	# Held open: what drop_caches itself is reached by cannot be dropped by it.
	exec 9>/proc/sys/vm/drop_caches
	if ! smoke_fs 1 || ! smoke_net 1 || ! smoke_modules 1; then
		die "the work fails without memtb"
	fi
}

mkdir -p "$work/ext4" "$work/tmpfs"
phase warm-up
warm_up
[ -n "$bare" ] || in_and_out
phase load
[ -n "$bare" ] || load_takeover
start_churn
phase exec
smoke_exec
phase fs
check smoke_fs smoke_fs
phase net
check smoke_net smoke_net
phase modules
check smoke_modules smoke_modules
stop_churn
[ -z "$bare" ] || exit 0

phase late
check smoke_late smoke_late
phase counters
evidence
no_violations smoke_verify "$(live_value violations)"
smoke_coverage
no_violations smoke_check "$(heap_violations)"
phase cycles
start_churn
check smoke_cycles smoke_cycles
stop_churn
no_violations smoke_cycles_verify "$(live_value violations)"
phase off
check smoke_off smoke_off
rm -rf "$work"
drop_caches
# A module's memory changes its protection: that purges the kernel's unmapped areas.
smoke_modules 1
smoke_leave
