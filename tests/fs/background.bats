# SPDX-License-Identifier: MIT
# Contexts with the flag background give way to others, and come back by themselves.

load common

GID=54321
PMC=0x4100c0

# background NAME CPU: a background context that runs there; C is its directory
background() {
	new "$1"
	put ok "$C/flags" background
	put ok "$C/pmc/0" $PMC
	ctl "load cpu=$2"
	ctl start
}

# in_context NAME: C is its directory
in_context() {
	C=$MNT/ctx/$1
}

state_is() {
	[ "$(bounded cat "$C/state")" = "$1" ]
}

becomes() {
	until_ok state_is "$1"
}

counts() {
	cat "$C/pmd/0"
}

# rate: events that PMC counts in a millisecond
rate() {
	new rate && put ok "$C/pmc/0" $PMC && ctl "load cpu=0" && ctl start && advance 1000000
	counts
	probe ok rmdir "$C"
}

@test "a load makes a background context give way, and its end brings it back" {
	serve --backend=sim
	rate=$(rate)
	background site 1
	advance 1000000
	[ "$(counts)" = "$rate" ]
	new job && put ok "$C/pmc/0" $PMC && ctl "load cpu=1" && ctl start
	in_context site && state_is "yielded cpu=1 set=0 gaps=1"
	grep -q "^1 online context=job .* yielded=site$" "$MNT/cpus"
	advance 2000000
	[ "$(counts)" = "$rate" ]
	in_context job && [ "$(counts)" = $((2 * rate)) ] && ctl unload
	in_context site && becomes "running cpu=1 set=0 gaps=1"
	advance 3000000
	[ "$(counts)" = $((4 * rate)) ]
	grep -q "^pmd0 $((4 * rate)) .*gaps=1 uncertain=2000000" "$C/regs"
	[ "$(cat "$C/set/0/active_ns")" = 4000000 ]
}

# number OFFSET: of 64 bits, in the buffer
number() {
	od -An -tu8 -j "$1" -N 8 "$C/buffer" | tr -d ' '
}

# yields: to another context, for 2 ms of the model
yields() {
	new job && put ok "$C/pmc/0" $PMC && ctl "load cpu=1" && ctl start
	advance 2000000
	probe ok rmdir "$C"
	in_context site && until_ok grep -q "^running" "$C/state"
}

@test "the buffer shows where samples are missing" {
	local before

	serve --backend=sim
	new site
	put ok "$C/flags" background
	put ok "$C/format" "default size=65536"
	put ok "$C/regs" "pmc0 $PMC\npmd0 -100000 long=-100000 short=-100000"
	ctl "load cpu=1"
	ctl start
	advance 1000000
	before=$(number 0)
	[ "$before" -gt 0 ] && [ "$(number 96)" = 0 ]
	yields
	advance 1000000
	[ "$(number 88)" = 1 ]
	[ "$(number 96)" = $((before + 1)) ] && [ "$(number 0)" -gt "$before" ]
	# Among the time stamps, there is a hole of 2 ms and no other.
	od -An -v -tu8 -w40 -j 128 -N $((40 * $(number 0))) "$C/buffer" |
		awk -v gap=$((before + 1)) '
			NR > 1 && ($4 - last >= 2000000) != (NR == gap) { exit wrong = 1 }
			{ last = $4 }
			END { exit wrong || NR <= gap }'
	yields
	ctl restart
	[ "$(number 0)" = 0 ] && [ "$(number 96)" = 1 ]
	advance 1000000
	ctl restart
	[ "$(number 96)" = 0 ] && [ "$(number 88)" = 2 ]
}

@test "each command on a context that has yielded" {
	serve --backend=sim
	rate=$(rate)
	background site 1
	new job && ctl "load cpu=1"
	in_context site && state_is "yielded cpu=1 set=0 gaps=1"
	refused EBUSY "load cpu=2" "already loaded"
	put EBUSY "$C/flags" none
	ctl stop
	state_is "yielded cpu=1 set=0 stopped gaps=1"
	put ok "$C/pmd/0" 7
	probe ok rmdir "$MNT/ctx/job"
	becomes "loaded cpu=1 set=0 gaps=1"
	advance 1000000
	[ "$(counts)" = 7 ]
	new job && ctl "load cpu=1"
	in_context site && ctl start
	state_is "yielded cpu=1 set=0 gaps=1"
	advance 1000000
	probe ok rmdir "$MNT/ctx/job"
	becomes "running cpu=1 set=0 gaps=1"
	advance 1000000
	[ "$(counts)" = $((7 + rate)) ]
	new job && ctl "load cpu=1"
	in_context site && ctl unload
	state_is "unloaded gaps=2"
	in_context job && ctl unload
	in_context site && state_is "unloaded gaps=2"
	ctl "load cpu=2" && ctl start && state_is "running cpu=2 set=0"
	new job && ctl "load cpu=2"
	probe ok rmdir "$MNT/ctx/site"
	ctl unload
	grep -q "^2 online free$" "$MNT/cpus"
}

