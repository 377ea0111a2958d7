# SPDX-License-Identifier: MIT
# pfm stat: what it counts, by the simulator, whose numbers are the same every time; commands and how they
# end, on the backend perf. A thread's count may be lost on a busy machine; then the row says so.

load common

schema() {
	"$BATS_TEST_DIRNAME/schema.py" "$@"
}

# on_sim OPTION...: pfm stat on CPU 1, while a second of the model's time passes; the output is in "output"
on_sim() {
	run --separate-stderr pfm stat --mount="$MNT" -o "$BATS_TEST_TMPDIR/out" -C 1 "$@" \
		-- sh -c "echo 1000000000 >$MNT/sim/advance"
	printf '%s\n' "$stderr"
	output=$(cat "$BATS_TEST_TMPDIR/out")
}

# fields FORMAT NAME...: as schema prints them
fields() {
	local text=$output

	output=$(schema "$@" <<<"$text")
}

# lost_statistics EVENT REASON: $output has the statistics of EVENT in two runs, with REASON and no number
lost_statistics() {
	python3 -c '
import json, sys
rows = [json.loads(line) for line in sys.stdin]
row, = [r for r in rows if r.get("statistics") == sys.argv[1] and r["lost"]]
assert sys.argv[2] in row["lost"] and row["runs"] == 2, row
assert all(row[k] is None for k in ("value", "mean", "deviation", "median", "min", "max", "outliers")), row
runs = [r for r in rows if r.get("event") == sys.argv[1] and r["tid"] == row["tid"]]
assert [r["run"] for r in runs] == [1, 2] and any(r["lost"] for r in runs), runs' "$@" <<<"$output"
}

# --- what is counted

@test "sim: counts are exact, with level and ratios" {
	serve --backend=sim
	on_sim -j -e instructions:u,cycles:u
	[ "$status" = 0 ]
	fields json instructions:u cycles:u
	is $'2000000000\n2400000000'
	on_sim -e instructions:u,cycles:u
	grep -q '2,000,000,000 .*instructions:u .*0.83 per cycle' <<<"$output"
	fails grep -E '^.{81}' <<<"$output"
	no_contexts
}

@test "sim: the default events" {
	serve --backend=sim
	on_sim -j
	[ "$status" = 0 ]
	fields json instructions cycles branches branch-misses
	fails grep -q lost <<<"$output"
}

@test "sim: a group, and its metrics" {
	export PFM_EVENTS=$BATS_TEST_TMPDIR/events
	mkdir "$PFM_EVENTS"
	printf '%s\n' 'group mine' 'event i = instructions:u' 'event c = cycles:u' \
		'metric IPC [per cycle] = i / c' 'metric miss = i / (c - c)' 'metric sum = i + c ; of both' \
		>"$PFM_EVENTS/mine.group"
	serve --backend=sim
	on_sim -j -g mine
	[ "$status" = 0 ]
	fields json i c IPC sum
	is $'2000000000\n2400000000\n0.833333333\n4400000000.0'
	on_sim -g mine -e branches:u
	[ "$status" = 0 ]
	grep -qE '^ +2,000,000,000 +i +u$' <<<"$output"
	fails grep ' $' <<<"$output"
	grep -qE '^ +400,000,000 +branches:u +u$' <<<"$output"
	grep -qE '^ +0\.8333 +IPC +per cycle$' <<<"$output"
	grep -qE '^ +- +miss$' <<<"$output"
	grep -qE '^ +4,400,000,000 +sum +of both$' <<<"$output"
	fails grep -E '^.{81}' <<<"$output"
	# As statistics, too
	on_sim -g mine -r 2
	grep -qE '^ +0\.8333 +IPC +\+- +0.00 %$' <<<"$output"
	grep -qE '^ +- +miss$' <<<"$output"
	# One event after the other
	on_sim -j -g mine --rerun
	fields json i c IPC
	is $'2000000000\n2400000000\n0.833333333'
	run -125 pfm stat --mount="$MNT" -g yours true
	[[ $output == *yours* ]]
}

@test "sim: a name of libpfm4 leaves the environment of the command alone" {
	pfm --version | grep -q '^libpfm4 [0-9]' || skip "pfm was built without libpfm4"
	export LIBPFM_DISABLED_PMUS=mine
	serve --backend=sim
	run -0 --separate-stderr pfm stat --mount="$MNT" -C 1 -e skl::INST_RETIRED:ANY_P -- env
	grep -q '^LIBPFM_DISABLED_PMUS=mine$' <<<"$output"
	fails grep -q '^LIBPFM_ENCODE_INACTIVE' <<<"$output"
	# What the user disables is not what pfm needs.
	run -0 pfm encode --mount="$MNT" skl::INST_RETIRED:ANY_P
	is 0x4300c0
}

@test "sim: CSV" {
	serve --backend=sim
	on_sim -x, -e instructions:u
	fields csv instructions:u
	is 2000000000
	for separator in 1 e _ + ab ''; do
		run -125 pfm stat --mount="$MNT" -C 1 -x "$separator" true
	done
}

@test "sim: more events than counters" {
	local events=r00c4:u,r00c4:u,r00c4:u,r00c4:u,r00c4:u

	serve --backend=sim
	on_sim -e "$events"
	[ "$status" = 125 ]
	[[ $stderr == *--mux* && $stderr == *--rerun* ]]
	# Each is exact: the command runs once for each of two event sets.
	# The status is that of the first pass that fails.
	# shellcheck disable=SC2016
	run -3 pfm stat --mount="$MNT" -C 1 --rerun -e "$events" -- sh -c '[ -e "$0" ] || { : >"$0"; exit 3; }' \
		"$BATS_TEST_TMPDIR/ran"
	on_sim -j --rerun -e "$events"
	[ "$status" = 0 ]
	fields json r00c4:u
	is "400000000 400000000 400000000 400000000 400000000"
	# By turns: estimates with their share of the time.
	on_sim -j --mux -e "$events"
	[ "$status" = 0 ]
	python3 - "$output" <<-'END'
		import json, sys
		for line in sys.argv[1].splitlines():
		    row = json.loads(line)
		    if "event" in row:
		        assert 0.3 < row["active"] < 0.7, row
		        assert abs(row["value"] - 4e8) < 4e6, row
	END
	on_sim --mux -e "$events"
	[ "$(grep -c '\[5[0-9] %\]\|\[4[0-9] %\]' <<<"$output")" = 5 ]
	# A count that is lost has had its share of the time, too.
	run -3 pfm stat --mount="$MNT" -j --mux -o "$BATS_TEST_TMPDIR/out" -C 1 -e "$events" -- sh -c \
		"cd $MNT/sim && echo 1000000000 >advance && echo '1 0x186 0x4300c6' >poke && echo 1000000000 >advance"
	python3 - "$BATS_TEST_TMPDIR/out" <<-'END'
		import json, sys
		lost = [row for row in map(json.loads, open(sys.argv[1])) if "event" in row and row["lost"]]
		assert lost and all(0.3 < row["active"] < 0.7 for row in lost), lost
	END
}

