# SPDX-License-Identifier: MIT
# The rights of users, and the capabilities of the daemon. GID is a group that only callers in this
# file are in; it need not be in /etc/group.

load common

GID=54321
USER=0x4100c0
KERNEL=0x4200c0

# theirs NAME: a context of the user nobody; C is its directory
theirs() {
	C=$MNT/ctx/$1
	as nobody probe ok mkdir "$C"
}

@test "anyone makes contexts, only the group loads them" {
	serve --backend=sim
	put ok "$MNT/config/sys_group" $GID
	theirs a
	as nobody put EPERM "$C/ctl" "load cpu=0"
	as nobody sentence "$C/last_error" sys_group
	as nobody holds "$C/state" unloaded
	as $GID put ok "$C/ctl" "load cpu=0"
	as nobody put ok "$C/ctl" start
	as nobody put ok "$C/ctl" stop
	as nobody put ok "$C/ctl" unload
	as nobody put EPERM "$C/ctl" "load cpu=0"
	as nobody holds "$C/flags" system_wide
}

@test "root loads and removes any context" {
	serve --backend=sim
	put ok "$MNT/config/sys_group" none
	theirs a
	ctl "load cpu=0"
	run -0 bounded cat "$MNT/cpus"
	[[ ${lines[0]} =~ ^0\ online\ context=a\ uid=$NOBODY\ pid=[0-9]+$ ]]
	probe ok rmdir "$C"
}

@test "sys_group: any, a name" {
	serve --backend=sim
	theirs a
	put ok "$MNT/config/sys_group" any
	as nobody put ok "$C/ctl" "load cpu=0"
	as nobody put ok "$C/ctl" unload
	put ok "$MNT/config/sys_group" daemon
	as nobody put EPERM "$C/ctl" "load cpu=0"
	as "$(getent group daemon | cut -d: -f3)" put ok "$C/ctl" "load cpu=0"
}

@test "allow_kernel: group" {
	serve --backend=sim
	put ok "$MNT/config/sys_group" $GID
	theirs a
	as nobody put ok "$C/pmc/0" $USER
	as nobody put EACCES "$C/pmc/0" $KERNEL
	as nobody sentence "$C/last_error" pmc0
	as nobody put EACCES "$C/regs" "pmd0 7\npmc16 0x1"
	as nobody sentence "$C/last_error" "line 2"
	as nobody holds "$C/pmc/0" 0x00000000004100c0
	as nobody holds "$C/pmd/0" 7
	as $GID put ok "$C/pmc/0" $KERNEL
	as $GID put ok "$C/pmc/16" 0x1
}

@test "allow_kernel: any and root" {
	serve --backend=sim
	put ok "$MNT/config/sys_group" $GID
	put ok "$MNT/config/allow_kernel" any
	theirs a
	as nobody put ok "$C/pmc/0" $KERNEL
	put ok "$MNT/config/allow_kernel" root
	as $GID put EACCES "$C/pmc/0" $KERNEL
	put ok "$C/pmc/0" $KERNEL
}

@test "without a group for either kind of context, only root makes contexts" {
	serve --backend=sim
	put ok "$MNT/config/sys_group" none
	put ok "$MNT/config/thread_group" none
	as nobody probe EPERM mkdir "$MNT/ctx/a"
	as nobody sentence "$MNT/last_error" group
	probe ok mkdir "$MNT/ctx/a"
	put ok "$MNT/config/sys_group" $GID
	as nobody probe EPERM mkdir "$MNT/ctx/b"
	as $GID probe ok mkdir "$MNT/ctx/b"
	put ok "$MNT/config/sys_group" none
	put ok "$MNT/config/thread_group" $GID
	as $GID probe ok mkdir "$MNT/ctx/c"
}

# passed USER TEXT: as USER, writes to the open descriptor 4
passed() {
	as "$1" inherited "$2"
}

inherited() {
	output=$(bounded "${WHO[@]}" fsprobe write - <<<"$1")
}

@test "writing takes the rights of both opener and writer" {
	serve --backend=sim
	put ok "$MNT/config/sys_group" $GID
	theirs a
	# Root's output to another user's file must not become a command of root...
	run -0 bounded fsprobe writeas "$NOBODY" "$C/ctl" <<<"load cpu=0"
	is EPERM
	put ok "$MNT/config/allow_kernel" root
	run -0 bounded fsprobe writeas "$NOBODY" "$C/regs" <<<"pmc0 $KERNEL"
	is EACCES
	# ... nor does a descriptor that root has opened pass root's rights on.
	exec 4>"$C/ctl"
	passed nobody "load cpu=0"
	is EPERM
	put ok "$C/pmc/0" $KERNEL
	passed $GID "load cpu=0"
	is EACCES
	put ok "$C/pmc/0" $USER
	passed $GID "load cpu=0"
	is ok
}

