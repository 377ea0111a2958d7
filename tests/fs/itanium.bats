# SPDX-License-Identifier: MIT
# Itanium 2 on the simulator: the specification's own examples, with its register numbers and values.
# Two loops of 24 instructions, of user and of kernel level, execute every 10 and 40 ns.

load common

export PERFMONFS

setup() {
	bench_setup
	PERFMONFS=$MNT
}

# USER is the level 3.
NOPS=0x5008 LOADS=0xcd08 INSTRUCTIONS=0x0808 BRANCHES=0x1108

# word FILE OFFSET: 64 bits of it, as hexadecimal digits
word() {
	output=$(bounded fsprobe pread "$1" 8 "$2" | fold -w 2 | tac | tr -d '\n')
}

@test "the specification's examples, by its own calls" {
	serve --backend=sim:itanium2
	run -0 timeout -s KILL 120 "$BUILD/tests/lib/itanium_v06" 3>&- 4>&- 5>&-
}

@test "pmu/: the registers by their types and indices, buffers marked as such" {
	serve --backend=sim:itanium2
	holds "$MNT/pmu/name" itanium2
	holds "$MNT/pmu/model" "Itanium 2"
	holds "$MNT/pmu/counter_width" 47
	[ "$(wc -l <"$MNT/pmu/pmcs")" = 29 ]
	grep -qx "256 IBR0 ibr 0x0 0x0000000000000000 0x0000000000000000" "$MNT/pmu/pmcs"
	grep -qx "271 DBR7 dbr 0x7 0x0000000000000000 0xc000000000000000" "$MNT/pmu/pmcs"
	grep -qx "4 PMC4 pmc 0x4 0x0000000000800040 0xfffffffffc8000e0" "$MNT/pmu/pmcs"
	grep -qx "4 PMD4 pmd 0x4 0x0000000000000000 0x0000000000000000" "$MNT/pmu/pmds"
	grep -qx "16 PMD16 pmd 0x10 0x0000000000000000 0x0000000000000000 buffer" "$MNT/pmu/pmds"
	holds "$MNT/sys/pmu_desc/pmd4/width" 47
	holds "$MNT/sys/pmu_desc/pmd8/width" 64
	holds "$MNT/sys/pmu_desc/pmc257/addr" 0x1
}

@test "the opcode matcher PMC8 leaves loads and stores of what retires" {
	serve --backend=sim:itanium2
	new a
	# Major opcode 4 of M units; PMC8 for IBR pairs 0 and 2.
	put ok "$C/regs" "pmc8 0x8400000003fffffd\npmc4 $INSTRUCTIONS\npmc5 $NOPS\npmc15 0xfffffffa"
	ctl "load cpu=1"
	ctl start
	advance 1000
	holds "$C/pmd/4" 600
	holds "$C/pmd/5" 0
	ctl unload
	# Without it, all 24.
	put ok "$C/regs" "pmc8 0xffffffff3fffffff\npmc15 0xfffffff0\npmd4 0\npmd5 0"
	ctl "load cpu=1"
	ctl start
	advance 1000
	holds "$C/pmd/4" 2400
	holds "$C/pmd/5" 1000
}

@test "samples of the branch trace buffer: PMD8 to 16, each time from its beginning" {
	serve --backend=sim:itanium2
	new a
	put ok "$C/format" "default size=8192"
	put ok "$C/regs" "pmc12 0x3f08\npmc4 $BRANCHES\npmd4 -3 short=-3 smpl=8-16 reset=16"
	ctl "load cpu=1"
	ctl start
	for n in 0 1; do
		advance 15
		holds "$C/pmd/4" 18446744073709551613
		# A header of 128 bytes; samples of 40 bytes and nine values. PMD16: six entries.
		at=$((128 + n * (40 + 9 * 8) + 40))
		word "$C/buffer" $((at + 8 * 8))
		is 0000000000000006
		# Of the two branches of the loop in turn: source, slot 2; target.
		odd=$((n % 2))
		word "$C/buffer" $((at + 8 * 2 * odd))
		is 4000000000000839
		word "$C/buffer" $((at + 8 * 2 * odd + 8))
		is 4000000000000840
		word "$C/buffer" $((at + 8 * 2 * (1 - odd)))
		is 4000000000000879
		word "$C/buffer" $((at + 8 * 2 * (1 - odd) + 8))
		is 4000000000000800
	done
	# A sum of addresses says nothing.
	run -0 bounded cat "$C/total"
	is "pmd4 18446744073709551613"
}

@test "a data range by DBRs, for two sets in turn" {
	serve --backend=sim:itanium2
	new a
	probe ok mkdir "$C/set/1"
	# The first word that the loop loads; set 1 counts all loads.
	put ok "$C/set/0/regs" "pmc264 0x6000000000004000\npmc265 0x08fffffffffffff8\npmc13 0x2078fefefef6\npmc4 $LOADS"
	put ok "$C/set/1/regs" "pmc4 $LOADS"
	for set in 0 1; do
		put ok "$C/set/$set/flags" time_switch
		put ok "$C/set/$set/timeout_ns" 1000000
	done
	ctl "load cpu=1"
	ctl start
	advance 1000000
	holds "$C/set/0/pmd/4" 100000
	advance 1000000
	holds "$C/set/1/pmd/4" 400000
	advance 1000000
	holds "$C/set/0/pmd/4" 200000
	holds "$C/set/1/pmd/4" 400000
}

@test "what has no MSRs is no MSR device, and no description for one" {
	run -1 msrsim -f --model=itanium2 "$CPU"
	[[ $output == *"no MSRs"* ]]
	run -0 msrsim --help
	[[ $output == *intel_v4* && $output != *itanium* ]]
	serve_msrsim --model=intel_v4
	run -1 bounded perfmonfs -f --backend=msr "--dev=$CPU" --pmu=itanium2 "$MNT"
	[[ $output == *"do not have its registers"* ]]
	run -1 bounded perfmonfs -f --backend=sim --pmu=itanium2 "$MNT"
	[[ $output == *"do not have its registers"* ]]
	run -1 bounded perfmonfs -f --backend=sim:itanium2 --pmu=intel_arch_v4 "$MNT"
	[[ $output == *"do not have its registers"* ]]
}
