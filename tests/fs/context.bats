# SPDX-License-Identifier: MIT
# The life of a context as a user sees it, on a model of a CPU whose time passes only by writes to
# sim/advance.

load common

# An event that the model has 2000 times a microsecond at user level.
USER=0x4100c0

@test "a life: made, programmed, loaded, started, read, stopped, unloaded, removed" {
	serve --backend=sim
	new a
	holds "$C/state" unloaded
	put ok "$C/pmc/0" $USER
	ctl "load cpu=1"
	holds "$C/state" "loaded cpu=1 set=0"
	ctl start
	holds "$C/state" "running cpu=1 set=0"
	advance 1000000
	holds "$C/pmd/0" 2000000
	advance 500000
	holds "$C/pmd/0" 3000000
	ctl stop
	holds "$C/state" "loaded cpu=1 set=0"
	advance 1000000
	holds "$C/pmd/0" 3000000
	ctl unload
	holds "$C/state" unloaded
	holds "$C/pmd/0" 3000000
	holds "$C/last_error" ok
	probe ok rmdir "$C"
	probe ENOENT open "$C" rdonly
}

@test "a register of a package has one owner, which the refusal and cpus name" {
	serve --backend=sim:nehalem
	new a
	a=$C
	put ok "$C/pmc/21" 0x4000c4
	ctl "load cpu=1"
	ctl start
	new b
	put ok "$C/pmc/22" 0x4000c4
	refused EBUSY "load cpu=2" "CPU 1 already uses it"
	[[ $(sed -n 's/^3 //p' "$MNT/cpus") == *"the context on CPU 1, which shares UNC_"* ]]
	advance 1000000
	holds "$a/pmd/21" 500000
	echo unload >"$a/ctl"
	ctl "load cpu=2"
}

@test "names: valid and invalid" {
	serve --backend=sim
	long=$(printf '%064d' 0)
	for name in a x-y_z+1@h:c,d "$long"; do
		probe ok mkdir "$MNT/ctx/$name"
		probe EEXIST mkdir "$MNT/ctx/$name"
	done
	for name in "${long}0" "$(printf '%0300d' 0)" .hidden 'a b' $'a\nb' $'\xff' 'ä'; do
		probe EINVAL mkdir "$MNT/ctx/$name"
		sentence "$MNT/last_error" name
	done
	run -0 ls "$MNT/ctx"
	[ "${#lines[@]}" = 3 ]
	probe ok mkdir "$MNT/ctx/b"
	holds "$MNT/last_error" ok
}

@test "a sentence is one line, and harmless to terminals, whatever the name is that it repeats" {
	serve --backend=sim
	for name in $'a\nb' $'\e[2J' $'\x9b2J' $'\x7f'; do
		probe ENOENT rmdir "$MNT/ctx/$name"
		sentence "$MNT/last_error" mkdir
		run ! grep -q '[^ -~]' "$MNT/last_error"
		[ "$(wc -l <"$MNT/last_error")" = 1 ]
	done
}

@test "ctl reads back the last command that took effect" {
	serve --backend=sim
	new a
	holds "$C/ctl" ""
	put EINVAL "$C/ctl" start
	holds "$C/ctl" ""
	ctl " load \t set=0  cpu=0x1"
	holds "$C/ctl" "load cpu=1 set=0"
	ctl start
	holds "$C/ctl" start
	put EBUSY "$C/ctl" "load cpu=2"
	put EINVAL "$C/ctl" nonsense
	holds "$C/ctl" start
}

@test "commands are refused with a sentence, and change nothing" {
	serve --backend=sim
	new a
	refused EINVAL start load
	refused EINVAL "load tid=$$" cpu=
	refused EINVAL "load cpu=4" "CPU 4"
	refused EINVAL "load cpu=0 set=1" "set 1"
	refused EINVAL "stop now" now
	holds "$C/state" unloaded
	ctl "load cpu=0"
	refused EBUSY "load cpu=1" loaded
	holds "$C/state" "loaded cpu=0 set=0"
}

@test "one command a write: two lines are refused whole, printf's two writes are two" {
	serve --backend=sim
	new a
	put EINVAL "$C/ctl" 'load cpu=0\nstart\n'
	holds "$C/state" unloaded
	printf 'load cpu=0\nstart\n' >"$C/ctl"
	holds "$C/state" "running cpu=0 set=0"
	ctl 'stop\0'
	ctl 'unload\n\0'
	holds "$C/state" unloaded
}

