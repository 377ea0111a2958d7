# SPDX-License-Identifier: MIT
# Completion of pfm for bash: commands, options and the kinds of their arguments as `pfm help` has them, so
# that it knows those of the pfm that is installed.

# A line for each option of command $1: LONG or LETTER, and the kind of its argument, if it has one
_pfm_options() {
	pfm help "$1" 2>/dev/null | sed -nE '
		s/^  (-[A-Za-z]), (--[a-z-]+)\[?=?([^] ]*).*/\1 \3\n\2 \3/p
		s/^  (-[A-Za-z])  .*/\1/p
		s/^      (--[a-z-]+)\[?=?([^] ]*).*/\1 \2/p'
}

# The kind of argument that option $2 of command $1 takes as the next word; nothing: it takes none.
_pfm_kind() {
	_pfm_options "$1" | awk -v option="$2" '$1 == option { print $2; exit }'
}

# What an argument of kind $1 may be
_pfm_values() {
	case $1 in
	EVENT*) pfm list 2>/dev/null | awk '/^[^ ]/ && $1 != "group" { print $1 }' ;;
	GROUP) pfm list 2>/dev/null | awk '/^group / { print $2 }' ;;
	PID*) ps -eo pid= | tr -d ' ' ;;
	CGROUP) find /sys/fs/cgroup -mindepth 1 -type d -printf '%P\n' 2>/dev/null ;;
	TID*) ps -eLo tid= | tr -d ' ' ;;
	KEY*) printf '%s\n' command pid tid cpu object function ;;
	ORDER) printf '%s\n' callees callers ;;
	WHAT) printf '%s\n' thread process context ;;
	HOW) printf '%s\n' fp dwarf ;;
	FILE) compgen -f -- "$2" ;;
	DIR) compgen -d -- "$2" ;;
	esac
}

# _pfm_argument KIND WORD: of a list, the part behind the last comma is completed. compgen -W would execute $(...)
# in the name of a file.
_pfm_argument() {
	local before='' value
	[[ $1 != *,* || $2 != *,* ]] || before=${2%,*},
	[[ $1 != FILE && $1 != DIR ]] || compopt -o filenames 2>/dev/null
	while IFS= read -r value; do
		[[ $value != "${2#"$before"}"* ]] || COMPREPLY+=("$before$value")
	done < <(_pfm_values "$1" "$2")
}

# Whether a word before the last one begins the monitored command of stat or record
_pfm_in_command() {
	local i kind
	[[ $1 = stat || $1 = record ]] || return 1
	for ((i = 2; i < COMP_CWORD; i++)); do
		case ${COMP_WORDS[i]} in
		--) return 0 ;;
		= | --*=*) ;;
		-*)
			kind=$(_pfm_kind "$1" "${COMP_WORDS[i]}")
			[ -z "$kind" ] || i=$((i + 1))
			[ "${COMP_WORDS[i]-}" != = ] || i=$((i + 1))
			;;
		*) return 0 ;;
		esac
	done
	return 1
}

_pfm() {
	local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]} command=${COMP_WORDS[1]-} kind=

	COMPREPLY=()
	if [ "$COMP_CWORD" = 1 ] || { [ "$COMP_CWORD" = 2 ] && [ "$command" = help ]; }; then
		mapfile -t COMPREPLY < <(compgen -W "$(pfm help 2>/dev/null | awk '/^  [a-z]/ { print $1 }')" -- "$cur")
		return
	fi
	if _pfm_in_command "$command"; then
		compopt -o filenames 2>/dev/null
		mapfile -t COMPREPLY < <(compgen -c -- "$cur"; compgen -f -- "$cur")
		return
	fi
	# Where "=" ends a word, it is a word itself.
	if [ "$cur" = = ]; then
		cur=
	elif [ "$prev" = = ]; then
		prev=${COMP_WORDS[COMP_CWORD - 2]}
	fi
	[[ $prev != -* ]] || kind=$(_pfm_kind "$command" "$prev")
	if [ -n "$kind" ]; then
		_pfm_argument "$kind" "$cur"
	elif [[ $cur = -* ]]; then
		mapfile -t COMPREPLY < <(compgen -W "$(_pfm_options "$command" | awk '{ print $1 ($1 ~ /^--/ && $2 ? "=" : "") }')" -- "$cur")
		[[ ${COMPREPLY[0]-} != *= ]] || compopt -o nospace 2>/dev/null
	elif [[ $command = encode || $command = list ]]; then
		_pfm_argument EVENT "$cur"
	else
		compopt -o filenames 2>/dev/null
		mapfile -t COMPREPLY < <([[ $command != stat && $command != record ]] || compgen -c -- "$cur"; compgen -f -- "$cur")
	fi
}
complete -F _pfm pfm
