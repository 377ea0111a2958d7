# SPDX-License-Identifier: MIT
# Monitored threads: programs of tests/track, which begin at a line of input, and the contexts on
# them. Load it after common, whose setup() and teardown() it replaces.

PROGRAMS=()
declare -gA INPUT PIDS

setup() {
	bench_setup
	track_setup
}

teardown() {
	track_teardown
	bench_teardown
}

track_setup() {
	local program

	for program in subject spinner waves churn lives; do
		[ -x "$BATS_RUN_TMPDIR/$program" ] || cp "$BUILD/tests/track/$program" "$BATS_RUN_TMPDIR"
	done
	mapfile -t CPUS < <(awk '$1 ~ /^processor/ { print $3 }' /proc/cpuinfo)
	ONE=${CPUS[-1]}
}

# Ends programs and their children, stopped ones, too. The number of one that has ended may be that of
# another program of the machine by now.
track_teardown() {
	local pid

	[ "${#PROGRAMS[@]}" = 0 ] || {
		for pid in $(jobs -pr); do
			[[ " ${PROGRAMS[*]} " == *" $pid "* ]] || continue
			pkill -KILL -P "$pid"
			kill -KILL "$pid"
		done
		wait "${PROGRAMS[@]}"
	} 2>/dev/null || :
	PROGRAMS=()
}

# launch NAME PROGRAM...: with lines for input that go() sends; what it says is in the file
# SAYS/NAME. PID is the process.
launch() {
	local name=$1 pipe=$BATS_TEST_TMPDIR/$1.in fd

	SAYS=$BATS_TEST_TMPDIR/says
	mkdir -p "$SAYS"
	mkfifo -m 0666 "$pipe"
	# The leak sanitizer traces threads itself.
	ASAN_OPTIONS=${ASAN_OPTIONS-}:detect_leaks=0 "${WHO[@]}" "${@:2}" <"$pipe" >"$SAYS/$name" 2>&1 3>&- 4>&- 5>&- &
	PID=$!
	PROGRAMS+=("$PID")
	PIDS[$name]=$PID
	exec {fd}>"$pipe"
	INPUT[$name]=$fd
}

# begin NAME PROGRAM...: a program that waits for lines; TIDS are the threads that it prints first
begin() {
	launch "$@"
	said "$1" "^thread "
	[ "$2" != subject ] || said "$1" "^ready"
	threads_of "$1"
}

threads_of() {
	mapfile -t TIDS < <(awk '$1 == "thread" { print $2 }' "$SAYS/$1")
	TID=${TIDS[0]}
}

# compete CPU burn|fault
compete() {
	spinner "$@" >/dev/null 3>&- 4>&- 5>&- &
	PROGRAMS+=("$!")
}

# go NAME: sends a line
go() {
	echo >&"${INPUT[$1]}"
}

# said NAME PATTERN: or will soon have
said() {
	until_ok said_or_gone "$1" "$2" && grep -qE "$2" "$SAYS/$1" || {
		tail -5 "$SAYS/$1"
		told
		return 1
	}
}

said_or_gone() {
	grep -qE "$2" "$SAYS/$1" || gone "${PIDS[$1]}"
}

