# SPDX-License-Identifier: MIT
# Completion of pfm for fish: commands, options and the kinds of their arguments as `pfm help` has them, so
# that it knows those of the pfm that is installed.

function __pfm_commands
	pfm help 2>/dev/null | string replace -rf '^  ([a-z]+) +(.*)' '$1\t$2'
end

# A line for each option of command $argv[1]: LONG or LETTER, a tab, and the kind of its argument
function __pfm_options
	for line in (pfm help $argv[1] 2>/dev/null)
		string replace -rf '^  (-[A-Za-z])(, --[a-z-]+)?\[?=?([^\] ]*).*' '$1\t$3' -- $line
		string replace -rf '^  (?:-[A-Za-z], |    )(--[a-z-]+)\[?=?([^\] ]*).*' '$1\t$2' -- $line
	end
end

# The kind of argument that option $argv[2] of command $argv[1] takes
function __pfm_kind
	__pfm_options $argv[1] | awk -F "\t" -v option=$argv[2] '$1 == option { print $2; exit }'
end

# What an argument of kind $argv[1] may be
function __pfm_values
	switch $argv[1]
		case 'EVENT*'
			pfm list 2>/dev/null | string match -rv '^ |^group ' | string replace -r ' .*' ''
		case GROUP
			pfm list 2>/dev/null | string replace -rf '^group (.*)' '$1'
		case 'PID*'
			__fish_complete_pids
		case CGROUP
			find /sys/fs/cgroup -mindepth 1 -type d -printf '%P\n' 2>/dev/null
		case 'TID*'
			ps -eLo tid= | string trim
		case 'KEY*'
			printf '%s\n' command pid tid cpu object function
		case ORDER
			printf '%s\n' callees callers
		case WHAT
			printf '%s\n' thread process context
		case HOW
			printf "%s\n" fp dwarf
		case FILE
			__fish_complete_path $argv[2]
		case DIR
			__fish_complete_directories $argv[2]
	end
end

# __pfm_argument KIND WORD BEFORE: of a list, the part behind the last comma is completed.
function __pfm_argument
	set -l before $argv[3]
	if string match -q '*,*' -- $argv[1]; and string match -q '*,*' -- $argv[2]
		set before $before(string replace -r '[^,]*$' '' -- $argv[2])
	end
	for value in (__pfm_values $argv[1] $argv[2])
		echo $before$value
	end
end

# Where the monitored command begins in the words of stat and record, or nothing
function __pfm_command_at
	set -l words $argv
	contains -- "$words[2]" stat record; or return
	set -l i 3
	while test $i -le (count $words)
		switch $words[$i]
			case '--'
				echo (math $i + 1)
				return
			case '--*=*'
			case '-*'
				test -z (__pfm_kind $words[2] $words[$i])""; or set i (math $i + 1)
			case '*'
				echo $i
				return
		end
		set i (math $i + 1)
	end
end

function __pfm_complete
	set -l words (commandline -opc)
	set -l word (commandline -ct)
	set -l command $words[2]
	if test (count $words) = 1; or test "$command" = help
		__pfm_commands
		return
	end
	set -l at (__pfm_command_at $words)
	if test -n "$at"
		complete -C (string join ' ' -- (string escape -- $words[$at..-1]) $word)
		return
	end
	set -l kind (string match -q -- '-*' $words[-1]; and __pfm_kind $command $words[-1])
	if test -n "$kind"
		__pfm_argument $kind $word ''
	else if string match -q -- '--*=*' $word
		set -l parts (string split -m 1 = -- $word)
		__pfm_argument (__pfm_kind $command $parts[1])"" $parts[2] $parts[1]=
	else if string match -q -- '-*' $word
		__pfm_options $command | string replace -r '^(--[^\t]*)\t(.+)' '$1=\t$2'
	else if contains -- $command encode list
		__pfm_values EVENT
	else if contains -- $command stat record
		complete -C $word
	else
		__fish_complete_path $word
	end
end

complete -c pfm -f -a '(__pfm_complete)'
