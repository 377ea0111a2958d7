# SPDX-License-Identifier: MIT
# pmu/readings, pmu/energy and pm_counters/: registers that count by themselves.

load common

GID=54321

# reading FILE NAME NUMBER: the value, or "- REASON"
reading() {
	bounded cat "$MNT/pmu/$1" >"$BATS_TEST_TMPDIR/$1" || return
	awk -v name="$2" -v number="$3" '$1 == name && $4 == number { print $5, $6 }' \
		"$BATS_TEST_TMPDIR/$1" | sed 's/ $//'
}

shows() {
	[ "$(reading "$1" "$2" "$3")" = "$4" ] || {
		cat "$BATS_TEST_TMPDIR/$1"
		return 1
	}
}

@test "registers of CPUs, cores and the package are shown, by the time of the model" {
	serve --backend=sim:skylake
	advance 1000000
	shows readings tsc 3 2500000
	shows readings aperf 1 3001000
	shows readings core_c6 2 101000
	shows readings core_c6 1 ""
	shows readings package_c7 0 100000
	shows readings thermal_margin 0 40
	shows readings energy_package 0 ""
	bounded cat "$MNT/pmu/energy" >"$BATS_TEST_TMPDIR/energy"
	run -0 cut -d ' ' -f 1-4 "$BATS_TEST_TMPDIR/energy"
	[ "$output" = "energy_package uJ package 0
energy_cores uJ package 0
energy_graphics uJ package 0
energy_memory uJ package 0
energy_platform uJ package 0" ]
}

@test "each CPU has the registers of its type" {
	serve --backend=sim:hybrid
	advance 1000000
	shows readings pperf 1 2001000
	shows readings pperf 2 ""
	shows readings aperf 3 3003000
	mkdir "$MNT/ctx/a"
	echo "load cpu=1" >"$MNT/ctx/a/ctl"
	holds "$MNT/ctx/a/pmd/267" 2001000
	echo unload >"$MNT/ctx/a/ctl"
	echo "load cpu=2" >"$MNT/ctx/a/ctl"
	probe EIO pread "$MNT/ctx/a/pmd/267" 100 0
	holds "$MNT/ctx/a/pmd/266" 3002000
	rmdir "$MNT/ctx/a"
}

@test "nothing is made up for CPUs that are offline and registers that fault" {
	serve --backend=sim:skylake
	shows readings tsc 1 0
	put ok "$MNT/sim/offline" 1
	shows readings tsc 1 "- offline"
	shows readings core_c6 0 0
	put ok "$MNT/sim/offline" 0-3
	shows readings core_c6 0 "- offline"
	shows energy energy_package 0 "- offline"
	put ok "$MNT/sim/offline" "\n"
	put ok "$MNT/sim/fault" 0x611,0xe8
	shows readings tsc 1 0
	shows readings aperf 1 "- EIO"
	advance 2000000
	shows energy energy_package 0 "- EIO"
	probe EIO read "$MNT/pm_counters/cpu_energy" 100 rdonly
	bounded "$BATS_TEST_DIRNAME/pm_counters.py" "$MNT/pm_counters/memory_energy"
}

@test "registers that a machine or a backend lacks have no line and no file" {
	serve --backend=sim:p6
	[ ! -e "$MNT/pmu/energy" ]
	[ ! -e "$MNT/pm_counters" ]
	run -0 awk '{ print $1 }' "$MNT/pmu/readings"
	[ "$(sort -u <<<"$output")" = tsc ]
	stop_daemon
	serve --backend=perf
	[ ! -e "$MNT/pmu/readings" ]
	[ ! -e "$MNT/pmu/energy" ]
	[ ! -e "$MNT/pm_counters" ]
}

# shared_by KEY FILE...: the files are root's, and those of the group in config/KEY
shared_by() {
	local key=$1 f

	shift
	put ok "$MNT/config/$key" none
	for f; do
		[ "$(stat -c '%a %g' "$f")" = "400 0" ]
		run -0 setpriv --reuid=65534 --regid=$GID --clear-groups sh -c 'cat "$1" 2>&1 || :' - "$f"
		[[ $output = *"Permission denied"* ]]
	done
	put ok "$MNT/config/$key" $GID
	for f; do
		[ "$(stat -c '%a %g' "$f")" = "440 $GID" ]
		run -0 bounded setpriv --reuid=65534 --regid=$GID --clear-groups cat "$f"
		run -1 setpriv --reuid=65534 --regid=65534 --clear-groups cat "$f"
	done
	put ok "$MNT/config/$key" any
	for f; do
		run -0 bounded setpriv --reuid=65534 --regid=65534 --clear-groups cat "$f"
		run -2 setpriv --reuid=65534 --regid=65534 --clear-groups sh -c 'echo 1 > "$1"' - "$f"
	done
}

@test "energy is for root, and for energy_group; other readings for sys_group" {
	serve --backend=sim:skylake
	shared_by energy_group "$MNT/pmu/energy" "$MNT/pm_counters/energy"
	shared_by sys_group "$MNT/pmu/readings"
}

@test "readings of a CPU are PMDs of a context that counts it" {
	serve --backend=sim:skylake
	new a
	[ ! -e "$C/pmd/270" ]
	run -0 bounded ls "$C/pmd"
	[[ " ${lines[*]} " != *" 264 "* ]]
	probe ENODATA pread "$C/pmd/264" 100 0
	put ok "$C/format" "default size=8192"
	put ok "$C/regs" "pmc0 0x4100c0\npmd0 -1000 short=-1000 smpl=264,266"
	ctl "load cpu=1"
	ctl start
	advance 1000000
	run -0 bounded ls "$C/pmd"
	[[ " ${lines[*]} " = *" 264 265 266 267"* && " ${lines[*]} " != *" 268"* ]]
	for n in "264 tsc" "265 mperf" "266 aperf" "267 pperf"; do
		holds "$C/pmd/${n% *}" "$(reading readings "${n#* }" 1)"
	done
	put EACCES "$C/pmd/264" 0
	# The last sample: a header of 128 bytes, then samples of 40 bytes and two values.
	n=$(od -An -tu8 -N8 "$C/buffer")
	run -0 od -An -tu8 -j $((128 + 56 * (n - 1) + 40)) -N 16 "$C/buffer"
	[ "$(xargs <<<"$output")" = "$(reading readings tsc 1) $(reading readings aperf 1)" ]
	put ok "$MNT/sim/offline" 1
	probe EIO pread "$C/pmd/264" 100 0
	put ok "$MNT/sim/offline" ""
}

@test "readings of all levels take the right to kernel level" {
	serve --backend=sim:skylake
	put ok "$MNT/config/sys_group" any
	put ok "$MNT/config/allow_kernel" root
	as nobody new b
	as nobody put ok "$C/format" "default size=8192"
	as nobody put ok "$C/regs" "pmc0 0x4100c0\npmd0 -1000 short=-1000 smpl=264,266"
	as nobody ctl "load cpu=2"
	as nobody ctl start
	advance 1000000
	run -0 as nobody bounded cat "$C/pmd/264"
	as nobody probe EACCES pread "$C/pmd/266" 100 0
	sentence "$C/last_error" allow_kernel
	run -0 as nobody od -An -tu8 -j 168 -N 16 "$C/buffer"
	[ "$(awk '{ print $2 }' <<<"$output")" = 18446744073709551615 ]
}

# exported FILE: its samples, as exposition.py prints them
exported() {
	bounded cat "$MNT/metrics/$1" >"$BATS_TEST_TMPDIR/$1" || return
	"$BATS_TEST_DIRNAME/exposition.py" "${1##*.}" "$BATS_TEST_TMPDIR/$1"
}

@test "metrics/ has what packages count, for those that may read it" {
	serve --backend=sim:skylake
	[ "$(ls "$MNT/metrics")" = "node.lp
node.prom" ]
	put ok "$MNT/config/energy_group" any
	put ok "$MNT/config/sys_group" any
	advance 1000000000
	uj=$(reading energy energy_package 0)
	joules=$(printf '%d.%06d' $((uj / 1000000)) $((uj % 1000000)))
	for form in prom lp; do
		run -0 exported energy.$form
		[ "${#lines[@]}" = 5 ]
		[ "$(grep -c '^perfmonfs_machine_energy_joules_total{' <<<"$output")" = 5 ]
		grep -Fqx "perfmonfs_machine_energy_joules_total{package=\"0\",reading=\"energy_package\"} $joules" <<<"$output"
		run -0 exported readings.$form
		[ "$(sed 's/.*reading="\(.*\)"} .*/\1/' <<<"$output" | xargs)" = \
			"package_thermal_margin package_c2 package_c3 package_c6 package_c7" ]
		grep -Fqx "perfmonfs_machine_ticks_total{package=\"0\",reading=\"package_c7\"} $(reading readings package_c7 0)" <<<"$output"
		grep -Eqx 'perfmonfs_machine_below_limit_celsius\{.*\} 40' <<<"$output"
	done
	put ok "$MNT/sim/offline" 0-3
	run -0 bounded cat "$MNT/metrics/readings.prom"
	[ -z "$output" ]
	put ok "$MNT/config/energy_group" none
	[ ! -e "$MNT/metrics/energy.prom" ]
	put ok "$MNT/config/energy_group" $GID
	[ "$(stat -c '%a %g' "$MNT/metrics/energy.prom")" = "440 $GID" ]
	run -0 bounded setpriv --reuid=65534 --regid=$GID --clear-groups cat "$MNT/metrics/energy.prom"
	run -1 setpriv --reuid=65534 --regid=65534 --clear-groups cat "$MNT/metrics/energy.prom"
}

@test "metrics/ has what registers of a description of one's own count" {
	mkdir "$BATS_TEST_TMPDIR/pmu.d"
	{
		sed 's/^pmu [^ ]*/pmu my_pmu/; s/^sim [^ ]*/sim my_sim/' \
			"$BATS_TEST_DIRNAME/../../backend/pmu/models/intel_arch_v4.pmu"
		echo "free interrupts addr=0x34 width=32 unit=events scope=package"
	} >"$BATS_TEST_TMPDIR/pmu.d/my.pmu"
	serve --backend=sim:my_sim "--pmu-dir=$BATS_TEST_TMPDIR/pmu.d"
	put ok "$MNT/config/sys_group" any
	advance 1000000000
	value=$(reading readings interrupts 0)
	[ "$value" -gt 0 ]
	for form in prom lp; do
		run -0 exported readings.$form
		grep -Fqx "perfmonfs_machine_events_total{package=\"0\",reading=\"interrupts\"} $value" <<<"$output"
	done
}

@test "pm_counters has the joules and watts of the machine in Slurm's form" {
	serve --backend=sim:skylake
	pm=("$MNT"/pm_counters/{energy,cpu_energy,memory_energy})
	run -0 bounded "$BATS_TEST_DIRNAME/pm_counters.py" "${pm[@]}"
	mapfile -t before <<<"$output"
	for i in 1 2; do
		advance 10000000000
		run -0 bounded "$BATS_TEST_DIRNAME/pm_counters.py" "${pm[@]}"
	done
	mapfile -t after <<<"$output"
	for i in 0 1 2; do
		[ $((after[i] - before[i])) = 3000 ]
	done
	run -0 bounded "$BATS_TEST_DIRNAME/pm_counters.py" "$MNT"/pm_counters/{power,cpu_power,memory_power}
	for watts in $output; do
		[ "$watts" -ge 149 ]
		[ "$watts" -le 150 ]
	done
}

@test "the thread keeps energy over a wrap by itself" {
	serve --backend=sim:zen4 --clock=real
	first=$(reading energy energy_package 0)
	sleep 1.2 # it wraps after half a second
	last=$(reading energy energy_package 0)
	[ "$last" -gt "$first" ]
	run -0 bounded "$BATS_TEST_DIRNAME/pm_counters.py" "$MNT/pm_counters/power"
	[ "$output" -ge 140 ]
	[ "$output" -le 160 ]
}