@test "sim: the command has the descriptors and signals that it has without pfm" {
	serve --backend=sim
	ls /proc/self/fd >"$BATS_TEST_TMPDIR/fds"
	pfm stat --mount="$MNT" -C 1 -- ls /proc/self/fd >"$BATS_TEST_TMPDIR/fds.pfm"
	diff "$BATS_TEST_TMPDIR/fds" "$BATS_TEST_TMPDIR/fds.pfm"
	grep ^Sig /proc/self/status >"$BATS_TEST_TMPDIR/signals"
	pfm stat --mount="$MNT" -C 1 -- grep ^Sig /proc/self/status >"$BATS_TEST_TMPDIR/signals.pfm"
	diff <(grep -v SigQ "$BATS_TEST_TMPDIR/signals") <(grep -v SigQ "$BATS_TEST_TMPDIR/signals.pfm")
	(
		trap '' PIPE
		grep ^SigIgn /proc/self/status >"$BATS_TEST_TMPDIR/signals"
		pfm stat --mount="$MNT" -C 1 -- grep ^SigIgn /proc/self/status >"$BATS_TEST_TMPDIR/signals.pfm"
	)
	diff "$BATS_TEST_TMPDIR/signals" "$BATS_TEST_TMPDIR/signals.pfm"
}

# Other software takes the counter over, and gives it back before the next run
STEAL="echo '1 0x186 0x4300c4' >\$MNT/sim/poke; echo 1000000 >\$MNT/sim/advance; echo '1 0x186 0' >\$MNT/sim/poke"

@test "sim: the statistics of runs, for programs" {
	local form
	local lose=(-r 2 -e r00c4:u -C 1 --allow-lost -- sh -c "$STEAL")

	serve --backend=sim
	# The second run advances twice as far, the third three times.
	for form in json csv; do
		rm -f "$BATS_TEST_TMPDIR/runs"
		run -0 pfm stat --mount="$MNT" -r 3 "$([ $form = csv ] && echo -x, || echo -j)" -e instructions:u -C 1 -- \
			sh -c 'echo >>"$0/runs"; echo $(($(wc -l <"$0/runs") * 1000000)) >"$1/sim/advance"' \
			"$BATS_TEST_TMPDIR" "$MNT"
		fields $form instructions:u "statistics instructions:u"
		[[ $output =~ ^"2000000 4000000 6000000"$'\n'4000000(\.0)?$ ]]
	done
	export MNT
	run -0 pfm stat --mount="$MNT" -j "${lose[@]}"
	fields json "statistics r00c4:u"
	is lost
	# One lost count of two is lost in the statistics, which still are those of two runs.
	run -0 pfm stat --mount="$MNT" -j "${lose[@]:0:7}" -- sh -c "[ -e \$0 ] || { $STEAL; }; : >\$0" "$BATS_TEST_TMPDIR/lost"
	lost_statistics r00c4:u "taken over"
}

@test "sim: two commands are compared" {
	local n form

	serve --backend=sim
	# In turns: each finds what the other has done before.
	for form in -j -x,; do
		rm -f "$BATS_TEST_TMPDIR/turns"
		run -0 pfm stat --mount="$MNT" -C 1 -r 5 $form -e instructions:u,cycles:k --compare \
			"echo A >>$BATS_TEST_TMPDIR/turns; echo 1000000 >$MNT/sim/advance" \
			"echo B >>$BATS_TEST_TMPDIR/turns; echo 1100000 >$MNT/sim/advance"
		[ "$(tr -d '\n' <"$BATS_TEST_TMPDIR/turns")" = ABABABABAB ]
		fields "$([ $form = -j ] && echo json || echo csv)" "comparison instructions:u" "comparison cycles:k"
		[[ $output =~ ^10(\.0)?$'\n'10(\.0)?$ ]]
	done
	run -0 pfm stat --mount="$MNT" -C 1 -r 4 -e instructions:u --compare \
		"echo 1000000 >$MNT/sim/advance" "echo 1100000 >$MNT/sim/advance"
	grep -qE '^instructions:u +u +2,000,000 +2,200,000 \+10\.00 % +p=0\.0286$' <<<"$output"
	fails grep -E '^.{81}' <<<"$output"
	run -0 pfm stat --mount="$MNT" -C 1 -e instructions:u --compare \
		"echo 1000000 >$MNT/sim/advance" "echo 1000000 >$MNT/sim/advance; true"
	grep -qE '^instructions:u .* no difference shown$' <<<"$output"
	grep -q '^A: 10 runs of echo' <<<"$output"
	run -0 pfm stat --mount="$MNT" -C 1 -e instructions:u --compare : "echo 1000000 >$MNT/sim/advance"
	grep -qE '^instructions:u +u +0 +2,000,000 from 0 +p<0\.0001$' <<<"$output"
	run -3 pfm stat --mount="$MNT" -C 1 -e r00c4:u --compare "MNT=$MNT; $STEAL" true
	[[ $output == *"<lost"* ]]
	for n in "-r 3" "-I 10" "--no-aggr"; do
		# shellcheck disable=SC2086
		run -125 pfm stat --mount="$MNT" -C 1 $n --compare true true
	done
	run -125 pfm stat --mount="$MNT" -C 1 --compare true
	run -125 pfm stat --mount="$MNT" -C 1 --compare true true true
	no_contexts
}

# runs N OPTION... COMMAND: of N runs, each says that it has been there
runs() {
	local n=$1

	shift
	: >"$BATS_TEST_TMPDIR/been"
	run --separate-stderr pfm stat --mount="$MNT" -C 1 -e "${EVENTS:-instructions:u}" "$@"
	[ "$(wc -l <"$BATS_TEST_TMPDIR/been")" = "$n" ]
}

@test "sim: repeated runs end with one that fails" {
	serve --backend=sim
	cd "$BATS_TEST_TMPDIR"
	local third='echo >>been; [ $(wc -l <been) != 3 ] || exit 7'

	runs 3 -r 5 -- sh -c "$third"
	[ "$status" = 7 ]
	[[ $stderr == *"sh, run 3: exit status 7 (--ignore-failure goes on)"*"mean of 2 runs"* ]]
	runs 5 -r 5 --ignore-failure -- sh -c "$third"
	[[ $status = 7 && $stderr == *"mean of 5 runs"* ]]
	# What differs by a failure is no comparison.
	runs 3 -r 4 --compare "$third" "$third;"
	[[ $status = 7 && $stderr == *"$third, run 2: exit status 7"* && $stderr != *"mean of A"* ]]
	runs 0 -r 4 --ignore-failure --compare 'nonsense-command 1' true
	[[ $status = 127 && $stderr == *"nonsense-command 1, run 1: exit status 127: there is no such command"* ]]
	[[ $stderr != *"p="* ]]
	no_contexts
}