@test "background contexts do not evict each other, and come back in turn" {
	serve --backend=sim
	background first 1
	new second && put ok "$C/flags" background
	refused EBUSY "load cpu=1" first
	new job && ctl "load cpu=1"
	in_context second && refused EBUSY "load cpu=1" job
	new other
	refused EBUSY "load cpu=1" job
	in_context job && ctl unload
	in_context first && becomes "running cpu=1 set=0 gaps=1"
}

@test "a load that fails brings it back" {
	serve --backend=sim
	rate=$(rate)
	background site 1
	put ok "$MNT/sim/poke" "1 0x187 0x4300c0"
	new job && put ok "$C/pmc/1" $PMC
	refused EBUSY "load cpu=1" pmc1
	in_context site && becomes "running cpu=1 set=0 gaps=1"
	advance 1000000
	[ "$(counts)" = "$rate" ]
}

@test "what is not free at its return is tried again, and told" {
	serve --backend=sim
	background site 1
	new job && ctl "load cpu=1"
	put ok "$MNT/sim/poke" "1 0x186 0x4300c0"
	ctl unload
	in_context site
	until_ok sentence "$C/last_error" "cannot resume"
	state_is "yielded cpu=1 set=0 gaps=1"
	put ok "$MNT/sim/poke" "1 0x186 0"
	becomes "running cpu=1 set=0 gaps=1"
	in_context job && ctl "load cpu=1"
	put ok "$MNT/sim/offline" 1
	ctl unload
	in_context site
	until_ok sentence "$C/last_error" offline
	put ok "$MNT/sim/offline" "\n"
	becomes "running cpu=1 set=0 gaps=2"
}

@test "root and sys_group alone make contexts background, for CPUs" {
	serve --backend=sim
	put ok "$MNT/config/sys_group" $GID
	C=$MNT/ctx/a
	as nobody probe ok mkdir "$C"
	as nobody put EPERM "$C/flags" background
	as nobody sentence "$C/last_error" sys_group
	as $GID put ok "$C/flags" background
	as nobody put ok "$C/flags" none
	put EINVAL "$C/flags" "background notify_block"
	put EINVAL "$C/flags" "background gaps"
	put ok "$C/flags" background
	put EINVAL "$C/ctl" "load tid=$$"
	stop_daemon
	serve --backend=perf
	new a && put ok "$C/flags" background
	refused EINVAL "load tid=$$" background
}

@test "the daemon ends while a context has yielded: each register is as before" {
	serve_msrsim
	before=$(msr 1 0x186)
	serve --dev="$CPU"
	background site 1
	new job && put ok "$C/pmc/0" $PMC && ctl "load cpu=1" && ctl start
	stop_daemon
	[ "$(msr 1 0x186)" = "$before" ]
}

# needs_threads: two CPUs, and threads that ctxsw threads can serve
needs_threads() {
	[ "$(nproc)" -ge 2 ] || skip "needs two CPUs"
	perfmonfs --check --backend=perf >"$BATS_TEST_TMPDIR/check" || :
	grep -q "ok *threads: " "$BATS_TEST_TMPDIR/check" || skip "no thread can be followed here"
}

@test "threads that ctxsw threads serve make it give way" {
	needs_threads
	serve --backend=perf --threads=ctxsw
	PMC=page-faults:u background site 1
	sleep 100 3>&- &
	pid=$!
	new thread && put ok "$C/pmc/0" page-faults:u && ctl "load tid=$pid"
	in_context site && state_is "yielded cpu=1 set=0 gaps=1"
	new other && put ok "$C/flags" background && refused EBUSY "load cpu=0" threads
	in_context thread && ctl unload
	in_context site && becomes "running cpu=1 set=0 gaps=1"
	in_context thread && ctl "load tid=$pid cpus=0"
	in_context site && state_is "running cpu=1 set=0 gaps=1"
	in_context other && put EBUSY "$C/ctl" "load cpu=0"
	kill "$pid"
}

@test "threads that the kernel switches do not" {
	needs_threads
	serve --backend=perf
	PMC=page-faults:u background site 1
	sleep 100 3>&- &
	pid=$!
	new thread && put ok "$C/pmc/0" page-faults:u && ctl "load tid=$pid"
	in_context site && state_is "running cpu=1 set=0"
	kill "$pid"
}

