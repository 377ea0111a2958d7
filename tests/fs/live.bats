# SPDX-License-Identifier: MIT
# Live counts through the mount: text for read(2), a page for mmap(2).

load common
load track

USER=0x4100c0

# stat_of KEY: the value in stats
stat_of() {
	awk -v key="$1" '$1 == key { print $2 }' "$MNT/stats"
}

needs_passthrough() {
	new probe
	bounded cat "$C/set/0/live" >/dev/null
	probe ok rmdir "$C"
	[ "$(stat_of passthrough)" = 1 ] || skip "this kernel passes no files through"
}

# field OFFSET SIZE [STEP...]: a number of the page of $C, set ${SET:-0}
field() {
	local off=$1 size=$2 hex n=0 i

	shift 2
	hex=$(bounded "${WHO[@]}" fsprobe map "$C/set/${SET:-0}/live" shared 4096 "$off" "$size" "$@")
	[[ $hex =~ ^[0-9a-f]+$ ]] || {
		output=$hex
		return
	}
	for ((i = size - 1; i >= 0; i--)); do
		n=$((n << 8 | 16#${hex:2 * i:2}))
	done
	output=$n
}
value() { field $((32 + 24 * $1)) 8 "${@:2}"; }
flags() { field $((32 + 24 * $1 + 23)) 1; }

# line PMD: its line in the text, in set ${SET:-0}
line() {
	output=$(bounded "${WHO[@]}" awk -v pmd="pmd$1" '$1 == pmd' "$C/set/${SET:-0}/live")
}
head_of() {
	output=$(bounded "${WHO[@]}" sed -n '1s/seq [0-9]* //p' "$C/set/${SET:-0}/live")
}

# How many PMDs are not virtual.
actual() {
	grep -vc virtual "$MNT/pmu/pmds"
}

text() {
	new text
	head_of
	is "active 0 cpu 0"
	output=$(bounded cat "$C/set/0/live" | grep -c ^pmd)
	is "$(actual)"
	put ok "$C/regs" "pmc0 $USER\npmd0 7\npmc1 $USER\npmd1 -5 no64"
	line 0
	is "pmd0 7"
	ctl "load cpu=1"
	head_of
	is "active 0 cpu 1"
	line 0
	is "pmd0 7 counts"
	ctl start
	head_of
	is "active 1 cpu 1"
	advance 1000000
	line 0
	is "pmd0 $(cat "$C/pmd/0") counts"
	line 1
	[[ $output == *" counts no64" ]]
	ctl stop
	head_of
	is "active 0 cpu 1"
	ctl unload
	line 0
	is "pmd0 $(cat "$C/pmd/0")"
	output=$(stat -c %s:%a "$C/set/0/live")
	is "$(getconf PAGESIZE):400"
}

@test "text: in each state, with and without passthrough" {
	serve --backend=sim
	text
	stop_daemon
	serve --backend=sim -o nopassthrough
	text
	probe ENODEV map "$C/set/0/live" shared 4096 0 4
	output=$(stat_of buffer_bytes)
	is 0
}

@test "without RDPMC, the first open says that a mapping is only as new as the last poll" {
	serve_msrsim
	serve --backend=msr --dev="$CPU"
	grep -q "passthrough 1" "$MNT/stats" || skip "the kernel passes no files through"
	[ "$(cat /sys/bus/event_source/devices/cpu/rdpmc 2>/dev/null)" != 2 ] || skip "RDPMC is permitted here"
	new a
	probe ok open "$C/set/0/live" rdonly
	sentence "$C/last_error" poll
	[[ $output == note:* ]]
	put ok "$C/flags" none
	probe ok open "$C/set/0/live" rdonly
	holds "$C/last_error" ok
}

@test "a lost count is a dash" {
	serve --backend=sim
	new lost
	put ok "$C/regs" "pmc0 $USER\npmd0 7"
	ctl "load cpu=1"
	ctl start
	put ok "$MNT/sim/poke" "1 0x186 0x4100c5"
	line 0
	is "pmd0 - counts lost"
	[ "$(stat_of passthrough)" = 1 ] || return 0
	flags 0
	is 5
}

@test "the page shows what was read, and what the text shows" {
	serve --backend=sim
	needs_passthrough
	new page
	put ok "$C/regs" "pmc0 $USER\npmd0 1000"
	value 0
	is 1000
	field 4 4
	is 1
	field 16 4
	is "$(actual)"
	ctl "load cpu=2"
	ctl start
	field 8 4
	is 1
	field 12 4
	is 2
	flags 0
	is 1
	advance 1000000
	probed=$(cat "$C/pmd/0")
	[ "$probed" -gt 1000 ]
	value 0
	is "$probed"
	# The mapping shows the daemon's next read of the counters at once.
	advance 1000000
	value 0 read "$C/set/0/live" 4096
	[ "$output" -gt "$probed" ]
	line 0
	after=$output
	value 0
	is "$(cut -d' ' -f2 <<<"$after")"
	field 0 4
	[ $((output % 2)) = 0 ]
	ctl stop
	field 8 4
	is 0
}

monotonic() {
	python3 -c 'import time; print(time.clock_gettime_ns(time.CLOCK_MONOTONIC))'
}

# newer_than TIME: the page has been updated since
newer_than() {
	field 24 8
	[ "$output" -gt "$1" ]
}

# more_than COUNT: the page has
more_than() {
	value 0
	[ "$output" -gt "$1" ]
}

# refreshed: the page has a time of after now, and soon more counts, as others may have the CPU now,
# without any request
refreshed() {
	local now was

	value 0
	was=$output
	now=$(monotonic)
	until_ok newer_than "$now"
	field 24 8
	[ "$output" -le "$(monotonic)" ]
	until_ok more_than "$was"
}

# clock_on TARGET: $C counts its nanoseconds, its page is mapped, and ctxsw threads have no part in it
clock_on() {
	put ok "$C/pmc/0" "$(event task-clock)"
	bounded cat "$C/set/0/live" >/dev/null
	ctl "load $1"
	ctl start
	[ "$(stat_of ctxsw_threads)" = 0 ]
}

@test "perf: pages of contexts on CPUs and threads are updated each tick, and tell when" {
	serve --backend=perf
	needs_passthrough
	begin a spinner "$ONE" burn
	new thread
	clock_on "tid=$TID"
	refreshed
	new cpu
	clock_on "cpu=$ONE"
	refreshed
	C=$MNT/ctx/thread
	refreshed
	ctl stop
	field 8 4
	is 0
	value 0
	holds "$C/pmd/0" "$output"
}

@test "perf: the page of a thread that sleeps stays new, and that of one that samples" {
	serve --backend=perf
	needs_passthrough
	begin a subject faults 20000
	new sleeps
	put ok "$C/pmc/0" "$(event page-faults)"
	bounded cat "$C/set/0/live" >/dev/null
	ctl "load tid=$TID"
	ctl start
	until_ok newer_than "$(monotonic)"
	until_ok newer_than "$(monotonic)"
	ctl unload
	new samples
	put ok "$C/format" default
	put ok "$C/pmd/0" "-1000000 long=-1000000 short=-1000000"
	begin b spinner "$ONE" burn
	clock_on "tid=$TID"
	refreshed
}

@test "sets: the page of the active one has active 1" {
	serve --backend=sim
	needs_passthrough
	new sets
	for s in 0 1 2; do
		[ $s = 0 ] || probe ok mkdir "$C/set/$s"
		put ok "$C/set/$s/regs" "pmc0 $USER\npmd0 $s"
		put ok "$C/set/$s/timeout_ns" 1000000
		put ok "$C/set/$s/flags" time_switch
		SET=$s value 0
		is $s
	done
	ctl "load cpu=1"
	ctl start
	for s in 1 2 0 1; do
		advance 1000000
		for t in 0 1 2; do
			SET=$t field 8 4
			is $((t == s))
			SET=$t value 0
			is "$(cat "$C/set/$t/pmd/0")"
		done
	done
}

@test "a map of the file's size is the page" {
	serve --backend=sim
	needs_passthrough
	new sized
	run -0 bounded python3 - "$C/set/0/live" <<-'END'
		import mmap, os, sys
		fd = os.open(sys.argv[1], os.O_RDONLY)
		page = mmap.mmap(fd, 0, prot=mmap.PROT_READ)
		print(os.fstat(fd).st_size, len(page), int.from_bytes(page[4:8], "little"))
	END
	is "4096 4096 1"
}

@test "read-only, for root too; 0400" {
	serve --backend=sim
	new mode
	probe EACCES open "$C/set/0/live" rdwr
	probe EACCES open "$C/set/0/live" wronly
	probe EACCES open "$C/set/0/live" rdonly,trunc
	[ "$(stat_of passthrough)" = 1 ] || return 0
	probe EACCES map "$C/set/0/live" shared,write 4096 0 4
	probe EACCES map "$C/set/0/live" shared 4096 0 4 protect write -
	probe EACCES reopen "$C/set/0/live" rdwr
	probe SIGBUS map "$C/set/0/live" shared 8192 0 4
	WHO=(setpriv --reuid=$NOBODY --regid=$NOBODY --clear-groups)
	probe EACCES open "$C/set/0/live" rdonly
}

@test "the file ends with its set and its context; a mapping stays" {
	serve --backend=sim
	new gone
	probe ok mkdir "$C/set/5"
	exec 4<"$C/set/5/live"
	probe ok rmdir "$C/set/5"
	probe ENOENT open "$C/set/5/live" rdonly
	probe ENODEV pread - 100 0 <&4
	exec 4<&-
	probe ok mkdir "$C/set/5"
	put ok "$C/set/5/pmd/0" 33
	bounded grep -q '^pmd0 33$' "$C/set/5/live"
	[ "$(stat_of passthrough)" = 1 ] || return 0
	SET=5 value 0
	is 33
	SET=5 value 0 rmdir "$C/set/5" -
	is 33
	value 0
	put ok "$C/regs" "pmc0 $USER"
	ctl "load cpu=1"
	ctl start
	field 8 4 rmdir "$C" -
	is 0
	until_ok buffers_freed
}

buffers_freed() {
	new again
	put ok "$C/format" default
	probe ok rmdir "$C"
	[ "$(stat_of buffer_bytes)" = 0 ]
}

@test "pages are charged: to the total, and to their user" {
	serve --backend=sim
	needs_passthrough
	WHO=(setpriv --reuid=$NOBODY --regid=$NOBODY --clear-groups prlimit --memlock=8192)
	new mine
	for s in 1 2; do probe ok mkdir "$C/set/$s"; done
	probe ok open "$C/set/0/live" rdonly
	probe ok open "$C/set/1/live" rdonly
	probe ok open "$C/set/0/live" rdonly
	probe ENOMEM open "$C/set/2/live" rdonly
	sentence "$C/last_error" RLIMIT_MEMLOCK
	probe ok rmdir "$C/set/1"
	probe ok open "$C/set/2/live" rdonly
	output=$(stat_of buffer_bytes)
	is 8192
	WHO=()
	put ok "$MNT/config/smpl_buf_size_max" 8192
	new root
	probe ENOMEM open "$C/set/0/live" rdonly
	sentence "$C/last_error" smpl_buf_size_max
}

@test "opened and closed by many at once while it is loaded, run and removed" {
	serve --backend=sim
	new busy
	local readers=()

	for _ in 1 2 3; do
		(for _ in $(seq 100); do cat "$C/set/0/live" || true; done >/dev/null 2>&1) 3>&- &
		readers+=($!)
	done
	for _ in $(seq 10); do
		for c in "load cpu=1" start stop unload; do ctl "$c"; done
	done
	probe ok rmdir "$C"
	wait "${readers[@]}"
}
