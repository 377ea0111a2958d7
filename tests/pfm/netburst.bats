# SPDX-License-Identifier: MIT
# pfm on NetBurst, where an event is in an ESCR, and the counter's CCCR chooses that.

load common

setup() {
	bench_setup
	PATH="$BUILD/tools/pfm:$PATH"
	export PFM_EVENTS=$BATS_TEST_DIRNAME/../../tools/pfm/events/data
}

# counted EVENT...: what pfm stat counts of these together, a number in a line each, in a millisecond of the model
counted() {
	local IFS=,

	pfm stat --mount="$MNT" -j -o "$BATS_TEST_TMPDIR/rows" -C 1 -e "$*" -- sh -c "echo 1000000 >$MNT/sim/advance"
	sed -n 's/.*"event":.*"value":\([0-9]*\),.*/\1/p' "$BATS_TEST_TMPDIR/rows"
}

# by_hand PMD REGS...: what the context's PMDs count in that time, with lines of regs
by_hand() {
	local regs

	regs=$(printf '%s\n' "${@:2}")
	new hand
	put ok "$C/regs" "$regs"
	ctl "load cpu=1"
	ctl start
	advance 1000000
	for pmd in $1; do
		cat "$C/pmd/$pmd"
	done
	ctl unload
	rmdir "$C"
}

@test "instructions and cycles at once: what hand-written registers count" {
	for model in netburst netburst_p; do
		serve "--backend=sim:$model"
		hand=$(by_hand "6 0" "pmc20 0x04000204" "pmc29 0x39000" "pmc6 0x2600020c" "pmc23 0x3d000")
		[ "$hand" = $'2000000\n3000000' ]
		run -0 counted instructions:u cycles
		is "$hand"
		run -0 counted instr_retired:NBOGUSNTAG:u global_power_events:RUNNING
		is "$hand"
		hand=$(by_hand "2 15" "pmc10 0x0800040c" "pmc25 0x35000" "pmc52 0x0c00180c" "pmc60 0x3b000")
		[[ $hand =~ ^[1-9][0-9]+$'\n'[1-9][0-9]+$ ]]
		run -0 counted retired_branch_type:CONDITIONAL branch_retired:MMTP:MMTM
		is "$hand"
		stop_daemon
		DAEMON=
		until_ok not_mounted
	done
}

@test "the default events, and an event twice: both ESCRs count it" {
	serve --backend=sim:netburst
	run -0 bounded pfm stat --mount="$MNT" -C 1 -- sh -c "echo 1000000 >$MNT/sim/advance"
	[ "$(grep -cE ' (instructions|cycles|branches|branch-misses) ' <<<"$output")" = 4 ]
	run -0 counted instructions:u instructions:k cycles:u cycles:k
	is $'2000000\n500000\n2400000\n600000'
	# 18 counters without the one that does not stop, and never three of one pair of ESCRs
	run -0 counted {BPU_fetch_request,ITLB_reference:HIT,page_walk_type:ITMISS}:u \
		{branches,TC_misc,tc_ms_xfer,retired_branch_type:CALL}:u \
		{x87_FP_uop,packed_DP_uop,memory_complete:LSC,WC_Buffer:WCB_EVICTS}:u \
		{instructions,branch-misses,branch_retired,machine_clear:CLEAR,resource_stall,uops_type:TAGLOADS}:u
	[ "${#lines[@]}" = 17 ]
	run ! grep -qx 0 <<<"$output"
}

@test "events that need the same ESCRs or counters" {
	serve --backend=sim:netburst
	run -125 bounded pfm stat --mount="$MNT" -C 1 -e cycles,instructions,uops_retired,branch-misses -- true
	[[ $output == *"instructions, uops_retired and branch-misses cannot be counted together: they share PMC 20,51"* ]]
	# By turns, each is counted.
	run -0 bounded pfm stat --mount="$MNT" -C 1 --rerun -e instructions,uops_retired,branch-misses -- \
		sh -c "echo 1000000 >$MNT/sim/advance"
	[ "$(grep -cE ' (instructions|uops_retired|branch-misses) ' <<<"$output")" = 3 ]
}