# A subject has done its work. Missed switches are in stats once their context has executed a command.
finished() {
	said "$1" "^done"
	cat "$MNT"/ctx/*/state "$MNT"/ctx/*/children/*/state >/dev/null 2>&1 || :
	told
}

# Some kernels do not report switches of some processes, and other programs, such as another daemon,
# may have threads of a ctxsw thread's priority. A count is then EIO, as it has to be, and there is
# nothing to compare: told() skips the test.
lost_switches() {
	awk '/^ctxsw_(missed|late|stalled) / { n += $2 } END { print n + 0 }' \
		"$MNT/stats" 2>/dev/null || echo 0
}

told() {
	local n

	n=$(lost_switches)
	[ "$n" = 0 ] || skip "of $n switches the kernel has not told, or too late: some counts are lost"
}

# For `COMMAND || lost`: the test fails, unless a count was lost.
lost() {
	told
	return 1
}

# did NAME TID KEY: what a subject knows of its thread
did() {
	awk -v tid="$2" -v key="$3=" '$1 == "did" && $2 == tid {
		for (i = 3; i <= NF; i++) if (index($i, key) == 1) print substr($i, length(key) + 1)
	}' "$SAYS/$1"
}

stolen_ticks() {
	awk '$1 == "cpu" { print $9 }' /proc/stat
}

# stolen_ns TICKS: what a host has taken from the CPUs of its guest since then, which cpu-clock
# counts, and threads do not get. The kernel tells of whole ticks of each CPU.
stolen_ns() {
	local ticks=$(($(stolen_ticks) - $1))

	echo $((ticks ? (ticks + $(nproc)) * 10000000 : 0))
}

# At user level: what the kernel was doing for others when they were interrupted comes to an end on
# the CPU of the thread that counts.
user_event() {
	printf '0x%x\n' $(($(event "$1") & ~0x20000))
}

event() {
	awk -v e="$1" '$1 == e { print $2; found = 1 } END { exit !found }' "$MNT/pmu/events"
}

# monitor NAME TID [EVENT [OPTION...]]: a new context counts page faults, or EVENT, of that thread
monitor() {
	new "$1"
	case ${3-page-faults} in
	page-faults) put ok "$C/pmc/0" "$(user_event page-faults)" ;;
	*) put ok "$C/pmc/0" "$(event "$3")" ;;
	esac
	ctl "load tid=$2 ${*:4}"
	holds "$C/state" "loaded tid=$2 set=0"
	ctl start
	holds "$C/state" "running tid=$2 set=0"
}

# all_counted: a running context on each thread of TIDS, named by it. Quick: there may be many.
all_counted() {
	local faults tid

	faults=$(user_event page-faults)
	(cd "$MNT/ctx" && mkdir "${TIDS[@]}")
	for tid in "${TIDS[@]}"; do
		echo "$faults" >"$MNT/ctx/$tid/pmc/0"
		echo "load tid=$tid" >"$MNT/ctx/$tid/ctl"
		echo start >"$MNT/ctx/$tid/ctl"
	done
}

# loads_at_once TID: 50 contexts, into which as many processes write the load. ANSWERS has a file of
# each, LOADS their numbers.
loads_at_once() {
	local i

	LOADS=()
	ANSWERS=$BATS_TEST_TMPDIR/answers
	mkdir -p "$ANSWERS"
	printf 'load tid=%d' "$1" >"$ANSWERS.text"
	for i in {1..50}; do
		mkdir -p "$MNT/ctx/w$i"
		bounded fsprobe write "$MNT/ctx/w$i/ctl" <"$ANSWERS.text" >"$ANSWERS/$i" 3>&- &
		LOADS+=("$!")
	done
}

# all_answer ERRNO
all_answer() {
	wait "${LOADS[@]}"
	[ "$(cat "$ANSWERS"/* | sort | uniq -c | tr -s ' ')" = " 50 $1" ] || {
		sort "$ANSWERS"/* | uniq -c
		return 1
	}
}

# near WHAT GOT WANTED BY
near() {
	[ -n "$2" ] || {
		cat "$C/last_error"
		told
	}
	local off=$(($2 - $3))

	echo "$1: $2, should be $3 ($off)"
	[ "${off#-}" -le "$4" ]
}

# its_faults NAME TID: the context C has counted what that thread of the subject knows of
its_faults() {
	near "faults of $2" "$(cat "$C/pmd/0")" "$(did "$1" "$2" faults)" 2
}

pmd0_total() {
	awk '$1 == "pmd0" { print $2 }' "$C/total"
}

# The state letter of a thread, as /proc has it.
letter() {
	sed 's/.*) \(.\).*/\1/' "/proc/$1/task/${2-$1}/stat"
}

# A traced and stopped (T) thread shows t, with any tracer.
letter_is() { # PID LETTER
	local letter tracers
	# It may be attached or detached in between.
	tracers=$(tracer_of "$1")
	letter=$(letter "$1")
	tracers+=$(tracer_of "$1")
	[ "$letter" = "$2" ] || { [ "$2" = T ] && [ "$letter" = t ] && [ "$tracers" != 00 ]; }
}

tracer_of() {
	awk '$1 == "TracerPid:" { print $2 }' "/proc/$1/status"
}

untraced() {
	[ "$(tracer_of "$1")" = 0 ]
}

# CPU time of a thread, in ns.
cpu_time() {
	cut -d' ' -f1 "/proc/$1/task/${2-$1}/schedstat"
}

daemon_files() {
	find "/proc/$DAEMON/fd" -mindepth 1 | wc -l
}

# has_files MAX: some are closed after the answer
has_files() {
	[ "$(daemon_files)" -le "$1" ]
}

# message PATTERN: the next of C is so
message() {
	output=$(bounded dd if="$C/events" bs=4k count=1 status=none) || told
	# shellcheck disable=SC2053
	[[ $output == $1 ]] || {
		echo "message: $output, should be $1"
		return 1
	}
}

# stat_of KEY: in stats
stat_of() {
	awk -v key="$1" '$1 == key { print $2 }' "$MNT/stats"
}

# confined: what serve starts from now on has no more capabilities than the systemd unit gives it
confined() {
	local unit=$BATS_TEST_DIRNAME/../../contrib/systemd/perfmonfs.service.in

	CAPS=$(sed -n 's/^CapabilityBoundingSet=//p' "$unit" | tr 'A-Z ' 'a-z,' | sed 's/cap_/+/g')
	perfmonfs() {
		exec setpriv --no-new-privs --bounding-set="-all,$CAPS" perfmonfs "$@"
	}
}

# The program "privileged", which is root's and executed by others.
setuid_copy() {
	local options

	options=$(findmnt -no OPTIONS --target "$BATS_TEST_TMPDIR")
	[[ ,$options, != *,nosuid,* ]] || skip "no setuid programs on this filesystem"
	cp "$BUILD/tests/track/lives" "$BATS_TEST_TMPDIR/privileged"
	chmod 4755 "$BATS_TEST_TMPDIR/privileged"
}
