#!/bin/bash
# SPDX-License-Identifier: MIT
# random_kill.sh [TIMES]: ends pfm by a signal at any moment, a thousand times, most often by SIGKILL:
# as it counts commands, CPUs and processes, follows, shows and records, with a mount and with a private daemon.
# After each, nothing may be left: no context and no process, with whose namespace a private mount
# ends. Root's; BUILD is the build directory. SEED has the same moments again.
set -u
# Under nohup, SIGHUP would end nothing.
[ -n "${HUP_ENDS-}" ] || HUP_ENDS=1 exec env --default-signal=HUP "$0" "$@"
build=$(realpath "${BUILD:?}")
times=${1:-1000}
seed=${SEED:-$RANDOM}
RANDOM=$seed
tmp=$(mktemp -d)
mnt=$tmp/mnt
mkdir "$mnt" "$tmp/bin"
# Programs that only this script runs, so that what is left of them is found
cp "$build/tools/pfm/pfm" "$build/daemon/perfmonfs" "$tmp/bin"
cp "$(command -v sleep)" "$tmp/bin/napper"
PATH=$tmp/bin:$PATH
daemon='' round=0 how=''
declare -A killed=()

running() { find /proc -maxdepth 2 -name exe -lname "$tmp/bin/*" 2>/dev/null | cut -d/ -f3; }

finish() {
	# A child that a signal ends before its exec comes here, too.
	[ "$BASHPID" = $$ ] || return
	# shellcheck disable=SC2046
	kill -KILL $(running)
	[ -z "$daemon" ] || kill -KILL "$daemon"
	wait
	umount -l "$mnt"
	rm -rf "$tmp"
} 2>/dev/null
trap finish EXIT

fail() {
	echo "round $round (SEED=$seed), $how: $*"
	# shellcheck disable=SC2046
	ps -o pid,ppid,stat,args -p "$(running | paste -sd,)"
	ls "$mnt/ctx"
	cat "$tmp/log"
	exit 1
}

# eventually WHAT COMMAND...: within a minute it is so
eventually() {
	local what=$1 i

	shift
	for ((i = 0; i < 3000; i++)); do
		"$@" && return
		sleep 0.02
	done
	fail "$what"
}

served() { [ -e "$mnt/version" ]; } 2>/dev/null
no_processes() { [ -z "$(running)" ]; }
no_contexts() { served && [ -z "$(ls "$mnt/ctx")" ]; }

where_no_mount_is() {
	exec unshare -m --propagation private sh -c '
		findmnt -rno TARGET -t fuse.perfmonfs | xargs -r umount -l
		exec "$@"' sh "$@"
}

begin() {
	case $how in
	command) exec pfm stat --mount="$mnt" napper 1000 ;;
	followed) exec pfm stat --mount="$mnt" --per-thread napper 1000 ;;
	cpus) exec pfm stat --mount="$mnt" -a napper 1000 ;;
	process) exec pfm stat --mount="$mnt" -p $$ ;;
	table) exec pfm top --mount="$mnt" -a ;;
	recording) exec pfm record --mount="$mnt" -o "$tmp/recorded" napper 1000 ;;
	private) where_no_mount_is pfm stat napper 1000 ;;
	private_cpus) where_no_mount_is pfm stat -a ;;
	esac >/dev/null 2>&1
}

round() {
	local all=(command followed cpus process table recording private private_cpus)
	local signals=(KILL KILL KILL TERM HUP) signal pfm

	how=${all[RANDOM % ${#all[@]}]} signal=${signals[RANDOM % 5]}
	begin &
	pfm=$!
	sleep "$(printf "0.%03d" $((RANDOM % 150)))"
	kill -"$signal" $pfm
	wait $pfm
	how="$how, $signal"
	killed[$how]=$((${killed[$how]-0} + 1))
	eventually "a process is left" no_processes
	eventually "a context is left" no_contexts
} 2>/dev/null

"$build/daemon/perfmonfs" -f --backend=perf "$mnt" >"$tmp/log" 2>&1 &
daemon=$!
eventually "the daemon serves" served
for ((round = 0; round < times; round++)); do round; done
kill "$daemon"
wait "$daemon" || fail "the daemon's exit status is $?"
daemon=''
! grep -Ei 'error|warning|sanitizer|leak|runtime' "$tmp/log" || fail "the daemon complains"
for how in "${!killed[@]}"; do echo "${killed[$how]} times $how"; done | sort
