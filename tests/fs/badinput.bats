# SPDX-License-Identifier: MIT
# Invalid input for every writable file: it fails with the right errno and a message, and changes
# nothing.

load common

setup() {
	bench_setup
	serve --backend=sim
	new a
	take_snapshot
}

# Everything that a write could change.
snapshot() {
	bounded cat "$C"/{regs,state,flags,ctl} "$C"/set/0/{flags,timeout_ns,next} "$MNT"/config/* \
		"$MNT"/sim/*
}

# Takes the snapshot that unchanged() compares with.
take_snapshot() {
	SNAPSHOT=$(snapshot)
}

unchanged() {
	local now

	now=$(snapshot)
	[ "$now" = "$SNAPSHOT" ] || diff <(echo "$SNAPSHOT") <(echo "$now")
}

# bad ERRNO FILE TEXT: fails, with a message in the right last_error, and without effect
bad() {
	local errors=$MNT/last_error

	[[ $2 != ctx/* ]] || errors=$C/last_error
	put "$1" "$MNT/$2" "$3"
	sentence "$errors" ""
	unchanged
}

REGISTERS="ctx/a/pmc/0 ctx/a/pmd/0"
SET=ctx/a/set/0
WORDS="ctx/a/ctl ctx/a/flags config/sys_group config/thread_group config/allow_kernel $SET/flags"
CONFIG="config/arg_size_max config/tick_us config/overflow_rate_max config/ctxsw_budget"
NUMBERS="$REGISTERS $CONFIG sim/advance $SET/timeout_ns $SET/next"
LISTS="sim/fault sim/offline sim/poke"
ONE_LINE="$WORDS $NUMBERS $LISTS"

@test "each file read byte by byte gives what one read gives" {
	put ok "$C/format" "default size=4096"
	put ok "$C/pmc/0" 0x4100c0
	put ok "$C/pmd/0" "-1000 notify"
	ctl "load cpu=1"
	ctl start
	advance 1000000 # there is a message
	run -0 bounded python3 - "$MNT" <<-'END'
		import errno, os, sys
		def outcome(call, *args):
		    try:
		        return call(*args)
		    except OSError as e:
		        return errno.errorcode[e.errno]
		def read(fd, size):
		    found = piece = outcome(os.read, fd, size)
		    while piece and not isinstance(piece, str):
		        piece = outcome(os.read, fd, size) # EAGAIN after the lines of events
		        found += piece if isinstance(piece, bytes) else b""
		    return found
		count = 0
		for path, _, names in os.walk(sys.argv[1]):
		    for name in names:
		        file = os.path.join(path, name)
		        if os.path.islink(file) or not os.stat(file).st_mode & 0o444:
		            continue
		        fd = os.open(file, os.O_RDONLY | os.O_NONBLOCK)
		        found = read(fd, 1)
		        # The rest of the text that the first byte has begun, or for memory and errors the same again.
		        if isinstance(found, str):
		            expected = "EINVAL" if name == "msg" else outcome(os.pread, fd, 1 << 22, 0)
		        elif name == "clone":
		            expected = b"1 ctx/1\n"
		        elif name == "events" and file.startswith(sys.argv[1] + "/ctx/"):
		            expected = b"overflow cpu=1 set=0 pmds=0\n"
		        else:
		            expected = found[:1] + os.pread(fd, 1 << 22, 1)
		        if found != expected:
		            print(file, found[:80], expected[:80])
		        os.close(fd)
		        count += 1
		print(count > 100)
	END
	is True
}

@test "a write of one byte is a whole command: a digit may be a value, all other bytes fail" {
	run -0 bounded python3 - "$MNT" <<-'END'
		import errno, os, sys
		def write(fd, text):
		    try:
		        return os.write(fd, text) == len(text) and "ok"
		    except OSError as e:
		        return errno.errorcode[e.errno]
		def text_of(fd):
		    try:
		        return os.pread(fd, 1 << 20, 0)
		    except OSError as e:
		        return errno.errorcode[e.errno]
		count, lists = 0, ("grants", "fault", "offline", "metrics") # they were empty before, too
		for path, _, names in os.walk(sys.argv[1]):
		    for name in sorted(names):
		        file = os.path.join(path, name)
		        if os.path.islink(file) or os.stat(file).st_mode & 0o222 == 0:
		            continue
		        fd = os.open(file, os.O_RDWR if os.stat(file).st_mode & 0o444 else os.O_WRONLY)
		        before = text_of(fd)
		        for byte in b"x\xc3-#=,\n \0":
		            got = write(fd, bytes([byte]))
		            if got != "EINVAL" and not (byte in b"\n \0" and got == "ok" and name in lists):
		                print(file, bytes([byte]), got)
		            if name not in ("ctl", "clone") and text_of(fd) != before: # those give sentences
		                print(file, bytes([byte]), text_of(fd)[:80], before[:80])
		        got = write(fd, b"7")
		        if got not in ("ok", "EINVAL", "ERANGE", "ENOENT"):
		            print(file, got)
		        if got == "ok" and not isinstance(before, str):
		            write(fd, before)
		        os.close(fd)
		        count += 1
		print(count > 30)
	END
	is True
}

@test "a write of no bytes does nothing" {
	for f in $ONE_LINE ctx/a/regs; do
		put ok "$MNT/$f" ""
	done
	unchanged
}

@test "blanks and empty lines" {
	for f in $WORDS $NUMBERS sim/poke ctx/a/regs; do
		for text in '\n' ' ' ' \t \n' '\0'; do
			bad EINVAL "$f" "$text"
		done
	done
}

@test "garbage" {
	for f in $ONE_LINE ctx/a/regs; do
		for text in garbage '%s%n%x' '\xff\xfe' '-'; do
			bad EINVAL "$f" "$text"
		done
	done
}

@test "control characters, NUL inside, two lines" {
	for f in $ONE_LINE; do
		for text in '1\0002' '1\n2\n' '\n1' '1\r\n' '1\0177'; do
			bad EINVAL "$f" "$text"
		done
	done
	for text in 'pmd0 1\0pmd1 1' 'pmd0 1\r\npmd1 1\r\n' 'pmd0 \0333'; do
		bad EINVAL ctx/a/regs "$text"
	done
}

@test "too long: by a byte, by much, and by so much that the kernel divides it" {
	for f in $ONE_LINE ctx/a/regs; do
		bad E2BIG "$f" "$(printf '%04096d\\n' 1)"
		bad E2BIG "$f" "$(printf '%05000d' 1)"
	done
	head -c 1048576 /dev/zero | tr '\0' ' ' >"$BATS_TEST_TMPDIR/big"
	for f in $ONE_LINE ctx/a/regs; do
		run -0 bounded fsprobe write "$MNT/$f" <"$BATS_TEST_TMPDIR/big"
		is E2BIG
		unchanged
	done
}

@test "text of the maximal length is accepted" {
	put ok "$C/pmd/0" "$(printf '%4094s7\\n' "")"
	holds "$C/pmd/0" 7
}

@test "invalid numbers" {
	for f in $NUMBERS; do
		for text in 010 1e3 '1 2'; do
			bad EINVAL "$f" "$text"
		done
		bad ERANGE "$f" 18446744073709551616
	done
	bad ERANGE ctx/a/pmd/0 -9223372036854775809
	for f in ctx/a/pmc/0 $CONFIG sim/advance $SET/timeout_ns $SET/next; do
		bad EINVAL "$f" -1
	done
}

@test "valid numbers" {
	for text in '7\n' '7\0' '7\n\0' '\t7\t\n' 0x7; do
		put ok "$C/pmd/0" 0
		put ok "$C/pmd/0" "$text"
		holds "$C/pmd/0" 7
	done
}

@test "registers and CPUs that do not exist" {
	bad ENOENT ctx/a/regs "pmc4 1"
	bad ENOENT ctx/a/regs "pmd65535 1"
	bad EINVAL ctx/a/ctl "load cpu=4"
	bad ERANGE sim/offline 4
	bad ERANGE sim/fault 0x100000000
	bad EIO sim/poke "0 0x600 0"
	bad ERANGE sim/poke "4 0x186 0"
}

# What is typed | errno | what the sentence has to contain. What a beginner types, and what helps.
@test "a sentence names the thing, the cause and the remedy" {
	local file text errno nouns noun

	while IFS='|' read -r file text errno nouns; do
		bad "$errno" "$file" "$text"
		for noun in ${nouns//,/ }; do
			[[ $output == *"$noun"* ]] || {
				echo "'$text' to $file: no $noun in: $output"
				return 1
			}
		done
	done <<-'MISTAKES'
		ctx/a/pmd/0|4300c0|EINVAL|4300c0,0x4300c0
		ctx/a/pmc/0|c0|EINVAL|c0,pmu/events,0x4100c0
		ctx/a/pmc/0|instrs|EINVAL|instrs,pmu/events
		ctx/a/pmd/0|1e6|EINVAL|1e6,digits
		ctx/a/pmd/0|1_000|EINVAL|1_000,digits
		ctx/a/pmd/0|64k|EINVAL|64k,digits,65536
		ctx/a/pmc/0|-1|EINVAL|-1,digits
		config/tick_us|1ms|EINVAL|1ms,digits
		ctx/a/ctl|load cpu=all|EINVAL|all,context,load,cpu=N
		ctx/a/ctl|load cpu=0-1|EINVAL|0-1,context,load,cpu=N
		ctx/a/ctl|load cpu=|EINVAL|cpu,such
		ctx/a/ctl|signal sig=KILL|EINVAL|KILL,kill
		ctx/a/ctl|start\r\n|EINVAL|CRLF,newline
		ctx/a/regs|pmd0 1\r\n|EINVAL|CRLF,newline
		ctx/a/format|default size=1|EINVAL|default,size=
		ctx/a/format|nway size=100 parts=64|EINVAL|nway,size=
	MISTAKES
}

@test "the least size in the sentence is the least" {
	local least

	for format in default nway hist correlate stack profile "nway parts=9"; do
		put EINVAL "$C/format" "$format size=1"
		least=$(sed -n 's/.*size=\([0-9]*\) .*/\1/p' "$C/last_error")
		put EINVAL "$C/format" "$format size=$((least - 1))"
		put ok "$C/format" "$format size=$least"
	done
}

