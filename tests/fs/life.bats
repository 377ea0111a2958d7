# SPDX-License-Identifier: MIT
# How the daemon starts, refuses to start and ends, and what it leaves behind.

load common

REGISTERS="0x186 0x187 0x38d 0x38f 0xc1 0xc2 0x309"
USER=0x4100c0

# registers CPU: the values of all of them
registers() {
	for r in $REGISTERS; do
		msr "$1" "$r" || return
	done
}

# A msrsim whose CPU 1 has seen other users, and a daemon on it.
serve_msr() {
	serve_msrsim --clock=script
	probe 8 pwrite "$CPU/1/msr" 0x187 c100130000000000
	probe 8 pwrite "$CPU/1/msr" 0xc2 7700000000000000
	ORIGINAL=$(registers 1)
	serve --backend=msr "--dev=$CPU"
}

# run_context: a context that counts with three kinds of registers on CPU 1
run_context() {
	new a
	put ok "$C/regs" "pmc0 $USER\npmc1 $USER\npmc16 0x2"
	ctl "load cpu=1"
	ctl start
	[ "$(registers 1)" != "$ORIGINAL" ]
}

# fails STATUS COMMAND...: one line on standard error says why; nothing is left mounted
fails() {
	local rc=0

	output=$(bounded "${@:2}" 2>&1 >/dev/null 3>&-) || rc=$?
	if [ "$rc" != "$1" ] || [ "$(wc -l <<<"$output")" != 1 ] || [[ $output != *perfmonfs:\ * ]] ||
		mounted "$MNT"; then
		printf 'exit status %s of %s\n%s\n' "$rc" "${*:2}" "$output"
		return 1
	fi
}

# mentions WORD...: the last command printed these words
mentions() {
	for word; do
		[[ $output == *"$word"* ]] || {
			echo "no '$word' in: $output"
			return 1
		}
	done
}

@test "SIGTERM, SIGINT and SIGHUP: registers put back, unmounted, exit 0" {
	for sig in TERM INT HUP; do
		serve_msr
		run_context
		kill -$sig "$DAEMON"
		ended 0
		not_mounted
		[ "$(registers 1)" = "$ORIGINAL" ]
		stop_msrsim
	done
}

@test "SIGTERM while files are open and a shell's directory is in the tree" {
	serve --backend=sim
	probe ok mkdir "$MNT/ctx/a"
	exec 4<>"$MNT/ctx/a/regs" 5<"$MNT/version"
	run -0 bounded fsprobe pread - 10 0 <&4
	cd "$MNT/ctx/a"
	stop_daemon
	not_mounted
	run -0 bounded fsprobe pread - 10 0 <&4
	[[ $output =~ ^(ENOTCONN|ECONNABORTED)$ ]]
}

@test "unmounting ends it with exit 0 and registers put back" {
	serve_msr
	run_context
	umount "$MNT"
	ended 0
	[ "$(registers 1)" = "$ORIGINAL" ]
}

@test "unmounting under it does not touch another mount at the same place" {
	serve --backend=sim
	umount -l "$MNT"
	mount -t tmpfs tmpfs "$MNT"
	ended 0
	run -0 findmnt -no FSTYPE "$MNT"
	is tmpfs
	umount "$MNT"
}

@test "another perfmonfs that is mounted there before its privhelper ends stays" {
	serve --backend=sim
	first=$DAEMON
	privhelper=$(pgrep -P "$DAEMON")
	kill -STOP "$privhelper"
	umount "$MNT"
	serve --backend=sim
	kill -CONT "$privhelper"
	wait "$first"
	until_ok gone "$privhelper"
	holds "$MNT/pmu/backend" sim
}

