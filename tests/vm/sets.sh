# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154,SC3037
# Event sets and overflow on real counters: functions for guest.sh, whose helpers they use. User
# instructions are event 0x4100c0 on every PMU here; PMC and PMD 0 count them in the first set, 1 in
# the second.

signed() { bash -c 'echo $(($1))' - "$1"; } # 64-bit two's complement
stat() { awk -v k="$1" '$1 == k { print $2 }' $mnt/stats; }
between() { # WHAT GOT LOW HIGH
	if [ "$2" -ge "$3" ] && [ "$2" -le "$4" ]; then ok "$1: $2"
	else not_ok "$1: $2 is not in $3..$4"; fi
}
remove_context() {
	write ctl unload
	is "no error" "$(cat last_error)" ok
	cd /
	rmdir $mnt/ctx/a
}
begin() { # PMD-0 [FLAGS-OF-SET-0]: a context with user instructions in two sets
	make_context
	mkdir set/1
	write set/0/pmc/0 0x4100c0
	write set/1/pmc/1 0x4100c0
	write pmd/0 "$1"
	write set/0/flags "${2:-none}"
	check "load" write ctl "load cpu=1"
}

polled() { [ "$(stat polls)" -ge $(($1 + $2)) ]; } # POLLS MORE
# What one look adds, on a CPU that has nothing else to do. The first ones warm up.
per_look=10000 per_switch=1000 # more would be a fault; how many they really are is printed
look_adds() {
	begin -60000000 # so close that each tick has a look, so far that these do not make it overflow
	write ctl start
	soon polled "$(stat polls)" 10
	n=$(stat polls) v=$(signed "$(cat pmd/0)")
	soon polled "$n" 30
	v=$(($(signed "$(cat pmd/0)") - v)) n=$(($(stat polls) - n))
	between "user instructions that a look adds ($n looks)" $((v / n)) 0 $per_look
	remove_context
}

# What interrupts the worker of CPU 1: that it has to give way, and page faults.
interruptions() {
	for p in $(pidof perfmonfs); do
		for t in /proc/"$p"/task/*; do
			[ "$(cat "$t/comm")" != pfm/1 ] || cat "$t/stat" "$t/status"
		done
	done | awk 'NR == 1 { sub(/.*\) /, ""); n = $8 + $10 } /^nonvol/ { n += $2 } END { print n }'
}

# Two sets of four events take turns while a steady program runs. What each set shows, scaled to the
# whole time, is what an estimate can be; the sum of both is exact, as nothing runs in between. Were the
# worker interrupted between two sets, the program would run there, uncounted, in no set's active_ns.
take_turns() { # TIMEOUT_US COUNT
	make_context
	mkdir set/1
	for s in 0 1; do
		write set/$s/flags time_switch
		write set/$s/timeout_ns "$1"000
		check "program set $s" sh -c "cat /tmp/set$s >set/$s/regs"
	done
	check "load" write ctl "load cpu=1"
	n=$(stat switches) interrupted=$(interruptions)
	over=$(taskset -c 0 "$here/loop" . 1 0 1 "$2")
	n=$(($(stat switches) - n)) interrupted=$(($(interruptions) - interrupted))
	check "nothing is lost" cat set/0/regs set/1/regs
	v=$(cat set/1/pmd/1)
	sum=$((over + v))
	gaps=$(($(cat pmd/262) - $(cat set/0/active_ns) - $(cat set/1/active_ns)))
	echo "# $scenario: $1 us: $gaps ns in no set, the worker was interrupted $interrupted times"
	between "$1 us: both sets over the exact count ($n switches)" $sum 0 $((200 + n * per_switch))
	echo "# $scenario: $1 us: $((sum / (n + 1))) user instructions a switch"
	between "$1 us: runs of set 0 less those of set 1" $(($(cat set/0/runs) - $(cat set/1/runs))) 0 1
	# Each run but the one that stop ends takes the timeout.
	for s in 0 1; do
		between "$1 us: active_ns of set $s" "$(cat set/$s/active_ns)" \
			$((($(cat set/$s/runs) - 1) * $1 * 1000)) 1000000000000
	done
	scaled=$(awk -v e=$((3 * $2 + 8)) -v v="$v" -v u="$(cat set/0/pmd/0)" \
		-v a="$(cat set/0/active_ns)" -v b="$(cat set/1/active_ns)" 'BEGIN {
		printf "%d %d\n", (u * (a + b) / a / e - 1) * 1e5, (v * (a + b) / b / e - 1) * 1e5
	}')
	remove_context
}
# The machine's speed decides how many switches there are: with few, no estimate can be good. Its other
# work makes the program unsteady, not the sets, which makes estimates too low as often as too high.
multiplex() { # TIMEOUT_US COUNT
	below=0 above=0 count=$2
	for try in $(seq 20); do
		take_turns "$1" $count
		e0=${scaled% *} e1=${scaled#* }
		echo "# $scenario: $1 us: errors $e0 and $e1 thousandths of a percent, try $try"
		if [ "$n" -lt 20 ]; then
			count=$((2 * count))
			continue
		fi
		[ "${e0#-}" -gt 1000 ] || [ "${e1#-}" -gt 1000 ] || break
		if [ "$e0" -lt 0 ]; then below=$((below + 1)); else above=$((above + 1)); fi
		[ $below -lt 2 ] || [ $above -lt 2 ] || break
	done
	between "$1 us: enough switches" "$n" 20 1000000
	if [ $below -lt 2 ] || [ $above -lt 2 ]; then
		between "$1 us: set 0, scaled, thousandths of a percent over" "$e0" -1000 1000
		between "$1 us: set 1, scaled, thousandths of a percent over" "$e1" -1000 1000
	else
		ok "$1 us: estimates are too low $below times, too high $above times"
	fi
}

notification() {
	begin "-10000000 long=-20000000 notify"
	for n in 1 2; do
		looks=$(stat polls)
		if [ $n = 1 ]; then check "start" write ctl start
		else
			check "restart" write ctl restart
			v=$(signed "$(cat pmd/0)") looks=$(($(stat polls) - looks))
			between "it loads the long value ($looks looks)" "$v" \
				-20000000 $((-20000000 + (looks + 1) * per_look))
		fi
		taskset -c 0 "$here/loop" . 1 - 1 10000000
		like "message" "$(dd if=events bs=4k count=1 status=none)" "overflow cpu=1 set=0 pmds=0 pid="
		is "masked" "$(cat state)" "masked cpu=1 set=0"
		past=$(cat pmd/0)
		between "what it counted past the wrap" "$past" 0 $((30000000 * n - 10000000 * n))
		like "one overflow each" "$(cat set/0/overflows)" "pmd0 overflows=$n "
	done
	is "masked, it counts no more" "$(cat pmd/0)" "$past"
	check "stop" write ctl stop
	is "stopped, the count is what it was" "$(cat pmd/0)" "$past"
	remove_context
}

# Loops of known length over a short period: no event may be missed or counted twice by resetting.
short_reset() {
	begin 0
	for _ in 1 2 3; do
		n=$(stat polls)
		over=$(taskset -c 0 "$here/loop" . 1 0 1 10000000 "-1000000 short=-1000000")
		n=$(($(stat polls) - n))
		wraps=$(sed -n 's/^pmd0 overflows=\([0-9]*\) .*/\1/p' set/0/overflows)
		between "overflows ($n looks)" "$wraps" 30 $((31 + n * per_look / 1000000))
		over=$((over + (wraps + 1) * 1000000))
		between "instructions over the exact count ($n looks)" $over 0 $((200 + n * per_look))
	done
	remove_context
}

