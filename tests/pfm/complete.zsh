#!/bin/zsh -f
# SPDX-License-Identifier: MIT
# complete.zsh FOLDER LINE: what zsh offers at the end of LINE, with the completion of pfm in FOLDER; a
# word a line. Completion needs a terminal, which zpty gives.
zmodload zsh/zpty
zpty shell zsh -f -i
zpty -w shell "PS1= PS2= TERM=dumb; fpath=($1 \$fpath); autoload -Uz compinit; compinit -u -D
compadd() {
	[[ \${@[1,(i)(-|--)]} != *-(O|A|D)\\ * ]] || { builtin compadd \"\$@\"; return }
	local -a found
	builtin compadd -A found \"\$@\"
	[[ -z \$found ]] || print -l OFFERED:\$^found
	builtin compadd \"\$@\"
}
bindkey '^I' complete-word
bindkey '^X' kill-whole-line
print REA''DY"
zpty -r shell output '*READY*'
# Not ^U: as long as zsh is about to take the terminal from READY on, that is the terminal's own, by which
# the line would be gone before its TAB.
zpty -w -n shell "$2"$'\t\C-x'"print EN''D"$'\n'
zpty -r shell output '*END*'
print -r -- "$output" | tr -d '\r' | sed -n 's/.*OFFERED://p'
