# SPDX-License-Identifier: MIT
# The audit record. The daemon has a mount namespace of its own, in which /dev/log is the test's socket.

load common

setup() {
	bench_setup
	SOCKET=$BATS_TEST_TMPDIR/socket
	RECORD=$BATS_TEST_TMPDIR/lines
	RECEIVER= SUBJECT= FORMATS=
	: >"$RECORD"
}

teardown() {
	[ -z "$RECEIVER" ] || kill "$RECEIVER"
	[ -z "$SUBJECT" ] || kill "$SUBJECT"
	[ -z "$FORMATS" ] || rm -rf "$FORMATS"
	bench_teardown
}

# The system's log, whose lines are put into RECORD.
receive() {
	python3 -c '
import socket, sys
s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
s.bind(sys.argv[1])
while True:
    open(sys.argv[2], "ab").write(s.recv(4096) + b"\n")
' "$SOCKET" "$RECORD" 3>&- &
	RECEIVER=$!
	until_ok test -S "$SOCKET"
}

# serve_apart OPTION...: the processes of the test join that namespace. A tmpfs in place of /dev takes what is needed.
serve_apart() {
	# shellcheck disable=SC2016
	unshare -m --propagation private sh -euc '
		socket=$1 dev=$2
		shift 2
		mkdir "$dev"
		mount --rbind /dev "$dev"
		mount -t tmpfs -o mode=0755 tmpfs /dev
		for f in fuse null zero random urandom; do
			ln -s "$dev/$f" "/dev/$f"
		done
		ln -s "$socket" /dev/log
		exec perfmonfs "$@"' sh "$SOCKET" "$BATS_TEST_TMPDIR/dev" \
		-f "$@" "$MNT" >"$LOG.out" 2>"$LOG" 3>&- 4>&- 5>&- &
	DAEMON=$!
	JOIN=(nsenter --mount="/proc/$DAEMON/ns/mnt")
	WHO=("${JOIN[@]}")
	until_ok served_apart
}

served_apart() {
	gone "$DAEMON" || bounded "${WHO[@]}" cat "$MNT/version" >/dev/null 2>&1
}

as_nobody() {
	local WHO=("${JOIN[@]}" setpriv --reuid="$NOBODY" --regid="$NOBODY" --clear-groups)

	"$@"
}

# recorded LINE: a regular expression
recorded() {
	until_ok grep -qxE "<8[56]>perfmonfs\[$DAEMON\]: $1" "$RECORD" || {
		cat "$RECORD"
		return 1
	}
}

@test "loads, refusals and configuration are recorded" {
	receive
	serve_apart --backend=sim
	new a
	ctl "load cpu=1"
	recorded "load uid=0 by=[0-9]+ context=a owner=0 cpu=1 set=0"
	as_nobody new b
	as_nobody put EPERM "$C/ctl" "load cpu=0"
	recorded "refused load uid=$NOBODY by=[0-9]+ context=b owner=$NOBODY cpu=0 set=0 error=EPERM"
	put ok "$MNT/config/user_contexts_max" 1
	recorded "config uid=0 by=[0-9]+ user_contexts_max=1"
	as_nobody probe ENOSPC mkdir "$MNT/ctx/c"
	recorded "refused context uid=$NOBODY by=[0-9]+ error=ENOSPC"
	put ok "$MNT/config/audit" off
	recorded "config uid=0 by=[0-9]+ audit=off"
	C=$MNT/ctx/a
	ctl unload
	ctl "load cpu=1"
	put ok "$MNT/config/audit" on
	recorded "config uid=0 by=[0-9]+ audit=on"
	[ "$(grep -c ': load ' "$RECORD")" = 1 ]
}

@test "changes of the formats are recorded" {
	FORMATS=$(mktemp -d /run/perfmonfs-test.XXXXXX)
	chmod 755 "$FORMATS"
	install -m 644 "$BUILD/formats/count.so" "$FORMATS/a b.so"
	echo rubbish >"$FORMATS/c.so"
	receive
	serve_apart --backend=sim
	put ok "$MNT/formats" "register $FORMATS/a b.so"
	recorded "register uid=0 by=[0-9]+ format=count uuid=[0-9a-f-]{36} path=$FORMATS/a b.so"
	put ENOEXEC "$MNT/formats" "register $FORMATS/c.so"
	recorded "refused register uid=0 by=[0-9]+ error=ENOEXEC path=$FORMATS/c.so"
	new a
	put ok "$C/format" count
	put EBUSY "$MNT/formats" "unregister count"
	put ok "$C/format" none
	put ok "$MNT/formats" "unregister count"
	recorded "unregister uid=0 by=[0-9]+ format=count uuid=[0-9a-f-]{36}"
	put EPERM "$MNT/formats" "unregister default"
	recorded "refused unregister uid=0 by=[0-9]+ error=EPERM"
	# shellcheck disable=SC2016
	"${JOIN[@]}" sh -c 'mnt=$1; shift; "$@" <<-END 4>>"$mnt/formats"
		register /none
	END' sh "$MNT" setpriv --reuid="$NOBODY" --regid="$NOBODY" --clear-groups fsprobe write - || :
	recorded "refused formats uid=$NOBODY by=[0-9]+ error=EPERM"
	[ "$(wc -l <"$RECORD")" = 5 ]
}

