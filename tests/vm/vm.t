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
trap 'rm -rf "$dir"' EXIT
cp "$BUILD/daemon/perfmonfs" "$BUILD/tests/vm/loop" "$BUILD/tests/fs/burner" \
	"$BUILD/tests/fs/smplread" "$BUILD"/tests/track/{loopn,spinner,bare,bare_fork,bare_thread} \
	./*.sh "$dir" || exit 1

scenario() { # GUEST-VARIABLES NAME [ARGUMENT]
	local vars=$1
	shift
	local name=$1 rc
	# What else the machine does makes the guest's programs unsteady, and estimates with them.
	nice -n -20 env MODULES="msr cpuid fuse" HOSTROOT=1 MEM=3G TIMEOUT=240 \
		bash -c "$vars exec \"\$VM/run\" \"\$0\" \"\$1\"" "$dir" "sh ./guest.sh $name '${2-}'" 2>&1
	rc=$?
	[ $rc = 0 ] || echo "not ok - $name: the guest exits with $rc"
}

quiet="nmi_watchdog=0"
{
	scenario "PMU=1 APPEND=$quiet" intel
	scenario "PMU=1 QPMU=ver=2,gp=2,fixed=3,width=40,fw=0 APPEND=$quiet" intel2
	scenario "PMU=amd QPMU=amdv2=1 APPEND=$quiet" amdv2
	scenario "PMU=amd QPMU=amdn=6 APPEND=$quiet" amdext
	scenario "PMU=amd QPMU=amdn=4 APPEND=$quiet" amdlegacy
	scenario "PMU=1 APPEND=$quiet" sampled intel_arch_v4
	scenario "PMU=amd QPMU=amdv2=1 APPEND=$quiet" sampled amd64_v2
	scenario "PMU=amd QPMU=amdn=6 APPEND=$quiet" sampled amd64_ext
	scenario "PMU=1 APPEND=$quiet" threads intel_arch_v4
	scenario "PMU=1 QPMU=ver=2,gp=2,fixed=3,width=40,fw=0 APPEND=$quiet" threads intel_arch_v2
	scenario "PMU=amd QPMU=amdv2=1 APPEND=$quiet" threads amd64_v2
	scenario "PMU=amd QPMU=amdn=6 APPEND=$quiet" threads amd64_ext
	scenario "PMU=amd QPMU=amdn=4 APPEND=$quiet" threads amd64
	scenario "PMU=1 APPEND=$quiet" moved
	scenario "PMU=1 APPEND=$quiet" robbed
	scenario "PMU=1 APPEND=$quiet" taken
	scenario "PMU=1 APPEND=nmi_watchdog=1" watchdog
	scenario "PMU=1 APPEND=$quiet" offline
	scenario "PMU=1 APPEND=$quiet" killed
	scenario "CPU=EPYC" nopmu
	scenario "CPU=Skylake-Server" nopmu
	scenario "PMU=1 APPEND='$quiet lockdown=integrity'" refused integrity
	scenario "PMU=1 APPEND='$quiet msr.allow_writes=off'" refused allow_writes
} | awk '
	/^(not )?ok/ { sub(/ok/, "ok " ++n) }
	{ print; fflush() }
	END { print "1.." n }'
