# SPDX-License-Identifier: MIT
# pfm diff: two recordings. tests/unit/test_pfm_samples.c has the figures.

load common

setup() {
	bench_setup
	PATH="$BUILD/tools/pfm:$PATH"
	unset PERFMONFS
	cd "$BATS_TEST_TMPDIR"
	export PERFMONFS=$MNT
	serve --backend=sim
	pfm record -o before -C 1 -e instructions:u -c 1000000 sh -c "echo 100000000 >$MNT/sim/advance"
	pfm record -o after -C 1 -e instructions:u -c 500000 sh -c "echo 100000000 >$MNT/sim/advance"
}

teardown() {
	bench_teardown
}

@test "pfm diff: both recordings are described, and all outputs are written" {
	pfm diff before after >table
	grep -q '^# event: instructions:u$' table
	grep -q '^# before: .*: 200 overflows in [0-9]* samples, an overflow each 1000000$' table
	grep -q '^# after: .*: 400 overflows in [0-9]* samples, an overflow each 500000$' table
	[ "$(awk '!/^#/ { n++; change += $3 } END { print n, change }' table)" = "1 0" ]
	pfm diff before after --folded | grep -qE ' 400 400$'
	pfm diff --folded=folded --flamegraph=graph.svg before after >nothing
	[ ! -s nothing ]
	grep -qE ' 400 400$' folded
	python3 -c 'import sys, xml.dom.minidom; xml.dom.minidom.parse(sys.argv[1])' graph.svg
	grep -q ', +0.00 points, 100.00 %, 400 overflows' graph.svg
}

@test "pfm diff: each event that both recordings have, or the one that is named" {
	pfm record -o two -C 1 -e cycles:u,instructions:u -c 500000 sh -c "echo 100000000 >$MNT/sim/advance"
	pfm diff before two >table
	[ "$(grep -c '^# event: ' table)" = 1 ]
	grep -q '^# event: instructions:u$' table
	pfm diff two two >table
	[ "$(grep '^# event: ' table | paste -sd' ')" = "# event: cycles:u # event: instructions:u" ]
	pfm diff -e instructions:u two two >table
	[ "$(grep '^# event: ' table)" = "# event: instructions:u" ]
	pfm diff --folded before two | grep -qE ' 400 400$'
	run -125 pfm diff -e cycles:u before two
	[[ $output == *"-e cycles:u: not both recordings have that event"* ]]
}

@test "pfm diff: what cannot be compared, and no output replaces a recording" {
	pfm record -o cycles -C 1 -e cycles:u -c 1000000 sh -c "echo 1000000 >$MNT/sim/advance"
	run -125 pfm diff before cycles
	[[ $output == *"instructions:u"*"cycles:u"*"same -e" ]]
	for args in "" before "before after more" "before missing" "--percent-limit=x before after"; do
		# shellcheck disable=SC2086 # words
		run -125 pfm diff $args
		[ -n "$output" ]
	done
	cp after keep
	run -125 pfm diff --folded=after before after
	[[ $output == *"after is a recording"* ]]
	cmp after keep
}
