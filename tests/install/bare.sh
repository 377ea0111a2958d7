# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# Sourced by tests of installations: a bare Debian below $root, in a mount namespace of its own and thrown
# away at the end, and functions to test in it. ROOT is the bare system, a directory, which is made of the
# release SUITE (default: the host's) if it does not exist, and not changed. It has the packages of $packages,
# by default those to run perfmonfs and to compile a client of it, meson, which installs, and systemd, which
# package.t starts in a virtual machine.
self=$(readlink -f "$0")
cd "$(dirname "$self")/../.." || exit 1
run_packages=fuse3,gcc,libbpf1,libc6-dev,libcap2,libdw1,libfuse3-3,libpfm4,man-db,meson,pkg-config,systemd-sysv
packages=${packages-$run_packages}

skip() {
	echo "1..0 # SKIP $*"
	exit 0
}

if [ "${1-}" != in_namespace ]; then
	[ "$(id -u)" = 0 ] || skip "needs root"
	[ -w /dev/fuse ] || skip "needs /dev/fuse"
	unshare -m true 2>/dev/null || skip "needs a private mount namespace"
	# Tests of other clones may be making it.
	exec 9>"$ROOT.lock"
	flock 9
	# It is made again for other packages.
	if [ ! -d "$ROOT" ] || [ "$(cat "$ROOT.packages" 2>/dev/null)" != "$packages" ]; then
		command -v mmdebstrap >/dev/null || skip "needs mmdebstrap"
		# shellcheck source=/dev/null
		suite=${SUITE:-$(. /etc/os-release && echo "${VERSION_CODENAME-}")}
		rm -rf "$ROOT.new"
		mmdebstrap --quiet --variant=minbase --include=$packages "$suite" "$ROOT.new" >"$ROOT.log" 2>&1 ||
			skip "no bare system: $(tail -n 1 "$ROOT.log")"
		rm -rf "$ROOT"
		mv "$ROOT.new" "$ROOT"
		echo "$packages" >"$ROOT.packages"
	fi
	exec 9>&-
	exec unshare -m --propagation private bash "$self" in_namespace
fi

# The namespace ends with this script, and with it all mounts.
work=$(mktemp -d)
trap 'cd /; umount -R "$work"; rmdir "$work"' EXIT
mount -t tmpfs -o mode=755 tmpfs "$work" && mkdir "$work/upper" "$work/work" "$work/root" || exit 1
mount -t overlay -o "lowerdir=$ROOT,upperdir=$work/upper,workdir=$work/work" overlay "$work/root" ||
	skip "no overlay of the bare system can be mounted"
root=$work/root
mount --rbind /dev "$root/dev" && mount -t proc proc "$root/proc" && mount -t sysfs sysfs "$root/sys" &&
	mount -t tmpfs tmpfs "$root/run" || exit 1

n=0
# try NAME COMMAND...: a test that passes if the command succeeds
try() {
	local name=$1 rc=0 out

	shift
	n=$((n + 1))
	out=$("$@" 2>&1) || rc=$?
	[ $rc = 0 ] || printf 'not '
	echo "ok $n - $name"
	[ $rc = 0 ] || echo "exit status $rc: $out" | sed 's/^/# /'
}

# inside COMMAND: in the bare system, by a user's shell
inside() {
	chroot "$root" /usr/bin/env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
		LC_ALL=C.UTF-8 MANPAGER=cat MANWIDTH=80 sh -euc "cd /; $1"
}

# What an installation may leave: the linker's cache, and a group, which files may belong to.
files() {
	find "$root/usr" "$root/etc" "$root/var/lib" ! -name ld.so.cache ! -name gshadow- | sort
}

# The files of a checkout, or of an unpacked archive.
sources() {
	git -c safe.directory='*' ls-files -z 2>/dev/null ||
		find . \( -path ./.git -o -path './build*' \) -prune -o ! -type d -print0
}
