# SPDX-License-Identifier: MIT
# For tests that use a mount: a daemon in the foreground on a mount point of its own, ended and
# checked after each test. BUILD is the build directory.

bats_require_minimum_version 1.5.0

load ../fs/probe

export LC_ALL=C UBSAN_OPTIONS=halt_on_error=1
NOBODY=65534
SUSPICIOUS='error|warning|sanitizer|leak|runtime'

setup() {
	bench_setup
}

# For files whose tests have more in common.
bench_setup() {
	PATH="$BATS_RUN_TMPDIR:$BUILD/tools:$PATH"
	[ "$(id -u)" = 0 ] || skip "needs root"
	[ -w /dev/fuse ] || skip "needs /dev/fuse"
	# Other users must be kept out by the tree's modes, not by those of directories above it.
	umask 022
	chmod go+x "$BATS_RUN_TMPDIR" "${BATS_TEST_TMPDIR%/*}" "$BATS_TEST_TMPDIR"
	for program in daemon/perfmonfs tests/fs/fsprobe tests/fs/cloneprobe; do
		[ -x "$BATS_RUN_TMPDIR/${program##*/}" ] || cp "$BUILD/$program" "$BATS_RUN_TMPDIR"
	done
	MNT=$BATS_TEST_TMPDIR/mnt
	CPU=$BATS_TEST_TMPDIR/cpu
	LOG=$BATS_TEST_TMPDIR/stderr
	mkdir "$MNT" "$CPU"
	DAEMON=
	MSRSIM=
	[ ! -e "$BATS_RUN_TMPDIR/failed" ] || skip "an earlier test has failed"
}

teardown() {
	bench_teardown
}

bench_teardown() {
	local rc=0

	# For tests/mutate, which only wants to know whether any fails.
	[ -z "${STOP_AT_FAILURE-}" ] || [ -n "${BATS_TEST_COMPLETED-}" ] || [ -n "${BATS_TEST_SKIPPED-}" ] ||
		: >"$BATS_RUN_TMPDIR/failed"
	exec 4>&- 5>&-
	cd /
	[ -z "$DAEMON" ] || stop_daemon || rc=1
	[ -z "$MSRSIM" ] || stop_msrsim || rc=1
	clear_mount "$MNT" || rc=1
	clear_mount "$CPU" || rc=1
	return "$rc"
}

# Nothing may be left mounted. If something is, it must not disturb later tests: umount -f aborts the
# connection, and processes that wait for an answer get an error.
clear_mount() {
	mounted "$1" || return 0
	echo "still mounted: $1"
	umount -f "$1" || umount -l "$1"
	return 1
}

# needs_files N: lets programs that this test starts have N open files
needs_files() {
	ulimit -S -n "$1" 2>/dev/null || skip "needs $1 open files (ulimit -n)"
}

# A zombie is gone, too.
gone() {
	local state

	read -r _ _ state _ 2>/dev/null <"/proc/$1/stat" || return 0
	[ "$state" = Z ]
}

# at_once FUNCTION ARGUMENT...: the function with each argument, beside each other, to their ends
at_once() {
	local pids=() n

	for n in "${@:2}"; do
		"$1" "$n" 3>&- &
		pids+=($!)
	done
	for n in "${pids[@]}"; do
		until_ok gone "$n"
	done
	wait "${pids[@]}"
}

# By the kernel's table: mountpoint(1) does not see a dead mount.
mounted() {
	findmnt -n --mountpoint "$1" >/dev/null
}

not_mounted() {
	! mounted "$MNT"
}

# serve OPTION...: DAEMON serves at MNT; the simulator's time is the test's unless --clock is given
serve() {
	case " $* " in
	*" --clock="*) ;;
	*" --backend=sim"*) set -- --clock=script "$@" ;;
	esac
	perfmonfs -f "$@" "$MNT" >"$LOG.out" 2>"$LOG" 3>&- 4>&- 5>&- &
	DAEMON=$!
	if ! until_ok served || gone "$DAEMON"; then
		cat "$LOG"
		return 1
	fi
}

# on_older_kernel: what serve() begins finds the ids of threads in their status alone, as before Linux
# 6.13
on_older_kernel() {
	"$BUILD/tests/fs/oldkernel" true || skip "no seccomp filters: an older kernel cannot be played"
	perfmonfs() {
		exec "$BUILD/tests/fs/oldkernel" "$BATS_RUN_TMPDIR/perfmonfs" "$@"
	}
}

# session_read: bytes that the session thread has read
session_read() {
	awk '$1 == "rchar:" { print $2 }' "/proc/$DAEMON/task/$DAEMON/io"
}

