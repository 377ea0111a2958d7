# SPDX-License-Identifier: MIT
# Every number that pfm derives from counts and times: the simulator's are those of its script.

load common

@test "sim: numbers that follow from counts are those of the counts and times of the tree" {
	serve --backend=sim
	mkdir "$BATS_TEST_TMPDIR/events"
	printf '%s\n' 'group mine' 'event i = instructions:u' 'event b = branches:u' \
		'metric rate [/s] = i / seconds' 'metric share [%] = 100 * b / i' 'metric less = b - i' \
		>"$BATS_TEST_TMPDIR/events/mine.group"
	printf '%s\n' 'group five' 'event e0 = branches:u' 'event e1 = branch-misses:u' \
		'event e2 = cache-references:u' 'event e3 = cache-misses:u' 'event e4 = r00c4:k' \
		'metric rate0 [/s] = e0 / seconds' 'metric rate1 [/s] = e1 / seconds' \
		'metric rate2 [/s] = e2 / seconds' 'metric rate3 [/s] = e3 / seconds' \
		'metric rate4 [/s] = e4 / seconds' >"$BATS_TEST_TMPDIR/events/five.group"
	PFM_EVENTS=$BATS_TEST_TMPDIR/events run -0 bounded python3 "$BATS_TEST_DIRNAME/derived.py" "$MNT" \
		"$BATS_TEST_TMPDIR"
	no_contexts
}

# Monitored threads are traced, and the leak sanitizer wants to trace them itself.
@test "perf: numbers of threads, processes, commands and regions are those of the tree, or of clocks" {
	serve --backend=perf
	printf '%s\n' 'group mine' 'event i = page-faults:u' 'metric time [s] = seconds' \
		'metric rate [/s] = i / seconds' >"$BATS_TEST_TMPDIR/mine.group"
	ASAN_OPTIONS=${ASAN_OPTIONS-}:detect_leaks=0 run -0 bounded python3 \
		"$BATS_TEST_DIRNAME/derived_tasks.py" "$MNT" "$BATS_TEST_TMPDIR" "$BUILD/examples/regions"
	no_contexts
}
