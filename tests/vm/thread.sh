# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154,SC3037
# Contexts on threads, on real counters: functions for guest.sh, whose helpers and sets.sh's they
# use. User instructions are event 0x4100c0 in PMC and PMD 0; the programs are those of tests/track,
# of which each instruction is known.

# Each time a thread leaves its CPU and comes back, what the ctxsw thread executes in user mode
# before it has stopped and after it has started the counters is counted with it.
raw_pair=300 left_pair=2 # user instructions at most, with the flag raw and without

as_user='' # or the command that runs another one as a user
# launch CPUS PROGRAM...: pid is the process, tid the thread that it names
launch() {
	rm -f /tmp/in /tmp/said
	mkfifo /tmp/in
	cpus=$1 program=$2
	shift 2
	# shellcheck disable=SC2086
	taskset -c "$cpus" $as_user "$here/$program" "$@" </tmp/in >/tmp/said &
	pid=$!
	exec 7>/tmp/in
	while ! grep -q thread /tmp/said; do sleep 0.05; done
	tid=$(awk '$1 == "thread" { print $2; exit }' /tmp/said)
}
go() { echo >&7; }
said() { soon grep -q "$1" /tmp/said; } # PATTERN
cpu_time() { cut -d' ' -f1 "/proc/$pid/task/$tid/schedstat"; }
letter() { sed 's/.*) \(.\).*/\1/' "/proc/$1/stat"; }
# How often a thread went off its CPU, for whatever reason.
switches() { awk '/ctxt_switches/ { n += $2 } END { print n }' "/proc/$pid/task/${1:-$tid}/status"; }

selector=0x4100c0
counts() { # FLAGS LOAD-OPTIONS: a running context on tid
	make_context
	write flags "$1"
	write pmc/0 $selector
	write ctl "load tid=$tid $2"
	is "loaded" "$(cat state last_error)" "loaded tid=$tid set=0
ok"
	check "start" write ctl start
}
# WHAT COUNTED TRUTH PAIRS PER-PAIR: the ctxsw thread may add instructions, or the correction may
# subtract too many
exactly() {
	case $2 in
	'' | *[!0-9]*) not_ok "$1: no count, but '$2'"; return ;;
	esac
	over=$(($2 - $3))
	echo "# $scenario: $1: $over over $4 pairs"
	between "$1: instructions over the exact count, $4 pairs" "${over#-}" 0 $(($4 * $5))
	[ "$5" = $raw_pair ] || return 0
	between "$1: none is missing" "$over" 0 1000000000
}

# Three threads on CPU 1, one of which is counted: it comes and goes all the time.
shared_cpu() { # FLAGS PER-PAIR
	launch 1 loopn threads 1 150000000
	taskset -c 1 "$here/spinner" 1 burn >/dev/null &
	rival=$!
	said ready
	counts "$1" ""
	off=$(switches) n=$(stat ctxsw_in) ns=$(cpu_time)
	go
	check "it has looped" said did
	check "stop" write ctl stop
	off=$(($(switches) - off)) n=$(($(stat ctxsw_in) - n)) ns=$(($(cpu_time) - ns))
	kill $rival
	between "it went off its CPU" "$off" 10 100000
	echo "# $scenario: $(cat set/0/active_ns) ns, of which the kernel says $ns"
	# What it does before the ctxsw thread runs is neither counted nor added to its time; how long that
	# is, the host decides. With the time of the others, active_ns would be at least twice its CPU time.
	off=$((ns - $(cat set/0/active_ns)))
	between "active_ns, ns under its CPU time, $n pairs" $off $((-ns / 4)) $((ns / 4))
	exactly "beside another, $1" "$(cat pmd/0)" "$(awk '$1 == "did" { print $2 }' /tmp/said)" "$n" "$2"
	remove_context
	exec 7>&-
	wait $pid $rival 2>/dev/null
}