@test "sim: what is run besides, and what runs print" {
	serve --backend=sim
	cd "$BATS_TEST_TMPDIR"
	runs 4 -r 2 --warmup 2 --prepare 'echo p >>prepared' -- sh -c 'echo >>been; echo out'
	[[ $status = 0 && $output = "" && $stderr == *"mean of 2 runs"* ]]
	[ "$(wc -l <prepared)" = 4 ]
	runs 2 -r 2 --show-output -- sh -c 'echo >>been; echo out'
	[ "$output" = $'out\nout' ]
	runs 0 -r 2 --prepare 'exit 5' -- sh -c 'echo >>been'
	[[ $status = 125 && $stderr == *"--prepare exit 5: exit status 5"* ]]
	runs 1 --warmup 3 -r 2 -- sh -c 'echo >>been; exit 9'
	[[ $status = 9 && $stderr == *"sh, a warm-up: exit status 9"* ]]
	run -125 pfm stat --mount="$MNT" -C 1 --warmup 1
}

@test "sim: each run reads the same input from its start" {
	local events=r00c4:u,r00c4:u,r00c4:u,r00c4:u,r00c4:u reads='wc -c >>sizes; echo >>been'

	serve --backend=sim
	cd "$BATS_TEST_TMPDIR"
	seq 1000 >in
	# From where the file is
	(read -r _ && runs 2 -r 2 -- sh -c "$reads") <in
	EVENTS=$events runs 2 --rerun -- sh -c "$reads" < <(sed 1d in)
	runs 8 -r 4 --compare "$reads" "$reads;" < <(sed 1d in)
	sed 1d in >less
	runs 3 -r 2 --warmup 1 --stdin less -- sh -c "$reads" <in
	[ "$(uniq -c sizes | tr -s ' ')" = " 15 $(wc -c <less)" ]
	runs 0 -r 2 -- sh -c "$reads" < <(head -c $(((64 << 20) + 1)) /dev/zero)
	[[ $status = 125 && $stderr == *"more than 64 MiB"*"--stdin FILE"* ]]
	run -125 pfm stat --mount="$MNT" -C 1 --stdin nonsense -- true
	[[ $output == *"--stdin nonsense: ENOENT"* ]]
	# Closed by a shell of its own: run's pipe would become number 0 here.
	# shellcheck disable=SC2016
	run -0 sh -c 'exec pfm stat --mount="$0" -C 1 -r 2 -- true <&-' "$MNT"
}

@test "sim: a CPU that comes back is counted again" {
	serve --backend=sim
	run -0 pfm stat --mount="$MNT" --allow-lost -j -I 10 -C 0,1 --no-aggr -e instructions:u -o "$BATS_TEST_TMPDIR/out" -- \
		sh -c 'lines() { until tail -n 4 "$0/out" | grep -q "$@"; do sleep 0.01; done; }
			echo 1 >"$1/sim/offline"; lines "\"cpu\":1.*offline"
			echo >"$1/sim/offline"; lines "\"value\":0.*\"cpu\":1"
			echo 1000 >"$1/sim/advance"; lines "\"value\":2000.*\"cpu\":1"' "$BATS_TEST_TMPDIR" "$MNT"
}

# in_terminal OPTION...: what a terminal gets; pfm clears its line before it shows the counts
in_terminal() {
	bounded script -qec "pfm stat --mount=$MNT -C 1 $* -- sleep 0.01" /dev/null
}

@test "sim: progress of several runs on a terminal" {
	serve --backend=sim
	export TERM=xterm
	run -0 in_terminal -r 3 -e instructions:u
	[[ $output == *$'\r\033[Krun 1 of 3\r'*$'\r\033[Krun 3 of 3\r\r\033[K'*"mean of 3 runs"* ]]
	run -0 in_terminal -r 2 --rerun -e r00c4:u,r00c4:u,r00c4:u,r00c4:u,r00c4:u
	[[ $output == *$'\r\033[Krun 4 of 4\r\r\033[K'*"mean of 2 runs"* ]]
	run -0 in_terminal -e instructions:u
	[[ $output != *"run 1"* ]]
	TERM=dumb run -0 in_terminal -r 3 -e instructions:u
	[[ $output != *"run 1"* && $output == *"mean of 3 runs"* ]]
	run -0 pfm stat --mount="$MNT" -C 1 -r 3 -e instructions:u -- true
	[[ $output != *"run 1"* ]]
}

@test "sim: Ctrl-C ends the runs, and the last one does not count" {
	serve --backend=sim
	cat >"$BATS_TEST_TMPDIR/script" <<-'END'
		if mkdir "$1/second" 2>/dev/null; then
			echo 1000000000 >"$2/sim/advance"
		else
			kill -INT $PPID
			exec sleep 1000
		fi
	END
	run perl -e '$SIG{INT} = "DEFAULT"; exec @ARGV' pfm stat --mount="$MNT" -r 5 -C 1 -e r00c4:u -- \
		sh "$BATS_TEST_TMPDIR/script" "$BATS_TEST_TMPDIR" "$MNT"
	[ "$status" = 130 ]
	grep -q 'mean of 1 run,' <<<"$output"
	grep -q ' 400,000,000 ' <<<"$output"
}

@test "sim: a line of an interval has what is derived from its count, in 80 columns" {
	serve --backend=sim
	run -0 pfm stat --mount="$MNT" -I 10 -C 1 -e instructions:u,cycles:u,branches:u -- \
		sh -c "echo 1000000000 >$MNT/sim/advance; sleep 0.02"
	grep -qE '^ +[0-9.]+ +2,000,000,000 +instructions:u +u +# 0.83 per cycle$' <<<"$output"
	fails grep -qE '^.{81}' <<<"$output"
}

@test "sim: intervals add up, and CPUs stay apart" {
	serve --backend=sim
	run pfm stat --mount="$MNT" -o "$BATS_TEST_TMPDIR/out" -j -I 10 -C 0,1 --no-aggr -e instructions:u \
		-- sh -c "for i in 1 2 3 4; do echo 250000000 >$MNT/sim/advance; sleep 0.02; done"
	[ "$status" = 0 ]
	schema json <"$BATS_TEST_TMPDIR/out"
	python3 - "$BATS_TEST_TMPDIR/out" <<-'END'
		import collections, json, sys
		sums = collections.Counter()
		times = []
		for line in open(sys.argv[1]):
		    row = json.loads(line)
		    if "event" in row:
		        sums[row["cpu"]] += row["value"]
		        times.append(row["time_ns"])
		assert sums == {0: 2000000000, 1: 2000000000}, sums
		assert times == sorted(times) and len(times) >= 2, times
	END
	run -125 pfm stat --mount="$MNT" -I 9 true
}

