# SPDX-License-Identifier: MIT
# MNT/clone: an open file that is a context, and its ioctls. On a model of a CPU, whose time passes
# only by sim/advance.

load common

USER=0x4100c0 # 2000 times a microsecond
NOTIFY=1
SYSTEM_WIDE=2 MAP_SETS=0x10

# clone FLAGS STEP...: what cloneprobe prints
clone() {
	output=$(bounded "${WHO[@]}" cloneprobe "$MNT/clone" "$@" 3>&-)
}

# lines LINE...: that is what it was
lines() {
	local IFS=$'\n'

	is "$*"
}

running() {
	grep -q "running cpu=1" "$MNT"/ctx/*/state 2>/dev/null
}

# both TEST: with memory that is passed through, and with memory that is fed
both() {
	serve --backend=sim
	grep -qx "passthrough 1" "$MNT/stats" && "$1" passed
	stop_daemon
	serve --backend=sim -onopassthrough
	"$1" fed
}

setup() {
	bench_setup
	advance="echo 1000 >$MNT/sim/advance" # for a step: 2000 events pass
}

@test "a context is made, counts, and goes with its file" {
	serve --backend=sim
	clone rw setup $SYSTEM_WIDE - 0 pmcs 0=$USER pmds 0=5 load 1 0 start sh "$advance" stop read 0 \
		sh "ls $MNT/ctx; cat $MNT/ctx/1/state $MNT/ctx/1/ctl; stat -c '%a %U' $MNT/ctx/1" unload
	lines "0 1" ok ok ok ok ok 2005 1 "loaded cpu=1 set=0" stop "700 root" ok
	until_ok no_contexts
	clone rw sh "ls $MNT/ctx"
	is 2
}

# text_of passed|fed
text_of() {
	local number path why fd shell

	exec {fd}<>"$MNT/clone"
	read -r -u"$fd" number path
	[ "$number $path" = "1 ctx/1" ]
	run ! read -r -u"$fd" path
	put ok "$MNT/ctx/1/pmc/0" $USER
	echo "load cpu=1" >&"$fd"
	echo start >&"$fd"
	eval "$advance"
	holds "$MNT/ctx/1/pmd/0" 2000
	holds "$MNT/ctx/1/ctl" start
	for why in "load cpu=1" bogus "signal sig=65"; do
		run ! eval 'echo "$why" >&$fd'
		read -r -u"$fd" output
		is "$(cat "$MNT/ctx/1/last_error")"
		run ! read -r -u"$fd" why
	done
	exec {fd}>&-
	until_ok no_contexts
	# This shell reads byte by byte, and so does dd.
	shell='exec 9<>"$1/clone"; read -r n p <&9; echo bogus >&9; read -r why <&9; echo "$n $p $why"; read -r n <&9'
	run -1 --separate-stderr bounded dash -c "$shell" "" "$MNT"
	[[ $output == "2 ctx/2 'bogus'"* ]]
	output=$(bounded dd if="$MNT/clone" bs=1 2>/dev/null)
	is "3 ctx/3"
	output=$(bounded busybox cat "$MNT/clone")
	is "4 ctx/4"
	probe in,rdnorm poll "$MNT/clone" in,rdnorm 0
}

@test "as text: a shell has a context for as long as it lives" {
	both text_of
}

# line_of passed|fed: neither a write nor its sentence takes from the line
line_of() {
	run -0 bounded python3 - "$MNT" <<-'END'
		import os, sys
		def fails(fd):
		    try:
		        os.write(fd, b"bogus")
		    except OSError as e:
		        return e.errno == 22
		def clone():
		    return os.open(sys.argv[1] + "/clone", os.O_RDWR)
		fd = clone()
		print(os.read(fd, 1), os.write(fd, b"load cpu=1"), os.read(fd, 3), fails(fd))
		print(os.read(fd, 7), b"bogus" not in os.read(fd, 512), os.read(fd, 512), os.read(fd, 512))
		fd = clone()
		print(fails(fd), os.read(fd, 7), fails(fd), os.read(fd, 512)[:7], os.read(fd, 512), os.read(fd, 512))
	END
	is "b'1' 10 b' ct' True
b\"'bogus'\" True b'x/1\\n' b''
True b\"'bogus'\" True b\"'bogus'\" b'2 ctx/2\\n' b''"
}

@test "as text: the line stays until it is read, beside sentences of writes" {
	both line_of
}

@test "as text: killed, closed by another thread, passed to another user" {
	serve --backend=sim
	local pid

	bash -c "exec 9<>$MNT/clone; read -r -u9 n p; echo load cpu=1 >&9; echo start >&9; exec sleep 60" 3>&- &
	pid=$!
	until_ok running
	kill -KILL $pid
	wait $pid || :
	until_ok no_contexts
	# The line of an open file that goes meanwhile, and commands to it: whole, or refused.
	run -0 bounded python3 - "$MNT" <<-'END'
		import os, sys, threading
		def use(fd, wrong):
		    for call in lambda: os.read(fd, 64), lambda: os.write(fd, b"stop"), lambda: os.write(fd, b"load cpu=1"):
		        try:
		            call()
		        except OSError as e:
		            if e.errno not in (9, 16, 19, 22):
		                wrong.append(e)
		wrong = []
		for n in range(200):
		    fd = os.open(sys.argv[1] + "/clone", os.O_RDWR)
		    users = [threading.Thread(target=use, args=(fd, wrong)) for _ in range(2)]
		    for u in users:
		        u.start()
		    os.close(fd)
		    for u in users:
		        u.join()
		print(wrong)
	END
	is "[]"
	until_ok no_contexts
	# The opener's right and the writer's are both needed.
	exec 4<>"$MNT/clone"
	as nobody probe EPERM write - <<<"load cpu=1"
	read -r -u4 output
	[[ $output == *sys_group* ]]
	as nobody probe EPERM write - <<<"load tid=$$"
	probe ok write - <<<"load cpu=1"
	as nobody probe ok write - <<<"stop"
}

# buffer_of_text passed|fed: the files format and buffer serve a clone that SETUP has not set up
buffer_of_text() {
	exec 9<>"$MNT/clone"
	read -r -u9 _ C
	C=$MNT/$C
	put ok "$C/format" "default size=8192"
	put ok "$C/pmc/0" $USER
	put ok "$C/pmd/0" "-2000000 short=-2000000"
	ctl "load cpu=1"
	ctl start
	advance 5000000
	ctl stop
	[ "$(stat -c %s "$C/buffer")" = 8192 ]
	[ "$(stat -Lc %s "/proc/$$/fd/9")" = 4096 ]
	run -0 bounded fsprobe pread "$C/buffer" 8 0
	is 0500000000000000
	exec 9>&-
	until_ok no_contexts
}

@test "as text: a context with a sampling buffer" {
	both buffer_of_text
	# A format by SETUP replaces the other, and stays.
	clone rw sh "echo hist >$MNT/ctx/2/format; cat $MNT/ctx/2/format" setup 0 default 8192 \
		sh "cat $MNT/ctx/2/format; (echo hist >$MNT/ctx/2/format) 2>&- || echo refused; cat $MNT/ctx/2/buffer 2>&- || echo none"
	lines "hist size=65536" "8192 2" "default size=8192" refused none
}

# sizes_after_rmdir passed|fed: an open clone keeps its size and memory
sizes_after_rmdir() {
	exec 4<>"$MNT/clone" 5<>"$MNT/clone"
	clone_of_4 setup 0 default 8192 map private 8192 0 sh "stat -Lc %s /proc/$$/fd/4" sh "rmdir $MNT/ctx/*" \
		sh "stat -Lc %s /proc/$$/fd/4 /proc/$$/fd/5" mapped 16 stop
	lines "8192 1" "" 8192 8192 4096 00000000000000008000000000000000 ENODEV
	output=$(python3 -c 'import os; print(os.fstat(4).st_size, os.fstat(5).st_size)')
	is "8192 4096"
	exec 4>&- 5>&-
}

@test "the size of an open clone stays when its context is removed" {
	both sizes_after_rmdir
}

@test "as text, and by ioctls" {
	serve --backend=sim
	local armed=(pmcs "0=$USER" pmds "0=-2000:$NOTIFY:-2000")

	# From the first ioctl on, a read takes messages.
	clone rwn poll 0 msg 4 "${armed[@]}" poll 0 msg 64 text "load cpu=1" text bogus msg 64 text start \
		sh "$advance" poll 0 msg 64
	lines in "4 bytes type 1952653361" ok ok none EAGAIN ok EINVAL EAGAIN ok in "64 bytes type 1"
	clone w text "load cpu=1" msg 64 close
	lines ok EBADF ok
	clone r text stop
	is EBADF
}

@test "its number is one that no other context has" {
	serve --backend=sim
	mkdir "$MNT/ctx/1" "$MNT/ctx/3"
	clone rw second "$MNT/clone" setup 0 - 0 swap setup 0 - 0 sh "mkdir $MNT/ctx/2 2>&1 | wc -l"
	lines ok "0 4" "0 2" 1
}

@test "what it is, and what it is at" {
	serve --backend=sim
	clone r what
	is "1 0 0 0 0 0"
	clone w what
	is EBADF
	clone rw setup $((SYSTEM_WIDE | MAP_SETS)) - 0 what make 3 pmcs 0=$USER,0.3=$USER pmds "0.3=-2000:$NOTIFY" \
		load 1 3 what start what sh "$advance" what unload what sh "rmdir $MNT/ctx/3" what
	lines "0 3" "3 2 0 0 0 0" 0 ok ok ok "3 2 1 0 1 3" ok "3 2 2 0 1 3" "3 2 3 0 1 3" ok "3 2 0 0 0 0" ENODEV
}

@test "no such command, and commands of no such size" {
	serve --backend=sim
	clone rw raw 0x00 0 raw 0xce 0 raw 0xc2 0 raw 0xc4 8 raw 0xc2 175 raw 0xc2 177 raw 0xcb 127 \
		raw 0xc0 0 sh "cat $MNT/ctx/1/last_error"
	lines ENOTTY ENOTTY ENOTTY ENOTTY EINVAL EINVAL EINVAL ENOTTY \
		"127 bytes are not a whole number of structures of 128 bytes: see perfmonfs/ioctl.h"
	# What shells ask of any file that they read, and what others' files answer.
	mkdir "$MNT/ctx/a"
	output=$(bounded cloneprobe "$MNT/version" r raw 0xc2 176 start)
	lines ENOTTY ENOTTY
	output=$(bounded cloneprobe "$MNT/ctx/a" r start)
	is ENOTTY
}

@test "the access mode allows commands, and the opener's rights do" {
	serve --backend=sim
	clone r read 0 info 0 poll 0 pmcs 0=$USER start setup 0 - 0 make 1 signal 10 tid 0 0
	lines 0 "run 0 pmds 7000f" none EBADF EBADF EBADF EBADF EBADF
	clone w pmcs 0=$USER pmds 0=1 read 0 info 0 msg 64
	lines ok ok EBADF EBADF EBADF
	as nobody clone rw setup $SYSTEM_WIDE - 0 setup 0 - 0 pmcs 0=$USER pmcs 0=0x4200c0 \
		sh "echo system_wide >$MNT/ctx/3/flags" load 1 0
	lines EPERM "0 3" ok "EACCES 0:40000000" EPERM
	echo none >"$MNT/config/thread_group"
	as nobody clone rw
	is EPERM
	as nobody sentence "$MNT/last_error" thread_group
	# The kernel opens first, and truncates then.
	as nobody probe EPERM open "$MNT/clone" rdonly,trunc
	probe EACCES open "$MNT/clone" rdwr,trunc
	clone rw text x
	is EINVAL
}

@test "set-up gives the type that its opener has the right to" {
	serve --backend=sim
	local group=54321

	echo none >"$MNT/config/thread_group"
	echo $group >"$MNT/config/sys_group"
	as $group clone rw setup 0 - 0 sh "cat $MNT/ctx/1/last_error" setup 0 default 4096 \
		setup $SYSTEM_WIDE default 4096 load 1 0
	[[ $output == EPERM$'\n'*config/thread_group$'\n'EPERM$'\n'"4096 1"$'\n'ok ]]
	echo any >"$MNT/config/thread_group"
	as nobody clone rw setup $SYSTEM_WIDE - 0 sh "cat $MNT/ctx/2/last_error" what setup 0 - 0
	[[ $output == EPERM$'\n'*config/sys_group*$'\n'"2 0 0 0 0 0"$'\n'"0 2" ]]
	echo none >"$MNT/config/thread_group"
	clone rw setup 0 - 0 setup $SYSTEM_WIDE - 0
	lines "0 3" "0 3"
	until_ok no_contexts
	[ "$(awk '$1 == "buffer_bytes" { print $2 }' "$MNT/stats")" = 0 ]
}

@test "vectors: in order up to the first error, which is in the flags of its element" {
	serve --backend=sim
	clone rw pmcs "0=$USER,1=0x4100c4,99=1,2=5" read 0,1 sh "cat $MNT/ctx/1/pmc/1 $MNT/ctx/1/pmc/2" \
		pmcs 0.7=1 pmds 0=1,200=1 pmds 0=1:8 pmds 256=1 read 0,99 read 0.5 pmds 0=9,1=7 read 1,0
	lines "EINVAL 2:80000000" "0 0" 0x00000000004100c4 0x0000000000000000 "EINVAL 0:20000000" \
		"EINVAL 1:80000000" "EINVAL 0:40000000" "EACCES 0:40000000" "EINVAL 1:80000000" \
		"EINVAL 0:20000000" ok "7 9"
	# After an error in a vector, the elements before it are done and those after it are not.
	clone rw pmds 0=1,1=2,2=3:0x40,3=4 read 0,1,2,3
	lines "EINVAL 2:40000000" "1 2 0 0"
}

@test "vectors: none at all, and too many" {
	serve --backend=sim
	local list

	clone rw read "" make "" info "" pmcs "" delete ""
	lines "" "" "" ok ok
	list=$(seq -s, 0 23 | sed 's/[0-9]*/0/g')
	clone rw read "$list" sh "cat $MNT/ctx/2/last_error"
	[[ $output == E2BIG*"arg_size_max allows 4096" ]]
	echo 8192 >"$MNT/config/arg_size_max"
	clone rw read "$list"
	is "${list//,/ }"
}

