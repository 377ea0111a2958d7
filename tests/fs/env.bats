# SPDX-License-Identifier: MIT
# pfm-env: a program sees sys/ at /sys/kernel/perfmon and has the library before all others. What
# the library does then is its own tests' matter: most of these preload another one.

load common

setup_file() {
	# Something that can be preloaded and does nothing, also where the build is not readable.
	umask 022
	chmod go+x "${BATS_FILE_TMPDIR%/*}" "$BATS_FILE_TMPDIR"
	cc -shared -o "$BATS_FILE_TMPDIR/nothing.so" -x c /dev/null
}

setup() {
	bench_setup
	cp -n "$BUILD/tools/pfm-env" "$BATS_RUN_TMPDIR"
	NOTHING=$BATS_FILE_TMPDIR/nothing.so
	# A sanitized program looks for its runtime in the first place; here something else is there.
	export ASAN_OPTIONS=verify_asan_link_order=0
	unset PERFMONFS LD_PRELOAD
}

# env_run STATUS ARG...: pfm-env on this mount, with that library; perhaps as another user
env_run() {
	run "-$1" bounded "${WHO[@]}" pfm-env -m "$MNT" -l "$NOTHING" "${@:2}"
}

# True if the user nobody can create a user namespace and mount in it
needs_namespaces() {
	setpriv --reuid="$NOBODY" --regid="$NOBODY" --clear-groups unshare -Urm \
		mount -t tmpfs none /tmp 2>/dev/null ||
		skip "other users than root may have no user namespace here"
}

# what_is_shown: in two ways, as both kinds of user are to see the same
what_is_shown() {
	ls /sys/kernel >"$BATS_TEST_TMPDIR/outside"
	env_run 0 cat /sys/kernel/perfmon/version
	is 2.81
	env_run 0 ls /sys/kernel
	is "$({ cat "$BATS_TEST_TMPDIR/outside" && echo perfmon; } | sort)"
	env_run 0 sh -c 'find /sys/kernel/perfmon -type f -printf "%P %m\n" | sort'
	is "$(find "$MNT/sys" -type f -printf '%P %m\n' | sort)"
	# What was there is what it was: links, files and what is mounted below.
	env_run 0 sh -c 'find /sys/kernel -maxdepth 1 -mindepth 1 ! -name perfmon -printf "%f %y %m %l\n" | sort'
	is "$(find /sys/kernel -maxdepth 1 -mindepth 1 -printf '%f %y %m %l\n' | sort)"
	env_run 0 cat /sys/kernel/fscaps
	is "$(cat /sys/kernel/fscaps)"
	env_run 0 findmnt -rno TARGET,FSTYPE -R /sys/kernel/debug
	is "$(findmnt -rno TARGET,FSTYPE -R /sys/kernel/debug || echo '/sys/kernel/debug sysfs')"
	env_run 1 test -e /proc/perfmon
	for program in "mkdir /sys/kernel/new" "mkdir /sys/kernel/perfmon/new" "touch /sys/kernel/new"; do
		env_run 1 sh -c "$program"
	done
	[ ! -e /sys/kernel/perfmon ]
}

@test "sys/ is at /sys/kernel/perfmon, and nothing else is lost: root" {
	serve --backend=sim
	what_is_shown
}

@test "sys/ is at /sys/kernel/perfmon, and nothing else is lost: another user" {
	needs_namespaces
	serve --backend=sim
	as nobody what_is_shown
}

@test "another user keeps IDs and permissions on the mount" {
	needs_namespaces
	serve --backend=sim
	put ok "$MNT/config/sys_group" 4711
	for who in nobody 4711; do
		as "$who" env_run 0 sh -c 'id -u; id -g; mkdir "$PERFMONFS/ctx/mine"; echo "load cpu=1"' \
			">\"\$PERFMONFS/ctx/mine/ctl\""
		is "$NOBODY
$NOBODY
load cpu=1"
		holds "$MNT/cpus" $'0 online free\n1 online free\n2 online free\n3 online free'
		[ "$(stat -c %u:%g "$MNT/ctx/mine")" = "$NOBODY:$NOBODY" ]
		# The daemon checks groups, which have no number in the namespace.
		loads=EPERM
		[ "$who" = nobody ] || loads=ok
		as "$who" env_run 0 fsprobe write "$MNT/ctx/mine/ctl" <<<"load cpu=1"
		is "$loads"
		rmdir "$MNT/ctx/mine"
	done
}

@test "another user's threads can be monitored there" {
	needs_namespaces
	serve --backend=perf
	faults=0x0100000000410003 # page faults at user level
	as nobody env_run 0 sh -c 'mkdir "$PERFMONFS/ctx/t" && cd "$PERFMONFS/ctx/t" &&
		echo "$1" >pmc/0 && printf "load tid=%d" $$ | fsprobe write ctl && cat state' sh "$faults"
	case ${lines[0]} in
	ok) [[ ${lines[1]} =~ ^loaded\ tid=[0-9]+\ set=0$ ]] ;;
	*) skip "no thread can be followed here: $(cat "$MNT/ctx/t/last_error")" ;;
	esac
}

@test "without capabilities, root gets a user namespace as well" {
	needs_namespaces
	serve --backend=sim
	# Required to map root's number in the namespace.
	run -0 bounded setpriv --bounding-set=-all,+setfcap --inh-caps=-all pfm-env -m "$MNT" -l "$NOTHING" \
		sh -c 'id -u; cat /sys/kernel/perfmon/version; mkdir "$PERFMONFS/ctx/r"'
	is $'0\n2.81'
	[ "$(stat -c %u "$MNT/ctx/r")" = 0 ]
}

