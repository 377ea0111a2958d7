# SPDX-License-Identifier: MIT
# shellcheck shell=bash disable=SC2154
# What it costs to count each thread alone; sourced by bench/run, whose functions and variables it
# uses. The ways take turns in each round, each round beginning with another one. The events are two
# of the kernel's.
#
#   alone   not counted          perf   perf stat --per-thread -p; of a command, perf stat
#   plain   pfm stat, one sum    each   pfm stat --per-thread
each_rounds=${TIMES:-9}
each_events=page-faults,context-switches

# each_way WAY TARGET...: counts -p PID for a moment, or a command
each_way() {
	case $1 in
	alone) "${@:2}" ;;
	perf) perf stat "${each_perf[@]}" -e $each_events -o "$tmp/out" "${@:2}" ;;
	plain) "$build/tools/pfm/pfm" stat --mount="$tmp/mnt" -e $each_events -o "$tmp/out" "${@:2}" ;;
	each) "$build/tools/pfm/pfm" stat --mount="$tmp/mnt" --per-thread -e $each_events -o "$tmp/out" "${@:2}" ;;
	esac >/dev/null
}
# each_round WHAT TARGET...: a line "WHAT WAY us" for each of each_ways, in $tmp/table
each_round() {
	local begun w way n=${#each_ways[@]}

	for ((w = 0; w < n; w++)); do
		way=${each_ways[(each_turn + w) % n]}
		begun=${EPOCHREALTIME/./}
		each_way "$way" "${@:2}"
		echo "$1 $way $((${EPOCHREALTIME/./} - begun))" >>"$tmp/table"
	done
	each_turn=$((each_turn + 1))
}
# each_show N...: medians and quartiles for each N, and how the medians grow: the exponent between two N
each_show() {
	awk -v order="${each_ways[*]}" "$quartiles"'
		{ t[$1, $2, n[$1, $2]++] = $3 / 1e3; if (!($1 in seen)) { seen[$1]; what[++last] = $1 } }
		END {
			ways = split(order, w, " ")
			for (i = 1; i <= last; i++)
				for (k = 1; k <= ways; k++) {
					delete x
					for (r = 0; r < n[what[i], w[k]]; r++)
						x[r] = t[what[i], w[k], r]
					quartiles(x, r)
					m[i, k] = q[2]
					printf "%-10s %-6s %9.1f %8.1f..%-8.1f", what[i], w[k], q[2], q[1], q[3]
					if (i > 1 && what[i] what[i - 1] ~ /^[0-9]+$/)
						printf " %9.2f", log(m[i, k] / m[i - 1, k]) / log(what[i] / what[i - 1])
					print ""
				}
		}' "$tmp/table"
}
each_rss() { awk '/^VmRSS/ { print $2 }' "/proc/$1/status"; } # PID: KiB
# How long pfm goes on after SIGINT, ms: bash has its children ignore that.
each_interrupted() { # COMMAND...
	python3 -c 'import signal, subprocess, sys, time
p = subprocess.Popen(sys.argv[1:], stdout=subprocess.DEVNULL)
time.sleep(2)
begun = time.monotonic()
p.send_signal(signal.SIGINT)
p.wait()
print("%.0f" % ((time.monotonic() - begun) * 1e3))' "$@"
}

start perf
before=$(each_rss "$daemon")
echo "== each: N threads of a process that sleep, each alone: TIMES=$each_rounds rounds; ms, medians and quartiles"
printf '%-10s %-6s %9s %18s %9s\n' N way ms quartiles exponent
each_ways=(perf plain each) each_perf=(--per-thread) each_turn=0
have_perf || { skip "no perf(1) that works here: package linux-perf"; each_ways=(plain each); }
: >"$tmp/table"
: >"$tmp/memory"
for n in ${THREADS:-10 100 1000 4000}; do
	mkfifo "$tmp/in.$n"
	"$build/tests/track/subject" -t "$n" yields 1 <"$tmp/in.$n" >"$tmp/said.$n" &
	subject=$!
	exec 9>"$tmp/in.$n"
	until grep -qs ^ready "$tmp/said.$n"; do sleep 0.02; done
	process=$(awk '$1 == "Tgid:" { print $2 }' "/proc/$(awk '$1 == "thread" { print $2; exit }' "$tmp/said.$n")/status")
	for ((i = 0; i < each_rounds; i++)); do
		each_round "$n" -p "$process" -- true
	done
	# After some intervals, pfm has read all threads.
	each_way each -I 50 -p "$process" -- sh -c "sleep 0.5; awk '/^VmRSS/ { print \$2 }' \
		/proc/\$PPID/status /proc/$daemon/status >'$tmp/during'"
	echo "$n $(head -1 "$tmp/during") $(($(tail -1 "$tmp/during") - before)) $(each_interrupted \
		"$build/tools/pfm/pfm" stat --mount="$tmp/mnt" --per-thread -e $each_events -o "$tmp/out" \
		-p "$process")" >>"$tmp/memory"
	exec 9>&-
	wait "$subject" || true
done
each_show
printf '%-10s %14s %14s %14s\n' N "pfm, KiB" "daemon, more" "SIGINT, ms"
awk '{ printf "%-10d %14d %14d %14d\n", $1, $2, $3, $4 }' "$tmp/memory"

echo "== each: a command that makes N threads or processes, one after the other; ms"
each_ways=(alone perf plain each) each_perf=() each_turn=0
have_perf || each_ways=(alone plain each)
: >"$tmp/table"
for ((i = 0; i < each_rounds; i++)); do
	# shellcheck disable=SC2016
	each_round "${FORKS:-500}forks" sh -c 'i=0; while [ $i -lt $0 ]; do /bin/true; i=$((i + 1)); done' "${FORKS:-500}"
	# shellcheck disable=SC2016
	each_round "${LIVES:-2000}threads" sh -c 'echo | "$0" threads $1 1 0' "$build/tests/track/waves" "${LIVES:-2000}"
done
each_show
stop
