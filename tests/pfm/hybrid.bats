# SPDX-License-Identifier: MIT
# pfm where CPUs have different PMUs: CPUs 0 and 1 are of type core, 2 and 3 of type atom.

load common

schema() {
	python3 "$BATS_TEST_DIRNAME/schema.py" "$@"
}

# counted ARGS: `pfm stat` with them, for a million ns of the simulated time
counted() {
	bounded pfm stat -m "$MNT" "$@" -- sh -c "echo 1000000 >$MNT/sim/advance"
}

# Files with one name of two events: the simulator counts 2.5 instructions and 3 cycles a ns.
events_of_types() {
	PFM_EVENTS=$BATS_TEST_TMPDIR
	export PFM_EVENTS
	printf 'vendor intel\nalso cpu_core\nalso x_glc\nBOTH 0xc0 6-7 -\nLARGE 0xc0 * -\n' >"$PFM_EVENTS/p.events"
	printf 'vendor intel\nalso cpu_atom\nBOTH 0x3c 0-1 -\nSMALL 0x3c * -\n' >"$PFM_EVENTS/e.events"
}

@test "pfm who, pfm check: each CPU has the counters of its type" {
	serve --backend=sim:hybrid
	run -0 bounded pfm who -m "$MNT"
	is "CPU       COUNTERS        STATE
0-1       0-7,16-19       core: free
2-3       0-5,16-18       atom: free"
	run -0 bounded pfm who -m "$MNT" -j
	python3 -c '
import json, sys
rows = [json.loads(line) for line in sys.stdin]
assert [r["type"] for r in rows] == ["core", "core", "atom", "atom"], rows' <<<"$output"
	put ok "$MNT/sim/poke" "2 0x186 0x4300c0"
	run -0 bounded pfm check -m "$MNT"
	[[ $output == *"ok    counters, core    0-7,16-19"* ]]
	[[ $output == *"note  counters, atom    1-5,16-18 of 0-5,16-18"* ]]
	[[ $output == *"ok    CPUs, core        can be counted"* ]]
	[[ $output == *"ok    CPUs, atom        can be counted"* ]]
}

@test "list, encode, decode: by type" {
	events_of_types
	serve --backend=sim:hybrid
	run -0 bounded pfm list -m "$MNT" slots
	is $'cpu_core/slots/                              0x0400  PMD 19\n    issue slots of the pipeline'
	run -0 bounded pfm encode -m "$MNT" --type=core BOTH slots
	is $'0x4300c0\n0x3000'
	run -0 bounded pfm encode -m "$MNT" -r cpu_atom/BOTH/u
	is "pmc16 0x20"
	run -0 bounded pfm encode -m "$MNT" cpu_core/BOTH/ cpu_atom/BOTH/ cycles
	is $'0x4300c0\n0x43003c\n0x43003c'
	run -125 bounded pfm encode -m "$MNT" -r cpu_core/slots/ cpu_atom/cycles/
	run -0 bounded pfm encode -m "$MNT" -r cycles cpu_core/slots/u
	is "pmc16 0x2030"
	run -125 bounded pfm encode -m "$MNT" slots
	[[ $output == *"no counter common to all CPU types"* ]]
	run -125 bounded pfm encode -m "$MNT" --type=gpu slots
	[[ $output == *"the types are core, atom"* ]]
	run -0 bounded pfm decode -m "$MNT" pmc16=0x3000
	is $'cpu_core: slots\n  user and kernel level, PMD 19'
	run -0 bounded pfm decode -m "$MNT" --type=atom 0x4300c0
	[[ $output == "cpu_atom: instructions"*"PMD 0-5,16" ]]
}

@test "encode: a type where all CPUs are alike" {
	serve --backend=sim
	run -125 bounded pfm encode -m "$MNT" --type=core cycles
	[[ $output == *"all CPUs here have the same PMU"* ]]
}