@test "the note of an ioctl that succeeds" {
	serve --backend=sim
	clone rw setup $SYSTEM_WIDE - 0 load 1 0 start sh "cut -c1-6 $MNT/ctx/1/last_error" stop \
		sh "cat $MNT/ctx/1/last_error"
	lines "0 1" ok ok "note: " ok ok
}

@test "event sets are created, queried and deleted" {
	serve --backend=sim
	clone rw make 1:2:1500,9:5::1 sh "ls $MNT/ctx/1/set; cat $MNT/ctx/1/set/9/next" pmcs 0.1=$USER \
		make 3,4:3,5 delete 2,7,9 sh "ls $MNT/ctx/1/set" make 1:0x102:1500 \
		sh "cat $MNT/ctx/1/set/1/pmc/0 $MNT/ctx/1/set/1/flags" info 0,1 info 0,4
	lines "1000000 0" 0 1 9 1 ok "EINVAL 1:40000000" "EINVAL 0:20000000" 0 1 3 9 1000000 \
		0x00000000004100c0 time_switch "run 0 pmds 7000f run 0 pmds 7000f" "EINVAL 1:20000000"
}

@test "messages: read, polled, waited for" {
	serve --backend=sim
	local armed=(setup "$SYSTEM_WIDE" - 0 pmcs "0=$USER" pmds "0=-2000:$NOTIFY:-2000" load 1 0 start)

	clone rwn "${armed[@]}" msg 63 msg 64 poll 0 sh "$advance" poll 1000 msg 63 msg 100 msg 128 \
		msg 64 poll 0 restart restart sh "$advance" msg 64
	lines "0 1" ok ok ok ok EINVAL EAGAIN none in EINVAL "64 bytes type 1" EAGAIN EAGAIN none ok \
		EBUSY "64 bytes type 1"
	clone rw "${armed[@]}" interrupt 50 sh "(sleep 0.1; $advance) 3>&- &" msg 64 \
		sh "rmdir $MNT/ctx/2" poll 0 msg 64
	lines "0 2" ok ok ok ok EINTR "64 bytes type 1" err ENODEV
	clone rw setup 0 - 0 sh "(sleep 0.1; rmdir $MNT/ctx/3) 3>&- &" msg 64
	lines "0 3" ENODEV
}

