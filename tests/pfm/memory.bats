# SPDX-License-Identifier: MIT
# pfm stat counts events of memory controllers: in all of them, or not at all. In the simulator, each controller
# counts the same.

load common

setup() {
	bench_setup
	PATH="$BUILD/tools/pfm:$PATH"
	unset PERFMONFS
	export PFM_EVENTS=$BATS_TEST_DIRNAME/../../tools/pfm/events/data
}

# memory STATUS OPTION...: pfm stat while a second of the model's time passes; its rows are in "rows"
memory() {
	run "-$1" bounded pfm stat --mount="$MNT" -o "$BATS_TEST_TMPDIR/rows" -j "${@:2}" \
		-- sh -c "${BEFORE:-:}; echo 1000000000 >$MNT/sim/advance"
	printf '%s\n' "$output"
}

# row EVENT: its value, or "null"
row() {
	sed -n "s|.*\"event\":\"$1\",\"value\":\([0-9a-z]*\),.*|\1|p" "$BATS_TEST_TMPDIR/rows"
}

# controller VALUE: what one controller counts meanwhile, by the files of a context
controller() {
	new one
	put ok "$C/pmc/64" "$1"
	ctl "load cpu=0"
	ctl start
	advance 1000000000
	ctl stop
	cat "$C/pmd/64"
	rmdir "$C"
}

# sums MODEL CONTROLLERS: what the simulator of that model shows
sums() {
	local reads writes

	serve --backend="sim:$1"
	[ "$(grep -c ' package umc=' "$MNT/pmu/pmds")" -le 32 ]
	reads=$(controller 0x8000010a)
	writes=$(controller 0x8000020a)
	[ "$reads" -gt 0 ]
	[ "$writes" -gt 0 ]
	[ "$reads" != "$writes" ]
	memory 0 -C 0 -e umc_cas_cmd.rd,instructions:u,umc_cas_cmd.wr
	[ "$(row umc_cas_cmd.rd)" = $((reads * $2)) ]
	[ "$(row umc_cas_cmd.wr)" = $((writes * $2)) ]
	[ "$(row instructions:u)" = 2000000000 ]
	# By the name that perf gives it, and by turns
	memory 0 -C 1 -e amd_umc/umc_cas_cmd.rd/
	[ "$(row amd_umc/umc_cas_cmd.rd/)" = $((reads * $2)) ]
	memory 0 -C 0 --rerun -e umc_cas_cmd.rd,umc_act_cmd.all,umc_act_cmd.rd,umc_act_cmd.wr,umc_cas_cmd.wr
	[ "$(row umc_cas_cmd.rd)" = $((reads * $2)) ]
	[ "$(row umc_cas_cmd.wr)" = $((writes * $2)) ]
	memory 0 -C 0 -g memory
	[ "$(row reads)" = $((reads * $2)) ]
	[ "$(row writes)" = $((writes * $2)) ]
	grep -q '"metric":"bandwidth","value":[0-9.]*,"unit":"MB/s"' "$BATS_TEST_TMPDIR/rows"
	memory 0 -C 0 -g memory-bus
	[ "$(row transfers)" -gt 0 ]
	[ "$(row clocks)" -gt "$(row transfers)" ]
	[ "$(sed -n 's/.*"metric":"utilization","value":\([0-9]*\)\..*/\1/p' "$BATS_TEST_TMPDIR/rows")" = \
		$((100 * $(row transfers) / 2 / $(row clocks))) ]
	no_contexts
	stop_daemon
	until_ok not_mounted
}

@test "sums of all memory controllers" {
	sums zen4 4
	# It has more counters than there is room for: two of each controller are there.
	sums zen5 12
}

