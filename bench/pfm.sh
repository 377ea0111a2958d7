# SPDX-License-Identifier: MIT
# shellcheck shell=bash disable=SC2154
# What pfm adds to a command; sourced by bench/run, whose functions and variables it uses. The ways
# take turns, one after the other in each round, each round beginning with another one. perf(1)
# counts the same four software events as pfm does by itself with the perf backend.
pfm_rounds=${TIMES:-51}

pfm_way() { # WAY COMMAND...
	case $1 in
	alone) "${@:2}" ;;
	perf) perf stat -e task-clock,context-switches,cpu-migrations,page-faults -o "$tmp/out" -- "${@:2}" ;;
	mount) "$build/tools/pfm/pfm" stat --mount="$tmp/mnt" -o "$tmp/out" -- "${@:2}" ;;
	private) PATH=$build/daemon:$PATH "$build/tools/pfm/pfm" stat --allow-lost -o "$tmp/out" -- "${@:2}" 2>>"$tmp/said" ;;
	esac
}
now_us() { echo "${EPOCHREALTIME/./}"; }

# To the first instructions: when date(1) looks at the clock; to the end: of true(1).
pfm_times() { # WAY
	local begun
	begun=$(now_us)
	echo "first $1 $(($(pfm_way "$1" date +%s%N) / 1000 - begun))" >>"$tmp/table"
	begun=$(now_us)
	pfm_way "$1" true
	echo "whole $1 $(($(now_us) - begun))" >>"$tmp/table"
}
# A shell in a namespace without a mount, where pfm has a daemon of its own
pfm_away() {
	export build tmp
	export -f pfm_way pfm_times now_us
	coproc away { unshare -m --propagation private bash -c '
		findmnt -rno TARGET -t fuse.perfmonfs | xargs -r umount -l
		while read -r way; do pfm_times "$way"; echo; done'; }
}
pfm_turn() { # WAY
	if [ "$1" != private ]; then
		pfm_times "$1"
	else
		echo "$1" >&"${away[1]}"
		read -r <&"${away[0]}"
	fi
}

echo "== pfm: TIMES=$pfm_rounds rounds of pfm stat; ms, medians and quartiles"
pfm_ways=(alone perf mount private)
have_perf || { skip "no perf(1) that works here: package linux-perf"; pfm_ways=(alone mount private); }
start perf
pfm_away
: >"$tmp/table"
for ((i = 0; i < pfm_rounds; i++)); do
	for ((w = 0; w < ${#pfm_ways[@]}; w++)); do pfm_turn "${pfm_ways[(i + w) % ${#pfm_ways[@]}]}"; done
done
eval "exec ${away[1]}>&-"
wait "$away_PID"
stop
awk -v order="${pfm_ways[*]}" "$quartiles"'
	{ t[$1, $2, n[$1, $2]++] = $3 / 1e3 }
	function show(what, way,  i, x) {
		for (i = 0; i < n[what, way]; i++)
			x[i] = t[what, way, i]
		quartiles(x, i)
		median[what, way] = q[2]
		return sprintf("%8.2f %6.2f..%-6.2f", q[2], q[1], q[3])
	}
	function ratio(what, way) {
		return median[what, "perf"] ? sprintf("%5.2f", median[what, way] / median[what, "perf"]) : "-"
	}
	BEGIN {
		printf "%-9s %8s %14s %5s %8s %14s %5s\n", "way", "first", "quartiles", "/perf", "true", "quartiles", "/perf"
	}
	END {
		last = split(order, w, " ")
		for (i = 1; i <= last; i++)
			printf "%-9s %s %5s %s %5s\n", w[i], show("first", w[i]), ratio("first", w[i]),
				show("whole", w[i]), ratio("whole", w[i])
	}' "$tmp/table"
