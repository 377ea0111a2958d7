# SPDX-License-Identifier: MIT
# shellcheck shell=bash disable=SC2154
# What pfm record costs the program that it samples, and how exact its shares are; sourced by
# bench/run, whose functions and variables it uses. perf(1) samples the same event. The ways take
# turns in each round, each round beginning with another one, and each is compared with the program
# alone in its round.
record_rounds=${TIMES:-9}
caller=(taskset -c 1 "$build/tests/fs/caller" 20 40000)
pfm() { "$build/tools/pfm/pfm" "$@"; }

# The CPU time of the program is what it prints.
record_way() { # WAY HZ [-g]
	case $1 in
	alone) "${caller[@]}" ;;
	pfm)
		pfm record --mount="$tmp/mnt" -o "$tmp/data" -F "$2" "${@:3}" "${caller[@]}" 2>/dev/null
		;;
	perf) perf record -q -o "$tmp/data" -e task-clock -F "$2" "${@:3}" "${caller[@]}" 2>/dev/null ;;
	esac
}
record_round() { # ROUND
	local i way begun cpu
	for ((i = 0; i < ${#record_ways[@]}; i++)); do
		way=${record_ways[(i + $1) % ${#record_ways[@]}]}
		begun=${EPOCHREALTIME/./}
		# shellcheck disable=SC2086 # words
		cpu=$(record_way $way)
		echo "$1 ${way// /_} $((cpu / 1000)) $((${EPOCHREALTIME/./} - begun))" >>"$tmp/record"
	done
}

echo "== pfm record: TIMES=$record_rounds rounds; % more than a program with 20 frames alone: its CPU time;"
echo "   elapsed time, with the beginning and the end of the tool"
record_ways=(alone)
for hz in 1000 4000; do
	for tool in pfm perf; do
		[ $tool = pfm ] || have_perf || { skip "no perf(1) that works here: package linux-perf"; continue; }
		record_ways+=("$tool $hz" "$tool $hz -g")
	done
done
start perf
echo 1000000 >"$tmp/mnt/config/overflow_rate_max"
: >"$tmp/record"
for ((round = 0; round < record_rounds; round++)); do record_round $round; done
awk "$quartiles"'
	{ cpu[$1, $2] = $3; all[$1, $2] = $4; if (!seen[$2]++) order[n++] = $2; if ($1 >= rounds) rounds = $1 + 1 }
	function show(t, way,  i, x) {
		for (i = 0; i < rounds; i++)
			x[i] = 100 * (t[i, way] / t[i, "alone"] - 1)
		quartiles(x, rounds)
		return sprintf("%7.2f %7.2f..%-7.2f", q[2], q[1], q[3])
	}
	END {
		printf "%-13s %7s %16s %7s %16s\n", "way", "CPU", "quartiles", "elapsed", "quartiles"
		for (i = 0; i < n; i++)
			if (order[i] != "alone")
				printf "%-13s %s %s\n", order[i], show(cpu, order[i]), show(all, order[i])
	}' "$tmp/record"

record_accuracy() { # HZ SECONDS
	echo $((1000000 / $1)) >"$tmp/mnt/config/tick_us"
	timeout "$2" "$build/tools/pfm/pfm" record --mount="$tmp/mnt" -o "$tmp/data" -F "$1" \
		"$build/tests/fs/burner" 1 shares >/dev/null 2>&1 || true
	pfm report "$tmp/data" --perf-script | awk -v hz="$1" '
		$NF ~ /\/burner\)$/ && $2 ~ /^[abc][+]0x/ { n[substr($2, 1, 1)]++; all++ }
		END {
			printf "%5d Hz: a %.2f, b %.2f, c %.2f %% of %d samples\n", hz, 100 * n["a"] / all,
				100 * n["b"] / all, 100 * n["c"] / all, all
		}'
}
echo "== pfm record: a program that spends 60, 30 and 10 % in three functions"
record_accuracy 1000 24
record_accuracy 4000 8
record_accuracy 10000 5
stop
