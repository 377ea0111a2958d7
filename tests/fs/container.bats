# SPDX-License-Identifier: MIT
# Containers: user, PID and mount namespaces of a user, into which the mount is bound. Rights are those of the
# uid outside; thread numbers are those inside.

load common

setup() {
	bench_setup
	command -v setpriv unshare >/dev/null || skip "needs util-linux"
	unshare --user --map-root-user --mount --pid --fork true 2>/dev/null || skip "needs user namespaces"
	ONE=$(awk '$1 ~ /^processor/ { n = $3 } END { print n }' /proc/cpuinfo)
}

teardown() {
	local pipe

	for pipe in "$BATS_TEST_TMPDIR"/*.go; do
		[ ! -p "$pipe" ] || echo 1<>"$pipe"
	done
	bench_teardown
}

# contain UID COMMAND...: as root of a container of that user, in which the tree is at $IN
contain() {
	IN=$BATS_TEST_TMPDIR/in-$1
	mkdir -p "$IN"
	# shellcheck disable=SC2016
	bounded setpriv --reuid="$1" --regid="$1" --clear-groups unshare --user --map-root-user --mount --pid \
		--fork --kill-child --mount-proc bash -euc 'mount --bind "$0" "$1" && cd "$1" && shift && exec "$@"' \
		"$MNT" "$IN" "${@:2}"
}

# host_pid UID: the process of that user that sleeps for UID seconds
host_pid() {
	pgrep -u "$1" -x -f "sleep $1"
}

# In each container, process 3 sleeps; its context stays until a line comes.
# shellcheck disable=SC2016
counts_its_second='sleep "$0" &
	[ $! = 3 ]
	mkdir "ctx/of-$0"
	cd "ctx/of-$0"
	echo page-faults:u >pmc/0
	echo load tid=3 >ctl && echo start >ctl
	cat state
	ls -lnd . | cut -d" " -f3
	read -r _'

@test "two containers: each counts its own process 3, and sees its own contexts alone" {
	local uid

	serve --backend=perf
	for uid in 61101 61102; do
		mkfifo "$BATS_TEST_TMPDIR/$uid.go"
		contain "$uid" bash -euc "$counts_its_second" "$uid" <>"$BATS_TEST_TMPDIR/$uid.go" \
			>"$BATS_TEST_TMPDIR/$uid.said" 3>&- 4>&- 5>&- &
		until_ok grep -q '^[0-9]' "$BATS_TEST_TMPDIR/$uid.said"
		# The host's number; inside, the context is root's, outside it is the user's.
		[ "$(cat "$BATS_TEST_TMPDIR/$uid.said")" = "running tid=$(host_pid "$uid") set=0
0" ]
		[ "$(stat -c %u "$MNT/ctx/of-$uid")" = "$uid" ]
		holds "$MNT/ctx/of-$uid/state" "running tid=$(host_pid "$uid") set=0"
	done
	# However many contexts are loaded, the daemon has descriptors for others.
	run -1 grep -E 'user:|/task/' <<<"$(find "/proc/$DAEMON/fd" -printf '%l\n')"
	# Another container's context, and its process by the host's number.
	run -0 contain 61102 bash -euc 'if cat ctx/of-61101/state; then exit 1; fi
		if rmdir ctx/of-61101; then exit 1; fi
		mkdir ctx/more
		if echo "load tid=$0" >ctx/more/ctl; then exit 1; fi
		cat ctx/more/last_error' "$(host_pid 61101)"
	[[ $output == *"Permission denied"*"not permitted"*"does not exist"* ]]
	for uid in 61101 61102; do
		echo >"$BATS_TEST_TMPDIR/$uid.go"
	done
	until_ok fails pgrep -u 61101,61102 -f "sleep 6110"
}

# Prints counts of a thread and of its process, each before what the threads know themselves.
# shellcheck disable=SC2016
counts_by_the_kernel='cd ctx
	coproc "$0" -t 3 faults 5000
	while read -r word tid _ <&"${COPROC[0]}" && [ "$word" != ready ]; do
		[ "$word" != thread ] || last=$tid
	done
	mkdir one all
	echo page-faults:u >one/pmc/0
	echo page-faults:u >all/pmc/0
	echo "load tid=$last ptrace=no" >one/ctl
	echo "load pid=$COPROC_PID inherit" >all/ctl
	echo start >one/ctl
	echo start >all/ctl
	grep TracerPid: "/proc/$COPROC_PID/task/$last/status" | tr "\t" " "
	echo >&"${COPROC[1]}"
	sum=0
	while read -r word tid faults _ <&"${COPROC[0]}" && [ "$word" != "done" ]; do
		[ "$word" = did ] || continue
		sum=$((sum + ${faults#faults=}))
		[ "$tid" != "$last" ] || its=${faults#faults=}
	done
	echo "$(cat one/pmd/0) $its $(cat all/pmd/0) $sum"'

# shellcheck disable=SC2016
recipe_10='sleep 100 &
	mkdir /mnt/ctx/c && cd /mnt/ctx/c
	echo page-faults >pmc/0
	echo load tid=$! >ctl && echo start >ctl
	cat state
	cp pmd/0 /count
	grep -cx "[0-9][0-9]*" /count
	kill $!
	wait $! 2>/dev/null || cat state
	cd /
	rmdir /mnt/ctx/c'

@test "recipe 10 in a BusyBox root" {
	command -v busybox >/dev/null || skip "needs busybox"
	serve --backend=perf
	mkdir -p "$BATS_TEST_TMPDIR"/root/{bin,dev,mnt,proc}
	cd "$BATS_TEST_TMPDIR/root"
	cp "$(command -v busybox)" bin
	: >dev/null
	for applet in cat cp grep mkdir rmdir sleep; do
		ln -s busybox "bin/$applet"
	done
	run -0 bounded unshare --user --map-root-user --mount --pid --fork --kill-child bash -euc '
		mount --bind "$0" mnt && mount -t proc proc proc && exec chroot . /bin/busybox sh -euc "$1"' "$MNT" "$recipe_10"
	[[ $output =~ ^running\ tid=([0-9]+)\ set=0$'\n1\nzombie tid='([0-9]+)$ ]]
	[ "${BASH_REMATCH[1]}" = "${BASH_REMATCH[2]}" ]
}

@test "in a container: ptrace=no and inherit count by the kernel alone" {
	local one its all sum

	serve --backend=perf
	cp "$BUILD/tests/track/subject" "$BATS_TEST_TMPDIR"
	export ASAN_OPTIONS=${ASAN_OPTIONS-}:detect_leaks=0
	run -0 contain 61101 bash -euc "$counts_by_the_kernel" "$BATS_TEST_TMPDIR/subject"
	[ "${lines[0]}" = "TracerPid: 0" ]
	read -r one its all sum <<<"${lines[1]}"
	[ "$its" -ge 5000 ]
	[ "$one" = "$its" ]
	# The first thread prints what it knows.
	[ "$all" -ge "$sum" ] && [ "$all" -le $((sum + 100)) ]
	grep -x "ctxsw_threads 0" "$MNT/stats"
}

@test "root of a container is the user outside: no CPU, no configuration, its own limits" {
	serve --backend=sim
	echo 2 >"$MNT/config/user_contexts_max"
	run -0 contain 61101 bash -euc 'mkdir ctx/a ctx/b
		if mkdir ctx/c; then exit 1; fi
		cat last_error
		if echo any >config/sys_group; then exit 1; fi
		if echo 1 >sim/advance; then exit 1; fi
		if echo load cpu=1 >ctx/a/ctl; then exit 1; fi
		cat ctx/a/last_error'
	[[ $output == *"No space"*"monitoring a CPU needs root"* ]]
	holds "$MNT/config/sys_group" none
	# The group outside decides, as the namespace cannot give it.
	echo 61101 >"$MNT/config/sys_group"
	run -0 contain 61101 bash -euc 'echo load cpu=1 >ctx/a/ctl; cat ctx/a/state'
	is "loaded cpu=1 set=0"
}

@test "a caller whose PID namespace the daemon does not see loads on CPUs, not on threads" {
	perfmonfs() {
		exec unshare --pid --fork --kill-child perfmonfs "$@"
	}
	serve --backend=perf
	mkdir "$MNT/ctx/a"
	put ESRCH "$MNT/ctx/a/ctl" "load tid=$$"
	echo "load cpu=$ONE" >"$MNT/ctx/a/ctl"
	holds "$MNT/ctx/a/state" "loaded cpu=$ONE set=0"
	rmdir "$MNT/ctx/a"
	kill -TERM "$(pgrep -P "$DAEMON")"
	ended 0
}

# in_podman UID COMMAND...: as root of a container of podman, whose root is that uid outside; the tree is at /mnt
in_podman() {
	local root=$BATS_TEST_TMPDIR/root dir

	chmod 755 "$BATS_TEST_TMPDIR"
	mkdir -p "$root"/{usr,proc,dev,sys,etc,tmp,mnt}
	for dir in bin lib lib64 sbin; do ln -sfn "usr/$dir" "$root/$dir"; done
	chown -hR "$1:$1" "$root"
	XDG_RUNTIME_DIR=/run bounded podman --root "$BATS_TEST_TMPDIR/store" --runroot "$BATS_TEST_TMPDIR/run" \
		--runtime runc --cgroup-manager=cgroupfs --storage-driver=vfs run --rm --network=none \
		--ulimit=nofile=1024:1024 --ulimit=nproc=1000:1000 --uidmap "0:$1:65536" -v /usr:/usr:ro -v "$MNT:/mnt" \
		--rootfs "$root" "${@:2}"
}

# shellcheck disable=SC2016
@test "podman: a container counts its process, and is refused a CPU" {
	local uid=$((100000 + RANDOM))

	command -v podman >/dev/null && command -v runc >/dev/null || skip "needs podman and runc"
	serve --backend=perf
	in_podman "$uid" true || skip "podman cannot run a container here"
	run -0 in_podman "$uid" bash -euc 'cd /mnt/ctx
		mkdir pod
		sleep 100 &
		echo page-faults:u >pod/pmc/0
		echo "load tid=$! ptrace=no" >pod/ctl && echo start >pod/ctl
		cat pod/state
		ls -lnd pod | cut -d" " -f3
		kill %1
		mkdir other
		if echo load cpu=0 >other/ctl; then exit 1; fi 2>/dev/null
		cat other/last_error'
	[[ ${lines[0]} == "running tid="*" set=0" ]]
	[ "${lines[1]}" = 0 ]
	[[ ${lines[2]} == *EPERM* || ${lines[2]} == *group* ]]
	[ "$(stat -c %u "$MNT/ctx/pod")" = "$uid" ]
}
