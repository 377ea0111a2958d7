# SPDX-License-Identifier: MIT
# Loads with inherit: one context counts a thread and all that it creates, compared with the kernel's
# own figures of a process and of the children that it has waited for.

load common
load track

# family NAME: a shell that begins programs with threads and children of their own at a line, says
# "over", and exits at the next line
family() {
	# shellcheck disable=SC2016
	launch "$1" sh -c 'read -r go
		echo | subject faults 3000
		echo | sh -c "subject -t 4 faults 500; echo | sh -c \"subject faults 100; :\"; :"
		echo over
		read -r end'
}

# faults_of PID: those of a process that sleeps, and of its children that have ended
faults_of() {
	until_ok letter_is "$1" S
	awk '{ sub(/.*\) /, ""); print $8 + $9 + $10 + $11 }' "/proc/$1/stat"
}

# load_and_start TID WORD...
load_and_start() {
	ctl "load tid=$1 inherit ${*:2}"
	holds "$C/state" "loaded tid=$1 set=0"
	ctl start
	holds "$C/state" "running tid=$1 set=0"
}

# Nothing traces the thread or switches its counters.
by_the_kernel() {
	local stats

	[ "$(tracer_of "$PID")" = 0 ]
	stats="$(stat_of threads) $(stat_of ctxsw_threads) $(stat_of ctxsw_in)"
	echo "threads, ctxsw threads, switches: $stats"
	[ "$stats" = "1 0 0" ]
}

