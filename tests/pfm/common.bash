# SPDX-License-Identifier: MIT
# For tests of pfm: those of a mount, and pfm in PATH.

load ../fs/common

setup() {
	bench_setup
	PATH="$BUILD/tools/pfm:$PATH"
	unset PERFMONFS
}
