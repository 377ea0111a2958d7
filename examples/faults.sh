#!/bin/sh
# SPDX-License-Identifier: MIT
# faults.sh MOUNT PROGRAM [ARG...]: the page faults, at user level, of what PROGRAM does between the line
# that says it is ready and the one that says it is done. It begins when it is sent a line; pages.c
# is such a program. faults.py, faults.pl and faults.c do the same.
set -eu
[ $# -ge 2 ] || { echo "usage: faults.sh MOUNT PROGRAM [ARG...]" >&2; exit 2; }
mount=$1
shift

event=$(awk '$1 == "page-faults" { print $2 }' "$mount/pmu/events")
[ -n "$event" ] || { echo "faults.sh: $mount counts no page faults: see --backend=perf" >&2; exit 1; }

ctx=$mount/ctx/faults-$$
pipes=$(mktemp -d)
finish() {
	exec 3>&- 4<&-
	[ ! -d "$ctx" ] || rmdir "$ctx"
	rm -r "$pipes"
}
trap finish EXIT

# put FILE TEXT: one write; what is wrong with it, the daemon knows
put() {
	printf '%s' "$2" 2>/dev/null >"$ctx/$1" || { echo "faults.sh: $1: $(cat "$ctx/last_error")" >&2; exit 1; }
}

mkdir "$ctx" || { cat "$mount/last_error" >&2; exit 1; }
put pmc/0 $((event & ~0x20000)) # without the kernel's level

mkfifo "$pipes/in" "$pipes/out"
"$@" <"$pipes/in" >"$pipes/out" &
exec 3>"$pipes/in" 4<"$pipes/out"
read -r _ <&4 || { echo "faults.sh: the program has ended" >&2; exit 1; }
put ctl "load tid=$!"
put ctl start
echo >&3
read -r _ <&4
put ctl stop
cat "$ctx/pmd/0" 2>/dev/null || { echo "faults.sh: $(cat "$ctx/last_error")" >&2; exit 1; }
