# SPDX-License-Identifier: MIT
# What pfm says to what perf, LIKWID or hyperfine take, and to what is mistyped.

load common

# mistakes: for each line "ARGUMENTS | WORDS" of stdin, pfm refuses the arguments, and each of the words,
# which blanks separate, is in what it says.
mistakes() {
	local arguments words word

	while IFS='|' read -r arguments words; do
		eval "set -- $arguments"
		run -125 bounded pfm "$@"
		for word in $words; do
			[[ $output == *"$word"* ]] || {
				printf 'pfm %s\n%s\nlacks: %s\n' "$arguments" "$output" "$word"
				return 1
			}
		done
	done
}

@test "options: unknown, without an argument, and those of other commands are told apart" {
	mistakes <<-'END'
		stat --frobnicate true        | --frobnicate: no such option help
		stat --repat 3 true           | is it --repeat?
		stat --aggr true              | is it --no-aggr?
		stat -q true                  | -q: no such option
		stat -jq true                 | -q: no such option
		stat -e                       | -e: needs an argument: EVENT,...
		stat --event                  | --event: needs an argument: EVENT,...
		stat -e -a                    | -e: needs an argument before -a
		stat --json=3 true            | --json: takes no argument
		stat -F 99 true               | -F: an option of pfm record help
		stat --freq=99 true           | --freq: an option of pfm record
		stat -event cycles true       | --event two dashes
		stat -e cycles --help         | pfm help stat
		list --per-core               | an option of pfm stat
		record --call-graph dwarf true | dwarf frame -g -fno-omit-frame-pointer
		record --call-graph true      | --call-graph=fp
	END
}

@test "options of perf, LIKWID and hyperfine: what to type here" {
	mistakes <<-'END'
		stat -d true                  | -d: -e -g
		stat -ddd true                | -d: -e -g
		stat -M IPC true              | -M: -g
		stat -D 100 true              | -D: -p
		stat -G web true              | -G: -p cgroup.procs
		stat -b 7 true                | -b: BPF
		stat --topdown true           | -g topdown
		stat --timeout 100 true       | --timeout: sleep
		stat --delay 100 true         | -p
		stat --all-user true          | :u
		stat --all-kernel true        | :k
		stat --metric-only true       | -j
		stat --no-big-num true        | -x
		stat --interval-count 3 true  | sleep
		stat -n true                  | -e
		stat --append true            | -o
		stat -O true                  | -x
		stat -S 1s                    | sleep
		stat --runs 10 true           | --repeat
		stat --export-json f true     | -j -o
		record -b true                | -b: -g
		record -u root true           | -p
		record --all-user true        | :u
		report -g                     | --tree --flamegraph
		report -G                     | --tree=callers
		report -D                     | --perf-script
		report -F overhead            | --sort
		top -d 2                      | -I
		top -H                        | --by=thread
		top -F 99                     | pfm record
		encode -e cycles              | pfm encode EVENT
		list --details                | -v
	END
}

@test "commands of perf and LIKWID: pfm's" {
	mistakes <<-'END'
		stta                          | is it stat?
		script                        | pfm report --perf-script
		diff                          | pfm stat --compare
		annotate                      | pfm report
		help script                   | pfm report --perf-script
		events                        | pfm list
		perfctr                       | pfm stat
		version                       | pfm --version
	END
}

@test "options of perf that change nothing are accepted: those that pfm(1) lists" {
	local command options n=0

	while read -r _ command _ _ options; do
		n=$((n + 1))
		# A wrong one behind them is the only mistake.
		for option in $options; do
			run -125 pfm "$command" "$option" --frobnicate
			[[ $output == "pfm $command: --frobnicate: no such option"* ]]
		done
	done < <(sed -n '/^\.Ss Options of perf/,/^\.El/s/^\.It [a-z]* Ta Li .*/&/p' "$BATS_TEST_DIRNAME/../../man/pfm.1")
	[ "$n" = 5 ]
}
