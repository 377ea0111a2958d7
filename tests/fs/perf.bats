# SPDX-License-Identifier: MIT
# The perf backend counts real events of this machine.

load common

USR=0x10000
OS=0x20000
ALL=$((USR | OS))

# event NAME LEVELS: the value that selects it at those levels
event() {
	local value

	value=$(awk -v e="$1" '$1 == e { print $2; found = 1 } END { exit !found }' "$MNT/pmu/events")
	printf '0x%x\n' $(((value & ~ALL) | $2))
}

# count CPU NAME...: a running context that counts those events in order; C is its directory
count() {
	local cpu=$1 n=0

	shift
	new p
	for name in "$@"; do
		put ok "$C/pmc/$((n++))" "$(event "$name" $ALL)"
	done
	ctl "load cpu=$cpu"
	ctl start
}

first_cpu() {
	sed 's/[,-].*//' /sys/devices/system/cpu/online
}

setup_file() {
	command -v taskset >/dev/null || skip "needs taskset (util-linux)"
}

# Page faults are minor or major ones. Those of other programs can fail, and are neither then, or end on another
# CPU than they begin on.
faults_add_up() {
	put ok "$C/regs" "pmd0 0\npmd1 0\npmd2 0"
	ctl start
	taskset -c "$(first_cpu)" fsprobe touch 5000 >/dev/null
	ctl stop
	[ "$(cat "$C/pmd/0")" -ge 5000 ] &&
		[ $(($(cat "$C/pmd/1") + $(cat "$C/pmd/2"))) = "$(cat "$C/pmd/0")" ]
}

@test "page faults: at least those of a process that runs there" {
	serve --backend=perf
	count "$(first_cpu)" page-faults minor-faults major-faults
	before=$(cat "$C/pmd/0")
	faults=$(taskset -c "$(first_cpu)" fsprobe touch 5000)
	after=$(cat "$C/pmd/0")
	[ "$faults" -ge 5000 ]
	[ $((after - before)) -ge "$faults" ]
	ctl stop
	until_ok faults_add_up
}

# Two counters count the same, and one interrupts at each tenth event.
@test "a sample has the values of all counters at the overflow" {
	serve --backend=perf
	new a
	put ok "$C/format" "default size=65536"
	put ok "$C/pmc/0" page-faults
	put ok "$C/pmc/1" page-faults
	put ok "$C/pmd/0" "-10 short=-10 smpl=1"
	ctl "load cpu=$(first_cpu)"
	ctl start
	taskset -c "$(first_cpu)" fsprobe touch 5000
	ctl stop
	[ "$(od -An -tu4 -j64 -N4 "$C/buffer" | tr -d ' ')" = 1 ] # precise
	n=$(od -An -tu8 -N8 "$C/buffer" | tr -d ' ')
	[ "$n" -ge 500 ]
	od -An -v -tu8 -w48 -j128 -N$((48 * n)) "$C/buffer" |
		awk 'NR > 1 && $6 != last + 10 { print NR, last, $6; bad = 1 } { last = $6 } END { exit bad }'
}

# In either order of the PMD and its PMC.
@test "a counter that is added to a running context interrupts" {
	serve --backend=perf
	for order in "pmc pmd" "pmd pmc"; do
		new "${order% *}"
		put ok "$C/pmc/0" page-faults
		ctl "load cpu=$(first_cpu)"
		ctl start
		for what in $order; do
			if [ "$what" = pmc ]; then put ok "$C/pmc/1" page-faults
			else put ok "$C/pmd/1" "-10 short=-10 notify"; fi
		done
		taskset -c "$(first_cpu)" fsprobe touch 5000
		bounded fsprobe read "$C/msg" 128 rdonly
		probe ok rmdir "$C"
	done
}

# Masked by an interrupt, its counter is exactly at the overflow.
@test "a notified PMD interrupts without a short value" {
	serve --backend=perf
	new a
	put ok "$C/pmc/0" page-faults
	for long in -20 0; do
		put ok "$C/pmd/0" "-10 long=$long short=0 notify"
		ctl "load cpu=$(first_cpu)"
		ctl start
		for round in 1 2; do
			[ "$round$long" != 20 ] || break
			taskset -c "$(first_cpu)" fsprobe touch 5000
			bounded fsprobe read "$C/msg" 128 rdonly
			holds "$C/pmd/0" 0
			ctl restart
		done
		ctl unload
	done
}