@test "kill -9: the mount goes, and the next start puts registers back" {
	serve_msr
	run_context
	programmed=$(registers 1)
	pid=$DAEMON
	DAEMON=
	kill -KILL "$pid"
	until_ok not_mounted
	wait "$pid" || [ $? = 137 ]
	[ "$(registers 1)" = "$programmed" ]
	serve --backend=msr "--dev=$CPU"
	[ "$(registers 1)" = "$ORIGINAL" ]
	grep -q restored "$LOG"
	run_context
	stop_daemon
	[ "$(registers 1)" = "$ORIGINAL" ]
	serve --backend=msr "--dev=$CPU"
	run ! grep -q restored "$LOG"
}

# A thread of it that runs stops a little later than kill returns.
all_stopped() {
	! sed 's/.*) //' "/proc/$DAEMON/task"/*/stat | grep -qv '^T'
}

# killed_overflowed MODEL STATUS: a context whose counter has overflowed is left by kill -9
killed_overflowed() {
	serve_msrsim --clock=script "--model=$1"
	serve --backend=msr "--dev=$CPU"
	new a
	put ok "$C/pmc/0" $USER
	put ok "$C/pmd/0" "-1000 short=-1000"
	ctl "load cpu=1"
	ctl start
	# It must not see the overflow.
	kill -STOP "$DAEMON"
	until_ok all_stopped
	echo 100000 >"$CPU/sim/advance"
	[ "$(msr 1 "$2")" = 0100000000000000 ]
	pid=$DAEMON
	DAEMON=
	kill -KILL "$pid"
	until_ok not_mounted
	wait "$pid" || [ $? = 137 ]
}

@test "kill -9 after an overflow: the next start clears the counter's overflow status" {
	for pmu in intel_v4:0x38e intel_v5:0x38e amd_v2:0xc0000300; do
		killed_overflowed "${pmu%:*}" "${pmu#*:}"
		serve --backend=msr "--dev=$CPU"
		[ "$(msr 1 "${pmu#*:}")" = 0000000000000000 ]
		stop_daemon
		stop_msrsim
	done
}

# kills the daemon, and takes its CPU 1 offline
kill_then_offline() {
	pid=$DAEMON
	DAEMON=
	kill -KILL "$pid"
	until_ok not_mounted
	wait "$pid" || [ $? = 137 ]
	echo 1 >"$CPU/sim/offline"
}

# checked WORD: --check mentions it
checked() {
	perfmonfs --check --backend=msr "--dev=$CPU" 3>&- | grep -q "$1"
}

@test "what could not be restored: told, kept for the next start, restored when its CPU is online" {
	serve_msr
	run_context
	kill_then_offline
	for ((round = 0; round < 2; round++)); do
		serve --backend=msr "--dev=$CPU"
		grep -qx "1 offline unrestored=0x38f,0x186,0x187,0x38d,0xc1,0xc2,0x309" "$MNT/cpus"
		checked "could not be restored"
		[ $round = 1 ] || stop_daemon
	done
	echo >"$CPU/sim/offline"
	until_ok grep -q "^1 online .*a context that has ended\|^1 online free$" "$MNT/cpus"
	until_ok eval '[ "$(registers 1)" = "$ORIGINAL" ]'
	run ! grep unrestored "$MNT/cpus"
	run ! checked "could not be restored"
	run_context
	stop_daemon
	[ "$(registers 1)" = "$ORIGINAL" ]
}

@test "a register that faults at recovery: told, and restored by a start when it does not" {
	serve_msr
	run_context
	kill_then_offline
	echo >"$CPU/sim/offline"
	echo 0x38d >"$CPU/sim/fault"
	serve --backend=msr "--dev=$CPU" --pmu=intel_arch_v2
	grep -q "^1 .* unrestored=.*0x38d" "$MNT/cpus"
	stop_daemon
	echo >"$CPU/sim/fault"
	checked journal
	serve --backend=msr "--dev=$CPU"
	[ "$(registers 1)" = "$ORIGINAL" ]
	run ! grep unrestored "$MNT/cpus"
}

@test "kill -9 with files open in a mount point with blanks in its name" {
	rmdir "$MNT"
	MNT="$BATS_TEST_TMPDIR/a b	c\\040"
	mkdir "$MNT"
	serve --backend=sim
	exec 4<"$MNT/version"
	pid=$DAEMON
	DAEMON=
	kill -KILL "$pid"
	until_ok not_mounted
	wait "$pid" || [ $? = 137 ]
}

@test "a dead mount is cleared by the next start" {
	serve --backend=sim
	guard=$(pgrep -P "$DAEMON")
	pid=$DAEMON
	DAEMON=
	kill -KILL "$guard" "$pid"
	wait "$pid" || [ $? = 137 ]
	probe ENOTCONN open "$MNT/version" rdonly
	serve --backend=sim
	stop_daemon
	not_mounted
}

@test "a second daemon on a mount point is refused" {
	serve --backend=sim
	run -1 bounded perfmonfs -f --backend=sim "$MNT"
	[ "${#lines[@]}" = 1 ]
	mentions "$MNT" EBUSY
	holds "$MNT/pmu/backend" sim
	probe ok mkdir "$MNT/ctx/a"
}

@test "two daemons on one device do not take each other's counters" {
	serve_msr
	run_context
	first=$DAEMON first_mnt=$MNT log=$LOG
	MNT=$BATS_TEST_TMPDIR/second LOG=$BATS_TEST_TMPDIR/second.stderr
	mkdir "$MNT"
	programmed=$(registers 1)
	serve --backend=msr "--dev=$CPU"
	[ "$(registers 1)" = "$programmed" ]
	probe ok mkdir "$MNT/ctx/b"
	put ok "$MNT/ctx/b/pmc/0" $USER
	put EBUSY "$MNT/ctx/b/ctl" "load cpu=1"
	sentence "$MNT/ctx/b/last_error" "perfmonfs, pid $first"
	put ok "$MNT/ctx/b/ctl" "load cpu=2"
	stop_daemon
	[ "$(registers 1)" = "$programmed" ]
	DAEMON=$first MNT=$first_mnt LOG=$log
	stop_daemon
	[ "$(registers 1)" = "$ORIGINAL" ]
}

@test "start-up errors: one line, with the thing and the errno" {
	fails 1 perfmonfs -f --backend=vax "$MNT"
	mentions vax EINVAL
	fails 1 perfmonfs -f "--dev=$CPU" "$MNT"
	mentions "$CPU"
	fails 1 perfmonfs -f --backend=sim "$BATS_TEST_TMPDIR/none"
	mentions "$BATS_TEST_TMPDIR/none" ENOENT
	fails 1 perfmonfs -f --backend=sim "$BATS_TEST_TMPDIR/text"
	: >"$BATS_TEST_TMPDIR/text"
	fails 1 perfmonfs -f --backend=sim "$BATS_TEST_TMPDIR/text"
	mentions ENOTDIR
	fails 1 perfmonfs -f --backend=sim -o bogus "$MNT"
	mentions bogus
	fails 1 perfmonfs -f "--dev=$BATS_TEST_TMPDIR/none" -o backnd=perf "$MNT"
	mentions backnd=perf EINVAL
	fails 1 setpriv --reuid="$NOBODY" --regid="$NOBODY" --clear-groups \
		"$BATS_RUN_TMPDIR/perfmonfs" -f --backend=sim "$MNT"
	mentions root EPERM
	fails 1 setpriv --bounding-set=-sys_admin --inh-caps=-sys_admin \
		"$BATS_RUN_TMPDIR/perfmonfs" -f --backend=sim "$MNT"
	mentions EPERM
}

@test "a daemon that goes to the background reports start-up errors, too" {
	fails 1 perfmonfs --backend=sim:z80 "$MNT"
	fails 1 perfmonfs --backend=sim "$BATS_TEST_TMPDIR/none"
	# This directory exists in the root, not here.
	cd "$BATS_TEST_TMPDIR"
	fails 1 perfmonfs --backend=sim srv
	mentions ENOENT
}

@test "unknown options" {
	for args in --bogus --backend "a b c" "" -x; do
		# shellcheck disable=SC2086
		fails 2 perfmonfs $args
	done
}

@test "--help and --version" {
	run -0 bounded perfmonfs --help
	[[ $output == usage:* ]]
	run -0 bounded perfmonfs --version
	[[ $output =~ ^perfmonfs\ [0-9]+\.[0-9]+\.[0-9]+$ ]]
}

@test "--check: 0 if it can serve, else what is missing" {
	serve_msrsim --clock=script
	before=$(registers 0)
	run -0 bounded perfmonfs --check --backend=msr "--dev=$CPU"
	[ "$(registers 0)" = "$before" ]
	run -0 bounded perfmonfs --check --backend=sim
	run -0 bounded perfmonfs --check --backend=perf
	run -1 bounded perfmonfs --check "--dev=$BATS_TEST_TMPDIR/none"
	mentions FAIL "$BATS_TEST_TMPDIR/none"
	run -1 bounded perfmonfs --check --backend=vax
	mentions FAIL vax
	run -1 bounded perfmonfs --check --backend=sim:z80
	mentions FAIL z80
	run -1 bounded perfmonfs --check --backend=sim "--config=$BATS_TEST_TMPDIR/none"
	mentions FAIL "$BATS_TEST_TMPDIR/none"
}

@test "the configuration file names the backend, unless --backend does" {
	echo "backend = sim:amd_v2" >"$BATS_TEST_TMPDIR/conf"
	serve "--config=$BATS_TEST_TMPDIR/conf"
	holds "$MNT/pmu/backend" sim
	grep -q amd "$MNT/pmu/name"
	stop_daemon
	serve "--config=$BATS_TEST_TMPDIR/conf" --backend=sim
	run ! grep -q amd "$MNT/pmu/name"
	run -0 bounded perfmonfs --check "--config=$BATS_TEST_TMPDIR/conf"
	mentions sim amd
	stop_daemon
	echo "backend = vax" >"$BATS_TEST_TMPDIR/conf"
	fails 1 perfmonfs -f "--config=$BATS_TEST_TMPDIR/conf" "$MNT"
	mentions vax EINVAL
}

# end_background PID
end_background() {
	kill -TERM "$1"
	until_ok gone "$1"
	not_mounted
}

@test "without -f it returns when it serves, and relative paths stay what they were" {
	serve_msrsim --clock=script
	cd "$BATS_TEST_TMPDIR"
	run -0 bounded perfmonfs --backend=msr --dev=cpu mnt 3>&-
	is ""
	cd /
	probe ok mkdir "$MNT/ctx/a"
	put ok "$MNT/ctx/a/pmc/0" $USER
	put ok "$MNT/ctx/a/ctl" "load cpu=0"
	# The older process: the other is its privhelper.
	pid=$(pgrep -of "^perfmonfs --backend=msr --dev=cpu mnt")
	[ "$(readlink "/proc/$pid/cwd")" = / ]
	[ "$(readlink "/proc/$pid/fd/2")" = /dev/null ]
	end_background "$pid"
}

# mount(8) finds helpers in the usual directories only, so perfmonfs is put into one of them.
# shellcheck disable=SC2016
mount_helper() {
	bounded unshare -m sh -ec '
		mount --bind "$1" /usr/local/sbin
		mount -t fuse.perfmonfs none "$2" -o "$3"
		findmnt -no FSTYPE,OPTIONS "$2"
		cat "$2/pmu/backend"
		umount "$2"' sh "$BATS_RUN_TMPDIR" "$MNT" "$1" 3>&-
}

@test "as a mount helper" {
	command -v mount.fuse3 >/dev/null || skip "needs mount.fuse3 (fuse3)"
	unshare -m true 2>/dev/null || skip "needs a private mount namespace"
	run -0 mount_helper noatime,nofail,x-systemd.automount,backend=sim:amd_ext
	mentions fuse.perfmonfs nosuid nodev noexec allow_other default_permissions
	[ "${lines[1]}" = sim ]
	run mount_helper backend=sim:z80
	[ "$status" != 0 ]
	mentions z80
}

@test "the daemon survives readers and writers that are killed" {
	serve --backend=sim
	new a
	put ok "$C/pmc/0" $USER
	bounded cat "$MNT/cpus" "$C/regs" >/dev/null
	files=$(find "/proc/$DAEMON/fd" | wc -l)
	for ((round = 0; round < 50; round++)); do
		cat "$MNT/cpus" "$C/regs" "$MNT/cpus" "$C/state" >/dev/null 2>&1 3>&- &
		one=$!
		cat "$C/pmd/0" "$MNT/cpus" "$C/pmd/1" "$MNT/stats" >/dev/null 2>&1 3>&- &
		two=$!
		{ echo "load cpu=0" && echo start; } >"$C/ctl" 2>/dev/null 3>&- &
		three=$!
		{ echo stop && echo unload; } >"$C/ctl" 2>/dev/null 3>&- &
		four=$!
		sleep 0.00$((RANDOM % 10))
		kill -KILL $one $two $three $four 2>/dev/null || :
		wait $one $two $three $four || :
	done 2>/dev/null
	bounded cat "$MNT/cpus" "$C/state" >/dev/null
	ctl unload
	ctl "load cpu=0"
	ctl start
	put ok "$C/pmd/0" 0
	advance 1000
	holds "$C/pmd/0" 2000
	ctl unload
	until_ok grep -q "workers 0" "$MNT/stats"
	[ "$(find "/proc/$DAEMON/fd" | wc -l)" = "$files" ]
}

@test "a client killed while the daemon is stopped does no harm" {
	serve --backend=sim
	new a
	ctl "load cpu=0"
	kill -STOP "$DAEMON"
	cat "$MNT/cpus" >/dev/null 2>&1 3>&- &
	one=$!
	cat "$C/regs" >/dev/null 2>&1 3>&- &
	two=$!
	echo start >"$C/ctl" 2>/dev/null 3>&- &
	three=$!
	sleep 0.2
	kill -KILL $one $two $three
	sleep 0.1
	kill -CONT "$DAEMON"
	until_ok gone $one
	until_ok gone $two
	until_ok gone $three
	bounded cat "$MNT/cpus" "$C/regs" "$C/state" >/dev/null
	ctl start
	holds "$C/state" "running cpu=0 set=0"
}

@test "the connection is aborted under it: it ends, and registers are put back" {
	serve_msr
	run_context
	# umount -f aborts the connection first; then it fails, because the directory is in use.
	cd "$MNT"
	run umount -f "$MNT"
	ended 0
	not_mounted
	[ "$(registers 1)" = "$ORIGINAL" ]
}

@test "started without standard files, it does not use their numbers for its own" {
	serve_msrsim
	bounded perfmonfs --dev="$CPU" "$MNT" 0<&- 1>&- 2>&- 3>&-
	mounted "$MNT"
	pid=$(pgrep -f -- "perfmonfs --dev=$CPU" | head -n 1)
	[ "$(readlink "/proc/$pid/fd/0")" = /dev/null ]
	[ "$(readlink "/proc/$pid/fd/2")" = /dev/null ]
	readlink "/proc/$pid"/fd/* | grep -q "/run/perfmonfs/journal.$pid"
	kill "$pid"
	until_ok not_mounted
}

@test "systemd is told that it serves, and then that it goes on" {
	python3 - "$BATS_TEST_TMPDIR" <<-'END' >>"$BATS_TEST_TMPDIR/told" 3>&- &
		import os, socket, sys
		s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
		s.bind(sys.argv[1] + "/binding")
		os.rename(sys.argv[1] + "/binding", sys.argv[1] + "/notify")
		while True:
		    message = s.recv(100).decode()
		    if message == "end":
		        break
		    print(message, flush=True)
	END
	listener=$!
	until_ok test -e "$BATS_TEST_TMPDIR/notify"
	export NOTIFY_SOCKET=$BATS_TEST_TMPDIR/notify
	# Nothing is expected of this process.
	WATCHDOG_USEC=200000 WATCHDOG_PID=1 serve --backend=sim
	until_ok grep -q READY=1 "$BATS_TEST_TMPDIR/told"
	sleep 0.5
	holds "$BATS_TEST_TMPDIR/told" READY=1
	stop_daemon
	: >"$BATS_TEST_TMPDIR/told"
	# While it waits, idle or for events, and while requests come.
	WATCHDOG_USEC=200000 serve --backend=sim --clock=real
	until_ok grep -q WATCHDOG=1 "$BATS_TEST_TMPDIR/told"
	new a
	ctl "load cpu=1"
	until_ok grep -q READY=1 "$BATS_TEST_TMPDIR/told"
	for _ in {1..5}; do
		: >"$BATS_TEST_TMPDIR/told"
		until_ok grep -q WATCHDOG=1 "$BATS_TEST_TMPDIR/told"
		bounded cat "$C/state"
	done
	stop_daemon
	python3 -c 'import socket, sys
socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM).sendto(b"end", sys.argv[1])' "$NOTIFY_SOCKET"
	wait "$listener"
}

@test "systemd accepts the unit" {
	systemd-analyze --help 2>/dev/null | grep -q recursive-errors || skip "needs systemd-analyze (systemd 250)"
	unit=$BATS_TEST_TMPDIR/perfmonfs.service
	sed "s,@SBINDIR@,$BUILD/daemon," "$BATS_TEST_DIRNAME/../../contrib/systemd/perfmonfs.service.in" >"$unit"
	output=$(systemd-analyze verify --man=no --recursive-errors=no "$unit" 2>&1 && echo accepted) || true
	is accepted
}

@test "more PMU descriptions: a directory of root's, and --pmu-check" {
	local dir=$BATS_TEST_TMPDIR/pmu.d
	mkdir "$dir"
	sed 's/^pmu [^ ]*/pmu my_pmu/; s/^sim [^ ]*/sim my_sim/' \
		"$BATS_TEST_DIRNAME/../../backend/pmu/models/intel_arch_v4.pmu" >"$dir/mine.pmu"
	printf 'pmu broken x\nrate 1\noops\n' >"$dir/broken.pmu"
	serve --backend=sim:my_sim "--pmu-dir=$dir"
	[ "$(cat "$MNT/pmu/name")" = my_pmu ]
	stop_daemon
	grep -q "$dir/broken.pmu is not used: line 3: " "$LOG"
	serve --backend=sim --pmu=my_pmu "--pmu-dir=$dir"
	[ "$(cat "$MNT/pmu/name")" = my_pmu ]
	stop_daemon
	chmod go+w "$dir"
	fails 1 perfmonfs -f --backend=sim "--pmu-dir=$dir" "$MNT"
	mentions "$dir"
	run -0 perfmonfs "--pmu-check=$dir/mine.pmu"
	[ -z "$output" ]
	printf 'pmc 0 S\n' >>"$dir/broken.pmu"
	run -1 perfmonfs "--pmu-check=$dir/broken.pmu"
	[ "${#lines[@]}" = 2 ]
	[[ ${lines[0]} == "$dir/broken.pmu:3: "* ]]
	[[ ${lines[1]} == "$dir/broken.pmu:4: addr="* ]]
	run -1 perfmonfs "--pmu-check=$dir/none"
	[[ $output == *"$dir/none: ENOENT: give the path"* ]]
	run -1 perfmonfs "--pmu-check=$dir"
	[[ $output == *"$dir is not a regular file: give the path"* ]]
}

@test "each built-in description passes --pmu-check, and names the manual of its registers" {
	for file in "$BATS_TEST_DIRNAME"/../../backend/pmu/models/*.pmu; do
		perfmonfs "--pmu-check=$file"
		grep -q '^# Manual: [A-Z].*[0-9A-Z]' "$file"
	done
}