@test "encode and list: what the selectors of memory controllers take" {
	serve --backend=sim:zen4
	run -0 bounded pfm encode -m "$MNT" umc_cas_cmd.rd
	[ "$output" = 0x8000010a ]
	run -0 bounded pfm encode -m "$MNT" -r umc_mem_clk umc_cas_cmd.wr
	[ "$output" = "pmc64 0x80000000
pmc68 0x80000000
pmc72 0x80000000
pmc76 0x80000000
pmc65 0x8000020a
pmc69 0x8000020a
pmc73 0x8000020a
pmc77 0x8000020a" ]
	run -0 bounded pfm list -m "$MNT" umc_
	[ "$(grep -c 'PMD 64-79$' <<<"$output")" = 13 ]
	run -0 bounded pfm list -m "$MNT" bandwidth
	[[ $output == *"group memory"* ]]
	run -0 bounded pfm who -m "$MNT"
	[[ $output == *"0-5,64-79 "*free* ]]
	stop_daemon
	until_ok not_mounted
	# Two of each four are there.
	serve --backend=sim:zen5
	run -0 bounded pfm who -m "$MNT"
	[[ $output == *"0-5,64-109:2/4 "*free* ]]
	run -0 bounded pfm who -m "$MNT" -j
	[[ $output == *'"0-5,64-65,68-69,72-73,'*',108-109"'* ]]
	run -0 bounded pfm list -m "$MNT" umc_
	[ "$(grep -c 'PMD 64-109:2/4$' <<<"$output")" = 13 ]
}

@test "a memory controller that another context has: no part of the sum is shown" {
	serve --backend=sim:zen4
	new other
	put ok "$C/pmc/72" 0x8000000a
	ctl "load cpu=1"
	memory 125 -C 0 -e umc_cas_cmd.rd
	[[ $output == *UMC_CTL8*EBUSY* ]]
	[ ! -s "$BATS_TEST_TMPDIR/rows" ]
	ctl unload
	memory 0 -C 0 -e umc_cas_cmd.rd
	[ "$(row umc_cas_cmd.rd)" -gt 0 ]
}

@test "a memory controller that other software has" {
	local reads

	serve --backend=sim:zen4
	reads=$(controller 0x8000010a)
	# The third counter of the second controller, and the fourth of the last
	put ok "$MNT/sim/poke" "0 0xc001080c 0x8000000a"
	put ok "$MNT/sim/poke" "0 0xc001081e 0x8000000a"
	run -0 bounded pfm who -m "$MNT"
	[[ $output == *"66-78:1/4 "*"PMD 70 is in use by another program"*"67-79:1/4 "*"PMD 79 is in use by another program"* ]]
	memory 125 -C 0 -e umc_cas_cmd.rd,umc_cas_cmd.wr,umc_cas_cmd.all
	[[ $output == *"PMC "*" is in use by another program"*"PMD 64-77:2/4 is free for them"* ]]
	memory 0 -C 0 -e umc_cas_cmd.rd,umc_cas_cmd.wr
	[ "$(row umc_cas_cmd.rd)" = $((reads * 4)) ]
}

@test "a memory controller is lost: its events are" {
	serve --backend=sim:zen4
	# The first counter of the last controller
	BEFORE="echo 0 0xc0010818 0x80000000 >$MNT/sim/poke" memory 3 -C 0 -e umc_cas_cmd.rd,umc_cas_cmd.wr,branches:u
	[ "$(row umc_cas_cmd.rd)" = null ]
	[ "$(row umc_cas_cmd.wr)" -gt 0 ]
	[ "$(row branches:u)" = 400000000 ]
	grep -q '"event":"umc_cas_cmd.rd".*"lost":"pmd76 ' "$BATS_TEST_TMPDIR/rows"
}

# on_packages ID ID ID ID: the packages of the four CPUs, for the COMMAND of memory
on_packages() {
	local cpu

	for cpu in 0 1 2 3; do
		mkdir -p "$BATS_TEST_TMPDIR/cpus/cpu$cpu/topology"
		echo $cpu >"$BATS_TEST_TMPDIR/cpus/cpu$cpu/topology/thread_siblings_list"
		echo "${*:cpu+1:1}" >"$BATS_TEST_TMPDIR/cpus/cpu$cpu/topology/physical_package_id"
	done
	bounded() {
		# shellcheck disable=SC2016
		unshare -m --propagation private sh -c 'mount --bind "$0" /sys/devices/system/cpu && exec "$@"' \
			"$BATS_TEST_TMPDIR/cpus" timeout 60 "$@"
	}
}

@test "all CPUs: a package is counted once" {
	local reads

	serve --backend=sim:zen4
	reads=$(controller 0x8000010a)
	on_packages 3 3 3 3
	memory 0 -a --no-aggr -e umc_cas_cmd.rd
	[ "$(row umc_cas_cmd.rd)" = $((reads * 4)) ]
	grep -q '"cpu":0,' "$BATS_TEST_TMPDIR/rows"
	memory 0 -C 2-3 -e umc_cas_cmd.rd
	[ "$(row umc_cas_cmd.rd)" = $((reads * 4)) ]
	memory 125 -C 2-3 -e umc_cas_cmd.rd,instructions
	[[ $output == *"CPUs 2 and 3 share a package"*-C* ]]
	# If the kernel has others than the PMU, the daemon refuses the second.
	on_packages 0 1 0 1
	memory 125 -a -e umc_cas_cmd.rd
	[[ $output == *EBUSY* ]]
	rm "$BATS_TEST_TMPDIR/cpus/cpu1/topology/physical_package_id"
	memory 125 -C 0-1 -e umc_cas_cmd.rd
	[[ $output == *"which package CPU 1"*-C* ]]
	memory 0 -C 1 -e umc_cas_cmd.rd
}

@test "what memory controllers do not count" {
	serve --backend=sim:zen4
	memory 125 -e umc_cas_cmd.rd
	[[ $output == *"pfm stat -C"* ]]
	memory 125 -C 0 -e umc_cas_cmd.rd:u
	[[ $output == *"leave the modifiers out"* ]]
	memory 125 -C 0 -e umc_cas_cmd.xx
	[[ $output == *"is it umc_cas_cmd."* ]]
	run -125 bounded pfm record -m "$MNT" -C 0 -e umc_cas_cmd.rd -o "$BATS_TEST_TMPDIR/samples" true
	[[ $output == *"pfm stat"* ]]
	stop_daemon
	until_ok not_mounted
	# A processor without them
	serve --backend=sim:amd_v2
	memory 125 -C 0 -g memory
	[[ $output == *"group memory: "* ]]
	memory 125 -C 0 -e amd_umc/umc_cas_cmd.rd/
	[[ $output == *"Zen 4"* ]]
}
