# SPDX-License-Identifier: MIT
# config/grants: rights to load by user and CPU, what a revocation unloads, and what a restart keeps.

load common

GID=54321
KERNEL=0x4200c0

teardown() {
	[ -z "${DAEMON-}" ] || printf -- '-uid=%d\n-uid=12345\n' "$NOBODY" >"$MNT/config/grants" || :
	bench_teardown
}

# theirs NAME: a context of the user nobody; C is its directory
theirs() {
	C=$MNT/ctx/$1
	as nobody probe ok mkdir "$C"
}

grants() {
	put "$1" "$MNT/config/grants" "$2"
}

state_is() {
	[ "$(cat "$C/state")" = "$1" ]
}

@test "a grant allows a load on its CPUs and nowhere else" {
	serve --backend=sim
	put ok "$MNT/config/sys_group" none
	theirs a
	as nobody put EPERM "$C/ctl" "load cpu=1"
	as nobody sentence "$C/last_error" config/grants
	grants ok "uid=$NOBODY cpus=1-2"
	as nobody put EPERM "$C/ctl" "load cpu=0"
	as nobody put ok "$C/ctl" "load cpu=1"
	as nobody put ok "$C/ctl" start
	as nobody put ok "$C/ctl" unload
	as nobody put ok "$C/ctl" "load cpu=2"
	as nobody put ok "$C/ctl" unload
	grants ok "uid=12345 cpus=3"
	as nobody put EPERM "$C/ctl" "load cpu=3"
}

@test "each user sees its own grants, root all, and root alone writes" {
	serve --backend=sim
	grants ok "uid=$NOBODY cpus=1-2 expires=+5000\nuid=12345 cpus=0-3 kernel"
	[ "$(wc -l <"$MNT/config/grants")" = 2 ]
	run -0 setpriv --reuid=$NOBODY --clear-groups cat "$MNT/config/grants"
	[[ $output =~ ^uid=$NOBODY\ cpus=1-2\ expires=[0-9]+$ ]]
	run -0 setpriv --reuid=777 --clear-groups cat "$MNT/config/grants"
	[ -z "$output" ]
	as nobody put EACCES "$MNT/config/grants" "uid=$NOBODY cpus=0"
	cp "$MNT/config/grants" "$BATS_TEST_TMPDIR/saved"
	grants ok "-uid=$NOBODY\n-uid=12345"
	[ -z "$(cat "$MNT/config/grants")" ]
	cat "$BATS_TEST_TMPDIR/saved" >"$MNT/config/grants"
	cmp "$BATS_TEST_TMPDIR/saved" "$MNT/config/grants"
}

@test "a write that is refused changes nothing" {
	serve --backend=sim
	grants ok "uid=$NOBODY cpus=1"
	grants EINVAL "-uid=$NOBODY\nuid=5"
	sentence "$MNT/last_error" "line 2"
	grants EINVAL "uid=5 cpus=4"
	sentence "$MNT/last_error" CPUs
	holds "$MNT/config/grants" "uid=$NOBODY cpus=1"
}

@test "a revocation unloads what needed the grant, before the write returns" {
	serve --backend=sim
	put ok "$MNT/config/sys_group" $GID
	grants ok "uid=$NOBODY cpus=0-3"
	theirs a && as nobody put ok "$C/pmc/0" 0x4100c0 && as nobody put ok "$C/ctl" "load cpu=0"
	as nobody put ok "$C/ctl" start
	theirs b && as nobody put ok "$C/ctl" "load cpu=1"
	theirs c && as $GID put ok "$C/ctl" "load cpu=2"
	advance 1000000
	grants ok "-uid=$NOBODY cpus=0,2"
	C=$MNT/ctx/a && state_is unloaded
	as nobody sentence "$C/last_error" revoked
	[ "$(cat "$C/pmd/0")" -gt 0 ]
	as nobody put EPERM "$C/ctl" "load cpu=0"
	C=$MNT/ctx/b && state_is "loaded cpu=1 set=0"
	C=$MNT/ctx/c && state_is "loaded cpu=2 set=0"
	new mine && ctl "load cpu=0"
	# Replaced in one write: what both have stays.
	grants ok "-uid=$NOBODY\nuid=$NOBODY cpus=1"
	C=$MNT/ctx/b && state_is "loaded cpu=1 set=0"
	grants ok "-uid=$NOBODY"
	state_is unloaded
}

@test "kernel level: on the granted CPUs alone, and revoked with the grant" {
	serve --backend=sim
	put ok "$MNT/config/sys_group" none
	grants ok "uid=$NOBODY cpus=0"
	theirs a
	as nobody put EACCES "$C/pmc/0" $KERNEL
	grants ok "uid=$NOBODY cpus=1 kernel"
	as nobody put ok "$C/pmc/0" $KERNEL
	as nobody put EACCES "$C/ctl" "load cpu=0"
	as nobody put ok "$C/ctl" "load cpu=1"
	as nobody put ok "$C/ctl" start
	grants ok "uid=$NOBODY cpus=1"
	state_is unloaded
	as nobody put EACCES "$C/ctl" "load cpu=1"
	# Written while it is loaded where kernel level is not granted.
	grants ok "uid=$NOBODY cpus=2 kernel"
	as nobody put ok "$C/pmc/0" 0
	as nobody put ok "$C/ctl" "load cpu=0"
	as nobody put EACCES "$C/pmc/0" $KERNEL
	as nobody put ok "$C/ctl" unload
	# Needed by a later write alone.
	put ok "$MNT/config/sys_group" $GID
	put ok "$MNT/config/allow_kernel" root
	grants ok "-uid=$NOBODY"
	as $GID put ok "$C/ctl" "load cpu=2"
	grants ok "uid=$NOBODY cpus=2 kernel"
	as $GID put ok "$C/pmc/0" $KERNEL
	as $GID put ok "$C/ctl" start
	grants ok "-uid=$NOBODY"
	state_is unloaded
}

