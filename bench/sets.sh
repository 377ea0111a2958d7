# SPDX-License-Identifier: MIT
# shellcheck shell=bash disable=SC2154
# What event sets cost; sourced by bench/run, whose functions and variables it uses.
ctx=$tmp/mnt/ctx/a

# Sets 0 and 1 with user events in the model's first four counters, another event in each.
fill_two() { # FLAGS PMD-0 [PMC-0]
	local s r
	mkdir "$ctx" "$ctx/set/1"
	n=0
	for r in 0 1 2 3; do
		[ -e "$ctx/pmc/$r" ] || continue
		for s in 0 1; do echo $((0x4100c0 + s * 4)) >"$ctx/set/$s/pmc/$r"; done
		n=$((n + 1))
	done
	for s in 0 1; do
		echo 1000000 >"$ctx/set/$s/timeout_ns"
		echo "$1" >"$ctx/set/$s/flags"
		echo "$2" >"$ctx/set/$s/pmd/0"
	done
	[ -z "${3-}" ] || echo "$3" >"$ctx/pmc/0"
	echo load cpu=1 >"$ctx/ctl"
	echo start >"$ctx/ctl"
}
switches() { awk '$1 == "switches" { print $2 }' "$tmp/mnt/stats"; }
# What a switch costs or, if there are none, a millisecond of model time, in which one look falls due. Each write
# to sim/advance looks at the counters before the time passes: that is not counted.
each_ms() {
	local none some before n
	before=$(accesses)
	echo 0 >"$tmp/mnt/sim/advance"
	none=$(delta "$before" "$(accesses)")
	before=$(accesses) n=$(switches)
	echo 96000000 >"$tmp/mnt/sim/advance"
	some=$(delta "$before" "$(accesses)")
	awk -v a="$none" -v b="$some" -v n=$(($(switches) - n)) 'BEGIN {
		split(a, x, "+"); split(b, y, "+")
		n = n ? n : 96
		printf "%.3g+%.3g ", (y[1] - x[1]) / n, (y[2] - x[2]) / n }'
}
remove() { rmdir "$ctx"; }
# Read the counters, write them and the selectors; start and stop, by one register or by each.
least() {
	case $1 in
	p6) echo "$n+$((2 * n + 1)) " ;;
	intel_v1 | amd_legacy | amd_ext) echo "$n+$((3 * n)) " ;;
	*) echo "$n+$((2 * n + 2)) " ;;
	esac
}

echo "== register accesses of one switch of n counters by time, by overflow with the looks before it, and of one look"
echo "   (tick) without and with the overflow status register, reads+writes"
printf '%-11s %3s %9s %9s %9s %9s %9s\n' model n least time overflow look status
for model in $models; do
	# Their counters have selectors of other forms.
	case $model in netburst* | itanium2) continue ;; esac
	start "sim:$model" --clock=script
	row=""
	for kind in "time_switch 0" "ovfl_switch -1" "none -1"; do
		# Event 0 never happens: there the counter is always about to wrap, and never does.
		case $kind in
		ovfl*) fill_two ovfl_switch "-2000000 short=-2000000 thresh=1" ;; # events of a millisecond
		none*) fill_two none -1 0x410000 ;;
		*) fill_two time_switch 0 ;;
		esac
		cost=$(each_ms)
		if [ "${kind%% *}" = none ]; then
			echo 0x38e,0xc0000300 >"$tmp/mnt/sim/fault" # now it does without
			echo 20000000 >"$tmp/mnt/sim/advance"
			without=$(each_ms)
			[ "$without" != "$cost" ] || cost=-
			cost="$without $cost"
		fi
		row="$row $cost"
		remove
	done
	# shellcheck disable=SC2046,SC2086
	printf '%-11s %3s %9s %9s %9s %9s %9s\n' $model $n $(least $model) $row
	stop
done

