# SPDX-License-Identifier: MIT
# shellcheck shell=bash disable=SC2154
# How long a user waits for the daemon while another user does what takes long; sourced by bench/run,
# whose functions and variables it uses. The other's works begin and end while the first one looks.
many=${MANY:-10000}
ctxs=$tmp/mnt/ctx

as() { PATH=/usr/bin:/bin setpriv --reuid="$1" --regid="$1" --clear-groups "${@:2}"; }
attacker() { as 2001 "$@"; }
victim() { as 2002 "$@"; }

# A process of many threads, all monitored
monitored() {
	rm -f "$tmp/said"
	(attacker python3 -c '
import os, sys, threading
threading.stack_size(65536)
wait = threading.Event()
for _ in range(int(sys.argv[1]) - 1):
	threading.Thread(target=wait.wait, daemon=True).start()
print("ready", os.getpid(), flush=True)
wait.wait()' "$many" >"$tmp/said" &) # not a job, whose end would be reported
	until grep -qs ^ready "$tmp/said"; do sleep 0.02; done
	subject=$(awk '{ print $2 }' "$tmp/said")
	pids+=("$subject")
	# shellcheck disable=SC2016
	attacker sh -c 'mkdir "$0/big" && echo "load pid=$1" >"$0/big/ctl" && echo start >"$0/big/ctl"' \
		"$ctxs" "$subject" || { cat "$ctxs/big/last_error"; exit 1; }
}

# Four users with 1,000 threads each that wait for messages.
readers() {
	local uid

	subjects=()
	for uid in 2011 2012 2013 2014; do
		rm -f "$tmp/said"
		(as "$uid" python3 -c '
import os, sys, threading
threading.stack_size(65536)
path = sys.argv[1] + "/reader" + sys.argv[2]
os.mkdir(path)
fd = os.open(path + "/msg", os.O_RDONLY)
for _ in range(1000):
	threading.Thread(target=os.read, args=(fd, 4096), daemon=True).start()
print("ready", os.getpid(), flush=True)
threading.Event().wait()' "$ctxs" "$uid" >"$tmp/said" &)
		until grep -qs ^ready "$tmp/said"; do sleep 0.02; done
		subjects+=("$(awk '{ print $2 }' "$tmp/said")")
	done
	pids+=("${subjects[@]}")
}
kill_readers() {
	kill -KILL "${subjects[@]}"
	while kill -0 "${subjects[@]}" 2>/dev/null; do sleep 0.1; done
}
# shellcheck disable=SC2016
contexts() { attacker sh -c 'cd "$0" && seq -f c%.0f "$1" | xargs "$2"' "$ctxs" "$many" "$1"; }
state() { cat "$ctxs/big/state"; }

prepare() {
	case $1 in
	kill | unload) monitored ;;
	rmdir) contexts mkdir ;;
	readers) readers ;;
	esac
}

# A user loads and unloads 64 contexts, in eight processes, for three seconds.
loads() {
	# shellcheck disable=SC2016
	attacker bash -c '
	sleep 1000 & t=$!
	cd "$0" && mkdir l{1..64} 2>/dev/null
	end=$((SECONDS + 3))
	for i in {1..8}; do
		while [ $SECONDS -lt $end ]; do
			for c in l{1..64}; do echo "load tid=$t" >$c/ctl; echo unload >$c/ctl; done 2>/dev/null
		done &
		loops+=($!)
	done
	wait "${loops[@]}"
	kill $t
	rmdir l{1..64}' "$ctxs"
}

# A user's 1,000 threads write as many registers as one write can, each to an event set of its own.
writes() {
	attacker python3 -c '
import os, sys, threading, time
threading.stack_size(65536)
path = sys.argv[1] + "/writer"
os.mkdir(path)
text = b"pmd0 1\n" * (4096 // 7)
end = time.monotonic() + 3
def write(n):
	where = "%s/set/%d" % (path, n)
	os.mkdir(where)
	fd = os.open(where + "/regs", os.O_WRONLY)
	while time.monotonic() < end:
		os.write(fd, text)
threads = [threading.Thread(target=write, args=(n,)) for n in range(1, 1001)]
for t in threads:
	t.start()
for t in threads:
	t.join()
os.rmdir(path)' "$ctxs"
}

attack() {
	case $1 in
	nothing) sleep 2 ;;
	kill)
		kill -KILL "$subject"
		until state | grep -q zombie; do sleep 0.1; done
		;;
	unload) attacker rmdir "$ctxs/big" ;;
	mkdir | rmdir) contexts "$1" ;;
	loads) loads ;;
	readers) kill_readers ;;
	writes) writes ;;
	esac
}
clean() {
	case $1 in
	kill) attacker rmdir "$ctxs/big" ;;
	unload) kill -KILL "$subject" ;;
	mkdir) contexts rmdir ;;
	readers) rmdir "$ctxs"/reader* ;;
	esac
}

echo "== attack: MANY=$many; what another user waits for meanwhile, ms, median and worst"
chmod 755 "$tmp"
start perf
echo $((many + 1000)) >"$tmp/mnt/config/user_contexts_max"
echo $((1 << 33)) >"$tmp/mnt/config/user_memory_max"
echo $((1 << 36)) >"$tmp/mnt/config/memory_max"
for a in ${ATTACKS:-nothing kill unload mkdir rmdir loads readers writes}; do
	prepare "$a"
	mkfifo "$tmp/until"
	victim "$build/bench/bench_probe" "$tmp/mnt" <"$tmp/until" >"$tmp/waited" &
	probe=$!
	exec 9>"$tmp/until"
	rm "$tmp/until"
	begun=$EPOCHREALTIME
	attack "$a"
	took=$(awk -v a="$begun" -v b="$EPOCHREALTIME" 'BEGIN { printf "%.1f s", b - a }')
	exec 9>&-
	wait $probe
	printf '%-8s %7s %s\n' "$a" "$took" "$(cat "$tmp/waited")"
	clean "$a"
done
stop
