# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154
# pfm on real counters: functions for guest.sh, whose helpers, sets.sh's and thread.sh's they use.

# Instructions of `bare` with two words on its command line, see tests/track/bare.S
bare_executes=$((3 * (2 << 20) + 6))

# pfm_value EVENT: its value in the JSON lines of /tmp/counts
pfm_value() { sed -n "s/.*\"event\":\"$1\",\"value\":\([0-9]*\),.*/\1/p" /tmp/counts; }

# Of five runs the best is the one that the host disturbed least; the others have a bound for each switch.
pfm_counts() {
	best=$bare_executes
	for try in 1 2 3 4 5; do
		n=$(stat ctxsw_in)
		check "pfm stat, run $try" taskset -c 1 "$here/pfm" stat -j -o /tmp/counts -e instructions:u "$here/bare" x
		n=$(($(stat ctxsw_in) - n))
		exactly "a command, run $try" "$(pfm_value instructions:u)" "$bare_executes" "$n" $left_pair
		[ "${over#-}" -ge "$best" ] || best=${over#-}
	done
	between "a command, the best run: instructions over the exact count" "$best" 0 100
}

# What the calls themselves execute is counted, too: some hundred instructions. A tick that comes between
# may be a switch, with less than a hundred. For RDPMC, the program opens a perf event, by which the kernel
# writes the global control. On the backend perf, the program opens the counted events.
pfm_counts_regions() {
	check "pfm stat --regions" "$here/pfm" stat -j -o /tmp/counts --regions -e instructions:u \
		taskset -c 1 "$here/bench_region" 1000 10000000
	grep '"region":"loop"' /tmp/counts >/tmp/loop
	mv /tmp/loop /tmp/counts
	between "instructions of a region, over those of its loop" $(($(pfm_value instructions:u) - 20000000)) 0 5000
}

# pfm_recorded SAMPLES: there are about so many, by the size of one
pfm_recorded() { [ "$(find /tmp/recorded -size +"$(($1 * 48))"c 2>/dev/null)" ]; }

# Samples in the functions a, b and c, in this order, and in all three. Some symbols of the linker have
# the addresses of theirs.
pfm_shares() {
	"$here/pfm" report /tmp/recorded --perf-script | awk '
		{ sub(/^__start_burn_/, "", $2) }
		$NF ~ /\/burner\)$/ && $2 ~ /^[abc][+]0x/ { all++; n[substr($2, 1, 1)]++ }
		END { printf "%d %d %d %d\n", n["a"], n["b"], n["c"], all }'
}

# pfm_share FUNCTION SAMPLES ALL PERCENT: within two points, and three standard deviations of so many samples
pfm_share() {
	may=$(awk -v n="$3" -v p="$4" 'BEGIN { print int(200 + 300 * sqrt(p * (100 - p) / n)) }')
	between "$1 burns $4 %, in hundredths" $((10000 * $2 / $3)) $(($4 * 100 - may)) $(($4 * 100 + may))
}

# pfm_records WHAT OPTION...: the burner's shares
pfm_records() {
	what=$1
	shift
	write $mnt/config/tick_us 500
	write $mnt/config/overflow_rate_max 1000000
	rm -f /tmp/recorded
	"$here/pfm" record -o /tmp/recorded "$@" -e instructions:u -c 200000 "$here/burner" 1 shares >/dev/null 2>/tmp/said &
	recording=$!
	for i in $(seq 30); do
		pfm_recorded 8000 || sleep 1
	done
	kill $recording
	wait $recording
	is "pfm record, $what: ends as its command" $? 143
	# shellcheck disable=SC2046
	set -- $(pfm_shares)
	echo "# $scenario: $what: a $1 b $2 c $3 of $4 samples in the burner, after $i s at most"
	"$here/pfm" report /tmp/recorded | grep "^# lost"
	between "$what: samples" "$4" 100 1000000
	[ "$4" -gt 0 ] || return
	pfm_share a "$1" "$4" 60
	pfm_share b "$2" "$4" 30
	pfm_share c "$3" "$4" 10
}

