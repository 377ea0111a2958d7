# SPDX-License-Identifier: MIT
# Contexts on threads with the perf backend: what they count, compared with what the threads measure
# themselves, and rights. Effects on the threads are in traced.bats. Where the argument of a function
# is a word of --threads, the kernel or ctxsw threads switch the counters: what only the kernel's
# switching does is in switched.bats.

load common
load track

# all_right NAME: compares each thread of that subject with the context that its tid names, except
# for lost counts, see lost_switches()
all_right() {
	local tid faults

	while read -r tid faults; do
		echo "$tid $faults $(cat "$MNT/ctx/$tid/pmd/0" 2>/dev/null)"
	done < <(awk '$1 == "did" { sub(/faults=/, "", $3); print $2, $3 }' "$SAYS/$1") |
		awk -v most="$(lost_switches)" 'NF < 3 { lost++; next }
			{ off = $3 - $2; sum += off; if (off < 0) off = -off; if (off > worst) worst = off }
			END {
				print NR " threads, " lost + 0 " lost, worst off " worst ", all " sum
				exit worst > 2 || lost > most || lost == NR
			}' || lost
}

each_for_itself() {
	serve --backend=perf "--threads=$1"
	begin a subject -t 8 -m faults 100000
	all_counted
	go a
	said a "^done"
	all_right a
}

@test "page faults of 8 threads that change their CPUs, each for itself" {
	each_for_itself kernel
}

@test "page faults of 8 threads that change their CPUs, each for itself, by ctxsw threads" {
	each_for_itself ctxsw
}

@test "beside a competitor, a running thread's count can be read all the time, and only grows" {
	local now last=0

	serve --backend=perf --threads=ctxsw
	compete "$ONE" fault
	begin a subject -c "$ONE" faults 200000
	monitor a "$TID"
	put ok "$C/pmd/0" 1000000
	go a
	for _ in {1..100}; do
		read -r now <"$C/pmd/0" || lost
		[ "$now" -ge "$last" ]
		last=$now
	done
	finished a
	near "from 1000000" "$(cat "$C/pmd/0")" $((1000000 + $(did a "$TID" faults))) 2
	ctl stop
	holds "$C/state" "loaded tid=$TID set=0"
}

# cputime_is_right: as /proc has it before and after
cputime_is_right() {
	local before shown after

	read -r before _ <"/proc/$TID/schedstat"
	shown=$(bounded cat "$C/pmd/257") || return 1
	read -r after _ <"/proc/$TID/schedstat"
	[ "$before" -le "$shown" ] && [ "$shown" -le "$after" ]
}

# elapsed_is_right FROM: at least since FROM, and at most by now; FROM in ns of CLOCK_MONOTONIC
elapsed_is_right() {
	local shown

	shown=$(bounded cat "$C/pmd/262") || return 1
	[ "$shown" -gt 0 ] && [ "$shown" -le $(($(bounded cat "$C/pmd/256") - $1)) ]
}

@test "the CPU time, the process and the number of a monitored thread; the time since start" {
	serve --backend=perf
	begin a subject faults 1000
	new clock
	began=$(bounded cat "$C/pmd/256")
	monitor a "$TID"
	holds "$C/pmd/261" "$(awk '/^Tgid/ { print $2 }' "/proc/$TID/status")"
	holds "$C/pmd/263" "$TID"
	[ "$(ls "$C/pmd" | grep -c '^2[56][0-9]$')" = "$(grep -c ' virtual ' "$MNT/pmu/pmds")" ]
	cputime_is_right
	go a
	finished a
	cputime_is_right
	elapsed_is_right "$began"
	ctl stop
	cputime_is_right
	elapsed_is_right "$began"
	ctl unload
	elapsed_is_right "$began"
	probe ENODATA pread "$C/pmd/257" 30 0
	probe ENODATA pread "$C/pmd/261" 30 0
	probe ENODATA pread "$C/pmd/263" 30 0
	[ ! "$(ls "$C/pmd" | grep -E '^(257|261|263)$')" ]
}

@test "beside a thread of the ctxsw threads' priority: the count is lost, and never wrong" {
	serve --backend=perf --threads=ctxsw
	begin a subject -c "$ONE" faults 200000
	monitor a "$TID"
	taskset -c "$ONE" chrt -f 98 sh -c 'while sleep 0.001; do :; done' >/dev/null 3>&- 4>&- 5>&- &
	PROGRAMS+=("$!")
	until_ok sh -c 'chrt -p "$1" | grep -q FIFO' sh "$!"
	go a
	said a "^done"
	probe EIO pread "$C/pmd/0" 30 0
	[ "$(awk '$1 == "ctxsw_late" { print $2 }' "$MNT/stats")" -gt 0 ]
	put ok "$C/pmd/0" 0
}

