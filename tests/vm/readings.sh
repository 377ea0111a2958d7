# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154
# Registers that count by themselves, by the real msr driver: a function for guest.sh, whose helpers it uses.

# tsc CPU: what pmu/readings shows of it
tsc() { awk -v cpu="$1" '$1 == "tsc" && $4 == cpu { print $5, $6 }' $mnt/pmu/readings | sed 's/ $//'; }
msr_tsc() { echo $((0x$(rdmsr -p "$1" 0x10))); }

readings() {
	start_daemon
	for cpu in 0 1; do
		before=$(msr_tsc $cpu)
		v=$(tsc $cpu)
		between "the time-stamp counter of CPU $cpu is the driver's" "$v" "$before" "$(msr_tsc $cpu)"
	done
	# The hypervisor's CPUID tells of no other: a register that answers with 0 is no reading.
	is "nothing else is shown" "$(awk '$1 != "tsc"' $mnt/pmu/readings)" ""
	check "there is no energy" test ! -e $mnt/pmu/energy
	echo 0 >/sys/devices/system/cpu/cpu1/online
	is "an offline CPU has no value" "$(tsc 1)" "- offline"
	echo 1 >/sys/devices/system/cpu/cpu1/online
	check "and one when it is back" test "$(tsc 1)" -gt 0
	stop_daemon
}