# lent FILE TEXT VALUE: root's descriptor of the file lends no right to write, and keeps VALUE in it
lent() {
	exec 4<>"$1"
	passed nobody "$2"
	is EPERM
	as nobody sentence "$MNT/last_error" root
	holds "$1" "$3"
	output=$(bounded fsprobe write - <<<"$2")
	is ok
	exec 4>&-
}

@test "root's files are written by root, and by descriptors that root has opened" {
	serve --backend=sim
	put ok "$MNT/config/sys_group" none
	lent "$MNT/config/sys_group" any none
	holds "$MNT/config/sys_group" any
	lent "$MNT/config/tick_us" 500 1000
	lent "$MNT/config/audit" off on
	lent "$MNT/sim/advance" 100 0
	holds "$MNT/sim/advance" 100
	lent "$MNT/sim/offline" 1 ""
	exec 4>"$MNT/sim/poke"
	passed nobody "0 0x186 0x4300c0"
	is EPERM
	# CAP_DAC_OVERRIDE opens them; uid 0 alone writes.
	run -0 bounded setpriv --reuid="$NOBODY" --regid="$NOBODY" --clear-groups \
		--inh-caps=+dac_override --ambient-caps=+dac_override \
		fsprobe write "$MNT/config/tick_us" <<<2000
	is EPERM
	holds "$MNT/config/tick_us" 500
	# clone is for all.
	as nobody put EINVAL "$MNT/clone" 1
}

@test "allow_kernel is asked again at load and start" {
	serve --backend=sim
	put ok "$MNT/config/sys_group" $GID
	theirs a
	as nobody probe ok mkdir "$C/set/2"
	as $GID put ok "$C/set/2/pmc/1" $KERNEL
	put ok "$MNT/config/allow_kernel" root
	as $GID put EACCES "$C/ctl" "load cpu=0"
	as $GID sentence "$C/last_error" "set 2: pmc1"
	put ok "$C/ctl" "load cpu=0"
	as $GID put EACCES "$C/ctl" start
	put ok "$MNT/config/allow_kernel" group
	as $GID put ok "$C/ctl" start
}

# With as many, the status in /proc has 450 KB. It is read in another thread, and only if need be.
@test "supplementary groups: of 65536, the last one counts" {
	local groups=$BATS_TEST_TMPDIR/groups before

	[ "$(cat /proc/sys/kernel/ngroups_max)" -ge 65536 ] || skip "kernel.ngroups_max is below 65536"
	serve --backend=sim
	put ok "$MNT/config/sys_group" 165535
	put ok "$MNT/config/thread_group" 165536
	as nobody probe EPERM mkdir "$MNT/ctx/n"
	cat >"$groups" <<-'END'
		import os, sys, time
		mnt, last = sys.argv[1], int(sys.argv[2])
		os.setgroups(range(last - 65535, last + 1))
		os.setgid(65534)
		os.setuid(65534)
		def mkdir():
		    while True:
		        try:
		            return os.mkdir(mnt + "/ctx/g")
		        except BlockingIOError:
		            time.sleep(0.1)
		try:
		    mkdir()
		    with open(mnt + "/ctx/g/ctl", "w") as ctl:
		        ctl.write("load cpu=0")
		    with open(mnt + "/cpus") as cpus:
		        print(cpus.readline().split()[2])
		except PermissionError:
		    print("refused")
	END
	before=$(session_read)
	run -0 bounded python3 "$groups" "$MNT" 165535
	is context=g
	[ $(($(session_read) - before)) -lt 65536 ]
	probe ok rmdir "$MNT/ctx/g"
	run -0 bounded python3 "$groups" "$MNT" 165534
	is refused
	run -0 bounded python3 "$groups" "$MNT" 165536
	is context=g
}

