# SPDX-License-Identifier: MIT
# Event sets, switching and overflow, on a model of a CPU: time passes only by sim/advance, so that
# all numbers are exact. USER happens 2000 times, BRANCH 400 times a microsecond.

load common

USER=0x4100c0
BRANCH=0x4100c4
MINUS_2000=18446744073709549616 # as a PMD shows it

# set_row SET FILE TEXT: writes the text, and reads the same
set_row() {
	put ok "$C/set/$1/$2" "$3"
	holds "$C/set/$1/$2" "$3"
}

# set_refused ERRNO SET FILE TEXT NOUN: the write fails, and changes nothing
set_refused() {
	local before

	before=$(cat "$C/set/$2/$3")
	put "$1" "$C/set/$2/$3" "$4"
	sentence "$C/last_error" "$5"
	holds "$C/set/$2/$3" "$before"
}

# by_time SET NS
by_time() {
	set_row "$1" flags time_switch
	set_row "$1" timeout_ns "$2"
}

# overflows SET PMD OVERFLOWS LAST_RESET THRESH_LEFT
overflows() {
	output=$(grep "^pmd$2 " "$C/set/$1/overflows")
	is "pmd$2 overflows=$3 last_reset=$4 thresh_left=$5"
}

# run_here: the context is loaded on CPU 1 and started
run_here() {
	ctl "load cpu=1"
	ctl start
}

@test "sets are made and removed, and listed in order" {
	serve --backend=sim
	new a
	for id in 65535 7 1 10; do
		probe ok mkdir "$C/set/$id"
		probe EEXIST mkdir "$C/set/$id"
	done
	run -0 ls -U "$C/set"
	is $'0\n1\n7\n10\n65535'
	probe ok rmdir "$C/set/7"
	probe ENOENT rmdir "$C/set/7"
	probe ENOENT open "$C/set/7/flags" rdonly
	probe EINVAL rmdir "$C/set/0"
	sentence "$C/last_error" "set 0"
	run -0 ls -U "$C/set"
	is $'0\n1\n10\n65535'
	probe ok rmdir "$C/set/1"
	holds "$C/last_error" ok
}

@test "names of sets: refused with a sentence" {
	serve --backend=sim
	new a
	probe EINVAL mkdir "$C/set/01"
	sentence "$C/last_error" "set"
	probe ERANGE mkdir "$C/set/65536"
	sentence "$C/last_error" "65536"
	probe EEXIST mkdir "$C/set/0"
	run -0 ls "$C/set"
	is 0
}

@test "sets belong to the owner of their context" {
	serve --backend=sim
	new a
	as nobody probe EACCES mkdir "$C/set/1"
	as nobody probe ok mkdir "$MNT/ctx/b"
	as nobody probe ok mkdir "$MNT/ctx/b/set/1"
	probe ok rmdir "$MNT/ctx/b/set/1"
	probe ok mkdir "$MNT/ctx/b/set/2"
	as nobody put ok "$MNT/ctx/b/set/2/timeout_ns" 5000000
	as nobody probe ok rmdir "$MNT/ctx/b/set/2"
}

@test "sets cannot be made, changed or removed while loaded" {
	serve --backend=sim
	new a
	probe ok mkdir "$C/set/1"
	ctl "load cpu=1 set=1"
	probe EBUSY mkdir "$C/set/2"
	sentence "$C/last_error" unload
	probe EBUSY rmdir "$C/set/1"
	sentence "$C/last_error" unload
	set_refused EBUSY 0 flags time_switch unload
	run -0 ls "$C/set"
	is $'0\n1'
	ctl unload
	probe ok mkdir "$C/set/2"
	probe ok rmdir "$C/set/1"
	ctl "load cpu=1"
	holds "$C/state" "loaded cpu=1 set=0"
}

@test "open files of a removed set are dead, not the next set's" {
	serve --backend=sim
	new a
	probe ok mkdir "$C/set/1"
	put ok "$C/set/1/pmd/0" 1111
	exec 4<>"$C/set/1/pmd/0"
	cd "$C/set/1"
	before=$(find "$C/set/1" -printf '%i\n' | sort)
	probe ok rmdir "$C/set/1"
	probe ok mkdir "$C/set/1"
	run -0 bounded fsprobe pread - 10 0 <&4
	is ENODEV
	run -0 bounded fsprobe write - <<<2222
	is ENODEV
	run -0 bounded fsprobe pread pmd/0 10 0
	[[ $output =~ ^(ENOENT|ENODEV)$ ]]
	run -0 bounded fsprobe poll - in 1000 <&4
	is err,hup
	holds "$C/set/1/pmd/0" 0
	[ -z "$(comm -12 <(echo "$before") <(find "$C/set/1" -printf '%i\n' | sort))" ]
}

# virtual_pmds: those of the model, without that of a thermal zone where there is none
virtual_pmds() {
	if grep -q '^260 ' "$MNT/pmu/pmds"; then echo 256-266; else echo 256-259,261-266; fi
}