@test "stat: each type has its own code, counters and sum" {
	events_of_types
	serve --backend=sim:hybrid
	run -0 counted -a -j -o "$BATS_TEST_TMPDIR/rows" -e BOTH,LARGE,cpu_atom/SMALL/u,x_glc::BOTH:k
	run -0 schema json cpu_core/BOTH/ cpu_core/LARGE/ cpu_core/x_glc::BOTH/k cpu_atom/BOTH/ cpu_atom/SMALL/u \
		BOTH <"$BATS_TEST_TMPDIR/rows"
	is $'5000000\n5000000\n1000000\n6000000\n4800000'
	[ "$(wc -l <"$BATS_TEST_TMPDIR/rows")" = 8 ] # and three times
	run -0 counted -a --no-aggr -x, -o "$BATS_TEST_TMPDIR/rows" -e BOTH,cpu_core/slots/
	run -0 cut -d, -f2,3,7 "$BATS_TEST_TMPDIR/rows"
	is "name,value,cpu
cpu_core/BOTH/,2500000,0
cpu_core/slots/,12000000,0
cpu_core/BOTH/,2500000,1
cpu_core/slots/,12000000,1
cpu_atom/BOTH/,3000000,2
cpu_atom/BOTH/,3000000,3
elapsed,$(sed -n 's/^metric,elapsed,\([^,]*\),.*/\1/p' "$BATS_TEST_TMPDIR/rows"),
user,$(sed -n 's/^metric,user,\([^,]*\),.*/\1/p' "$BATS_TEST_TMPDIR/rows"),
system,$(sed -n 's/^metric,system,\([^,]*\),.*/\1/p' "$BATS_TEST_TMPDIR/rows"),"
	# A prefix chooses the CPUs, and others have no context.
	run -0 counted -C 0-2 -j -o "$BATS_TEST_TMPDIR/rows" --no-aggr -e cpu_core/BOTH/
	[ "$(grep -c '"event":"cpu_core/BOTH/","value":2500000,' "$BATS_TEST_TMPDIR/rows")" = 2 ]
	fails grep -q '"cpu":2' "$BATS_TEST_TMPDIR/rows"
}

@test "stat: groups, runs and event sets of each type" {
	export PFM_EVENTS=$BATS_TEST_DIRNAME/../../tools/pfm/events/data
	serve --backend=sim:hybrid
	run -0 counted -C 1-2 -r 2 -g default -x, -o "$BATS_TEST_TMPDIR/rows"
	run -0 schema csv cpu_core/IPC/ "statistics cpu_core/instructions/" "statistics cpu_atom/IPC/" \
		<"$BATS_TEST_TMPDIR/rows"
	is $'0.833333333 0.833333333\n2500000.0\n0.833333333333333'
	# Both types are compared: the second command's counts are twice as large.
	run -0 bounded pfm stat -m "$MNT" -C 1-2 -r 4 -j -o "$BATS_TEST_TMPDIR/rows" -e cpu_core/cycles/,cpu_atom/cycles/ \
		--compare "echo 1000000 >$MNT/sim/advance" "echo 2000000 >$MNT/sim/advance"
	run -0 python3 -c 'import json, sys
rows = [json.loads(line) for line in open(sys.argv[1])]
print([(r["comparison"], r.get("mean_a"), r.get("mean_b")) for r in rows][:2], len(rows))' "$BATS_TEST_TMPDIR/rows"
	is "[('cpu_core/cycles/', 3000000, 6000000), ('cpu_atom/cycles/', 3000000, 6000000)] 3"
	# Nine events have counters on one type alone: six of them, instructions and cycles on both.
	local events=instructions,cycles,branches:u,branches:k,branches,branch-misses:u,branch-misses:k
	events+=,branch-misses,bus-cycles
	run -125 counted -a -e "$events"
	[[ $output == *"CPUs of type atom: "*"cannot be counted together"* ]]
	run -0 counted -a -j --rerun -o "$BATS_TEST_TMPDIR/rows" -e "$events"
	run -0 schema json cpu_core/instructions/ cpu_core/branches/k cpu_atom/instructions/ cpu_atom/branches/k \
		<"$BATS_TEST_TMPDIR/rows"
	is $'5000000\n200000\n5000000\n200000'
}

# A group that one type lacks has no metrics there, also if other events are counted.
@test "stat: a group of one type" {
	export PFM_EVENTS=$BATS_TEST_TMPDIR
	printf 'group g -\nevent slots = cpu_core/slots/\nmetric double = slots * 2\n' >"$PFM_EVENTS/g.group"
	printf 'group h -\nevent slots\nmetric double = slots * 2\n' >"$PFM_EVENTS/h.group"
	serve --backend=sim:hybrid
	for group in g h; do
		run -0 counted -a -g $group -e instructions -j -o "$BATS_TEST_TMPDIR/rows"
		run -0 schema json cpu_core/double/ cpu_core/instructions/ cpu_atom/instructions/ \
			<"$BATS_TEST_TMPDIR/rows"
		is $'48000000\n5000000\n5000000'
		fails grep -q 'cpu_atom/double\|cpu_atom/slots' "$BATS_TEST_TMPDIR/rows"
	done
}

