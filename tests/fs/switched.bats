# SPDX-License-Identifier: MIT
# Contexts on threads whose counters the kernel saves and restores (perf), compared with the kernel's
# own figures. What they have in common with the others is in thread.bats.

load common
load track

# by_the_kernel: contexts have been loaded and counted, and ctxsw threads have had nothing to do
by_the_kernel() {
	[ "$(stat_of threads)" -gt 0 ]
	[ "$(stat_of ctxsw_threads) $(stat_of ctxsw_in) $(stat_of ctxsw_out)" = "0 0 0" ]
}

# sleeps PID TID
sleeps() {
	[ "$(letter "$1" "$2")" = S ]
}

# kernel_has PID TID: the faults and switches of that thread, which sleeps, up to now
kernel_has() {
	until_ok sleeps "$1" "$2"
	awk '{ sub(/.*\) /, ""); print $8 + $10 }' "/proc/$1/task/$2/stat"
	awk '/ctxt_switches/ { n += $2 } END { print n }' "/proc/$1/task/$2/status"
}

# counts_like_kernel NAME: while that program does its work
counts_like_kernel() {
	local before after

	mapfile -t before < <(kernel_has "$PID" "$TID")
	new "$1"
	put ok "$C/pmc/0" "$(event page-faults)"
	put ok "$C/pmc/1" "$(event context-switches)"
	put ok "$C/pmc/2" "$(event page-faults)"
	put ok "$C/pmc/3" "$(event context-switches)"
	ctl "load tid=$TID ${*:2}"
	ctl start
	go "$1"
	said "$1" "^done"
	mapfile -t after < <(kernel_has "$PID" "$TID")
	ctl stop
	echo "of the kernel: ${before[*]} to ${after[*]}"
	for pmd in 0 2; do holds "$C/pmd/$pmd" $((after[0] - before[0])); done
	for pmd in 1 3; do holds "$C/pmd/$pmd" $((after[1] - before[1])); done
}

@test "page faults and context switches: no more and no fewer than the kernel's own" {
	serve --backend=perf
	begin a subject -c "$ONE" turns 20000
	counts_like_kernel a
	[ "$(cat "$C/pmd/1")" -gt 20000 ]
	begin b subject -m faults 100000
	counts_like_kernel b
	[ "$(cat "$C/pmd/0")" -ge 100000 ]
	compete "$ONE" fault
	begin c subject -c "$ONE" turns 500
	counts_like_kernel c
	by_the_kernel
}

@test "contexts on CPUs and on threads do not disturb each other" {
	serve --backend=perf
	new before
	put ok "$C/pmc/0" "$(event page-faults)"
	ctl "load cpu=$ONE"
	ctl start
	begin a subject -c "$ONE" faults 20000
	counts_like_kernel a
	C=$MNT/ctx/before
	[ "$(cat "$C/pmd/0")" -ge 20000 ]
	ctl unload
	begin b spinner "$ONE" fault
	monitor b "$TID"
	new after
	ctl "load cpu=$ONE"
	ctl unload
	C=$MNT/ctx/b
	holds "$C/state" "running tid=$TID set=0"
	bounded cat "$C/pmd/0"
	by_the_kernel
}

# What the kernel can do alone, it does: no thread is traced, there is no thread of a priority of its own, and no
# BPF program. A debugger does not matter.
@test "ptrace=no: by the kernel alone, until the end" {
	serve --backend=perf
	begin a subject faults 20000
	counts_like_kernel a ptrace=no
	untraced "$PID"
	[ "$(stat_of ctxsw_threads)" = 0 ]
	cat "/proc/$DAEMON/task"/*/stat | awk '{ sub(/.*\) /, "") } $39 { print "policy " $39; failed = 1 } END { exit failed }'
	readlink "/proc/$DAEMON/fd"/* | awk '/bpf/ { print; failed = 1 } END { exit failed }'
	awk '/tracer/ { failed = 1 } END { exit failed }' "/proc/$DAEMON/task"/*/comm
	kill -KILL "$PID"
	message "end pid=$PID tid=$TID"
	holds "$C/state" "zombie tid=$TID"
	begin b spinner "$ONE" fault # samples
	new b
	put ok "$C/format" default
	put ok "$C/pmc/0" "$(event page-faults)"
	put ok "$C/pmd/0" "-100 short=-100"
	ctl "load tid=$TID ptrace=no"
	ctl start
	no_ctxsw_threads
	kill -KILL "$PID"
	message "end pid=$PID tid=$TID"
}

