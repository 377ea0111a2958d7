# SPDX-License-Identifier: MIT
# Sampling formats of a directory, as the daemon loads them: good ones, refused ones, one that fails
# and one that takes the daemon with it.

load common

USER=0x4100c0
COUNT=bb9350c6-207a-482f-ac96-8de6f3e2aaa8
REGISTERS="0x186 0x187 0x38d 0x38f 0xc1 0xc2 0x309"

setup() {
	bench_setup
	# Not below /tmp, which others can write to.
	FORMATS=$(mktemp -d /run/perfmonfs-test.XXXXXX)
	chmod 755 "$FORMATS"
}

teardown() {
	rm -rf "$FORMATS"
	bench_teardown
}

# install_format FILE [NAME]: where the daemon looks, with the owner and mode that it wants
install_format() {
	install -m 644 "$BUILD/$1" "$FORMATS/${2:-${1##*/}}"
}

# context NAME FORMAT [CPU]: one that overflows each microsecond
context() {
	new "$1"
	put ok "$C/format" "$2"
	put ok "$C/regs" "pmc0 $USER\npmd0 -2000 long=-2000 short=-2000 notify"
	ctl "load cpu=${3:-1}"
	ctl start
}

# listed NAME...: the formats there are, after the built-in ones
listed() {
	output=$(cut -d' ' -f2 "$MNT/formats" | tail -n +$(($(builtin_formats | wc -l) + 1)) | paste -sd' ')
	is "$*"
}

# counts OFFSET: 64 bits of the buffer, decimal
counts() {
	output=$(bounded fsprobe pread "$C/buffer" 8 "$1")
	output=$((0x$(fold -w 2 <<<"$output" | tac | tr -d '\n')))
}

@test "a format of one's own is listed, found by name and UUID, and works" {
	install_format formats/count.so
	serve --backend=sim "--formats=$FORMATS"
	listed count
	new byuuid
	put ok "$C/format" "$COUNT every=3"
	holds "$C/format" "count every=3"
	context a "count every=10"
	holds "$C/format" "count every=10"
	advance 3000000
	ctl stop
	counts 0
	is 10
	# The buffer counts what the daemon does; PMD 0 comes first.
	overflows=$(sed -n 's/^pmd0 overflows=\([0-9]*\) .*/\1/p' "$C/set/0/overflows")
	[ "$overflows" -ge 2000 ]
	counts 16
	is "$overflows"
	output=$(bounded dd if="$C/events" bs=4k count=1 status=none | head -n 1)
	is "overflow cpu=1 set=0 pmds=0"
}

# change EXPECTED LINE [NOUN]: what writing it to the list of formats answers, with a sentence about NOUN
change() {
	put "$1" "$MNT/formats" "$2"
	[ "$1" = ok ] || sentence "$MNT/last_error" "$3"
}

@test "root registers a format, contexts use it, root removes it" {
	install_format formats/count.so
	serve --backend=sim --formats=/none
	listed ""
	change ok "register $FORMATS/count.so"
	listed count
	grep -qx "$COUNT count" "$MNT/formats"
	holds "$MNT/sys/formats/count/arg_size" 8
	context a "count every=10"
	advance 3000000
	ctl stop
	counts 0
	is 10
	change EBUSY "unregister count" count
	ctl unload
	change EBUSY "unregister $COUNT" count
	new b
	put ok "$C/format" "count every=3"
	probe ok rmdir "$MNT/ctx/a"
	change EBUSY "unregister count" count
	put ok "$C/format" none
	change ok "unregister ${COUNT^^}"
	listed ""
	probe ENOENT open "$MNT/sys/formats/count/arg_size" rdonly
	[ ! -e "$MNT/sys/formats/count" ]
	put EINVAL "$C/format" count
	change EINVAL "unregister count" count
	change ok "register $FORMATS/count.so"
	listed count
	put ok "$C/format" "count every=3"
	holds "$C/format" "count every=3"
}

@test "buffers outlive their format, its files do not" {
	install_format formats/count.so
	serve --backend=sim --formats=/none
	change ok "register $FORMATS/count.so"
	new a
	put ok "$C/format" "count every=10"
	exec 5<"$MNT/sys/formats/count/arg_size"
	probe 0a00000000000000 map "$C/buffer" shared 4096 0 8 \
		rmdir "$C" - write "$MNT/formats" "unregister count"
	listed ""
	probe ENODEV pread - 64 0 <&5
	# Another registration has other files, even of the same name.
	change ok "register $FORMATS/count.so"
	probe ENODEV pread - 64 0 <&5
	exec 5<&-
	holds "$MNT/sys/formats/count/arg_size" 8
}