@test "loads, stops, ends and kills at random: a background context counts what is its own" {
	cat >"$BATS_TEST_TMPDIR/storm" <<-'END'
		import os, random, subprocess, sys, time
		mnt, seed, rate = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
		rng = random.Random(seed)
		CLIENT = """
		import os, sys
		mnt, cpu, flags, kind = sys.argv[1:]
		before = set(os.listdir(mnt + "/ctx"))
		if kind == "2":
		    os.mkdir(mnt + "/ctx/sampling%d" % os.getpid())
		else:
		    clone = os.open(mnt + "/clone", os.O_RDWR)
		name, = set(os.listdir(mnt + "/ctx")) - before
		at = mnt + "/ctx/" + name
		def put(file, text):
		    with open(at + "/" + file, "w") as f:
		        f.write(text)
		try:
		    put("flags", flags)
		    put("pmc/0", "0x4100c0")
		    if kind == "2":
		        put("format", "default size=65536")
		    put("pmd/0", "0" if kind == "0" else "-1000000 short=-5000000 long=-5000000")
		    put("ctl", "load cpu=" + cpu)
		    put("ctl", "start")
		    print("ok", at, flush=True)
		except OSError as e:
		    print(e.errno, at, flush=True)
		sys.stdin.read()
		"""
		class Context:
		    def __init__(self, cpu, background):
		        self.cpu, self.background, self.started, self.loaded = cpu, background, True, True
		        self.kind = rng.randrange(3)
		        self.count = 0 if not self.kind else (1 << 64) - 1000000
		        self.p = subprocess.Popen([sys.executable, "-c", CLIENT, mnt, str(cpu),
		            "background" if background else "none", str(self.kind)],
		            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
		        self.rc, self.at = self.p.stdout.readline().split()
		    def put(self, text):
		        with open(self.at + "/ctl", "w") as f:
		            f.write(text)
		    def end(self):
		        self.p.kill(); self.p.wait(); self.p.stdin.close(); self.p.stdout.close()
		        if self.kind == 2:
		            os.rmdir(self.at)
		        while os.path.exists(self.at):
		            time.sleep(0.005)
		    def state(self):
		        return open(self.at + "/state").read().split()
		    def add(self, n):
		        self.count += n
		        while self.count >= 1 << 64: # it has overflowed, and was reset
		            self.count -= 5000000
		def has_cpu(c):
		    others = [o for o in contexts if o.cpu == c.cpu and o.loaded and not o.background]
		    return c.loaded and (not c.background or not others)
		def settled(c):
		    want = "unloaded" if not c.loaded else "yielded" if not has_cpu(c) else (
		        "running" if c.started else "loaded")
		    for _ in range(2000):
		        if c.state()[0] == want:
		            return True
		        time.sleep(0.01)
		    print(seed, step, c.at, c.state(), want); return False
		contexts = []
		for step in range(60):
		    what, cpu = rng.randrange(6), rng.randrange(2)
		    c = rng.choice(contexts) if contexts else None
		    if what < 2:
		        background = what == 0
		        rivals = [o for o in contexts if o.cpu == cpu and o.loaded]
		        taken = any(not o.background or background for o in rivals)
		        new = Context(cpu, background)
		        assert (new.rc == "16") == taken and new.rc in ("ok", "16"), (
		            seed, step, new.rc, taken, open(new.at + "/last_error").read())
		        if taken:
		            new.end()
		        else:
		            contexts.append(new)
		    elif c and what == 2:
		        contexts.remove(c); c.end()
		    elif c and what == 3 and c.loaded:
		        c.put("stop" if c.started else "start"); c.started = not c.started
		    elif c and what == 4 and c.loaded and rng.randrange(3) == 0:
		        c.put("unload"); c.loaded = c.started = False
		    assert all(settled(o) for o in contexts)
		    ms = 1 + rng.randrange(5)
		    for _ in range(ms):
		        with open(mnt + "/sim/advance", "w") as f:
		            f.write("1000000")
		    for o in contexts:
		        if has_cpu(o) and o.started:
		            o.add(ms * rate)
		        got = int(open(o.at + "/pmd/0").read())
		        assert got == o.count, (seed, step, o.at, o.kind, got, o.count, o.state())
		for o in contexts:
		    o.end()
		print("done")
	END
	serve --backend=sim
	rate=$(rate)
	for seed in 1 2 3; do
		run -0 python3 "$BATS_TEST_TMPDIR/storm" "$MNT" $seed "$rate"
		is done
	done
}
