#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# The smallest job: does this guest boot and speak? Also what a KVM probe runs.
. /memtb/lib.sh
result boot pass "cpus=$(grep -c ^processor /proc/cpuinfo)" "kernel=$(uname -r)"
