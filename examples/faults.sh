#!/bin/sh
# SPDX-License-Identifier: MIT
# faults.sh MOUNT PROGRAM [ARG...]: counts the page faults of PROGRAM at user level. PROGRAM
# prints a line when it is ready, waits for a line, works, and prints a line when it is done; pages.c
# is such a program. The count is from ready to done. faults.py, faults.pl and faults.c do the same.
set -eu

fail() {
	echo "faults.sh: $*" >&2
	exit 1
}

[ $# -ge 2 ] || { echo "usage: faults.sh MOUNT PROGRAM [ARG...]" >&2; exit 2; }
mount=$1
shift

event=$(awk '$1 == "page-faults" { print $2 }' "$mount/pmu/events")
[ -n "$event" ] || fail "$mount counts no page faults: see --backend=perf"

ctx=$mount/ctx/faults-$$
pipes=$(mktemp -d)
finish() {
	exec 3>&- 4<&-
	[ ! -d "$ctx" ] || rmdir "$ctx"
	rm -r "$pipes"
}
trap finish EXIT

# put FILE TEXT: one write, which is one command; last_error explains an error
put() {
	printf '%s' "$2" 2>/dev/null >"$ctx/$1" || fail "$1: $(cat "$ctx/last_error")"
}

mkdir "$ctx" 2>/dev/null || fail "$ctx: $(cat "$mount/last_error")"
put pmc/0 $((event & ~0x20000)) # user level only

mkfifo "$pipes/in" "$pipes/out"
"$@" <"$pipes/in" >"$pipes/out" &
exec 3>"$pipes/in" 4<"$pipes/out"
read -r _ <&4 || fail "the program has ended"
put ctl "load tid=$!"
put ctl start
echo >&3
read -r _ <&4
put ctl stop
cat "$ctx/pmd/0" 2>/dev/null || fail "pmd/0: $(cat "$ctx/last_error")"
