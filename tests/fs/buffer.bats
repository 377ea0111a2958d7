# SPDX-License-Identifier: MIT
# Sampling formats and buffers through the mount: the memory that clients map, passed through and
# synced. They run on the model, whose samples are always the same.

load common

USER=0x4100c0 # 2000 times a microsecond

# both FUNCTION: with passthrough, if the kernel has it, and without
both() {
	serve --backend=sim
	"$1"
	stop_daemon
	serve --backend=sim -o nopassthrough
	[ "$(stat_of passthrough)" = 0 ]
	"$1"
}

# stat_of KEY: that line of stats
stat_of() {
	awk -v key="$1" '$1 == key { print $2 }' "$MNT/stats"
}

# sampling NAME FORMAT: a context that runs on CPU 1 and overflows each microsecond; there is a sample
# for each tick, of 1 ms
sampling() {
	new "$1"
	put ok "$C/format" "$2"
	put ok "$C/regs" "pmc0 $USER\npmd0 -2000 long=-2000 short=-2000 notify"
	ctl "load cpu=1"
	ctl start
}

# le WIDTH NUMBER...: the numbers as bytes of the buffer, in hex
le() {
	local width=$1 n i

	shift
	for n; do
		for ((i = 0; i < width; i++)); do
			printf %02x $((n >> 8 * i & 255))
		done
	done
}

# The header of the format default with 512 bytes and COUNT samples, which is full OVERFLOWS times.
header() { # COUNT OVERFLOWS
	le 8 "$1" $((128 + 40 * $1)) "$2" 512 "$SPACE"
}

# The largest sample has an entry and a value for each PMD.
space() {
	SPACE=$((40 + 8 * $(wc -l <"$MNT/pmu/pmds")))
	FULL=$(((512 - 128 - SPACE) / 40 + 1))
}

no_buffer() {
	new plain
	holds "$C/format" none
	output=$(stat -c %s "$C/buffer")
	is 0
	probe ENODEV open "$C/buffer" rdonly
	sentence "$C/last_error" format
	put ok "$C/format" default
	holds "$C/format" "default size=65536"
	output=$(stat -c %s "$C/buffer")
	is 65536
	put ok "$C/format" none
	holds "$C/format" none
	probe ENODEV open "$C/buffer" rdonly
	output=$(stat_of buffer_bytes)
	is 0
}

sizes_of() {
	new sized
	run -0 bounded python3 - "$C" <<-'END'
		import mmap, os, sys
		context = sys.argv[1]
		def format(text):
		    with open(context + "/format", "w") as f:
		        f.write(text)
		def use():
		    fd = os.open(context + "/buffer", os.O_RDONLY)
		    return fd, mmap.mmap(fd, 0, prot=mmap.PROT_READ)
		def show(*buffers):
		    print(*[(os.fstat(fd).st_size, len(m), int.from_bytes(m[24:32], "little")) for fd, m in buffers],
		          os.path.exists(context) and os.stat(context + "/buffer").st_size)
		format("default size=70000")
		first = use()
		format("default size=8000")
		second = use()
		show(first, second)
		format("none")
		show(first, second)
		os.rmdir(context)
		show(first, second)
		second[1].close()
		try:
		    mmap.mmap(first[0], 70001, prot=mmap.PROT_READ)
		except ValueError:
		    print("beyond the end")
	END
	is "(70000, 70000, 70000) (8000, 8000, 8000) 8000
(70000, 70000, 70000) (8000, 8000, 8000) 0
(70000, 70000, 70000) (8000, 8000, 8000) False
beyond the end"
}

@test "a map of the file's size is the whole buffer, also of one that has been replaced" {
	both sizes_of
}

@test "no format, no buffer" {
	both no_buffer
}

@test "formats are listed, and found by name and by UUID" {
	serve --backend=sim
	output=$(cut -d' ' -f2 "$MNT/formats")
	is "$(builtin_formats)"
	new a
	while read -r uuid name; do
		put ok "$C/format" "$uuid"
		output=$(cut -d' ' -f1 "$C/format")
		is "$name"
	done <"$MNT/formats"
	holds "$C/format" "$(bounded cat "$C/format")"
	bounded cat "$C/format" >"$BATS_TEST_TMPDIR/saved"
	bounded cp "$BATS_TEST_TMPDIR/saved" "$C/format"
}

