# SPDX-License-Identifier: MIT
# shellcheck shell=bash disable=SC2154
# What it costs to be monitored as a thread; sourced by bench/run, whose functions and variables it
# uses. The programs are those of tests/track, all on CPU 1, by two software events of the perf
# backend; perf(1) counts the same two. Of several times the quickest: what else the machine does
# only adds.
track=$build/tests/track
times=${TIMES:-9}
said=$tmp/said

# launch PROGRAM...: tids are the threads that it names; go: it begins, or ends
launch() {
	rm -f "$tmp/in" "$said"
	mkfifo "$tmp/in"
	first "$@" <"$tmp/in" >"$said" &
	subject=$!
	exec 8>"$tmp/in"
	until grep -qs ^ready "$said"; do sleep 0.02; done
	mapfile -t tids < <(awk '$1 == "thread" { print $2 }' "$said")
}
go() { echo >&8; }
work() {
	go
	until grep -q ^done "$said"; do sleep 0.02; done
}
end() {
	exec 8>&-
	wait "$subject" || true
}
did() { # KEY: of the first thread
	awk -v key="$1=" '$1 == "did" { for (i = 3; i <= NF; i++)
		if (index($i, key) == 1) print substr($i, length(key) + 1) }' "$said" | head -1
}
code() { awk -v e="$1" '$1 == e { print $2 }' "$tmp/mnt/pmu/events"; }

monitor() { # TID...: running contexts, named after them
	local t faults switches
	faults=$(code page-faults) switches=$(code context-switches)
	(cd "$tmp/mnt/ctx" && mkdir "$@")
	for t; do
		echo "$faults" >"$tmp/mnt/ctx/$t/pmc/0"
		echo "$switches" >"$tmp/mnt/ctx/$t/pmc/1"
		echo "load tid=$t" >"$tmp/mnt/ctx/$t/ctl"
		echo start >"$tmp/mnt/ctx/$t/ctl"
	done
}
unmonitor() { (cd "$tmp/mnt/ctx" && rmdir "$@"); }
perf_on() { # TID,...
	perf stat -e page-faults,context-switches -t "$1" -o /dev/null 8>&- &
	perf=$!
	sleep 0.5
}
perf_off() {
	kill -INT "$perf"
	wait "$perf" || true
}
have_perf() { perf stat -e page-faults true >/dev/null 2>&1; }

