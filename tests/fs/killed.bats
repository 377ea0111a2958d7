# SPDX-License-Identifier: MIT
# SIGKILL at any moment: to the client, to what it monitors, to the daemon. For longer, run the
# script by itself.

load common

@test "client, target and daemon are killed at random: targets run on, nothing is left" {
	run -0 "$BATS_TEST_DIRNAME/../track/random_kill.sh" 20
	echo "$output"
	[[ $output =~ ^[0-9]+\ rounds:\ killed\ [1-9] ]]
}
