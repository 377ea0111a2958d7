#!/bin/bash
# SPDX-License-Identifier: MIT
# From a clean checkout to packages on another release of Debian, with its compilers and libraries: quickstart,
# the unit tests in its build, link-time optimization by gcc and clang, and the packages. bare.sh tells of
# ROOT and SUITE.
set -u -o pipefail
here=$(dirname "$(readlink -f "$0")")
packages=$(grep -v '^#' "$here/../../contrib/packages" | tr -s ' \n' ,)build-essential,debhelper,dh-python,libcmocka-dev,systemd-sysv
# shellcheck source=tests/install/bare.sh
. "$here/bare.sh"

mkdir "$root/clone" && sources | xargs -0 cp --parents -t "$root/clone" || exit 1

quickstart() {
	inside "cd /clone; ./contrib/quickstart >/tmp/quickstart 2>&1" || {
		tail -n 30 "$root/tmp/quickstart"
		return 1
	}
	! grep -A 3 warning: "$root/tmp/quickstart" && grep '^== next' "$root/tmp/quickstart"
}

# LTO must not export symbols that the library hides.
same_symbols() { # CC
	inside "cd /clone
		CC=$1 meson setup -Db_lto=true -Dtests=false -Dwerror=true lto-$1 >/tmp/log
		ninja -C lto-$1 >/tmp/log 2>&1 || { tail -n 30 /tmp/log; exit 1; }
		for b in build lto-$1; do
			nm -D --defined-only \$b/lib/libperfmonfs.so | sed 's/.* //' | sort >/tmp/\$b.dynamic
			nm -g --defined-only \$b/lib/libperfmonfs.a | sed -n 's/.* [A-Z] //p' | sort >/tmp/\$b.static
		done
		diff /tmp/build.dynamic /tmp/lto-$1.dynamic
		diff /tmp/build.static /tmp/lto-$1.static
		for b in build lto-$1; do
			nm -D --defined-only \$b/tools/pfm/libpfmfs.so | sed 's/.* //' | sort >/tmp/\$b.pfmfs
		done
		diff /tmp/build.pfmfs /tmp/lto-$1.pfmfs
		grep -c . /tmp/build.static
		lto-$1/tools/pfm/pfm stat -e page-faults true"
}

unit_tests() {
	inside "cd /clone
		failed=
		for t in build/tests/unit/test_*; do
			[ -f \$t ] && [ -x \$t ] || continue
			CMOCKA_MESSAGE_OUTPUT=TAP timeout 300 \$t >/tmp/out 2>&1 || { failed=1; echo \$t; grep -A 5 '^not ok' /tmp/out || tail /tmp/out; }
		done
		[ -z \"\$failed\" ]"
}

build_packages() {
	inside "cd /clone
		rm -rf build lto-*
		DEB_BUILD_OPTIONS=noopt dpkg-buildpackage -us -uc -b >/tmp/log 2>&1 || { tail -n 30 /tmp/log; exit 1; }"
}

try "quickstart builds without a warning, and says what is next" quickstart
try "the unit tests pass in its build" unit_tests
try "gcc's LTO exports the same symbols" same_symbols gcc
try "clang's LTO exports the same symbols" same_symbols clang
try "the packages are built" build_packages
try "they install" inside "DEBIAN_FRONTEND=noninteractive dpkg --install /*.deb"
try "pfm counts" inside "pfm stat -e page-faults true"
try "a mount works" inside "perfmonfs --backend=sim /mnt; cat /mnt/version; umount /mnt"
echo "1..$n"
