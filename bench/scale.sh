# SPDX-License-Identifier: MIT
# shellcheck shell=bash disable=SC2154
# What does not count costs nothing: the daemon's CPU time while one context counts, by what else there is;
# sourced by bench/run, whose functions and variables it uses.
#
# A second: the tick of the contexts that are loaded, 1000 times. A command: start or stop, without the ticks
# meanwhile.
ctxs=$tmp/mnt/ctx
sets=${MANY_SETS:-65536}
threads=${MANY_THREADS:-10000}
each_ms=${EACH_MS:-2000}
commands=$((each_ms / 4))

# counting NAME TARGET: its counter is about to overflow, at each tick, and never does
counting() {
	mkdir -p "$ctxs/$1"
	echo "$event" >"$ctxs/$1/pmc/0"
	echo "-1 notify" >"$ctxs/$1/pmd/0"
	echo "load $2" >"$ctxs/$1/ctl"
	echo start >"$ctxs/$1/ctl"
}

cost() { # WHAT: of context a. Where ticks are many, a command is less than they vary by.
	local t0 t1 t2 before after begun ended i

	sleep "$(awk -v ms=$each_ms 'BEGIN { print ms / 2000 }')" # what was made settles
	before=$(accesses)
	t0=$(daemon_us)
	sleep "$(awk -v ms=$each_ms 'BEGIN { print ms / 1000 }')"
	t1=$(daemon_us)
	after=$(accesses)
	begun=$EPOCHREALTIME
	for ((i = 0; i < commands; i++)); do
		echo stop >"$ctxs/a/ctl"
		echo start >"$ctxs/a/ctl"
	done
	t2=$(daemon_us)
	ended=$EPOCHREALTIME
	awk -v ms=$each_ms -v commands=$commands -v s="$begun" -v e="$ended" -v a="$t0" -v b="$t1" -v c="$t2" -v n="$(delta "$before" "$after")" -v what="$1" 'BEGIN {
		split(n, x, "+")
		printf "%-46s %9.1f %9d ", what, (b - a) / ms, (x[1] + x[2]) * 1000 / ms
		if (b - a > 200 * ms)
			print "        -"
		else
			printf "%9.1f\n", (c - b - (b - a) * 1000 / ms * (e - s)) / 2 / commands }'
}

echo "== the daemon's CPU time: ms a second, register accesses a second, us a command"
event=0x410000 # happens never
start sim:intel_v4 --sim-cpus=256
counting a cpu=1
cost "256 CPUs, 1 context counts"
(cd "$ctxs" && seq -f c%.0f 1000 | xargs mkdir)
cost "and 1,000 contexts are not loaded"
(cd "$ctxs/c1/set" && seq $((sets - 1)) | xargs mkdir)
cost "and one of these has $sets sets"
echo unload >"$ctxs/a/ctl"
(cd "$ctxs/a/set" && seq $((sets - 1)) | xargs mkdir)
counting a cpu=1
cost "and the one that counts has $sets sets"
rmdir "$ctxs/a"
for ((n = 1; n <= 200; n++)); do counting "c$n" "cpu=$((n + 1))"; done
counting a cpu=1
cost "201 contexts count, one of them with $sets"
stop

ulimit -S -n "$(ulimit -H -n)"
event=page-faults:u
start perf
# Threads that sleep.
python3 -c '
import sys, threading
threading.stack_size(65536)
wait = threading.Event()
for _ in range(int(sys.argv[1]) - 1):
	threading.Thread(target=wait.wait, daemon=True).start()
print("ready", flush=True)
wait.wait()' "$threads" >"$tmp/said" &
subject=$!
pids+=("$subject")
until grep -q ^ready "$tmp/said"; do sleep 0.1; done
sleep 1000 &
sleeper=$!
pids+=("$sleeper")
counting a "tid=$sleeper"
cost "perf: 1 context counts a thread"
mkdir "$ctxs/big"
echo "$event" >"$ctxs/big/pmc/0"
echo "load pid=$subject" >"$ctxs/big/ctl"
echo start >"$ctxs/big/ctl"
cost "and $threads threads are counted"
stop