@test "messages by signal, with the descriptor's number, to a thread or a process" {
	serve --backend=sim
	local armed=(setup "$SYSTEM_WIDE" - 0 pmcs "0=$USER" pmds "0=-2000:$NOTIFY:-2000" load 1 0 start)
	local how

	for how in tid pid; do
		clone rw "${armed[@]}" signal 29 "$how" 0 40 sh "$advance" sigwait 29 msg 64 restart \
			signal 0 "$how" 0 0 sh "$advance" sigwait 29
		lines "${output%%$'\n'*}" ok ok ok ok ok "POLL_IN fd 40" "64 bytes type 1" ok ok none
	done
	clone rw signal 65 tid 0 0 signal 29 tid -1 0 signal 29 tid 0 -1 signal 29 tid 0 65536 \
		signal 29 pid 4194304 3
	lines EINVAL EINVAL EINVAL EINVAL ESRCH
	as nobody clone rw signal 29 tid 1 3 signal 29 pid 1 3
	lines EPERM EPERM
}

# sleeper: runs as the test user of as(); SLEEPER is its pid
sleeper() {
	"${WHO[@]}" sleep 60 3>&- 4>&- &
	SLEEPER=$!
	until_ok grep -qx sleep "/proc/$SLEEPER/comm"
}

@test "messages by signal: the opener does not lend the permission to set an owner" {
	serve --backend=sim
	local armed=(pmcs "0=$USER" pmds "0=-2000:$NOTIFY:-2000" load 1 0 start) how mine theirs n=1

	put ok "$MNT/config/sys_group" any
	sleeper
	mine=$SLEEPER
	as nobody sleeper
	theirs=$SLEEPER
	exec 4<>"$MNT/clone"
	as nobody clone_of_4 setup $SYSTEM_WIDE - 0 signal 9 pid "$mine" 0 signal 9 tid "$mine" 0 "${armed[@]}"
	lines "0 1" EPERM EPERM ok ok ok ok
	eval "$advance"
	# An owner must be a process that they may signal, such as themselves. The signal kills it.
	as nobody clone_of_4 signal 29 tid 0 0 signal 29 pid 0 0 signal 9 pid "$theirs" 0 restart
	lines ok ok ok ok
	eval "$advance"
	until_ok gone "$theirs"
	exec 4>&-
	for how in fork send; do
		clone rw setup $SYSTEM_WIDE - 0 "$how" uid "$NOBODY" "$NOBODY" signal 9 pid "$mine" 0
		lines "0 $((++n))" ok EPERM
	done
	run ! gone "$mine"
	# Nor does the caller lend its permission to the opener, except root to root.
	clone rw uid 0 "$NOBODY" second "$MNT/clone" uid 0 0 signal 9 pid "$mine" 0 swap signal 9 pid "$mine" 0 signal 0 pid 0 0
	lines ok ok ok EPERM ok ok
	kill "$mine"
}

