#!/bin/bash
# SPDX-License-Identifier: MIT
# random_kill.sh [SECONDS]: has a client monitor programs that make threads and processes, and ends
# the client, the program or the daemon by SIGKILL at any moment, for ten minutes. After each the
# programs must run, untraced and not stopped, and nothing may be left: no mount, no context that
# cannot be removed, no file and no thread of the daemon. Root's; BUILD is the build directory.
# SEED has the same victims again.
set -u
build=$(realpath "${BUILD:?}")
end=$((SECONDS + ${1:-600}))
seed=${SEED:-$RANDOM}
RANDOM=$seed
tmp=$(mktemp -d)
mnt=$tmp/mnt
mkdir "$mnt"
daemon='' target='' client='' round=0
declare -A killed=([client]=0 [target]=0 [daemon]=0)

finish() {
	[ -z "$client" ] || kill -KILL "$client"
	[ -z "$target" ] || kill -KILL -- "-$target"
	[ -z "$daemon" ] || kill -KILL "$daemon"
	wait
	! mounted || umount -l "$mnt"
	rm -rf "$tmp"
} 2>/dev/null
trap finish EXIT

fail() {
	echo "round $round (SEED=$seed): $*"
	[ -z "$target" ] || tasks_of_target
	cat "$tmp/log"
	exit 1
}

# eventually WHAT COMMAND...: within some seconds it is so
eventually() {
	local what=$1 i

	shift
	for ((i = 0; i < 250; i++)); do
		"$@" && return
		sleep 0.02
	done
	fail "$what"
}

mounted() { findmnt -n --mountpoint "$mnt" >/dev/null; }
not_mounted() { ! mounted; }
served() { [ -e "$mnt/version" ]; } 2>/dev/null

begin_daemon() {
	"$build/daemon/perfmonfs" -f --backend=perf "$mnt" >"$tmp/log" 2>&1 9>&- &
	daemon=$!
	eventually "the daemon serves" served
	faults=$(awk '$1 == "page-faults" { print $2 }' "$mnt/pmu/events")
	# What it has open once it has followed a thread, with ctxsw threads, is what it may have open.
	monitor_once "$target" || fail "nothing can be monitored: $(cat "$mnt/ctx/first/last_error")"
	rmdir "$mnt/ctx/first"
	sleep 0.2
	files=$(count_of fd) threads=$(count_of task)
}

monitor_once() {
	mkdir "$mnt/ctx/first" && echo "load tid=$1 follow cpus=$(cat /sys/devices/system/cpu/online)" >"$mnt/ctx/first/ctl" &&
		echo start >"$mnt/ctx/first/ctl"
}

count_of() { find "/proc/$daemon/$1" -mindepth 1 -maxdepth 1 | wc -l; }
no_more_files() { [ "$(count_of fd)" -le "$files" ]; }
no_more_threads() { [ "$(count_of task)" -le "$threads" ]; }

# Its own process group, so that what it makes is found.
begin_target() {
	local program

	case $((RANDOM % 4)) in
	0) program="subject -t 8 -m cpu 1000000000" ;;
	1) program="subject -t 50 -w 1 faults 1000000000" ;;
	2) program="waves threads 1000000000 20 50" ;;
	3) program="waves forks 1000000000 20 50" ;;
	esac
	rm -f "$tmp/in"
	mkfifo "$tmp/in"
	: >"$tmp/said"
	exec 9<>"$tmp/in"
	# shellcheck disable=SC2086
	setsid "$build/tests/track/"$program <"$tmp/in" >"$tmp/said" 9>&- &
	target=$!
	eventually "the target begins" grep -qE "^(ready|thread)" "$tmp/said"
	echo >&9
}

tasks_of_target() {
	local p t

	for p in $(pgrep -g "$target"); do
		for t in "/proc/$p/task"/*; do
			awk '$1 == "Name:" || $1 == "State:" || $1 == "TracerPid:" || $1 == "Pid:" { printf "%s ", $2 }
				END { print "" }' "$t/status"
		done
	done
} 2>/dev/null

# Its name, state, number and tracer: none stopped, none traced.
all_free() { ! tasks_of_target | awk '$2 ~ /[tT]/ || $4 != 0 { found = 1 } END { exit !found }'; }
ticks() { awk '{ sub(/.*\) /, ""); print $12 + $13 + $14 + $15 }' "/proc/$target/stat"; }
grown() { [ "$(ticks)" -gt "$before" ]; }
target_runs() {
	eventually "the target is free" all_free
	before=$(ticks)
	eventually "the target runs" grown
}

# All that can be done, as it comes; half of it fails.
client_does() {
	local c=$mnt/ctx/c$1 n

	RANDOM=$1
	cd / || exit
	while :; do
		mkdir "$c"
		echo "$faults" >"$c/pmc/0"
		[ $((RANDOM % 2)) = 0 ] || echo notify_block >"$c/flags"
		echo "-$((RANDOM + 1)) long=-$((RANDOM + 1)) notify" >"$c/pmd/0"
		echo "load tid=$target $([ $((RANDOM % 4)) = 0 ] || echo follow)" >"$c/ctl"
		echo start >"$c/ctl"
		for ((n = RANDOM % 20; n > 0; n--)); do
			read -r _ <"$c/pmd/0"
			echo restart >"$c/ctl"
			cat "$c"/children/*/state "$c/total" >/dev/null
		done
		[ $((RANDOM % 2)) = 0 ] || echo unload >"$c/ctl"
		rmdir "$c"
	done
} 2>/dev/null >/dev/null

begin_client() {
	client_does $((round + 1)) 9>&- &
	client=$!
}

# sigkill NAME PID
sigkill() {
	killed[$1]=$((killed[$1] + 1))
	kill -KILL -- "$2"
	wait "${2#-}"
} 2>/dev/null

remove_contexts() {
	local c

	for c in "$mnt"/ctx/*; do
		# One that a client was about to remove when it was killed may go by itself.
		[ ! -d "$c" ] || rmdir "$c" 2>/dev/null || [ ! -d "$c" ] ||
			fail "rmdir ${c##*/}: $(cat "$mnt/last_error")"
	done
}

after_daemon() {
	daemon=''
	eventually "unmounted" not_mounted
	target_runs
	begin_daemon
}

round() {
	local victims=(client target daemon)
	local victim=${victims[round < 3 ? round : RANDOM % 3]} # each of them, however slow the machine is

	begin_client
	sleep "$(printf "0.%03d" $((RANDOM % 500)))"
	case $victim in
	client) sigkill client "$client" ;;
	target) sigkill target "-$target" ;;
	daemon) sigkill daemon "$daemon" ;;
	esac
	[ "$victim" = client ] || { kill -KILL "$client" && wait "$client"; } 2>/dev/null
	client=''
	case $victim in
	daemon) after_daemon ;;
	target) begin_target ;;
	esac
	kill -0 "$daemon" 2>/dev/null || fail "the daemon has ended"
	remove_contexts
	target_runs
	eventually "no file is left open" no_more_files
	eventually "no thread is left" no_more_threads
}

: >"$tmp/log"
begin_target
begin_daemon
while [ "$SECONDS" -lt "$end" ]; do
	round
	round=$((round + 1))
done
kill "$daemon"
wait "$daemon" || fail "the daemon's exit status is $?"
daemon=''
! grep -Ei 'error|warning|sanitizer|leak|runtime' "$tmp/log" || fail "the daemon complains"
target_runs
echo "$round rounds: killed ${killed[client]} clients, ${killed[target]} targets, ${killed[daemon]} daemons"