# While it waits, mkdir keeps others from the directory.
@test "supplementary groups: a user with very many makes one context a second" {
	[ "$(cat /proc/sys/kernel/ngroups_max)" -ge 65536 ] || skip "kernel.ngroups_max is below 65536"
	serve --backend=sim
	put ok "$MNT/config/sys_group" 1
	put ok "$MNT/config/thread_group" 1
	cat >"$BATS_TEST_TMPDIR/many" <<-'END'
		import errno, os, sys
		os.setgroups(range(100000, 165536))
		os.setgid(65534)
		os.setuid(65534)
		seen = set()
		for _ in range(1000):
		    try:
		        os.mkdir(sys.argv[1] + "/ctx/n")
		    except OSError as e:
		        seen.add(errno.errorcode[e.errno])
		    if len(seen) == 2:
		        break
		print(*sorted(seen))
	END
	run -0 bounded python3 "$BATS_TEST_TMPDIR/many" "$MNT"
	is "EAGAIN EPERM"
}

@test "supplementary groups: of an older kernel, another thread reads them for a signal" {
	on_older_kernel
	serve --backend=sim
	reads_in_another_thread "signal sig=10"
}

@test "config/: root writes, everyone reads" {
	serve --backend=sim
	for key in $(ls "$MNT/config"); do
		as nobody probe EACCES open "$MNT/config/$key" wronly
		as 0 probe EACCES open "$MNT/config/$key" wronly
		as nobody probe ok open "$MNT/config/$key" rdonly
	done
}

@test "config/: each key is written, read, and refuses with a sentence" {
	local key before

	serve --backend=sim
	while read -r key; do
		before=$(cat "$MNT/config/$key")
		put ok "$MNT/config/$key" "$before"
		put EINVAL "$MNT/config/$key" "no-such-value"
		sentence "$MNT/last_error" no-such-value
		holds "$MNT/config/$key" "$before"
	done < <(ls "$MNT/config")
	put ok "$MNT/config/sys_group" root
	holds "$MNT/config/sys_group" 0
	put ERANGE "$MNT/config/tick_us" 99
	holds "$MNT/config/tick_us" 1000
}

@test "arg_size_max bounds a vector" {
	serve --backend=sim
	theirs a
	vector=$(for ((n = 0; n < 1000; n++)); do printf 'pmd0 %d\\n' $n; done)
	as nobody put E2BIG "$C/regs" "$vector"
	as nobody sentence "$C/last_error" arg_size_max
	as nobody holds "$C/pmd/0" 0
	put ok "$MNT/config/arg_size_max" 65536
	as nobody put ok "$C/regs" "$vector"
	as nobody holds "$C/pmd/0" 999
}

@test "a configuration file: taken, or refused with its line" {
	printf '# comment\n\nsys_group = %s # group\nallow_kernel=root\ntick_us = 100\n' $GID >"$BATS_TEST_TMPDIR/conf"
	serve --backend=sim "--config=$BATS_TEST_TMPDIR/conf"
	holds "$MNT/config/sys_group" $GID
	holds "$MNT/config/allow_kernel" root
	holds "$MNT/config/tick_us" 100
	stop_daemon
	printf 'sys_group = any\ntick_us = 99\n' >"$BATS_TEST_TMPDIR/conf"
	run -1 bounded perfmonfs -f --backend=sim "--config=$BATS_TEST_TMPDIR/conf" "$MNT"
	[ "${#lines[@]}" = 1 ]
	[[ $output == *"line 2"* ]]
	# The remedy is not cut off.
	echo 'sysgroup = any' >"$BATS_TEST_TMPDIR/conf"
	run -1 bounded perfmonfs -f --backend=sim "--config=$BATS_TEST_TMPDIR/conf" "$MNT"
	[[ $output == *"see perfmonfs(8)" ]]
	run -1 bounded perfmonfs -f --backend=sim "--config=$BATS_TEST_TMPDIR/none" "$MNT"
	[ "${#lines[@]}" = 1 ]
	[[ $output == *ENOENT* ]]
}