@test "a thread is masked from the overflow on, however late the worker comes" {
	serve --backend=perf
	for round in 1 2 3; do
		begin "a$round" subject faults 100000
		new "a$round"
		for n in 0 1 2 3; do put ok "$C/pmc/$n" page-faults; done
		put ok "$C/pmd/0" "-10000 long=-10000 notify"
		ctl "load tid=$TID"
		ctl start
		go "a$round"
		until_ok holds "$C/state" "masked tid=$TID set=0"
		holds "$C/pmd/0" 0
		for n in 1 2 3; do holds "$C/pmd/$n" 10000; done
		ctl restart
		until_ok holds "$C/state" "masked tid=$TID set=0"
		holds "$C/pmd/0" 0
		for n in 1 2 3; do holds "$C/pmd/$n" 20000; done
		kill -KILL "$PID"
	done
}

# carried_by_ctxsw OPTION...: a load with these
carried_by_ctxsw() {
	ctl "load tid=$TID $*"
	[ "$(stat_of ctxsw_threads)" -gt 0 ]
	ctl unload
	until_ok test "$(stat_of ctxsw_threads)" = 0
}

no_ctxsw_threads() {
	[ "$(stat_of ctxsw_threads)" = 0 ]
}

@test "a context that needs more than counts has ctxsw threads" {
	serve --backend=perf
	begin a subject faults 1
	new plain
	ctl "load tid=$TID"
	no_ctxsw_threads
	ctl unload
	for options in "cpus=$ONE follow" "cpus=$ONE" "cpus=$ONE ptrace=no"; do
		carried_by_ctxsw "$options"
		until_ok no_ctxsw_threads
	done
	new notify
	put ok "$C/pmd/0" "0 notify"
	carried_by_ctxsw
	until_ok no_ctxsw_threads
	new switching
	put ok "$C/set/0/flags" ovfl_switch
	carried_by_ctxsw
	until_ok no_ctxsw_threads
	new empty # that set would have no end: no counter of it tells the thread's time
	probe ok mkdir "$C/set/1"
	put ok "$C/set/0/pmc/0" "$(event page-faults)"
	for s in 0 1; do
		put ok "$C/set/$s/timeout_ns" 5000000
		put ok "$C/set/$s/flags" time_switch
	done
	carried_by_ctxsw
	until_ok no_ctxsw_threads
	new raw
	put ok "$C/flags" raw
	carried_by_ctxsw
	until_ok no_ctxsw_threads
	new sampled
	put ok "$C/format" default
	carried_by_ctxsw
}

@test "the capabilities of the systemd unit are enough" {
	confined
	serve --backend=perf
	begin a subject faults 1000
	new a
	put ok "$C/pmc/0" "$(event page-faults)"
	ctl "load tid=$TID"
	ctl start
	no_ctxsw_threads
	ctl unload
	ctl "load pid=$PID follow"
	ctl start
	no_ctxsw_threads
	ctl unload
	until_ok put ok "$C/ctl" "load pid=$PID follow cpus=$ONE"
	ctl start
	[ "$(stat_of ctxsw_threads)" -gt 0 ]
	go a
	finished a
	new sampled
	put ok "$C/format" default
	put ok "$C/pmc/0" "$(event page-faults)"
	put ok "$C/pmd/0" "-1000 notify"
	ctl "load cpu=$ONE"
	ctl start
}

# on_sleepers UID COUNT: that user's contexts UID.1 and so on, each on a thread of a program that sleeps
on_sleepers() {
	local n who=(setpriv --reuid="$1" --regid="$1" --clear-groups)

	for ((n = 1; n <= $2; n++)); do
		"${who[@]}" sleep 1000 3>&- 4>&- 5>&- &
		PROGRAMS+=("$!")
		until_ok grep -qx sleep "/proc/$!/comm"
		# shellcheck disable=SC2016
		bounded "${who[@]}" sh -c 'mkdir "$1" && echo "load tid=$2" >"$1/ctl"' sh \
			"$MNT/ctx/$1.$n" "$!"
	done
}