@test "files and contexts that do not exist" {
	probe ENOENT open "$C/set/0/pmc/99" wronly,creat
	sentence "$C/last_error" pmc99
	probe ENOENT open "$C/set/0/pmd/99" wronly,creat
	sentence "$C/last_error" pmd99
	probe ENOENT open "$C/pmd/270" rdonly
	sentence "$C/last_error" pmd270
	probe EPERM open "$C/period" wronly,creat
	sentence "$C/last_error" period
	probe EPERM unlink "$C/ctl"
	sentence "$C/last_error" rmdir
	probe EINVAL mkdir "$MNT/ctx/.x"
	probe ENOENT rmdir "$MNT/ctx/none"
	sentence "$MNT/last_error" none
	new b
	holds "$MNT/last_error" ok
}

rss() {
	awk '$1 == "VmRSS:" { print $2 }' "/proc/$DAEMON/status"
}

open_files() {
	find "/proc/$DAEMON/fd" -mindepth 1 | wc -l
}

# One of the ten users: writes valid, invalid and incomplete commands to files of its own context
# and, one time in four, of its neighbour's.
hooligan() {
	local end=$((SECONDS + 2)) texts files c

	set +eET
	trap - ERR EXIT
	texts=("load cpu=$((RANDOM % 4))" start stop unload "load cpu=0" garbage $'a\nb' 0x4300c0 -1 none
		"pmc0 0x4100c0" $'pmd0 1\npmd99 1' "$(printf '%03000d' 1)" $'\x01' "")
	files=(ctl ctl ctl ctl flags regs pmc/0 pmd/0 pmd/16)
	while [ "$SECONDS" -lt "$end" ]; do
		c=$MNT/ctx/h$(($1 + !(RANDOM % 4)))
		mkdir "$c"
		for _ in 1 2 3 4 5 6 7 8; do
			texts[0]="load cpu=$((RANDOM % 4))"
			echo "${texts[RANDOM % ${#texts[@]}]}" >"$c/${files[RANDOM % ${#files[@]}]}"
			read -r _ <"$c/${files[RANDOM % ${#files[@]}]}"
		done
		[ $((RANDOM % 8)) -ne 0 ] || read -r _ <"$MNT/cpus"
		[ $((RANDOM % 4)) -ne 0 ] || rmdir "$c"
	done 2>/dev/null
	:
}

