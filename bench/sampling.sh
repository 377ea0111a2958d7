# SPDX-License-Identifier: MIT
# shellcheck shell=bash disable=SC2154
# What sampling costs; sourced by bench/run, whose functions and variables it uses. The program that
# is sampled burns CPU 1, by cpu-clock of the perf backend; the tool waits on CPU 0.
ctx=$tmp/mnt/ctx/a
ranges=$tmp/ranges

burn() {
	"$build/tests/fs/burner" 1 shares >"$ranges" &
	burner=$!
	pids+=("$burner")
	until grep -qs thread "$ranges"; do sleep 0.05; done
}
sampled() { # TICK_US PERIOD_NS SIZE [PMDS [PMD-OPTION...]]: a loaded context
	local clock n
	clock=$(awk '$1 == "cpu-clock" { print $2 }' "$tmp/mnt/pmu/events")
	echo "$1" >"$tmp/mnt/config/tick_us"
	mkdir "$ctx"
	echo "default size=$3 compact" >"$ctx/format"
	for ((n = 0; n < ${4:-1}; n++)); do
		echo "$clock" >"$ctx/pmc/$n"
		echo "-$2 short=-$2 long=-$2 notify ${*:5}" >"$ctx/pmd/$n"
	done
	echo load cpu=1 >"$ctx/ctl"
	worker=$(dirname "$(grep -lx pfm/1 "/proc/$daemon/task"/*/comm)")
}
of() { awk -v k="$1" '$1 == k { print $2 }' "$2"; }
# measure SAMPLES [SMPLREAD-OPTION...]: what smplread prints, and cpu, wall (ns) and looks besides
measure() {
	local looks c t
	looks=$(of polls "$tmp/mnt/stats") c=$(cut -d' ' -f1 "$worker/schedstat") t=$(date +%s%N)
	echo start >"$ctx/ctl"
	first taskset -c 0 "$build/tests/fs/smplread" "${@:2}" "$ctx" "$1" "$ranges"
	echo stop >"$ctx/ctl"
	echo "cpu $(($(cut -d' ' -f1 "$worker/schedstat") - c))"
	echo "wall $(($(date +%s%N) - t))"
	echo "looks_made $(($(of polls "$tmp/mnt/stats") - looks))"
	echo unload >"$ctx/ctl"
	rmdir "$ctx"
}
rate() { # KHZ
	local tick=$((1000 / $1))
	sampled $tick $((tick * 1000)) $((40 * 1000 * $1))
	measure $((${SAMPLES:-3000} * $1)) | awk -v tick=$tick '
		{ v[$1] = $2 }
		END {
			printf "%5d us: %5.0f samples/s of %.3f overflows, %d lost, %.1f %% of the time seen; ",
				tick, v["samples"] * 1e9 / v["elapsed"], v["weight"] / v["samples"], v["lost"],
				100 * v["weight"] * tick * 1e3 / v["wall"]
			printf "worker %.2f %% of its CPU, %.2f us a look\n", 100 * v["cpu"] / v["wall"],
				v["cpu"] / v["looks_made"] / 1e3
		}'
}
# Looks at eight PMDs that all have overflowed, less such looks of which one in 20 finds that. Of
# five times the cheapest: what else the machine does only adds.
price() { # WHAT BODY [PMD-OPTION]
	local n
	for n in 1 20 1 20 1 20 1 20 1 20; do
		sampled 250 $((250000 * n)) $((640000 * ${SAMPLES:-3000} / 3000)) 8 "${@:3}"
		measure $((${SAMPLES:-3000} * 8 / n)) -b "$2" | awk -v n=$n '
			{ v[$1] = $2 }
			END { print n, v["cpu"] / v["looks_made"], v["samples"] / v["looks_made"] }'
	done | awk -v what="$1" '
		!($1 in cost) || $2 < cost[$1] { cost[$1] = $2; found[$1] = $3 }
		END {
			printf "%s: %.3f us (looks %.2f and %.2f us)\n", what,
				(cost[1] - cost[20]) / (found[1] - found[20]) / 1e3, cost[1] / 1e3, cost[20] / 1e3
		}'
}

echo "== samples a second, and the CPU that they cost, at 1, 4 and 10 kHz"
start perf
echo 1000000 >"$tmp/mnt/config/overflow_rate_max"
burn
for khz in 1 4 10; do rate $khz; done
echo "== the price of one sample, in CPU of the worker"
price "without a body" 0
price "with 8 values" 8 smpl=0-7

# A buffer of 512 bytes is soon full. Time stamps are those of the look; an overflow is up to a tick
# older.
latency() { # WHAT
	sampled 1000 1000000 512
	measure $((${SAMPLES:-3000} * 2 / 3)) | awk -v what="$1" '
		$1 == "rounds" { n = $2 }
		$1 == "latency" { printf "%s: median %.1f us, 90 %% %.1f, 99 %% %.1f, max %.1f (%d times)\n",
			what, $2 / 1e3, $3 / 1e3, $4 / 1e3, $5 / 1e3, n }'
}
echo "== from the sample that fills the buffer to the return of a read of msg that waits for it"
latency "mapped by the kernel"
kill "$burner"
stop
taskset -c 0 "$build/daemon/perfmonfs" -f --backend=perf -o nopassthrough "$tmp/mnt" &
pids+=($!)
daemon=$!
up "$tmp/mnt"
burn
latency "nopassthrough"
kill "$burner"
stop