# A recorded daemon, SUBJECT to be loaded on, and a context.
serve_subject() {
	receive
	serve_apart --backend=perf
	sleep 600 3>&- &
	SUBJECT=$!
	new a
}

@test "loads on threads are recorded as they were written" {
	serve_subject
	ctl "load tid=$SUBJECT"
	recorded "load uid=0 by=[0-9]+ context=a owner=0 tid=$SUBJECT set=0"
	as_nobody new b
	as_nobody put EPERM "$C/ctl" "load pid=$SUBJECT"
	recorded "refused load uid=$NOBODY by=[0-9]+ context=b owner=$NOBODY pid=$SUBJECT set=0 error=EPERM"
}

@test "a load is recorded with its PMCs, an unload with what caused it" {
	receive
	serve_apart --backend=sim
	new a
	for set in 1 2 3 4 5 6 7 8; do
		probe ok mkdir "$C/set/$set"
		put ok "$C/set/$set/pmc/0" 0x4100c0
	done
	put ok "$C/pmc/0" 0x4100c4
	put ok "$C/pmc/1" 0x41003c
	ctl "load cpu=1"
	recorded "load uid=0 by=[0-9]+ context=a owner=0 cpu=1 set=0 pmc0=branches:u pmc1=cycles:u( set[1-6]\.pmc0=instructions:u){6} more=2"
	ctl unload
	recorded "unload uid=0 by=[0-9]+ context=a owner=0 cpu=1 cause=command"
	ctl "load cpu=0"
	probe ok rmdir "$C"
	recorded "unload uid=0 by=[0-9]+ context=a owner=0 cpu=0 cause=rmdir"
	bounded "${WHO[@]}" cloneprobe "$MNT/clone" rw setup 2 - 0 load 0 0 >"$BATS_TEST_TMPDIR/steps"
	recorded "unload context=[0-9]+ owner=0 cpu=0 cause=close"
	put ok "$MNT/config/grants" "uid=$NOBODY cpus=1\n-uid=$NOBODY"
	recorded "grant by=[0-9]+ \+uid=$NOBODY cpus=1"
	recorded "grant by=[0-9]+ -uid=$NOBODY cpus=0-4095"
	new b
	ctl unload # of a context that is not loaded
	ctl "load cpu=1"
	pid=$DAEMON
	stop_daemon
	DAEMON=$pid
	recorded "unload context=b owner=0 cpu=1 cause=shutdown"
	DAEMON=
	[ "$(grep -c ': unload ' "$RECORD")" = 4 ]
}

@test "events are recorded by name, and the end of their thread" {
	serve_subject
	put ok "$C/pmc/0" page-faults:u
	put ok "$C/pmc/3" context-switches
	ctl "load tid=$SUBJECT"
	recorded "load uid=0 by=[0-9]+ context=a owner=0 tid=$SUBJECT set=0 pmc0=page-faults:u pmc3=context-switches"
	subject=$SUBJECT
	SUBJECT=
	kill "$subject"
	recorded "unload context=a owner=0 tid=$subject cause=end"
}

@test "a user cannot flood the log" {
	receive
	serve_apart --backend=sim
	as_nobody new b
	# shellcheck disable=SC2016
	"${JOIN[@]}" setpriv --reuid="$NOBODY" --regid="$NOBODY" --clear-groups \
		sh -c 'i=0; while [ $i -lt 2000 ]; do echo "load cpu=0" >"$1"; i=$((i + 1)); done' sh "$C/ctl" \
		2>/dev/null || true
	output=$("${JOIN[@]}" sed -n 's/^audit_suppressed //p' "$MNT/stats")
	[ "$output" -gt 0 ]
	[ $((output + $(grep -c ': refused load' "$RECORD"))) -le 2000 ]
}

@test "without a log, loads go on and the lines are counted" {
	serve_apart --backend=sim
	new a
	ctl "load cpu=1"
	"${JOIN[@]}" grep -x "audit_dropped 1" "$MNT/stats"
}
