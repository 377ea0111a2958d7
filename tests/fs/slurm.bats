# SPDX-License-Identifier: MIT
# Slurm's prolog and epilog: which CPUs they mean, and, where Debian's slurmctld, slurmd and munge are
# installed, jobs of a user without rights on a cluster of this machine alone.

load common

SLURM=$BATS_TEST_DIRNAME/../../contrib/slurm

teardown() {
	slurm_teardown
	bench_teardown
}

# cpu NUMBER PACKAGE-FIRST CORE-FIRST: a CPU of the machine in TOPOLOGY
cpu() {
	mkdir -p "$TOPOLOGY/cpu$1/topology"
	echo "$2-99" >"$TOPOLOGY/cpu$1/topology/core_siblings_list"
	echo "$3,$3" >"$TOPOLOGY/cpu$1/topology/thread_siblings_list"
}

@test "Slurm's numbers of CPUs are the kernel's of the same places" {
	TOPOLOGY=$BATS_TEST_TMPDIR/topology
	# Two packages of two cores with two threads. The kernel's numbers: packages in turn, then the second threads.
	for n in {0..7}; do
		cpu "$n" $((n % 2)) $((n % 4))
	done
	run -0 "$SLURM/job-cpus" 0-7 "$TOPOLOGY"
	is 0,4,2,6,1,5,3,7
	run -0 "$SLURM/job-cpus" 1,4-5 "$TOPOLOGY"
	is 4,1,5
	run -1 "$SLURM/job-cpus" 0,8 "$TOPOLOGY"
	rm -r "$TOPOLOGY/cpu3" # offline: its number is the next one's
	run -0 "$SLURM/job-cpus" 6 "$TOPOLOGY"
	is 7
	# As this machine is.
	run -0 "$SLURM/job-cpus" 0
	[ -e "/sys/devices/system/cpu/cpu$output" ]
}

slurm_teardown() {
	local name

	# A job of a test that has failed may still run.
	[ ! -e "$S/slurmd.pid" ] || timeout 10 scancel --signal=KILL --full --user="$NOBODY" || :
	for name in slurmd slurmctld munged; do
		[ ! -e "$S/$name.pid" ] || kill "$(cat "$S/$name.pid")"
	done
	for name in slurmd slurmctld munged; do
		[ ! -e "$S/$name.pid" ] || until_ok fails test -e "$S/$name.pid"
	done
}

# The scripts work on MNT, and tell their messages to S/log.
install_scripts() {
	local script

	for script in prolog epilog job-cpus; do
		sed "s|^mnt=.*|mnt=$MNT|; s|^state=.*|state=$S/granted|; s|/etc/perfmonfs-slurm.conf|$S/perfmonfs-slurm.conf|g" \
			"$SLURM/$script" >"$S/$script"
		chmod 755 "$S/$script"
	done
}

# begin_slurm [ENERGY]: a cluster of this machine, with its own munge, on free ports; with ENERGY, Slurm's own
# plug-in for energy reads the mount's
begin_slurm() {
	local port energy=${1-}

	for program in munged slurmctld slurmd srun; do
		command -v $program >/dev/null || skip "needs the packages slurmctld, slurmd, slurm-client and munge"
	done
	mkdir -m 755 "$S" "$S/munge" "$S/spool" "$S/state"
	install_scripts
	port=$((20000 + $$ % 12000))
	cat >"$S/slurm.conf" <<-END
		ClusterName=test
		SlurmctldHost=$(hostname -s)(127.0.0.1)
		SlurmUser=root
		AuthInfo=socket=$S/munge/socket
		SlurmctldPort=$port
		SlurmdPort=$((port + 1))
		SlurmctldPidFile=$S/slurmctld.pid
		SlurmdPidFile=$S/slurmd.pid
		SlurmdSpoolDir=$S/spool
		StateSaveLocation=$S/state
		SlurmctldLogFile=$S/slurmctld.log
		SlurmdLogFile=$S/slurmd.log
		ProctrackType=proctrack/linuxproc
		TaskPlugin=task/affinity
		SelectType=select/cons_tres
		SelectTypeParameters=CR_CPU
		MpiDefault=none
		ReturnToService=2
		PrologFlags=Alloc
		Prolog=$S/prolog
		Epilog=$S/epilog
		${energy:+AcctGatherEnergyType=acct_gather_energy/pm_counters}
		${energy:+AcctGatherNodeFreq=1}
		${energy:+JobAcctGatherType=jobacct_gather/linux}
		${energy:+JobAcctGatherFrequency=task=1}
		$(slurmd -C | sed -n 's/ RealMemory=.*//; s/^\(NodeName=.*\)/\1 NodeAddr=127.0.0.1 State=UNKNOWN/p')
		PartitionName=all Nodes=ALL Default=YES State=UP
	END
	export SLURM_CONF=$S/slurm.conf
	(umask 077 && head -c 1024 /dev/urandom >"$S/munge/key")
	bounded munged --force --key-file="$S/munge/key" --socket="$S/munge/socket" --pid-file="$S/munged.pid" \
		--log-file="$S/munge/log" --seed-file="$S/munge/seed" 3>&- 4>&- 5>&-
	bounded slurmctld 3>&- 4>&- 5>&-
	${energy:+with_cray_sys} timeout -s KILL "$PATIENCE" slurmd 3>&- 4>&- 5>&-
	until_ok idle
}

