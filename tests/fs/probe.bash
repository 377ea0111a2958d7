# SPDX-License-Identifier: MIT
# Single operations on a file and what they answer, and waiting for things to happen.

# The command that operations run under, to be another user.
WHO=()

# Seconds until a wait fails. A busy machine may be slow, and the clock of a virtual one leaps by what
# its host takes, by a minute at times; only failing tests wait this long.
PATIENCE=120

# Runs what could block.
bounded() {
	timeout -s KILL "$PATIENCE" "$@"
}

# until_ok COMMAND...: waits until the command succeeds. A leap of the clock is not a wait.
until_ok() {
	local end=$((SECONDS + PATIENCE)) tries=0

	until "$@"; do
		if [ "$SECONDS" -ge "$end" ] && [ $((++tries)) -ge 50 ]; then
			echo "waited too long for: $*"
			return 1
		fi
		sleep 0.02
	done
}

# The whole output of the last command. The helpers set "output" themselves: bats' own "run" takes
# longer than the command.
is() {
	[ "$output" = "$1" ] || {
		printf 'expected: %s\ngot: %s\n' "$1" "$output"
		return 1
	}
}

# fails COMMAND...: as `!`, which ends no test
fails() {
	! "$@"
}

# probe EXPECTED OPERATION...: as fsprobe prints it
probe() {
	local expected=$1

	shift
	output=$(bounded "${WHO[@]}" fsprobe "$@")
	is "$expected"
}
