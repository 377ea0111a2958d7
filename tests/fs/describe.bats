# SPDX-License-Identifier: MIT
# perfmonfs.json, from which bindings generate code.

load common

@test "perfmonfs.json and pmu.json are the live tree and the document, both ways" {
	command -v python3 >/dev/null || skip "needs python3"
	local description="$BATS_TEST_TMPDIR/mine.pmu" describe backend

	describe() {
		serve "$@"
		mkdir "$MNT/ctx/demo"
		bounded python3 "$BATS_TEST_DIRNAME/describe.py" "$BUILD/daemon/perfmonfs.json" \
			"$BATS_TEST_DIRNAME/../../fs-layout.md" "$MNT"
		stop_daemon
		until_ok not_mounted
	}
	describe --backend=sim:hybrid
	# Registers of all kinds, and a title that needs quoting.
	ABSENT=TYPE
	export ABSENT
	for backend in sim:zen5 sim:netburst sim:itanium2; do
		describe --backend="$backend"
	done
	sed 's/^pmu skylake .*/pmu mine A "title" with \\/' "$BATS_TEST_DIRNAME/../../backend/pmu/models/skylake.pmu" >"$description"
	describe --backend=sim:skylake --pmu="$description"
}
