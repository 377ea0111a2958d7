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

@test "invalid names of sets" {
	serve --backend=sim
	new a
	for name in x 00 01 -1 +1 0x1 1.0 ' 1' '1 ' 1a .hidden "$(printf '%0300d' 1)"; do
		probe EINVAL mkdir "$C/set/$name"
		sentence "$C/last_error" "set"
	done
	for name in 65536 99999999999999999999999999; do
		probe ERANGE mkdir "$C/set/$name"
		sentence "$C/last_error" "$name"
	done
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
	holds "$C/state" "loaded cpu=1 set=1"
	for state in loaded running; do
		[ $state = loaded ] || ctl start
		probe EBUSY mkdir "$C/set/2"
		sentence "$C/last_error" unload
		probe EBUSY rmdir "$C/set/1"
		sentence "$C/last_error" unload
		set_refused EBUSY 0 flags time_switch unload
		set_refused EBUSY 1 timeout_ns 5000000 unload
		set_refused EBUSY 1 next 0 unload
		holds "$C/state" "$state cpu=1 set=1"
	done
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

@test "flags, timeout and next: valid and invalid values" {
	serve --backend=sim
	new a
	probe ok mkdir "$C/set/1"
	set_row 1 flags ovfl_switch
	set_row 1 flags time_switch
	put ok "$C/set/1/flags" "expl_next ovfl_switch"
	holds "$C/set/1/flags" "ovfl_switch expl_next"
	holds "$C/set/1/next" 0
	set_row 1 next default
	holds "$C/set/1/flags" ovfl_switch
	set_row 1 next 65535
	holds "$C/set/1/flags" "ovfl_switch expl_next"
	set_row 1 flags none
	holds "$C/set/1/next" default
	set_refused EINVAL 1 flags "ovfl_switch time_switch" "not both"
	set_row 1 flags excl_idle # for threads
	refused EINVAL "load cpu=0" idle
	set_row 1 flags none
	put ok "$C/flags" system_wide
	set_refused EINVAL 1 flags excl_idle idle
	set_refused EINVAL 1 flags "none time_switch" none
	set_refused EINVAL 1 flags time_switch,expl_next time_switch
	set_refused EINVAL 1 next none none
	set_refused EINVAL 1 next "0 1" "0 1"
	set_refused ERANGE 1 next 65536 65536
}

@test "timeouts: not 0, not huge, not shorter than a tick" {
	serve --backend=sim
	new a
	set_refused EINVAL 0 timeout_ns 0 timeout
	set_refused ERANGE 0 timeout_ns 1000000000000000001 1000000000000000000
	set_refused ERANGE 0 timeout_ns 18446744073709551615 1000000000000000000
	set_row 0 timeout_ns 1000000000000000000
	set_row 0 timeout_ns 1000001
	put ok "$C/set/0/timeout_ns" 1
	holds "$C/set/0/timeout_ns" 1000000
	put ok "$MNT/config/tick_us" 100
	put ok "$C/set/0/timeout_ns" 1
	holds "$C/set/0/timeout_ns" 100000
	set_row 0 timeout_ns 100001
}

@test "load refuses sets that cannot work" {
	serve --backend=sim
	new a
	probe ok mkdir "$C/set/1"
	set_row 1 next 5
	refused EINVAL "load cpu=1" "set 5"
	probe ok mkdir "$C/set/5"
	ctl "load cpu=1"
	ctl unload
	set_row 5 flags time_switch
	refused EINVAL "load cpu=1" "set 5"
	set_row 5 timeout_ns 1000000
	refused EINVAL "load cpu=1 set=2" "set 2"
	ctl "load cpu=1 set=5"
	holds "$C/set/5/runs" 1
	holds "$C/set/0/runs" 1
}

@test "load reserves the registers of all sets" {
	serve --backend=sim
	new a
	probe ok mkdir "$C/set/1"
	put ok "$C/set/0/pmc/0" $USER
	put ok "$C/set/1/pmc/1" $BRANCH
	put ok "$MNT/sim/poke" "1 0x187 0x4300c0"
	refused EBUSY "load cpu=1" pmc1
	holds "$C/state" unloaded
	put ok "$MNT/sim/poke" "1 0x187 0"
	put ok "$MNT/sim/poke" "1 0x188 0x4300c0"
	run_here
	put EBUSY "$C/set/1/pmc/2" $USER
	sentence "$C/last_error" pmc2
	holds "$C/set/1/pmc/2" 0x0000000000000000
	put ok "$C/set/1/pmc/3" $USER
	put EBUSY "$C/set/0/pmc/2" $USER
}

@test "sets switch by time, and every nanosecond belongs to one of them" {
	serve --backend=sim
	new a
	for id in 3 9; do
		probe ok mkdir "$C/set/$id"
	done
	by_time 0 1000000
	by_time 3 2000000
	by_time 9 3000000
	put ok "$C/set/0/pmc/0" $USER
	put ok "$C/set/3/pmc/0" $BRANCH
	put ok "$C/set/9/pmc/16" 0x2
	run_here
	holds "$C/set/0/runs" 1
	holds "$C/set/0/remaining_ns" 1000000
	advance 400000
	holds "$C/set/0/active_ns" 400000
	holds "$C/set/0/remaining_ns" 600000
	advance 1000000
	holds "$C/state" "running cpu=1 set=3"
	holds "$C/set/3/active_ns" 400000
	advance 58600000
	holds "$C/state" "running cpu=1 set=0"
	ctl stop
	for id in 0 3 9; do
		holds "$C/set/$id/active_ns" $(((id / 3 - id / 9 + 1) * 10000000))
	done
	holds "$C/set/0/runs" 11
	holds "$C/set/3/runs" 10
	holds "$C/set/9/runs" 10
	holds "$C/set/0/pmd/0" 20000000
	holds "$C/set/3/pmd/0" 8000000
	holds "$C/set/9/pmd/0" 0
	holds "$C/set/9/pmd/16" 60000000
	run -0 grep switches "$MNT/stats"
	is "switches 30"
	holds "$C/set/0/switch_pmds" none
}

@test "an explicit next: short cuts, circles, and a set that follows itself" {
	serve --backend=sim
	new a
	for id in 1 2 3; do
		probe ok mkdir "$C/set/$id"
		by_time $id 1000000
	done
	by_time 0 1000000
	set_row 0 next 2
	set_row 2 next 1
	set_row 1 next 2
	run_here
	advance 10500000
	holds "$C/state" "running cpu=1 set=1"
	holds "$C/set/0/runs" 1
	holds "$C/set/3/runs" 0
	holds "$C/set/2/runs" 5
	holds "$C/set/1/runs" 5
	ctl unload
	set_row 0 next 0
	run_here
	advance 10500000
	holds "$C/state" "running cpu=1 set=0"
	holds "$C/set/0/runs" 12
	holds "$C/set/0/remaining_ns" 500000
}

@test "stop keeps what remains of a timeout, start set= does not" {
	serve --backend=sim
	new a
	probe ok mkdir "$C/set/1"
	by_time 0 1000000
	put ok "$C/set/0/pmc/0" $USER
	put ok "$C/set/1/pmc/0" $BRANCH
	run_here
	advance 300000
	ctl stop
	advance 5000000
	holds "$C/set/0/remaining_ns" 700000
	ctl start
	advance 600000
	holds "$C/state" "running cpu=1 set=0"
	ctl "start set=0"
	holds "$C/set/0/remaining_ns" 1000000
	holds "$C/set/0/runs" 1 # not another run
	advance 1000000
	holds "$C/state" "running cpu=1 set=1"
	holds "$C/set/0/pmd/0" 3800000
	# Only a command leaves this set.
	advance 50000000
	holds "$C/state" "running cpu=1 set=1"
	holds "$C/set/1/pmd/0" 20000000
	ctl start
	holds "$C/state" "running cpu=1 set=1"
	refused EINVAL "start set=2" "set 2"
	ctl "start set=0"
	holds "$C/state" "running cpu=1 set=0"
	ctl stop
	ctl "start set=1"
	holds "$C/state" "running cpu=1 set=1"
	holds "$C/set/1/runs" 2
	ctl stop
	refused EINVAL "start set=9" "set 9"
	holds "$C/state" "loaded cpu=1 set=1"
}

@test "sets that are not active can be read and written, too" {
	serve --backend=sim
	new a
	probe ok mkdir "$C/set/1"
	put ok "$C/set/1/regs" "pmc0 $USER\npmd0 5 short=3"
	run_here
	put ok "$C/set/1/pmd/0" 100
	put ok "$C/set/1/pmc/1" $BRANCH
	advance 1000
	holds "$C/set/1/pmd/0" 100
	ctl "start set=1"
	advance 1000
	holds "$C/set/1/pmd/0" 2100
	holds "$C/set/1/pmd/1" 400
	holds "$C/set/0/pmd/1" 0
}

@test "a threshold: the set is left by the overflow that reaches it" {
	serve --backend=sim
	new a
	probe ok mkdir "$C/set/1"
	set_row 0 flags ovfl_switch
	by_time 1 1000000
	put ok "$C/regs" "pmc0 $USER\npmd0 -2000 thresh=3\npmc1 $BRANCH\npmd1 -400 short=-400"
	run_here
	overflows 0 0 0 $MINUS_2000 3
	advance 1000
	overflows 0 0 1 $MINUS_2000 2
	overflows 0 1 1 18446744073709551216 0
	advance 1000
	overflows 0 0 2 $MINUS_2000 1
	holds "$C/state" "running cpu=1 set=0"
	advance 1000
	holds "$C/state" "running cpu=1 set=1"
	overflows 0 0 3 $MINUS_2000 0
	holds "$C/set/0/switch_pmds" 0
	holds "$C/set/1/switch_pmds" none
	# Its reset is pending until its set is active again.
	holds "$C/set/0/pmd/0" 0
	advance 1000000
	holds "$C/state" "running cpu=1 set=0"
	overflows 0 0 3 $MINUS_2000 3
	holds "$C/set/0/pmd/0" $MINUS_2000
	advance 3000
	holds "$C/state" "running cpu=1 set=1"
	holds "$C/set/0/pmd/0" 0
	ctl "start set=0"
	overflows 0 0 6 $MINUS_2000 3
	holds "$C/set/0/pmd/0" $MINUS_2000
	ctl unload
	holds "$C/set/0/switch_pmds" 0
	run_here
	holds "$C/set/0/switch_pmds" none
}

@test "a threshold counts nothing in a set that does not switch by overflow" {
	serve --backend=sim
	new a
	probe ok mkdir "$C/set/1"
	put ok "$C/regs" "pmc0 $USER\npmd0 -2000 short=-2000 thresh=3"
	run_here
	advance 10000
	holds "$C/state" "running cpu=1 set=0"
	overflows 0 0 10 $MINUS_2000 0
}

@test "overflow without notification: short values, and nothing counted is lost" {
	serve --backend=sim
	new a
	put ok "$C/regs" "pmc0 $USER\npmd0 -2000 short=-3000"
	run_here
	advance 1000
	holds "$C/pmd/0" 18446744073709548616
	overflows 0 0 1 18446744073709548616 0
	# Many overflows at one poll: 2000 past 0, then 3000 each.
	put ok "$C/pmd/0" "-2000 short=-3000"
	advance 100000
	overflows 0 0 67 18446744073709548616 0
	holds "$C/pmd/0" 18446744073709548616
	holds "$C/state" "running cpu=1 set=0"
	probe EAGAIN read "$C/msg" 64 rdonly,nonblock
	ctl stop
	run -0 grep overflows "$MNT/stats"
	is "overflows 68"
}

@test "a PMD that is to be reset to 0 just wraps" {
	serve --backend=sim
	new a
	put ok "$C/regs" "pmc0 $USER\npmd0 -500"
	run_here
	advance 1000
	holds "$C/pmd/0" 1500
	overflows 0 0 1 0 0
}

@test "PMDs that are reset with another" {
	serve --backend=sim
	new a
	put ok "$C/regs" "pmc0 $USER\npmc1 $BRANCH\npmd0 -2000 short=-1000000 reset=1,17\npmd1 5 short=7"
	run_here
	advance 999
	holds "$C/pmd/1" 404
	advance 1
	holds "$C/pmd/1" 7
	overflows 0 1 0 7 0
	holds "$C/pmd/17" 0
	advance 1000
	holds "$C/pmd/1" 407
}

@test "random resets: the same seed, the same values" {
	serve --backend=sim
	new a
	for seed in 1 0 4294967295 2147483647; do
		put ok "$C/pmc/0" $USER
		put ok "$C/pmd/0" "-2000 short=-2000 random mask=0xff seed=$seed"
		z=$((seed % 2147483647))
		[ $z != 0 ] || z=1
		ctl "load cpu=1"
		value=-2000
		for round in 1 2 3; do
			z=$((16807 * z % 2147483647))
			reset=$((-2000 + (z & 0xff)))
			# The first whole nanosecond, of two events, at which it has overflowed.
			ns=$(((1 - value) / 2))
			ctl start
			advance $ns
			ctl stop
			value=$((reset + value + 2 * ns))
			holds "$C/pmd/0" "$(printf %u $value)"
			overflows 0 0 $round "$(printf %u $reset)" 0
		done
		ctl unload
	done
}

@test "random without a mask, and masks of all 64 bits" {
	serve --backend=sim
	new a
	put ok "$C/regs" "pmc0 $USER\npmd0 -2000 short=-2000 random seed=5"
	run_here
	advance 1000
	overflows 0 0 1 $MINUS_2000 0
	put ok "$C/pmd/0" "-2000 short=0 random mask=0xffffffffffffffff seed=5"
	advance 1000
	# z1 | z2 << 31 | z3 << 62
	z1=$((16807 * 5)) z2=$((16807 * 16807 * 5 % 2147483647))
	z3=$((16807 * z2 % 2147483647))
	overflows 0 0 1 "$(printf %u $((z1 | z2 << 31 | z3 << 62)))" 0
}

@test "no64: the actual counter's bits, and no overflow" {
	serve --backend=sim
	new a
	put ok "$C/regs" "pmc0 $USER\npmd0 0xfffffffffffffc18 no64 notify"
	holds "$C/pmd/0" 281474976709656
	run_here
	advance 1000
	holds "$C/pmd/0" 1000
	overflows 0 0 0 18446744073709550616 0
	holds "$C/state" "running cpu=1 set=0"
}

@test "options: read back, written back, and gone with the next value" {
	serve --backend=sim
	new a
	long="-1 long=-2 short=0x10 thresh=18446744073709551615 mask=0xff seed=4294967295 notify random"
	long="$long no64 smpl=0-3 reset=16,17 eventid=9"
	put ok "$C/pmd/0" "$long"
	run -0 grep '^pmd0 ' "$C/regs"
	for word in long=18446744073709551614 short=16 thresh=18446744073709551615 seed=4294967295 notify \
		random no64 smpl=0-3 reset=16-17 eventid=; do
		[[ " $output" == *" $word"* ]] || { echo "no $word in $output" && false; }
	done
	bounded cat "$C/regs" >"$BATS_TEST_TMPDIR/saved"
	new b
	bounded cp "$BATS_TEST_TMPDIR/saved" "$C/regs"
	bounded diff "$BATS_TEST_TMPDIR/saved" "$C/regs"
	put ok "$C/pmd/0" 7
	run -0 grep '^pmd0 ' "$C/regs"
	is "pmd0 7"
}

@test "invalid options change nothing" {
	serve --backend=sim
	new a
	put ok "$C/pmd/0" "5 short=6 notify"
	while IFS=: read -r errno text noun; do
		put "$errno" "$C/pmd/0" "$text"
		sentence "$C/last_error" "$noun"
		put "$errno" "$C/regs" "pmd0 $text"
		sentence "$C/last_error" "line 1"
		run -0 grep '^pmd0 ' "$C/regs"
		is "pmd0 5 long=5 short=6 notify"
	done <<-'BAD'
		EINVAL:7 bogus:bogus
		EINVAL:7 short:short
		EINVAL:7 short=:short
		EINVAL:7 short=x:short
		EINVAL:7 short=1 short=1:short
		EINVAL:7 notify notify:notify
		EINVAL:7 notify=1:notify
		EINVAL:7 thresh=0:thresh
		EINVAL:7 thresh=-1:thresh
		EINVAL:7 thresh=00:thresh
		ERANGE:7 thresh=18446744073709551616:thresh
		EINVAL:7 seed=-1:seed
		ERANGE:7 seed=4294967296:seed
		ERANGE:7 mask=0x10000000000000000:mask
		ERANGE:7 long=-9223372036854775809:long
		EINVAL:7 reset=:reset
		EINVAL:7 reset=1-0:reset
		EINVAL:7 reset=1,,2:reset
		EINVAL:7 reset=319:reset
		EINVAL:7 smpl=4:smpl
		ERANGE:7 reset=320:reset
		ERANGE:7 smpl=0-320:smpl
		EINVAL:7,short=1:7
		EINVAL:short=1:value
		EINVAL:short=1 7:value
	BAD
	put EINVAL "$C/pmc/0" "0x4100c0 notify"
	holds "$C/pmc/0" 0x0000000000000000
}

@test "notification masks; restart, stop and unload lead on" {
	serve --backend=sim
	new a
	put ok "$C/regs" "pmc0 $USER\npmc1 $BRANCH\npmd0 -2000 long=-4000 short=-2000 notify reset=1\npmd1 0 long=9"
	refused EINVAL restart load
	run_here
	refused EBUSY restart masked
	advance 1500
	holds "$C/state" "masked cpu=1 set=0"
	holds "$C/pmd/0" 1000
	holds "$C/pmd/1" 600
	advance 1000000
	holds "$C/pmd/0" 1000
	holds "$C/set/0/active_ns" 1500
	refused EBUSY start restart
	refused EBUSY "start set=0" restart
	refused EBUSY "load cpu=2" loaded
	ctl restart
	holds "$C/state" "running cpu=1 set=0"
	holds "$C/pmd/0" 18446744073709547616
	holds "$C/pmd/1" 9
	advance 2000
	holds "$C/state" "masked cpu=1 set=0"
	overflows 0 0 2 18446744073709547616 0
	ctl stop
	holds "$C/state" "loaded cpu=1 set=0"
	# The reset is still due, and made without a start.
	ctl restart
	holds "$C/state" "loaded cpu=1 set=0"
	holds "$C/pmd/0" 18446744073709547616
	refused EBUSY restart masked
	ctl start
	holds "$C/state" "running cpu=1 set=0"
	put ok "$C/pmd/0" "-2000 notify"
	advance 1000
	holds "$C/state" "masked cpu=1 set=0"
	ctl unload
	holds "$C/state" unloaded
	refused EINVAL restart load
}

@test "PMDs that overflow at one poll wait for restart, with or without notify" {
	serve --backend=sim
	new a
	put ok "$C/regs" "pmc0 $USER\npmc1 $BRANCH\npmd0 -2000 long=-7 notify\npmd1 -100 short=-100 long=-8"
	run_here
	advance 1000
	holds "$C/pmd/1" 300
	overflows 0 1 1 18446744073709551516 0
	read -r output <"$C/events"
	is "overflow cpu=1 set=0 pmds=0-1"
	ctl restart
	holds "$C/pmd/0" 18446744073709551609
	holds "$C/pmd/1" 18446744073709551608
}

@test "a masked set whose time is over, or whose threshold is reached, is left by restart" {
	serve --backend=sim
	new a
	probe ok mkdir "$C/set/1"
	set_row 0 flags ovfl_switch
	put ok "$C/regs" "pmc0 $USER\npmd0 -2000 notify thresh=1"
	run_here
	advance 1000
	holds "$C/state" "masked cpu=1 set=0"
	ctl restart
	holds "$C/state" "running cpu=1 set=1"
	holds "$C/set/0/switch_pmds" 0
	ctl unload
	by_time 0 1000000
	put ok "$C/pmd/0" "-2000000 notify"
	run_here
	advance 1000000
	holds "$C/state" "masked cpu=1 set=0"
	holds "$C/set/0/remaining_ns" 0
	ctl restart
	advance 1
	holds "$C/state" "running cpu=1 set=1"
}

@test "too many overflows: throttled" {
	serve --backend=sim
	put ok "$MNT/config/overflow_rate_max" 10
	new a
	put ok "$C/regs" "pmc0 $USER\npmd0 -2000 short=-2000 long=-2000"
	run_here
	advance 10000
	holds "$C/state" "running cpu=1 set=0"
	advance 990000
	holds "$C/state" "masked cpu=1 set=0 throttled"
	overflows 0 0 11 $MINUS_2000 0
	read -r line <"$C/events"
	[ "$line" = "throttle cpu=1 set=0 pmds=0" ]
	ctl restart
	holds "$C/state" "running cpu=1 set=0"
	# The second is not over, and a changed limit holds from the next start on.
	put ok "$MNT/config/overflow_rate_max" 1000000
	advance 20000
	holds "$C/state" "masked cpu=1 set=0 throttled"
	overflows 0 0 12 $MINUS_2000 0
	ctl restart
	advance 1000000
	holds "$C/state" "running cpu=1 set=0"
	run -0 grep overflows "$MNT/stats"
	is "overflows 1012"
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
