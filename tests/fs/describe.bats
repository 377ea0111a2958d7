# SPDX-License-Identifier: MIT
# perfmonfs.json, from which bindings generate code.

load common

@test "perfmonfs.json is the live tree and the document, both ways" {
	command -v python3 >/dev/null || skip "needs python3"
	serve --backend=sim:hybrid
	mkdir "$MNT/ctx/demo"
	bounded python3 "$BATS_TEST_DIRNAME/describe.py" "$BUILD/daemon/perfmonfs.json" \
		"$BATS_TEST_DIRNAME/../../fs-layout.md" "$MNT"
}
