# SPDX-License-Identifier: MIT
# shellcheck shell=bash disable=SC2154
# pfm record and pfm report beside perf(1); sourced by bench/run, whose functions and variables it uses. Pairs
# alternate: pfm first, then perf first. Printed are medians and quartiles of TIMES pairs.
profile_pairs=${TIMES:-5}
profile_pfm=$build/tools/pfm/pfm
profile_program=(taskset -c 1 "$build/tests/fs/caller" 20 "${CALLS:-8000}")

# timed NAME COMMAND...: appends NAME, seconds of CPU, seconds elapsed, and KiB of memory to the table
profile_timed() {
	local name=$1
	shift
	/usr/bin/time -o "$tmp/time" -f '%U %S %e %M' "$@" >"$tmp/out" 2>/dev/null || true
	awk -v name="$name" 'NF == 4 { print name, $1 + $2, $3, $4 }' "$tmp/time" >>"$tmp/profile"
}
# in_pairs FUNCTION: calls it with pfm and perf in turns
profile_in_pairs() {
	local i

	for ((i = 0; i < profile_pairs; i++)); do
		if ((i % 2)); then "$1" perf && "$1" pfm; else "$1" pfm && "$1" perf; fi
	done
}
# A line for each name of the table: medians and quartiles of its columns
profile_show() { # TITLE...
	awk -v titles="$*" "$quartiles"'
		{ for (c = 2; c <= NF; c++) v[$1, c, n[$1, c]++] = $c; if (!seen[$1]++) order[names++] = $1; columns = NF }
		END {
			split(titles, title, " ")
			printf "%-24s", ""
			for (c = 2; c <= columns; c++)
				printf " %26s", title[c - 1]
			print ""
			for (i = 0; i < names; i++) {
				printf "%-24s", order[i]
				for (c = 2; c <= columns; c++) {
					for (k = 0; k < n[order[i], c]; k++)
						x[k] = v[order[i], c, k]
					quartiles(x, k)
					printf " %10.2f %7.2f..%-7.2f", q[2], q[1], q[3]
				}
				print ""
			}
		}' "$tmp/profile"
	: >"$tmp/profile"
}

# The program prints its CPU time in ns. The rest of the time is the tool's, with its processes, and the daemon's.
profile_record() { # TOOL, as profile_hz and profile_way say
	local alone after begun=0 program samples
	local -a command

	alone=$("${profile_program[@]}")
	case $1 in
	pfm) command=("$profile_pfm" record --mount="$tmp/mnt") && begun=$(daemon_us) ;;
	perf) command=(perf record) ;;
	esac
	# shellcheck disable=SC2206 # words
	command+=(-o "$tmp/data" -e task-clock -F "$profile_hz" $profile_way)
	/usr/bin/time -q -o "$tmp/time" -f '%U %S' "${command[@]}" "${profile_program[@]}" >"$tmp/out" 2>"$tmp/said"
	program=$(cat "$tmp/out")
	[ "$begun" = 0 ] || begun=$(($(daemon_us) - begun))
	after=$("${profile_program[@]}")
	case $1 in
	pfm) samples=$("$profile_pfm" report "$tmp/data" --stdio | awk '/^# [0-9]+ overflows in / { print $5 }') ;;
	perf) samples=$(sed -n 's/.*(\([0-9]*\) samples).*/\1/p' "$tmp/said") ;;
	esac
	[ -n "$samples" ] || { skip "$1 has recorded nothing: $(tail -n 1 "$tmp/said")"; return; }
	awk -v name="$profile_hz${profile_way// /}-$1" -v alone=$(((alone + after) / 2)) -v program="$program" -v daemon="$begun" \
		-v bytes="$(stat -c %s "$tmp/data")" -v samples="$samples" '
		{ print name, 100 * (program / alone - 1), 1e3 * ($1 + $2) - program / 1e6 + daemon / 1e3, bytes / samples, samples }' \
		"$tmp/time" >>"$tmp/profile"
	rm "$tmp/data"
}

profile_report() { # TOOL, of a recording in $tmp/samples
	case $1 in
	pfm)
		profile_timed table-pfm "$profile_pfm" report "$tmp/samples/pfm.data" --stdio
		profile_timed tree-pfm "$profile_pfm" report "$tmp/samples/pfm.data" --tree
		profile_timed stacks-pfm "$profile_pfm" report "$tmp/samples/pfm.data" --folded
		profile_timed graph-pfm "$profile_pfm" report "$tmp/samples/pfm.data" --flamegraph="$tmp/graph"
		profile_timed page-pfm "$profile_pfm" report "$tmp/samples/pfm.data" --html="$tmp/graph"
		;;
	perf)
		profile_timed table-perf perf report -f --stdio --no-children -g none -i "$tmp/samples/perf.data"
		profile_timed tree-perf timeout 120 perf report -f --stdio -i "$tmp/samples/perf.data"
		profile_timed stacks-perf perf script -f -i "$tmp/samples/perf.data"
		;;
	esac
}

# A compilation of about ten seconds. It notes when it ends: until pfm ends, the names are found and stored.
profile_names() { # OPTION...
	(
		cd "$tmp" || exit
		"$profile_pfm" record --mount="$tmp/mnt" -o "$tmp/data" -F 20000 -e task-clock "$@" \
			sh -c 'gcc -O2 -c large.c && date +%s%N >ended' >/dev/null 2>&1
		echo "names${*:-:stored} $((($(date +%s%N) - $(cat ended)) / 1000000)) $("$profile_pfm" report --no-inline data --stdio |
			awk '/^# [0-9]+ overflows in / { print $5 }') $(stat -c %s data)" >>"$tmp/profile"
	)
}

have_perf || { skip "no perf(1) that works here: package linux-perf"; return; }
: >"$tmp/profile"
start perf
echo 1000000 >"$tmp/mnt/config/overflow_rate_max"
echo "== profile: pfm record and perf record of task-clock, $profile_pairs pairs; the program's CPU time in % more than alone,"
echo "   the tool's and the daemon's CPU time, bytes of the file for each sample"
for profile_hz in 1000 10000; do
	for profile_way in "" "-g" "--call-graph dwarf"; do
		[ "$profile_way" = "" ] || [ "$profile_way" = -g ] || profile_way=--call-graph=dwarf
		profile_in_pairs profile_record
	done
done
profile_show %slower tool_ms bytes/sample samples

echo "== profile: the last step of pfm record: ms from the end of a compilation by gcc to that of pfm, with and without names"
awk -v n="${FUNCTIONS:-400}" 'BEGIN {
	for (i = 0; i < n; i++)
		printf "int f%d(int n, int *p) { int s = 0; for (int i = 0; i < n; i++) { s += p[i] * %d; if (s %% 7 == 3) p[i] ^= s; } return s; }\n", i, i
}' >"$tmp/large.c"
for ((profile_i = 0; profile_i < profile_pairs; profile_i++)); do
	profile_names
	profile_names --no-symbols
done
profile_show ms samples bytes
stop

profile_sizes=("100000 30 1000" "1000000 30 1000" "300000 20 300000")
for profile_size in "${PROFILE_SIZE:-"${profile_sizes[@]}"}"; do
	echo "== profile: reports of SAMPLES FRAMES STACKS = $profile_size: s of CPU, s elapsed, KiB"
	mkdir "$tmp/samples"
	# shellcheck disable=SC2086 # words
	python3 bench/samples.py "$tmp/samples" $profile_size
	profile_in_pairs profile_report
	profile_show CPU elapsed KiB
	rm -r "$tmp/samples"
done