@test "ten users at once: no crash, no stuck context, no growth" {
	local fds_before rss_before

	# What the address sanitizer keeps of freed memory is no growth.
	stop_daemon
	ASAN_OPTIONS=${ASAN_OPTIONS-}:quarantine_size_mb=1 serve --backend=sim
	new a
	# The second round must not need more memory than the first.
	for round in 1 2; do
		at_once hooligan 0 1 2 3 4 5 6 7 8 9
		for c in "$MNT"/ctx/h*; do
			[ ! -d "$c" ] || probe ok rmdir "$c"
		done
		until_ok grep -q "workers 0" "$MNT/stats"
		[ $round = 2 ] || rss_before=$(rss) fds_before=$(open_files)
	done
	holds "$MNT/cpus" $'0 online free\n1 online free\n2 online free\n3 online free'
	run -0 grep contexts "$MNT/stats"
	is "contexts 1"
	[ "$(open_files)" = "$fds_before" ]
	echo "VmRSS $rss_before kB, then $(rss) kB"
	[ "$(rss)" -lt $((rss_before * 5 / 4 + 4096)) ]
	put ok "$C/regs" "pmc0 0x4100c0\npmd0 0"
	ctl "load cpu=0"
	ctl start
	advance 1000
	holds "$C/pmd/0" 2000
}