# clone_of_4 STEP...: of the clone that is open
clone_of_4() {
	output=$(bounded "${WHO[@]}" cloneprobe - rw "$@" 3>&-)
}

@test "messages by signal: the caller as owner, with any of its user IDs" {
	serve --backend=sim
	local armed=(setup "$SYSTEM_WIDE" - 0 pmcs "0=$USER" pmds "0=-2000:$NOTIFY:-2000" load 1 0 start)

	clone rw "${armed[@]}" uid 0 "$NOBODY" signal 29 tid 0 40 uid 0 0 sh "$advance" sigwait 29
	lines "0 1" ok ok ok ok ok ok ok "POLL_IN fd 40"
	# With other user IDs, it has no permission.
	clone rw "${armed[@]}" uid "$NOBODY" "$NOBODY" signal 29 tid 0 40 uid 0 0 sh "$advance" sigwait 29
	lines "0 2" ok ok ok ok ok ok ok none
}

@test "why its last command failed stays when a clone has gone, for its user" {
	serve --backend=sim
	clone rw setup $SYSTEM_WIDE - 0 load 4000 0
	lines "0 1" EINVAL
	until_ok sentence "$MNT/last_error" 4000
	as nobody holds "$MNT/last_error" ok
	# Another success: it is no news any more.
	new a
	holds "$MNT/last_error" ok
}