@test "a grant expires: what needs it is unloaded" {
	serve --backend=sim
	put ok "$MNT/config/sys_group" none
	grants ok "uid=$NOBODY cpus=0-1 expires=+3000"
	theirs a && as nobody put ok "$C/ctl" "load cpu=0"
	theirs b && as nobody put ok "$C/ctl" "load cpu=1"
	grants ok "uid=$NOBODY cpus=0 expires=+1"
	C=$MNT/ctx/a
	until_ok state_is unloaded
	as nobody put EPERM "$C/ctl" "load cpu=0"
	[ "$(wc -l <"$MNT/config/grants")" = 1 ]
	C=$MNT/ctx/b && state_is "loaded cpu=1 set=0"
}

@test "a grant lets its user make contexts, and load on no thread" {
	serve --backend=sim
	put ok "$MNT/config/sys_group" none
	put ok "$MNT/config/thread_group" none
	as nobody probe EPERM mkdir "$MNT/ctx/x"
	grants ok "uid=$NOBODY cpus=1"
	theirs x
	as nobody put EPERM "$C/ctl" "load tid=1"
}

@test "grants survive a restart, a kill, and are of their mount point" {
	serve --backend=sim
	grants ok "uid=$NOBODY cpus=1-2 kernel\nuid=12345 cpus=0 expires=+1"
	stop_daemon
	sleep 1.1
	serve --backend=sim
	holds "$MNT/config/grants" "uid=$NOBODY cpus=1-2 kernel"
	theirs a && as nobody put ok "$C/ctl" "load cpu=1"
	kill -KILL "$DAEMON"
	wait "$DAEMON" || :
	until_ok not_mounted
	serve --backend=sim
	holds "$MNT/config/grants" "uid=$NOBODY cpus=1-2 kernel"
	theirs a && as nobody put ok "$C/ctl" "load cpu=1"
	grants ok "-uid=$NOBODY"
	state_is unloaded
	stop_daemon
	serve --backend=sim
	holds "$MNT/config/grants" ""
}

@test "grants for CPUs that are no more hinder no other ones" {
	serve --backend=sim --sim-cpus=8
	grants ok "uid=$NOBODY cpus=7"
	stop_daemon
	serve --backend=sim
	grants ok "uid=12345 cpus=1"
	grants EINVAL "uid=12345 cpus=7"
	grants ok "-uid=12345"
	holds "$MNT/config/grants" "uid=$NOBODY cpus=7"
}

@test "users load, die and are granted at random: each load is as granted" {
	cat >"$BATS_TEST_TMPDIR/storm" <<-'END'
		import os, random, signal, subprocess, sys, time
		mnt, seed = sys.argv[1], int(sys.argv[2])
		rng = random.Random(seed)
		granted = {}
		CLIENT = """
		import os, sys
		os.setgroups([]); os.setgid(65534); os.setuid(int(sys.argv[2]))
		fd = os.open(sys.argv[1] + "/clone", os.O_RDWR)
		name, = [p for p in (sys.argv[1] + "/ctx/" + n for n in os.listdir(sys.argv[1] + "/ctx"))
		         if os.stat(p).st_uid == int(sys.argv[2])]
		try:
		    with open(name + "/ctl", "w") as f:
		        f.write("load cpu=" + sys.argv[3])
		    print("ok", name, flush=True)
		except OSError as e:
		    print(e.errno, name, flush=True)
		sys.stdin.read()
		"""
		def write(line):
		    with open(mnt + "/config/grants", "w") as f:
		        f.write(line)
		clients = {}
		for step in range(120):
		    uid, cpu = 20000 + rng.randrange(3), rng.randrange(4)
		    what = rng.randrange(4)
		    if what == 0:
		        write("uid=%d cpus=%d\n" % (uid, cpu)); granted[uid, cpu] = True
		    elif what == 1:
		        write("-uid=%d cpus=%d\n" % (uid, cpu)); granted.pop((uid, cpu), None)
		        if (uid) in clients and clients[uid][1] == cpu:
		            state = open(clients[uid][2] + "/state").read()
		            assert state == "unloaded\n", state
		    elif uid in clients:
		        p, c, name = clients.pop(uid)
		        p.send_signal(signal.SIGKILL if what == 2 else signal.SIGTERM); p.wait()
		        p.stdout.close(); p.stdin.close()
		        while os.path.exists(name): # the kernel closes files of the dead later
		            time.sleep(0.01)
		    else:
		        p = subprocess.Popen([sys.executable, "-c", CLIENT, mnt, str(uid), str(cpu)],
		                             stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
		        rc, name = p.stdout.readline().split()
		        taken = any(c == cpu and open(n + "/state").read() != "unloaded\n"
		                    for q, c, n in clients.values())
		        want = ["1"] if (uid, cpu) not in granted else ["16"] if taken else ["ok"]
		        assert rc in want, (seed, step, uid, cpu, rc, want)
		        clients[uid] = (p, cpu, name)
		for p, c, n in clients.values():
		    p.kill(); p.wait(); p.stdout.close(); p.stdin.close()
		write("-uid=20000\n-uid=20001\n-uid=20002\n")
		print("done")
	END
	serve --backend=sim
	put ok "$MNT/config/sys_group" none
	run -0 python3 "$BATS_TEST_TMPDIR/storm" "$MNT" 1
	[ "$output" = done ]
	until_ok no_contexts
}