@test "what the library and the mount are called" {
	serve --backend=sim
	env_run 0 sh -c 'echo "$LD_PRELOAD $PERFMONFS"'
	is "$NOTHING $MNT"
	export LD_PRELOAD=$BATS_FILE_TMPDIR/nothing.so PERFMONFS=$MNT
	cd "$BATS_FILE_TMPDIR"
	run -0 bounded pfm-env -l nothing.so sh -c 'echo "$LD_PRELOAD"'
	is "$NOTHING:$NOTHING"
	cd "$BATS_TEST_TMPDIR"
	run -0 bounded pfm-env -m mnt -l "$NOTHING" sh -c 'cd / && cat "$PERFMONFS/sys/version"'
	is 2.81
	unset PERFMONFS
	# It finds one, perhaps of another test.
	run -0 bounded pfm-env -l "$NOTHING" sh -c 'cat "$PERFMONFS/sys/version"'
	is 2.81
}

@test "the library of this build is the one that is preloaded" {
	[ -e "$BUILD/lib/libperfmonfs.so.1" ] || skip "this build has no libperfmonfs"
	serve --backend=sim
	ASAN_OPTIONS=$ASAN_OPTIONS:detect_leaks=0 # those of programs that are not ours
	bounded "$BUILD/tools/pfm-env" -m "$MNT" cat /proc/self/environ |
		grep -zqx "LD_PRELOAD=$(realpath "$BUILD/lib/libperfmonfs.so.1")"
}

@test "one in another" {
	serve --backend=sim
	env_run 0 pfm-env -m "$MNT" -l "$NOTHING" cat /sys/kernel/perfmon/version
	is 2.81
	needs_namespaces
	as nobody env_run 0 pfm-env -m "$MNT" -l "$NOTHING" cat /sys/kernel/perfmon/version
	is 2.81
}

@test "the status is the command's" {
	serve --backend=sim
	for status in 0 1 42 125 255; do
		env_run "$status" sh -c "exit $status"
	done
	env_run 143 sh -c 'kill -TERM $$'
}

# says STATUS TEXT COMMAND...: ends so, with a sentence that names the thing
says() {
	run "-$1" bounded "${@:3}"
	[[ $output == pfm-env:* && $output == *"$2"* ]]
}

@test "what cannot be is said" {
	serve --backend=sim
	says 127 ENOENT pfm-env -m "$MNT" -l "$NOTHING" /no/such/program
	says 126 EACCES pfm-env -m "$MNT" -l "$NOTHING" /etc/passwd
	says 126 ENOENT pfm-env -m /no/such/mount -l "$NOTHING" true
	says 126 ENOENT pfm-env -m /tmp -l "$NOTHING" true
	says 126 ENOENT pfm-env -m "$MNT" -l /no/such/library true
	cp "$NOTHING" "$BATS_TEST_TMPDIR/a b.so"
	says 126 LD_PRELOAD pfm-env -m "$MNT" -l "$BATS_TEST_TMPDIR/a b.so" true
	run -125 pfm-env
	run -125 pfm-env --none true
	run -0 pfm-env --help
	[[ $output == Usage:* ]]
	run -0 pfm-env --version
	[[ $output =~ ^pfm-env\ [0-9.]+$ ]]
}

@test "where user namespaces are forbidden, it says so" {
	needs_namespaces
	serve --backend=sim
	# In a user namespace whose limit of further ones is 0.
	says 126 ENOSPC unshare -Ur sh -c \
		'echo 0 >/proc/sys/user/max_user_namespaces && exec setpriv --bounding-set=-sys_admin "$@"' \
		sh pfm-env -m "$MNT" -l "$NOTHING" true
}

# It makes system calls by itself, unless another library comes before.
@test "a program that was linked with a library for kernels counts" {
	serve --backend=perf
	local faults=$(awk '$1 == "page-faults" { print $2 }' "$MNT/pmu/events") old=$BUILD/tests/lib/old_binary

	ASAN_OPTIONS=$ASAN_OPTIONS:detect_leaks=0 # those of programs that are not ours
	run -1 bounded "$old" "$faults" fsprobe touch 5000
	[[ $output == *"your kernel does not have performance monitoring support" ]]
	run bounded "$BUILD/tools/pfm-env" -m "$MNT" "$old" "$faults" fsprobe touch 5000
	echo "$output"
	[[ $status = 0 ]] || grep -qE "^ctxsw_(missed|late) [1-9]" "$MNT/stats" || return 1
	[[ $status = 0 ]] || skip "of a switch the kernel has not told, or too late: the count is lost"
	[ "$(awk '$1 == "PMD0" { print $2 }' <<<"$output")" -ge 5000 ]
}

@test "a chroot whose root is not a mount point" {
	serve --backend=sim
	# shellcheck disable=SC2016
	run -0 unshare -m bash -c '
		root=$BATS_TEST_TMPDIR/root
		mkdir -p "$root/$1" "$root/$2" && cp -a /bin /lib /lib64 "$root" 2>/dev/null
		for dir in /usr /etc /proc /sys "$1" "$2"; do
			mkdir -p "$root$dir" && mount --rbind "$dir" "$root$dir" || exit 1
		done
		chroot "$root" "$2/pfm-env" -m "$1" -l "$3" true 2>&1 | grep -c "not a mount point.*EINVAL"
	' bash "$MNT" "$BATS_RUN_TMPDIR" "$NOTHING"
}