@test "encode gives what regs takes and decode understands" {
	serve --backend=sim:netburst
	run -0 bounded pfm encode --mount="$MNT" instructions:u cycles:c=2:e branch_retired:MMNP:MMTP
	is $'pmc20=0x4000204 pmc29=0x39000\npmc6=0x2600020c pmc23=0x117d000\npmc21=0xc000a0c pmc29=0x3b000'
	run -0 bounded pfm decode --mount="$MNT" pmc20=0x4000204 pmc21=0xc000a0c pmc12=0x5000030
	is "instructions, instr_retired, instr_retired:NBOGUSNTAG
  event 0x2, event mask 0x1, PMC 20
  user level, PMD 6-8
branch_retired:MMNP:MMTP
  event 0x6, event mask 0x5, PMC 21
  user and kernel level, PMD 6-8
64bit_MMX_uop:ALL:TAG0
  event 0x2, event mask 0x8000, tag 0x1, PMC 12
  no level is selected: it does not count, PMD 4-5"
	# Which ESCR it is for decides.
	run -0 bounded pfm decode --mount="$MNT" 0x400020c
	[ "$(grep -v '^ ' <<<"$output")" = "pmc20: instructions, instr_retired, instr_retired:NBOGUSNTAG
pmc21: machine_clear:CLEAR
pmc51: instructions, instr_retired, instr_retired:NBOGUSNTAG
pmc52: machine_clear:CLEAR" ]
	run -0 bounded pfm decode --mount="$MNT" 0x4
	is "no event with a name"
	run -125 bounded pfm decode --mount="$MNT" pmc29=0x39000
	[[ $output == *"is a CCCR"* ]]
	run -125 bounded pfm stat --mount="$MNT" -e 0x400020c -- true
	[[ $output == *"put its PMC in front, as in pmc0=VALUE"* ]]
	regs=$(pfm encode --mount="$MNT" -r instructions:u cycles)
	new a
	put ok "$C/regs" "$regs"
	holds "$C/pmc/6" 0x000000002600020c
	run -0 bounded pfm list --mount="$MNT" instr_retired:NBOGUSNTAG
	is "$(printf '%-44s 0x4000200  PMC 20,51  PMD 6-8,15-17\n    %s' instr_retired:NBOGUSNTAG \
		'instructions retired without a tag')"
}

# listed FILE...: each event of these files is counted, and its ESCR's value has this name
listed() {
	local mount=--mount=$MNT name named

	cd "$BATS_TEST_TMPDIR"
	pfm list "$mount" | sed -n 's/^\([^ ]*\) .* PMC [0-9].* PMD [0-9].*/\1/p' >names
	[ "$(wc -l <names)" = "$(cat "$@" | grep -c ' pmc[0-9]')" ]
	xargs -n 32 pfm encode "$mount" <names | cut -d' ' -f1 >values
	xargs -n 32 pfm decode "$mount" <values | grep -v '^ ' >named
	[ "$(wc -l <named)" = "$(wc -l <names)" ]
	while read -r name named; do
		[[ ", $named," == *", $name,"* ]]
	done < <(paste -d' ' names named)
}

@test "list, encode and decode agree on all events" {
	serve --backend=sim:netburst
	listed "$PFM_EVENTS/netburst.events"
	run -0 bounded pfm encode --mount="$MNT" netburst::instructions:u netburst_p::cycles netburst_p::instr_completed
	stop_daemon
	DAEMON=
	until_ok not_mounted
	serve --backend=sim:netburst_p
	listed "$PFM_EVENTS/netburst.events" "$PFM_EVENTS/netburst_p.events"
	# Other PMUs have no ESCRs.
	stop_daemon
	DAEMON=
	until_ok not_mounted
	serve --backend=sim:intel_v4
	run -125 bounded pfm encode --mount="$MNT" netburst::cycles
	[[ $output == *"no counter of intel_arch_v4 counts it" ]]
}

@test "top names the events of contexts" {
	serve --backend=sim:netburst
	new a
	put ok "$C/regs" "$(pfm encode --mount="$MNT" -r instructions:u cycles branch_retired:MMTP:MMTM:c=2)"
	ctl "load cpu=1"
	ctl start
	run -0 bounded pfm top --mount="$MNT" --by=context -b -n 1 -I 100
	grep -q " instructions:u$" <<<"$output"
	grep -q " cycles$" <<<"$output"
	grep -q " pmc[0-9]*=0x17b000$" <<<"$output"
}