# turns LOOPS COUNT HOW: how long so many turns take, in ns: plain, monitored (by us), perf, or
# beside (another thread is monitored, which sleeps)
turns() {
	local reads writes cpu
	launch "$track/subject" -c 1 -w "$1" turns "$2"
	case $3 in
	monitored) monitor "${tids[0]}" ;;
	beside) monitor "$sleeper" ;;
	perf) perf_on "${tids[0]}" ;;
	esac
	read -r reads writes < <(accesses) || true
	cpu=$(daemon_cpu)
	work
	cpu=$(($(daemon_cpu) - cpu))
	read -r more_reads more_writes < <(accesses) || true
	case $3 in
	monitored)
		per_turn=$(awk -v n="$2" -v r=$((more_reads - reads)) -v w=$((more_writes - writes)) -v c=$cpu \
			'BEGIN { printf "%.2f us of the daemon, %.1f+%.1f register accesses", c / n / 1e3, r / n, w / n }')
		unmonitor "${tids[0]}"
		;;
	beside) unmonitor "$sleeper" ;;
	perf) perf_off ;;
	esac
	took=$(did wall_ns)
	end
}
switched_in() { awk '$1 == "ctxsw_in" { print $2 }' "$tmp/mnt/stats"; }
daemon_cpu() { cat "/proc/$daemon/task"/*/schedstat | awk '{ n += $1 } END { printf "%.0f\n", n }'; }

declare -A best
quickest() { # LOOPS COUNT HOW...
	local i how
	best=()
	for ((i = 0; i < times; i++)); do
		for how in "${@:3}"; do
			turns "$1" "$2" "$how"
			[ -n "${best[$how]-}" ] && [ "${best[$how]}" -le "$took" ] || best[$how]=$took
		done
	done
}
slower() { # TURNS HOW
	awk -v n="$1" -v a="${best[plain]}" -v b="${best[$2]}" -v how="$2" 'BEGIN {
		printf "%s %.2f %% (%.2f us each)", how, 100 * (b / a - 1), (b - a) / n / 1e3 }'
}

start perf
hows=(plain monitored)
if have_perf; then hows+=(perf); else echo "(no perf(1) that works here: package linux-perf)"; fi
launch "$track/subject" -c 1 cpu 1
sleeper=${tids[0]} sleeping=$subject
exec 7>&8
quickest 0 10000 plain
bare=$((best[plain] / 10000))
quickest 100000 2000 plain
loops=$(((best[plain] / 2000) - bare)) # ns that 100000 of them take

echo "== slow-down of a program that goes off its CPU and comes back so many times a second"
for rate in 20 1000 20000; do
	count=$((rate < 100 ? 5 : rate / 4))
	work=$((1000000000 / rate - bare))
	quickest $((work * 100000 / loops)) $count "${hows[@]}" beside
	printf '%5d/s: %s' $rate "$(slower $count monitored)"
	[ "${#hows[@]}" -lt 3 ] || printf ', by %s' "$(slower $count perf)"
	printf '; %s; %s, which is not monitored\n' "$per_turn" "$(slower $count beside)"
done
quickest 0 30000 "${hows[@]}" beside
printf 'turns only, %d/s: %s' $((30000000000000 / best[plain])) "$(slower 30000 monitored)"
[ "${#hows[@]}" -lt 3 ] || printf ', by %s' "$(slower 30000 perf)"
printf '; %s; %s, which is not monitored\n' "$per_turn" "$(slower 30000 beside)"

echo "== a monitored thread that sleeps: CPU of the daemon in two seconds"
monitor "$sleeper"
cpu=$(daemon_cpu)
sleep 2
echo "$((($(daemon_cpu) - cpu) / 1000)) us"
unmonitor "$sleeper"
echo >&7
exec 7>&-
wait "$sleeping" || true

# N of N + 1 threads that yield to each other: each switch has one of them on either side or both.
# Each yields 500 times at least, so that starting all of them is a small part of it. More than one
# round of a ctxsw thread per switch: the kernel picked another thread before the one whose context
# was restored.
yielding() { # N HOW
	local n=$1 count
	count=$((n < 200 ? 100000 / (n + 1) : 500))
	launch "$track/subject" -c 1 -t $((n + 1)) yields $count
	case $2 in
	monitored) monitor "${tids[@]:0:n}" ;;
	perf) perf_on "$(IFS=, && echo "${tids[*]:0:n}")" ;;
	esac
	files=$(find "/proc/$daemon/fd" -mindepth 1 | wc -l)
	spent=$(daemon_cpu) rounds=$(switched_in)
	work
	spent=$(($(daemon_cpu) - spent)) rounds=$(($(switched_in) - rounds))
	case $2 in
	monitored) unmonitor "${tids[@]:0:n}" ;;
	perf) perf_off ;;
	esac
	took=$(awk '$1 == "did" { sub(/wall_ns=/, "", $7); if ($7 > max) max = $7 } END { printf "%.0f\n", max }' "$said")
	end
	switched=$(((n + 1) * count))
}
echo "== growth: N of N + 1 threads on CPU 1 are monitored, all of which yield"
for n in 1 10 100 1000; do
	best=() row="" open=$(find "/proc/$daemon/fd" -mindepth 1 | wc -l)
	for ((i = 0; i < times; i++)); do
		for how in "${hows[@]}"; do
			yielding $n "$how"
			[ "$how" != monitored ] || row=$(awk -v c=$spent -v s=$switched -v r=$rounds -v f=$((files - open)) -v n=$n \
				'BEGIN { printf "%.2f us of the daemon and %.2f rounds of a ctxsw thread a switch, %.2f descriptors a thread",
					c / s / 1e3, r / s, f / n }')
			[ -n "${best[$how]-}" ] && [ "${best[$how]}" -le "$took" ] || best[$how]=$took
		done
	done
	printf '%5d threads: %s' $n "$(slower "$switched" monitored)"
	[ "${#hows[@]}" -lt 3 ] || printf ', by %s' "$(slower "$switched" perf)"
	printf '; %s\n' "$row"
done
stop
