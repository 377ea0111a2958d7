# SPDX-License-Identifier: MIT
# shellcheck shell=bash disable=SC2154
# What pfm record costs the program that it samples, and how exact its shares are; sourced by
# bench/run, whose functions and variables it uses. perf(1) samples the same event. The ways take
# turns in each round, each round beginning with another one, and each is compared with the program
# alone in its round.
record_rounds=${TIMES:-9}
caller=(taskset -c 1 "$build/tests/fs/caller" 20 "${CALLS:-40000}")
pfm() { "$build/tools/pfm/pfm" "$@"; }

# The CPU time of the program is what it prints.
record_way() { # WAY HZ [OPTION]
	case $1 in
	alone) "${caller[@]}" ;;
	pfm) pfm record --mount="$tmp/mnt" -o "$tmp/data" -F "$2" "${@:3}" "${caller[@]}" 2>/dev/null ;;
	perf) perf record -o "$tmp/data" -e task-clock -F "$2" "${@:3}" "${caller[@]}" 2>"$tmp/said" ;;
	esac
}
record_samples() { # WAY
	case $1 in
	alone) echo 0 ;;
	pfm) pfm report "$tmp/data" | awk '/^# [0-9]+ overflows in / { print $5 }' ;;
	perf) sed -n 's/.*(\([0-9]*\) samples).*/\1/p' "$tmp/said" ;;
	esac
}
record_round() { # ROUND
	local i way begun cpu elapsed
	for ((i = 0; i < ${#record_ways[@]}; i++)); do
		way=${record_ways[(i + $1) % ${#record_ways[@]}]}
		begun=${EPOCHREALTIME/./}
		# shellcheck disable=SC2086 # words
		cpu=$(record_way $way)
		elapsed=$((${EPOCHREALTIME/./} - begun))
		# shellcheck disable=SC2086
		echo "$1 ${way// /_} $((cpu / 1000)) $elapsed $(record_samples $way)" >>"$tmp/record"
	done
}

echo "== pfm record: TIMES=$record_rounds rounds; % more than a program with 20 frames alone: its CPU time;"
echo "   elapsed time, with the beginning and the end of the tool; us of CPU time a sample"
record_ways=(alone)
for hz in 1000 4000; do
	for tool in pfm perf; do
		[ $tool = pfm ] || have_perf || { skip "no perf(1) that works here: package linux-perf"; continue; }
		record_ways+=("$tool $hz" "$tool $hz -g")
		[ $hz != 1000 ] || record_ways+=("$tool $hz --call-graph=dwarf")
	done
done
start perf
echo 1000000 >"$tmp/mnt/config/overflow_rate_max"
: >"$tmp/record"
for ((round = 0; round < record_rounds; round++)); do record_round $round; done
awk "$quartiles"'
	{ cpu[$1, $2] = $3; all[$1, $2] = $4; samples[$1, $2] = $5; if (!seen[$2]++) order[n++] = $2; if ($1 >= rounds) rounds = $1 + 1 }
	function show(t, way,  i, x) {
		for (i = 0; i < rounds; i++)
			x[i] = 100 * (t[i, way] / t[i, "alone"] - 1)
		quartiles(x, rounds)
		return sprintf("%7.2f %7.2f..%-7.2f", q[2], q[1], q[3])
	}
	function a_sample(way,  i, x) {
		for (i = 0; i < rounds; i++)
			x[i] = samples[i, way] ? (cpu[i, way] - cpu[i, "alone"]) / samples[i, way] : 0
		quartiles(x, rounds)
		return sprintf("%7.2f %7.2f..%-7.2f", q[2], q[1], q[3])
	}
	END {
		printf "%-28s %7s %16s %7s %16s %8s\n", "way", "CPU", "quartiles", "elapsed", "quartiles", "a sample"
		for (i = 0; i < n; i++)
			if (order[i] != "alone")
				printf "%-28s %s %s %s\n", order[i], show(cpu, order[i]), show(all, order[i]), a_sample(order[i])
	}' "$tmp/record"

record_accuracy() { # HZ SECONDS
	timeout "${ACCURACY:-$2}" "$build/tools/pfm/pfm" record --mount="$tmp/mnt" -o "$tmp/data" -F "$1" \
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
record_accuracy 50000 5
stop
