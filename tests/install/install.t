#!/bin/bash
# SPDX-License-Identifier: MIT
# What `meson install` gives a bare Debian: each installed thing is used there, then uninstalled. BUILD is
# a build without sanitizers; bare.sh tells of ROOT.
set -u -o pipefail
# shellcheck source=tests/install/bare.sh
. "$(dirname "$(readlink -f "$0")")/bare.sh"

# Where the build was made: it may be seen here at another place.
read -r source build < <(python3 -c 'import json, sys
found = json.load(open(sys.argv[1]))["directories"]
print(found["source"], found["build"])' "$BUILD/meson-info/meson-info.json")
mkdir -p "$root$source" "$root$build"
mount --bind . "$root$source" && mount --bind "$BUILD" "$root$build" || exit 1

# installed_paths DIR: where the build in DIR would install
installed_paths() {
	meson introspect --installed "$1" | tr ',' '\n' | sed 's/.*: *"//; s/".*//'
}

# The directories of a build that is set up without dpkg-dev, from which meson knows Debian's.
without_dpkg_dev() {
	local path

	mkdir "$work/bin"
	printf '#!/bin/sh\nexit 1\n' >"$work/bin/dpkg-architecture"
	chmod +x "$work/bin/dpkg-architecture"
	PATH=$work/bin:$PATH meson setup "$work/setup" >"$work/setup.log" || {
		tail -n 20 "$work/setup.log"
		return 1
	}
	path=/usr/local/lib/$(gcc -print-multiarch)
	installed_paths "$work/setup" | grep -x "$path/libperfmonfs.so" &&
		installed_paths "$work/setup" | grep -x "$path/pkgconfig/libperfmonfs.pc" &&
		grep -x "libdir=$path" "$work/setup/lib/libperfmonfs.pc"
}

# In a namespace where the files by which meson finds these libraries are hidden. Names of libpfm4, of
# functions and of C++ are missing then, and pfm says why.
without_libraries() {
	local pfm=$work/less/tools/pfm/pfm

	# shellcheck disable=SC2016
	unshare -m --propagation private sh -e -c '
		for dir in /usr/include/perfmon /usr/include/libiberty /usr/include/capstone; do
			[ ! -d $dir ] || mount -t tmpfs none $dir
		done
		pc=$(pkg-config --variable=pcfiledir libdw || true)/libdw.pc
		[ ! -f "$pc" ] || mount --bind /dev/null "$pc"
		meson setup -Dtests=false -Dwerror=true "$0" >"$0.log"
		ninja -C "$0" tools/pfm/pfm >>"$0.log"' "$work/less" || {
		tail -n 20 "$work/less.log"
		return 1
	}
	"$pfm" --version | grep '^without elfutils: ' &&
		"$pfm" --version | grep '^without capstone: ' &&
		"$pfm" --version | grep '^libpfm4 is missing: ' &&
		! "$pfm" decode --pmu=skl 0xc0 2>"$work/less.said" && grep libpfm4 "$work/less.said" &&
		! ldd "$pfm" | grep -E 'libpfm|libdw|libcapstone'
}

