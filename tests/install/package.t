#!/bin/bash
# SPDX-License-Identifier: MIT
# The Debian packages: they are built from the files of a clean checkout, examined, installed in a bare
# Debian, used, upgraded, and purged; and this once more under systemd, in a virtual machine with the msr
# driver, if VM is set as for tests/vm/vm.t. bare.sh tells of ROOT.
set -u -o pipefail
# shellcheck source=tests/install/bare.sh
. "$(dirname "$(readlink -f "$0")")/bare.sh"
command -v dh_python3 dpkg-buildpackage lintian >/dev/null ||
	skip "needs the packages dpkg-dev, debhelper, dh-python and lintian"

# Without optimization, in half the time.
build_packages() {
	mkdir -p "$work/clean/perfmonfs"
	sources | xargs -0 cp --parents -t "$work/clean/perfmonfs" &&
		cd "$work/clean/perfmonfs" && DEB_BUILD_OPTIONS=noopt dpkg-buildpackage -us -uc -b >"$work/log" 2>&1 || {
		tail -n 30 "$work/log"
		return 1
	}
	cp "$work"/clean/*.deb "$root/tmp"
}

# Its fault that is not ours: the project has no address for mail.
examine() {
	lintian --allow-root --fail-on error \
		--suppress-tags bogus-mail-host,bogus-mail-host-in-debian-changelog "$work"/clean/*.changes
}

install_packages() {
	inside "DEBIAN_FRONTEND=noninteractive dpkg --install /tmp/perfmonfs_*.deb /tmp/lib*1_*.deb /tmp/lib*-dev_*.deb /tmp/python3-*.deb"
}

# Each key of the configuration file, with the value that it says is the default.
configuration() {
	inside "perfmonfs --backend=sim /mnt
		cd /mnt/config
		grep . * >/tmp/defaults
		cd /
		umount /mnt
		sed 's/^#\([a-z_]* =\)/\1/; s/^backend = .*/backend = sim/' /etc/perfmonfs.conf >/tmp/all.conf
		[ \$(grep -c = /tmp/all.conf) -gt \$(wc -l </tmp/defaults) ]
		perfmonfs --config=/tmp/all.conf /mnt
		cd /mnt/config
		grep . * >/tmp/stated
		cd /
		umount /mnt
		diff /tmp/defaults /tmp/stated"
}

files >"$work/before"
try "the packages are built" build_packages
try "lintian finds no errors" examine
try "they install" install_packages
try "there is a group for users that may count CPUs, and the unit's mount point" inside "
	getent group perfmon
	[ -d /run/perfmon ]
	grep 'ExecStart=/usr/sbin/perfmonfs' /lib/systemd/system/perfmonfs.service"
try "the service waits for the administrator" inside "
	[ -z \"\$(find /etc/systemd/system -name 'perfmonfs*')\" ]"
try "the unit's exposure is at most 4.0" inside "
	[ \$(systemd-analyze security --offline=true perfmonfs.service | sed -n 's/.*exposure level.*: \([0-9]\)\.\([0-9]\) .*/\1\2/p') -le 40 ]"
try "the configuration file states all keys with their defaults" configuration
try "a line of fstab, a count, and the group's name" inside "
	echo none /mnt fuse.perfmonfs backend=sim,clock=script 0 0 >>/etc/fstab
	mount /mnt
	[ \$(cat /mnt/config/sys_group) = \$(getent group perfmon | cut -d: -f3) ]
	pfm list instructions | grep 0x00c0
	PYTHONDONTWRITEBYTECODE=1 python3 -c 'import perfmonfs; print(perfmonfs.Mount(\"/mnt\").context)'
	umount /mnt
	sed -i /perfmonfs/d /etc/fstab"
try "a program is built with the library" inside "
	cd /usr/share/doc/libperfmonfs-dev/examples
	cc -o /tmp/allcpus allcpus.c \$(pkg-config --cflags --libs libperfmonfs)
	ldd /tmp/allcpus | grep libperfmonfs.so.1"
try "the man pages" inside "man 8 perfmonfs | grep -w perfmonfs.conf && man 1 pfm-stat && man 3 pfm_start"
try "an upgrade keeps the administrator's configuration" inside "
	echo tick_us = 500 >>/etc/perfmonfs.conf
	dpkg --install /tmp/perfmonfs_*.deb
	tail -n 1 /etc/perfmonfs.conf | grep 500"
try "they are purged, with what was granted" inside "
	perfmonfs --backend=sim /run/perfmon
	echo uid=1000 cpus=0 >/run/perfmon/config/grants
	mkdir /run/perfmonfs-slurm
	touch /run/perfmonfs/lock # the backend msr's
	umount /run/perfmon
	[ -s /run/perfmonfs/grants.run-perfmon ]
	dpkg --purge python3-perfmonfs libperfmonfs-dev libperfmonfs1 perfmonfs"
try "nothing is left" diff "$work/before" <(files)
try "nor in /run" [ -z "$(find "$root/run" -name '*perfmon*')" ]

# What the guest says, numbered.
in_guest() {
	mkdir "$work/guest"
	cp tests/vm/*.sh "$work/guest"
	cp "$work"/clean/perfmonfs_*.deb "$work/guest/perfmonfs.deb"
	PMU=1 APPEND=nmi_watchdog=0 MODULES="msr cpuid fuse" HOSTROOT=1 MEM=3G TIMEOUT=900 \
		"$VM/run" "$work/guest" "sh ./guest.sh service '$ROOT'" >"$work/guest.out" 2>&1 ||
		echo "not ok - the guest exits with $?" >>"$work/guest.out"
	awk -v n="$n" '/^(not )?ok/ { sub(/ok/, "ok " ++n) } { print } END { print "1.." n }' "$work/guest.out"
}

if [ -n "${VM-}" ] && [ -x "$VM/run" ]; then in_guest; else echo "1..$n"; fi