# has_workers UID COUNT
has_workers() {
	[ "$(stat_of "thread_workers_$1")" = "$2" ]
}

@test "workers of a user, of all users, and of root" {
	local uid

	# 16 workers of users: half of the descriptors, 32 for each. A user has an eighth; a sixteenth is
	# kept for root.
	ulimit -n 1024
	serve --backend=perf
	on_sleepers 20001 2
	no_ctxsw_threads
	on_sleepers 20002 3
	[ "$(stat_of thread_workers_20001) $(stat_of thread_workers_20002)" = "2 2" ]
	[ "$(stat_of ctxsw_threads)" -gt 0 ]
	C=$MNT/ctx/20002.3
	ctl unload
	refused ENOSPC "load tid=${PROGRAMS[-1]} inherit" inherit
	[ "$(setpriv --reuid=20002 --regid=20002 --clear-groups grep thread_workers "$MNT/stats")" = "thread_workers 2" ]
	for ((uid = 20003; uid <= 20008; uid++)); do
		on_sleepers "$uid" 2
	done
	[ "$(stat_of workers) $(stat_of thread_workers_20008)" = "15 1" ]
	on_sleepers 0 2
	[ "$(stat_of workers) $(stat_of thread_workers_0)" = "17 2" ]
	probe ok rmdir "$MNT/ctx/20002.1"
	until_ok has_workers 20002 1
}

# As one with 16 workers of users, of which one has two, see above
@test "a thread for which no worker is left is not followed, and a process with too many has ctxsw threads" {
	local WHO=(setpriv --reuid=20001 --regid=20001 --clear-groups)

	ulimit -n 1024
	serve --backend=perf
	launch a bash -c 'echo "thread $$"; read -r _; sleep 1000 & sleep 1000 & echo begun; wait'
	said a "^thread"
	threads_of a
	new a
	put ok "$C/pmc/0" "$(user_event page-faults)"
	ctl "load tid=$TID follow"
	ctl start
	go a
	said a begun
	until_ok has_workers 20001 2
	no_ctxsw_threads
	[ "$(ls "$C/children" | wc -l)" = 1 ]
	until_ok sentence "$C/last_error" cpus
	bounded cat "$C/pmd/0"
	probe EIO pread "$C/total" 30 0
	ctl unload
	until_ok no_ctxsw_threads
	for tid in $(pgrep -P "$PID"); do
		until_ok untraced "$tid"
		until_ok letter_is "$tid" S
		kill "$tid"
	done
	begin b subject -t 2 faults 1
	new b
	ctl "load pid=$PID"
	[ "$(stat_of ctxsw_threads)" -gt 0 ]
}

