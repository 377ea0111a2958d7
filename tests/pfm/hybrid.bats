# SPDX-License-Identifier: MIT
# pfm where CPUs have different PMUs: CPUs 0 and 1 are of type core, 2 and 3 of type atom.

load common

@test "counters and events are those that all types have" {
	serve --backend=sim:hybrid
	run -0 bounded pfm who -m "$MNT"
	is "CPU       COUNTERS        STATE
0-3       0-5,16-18       free"
	# The fixed counter of slots, and counters 6 and 7, are of one type alone.
	run ! bounded pfm encode -m "$MNT" slots:c=19
	run -0 bounded pfm encode -m "$MNT" --regs instructions
	is "pmc16 0x3"
}

@test "all CPUs count the same events" {
	serve --backend=sim:hybrid --clock=real
	run -0 bounded pfm stat -m "$MNT" -a --no-aggr -x, -e instructions,branches,branch-misses -- sleep 0.1
	for cpu in 0 1 2 3; do
		[ "$(grep -c "^event,[a-z-]*,[1-9][0-9]*,,uk,1.0000,$cpu,,," <<<"$output")" = 3 ]
	done
}

@test "the user of a counter: the type is not of the sentence" {
	serve --backend=sim:hybrid
	put ok "$MNT/sim/poke" "2 0x186 0x4300c0"
	run -0 bounded pfm who -m "$MNT"
	fails grep type= <<<"$output"
	[[ $output == *"in use by another program"* ]]
}