# ctxsw_thread CPU
ctxsw_thread() {
	grep -lx "pfm/ctxsw$1" "/proc/$DAEMON"/task/*/comm | cut -d/ -f5
}

# blocked NAME: while the ctxsw thread of a CPU cannot run, TID goes from there to ONE. That CPU's ctxsw thread
# waits 0.1 s, and not again.
blocked() {
	local used waiting

	waiting=$(ctxsw_thread "$ONE")
	taskset -pc "${CPUS[0]}" "$TID" >/dev/null
	put ok "$C/pmd/0" 0
	# The limit ends it even where the kernel lets real-time threads starve timeout.
	timeout -s KILL 0.8 prlimit --rttime=2000000 chrt -f 99 spinner "${CPUS[0]}" burn >"$SAYS/$1" 3>&- 4>&- 5>&- &
	until_ok grep -q thread "$SAYS/$1"
	used=$(cpu_time "$DAEMON" "$waiting")
	taskset -pc "$ONE" "$TID" >/dev/null
	wait "$!" || :
	used=$(($(cpu_time "$DAEMON" "$waiting") - used))
	echo "used $used ns"
	[ "$used" -lt 300000000 ]
}

@test "a ctxsw thread that cannot run keeps another CPU for a tenth of a second" {
	local try waits

	[ "${#CPUS[@]}" -ge 2 ] || skip "needs two CPUs"
	serve --backend=perf --threads=ctxsw
	begin a spinner "${CPUS[0]}" fault
	renice -n -20 -p "$TID" >/dev/null
	monitor a "$TID" || {
		told
		false
	}
	taskset -pc "$ONE" "$BASHPID" >/dev/null
	waits=$(stat_of ctxsw_waits)
	for try in 1 2 3 4 5; do
		blocked "b$try"
		[ "$(stat_of ctxsw_waits)" = "$waits" ] || break
	done
	[ "$(stat_of ctxsw_waits)" -gt "$waits" ] ||
		skip "each time that the ctxsw thread could not run, its CPU had another thread"
	probe EIO pread "$C/pmd/0" 30 0
}

# When the thread comes, the start of the ctxsw thread is missing; when it goes, its end is added.
@test "CPU time at 20,000 switches a second, and the constant of a switch" {
	local turns=20000 counted want stolen

	serve --backend=perf --threads=ctxsw
	begin a subject -c "$ONE" -w 100000 turns $turns
	monitor a "$TID" cpu-clock
	stolen=$(stolen_ticks)
	go a
	finished a
	ctl stop
	counted=$(cat "$C/pmd/0") || lost
	want=$(did a "$TID" cpu_ns)
	echo "ns a turn: $((want / turns)), counted $((counted / turns))"
	near "ns of CPU" "$counted" "$want" $((want / 1000 + turns * 30000 + $(stolen_ns "$stolen")))
	[ "$counted" -ge $((want / 4 * 3)) ]
}

@test "a thread that monitors itself, and eight that do" {
	serve --backend=perf
	for n in 0 1 2 3 4 5 6 7; do
		new $n
		put ok "$C/pmc/0" "$(user_event page-faults)"
	done
	begin a subject -t 8 -x "$MNT/ctx" faults 100000
	go a
	finished a
	for tid in "${TIDS[@]}"; do
		near "counted by $tid itself" "$(did a "$tid" counted)" 100000 2
	done
	holds "$MNT/ctx/3/state" "loaded tid=${TIDS[3]} set=0"
}

@test "exit: the message, and a context that can be read" {
	serve --backend=perf --threads=ctxsw
	begin a subject faults 5000
	monitor a "$TID"
	go a
	finished a
	ctl stop
	go a
	message "end*"
	holds "$C/state" "zombie tid=$TID"
	near "of the dead" "$(cat "$C/pmd/0")" 5000 20
	refused EINVAL start load
	ctl unload
	near "of the dead" "$(cat "$C/pmd/0")" 5000 20
	begin b subject faults 5000
	put ok "$C/pmd/0" 0
	ctl "load tid=$TID"
	ctl start
	go b
	finished b
	its_faults b "$TID"
}

@test "many loads of one user at once: each is answered, also while the daemon ends" {
	serve --backend=perf
	loads_at_once "$((1 << 22))"
	all_answer ESRCH
	loads_at_once "$((1 << 22))"
	rmdir "$MNT"/ctx/w{1..20}
	stop_daemon
	wait "${LOADS[@]}" || :
}

@test "loads that are refused" {
	serve --backend=perf
	new a
	refused ESRCH "load tid=4194303" 4194303
	begin a subject faults 1
	refused EINVAL "load tid=$TID tid=$TID" twice
	refused EINVAL "load tid=$TID cpus=4095" 4095
	refused EINVAL "load tid=$TID set=1" "set 1"
	holds "$C/state" unloaded
	[ "$(tracer_of "$PID")" = 0 ]
	ctl "load set=0 follow tid=$TID"
	refused EBUSY "load tid=$TID" loaded
}

@test "a context stays a system-wide or a thread context" {
	serve --backend=perf
	begin a subject faults 1
	new a
	ctl "load tid=$TID"
	holds "$C/flags" none
	ctl unload
	refused EINVAL "load cpu=$ONE" tid=
	new b
	ctl "load cpu=$ONE"
	ctl unload
	refused EINVAL "load tid=$TID" cpu=
}

@test "one context on a thread" {
	serve --backend=perf
	begin a subject -t 2 faults 1
	monitor a "${TIDS[0]}"
	new b
	refused EBUSY "load tid=${TIDS[0]}" "${TIDS[0]}"
	before=$(stat_of commands)
	ctl "load tid=${TIDS[1]}"
	[ "$(stat_of commands)" = $((before + 1)) ]
}

# is_taken: the count of C is lost, and the sentence names the CPU and its taker. A count that was lost before, as a
# ctxsw thread got no CPU, is written, and is lost again while the thread runs there.
is_taken() {
	probe EIO pread "$C/pmd/0" 30 0 || return 1
	{ sentence "$C/last_error" "CPU $ONE" && sentence "$C/last_error" "uid 0"; } || {
		[ "$(lost_switches)" = 0 ] || put ok "$C/pmd/0" 0
		return 1
	}
}

@test "of an older kernel, another thread reads the groups of one that loads" {
	on_older_kernel
	serve --backend=perf
	reads_in_another_thread "load tid=%d"
}

@test "a CPU is taken while a thread runs there, and given back" {
	serve --backend=perf --threads=ctxsw
	begin a spinner "$ONE" fault
	monitor a "$TID"
	until_ok counted_some
	new cpu
	put ok "$C/pmc/0" "$(event page-faults)"
	ctl "load cpu=$ONE"
	ctl start
	C=$MNT/ctx/a
	until_ok is_taken
	# Written, it is lost again, as the thread still runs there; and so it is from a start on.
	put ok "$C/pmd/0" 0
	until_ok is_taken
	ctl stop
	put ok "$C/pmd/0" 0
	holds "$C/pmd/0" 0
	ctl start
	until_ok is_taken
	C=$MNT/ctx/cpu
	until_ok counted_some
	ctl unload
	C=$MNT/ctx/a
	is_taken
	put ok "$C/pmd/0" 0
	until_ok counted_some
}

counted_some() {
	local count

	count=$(cat "$C/pmd/0") || lost
	[ "$count" -gt 0 ]
}

@test "a load on a thread beside contexts on CPUs: refused only where it could count nothing" {
	serve --backend=perf --threads=ctxsw
	new cpu
	ctl "load cpu=$ONE"
	begin a subject -c "$ONE" faults 1
	new a
	refused EBUSY "load tid=$TID" "CPU $ONE"
	holds "$C/state" unloaded
	begin b subject -t 2 faults 10000
	new b
	refused EBUSY "load tid=${TIDS[0]} cpus=$ONE" "CPU $ONE"
	[ "${#CPUS[@]}" -ge 2 ] || return 0
	monitor c "${TIDS[0]}"
	monitor d "${TIDS[1]}"
	taskset -pc "$ONE" "${TIDS[0]}" >/dev/null
	taskset -pc "${CPUS[0]}" "${TIDS[1]}" >/dev/null
	go b
	said b "^done"
	C=$MNT/ctx/c
	is_taken || lost
	C=$MNT/ctx/d
	finished b
	its_faults b "${TIDS[1]}"
}

# take_turns: context cpu takes the CPU and gives it back, all the time
take_turns() {
	while echo "load cpu=$ONE" >"$MNT/ctx/cpu/ctl" && echo unload >"$MNT/ctx/cpu/ctl"; do :; done
}

@test "a CPU is taken and given back all the time: counts are right or lost" {
	local tid

	[ "${#CPUS[@]}" -ge 2 ] || skip "needs two CPUs"
	serve --backend=perf --threads=ctxsw
	begin a subject -t 8 -m faults 50000
	all_counted
	new cpu
	take_turns 2>/dev/null 3>&- &
	PROGRAMS+=("$!")
	go a
	while read -r tid; do
		C=$MNT/ctx/$tid
		put ok "$C/pmd/0" 0
	done < <(printf '%s\n' "${TIDS[@]}")
	said a "^done"
	kill "${PROGRAMS[-1]}"
	for tid in "${TIDS[@]}"; do
		count=$(cat "$MNT/ctx/$tid/pmd/0" 2>/dev/null) || continue
		[ "$count" -le $(($(did a "$tid" faults) + 2)) ]
	done
	# All that they need is free again.
	probe ok rmdir "$MNT/ctx/cpu"
	begin b subject -c "$ONE" faults 10000
	monitor b "$TID"
	go b
	finished b
	its_faults b "$TID"
}

@test "cpus: contexts on threads, and whose they are" {
	serve --backend=perf
	begin a subject faults 1
	monitor a "$TID"
	first=$TID
	WHO=(setpriv --reuid="$NOBODY" --regid="$NOBODY" --clear-groups)
	begin b subject faults 1
	WHO=()
	as nobody monitor b "$TID"
	output=$(awk '/^thread / { sub(/ pid=.*/, ""); print }' "$MNT/cpus" | sort)
	is "$(printf '%s\n' "thread $first context=a uid=0" "thread $TID context=b uid=$NOBODY" | sort)"
	# Others see their own.
	output=$(setpriv --reuid="$NOBODY" --regid="$NOBODY" --clear-groups awk '/^thread / { print $3, $4 }' "$MNT/cpus")
	is "context=b uid=$NOBODY"
}

