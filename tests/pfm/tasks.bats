# SPDX-License-Identifier: MIT
# Types what README.md and doc/tasks.md say for each task, with a command, a process and files for their
# capitals.

load common

TOP=$BATS_TEST_DIRNAME/../..
README=$TOP/README.md
TASKS=$TOP/doc/tasks.md

setup() {
	bench_setup
	PATH="$BUILD/tools/pfm:$BUILD/daemon:$PATH"
	export PERFMONFS=$MNT ASAN_OPTIONS=${ASAN_OPTIONS-}:detect_leaks=0
	SLEEPER=
}

teardown() {
	[ -z "$SLEEPER" ] || kill "$SLEEPER"
	bench_teardown
}

# task WORDS [DOCUMENT]: what the row that begins with "| WORDS" has in backquotes, a line each
task() {
	local events
	# More than the 16 counters of the perf backend.
	events=$(printf 'page-faults,%.0s' {1..20})minor-faults

	# shellcheck disable=SC2016
	output=$(grep -F "| $1" "${2-$TASKS}" | cut -d'|' -f3 | grep -o '`[^`]*`' | tr -d '`' | sed \
		-e "s|COMMAND|ls -R /usr/share/doc|; s|PID|$SLEEPER|; s|EVENTS|$events|" \
		-e "s|PROGRAM|$BUILD/examples/regions 10|; s|FILE|$BATS_TEST_TMPDIR/data|; s|/mnt|$MNT|")
	[ -n "$output" ]
	printf '%s\n' "$output"
	mapfile -t LINES_TYPED <<<"$output"
}

# types N [PATTERN]: line N prints PATTERN, unless a count is lost, as on a machine that is too busy
types() {
	run bounded bash -c "${LINES_TYPED[$1 - 1]}" 3>&- 4>&- 5>&-
	printf '%s\n' "$output" | tail -n 20
	if [ "$status" = 3 ]; then
		grep -q "<lost" <<<"$output"
		return
	fi
	[ "$status" = 0 ]
	grep -qE -- "${2-}" <<<"$output"
}

counted='^ +[0-9][0-9,]* +page-faults '

sleeper() {
	sleep 1000 3>&- 4>&- 5>&- &
	SLEEPER=$!
	until_ok grep -qx sleep "/proc/$SLEEPER/comm"
}

has_second_cpu() {
	[ "$(awk '$1 == "processor" && $3 == 1' /proc/cpuinfo | wc -l)" != 0 ]
}

@test "commands, processes, CPUs" {
	serve --backend=perf
	sleeper
	task "count a command,"
	types 1 "$counted"
	task "count a process,"
	types 1 "$counted"
	! has_second_cpu || {
		task "count a CPU"
		types 1 "$counted"
	}
	task "see which thread"
	LINES_TYPED=("${LINES_TYPED[0]} -n 1 -I 200")
	types 1 "^ +[0-9.]+ +$SLEEPER .* sleep$"
	task "know what has the counters"
	types 1 "^CPU "
}

@test "more events than counters" {
	serve --backend=perf
	task "count more events"
	types 2 "^ +[0-9][0-9,]* +minor-faults "
	# A short command may end before an event set has its turn: its counts are lost.
	LINES_TYPED[0]=${LINES_TYPED[0]/--mux/--mux --allow-lost}
	types 1 "page-faults .*\[[0-9]+ %\]|<lost>"
}

@test "profiles" {
	"$BUILD/daemon/perfmonfs" --check --backend=perf | grep -q "samples name the running thread" ||
		skip "the kernel does not let us know who is running"
	serve --backend=perf
	task "know where a command"
	types 1
	types 2 "^# command: ls -R"
	task "know where its threads wait"
	types 1
	types 2 "^# event: off-cpu"
}

@test "parts of a program" {
	serve --backend=perf
	task "count parts of a program"
	types 1 "^all: 6 calls, "
}

@test "a container" {
	unshare --user --map-root-user --mount --pid --fork true 2>/dev/null || skip "no user namespaces here"
	serve --backend=perf
	task "count in a container"
	types 1 "$counted"
}

@test "a group, and the simulated PMU" {
	serve --backend=perf
	task "let a group count CPUs"
	types 1
	[ "$(cat "$MNT/config/sys_group")" = "$(getent group users | cut -d: -f3)" ]
	stop_daemon
	task "try it on a simulated PMU"
	types 1
	until_ok mounted "$MNT"
	run -0 bounded bash -c "${LINES_TYPED[1]}"
	grep -qE '^ +[1-9][0-9,]* +instructions ' <<<"$output"
	umount "$MNT"
}

@test "README: the table" {
	serve --backend=perf
	sleeper
	task "count a command" "$README"
	types 1 "$counted"
	task "count a process, or a CPU" "$README"
	types 1 "$counted"
	! has_second_cpu || types 2 "$counted"
	task "see what can be counted" "$README"
	types 1 "page-faults"
	types 2
	task "know what has the counters" "$README"
	types 1 "^CPU "
}

@test "README: a profile" {
	"$BUILD/daemon/perfmonfs" --check --backend=perf | grep -q "samples name the running thread" ||
		skip "the kernel does not let us know who is running"
	serve --backend=perf
	task "know where a command" "$README"
	types 1
	types 2 "^# command: ls -R"
}

@test "README: the command of its picture" {
	serve --backend=perf
	mapfile -t LINES_TYPED < <(sed -n '/^```text/,/^```$/s/^# //p' "$README")
	[ ${#LINES_TYPED[@]} = 1 ]
	types 1 "$counted"
}

# The other lines are typed by CI (tests/run), tests/install (the rest of the indented ones),
# tests/fs/recipes.bats (the session) and tests/fs/env.bats (pfm-env).
@test "README: no line to type is left without a test" {
	run -0 grep -oE '^    [^ ]([^#]*[^ #])?|`(pfm[a-z-]*|perfmonfs|sudo) [^`]*`' "$README"
	is "\`pfm stat\`
\`pfm record -g\`
\`pfm report\`
\`perfmonfs --backend=perf /mnt\`
    sudo ./contrib/quickstart
    sudo ./tests/run
\`pfm stat COMMAND\`
\`pfm record -o FILE COMMAND\`
\`pfm report FILE\`
\`pfm stat -p PID -- sleep 1\`
\`pfm stat -C 1 -- sleep 1\`
\`pfm list\`
\`pfm check\`
\`pfm who\`
    meson setup build && ninja -C build && sudo ninja -C build install
    dpkg-buildpackage -us -uc -b && sudo apt install ../*perfmonfs*.deb
\`sudo systemctl enable --now perfmonfs\`
\`pfm-env COMMAND\`"
}