@test "the defaults of a new set" {
	serve --backend=sim
	new a
	probe ok mkdir "$C/set/1"
	for id in 0 1; do
		run -0 bounded cat "$C/set/$id"/{flags,timeout_ns,next,runs,active_ns,remaining_ns} \
			"$C/set/$id"/{switch_pmds,available}
		is $'none\n0\ndefault\n0\n0\n0\nnone\npmcs 0-3,16\npmds 0-3,16-18,'"$(virtual_pmds)"
		overflows $id 0 0 0 0
		[ "$(wc -l <"$C/set/$id/overflows")" = "$(grep -vc ' virtual ' "$MNT/pmu/pmds")" ]
	done
	cmp "$C/set/0/regs" "$C/set/1/regs"
}

@test "each file of a set is written, read, and refuses with a sentence" {
	serve --backend=sim
	new a
	probe ok mkdir "$C/set/1"
	set_row 1 flags ovfl_switch
	set_row 1 next 65535
	holds "$C/set/1/flags" "ovfl_switch expl_next"
	set_row 1 timeout_ns 1000001
	set_row 1 pmc/0 0x00000000004100c0
	set_row 1 pmd/0 5
	holds "$C/set/0/pmd/0" 0
	set_refused EINVAL 1 flags "ovfl_switch time_switch" "not both"
	set_refused ERANGE 1 next 65536 65536
	set_refused EINVAL 1 timeout_ns 0 timeout
	set_refused EINVAL 1 pmc/0 "0x4100c0 notify" notify
	set_refused EINVAL 1 pmd/0 "7 bogus" bogus
	set_refused EINVAL 1 regs "pmd0 7 bogus" "line 1"
	refused EINVAL "load cpu=1" "set 65535"
	refused EINVAL "load cpu=1 set=2" "set 2"
}

@test "a timeout is at least the tick of config" {
	serve --backend=sim
	new a
	put ok "$C/set/0/timeout_ns" 1
	holds "$C/set/0/timeout_ns" 1000000
	put ok "$MNT/config/tick_us" 100
	put ok "$C/set/0/timeout_ns" 1
	holds "$C/set/0/timeout_ns" 100000
}

@test "sets switch by time and by a threshold, and their files show it" {
	serve --backend=sim
	new a
	probe ok mkdir "$C/set/1"
	set_row 0 flags ovfl_switch
	put ok "$C/regs" "pmc0 $USER\npmd0 -2000 short=-2000 thresh=3"
	by_time 1 2000000
	put ok "$C/set/1/pmc/0" $BRANCH
	run_here
	advance 1000
	overflows 0 0 1 $MINUS_2000 2
	advance 2000
	holds "$C/state" "running cpu=1 set=1"
	overflows 0 0 3 $MINUS_2000 0
	holds "$C/set/0/switch_pmds" 0
	holds "$C/set/0/active_ns" 3000
	advance 500000
	holds "$C/set/1/remaining_ns" 1500000
	holds "$C/set/1/active_ns" 500000
	holds "$C/set/1/pmd/0" 200000
	ctl "start set=0"
	holds "$C/set/0/runs" 2
	holds "$C/set/0/pmd/0" $MINUS_2000
	refused EINVAL "start set=2" "set 2"
	run -0 grep -E "switches|overflows" "$MNT/stats"
	is $'switches 2\noverflows 3'
}

@test "an overflow masks until restart" {
	serve --backend=sim
	new a
	put ok "$C/regs" "pmc0 $USER\npmd0 -2000 long=-4000 notify"
	refused EINVAL restart load
	run_here
	refused EBUSY restart masked
	advance 1500
	holds "$C/state" "masked cpu=1 set=0"
	refused EBUSY start restart
	ctl restart
	holds "$C/state" "running cpu=1 set=0"
	overflows 0 0 1 18446744073709547616 0
}

@test "too many overflows: throttled, by the limit of config" {
	serve --backend=sim
	put ok "$MNT/config/overflow_rate_max" 10
	new a
	put ok "$C/regs" "pmc0 $USER\npmd0 -2000 short=-2000 long=-2000"
	run_here
	advance 1000000
	holds "$C/state" "masked cpu=1 set=0 throttled"
	read -r line <"$C/events"
	[ "$line" = "throttle cpu=1 set=0 pmds=0" ]
	ctl restart
	# A changed limit holds from the next start on, and the second is not over.
	put ok "$MNT/config/overflow_rate_max" 1000000
	advance 1000
	holds "$C/state" "masked cpu=1 set=0 throttled"
	ctl restart
	advance 1000000
	holds "$C/state" "running cpu=1 set=0"
}

