# SPDX-License-Identifier: MIT
# pfm check: what can be counted, for root and other users.

load common

# mark LINE: ok or note
mark() {
	awk -v what="$1" 'index($0, what) == 7 { print $1 }' <<<"$output"
}

marks() {
	local expected=$1 what found=

	shift
	output=$("${WHO[@]}" pfm check --mount="$MNT") || return 1
	fails grep -E '^.{81}' <<<"$output"
	for what; do
		found="$found $(mark "$what")"
	done
	[ "$found" = " $expected" ] || {
		echo "$output"
		return 1
	}
}

@test "sim: CPUs, and no threads" {
	serve --backend=sim
	marks "ok ok ok ok ok note note" mount PMU counters levels CPUs threads commands
	no_contexts
}

@test "sim: counters that other software has" {
	serve --backend=sim
	put ok "$MNT/sim/poke" "2 0x186 0x4300c0"
	marks "ok note ok" mount counters CPUs
}

@test "sim: no CPU is free" {
	local cpu

	serve --backend=sim
	for cpu in 0 1 2 3; do
		new "c$cpu"
		ctl "load cpu=$cpu"
	done
	# Nothing can be counted.
	run -125 pfm check --mount="$MNT"
	[ "$(mark CPUs)" = note ]
	holds "$C/state" "loaded cpu=3 set=0"
}

@test "perf: threads and commands" {
	serve --backend=perf
	marks "ok ok ok ok" mount CPUs threads commands
	as nobody marks "ok note note ok ok" mount levels CPUs threads commands
	no_contexts
}

@test "what it does not take" {
	serve --backend=sim
	run -125 pfm check --mount="$MNT" more
	run -125 pfm check --mount="$BATS_TEST_TMPDIR"
}