@test "the buffer is mapped at 0" {
	both buffers_of
}

# The number in the answer is whatever it is.
buffers_of() {
	local hdr=00000000000000008000000000000000

	clone rw setup $SYSTEM_WIDE default 70000 map private 70000 16 pmcs 0=$USER \
		pmds 0=-2000:$NOTIFY:-2000 load 1 0 start sh "$advance" stop mapped 8 \
		setup $SYSTEM_WIDE default 4096 sh "cat $MNT/ctx/1/buffer 2>&1 | wc -l"
	lines "70000 1" $hdr ok ok ok ok ok 0100000000000000 EBUSY 1
	# Two do not see each other's, and what is mapped stays when its file is closed.
	clone rw setup 0 default 8192 map private 8192 32 second "$MNT/clone" setup 0 default 12288 \
		map private 12288 32 close swap close mapped 32
	lines "8192 2" ${hdr}00000000000000000020000000000000 ok "12288 3" \
		${hdr}00000000000000000030000000000000 ok ok ${hdr}00000000000000000030000000000000
	until_ok no_contexts
	clone rw setup 0 nosuch 0 setup 0 default 100 setup 0x200 - 0 setup 3 - 0 \
		setup 0 default 99999999 setup 0 default 4096 setup 0 - 0 sh "cat $MNT/ctx/4/format"
	lines EINVAL EINVAL EINVAL EINVAL ENOMEM "4096 4" EBUSY "default size=4096"
}