@test "last_error: of each context, and of each user outside of contexts" {
	serve --backend=sim
	new b
	new a
	put EINVAL "$C/ctl" start
	sentence "$C/last_error" load
	holds "$MNT/ctx/b/last_error" ok
	holds "$MNT/last_error" ok
	probe EINVAL mkdir "$MNT/ctx/.x"
	sentence "$MNT/last_error" name
	as nobody holds "$MNT/last_error" ok
	as nobody probe EPERM unlink "$MNT/ctx/a"
	put ok "$C/flags" none
	holds "$C/last_error" ok
	sentence "$MNT/last_error" name
	put ok "$MNT/config/allow_kernel" group
	holds "$MNT/last_error" ok
}

@test "the sentence of a write: each descriptor has its own" {
	serve --backend=sim
	new a
	run -0 bounded python3 - "$C" <<-'END'
		import os, sys, threading
		def use(name, wrong):
		    fd = os.open(sys.argv[1] + "/ctl", os.O_RDWR)
		    for _ in range(300):
		        try:
		            os.write(fd, name.encode())
		        except OSError:
		            text = os.read(fd, 7) + os.read(fd, 4096)
		            if name not in text.decode() or os.read(fd, 4096):
		                wrong.append(text)
		wrong = []
		threads = [threading.Thread(target=use, args=("wrong%d" % n, wrong)) for n in range(8)]
		for t in threads:
		    t.start()
		for t in threads:
		    t.join()
		print(wrong)
	END
	is "[]"
}

@test "the sentence of a write: never where a value is read" {
	serve --backend=sim
	new a
	run -0 bounded python3 - "$C" <<-'END'
		import os, sys
		def fails(fd, text):
		    try:
		        os.write(fd, text)
		    except OSError as e:
		        return e.errno == 22
		fd = os.open(sys.argv[1] + "/pmd/0", os.O_RDWR)
		print(fails(fd, b"x"), os.pread(fd, 99, 0), os.pread(fd, 99, 1))
		print(fails(fd, b"x"), b"'x'" in os.pread(fd, 99, 1), os.pread(fd, 99, 0))
		os.write(fd, b"5")
		print(os.pread(fd, 1, 0), os.read(fd, 99), os.pread(fd, 99, 0))
		print(fails(fd, b"x"), b"'x'" in os.read(fd, 512), os.read(fd, 512))
		print(fails(fd, b"x"), os.write(fd, b"7"), os.pread(fd, 99, 0), os.pread(fd, 99, 1))
		ctl = os.open(sys.argv[1] + "/ctl", os.O_RDWR)
		print(fails(ctl, b"start"), os.read(ctl, 99)[:10], os.read(ctl, 99), os.pread(ctl, 99, 0))
		print(fails(ctl, b"start"), os.write(ctl, b"load cpu=1"), os.pread(ctl, 99, 0))
		print(fails(ctl, b"\0\0"), os.pread(ctl, 99, 7)[:9], [fails(ctl, b"s") for _ in "ab"])
		os.rmdir(sys.argv[1])
		try:
		    os.read(ctl, 99)
		except OSError as e:
		    print(e.errno)
	END
	is "True b'0\n' b'\n'
True True b'0\n'
b'5' b'\n' b'5\n'
True True b''
True 1 b'7\n' b'\n'
True b'not loaded' b'' b''
True 10 b'load cpu=1\n'
True b'the text ' [True, True]
19"
}

@test "a note begins with its word" {
	serve --backend=sim
	new a
	ctl "load cpu=1"
	ctl start
	sentence "$C/last_error" "note: "
	refused EBUSY "load cpu=1" loaded
	[[ $output != note:* ]]
	put ok "$C/regs" "pmd0 1000 notify\npmd1 -1000 notify"
	sentence "$C/last_error" "pmd0"
	[[ $output == note:* ]]
}

