# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154
# Threads that count themselves, and read their counts by RDPMC: functions for guest.sh, whose helpers
# and thread.sh's they use. Kernels before Linux 6.9 map no live pages: all readings are the daemon's.

# self_read WHAT ROUNDS: of what selfread says, each word is a variable. The host may stop a CPU of the guest
# for so long that the count is lost, which is told: fewer rounds take less time.
self_read() {
	for rounds in $2 $(($2 / 2)) $(($2 / 4)) $(($2 / 8)) $(($2 / 8)); do
		$while_it_reads
		# shellcheck disable=SC2086
		taskset -c $self_cpus "$here/selfread" $mnt "$rounds" $self_loop $self_move >/tmp/said 2>&1
		$after_it_reads
		echo "# $scenario: $1: $rounds rounds: $(cat /tmp/said)"
		grep -q 'lost 1' /tmp/said || break
	done
	self_is "$1"
}
said_of() { sed -n "s/.*$1 \([0-9]*\).*/\1/p" /tmp/said; }

# Of the correction for each switch, thread.sh: left_pair. A loop has some switches, at most one a tick.
self_is() { # WHAT
	is "$1: it has a count" "$(said_of lost)" 0
	is "$1: no reading is lower than one before" "$(said_of backwards)" 0
	is "$1: the daemon's readings are between those by the page" "$(said_of outside)" 0
	between "$1: instructions that a loop lacks" "$(said_of short)" 0 $((100 * left_pair))
	loop=$(($(said_of usual) - $(said_of empty)))
	# In most loops, nothing comes between.
	is "$1: the loop" $loop $((2 * self_loop + 1))
	[ "$(stat passthrough)" = 1 ] || return 0
	between "$1: loops between two readings by RDPMC" "$(said_of rdpmc)" $((9 * rounds / 10)) "$rounds"
}

beside_another() { taskset -c 1 "$here/spinner" 1 burn >/dev/null & rival=$!; }
ends_other() { kill $rival; wait $rival 2>/dev/null; }

self() {
	start_daemon
	before=$(both_cpus)
	self_cpus=1 self_loop=1000 self_move='' while_it_reads=: after_it_reads=:
	many=500
	[ "$(stat passthrough)" = 0 ] || many=2000
	self_read "alone" $((10 * many))
	while_it_reads=beside_another after_it_reads=ends_other
	self_loop=100000
	self_read "beside another" $many
	between "it went off its CPU" "$(said_of switches)" 10 1000000000
	while_it_reads=: after_it_reads=:
	self_cpus=0,1 self_move=move
	self_read "moved" $many
	between "it was moved" "$(said_of moves)" 50 1000000000
	is "registers are as before" "$(both_cpus | sed 's/38f=[0-9a-f]* //g; s/c0000301=[0-9a-f]* //g')" \
		"$(echo "$before" | sed 's/38f=[0-9a-f]* //g; s/c0000301=[0-9a-f]* //g')"
	stop_daemon
}
