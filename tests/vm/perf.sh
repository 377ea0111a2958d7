# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154
# The perf backend on real counters: functions for guest.sh, whose helpers, sets.sh's and thread.sh's
# they use. User instructions are event 0x4100c0. The kernel switches a thread's counters, so its counts
# are exact to the last instruction.

# The kernel starts a CPU's counters at once, in the worker, which runs on that CPU: this many of its user
# instructions at most are counted with those of the program.
per_start=1000

# count_on CONTEXT TARGET COUNTERS: a running context that counts user instructions in PMDs from 0 on
count_on() {
	mkdir $mnt/ctx/"$1"
	for n in $(seq 0 $(($3 - 1))); do write $mnt/ctx/"$1"/pmc/"$n" 0x4100c0; done
	write $mnt/ctx/"$1"/ctl "load $2"
	write $mnt/ctx/"$1"/ctl start
	is "$1 runs on $2" "$(cat $mnt/ctx/"$1"/state $mnt/ctx/"$1"/last_error)" "running $2 set=0
ok"
}
remove() { (cd $mnt/ctx && rmdir "$@"); } # CONTEXT...
loops_again() { # runs the looping program once more
	loops=$((loops + 1))
	go
	check "it has looped" looped $loops
}
begin_loops() { # CPUS THREADS COUNT
	loops=0
	launch "$1" loopn threads "$2" "$3"
	said ready
	truth=$((3 * $3 + 8))
}
end_loops() {
	exec 7>&-
	wait "$pid"
}

perf_cpu() {
	count_on a cpu=1 2
	cd $mnt/ctx/a || exit 1
	write ctl stop
	n=$(stat polls)
	taskset -c 0 "$here/loop" . 1 0 5 10000000 >/tmp/rounds
	n=$(($(stat polls) - n))
	is "five rounds" "$(wc -l </tmp/rounds)" 5
	while read -r over; do
		between "CPU 1: user instructions over the exact count ($n looks)" "$over" 0 \
			$((2 * per_start + n * per_look))
	done </tmp/rounds
	cd /
	remove a
}

# CPU 1 goes offline while a context counts there: no number, and how to go on.
perf_offline() {
	count_on a cpu=1 2
	if [ "$1" = stopped ]; then write $mnt/ctx/a/ctl stop; else write $mnt/ctx/a/pmc/2 page-faults; fi
	echo 0 >/sys/devices/system/cpu/cpu1/online
	[ "$1" = gone ] || echo 1 >/sys/devices/system/cpu/cpu1/online
	if [ "$1" = stopped ]; then
		write $mnt/ctx/a/pmc/2 page-faults
		write $mnt/ctx/a/ctl start
		write $mnt/ctx/a/ctl stop
	fi
	sleep 0.1
	for d in 0 1 2; do
		if v=$(cat $mnt/ctx/a/pmd/$d 2>/tmp/err); then not_ok "offline, $1, PMD $d: a number: $v"
		else like "offline, $1, PMD $d: no number" "$(cat /tmp/err)" "No such device"; fi
	done
	like "offline, $1: a sentence" "$(cat $mnt/ctx/a/last_error)" "offline"
	echo 1 >/sys/devices/system/cpu/cpu1/online
	write $mnt/ctx/a/ctl unload
	for d in 0 1 2; do write $mnt/ctx/a/pmd/$d 0; done
	write $mnt/ctx/a/ctl "load cpu=1"
	write $mnt/ctx/a/ctl start
	taskset -c 1 "$here/bare"
	for d in 0 1; do check "loaded again, $1: PMD $d counts" test "$(cat $mnt/ctx/a/pmd/$d)" -gt 0; done
	remove a
}

# Asleep, running, stopped between two runs, asleep again.
perf_thread() {
	begin_loops 0,1 1 10000000
	count_on a tid="$tid" 3
	is "asleep, it counts nothing" "$(cat $mnt/ctx/a/pmd/0)" 0
	loops_again
	loops_again
	is "two runs" "$(cat $mnt/ctx/a/pmd/0)" $((2 * truth))
	write $mnt/ctx/a/ctl stop
	loops_again
	write $mnt/ctx/a/ctl start
	loops_again
	for d in 0 1 2; do is "three of four runs, PMD $d" "$(cat $mnt/ctx/a/pmd/$d)" $((3 * truth)); done
	is "the daemon has switched no counter" "$(stat ctxsw_in)" 0
	remove a
	end_loops
}