# as_slurmd SCRIPT JOB: as slurmd runs it on node n1, for a job of a user without rights
as_slurmd() {
	env -i SLURM_JOB_ID="$2" SLURM_JOB_UID="$NOBODY" SLURMD_NODENAME=n1 "$S/$1"
}

@test "the settings of prolog and epilog, and a daemon that is killed while the job runs" {
	local grant

	serve --backend=sim
	mkdir -m 755 "$S" "$S/bin"
	install_scripts
	# The job has two nodes, and CPU 0 of this one.
	cat >"$S/bin/scontrol" <<-'END'
		#!/bin/sh
		case $2 in
		job) printf '   %s\n' 'JobId=7' 'Nodes=n2 CPU_IDs=1 Mem=0 GRES=' 'Nodes=n1 CPU_IDs=0 Mem=0 GRES=' ;;
		hostnames) echo "$3" ;;
		esac
	END
	chmod 755 "$S/bin/scontrol"
	printf '%s\n' "PATH=$S/bin:\$PATH" "state=$S/elsewhere" kernel=kernel >"$S/perfmonfs-slurm.conf"
	grant="uid=$NOBODY cpus=$("$SLURM/job-cpus" 0) kernel"
	as_slurmd prolog 7
	holds "$MNT/config/grants" "$grant"
	holds "$S/elsewhere/7" "$grant"
	kill -KILL "$DAEMON"
	wait "$DAEMON" || :
	until_ok not_mounted
	as_slurmd prolog 8 # no job fails because the mount has gone
	serve --backend=sim
	holds "$MNT/config/grants" "$grant"
	as nobody probe ok mkdir "$MNT/ctx/left"
	as nobody put ok "$MNT/ctx/left/pmc/0" 0x4300c0
	as nobody put ok "$MNT/ctx/left/ctl" "load cpu=$("$SLURM/job-cpus" 0)"
	as_slurmd epilog 8
	holds "$MNT/config/grants" "$grant"
	as_slurmd epilog 7
	holds "$MNT/config/grants" ""
	[ ! -e "$MNT/ctx/left" ]
}

idle() {
	[ "$(sinfo -h -o %t)" = idle ]
}

# job COMMAND: one CPU of the cluster, as a user without rights
job() {
	(cd / && bounded srun -n1 --uid="$NOBODY" --gid="$NOBODY" bash -euc "$1")
}

setup() {
	bench_setup
	S=$BATS_TEST_TMPDIR/slurm
}

# CPU 3 of the model is no CPU of the job: that is the first one.
@test "a job of Slurm counts on its CPU, without rights; what it leaves is unloaded and removed" {
	serve --backend=sim
	[ -e "$MNT/config/grants" ] || skip "this daemon knows no grants"
	begin_slurm
	free=$(cat "$MNT/cpus")
	run -0 job "mkdir $MNT/ctx/job && cd $MNT/ctx/job
		cpu=\$(sed -n 's/^Cpus_allowed_list:\t//p' /proc/self/status)
		echo 0x4100c0 >pmc/0
		echo load cpu=\$cpu >ctl && echo start >ctl
		cat state $MNT/config/grants
		mkdir $MNT/ctx/other
		if echo load cpu=3 >$MNT/ctx/other/ctl; then exit 1; fi 2>/dev/null"
	[[ $output =~ ^running\ cpu=([0-9]+)\ set=0$'\n'uid=$NOBODY\ cpus=([0-9]+)$ ]]
	[ "${BASH_REMATCH[1]}" = "${BASH_REMATCH[2]}" ]
	until_ok idle
	until_ok fails test -e "$MNT/ctx/job"
	holds "$MNT/cpus" "$free"
	[ -z "$(cat "$MNT/config/grants")" ]
	[ "$(ls "$S/granted")" = lock ]
}