wrong_formats() {
	local text errno

	new wrong
	put ok "$C/format" "default size=4096"
	while read -r errno text; do
		put "$errno" "$C/format" "$text"
		sentence "$C/last_error" ""
		holds "$C/format" "default size=4096"
		output=$(stat_of buffer_bytes)
		is 4096
	done <<-'LINES'
		EINVAL nosuch
		EINVAL default size=1
		EINVAL default no_hdr iip_hdr
		ENOMEM default size=18446744073709551615
		ENOMEM default size=16777217
	LINES
}

@test "a reader of another format sees that by the tag" {
	serve --backend=sim
	new a
	for format in hist stack correlate profile; do
		put ok "$C/format" "$format size=8192"
		run -1 bounded "$BUILD/tests/fs/smplread" "$C" 1 /dev/null
		[[ $output == *"not of the format default" ]]
	done
}

@test "wrong formats and arguments change nothing" {
	both wrong_formats
}

sizes() {
	local size

	new sizes
	for size in 340 511 4095 4096 4097 10000 65537; do
		put ok "$C/format" "default size=$size"
		output=$(stat -c %s "$C/buffer")
		is "$size"
		output=$(bounded wc -c <"$C/buffer")
		is "$size"
		output=$(stat_of buffer_bytes)
		is $(((size + 4095) / 4096 * 4096))
		probe "$(le 8 0 128 0 "$size")" pread "$C/buffer" 32 0
		probe "$(le 8 0 128 0 "$size")" map "$C/buffer" shared "$size" 0 32
		probe "$(le 8 0 128 0 "$size")" map "$C/buffer" private "$size" 0 32
		probe "" pread "$C/buffer" 100 "$size"
		# The rest of the last page is zero, and the file ends there.
		[ $((size % 4096)) = 0 ] || probe 00 map "$C/buffer" shared $((size + 1)) "$size" 1
		probe SIGBUS map "$C/buffer" shared $(((size + 4095) / 4096 * 4096 + 1)) 0 1
	done
}

@test "sizes that are whole pages and those that are not; SIGBUS past the end" {
	both sizes
}

nobody_writes() {
	local flags

	new ro
	put ok "$C/format" "default size=8192"
	for flags in rdwr wronly rdonly,trunc rdwr,trunc wronly,append; do
		probe EACCES open "$C/buffer" "$flags"
		probe EACCES reopen "$C/buffer" "$flags"
	done
	probe ok reopen "$C/buffer" rdonly
	probe EACCES truncate "$C/buffer" 0
	probe EACCES truncate "$C/buffer" 100000
	probe EPERM chmod "$C/buffer" 600
	probe EPERM unlink "$C/buffer"
	probe EACCES map "$C/buffer" shared,write 4096 0 1
	probe EPERM map "$C/buffer" shared,exec 4096 0 1
	probe EPERM map "$C/buffer" private,exec 4096 0 1
	probe EACCES map "$C/buffer" shared 4096 0 1 protect write -
	probe EACCES map "$C/buffer" shared 4096 0 1 protect exec -
	# Writes to a private mapping stay in the client.
	probe ok map "$C/buffer" private 4096 0 1 protect write -
	output=$(bounded fsprobe remap "$C/buffer" rdwr)
	[[ $output = EACCES || $output = EPERM ]]
	probe "$(le 8 0 128 0 8192)" pread "$C/buffer" 32 0
}

@test "never writable, truncatable or executable, by root either" {
	both nobody_writes
}