over_budget() {
	awk '$1 == "ctxsw_over_budget" { print $2 }' "$MNT/stats"
}

spent() {
	[ "$(over_budget)" -gt 0 ]
}

# by_uid UID HELPER...: the helper acts as that user
by_uid() {
	local WHO=(setpriv --reuid="$1" --regid="$1" --clear-groups)

	"${@:2}"
}

counts_again() {
	put ok "$C/pmd/0" 7
	holds "$C/pmd/0" 7
}

# quiet_beside_busy TRY: a user's thread a$TRY switches too often, while another user's thread touches pages
quiet_beside_busy() {
	by_uid 65533 begin "quiet$1" subject -c "$ONE" faults 1000
	by_uid 65533 monitor "quiet$1" "$TID"
	quiet=$TID
	by_uid "$NOBODY" begin "a$1" subject -c "$ONE" turns 40000
	by_uid "$NOBODY" monitor "a$1" "$TID"
	tid=$TID
	go "a$1"
	until_ok holds "$C/state" "running tid=$tid set=0 lost"
	go "quiet$1"
	said "quiet$1" "^done"
	said "a$1" "^done"
}

@test "a user whose switches take more than the budget loses counts, and others do not" {
	serve --backend=perf --threads=ctxsw
	put ok "$MNT/config/ctxsw_budget" 5
	# A stall of this machine is a part of the switch that it falls into, and can exceed the quiet
	# user's budget: not each time.
	for try in 1 2 3 4 5; do
		quiet_beside_busy $try
		! holds "$MNT/ctx/quiet$try/state" "running tid=$quiet set=0 lost" || continue
		break
	done
	told
	spent
	# Its thread goes on, and causes no switches; the context stays as it is.
	probe EIO pread "$C/pmd/0" 30 0
	sentence "$C/last_error" ctxsw_budget
	holds "$C/state" "running tid=$tid set=0 lost"
	[ "$(awk '$1 == "ctxsw_in" { print $2 }' "$MNT/stats")" -lt $((40000 * try)) ]
	until_ok counts_again
	C=$MNT/ctx/quiet$try
	finished "quiet$try"
	its_faults "quiet$try" "$quiet"
}

