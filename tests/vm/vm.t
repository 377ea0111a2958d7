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
	"$BUILD"/tests/fs/{burner,caller,fsprobe,smplread} "$BUILD"/tests/track/{loopn,spinner,bare,bare_fork,bare_thread} \
	"$BUILD/tools/pfm/pfm" "$BUILD"/bench/bench_{handover,region} ./*.sh "$dir" && cp -r ../../tools/pfm/events/data "$dir" &&
	mkdir "$dir/hiding" "$dir/stalling" && cp "$BUILD/tests/hiding/perfmonfs" "$dir/hiding" &&
	cp "$BUILD/tests/stalling/perfmonfs" "$dir/stalling" || exit 1

# in_guest OUTPUT VARIABLES COMMAND SECONDS
in_guest() {
	# What else the machine does makes the guest's programs unsteady, and estimates with them. And the kernel
	# would take a timer that comes late for one that does not work.
	nice -n -20 env MODULES="msr cpuid fuse" HOSTROOT=1 MEM=3G TIMEOUT="$4" bash -c \
		"export VM $2; APPEND=\"\${APPEND-} no_timer_check\" exec \"\$VM/run\" \"\$0\" \"\$1\"" "$dir" "$3" >"$1" 2>&1
}

# scenarios OUTPUT VARIABLES SCENARIO...: "NAME [ARGUMENT]" each, one after another in one guest: to begin
# it takes as long as most of them do. Each leaves the guest as it was, or says that it does not. A guest in
# which something hangs says so, and ends; one that is silent until its time is over, fails.
scenarios() {
	local out=$1 vars=$2 command="" s rc=0
	shift 2
	for s; do command+="sh ./guest.sh $s || echo \"not ok - $s: ends with \$?\"; "; done
	in_guest "$out" "$vars" "$command" $((300 + 400 * $#)) || rc=$?
	[ $rc = 0 ] || echo "not ok - $*: the guest exits with $rc" >>"$out"
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
		"background intel_arch_v4" self readings hidden stalled moved robbed taken watchdog offline killed "perf 300" evicted profiled stacked \
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
