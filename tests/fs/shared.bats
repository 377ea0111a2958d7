# SPDX-License-Identifier: MIT
# Registers that the CPUs of a core share, and a thread that runs on these CPUs in turn.

load common
load track

switched_in() {
	awk '$1 == "ctxsw_in" { print $2 }' "$MNT/stats"
}

# in_turn PID TURNS: the process runs on CPU 0 and on CPU 1 in turn, and gets its registers each time.
in_turn() {
	local i before

	for ((i = 0; i < $2; i++)); do
		before=$(switched_in)
		taskset -pc $((i % 2)) "$1" >/dev/null
		until_ok gets_registers "$before"
	done
}

gets_registers() {
	[ "$(switched_in)" -gt "$1" ]
}

# begin_off_core: TID is counted by an event of off-core response
begin_off_core() {
	serve_msrsim --model=skylake --cpus=2
	probe 8 pwrite "$CPU/1/msr" 0x1a6 0200010000000000
	serve --backend=msr "--dev=$CPU"
	compete 0 burn
	new a
	put ok "$C/regs" "pmc0 0x4101b7\npmc19 0x11001"
	# An access of a simulated register sleeps, so that switches are late.
	put ok "$C/flags" gaps
	ctl "load tid=${PROGRAMS[0]} ptrace=no"
}

restored() {
	[ "$(msr 0 0x1a6)" = 0200010000000000 ]
}

setup_file() {
	command -v taskset >/dev/null || skip "needs taskset (util-linux)"
	grep -q "^0-" /sys/devices/system/cpu/online || skip "needs the CPUs 0 and 1"
}

@test "a thread takes a register that the CPUs of a core share along" {
	begin_off_core
	ctl start
	in_turn "${PROGRAMS[0]}" 20
	run -0 bounded cat "$C/pmd/0"
	kill -STOP "${PROGRAMS[0]}"
	until_ok restored
	new b
	put ok "$C/pmc/19" 0x10080
	ctl "load cpu=1"
	rmdir "$C"
	restored
}

@test "a thread that does not run leaves it to others" {
	begin_off_core
	new b
	put ok "$C/pmc/19" 0x10080
	ctl "load cpu=1"
	ctl unload
}

@test "an event of the north bridge: one CPU has the counter, a thread only while it runs" {
	serve_msrsim --model=k8 --cpus=2
	serve --backend=msr "--dev=$CPU"
	compete 0 burn
	new a
	put ok "$C/regs" "pmc0 0x4301e9"
	put ok "$C/flags" gaps
	ctl "load tid=${PROGRAMS[0]} ptrace=no"
	ctl start
	in_turn "${PROGRAMS[0]}" 20
	run -0 bounded cat "$C/pmd/0"
	kill -STOP "${PROGRAMS[0]}"
	new b
	put ok "$C/regs" "pmc0 0x4301e9"
	until_ok put ok "$C/ctl" "load cpu=1"
	new c
	put ok "$C/regs" "pmc0 0x4301e9"
	refused EBUSY "load cpu=0" "CPU 1"
	put ok "$C/regs" "pmc0 0x4300c0\npmc1 0x4301e9"
	ctl "load cpu=0"
}