# A poll has neither registers nor a stack.
@test "a start that records stacks is refused where the counter cannot interrupt" {
	serve --backend=perf
	grep -q '^tsc ' "$MNT/pmu/events" || skip "the kernel cannot count the TSC, which cannot interrupt"
	new a
	put ok "$C/format" "stack size=65536 user_stack=64" || skip "the kernel records no registers here"
	put ok "$C/pmc/0" page-faults:u
	put ok "$C/pmd/0" "-1 short=-1"
	sleep 100 3>&- &
	ctl "load tid=$!"
	put ok "$C/pmc/0" tsc
	refused EOPNOTSUPP start interrupt
	[[ $(cat "$C/state") = loaded* ]]
	put ok "$C/pmc/0" page-faults:u
	put ok "$C/pmd/0" "-1 short=0"
	refused EOPNOTSUPP start period
	put ok "$C/pmd/0" "-1 short=-1"
	ctl start
	kill $!
}

# few_during_many CPU: while a process has 20000 page faults there, less than half are counted
few_during_many() {
	local before

	before=$(cat "$C/pmd/0")
	taskset -c "$1" fsprobe touch 20000 >/dev/null
	[ $(($(cat "$C/pmd/0") - before)) -lt 10000 ]
}

@test "page faults elsewhere are not counted here" {
	mapfile -t cpus < <(awk '$1 ~ /^processor/ { print $3 }' /proc/cpuinfo)
	[ "${#cpus[@]}" -ge 2 ] || skip "needs two CPUs"
	serve --backend=perf
	count "${cpus[0]}" page-faults
	# Other programs have faults, too, but not always so many at once.
	until_ok few_during_many "${cpus[1]}"
}

@test "an event without privilege levels is refused with one" {
	serve --backend=perf
	new p
	ctl "load cpu=$(first_cpu)"
	put EINVAL "$C/pmc/0" "$(event context-switches $USR)"
	sentence "$C/last_error" context-switches
	put EINVAL "$C/pmc/0" cpu-clock:k
	sentence "$C/last_error" cpu-clock
	put ok "$C/pmc/0" "$(event page-faults $USR)"
	ctl start
}

no_count() {
	! cat "$C/pmd/0" 2>/dev/null
}
ran() { # PID TICKS
	[ "$(awk '{ print $14 }' "/proc/$1/stat")" -ge "$2" ]
}

@test "a clock at user level: its count cannot be read after samples were dropped" {
	serve --backend=perf
	new a
	put ok "$C/format" profile
	put ok "$C/pmc/0" task-clock:u
	put ok "$C/pmd/0" "-100000 short=-100000 long=-100000"
	# It ends with this test.
	sh -c 'while kill -0 "$0" 2>/dev/null; do :; done' $$ 3>&- &
	PID=$!
	ctl "load tid=$PID"
	ctl start
	cat "$C/pmd/0" >/dev/null
	kill -STOP "$DAEMON"
	# The kernel's ring holds 1,800 samples: 180 ms.
	until_ok ran "$PID" $(($(awk '{ print $14 }' "/proc/$PID/stat") + 40))
	kill -CONT "$DAEMON"
	until_ok no_count
	sentence "$C/last_error" dropped
	put ok "$C/pmd/0" "-100000 short=-100000 long=-100000"
	cat "$C/pmd/0" >/dev/null
	kill "$PID"
}

@test "a clock at user level: sampled by a user without the kernel level, and not counted" {
	serve --backend=perf
	put ok "$MNT/config/tick_us" 1000
	# shellcheck disable=SC2016
	run -0 setpriv --reuid="$NOBODY" --regid="$NOBODY" --clear-groups bash -c '
		set -e
		mkdir "$0/ctx/u" && cd "$0/ctx/u"
		echo task-clock:u >pmc/0
		sh -c "while :; do :; done" 3>&- & trap "kill $!" EXIT
		echo "load tid=$!" >ctl
		echo start >ctl
		! cat pmd/0 2>/dev/null || exit 1
		cat last_error
		cd "$0/ctx" && rmdir u && mkdir v && cd v
		echo profile >format
		echo task-clock:u >pmc/0
		echo -1000000 short=-1000000 long=-1000000 >pmd/0
		echo "load tid=$!" >ctl
		echo start >ctl
		until [ "$(od -A n -t u8 -N 8 buffer)" -gt 5 ]; do sleep 0.02; done
		echo stop >ctl
		cat pmd/0' "$MNT"
	[[ $output == *"pmd0: "*"its context a format"* ]]
	# It is a whole number of periods.
	[ "$((${lines[-1]} % 1000000))" = 0 ]
}