# Makes sets 1 to 255 of context $1, and writes pmc0 of all
many_sets() {
	for set in {1..255}; do
		mkdir "$1/set/$set"
		echo "$2" >"$1/set/$set/pmc/0" || return
	done
}

# Loads context $1, and calibrates all sets again, with PMCs $3 and $4 in turn, until it is refused
load_spends() {
	for _ in {1..20}; do
		for value in "$3" "$4"; do
			echo unload >"$1/ctl"
			for set in {0..255}; do
				echo "$value" >"$1/set/$set/pmc/0"
			done
			echo "load tid=$2" >"$1/ctl" || return 0
			echo unload >"$1/ctl"
			echo "load tid=$2" >"$1/ctl" || return 0
		done
	done
	return 1
}

# Has the sets of context $1, which is loaded, calibrated again, with PMCs $2 and $3 in turn, until
# that is refused
write_spends() {
	for _ in {1..8}; do
		for value in "$2" "$3"; do
			for set in {0..255}; do
				echo "$value" >"$1/set/$set/pmc/0" || return 0
			done
		done
	done
	return 1
}

@test "a load calibrates at most 256 event sets of a user, and within the budget" {
	serve --backend=perf --threads=ctxsw
	begin own subject faults 1
	for user in "$NOBODY" 0; do
		C=$MNT/ctx/u$user
		by_uid "$user" probe ok mkdir "$C"
		by_uid "$user" probe ok mkdir "$C/set/256"
		setpriv --reuid="$user" --regid="$user" --clear-groups bash -c \
			"$(declare -f many_sets); many_sets $C $(user_event page-faults)"
	done
	put ok "$C/ctl" "load tid=$TID"
	put ok "$C/ctl" unload
	by_uid "$NOBODY" begin n subject faults 1
	C=$MNT/ctx/u$NOBODY
	by_uid "$NOBODY" put E2BIG "$C/ctl" "load tid=$TID"
	by_uid "$NOBODY" probe ok rmdir "$C/set/256"
	by_uid "$NOBODY" put ok "$C/ctl" "load tid=$TID"
	put ok "$MNT/config/ctxsw_budget" 1
	run -0 setpriv --reuid="$NOBODY" --regid="$NOBODY" --clear-groups bash -c \
		"$(declare -f load_spends); load_spends $C $TID $(user_event page-faults) \
			$(user_event minor-faults)"
	sentence "$C/last_error" ctxsw_budget
	by_uid "$NOBODY" until_ok put ok "$C/ctl" "load tid=$TID"
	run -0 setpriv --reuid="$NOBODY" --regid="$NOBODY" --clear-groups bash -c \
		"$(declare -f write_spends); write_spends $C $(user_event page-faults) \
			$(user_event minor-faults)"
	sentence "$C/last_error" ctxsw_budget
}