@test "the sentence of a read: each descriptor has its own" {
	serve --backend=sim
	new a
	put ok "$C/pmc/0" 0x4100c0
	ctl "load cpu=1"
	ctl start
	echo "1 0x186 0x4200c0" >"$MNT/sim/poke" # which loses the count
	run -0 bounded python3 - "$C" <<-'END'
		import os, sys, threading
		def fails(fd):
		    try:
		        return os.pread(fd, 99, 0)
		    except OSError as e:
		        return e.errno
		def use(file, no, word, wrong):
		    fd = os.open(sys.argv[1] + "/" + file, os.O_RDONLY)
		    for _ in range(300):
		        got = fails(fd), os.pread(fd, 9, 1) + os.pread(fd, 512, 1), os.pread(fd, 512, 1)
		        if got[0] != no or word not in got[1] or got[2]:
		            wrong.append(got)
		wrong = []
		threads = [threading.Thread(target=use, args=(*file, wrong)) for file in
		           2 * (("pmd/0", 5, b"pmd0"), ("pmd/257", 61, b"pmd257"), ("total", 5, b"pmd0"))]
		for t in threads:
		    t.start()
		for t in threads:
		    t.join()
		print(wrong)
		os.write(os.open(sys.argv[1] + "/ctl", os.O_WRONLY), b"unload")
		fd = os.open(sys.argv[1] + "/pmd/0", os.O_RDWR)
		print(fails(fd), os.write(fd, b"5"), fails(fd), os.pread(fd, 99, 1))
		fd = os.open(sys.argv[1] + "/pmd/257", os.O_RDONLY)
		os.rmdir(sys.argv[1])
		print(fails(fd), fails(fd))
	END
	is "[]
5 1 b'5\n' b'\n'
19 19"
}

@test "reading the sentence does not remove it" {
	serve --backend=sim
	new a
	put EINVAL "$C/ctl" start
	bounded cat "$C"/{state,flags,regs} >/dev/null
	sentence "$C/last_error" load
}

@test "flags: until the first load" {
	serve --backend=sim
	new a
	holds "$C/flags" none
	put ok "$C/flags" "ovfl_no_msg notify_block"
	holds "$C/flags" "notify_block ovfl_no_msg"
	refused EINVAL "load cpu=0" notify_block
	put EINVAL "$C/flags" "bogus"
	sentence "$C/last_error" bogus
	put ok "$C/flags" ovfl_no_msg
	ctl "load cpu=0"
	put EBUSY "$C/flags" none
	holds "$C/flags" "system_wide ovfl_no_msg"
}

@test "total: without children the context's own counts, set by set" {
	serve --backend=sim
	new a
	probe ok mkdir "$C/set/7"
	put ok "$C/set/7/pmd/1" 70
	put ok "$C/pmc/0" $USER
	put ok "$C/pmd/1" -1
	ctl "load cpu=1"
	ctl start
	advance 1000
	run -0 bounded cat "$C/total"
	local total=$output
	[ "${lines[0]}" = "pmd0 2000" ]
	[ "${lines[1]}" = "pmd1 18446744073709551615" ]
	# PMDs that nothing counts in, and that are 0, are left out.
	# Counts have the times in which they were counted, as of one moment.
	[ "${lines[2]}" = "active_ns 1000" ]
	[ "${lines[3]}" = "set=7 pmd1 70" ]
	[ "${lines[4]}" = "set=7 active_ns 0" ]
	[ "${lines[5]}" = "elapsed_ns 1000" ]
	[ "${#lines[@]}" = 6 ]
	ctl stop
	advance 500
	holds "$C/total" "$total"
	ctl start
	put ok "$MNT/sim/offline" 1
	probe ENXIO read "$C/total" 100 rdonly
	sentence "$C/last_error" offline
}

@test "children: an empty directory in which nothing can be made" {
	serve --backend=sim
	new a
	run -0 bounded ls -A "$C/children"
	is ""
	probe EPERM mkdir "$C/children/1"
	sentence "$C/last_error" ctx/
	probe ENOENT rmdir "$C/children/1"
	probe EPERM rmdir "$C/children"
	as nobody probe EACCES open "$C/children" rdonly
}

@test "registers: a read returns what was written, except reserved bits" {
	serve --backend=sim
	new a
	put ok "$C/pmc/2" 0xffffffffffffffff
	holds "$C/pmc/2" 0x00000000ffc7ffff
	put EINVAL "$C/pmc/2" -1
	holds "$C/pmc/2" 0x00000000ffc7ffff
	put ok "$C/pmd/16" -1
	holds "$C/pmd/16" 18446744073709551615
}

@test "regs: its text restores another context, running or not" {
	serve --backend=sim
	new a
	put ok "$C/regs" 'pmc0 0x4100c0\npmc16 0x22\npmd0 -100000 long=-2 notify random smpl=0-3\npmd17 5'
	bounded cat "$C/regs" >"$BATS_TEST_TMPDIR/saved"
	new b
	ctl "load cpu=0"
	ctl start
	bounded cp "$BATS_TEST_TMPDIR/saved" "$C/regs"
	bounded diff "$BATS_TEST_TMPDIR/saved" "$C/regs"
	ctl stop
	bounded cat "$BATS_TEST_TMPDIR/saved" >"$C/regs"
	bounded diff "$BATS_TEST_TMPDIR/saved" "$C/regs"
	ctl unload
	bounded diff "$BATS_TEST_TMPDIR/saved" "$C/regs"
}