@test "--check: whether whole CPUs can be counted, and which setting forbids it" {
	run -0 "$BUILD/daemon/perfmonfs" --check --backend=perf
	[[ $output == *"perf of CPUs"*"whole CPUs can be counted"* ]]
	[ "$(cat /proc/sys/kernel/perf_event_paranoid)" -gt 0 ] || skip "kernel.perf_event_paranoid lets everybody count CPUs"
	run setpriv --bounding-set=-perfmon,-sys_admin "$BUILD/daemon/perfmonfs" --check --backend=perf
	[[ $output == *"note  perf of CPUs"*kernel.perf_event_paranoid* ]]
}

@test "hardware events, where the kernel has a CPU PMU; ENODEV where not" {
	serve --backend=perf
	new p
	if [ -e /sys/bus/event_source/devices/cpu/type ]; then
		put ok "$C/pmc/0" 0x4300c0
		skip "the kernel has a CPU PMU: the VM test counts with it"
	fi
	put ENODEV "$C/pmc/0" 0x4300c0
	sentence "$C/last_error" "pmc0, 0x4300c0"
	holds "$C/pmc/0" 0x0000000000000000
}

@test "a value that selects no event is refused when it is written, and changes nothing" {
	serve --backend=perf
	new p
	put ok "$C/pmc/0" page-faults
	put EINVAL "$C/pmc/0" 0x01000000004300ff
	sentence "$C/last_error" "pmc0, 0x1000000004300ff"
	put EINVAL "$C/pmc/0" 0x0200000000430003
	sentence "$C/last_error" "pmc0, 0x200000000430003"
	holds "$C/pmc/0" "$(event page-faults $ALL | sed 's/^0x/0x0/')"
	# Lines before the one that is refused stay applied.
	put EINVAL "$C/regs" "pmc1 minor-faults\npmc2 0x0200000000430003\npmc3 major-faults"
	sentence "$C/last_error" "line 2"
	holds "$C/pmc/1" "$(event minor-faults $ALL | sed 's/^0x/0x0/')"
	holds "$C/pmc/2" 0x0000000000000000
	holds "$C/pmc/3" 0x0000000000000000
	# Disabled, it selects nothing that could be refused.
	put ok "$C/pmc/2" 0x0200000000030003
	ctl "load cpu=$(first_cpu)"
	ctl start
	put EINVAL "$C/pmc/0" 0x0200000000430003
	put ok "$C/pmc/0" minor-faults
	holds "$C/state" "running cpu=$(first_cpu) set=0"
}

@test "an event by its name, with its levels" {
	serve --backend=perf
	new p
	while read -r name value; do
		put ok "$C/pmc/0" "$name"
		holds "$C/pmc/0" "$value"
		put ok "$C/regs" "pmc1 $name\npmd1 7"
		holds "$C/pmc/1" "$value"
	done <<-'NAMES'
		page-faults 0x0100000000430003
		page-faults:u 0x0100000000410003
		page-faults:k 0x0100000000420003
		context-switches:uk 0x0100000000430004
	NAMES
	put EINVAL "$C/pmc/0" instructions
	sentence "$C/last_error" pmu/events
	put ok "$C/pmc/0" page-faults:u
	ctl "load cpu=$(first_cpu)"
	ctl start
	taskset -c "$(first_cpu)" fsprobe touch 100 >"$BATS_TEST_TMPDIR/faults"
	[ "$(cat "$C/pmd/0")" -ge "$(cat "$BATS_TEST_TMPDIR/faults")" ]
}

@test "a user without the kernel level is told which event needs it" {
	serve --backend=perf
	as nobody new p
	WHO=(setpriv "--reuid=$NOBODY" "--regid=$NOBODY" --clear-groups)
	put EACCES "$C/pmc/0" context-switches
	sentence "$C/last_error" "context-switches cannot be counted without the kernel level"
	put EACCES "$C/pmc/0" page-faults
	sentence "$C/last_error" page-faults:u
	put ok "$C/pmc/0" page-faults:u
}

# What it needs for events of threads is limited by what their users may have of the daemon's memory.
@test "root's daemon has no limit of locked memory" {
	prlimit --memlock=unlimited:unlimited true || skip "root may not raise limits here"
	ulimit -l 64
	serve --backend=perf
	grep -qE '^Max locked memory +unlimited +unlimited' "/proc/$DAEMON/limits"
}