@test "root's contexts have no switch budget" {
	serve --backend=perf --threads=ctxsw
	put ok "$MNT/config/ctxsw_budget" 1
	begin a subject -c "$ONE" turns 5000
	monitor a "$TID"
	go a
	finished a
	its_faults a "$TID"
	[ "$(over_budget)" = 0 ]
}

@test "the daemon's own threads and the kernel's are not monitored" {
	serve --backend=perf
	new a
	for task in /proc/"$DAEMON"/task/*; do
		refused EINVAL "load tid=${task##*/}" "${task##*/}"
	done
	kernel=$(awk '$9 % 4194304 >= 2097152 { print $1; exit }' /proc/[0-9]*/stat)
	[ -n "$kernel" ] || skip "threads of the kernel cannot be seen here"
	refused EPERM "load tid=$kernel" kernel
}

@test "another user's threads are not monitored; one's own are, and root monitors all" {
	serve --backend=perf
	begin roots subject faults 1
	roots=$TID
	as nobody begin own subject faults 50000
	own=$TID
	C=$MNT/ctx/n
	as nobody probe ok mkdir "$C"
	as nobody put ok "$C/pmc/0" "$(user_event page-faults)"
	for tid in "$roots" 1 "$DAEMON"; do
		[ "$tid" = "$DAEMON" ] || as nobody put EPERM "$C/ctl" "load tid=$tid"
		[ "$tid" != "$DAEMON" ] || as nobody put EINVAL "$C/ctl" "load tid=$tid"
		as nobody sentence "$C/last_error" "$tid"
	done
	run -0 bounded fsprobe writeas "$NOBODY" "$C/ctl" <<<"load tid=$roots"
	is EPERM
	# Nor does a server that writes to users' files in their names lend what it is itself.
	WHO=(setpriv "--euid=$NOBODY")
	put EPERM "$C/ctl" "load tid=$roots"
	WHO=()
	as nobody holds "$C/state" unloaded
	as nobody put ok "$C/ctl" "load tid=$own"
	as nobody put ok "$C/ctl" start
	go own
	finished own
	its_faults own "$own"
	as nobody put ok "$C/ctl" unload
	monitor r "$own"
	put ok "$MNT/config/thread_group" none
	ctl unload
	as nobody put EPERM "$MNT/ctx/n/ctl" "load tid=$own"
}

# Gives CAP_SYS_PTRACE to each user that executes it.
capable_copy() {
	CAPABLE=$BATS_TEST_TMPDIR/capable
	command -v setcap >/dev/null || skip "needs setcap"
	cp "$BATS_RUN_TMPDIR/fsprobe" "$CAPABLE"
	setcap cap_sys_ptrace=ep "$CAPABLE" || skip "no file capabilities on this filesystem"
	[ "$(as nobody bounded "$CAPABLE" lseek "$CAPABLE")" = ok ] ||
		skip "no privileges by programs on this filesystem"
}