# removed_buffer passed|fed
removed_buffer() {
	clone rw setup 0 default 8192 map private 8192 0 sh "rmdir $MNT/ctx/1" mapped 16 stop
	lines "8192 1" "" 00000000000000008000000000000000 ENODEV
}

@test "what is mapped stays when the context's directory is removed" {
	both removed_buffer
}

@test "mapped shared, and never for the daemon to read from" {
	serve --backend=sim
	grep -qx "passthrough 1" "$MNT/stats" || skip "needs passthrough (Linux 6.9)"
	clone rw map shared 8192 0 setup $SYSTEM_WIDE default 8192 map shared 8192 8 pmcs 0=$USER \
		pmds 0=-2000:$NOTIFY:-2000 load 1 0 start sh "$advance" stop mapped 8
	lines "" "8192 1" 0000000000000000 ok ok ok ok ok 0100000000000000
	clone r map write 4096 0
	is EACCES
}

@test "live pages are mapped at the sets' cookies" {
	serve --backend=sim
	grep -qx "passthrough 1" "$MNT/stats" || skip "needs passthrough (Linux 6.9)"
	clone rw mapset 0 setup $((SYSTEM_WIDE | MAP_SETS)) - 0 make 1 pmds 0=7,0.1=8 mapset 0 mapset 1 \
		delete 1 make 2 mapset 2 mapset 1 pmcs 0=$USER load 1 0 start sh "$advance" read 0 mapset 0 \
		sh "head -n 1 $MNT/ctx/1/set/0/live | cut -d ' ' -f 3-" unload sh "mkdir $MNT/ctx/1/set/3" mapset 3
	lines "no page" "0 1" 0 ok "version 1 pmd0 7" "version 1 pmd0 8" ok 0 "version 1 pmd0 0" EINVAL \
		ok ok ok 2007 "version 1 pmd0 2007" "active 1 cpu 1" ok "version 1 pmd0 0"
}

@test "a buffer and live pages of one clone" {
	serve --backend=sim
	grep -qx "passthrough 1" "$MNT/stats" || skip "needs passthrough (Linux 6.9)"
	clone rw setup $((SYSTEM_WIDE | MAP_SETS)) default 5000 pmds 0=7 mapset 0 map shared 5000 8 \
		sh "stat -c %s $MNT/clone; awk '/buffer_bytes/ { print \$2 }' $MNT/stats"
	lines "5000 1" ok "version 1 pmd0 7" 0000000000000000 4096 12288
}

@test "without passthrough there are no live pages, and none is needed" {
	serve --backend=sim -onopassthrough
	clone rw setup $MAP_SETS - 0 mapset 0 pmds 0=3 read 0
	lines "0 1" "no page" ok 3
}

@test "limits of buffers are the opener's" {
	serve --backend=sim
	ulimit -S -l 16
	as nobody clone rw setup 0 default 20000 setup 0 default 12288
	lines ENOMEM "12288 1"
}

@test "a descriptor gives access to the context, in any process" {
	serve --backend=sim
	local how

	for how in dup fork send; do
		clone rw pmds 0=41 "$how" read 0 setup $SYSTEM_WIDE - 0 load 1 0 start
		[[ $output == ok$'\n'41$'\n'"0 "*$'\n'ok$'\n'ok ]]
		until_ok no_contexts
	done
	# Opening the file again makes another context.
	probe ESTALE reopen "$MNT/clone" rdwr
	clone rw pmds 0=41 second "$MNT/clone" read 0 swap read 0
	lines ok ok 0 41
}