@test "sim: a CPU that is named twice is counted once" {
	serve --backend=sim
	run -0 --separate-stderr pfm stat --mount="$MNT" -C 1,0-1,1 --no-aggr -e instructions:u -x, -- \
		sh -c "echo 1000000 >$MNT/sim/advance"
	[ "$(grep -c '^event,instructions:u,2000000,' <<<"$stderr")" = 2 ]
}

# on_cores OPTION...: as on_sim, on all CPUs of a machine in which 0 and 2, and 1 and 3 are threads of a core
on_cores() {
	local cpu

	for cpu in 0 1 2 3; do
		mkdir -p "$BATS_TEST_TMPDIR/cpus/cpu$cpu/topology"
		echo $((cpu % 2)),$((cpu % 2 + 2)) >"$BATS_TEST_TMPDIR/cpus/cpu$cpu/topology/thread_siblings_list"
		echo $((cpu % 2 + 5)) >"$BATS_TEST_TMPDIR/cpus/cpu$cpu/topology/physical_package_id"
	done
	run -0 unshare -m --propagation private sh -c \
		'mount --bind "$0" /sys/devices/system/cpu && exec "$@"' "$BATS_TEST_TMPDIR/cpus" \
		pfm stat --mount="$MNT" -a -e "$EVENTS" "$@" -- sh -c "echo 1000000 >$MNT/sim/advance"
}

@test "sim: counts of cores and sockets" {
	serve --backend=sim
	EVENTS=instructions:u
	on_cores --per-core
	[ "$(grep -cE '^core [01] +4,000,000 +instructions:u +u$' <<<"$output")" = 2 ]
	on_cores --per-socket
	[ "$(grep -cE '^socket [56] +4,000,000 +instructions:u +u$' <<<"$output")" = 2 ]
	on_cores --per-core -j
	[ "$(grep -c '"cpu":null.*"socket":5,"core":0}$' <<<"$output")" = 1 ]
	[ "$(grep -c '"cpu":null.*"socket":6,"core":1}$' <<<"$output")" = 1 ]
	fields json instructions:u
	is "4000000 4000000"
	on_cores --per-socket -I 1000000 -x,
	fields csv instructions:u
	is "4000000 4000000"
	on_cores --per-core -j -r 3
	fields json instructions:u "statistics instructions:u"
	is $'4000000 4000000 4000000 4000000 4000000 4000000\n4000000 4000000'
	on_cores --per-socket -x, -r 2
	fields csv "statistics instructions:u" "statistics elapsed"
	[[ $output == "4000000.0 4000000.0"* ]]
	on_cores --no-aggr -r 2
	[ "$(grep -cE '^CPU[0-3] +2,000,000 +instructions:u +u +[+]- +0.00 %$' <<<"$output")" = 4 ]
	fails grep -E '^.{81}' <<<"$output"
	# Two event sets, in two runs
	EVENTS+=,r00c4:u,r00c4:u,r00c4:u,r00c4:u,r00c4:u
	on_cores --per-core --rerun -j
	fields json instructions:u r00c4:u
	is $'4000000 4000000\n800000 800000 800000 800000 800000 800000 800000 800000 800000 800000'
	run -125 pfm stat --mount="$MNT" -C 99 --per-core -- true
	run -125 pfm stat --mount="$MNT" -C 1 --per-core --per-socket -- true
	run -125 pfm stat --mount="$MNT" -C 1 --per-thread -- true
	run -125 pfm stat --mount="$MNT" --per-core true
	no_contexts
}

@test "perf: counts of each thread" {
	serve --backend=perf
	run pfm stat --mount="$MNT" -j -o "$BATS_TEST_TMPDIR/out" --per-thread -e page-faults:u,minor-faults:u \
		sh -c "perl -e '\$b = chr(1) x (64 << 20)'; true"
	[[ $status = 0 || $status = 3 ]]
	schema json <"$BATS_TEST_TMPDIR/out"
	python3 - "$BATS_TEST_TMPDIR/out" <<-'END'
		import json, sys
		faults = {}
		for line in open(sys.argv[1]):
		    row = json.loads(line)
		    if row.get("event") == "page-faults:u":
		        assert row["tid"] not in faults, row
		        faults[row["tid"]] = row["value"]
		assert len(faults) == 2, faults
		shell, perl = (faults[tid] for tid in sorted(faults))
		# A lost count is none. Bytes may be in huge pages.
		assert None in (shell, perl) or perl > 2 * shell > 0, faults
	END
	# A thread that has ended is told of once more.
	run pfm stat --mount="$MNT" --per-thread -x, -I 20 -e page-faults:u sh -c 'true; /bin/true; sleep 0.2'
	[[ $status = 0 || $status = 3 ]]
	fields csv page-faults:u
	run -125 pfm stat --mount="$MNT" --per-thread -r 2 true
	no_contexts
}

# two_threads: starts a process whose second thread ends when the file "end" appears, and writes its
# number to "tid"
two_threads() {
	cat >"$BATS_TEST_TMPDIR/two.py" <<-'END'
		import os, sys, threading, time
		os.chdir(sys.argv[1])
		def second():
		    with open("tid.new", "w") as f:
		        f.write(str(threading.get_native_id()))
		    os.rename("tid.new", "tid")
		    while not os.path.exists("end"):
		        time.sleep(0.01)
		threading.Thread(target=second).start()
		time.sleep(1000)
	END
	python3 "$BATS_TEST_TMPDIR/two.py" "$BATS_TEST_TMPDIR" 3>&- &
	two=$!
	until_ok test -e "$BATS_TEST_TMPDIR/tid"
	second=$(<"$BATS_TEST_TMPDIR/tid")
	# $ends, a command: it waits until that thread has ended
	ends="touch $BATS_TEST_TMPDIR/end; while [ -e /proc/$two/task/$second ]; do sleep 0.01; done"
}

@test "perf: a thread of a process that has ended is shown once more" {
	serve --backend=perf
	two_threads
	run pfm stat --mount="$MNT" -x, -I 50 --per-thread --allow-lost -e page-faults:u -p $two -- \
		sh -c "$ends; sleep 1"
	kill $two
	[ "$status" = 0 ]
	[ "$(grep -c ",$second," <<<"$output")" -ge 1 ]
	[ "$(grep -c ",$second," <<<"$output")" -lt "$(grep -c ",$two," <<<"$output")" ]
}

@test "perf: a thread that ends in the second run is that of the first" {
	serve --backend=perf
	two_threads
	cd "$BATS_TEST_TMPDIR"
	run pfm stat --mount="$MNT" -j -r 2 --per-thread --allow-lost -e page-faults:u -p $two -- \
		sh -c "if [ -e ran ]; then $ends; fi; touch ran"
	kill $two
	[ "$status" = 0 ]
	grep -q "\"statistics\":\"page-faults:u\".*\"tid\":$second,.*\"runs\":2," <<<"$output"
}

# sleeps PID: it is the program sleep, and does so
sleeps() {
	grep -q '(sleep) S' "/proc/$1/stat"
}