@test "a long advance serves others meanwhile, and ends with its writer or the daemon" {
	serve --backend=sim
	new a
	probe ok mkdir "$C/set/1"
	by_time 0 1000000
	by_time 1 1000000
	run_here
	for last in false true; do
		# A million switches.
		fsprobe write "$MNT/sim/advance" <<<1000000000000 >/dev/null 3>&- &
		until_ok eval '[ "$(cat "$C/set/1/runs")" -gt 100 ]'
		put ok "$C/set/1/pmd/0" 5
		run ! gone $!
		! $last || break
		kill -KILL $!
		until_ok gone $!
		wait $! || :
		[ "$(cat "$MNT/sim/advance")" -lt 1000000000000 ]
		before=$(cat "$C/set/1/runs")
		[ "$(cat "$C/set/1/runs")" = "$before" ]
	done
	stop_daemon
	until_ok gone $!
}

@test "sets switch on the perf backend, with page faults" {
	command -v taskset >/dev/null || skip "needs taskset (util-linux)"
	serve --backend=perf
	cpu=$(sed 's/[,-].*//' /sys/devices/system/cpu/online)
	new a
	probe ok mkdir "$C/set/1"
	for id in 0 1; do
		put ok "$C/set/$id/pmc/0" 0x0100000000430003
		put ok "$C/set/$id/flags" time_switch
		put ok "$C/set/$id/timeout_ns" 2000000
	done
	ctl "load cpu=$cpu"
	ctl start
	for _ in 1 2 3 4 5; do
		taskset -c "$cpu" fsprobe touch 20000 >/dev/null
	done
	ctl stop
	cat "$C"/set/?/{pmd/0,runs,active_ns}
	runs=$(cat "$C/set/0/runs")
	[ "$runs" -ge 10 ]
	[ $((runs - $(cat "$C/set/1/runs"))) -le 1 ]
	for id in 0 1; do
		[ "$(cat "$C/set/$id/pmd/0")" -ge 1000 ]
		# At least its timeout for each run, except the last.
		[ "$(cat "$C/set/$id/active_ns")" -ge $((2000000 * (runs - 2))) ]
	done
	# Switching takes time that belongs to no set: the sum is somewhat less than the total.
	[ $(($(cat "$C/set/0/pmd/0") + $(cat "$C/set/1/pmd/0"))) -ge 80000 ]
}

# together: this shell, what it starts and the daemon are on one CPU, where they wake each other best
together() {
	taskset -pc 0 $$ >/dev/null
	taskset -apc 0 "$DAEMON" >/dev/null
}

@test "all 65536 sets: made, listed, used, removed" {
	command -v taskset >/dev/null || skip "needs taskset (util-linux)"
	serve --backend=sim
	new a
	together
	cd "$C/set"
	seq 1 65535 | xargs mkdir
	[ "$(find . -mindepth 1 -maxdepth 1 -printf '%f\n')" = "$(seq 0 65535)" ]
	probe EEXIST mkdir 65535
	put ok "65535/pmc/0" $USER
	ctl "load cpu=1 set=65535"
	ctl start
	advance 1000
	holds 65535/pmd/0 2000
	ctl unload
	# A set removed between two reads of a listing shifts none.
	run -0 bounded perl -e '
		opendir(my $d, ".") or die;
		my @seen = map { readdir($d) } 1 .. 10;
		$_ % 2 and $_ > 50000 and (rmdir($_) or die) for reverse 1 .. 65535;
		push(@seen, $_) while $_ = readdir($d);
		my %seen;
		$seen{$_}++ and die "$_ twice" for @seen;
		$_ % 2 or $seen{$_} or die "$_ missing" for 1 .. 65535;'
	seq 65534 -2 50002 | xargs rmdir
	seq 50000 -1 1 | xargs rmdir
	[ "$(ls -U)" = 0 ]
	cd /
	probe ok rmdir "$C"
}

# juggle N: makes, removes, loads, unloads and reads sets for two seconds
juggle() {
	local end=$((SECONDS + 2)) n

	set +eET
	trap - ERR EXIT
	while [ "$SECONDS" -lt "$end" ]; do
		n=$((RANDOM % 8))
		mkdir "$C/set/$n"
		echo "load cpu=$1" >"$C/ctl"
		echo time_switch >"$C/set/$n/flags"
		read -r _ <"$C/set/$((RANDOM % 8))/runs"
		rmdir "$C/set/$((RANDOM % 8))"
		[ $((RANDOM % 3)) -ne 0 ] || echo unload >"$C/ctl"
	done 2>/dev/null
	:
}

@test "many at once: the tree and the context agree about the sets" {
	local n

	serve --backend=sim
	new a
	at_once juggle 0 1 2 3
	ctl unload
	for n in 1 2 3 4 5 6 7; do
		if [ -d "$C/set/$n" ]; then
			probe ok rmdir "$C/set/$n"
		fi
		probe ok mkdir "$C/set/$n"
		holds "$C/set/$n/runs" 0
	done
	probe ok rmdir "$C"
	until_ok grep -q "workers 0" "$MNT/stats"
}
