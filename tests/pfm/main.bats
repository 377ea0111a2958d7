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
		fails grep -E '^.{81}' <<<"$explained"
	done
}

@test "each option is in help, and in the page of the command" {
	local name helped paged

	for name in $(pfm help | awk '/^  [a-z]/ && $1 != "help" { print $1 }'); do
		helped=$(pfm help "$name" | grep -oE '^ {2,6}(-[A-Za-z](, )?)?(--[a-z-]+)?' | grep -oE -- '--?[A-Za-z][a-z-]*' | sort -u)
		paged=$(sed -n 's/^\.It //p; /^\.Sh SYN/,/^\.Sh DESC/p' "$BATS_TEST_DIRNAME/../../man/pfm-$name.1" |
			grep -oE 'Fl -?[A-Za-z][a-z-]*' | sed 's/Fl /-/' | sort -u)
		[ -n "$helped" ]
		diff <(printf '%s\n' "$helped") <(printf '%s\n' "$paged")
	done
}

@test "pfm(1) refers to the page of each command, and each page to that one" {
	local name man=$BATS_TEST_DIRNAME/../../man

	for name in $(pfm help | awk '/^  [a-z]/ && $1 != "help" { print $1 }'); do
		sed '1,/^\.Sh SEE ALSO/d' "$man/pfm.1" | grep -x "\.Xr pfm-$name 1 ,"
		sed '1,/^\.Sh SEE ALSO/d' "$man/pfm-$name.1" | grep -x '\.Xr pfm 1 ,'
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

@test "the flame graph of README has names alone, and is one of this pfm" {
	local picture=$BATS_TEST_DIRNAME/../../doc/flame-graph.svg

	[ "$(grep -c '<title>' "$picture")" -ge 50 ]
	fails grep -E '<title>(0x|\[unknown)' "$picture"
	grep -q 'id="details"' "$picture"
}

@test "each page of section 1 has examples, whose options are those of help" {
	local page command words word n=0

	for page in "$BATS_TEST_DIRNAME"/../../man/*.1; do
		grep -qx '\.Sh EXAMPLES' "$page"
	done
	while read -r command words; do
		run -0 pfm help "$command"
		for word in $words; do
			n=$((n + 1))
			case $word in -- | '|' | .* | \'*) break ;; esac
			[[ $word != -* ]] || grep -qE -- "^ +(-[A-Za-z], )?${word%%[=,]*}(,|=|\[=| |$)" <<<"$output" || {
				echo "pfm $command has no $word"
				return 1
			}
		done
	done < <(sed -n '/^\.Sh EXAMPLES/,/^\.Sh SEE/s/^\.Dl [$#] pfm //p' "$BATS_TEST_DIRNAME"/../../man/pfm*.1)
	[ "$n" -ge 30 ]
}

@test "no command, and one that does not exist" {
	run -125 pfm
	run -125 pfm nonsense
	[[ $output == *nonsense* ]]
	run -125 pfm sta
	[[ $output == *"is it stat?"* ]]
	run -125 pfm stta
	[[ $output == *"is it stat?"* ]]
	run -125 pfm help nonsense
	[[ $output == *nonsense* ]]
}

@test "an option among others, and one that is there twice" {
	local words

	for words in "-jq" "-qj" "--json -jq" "-jq true"; do
		# shellcheck disable=SC2086 # words
		run -125 pfm stat $words
		[[ $output == "pfm stat: -q: "* ]]
	done
	run -125 pfm stat --json=3 true
	[[ $output == "pfm stat: --json: "* ]]
	run -125 pfm stat -e cycles -e branches true
	[[ $output == "pfm stat: -e is given twice"*"-e A,B" ]]
	run -125 pfm top -g default -g caches
	[[ $output == "pfm top: -g is given twice"* ]]
}

@test "a wrong option: one line, which names it and the help of the command" {
	local name args line

	while read -r name args; do
		# shellcheck disable=SC2086 # words
		run -125 pfm "$name" $args
		[ "${#lines[@]}" = 1 ]
		[[ $output == "pfm $name: ${args##* }: "*"\`pfm help $name\`" ]]
	done <<-'END'
		stat --nonsense
		stat -e
		top -s 1 -q
		record --nonsense
		record -F
		report --nonsense
		report --sort
		report recorded more
		list --nonsense
		list --type
		list cycles more
		encode --type
		decode --mount
		who --nonsense
		who more
		check -m
		check more
	END
}

@test "the version" {
	run -0 pfm --version
	[[ ${lines[0]} =~ ^pfm\ [0-9]+\.[0-9]+\.[0-9]+$ ]]
}

@test "output that is lost is a failure" {
	run -125 sh -c 'pfm help >/dev/full'
	[[ $output == *ENOSPC* ]]
}

@test "an output that cannot be replaced is written in place, if it is the caller's" {
	serve --backend=perf
	cd "$BATS_TEST_TMPDIR"
	mkdir mine
	echo older than the counts, and longer, too: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa >mine/own
	cp mine/own mine/others
	chmod 666 mine/*
	chown "$NOBODY" mine/own
	ln -s own mine/link
	chown -h 1 mine/link
	as_user() {
		setpriv --reuid="$NOBODY" --regid="$NOBODY" --clear-groups pfm stat -m "$MNT" -e page-faults:u "$@" true
	}
	run -0 as_user -x, -o mine/own
	[[ $(head -n 1 mine/own) == kind,* && $(<mine/own) != *aaa* ]]
	run -125 as_user -o mine/others
	[[ $output == *EPERM* ]]
	run -125 as_user -o mine/link
	grep -q aaa mine/others
	# shellcheck disable=SC2016
	run -0 unshare -m sh -c 'touch over && mount --bind over mine/own && pfm stat -m "$0" -x, -o mine/own true' "$MNT"
	[[ $(<over) == kind,* ]]
}

# completed WORD...: what bash offers for the last word
completed() {
	output=$(bash -c '. "$0"
		COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
		_pfm
		printf "%s\n" "${COMPREPLY[@]}"' "$BATS_TEST_DIRNAME/../../contrib/completion/pfm.bash" "$@")
}

@test "bash completes the commands and options that help knows" {
	local name option

	completed pfm st
	is stat
	completed pfm help wh
	is who
	for name in $(pfm help | awk '/^  [a-z]/ { print $1 }'); do
		completed pfm ""
		grep -qx -- "$name" <<<"$output"
		completed pfm "$name" -
		for option in $(pfm help "$name" | grep -oE '^  .{0,6}--[a-z-]+' | grep -oE -- '--[a-z-]+'); do
			grep -qE -- "^$option=?$" <<<"$output"
		done
	done
	completed pfm stat -
	grep -qx -- -e <<<"$output"
	grep -qx -- --mux <<<"$output"
	completed pfm stat --mo
	is --mount=
}

# What completion offers by the kind of an argument, in each shell: LINE | WORDS that are offered, or with "!" not
values() {
	cat <<-END
		pfm stat -e page-            | page-faults
		pfm stat -e page-faults,cpu- | page-faults,cpu-clock
		pfm stat -g def              | default
		pfm record -e page-          | page-faults
		pfm encode page-             | page-faults
		pfm stat -p $$               | $$
		pfm report --sort comma      | command
		pfm top --by con             | context
		pfm record --call-graph f    | fp
		pfm record --call-graph d    | dwarf
		pfm report -i shown-         | shown-file
		pfm stat -r 3 tru            | true
		pfm stat -- -e page-         | !page-faults
	END
}

# completes COMMAND: with LINE as its last argument, which sets output, it offers the values
completes() {
	local line words word

	serve --backend=perf
	export PERFMONFS=$MNT
	cd "$BATS_TEST_TMPDIR" || return
	: >shown-file
	values >"$BATS_TEST_TMPDIR/values"
	while IFS='|' read -r line words; do
		while [[ $line = *' ' ]]; do line=${line% }; done
		"$1" "$line"
		for word in $words; do
			if [[ $word = !* ]]; then
				fails grep -qx -e "${word#!}" -e "${word#!} *" <<<"$output"
			else
				grep -qx -e "${word##*,}" -e "$word" -e "$word *" <<<"$output" || {
					printf '%s\noffers:\n%s\nnot: %s\n' "$line" "$output" "$word"
					return 1
				}
			fi
		done
	done <"$BATS_TEST_TMPDIR/values"
}

in_bash() {
	# shellcheck disable=SC2086 # words
	completed $1
}

@test "bash completes events, groups, processes and files" {
	completes in_bash
	completed pfm stat --event = page-f
	is page-faults
	# A file's name is not executed.
	: >'shown $(>executed)'
	completed pfm stat -o "shown "
	is 'shown $(>executed)'
	[ ! -e executed ]
}

@test "files do not take the place of standard output that is closed" {
	serve --backend=perf
	pfm stat --mount="$MNT" -j -e page-faults -o "$BATS_TEST_TMPDIR/counts" -r 2 true >&-
	grep -q '"runs":2' "$BATS_TEST_TMPDIR/counts"
}

@test "a file that the counts replace stays as private as it was" {
	serve --backend=perf
	install -m 600 /dev/null "$BATS_TEST_TMPDIR/counts"
	pfm stat --mount="$MNT" -e page-faults -o "$BATS_TEST_TMPDIR/counts" true
	[ "$(stat -c "%a" "$BATS_TEST_TMPDIR/counts")" = 600 ]
	[ -s "$BATS_TEST_TMPDIR/counts" ]
}

@test "zsh completes events, groups, processes and files" {
	command -v zsh >/dev/null || skip "needs zsh"
	completes offered
}

in_fish() {
	output=$(XDG_CONFIG_HOME=$BATS_TEST_TMPDIR bounded fish -N -c 'source $argv[1]; complete -C $argv[2]' \
		"$BATS_TEST_DIRNAME/../../contrib/completion/pfm.fish" "$1" 3>&- | cut -f 1)
}

@test "fish completes commands, options, events, groups, processes and files" {
	command -v fish >/dev/null || skip "needs fish"
	local name option

	in_fish "pfm "
	is "$(pfm help | awk '/^  [a-z]/ { print $1 }' | sort)"
	for name in $(pfm help | awk '/^  [a-z]/ && $1 != "help" { print $1 }'); do
		in_fish "pfm $name --"
		for option in $(pfm help "$name" | grep -oE '^  .{0,6}--[a-z-]+' | grep -oE -- '--[a-z-]+'); do
			grep -qE -- "^$option=?$" <<<"$output"
		done
	done
	completes in_fish
	in_fish "pfm stat --event=page-f"
	is --event=page-faults
}

# offered LINE: what zsh offers at its end
offered() {
	output=$(bounded zsh -f "$BATS_TEST_DIRNAME/complete.zsh" "$BATS_TEST_DIRNAME/../../contrib/completion" "$1" 3>&- | sort -u)
}

@test "zsh completes the commands and options that help knows" {
	command -v zsh >/dev/null || skip "needs zsh"
	local name option

	offered "pfm "
	[ "$output" = "$(pfm help | awk '/^  [a-z]/ { print $1 }' | sort)" ]
	offered "pfm help w"
	is who
	for name in $(pfm help | awk '/^  [a-z]/ && $1 != "help" { print $1 }'); do
		offered "pfm $name -"
		for option in $(pfm help "$name" | grep -oE '^  .{0,6}--[a-z-]+' | grep -oE -- '--[a-z-]+'); do
			grep -qx -- "$option" <<<"$output"
		done
	done
	offered "pfm stat -"
	grep -qx -- -e <<<"$output"
	# The monitored command
	offered "pfm stat --regions tru"
	grep -qx true <<<"$output"
}

@test "CPUs, processes and threads that there are not: each command says so, and how to find others" {
	serve --backend=perf
	for command in stat "record -o $BATS_TEST_TMPDIR/recorded" "top -n 1"; do
		# shellcheck disable=SC2086
		run -125 pfm $command -m "$MNT" -C 99999999
		[[ $output == *": there is no CPU 99999999: see "* ]]
		# shellcheck disable=SC2086
		run -125 pfm $command -m "$MNT" -p 99999999
		[[ $output == *"there is no process 99999999: "*"ps -e"* ]]
		# shellcheck disable=SC2086
		run -125 pfm $command -m "$MNT" -t 99999999
		[[ $output == *"there is no thread 99999999: "*"ps -e"* ]]
		# shellcheck disable=SC2086
		run -125 pfm $command -m "$MNT" -p ls
		[[ $output == *": -p ls: give numbers, like -p 4711,4712" ]]
	done
	[ ! -e "$BATS_TEST_TMPDIR/recorded" ]
}

# The loader would bind them before each command starts, and fork() would copy what it has changed.
@test "libraries that most commands do not need are not loaded" {
	! readelf -d "$BUILD/tools/pfm/pfm" | grep -E 'NEEDED.*(libpfm|libdw|libelf|libcapstone)'
}
