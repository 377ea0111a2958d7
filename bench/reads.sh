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

echo "== a region that begins and ends: a pair of READ_PMDS of the thread's own context; ns, and without pfm"
start perf
"$build/tools/pfm/pfm" stat --mount="$tmp/mnt" --regions -e page-faults:u -o "$tmp/out" \
	"$build/bench/bench_region" "${ROUNDS_REGION:-5500}" 1
"$build/bench/bench_region" "${ROUNDS_REGION:-5500}" 1
stop

echo "== age of the newest context sample at a poll, and what a poll takes"
"$build/bench/bench_skew" 1 "${LOOKS:-3000}" 1000 250 100