@test "stat: what CPUs of a type lack is a sentence" {
	serve --backend=sim:hybrid
	run -125 counted -C 2 -e cpu_core/instructions/
	[[ $output == *"only CPUs of type core count it, not those of type atom"* ]]
	run -125 counted -C 2,3 -e slots
	[[ $output == *"no counter of intel_hybrid, type atom counts it"* ]]
	run -125 counted -a -e cpu_core/instuctions/
	[[ $output == *"is it instructions"* ]]
	run -125 counted -a -e cpu_gpu/cycles/
	run -125 counted -C core
	[[ $output == *"-C core: give numbers"*"cpu_core/cycles/"* ]]
	run -125 bounded pfm encode -m "$MNT" cycles,instructions
	[[ $output == *"with spaces"* ]]
	run -125 bounded pfm record -m "$MNT" -a -o "$BATS_TEST_TMPDIR/data" -e cpu_core/cycles/ -- true
	[[ $output == *"so threads and all CPUs together cannot"* ]]
	run -125 counted -C 9
	[[ $output == *"there is no CPU 9"* ]]
}

@test "the user of a counter: its type's counters are taken, and no others" {
	serve --backend=sim:hybrid
	put ok "$MNT/sim/poke" "2 0x186 0x4300c0"
	run -0 bounded pfm who -m "$MNT"
	fails grep type= <<<"$output"
	[[ $output == *"atom: in use by another program"* ]]
	local events=branches:u,branches:k,branches,branch-misses:u,branch-misses:k,branch-misses
	run -0 counted -C 0 -e "$events"
	run -125 counted -a -e "$events"
	[[ $output == *"CPUs of type atom"* ]]
}

# counts_sleep EVENTS: `pfm stat` of a thread, which shows its registers, and the ctxsw threads, meanwhile
counts_sleep() {
	bounded pfm stat -m "$MNT" -j -o "$BATS_TEST_TMPDIR/rows" -t "$SLEEP" -e "$1" -- sh -c "
		grep -hE '^pmc.* 0x0*[1-9a-f]' $MNT/ctx/*/regs
		grep ctxsw_threads $MNT/stats"
}

# Simulated CPUs run no programs: the registers of the real ones are simulated here, at the price of counts.
@test "stat: threads, on the CPUs of one type" {
	local name

	[ "$(nproc)" -ge 2 ] || skip "needs two CPUs"
	events_of_types
	serve_msrsim --model=hybrid --cpus=2
	serve --dev="$CPU"
	sleep 100 3>&- &
	SLEEP=$!
	run -0 counts_sleep cpu_core/BOTH/ue,cpu_core/slots/u
	is $'pmc6 0x00000000004500c0\npmc16 0x0000000000002000\nctxsw_threads 1'
	run -0 schema json cpu_core/BOTH/ue cpu_core/slots/u <"$BATS_TEST_TMPDIR/rows"
	is $'0\n0'
	run -0 counts_sleep cpu_atom/BOTH/ue
	is $'pmc0 0x000000000045003c\nctxsw_threads 1'
	run -0 counts_sleep instructions:u
	is $'pmc16 0x0000000000000002\nctxsw_threads 2'
	for name in cpu_core/BOTH/u,instructions instructions,cpu_core/slots/ cpu_core/BOTH/,cpu_atom/BOTH/; do
		run -125 counts_sleep "$name"
		[[ $output == *"give all events the same prefix, or none" ]]
	done
	run -125 counts_sleep slots
	[[ $output == *"threads on CPUs of one type with cpu_core/EVENT/" ]]
	run -125 bounded pfm record -m "$MNT" -t "$SLEEP" -o "$BATS_TEST_TMPDIR/data" -e cpu_core/cycles/ -- true
	[[ $output == *"counts each type separately" ]]
	# A command is stopped before it begins, and followed.
	run bounded pfm stat -m "$MNT" --allow-lost -j -o "$BATS_TEST_TMPDIR/rows" -e cpu_core/BOTH/u -- true
	[ "$status" = 0 ]
	grep -q '"event":"cpu_core/BOTH/u"' "$BATS_TEST_TMPDIR/rows"
	kill "$SLEEP"
}
