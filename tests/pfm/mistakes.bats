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
		stat $'-\xff'                  | no such option
		stat $'-j\001' true            | no such option
		stat -e                       | -e: needs an argument: EVENT,...
		stat --event                  | --event: needs an argument: EVENT,...
		stat -e -a                    | -e: needs an argument before -a
		stat --json=3 true            | --json: takes no argument
		stat -F 99 true               | -F: an option of pfm record help
		stat --freq=99 true           | --freq: an option of pfm record
		stat -event cycles true       | --event two dashes
		stat -e cycles --help         | pfm help stat
		list --per-core               | an option of pfm stat
		record --call-graph lbr true  | lbr --call-graph=dwarf -g
		record --call-graph dwarf,12 true | dwarf,12 multiple of 8 65528
		record --call-graph dwarf,65536 true | 65528 --call-graph=dwarf,16384
		record --call-graph=dwarf, true | multiple of 8
		record --call-graph true      | --call-graph=fp
		stat -g true                  | -g true group
		stat -j -e true               | -e true event
		stat --warmup true            | --warmup 3 COMMAND
		stat -r true                  | -r 3 COMMAND
		decode cycles                 | pfm encode cycles
	END
}

@test "options of perf, LIKWID and hyperfine: what to type here" {
	mistakes <<-'END'
		stat -d true                  | -d: -e -g
		stat -ddd true                | -d: -e -g
		stat -M IPC true              | -M: -g
		stat -D 100 true              | -D: -p
		stat -G nosuch                | nosuch /proc/PID/cgroup
		stat -G ''                    | -a /proc/PID/cgroup
		stat -G .                     | '.' -a
		stat -G /sys/fs/cgroup/../fs  | /../ -a
		stat -G web,db                | web,db one group
		record -a -G web              | -G leave -a
		record -G web -a              | -G leave -a
		stat --for-each-cgroup=web,db | -G
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
		annotate --symbol x           | pfm annotate FUNCTION
		help script                   | pfm report --perf-script
		help scrpt                    | is it script? pfm report --perf-script
		anotate                       | is it annotate?
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
	[ "$n" = 7 ]
}

@test "events, levels, processes and groups that there are not: what there is" {
	serve --backend=perf
	export PERFMONFS=$MNT
	mistakes <<-'END'
		stat -e instrucitons true            | is it instructions?
		stat -e page-fualts true             | is it page-faults?
		stat -e cs:u true                    | cs:u user and kernel level leave
		stat -e "page-faults cs" true        | commas
		stat -I 1s -a                        | milliseconds
		record -F max true                   | -F number
		list nothing-like-that               | nothing-like-that all
		stat -p 999999                       | there is no process 999999: ps -e
		stat -t 999999                       | there is no thread 999999: ps -eL
		record -p 999999                     | there is no process 999999: ps -e
		record -e ,cs true                   | -e ,cs names of events
		stat -g nothing true                 | no group 'nothing': this PMU has default
		stat -g memory -a -- true            | group memory: groups of this PMU: default
	END
	run -127 bounded pfm stat report
	[[ $output == *"pfm stat -j -o FILE COMMAND"* ]]
	run -127 bounded pfm stat $'\xe2\x80\x93e' page-faults true
	[[ $output == *"its dash is not the character"* ]]
}

@test "the kernel's events of both levels, for users of user level: the setting, and another event" {
	serve --backend=perf
	put ok "$MNT/config/allow_kernel" root
	run -125 setpriv --reuid="$NOBODY" --regid="$NOBODY" --clear-groups pfm stat -m "$MNT" -e task-clock true
	[[ $output == *"task-clock: "*"config/allow_kernel"*page-faults ]]
	run -125 setpriv --reuid="$NOBODY" --regid="$NOBODY" --clear-groups pfm record -m "$MNT" -e cs true
	[[ $output == *"cs: "*"config/allow_kernel"*page-faults ]]
}

@test "options behind the command: a note, unless the output is for programs" {
	serve --backend=perf
	run -0 --separate-stderr pfm stat -m "$MNT" -o /dev/null true -e page-faults
	[[ $stderr == *"-e page-faults comes after the command"* ]]
	run -0 --separate-stderr pfm stat -m "$MNT" -o /dev/null true -e foo
	[ -z "$stderr" ]
	run -0 --separate-stderr pfm stat -m "$MNT" -x, true -e page-faults
	[[ ${stderr_lines[0]} == kind,* && $stderr != *behind* ]]
}

@test "a simulation that is mounted: whose numbers they are, in the header and on stderr" {
	serve --backend=sim
	run -0 --separate-stderr pfm stat -m "$MNT" -C 0 -- true
	[[ $stderr == *"CPUs 0: sim (simulated)"* && $stderr != *umount* ]]
	run -0 --separate-stderr with_mounts "$MNT" pfm stat -C 0 -o /dev/null -- true
	[[ $stderr == "pfm stat: $MNT simulates a PMU"*unmount*--mount ]]
	run -125 --separate-stderr with_mounts "$MNT" pfm stat -j -C 0 -- true
	[[ $stderr == "pfm stat: $MNT simulates a PMU: unmount it"*--mount ]]
}

# What pfm says of the private daemon stays away from rows for programs.
@test "rows for programs have their stream alone" {
	run -0 --separate-stderr without_mounts pfm stat -x, -e page-faults true
	[[ ${stderr_lines[0]} == kind,* && ${#stderr_lines[@]} -ge 2 ]]
	run -0 --separate-stderr without_mounts pfm stat -j -e page-faults true
	[[ ${stderr_lines[0]} == "{"* ]]
}

@test "a mount point that is not empty is refused, or hidden by -o nonempty" {
	mkdir "$MNT/file"
	run -1 bounded "$BUILD/daemon/perfmonfs" --backend=sim "$MNT"
	[[ $output == *"$MNT: ENOTEMPTY: "*"-o nonempty" ]]
	serve --backend=sim -o nonempty
	[ ! -e "$MNT/file" ]
}

@test "a start without an event: where one goes, also if it was written to a PMD" {
	serve --backend=sim
	mkdir "$MNT/ctx/a"
	put ok "$MNT/ctx/a/pmd/0" 0x4300c0
	put ok "$MNT/ctx/a/ctl" "load cpu=0"
	put ok "$MNT/ctx/a/ctl" start
	[[ $(<"$MNT/ctx/a/last_error") == "note: "*"pmc/N"*"pmd/0"* ]]
}

@test "list says that a PMU has no groups" {
	printf 'group only\nevent nothing-like-that\n' >"$BATS_TEST_TMPDIR/a.group"
	serve --backend=perf
	PFM_EVENTS=$BATS_TEST_TMPDIR run -0 pfm list -m "$MNT"
	[[ $output == *"pfm list: no groups: "* ]]
}
