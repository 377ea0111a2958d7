# SPDX-License-Identifier: MIT
# Every number that pfm stat derives from counts and times: the simulator's are those of its script.

load common

@test "sim: numbers that follow from counts are those of the counts and times of the tree" {
	serve --backend=sim
	mkdir "$BATS_TEST_TMPDIR/events"
	printf '%s\n' 'group mine' 'event i = instructions:u' 'event b = branches:u' \
		'metric rate [/s] = i / seconds' 'metric share [%] = 100 * b / i' 'metric less = b - i' \
		>"$BATS_TEST_TMPDIR/events/mine.group"
	PFM_EVENTS=$BATS_TEST_TMPDIR/events run -0 bounded python3 "$BATS_TEST_DIRNAME/derived.py" "$MNT" \
		"$BATS_TEST_TMPDIR"
	no_contexts
}