@test "perf: the threads of a process, in several runs" {
	serve --backend=perf
	sleep 1000 3>&- &
	until_ok sleeps $!
	run pfm stat --mount="$MNT" -j -r 2 --per-thread --allow-lost -e page-faults:u -p $! -- true
	kill $!
	[ "$status" = 0 ]
	grep -q "\"statistics\":\"page-faults:u\".*\"tid\":$!,.*\"runs\":2," <<<"$output"
	# A busy machine may lose a count.
	if grep -q '"statistics":"page-faults:u".*"mean":null,' <<<"$output"; then
		lost_statistics page-faults:u ": "
	else
		fields json "statistics page-faults:u"
		is 0
	fi
}

@test "perf: each thread that a command creates costs at most 5 commands and 14 requests" {
	local before

	serve --backend=perf
	before=$(grep -E '^(requests|commands) ' "$MNT/stats")
	pfm stat --mount="$MNT" -j -o "$BATS_TEST_TMPDIR/out" --per-thread -e page-faults \
		sh -c "echo | $BUILD/tests/track/waves threads 300 1 0"
	[ "$(grep -c '"event":"page-faults"' "$BATS_TEST_TMPDIR/out")" = 303 ]
	costs_since "$before"
	costs_since "$before" | awk '{ n[$1] = $2 } END { exit !(n["commands"] <= 5 * 303 + 50 &&
		n["requests"] <= 14 * 303 + 200) }'
}

# sleepers N: a process with N more threads; its number is in PID
sleepers() {
	python3 -c "import sys, threading
threading.stack_size(65536)
for _ in range($1):
    threading.Thread(target=threading.Event().wait, daemon=True).start()
open('$BATS_TEST_TMPDIR/ready.$1', 'w')
threading.Event().wait()" 3>&- &
	PID=$!
	until_ok test -e "$BATS_TEST_TMPDIR/ready.$1"
}

# costs_since BEFORE: a line each for the requests and commands of the daemon since stats had BEFORE
costs_since() {
	paste -d' ' <(echo "$1") <(grep -E '^(requests|commands) ' "$MNT/stats") | awk '{ print $1, $4 - $2 }'
}

# costs_of N: those that N more threads of a process take, in one context
costs_of() {
	local before n

	before=$(grep -E '^(requests|commands) ' "$MNT/stats")
	pfm stat --mount="$MNT" -j -o "$BATS_TEST_TMPDIR/out" --per-thread -e page-faults,minor-faults \
		-p "$PID" -- sh -c "ls $MNT/ctx/*/children | wc -l >$BATS_TEST_TMPDIR/children"
	n=$(grep -c '"event":"page-faults"' "$BATS_TEST_TMPDIR/out")
	[ "$n" = $(($1 + 1)) ] && [ "$(cat "$BATS_TEST_TMPDIR/children")" = 0 ] || return
	costs_since "$before"
}

@test "perf: one context counts all threads of a process, with as many requests for 400 as for 10" {
	local few many

	serve --backend=perf
	sleepers 10
	few=$(costs_of 10)
	kill "$PID"
	sleepers 400
	many=$(costs_of 400)
	kill "$PID"
	echo "$few; $many"
	# The text of 400 threads is read in two pieces more.
	[ "$(awk '$1 == "commands" { print $2 }' <<<"$few")" = "$(awk '$1 == "commands" { print $2 }' <<<"$many")" ]
	awk '$1 == "requests" { n[i++] = $2 } END { exit !(n[1] - n[0] <= 3) }' <<<"$few
$many"
}

@test "perf: threads that could not be followed are no silent gap" {
	serve --backend=perf
	echo 2 >"$MNT/config/user_contexts_max"
	# All exist at the same time.
	# shellcheck disable=SC2016
	as_nobody 3 pfm stat --mount="$MNT" --per-thread -e page-faults:u \
		sh -c 'sleep 1000 & a=$!; sleep 1000 & b=$!; sleep 1000 & kill $a $b $!; wait'
	[[ $output == *"threads are missing"* ]]
}

# faulting_forks N: begins N programs one after another; the kernel's number of their faults is in "faults"
faulting_forks() {
	cat >"$BATS_TEST_TMPDIR/forks.py" <<-END
		import os, resource
		for _ in range($1):
		    os.waitpid(os.posix_spawn("/bin/true", ["true"], {}), 0)
		print(sum(resource.getrusage(who).ru_minflt for who in
		      (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)),
		      file=open("$BATS_TEST_TMPDIR/faults", "w"))
	END
	FORKS=(python3 "$BATS_TEST_TMPDIR/forks.py")
}

