# SPDX-License-Identifier: MIT
# pfm without a mount: the daemon that it starts, for root and other users.

load common

# move_build: a copy of what pfm needs of the build, in BUILT, which all users may enter
move_build() {
	local file

	BUILT=$BATS_TEST_TMPDIR/moved/build
	mkdir -p "$BUILT"
	for file in pfm tools/pfm/pfm tools/pfm/events/default.group daemon/perfmonfs; do
		install -D "$BUILD/$file" "$BUILT/$file"
	done
	ln -sf tools/pfm/pfm "$BUILT/pfm"
}

@test "a build that was moved: pfm takes its daemon and its events, an installed pfm does not" {
	move_build
	cd /
	serve --backend=sim
	echo "MINE 0xc0 *" >"$BUILT/tools/pfm/events/mine.events"
	run -0 "$BUILT/pfm" list -m "$MNT" MINE
	[[ $output == *MINE* ]]
	run -0 without_mounts env PATH=/usr/bin:/bin "$BUILT/pfm" stat -j -o "$BATS_TEST_TMPDIR/out" true
	[ -s "$BATS_TEST_TMPDIR/out" ]

	# In a chroot, a mount namespace that is entered hides the path of pfm itself.
	mkdir "$BATS_TEST_TMPDIR/root"
	# shellcheck disable=SC2016
	run -0 without_mounts sh -c 'mount --rbind / "$1/root" && exec chroot "$1/root" env PATH=/usr/bin:/bin "$0" stat true' \
		"$BUILT/pfm" "$BATS_TEST_TMPDIR"

	# Beside an installed pfm, such folders are another user's.
	install -D "$BUILT/tools/pfm/pfm" "$BUILT/bin/pfm"
	run "$BUILT/bin/pfm" list -m "$MNT" MINE
	[[ $output != *MINE*0xc0* ]]
	printf '#!/bin/sh\necho taken >&2\n' >"$BUILT/daemon/perfmonfs"
	run -125 without_mounts "$BUILT/pfm" stat true
	[[ $output == *taken* ]]
	run without_mounts "$BUILT/bin/pfm" stat true
	[[ $output != *taken* ]]
}

# --- a user without any mount

# user_setup: what a user needs: a build, and a directory to write to, which is HOME
user_setup() {
	[ "$(cat /proc/sys/kernel/perf_event_paranoid)" -le 2 ] || skip "kernel.perf_event_paranoid lets no user count"
	move_build
	install "$BUILD/tests/fs/oldkernel" "$BUILT"
	HOME=$BATS_TEST_TMPDIR/home
	mkdir "$HOME"
	chown "$NOBODY:$NOBODY" "$HOME"
	PATH=$BUILT:$PATH
	cd "$HOME"
}

# no_mounts COMMAND...: where no perfmonfs is mounted, and all users may open /dev/fuse, as udev has it
no_mounts() {
	# shellcheck disable=SC2016
	# The tmpfs has devices, even if that of /tmp has none.
	without_mounts sh -c 'mkdir -p "$0" && mount -t tmpfs none "$0" && mknod -m 666 "$0/fuse" c 10 229 &&
		mount --bind "$0/fuse" /dev/fuse && exec "$@"' "$BATS_TEST_TMPDIR/dev" "$@"
}

user() {
	no_mounts setpriv --reuid="$NOBODY" --regid="$NOBODY" --clear-groups "$@"
}

needs_user_namespaces() {
	user unshare -Urm true 2>/dev/null || skip "users may have no user namespace here"
}

# where_namespaces_end COMMAND...: of the user, in a user namespace whose limit of further ones is 0
where_namespaces_end() {
	# shellcheck disable=SC2016
	no_mounts bash -c '
		unshare --user --mount --propagation slave sleep 1000 3>&- &
		trap "kill $!" EXIT
		until [ "$(readlink /proc/$!/ns/user)" != "$(readlink /proc/self/ns/user)" ]; do sleep 0.02; done
		echo 0 0 65536 >/proc/$!/uid_map && echo 0 0 65536 >/proc/$!/gid_map || exit
		nsenter --user --mount --wd="$PWD" --target $! sh -c "echo 0 >/proc/sys/user/max_user_namespaces
			exec setpriv --reuid=65534 --regid=65534 --clear-groups \"\$@\"" sh "$@"' bash "$@"
}

@test "a user counts and records a command, which runs as without pfm" {
	user_setup
	needs_user_namespaces
	# shellcheck disable=SC2016
	what='readlink /proc/self/ns/user /proc/self/ns/mnt; id; grep -v "^Mem" /proc/self/limits'
	run -5 user sh -c "$what >before; exec pfm stat -j -o out -e page-faults:u sh -c '$what >inside; : >mine; exit 5'"
	"$BATS_TEST_DIRNAME/schema.py" json page-faults:u elapsed <out
	diff before inside
	[ "$(stat -c %u:%g mine)" = "$NOBODY:$NOBODY" ]

	run -0 user sh -c 'sleep 1000 & pfm stat -e page-faults:u -p $! -- true; kill $!'
	run -0 user pfm stat --per-thread sh -c 'ls; ls'
	run -0 user pfm record sh -c 'i=0; while [ $i -lt 200000 ]; do i=$((i + 1)); done'
	run -0 user pfm report
	[[ $output == *"# event: task-clock:u, an overflow each "*" sh "* ]]
	run -0 user pfm record -e page-faults:u -c 10 ls -R /usr/bin
	[ "$(stat -c %u pfm.data)" = "$NOBODY" ]
	run -0 pfm report pfm.data
	[[ $output == *" interrupt,"*" ls "* ]]
}

