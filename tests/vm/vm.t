#!/bin/bash
# SPDX-License-Identifier: MIT
# The msr backend where it belongs: under a real kernel with the real msr driver and a PMU that
# counts, in a guest. VM is the directory of a `run` that packs a directory into such a guest and
# runs a command there; BUILD is a build without sanitizers. Without VM, all is skipped.
set -u
cd "$(dirname "$(readlink -f "$0")")" || exit 1
if [ -z "${VM-}" ] || [ ! -x "$VM/run" ]; then
	echo "1..0 # SKIP no virtual machine: VM is not set to a directory with its run command"
	exit 0
fi
dir=$(mktemp -d)
trap 'rm -rf "$dir" "$dir".*' EXIT
cp "$BUILD/daemon/perfmonfs" "$BUILD"/tests/vm/{loop,selfread} \
	"$BUILD"/tests/fs/{burner,caller,frameless,fsprobe,smplread} "$BUILD"/tests/track/{loopn,spinner,bare,bare_fork,bare_thread} \
	"$BUILD/tools/pfm/pfm" "$BUILD/tests/lib/encode" "$BUILD/tools/pfm/libpfmfs.so.1" "$BUILD"/bench/bench_{handover,region} ./*.sh "$dir" && cp -r ../../tools/pfm/events/data "$dir" &&
	mkdir "$dir/hiding" "$dir/stalling" && cp "$BUILD/tests/hiding/perfmonfs" "$dir/hiding" &&
	cp "$BUILD/tests/stalling/perfmonfs" "$dir/stalling" || exit 1

# in_guest OUTPUT VARIABLES COMMAND SECONDS
in_guest() {
	# What else the machine does makes the guest's programs unsteady, and estimates with them. And the kernel
	# would take a timer that comes late for one that does not work.
	nice -n -20 env MODULES="msr cpuid fuse" HOSTROOT=1 MEM=3G TIMEOUT="$4" bash -c \
		"export VM $2; APPEND=\"\${APPEND-} no_timer_check\" exec \"\$VM/run\" \"\$0\" \"\$1\"" "$dir" "$3" >"$1" 2>&1
}

# A guest in which something hangs says so, and ends. That one is silent until its time is over, the
# emulated machine can do by itself: it is told, and tried once more.
is_silent() { # EXIT-STATUS OUTPUT
	[ "$1" = 124 ] && ! grep -q "it takes more than" "$2"
}

# run_scenarios OUTPUT VARIABLES SCENARIO...
run_scenarios() {
	local out=$1 vars=$2 command="" s rc seconds
	shift 2
	seconds=$((300 + 400 * $#))
	for s; do command+="sh ./guest.sh $s || echo \"not ok - $s: ends with \$?\"; "; done
	in_guest "$out" "$vars" "$command" $seconds
	rc=$?
	if is_silent $rc "$out"; then
		sed -i 's/^/# of a guest that fell silent: /' "$out"
		in_guest "$out.again" "$vars" "$command" $seconds
		rc=$?
		cat "$out.again" >>"$out"
	fi
	[ $rc = 0 ] || echo "not ok - $*: the guest exits with $rc" >>"$out"
}

# scenarios OUTPUT VARIABLES SCENARIO...: "NAME [ARGUMENT]" each, one after another in one guest: to begin
# it takes as long as most of them do. Each leaves the guest as it was, or says that it does not.
#
# On a busy host, one sum of some hundred lacks a few milliseconds of the program that is counted, on CPUs
# and on threads: whether the emulated PMU loses them is not known. So a scenario that fails is told, and
# tried once more.
scenarios() {
	local out=$1 vars=$2 s failed=()
	shift 2
	run_scenarios "$out" "$vars" "$@"
	for s; do ! grep -q -e "^not ok - ${s%% *}: " -e "^not ok - $s: ends with" "$out" || failed+=("$s"); done
	[ ${#failed[@]} != 0 ] || return 0
	for s in "${failed[@]}"; do
		sed -i -e "s/^\(not \)\?ok - ${s%% *}: /# of a first try: &/" \
			-e "s/^not ok - $s: ends with/# of a first try: &/" "$out"
	done
	run_scenarios "$out.second" "$vars" "${failed[@]}"
	cat "$out.second" >>"$out"
}

# So many guests at a time: what one counts of threads, or estimates, a second one would disturb.
most=1
guest() {
	until [ "$(jobs -rp | wc -l)" -lt $most ]; do wait -n; done
	n=$((n + 1))
	scenarios "$dir.out$(printf %02d $n)" "$@" &
}

n=0 quiet="nmi_watchdog=0"
{
	guest "PMU=1 APPEND=$quiet" intel "sampled intel_arch_v4" "threads intel_arch_v4" "pfm intel_arch_v4" \
		"background intel_arch_v4" self readings hidden stalled addressed moved robbed taken watchdog offline killed "perf 300" evicted profiled stacked \
		"refused allow_writes"
	guest "PMU=1 QPMU=ver=2,gp=2,fixed=3,width=40,fw=0 APPEND=$quiet" intel2 "threads intel_arch_v2"
	guest "PMU=1 QPMU=ver=5,gp=8,fixed=4 APPEND=$quiet" intel5
	guest "PMU=amd QPMU=amdv2=1 APPEND=$quiet" amdv2 "sampled amd64_v2" "threads amd64_v2" "pfm amd64_v2" "background amd64_v2" self
	guest "PMU=amd QPMU=amdn=6 APPEND=$quiet" amdext "sampled amd64_ext" "threads amd64_ext" "perf 300" stacked
	guest "PMU=amd QPMU=amdn=4 APPEND=$quiet" amdlegacy "threads amd64"
	wait
	most=2
	guest "CPU=EPYC" nopmu
	guest "CPU=Skylake-Server" nopmu
	guest "PMU=1 APPEND='$quiet lockdown=integrity'" "refused integrity" "locked integrity"
	guest "PMU=1 APPEND='$quiet lockdown=confidentiality'" "refused confidentiality" "locked confidentiality"
	wait
	cat "$dir".out??
} | awk '
	/^(not )?ok/ { sub(/ok/, "ok " ++n) }
	{ print; fflush() }
	END { print "1.." n }'
