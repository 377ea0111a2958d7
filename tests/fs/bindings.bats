# SPDX-License-Identifier: MIT
# examples/bindings: one program in each language, which does everything that fs-layout.md offers. All
# print the same lines.

load common

# needs COMMAND...: for the language of this test
needs() {
	local command

	for command; do
		command -v "$command" >/dev/null || skip "needs $command"
	done
}

says_all() {
	local expected="context: made
error: not loaded: there is nothing to start: write 'load cpu=N' or 'load tid=N' to ctl first
events: context-switches, task-clock
count: at least 20 context switches of 20 sleeps
message: PMD 1 has overflowed in this thread
state: masked
buffer: N samples, all of this thread
live: the count of PMD 0
end: the context goes with this program"

	echo "$output"
	output=$(sed 's/^buffer: [1-9][0-9]* /buffer: N /' <<<"$output")
	is "$expected"
}

# does_all COMMAND...: ends by itself, is killed, and fails: no context is left
does_all() {
	local pid

	cd "$BATS_TEST_DIRNAME/../../examples/bindings"
	serve --backend=perf
	run bounded "$@" "$MNT" </dev/null
	says_all
	[ "$status" = 0 ]
	until_ok no_contexts

	mkfifo "$BATS_TEST_TMPDIR/stdin"
	exec 4<>"$BATS_TEST_TMPDIR/stdin"
	"$@" "$MNT" <&4 >"$BATS_TEST_TMPDIR/out" 2>&1 3>&- 4>&- &
	pid=$!
	until_ok grep -q '^end:' "$BATS_TEST_TMPDIR/out"
	[ "$(ls "$MNT/ctx" | wc -l)" = 1 ]
	kill -KILL "$pid"
	wait "$pid" || :
	until_ok no_contexts
	stop_daemon

	serve --backend=sim # which has no such event
	run bounded "$@" "$MNT" </dev/null
	echo "$output"
	[[ $status == 1 && $output == *"pmc/0: 'context-switches'"* ]]
	until_ok no_contexts
}

@test "Go" {
	needs go
	GO111MODULE=off GOCACHE=$BATS_TEST_TMPDIR/cache go build -o "$BATS_TEST_TMPDIR/all" \
		"$BATS_TEST_DIRNAME/../../examples/bindings/all.go"
	does_all "$BATS_TEST_TMPDIR/all"
}

@test "Java" {
	needs javac java
	javac -d "$BATS_TEST_TMPDIR" "$BATS_TEST_DIRNAME/../../examples/bindings/All.java"
	does_all java -cp "$BATS_TEST_TMPDIR" All
}

@test "Node" {
	needs node
	does_all node all.js
}

@test "Perl" {
	needs perl
	does_all perl all.pl
}

@test "Ruby" {
	needs ruby
	does_all ruby all.rb
}

@test "Rust" {
	needs rustc
	rustc -O -o "$BATS_TEST_TMPDIR/all" "$BATS_TEST_DIRNAME/../../examples/bindings/all.rs"
	does_all "$BATS_TEST_TMPDIR/all"
}
