# SPDX-License-Identifier: MIT
# The examples: one measurement in four languages, of a program that knows its page faults. All must
# print that number.

load common
load track

setup() {
	bench_setup
	# Other users can read them here.
	EXAMPLES=$BATS_TEST_TMPDIR/examples
	mkdir -m 755 "$EXAMPLES"
	cp -r "$BATS_TEST_DIRNAME"/../../examples/faults.* "$BATS_TEST_DIRNAME"/../../python/perfmonfs \
		"$BUILD"/examples/{faults,pages} "$EXAMPLES"
	PATH=$EXAMPLES:$PATH
	export PYTHONDONTWRITEBYTECODE=1
}

teardown() {
	bench_teardown
}

EACH="faults.sh faults.py faults.pl faults"

# says STATUS OUTPUT PROGRAM ARG...: prints that, and leaves no context
says() {
	run bounded "${WHO[@]}" "${@:3}"
	echo "${*:3}: $status: $output"
	# shellcheck disable=SC2053
	[[ $status == "$1" && $output == $2 && -z $(ls "$MNT/ctx") ]]
}

# counts N...: pages, in each language
counts() {
	local n program

	command -v python3 perl >/dev/null || skip "needs python3 and perl"
	for n; do
		for program in $EACH; do
			says 0 "$n" "$program" "$MNT" pages "$n" || {
				[[ $output != *BPF* && $output != *SCHED_FIFO* ]] ||
					skip "no thread can be followed here: $output"
				told
				return 1
			}
		done
	done
}

@test "the same numbers in all languages, and the right ones" {
	serve --backend=perf
	counts 1 10 1000 20000
}

@test "for any user" {
	serve --backend=perf
	as nobody counts 500
}

@test "a measurement that is impossible is reported, and leaves nothing" {
	serve --backend=sim
	for program in $EACH; do
		says 1 "*page faults*" "$program" "$MNT" pages 1
	done
	stop_daemon
	serve --backend=perf
	for program in $EACH; do
		says 1 "*ended*" "$program" "$MNT" true
	done
	put ok "$MNT/config/thread_group" none
	for program in $EACH; do
		as nobody says 1 "*ctx/*" "$program" "$MNT" pages 1
	done
}