fill_ring() { # COUNT: sets 0..COUNT-1, two software events each
	mkdir "$ctx"
	[ "$1" = 1 ] || (cd "$ctx/set" && seq $(($1 - 1)) | xargs mkdir)
	# One write each, without a process for it.
	for ((s = 0; s < $1; s++)); do
		echo "$faults" >"$ctx/set/$s/pmc/0"
		echo "$minor" >"$ctx/set/$s/pmc/1"
		echo "$timeout" >"$ctx/set/$s/timeout_ns"
		echo time_switch >"$ctx/set/$s/flags"
	done
	echo load cpu=1 >"$ctx/ctl"
}
measure() { "$build/bench/bench_switch" "$tmp/mnt" a 1 "${MS:-2000}"; }

echo "== overhead by timeout, perf backend, 2 sets of 2 software events, CPU otherwise idle"
start perf
faults=$(awk '$1 == "page-faults" { print $2 }' "$tmp/mnt/pmu/events")
minor=$(awk '$1 == "minor-faults" { print $2 }' "$tmp/mnt/pmu/events")
echo 100 >"$tmp/mnt/config/tick_us"
best=""
for us in 100 200 500 1000 2000 5000 10000; do
	timeout=${us}000
	fill_ring 2
	said=$(measure)
	printf '%6d us: %s\n' $us "$said"
	percent=${said##*overhead } percent=${percent%% *}
	[ -n "$best" ] || awk -v p="$percent" 'BEGIN { exit !(p < 2) }' && best=${best:-$us}
	remove
done
echo "shortest timeout under 2 %: $best us"

echo "== by number of sets, timeout 200 us, perf backend"
timeout=200000
for count in ${SETS:-1 10 1000 65536}; do
	rss=$(awk '/^VmRSS/ { print $2 }' "/proc/$daemon/status")
	fill_ring $count
	printf '%5d sets: %s; %d KiB more\n' $count "$(measure)" \
		$(($(awk '/^VmRSS/ { print $2 }' "/proc/$daemon/status") - rss))
	remove
done
stop

echo "== register accesses of one switch by number of sets (sim:intel_v4, 1 counter)"
start sim:intel_v4 --clock=script
faults=0x4100c0 minor=0x4100c4 timeout=1000000
for count in ${SETS:-1 10 1000 65536}; do
	fill_ring $count
	echo start >"$ctx/ctl"
	printf '%5d sets: %s\n' $count "$(each_ms)"
	remove
done

stop

many_sets=${MANY_SETS:-65536}
echo "== time and memory to make and to remove $many_sets sets"
start perf
mkdir "$ctx"
rss() { awk '/^VmRSS/ { print $2 }' "/proc/$daemon/status"; }
before=$(rss)
t0=$EPOCHREALTIME
(cd "$ctx/set" && seq $((many_sets - 1)) | xargs mkdir)
t1=$EPOCHREALTIME
full=$(rss)
(cd "$ctx/set" && seq $((many_sets - 1)) | xargs rmdir)
t2=$EPOCHREALTIME
empty=$(rss)
awk -v a="$t0" -v b="$t1" -v c="$t2" -v f=$((full - before)) -v e=$((empty - before)) -v n=$many_sets 'BEGIN {
	printf "make %.2f s, remove %.2f s, %.0f bytes of VmRSS a set; %d KiB are left afterwards\n",
		b - a, c - b, f * 1024 / n, e }'
remove
stop

[ -n "${VM-}" ] || return 0
echo "== on real counters, in the virtual machine: scaled counts of two sets of four events, over"
echo "   a steady program of 900,000,008 instructions, by timeout; and what a switch costs"
mkdir "$tmp/vm"
cp "$build/daemon/perfmonfs" "$build/tests/vm/loop" "$build/bench/bench_switch" tests/vm/*.sh "$tmp/vm"
more='pmc2 0x4100c5
pmc3 0x41003c'
for vars in "PMU=1" "PMU=amd QPMU=amdn=6"; do
	echo "$vars"
	# shellcheck disable=SC2046,SC2086
	nice -n -20 env MODULES="msr cpuid fuse" HOSTROOT=1 MEM=3G APPEND=nmi_watchdog=0 $vars \
		"$VM/run" "$tmp/vm" "sh ./guest.sh bench '$more'"
done