# moves TIMES: the thread is told to run on one CPU and the other in turn, until that has moved it TIMES.
# PMD 1 counts that.
perf_moves() {
	begin_loops 0,1 1 50000000
	count_on a tid="$tid" 1
	write $mnt/ctx/a/pmc/1 cpu-migrations
	# It sleeps in between, or it would not run where the thread does.
	perl -e 'for (;; select undef, undef, undef, 0.0003) {
		syscall(203, $ARGV[0] + 0, 8, pack("Q", 1 << ($n++ & 1)))
	}' "$tid" &
	mover=$!
	while [ "$(cat $mnt/ctx/a/pmd/1)" -lt "$1" ] && [ $loops -lt 100 ]; do loops_again; done
	kill $mover
	between "it was moved, in $loops runs" "$(cat $mnt/ctx/a/pmd/1)" "$1" 1000000000
	is "exact, although moved between CPUs" "$(cat $mnt/ctx/a/pmd/0)" $((loops * truth))
	remove a
	end_loops
}

# Five threads on two CPUs, each with a context, beside one of a CPU.
perf_many() {
	begin_loops 0,1 5 10000000
	tids=$(awk '$1 == "thread" { print $2 }' /tmp/said)
	count_on cpu cpu=1 2
	for t in $tids; do count_on "$t" tid="$t" 2; done
	loops_again
	bad=0
	for t in $tids; do
		[ "$(cat $mnt/ctx/"$t"/pmd/0 $mnt/ctx/"$t"/pmd/1)" = "$truth
$truth" ] || bad=$((bad + 1))
	done
	is "of 5 threads, those whose counts are not exact" $bad 0
	check "the CPU's count beside theirs" test "$(cat $mnt/ctx/cpu/pmd/0)" -ge $truth
	# shellcheck disable=SC2086
	remove cpu $tids
	end_loops
}

# fill TARGET: context a has as many hardware events as fit, of which the kernel's watchdog counts one;
# sets counters to how many, and why to the sentence for one more.
fill() {
	[ -d $mnt/ctx/a ] || mkdir $mnt/ctx/a
	counters=0
	for event in 0x4100c0 0x41003c; do
		while [ $counters -lt 16 ]; do
			write $mnt/ctx/a/pmc/$counters $event
			write $mnt/ctx/a/ctl "load $1"
			write $mnt/ctx/a/ctl start || break
			write $mnt/ctx/a/ctl unload
			counters=$((counters + 1))
		done
		why=$(cat $mnt/ctx/a/last_error)
		write $mnt/ctx/a/ctl unload
	done
	write $mnt/ctx/a/pmc/$counters 0
	between "counters of the PMU" $counters 4 12
	again "$1"
}
again() { # TARGET: from 0
	write $mnt/ctx/a/ctl unload
	for d in $(seq 0 $((counters - 1))); do write $mnt/ctx/a/pmd/"$d" 0; done
	write $mnt/ctx/a/ctl "load $1"
	write $mnt/ctx/a/ctl start
	is "it starts" "$(cat $mnt/ctx/a/last_error)" ok
}
# perf_counts OPTION...: perf of a user without privileges, with the kernel's consent to count whole CPUs
perf_counts() {
	write /proc/sys/kernel/perf_event_paranoid -1
	setpriv --reuid=65534 --regid=65534 --clear-groups perf stat "$@" tail -f /dev/null >/tmp/perf.out 2>&1 &
	taker=$!
	soon pidof tail >/dev/null
}
# It comes first, on CPU 1: with a pinned event.
perf_takes() { perf_counts -C 1 -e rc0:uD; }
# It comes behind threads, with events that take turns on all counters.
perf_takes_turns() { perf_counts -a -e rc0:u,rc4:u,rc5:u,r3c:u,r10b:u,r20b:u,r4c5:u,r1c0:u; }
perf_leaves() {
	pkill -x tail
	wait $taker
	write /proc/sys/kernel/perf_event_paranoid 2
}
# Of a thread's context that has run with too few counters: no number, a sentence, and how to go on.
is_evicted() { # WHAT
	loops_again
	if v=$(cat $mnt/ctx/a/pmd/0 2>/dev/null); then not_ok "$1: a number: $v"
	else ok "$1: no number"; fi
	like "$1: a sentence" "$(cat $mnt/ctx/a/last_error)" "NMI watchdog"
	is "$1: state" "$(cat $mnt/ctx/a/state)" "running tid=$tid set=0 lost"
}
is_exact_again() { # WHAT
	write $mnt/ctx/a/ctl stop
	for d in $(seq 0 $((counters - 1))); do write $mnt/ctx/a/pmd/"$d" 0; done
	write $mnt/ctx/a/ctl start
	loops_again
	is "after $1: exact again" "$(cat $mnt/ctx/a/last_error $mnt/ctx/a/pmd/0)" "ok
$truth"
}

perf_thread_evicted() {
	begin_loops 1 1 10000000
	fill tid="$tid"
	like "one event more does not fit" "$why" "too few counters"
	perf_takes_turns
	for _ in 1 2 3; do loops_again; done
	is "beside events of CPUs that take turns" "$(cat $mnt/ctx/a/last_error $mnt/ctx/a/pmd/0)" "ok
$((3 * truth))"
	perf_leaves
	check "they have had to" grep -q "r4c5:u .*%)" /tmp/perf.out
	perf_takes
	is_evicted "by perf"
	perf_leaves
	is_exact_again "perf"
	write /proc/sys/kernel/nmi_watchdog 1
	is_evicted "by the NMI watchdog"
	write /proc/sys/kernel/nmi_watchdog 0
	is_exact_again "the NMI watchdog"
	remove a
	end_loops
}

starts() { # CONTEXT WHAT
	write $mnt/ctx/"$1"/ctl start
	is "$1 starts: $2" "$(cat $mnt/ctx/"$1"/last_error)" ok
}
# Beside context OTHER, which has the counters.
is_refused() { # CONTEXT WHAT OTHER
	like "$1 does not start: $2" "$(/bin/echo start 2>&1 >$mnt/ctx/"$1"/ctl)" "Device or resource busy"
	like "$2: a sentence" "$(cat $mnt/ctx/"$1"/last_error)" "beside those of context '$3' of uid 0"
}

# A context that takes all counters, on a thread that runs on CPU 1, and one of a CPU beside it.
perf_budgeted() {
	begin_loops 1 1 10000000
	fill tid="$tid"
	mkdir $mnt/ctx/cpu
	write $mnt/ctx/cpu/pmc/0 0x4100c0
	write $mnt/ctx/cpu/ctl "load cpu=1"
	is_refused cpu "a thread's context counts" a
	write $mnt/ctx/cpu/ctl unload
	write $mnt/ctx/cpu/ctl "load cpu=0"
	starts cpu "on a CPU where the thread may not run"
	write $mnt/ctx/cpu/ctl unload
	write $mnt/ctx/cpu/pmc/0 page-faults
	mkdir $mnt/ctx/cpu/set/1
	write $mnt/ctx/cpu/ctl "load cpu=1"
	starts cpu "a software event"
	write $mnt/ctx/cpu/ctl unload
	write $mnt/ctx/cpu/set/1/pmc/0 0x4100c0
	write $mnt/ctx/cpu/ctl "load cpu=1"
	is_refused cpu "its other set has a hardware event" a
	loops_again
	is "the thread's count, meanwhile" "$(cat $mnt/ctx/a/last_error $mnt/ctx/a/pmd/0)" "ok
$truth"
	write $mnt/ctx/a/ctl stop
	starts cpu "the thread's context has stopped"
	is_refused a "the CPU's context counts" cpu
	write $mnt/ctx/a/ctl unload
	write $mnt/ctx/a/ctl "load tid=$tid"
	is_refused a "loaded again, the CPU's context counts" cpu
	remove cpu
	again "tid=$tid"
	loops_again
	is "after the CPU's context: exact" "$(cat $mnt/ctx/a/last_error $mnt/ctx/a/pmd/0)" "ok
$truth"
	remove a
	end_loops
}

# What another user than root has on a thread keeps root from no CPU.
perf_overruled() {
	begin_loops 1 1 10000000
	setpriv --reuid=65534 --regid=65534 --clear-groups mkdir $mnt/ctx/a
	fill tid="$tid"
	mkdir $mnt/ctx/cpu
	write $mnt/ctx/cpu/pmc/0 0x4100c0
	write $mnt/ctx/cpu/ctl "load cpu=1"
	starts cpu "beside a thread's context of another user"
	is_evicted "by a context of the CPU"
	remove cpu
	is_exact_again "that context"
	remove a
	end_loops
}

perf_cpu_full() {
	fill cpu=1
	like "one event more does not fit" "$why" "too few counters"
	remove a
}

# switch_full TARGET: both sets of context a take all counters, with different events; those of set 1 have other
# numbers.
switch_full() {
	fill "$1"
	write $mnt/ctx/a/ctl unload
	mkdir $mnt/ctx/a/set/1
	for s in 0 1; do
		write $mnt/ctx/a/set/$s/flags time_switch
		write $mnt/ctx/a/set/$s/timeout_ns 2000000
	done
	for n in $(seq 0 $((counters - 1))); do
		event=$(cat $mnt/ctx/a/pmc/"$n")
		write $mnt/ctx/a/set/1/pmc/$((15 - n)) $((event ^ 0xfc))
	done
	again "$1"
	# How many timeouts a loop has depends on when the host runs this guest's timers.
	for _ in $(seq 100); do
		loops_again
		[ "$(cat $mnt/ctx/a/set/1/runs)" -lt 3 ] || break
	done
	write $mnt/ctx/a/ctl stop
	check "$1, full sets: nothing is lost" cat $mnt/ctx/a/set/0/regs $mnt/ctx/a/set/1/regs
	check "$1, full sets: they have switched" test "$(cat $mnt/ctx/a/set/1/runs)" -ge 3
	v=$(cat $mnt/ctx/a/set/0/pmd/0)
	check "$1, full sets: set 0 has counted" test "$v" -gt 1000000
	for n in $(seq 1 $((counters - 1))); do
		[ "$(cat $mnt/ctx/a/pmc/"$n")" = "$(cat $mnt/ctx/a/pmc/0)" ] &&
			is "$1, full sets: PMD $n" "$(cat $mnt/ctx/a/set/0/pmd/"$n")" "$v"
	done
	remove a
}
perf_full_sets() {
	begin_loops 1 1 10000000
	switch_full tid="$tid"
	switch_full cpu=1
	end_loops
}

# A tool that waits for samples learns that there are none any more.
perf_samples_evicted() {
	"$here/burner" 1 shares >/tmp/ranges &
	burner=$!
	soon grep -q thread /tmp/ranges
	tid=$(awk '$1 == "thread" { print $3 }' /tmp/ranges)
	fill tid="$tid"
	write $mnt/ctx/a/ctl unload
	write $mnt/ctx/a/format default
	write $mnt/ctx/a/pmd/0 "-1000000 short=-1000000 long=-1000000"
	write $mnt/ctx/a/ctl "load tid=$tid"
	write $mnt/ctx/a/ctl start
	perf_takes
	check "the end of sampling is told" soon grep -q lost $mnt/ctx/a/state
	perf_leaves
	remove a
	kill $burner
	wait $burner 2>/dev/null
}

# Programs with a child or a second thread, in one context, from their first instruction on.
perf_inherit() {
	for p in "bare $((loop + 6))" "bare_fork $((2 * loop + 24))" "bare_thread $((2 * loop + 14))"; do
		# shellcheck disable=SC2086
		set -- $p
		begin_stopped "$here/$1"
		mkdir $mnt/ctx/a
		cd $mnt/ctx/a || exit 1
		for n in 0 1 2; do write pmc/$n 0x4100c0; done
		write ctl "load tid=$tid inherit on_exec"
		write ctl start
		is "$1 runs" "$(cat state last_error)" "running tid=$tid set=0
ok"
		kill -CONT "$pid"
		check "$1 ends" wait "$pid"
		end_is_told
		for n in 0 1 2; do is "$1 and what it makes, PMD $n" "$(cat pmd/$n)" "$2"; done
		cd /
		remove a
	done
}

interrupts_profile() { # SAMPLES
	"$here/burner" 1 shares >/tmp/ranges &
	burner=$!
	soon grep -q thread /tmp/ranges
	read -r _ _ tid <<-EOT
		$(grep thread /tmp/ranges)
	EOT
	make_context
	write format "default size=65536"
	write pmc/0 0x4100c0
	write pmd/0 "-200000 short=-200000 long=-200000 notify"
	write ctl "load cpu=1"
	check "start" write ctl start
	check "samples" taskset -c 0 "$here/smplread" . "$1" /tmp/ranges
	cp /tmp/out /tmp/profile
	is "their addresses are of the interrupts" "$(od -An -tu4 -j64 -N4 buffer | tr -d ' ')" 1
	kill $burner
	wait $burner 2>/dev/null
	cd /
	remove a
}

# What it needs for events of threads is limited by what their users may have of the daemon's memory.
perf_unlimited() {
	daemon=$(pidof perfmonfs)
	check "no limit of locked memory" grep -qE "^Max locked memory +unlimited +unlimited" /proc/"${daemon%% *}"/limits
}

# Hardware events have no names in pmu/events here: pfm and libpfmfs know their values.
perf_names() {
	mkdir $mnt/ctx/n
	write $mnt/ctx/n/pmc/0 instructions:u
	like "a name of a hardware event: what to write instead" "$(cat $mnt/ctx/n/last_error)" "pfm encode"
	remove n
	is "its value by pfm" "$("$here/pfm" encode -m $mnt instructions:u)" 0x4100c0
	is "its value by libpfmfs" "$(LD_LIBRARY_PATH=$here "$here/encode" $mnt instructions:u)" "pmc0 0x4100c0"
}

perf_backend() { # MOVES
	taskset -pc 0 $$ >/dev/null
	ulimit -l 64
	start_daemon --backend=perf
	perf_unlimited
	perf_names
	perf_cpu
	perf_offline gone
	perf_offline back
	perf_offline stopped
	perf_thread
	perf_moves "$1"
	perf_many
	perf_inherit
	PERFMONFS=$mnt pfm_counts_regions
	PERFMONFS=$mnt pfm_unwinds
	PERFMONFS=$mnt pfm_waits
	PERFMONFS=$mnt pfm_annotates_kernel
	PERFMONFS=$mnt pfm_says "no precise samples without PEBS" 125 "*as precise*:p*" record -o /tmp/recorded -e cycles:pp true
	PERFMONFS=$mnt pfm_says "no precise counts" 125 "*pfm record*" stat -e cycles:p true
	stop_daemon
}

# Counts and samples of threads and CPUs, with neither an MSR written nor a BPF program loaded.
perf_locked_down() {
	taskset -pc 0 $$ >/dev/null
	start_daemon --backend=perf
	perf_cpu
	perf_thread
	perf_inherit
	# The emulated machine takes long for an interrupt: the kernel is not to stop the counter for that.
	limits 100000 0
	interrupts_profile 2000
	limits 100000 25
	check "within ten points of 60, 30 and 10 %" within 1000
	stop_daemon
}

# Other users of the PMU.
evicted() {
	taskset -pc 0 $$ >/dev/null
	start_daemon --backend=perf
	perf_thread_evicted
	perf_budgeted
	perf_overruled
	perf_cpu_full
	perf_full_sets
	perf_samples_evicted
	stop_daemon
}

# Interrupts of hardware counters tell what ran.
profiled() {
	taskset -pc 0 $$ >/dev/null
	start_daemon --backend=perf
	write $mnt/config/overflow_rate_max 1000000
	# The emulated machine takes long for an interrupt: the kernel is not to stop the counter for that, nor for
	# interrupts of earlier scenarios.
	write /proc/sys/kernel/perf_event_max_sample_rate 100000
	percent=$(cat /proc/sys/kernel/perf_cpu_time_max_percent)
	write /proc/sys/kernel/perf_cpu_time_max_percent 0
	for try in 1 2 3 4 5; do
		interrupts_profile 20000
		echo "# $scenario: a $(share a) b $(share b) c $(share c), try $try"
		within 100 && break
	done
	check "within one point of 60, 30 and 10 %" within 100
	write /proc/sys/kernel/perf_cpu_time_max_percent "$percent"
	stop_daemon
}
