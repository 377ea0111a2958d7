# SPDX-License-Identifier: MIT
# Effects of monitoring on threads: signals, job control, exec and debuggers work as without; and
# children are followed. Where the expected result is not obvious, an unmonitored run shows it.

load common
load track

# with_tsan: the daemon is built with it
with_tsan() {
	grep -q __tsan_init "$BUILD/daemon/perfmonfs"
}

# follow NAME TID: monitor its page faults, and those of all that it makes
follow() {
	monitor "$1" "$2" page-faults follow
}

@test "monitored while it is stopped: it stays so, and counts when it goes on" {
	serve --backend=perf
	begin a subject -t 0 faults 10000
	kill -STOP "$PID"
	until_ok letter_is "$PID" T
	follow a "$TID"
	sleep 0.1
	letter_is "$PID" T
	go a
	sleep 0.1
	holds "$C/pmd/0" 0
	ctl unload
	letter_is "$PID" T
	ctl "load tid=$TID"
	ctl start
	letter_is "$PID" T
	kill -CONT "$PID"
	finished a
	near "after it went on" "$(cat "$C/pmd/0")" 10000 2
}

@test "stopped while it is monitored, and unloaded while it is stopped" {
	serve --backend=perf
	begin a subject -t 2 cpu 100000
	follow a "$PID"
	go a
	kill -STOP "$PID"
	until_ok letter_is "$PID" T
	ctl unload
	sleep 0.1
	letter_is "$PID" T
	[ "$(tracer_of "$PID")" = 0 ]
	kill -CONT "$PID"
	until_ok letter_is "$PID" S
	before=$(cpu_time "$PID" "$TID")
	until_ok sh -c '[ "$(cut -d" " -f1 "$1")" -gt "$2" ]' sh "/proc/$PID/task/$TID/schedstat" "$before"
}

@test "exec by a thread that is not the leader: the context stays and has its new id" {
	serve --backend=perf
	begin a lives exec "$BATS_RUN_TMPDIR/subject" -t 0 faults 30000
	monitor a "$TID"
	before=$(awk '$1 == "thread" { print $3; exit }' "$SAYS/a")
	go a
	said a ready
	holds "$C/state" "running tid=$PID set=0"
	go a
	finished a
	# Over all its life, exec itself included. What exec copies into the new program's memory is a
	# hundred faults for getrusage(), but none for perf's event.
	near "over exec" "$(cat "$C/pmd/0")" $(($(did a "$PID" all) - before)) 150
	holds "$C/state" "running tid=$PID set=0"
	# Another event is opened by that id.
	ctl stop
	put ok "$C/pmc/0" "$(event context-switches)"
	ctl start
	holds "$C/state" "running tid=$PID set=0"
}

@test "the leader ends, the other thread lives on" {
	serve --backend=perf
	begin a lives leader
	until_ok sh -c '[ "$(grep -c thread "$1")" = 2 ]' sh "$SAYS/a"
	threads_of a
	monitor leader "${TIDS[0]}"
	monitor other "${TIDS[1]}"
	go a
	said a "leader ended"
	C=$MNT/ctx/leader
	message "end*"
	holds "$C/state" "zombie tid=${TIDS[0]}"
	C=$MNT/ctx/other
	holds "$C/state" "running tid=${TIDS[1]} set=0"
	go a
	message "end*"
	until_ok gone "$PID"
	wait "$PID"
}

# debug NAME TID EXPECTED: a debugger begins with it
debug() {
	launch "$1" lives attach "$2"
	said "$1" .
	run -0 cat "$SAYS/$1"
	is "$3"
}

@test "a debugger is attached: EBUSY, except with ptrace=no" {
	serve --backend=perf
	begin a subject faults 20000
	debug d "$TID" ok
	new a
	put ok "$C/pmc/0" "$(user_event page-faults)"
	refused EBUSY "load tid=$TID" "${PROGRAMS[-1]}"
	holds "$C/state" unloaded
	ctl "load tid=$TID ptrace=no"
	ctl start
	[ "$(awk '$1 == "TracerPid:" { print $2 }' "/proc/$TID/status")" = "${PROGRAMS[-1]}" ]
	go a
	finished a
	its_faults a "$TID"
}