# The same for 20 threads on two CPUs, each of which has its own context: none has another's.
many() {
	launch 0,1 loopn threads 20 10000000
	said ready
	tids=$(awk '$1 == "thread" { print $2 }' /tmp/said)
	# shellcheck disable=SC2086
	(cd $mnt/ctx && mkdir $tids)
	for t in $tids; do
		write $mnt/ctx/"$t"/pmc/0 0x4100c0
		write $mnt/ctx/"$t"/ctl "load tid=$t"
		write $mnt/ctx/"$t"/ctl start
	done
	n=$(stat ctxsw_in)
	go
	check "they have looped" said did
	n=$(($(stat ctxsw_in) - n)) lost=0 sum=0
	for t in $tids; do
		if read -r over <$mnt/ctx/"$t"/pmd/0; then
			over=$((over - 30000008)) sum=$((sum + ${over#-}))
			[ $over = 0 ] || echo "# $scenario: thread $t: $over over, $(cat $mnt/ctx/"$t"/state)"
		else
			lost=$((lost + 1))
			echo "# $scenario: thread $t: $(cat $mnt/ctx/"$t"/last_error)"
		fi
	done
	# shellcheck disable=SC2086
	(cd $mnt/ctx && rmdir $tids)
	is "of 20 counts, lost" $lost 0
	between "of 20 threads, instructions over the exact counts, $n pairs" $sum 0 $((n * left_pair))
	exec 7>&-
	wait "$pid"
}

# The thread has CPU 1 for itself: of its program, only the other ones run on CPU 0.
apart() {
	taskset -apc 0 "$pid" >/dev/null
	taskset -pc 1 "$tid" >/dev/null
}
did() { awk '$1 == "did" { n = $2 } END { print n }' /tmp/said; }

# A thread that has a CPU of its own, and sleeps: the idle task and kernel threads come in between.
sleeps() { # ROUNDS LEAST MOST: restores, in percent of its switches
	launch 0,1 loopn sleeps "$1" 1000
	said ready
	apart
	go
	check "it has slept alone" looped 1
	counts none ""
	n=$(stat ctxsw_in) off=$(switches)
	go
	check "it has slept" looped 2
	v=$(cat pmd/0) n=$(($(stat ctxsw_in) - n)) off=$(($(switches) - off))
	echo "# $scenario: $selector, ns a round, alone and counted: $(awk '{ print $4 }' ORS=' ' /tmp/said)"
	between "times that it was restored, in $off switches" "$n" $((off * $2 / 100)) $((off * $3 / 100))
	[ $selector != 0x4100c0 ] || exactly "read in its sleep" "$v" "$(did)" "$n" $left_pair
	remove_context
	exec 7>&-
	wait $pid
}
asleep() {
	sleeps 5000 0 3
	# At kernel level, it has to be saved each time: it would count what interrupts do meanwhile. The
	# thread is switched twice then: it sleeps, and gives way to the ctxsw thread that restores it.
	selector=0x4300c0
	sleeps 500 25 60
	selector=0x4100c0
}

# Overflows of a thread whose time slices are shorter than a tick: most have only the thread's newest address
# before, and say so; none has no address, once the thread has been met.
addresses() {
	launch 1 loopn sleeps 3000 20000
	said ready
	make_context
	write format "stack size=1048576"
	write pmc/0 $selector
	write pmd/0 "-100000 short=-100000 long=-100000"
	write ctl "load tid=$tid"
	check "start" write ctl start
	go
	check "it has slept" looped 1
	write ctl stop
	found=$(perl -e 'local $/; my $b = <>; my ($n, $at, $none) = (unpack("Q", $b), 128, 0);
		my @of = (0, 0, 0);
		for (1 .. $n) {
			my ($ip, $npmds, $nframes, $source) = unpack("x16 Q x16 S3", substr($b, $at, 48));
			my $kind = $source == 3 ? 1 : $ip ? 2 : 0;
			$of[$kind]++;
			$none++ if !$kind && $of[1] + $of[2];
			$at += 48 + 8 * ($npmds + $nframes);
		}
		print "@of[0..2] $none"' buffer)
	# shellcheck disable=SC2086
	set -- $found
	echo "# $scenario: $1 overflows without an address, $2 with an earlier one, $3 with their own"
	between "overflows" $(($1 + $2 + $3)) 100 1000000
	between "with an earlier address, which had none before that was kept" "$2" 1 1000000
	is "without one, once the thread was met" "$4" 0
	remove_context
	exec 7>&-
	wait $pid
}

addressed() {
	taskset -pc 0 $$ >/dev/null
	start_daemon
	addresses
	stop_daemon
}

# From CPU to CPU, awake or asleep, so that a kernel thread moves it or none does. Where the host stops a CPU
# of the guest for long, the count is lost, which is told: fewer hops take less time.
hops() {
	for hops in 10000 2000 1000 500 500; do
		launch 0,1 loopn hops $hops 200
		said ready
		counts none ""
		n=$(stat ctxsw_in)
		go
		check "it has hopped" said did
		v=$(cat pmd/0 2>&1) && counted=yes || counted=no
		n=$(($(stat ctxsw_in) - n))
		echo "# $scenario: hops: $(grep did /tmp/said), $(cat last_error)"
		# A round has 608 instructions: none may be missing.
		[ $counted = no ] || exactly "after $hops hops with $n pairs" "$v" "$(did)" 1 200
		remove_context
		exec 7>&-
		wait $pid
		[ $counted = no ] || return 0
	done
	not_ok "each time that it hops, the count is lost"
}

# begin_stopped PROGRAM: begun, and stopped before it is that program
begin_stopped() {
	launch 1 loopn stopped "$1" $(seq 49)
	while [ "$(letter "$pid")" != T ]; do sleep 0.05; done
}
end_is_told() {
	is "its end is told" "$(dd if=events bs=4k count=1 status=none | cut -d' ' -f1)" end
	is "state" "$(cat state)" "zombie tid=$tid"
}

# stopped PROGRAM: loaded and followed while it is; it goes on as that program and ends
stopped() {
	begin_stopped "$here/$1"
	counts none follow
	n=$(stat ctxsw_in)
	kill -CONT "$pid"
	check "it ends" wait "$pid"
	n=$(($(stat ctxsw_in) - n))
	end_is_told
}
loop=$((3 * (50 << 20)))
programs() {
	stopped bare
	exactly "over exec" "$(cat pmd/0)" $((loop + 6 + 5)) "$n" $left_pair
	remove_context
	for p in "bare_fork 17 7" "bare_thread 10 4"; do
		# shellcheck disable=SC2086
		set -- $p
		stopped "$1"
		exactly "$1, itself" "$(cat pmd/0)" $((loop + $2 + 5)) "$n" $left_pair
		is "$1: one child" "$(find children -mindepth 1 -maxdepth 1 | wc -l)" 1
		exactly "$1, its child" "$(cat children/*/pmd/0)" $((loop + $3)) "$n" $left_pair
		is "$1: total" "$(awk '$1 == "pmd0" { print $2 }' total)" \
			$(($(cat pmd/0) + $(cat children/*/pmd/0)))
		remove_context
	done
}

# An ordinary user's thread, not traced, becomes a set-user-id program: nothing of that is counted.
privileged() {
	cp "$here/bare" /tmp/privileged
	chmod 4755 /tmp/privileged
	# The host may take the CPU from the ctxsw thread, which counts as its time.
	echo 100 >$mnt/config/ctxsw_budget
	for try in 1 2 3 4 5; do
		becomes_privileged
		! lost_late || continue
		exactly "up to a set-user-id program" "$(cat $mnt/ctx/a/pmd/0)" 5 "$n" $left_pair
		break
	done
	if lost_late >/dev/null; then ok "# SKIP its end: the host delays the ctxsw thread each time"
	else
		is "its end is told" "$said" end
		is "state" "$(cat $mnt/ctx/a/state)" "zombie tid=$tid"
	fi
	rmdir $mnt/ctx/a
}
becomes_privileged() {
	[ ! -d $mnt/ctx/a ] || rmdir $mnt/ctx/a
	as_user="setpriv --reuid=65534 --regid=65534 --clear-groups"
	begin_stopped /tmp/privileged
	check "a user's load without ptrace" $as_user sh -c "mkdir $mnt/ctx/a && cd $mnt/ctx/a &&
		echo 0x4100c0 >pmc/0 && echo load tid=$tid ptrace=no >ctl && echo start >ctl"
	as_user=
	n=$(stat ctxsw_in)
	kill -CONT "$pid"
	said=$(dd if=$mnt/ctx/a/events bs=4k count=1 status=none | cut -d' ' -f1)
	n=$(($(stat ctxsw_in) - n))
	check "it goes on, and ends" wait "$pid"
	soon grep -q zombie $mnt/ctx/a/state
}
# The host kept the ctxsw thread from running in time after exec: there is no count then.
lost_late() {
	[ "$(cat $mnt/ctx/a/state)" = "zombie tid=$tid lost" ] || return
	if cat $mnt/ctx/a/pmd/0 >/tmp/out 2>&1; then not_ok "a lost count: $(cat /tmp/out)"
	else ok "a lost count is no number, try $try"; fi
	echo "# $scenario: $(cat "$mnt/ctx/a/last_error")"
}

has_looped() { [ "$(grep -c did /tmp/said)" = "$1" ]; } # TIMES
looped() { soon has_looped "$1"; }
has_run_since() { [ "$(cpu_time)" -gt "$1" ]; } # NS
is_taken() { # WHAT
	if cat pmd/0 >/tmp/out 2>&1; then not_ok "$1 gives a number: $(cat /tmp/out)"
	else ok "$1 gives no number"; fi
	like "but a sentence" "$(cat last_error)" "on CPU 1, where uid 0"
}
# A count of the TIMES-th run of the loop, on a CPU that is not taken: exact.
counted_again() { # TIMES
	write pmd/0 0
	n=$(stat ctxsw_in)
	go
	check "it has looped" looped "$1"
	exactly "after run $1" "$(cat pmd/0)" 60000008 $(($(stat ctxsw_in) - n)) $left_pair
}
# A context of CPU 1 takes it from a thread there: of one run, either has the count, the other not.
preempted() {
	launch 1 loopn threads 1 20000000
	said ready
	counts none ""
	counted_again 1
	mkdir $mnt/ctx/cpu
	write $mnt/ctx/cpu/pmc/0 0x4100c0
	check "a load takes the CPU" write $mnt/ctx/cpu/ctl "load cpu=1"
	n=$(stat polls)
	write $mnt/ctx/cpu/ctl start
	go
	check "it has looped" looped 2
	write $mnt/ctx/cpu/ctl stop
	n=$(($(stat polls) - n))
	between "on the CPU ($n looks)" "$(cat $mnt/ctx/cpu/pmd/0)" 60000008 $((60020000 + n * per_look))
	is_taken "the thread's own count"
	is "its state" "$(cat state)" "running tid=$tid set=0 lost"
	write $mnt/ctx/cpu/ctl unload
	counted_again 3
	# The first time, it certainly runs on a taken CPU; the others, it probably does.
	check "taken" write $mnt/ctx/cpu/ctl "load cpu=1"
	ns=$(cpu_time)
	go
	until has_run_since "$ns"; do :; done
	check "given back" write $mnt/ctx/cpu/ctl unload
	for _ in 1 2 3 4 5 6 7 8 9; do
		check "taken" write $mnt/ctx/cpu/ctl "load cpu=1"
		check "given back" write $mnt/ctx/cpu/ctl unload
	done
	check "it has looped" looped 4
	is_taken "a count with holes"
	counted_again 5
	rmdir $mnt/ctx/cpu
	remove_context
	exec 7>&-
	wait $pid
}

threads() { # PMU
	taskset -pc 0 $$ >/dev/null
	start_daemon
	is "PMU" "$(cat $mnt/pmu/name)" "$1"
	before=$(both_cpus)
	shared_cpu raw $raw_pair
	shared_cpu none $left_pair
	is "registers are as before" "$(both_cpus)" "$before"
	preempted
	is "registers are as before" "$(both_cpus)" "$before"
	asleep
	hops
	many
	# What a thread becomes, the kernel tells: a PMU with a global control will do for that, and one without.
	case $1 in
	intel_arch_v4 | amd64_ext)
		programs
		privileged
		;;
	esac
	is "registers are as before" "$(both_cpus)" "$before"
	stop_daemon
}

# Its CPU goes while it runs there: the count is right or lost, and the thread runs on elsewhere.
moved() {
	taskset -pc 0 $$ >/dev/null
	start_daemon
	before=$(both_cpus)
	for round in 1 2 3 4; do
		launch 0,1 loopn threads 2 150000000
		said ready
		tid=$(awk '$1 == "thread" { t = $2 } END { print t }' /tmp/said)
		# It begins on CPU 1, and may run on both.
		taskset -pc 1 "$tid" >/dev/null
		counts none follow
		n=$(stat ctxsw_in)
		go
		taskset -pc 0,1 "$tid" >/dev/null
		sleep 0.$round
		echo 0 >/sys/devices/system/cpu/cpu1/online
		sleep 0.2
		[ $round -lt 3 ] || echo 1 >/sys/devices/system/cpu/cpu1/online
		check "it has looped" said did
		n=$(($(stat ctxsw_in) - n))
		if v=$(cat pmd/0 2>/tmp/out); then
			exactly "moved off CPU 1, round $round" "$v" 450000008 "$n" $left_pair
		else
			like "lost, which is told, round $round" "$(cat /tmp/out)" "cat: pmd/0: "
			like "with the reason" "$(cat last_error)" "pmd0: "
		fi
		echo 1 >/sys/devices/system/cpu/cpu1/online
		write ctl unload
		remove_context
		is "it is not traced any more" "$(awk '/TracerPid/ { print $2 }' "/proc/$tid/status")" 0
		exec 7>&-
		wait "$pid"
	done
	left_asleep
	shared_cpu none $left_pair
	is "registers are as before" "$(both_cpus)" "$before"
	stop_daemon
}

# Its CPU goes while it sleeps, with its context in the registers there: the count is right or lost.
left_asleep() {
	launch 0,1 loopn threads 1 20000000
	said ready
	apart
	counts none ""
	n=$(stat ctxsw_in)
	go
	check "it has looped" looped 1
	is "its selector is in the register" "$(rdmsr -p 1 0x186)" 4100c0
	taskset -pc 0,1 "$tid" >/dev/null
	echo 0 >/sys/devices/system/cpu/cpu1/online
	go
	check "it has looped elsewhere" looped 2
	echo 1 >/sys/devices/system/cpu/cpu1/online
	n=$(($(stat ctxsw_in) - n))
	if v=$(cat pmd/0 2>/tmp/out); then
		exactly "its CPU went in its sleep" "$v" 120000016 "$n" $left_pair
	else
		like "lost, which is told" "$(cat last_error)" "pmd0: "
		check "it can be counted again" write pmd/0 0
		n=$(stat ctxsw_in)
		go
		check "it has looped" looped 3
		exactly "after it was lost" "$(cat pmd/0)" 60000008 $(($(stat ctxsw_in) - n)) $left_pair
	fi
	remove_context
	exec 7>&-
	wait "$pid"
}

# Another user of the counter comes while the thread does not run: no number that is not its own. Before
# it has run, its context is in memory; after that, in the registers.
robbed() {
	taskset -pc 0 $$ >/dev/null
	start_daemon
	for runs in 1 2; do robbed_before $runs; done
	# When the other has left, the counter is free for the next.
	shared_cpu none $left_pair
	stop_daemon
}
robbed_before() { # RUN
	launch 0,1 loopn threads 1 100000000
	said ready
	apart
	counts none ""
	if [ "$1" = 2 ]; then
		go
		check "it has looped" looped 1
		is "its selector is in the register" "$(rdmsr -p 1 0x186)" 4100c0
	fi
	sleep 0.2
	for cpu in 0 1; do wrmsr -p $cpu 0x186 0x4100c4; done
	go
	check "it has looped" looped "$1"
	if cat pmd/0 >/tmp/out 2>&1; then not_ok "a taken counter gives a number: $(cat /tmp/out)"
	else ok "a taken counter gives no number"; fi
	like "but a sentence" "$(cat last_error)" "taken over"
	is "the other's selector is left alone" "$(rdmsr -p 1 0x186)" 4100c4
	for cpu in 0 1; do wrmsr -p $cpu 0x186 0; done
	remove_context
	exec 7>&-
	wait $pid
}

# times_looped TIMES: run after run. took is the CPU time of the shortest one.
times_looped() {
	took=0
	for i in $(seq "$1"); do
		ns=$(cpu_time)
		go
		looped "$i" || return
		ns=$(($(cpu_time) - ns))
		[ $took -gt 0 ] && [ $took -lt $ns ] || took=$ns
	done
}
# counted_with_gaps FLAGS RUNS: beside a rival, in runs that are a few time slices long
counted_with_gaps() {
	launch 1 loopn threads 1 10000000
	taskset -c 1 "$here/spinner" 1 burn >/dev/null &
	rival=$!
	said ready
	counts "$1" ""
	n=$(stat ctxsw_in) before=$(cpu_time)
	check "it has looped" times_looped "$2"
	n=$(($(stat ctxsw_in) - n)) before=$(($(cpu_time) - before))
	kill $rival
}
remove_counted() {
	remove_context
	exec 7>&-
	wait $pid $rival 2>/dev/null
}
# with_daemon DIRECTORY GAPS-STAT: its daemon loses counts; with the flag gaps, no more is missing of one than
# the thread executes in the time that is uncertain, as fast as in the fastest of runs that are no longer than a
# gap: the host lets no long run have all of its CPU
with_daemon() {
	taskset -pc 0 $$ >/dev/null
	launch 1 loopn threads 1 500000
	said ready
	check "it has looped alone" times_looped 40
	fastest=$took
	exec 7>&-
	wait $pid
	daemon=$here/$1/perfmonfs
	start_daemon
	counted_with_gaps none 5
	if cat pmd/0 >/tmp/out 2>&1; then not_ok "a count with gaps is a number: $(cat /tmp/out)"
	else ok "a count with gaps is no number"; fi
	is "it is told" "$(cat state)" "running tid=$tid set=0 lost"
	remove_counted
	between "$2" "$(stat "$2")" 1 100000
	counted_with_gaps gaps 15
	# shellcheck disable=SC2046
	set -- $(awk '$1 == "pmd0" { gsub(/[a-z]+=/, ""); print $2, $3, $4 }' regs)
	echo "# $scenario: pmd0 $*, $n pairs, $before ns, alone 1500008 in $fastest ns"
	is "it is told" "$(cat state)" "running tid=$tid set=0 gaps=$2"
	is "by a message" "$(dd if=events bs=4k count=1 status=none)" \
		"gap cpu=1 set=0 pmds=0 pid=$pid tid=$tid"
	between "gaps" "$2" 1 100000
	between "uncertain, of its CPU time" "$3" 1 "$before"
	missing=$((15 * 30000008 - $1))
	between "what is missing" $missing $((-n * left_pair)) \
		$(($3 * 1500008 / fastest + $3 * 1500008 / fastest / 20 + n * left_pair))
	remove_counted
	stop_daemon
}
# On a kernel that hides switches.
hidden() {
	with_daemon hiding ctxsw_missed
	daemon=$here/hiding/perfmonfs
	start_daemon
	# shellcheck disable=SC2016
	check "pfm stat --gaps" "$here/pfm" stat --gaps -j -o /tmp/counts -e instructions:u \
		sh -c 'for i in $(seq 100); do "$0" x; done' "$here/bare"
	sed "s/^/# $scenario: /" /tmp/counts
	between "a number for 100 forks" "$(pfm_value instructions:u)" 1 $((101 * bare_executes))
	like "with its bound" "$(cat /tmp/counts)" '"metric":"uncertain","value":0.'
	stop_daemon
}
# With ctxsw threads that sleep before they start the counters.
stalled() { with_daemon stalling ctxsw_stalled; }
# Real-time threads have a hundredth of each second: the count of a thread that shares its CPU is told as lost.
throttled() {
	limit=/proc/sys/kernel/sched_rt_runtime_us
	was=$(cat $limit)
	taskset -pc 0 $$ >/dev/null
	daemon=$here/perfmonfs
	start_daemon
	echo 10000 >$limit
	counted_with_gaps none 15
	if cat pmd/0 >/tmp/out 2>&1; then
		not_ok "a throttled daemon has a number: $(cat /tmp/out) of $((15 * 30000008))"
	else ok "a throttled daemon has no number"; fi
	between "ctxsw_stalled" "$(stat ctxsw_stalled)" 1 100000
	echo "$was" >$limit
	remove_counted
	stop_daemon
}
