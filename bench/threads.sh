# SPDX-License-Identifier: MIT
# shellcheck shell=bash disable=SC2154
# What it costs to be monitored as a thread; sourced by bench/run, whose functions and variables it
# uses. The programs are those of tests/track, on CPU 1. They are counted by two software events in
# several ways, one after the other in each round, each round beginning with another way; a cost is
# the difference to "alone" in the same round.
#
#   alone   not at all                      perf    by perf stat -t
#   kernel  by a context on each thread     ctxsw   the same, with --threads=ctxsw
#   pid     by one context on the process   beside  not at all, but a sleeping thread is (ctxsw)
#   inherit by a context on the thread and on all that it creates
#   whole   by a context on the process and on all that it creates
track=$build/tests/track
rounds=${TIMES:-9}
said=$tmp/said
declare -A mnt=([kernel]=$tmp/mnt [pid]=$tmp/mnt [inherit]=$tmp/mnt [whole]=$tmp/mnt [ctxsw]=$tmp/ctxsw [beside]=$tmp/ctxsw) pid_of

have_syscalls() { perf stat -e raw_syscalls:sys_enter true >/dev/null 2>&1; }

# launch PROGRAM...: tids are the threads that it names, of a process; go: it begins, or ends
launch() {
	rm -f "$tmp/in" "$said"
	mkfifo "$tmp/in"
	first "$@" <"$tmp/in" >"$said" &
	subject=$!
	exec 8>"$tmp/in"
	until grep -qs ^ready "$said"; do sleep 0.02; done
	mapfile -t tids < <(awk '$1 == "thread" { print $2 }' "$said")
	process=$(awk '$1 == "Tgid:" { print $2 }' "/proc/${tids[0]}/status")
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

# monitor MOUNT "tid=N WORD..." ID...: a running context for each, named after it
monitor() {
	local id
	(
		cd "$1/ctx"
		mkdir "${@:3}"
		for id in "${@:3}"; do
			echo page-faults >"$id/pmc/0"
			echo context-switches >"$id/pmc/1"
			echo "load ${2/N/$id}" >"$id/ctl"
			echo start >"$id/ctl"
		done
	)
}
unmonitor() { (cd "$1/ctx" && rmdir "${@:2}"); }

perf_files() { echo $((2 * $1 + 1024)); } # two events for each thread
perf_on() { # TID...
	rm -f "$tmp/control" "$tmp/ack"
	mkfifo "$tmp/control" "$tmp/ack"
	exec 5<>"$tmp/control" 6<>"$tmp/ack"
	prlimit --nofile="$(perf_files $#)" perf stat -D -1 --control="fifo:$tmp/control,$tmp/ack" \
		-e page-faults,context-switches -t "$(IFS=, && echo "$*")" -o /dev/null 2>/dev/null 8>&- &
	perf=$!
	echo enable >&5
	read -r _ <&6
}
perf_off() {
	kill -INT "$perf"
	wait "$perf" || true
	exec 5>&- 6>&-
}

# attach and detach, WAY N: the first N of tids
attach() {
	case $1 in
	perf) perf_on "${tids[@]:0:$2}" ;;
	kernel | ctxsw) monitor "${mnt[$1]}" tid=N "${tids[@]:0:$2}" ;;
	inherit) monitor "${mnt[$1]}" "tid=N inherit" "${tids[@]:0:$2}" ;;
	pid) monitor "${mnt[$1]}" pid=N "$process" ;;
	whole) monitor "${mnt[$1]}" "pid=N inherit" "$process" ;;
	beside) monitor "${mnt[$1]}" tid=N "$sleeper" ;;
	esac
}
detach() {
	case $1 in
	perf) perf_off ;;
	kernel | ctxsw | inherit) unmonitor "${mnt[$1]}" "${tids[@]:0:$2}" ;;
	pid | whole) unmonitor "${mnt[$1]}" "$process" ;;
	beside) unmonitor "${mnt[$1]}" "$sleeper" ;;
	esac
}

resident() { awk '/^VmRSS/ { print $2 }' "/proc/${pid_of[$1]}/status"; } # WAY: KiB

