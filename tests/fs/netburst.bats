# SPDX-License-Identifier: MIT
# NetBurst: a counter is enabled by its CCCR, PMC 23 and later, which chooses an ESCR with the event, PMC 0 to
# 22 and 32 to 53. CPUs 0 and 1 are the threads of a core.

load common

CYCLES=0x2600020c       # global_power_events, running, at both levels: 3000 per microsecond.
USER_CYCLES=0x26000204  # 2400.
INSTRUCTIONS=0x04000204 # instr_retired, at user level: 2000.
FSB=0x3d000             # CCCR: enabled, chooses FSB_ESCR0 or 1.
CRU=0x39000             # CRU_ESCR0 or 1.

# counts_cycles CPU: the context counts cycles with BPU_CTR0
counts_cycles() {
	put ok "$C/regs" "pmc6 $CYCLES\npmc23 $FSB"
	ctl "load cpu=$1"
	ctl start
}

@test "it counts, switches sets, overflows, and its threads share the registers" {
	serve --backend=sim:netburst
	new a
	put ok "$C/regs" "pmc20 $INSTRUCTIONS\npmc29 $CRU"
	put ok "$C/pmd/6" "-4000000 notify short=-4000000"
	counts_cycles 1
	advance 1000
	holds "$C/pmd/0" 3000
	new b
	put ok "$C/regs" "pmc6 $CYCLES\npmc24 $FSB"
	refused EBUSY "load cpu=0" "CPU 1"
	put ok "$C/regs" "pmc6 0\npmc24 0x30000\npmc38 $USER_CYCLES\npmc54 $FSB"
	ctl "load cpu=0"
	ctl start
	advance 1000
	holds "$C/pmd/9" 2400
	holds "$MNT/ctx/a/pmd/0" 6000
	# CPU 2 is another core.
	new c
	counts_cycles 2
	advance 1000
	holds "$C/pmd/0" 3000
}

@test "kill -9: the next start puts back the registers of the second thread" {
	serve_msrsim --clock=script --model=netburst
	bounded fsprobe pwrite "$CPU/1/msr" 0x3a2 0b02002600000000
	bounded fsprobe pwrite "$CPU/1/msr" 0x360 0020020000000000
	serve --backend=msr "--dev=$CPU"
	new a
	counts_cycles 1
	[ "$(msr 1 0x3a2)" = 0302002600000000 ]
	[ "$(msr 1 0x360)" = 00d0030000000000 ]
	pid=$DAEMON
	DAEMON=
	kill -KILL "$pid"
	until_ok not_mounted
	wait "$pid" || [ $? = 137 ]
	[ "$(msr 1 0x3a2)" = 0302002600000000 ]
	serve --backend=msr "--dev=$CPU"
	grep -q "restored 3 registers" "$LOG"
	[ "$(msr 0 0x3a2)" = 0b02002600000000 ]
	[ "$(msr 0 0x360)" = 0020020000000000 ]
}
