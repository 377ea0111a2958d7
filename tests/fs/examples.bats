# SPDX-License-Identifier: MIT
# The examples: one measurement in four languages, of a program that knows its page faults. All say
# the same number, which is that.

load common
load track

setup() {
	bench_setup
	# Other users can read them here.
	EXAMPLES=$BATS_TEST_TMPDIR/examples
	mkdir -m 755 "$EXAMPLES"
	cp "$BATS_TEST_DIRNAME"/../../examples/faults.* "$BATS_TEST_DIRNAME"/../../python/perfmonfs.py \
		"$BUILD"/examples/{faults,pages} "$EXAMPLES"
	PATH=$EXAMPLES:$PATH
	export PYTHONDONTWRITEBYTECODE=1
}

# in_each STATUS OUTPUT ARG...: what each of the four says
in_each() {
	local program

	for program in faults.sh faults.py faults.pl faults; do
		run bounded "${WHO[@]}" "$program" "${@:3}"
		echo "$program: $status: $output"
		# shellcheck disable=SC2053
		[[ $status == "$1" && $output == $2 ]] || return 1
	done
	output=$(ls "$MNT/ctx")
	is ""
}

# counts N...: pages
counts() {
	local n

	command -v python3 perl >/dev/null || skip "needs python3 and perl"
	for n; do
		in_each 0 "$n" "$MNT" pages "$n" || {
			[[ $output != *BPF* && $output != *SCHED_FIFO* ]] || skip "no thread can be followed here: $output"
			told
			return 1
		}
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

@test "what cannot be measured is said, and nothing is left" {
	serve --backend=sim
	in_each 1 "*page faults*" "$MNT" pages 1
	stop_daemon
	serve --backend=perf
	in_each 1 "*ended*" "$MNT" true
	put ok "$MNT/config/thread_group" none
	as nobody in_each 1 "*ctx/*" "$MNT" pages 1
}