@test "perf: --gaps, on a kernel that hides switches: counts that are too low, and the time that they lack" {
	local count=(pfm stat -m "$MNT" -o "$BATS_TEST_TMPDIR/out" -e page-faults:u,minor-faults:u) line sum=0

	perfmonfs() {
		exec "$BUILD/tests/hiding/perfmonfs" "$@"
	}
	serve --backend=perf --threads=ctxsw
	faulting_forks 100
	run -3 "${count[@]}" "${FORKS[@]}"
	"${count[@]}" --gaps -j "${FORKS[@]}"
	schema json page-faults:u gaps uncertain user system <"$BATS_TEST_TMPDIR/out" | {
		read -r value && read -r gaps && read -r uncertain && read -r user && read -r system
		[ "$value" -gt 0 ] && [ "$value" -le "$(cat "$BATS_TEST_TMPDIR/faults")" ] && [ "$gaps" -gt 0 ]
		# The kernel rounds user and system in other ways than the scheduler's account of CPU time.
		python3 -c 'import sys; u, *all = map(float, sys.argv[1:]); sys.exit(not 0 < u <= sum(all) * 1.05)' \
			"$uncertain" "$user" "$system"
	}
	"${count[@]}" --gaps "${FORKS[@]}"
	grep -qE '^ +[0-9.]+ s  uncertain, with [0-9,]+ gaps?$' "$BATS_TEST_TMPDIR/out"
	"${count[@]}" --gaps --per-thread -j "${FORKS[@]}"
	schema json page-faults:u gaps <"$BATS_TEST_TMPDIR/out" | {
		read -ra values && read -ra gaps
		[ ${#values[@]} -gt 100 ] && [ ${#values[@]} = ${#gaps[@]} ]
		for line in "${gaps[@]}"; do sum=$((sum + line)); done
		[ "$sum" -gt 0 ]
	}
	[ "$(cat "$MNT/stats" | awk '$1 == "ctxsw_missed" { print $2 }')" -gt 0 ]
	stop_daemon
	# No switch is missed.
	unset -f perfmonfs
	serve --backend=perf
	"${count[@]}" --gaps -j "${FORKS[@]}"
	run -0 schema json gaps uncertain <"$BATS_TEST_TMPDIR/out"
	is $'0\n0'
	for other in -C1 --regions --mux --rerun --repeat=2; do
		run -125 pfm stat -m "$MNT" --gaps "$other" true
		[[ $output == *--gaps* ]]
	done
}

@test "sim: a lost count is no number, and its counter is left alone then" {
	local steal=(-C 1 -e r00c4:u,r00c5:u -- sh -c "echo '1 0x186 0x4300c4' >$MNT/sim/poke
		echo 1000000000 >$MNT/sim/advance")

	serve --backend=sim
	run pfm stat --mount="$MNT" -o "$BATS_TEST_TMPDIR/out" -j "${steal[@]}"
	[ "$status" = 3 ]
	output=$(cat "$BATS_TEST_TMPDIR/out")
	fields json r00c4:u r00c5:u
	is $'lost\n8000000'
	on_sim -j -e r00c4:u
	[ "$status" = 0 ]
	fields json r00c4:u
	is 400000000
	on_sim -j -e r00c4:u,r00c4:u,r00c4:u,r00c4:u
	[ "$status" = 125 ]
}

@test "sim: a counter that other software has" {
	serve --backend=sim
	put ok "$MNT/sim/poke" "1 0x186 0x4300c4"
	run -125 pfm stat --mount="$MNT" -C 1 -e pmc0=0x4100c0 -- true
	[[ $output == *"PMC 0 of CPU 1 is in use by another program: "*"pfm who"* && $output != *--mux* ]]
	run -125 pfm stat --mount="$MNT" -C 1 -e r00c4:u,r00c4:u,r00c4:u,r00c4:u -- true
	[[ $output == *": PMC 0 of CPU 1 is in use by another program: "*"PMD 1-3 is free"*"pfm who"*--mux* ]]
}

@test "sim: what cannot be counted" {
	serve --backend=sim
	run -125 pfm stat --mount="$MNT" true
	[[ $output == *-C* ]]
	run -125 pfm stat --mount="$MNT" -C 99999 -- true
	[[ $output == *"see \`pfm who\`" ]]
	run -125 pfm stat --mount="$MNT" -C x -- true
	[[ $output == *"-C x: give numbers, like -C 0-3,8"* ]]
	run -125 pfm stat --mount="$MNT" -C 1 -a -- true
	run -125 pfm stat --mount="$MNT" -C 1 -j -x, -- true
	[[ $output == *"-j or -x"* ]]
	run -125 pfm stat --mount="$MNT" -C 1 -e nonsense -- true
	[[ $output == *nonsense* ]]
	run -125 pfm stat --mount="$MNT"
	run -125 pfm stat --mount="$MNT" -q true
	no_contexts
}

@test "sim: the mount goes away" {
	serve --backend=sim --clock=real
	pfm stat --mount="$MNT" -C 1 >"$BATS_TEST_TMPDIR/out" 2>&1 3>&- &
	until_ok running
	stop_daemon
	ends 3 $!
	grep -q 'daemon' "$BATS_TEST_TMPDIR/out"
}

running() {
	grep -qs running "$MNT"/ctx/*/state
}

# ends STATUS PID: a background job has that exit status
ends() {
	local rc=0

	until_ok gone "$2"
	wait "$2" || rc=$?
	[ "$rc" = "$1" ] || {
		echo "exit status $rc, not $1"
		return 1
	}
}

# A shell ignores SIGINT and SIGQUIT in background jobs, and nohup SIGHUP in whatever runs the tests.
with_signals() {
	exec perl -e '$SIG{$_} = "DEFAULT" for qw(INT QUIT HUP); exec @ARGV' "$@"
}

@test "sim: a signal ends what has no command, and its counts are shown" {
	local signal

	serve --backend=sim --clock=real
	for signal in INT TERM HUP QUIT; do
		with_signals pfm stat --mount="$MNT" -j -C 1 -e instructions >"$BATS_TEST_TMPDIR/out" 3>&- &
		until_ok running
		kill -$signal $!
		ends 0 $!
		schema json instructions <"$BATS_TEST_TMPDIR/out"
	done
}

@test "sim: a signal that was ignored before stays ignored" {
	serve --backend=sim --clock=real
	(
		trap '' HUP QUIT
		with_signals nohup pfm stat --mount="$MNT" -I 10 -j -C 1 -e instructions
	) >"$BATS_TEST_TMPDIR/out" 2>/dev/null 3>&- &
	until_ok running
	kill -HUP $!
	lines=$(wc -l <"$BATS_TEST_TMPDIR/out")
	until_ok has_lines $((lines + 3))
	kill -INT $!
	ends 0 $!
	schema json instructions <"$BATS_TEST_TMPDIR/out"
}

has_lines() {
	[ "$(wc -l <"$BATS_TEST_TMPDIR/out")" -ge "$1" ]
}

# --- failures while a command runs

# A command that runs until it is told to end, and says that it has come to its end
WAITS='until [ -e over ]; do sleep 0.02; done; : >ended'

# goes_on STATUS PID: pfm has said that, then the command ends, and pfm with that status
goes_on() {
	until_ok grep -q 'goes on$' said
	[ ! -e ended ]
	: >over
	ends "$@"
	[ -e ended ]
}

@test "perf: the command goes on without the daemon" {
	cd "$BATS_TEST_TMPDIR"
	serve --backend=perf
	pfm stat --mount="$MNT" sh -c "$WAITS" 2>said 3>&- &
	until_ok running
	kill -KILL "$DAEMON"
	goes_on 3 $!
	ended 137
	until_ok not_mounted
}

@test "sim: the command of a CPU goes on without the daemon, and pfm knows its end" {
	cd "$BATS_TEST_TMPDIR"
	serve --backend=sim
	pfm stat --mount="$MNT" -C 1 -r 3 -- sh -c "$WAITS; exit 7" 2>said 3>&- &
	until_ok running
	stop_daemon
	goes_on 7 $!
}

@test "sim: the command goes on when the disk is full" {
	cd "$BATS_TEST_TMPDIR"
	serve --backend=sim
	pfm stat --mount="$MNT" -C 1 -I 10 -o /dev/full -- sh -c "$WAITS" 2>said 3>&- &
	goes_on 125 $!
	grep -q ENOSPC said
	no_contexts
}

@test "sim: output to a pipe or terminal that was closed" {
	serve --backend=sim --clock=real
	run -0 bash -c 'pfm stat --mount="$0" -C 1 -I 10 2>/dev/null | head -n 1 >/dev/null; echo ${PIPESTATUS[0]}' \
		"$MNT"
	is 125
	# The hangup of a terminal is a signal, too.
	run -0 timeout 60 python3 - "$MNT" <<-'END'
		import os, pty, sys
		pid, terminal = pty.fork()
		if pid == 0:
		    os.execlp("pfm", "pfm", "stat", "--mount=" + sys.argv[1], "-C", "1", "-I", "10")
		os.read(terminal, 1)
		os.close(terminal)
		assert os.WIFEXITED(os.waitpid(pid, 0)[1])
	END
	no_contexts
}

# --- commands

@test "perf: the exit status is the command's" {
	serve --backend=perf
	run -0 pfm stat --mount="$MNT" --allow-lost true
	run -7 pfm stat --mount="$MNT" sh -c 'exit 7'
	run -137 pfm stat --mount="$MNT" sh -c 'kill -KILL $$'
	run -127 pfm stat --mount="$MNT" nonsense-command
	[[ $output == *nonsense-command* ]]
	run -126 pfm stat --mount="$MNT" /etc/passwd
	(
		trap '' CHLD
		run -7 pfm stat --mount="$MNT" -e page-faults sh -c 'exit 7'
		run -7 pfm stat --mount="$MNT" --per-thread -e page-faults sh -c 'exit 7'
	)
	no_contexts
}

@test "perf: all threads and children, from the first instruction" {
	serve --backend=perf
	run pfm stat --mount="$MNT" -j -o "$BATS_TEST_TMPDIR/out" -e page-faults:u,minor-faults:u \
		sh -c 'python3 -c "b = bytearray(64 << 20)"; true'
	[[ $status = 0 || $status = 3 ]]
	output=$(cat "$BATS_TEST_TMPDIR/out")
	fields json page-faults:u
	# Bytes of it may be in huge pages.
	[ "$output" = lost ] || [ "$output" -gt 500 ]
	no_contexts
}

@test "perf: a process that runs, to its end" {
	serve --backend=perf
	sleep 1000 3>&- &
	pid=$!
	pfm stat --mount="$MNT" -j -o "$BATS_TEST_TMPDIR/out" --allow-lost -p "$pid" 3>&- &
	job=$!
	until_ok running
	grep -qx $'TracerPid:\t0' "/proc/$pid/status"
	kill "$pid"
	ends 0 "$job"
	schema json page-faults <"$BATS_TEST_TMPDIR/out"
	run -125 pfm stat --mount="$MNT" -t "$pid" -- true
}

@test "perf: all threads of a process, by the kernel" {
	serve --backend=perf
	mkfifo "$BATS_TEST_TMPDIR/in"
	"$BUILD/tests/track/subject" -t 5 faults 1000 <"$BATS_TEST_TMPDIR/in" >"$BATS_TEST_TMPDIR/says" 3>&- &
	pid=$!
	exec 5>"$BATS_TEST_TMPDIR/in"
	until_ok grep -q ^ready "$BATS_TEST_TMPDIR/says"
	# shellcheck disable=SC2016
	run -0 pfm stat --mount="$MNT" -j -o "$BATS_TEST_TMPDIR/out" -e page-faults:u -p "$pid" -- \
		sh -c 'echo >&5; until grep -q ^done "$0/says"; do sleep 0.1; done; cat "$0/mnt/stats"' "$BATS_TEST_TMPDIR"
	grep -qx "threads 1" <<<"$output"
	grep -qx "ctxsw_threads 0" <<<"$output"
	exec 5>&-
	output=$(cat "$BATS_TEST_TMPDIR/out")
	fields json page-faults:u
	[ "$output" -ge 5000 ]
	[ "$output" -le 5100 ]
	no_contexts
}

@test "perf: the kernel counts a command, and nothing disturbs it" {
	serve --backend=perf
	run -0 --separate-stderr pfm stat --mount="$MNT" -j -o "$BATS_TEST_TMPDIR/out" \
		-e context-switches,page-faults sh -c "grep TracerPid /proc/self/status; cat $MNT/stats"
	[[ $output == *$'TracerPid:\t0'* ]]
	grep -qx "threads 1" <<<"$output"
	grep -qx "ctxsw_threads 0" <<<"$output"
	grep -qx "ctxsw_in 0" <<<"$output"
	output=$(cat "$BATS_TEST_TMPDIR/out")
	fields json context-switches page-faults
	[[ $output != *lost* ]]
	no_contexts
}

# follows OPTION...: pfm counts a command, which the daemon traces
follows() {
	run --separate-stderr pfm stat --mount="$MNT" -j --allow-lost "$@" grep TracerPid /proc/self/status
	[ "$status" = 0 ]
	[[ $output == TracerPid:* && $output != *$'\t0' ]]
	no_contexts
}

@test "perf: the daemon follows what the kernel cannot count alone" {
	local events

	serve --backend=perf
	events=$(printf ',page-faults%.0s' {1..17})
	follows --mux -e "${events#,}"
	# Its program may not be read, or gains privileges.
	install -m 4755 "$(command -v grep)" "$BATS_TEST_TMPDIR/grep"
	PATH="$BATS_TEST_TMPDIR:$PATH" follows -e page-faults
	rm "$BATS_TEST_TMPDIR/grep"
	stop_daemon
	serve --backend=perf -o threads=ctxsw
	follows -e page-faults
}

@test "perf: a script whose interpreter is missing" {
	serve --backend=perf
	printf '#!/nonsense\n' >"$BATS_TEST_TMPDIR/script"
	chmod +x "$BATS_TEST_TMPDIR/script"
	run -127 pfm stat --mount="$MNT" "$BATS_TEST_TMPDIR/script"
	[[ $output == *ENOENT* ]]
	no_contexts
}

# A removed context is one of its user's until the kernel has let go of its files, at a moment of its own:
# what stats counts says when there is room, and the list of children does not.
@test "perf: contexts of children make room for others" {
	serve --backend=perf -o threads=ctxsw
	echo 16 >"$MNT/config/user_contexts_max"
	mkfifo -m 666 "$BATS_TEST_TMPDIR/fifo"
	cat >"$BATS_TEST_TMPDIR/script" <<-'END'
		exec 9<>"$2"
		contexts() {
			while read -r name n; do
				[ "$name" != contexts ] || return 0
			done <"$1/stats"
		}
		for _ in {1..40}; do
			/bin/true
			tries=0
			while contexts "$1" && [ "$n" -gt 10 ]; do
				[ $((++tries)) -lt 600 ] || {
					head "$1"/ctx/*/state "$1"/ctx/*/children/*/state
					exit 9
				}
				read -r -t 0.05 -u 9 # Its status is 142 then, which must not be the script's.
			done
		done >&2
		exit 0
	END
	run setpriv --reuid="$NOBODY" --regid="$NOBODY" --clear-groups pfm stat --mount="$MNT" \
		-e page-faults:u -j bash "$BATS_TEST_TMPDIR/script" "$MNT" "$BATS_TEST_TMPDIR/fifo"
	[[ $status = 0 || $status = 3 ]] || { echo "$status: $output" && false; }
	[[ $output != *"were not followed"* ]]
}

@test "perf: a signal for pfm alone is the command's, too" {
	serve --backend=perf
	with_signals pfm stat --mount="$MNT" -j -o "$BATS_TEST_TMPDIR/out" sleep 1000 3>&- &
	until_ok running
	kill -INT $!
	ends 130 $!
	schema json page-faults elapsed <"$BATS_TEST_TMPDIR/out"
}

@test "perf: a killed pfm leaves no process and no context" {
	run -0 "$BATS_TEST_DIRNAME/random_kill.sh" 20 3>&-
}

# A command that only this test runs
napper() {
	cp "$(command -v sleep)" "$BATS_TEST_TMPDIR/napper"
}

no_napper() {
	! pgrep -f "^$BATS_TEST_TMPDIR/napper" >/dev/null
}

# as_nobody STATUS COMMAND...: its exit status, as another user
as_nobody() {
	local expected=$1

	shift
	run setpriv --reuid="$NOBODY" --regid="$NOBODY" --clear-groups "$@"
	[ "$status" = "$expected" ] || {
		echo "$output"
		return 1
	}
}

@test "perf: another user counts at user level, and no program that gains privileges" {
	local su

	serve --backend=perf
	as_nobody 0 pfm stat --mount="$MNT" -j --allow-lost true
	fails grep -q '"level":"uk"' <<<"$output"
	[ "$(grep -oE '"event":"[a-z-]+"' <<<"$output" | cut -d'"' -f4 | paste -sd' ')" = \
		"page-faults minor-faults major-faults" ]
	fields json page-faults
	as_nobody 125 pfm stat --mount="$MNT" -e page-faults:k true
	as_nobody 125 pfm stat --mount="$MNT" -C 0 -- true
	su=$BATS_TEST_TMPDIR/su
	install -m 4755 "$(command -v id)" "$su"
	as_nobody 125 pfm stat --mount="$MNT" "$su" -u
	[[ $output != 0 && $output == *privileges* ]]
}

# --- output

@test "output that is not taken" {
	serve --backend=sim
	run -125 pfm stat --mount="$MNT" -C 1 -o /dev/full -- true
	[[ $output == *"/dev/full: ENOSPC (choose another with -o FILE)"* ]]
	run -125 pfm stat --mount="$MNT" -C 1 -o "$BATS_TEST_TMPDIR" -- true
	run -0 bash -c 'pfm stat --mount="$0" -C 1 -I 10 -- sh -c "sleep 0.2" 2>&1 | head -n 1' "$MNT"
	no_contexts
}

# --- the mount

@test "a mount of another interface" {
	serve --backend=sim
	echo "perfmonfs 9.0 interface 99" >"$BATS_TEST_TMPDIR/version"
	run -125 unshare --mount sh -c 'mount --bind "$0" "$1/version" && exec pfm stat --mount="$1" true' \
		"$BATS_TEST_TMPDIR/version" "$MNT"
	[[ $output == *99* ]]
}

@test "a tree of plain files is no mount, whatever it holds" {
	mkdir -p "$BATS_TEST_TMPDIR"/fake/{sys,pmu,ctx}
	cd "$BATS_TEST_TMPDIR/fake"
	echo 2.81 >sys/version
	echo "perfmonfs 0.1.0 interface 3" >version
	ln -s /dev/zero pmu/backend
	for command in "who -m ." "stat -m . true" "record -m . true" "check -m ." "top -m . -b -n 1"; do
		run -125 bounded pfm $command
		[[ $output == *"no mount of perfmonfs"* ]]
	done
	run bounded pfm-env -m . true
	[ "$status" != 0 ]
}

their() {
	setpriv --reuid="$NOBODY" --regid="$NOBODY" --clear-groups "$@"
}

@test "what is in the file's place is neither followed, nor written, nor waited for" {
	serve --backend=sim
	cd "$BATS_TEST_TMPDIR"
	mkdir theirs ours
	chown nobody theirs
	for command in "stat -C 1" "stat -j -C 1" "record -e instructions:u -c 1000000 -C 1"; do
		echo precious >precious
		chmod 600 precious
		their ln -s ../precious theirs/link
		their sh -c 'umask 0; : >theirs/file; mkfifo theirs/fifo'
		for f in theirs/link theirs/file theirs/fifo ours/new; do
			run -0 bounded pfm ${command%% *} -m "$MNT" -o "$f" ${command#* } -- true
			[ "$(stat -c '%U %F' "$f")" = "root regular file" ]
			[ -s "$f" ]
		done
		[ "$(cat precious)" = precious ]
		rm -r theirs/* ours/*
	done
	[ "$(ls -A theirs ours | grep -c pfm)" = 0 ]
}

@test "-o: devices, links and FIFOs of root's, and --append" {
	serve --backend=sim
	cd "$BATS_TEST_TMPDIR"
	mkdir theirs
	chown nobody theirs
	count=(bounded pfm stat -m "$MNT" -C 1 -x, -e instructions:u)
	[[ $("${count[@]}" -o /dev/stdout -- true) == *instructions* ]]
	"${count[@]}" -o /dev/null -- true
	ln -s target link
	"${count[@]}" -o link -- true
	[ -L link ] && [ -s target ]
	mkfifo fifo
	run -125 "${count[@]}" -o fifo -- true
	[[ $output == *ENXIO* ]]
	exec 4<>fifo
	"${count[@]}" -o fifo -- true
	read -r line <&4
	exec 4>&-
	"${count[@]}" --append -o theirs/own -- true
	"${count[@]}" --append -o theirs/own -- true
	[ "$(grep -c instructions theirs/own)" = 2 ]
	their sh -c 'umask 0; : >theirs/file'
	ln target theirs/linked
	for f in theirs/file theirs/linked; do
		run -125 "${count[@]}" --append -o "$f" -- true
		[[ $output == *EPERM* ]]
	done
}

@test "without a mount, root has a private daemon" {
	run without_mounts pfm stat -j -o "$BATS_TEST_TMPDIR/out" --allow-lost sh -c 'exit 5'
	[ "$status" = 5 ]
	schema json elapsed <"$BATS_TEST_TMPDIR/out"
}

@test "a private daemon ends with a killed pfm" {
	local pfm daemon

	napper
	without_mounts pfm stat "$BATS_TEST_TMPDIR/napper" 1000 3>&- >/dev/null 2>&1 &
	until_ok private_daemon
	kill -KILL "$pfm"
	until_ok gone "$daemon"
	until_ok no_napper
}

private_daemon() {
	pfm=$(cat "$BATS_TEST_TMPDIR/pid") && pgrep -P "$pfm" -x napper >/dev/null &&
		daemon=$(pgrep -P "$pfm" -x perfmonfs)
}

@test "a file of the tree is read by one request" {
	command -v strace >/dev/null || skip "needs strace"
	serve --backend=sim
	ASAN_OPTIONS=detect_leaks=0 strace -y -e trace=read -o "$BATS_TEST_TMPDIR/reads" \
		pfm stat --mount="$MNT" -C 1 -e cycles:u true
	grep -q "<$MNT/.*/total>.* = [0-9]" "$BATS_TEST_TMPDIR/reads"
	! grep -E "<$MNT/.* = 0$" "$BATS_TEST_TMPDIR/reads"
}
