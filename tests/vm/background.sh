# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154
# Background contexts on real counters: a function for guest.sh, whose helpers it uses.

runs() { grep -q "^running" $mnt/ctx/a/state; }
loop_once() { "$here/loop" . 1 - 1 10000000 >/dev/null; }

background() {
	taskset -pc 0 $$ >/dev/null # CPU 1 has nothing else to do
	start_daemon
	before=$(registers)
	make_context
	write flags background
	write pmc/0 0x4100c0
	write ctl "load cpu=1"
	write ctl start
	v=$(cat pmd/0)
	loop_once
	v=$(($(cat pmd/0) - v))
	between "the background context counts a loop" $v 30000000 30010000
	mkdir $mnt/ctx/job
	write $mnt/ctx/job/pmc/0 0x4100c0
	check "another one is loaded there" write $mnt/ctx/job/ctl "load cpu=1"
	like "the background context has yielded" "$(cat state)" "yielded cpu=1 set=0"
	first=$(cat pmd/0)
	cd $mnt/ctx/job || exit 1
	"$here/loop" . 1 0 5 10000000 >/tmp/rounds
	while read -r over; do
		between "user instructions over 30,000,008 beside one that has yielded" "$over" 0 200
	done </tmp/rounds
	cd $mnt/ctx/a || exit 1
	is "none of them are the background context's" "$(cat pmd/0)" "$first"
	check "the other one is removed" rmdir $mnt/ctx/job
	check "the background context is running again" soon runs
	loop_once
	v=$(($(cat pmd/0) - first))
	between "and counts a loop, on top" $v 30000000 30010000
	like "the time without registers is told" "$(cat state)" "gaps=1"
	write ctl unload
	is "registers are as before" "$(registers)" "$before"
	cd /
	rmdir $mnt/ctx/a
	"$here/bench_handover" $mnt 1 0x4100c0 200 >/tmp/out || not_ok "handovers"
	sed 's/^/# us, /' /tmp/out
	is "after 200 handovers, registers are as before" "$(registers)" "$before"
	make_context
	write flags background
	write pmc/0 0x4100c0
	write ctl "load cpu=1"
	write ctl start
	mkdir $mnt/ctx/job
	write $mnt/ctx/job/pmc/1 0x4100c4
	write $mnt/ctx/job/ctl "load cpu=1"
	cd /
	kill_daemon
	start_daemon
	is "registers of a daemon that was killed while one had yielded are put back" "$(registers)" "$before"
	stop_daemon
}
