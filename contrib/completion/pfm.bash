# SPDX-License-Identifier: MIT
# Completion of pfm for bash: commands and options as `pfm help` has them, so that it knows those of the
# pfm that is installed.

_pfm_options() {
	pfm help "$1" 2>/dev/null | sed -n 's/^  \(\(-[A-Za-z]\), \)\?\( *\(--[a-z-]*=\?\)\)\?.*/\2 \4/p'
}

_pfm() {
	local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]} command=${COMP_WORDS[1]-} i

	COMPREPLY=()
	if [ "$COMP_CWORD" = 1 ] || { [ "$COMP_CWORD" = 2 ] && [ "$command" = help ]; }; then
		mapfile -t COMPREPLY < <(compgen -W "$(pfm help 2>/dev/null | awk '/^  [a-z]/ { print $1 }')" -- "$cur")
		return
	fi
	# Behind the monitored command, its own words.
	for ((i = 2; i < COMP_CWORD; i++)); do
		if [ "${COMP_WORDS[i]}" = -- ]; then
			mapfile -t COMPREPLY < <(compgen -c -- "$cur"; compgen -f -- "$cur")
			return
		fi
	done
	case $prev,$cur in
	-p,* | -t,*)
		mapfile -t COMPREPLY < <(compgen -W "$(ps -eo pid=)" -- "$cur")
		;;
	*,-*)
		mapfile -t COMPREPLY < <(compgen -W "$(_pfm_options "$command")" -- "$cur")
		[[ ${COMPREPLY[0]-} != *= ]] || compopt -o nospace 2>/dev/null
		;;
	*)
		mapfile -t COMPREPLY < <(compgen -c -- "$cur"; compgen -f -- "$cur")
		;;
	esac
}
complete -F _pfm pfm
