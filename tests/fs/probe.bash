# SPDX-License-Identifier: MIT
# Single operations on a file, and what they answer.

# The command that operations run under, to be someone else.
WHO=()

# Runs what could block: no test waits for ever.
bounded() {
	timeout -s KILL 20 "$@"
}

# What the last command printed, whole. The helpers set "output" by themselves: bats' own
# "run" takes longer than what it runs.
is() {
	[ "$output" = "$1" ] || {
		printf 'expected: %s\ngot: %s\n' "$1" "$output"
		return 1
	}
}

# probe EXPECTED OPERATION...: as fsprobe prints it
probe() {
	local expected=$1

	shift
	output=$(bounded "${WHO[@]}" fsprobe "$@")
	is "$expected"
}