@test "a configuration file that another user owns or may write is refused" {
	local conf=$BATS_TEST_TMPDIR/conf

	echo "sys_group = any" >"$conf"
	for how in "chmod g+w" "chmod o+w" "chown $NOBODY"; do
		chown 0 "$conf"
		chmod 644 "$conf"
		$how "$conf"
		run -1 bounded perfmonfs -f --backend=sim "--config=$conf" "$MNT"
		[[ ${#lines[@]} = 1 && $output == *"$conf"* ]]
		run -1 bounded perfmonfs --check --backend=sim "--config=$conf"
		[[ $output == *FAIL*"$conf"* ]]
	done
}

@test "group members do not reach each other's contexts" {
	serve --backend=sim
	put ok "$MNT/config/sys_group" $GID
	probe ok mkdir "$MNT/ctx/a"
	for f in . ctl state regs pmd/0 set; do
		as $GID probe EACCES open "$MNT/ctx/a/$f" rdonly
	done
	as $GID probe EPERM rmdir "$MNT/ctx/a"
}

@test "the limit of contexts is per user" {
	serve --backend=sim
	run -0 bounded setpriv --reuid="$NOBODY" --regid="$NOBODY" --clear-groups \
		sh -c 'cd "$1" && mkdir $(seq 256)' sh "$MNT/ctx"
	as nobody probe ENOSPC mkdir "$MNT/ctx/one-more"
	as nobody sentence "$MNT/last_error" 256
	as nobody probe ok rmdir "$MNT/ctx/128"
	as nobody probe ok mkdir "$MNT/ctx/one-more"
	as nobody probe ENOSPC mkdir "$MNT/ctx/128"
	probe ok mkdir "$MNT/ctx/128"
	run -0 grep contexts "$MNT/stats"
	is "contexts 257"
	run -0 sh -c 'ls "$1" | wc -l' sh "$MNT/ctx"
	is 257
}

# caps PID FIELD: the capabilities in hex
caps() {
	awk -v f="$2:" '$1 == f { print $2 }' "/proc/$1/status"
}

# drops CAPABILITY-NUMBER...: it has these and CAP_SYS_NICE; its privhelper has CAP_SYS_ADMIN
drops() {
	local want=$((1 << 23)) helper c

	for c; do want=$((want | 1 << c)); done
	want=$(printf '%016x' $want)
	for field in CapEff CapPrm CapBnd; do
		[ "$(caps "$DAEMON" $field)" = "$want" ]
	done
	[ "$(caps "$DAEMON" CapInh)" = 0000000000000000 ]
	[ "$(caps "$DAEMON" NoNewPrivs)" = 1 ]
	for task in /proc/"$DAEMON"/task/*; do
		[ "$(awk '$1 == "CapEff:" { print $2 }' "$task/status")" = "$want" ]
	done
	helper=$(pgrep -P "$DAEMON")
	[ "$(caps "$helper" CapEff)" = "$(printf '%016x' $((1 << 21)))" ]
	[ "$(caps "$helper" CapPrm)" = "$(printf '%016x' $((1 << 21)))" ]
	[ "$(find /proc/"$helper"/fd -mindepth 1 | wc -l)" = 4 ]
}

@test "capabilities: sim" {
	serve --backend=sim
	drops 17
}

@test "capabilities: msr, with a worker" {
	serve_msrsim --clock=script
	serve --backend=msr "--dev=$CPU"
	probe ok mkdir "$MNT/ctx/a"
	put ok "$MNT/ctx/a/ctl" "load cpu=0"
	drops 17 19 38 39
}

@test "capabilities: perf, with a worker" {
	serve --backend=perf
	probe ok mkdir "$MNT/ctx/a"
	put ok "$MNT/ctx/a/ctl" "load cpu=0"
	drops 19 38 39
}

@test "a file shows what its opener may see, even to another reader" {
	serve --backend=sim
	put ok "$MNT/sim/poke" "1 0x186 0x4300c0"
	run -0 bounded cat "$MNT/cpus"
	[[ $output == *"1 online pmc0 in use by"* ]]
	run -0 bounded fsprobe readas "$NOBODY" "$MNT/cpus"
	[[ $output != *held* && $output == *"1 online"* ]]
	probe EINVAL mkdir "$MNT/ctx/.root"
	run -0 bounded fsprobe readas "$NOBODY" "$MNT/last_error"
	[ "$output" = ok ]
}

@test "contexts that are removed but open count towards the limit" {
	serve --backend=sim
	# shellcheck disable=SC2016
	run -0 bounded setpriv --reuid="$NOBODY" --regid="$NOBODY" --clear-groups bash -c '
		cd "$1/ctx" || exit 1
		for ((i = 0; i < 300; i++)); do
			mkdir "c$i" 2>/dev/null || { echo "stopped at $i"; exit 0; }
			exec {fd}<"c$i/state" || exit 1
			rmdir "c$i"
		done' bash "$MNT"
	is "stopped at 256"
	# They are gone with that process.
	until_ok setpriv --reuid="$NOBODY" --regid="$NOBODY" --clear-groups mkdir "$MNT/ctx/again"
}