site_is() {
	[[ $(cat "$MNT/ctx/site/state") == "$1 "* ]]
}

@test "monitoring in the background yields to a job, and comes back after it" {
	serve --backend=sim
	begin_slurm
	new site
	put ok "$C/flags" background
	put ok "$C/pmc/0" 0x4100c0
	ctl "load cpu=0"
	ctl start
	run -0 job "mkdir $MNT/ctx/job && cd $MNT/ctx/job
		[ \$(sed -n 's/^Cpus_allowed_list:\t//p' /proc/self/status) = 0 ]
		echo 0x4100c0 >pmc/0
		echo load cpu=0 >ctl && echo start >ctl
		cat $MNT/cpus"
	[[ ${lines[0]} == "0 online context=job "*" yielded=site" ]]
	until_ok site_is running
	holds "$MNT/ctx/site/state" "running cpu=0 set=0 gaps=1"
}

@test "two jobs of a user: the end of one leaves the other its CPU" {
	serve --backend=sim
	[ -e "$MNT/config/grants" ] || skip "this daemon knows no grants"
	[ "$(nproc)" -gt 1 ] || skip "needs two CPUs"
	begin_slurm
	mkfifo "$S/go"
	job "mkdir $MNT/ctx/long && cd $MNT/ctx/long
		echo load cpu=\$(sed -n 's/^Cpus_allowed_list:\t//p' /proc/self/status) >ctl && echo start >ctl
		read -r _ <$S/go; cat state" >"$S/said" 3>&- 4>&- 5>&- &
	until_ok grep -q running "$MNT/ctx/long/state"
	run -0 job "cat $MNT/config/grants"
	[ "${#lines[@]}" = 1 ] && [[ $output =~ ^uid=$NOBODY\ cpus=0[-,]1$ ]]
	until_ok grants_a_single_cpu
	echo >"$S/go"
	wait $!
	[[ $(cat "$S/said") == running* ]]
	until_ok idle
	[ -z "$(cat "$MNT/config/grants")" ]
}

grants_a_single_cpu() {
	grep -qx "uid=$NOBODY cpus=[01]" "$MNT/config/grants"
}

# with_cray_sys COMMAND: with the mount's energy where Cray's kernel has its own. No directory can be made in /sys,
# so all that is there is bound into a file system that takes its place.
with_cray_sys() {
	local pm=$MNT/pm_counters

	# shellcheck disable=SC2016
	unshare --mount --propagation slave sh -euc '
		mkdir -p "$0/sys" "$0/cray"
		ln -s "$1" "$0/cray/pm_counters"
		shift
		mount --rbind /sys "$0/sys"
		mount -t tmpfs sys /sys
		for dir in "$0"/sys/*; do
			mkdir "/sys/${dir##*/}"
			mount --rbind "$dir" "/sys/${dir##*/}"
		done
		mkdir /sys/cray
		mount --bind "$0/cray" /sys/cray
		umount -l "$0/sys"
		exec "$@"' "$S" "$pm" "$@"
}

# consumed JOULES: what the plug-in says of the step that runs, and the power of the node
consumed() {
	[ "$(bounded sstat -a -n -P -o ConsumedEnergyRaw 1)" = "$1" ] &&
		[[ $(bounded scontrol show node) = *" CurrentWatts=150 "* ]]
}

joules() {
	bounded "$BATS_TEST_DIRNAME/pm_counters.py" "$MNT/pm_counters/energy"
}

@test "Slurm's plug-in for energy reads pm_counters/" {
	[ -e /usr/lib/*/slurm-wlm/acct_gather_energy_pm_counters.so ] || skip "needs Slurm's plug-in pm_counters"
	unshare --mount --propagation slave true || skip "needs a mount namespace: / is no mount point here"
	serve --backend=sim:skylake
	advance 1000000000
	begin_slurm energy
	before=$(joules)
	mkfifo -m 666 "$S/go"
	job "echo >$S/go; read -r _ <$S/go" 3>&- 4>&- 5>&- &
	step=$!
	bounded cat "$S/go"
	for seconds in 1 10 100; do
		advance ${seconds}000000000
		until_ok consumed $(($(joules) - before))
	done
	[ $(($(joules) - before)) = $((111 * 150)) ]
	echo >"$S/go"
	wait $step
	run -1 grep "unable to open" "$S/slurmd.log"
}