cascade() {
	begin 0 ovfl_switch
	n=$(stat polls)
	over=$(taskset -c 0 "$here/loop" . 1 0 1 10000000 "-10000000 thresh=1")
	n=$(($(stat polls) - n))
	is "the second set has taken over" "$(cat state)" "loaded cpu=1 set=1"
	is "because of" "$(cat set/0/switch_pmds)" 0
	like "one overflow" "$(cat set/0/overflows)" "pmd0 overflows=1 "
	is "runs" "$(cat set/0/runs) $(cat set/1/runs)" "1 1"
	# The PMD began a period below 0, and its overflow has reset it by another one.
	over=$((over + 20000000 + $(cat set/1/pmd/1)))
	between "both sets over the exact count ($n looks)" $over 0 $(((n + 1) * per_look))
	remove_context
}

# The other three events only have to be there.
two_sets() { # MORE: regs lines for two events besides
	printf 'pmc0 0x4100c0\npmc1 0x4100c4\n%s\n' "$1" >/tmp/set0
	printf 'pmc0 0x4100c4\npmc1 0x4100c0\n%s\n' "$1" >/tmp/set1
}
# What a switch does is the PMU's, and the time between two of them is not: longer ones are for one PMU.
sets() { # MORE [LONG]
	two_sets "$1"
	taskset -pc 0 $$ >/dev/null
	start_daemon
	look_adds
	multiplex 1000 300000000
	if [ -n "${2-}" ]; then
		multiplex 10000 300000000
		multiplex 100000 800000000
	fi
	notification
	short_reset
	cascade
	stop_daemon
}

# For bench/run: how far estimates are off by switch period, and what a switch costs.
bench_sets() {
	echo 100 >$mnt/config/tick_us
	for us in 100 200 500 1000 2000 5000 10000 20000 50000 100000; do
		errors=""
		for _ in 1 2 3; do
			take_turns $us 300000000 >/dev/null
			errors="$errors $scaled"
		done
		echo "$us $errors" | awk '{
			for (i = 2; i <= NF; i++) s += $i < 0 ? -$i : $i
			printf "%6d us: mean error %.3f %%\n", $1, s / (NF - 1) / 1000 }'
	done
	for us in 1000 10000; do
		make_context
		mkdir set/1
		for s in 0 1; do
			write set/$s/flags time_switch
			write set/$s/timeout_ns ${us}000
			cat /tmp/set$s >set/$s/regs
		done
		write ctl "load cpu=1"
		printf '%6d us: ' $us
		"$here/bench_switch" $mnt a 1 2000
		remove_context >/dev/null
	done
}
