# SPDX-License-Identifier: MIT
# shellcheck shell=bash disable=SC2154
# What does not count costs nothing: the daemon's CPU time while one context counts, by what else there is;
# sourced by bench/run, whose functions and variables it uses.
#
# A second: the tick of the contexts that are loaded, 1000 times. A command: start or stop, without the ticks
# meanwhile.
ctxs=$tmp/mnt/ctx

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

	sleep 1 # what was made settles
	before=$(accesses)
	t0=$(daemon_us)
	sleep 2
	t1=$(daemon_us)
	after=$(accesses)
	begun=$EPOCHREALTIME
	for ((i = 0; i < 500; i++)); do
		echo stop >"$ctxs/a/ctl"
		echo start >"$ctxs/a/ctl"
	done
	t2=$(daemon_us)
	ended=$EPOCHREALTIME
	awk -v s="$begun" -v e="$ended" -v a="$t0" -v b="$t1" -v c="$t2" -v n="$(delta "$before" "$after")" -v what="$1" 'BEGIN {
		split(n, x, "+")
		printf "%-46s %9.1f %9d ", what, (b - a) / 2000, (x[1] + x[2]) / 2
		if (b - a > 400000)
			print "        -"
		else
			printf "%9.1f\n", (c - b - (b - a) / 2 * (e - s)) / 1000 }'
}

echo "== the daemon's CPU time: ms a second, register accesses a second, us a command"
event=0x410000 # happens never
start sim:intel_v4 --sim-cpus=256
counting a cpu=1
cost "256 CPUs, 1 context counts"
(cd "$ctxs" && seq -f c%.0f 1000 | xargs mkdir)
cost "and 1,000 contexts are not loaded"
(cd "$ctxs/c1/set" && seq 65535 | xargs mkdir)
cost "and one of these has 65,536 sets"
echo unload >"$ctxs/a/ctl"
(cd "$ctxs/a/set" && seq 65535 | xargs mkdir)
counting a cpu=1
cost "and the one that counts has 65,536 sets"
rmdir "$ctxs/a"
for ((n = 1; n <= 200; n++)); do counting "c$n" "cpu=$((n + 1))"; done
counting a cpu=1
cost "201 contexts count, one of them with 65,536"
stop

ulimit -S -n "$(ulimit -H -n)"
event=page-faults:u
start perf
# Some 10,000 threads that sleep.
python3 -c '
import threading
threading.stack_size(65536)
wait = threading.Event()
for _ in range(9999):
	threading.Thread(target=wait.wait, daemon=True).start()
print("ready", flush=True)
wait.wait()' >"$tmp/said" &
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
cost "and 10,000 threads are counted"
stop
