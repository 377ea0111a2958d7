# SPDX-License-Identifier: MIT
# For tests of pfm: those of a mount, and pfm in PATH.

load ../fs/common

setup() {
	bench_setup
	PATH="$BUILD/tools/pfm:$PATH"
	unset PERFMONFS
}

# without_mounts COMMAND...: where no perfmonfs is mounted; its PID goes to the file pid
without_mounts() {
	# shellcheck disable=SC2016
	with_mounts "" sh -c 'echo $$ >"$0"; exec "$@"' "$BATS_TEST_TMPDIR/pid" "$@"
}