@test "load pid= and follow: by the kernel alone, each thread exactly" {
	local sum

	serve --backend=perf
	begin a subject -t 5 -m faults 20000
	new a
	put ok "$C/pmc/0" "$(user_event page-faults)"
	put ok "$C/pmc/1" "$(user_event page-faults)"
	ctl "load pid=$PID"
	ctl start
	compete "$ONE" fault
	go a
	said a "^done"
	sum=$(cat "$C/pmd/0")
	for tid in "${TIDS[@]}"; do
		holds "$C/children/$tid/pmd/0" "$(did a "$tid" faults)"
		holds "$C/children/$tid/pmd/1" "$(did a "$tid" faults)"
		sum=$((sum + $(did a "$tid" faults)))
	done
	grep -qx "pmd0 $sum" "$C/total"
	by_the_kernel
	begin b waves forks 40 10 1000
	new b
	put ok "$C/pmc/0" "$(user_event page-faults)"
	ctl "load tid=$TID follow"
	ctl start
	go b
	said b "^ended 40 "
	[ "$(cat "$C"/children/*/state | grep -c zombie)" = 40 ]
	for tid in "$C"/children/*; do
		[ "$(cat "$tid/pmd/0")" -ge 1000 ]
	done
	by_the_kernel
}

# Each thread's samples are its own, by interrupts.
@test "load pid= and follow: a buffer with samples of each thread, by interrupts" {
	serve --backend=perf
	begin a subject -t 2 faults 20000
	new a
	put ok "$C/format" default
	put ok "$C/pmc/0" "$(user_event page-faults)"
	put ok "$C/pmd/0" "-100 short=-100"
	ctl "load pid=$PID follow"
	ctl start
	go a
	said a "^done"
	ctl stop
	no_ctxsw_threads
	for tid in "${TIDS[@]}"; do
		holds "$C/children/$tid/pmd/0" "$(printf %u $(($(did a "$tid" faults) % 100 - 100)))"
	done
}

# in_header OFFSET SIZE: that number of the buffer's header
in_header() {
	od -An "-tu$2" -j"$1" -N"$2" "$C/buffer" | tr -d ' '
}

# 335 of the samples fill a part. The restart that frees it costs no write to a counter, which would shift
# the overflows after it, and 64 samples are one wake-up.
@test "a buffer of two parts: counting goes on when one is full, and while it is freed" {
	local polls writes

	serve --backend=perf
	begin a subject faults 20000
	new a
	put ok "$C/format" "correlate size=32768 parts=2"
	put ok "$C/pmc/0" "$(user_event page-faults)"
	put ok "$C/pmd/0" "-40 short=-40 long=-40 notify"
	ctl "load tid=$TID"
	ctl start
	polls=$(stat_of polls) writes=$(stat_of register_writes)
	go a
	said a "^done"
	message "overflow*"
	holds "$C/state" "running tid=$TID set=0"
	holds "$C/pmd/0" "$(printf %u $(($(did a "$TID" faults) % 40 - 40)))"
	[ "$(in_header 0 8)" -gt 500 ]
	[ "$(in_header 16 8) $(in_header 48 8) $(in_header 126 2)" = "0 0 1" ]
	ctl restart
	holds "$C/state" "running tid=$TID set=0"
	[ "$(in_header 0 8)" -gt 500 ]
	[ "$(in_header 126 2)" = 0 ]
	holds "$C/pmd/0" "$(printf %u $(($(did a "$TID" faults) % 40 - 40)))"
	[ "$(stat_of register_writes)" = "$writes" ]
	echo "$(($(stat_of polls) - polls)) polls"
	[ $(($(stat_of polls) - polls)) -le $((500 / 64 + 20)) ]
}

# What a thread executes is in the buffer beside its samples, by the kernel alone. In the buffer of a context
# that is masked nothing changes: what the thread executes meanwhile comes after restart.
@test "a format with events: by interrupts, and what comes while the context is masked comes later" {
	serve --backend=perf
	launch a sh -c "read -r go; exec bash -c 'read -r go; exec sleep 100'"
	new a
	put ok "$C/format" "correlate size=3400"
	put ok "$C/pmc/0" "$(user_event page-faults)"
	put ok "$C/pmd/0" "-1 short=-1 long=-1 notify"
	ctl "load tid=$PID"
	no_ctxsw_threads
	ctl start
	go a
	until_ok holds "$C/state" "masked tid=$PID set=0"
	go a
	until_ok grep -q sleep "/proc/$PID/comm"
	! grep -q sleep "$C/buffer" || false
	ctl restart
	until_ok grep -q sleep "$C/buffer"
	[ "$(od -An -tu1 -j72 -N1 "$C/buffer" | tr -d ' ')" = 1 ] # precise
	no_ctxsw_threads
}

@test "notify is refused while the kernel switches a context that only counts, and accepted when it is unloaded" {
	serve --backend=perf
	begin a subject faults 20000
	monitor a "$TID"
	put EBUSY "$C/pmd/0" "-1000 notify"
	sentence "$C/last_error" notify
	put EBUSY "$C/pmd/1" "0 notify"
	holds "$C/pmd/0" 0
	go a
	finished a
	its_faults a "$TID"
	ctl unload
	put ok "$C/pmd/0" "-1000 notify"
	ctl "load tid=$TID"
	[ "$(stat_of ctxsw_threads)" = 0 ] # its interrupts are the kernel's, too
}

# ends_with_setuid NAME: when that program, whose thread the context is on, executes the setuid one
ends_with_setuid() {
	go "$1"
	until_ok sh -c 'grep -c thread "$1" | grep -qx 2' sh "$SAYS/$1"
	message "end*"
	holds "$C/state" "zombie tid=$PID"
	sentence "$C/last_error" "$PID"
	[ "$(cat "$C/pmd/0")" -lt 30 ]
	put EINVAL "$C/ctl" start
	[ "$(tracer_of "$PID")" = 0 ]
}

@test "root's context ends when the thread executes a setuid program, as its events do" {
	setuid_copy
	serve --backend=perf
	as nobody begin a lives exec "$BATS_TEST_TMPDIR/privileged" status
	monitor a "$TID"
	ends_with_setuid a
	as nobody begin b lives exec "$BATS_TEST_TMPDIR/privileged" status
	monitor b "$TID"
	ctl stop
	ends_with_setuid b
}

# What it makes is followed no more, either.
@test "root's context of a child ends so, and the parent's goes on" {
	setuid_copy
	serve --backend=perf
	# shellcheck disable=SC2016
	as nobody launch a bash -c 'echo "thread $$"; read -r _; "$1" status <&0 & wait; echo over' sh \
		"$BATS_TEST_TMPDIR/privileged"
	said a "^thread"
	threads_of a
	new a
	put ok "$C/pmc/0" page-faults
	ctl "load tid=$TID follow"
	ctl start
	go a
	until_ok sh -c 'grep -q zombie "$1"/children/*/state' sh "$C"
	child=$(ls "$C/children")
	sentence "$C/children/$child/last_error" "$child"
	[ "$(tracer_of "$child")" = 0 ]
	holds "$C/state" "running tid=$TID set=0"
	kill "$child"
	said a over
}