@test "what cannot be registered, and what cannot be removed: each with a sentence" {
	install_format formats/count.so
	install_format formats/count.so copy.so
	serve --backend=sim "--formats=$FORMATS"
	listed count
	change EBUSY "register $FORMATS/copy.so" count
	change ENOENT "register $FORMATS/missing.so" missing.so
	change EINVAL register register
	change EPERM "unregister default" default
	chmod o+w "$FORMATS/copy.so"
	change EPERM "register $FORMATS/copy.so" copy.so
	listed count
	# Files that are read at start can be removed, too.
	change ok "unregister count"
	chmod o-w "$FORMATS/copy.so"
	change ok "register $FORMATS/copy.so"
	listed count
}

@test "only root changes the formats" {
	install_format formats/count.so
	serve --backend=sim --formats=/none
	as nobody probe EACCES open "$MNT/formats" wronly
	as nobody put EACCES "$MNT/formats" "register $FORMATS/count.so"
	exec 4>>"$MNT/formats"
	as nobody put EPERM - "register $FORMATS/count.so"
	as nobody sentence "$MNT/last_error" root
	listed ""
	put ok - "register $FORMATS/count.so"
	listed count
	as nobody put EPERM - "unregister count"
	exec 4>&-
	listed count
	as nobody holds "$MNT/formats" "$(cat "$MNT/formats")"
}

# fifo WHAT: waits until a slow format waits for it, and lets it go on
fifo() {
	# shellcheck disable=SC2016
	bounded sh -c ': >"$1"' sh "$SLOWFORMAT.$1"
}

# serve_slow: a format is being read
serve_slow() {
	export SLOWFORMAT=$FORMATS/fifo
	install_format tests/fs/slowformat.so
	install_format formats/count.so
	mkfifo "$SLOWFORMAT.begun" "$SLOWFORMAT.go"
	serve --backend=sim --formats=/none
	echo "register $FORMATS/slowformat.so" >"$BATS_TEST_TMPDIR/slow"
	register_slow
}

# WRITER registers it.
register_slow() {
	fsprobe write "$MNT/formats" <"$BATS_TEST_TMPDIR/slow" >"$BATS_TEST_TMPDIR/answer" 3>&- &
	WRITER=$!
	fifo begun
}

# answered TEXT: by WRITER
answered() {
	until_ok gone "$WRITER"
	wait "$WRITER"
	output=$(cat "$BATS_TEST_TMPDIR/answer")
	is "$1"
}

@test "while a file takes long to open, the daemon serves" {
	serve_slow
	listed ""
	context a "default size=65536"
	advance 1000000
	ctl stop
	fifo go
	answered ok
	listed slow
	new b
	put ok "$C/format" slow
}

@test "a registration that is interrupted does not take place" {
	serve_slow
	kill -KILL "$WRITER"
	until_ok gone "$WRITER"
	fifo go
	# The next file is opened when that one is closed.
	change ok "register $FORMATS/count.so"
	listed count
	register_slow
	fifo go
	answered ok
	listed count slow
}

@test "a file that is being opened does not keep the daemon" {
	serve_slow
	kill -TERM "$DAEMON"
	until_ok not_mounted
	answered ENODEV
	ended 0
}

@test "a directory that others could write to is refused: one line, and no daemon" {
	local rc=0

	chmod g+w "$FORMATS"
	output=$(bounded perfmonfs -f --backend=sim "--formats=$FORMATS" "$MNT" 2>&1 3>&-) || rc=$?
	[ "$rc" = 1 ]
	[ "$(wc -l <<<"$output")" = 1 ]
	[[ $output == *"$FORMATS"* ]]
	not_mounted
}

@test "rubbish among the formats does not stop the others" {
	echo rubbish >"$FORMATS/a.so"
	: >"$FORMATS/b.so"
	mkdir "$FORMATS/c.so"
	install_format formats/count.so d.so
	install_format formats/count.so e.so
	serve --backend=sim "--formats=$FORMATS"
	listed count
	grep -q a.so "$LOG"
	grep -q e.so "$LOG"
}

@test "a format that fails masks its own context and no other" {
	install_format tests/fs/badformat.so
	serve --backend=sim "--formats=$FORMATS"
	context good "default size=65536 compact" 0
	context bad "bad good=3"
	advance 10000000
	holds "$C/state" "masked cpu=1 set=0"
	holds "$MNT/ctx/good/state" "running cpu=0 set=0"
	output=$(bounded fsprobe pread "$MNT/ctx/good/buffer" 8 0)
	[ "$output" != 0000000000000000 ]
	output=$(bounded dd if="$C/events" bs=4k count=1 status=none)
	is "overflow cpu=1 set=0 pmds=0"
	ctl restart
	advance 10000000
	holds "$C/state" "masked cpu=1 set=0"
	ctl stop
	ctl unload
	rmdir "$C"
}