# reads_in_another_thread LINE: ctl refuses it for a user whose status is long, and %d in it is the
# writer; the session thread has not read that
reads_in_another_thread() {
	local before

	[ "$(cat /proc/sys/kernel/ngroups_max)" -ge 65536 ] || skip "kernel.ngroups_max is below 65536"
	cat >"$BATS_TEST_TMPDIR/reads" <<-'END'
		import errno, os, sys
		os.setgroups(range(100000, 165536))
		os.setgid(65534)
		os.setuid(65534)
		os.mkdir(sys.argv[1] + "/ctx/n")
		fd = os.open(sys.argv[1] + "/ctx/n/ctl", os.O_WRONLY)
		for _ in range(2):
		    try:
		        os.write(fd, sys.argv[2].replace("%d", str(os.getpid())).encode())
		        print("ok")
		    except OSError as e:
		        print(errno.errorcode[e.errno])
	END
	before=$(session_read)
	run -0 bounded python3 "$BATS_TEST_TMPDIR/reads" "$MNT" "$1"
	is "EFBIG
EFBIG"
	[ $(($(session_read) - before)) -lt 16384 ]
}

# The kernel may still have names of a mount that is dead now.
served() {
	gone "$DAEMON" || bounded cat "$MNT/version" >/dev/null 2>&1
}

# ended EXPECTED-STATUS: DAEMON has ended, or will soon, with that status and a clean log
ended() {
	local rc=0 pid=$DAEMON

	DAEMON=
	until_ok gone "$pid" || {
		kill -KILL "$pid"
		return 1
	}
	wait "$pid" || rc=$?
	if grep -Ei "$SUSPICIOUS" "$LOG"; then
		cat "$LOG"
		return 1
	fi
	[ "$rc" = "$1" ] || {
		echo "the daemon's exit status is $rc, not $1"
		cat "$LOG"
		return 1
	}
}

stop_daemon() {
	kill -TERM "$DAEMON"
	ended 0
}

# serve_msrsim OPTION...: MSRSIM is at CPU
serve_msrsim() {
	msrsim -f "$@" "$CPU" 3>&- 4>&- 5>&- &
	MSRSIM=$!
	until_ok test -d "$CPU/sim"
}

stop_msrsim() {
	local pid=$MSRSIM

	MSRSIM=
	kill -TERM "$pid"
	until_ok gone "$pid"
	wait "$pid"
}

# msr CPU ADDRESS: the bytes of the register, in hex
msr() {
	bounded fsprobe pread "$CPU/$1/msr" 8 "$2"
}

# as USER COMMAND...: the helpers below act as the user nobody; if USER is a number, with that group
as() {
	local WHO=(setpriv --reuid="$NOBODY" --regid="$NOBODY")

	case $1 in
	nobody) WHO+=(--clear-groups) ;;
	*) WHO+=(--groups="$1") ;;
	esac
	shift
	"$@"
}

# with_mounts MOUNTS COMMAND...: where nothing is mounted of perfmonfs but MOUNTS, a line each; other tests have theirs
with_mounts() {
	# shellcheck disable=SC2016
	unshare -m --propagation private bash -c '
		findmnt -rno TARGET -t fuse.perfmonfs | while read -r mount; do
			mount=$(printf %b "$mount")
			grep -Fxq -e "$mount" <<<"$0" || umount -l "$mount"
		done
		exec "$@"' "$@"
}

# put EXPECTED FILE TEXT: one write(2) of TEXT, in which \n, \0 and the like are escapes
put() {
	printf '%b' "$3" >"$BATS_TEST_TMPDIR/text"
	output=$(bounded "${WHO[@]}" fsprobe write "$2" <"$BATS_TEST_TMPDIR/text")
	is "$1" || {
		echo "on writing '${3:0:80}' to $2"
		return 1
	}
}

# A clock that steps of the date leave alone
monotonic_ns() {
	perl -MTime::HiRes=clock_gettime,CLOCK_MONOTONIC -e 'printf "%d\n", 1e9 * clock_gettime(CLOCK_MONOTONIC)'
}

# holds FILE TEXT: reading gives that
holds() {
	output=$(bounded "${WHO[@]}" cat "$1")
	is "$2"
}

# sentence FILE NOUN: last_error reports a failure in one line that names the thing
sentence() {
	output=$(bounded "${WHO[@]}" cat "$1")
	[[ -n $output && $output != ok && $output != *$'\n'* && $output == *"$2"* ]] || {
		printf 'no sentence about %s: %s\n' "$2" "$output"
		return 1
	}
}

# new NAME: a context; C is its directory
new() {
	C=$MNT/ctx/$1
	probe ok mkdir "$C"
}

no_contexts() {
	[ -z "$(ls "$MNT/ctx")" ]
}

ctl() {
	put ok "$C/ctl" "$1"
}

# refused ERRNO COMMAND NOUN: by ctl, with a sentence about NOUN
refused() {
	put "$1" "$C/ctl" "$2"
	sentence "$C/last_error" "$3"
}

# advance NS: of the model's time
advance() {
	put ok "$MNT/sim/advance" "$1"
}

# The names of the built-in formats, in a line each. The source calls "default" dfl.
builtin_formats() {
	grep '^format_names' "$BATS_TEST_DIRNAME/../../formats/meson.build" | grep -o "'[a-z]*'" |
		tr -d "'" | sed 's/^dfl$/default/'
}