# elsewhere: the threads of what serve starts from now on, if they are not of a CPU, are on the first
# CPU, so that the thread on the last one goes on meanwhile
elsewhere() {
	perfmonfs() {
		exec taskset -c "${CPUS[0]}" perfmonfs "$@"
	}
}

# two_sets EVENT0 EVENT1: the context "sets" on TID has them in turns of a millisecond, beside a counter
# that both sets have
two_sets() {
	new sets
	probe ok mkdir "$C/set/1"
	for s in 0 1; do
		put ok "$C/set/$s/pmc/0" "$(event "${@:s + 1:1}")"
		put ok "$C/set/$s/pmc/1" "$(event task-clock)"
		put ok "$C/set/$s/timeout_ns" 1000000
		put ok "$C/set/$s/flags" time_switch
	done
	ctl "load tid=$TID"
	ctl start
}

# ran N: both sets have been active that often
ran() {
	[ "$(cat "$C/set/0/runs")" -ge "$1" ] && [ "$(cat "$C/set/1/runs")" -ge "$1" ]
}

# sum_of FILE: over both sets
sum_of() {
	echo $(($(cat "$C/set/0/$1") + $(cat "$C/set/1/$1")))
}

# frozen PID: by SIGSTOP, so that nothing of it counts
frozen() {
	[[ $(letter "$1") == [tT] ]]
}

freeze() {
	kill -STOP "$PID"
	until_ok frozen "$PID"
}

# faults_of: of the thread, by the kernel
faults_of() {
	awk '{ sub(/.*\) /, ""); print $8 + $10 }' "/proc/$PID/task/$TID/stat"
}

# Both events count the same faults. The kernel reads them one after the other, while the thread goes on:
# within a microsecond, of a turn of a thousand.
@test "sets that switch by the thread's time lose nothing between them, and ctxsw threads have no part" {
	local before all ns clock

	elsewhere
	serve --backend=perf
	begin a spinner "$ONE" fault
	two_sets page-faults minor-faults
	until_ok ran 3 # each event has been opened
	freeze
	ctl stop
	before=$(faults_of)
	ns=$(sum_of active_ns)
	for s in 0 1; do
		for pmd in 0 1; do put ok "$C/set/$s/pmd/$pmd" 0; done
	done
	ctl start
	kill -CONT "$PID"
	until_ok ran 50
	freeze
	ctl stop
	echo "runs $(cat "$C/set/0/runs") and $(cat "$C/set/1/runs")"
	all=$(($(faults_of) - before))
	near faults "$(sum_of pmd/0)" "$all" $((all / 200))
	ns=$(($(sum_of active_ns) - ns))
	clock=$(sum_of pmd/1)
	near "active ns" "$ns" "$clock" $((clock / 100))
	by_the_kernel
}

