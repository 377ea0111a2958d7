# SPDX-License-Identifier: MIT
# CPUs with different PMUs: CPUs 0 and 1 are of type core, with 8 counters and 4 fixed ones; CPUs 2 and 3
# of type atom, with 6 and 3.

load common

LAST=0x4100c0 # Instructions at user level, 2000 per microsecond.

# What is in the registers that the tests write, of CPU 1 and 3; what there is not is EIO.
registers() {
	for cpu in 1 3; do
		for r in 0x18b 0x18c 0x18d 0x38d 0x38f 0xc6 0xc8 0x309 0x30c; do
			msr $cpu $r
		done
	done
}

# Contexts that count on CPU 1 with what only type core has, and on CPU 3.
run_contexts() {
	new a
	put ok "$C/regs" "pmc7 $LAST\npmc16 0x2002"
	ctl "load cpu=1"
	ctl start
	new b
	put ok "$C/regs" "pmc5 $LAST\npmc16 0x2"
	ctl "load cpu=3"
	ctl start
}

@test "pmu/ and cpus: one type per kind of core, and none where CPUs are alike" {
	serve --backend=sim:hybrid
	run -0 bounded cat "$MNT/cpus"
	is "0 online free type=core
1 online free type=core
2 online free type=atom
3 online free type=atom"
	holds "$MNT/pmu/counter_width" 40
	holds "$MNT/pmu/core/counter_width" 48
	holds "$MNT/pmu/atom/counter_width" 40
	[ "$(wc -l <"$MNT/pmu/pmcs")" = 9 ]
	[ "$(wc -l <"$MNT/pmu/core/pmcs")" = 9 ]
	[ "$(wc -l <"$MNT/pmu/atom/pmcs")" = 7 ]
	run ! grep -q "^7 \|^19 " "$MNT/pmu/atom/pmds"
	grep -q "^19 FIXED_CTR3 " "$MNT/pmu/core/pmds"
	grep -q "^16 FIXED_CTR_CTRL .* 0xfffffffffffffccc$" "$MNT/pmu/atom/pmcs"
	run ! grep -q PMC7 "$MNT/pmu/atom/mappings"
	holds "$MNT/pmu/core/name" intel_hybrid
	[ ! -e "$MNT/pmu/cpu" ]
	stop_daemon
	serve --backend=sim
	[ ! -e "$MNT/pmu/core" ]
	run ! grep -q type= "$MNT/cpus"
}

@test "a context has the registers of the CPU that it is loaded on" {
	serve --backend=sim:hybrid
	run_contexts
	advance 1000
	holds "$MNT/ctx/a/pmd/7" 2000
	holds "$MNT/ctx/a/pmd/19" 9600
	holds "$MNT/ctx/b/pmd/5" 2000
	put EINVAL "$C/pmc/7" $LAST
	sentence "$C/last_error" "type atom have no pmc7"
	ctl unload
	put ok "$C/pmc/7" $LAST
	refused EINVAL "load cpu=2" "type atom have no pmc7"
	put ok "$C/pmc/7" 0
	ctl "load cpu=2"
	run -0 bounded cat "$MNT/cpus"
	[[ ${lines[2]} == "2 online context=b uid=0 pid="*" type=atom" ]]
}

@test "a CPU that was offline at start: its type is known when it has been used" {
	serve_msrsim --model=hybrid --clock=script
	echo 3 >"$CPU/sim/offline"
	serve --backend=msr "--dev=$CPU"
	grep -qx "3 offline" "$MNT/cpus"
	echo >"$CPU/sim/offline"
	grep -qx "3 online free type=atom" "$MNT/cpus"
	new a
	put ok "$C/pmc/7" $LAST
	refused EINVAL "load cpu=3" "type atom have no pmc7"
}

@test "one of another type that comes online later is refused" {
	serve_msrsim --model=hybrid --clock=script
	echo 2-3 >"$CPU/sim/offline"
	serve --backend=msr "--dev=$CPU"
	[ ! -e "$MNT/pmu/core" ]
	echo >"$CPU/sim/offline"
	new a
	put ok "$C/pmc/0" $LAST
	refused ENODEV "load cpu=3" "restart perfmonfs"
	ctl "load cpu=1"
}

@test "registers are put back by type: at unload, at the end, and after kill -9" {
	serve_msrsim --model=hybrid --clock=script
	probe 8 pwrite "$CPU/1/msr" 0x18d c100130000000000
	probe 8 pwrite "$CPU/3/msr" 0x18b c200130000000000
	probe 8 pwrite "$CPU/3/msr" 0xc6 7700000000000000
	original=$(registers)
	serve --backend=msr "--dev=$CPU"
	run_contexts
	[ "$(registers)" != "$original" ]
	probe ok rmdir "$MNT/ctx/a"
	probe ok rmdir "$MNT/ctx/b"
	[ "$(registers)" = "$original" ]
	run_contexts
	stop_daemon
	[ "$(registers)" = "$original" ]
	serve --backend=msr "--dev=$CPU"
	run_contexts
	pid=$DAEMON
	DAEMON=
	kill -KILL "$pid"
	until_ok not_mounted
	wait "$pid" || [ $? = 137 ]
	[ "$(registers)" != "$original" ]
	# An offline CPU's type is not known: its registers wait for a start that sees it.
	echo 3 >"$CPU/sim/offline"
	serve --backend=msr "--dev=$CPU"
	grep -q "^3 offline unrestored=" "$MNT/cpus"
	stop_daemon
	echo >"$CPU/sim/offline"
	serve --backend=msr "--dev=$CPU"
	[ "$(registers)" = "$original" ]
	run ! grep -q unrestored "$MNT/cpus"
}

@test "--check names each type" {
	serve_msrsim --model=hybrid --clock=script
	run bounded perfmonfs --check --backend=msr "--dev=$CPU" 3>&-
	[[ $output == *"core: intel_hybrid (Intel architectural): 12 counters, 48 bits"* ]]
	[[ $output == *"atom: intel_hybrid (Intel architectural): 9 counters, 40 bits"* ]]
}
