# SPDX-License-Identifier: MIT
# pfm who: free counters, contexts, other software, threads.

load common

who() {
	output=$("${WHO[@]}" pfm who --mount="$MNT" "$@")
}

# states: CPU STATE COUNTERS CONTEXT of each line of JSON
states() {
	who -j
	output=$(python3 -c '
import json, sys
for line in sys.stdin:
    r = json.loads(line)
    assert r["schema"] == 1 and r["text"], r
    print(r.get("cpu", "thread"), r["state"], r["counters"], r["context"], r["uid"])' <<<"$output")
}

# bound FILE COMMAND...: where that file is in the place of the mount's cpus
bound() {
	unshare --mount sh -c 'mount --bind "$0" "$1/cpus" && shift && exec "$@"' "$1" "$MNT" "${@:2}"
}

@test "what a file says is cleaned before it is shown, and not read without end" {
	serve --backend=sim
	printf '0 online context=a\033[31mEVIL\033]0;t\007\302\233\377 uid=0 pid=1\n' >"$BATS_TEST_TMPDIR/evil"
	run -0 bound "$BATS_TEST_TMPDIR/evil" pfm who -m "$MNT"
	[[ $output == *'a?[31mEVIL?]0;t?'* && $output != *[$'\033\007\302\233\377']* ]]
	run -125 bound /dev/zero timeout -s KILL "$PATIENCE" pfm who -m "$MNT"
	[[ $output == *EFBIG* || $output == *16777216* ]]
}

@test "sim: free, a context, other software, offline" {
	serve --backend=sim
	new mine
	put ok "$C/pmc/0" 0x4100c0
	ctl "load cpu=1"
	put ok "$MNT/sim/poke" "2 0x186 0x4300c0"
	put ok "$MNT/sim/poke" "2 0x187 0x4300c4"
	put ok "$MNT/sim/poke" "2 0x38d 0x3"
	put ok "$MNT/sim/offline" 3
	states
	is "0 free 0-3,16-18 None None
1 context 0-3,16-18 mine 0
2 in use 0 None None
2 in use 1 None None
2 in use 16-18 None None
2 free 2-3 None None
3 offline 0-3,16-18 None None"
	who
	grep -q 'rmdir' <<<"$output"
	fails grep -E '^.{81}' <<<"$output"
	# The time of the mkdir
	who -j
	[[ $output == *"\"since\":\"$(date -r "$C" +%Y-%m-%dT%H:%M:%S)"* ]]
}

@test "sim: CPUs with the same state are one line" {
	serve --backend=sim
	who
	[ "$(wc -l <<<"$output")" = 2 ]
	[[ $output == *0-3* ]]
}

@test "sim: what another user may know" {
	serve --backend=sim
	new mine
	ctl "load cpu=1"
	as nobody states
	is "0 unknown 0-3,16-18 None None
1 context 0-3,16-18 mine 0
2 unknown 0-3,16-18 None None
3 unknown 0-3,16-18 None None"
}

@test "perf: a thread" {
	serve --backend=perf
	new mine
	put ok "$C/pmc/0" page-faults:u
	sleep 1000 3>&- &
	ctl "load tid=$!"
	states
	grep -qx 'thread context None mine 0' <<<"$output"
	who
	grep -q "^thread $! .*sleep.*mine" <<<"$output"
	kill $!
}

@test "perf: the children of a context, loaded by the same process" {
	serve --backend=perf
	new mine
	put ok "$C/pmc/0" page-faults:u
	python3 -c 'import threading, time
threading.Thread(target=time.sleep, args=[1000]).start()' 3>&- &
	until_ok eval "[ -e /proc/$!/task ] && [ \$(ls /proc/$!/task | wc -l) = 2 ]"
	ctl "load pid=$!"
	who -j
	kill -KILL $!
	[ "$(grep -o '"pid":[1-9][0-9]*' <<<"$output" | uniq -c | awk '{ print $1 }')" = 2 ]
}

@test "perf: a program cannot command the terminal by its name" {
	serve --backend=perf
	new mine
	put ok "$C/pmc/0" page-faults:u
	cp "$(command -v sleep)" "$BATS_TEST_TMPDIR/"$'a\e]0;b'
	"$BATS_TEST_TMPDIR/"$'a\e]0;b' 1000 3>&- &
	until_ok grep -q 'a.]0;b' "/proc/$!/comm"
	ctl "load tid=$!"
	who
	[[ $output == *'a?]0;b'* && $output != *$'\e'* ]]
	kill $!
}

@test "what it does not take" {
	serve --backend=sim
	run -125 pfm who --mount="$MNT" more
	run -125 pfm who --mount="$MNT" -q
	run -125 pfm who --mount="$BATS_TEST_TMPDIR"
}