@test "sets take turns by the time that the thread runs, and none while it sleeps" {
	local first ns polls want stolen

	serve --backend=perf
	begin a subject -c "$ONE" turns 20000
	two_sets page-faults page-faults
	until_ok sleeps "$PID" "$TID"
	first=$(sum_of runs)
	ns=$(sum_of active_ns)
	polls=$(stat_of polls)
	sleep 0.3 # asleep: no time passes, and nothing looks whether it does
	[ "$(sum_of runs) $(sum_of active_ns) $(stat_of polls)" = "$first $ns $polls" ]
	stolen=$(stolen_ticks)
	go a
	finished a
	ctl stop
	want=$(did a "$TID" cpu_ns)
	near "active ns" $(($(sum_of active_ns) - ns)) "$want" \
		$((want / 20 + 20000 * $(did a "$TID" switches) + $(stolen_ns "$stolen")))
	echo "runs $(cat "$C/set/0/runs") and $(cat "$C/set/1/runs")"
	[ $(($(cat "$C/set/0/runs") - $(cat "$C/set/1/runs"))) -ge 0 ]
	[ $(($(cat "$C/set/0/runs") - $(cat "$C/set/1/runs"))) -le 1 ]
	# No turn is shorter than its timeout, but the last one.
	[ $((($(sum_of runs) - 1) * 1000000)) -le "$(sum_of active_ns)" ]
	its_faults_of_both a "$TID"
	by_the_kernel
}

# its_faults_of_both NAME TID: the context C has counted what that thread of the subject knows of
its_faults_of_both() {
	near "faults of $2" "$(sum_of pmd/0)" "$(did "$1" "$2" faults)" 2
}

@test "a PMD near its limit overflows, and is reset, without a notification" {
	serve --backend=perf
	begin a spinner "$ONE" fault
	new a
	put ok "$C/pmc/0" "$(event page-faults)"
	put ok "$C/pmd/0" "-100 short=-1000000000000"
	ctl "load tid=$TID"
	ctl start
	until_ok overflowed
	by_the_kernel
}

overflowed() {
	[ "$(awk '$1 == "overflows" { print $2 }' "$MNT/stats")" -gt 0 ]
}

@test "a PMD near its limit, of a thread that sleeps, is read more and more seldom" {
	local from polls

	serve --backend=perf
	begin a subject faults 1
	until_ok sleeps "$PID" "$TID"
	new a
	put ok "$C/pmc/0" "$(event page-faults)"
	put ok "$C/pmd/0" -100
	ctl "load tid=$TID"
	from=${EPOCHREALTIME/[.,]/}
	ctl start
	sleep 1
	polls=$(stat_of polls)
	echo "$polls polls"
	[ "$polls" -gt 0 ]
	[ "$polls" -le $((20 + (${EPOCHREALTIME/[.,]/} - from) / 50000)) ]
	by_the_kernel
}

@test "1000 threads: each has its context, and all are gone when they are unloaded" {
	local files

	needs_files 4096
	serve --backend=perf
	files=$(daemon_files)
	begin a subject -t 1000 faults 16
	all_counted
	by_the_kernel
	[ "$(stat_of threads)" = 1000 ]
	rmdir "$MNT"/ctx/*
	until_ok all_free "$files"
}

# all_free FILES: with what stays once a thread has been followed
all_free() {
	[ "$(stat_of threads) $(stat_of workers)" = "0 0" ] && [ "$(daemon_files)" -le $(($1 + 8)) ]
}

@test "--threads: a word, and backends that open threads" {
	run perfmonfs -f --backend=perf --threads=both "$MNT"
	[ "$status" -ne 0 ]
	[[ $output == *EINVAL* ]]
	run perfmonfs -f --backend=sim --threads=ctxsw "$MNT"
	[ "$status" -ne 0 ]
	[[ $output == *EINVAL* ]]
	serve -o threads=ctxsw --backend=perf
	begin a subject faults 1000
	monitor a "$TID"
	[ "$(stat_of ctxsw_threads)" -gt 0 ]
}