# Program a, which is about to exec.
begin_exec() {
	! with_tsan || skip "TSan keeps signals back until a system call has ended, which does not end here"
	serve --backend=perf
	begin a lives over "$BATS_RUN_TMPDIR/subject" -t 0 faults 1000
	until_ok sh -c '[ "$(grep -c ^thread "$1")" = 2 ]' sh "$SAYS/a"
	threads_of a
}

# Lets it: the exec waits for the other threads, one of whose debuggers does not wait for it;
# PTRACE_SEIZE waits for the exec.
hang_exec() {
	debug d "${TIDS[1]}" ok
	go a
	until_ok letter_is "$TID" D
}

# That debugger lets its thread end, so the exec ends.
end_exec() {
	go d
	said a ready
	threads_of a
}

@test "an exec that takes forever: EAGAIN, and other loads do not wait" {
	begin_exec
	hang_exec
	new a
	put ok "$C/pmc/0" "$(user_event page-faults)"
	refused EAGAIN "load tid=$TID" "$TID"
	refused EAGAIN "load tid=$TID" "$TID"
	# Many at once: one after another is answered.
	loads_at_once "$TID"
	all_answer EAGAIN
	begin b subject faults 1000
	monitor b "$TID"
	go b
	finished b
	its_faults b "$TID"
	end_exec
	C=$MNT/ctx/a
	ctl "load tid=$TID"
	ctl start
	go a
	finished a
	its_faults a "$TID"
}

@test "ptrace=no: counted, not traced, and its end is reported" {
	serve --backend=perf
	begin a subject faults 20000
	pid=$PID
	monitor a "$TID" page-faults ptrace=no
	[ "$(tracer_of "$TID")" = 0 ]
	debug d "$TID" ok
	go d
	go a
	finished a
	its_faults a "$TID"
	kill -KILL "$pid"
	message "end*"
	holds "$C/state" "zombie tid=$TID"
	# Also where it is not followed.
	begin b subject -t 0 -c "${CPUS[0]}" faults 1
	pid=$PID
	monitor b "$TID" page-faults ptrace=no "cpus=$ONE"
	kill -KILL "$pid"
	message "end*"
	holds "$C/state" "zombie tid=$TID"
}

# kernel_faults: of the thread, as the kernel counts them
kernel_faults() {
	awk '{ sub(/.*\) /, ""); print $8 }' "/proc/$PID/task/$TID/stat"
}

@test "notify_block: stopped from overflow to restart" {
	local own=2

	serve --backend=perf
	begin a subject faults 400000
	new a
	put ok "$C/flags" notify_block
	put ok "$C/pmc/0" "$(user_event page-faults)"
	put ok "$C/pmd/0" "-10000 long=-100000000 notify"
	ctl "load tid=$TID"
	ctl start
	go a
	message "overflow cpu=* set=0 pmds=0*tid=$TID*" || lost
	holds "$C/state" "masked tid=$TID set=0"
	until_ok letter_is "$TID" t
	past=$(cat "$C/pmd/0")
	had=$(cpu_time "$PID" "$TID")
	stopped=$(kernel_faults)
	sleep 0.3
	[ "$(cpu_time "$PID" "$TID")" = "$had" ]
	run ! grep -q "^done" "$SAYS/a"
	ctl restart
	finished a
	read -r v <"$C/pmd/0"
	# What it did from the overflow until it stopped was masked, and is not counted; how much that is,
	# the machine decides. TSan's own page faults are counted where the ctxsw thread has them last.
	! with_tsan || own=20
	[ $((10000 + past + v + 100000000)) -le $(($(did a "$TID" faults) + own)) ]
	near "after restart" $((v + 100000000)) $(($(kernel_faults) - stopped)) 20
}

# blocked NAME: the subject's thread is stopped, C is the context
blocked() {
	begin "$1" subject faults 400000
	new "$1"
	put ok "$C/flags" notify_block
	put ok "$C/pmc/0" "$(user_event page-faults)"
	put ok "$C/pmd/0" "-10000 notify"
	ctl "load tid=$TID"
	ctl start
	go "$1"
	until_ok eval 'letter_is "$TID" t || [ "$(lost_switches)" != 0 ]'
	told
	holds "$C/state" "masked tid=$TID set=0"
}