# What the daemon of a way has done: ns of CPU, waits, and of its stats
spent() { # WAY
	[ -n "${mnt[$1]-}" ] || { echo 0 0 0 0 0; return; }
	cat "/proc/${pid_of[$1]}/task"/*/{schedstat,status} "${mnt[$1]}/stats" | awk '
		NF == 3 && $1 ~ /^[0-9]+$/ { cpu += $1 }
		{ of[$1] += $2 }
		END { printf "%.0f %d %d %d %d\n", cpu, of["voluntary_ctxt_switches:"], of["ctxsw_in"],
			of["register_reads"], of["register_writes"] }'
}
# one WAY N COUNT SUBJECT-OPTION...: a line for the table, per unit of work
one() {
	local before after
	launch "$track/subject" -c 1 "${@:4}"
	attach "$1" "$2"
	before=$(spent "$1")
	work
	after=$(spent "$1")
	detach "$1" "$2"
	echo "$1 $3 $before $after $(awk '$1 == "did" { sub(/wall_ns=/, "", $7); if ($7 > max) max = $7 }
		END { printf "%.0f\n", max }' "$said")" >>"$tmp/table"
	end
}
# The system calls of the daemon: at another time, as this slows it down
calls() { # WAY N COUNT SUBJECT-OPTION...
	launch "$track/subject" -c 1 "${@:4}"
	attach "$1" "$2"
	perf stat -x' ' -e raw_syscalls:sys_enter -p "${pid_of[$1]}" -o "$tmp/calls" 8>&- &
	perf=$!
	until [ "$(find "/proc/$perf/fd" -lname '*perf_event*' 2>/dev/null | wc -l)" -ge \
		"$(find "/proc/${pid_of[$1]}/task" -mindepth 1 -maxdepth 1 | wc -l)" ]; do sleep 0.02; done
	work
	perf_off
	detach "$1" "$2"
	end
	awk -v way="$1" -v count="$3" '/raw_syscalls/ { print way, "calls", $1 / count }' "$tmp/calls" >>"$tmp/table"
}

# row WHAT ROUNDS N COUNT SUBJECT-OPTION...: N of the subject's threads monitored, in all of $ways;
# COUNT units of work are done in all
row() {
	local i w n=${#ways[@]}
	: >"$tmp/table"
	for ((i = 0; i < $2; i++)); do
		for ((w = 0; w < n; w++)); do one "${ways[(i + w) % n]}" "${@:3}"; done
	done
	if [ -n "$traced" ] && [ "$3" -le 100 ]; then
		for w in kernel ctxsw; do calls "$w" "${@:3}"; done
	fi
	awk -v what="$1" -v order="${ways[*]}" "$quartiles"'
		$2 == "calls" { calls[$1] = sprintf("%.2f", $3); next }
		{
			i = n[$1]++
			count = $2
			t[$1, i] = $13 / count / 1e3
			for (k = 0; k < 5; k++)
				did[$1, k] = did[$1, k] + ($(8 + k) - $(3 + k)) / count
		}
		function each(w, k) { return did[w, k] / n[w] }
		END {
			last = split(order, w, " ")
			for (i = 1; i <= last; i++) {
				for (r = 0; r < n[w[i]]; r++)
					x[r] = t[w[i], r]
				quartiles(x, n[w[i]])
				turn = sprintf("%.2f", q[2])
				if (w[i] == "alone")
					alone = q[2]
				for (r = 0; r < n[w[i]]; r++)
					x[r] = t[w[i], r] - t["alone", r]
				quartiles(x, n[w[i]])
				cost[w[i]] = q[2]
				clear[w[i]] = q[1] > 0
				printf "%-8s %-7s %10s", i == 1 ? what : "", w[i], turn
				if (w[i] != "alone")
					printf " %8.2f %7.2f..%-7.2f %6.2f%% %6s", q[2], q[1], q[3], 100 * q[2] / alone,
						(clear["perf"] && clear[w[i]] ? sprintf("%.2f", q[2] / cost["perf"]) : "-")
				if (w[i] !~ /alone|perf/)
					printf " %7.2f %6.2f %6s %6.2f %5.1f+%.1f", each(w[i], 0) / 1e3, each(w[i], 1),
						w[i] in calls ? calls[w[i]] : "-", each(w[i], 2), each(w[i], 3), each(w[i], 4)
				print ""
			}
		}' "$tmp/table"
}
head_row() {
	printf '%-8s %-7s %10s %8s %16s %7s %6s %7s %6s %6s %6s %9s\n' "$1" way "us each" cost quartiles \
		slower /perf daemon waits calls ins accesses
}

start perf
pid_of[kernel]=$daemon pid_of[pid]=$daemon pid_of[inherit]=$daemon pid_of[whole]=$daemon
mkdir "$tmp/ctxsw"
mount_at "$tmp/ctxsw" perf --threads=ctxsw
pid_of[ctxsw]=$daemon pid_of[beside]=$daemon
ways=(alone perf kernel ctxsw)
have_perf || { skip "no perf(1) that works here: package linux-perf"; ways=(alone kernel ctxsw); }
traced=yes
have_syscalls || { skip "no perf event raw_syscalls:sys_enter: system calls are not counted"; traced=""; }
launch "$track/subject" -c 1 cpu 1
sleeper=${tids[0]} sleeping=$subject
exec 7>&8

echo "== threads: TIMES=$rounds rounds; us, medians. A turn: the thread goes off its CPU and comes back."
echo "   cost: what it takes longer than alone; /perf: by that of perf, where both are clear of 0 (their"
echo "   quartiles are); of the daemon, per turn:"
echo "   its CPU, waits of its threads, its system calls, contexts restored, register reads+writes"
all=("${ways[@]}") ways=(alone)
: >"$tmp/table"
for ((i = 0; i < rounds; i++)); do
	one alone 0 10000 turns 10000
	one alone 0 2000 -w 100000 turns 2000
done
# ns of a turn, and those that 100000 loops take
read -r bare loops < <(awk "$quartiles"'
	{ x[$2, n[$2]++] = $13 / $2 }
	END {
		for (i = 0; i < n[10000]; i++) { a[i] = x[10000, i]; b[i] = x[2000, i] }
		quartiles(a, i); bare = q[2]
		quartiles(b, i); printf "%d %d\n", bare, q[2] - bare
	}' "$tmp/table")
ways=("${all[@]}" inherit beside)
head_row turns/s
for rate in 20 1000 20000; do
	count=$((rate < 100 ? rate : rate / 4))
	loop=$(((1000000000 / rate - bare) * 100000 / loops))
	row $rate "$rounds" 1 $count -w $((loop > 0 ? loop : 0)) turns $count
done
row "$((1000000000 / bare))" "$rounds" 1 30000 turns 30000
head_row sleeps
row "" "$rounds" 1 5000 naps 5000

ways=("${all[@]}" pid whole)
echo "== threads: N of N + 1 threads on CPU 1 are monitored, all of which yield; us a switch"
head_row N
for n in ${THREADS:-1 10 100 1000 10000}; do
	if [ "${ways[1]}" = perf ] && ! prlimit --nofile="$(perf_files "$n")" true 2>/dev/null; then
		skip "perf: $n threads need more descriptors than ulimit -Hn, $(ulimit -Hn)"
		ways=(alone kernel ctxsw pid whole)
	fi
	# So many yields that starting all of them is a small part of it. To monitor 10000 takes a minute.
	each=$((n < 200 ? 100000 / (n + 1) : n < 2000 ? 500 : 20))
	row $n $((n < 1000 ? rounds : n < 10000 ? (rounds + 2) / 3 : 1)) $n $(((n + 1) * each)) -t $((n + 1)) yields $each
done

echo "== threads: to load and start contexts on N threads, and to remove them; KiB of the daemon's memory"
printf '%-8s %-7s %10s %10s %10s %12s\n' N way ms "us each" "end, ms" "KiB each"
for n in ${THREADS:-1 10 100 1000 10000}; do
	launch "$track/subject" -t "$n" yields 1
	for w in kernel whole; do
		before=$(resident "$w")
		begun=$EPOCHREALTIME
		attach $w "$n"
		loaded=$EPOCHREALTIME
		more=$(resident "$w")
		ending=$EPOCHREALTIME
		detach $w "$n"
		awk -v n="$n" -v w=$w -v a="$begun" -v b="$loaded" -v c="$ending" -v d="$EPOCHREALTIME" \
			-v kib=$((more - before)) 'BEGIN { printf "%-8d %-7s %10.1f %10.1f %10.1f %12.2f\n", n, w,
				(b - a) * 1e3, (b - a) * 1e6 / n, (d - c) * 1e3, kib / n }'
	done
	end
done

echo "== threads: CPU of the daemon in two seconds for a monitored thread that sleeps, us"
for w in kernel ctxsw; do
	monitor "${mnt[$w]}" tid=N "$sleeper"
	read -r cpu _ < <(spent $w)
	sleep 2
	read -r more _ < <(spent $w)
	echo "$w $(((more - cpu) / 1000))"
	unmonitor "${mnt[$w]}" "$sleeper"
done

switches=${SWITCHES:-200000}
echo "== threads: SWITCHES=$switches of one thread (of ctxsw at most 200000), and what its context has counted"
for w in kernel ctxsw; do
	[ $w = kernel ] || [ "$switches" -le 200000 ] || switches=200000
	launch "$track/subject" -c 1 turns "$switches"
	monitor "${mnt[$w]}" tid=N "${tids[0]}"
	missed=$(awk '/^ctxsw_(missed|late|stalled)/ { n += $2 } END { print n }' "${mnt[$w]}/stats")
	work
	echo "$w $(awk '$1 == "did" { print $8 }' "$said") counted=$(cat "${mnt[$w]}/ctx/${tids[0]}/pmd/1" 2>&1 |
		sed 's/.*: //') ctxsw_missed+late+stalled=$(awk -v n="$missed" '/^ctxsw_(missed|late|stalled)/ { n -= $2 }
		END { print -n }' "${mnt[$w]}/stats")"
	unmonitor "${mnt[$w]}" "${tids[0]}"
	end
done
echo >&7
exec 7>&-
wait "$sleeping" || true
stop
stop "${pid_of[kernel]}"
