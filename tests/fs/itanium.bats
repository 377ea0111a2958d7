# SPDX-License-Identifier: MIT
# Itanium 2 on the simulator: the specification's own examples, with its register numbers and values.
# Two loops of 24 instructions, of user and of kernel level, execute every 10 and 40 ns.

load common

export PERFMONFS

setup() {
	bench_setup
	PERFMONFS=$MNT
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

@test "what has no MSRs is no MSR device, and no description for one" {
	run -1 msrsim -f --model=itanium2 "$CPU"
	[[ $output == *"no MSRs"* ]]
	run -0 msrsim --help
	[[ $output == *intel_v4* && $output != *itanium* ]]
	serve_msrsim --model=intel_v4
	run -1 bounded perfmonfs -f --backend=msr "--dev=$CPU" --pmu=itanium2 "$MNT"
	[[ $output == *"lack its registers"* ]]
	run -1 bounded perfmonfs -f --backend=sim --pmu=itanium2 "$MNT"
	[[ $output == *"lack its registers"* ]]
	run -1 bounded perfmonfs -f --backend=sim:itanium2 --pmu=intel_arch_v4 "$MNT"
	[[ $output == *"lack its registers"* ]]
}