# In a clone of another user. In place of meson and ninja, programs that only make the files.
quickstart() {
	local clone=$work/clone

	mkdir -p "$clone/contrib" "$work/stub"
	cp contrib/quickstart contrib/packages "$clone/contrib"
	# shellcheck disable=SC2016
	printf '#!/bin/sh\nmkdir -p "$2/meson-info" "$2/daemon" "$2/tools/pfm"\n' >"$work/stub/meson"
	printf '#!/bin/sh\ncp %q build/daemon/\ncp %q build/tools/pfm/\nln -sf tools/pfm/pfm build/pfm\n' \
		"$BUILD/daemon/perfmonfs" "$BUILD/tools/pfm/pfm" >"$work/stub/ninja"
	chmod +x "$work"/stub/*
	findmnt -rno TARGET -t fuse.perfmonfs | while read -r mount; do
		umount -l "$mount"
	done
	mkdir "$clone/build" # as left by a quickstart of before
	chown 65534:65534 "$clone" "$clone/contrib"
	PATH=$work/stub:$PATH env -u BUILD "$clone/contrib/quickstart" >"$work/quickstart" || return
	cat "$work/quickstart"
	find "$clone/build" ! -user 65534
	grep '^== next' "$work/quickstart" && [ -z "$(find "$clone/build" ! -user 65534)" ] &&
		[ "$(grep -cE '^ +[0-9.]+% +[0-9]+ +perl ' "$work/quickstart")" = 5 ] &&
		grep -E '^[0-9]+$' "$work/quickstart"
}

# next_lines HOME COMMAND...: types what quickstart has said is next for all users, after COMMAND
next_lines() {
	local home=$work/$1 line n=0

	shift
	mkdir "$home" && chmod 777 "$home" && cd "$work/clone" || return
	while read -r line; do
		echo "$line"
		HOME=$home "$@" bash -c "$line" || return
		n=$((n + 1))
	done < <(sed -n '/^== next, here/,/^== next, as root/s/^   //p' "$work/quickstart")
	[ "$n" -ge 5 ]
}

next_lines_of_root() {
	next_lines root_home env && bash -e -c "$(sed -n '/^== next, as root/,$s/^   //p' "$work/quickstart" | grep perfmon)"
}

# As udev has it, everybody may open the device.
next_lines_of_user() {
	mknod -m 666 "$work/fuse" c 10 229 && mount --bind "$work/fuse" /dev/fuse &&
		next_lines user_home setpriv --reuid=65534 --regid=65534 --clear-groups
}

# In a home that others cannot enter, with two tests, which need another user to come in.
private_home() {
	local clone=$work/home/clone

	mkdir -p "$clone"/{contrib,tests} "$work/stub2"
	cp contrib/packages "$clone/contrib"
	cp -r tests/{run,fs,fuzz,pfm,unit} "$clone/tests"
	# shellcheck disable=SC2016
	printf '#!/bin/sh\nsetpriv --reuid=65534 --regid=65534 --clear-groups test -x "$PWD" && echo ok 1\necho 1..1\n' \
		>"$clone/tests/layering"
	# shellcheck disable=SC2016
	printf '#!/bin/sh\nmkdir -p "$2/meson-info"\n' >"$work/stub2/meson"
	printf '#!/bin/sh\necho daemon\n' >"$work/stub2/ninja"
	chmod +x "$clone/tests/layering" "$work"/stub2/*
	cp "$clone/tests/layering" "$clone/tests/names"
	chown -R 65533:65533 "$work/home"
	chmod 700 "$work/home"
	PATH=$work/stub2:$PATH "$clone/tests/run" 'layer*' names >"$work/run"
	cat "$work/run"
	find "$clone" ! -user 65533
	[ "$(grep -cE '^\[[12]/2\] (layering|names) ok' "$work/run")" = 2 ] && [ -z "$(find "$clone" ! -user 65533)" ]
}

mounted='perfmonfs --backend=sim --clock=script /mnt; trap "cd /; umount /mnt" EXIT'

try "without dpkg-dev, library and pkg-config file are in the multi-arch directory" without_dpkg_dev
try "without libraries that are optional, pfm is built, and says what is missing" without_libraries
files >"$work/before"
try "it installs" inside "meson install -C '$build' --no-rebuild"
try "it is there" inside "command -v perfmonfs msrsim pfm pfm-env"
try "--check" inside "perfmonfs --check --backend=sim | grep 'can run'"
try "a mount, and a count" inside "$mounted
	mkdir /mnt/ctx/a
	cd /mnt/ctx/a
	echo 0x4100c0 >pmc/0
	echo load cpu=0 >ctl
	echo start >ctl
	echo 1000 >/mnt/sim/advance
	[ \"\$(cat pmd/0)\" -ge 2000 ]
	cd /"
try "the backend of the configuration file" inside "echo backend = sim >/etc/perfmonfs.conf
	perfmonfs /mnt
	cat /mnt/pmu/backend
	umount /mnt
	rm /etc/perfmonfs.conf"
try "a line of fstab" inside "echo none /mnt fuse.perfmonfs backend=sim 0 0 >>/etc/fstab
	mount /mnt
	cat /mnt/version
	umount /mnt
	sed -i /perfmonfs/d /etc/fstab"
try "the formats below the prefix" inside "mkdir -p /usr/local/lib/perfmonfs
	cp '$build/formats/count.so' /usr/local/lib/perfmonfs
	$mounted
	grep -w count /mnt/formats
	rm -r /usr/local/lib/perfmonfs"
try "the unit starts what is installed" inside "unit=/usr/local/lib/systemd/system/perfmonfs.service
	set -- \$(sed -n 's/^ExecStart=//p' \$unit)
	[ -x \"\$1\" ]
	! grep '@[A-Z]*@' \$unit"
try "the Python module, in any directory" inside "mkdir -p /tmp/beside/perfmonfs
	cd /tmp/beside
	$mounted
	python3 -c 'import perfmonfs; print(perfmonfs.Mount(\"/mnt\").context)'
	cd /"
try "the events and groups that pfm reads" inside "perfmonfs --backend=sim:amd_v2 /mnt
	pfm list zen5::ls_dispatch
	pfm list IPC
	umount /mnt"
try "the examples, with pkg-config and without LD_LIBRARY_PATH" inside "cd /usr/local/share/doc/perfmonfs/examples
	for example in allcpus multiplex self; do
		cc -o /tmp/\$example \$example.c \$(pkg-config --cflags --libs libperfmonfs)
		ldd /tmp/\$example | grep /usr/local/lib
	done"
try "the static library" inside "cd /usr/local/share/doc/perfmonfs/examples
	cc -o /tmp/allcpus allcpus.c \$(pkg-config --cflags libperfmonfs) \
		\$(pkg-config --variable=libdir libperfmonfs)/libperfmonfs.a"
try "the man pages" inside "for page in '1 msrsim' '1 pfm-encode' '1 pfm-env' '3 pfm_live_read' '3 pfm_start' '5 perfmonfs' '5 pfm-events' '7 libperfmonfs' '7 perfmonfs-admin' '8 perfmonfs'; do
		man --warnings \$page >/tmp/page 2>/tmp/warnings
		[ \$(wc -l </tmp/page) -gt 20 ] || { echo \"\$page:\"; cat /tmp/page; exit 1; }
		cat /tmp/warnings
		[ ! -s /tmp/warnings ]
	done
	man 5 perfmonfs | grep -w RECIPES
	man 8 perfmonfs | grep /usr/local/lib/perfmonfs"
try "README and licence" inside "cd /usr/local/share/doc/perfmonfs
	ls README.md NEWS LICENSE fs-layout.md doc/tasks.md"
# Not by ninja, which would set the build up again if its sources are newer.
try "it is uninstalled" inside "cd '$build'
	meson --internal uninstall"
try "nothing is left" diff "$work/before" <(files)
try "tests/run works in a private home, and leaves nothing of root's there" private_home
if "$BUILD/daemon/perfmonfs" --check --backend=perf >/dev/null; then
	try "quickstart counts, leaves nothing of root's in a user's clone, and says what is next" quickstart
	try "what it says is next works for root" next_lines_of_root
	[ "$(cat /proc/sys/kernel/perf_event_paranoid)" -gt 2 ] ||
		try "and for the owner of the clone" next_lines_of_user
else
	n=$((n + 1))
	echo "ok $n - quickstart # SKIP the perf backend cannot run here"
fi
echo "1..$n"
