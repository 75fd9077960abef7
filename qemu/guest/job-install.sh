#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# What `make install` was in 2005: the up-to-date check of a whole built kernel tree on
# NFS, then install and modules_install, INSTALL_RUNS times.
# Server and client are this one guest. The kernel lives on memtb from before NFS starts.
# Settings: INSTALL_MEMTB (arguments of insmod, or none), INSTALL_MAKE, INSTALL_RUNS,
# INSTALL_SMP (empty for one processor).
. /memtb/lib.sh

# The server's place, the client's, and where the kernel is installed.
served=/srv/linux
tree=/usr/src/linux
root=/tmp/installed

# Never from memory: the counters of a phase are the difference of two looks.
counters() {
	[ "$INSTALL_MEMTB" != none ] || return 0
	send_file "stats-$1" "$MEMTB_DEBUGFS/heaps/default/stats"
	send_file "live-$1" "$MEMTB_DEBUGFS/live"
}

start_server() {
	mkdir -p "$served" "$tree" /run/rpcbind
	mount -o loop,noatime /memtb/tree.ext4 "$served" || die "cannot mount the image"
	mount -t nfsd nfsd /proc/fs/nfsd || die "no nfsd"
	rpcbind -w || die "rpcbind"
	echo "$served 127.0.0.1(rw,async,no_root_squash,no_subtree_check,fsid=1)" >/etc/exports
	exportfs -ra || die "exportfs"
	rpc.nfsd -N 4 4 || die "rpc.nfsd"
	rpc.mountd -N 4 || die "rpc.mountd"
	mount.nfs "127.0.0.1:$served" "$tree" -o vers=3,nolock,tcp || die "mount.nfs"
}

# step LABEL WORDS...: one make, timed; what it prints is the evidence when it fails.
step() {
	label=$1
	shift
	# The settings are words without blanks.
	# shellcheck disable=SC2086
	/memtb/timed "$label" $INSTALL_MAKE "$@" >/tmp/make.log 2>&1 4>>/tmp/times && return
	send_file "$label.log" /tmp/make.log
	die "$label: make failed"
}

# Nothing may have been made but what is made each time.
up_to_date() {
	if grep -E '^ +[A-Z][A-Z0-9_]*( |$)' /tmp/make.log |
		grep -vE '^ +(CALL|CHK|DEPMOD|DESCEND|INSTALL) '; then
		send_file "$1.log" /tmp/make.log
		die "$1: the tree was not up to date"
	fi
}

installed() {
	(cd "$root" && find . -type f ! -name 'modules.*bin' | LC_ALL=C sort |
		xargs sha256sum) >/tmp/sums
	cmp /tmp/sums /memtb/installed.sha256 || send_file "$1.sums" /tmp/sums
	cmp -s /tmp/sums /memtb/installed.sha256
}

one_run() {
	phase "$1"
	rm -rf "$root"
	mkdir -p "$root/boot" "$root/root"
	step "$1.check" vmlinux bzImage
	up_to_date "$1"
	step "$1.install" install "INSTALL_PATH=$root/boot"
	step "$1.modules" modules_install "INSTALL_MOD_PATH=$root/root"
	counters "$1"
	check "$1" installed "$1"
}

phase load
insmod /memtb/memtb_cputime.ko || die "memtb_cputime.ko: refused"
# INSTALL_MEMTB is a list of arguments.
# shellcheck disable=SC2086
[ "$INSTALL_MEMTB" = none ] || memtb_load $INSTALL_MEMTB
/memtb/busybox ip link set lo up

phase server
start_server
PATH=/memtb/bin:$PATH
cd "$tree" || die "no tree"

counters start
number=1
while [ "$number" -le "$INSTALL_RUNS" ]; do
	one_run "run$number"
	number=$((number + 1))
done

# On one processor, all that passed is user, system or idle time, but for what the
# instrument itself takes between its looks. (Of several, one that sleeps says so later.)
clock_adds_up() {
	awk '{
		for (i = 2; i <= NF; i++) {
			split($i, pair, "=")
			v[pair[1]] = pair[2]
		}
		off = v["machine_user_ns"] + v["machine_sys_ns"] + v["machine_idle_ns"] - v["real_ns"]
		if (off * off > 1e12 && off * off > v["real_ns"] * v["real_ns"] / 1e6) {
			print
			bad = 1
		}
	} END { exit bad || !NR }' /tmp/times
}

phase counters
# What lives on memtb does until the guest ends.
may_stay memtb memtb_cputime
send_file times /tmp/times
[ -n "$INSTALL_SMP" ] || check clock clock_adds_up
[ "$INSTALL_MEMTB" != none ] || exit 0
send_file slabinfo "$MEMTB_DEBUGFS/heaps/default/slabinfo"
violations=$(heap_violations)
status=fail
[ "$violations" = 0 ] && status=pass
result heap_check "$status" "violations=${violations:-unreadable}"

# What a stock reader makes of slabinfo, which it looks for in one place only: both sums
# of objects, as it prints them and as the columns give them.
slabtop_agrees() {
	mkdir /tmp/top && mount --bind / /tmp/top && mount -t tmpfs tmpfs /tmp/top/proc || return 1
	cat "$MEMTB_DEBUGFS/heaps/default/slabinfo" >/tmp/top/proc/slabinfo || return 1
	wanted=$(awk 'NR > 2 { active += $2; total += $3 } END { print active " / " total }' \
		/tmp/top/proc/slabinfo)
	chroot /tmp/top slabtop -o >/tmp/slabtop || return 1
	send_file slabtop /tmp/slabtop
	grep "Active / Total Objects" /tmp/slabtop | grep -F ": $wanted "
}

case $INSTALL_MEMTB in
*takeover*) check slabtop slabtop_agrees ;;
esac