@test "notify_block: unload, rmdir, stop, the daemon's end and SIGKILL release it" {
	serve --backend=perf
	blocked a
	ctl unload
	finished a
	blocked b
	probe ok rmdir "$C"
	finished b
	blocked c
	ctl stop
	finished c
	blocked d
	kill -KILL "$PID"
	wait "$PID" || :
	until_ok grep -q zombie "$C/state"
	message "overflow*end*" || lost
	holds "$C/state" "zombie tid=$TID"
	blocked e
	pid=$PID
	stop_daemon
	finished e
	[ "$(tracer_of "$pid")" = 0 ]
}

@test "the daemon ends: targets run on as they are, and their children" {
	serve --backend=perf
	begin a subject -t 4 cpu 100000
	follow a "$PID"
	begin b waves forks 100000 50 100
	follow b "$PID"
	go a
	go b
	sleep 0.3
	stop_daemon
	for pid in "${PROGRAMS[@]}"; do
		[ "$(tracer_of "$pid")" = 0 ]
		[[ $(letter "$pid") == [RSD] ]]
	done
	for task in /proc/"${PROGRAMS[0]}"/task/*; do
		[[ $(letter "${PROGRAMS[0]}" "${task##*/}") == [RSD] ]]
	done
}

# all_followed kernel|ctxsw KIND: 500 short lives, none of which is lost
all_followed() {
	local ended sum lost child count own

	serve --backend=perf "--threads=$1"
	begin a waves "$2" 500 50 1000
	follow a "$TID"
	files=$(daemon_files)
	go a
	said a "^ended 500 "
	[ "$(ls "$C/children" | wc -l)" = 500 ]
	[ "$(grep -c zombie "$C"/children/*/state | grep -c ':1$')" = 500 ]
	# Creating and ending a thread causes faults that the kernel accounts to it before and
	# after. A count that is lost by a missed switch is EIO.
	lost=0 sum=0
	for child in "$C"/children/*; do
		if count=$(cat "$child/pmd/0" 2>/dev/null); then
			[ "$count" -ge 1000 ] || lost
			sum=$((sum + count))
		else
			lost=$((lost + 1))
		fi
	done
	echo "lost $lost"
	[ "$lost" -le "$(lost_switches)" ]
	ended=$(awk '/^ended/ { print $4 }' "$SAYS/a")
	near "faults of 500 $2" "$sum" "$ended" $((5000 + 1100 * lost))
	own=$(cat "$C/pmd/0") || told
	[ "$lost" != 0 ] || [ "$(pmd0_total)" = $((sum + own)) ]
	# The counters of a CPU are opened when they are first used.
	[ "$(daemon_files)" -le $((files + ${#CPUS[@]})) ]
	letter_is "$PID" S
	[ -z "$(pgrep -P "$PID")" ]
	go a
	until_ok gone "$PID"
	wait "$PID"
	probe ok rmdir "$C"
}

@test "500 short-lived threads are followed, none is lost, by ctxsw threads" {
	all_followed ctxsw threads
}

@test "500 short-lived processes are followed, none is lost" {
	all_followed kernel forks
}

@test "followed over fork and exec: a shell's programs" {
	serve --backend=perf
	begin a bash -c 'echo "thread $$"; read -r _; printf "\n\n" | subject -t 2 faults 50000; echo over'
	follow a "$TID"
	go a
	said a over
	for tid in $(awk '$1 == "thread" { print $2 }' "$SAYS/a" | tail -n +2); do
		near "thread $tid" "$(cat "$C/children/$tid/pmd/0")" "$(did a "$tid" all)" 20
	done
	told
	[ "$(pmd0_total)" -ge 100000 ]
}

@test "running children: each has a context, which goes with the parent's" {
	serve --backend=perf
	begin a bash -c 'echo "thread $$"; read -r _; subject -t 3 cpu 100000; echo over'
	follow a "$TID"
	go a
	said a ready
	threads_of a
	for tid in "${TIDS[@]:1}"; do
		holds "$C/children/$tid/state" "running tid=$tid set=0"
	done
	probe EPERM mkdir "$C/children/new"
	probe ok rmdir "$C/children/${TIDS[1]}"
	until_ok untraced "${TIDS[1]}"
	[ "$(tracer_of "${TIDS[2]}")" = "$(tracer_of "$PID")" ]
	probe ok rmdir "$C"
	for tid in "${TIDS[@]}"; do
		until_ok untraced "$tid"
	done
}

# whole NAME OPTION...: begins to count the page faults of all threads of process PID
whole() {
	new "$1"
	put ok "$C/pmc/0" "$(user_event page-faults)"
	ctl "load pid=$PID ${*:2}"
	holds "$C/state" "loaded tid=$PID set=0"
	ctl start
}

@test "load pid: all threads of a process, each by itself and in sum, by ctxsw threads" {
	serve --backend=perf --threads=ctxsw
	begin a subject -t 5 faults 1000
	whole a
	holds "$C/ctl" "load pid=$PID" || holds "$C/ctl" start
	[ "$(ls "$C/children")" = "$(printf '%s\n' "${TIDS[@]}" | sort)" ]
	for tid in "${TIDS[@]}"; do
		holds "$C/children/$tid/state" "running tid=$tid set=0"
	done
	go a
	finished a
	sum=$(cat "$C/pmd/0")
	for tid in "${TIDS[@]}"; do
		near "faults of $tid" "$(cat "$C/children/$tid/pmd/0")" "$(did a "$tid" faults)" 2
		sum=$((sum + $(cat "$C/children/$tid/pmd/0")))
	done
	[ "$(pmd0_total)" = "$sum" ]
	ctl unload
	holds "$C/children/$tid/state" unloaded
	for tid in "$PID" "${TIDS[@]}"; do
		[ "$(tracer_of "$tid")" = 0 ]
	done
	# Again, at once.
	rmdir "$C"/children/*
	ctl "load pid=$PID"
	[ "$(ls "$C/children" | wc -l)" = 5 ]
	go a
	message "end*"
	holds "$C/state" "zombie tid=$PID"
}

@test "load tid of a process with more threads: done, and last_error names load pid" {
	serve --backend=perf
	begin a subject -t 2 faults 100
	new a
	ctl "load tid=$PID"
	sentence "$C/last_error" "pid=$PID"
	ctl unload
	ctl "load tid=$TID"
	holds "$C/last_error" ok
	ctl unload
	ctl "load pid=$PID"
	holds "$C/last_error" ok
}

@test "load pid: while threads come and go, and counted are all that stay" {
	serve --backend=perf --threads=kernel
	launch a churn 3 2000
	said a churns
	new a
	put ok "$C/pmc/0" "$(user_event page-faults)"
	ctl "load pid=$PID"
	go a
	said a ready
	threads_of a
	[ "${#TIDS[@]}" = 3 ]
	ctl start
	for tid in "${TIDS[@]}"; do
		holds "$C/children/$tid/state" "running tid=$tid set=0"
	done
	go a
	said a done
	for tid in "${TIDS[@]}"; do
		near "faults of $tid" "$(cat "$C/children/$tid/pmd/0")" 2000 20
	done
	near total "$(pmd0_total)" 6000 60
}

@test "load pid: threads that are created later, too; processes only with follow" {
	serve --backend=perf
	begin a waves threads 100 10 50
	whole a
	go a
	said a "^ended 100 "
	[ "$(ls "$C/children" | wc -l)" = 100 ]
	near "faults of 100" "$(pmd0_total)" "$(awk '/^ended/ { print $4 }' "$SAYS/a")" 3000
	begin b waves forks 20 5 50
	whole b
	go b
	said b "^ended 20 "
	[ "$(ls "$C/children" | wc -l)" = 0 ]
	begin c waves forks 20 5 50
	whole c follow
	go c
	said c "^ended 20 "
	[ "$(ls "$C/children" | wc -l)" = 20 ]
}

# The first thread, whose context is the loaded one, vanishes in the exec of the other
@test "load pid: an exec by another thread than the first, by ctxsw threads" {
	serve --backend=perf --threads=ctxsw
	begin a lives exec "$BATS_RUN_TMPDIR/subject" -t 0 faults 30000
	whole a
	before=$(awk '$1 == "thread" { print $3; exit }' "$SAYS/a")
	go a
	said a ready
	until_ok holds "$C/children/$TID/state" "running tid=$PID set=0" || lost
	go a
	finished a
	near "over exec" "$(cat "$C/children/$TID/pmd/0")" $(($(did a "$PID" all) - before)) 150
	[ "$(cat "$C/pmd/0")" -lt 500 ]
	go a
	message "end*"
	until_ok sh -c 'grep -q zombie "$1"' sh "$C/children/$TID/state"
}

@test "load pid: the end is that of the last thread" {
	serve --backend=perf
	begin a lives leader
	whole a
	go a
	until_ok letter_is "$PID" Z
	until_ok sh -c '[ "$(cat "$1/stats" | grep -w ^threads)" = "threads 2" ]' sh "$MNT"
	holds "$C/state" "running tid=$PID set=0"
	go a
	message "end*"
	holds "$C/state" "zombie tid=$PID"
}

@test "load pid: of a process whose first thread has ended, all others" {
	serve --backend=perf
	begin a lives leader 3
	until_ok sh -c '[ "$(grep -c thread "$1")" = 4 ]' sh "$SAYS/a"
	threads_of a
	new a
	put EINVAL "$C/ctl" "load pid=${TIDS[1]}"
	go a
	said a "leader ended"
	until_ok letter_is "$PID" Z
	put EINVAL "$C/ctl" "load pid=${TIDS[1]}"
	put ESRCH "$C/ctl" "load tid=$PID"
	ctl "load pid=$PID"
	holds "$C/ctl" "load pid=$PID"
	ctl start
	read -r _ first <"$C/state"
	first=${first#tid=} first=${first% *}
	[ "$({ echo "$first"; ls "$C/children"; } | sort)" = "$(printf '%s\n' "${TIDS[@]:1}" | sort)" ]
	for tid in "${TIDS[@]:1}"; do
		[ "$(tracer_of "$tid")" != 0 ]
	done
	ctl unload
	for tid in "${TIDS[@]:1}"; do
		until_ok untraced "$tid"
	done
	rmdir "$C"/children/*
	until_ok put ok "$C/ctl" "load pid=$PID"
	[ "$(ls "$C/children" | wc -l)" = 2 ]
	go a
	message "end*"
	holds "$C/state" "zombie tid=$first"
	new b
	put ESRCH "$C/ctl" "load pid=$PID"
}

@test "load pid: of such a process, by its number in another PID namespace" {
	unshare -pf true 2>/dev/null || skip "needs a PID namespace"
	serve --backend=perf
	begin a unshare -pf --kill-child "$(type -P lives)" leader 2
	until_ok sh -c '[ "$(grep -c thread "$1")" = 3 ]' sh "$SAYS/a"
	go a
	said a "leader ended"
	leader=$(pgrep -P "$PID")
	until_ok letter_is "$leader" Z
	new a
	WHO=(nsenter "--pid=/proc/$PID/ns/pid_for_children")
	ctl "load pid=1"
	WHO=()
	holds "$C/ctl" "load pid=$leader"
	[ "$(ls "$C/children" | wc -l)" = 1 ]
}

no_children() {
	[ -z "$(ls "$C/children")" ]
}

untraced() {
	[ "$(tracer_of "$1")" = 0 ]
}

@test "load pid: all threads or none" {
	serve --backend=perf
	begin a subject -t 4 faults 100
	monitor other "${TIDS[2]}"
	new a
	put ok "$C/pmc/0" "$(user_event page-faults)"
	refused EBUSY "load pid=$PID" "${TIDS[2]}"
	until_ok no_children
	for tid in "$PID" "${TIDS[0]}" "${TIDS[1]}" "${TIDS[3]}"; do
		until_ok untraced "$tid"
	done
	[ "$(tracer_of "${TIDS[2]}")" != 0 ]
	probe ok rmdir "$MNT/ctx/other"
	pid=$PID
	debug d "${TIDS[3]}" ok
	refused EBUSY "load pid=$pid" "${TIDS[3]}"
	until_ok no_children
	go d
	until_ok untraced "${TIDS[3]}"
	refused EINVAL "load pid=${TIDS[0]}" "$pid"
	put EINVAL "$C/ctl" "load pid=$pid ptrace=no"
	put EINVAL "$C/ctl" "load pid=$pid tid=$pid"
	put EINVAL "$C/ctl" "load pid=0"
	put ESRCH "$C/ctl" "load pid=$((1 << 22))"
	until_ok put ok "$C/ctl" "load pid=$pid"
	[ "$(ls "$C/children" | wc -l)" = 4 ]
	probe ok rmdir "$C"
	for tid in "$pid" "${TIDS[@]}"; do
		until_ok untraced "$tid"
	done
}