@test "a period alone is repeated, whether the format or the value is written first" {
	serve --backend=sim
	for order in "format regs" "regs format"; do
		new "${order// /_}"
		for file in $order; do
			[ "$file" = regs ] || put ok "$C/format" default
			[ "$file" = format ] || put ok "$C/regs" "pmc0 $USER\npmd0 -10000"
		done
		ctl "load cpu=1"
		ctl start
		[ "$(cat "$C/last_error")" = ok ]
		advance 1000000
		ctl stop
		counts 0
		is 200
		put ok "$C/pmd/0" -20000
		ctl start
		advance 1000000
		ctl stop
		counts 0
		is 300
		# An explicit 0 is plain wrapping, as in a context without a format, and restored as such.
		put ok "$C/pmd/0" "-10000 short=0"
		bounded cp "$C/regs" "$BATS_TEST_TMPDIR/saved"
		bounded cp "$BATS_TEST_TMPDIR/saved" "$C/regs"
		ctl start
		advance 1000000
		ctl stop
		counts 0
		is 301
		ctl unload
	done
	new plain
	put ok "$C/regs" "pmc0 $USER\npmd0 -10000"
	ctl "load cpu=1"
	ctl start
	advance 1000000
	ctl stop
	holds "$C/pmd/0" 1990000
}

@test "a full buffer, stop, start and restart: sampling goes on" {
	serve --backend=sim
	new a
	put ok "$C/format" "default size=1024"
	put ok "$C/regs" "pmc0 $USER\npmd0 -2000000 long=-2000000 short=-2000000 notify"
	ctl "load cpu=1"
	ctl start
	advance 100000000
	holds "$C/state" "masked cpu=1 set=0"
	for ((i = 0; i < 2; i++)); do
		ctl stop
		ctl start
		holds "$C/state" "running cpu=1 set=0"
		ctl restart
		counts 0
		is 0
		advance 100000000
		holds "$C/state" "masked cpu=1 set=0"
	done
	# Restarted while it is stopped, it goes on from start.
	ctl stop
	ctl restart
	counts 0
	is 0
	holds "$C/state" "loaded cpu=1 set=0"
	ctl start
	advance 100000000
	holds "$C/state" "masked cpu=1 set=0"
}

# registers: those of CPU 1
registers() {
	for r in $REGISTERS; do
		msr 1 "$r" || return
	done
}

# killed_while_sampling SIGNAL FORMAT COMMAND...: the command is the end of a daemon that samples on
# registers that had other values before; the next daemon restores them
killed_while_sampling() {
	local pid

	serve_msrsim
	probe 8 pwrite "$CPU/1/msr" 0x187 c100130000000000
	probe 8 pwrite "$CPU/1/msr" 0xc2 7700000000000000
	ORIGINAL=$(registers)
	serve --backend=msr "--dev=$CPU" "--formats=$FORMATS"
	pid=$DAEMON
	new a
	put ok "$C/format" "$1"
	put ok "$C/regs" "pmc0 $USER\npmc1 $USER\npmd0 -20000000 short=-20000000"
	ctl "load cpu=1"
	[ "$(registers)" != "$ORIGINAL" ]
	DAEMON=
	# It may be over before this is answered.
	bounded fsprobe write "$C/ctl" <<<start || :
	"${@:2}" "$pid"
	until_ok gone "$pid"
	wait "$pid" || :
	until_ok not_mounted
	[ "$(registers)" != "$ORIGINAL" ]
	serve --backend=msr "--dev=$CPU" "--formats=$FORMATS"
	[ "$(registers)" = "$ORIGINAL" ]
	grep -q restored "$LOG"
	context b "default size=4096"
	stop_daemon
	[ "$(registers)" = "$ORIGINAL" ]
}

@test "a format that crashes: the next daemon puts registers back" {
	install_format tests/fs/badformat.so
	killed_while_sampling "bad good=3 crash" true
}

# sampled_then_killed PID
sampled_then_killed() {
	until_ok some_overflows
	kill -SEGV "$1"
}

some_overflows() {
	[ "$(awk '$1 == "overflows" { print $2 }' "$MNT/stats")" -gt 3 ]
}

@test "a daemon that dies while it samples: the next one puts registers back" {
	killed_while_sampling "default size=65536" sampled_then_killed
}
