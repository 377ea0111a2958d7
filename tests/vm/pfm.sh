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

# pfm_recorded SAMPLES: there are so many, by the size of one
pfm_recorded() { [ "$(find /tmp/recorded -size +"$(($1 * 48))"c 2>/dev/null)" ]; }

# Hundredths of a percent of the samples in a, b and c, in the order of the words a, b and c
pfm_shares() {
	"$here/pfm" report /tmp/recorded --perf-script | awk '
		$NF ~ /\/burner\)$/ && $2 ~ /^[abc][+]0x/ { all++; n[substr($2, 1, 1)]++ }
		END { if (all) printf "%d %d %d %d\n", 1e4 * n["a"] / all, 1e4 * n["b"] / all, 1e4 * n["c"] / all, all }'
}

# Two points are more than three standard deviations of 6000 samples: a bad profile has to come three times.
pfm_records() {
	write $mnt/config/tick_us 500
	write $mnt/config/overflow_rate_max 1000000
	for try in 1 2 3; do
		rm -f /tmp/recorded
		"$here/pfm" record -o /tmp/recorded -e instructions:u -c 200000 "$here/burner" 1 shares >/dev/null 2>/tmp/said &
		recording=$!
		soon pfm_recorded 6000
		kill $recording
		wait $recording
		is "pfm record ends as its command" $? 143
		# shellcheck disable=SC2046
		set -- $(pfm_shares)
		echo "# $scenario: a $1 b $2 c $3 of $4 samples, try $try"
		[ "$1" -lt 5800 ] || [ "$1" -gt 6200 ] || [ "$2" -lt 2800 ] || [ "$2" -gt 3200 ] ||
			[ "$3" -lt 800 ] || [ "$3" -gt 1200 ] || break
	done
	between "a burns 60 %, in hundredths" "$1" 5800 6200
	between "b burns 30 %" "$2" 2800 3200
	between "c burns 10 %" "$3" 800 1200
}

pfm_says() { # WHAT STATUS PATTERN COMMAND...: pfm's exit status and words
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
	pfm_says "pfm check" 0 "other software" check
	pfm_says "the counters that are left are counted" 0 instructions stat -C 1 -e instructions:u true
	pfm_says "a counter that is not free" 125 "another program" stat -C 1 -e "pmc0=0x4100c0" true
	is "its selector is untouched" "$(rdmsr -p 1 "$1")" 4100c4
	wrmsr -p 1 "$1" 0
}

pfm() { # PMU SELECTOR
	export PERFMONFS=$mnt PFM_EVENTS=$here/data
	start_daemon
	is "PMU" "$(cat $mnt/pmu/name)" "$1"
	before=$(both_cpus)
	pfm_says "pfm check" 0 "msr" check
	pfm_counts
	pfm_records
	pfm_names_others "$2"
	is "no context is left" "$(ls $mnt/ctx)" ""
	is "registers are as before" "$(both_cpus)" "$before"
	stop_daemon
}