@test "kill -9 ends it, whatever it is at" {
	serve --backend=sim
	local at pid

	for at in "poll 20000" "msg 64" "$(printf 'threads 8 %.0s' {1..500})"; do
		# shellcheck disable=SC2086
		cloneprobe "$MNT/clone" rw setup $SYSTEM_WIDE default 8192 map private 8192 8 \
			pmcs 0=$USER load 1 0 start $at >"$BATS_TEST_TMPDIR/out" 3>&- &
		pid=$!
		until_ok running
		kill -KILL "$pid"
		wait "$pid" || true
		until_ok no_contexts
		new next
		ctl "load cpu=1"
		probe ok rmdir "$C"
	done
}

@test "rmdir ends it, and its file is dead" {
	serve --backend=sim
	clone rw setup $SYSTEM_WIDE default 8192 map private 8192 8 load 1 0 start \
		sh "rmdir $MNT/ctx/1" stop read 0 msg 64 setup 0 - 0 text stop poll 0 mapped 8
	lines "8192 1" 0000000000000000 ok ok ENODEV ENODEV ENODEV ENODEV ENODEV err 0000000000000000
	clone rw sh "setpriv --reuid=$NOBODY --clear-groups rmdir $MNT/ctx/2 2>/dev/null; ls $MNT/ctx"
	is 2
}

@test "threads use one at a time" {
	serve --backend=sim
	clone rw setup $SYSTEM_WIDE - 0 pmcs 0=$USER pmds 0=-2000::-2000 load 1 0 start \
		sh "for i in {1..50}; do $advance; done 3>&- &" threads 8 stop
	lines "0 1" ok ok ok ok "0 failed" ok
}

@test "the daemon ends while clones are open" {
	local opt

	for opt in "" -onopassthrough; do
		serve --backend=sim $opt
		clone rw setup $SYSTEM_WIDE default 8192 map private 8192 8 pmcs 0=$USER load 1 0 start \
			sh "kill -TERM $DAEMON; sleep 0.3" stop mapped 8
		[[ $output == *0000000000000000 ]]
		ended 0
		until_ok not_mounted
	done
}

@test "as many as a user may have" {
	needs_files 1000
	serve --backend=sim
	exec 4<>"$MNT/clone" # root's is another's
	setpriv --reuid="$NOBODY" --regid="$NOBODY" --clear-groups bash -c \
		"for ((i = 0; i < 256; i++)); do exec {fd}<>$MNT/clone || exit 1; done
		(exec {fd}<>$MNT/clone) 2>/dev/null; echo \$?" >"$BATS_TEST_TMPDIR/out"
	output=$(cat "$BATS_TEST_TMPDIR/out")
	is 1
	as nobody sentence "$MNT/last_error" config/user_contexts_max
	exec 4>&-
	until_ok no_contexts
}

@test "a close is over when the next context is loaded" {
	serve --backend=sim
	local once=(setup "$SYSTEM_WIDE" - 0 load 1 0 start) n

	for ((n = 0; n < 20; n++)); do
		clone rw "${once[@]}" close second "$MNT/clone" "${once[@]}"
		lines "0 $((2 * n + 1))" ok ok ok ok "0 $((2 * n + 2))" ok ok
	done
}

@test "on a thread: its own number is the target, and a close is over when it is loaded again" {
	serve --backend=perf
	local faults once n

	faults=$(awk '$1 == "page-faults" { print $2 }' "$MNT/pmu/events")
	sleep 60 3>&- &
	once=(pmcs "0=$faults" load $! 0 start stop read 0 close second "$MNT/clone")
	clone rw "${once[@]:0:5}"
	[[ $output == ok$'\n'ok ]] || {
		kill $!
		skip "no thread can be followed here: $output"
	}
	clone rw "${once[@]}" "${once[@]}" "${once[@]}"
	kill $!
	lines ok ok ok ok 0 ok ok ok ok ok ok 0 ok ok ok ok ok ok 0 ok ok
}

no_more_files() {
	[ "$(find "/proc/$DAEMON/fd" -mindepth 1 | wc -l)" -le "$1" ]
}

# For longer, run the program by itself.
@test "threads that share clones do anything with them: all is answered, and nothing is left" {
	local files

	serve --backend=sim
	clone rw setup "$SYSTEM_WIDE" default 4096 load 1 0 # what it takes at first it keeps
	until_ok no_contexts
	files=$(find "/proc/$DAEMON/fd" -mindepth 1 | wc -l)
	run -0 timeout "$PATIENCE" "$BUILD/tests/fs/clonestorm" "$MNT/clone" 8
	echo "$output"
	[[ $output == *" calls: ok "* ]]
	until_ok no_contexts
	until_ok no_more_files "$files"
}