@test "regs: the lines before the first wrong one take effect, and it is named" {
	serve --backend=sim
	new a
	put ENOENT "$C/regs" "pmc0 $USER\npmd0 7\npmd99 1\npmd2 7"
	sentence "$C/last_error" "line 3"
	holds "$C/pmd/0" 7
	holds "$C/pmd/2" 0
}

@test "a CPU has one context" {
	serve --backend=sim
	new a
	put ok "$C/pmc/0" $USER
	ctl "load cpu=1"
	new b
	refused EBUSY "load cpu=1" "'a'"
	holds "$C/state" unloaded
	ctl "load cpu=2"
	run -0 bounded cat "$MNT/cpus"
	[[ ${lines[0]} == "0 online free" ]]
	[[ ${lines[1]} =~ ^1\ online\ context=a\ uid=0\ pid=[0-9]+$ ]]
	[[ ${lines[2]} =~ ^2\ online\ context=b\ uid=0\ pid=[0-9]+$ ]]
	put ok "$MNT/ctx/a/ctl" unload
	ctl unload
	ctl "load cpu=1"
	until_ok grep -q "workers 1" "$MNT/stats"
}

@test "a running context is stopped and its CPU freed by rmdir" {
	serve --backend=sim
	new a
	put ok "$C/regs" "pmc0 $USER\npmc16 0x2"
	ctl "load cpu=3"
	ctl start
	probe ok rmdir "$C"
	holds "$MNT/cpus" $'0 online free\n1 online free\n2 online free\n3 online free'
	new b
	put ok "$C/regs" "pmc0 $USER"
	ctl "load cpu=3"
	ctl start
	advance 1000
	holds "$C/pmd/0" 2000
	holds "$C/pmd/16" 0
	probe ok rmdir "$C"
	until_ok grep -q "workers 0" "$MNT/stats"
}

@test "rmdir restores the registers" {
	serve_msrsim --clock=script
	probe 8 pwrite "$CPU/1/msr" 0x187 c000130000000000
	probe 8 pwrite "$CPU/1/msr" 0xc2 7700000000000000
	before=$(for r in 0x186 0x187 0xc1 0xc2 0x38d 0x38f 0x309; do msr 1 $r; done)
	serve --backend=msr "--dev=$CPU"
	new a
	put ok "$C/regs" "pmc0 $USER\npmc1 $USER\npmc16 0x2\npmd0 -1000\npmd1 5\npmd16 9"
	ctl "load cpu=1"
	ctl start
	put ok "$CPU/sim/advance" 1000
	holds "$C/pmd/0" 1000
	holds "$C/pmd/1" 2005
	holds "$C/pmd/16" 2009
	[ "$(msr 1 0x187)" = c000410000000000 ]
	probe ok rmdir "$C"
	[ "$before" = "$(for r in 0x186 0x187 0xc1 0xc2 0x38d 0x38f 0x309; do msr 1 $r; done)" ]
}

@test "a counter in use by another program: cpus shows it, load and start do not touch it" {
	serve --backend=sim
	put ok "$MNT/sim/poke" "1 0x187 0x4300c0"
	run -0 bounded cat "$MNT/cpus"
	[[ ${lines[0]} == "0 online free" ]]
	[[ ${lines[1]} == "1 online pmc1 in use by "* ]]
	new a
	put ok "$C/pmc/0" $USER
	ctl "load cpu=1"
	ctl unload
	put ok "$C/pmc/1" $USER
	refused EBUSY "load cpu=1" "pmc1"
	holds "$C/state" unloaded
	put ok "$MNT/sim/poke" "1 0x187 0"
	ctl "load cpu=1"
}

@test "a counter that another program takes while it runs gives EIO, never a number" {
	serve --backend=sim
	new a
	put ok "$C/regs" "pmc0 $USER\npmc1 $USER"
	ctl "load cpu=0"
	ctl start
	put ok "$MNT/sim/poke" "0 0x186 0x4300c4"
	advance 1000
	probe EIO pread "$C/pmd/0" 30 0
	sentence "$C/last_error" pmd0
	holds "$C/pmd/1" 2000
	run -0 grep stolen "$MNT/stats"
	is "stolen 1"
	put EBUSY "$C/pmd/0" 5
	sentence "$C/last_error" pmd0
	ctl unload
	probe EIO pread "$C/pmd/0" 30 0
	put ok "$C/pmd/0" 5
	holds "$C/pmd/0" 5
}

