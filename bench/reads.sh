# SPDX-License-Identifier: MIT
# shellcheck shell=bash disable=SC2154
# What it costs to read a count; sourced by bench/run, whose functions and variables it uses.

echo "== one pread of pmd/0 on an open file, client and session thread on CPU 0"
taskset -c 0 "$build/bench/bench_floor" "$tmp/floor" &
pids+=($!)
up "$tmp/floor"
start perf
for c in unloaded here there; do
	mkdir "$tmp/mnt/ctx/$c"
	awk '$1 == "page-faults" { print $2 }' "$tmp/mnt/pmu/events" >"$tmp/mnt/ctx/$c/pmc/0"
done
echo load cpu=0 >"$tmp/mnt/ctx/here/ctl"
echo load cpu=1 >"$tmp/mnt/ctx/there/ctl"
for c in here there; do echo start >"$tmp/mnt/ctx/$c/ctl"; done
(cd "$tmp" && taskset -c 0 "$build/bench/bench_pread" "${ROUNDS:-20000}" floor/f mnt/ctx/unloaded/pmd/0 \
	mnt/ctx/here/pmd/0 mnt/ctx/there/pmd/0)

echo "== READ_PMDS of a context on CPU 0 by its clone, and the life of one, all of them on CPU 0"
echo unload >"$tmp/mnt/ctx/here/ctl"
echo 65536 >"$tmp/mnt/config/arg_size_max"
taskset -c 0 "$build/bench/bench_ioctl" "${ROUNDS_IOCTL:-500}" "$tmp/floor/f" "$tmp/mnt/clone" \
	"$(awk '$1 == "page-faults" { print $2 }' "$tmp/mnt/pmu/events")"
until echo load cpu=0 2>/dev/null >"$tmp/mnt/ctx/here/ctl"; do sleep 0.05; done
echo start >"$tmp/mnt/ctx/here/ctl"

echo "== one count of a running context, by the page that live gives to those who map it"
cat "$tmp/mnt/ctx/here/set/0/live" >/dev/null
if grep -q '^passthrough 1$' "$tmp/mnt/stats"; then
	(cd "$tmp/mnt/ctx/here" && taskset -c 0 "$build/bench/bench_live" "${ROUNDS_LIVE:-500}" \
		set/0/live pmd/0)
else
	echo "(no passthrough: live cannot be mapped here)"
fi
stop

# The kernel opens no event "tsc" by the name that regions give it.
echo "== a region that begins and ends: ns, and two read(2) of a perf group in the same run"
region() { # WHAT EVENTS PAIRS
	echo "$1: $(first "$build/tools/pfm/pfm" stat --mount="$tmp/mnt" --regions -e "$2" -o "$tmp/out" \
		"$build/bench/bench_region" "$3" 1 | paste -sd' ')"
}
start perf
region "by the thread's own events" page-faults:u,minor-faults:u "${ROUNDS_REGION:-55000}"
region "by READ_PMDS of a context" page-faults:u,tsc "${ROUNDS_REGION:-5500}"
echo "without pfm: $(first "$build/bench/bench_region" "${ROUNDS_REGION:-55000}" 1 | paste -sd' ')"
stop

echo "== age of the newest context sample at a poll, and what a poll takes"
"$build/bench/bench_skew" 1 "${LOOKS:-3000}" 1000 250 100