@test "not even by way of the daemon's descriptors" {
	local fd

	serve --backend=sim
	new ro
	put ok "$C/format" "default size=8192"
	for fd in /proc/"$DAEMON"/fd/*; do
		[[ $(readlink "$fd") = *memfd:perfmonfs* ]] || continue
		probe EPERM pwrite "$fd" 0 00
		probe EPERM truncate "$fd" 0
		return
	done
	false
}

others() {
	new mine
	put ok "$C/format" default
	as nobody probe EACCES open "$C/buffer" rdonly
	as nobody probe EACCES open "$C/format" wronly
	as nobody new theirs
	as nobody put ok "$C/format" "default size=4096"
	as nobody probe "$(le 8 0 128 0 4096)" map "$C/buffer" shared 4096 0 32
	probe "$(le 8 0 128 0 4096)" map "$C/buffer" shared 4096 0 32
}

@test "only its owner can open a buffer" {
	both others
}

@test "the kernel maps memory itself where it can" {
	serve --backend=sim
	[ "$(stat_of passthrough)" = 1 ] || skip "this kernel has no FUSE passthrough"
	new a
	put ok "$C/format" "default size=8192"
	exec 5<"$C/buffer"
	kill -STOP "$DAEMON"
	probe "$(le 8 0 128 0 8192)" pread - 32 0 <&5
	kill -CONT "$DAEMON"
}

# The buffer holds all samples by the time that the last step has been answered.
notified() {
	local step n=0

	space
	sampling a "default size=512"
	for step in "read $C/msg 64" "poll $C/msg in" "read $C/state 100" "write $C/ctl stop" \
		"write $C/ctl unload"; do
		n=$((n + 1))
		# shellcheck disable=SC2086
		probe "$(header "$FULL" "$n")" map "$C/buffer" shared 512 0 40 \
			write "$MNT/sim/advance" 20000000 $step
		case $step in
		*stop)
			put ok "$C/pmd/0" "-2000 long=-2000 short=-2000 notify"
			ctl start
			;;
		*unload) break ;;
		esac
		ctl restart || return 1
	done
}

@test "consistent when a notification is received, or the end of it" {
	both notified
}

signalled() {
	space
	sampling a "default size=512"
	exec 5<"$C/buffer"
	probe "$(header 0 0)" pread - 40 0 <&5
	probe POLL_IN sigwait 34 5000 "$C/ctl" "signal sig=34" "$MNT/sim/advance" 20000000
	probe "$(header "$FULL" 1)" pread - 40 0 <&5
	exec 5>&-
}

@test "consistent when a signal comes" {
	both signalled
}

now_and_then() {
	space
	sampling a "default size=512 compact"
	exec 5<"$C/buffer"
	advance 2000000
	until_ok seen "$(header 2 0)"
	exec 5>&-
}

seen() {
	output=$(bounded fsprobe pread - 40 0 <&5)
	is "$1"
}

@test "changes show while it runs, without a notification" {
	both now_and_then
}

# all_of FORMAT: the contents of the buffer after a measurement
all_of() {
	sampling a "$1"
	exec 5<"$C/buffer"
	advance 20000000
	ctl stop
	bounded md5sum <&5 | cut -d' ' -f1
	exec 5>&-
	rmdir "$C"
}

@test "both ways show the same bytes" {
	local format

	for format in "default size=100000" "nway size=9000 parts=3" "hist size=20000" \
		"correlate size=3400"; do
		serve --backend=sim
		one=$(all_of "$format")
		stop_daemon
		serve --backend=sim -o nopassthrough
		output=$(all_of "$format")
		is "$one"
		stop_daemon
	done
}

settled() {
	sampling a "default size=8192 compact"
	advance 3000000
	put EBUSY "$C/format" none
	put EBUSY "$C/format" "default size=4096"
	ctl stop
	ctl unload
	put EBUSY "$C/format" none
	holds "$C/format" "default size=8192 compact"
	ctl "load cpu=1"
	ctl start
	advance 1000000
	ctl stop
	probe "$(le 8 4 288 0 8192)" map "$C/buffer" shared 8192 0 32
	output=$(stat_of buffer_bytes)
	is 8192
}

@test "the first load fixes the format and its buffer" {
	both settled
}

freed() {
	new a
	put ok "$C/format" "default size=8192"
	exec 5<"$C/buffer"
	put ok "$C/format" "default size=4096"
	# The old buffer stays with its open file, and is another file.
	probe "$(le 8 0 128 0 8192)" pread - 32 0 <&5
	probe "$(le 8 0 128 0 4096)" pread "$C/buffer" 32 0
	output=$(stat_of buffer_bytes)
	is 12288
	exec 5>&-
	until_ok bytes 4096
	exec 5<"$C/buffer"
	rmdir "$C"
	probe "$(le 8 0 128 0 4096)" pread - 32 0 <&5
	output=$(stat_of buffer_bytes)
	is 4096
	exec 5>&-
	until_ok bytes 0
}

# RELEASE comes some time after close().
bytes() {
	output=$(stat_of buffer_bytes)
	is "$1"
}

@test "freed at the last close" {
	both freed
}

mapped() {
	new a
	put ok "$C/format" "default size=8192"
	probe "$(le 8 0 128 0 8192)" map "$C/buffer" shared 8192 0 32 rmdir "$C" - \
		read "$MNT/stats" 4096
	until_ok bytes 0
}

@test "a mapping outlives its context" {
	both mapped
}

hoarded() {
	new a
	put ok "$C/format" "default size=16384"
	exec 5<"$C/buffer"
	put ok "$MNT/config/smpl_buf_size_max" 20000
	fsprobe map - shared 16384 0 32 read "$BATS_TEST_TMPDIR/fifo" 1 <&5 3>&- 5<&- &
	PID=$!
	until_ok grep -q "/buffer$" "/proc/$PID/maps"
	exec 5>&-
	rmdir "$C"
	new b
	put ENOMEM "$C/format" "default size=16384"
	echo >"$BATS_TEST_TMPDIR/fifo"
	wait "$PID"
	until_ok put ok "$C/format" "default size=16384"
	put ok "$MNT/config/smpl_buf_size_max" 16777216
	rmdir "$C"
}

@test "memory that is unmapped late counts against the limit" {
	mkfifo "$BATS_TEST_TMPDIR/fifo"
	both hoarded
}

limits() {
	put ERANGE "$MNT/config/smpl_buf_size_max" 4095
	put ok "$MNT/config/smpl_buf_size_max" 400000
	new a
	put ok "$C/format" "default size=393216"
	new b
	put ENOMEM "$C/format" "default size=4097"
	sentence "$C/last_error" smpl_buf_size_max
	holds "$C/format" none
	# Replacing the buffer by another is fine.
	C=$MNT/ctx/a
	put ok "$C/format" "default size=393217"
	put ENOMEM "$C/format" "default size=401409"
	rmdir "$MNT/ctx/a" "$MNT/ctx/b"
	bytes 0
}

@test "buffers until the limit of all" {
	both limits
}

@test "RLIMIT_MEMLOCK of the writer limits all of an owner's buffers" {
	serve --backend=sim
	ulimit -S -l 16
	as nobody new a
	as nobody put ok "$C/format" "default size=12288"
	as nobody new b
	as nobody put ok "$C/format" "default size=4096"
	as nobody put ENOMEM "$C/format" "default size=4097"
	as nobody sentence "$C/last_error" MEMLOCK
	as nobody holds "$C/format" "default size=4096"
	new c
	put ok "$C/format" "default size=1048576"
	ulimit -S -l 2000
	C=$MNT/ctx/b
	as nobody put ok "$C/format" "default size=1048576"
}

@test "too many buffers for the daemon's descriptors" {
	local n

	ulimit -S -l 2000
	# A quarter of them is for buffers of all users but root.
	ulimit -n 128
	serve --backend=sim
	for ((n = 0; n < 32; n++)); do
		as nobody new "c$n"
		as nobody put ok "$C/format" "default size=340"
	done
	as nobody new last
	as nobody put ENOSPC "$C/format" "default size=340"
	as nobody sentence "$C/last_error" LimitNOFILE
	new roots
	put ok "$C/format" "default size=340"
}

@test "too many buffers of a user" {
	local n

	serve --backend=sim
	put ok "$MNT/config/user_contexts_max" 1000
	as nobody new last
	LAST=$C
	for ((n = 0; n < 256; n++)); do
		as nobody new "c$n"
	done
	setpriv --reuid="$NOBODY" --regid="$NOBODY" --clear-groups sh -c \
		'for c; do echo default size=340 >"$c/format" || exit 1; done' sh "$MNT"/ctx/c*
	as nobody put ENOSPC "$LAST/format" "default size=340"
	new root
	put ok "$C/format" "default size=340"
}

@test "the daemon ends while buffers are mapped" {
	local opt

	for opt in "" -onopassthrough; do
		serve --backend=sim $opt
		sampling a "default size=8192"
		exec 5<"$C/buffer"
		advance 3000000
		stop_daemon
		exec 5>&-
		until_ok not_mounted
	done
}

@test "the daemon is killed while buffers are mapped" {
	serve --backend=sim
	sampling a "default size=8192"
	exec 5<"$C/buffer"
	kill -KILL "$DAEMON"
	wait "$DAEMON" || true
	DAEMON=
	exec 5>&-
	until_ok not_mounted
}