# A part of a run, in pieces that each have the burner's shares, and its functions as a live table. Names are
# searched beside the recording: a guest may take long for that.
pfm_records_pieces() {
	rm -f /tmp/piece.*
	"$here/pfm" record -o /tmp/piece --delay=500ms --duration=12s --rotate=2s,2 -e instructions:u -c 200000 \
		"$here/burner" 1 shares >/dev/null 2>/tmp/said &
	recording=$!
	for i in $(seq 120); do
		grep -q 'goes on$' /tmp/said || sleep 1
	done
	like "pieces" "$(cat /tmp/said)" "newest in /tmp/piece*goes on"
	is "pieces that are kept" "$(find /tmp/piece.* | wc -l)" 2
	for piece in /tmp/piece.*; do
		mv "$piece" /tmp/recorded
		# shellcheck disable=SC2046
		set -- $(pfm_shares)
		between "samples of a piece" "$4" 1 1000000
		[ "$4" = 0 ] || pfm_share a "$1" "$4" 60
	done
	check "pfm top -f" "$here/pfm" top -f -b -n 2 -I 2000 -C 1 -e instructions:u
	like "the functions of a CPU" "$(cat /tmp/out)" "% * burner * a"
	kill $recording
	wait $recording
}

# Callers of code without frame pointers, at the interrupts of a hardware event
pfm_unwinds() {
	check "pfm record --call-graph=dwarf" "$here/pfm" record -o /tmp/recorded --call-graph=dwarf -e instructions:u \
		-c 20000000 "$here/frameless" 1000
	# shellcheck disable=SC2046
	set -- $("$here/pfm" report /tmp/recorded --folded | awk '
		/;f12 / { all += $NF }
		/;main;f1;f2;f3;f4;f5;f6;f7;f8;f9;f10;f11;f12 / { whole += $NF }
		END { print whole + 0, all + 0 }')
	between "overflows in the last function" "$2" 20 1000000
	between "those of them that have all their callers" "$1" $(($2 * 99 / 100)) "$2"
}

# The wait of a process that sleeps, in ns: at least as long, and within the time that was sampled
pfm_waits() {
	check "pfm record --off-cpu" "$here/pfm" record -o /tmp/recorded --off-cpu sleep 0.5
	"$here/pfm" report /tmp/recorded >/tmp/flat
	between "ns that sleep waited" "$("$here/pfm" report /tmp/recorded --folded | awk '
		/^sleep;.*;\[waiting\]/ { n += $NF }
		END { printf "%.0f", n }')" 500000000 \
		"$(awk '/^# sampled for/ { printf "%.0f", 1e9 * $4 + 1000000 }' /tmp/flat)"
}

# Instructions of the kernel, which pfm reads in /proc/kcore when it records
pfm_annotates_kernel() {
	check "pfm record in the kernel" "$here/pfm" record -o /tmp/recorded -F 500 dd if=/dev/zero of=/dev/null bs=64k count=500
	function=$("$here/pfm" report /tmp/recorded --sort=object,function | awk '$3 == "[kernel]" { print $4; exit }')
	like "the instructions of $function" "$("$here/pfm" annotate -i /tmp/recorded "$function")" "*# instructions*% * +0*"
}

pfm_says() { # WHAT STATUS PATTERN ARGUMENT...: pfm's exit status and words
	what=$1 status=$2 pattern=$3
	shift 3
	"$here/pfm" "$@" >/tmp/out 2>&1
	is "$what: exit status" $? "$status"
	like "$what" "$(cat /tmp/out)" "$pattern"
}

# Another program has a counter of CPU 1, and keeps it.
pfm_names_others() { # SELECTOR
	wrmsr -p 1 "$1" 0x4100c4
	pfm_says "pfm who" 0 "another program" who
	pfm_says "pfm check" 0 "pfm who" check
	pfm_says "the counters that are left are counted" 0 instructions stat -C 1 -e instructions:u true
	pfm_says "a counter that is not free" 125 "pfm who" stat -C 1 -e pmc0=0x4100c0 true
	is "its selector is untouched" "$(rdmsr -p 1 "$1")" 4100c4
	wrmsr -p 1 "$1" 0
}

pfm() { # PMU SELECTOR
	export PERFMONFS=$mnt PFM_EVENTS=$here/data
	start_daemon
	is "PMU" "$(cat $mnt/pmu/name)" "$1"
	pfm_counts_regions
	before=$(both_cpus)
	pfm_says "pfm check" 0 msr check
	pfm_says "registers and stacks of threads" 125 "msr backend" record --call-graph=dwarf true
	pfm_counts
	# Elsewhere, the scenario "sampled" has the CPU's samples.
	[ "$1" != intel_arch_v4 ] || pfm_records "a CPU" -C 1
	pfm_records "a thread"
	[ "$1" != intel_arch_v4 ] || pfm_records_pieces
	is "no context is left" "$(ls $mnt/ctx)" ""
	is "registers are as before" "$(both_cpus)" "$before"
	pfm_names_others "$2"
	stop_daemon
}