# loads_by OPENER TID: in a context of the user nobody. OPENER opens ctl, and the capable program writes
# TID; self: its own
loads_by() {
	local opener=$1

	# shellcheck disable=SC2016
	output=$(bounded setpriv --reuid="$NOBODY" --regid="$NOBODY" --clear-groups bash -c '
		[ "$4" != self ] || set -- "$1" "$2" "$3" $$
		if [ "$1" = shell ]; then
			exec "$2" write - 4>"$3" <<<"load tid=$4"
		else
			exec "$2" write "$3" <<<"load tid=$4"
		fi' bash "$opener" "$CAPABLE" "$C/ctl" "$2")
}

@test "a program with file capabilities does not lend them to the opener of a file" {
	capable_copy
	serve --backend=perf
	begin roots subject faults 1
	C=$MNT/ctx/n
	as nobody probe ok mkdir "$C"
	loads_by shell "$TID"
	is EPERM
	as nobody holds "$C/state" unloaded
	# Nor itself.
	loads_by shell self
	is EPERM
	# The program that opens the file itself has them.
	loads_by program "$TID"
	is ok
}

# begin_nobodys OPTION NAME PROGRAM...: started by the user nobody, whose context C counts its page
# faults
begin_nobodys() {
	as nobody begin "${@:2}"
	C=$MNT/ctx/$2
	as nobody probe ok mkdir "$C"
	as nobody put ok "$C/pmc/0" "$(user_event page-faults)"
	as nobody put ok "$C/ctl" "load tid=$TID $1"
	as nobody put ok "$C/ctl" start
}

# becomes_privileged OPTION PROGRAM...: that executes the setuid one after a line; until then it has few
# faults, and after that its loader has more than a hundred
becomes_privileged() {
	local name=${1%=*}${2##*/}

	begin_nobodys "$1" "$name" "${@:2}"
	before=$(cat "$C/pmd/0")
	go "$name"
	until_ok sh -c 'grep -c thread "$1" | grep -qx 2' sh "$SAYS/$name"
	message "end*"
	holds "$C/state" "zombie tid=$PID"
	as nobody sentence "$C/last_error" "$PID"
	count=$(cat "$C/pmd/0") || lost
	echo "counted before exec: $((count - before))"
	[ $((count - before)) -lt 30 ]
	go "$name"
	said "$name" "^privileged 0$"
	holds "$C/pmd/0" "$count"
	[ "$(tracer_of "$PID")" = 0 ]
}

@test "a monitored program that executes a setuid one is detached, and gets its privileges" {
	setuid_copy
	serve --backend=perf
	for option in "" ptrace=no; do
		# Of a thread that is not traced, the kernel's own switching keeps the number that it had.
		[ -z "$option" ] || {
			stop_daemon
			serve --backend=perf -o threads=ctxsw
		}
		# shellcheck disable=SC2016
		becomes_privileged "$option" bash -c 'echo thread $$; read -r _; exec "$1" status' bash \
			"$BATS_TEST_TMPDIR/privileged"
		becomes_privileged "$option" lives exec "$BATS_TEST_TMPDIR/privileged" status
	done
}

@test "ptrace=no: it ends with the exec also when it is stopped, and is loaded again" {
	setuid_copy
	serve --backend=perf -o threads=ctxsw
	begin_nobodys ptrace=no a lives exec "$BATS_TEST_TMPDIR/privileged" status
	as nobody put ok "$C/ctl" stop
	go a
	message "end*"
	holds "$C/state" "zombie tid=$PID"
	as nobody put EPERM "$C/ctl" "load tid=$PID ptrace=no"
	as nobody begin b subject faults 20000
	as nobody put ok "$C/pmd/0" 0
	as nobody put ok "$C/ctl" "load tid=$TID ptrace=no"
	as nobody put ok "$C/ctl" start
	go b
	finished b
	its_faults b "$TID"
}

@test "cpus: what the thread does elsewhere is not counted" {
	[ "${#CPUS[@]}" -ge 2 ] || skip "needs two CPUs"
	serve --backend=perf
	begin a subject -c "$ONE" faults 100000
	monitor a "$TID" page-faults "cpus=$ONE"
	go a
	finished a
	its_faults a "$TID"
	begin b subject -c "${CPUS[0]}" faults 100000
	monitor b "$TID" page-faults "cpus=$ONE"
	go b
	finished b
	holds "$C/pmd/0" 0
	begin c subject -m faults 500000
	monitor c "$TID" page-faults "cpus=$ONE"
	go c
	finished c
	count=$(cat "$C/pmd/0")
	echo "on one CPU $count"
	[ "$count" -gt 0 ]
	[ "$count" -lt 500000 ]
	# That others are followed there changes nothing.
	begin d subject faults 1
	monitor d "$TID"
	begin e subject -c "${CPUS[0]}" faults 100000
	monitor e "$TID" page-faults "cpus=$ONE"
	go e
	finished e
	count=$(cat "$C/pmd/0") || { cat "$C/last_error"; told; }
	[ "$count" = 0 ]
}

@test "threads that exit while they are loaded" {
	serve --backend=perf
	new a
	put ok "$C/pmc/0" "$(event page-faults)"
	mkfifo "$BATS_TEST_TMPDIR/never"
	loaded=0 late=0
	for ((i = 0; i < 300; i++)); do
		sleep 0.00$((RANDOM % 10)) 3>&- &
		victim=$!
		# A write of the shell itself: another program would begin too late.
		read -rt 0.00$((RANDOM % 10)) _ <>"$BATS_TEST_TMPDIR/never" || :
		if { echo "load tid=$victim" >"$C/ctl"; } 2>"$BATS_TEST_TMPDIR/why"; then
			loaded=$((loaded + 1))
			until_ok grep -q zombie "$C/state"
		else
			late=$((late + 1))
# ESRCH; or EINTR: the shell gets SIGCHLD.
			grep -qE "No such process|Interrupted system call" "$BATS_TEST_TMPDIR/why"
		fi
		wait "$victim"
		echo unload >"$C/ctl"
	done
	echo "loaded $loaded, too late $late"
	[ "$loaded" -gt 0 ]
	# What remains of them must not block the next ones.
	begin b subject faults 5000
	ctl "load tid=$TID"
	put ok "$C/pmd/0" 0
	ctl start
	go b
	finished b
	its_faults b "$TID"
}

@test "1000 times loaded and unloaded: nothing is left, and the thread runs on" {
	serve --backend=perf
	begin a subject cpu 100000
	monitor a "$TID"
	ctl unload
	sleep 0.2
	files=$(daemon_files)
	go a
	before=$(cpu_time "$PID" "$TID")
	for ((i = 0; i < 1000; i++)); do
		echo "load tid=$TID" >"$C/ctl"
		[ $((i % 4)) -gt 1 ] || echo start >"$C/ctl"
		echo unload >"$C/ctl"
	done
	until_ok has_files "$files"
	until_ok sh -c '[ "$(awk "/TracerPid/ { print \$2 }" "/proc/$1/status")" = 0 ]' sh "$PID"
	now=$(cpu_time "$PID" "$TID")
	[ "$now" -gt "$before" ]
	until_ok letter_is "$PID" S
}

@test "rmdir while it runs: it runs on" {
	serve --backend=perf
	begin a subject faults 300000
	monitor a "$TID"
	ctl unload
	sleep 0.2
	files=$(daemon_files) # with what stays once a thread has been followed
	ctl "load tid=$TID"
	ctl start
	go a
	probe ok rmdir "$C"
	finished a
	[ "$(did a "$TID" faults)" = 300000 ]
	[ "$(tracer_of "$PID")" = 0 ]
	until_ok has_files "$files"
}

# hides_switches: what serve() begins runs on a kernel that does not report all switches
hides_switches() {
	perfmonfs() {
		exec "$BUILD/tests/hiding/perfmonfs" "$@"
	}
}

# has_to_wait: what serve() begins has ctxsw threads that sleep before they start the counters
has_to_wait() {
	perfmonfs() {
		exec "$BUILD/tests/stalling/perfmonfs" "$@"
	}
}

# counted_with_gaps DAEMON FLAGS [FORMAT PMD0]: of a subject that shares its CPU
counted_with_gaps() {
	"$1"
	serve --backend=perf --threads=ctxsw
	begin a subject -c "$ONE" faults 200000
	compete "$ONE" burn
	new a
	put ok "$C/flags" "$2"
	[ -z "${3-}" ] || put ok "$C/format" "$3"
	put ok "$C/pmc/0" "$(user_event page-faults)"
	put ok "$C/pmd/0" "${4:-0}"
	ctl "load tid=$TID"
	ctl start
	go a
	said a "^done"
}

# The figures are compared with the program's in tests/vm, where it runs steadily.
@test "a kernel that hides switches, and the flag gaps: a count that is too low, and says so" {
	local value gaps ns

	counted_with_gaps hides_switches gaps
	read -r value gaps ns < <(awk '$1 == "pmd0" { gsub(/[a-z]+=/, ""); print $2, $3, $4 }' "$C/regs")
	cat "$C/regs"
	[ "$value" -gt 0 ] && [ "$value" -le $(($(did a "$TID" faults) + 2)) ]
	[ "$gaps" -gt 0 ]
	[ "$ns" -gt 0 ] && [ "$ns" -le "$(cpu_time "$PID" "$TID")" ]
	holds "$C/state" "running tid=$TID set=0 gaps=$gaps"
	grep -qx "pmd0 $value gaps=$gaps uncertain=$ns" "$C/total"
	message "gap cpu=* set=0 pmds=0 pid=$PID tid=$TID"
	cat "$C/regs" >"$BATS_TEST_TMPDIR/saved"
	put ok "$C/regs" "$(cat "$BATS_TEST_TMPDIR/saved")"
	grep -qx "pmd0 $value" "$C/total"
}

@test "a daemon that has to wait: no count, and why" {
	counted_with_gaps has_to_wait none
	probe EIO pread "$C/pmd/0" 30 0
	holds "$C/state" "running tid=$TID set=0 lost"
	message "count_lost cpu=* set=0 pmds=0 pid=$PID tid=$TID"
	grep -qE "^ctxsw_stalled [1-9]" "$MNT/stats"
}

@test "a sampling buffer counts the gaps" {
	local gaps

	counted_with_gaps hides_switches gaps "default size=4194304" "-100 long=-100 short=-100"
	gaps=$(sed 's/.*gaps=//' "$C/state")
	[ "$gaps" -gt 0 ]
	[ "$(od -An -tu8 -j88 -N8 "$C/buffer" | tr -d ' ')" = "$gaps" ]
}

# Its first 20 ms without a switch give it an address to begin with.
@test "a thread whose time slices are shorter than a tick: earlier addresses, and marked" {
	serve --backend=perf --threads=ctxsw
	begin a subject -c "$ONE" -b 20 turns 20000
	new a
	put ok "$C/format" "stack size=1048576"
	put ok "$C/pmc/0" "$(event task-clock)"
	put ok "$C/pmd/0" "-200000 long=-200000 short=-200000"
	ctl "load tid=$TID"
	ctl start
	go a
	said a "^done"
	ctl stop
	python3 - "$C/buffer" <<-'END'
		import struct, sys
		buffer = open(sys.argv[1], "rb").read()
		found, at = [], 128
		for i in range(struct.unpack_from("=Q", buffer)[0]):
		    ip, npmds, nframes, source = struct.unpack_from("=16xQ16xHHH", buffer, at)
		    assert source == 2 or (source == 3 and ip), (i, source, ip)
		    found.append("earlier" if source == 3 else "known" if ip else "none")
		    at += 48 + 8 * (npmds + nframes)
		print(*("%s %d" % (how, found.count(how)) for how in ("none", "earlier", "known")))
		assert "earlier" in found and "none" not in found[found.index("earlier"):], found
	END
}

# by_clone STEP...: of a clone, whose context is 1
by_clone() {
	output=$(bounded cloneprobe "$MNT/clone" rw "$@" 3>&-)
}

@test "by a clone: followed, on a mask of CPUs, not traced; and what is no load" {
	serve --backend=perf
	begin a subject faults 1
	by_clone loadon "$TID" 1 "$((1 << ONE))" sh "cat $MNT/ctx/1/ctl" what loadon "$TID" 2 - unload loadon "$TID" 2 - sh "cat $MNT/ctx/1/ctl" \
		sh "awk '/^Tracer/ { print \$2 }' /proc/$TID/status"
	is "ok
load tid=$TID set=0 follow cpus=$ONE
1 0 1 $TID 0 0
EBUSY
ok
ok
load tid=$TID set=0 ptrace=no
0"
	by_clone loadon "$TID" 3 - loadon "$TID" 8 - loadon "$TID" 0 0 loadon "$TID" 0 0x8000000000000000 \
		setup 2 - 0 loadon "$ONE" 1 - loadon "$ONE" 0 1
	is "EINVAL
EINVAL
EINVAL
EINVAL
0 2
EINVAL
EINVAL"
}

@test "by a clone: a thread that has a context already is reported" {
	serve --backend=perf
	begin a subject -t 2 faults 1
	monitor a "${TIDS[0]}"
	by_clone loadon "${TIDS[0]}" 0 - loadon "${TIDS[1]}" 0x80000000 - loadon "${TIDS[1]}" 0 - setup 2 - 0 \
		second "$MNT/clone" setup 2 - 0 load "$ONE" 0
	is "EBUSY taken
ok
EBUSY
EBUSY
ok
0 2
ok"
}

@test "by a clone: all threads of a process, and what is no such load" {
	serve --backend=perf
	begin a subject -t 2 faults 1
	by_clone loadon "$PID" 6 - loadon "${TIDS[0]}" 4 - setup 2 - 0 loadon "$ONE" 4 -
	is "EINVAL
EINVAL
0 1
EINVAL"
	by_clone loadon "$PID" 5 "$((1 << ONE))" sh "cat $MNT/ctx/2/ctl; ls $MNT/ctx/2/children" start \
		sh "cat $MNT/ctx/2/children/${TIDS[1]}/state" unload
	is "ok
load pid=$PID set=0 follow cpus=$ONE
$(printf '%s\n' "${TIDS[@]}" | sort)
ok
running tid=${TIDS[1]} set=0
ok"
}

@test "by a clone that follows: its children go with it" {
	serve --backend=perf
	begin a lives vfork 3
	by_clone loadon "$TID" 1 - start sh "echo >$BATS_TEST_TMPDIR/a.in; until [ \$(ls $MNT/ctx/1/children | wc -l) = 3 ]; do sleep 0.05; done; echo all"
	is "ok
ok
all"
	until_ok no_contexts
}
