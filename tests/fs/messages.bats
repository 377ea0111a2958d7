# SPDX-License-Identifier: MIT
# Messages, and waiting for them: blocking reads, poll, select, epoll, signals. They run on a model of
# a CPU, whose time passes only by sim/advance, and with real page faults.

load common

USER=0x4100c0 # 2000 times a microsecond
LINE="overflow cpu=1 set=0 pmds=0"

# zeros N: N zero bytes, in hex
zeros() {
	printf "%0$((2 * $1))d" 0
}

# The record that overflow() causes: type, pid, set and CPU, thread, address, PMDs.
RECORD=01000000$(zeros 4)00000100$(zeros 4)$(zeros 8)01$(zeros 39)

# armed NAME: a context that runs on CPU 1 and whose PMD 0 overflows within a microsecond
armed() {
	new "$1"
	put ok "$C/regs" "pmc0 $USER\npmd0 -2000 long=-2000 short=-2000 notify"
	ctl "load cpu=1"
	ctl start
}

# overflow [AGAIN...]: one message, and monitoring is masked. With an argument, it restarts first.
overflow() {
	[ $# = 0 ] || ctl restart
	advance 1000
}

# overflow_again TIMES: quickly
overflow_again() {
	local n

	for ((n = 0; n < $1; n++)); do
		echo restart >"$C/ctl"
		echo 1000 >"$MNT/sim/advance"
	done
}

# System calls by their numbers on x86-64, the daemon's architecture: read, poll, select, pselect6,
# rt_sigtimedwait, epoll_wait, epoll_pwait.
WAITING=" 0 7 23 270 128 232 281 "

# waits PID: a thread of the process sleeps in one of them, no longer in open(2)
waits() {
	local task nr state

	for task in "/proc/$1/task"/*; do
		read -r nr _ 2>/dev/null <"$task/syscall" || continue
		read -r _ _ state _ 2>/dev/null <"$task/stat" || continue
		[[ $WAITING != *" $nr "* || $state != S ]] || return 0
	done
	return 1
}

waits_or_gone() {
	waits "$1" || gone "$1"
}

# start NAME COMMAND...: runs it in the background, and returns when it waits or has ended; its output
# is in NAME, its pid in PIDS
start() {
	local name=$1

	shift
	"${WHO[@]}" fsprobe "$@" <&0 >"$BATS_TEST_TMPDIR/$name" 2>&1 3>&- &
	PIDS[$name]=$!
	until_ok waits_or_gone $!
}

# printed NAME TEXT: the command started as NAME has ended, and has printed that
printed() {
	until_ok gone "${PIDS[$1]}"
	wait "${PIDS[$1]}" || :
	output=$(cat "$BATS_TEST_TMPDIR/$1")
	is "$2"
}

# kill_started NAME
kill_started() {
	kill -KILL "${PIDS[$1]}"
	until_ok gone "${PIDS[$1]}"
	wait "${PIDS[$1]}" || :
}

setup() {
	declare -gA PIDS=()
	bench_setup
}

@test "too many signals for the daemon's descriptors" {
	local n

	# An eighth of them is for signals of all users but root, which have three each.
	ulimit -n 128
	serve --backend=sim
	for n in 1 2 3 4 5; do
		WHO=(setpriv --reuid=6110"$n" --regid=6110"$n" --clear-groups)
		new "c$n"
		put ok "$C/ctl" "signal sig=10"
	done
	put ok "$C/ctl" "signal sig=12" # instead of the other one
	new last
	refused ENOSPC "signal sig=10" LimitNOFILE
	put ok "$MNT/ctx/c5/ctl" "signal sig=0"
	put ok "$C/ctl" "signal sig=10"
	WHO=()
	new roots
	put ok "$C/ctl" "signal sig=10"
}

@test "a record, byte by byte" {
	serve --backend=sim
	armed a
	overflow
	probe "$RECORD" read "$C/msg" 64 rdonly
	put ok "$C/regs" "pmc16 0x20\npmd17 -1 notify"
	overflow again
	probe "01000000$(zeros 4)00000100$(zeros 4)$(zeros 8)010002$(zeros 37)" read "$C/msg" 64 rdonly
	ctl unload
	put ok "$C/regs" "pmc16 0\npmd17 0"
	probe ok mkdir "$C/set/258"
	put ok "$C/set/258/regs" "pmc0 $USER\npmd0 -2000 notify"
	ctl "load cpu=3 set=258"
	ctl start
	overflow
	probe "01000000$(zeros 4)02010300$(zeros 4)$(zeros 8)01$(zeros 39)" read "$C/msg" 64 rdonly
}

@test "reads: EAGAIN without a message, whole messages alone, as many as fit" {
	serve --backend=sim
	armed a
	put EINVAL "$C/ctl" bogus
	for f in msg events; do
		probe EAGAIN read "$C/$f" 64 rdonly,nonblock
		probe EINTR interrupt "$C/$f" 64 50
	done
	sentence "$C/last_error" bogus
	overflow
	overflow_again 2
	for size in 1 63; do
		probe EINVAL read "$C/msg" $size rdonly
		sentence "$C/last_error" "$size"
	done
	probe "$RECORD" read "$C/msg" 65 rdonly
	probe "$RECORD" read "$C/msg" 127 rdonly
	# It is one queue of both files.
	read -r line <"$C/events"
	[ "$line" = "$LINE" ]
	probe EAGAIN read "$C/msg" 4096 rdonly,nonblock
}

@test "neither file seeks or opens for writing" {
	serve --backend=sim
	new a
	for f in msg events; do
		probe ESPIPE lseek "$C/$f"
		probe ESPIPE pread "$C/$f" 64 0
		probe EACCES open "$C/$f" rdwr
		as nobody probe EACCES open "$C/$f" rdonly
	done
}

@test "events: lines, in reads of any size" {
	serve --backend=sim
	armed a
	overflow
	overflow again
	overflow again
	exec 4<"$C/events"
	read -r line <&4
	[ "$line" = "$LINE" ]
	# The rest of a line is for this open file; the next message is for the next reader.
	run -0 bounded fsprobe read - 3 rdonly <&4
	is "$(printf %s "${LINE:0:3}" | in_hex)"
	run -0 bounded fsprobe poll - in 0 <&4
	is in
	bounded dd if="$C/events" bs=200 count=1 status=none >"$BATS_TEST_TMPDIR/other"
	[ "$(cat "$BATS_TEST_TMPDIR/other")" = "$LINE" ]
	probe EAGAIN read "$C/events" 100 rdonly,nonblock
	read -r line <&4
	[ "$line" = "${LINE:3}" ]
	run -0 bounded fsprobe poll - in 0 <&4
	is none
}

# in_hex: of text
in_hex() {
	od -An -tx1 | tr -d ' \n'
}

@test "waiting readers are served in order" {
	serve --backend=sim
	armed a
	start one read "$C/msg" 64 rdonly
	start two read "$C/events" 64 rdonly
	start three read "$C/msg" 4096 rdonly
	# A nonblocking reader does not jump the queue.
	probe EAGAIN read "$C/msg" 64 rdonly,nonblock
	overflow
	printed one "$RECORD"
	until_ok waits "${PIDS[two]}"
	overflow again
	printed two "$(echo "$LINE" | in_hex)"
	until_ok waits "${PIDS[three]}"
	overflow again
	printed three "$RECORD"
}

@test "readers of one open file wait independently" {
	serve --backend=sim
	armed a
	exec 4<"$C/msg"
	start one read - 64 rdonly <&4
	start two read - 64 rdonly <&4
	start three interrupt - 64 300 <&4
	kill_started two
	printed three EINTR
	waits "${PIDS[one]}"
	overflow
	printed one "$RECORD"
}

@test "lines that one read leaves are for the next read of the open file" {
	serve --backend=sim
	armed a
	exec 4<"$C/events"
	start one read - 4 rdonly <&4
	start other read "$C/events" 100 rdonly
	start two read - 100 rdonly <&4
	overflow
	printed one "$(printf over | in_hex)"
	printed two "$(echo "${LINE:4}" | in_hex)"
	waits "${PIDS[other]}"
}

@test "a killed or interrupted reader takes no message" {
	serve --backend=sim
	armed a
	start killed read "$C/msg" 64 rdonly
	start later read "$C/msg" 64 rdonly
	kill_started killed
	probe EINTR interrupt "$C/events" 64 50
	overflow
	printed later "$RECORD"
	start killed read "$C/events" 64 rdonly
	kill_started killed
	overflow again
	probe "$RECORD" read "$C/msg" 64 rdonly
}

@test "rmdir: waiting readers get the end of the file at once" {
	serve --backend=sim
	armed a
	exec 4<"$C/msg"
	start one read "$C/msg" 64 rdonly
	start two read - 64 rdonly <&4
	start three read "$C/events" 64 rdonly
	start poll poll "$C/msg" in 20000
	start state poll "$C/state" pri 20000
	start select select "$C/events" in 20000
	start epoll epoll "$C/msg" in,et 20000 1
	probe ok rmdir "$C"
	for name in one two three; do
		printed $name ""
	done
	printed poll in,hup
	printed state err,hup
	printed select in
	printed epoll in,hup
	run -0 bounded fsprobe read - 64 rdonly <&4
	is ""
	run -0 bounded fsprobe poll - in 1000 <&4
	is in,hup
}

@test "rmdir: nothing follows the end, not even a loss that the removal finds" {
	serve --backend=sim
	armed a
	exec 4<"$C/msg"
	start one read - 64 rdonly <&4
	put ok "$MNT/sim/offline" 1
	probe ok rmdir "$C"
	printed one ""
	run -0 bounded fsprobe read - 64 rdonly <&4
	is ""
}

@test "rmdir: the messages that are left can be read, and then the end" {
	serve --backend=sim
	local line fd

	armed a
	overflow
	overflow again
	exec 4<"$C/events" 5<"$C/msg"
	probe ok rmdir "$C"
	run -0 bounded fsprobe poll - in 0 <&4
	is in,hup
	run -0 bounded fsprobe read - 3 rdonly <&4
	read -r line <&4
	[ "$line" = "${LINE:3}" ]
	run -0 bounded fsprobe read - 64 rdonly <&5
	is "$RECORD"
	for fd in 4 5; do
		run -0 bounded fsprobe read - 64 rdonly <&$fd
		is ""
	done
	# A shell's loop ends with the context, and so does a program in Python's event loop.
	armed a
	bounded bash -c 'while read -r line; do echo "$line"; done <"$1/events"; echo ended' - "$C" \
		>"$BATS_TEST_TMPDIR/shell" 3>&- &
	PIDS[shell]=$!
	bounded python3 - "$C" >"$BATS_TEST_TMPDIR/asyncio" 3>&- <<-'END' &
		import asyncio, os, sys
		async def main():
		    loop, done = asyncio.get_running_loop(), asyncio.Event()
		    fds = [os.open(sys.argv[1] + name, os.O_RDONLY | os.O_NONBLOCK) for name in ("/events", "/state")]
		    def events():
		        text = os.read(fds[0], 4096).decode()
		        print(text or "end", flush=True)
		        if not text:
		            done.set()
		    def state():
		        try:
		            print(os.pread(fds[1], 4096, 0).decode(), flush=True)
		        except OSError as e:
		            print("gone", e.errno, flush=True)
		            loop.remove_reader(fds[1])
		    loop.add_reader(fds[0], events)
		    loop.add_reader(fds[1], state)
		    await done.wait()
		asyncio.run(main())
	END
	PIDS[asyncio]=$!
	until_ok grep -q running "$BATS_TEST_TMPDIR/asyncio"
	overflow
	until_ok grep -q masked "$BATS_TEST_TMPDIR/asyncio"
	until_ok grep -q overflow "$BATS_TEST_TMPDIR/asyncio" "$BATS_TEST_TMPDIR/shell"
	probe ok rmdir "$C"
	wait "${PIDS[shell]}" "${PIDS[asyncio]}"
	grep -qx ended "$BATS_TEST_TMPDIR/shell"
	grep -qx end "$BATS_TEST_TMPDIR/asyncio"
	[ "$(grep -c "^running" "$BATS_TEST_TMPDIR/asyncio")" = 1 ]
}

@test "state: readable when it has not been read, and when it is new" {
	serve --backend=sim
	armed a
	probe in poll "$C/state" in,pri 0
	exec 4<"$C/state"
	run -0 bounded fsprobe pread - 64 0 <&4
	run -0 bounded fsprobe poll - in,pri 0 <&4
	is none
	start poll poll - in 20000 <&4
	ctl stop
	printed poll in
	run -0 bounded fsprobe select - in,pri 0 <&4
	is in,pri
	run -0 bounded fsprobe pread - 1 0 <&4
	run -0 bounded fsprobe poll - in 0 <&4
	is none
}

@test "the daemon ends: waiting readers return" {
	serve --backend=sim
	armed a
	start one read "$C/msg" 64 rdonly
	start two read "$C/events" 64 rdonly
	start poll poll "$C/msg" in 20000
	new b
	start three read "$C/msg" 64 rdonly
	stop_daemon
	for name in one two three; do
		until_ok gone "${PIDS[$name]}"
		[[ $(cat "$BATS_TEST_TMPDIR/$name") =~ ^(|ECONNABORTED|ENOTCONN)$ ]]
	done
	until_ok gone "${PIDS[poll]}"
	[[ $(cat "$BATS_TEST_TMPDIR/poll") =~ ^(in,hup|.*err.*)$ ]]
}

@test "the daemon is killed: waiting readers return" {
	serve --backend=sim
	armed a
	start one read "$C/msg" 64 rdonly
	start poll poll "$C/msg" in 20000
	kill -KILL "$DAEMON"
	wait "$DAEMON" || :
	DAEMON=
	until_ok gone "${PIDS[one]}"
	until_ok gone "${PIDS[poll]}"
	until_ok not_mounted
}

@test "hundreds of readers come and go" {
	serve --backend=sim
	armed a
	fds=$(find "/proc/$DAEMON/fd" | wc -l)
	for ((round = 0; round < 3; round++)); do
		pids=()
		for ((n = 0; n < 100; n++)); do
			fsprobe read "$C/msg" 64 rdonly >/dev/null 3>&- &
			pids+=($!)
		done
		until_ok waits $!
		kill -KILL "${pids[@]}"
		wait "${pids[@]}" || :
	done 2>/dev/null
	overflow
	probe "$RECORD" read "$C/msg" 64 rdonly
	until_ok eval '[ "$(find "/proc/$DAEMON/fd" | wc -l)" = "$fds" ]'
}

@test "a full queue: lost messages are counted and reported" {
	serve --backend=sim
	armed a
	overflow
	overflow_again 33
	run -0 grep messages_lost "$MNT/stats"
	is "messages_lost 2"
	probe "$(printf "$RECORD%.0s" {1..32})" read "$C/msg" 2048 rdonly
	# It is told as soon as all before it is read, without another message.
	probe in poll "$C/msg" in 0
	read -r line <"$C/events"
	[ "$line" = "lost count=2" ]
	probe none poll "$C/msg" in 0
}

# The record of a lost count of PMD 0.
LOST_RECORD=02010000$(zeros 4)00000100$(zeros 4)$(zeros 8)01$(zeros 39)

@test "a lost count is reported to all that wait" {
	serve --backend=sim
	new a
	put ok "$C/format" "default size=4096"
	put ok "$C/regs" "pmc0 $USER\npmd0 -2000 long=-2000 short=-2000 notify"
	ctl "load cpu=1"
	ctl start
	start one read "$C/msg" 64 rdonly
	start state poll "$C/state" pri 20000
	waits "${PIDS[one]}"
	probe POLL_IN sigwait 10 5000 "$C/ctl" "signal sig=10" "$MNT/sim/poke" "1 0x186 0x4300c4" \
		"$MNT/sim/advance" 1000
	printed one "$LOST_RECORD"
	printed state pri
	holds "$C/state" "running cpu=1 set=0 lost"
	probe 0100000000000000 pread "$C/buffer" 8 56
	probe EAGAIN read "$C/msg" 64 rdonly,nonblock
	ctl unload
	holds "$C/state" "unloaded lost"
	start state poll "$C/state" pri 20000
	put ok "$C/pmd/0" 0
	printed state pri
	holds "$C/state" unloaded
}

@test "a lost count that a read finds is reported to others" {
	serve --backend=sim
	new a
	put ok "$C/pmc/0" $USER
	ctl "load cpu=1"
	ctl start
	start one read "$C/msg" 64 rdonly
	start state poll "$C/state" pri 20000
	waits "${PIDS[one]}"
	put ok "$MNT/sim/poke" "1 0x186 0x4300c4"
	probe EIO pread "$C/pmd/0" 30 0
	printed one "$LOST_RECORD"
	printed state pri
	probe EIO pread "$C/pmd/0" 30 0
	probe EAGAIN read "$C/msg" 64 rdonly,nonblock
}

@test "load empties the queue, stop and unload do not" {
	serve --backend=sim
	armed a
	overflow
	overflow again
	ctl stop
	probe "$RECORD" read "$C/msg" 64 rdonly
	ctl unload
	probe in poll "$C/msg" in 0
	ctl "load cpu=1"
	probe none poll "$C/msg" in 0
	probe EAGAIN read "$C/msg" 64 rdonly,nonblock
}

@test "a reader may wait while its context is unloaded" {
	serve --backend=sim
	new a
	start one read "$C/msg" 64 rdonly
	start poll poll "$C/msg" in 20000
	start state poll "$C/state" pri 20000
	put ok "$C/regs" "pmc0 $USER\npmd0 -2000 long=-2000 notify"
	ctl "load cpu=1"
	printed state pri
	ctl start
	waits "${PIDS[one]}"
	overflow
	printed one "$RECORD"
	# The poll found no message before; now it does.
	overflow again
	printed poll in
}

@test "ovfl_no_msg: masked, without a message" {
	serve --backend=sim
	new a
	put ok "$C/flags" ovfl_no_msg
	put ok "$C/regs" "pmc0 $USER\npmd0 -2000 long=-2000 notify"
	ctl "load cpu=1"
	ctl start
	start state poll "$C/state" pri 20000
	overflow
	holds "$C/state" "masked cpu=1 set=0"
	printed state pri
	probe EAGAIN read "$C/msg" 64 rdonly,nonblock
	probe POLL_IN sigwait 10 5000 "$C/ctl" "signal sig=10" "$C/ctl" restart "$MNT/sim/advance" 1000
}

@test "throttled and notified at once: two messages, one signal" {
	serve --backend=sim
	put ok "$MNT/config/overflow_rate_max" 1
	new a
	put ok "$C/regs" "pmc0 $USER\npmd0 -2000 notify\npmc1 $USER\npmd1 -2000"
	ctl "load cpu=1"
	probe POLL_IN sigwait 10 5000 "$C/ctl" "signal sig=10" "$C/ctl" start "$MNT/sim/advance" 1000
	run -0 bounded dd if="$C/events" bs=4096 count=1 status=none
	is $'overflow cpu=1 set=0 pmds=0-1\nthrottle cpu=1 set=0 pmds=0-1'
	holds "$C/state" "masked cpu=1 set=0 throttled"
}

@test "poll, select and epoll: files that are ready at once" {
	serve --backend=sim
	armed a
	for f in msg events; do
		probe none poll "$C/$f" in,rdnorm,pri,out 0
		probe none select "$C/$f" in,pri,out 0
		probe none epoll "$C/$f" in 0 1
	done
	overflow
	for f in msg events; do
		probe in,rdnorm poll "$C/$f" in,rdnorm,pri,out 0
		probe in select "$C/$f" in,pri,out 0
		probe $'in\nin' epoll "$C/$f" in 0 2
		probe $'in\nnone' epoll "$C/$f" in,et 0 2
		probe $'in\nnone' epoll "$C/$f" in,oneshot 0 2
	done
	for f in ctl flags regs set/0/pmd/0 set/0/next; do
		probe in,out,rdnorm,wrnorm poll "$C/$f" in,out,pri,rdnorm,wrnorm 0
	done
	for f in ctx/a/last_error ctx/a/set/0/runs stats version pmu/name; do
		probe in,rdnorm poll "$MNT/$f" in,out,pri,rdnorm,wrnorm 0
		probe none poll "$MNT/$f" pri 10
	done
	probe in,out,rdnorm,wrnorm poll "$MNT/config/tick_us" in,out,pri,rdnorm,wrnorm 0
}

@test "poll, select and epoll: waiting processes are woken" {
	serve --backend=sim
	armed a
	exec 4<"$C/msg"
	start poll poll "$C/msg" in 20000
	start poll2 poll - in 20000 <&4
	start poll3 poll - in 20000 <&4
	start select select "$C/events" in 20000
	start epoll epoll "$C/msg" in 20000 1
	start oneshot epoll "$C/events" in,oneshot 20000 1
	overflow
	for name in poll poll2 poll3 select epoll oneshot; do
		printed $name in
	done
}

@test "epoll, edge by edge: each message is an event, read or not" {
	serve --backend=sim
	armed a
	start edges epoll "$C/msg" in,et 5000 3
	overflow
	until_ok grep -qx in "$BATS_TEST_TMPDIR/edges"
	until_ok waits "${PIDS[edges]}"
	overflow again
	until_ok eval '[ "$(grep -cx in "$BATS_TEST_TMPDIR/edges")" = 2 ]'
	printed edges $'in\nin\nnone'
}

@test "state: POLLPRI when it has changed since it was read" {
	serve --backend=sim
	armed a
	exec 4<"$C/state"
	run -0 bounded fsprobe poll - in,pri,rdnorm 0 <&4
	is in,rdnorm
	start wait poll - pri 20000 <&4
	ctl stop
	printed wait pri
	# It stays so until it is read again, from its beginning.
	run -0 bounded fsprobe poll - pri 0 <&4
	is pri
	run -0 bounded fsprobe pread - 4 0 <&4
	run -0 bounded fsprobe poll - pri 0 <&4
	is none
	ctl start
	run -0 bounded fsprobe pread - 4 4 <&4
	run -0 bounded fsprobe poll - pri 0 <&4
	is pri
	run -0 bounded fsprobe pread - 4 0 <&4
	ctl start
	run -0 bounded fsprobe poll - pri 0 <&4
	is none
	start masked epoll - pri,et 20000 1 <&4
	overflow
	printed masked pri
	holds "$C/state" "masked cpu=1 set=0"
	run -0 bounded fsprobe select - pri 0 <&4
	is pri
	# Another open file reports the change, too.
	probe none poll "$C/state" pri 0
}

@test "signals: of any number, with si_code" {
	serve --backend=sim
	armed a
	probe POLL_IN sigwait 10 5000 "$C/ctl" "signal sig=10" "$MNT/sim/advance" 1000
	holds "$C/ctl" "signal sig=10"
	# SIGIO, real-time signals, and a signal with codes of its own.
	for sig in 29 34 64; do
		probe POLL_IN sigwait $sig 5000 "$C/ctl" "signal sig=$sig" "$C/ctl" restart \
			"$MNT/sim/advance" 1000
	done
	probe SI_SIGIO sigwait 17 5000 "$C/ctl" "signal sig=17" "$C/ctl" restart "$MNT/sim/advance" 1000
	# No notification, no signal.
	probe none sigwait 10 100 "$C/ctl" "signal sig=10" "$C/ctl" restart "$C/ctl" stop "$C/ctl" start
}

@test "signals: only one, replaced or ended by the next command" {
	serve --backend=sim
	armed a
	fds=$(find "/proc/$DAEMON/fd" | wc -l)
	# SIGURG, 23, is ignored by default.
	probe none sigwait 10 200 "$C/ctl" "signal sig=10" "$C/ctl" "signal sig=23" "$MNT/sim/advance" 1000
	probe POLL_IN sigwait 23 5000 "$C/ctl" "signal sig=10" "$C/ctl" "signal sig=23" "$C/ctl" restart \
		"$MNT/sim/advance" 1000
	# A pipe, and the thread's pidfd since Linux 6.9.
	[ "$(find "/proc/$DAEMON/fd" | wc -l)" -le $((fds + 3)) ]
	probe none sigwait 10 200 "$C/ctl" "signal sig=10" "$C/ctl" "signal sig=0" "$C/ctl" restart \
		"$MNT/sim/advance" 1000
	[ "$(find "/proc/$DAEMON/fd" | wc -l)" = "$fds" ]
	ctl "signal sig=0"
	# It survives unload and load.
	probe POLL_IN sigwait 10 5000 "$C/ctl" "signal sig=10" "$C/ctl" unload "$C/ctl" "load cpu=2" \
		"$C/pmd/0" "-2000 notify" "$C/ctl" start "$MNT/sim/advance" 1000
	probe ok rmdir "$C"
	until_ok eval '[ "$(find "/proc/$DAEMON/fd" | wc -l)" -le "$fds" ]'
}

@test "signals: to another thread" {
	serve --backend=sim
	armed a
	sleep 60 3>&- &
	sleeper=$!
	ctl "signal sig=10 tid=$sleeper"
	holds "$C/ctl" "signal sig=10 tid=$sleeper"
	overflow
	until_ok gone $sleeper
	wait $sleeper || [ $? = $((128 + 10)) ]
	# The thread has ended: nothing happens, even if its number is in use again.
	overflow again
	holds "$C/state" "masked cpu=1 set=0"
	refused ESRCH "signal sig=10 tid=$sleeper" "$sleeper"
	refused ESRCH "signal sig=10 tid=4194303" 4194303
}

@test "signals: the threads that a user may name" {
	serve --backend=sim
	as nobody probe ok mkdir "$MNT/ctx/a"
	C=$MNT/ctx/a
	setpriv --reuid="$NOBODY" --regid="$NOBODY" --clear-groups sleep 60 3>&- &
	theirs=$!
	sleep 60 3>&- &
	mine=$!
	until_ok grep -q "^Uid:.$NOBODY" "/proc/$theirs/status"
	as nobody put EPERM "$C/ctl" "signal sig=10 tid=1"
	as nobody sentence "$C/last_error" "1"
	as nobody put EPERM "$C/ctl" "signal sig=10 tid=$mine"
	as nobody put ok "$C/ctl" "signal sig=10 tid=$theirs"
	ctl "signal sig=10 tid=$theirs"
	ctl "signal sig=10 tid=$mine"
	# The check is repeated at each signal: a thread that is no longer theirs gets none.
	put ok "$C/regs" "pmc0 $USER\npmd0 -2000 long=-2000 notify"
	ctl "load cpu=1"
	setpriv --reuid="$NOBODY" --clear-groups --inh-caps=-all sh -c 'sleep 0.5; exec sleep 60' 3>&- &
	third=$!
	until_ok grep -q "^Uid:.$NOBODY" "/proc/$third/status"
	as nobody put ok "$C/ctl" "signal sig=10 tid=$third"
	# The writer does not lend its permission to the opener...
	run -0 bounded fsprobe writeas "$NOBODY" "$C/ctl" <<<"signal sig=10 tid=$mine"
	is EPERM
	run -0 bounded fsprobe writeas "$NOBODY" "$C/ctl" <<<"signal sig=10"
	is EPERM
	# ... nor the opener to a later writer.
	exec 4>"$C/ctl"
	as nobody put EPERM - "signal sig=10 tid=$mine"
	as nobody put ok - "signal sig=10"
	as nobody put ok - "signal sig=10 tid=$third"
	ctl start
	overflow
	until_ok gone $third
	run ! gone $mine
	kill $theirs $mine
}

# hidden COMMAND: the sentence for that command on ctl where /proc hides the threads of other users
hidden() {
	# shellcheck disable=SC2016
	run ! with_hidepid sh -c 'echo "$1" >"$0/ctl"' "$C" "$1"
	with_hidepid cat "$C/last_error" | sed 's/[0-9]\{2,\}/N/g'
}

with_hidepid() {
	unshare --mount --propagation private sh -c '
		mount -t proc -o hidepid=2 proc /proc && exec setpriv --reuid="$0" --regid="$0" --clear-groups "$@"' \
		"$NOBODY" "$@" 3>&-
}

@test "signals: a hidden thread looks like none" {
	local none

	serve --backend=perf
	as nobody probe ok mkdir "$MNT/ctx/a"
	C=$MNT/ctx/a
	none=$(hidden "signal sig=10 tid=4194303")
	[[ $none == "thread N does not exist"*hides* ]]
	[ "$(hidden "signal sig=10 tid=$$")" = "$none" ]
	# Where nothing is hidden, and of the user's own
	as nobody put ESRCH "$C/ctl" "signal sig=10 tid=4194303"
	as nobody put EPERM "$C/ctl" "signal sig=10 tid=$$"
	# shellcheck disable=SC2016
	with_hidepid sh -c 'echo "signal sig=10 tid=$$" >"$0/ctl"' "$C"
}

@test "signals: numbers from another PID namespace are refused, their own thread is not" {
	unshare -pf true 2>/dev/null || skip "needs a PID namespace"
	serve --backend=sim
	armed a
	run -0 bounded unshare -pf fsprobe sigwait 10 1000 "$C/ctl" "signal sig=10 tid=1"
	is EINVAL
	sentence "$C/last_error" "tid="
	run -0 bounded unshare -pf fsprobe sigwait 10 5000 "$C/ctl" "signal sig=10" "$MNT/sim/advance" 1000
	is POLL_IN
}

@test "signals: 64 contexts of a user, and one more when one has ended" {
	serve --backend=sim
	for ((n = 1; n <= 65; n++)); do
		as nobody probe ok mkdir "$MNT/ctx/c$n"
		[ "$n" = 65 ] || as nobody put ok "$MNT/ctx/c$n/ctl" "signal sig=0"
		[ "$n" = 65 ] || put ok "$MNT/ctx/c$n/ctl" "signal sig=10 tid=$$"
	done
	C=$MNT/ctx/c65
	put ENOSPC "$C/ctl" "signal sig=10 tid=$$"
	sentence "$C/last_error" 64
	put ok "$MNT/ctx/c1/ctl" "signal sig=12 tid=$$"
	put ok "$MNT/ctx/c1/ctl" "signal sig=0"
	ctl "signal sig=10 tid=$$"
	put ENOSPC "$MNT/ctx/c1/ctl" "signal sig=10 tid=$$"
	probe ok rmdir "$MNT/ctx/c2"
	put ok "$MNT/ctx/c1/ctl" "signal sig=10 tid=$$"
	new root
	ctl "signal sig=10 tid=$$"
}

@test "the daemon's capabilities suffice for signals" {
	serve --backend=sim
	armed a
	run -0 grep CapEff "/proc/$DAEMON/status"
	# CAP_KILL and CAP_SYS_PTRACE are bits 5 and 19.
	[ $((0x${output##*[[:space:]]} & 0x80020)) = 0 ]
	C=$MNT/ctx/b
	as nobody probe ok mkdir "$C"
	ctl "load cpu=2"
	put ok "$C/regs" "pmc0 $USER\npmd0 -2000 notify"
	as nobody start theirs sigwait 10 10000 "$C/ctl" "signal sig=10" "$C/ctl" start
	until_ok grep -qx start "$C/ctl"
	advance 1000
	printed theirs POLL_IN
}

# stir: commands, readers, pollers and signals on one context, for two seconds
stir() {
	local end=$((SECONDS + 2)) cmds

	set +eET
	trap - ERR EXIT
	cmds=("load cpu=1" start restart restart stop unload "signal sig=0" "signal sig=23" start)
	while [ "$SECONDS" -lt "$end" ]; do
		echo "${cmds[RANDOM % ${#cmds[@]}]}" >"$C/ctl"
		[ $((RANDOM % 4)) -ne 0 ] || echo 1000 >"$MNT/sim/advance"
		timeout -s KILL 0.0$((RANDOM % 9 + 1)) fsprobe read "$C/msg" 64 rdonly
		fsprobe read "$C/events" 1$((RANDOM % 90)) rdonly,nonblock
		timeout -s KILL 0.0$((RANDOM % 9 + 1)) fsprobe poll "$C/state" pri 1000
		timeout -s KILL 0.0$((RANDOM % 9 + 1)) fsprobe epoll "$C/msg" in,et 5 3
		[ $((RANDOM % 20)) -ne 0 ] || { rmdir "$C" && mkdir "$C"; }
		[ $((RANDOM % 4)) -ne 0 ] || printf 'pmc0 %s\npmd0 -2000 long=-2000 notify' $USER >"$C/regs"
	done >/dev/null 2>&1
	:
}

@test "many at once: nothing hangs, nothing leaks" {
	serve --backend=sim
	armed a
	at_once stir 1 2 3 4
	[ ! -d "$C" ] || probe ok rmdir "$C"
	armed a
	start one read "$C/msg" 64 rdonly
	overflow
	printed one "$RECORD"
}

@test "page faults, notified as they happen" {
	command -v taskset >/dev/null || skip "needs taskset (util-linux)"
	serve --backend=perf
	cpu=$(sed 's/[,-].*//' /sys/devices/system/cpu/online)
	new a
	put ok "$C/regs" "pmc0 0x0100000000430003\npmd0 -1000 long=-1000 notify"
	ctl "load cpu=$cpu"
	start one read "$C/events" 100 rdonly
	ctl start
	taskset -c "$cpu" fsprobe touch 3000 >/dev/null
	until_ok gone "${PIDS[one]}"
	# What ran follows.
	[[ $(cat "$BATS_TEST_TMPDIR/one") == "$(printf "overflow cpu=%s set=0 pmds=0" "$cpu" | in_hex)"* ]]
	holds "$C/state" "masked cpu=$cpu set=0"
	[ "$(cat "$C/pmd/0")" -lt 1000000 ]
	run -0 cat "$C/pmd/0"
	bounded fsprobe touch 3000 >/dev/null
	holds "$C/pmd/0" "$output"
	put ok "$C/pmd/0" "-1000 long=-1000 notify"
	start signal sigwait 10 10000 "$C/ctl" "signal sig=10" "$C/ctl" restart
	until_ok grep -qx restart "$C/ctl"
	taskset -c "$cpu" fsprobe touch 3000 >/dev/null
	printed signal POLL_IN
}
