#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# What operations cost: memtb_cost.ko measures while it is loaded. Settings: COST_PARAMS,
# its parameters.
. /memtb/lib.sh

memtb_load backend=null
phase cost
dmesg -c >/dev/null
# Several words.
# shellcheck disable=SC2086
if insmod /memtb/memtb_cost.ko $COST_PARAMS; then
	result cost_load pass
	send_file cost /sys/kernel/debug/memtb_cost
	rmmod memtb_cost
else
	result cost_load fail
	dmesg | sed -n 's/^\[[^]]*\] memtb: cost: //p' | head -n1 >/tmp/refused
	send_file refused /tmp/refused
fi
send_file backends "$MEMTB_DEBUGFS/backends"
memtb_unload
