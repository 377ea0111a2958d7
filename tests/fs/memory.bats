# SPDX-License-Identifier: MIT
# What users can have the daemon keep: it is charged to them, refused beyond a limit, and given back.

load common

GID=54321
USER=0x4100c0

# uids FIRST COUNT SCRIPT: runs the shell script as that many users, one after another
uids() {
	local uid

	for ((uid = $1; uid < $1 + $2; uid++)); do
		setpriv --reuid="$uid" --regid="$uid" --clear-groups sh -c "$3"
	done
}

# charged UID: what stats says about it
charged() {
	output=$(awk -v key="memory_bytes_$1" '$1 == key { print $2 }' "$MNT/stats")
}

# many_sets: makes 2000 event sets as the test user
many_sets() {
	seq 1 2000 | setpriv --reuid="$NOBODY" --regid="$NOBODY" --clear-groups xargs mkdir 2>&1
}

@test "event sets: charged, refused with a sentence, given back" {
	serve --backend=sim
	put ok "$MNT/config/user_memory_max" 1000000
	as nobody new a
	cd "$C/set"
	fails many_sets
	as nobody probe ENOMEM mkdir 65535
	# Nothing that removes them, or says why, is refused.
	as nobody sentence "$C/last_error" config/user_memory_max
	as nobody probe ok rmdir 1
	as nobody probe ok mkdir 1
	# Others have what is theirs.
	new b
	probe ok mkdir "$C/set/1"
	C=$MNT/ctx/a
	as nobody probe ok rmdir "$C/set/1"
	as nobody probe ok mkdir "$C/set/65535"
	cd /
	as nobody probe ok rmdir "$C"
	charged "$NOBODY"
	is ""
	as nobody new a
	as nobody probe ok mkdir "$C/set/65535"
}

@test "the memory for the interrupts of a thread's counters" {
	serve --backend=perf
	as nobody new a
	as nobody put ok "$C/pmc/0" page-faults:u
	as nobody put ok "$C/pmd/0" "-1000 short=-1000 long=-1000 notify"
	charged "$NOBODY"
	before=$output
	setpriv --reuid="$NOBODY" --regid="$NOBODY" --clear-groups sleep 1000 3>&- &
	until_ok grep -qs sleep "/proc/$!/comm"
	as nobody put ok "$C/ctl" "load tid=$!"
	charged "$NOBODY"
	[ "$output" -ge $((before + 131072)) ]
	as nobody put ok "$C/ctl" unload
	charged "$NOBODY"
	is "$before"
	put ok "$MNT/config/user_memory_max" 65536
	as nobody put ENOMEM "$C/ctl" "load tid=$!"
	as nobody sentence "$C/last_error" config/user_memory_max
	holds "$C/state" unloaded
	charged "$NOBODY"
	is "$before"
	kill "$!"
}

@test "root is charged, and never refused" {
	serve --backend=sim
	put ok "$MNT/config/user_memory_max" 65536
	put ok "$MNT/config/memory_max" 1048576
	new a
	cd "$C/set"
	seq 1 2000 | xargs mkdir
	charged 0
	[ "$output" -gt 1048576 ]
	cd /
}

@test "open files and what they have shown" {
	serve --backend=sim
	put ok "$MNT/config/user_memory_max" 65536
	run -0 bounded setpriv --reuid="$NOBODY" --regid="$NOBODY" --clear-groups perl -e '
		use Errno;
		my ($mnt, @open) = @ARGV;
		my ($again, $text);
		for (1 .. 1000) {
			open(my $f, "<", "$mnt/stats") or last;
			sysread($f, $text, 4096) or last;
			push(@open, $f);
		}
		print $!{ENOMEM} ? "ENOMEM" : "$!", @open > 20 && @open < 200 ? " some" : " $#open";
		@open = ();
		select(undef, undef, undef, 0.02) # until the kernel has told of the closes
			until open($again, "<", "$mnt/stats") and sysread($again, $text, 4096);
		print " again";' "$MNT"
	is "ENOMEM some again"
	as nobody sentence "$MNT/last_error" config/user_memory_max
}

@test "a total is charged while it is open" {
	serve --backend=sim
	as nobody new a
	cd "$C/set"
	many_sets
	for n in 0 1 2000; do
		as nobody put ok "$n/pmd/0" 1
	done
	cd /
	charged "$NOBODY"
	local before=$output
	exec 4<"$C/total"
	head -c 1 <&4 >/dev/null
	charged 0
	[ "$output" -gt 0 ]
	exec 4<&-
	run -0 bounded cat "$C/total"
	[ "$output" = $'pmd0 1\nset=1 pmd0 1\nset=2000 pmd0 1' ]
	charged "$NOBODY"
	is "$before"
}

@test "stats: root sees what all have, others see their own" {
	serve --backend=sim
	as nobody new a
	charged "$NOBODY"
	[ "$output" -gt 4096 ]
	output=$(setpriv --reuid="$NOBODY" --regid="$NOBODY" --clear-groups grep memory "$MNT/stats")
	[[ $output =~ ^memory_bytes\ [0-9]+$ ]]
}

@test "many uids together: the rest is for root and sys_group, but everyone gets a context" {
	serve --backend=sim
	put ok "$MNT/config/memory_max" 1048576
	put ok "$MNT/config/sys_group" $GID
	# Each of them takes what it gets.
	uids 200000 10 "mkdir $MNT/ctx/u\$(id -u) && cd $MNT/ctx/u\$(id -u)/set && seq 1 200 | xargs mkdir 2>/dev/null || :"
	as nobody new mine
	as nobody probe ENOMEM mkdir "$MNT/ctx/another"
	as nobody sentence "$MNT/last_error" config/memory_max
	as nobody probe 70657266 read "$MNT/version" 4 rdonly
	as $GID new theirs
	as $GID put ok "$C/pmc/0" $USER
	as $GID put ok "$C/ctl" "load cpu=1"
	as $GID holds "$C/state" "loaded cpu=1 set=0"
	new roots
}

@test "sampling buffers: the rest is for root and sys_group" {
	serve --backend=sim
	put ok "$MNT/config/smpl_buf_size_max" 131072
	put ok "$MNT/config/sys_group" $GID
	as nobody new a
	as nobody put ok "$C/format" "default size=122880"
	as nobody new b
	as nobody put ENOMEM "$C/format" "default size=4096"
	as nobody sentence "$C/last_error" config/smpl_buf_size_max
	as $GID new c
	as $GID put ok "$C/format" "default size=4096"
	new d
	put ok "$C/format" "default size=4096"
}
