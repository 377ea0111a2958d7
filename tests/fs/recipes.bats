# SPDX-License-Identifier: MIT
# Types each recipe of fs-layout.md and compares the output with the printed one.

load common
load track

RECIPES=$BATS_TEST_DIRNAME/recipes

setup() {
	command -v python3 taskset setpriv unshare >/dev/null || skip "needs python3 and util-linux"
	bench_setup
	export PYTHONPATH=$BATS_TEST_DIRNAME/../../python PYTHONDONTWRITEBYTECODE=1
}

teardown() {
	bench_teardown
}

# comparable BACKEND: removes what differs between runs: bash's line numbers, job notices, process
# numbers, the live page's sequence. Only the simulated backend counts the same each time: of the
# others, all numbers become N.
comparable() {
	sed -E 's/^bash: line [0-9]+: /bash: /; /^\[[0-9]+\] /d; s/\<(pid=|seq )[0-9]+/\1N/g' |
		if [ "$1" = sim ]; then cat; else sed -E 's/[0-9]+/N/g'; fi
}

needs_property() {
	case $1 in
	passthrough)
		# `stats` shows it only after the first attempt.
		mkdir "$MNT/ctx/probe"
		bounded cat "$MNT/ctx/probe/set/0/live" >/dev/null
		rmdir "$MNT/ctx/probe"
		grep -qx 'passthrough 1' "$MNT/stats" || skip "this kernel passes no files through"
		;;
	*) return 1 ;;
	esac
}

# needs_perf N: skips recipe N where the machine lacks something that it needs
needs_perf() {
	[ "$(grep -c ^processor /proc/cpuinfo)" -ge 2 ] || skip "needs two CPUs"
	perfmonfs --check --backend=perf >"$BATS_TEST_TMPDIR/check" || :
	grep -q "ok *threads: " "$BATS_TEST_TMPDIR/check" || skip "no thread can be followed here"
	grep -q "ok *sampling: " "$BATS_TEST_TMPDIR/check" || skip "samples cannot be attributed here"
	[ "$1" != 10 ] || unshare --user --map-root-user --mount --pid --fork true 2>/dev/null ||
		skip "no user namespaces here"
}

# recipe N: all sessions of recipe N
recipe() {
	local number backend words property

	while read -r number backend words; do
		[ "$backend" = sim ] || needs_perf "$1"
		serve --backend="$backend"
		for property in ${words%%"$1. "*}; do
			needs_property "$property"
		done
		typed "$number" "$backend"
		[ -z "$(ls "$MNT/ctx")" ]
		stop_daemon
	done < <("$RECIPES" list | grep -E "^[0-9]+ [a-z ]+ $1[.] ")
	[ "${count-0}" -gt 0 ]
}

# typed NUMBER BACKEND: that session
typed() {
	local at=("$1" "$MNT" "$BATS_TEST_TMPDIR") rc=0

	count=$((${count-0} + 1))
	"$RECIPES" expected "${at[@]}" | comparable "$2" >"$BATS_TEST_TMPDIR/expected"
	# A shell that the session starts reads the rest of the same pipe.
	"$RECIPES" script "${at[@]}" |
		timeout -s KILL "$PATIENCE" bash >"$BATS_TEST_TMPDIR/output" 3>&- || rc=$?
	comparable "$2" <"$BATS_TEST_TMPDIR/output" >"$BATS_TEST_TMPDIR/got"
	diff "$BATS_TEST_TMPDIR/expected" "$BATS_TEST_TMPDIR/got" && [ "$rc" = 0 ] || {
		cat "$BATS_TEST_TMPDIR/output"
		lost
	}
}

@test "1 count on a CPU" { recipe 1; }
@test "2 count a process or a thread" { recipe 2; }
@test "3 count a command from its first instruction" { recipe 3; }
@test "4 multiplex and scale" { recipe 4; }
@test "5 be notified of an overflow" { recipe 5; }
@test "6 profile with a sampling format" { recipe 6; }
@test "7 read a live page" { recipe 7; }
@test "8 share with a group" { recipe 8; }
@test "9 find out what uses the counters" { recipe 9; }
@test "10 count in a container" { recipe 10; }
@test "11 export counts to Prometheus" { recipe 11; }
@test "12 monitor all the time, and give way" { recipe 12; }
@test "13 tie a context to a program" { recipe 13; }

@test "the session of the README" {
	export FS_LAYOUT=$BATS_TEST_DIRNAME/../../README.md
	needs_perf README
	serve --backend=perf
	typed 1 perf
	[ "$("$RECIPES" list | wc -l)" = 1 ]
}

@test "no recipe is left out, and all headings are in the table of contents" {
	run -0 "$RECIPES" list
	[ "$(grep -oE ' [0-9]+[.] ' <<<"$output" | sort -u | wc -l)" = 13 ]
	run -0 "$RECIPES" contents
	is ""
}

@test "each file of the reference has its format and an example" {
	run -0 "$RECIPES" rows
	is ""
}

@test "the keys of stats are those of the document" {
	serve --backend=sim
	grep -qF "\`$(cat "$MNT/version")\`" "$BATS_TEST_DIRNAME/../../fs-layout.md" ||
		skip "the document is of another version of the interface"
	[ "$(sed 's, .*,,; s,^\(memory_bytes\|thread_workers\)_[0-9][0-9]*,\1_UID,' "$MNT/stats" | sort -u)" = "$("$RECIPES" stats)" ]
}