@test "what the kernel refuses a user: the setting, its value, and what root types" {
	user_setup
	needs_user_namespaces
	# shellcheck disable=SC2016
	with_level() {
		no_mounts sh -c 'echo "$0" >level && mount --bind level /proc/sys/kernel/perf_event_paranoid && exec setpriv --reuid=65534 --regid=65534 --clear-groups "$@"' "$@"
	}

	# The level that all kernels have: whether it refuses shows in what it says.
	for args in "-e page-faults:k true" "-a true"; do
		# shellcheck disable=SC2086
		run user pfm stat $args
		[ "$status" = 0 ] || [[ $output == *"kernel.perf_event_paranoid at most "[01]*"sysctl kernel.perf_event_paranoid="[01]* ]]
	done
	if [ "$(cat /proc/sys/kernel/perf_event_paranoid)" = 2 ]; then
		run -125 user pfm stat -e context-switches true
		[[ $output == *kernel.perf_event_paranoid* ]]
	fi
	run -125 user pfm stat -p 1 true
	[[ $output == *"process 1 is not yours"*root* ]]
	run -125 user pfm record -t 1 true
	[[ $output == *"thread 1 is not yours"*root* ]]
	run -125 with_level 3 oldkernel -p pfm stat true
	[[ $output == *"needs CAP_SYS_ADMIN, or kernel.perf_event_paranoid at most 2 (it is 3): "*"\`sysctl kernel.perf_event_paranoid=2\`"* ]]
	run -125 with_level 2 oldkernel -p pfm record true
	[[ $output == *EACCES*seccomp* ]]
	run -0 no_mounts setpriv --reuid="$NOBODY" --regid="$NOBODY" --clear-groups --inh-caps=+perfmon \
		--ambient-caps=+perfmon pfm stat -e page-faults -C 0 -- true
	run -0 user pfm check
	[[ $output == *"only"*"your"*"rights"* ]]
}

@test "a user where user namespaces are forbidden: fusermount3, or the setting that forbids them" {
	user_setup
	mkdir run
	chown "$NOBODY" run
	run -125 where_namespaces_end env PATH=/nowhere "$BUILT/pfm" stat /bin/true
	[[ $output == *"user.max_user_namespaces is 0: have root run \`sysctl user.max_user_namespaces="* ]]
	[[ $output == *"; fusermount3: ENOENT: install "* ]]
	mkdir bin
	printf '#!/bin/sh\necho fusermount3: mount failed: not here >&2; exit 1\n' >bin/fusermount3
	chmod 755 bin/fusermount3
	run -125 where_namespaces_end env PATH="$PWD/bin:/usr/bin:/bin" "$BUILT/pfm" stat /bin/true
	[[ $output == *"user.max_user_namespaces is 0: "*"; fusermount3: mount failed: not here" ]]
	command -v fusermount3 >/dev/null || skip "needs fusermount3"
	run -0 where_namespaces_end env XDG_RUNTIME_DIR="$HOME/run" pfm stat -e page-faults:u -j -o out sh -c 'ls run >listed; grep fuse[.]perfmonfs /proc/self/mounts >mounts; :'
	"$BATS_TEST_DIRNAME/schema.py" json page-faults:u elapsed <out
	[ ! -s listed ] && [ ! -s mounts ]
	[ -z "$(ls run)" ]
	run -0 where_namespaces_end env XDG_RUNTIME_DIR="$HOME/run" pfm encode page-faults
	[[ $output =~ ^0x[0-9a-f]+$ ]]
}

@test "a user in a container, without a mount and with root's" {
	local container=(unshare --user --map-root-user --mount --pid --fork --mount-proc)

	user_setup
	needs_user_namespaces
	run -0 user "${container[@]}" pfm stat -e page-faults:u -j -o out true
	run -0 user "${container[@]}" pfm record -e page-faults:u -c 10 ls
	# Root of a container that has no user namespace of its own.
	run -0 no_mounts setpriv --bounding-set=-sys_admin pfm stat -e page-faults:u -j -o out true
	serve --backend=perf
	run -0 setpriv --reuid="$NOBODY" --regid="$NOBODY" --clear-groups "${container[@]}" pfm stat -m "$MNT" true
	[[ $output == *page-faults* ]]
}

users_daemon() {
	pfm=$(cat "$BATS_TEST_TMPDIR/pid") && daemon=$(pgrep -P "$pfm" -x perfmonfs) && pgrep -P "$pfm" -x sleep >/dev/null
}

@test "a user's daemon ends with a killed pfm, and holds nothing for others" {
	local pfm daemon

	user_setup
	needs_user_namespaces
	user pfm stat -o out sleep 1000 3>&- &
	until_ok users_daemon
	[ "$(awk '/^Uid/ { print $2, $3, $4 }' "/proc/$daemon/status")" = "$NOBODY $NOBODY $NOBODY" ]
	[ "$(awk '/^CapEff/ { print $2 }' "/proc/$daemon/status")" = 0000000000000000 ]
	# It is another user's, at no path of its own.
	fails setpriv --reuid=4711 --regid=4711 --clear-groups ls "/proc/$daemon/fd"
	fails grep -q "fuse[.]perfmonfs" "/proc/$daemon/mounts"
	kill -KILL "$pfm"
	until_ok gone "$daemon"
}