@test "a register that faults gives EIO and names it" {
	serve --backend=sim
	new a
	put ok "$C/pmc/0" $USER
	put ok "$MNT/sim/fault" 0x186
	refused EIO "load cpu=0" 0x186
	holds "$C/state" unloaded
	put ok "$MNT/sim/fault" "\n"
	ctl "load cpu=0"
	ctl start
	put ok "$MNT/sim/fault" 0xc1
	probe EIO pread "$C/pmd/0" 30 0
	put ok "$MNT/sim/fault" "\n"
	ctl unload
}

@test "an offline CPU: load is refused" {
	serve --backend=sim
	put ok "$MNT/sim/offline" 1,3
	run -0 bounded cat "$MNT/cpus"
	is $'0 online free\n1 offline\n2 online free\n3 offline'
	new a
	put ok "$C/pmc/0" $USER
	refused ENXIO "load cpu=1" "CPU 1"
	holds "$C/state" unloaded
	put ok "$MNT/sim/offline" "\n"
	ctl "load cpu=1"
}

@test "a CPU that goes offline while it counts: no number, and unload works" {
	serve --backend=sim
	new a
	put ok "$C/pmc/0" $USER
	ctl "load cpu=1"
	ctl start
	put ok "$MNT/sim/offline" 1
	advance 1000
	probe ENXIO pread "$C/pmd/0" 30 0
	sentence "$C/last_error" offline
	ctl unload
	holds "$C/state" "unloaded lost"
	probe ENXIO pread "$C/pmd/0" 30 0
	put ok "$C/pmd/0" 0
	holds "$C/pmd/0" 0
	ctl "load cpu=0"
	ctl start
	put ok "$MNT/sim/offline" 0
	probe ok rmdir "$C"
	until_ok grep -q "workers 0" "$MNT/stats"
}

@test "the simulator's time passes by itself" {
	serve --backend=sim --clock=real
	new a
	put EINVAL "$MNT/sim/advance" 1000
	sentence "$MNT/last_error" clock=script
	put ok "$C/regs" "pmc0 $USER\npmd0 -2000000 notify"
	ctl "load cpu=1"
	ctl start
	for _ in 1 2; do
		run -0 bounded fsprobe read "$C/events" 100 rdonly
		holds "$C/state" "masked cpu=1 set=0"
		ctl restart
	done
}

@test "--clock is for the simulator" {
	run -1 bounded perfmonfs -f --backend=perf --clock=script "$MNT"
	[[ $output == *EINVAL* ]]
	run -1 bounded perfmonfs -f --backend=sim --clock=bogus "$MNT"
	[[ $output == *bogus* ]]
}

@test "sim/advance is one step at a time" {
	serve --backend=sim
	holds "$MNT/sim/advance" 0
	advance 1000
	advance 0
	holds "$MNT/sim/advance" 1000
	put ERANGE "$MNT/sim/advance" 18446744073709551615
	put EINVAL "$MNT/sim/advance" -1
	holds "$MNT/sim/advance" 1000
}

@test "a long write gives way to requests that have arrived after it" {
	serve --backend=sim
	new a
	cat >"$BATS_TEST_TMPDIR/overtake" <<-'END'
		import os, signal, sys, threading, time
		ctx, daemon = sys.argv[1], int(sys.argv[2])
		def write(path, text):
		    fd = os.open(ctx + path, os.O_WRONLY)
		    return threading.Thread(target=os.write, args=(fd, text))
		def waits(thread):
		    with open("/proc/self/task/%d/syscall" % thread.native_id) as f:
		        return f.read().startswith("1 ")
		threads = [write("/regs", b"pmd0 1\n" * 500), write("/pmd/0", b"7")]
		os.kill(daemon, signal.SIGSTOP)
		for t in threads:
		    t.start()
		    while not waits(t):
		        time.sleep(0.01)
		os.kill(daemon, signal.SIGCONT)
		for t in threads:
		    t.join()
	END
	bounded python3 "$BATS_TEST_TMPDIR/overtake" "$C" "$DAEMON"
	# The long one was processed last.
	holds "$C/pmd/0" 1
}
