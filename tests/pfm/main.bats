# SPDX-License-Identifier: MIT
# pfm without a command, and help.

load common

@test "help lists the commands, and explains each" {
	run -0 pfm help
	names=$(awk '/^  [a-z]/ { print $1 }' <<<"$output")
	grep -qx help <<<"$names"
	for name in $names; do
		run -0 pfm help "$name"
		[[ $output == "Usage: pfm $name"* ]]
		explained=$output
		run -0 pfm "$name" --help
		[ "$output" = "$explained" ]
		# 80 columns
		! grep -E '^.{81}' <<<"$explained"
	done
}

# Each line of the table in pfm(1) that is one of pfm: its command, and its options.
@test "what pfm(1) gives instead of older tools is there" {
	grep -o 'Li pfm [a-z]* .*' "$BATS_TEST_DIRNAME/../../man/pfm.1" >"$BATS_TEST_TMPDIR/table"
	[ "$(wc -l <"$BATS_TEST_TMPDIR/table")" -ge 14 ]
	while read -r _ _ command words; do
		run -0 pfm help "$command"
		for word in $words; do
			[ "$word" != -- ] || break
			[[ $word != -* || $output == *"  $word"[,\ ]* || $output == *" $word  "* ]] || {
				echo "pfm $command has no $word"
				return 1
			}
		done
	done <"$BATS_TEST_TMPDIR/table"
}

@test "no command, and one that does not exist" {
	run -125 pfm
	run -125 pfm nonsense
	[[ $output == *nonsense* ]]
	run -125 pfm help nonsense
	[[ $output == *nonsense* ]]
}

@test "the version" {
	run -0 pfm --version
	[[ ${lines[0]} =~ ^pfm\ [0-9]+\.[0-9]+\.[0-9]+$ ]]
}

@test "output that is lost is a failure" {
	run -125 sh -c 'pfm help >/dev/full'
	[[ $output == *ENOSPC* ]]
}