# counts_waves NAME KIND: 2000 short lives, with no more and no fewer page faults than the kernel's own
# and with no count that falls while they end
counts_waves() {
	local before after

	begin "$1" waves "$2" 2000 20 10
	before=$(faults_of "$PID")
	new "$1"
	put ok "$C/pmc/0" page-faults
	put ok "$C/pmc/1" page-faults
	load_and_start "$PID"
	by_the_kernel
	go "$1"
	python3 - "$C/pmd/0" "$SAYS/$1" <<-'END'
		import sys
		last = 0
		while "ended" not in open(sys.argv[2]).read():
		    now = int(open(sys.argv[1]).read())
		    assert now >= last, (last, now)
		    last = now
	END
	after=$(faults_of "$PID")
	for pmd in 0 1; do holds "$C/pmd/$pmd" $((after - before)); done
	[ $((after - before)) -gt 20000 ]
	[ "$(grep ^pmd "$C/total")" = "pmd0 $((after - before))
pmd1 $((after - before))" ]
	[ "$(cat "$C/set/0/active_ns")" -gt 0 ]
	[ -z "$(ls "$C/children")" ]
	by_the_kernel
	ctl unload
}

@test "page faults of children and of threads: no more and no fewer than the kernel's own" {
	serve --backend=perf
	counts_waves a forks
	counts_waves b threads
}

@test "the capabilities of the systemd unit are enough for inherit" {
	confined
	serve --backend=perf
	family a
	new a
	put ok "$C/pmc/0" page-faults
	load_and_start "$PID"
	go a
	said a "^over"
	[ "$(cat "$C/pmd/0")" -ge 5100 ]
}

# says_twice NAME PATTERN
says_twice() {
	[ "$(grep -c "$2" "$SAYS/$1")" = 2 ]
}

@test "on_exec: nothing before the program, and all of it" {
	local begun grown

	serve --backend=perf
	# It writes to 40 MB in small pages (PR_SET_THP_DISABLE) before it executes the program. A child executes
	# one, too.
	# shellcheck disable=SC2016
	launch a perl -e '<STDIN>; syscall 157, 41, 1, 0, 0, 0; $x = "x" x 40_000_000;
		system "echo | subject faults 500 >&2"; exec "subject", "faults", "1000"'
	begun=$(faults_of "$PID")
	new a
	put ok "$C/pmc/0" page-faults
	load_and_start "$PID" on_exec
	holds "$C/pmd/0" 0
	holds "$C/set/0/active_ns" 0
	go a
	until_ok says_twice a "^ready"
	go a
	until_ok says_twice a "^done"
	grown=$(($(faults_of "$PID") - begun))
	echo "$(cat "$C/pmd/0") of $grown faults"
	[ "$(cat "$C/pmd/0")" -ge 1500 ]
	[ "$(cat "$C/pmd/0")" -le $((grown - 9000)) ]
	by_the_kernel
}

no_workers() {
	[ "$(stat_of workers)" = 0 ]
}

@test "inherit ends when the last of them has ended" {
	serve --backend=perf
	# shellcheck disable=SC2016
	launch a sh -c 'read -r go; { echo done; read -r end; } <"$0" &' "$BATS_TEST_TMPDIR/a.in"
	new a
	put ok "$C/pmc/0" page-faults
	load_and_start "$PID"
	go a
	until_ok gone "$PID"
	until_ok grep -q "^done" "$SAYS/a" # it has the FIFO open
	holds "$C/state" "running tid=$PID set=0"
	go a
	message "end pid=$PID tid=$PID"
	holds "$C/state" "zombie tid=$PID"
	[ "$(cat "$C/pmd/0")" -gt 0 ]
	holds "$C/last_error" ok
	until_ok no_workers
	begin b subject faults 1
	ctl "load tid=$TID inherit"
}

# sleeper_with_number TID: a process with that number, which is free, and of another user than root
sleeper_with_number() {
	python3 - "$1" <<-'END' &
		import ctypes, os, signal, struct, sys
		number = ctypes.c_int32(int(sys.argv[1]))
		args = struct.pack("4QQ3Q3Q", 0, 0, 0, 0, signal.SIGCHLD, 0, 0, 0, ctypes.addressof(number), 1, 0)
		pid = ctypes.CDLL(None, use_errno=True).syscall(435, args, len(args))  # clone3
		if pid < 0:
		    sys.exit("clone3: %s" % os.strerror(ctypes.get_errno()))
		if pid == 0:
		    os.setresgid(65534, 65534, 65534)
		    os.setresuid(65534, 65534, 65534)
		    os.execvp("sleep", ["sleep", "100"])
		os.waitpid(pid, 0)
	END
	PROGRAMS+=("$!")
	until_ok named "$1" sleep
}

named() {
	[ "$(cat "/proc/$1/comm" 2>/dev/null)" = "$2" ]
}

@test "a thread can be loaded though an earlier one with its number has left a child" {
	local first

	serve --backend=perf
	# shellcheck disable=SC2016
	launch a sh -c 'read -r go; { echo done; read -r end; } <"$0" &' "$BATS_TEST_TMPDIR/a.in"
	first=$PID
	new a
	put ok "$C/pmc/0" page-faults
	load_and_start "$first"
	go a
	wait "$first"
	until_ok grep -q "^done" "$SAYS/a"
	sleeper_with_number "$first"
	new b
	ctl "load tid=$first"
	new c
	refused EBUSY "load tid=$first inherit" "'b'"
	holds "$MNT/ctx/a/state" "running tid=$first set=0"
	new d
	rmdir "$MNT/ctx/b"
	ctl "load pid=$first"
	go a
	until_ok holds "$MNT/ctx/a/state" "zombie tid=$first"
	holds "$C/state" "loaded tid=$first set=0"
}

@test "kill -9 of the thread, and of the daemon" {
	serve --backend=perf
	begin a subject faults 1
	new a
	put ok "$C/pmc/0" page-faults
	load_and_start "$PID"
	kill -KILL "$PID"
	message "end pid=$PID tid=$PID"
	holds "$C/state" "zombie tid=$PID"
	cat "$C/pmd/0"
	begin b subject faults 1000
	new b
	put ok "$C/pmc/0" page-faults
	load_and_start "$PID"
	kill -KILL "$DAEMON"
	until_ok gone "$DAEMON"
	DAEMON=
	until_ok not_mounted
	go b
	said b "^done"
}

@test "what executes a setuid program is not counted any more" {
	setuid_copy
	serve --backend=perf
	as nobody launch a sh -c "read -r go; exec $BATS_TEST_TMPDIR/privileged status"
	new a
	put ok "$C/pmc/0" page-faults
	load_and_start "$PID"
	go a
	message "end pid=$PID tid=$PID"
	holds "$C/state" "zombie tid=$PID"
	sentence "$C/last_error" "$PID"
	# A child of the thread, which goes on.
	as nobody launch b sh -c "read -r go; $BATS_TEST_TMPDIR/privileged status <>$BATS_TEST_TMPDIR/hold & echo done; read -r end"
	mkfifo -m 0666 "$BATS_TEST_TMPDIR/hold"
	new b
	put ok "$C/pmc/0" page-faults
	load_and_start "$PID"
	go b
	said b "^thread"
	holds "$C/state" "running tid=$PID set=0"
	pkill -KILL -P "$PID"
}

@test "an exec by a thread that is not counted, and by one that is" {
	serve --backend=perf
	begin a lives exec "$BATS_RUN_TMPDIR/lives" status
	new a
	put ok "$C/pmc/0" page-faults
	load_and_start "$PID"
	go a
	message "end pid=$PID tid=$PID"
	holds "$C/state" "zombie tid=$PID"
	# The leader executes it, which ends the other thread.
	begin b lives over "$BATS_RUN_TMPDIR/lives" status
	new b
	put ok "$C/pmc/0" page-faults
	load_and_start "$PID"
	go b
	until_ok counts_some
	holds "$C/state" "running tid=$PID set=0"
}

@test "stop and start, and PMCs after the first start" {
	local count

	serve --backend=perf
	begin a spinner "$ONE" fault
	new a
	put ok "$C/pmc/0" page-faults
	load_and_start "$TID"
	put EBUSY "$C/pmc/1" minor-faults
	sentence "$C/last_error" pmc1
	holds "$C/pmc/1" 0x0000000000000000
	until_ok counts_some
	ctl stop
	count=$(cat "$C/pmd/0")
	put ok "$C/pmc/1" minor-faults
	refused EBUSY start pmc1
	put ok "$C/pmc/1" 0
	put ok "$C/pmd/0" 0
	sleep 0.05
	holds "$C/pmd/0" 0
	ctl start
	until_ok counts_some
	ctl unload
	[ "$count" -gt 0 ]
	put ok "$C/pmc/1" minor-faults
	load_and_start "$TID"
}

@test "load pid inherit: all threads that a process has, and all that they create" {
	local before after

	serve --backend=perf
	begin a subject -t 20 faults 1000
	until_ok letter_is "$PID" S
	new a
	put ok "$C/pmc/0" page-faults
	put ok "$C/pmc/1" page-faults
	ctl "load pid=$PID inherit"
	holds "$C/last_error" ok
	before=$(faults_of "$PID")
	ctl start
	by_the_kernel
	go a
	said a "^done"
	after=$(faults_of "$PID")
	[ $((after - before)) -ge 20000 ]
	for pmd in 0 1; do holds "$C/pmd/$pmd" $((after - before)); done
	[ "$(grep ^pmd "$C/total")" = "pmd0 $((after - before))
pmd1 $((after - before))" ]
	[ "$(cat "$C/set/0/active_ns")" -gt 0 ]
	[ -z "$(ls "$C/children")" ]
	put EBUSY "$C/pmc/2" minor-faults
	sentence "$C/last_error" pmc2
	ctl stop
	ctl start
	holds "$C/pmd/0" $((after - before))
	go a
	message "end pid=$PID tid=$PID"
	holds "$C/state" "zombie tid=$PID"
	[ "$(cat "$C/pmd/0")" -ge $((after - before)) ]
	until_ok no_workers
}

# own_faults NAME: "tid=TID pmd0 FAULTS" of the threads of a subject, by their own account
own_faults() {
	sed -n 's/^did \([0-9]*\) faults=\([0-9]*\) .*/tid=\1 pmd0 \2/p' "$SAYS/$1"
}

@test "load pid inherit: the counts of each thread, while they live and when they have ended" {
	local first bytes

	serve --backend=perf
	begin a subject -t 20 faults 1000
	until_ok letter_is "$PID" S
	new a
	bytes=$(stat_of memory_bytes)
	holds "$C/threads" ""
	put ok "$C/pmc/3" "$(user_event page-faults)"
	ctl "load pid=$PID inherit"
	holds "$C/threads" ""
	ctl start
	go a
	said a "^done"
	first=$(head -1 "$C/threads")
	[ "${first%% *}" = "tid=$PID" ]
	[ "$(wc -l <"$C/threads")" = 21 ]
	# A thread prints and locks between its faults, too.
	python3 - "$C/threads" <(own_faults a) "$C/pmd/3" <<-'END'
		import sys
		counts, own, total = (open(name).read() for name in sys.argv[1:])
		counts = {line.split()[0]: line.split()[1:] for line in counts.splitlines()}
		assert {name for value in counts.values() for name in value[::2]} == {"pmd3"}, counts
		for line in own.splitlines():
		    tid, _, faults = line.split()
		    assert 0 <= int(counts[tid][1]) - int(faults) <= 10, (line, counts[tid])
		assert sum(int(value[1]) for value in counts.values()) == int(total), (counts, total)
	END
	ctl stop
	cat "$C/threads" >"$BATS_TEST_TMPDIR/stopped"
	go a
	message "end pid=$PID tid=$PID"
	sed 's/ / ended /' "$BATS_TEST_TMPDIR/stopped" | diff - "$C/threads"
	# 8 bytes of each thread and 16 of each count: they are charged while the context keeps them.
	[ "$(stat_of memory_bytes)" = $((bytes + 21 * (8 + 16))) ]
	# The next load forgets them.
	begin b subject faults 1
	ctl "load tid=$TID"
	holds "$C/threads" ""
	ctl unload
	[ "$(stat_of memory_bytes)" = "$bytes" ]
}

# Each thread creates its successor and ends, some thousand times a second: those that stay at last are counted
# once each.
@test "load pid inherit: begins while threads come and go" {
	local begun

	serve --backend=perf
	launch a churn 3 2000
	said a churns
	new a
	put ok "$C/pmc/0" "$(user_event page-faults)"
	ctl "load pid=$PID inherit"
	until_ok fsprobe_starts
	go a
	said a ready
	begun=$(cat "$C/pmd/0")
	go a
	said a "^done"
	near "faults of 3 threads" $(($(cat "$C/pmd/0") - begun)) 6000 60
}

# It is EAGAIN while they come and go too fast.
fsprobe_starts() {
	printf start >"$BATS_TEST_TMPDIR/text"
	output=$(bounded fsprobe write "$C/ctl" <"$BATS_TEST_TMPDIR/text")
	case $output in *EAGAIN*) return 1 ;; esac
	is ok
}

# files_are N: how many descriptors the daemon may have from then on
files_are() {
	prlimit --pid "$DAEMON" --nofile="$1:"
}

# Two events stay open to be tried again. At each limit, another thread's events are the first that the kernel refuses; none of them goes on alone.
@test "load pid inherit: a start that fails counts nothing, and can be made again" {
	local before after files had

	serve --backend=perf
	had=$(awk '/^Max open files/ { print $4 }' "/proc/$DAEMON/limits")
	begin a subject -t 4 faults 1000
	until_ok letter_is "$PID" S
	new a
	put ok "$C/pmc/0" page-faults
	put ok "$C/pmc/1" page-faults
	put ok "$C/pmd/0" 1000000
	ctl "load pid=$PID inherit"
	files=$(ls "/proc/$DAEMON/fd" | wc -l)
	for more in 0 1 5 11 17; do
		files_are $((files + more))
		refused EMFILE start "$PID"
		holds "$C/state" "loaded tid=$PID set=0"
		holds "$C/total" "pmd0 1000000
pmd1 0"
		holds "$C/set/0/active_ns" 0
		[ "$(ls "/proc/$DAEMON/fd" | wc -l)" -le $((files + 2)) ]
	done
	files_are "$had"
	before=$(faults_of "$PID")
	ctl start
	go a
	said a "^done"
	after=$(faults_of "$PID")
	[ $((after - before)) -ge 4000 ]
	holds "$C/pmd/0" $((1000000 + after - before))
	holds "$C/pmd/1" $((after - before))
}

@test "load pid inherit: the end is that of the last one" {
	serve --backend=perf
	begin a lives leader
	new a
	put ok "$C/pmc/0" page-faults
	ctl "load pid=$PID inherit"
	ctl start
	go a
	until_ok letter_is "$PID" Z
	holds "$C/state" "running tid=$PID set=0"
	[ "$(cat "$C/pmd/0")" -ge 0 ]
	kill -KILL "$PID"
	message "end pid=$PID tid=$PID"
	holds "$C/state" "zombie tid=$PID"
}

@test "load pid inherit: a program that executes another one before the start, and a setuid one" {
	setuid_copy
	serve --backend=perf
	as nobody launch a sh -c "read -r go; exec $BATS_TEST_TMPDIR/privileged status"
	new a
	put ok "$C/pmc/0" page-faults
	ctl "load pid=$PID inherit"
	go a
	said a "^thread"
	message "end pid=$PID tid=$PID"
	holds "$C/state" "zombie tid=$PID"
	launch b sh -c "read -r go; exec $BATS_RUN_TMPDIR/lives status"
	new b
	put ok "$C/pmc/0" page-faults
	ctl "load pid=$PID inherit"
	go b
	said b "^thread"
	ctl start
	holds "$C/state" "running tid=$PID set=0"
}

counts_some() {
	[ "$(cat "$C/pmd/0")" -gt 0 ]
}

@test "inherit is refused where it cannot count" {
	serve --backend=perf
	begin a subject -t 2 faults 1
	new a
	put ok "$C/format" default
	refused EINVAL "load tid=$PID inherit" inherit
	put ok "$C/format" none
	put ok "$C/flags" raw
	refused EINVAL "load tid=$PID inherit" inherit
	put ok "$C/flags" none
	probe ok mkdir "$C/set/1"
	refused EINVAL "load tid=$PID inherit" set
	probe ok rmdir "$C/set/1"
	put ok "$C/ctl" "load tid=$PID inherit ptrace=no"
	sentence "$C/last_error" "2 threads"
	put EBUSY "$C/pmd/0" "-1000 notify"
	new b
	refused EBUSY "load tid=$PID inherit" "$PID"
	put ok "$C/pmd/0" "-1000 notify"
	refused EINVAL "load tid=${TIDS[1]} inherit" inherit
}

@test "inherit is refused by backends whose counters the kernel does not switch" {
	begin a subject faults 1
	serve --backend=perf -o threads=ctxsw
	new a
	refused EOPNOTSUPP "load tid=$PID inherit" follow
	stop_daemon
	serve --backend=sim
	new a
	refused EINVAL "load tid=$PID inherit" threads
	stop_daemon
	DAEMON=
	serve_msrsim
	serve --backend=msr --dev="$CPU"
	new a
	refused EOPNOTSUPP "load tid=$PID inherit" follow
}
