# SPDX-License-Identifier: MIT
# Virtual PMDs through the mount: read, sampled, and added by a PMU description.

load common

# An event that the simulator counts 2000 times per microsecond at user level.
USER=0x4100c0

# describe NAME LINE: a PMU description with LINE added
describe() {
	local file=$BATS_TEST_TMPDIR/$1

	{
		cat "$BATS_TEST_DIRNAME/../fuzz/corpus/pmu/intel_arch_v4"
		printf '%s\n' "$2"
	} >"$file"
	chmod 644 "$file"
}

@test "the clock rises, and shows CLOCK_MONOTONIC" {
	serve --backend=perf
	new a
	first=$(bounded cat "$C/pmd/256")
	now=$(monotonic_ns)
	second=$(bounded cat "$C/pmd/256")
	[ "$first" -lt "$((now + 1000))" ]
	[ "$now" -lt "$((second + 1000))" ]
	[ "$(bounded cat "$C/pmd/258")" -gt 4096 ]
	[ "$(bounded cat "$C/pmd/258")" -lt "$(awk '/^MemTotal/ { printf "%.0f", $2 * 1024 }' /proc/meminfo)" ]
	[[ $(bounded cat "$C/pmd/259") =~ ^[0-9]+$ ]]
}

@test "the simulator has its own clock, the same in all sets" {
	serve --backend=sim
	new a
	probe ok mkdir "$C/set/1"
	before=$(bounded cat "$C/pmd/256")
	holds "$C/set/1/pmd/256" "$before"
	advance 12345
	holds "$C/set/1/pmd/256" $((before + 12345))
}

@test "all PMDs that are listed can be read" {
	serve --backend=sim
	new a
	run -0 bounded cat "$C"/pmd/*
	[ "${#lines[@]}" = "$(ls "$C/pmd" | wc -l)" ]
	probe ENOENT open "$C/pmd/99" rdonly
	sentence "$C/last_error" 259
}

@test "read-only; no CPU time without a thread" {
	serve --backend=sim
	new a
	probe EACCES open "$C/pmd/256" wronly
	sentence "$C/last_error" read-only
	put EACCES "$C/regs" "pmd256 5"
	sentence "$C/last_error" virtual
	put EINVAL "$C/pmd/0" "0 reset=256"
	sentence "$C/last_error" virtual
	put EINVAL "$C/pmd/0" "0 smpl=271"
	sentence "$C/last_error" pmd271
	probe ENODATA pread "$C/pmd/257" 100 0
	sentence "$C/last_error" smpl=257
	probe ENODATA pread "$C/pmd/261" 100 0
	probe ENODATA pread "$C/pmd/263" 100 0
	probe ENOENT open "$C/pmd/271" rdonly
	probe ENOENT open "$C/pmc/256" rdonly
	run -1 grep pmd25 "$C/regs" "$C/set/0/overflows"
	put ok "$C/pmd/0" "7 smpl=1,256-258"
	[ "$(grep pmd0 "$C/regs")" = "pmd0 7 long=7 short=7 smpl=1,256-258" ]
	bounded cat "$C/regs" >"$BATS_TEST_TMPDIR/saved"
	bounded cp "$BATS_TEST_TMPDIR/saved" "$C/regs"
}

# times_of PID: the CPU times in its samples of 48 bytes; the pid comes first, the time last
times_of() {
	od -An -v -tu4 -w48 -j 128 "$C/buffer" | awk -v p="$1" '$1 == p { print $11 + 4294967296 * $12 }'
}

@test "CPU time of the interrupted thread" {
	command -v taskset >/dev/null || skip "needs taskset (util-linux)"
	serve --backend=perf
	new a
	put ok "$C/format" "default size=65536"
	put ok "$C/pmc/0" 0x0100000000430001
	put ok "$C/pmd/0" "-5000000 short=-5000000 smpl=257"
	ctl "load cpu=0"
	taskset -c 0 bash -c 'while :; do :; done' 3>&- 4>&- &
	burner=$!
	ctl start
	until_ok eval '[ "$(times_of $burner | sort -u | wc -l)" -ge 3 ]'
	ctl stop
	kill $burner
	times_of $burner >"$BATS_TEST_TMPDIR/times"
	cat "$BATS_TEST_TMPDIR/times"
	# Overflows that are found together are samples with the same time.
	sort -n -c "$BATS_TEST_TMPDIR/times"
	[ "$(tail -n 1 "$BATS_TEST_TMPDIR/times")" -lt 100000000000 ]
}

@test "a number in a file that a description names" {
	file=$BATS_TEST_TMPDIR/number
	echo "fan: 1200 rpm" >"$file"
	chmod 644 "$file"
	describe pmu "virtual 272 fan file=$file"
	serve --backend=sim:intel_v4 --pmu="$BATS_TEST_TMPDIR/pmu"
	[ "$(tail -n 1 "$MNT/pmu/pmds")" = "272 fan virtual 0x0 0x0000000000000000 0xffffffffffffffff" ]
	new a
	holds "$C/pmd/272" 1200
	echo -5 >"$file"
	holds "$C/pmd/272" 18446744073709551611
	: >"$file"
	probe EIO pread "$C/pmd/272" 100 0
	sentence "$C/last_error" "$file"
	echo 7 >"$file.new"
	mv "$file.new" "$file"
	holds "$C/pmd/272" 7
	rm "$file"
	probe EIO pread "$C/pmd/272" 100 0
	echo 8 >"$file"
	chmod 600 "$file"
	probe EIO pread "$C/pmd/272" 100 0
	chmod 644 "$file"
	holds "$C/pmd/272" 8
}

# serve_slow: pmd272 is a file of another daemon, MSRSIM: reading it takes as long as that is stopped
serve_slow() {
	perfmonfs -f --backend=sim "$CPU" 3>&- 4>&- 5>&- &
	MSRSIM=$! # teardown() ends it
	until_ok test -e "$CPU/config/tick_us"
	describe pmu "virtual 272 slow file=$CPU/config/tick_us"
	serve --backend=sim:intel_v4 --pmu="$BATS_TEST_TMPDIR/pmu"
}

@test "a device that takes long delays its reader, and no other request" {
	serve_slow
	put ok "$CPU/config/tick_us" 500
	new a
	new b
	put ok "$C/ctl" "load cpu=1"
	for context in a b; do
		holds "$MNT/ctx/$context/pmd/272" 500
		kill -STOP "$MSRSIM"
		bounded cat "$MNT/ctx/$context/pmd/272" >"$BATS_TEST_TMPDIR/read" &
		sleep 0.1
		for _ in 1 2 3; do timeout 10 cat "$MNT/stats" "$MNT/ctx/b/pmd/0" "$MNT/pmu/readings" >/dev/null; done
		[ ! -s "$BATS_TEST_TMPDIR/read" ]
		kill -CONT "$MSRSIM"
		wait $!
		holds "$BATS_TEST_TMPDIR/read" 500
	done
	# Its reader may be killed meanwhile.
	kill -STOP "$MSRSIM"
	cat "$MNT/ctx/b/pmd/272" &
	sleep 0.1
	kill -KILL $!
	fails wait $!
	kill -CONT "$MSRSIM"
	holds "$MNT/ctx/b/pmd/272" 500
	# And the daemon may end.
	kill -STOP "$MSRSIM"
	bounded cat "$MNT/ctx/b/pmd/272" 2>"$BATS_TEST_TMPDIR/error" &
	sleep 0.1
	stop_daemon
	fails wait $!
	grep -q "No such device" "$BATS_TEST_TMPDIR/error"
	kill -CONT "$MSRSIM"
}

# Only a worker reads the file of a sample, and a context that has yielded takes none.
@test "a device that takes long does not delay a stop of a context that has yielded" {
	serve_slow
	new site
	put ok "$C/flags" background
	put ok "$C/format" "default size=4096"
	put ok "$C/regs" "pmc0 $USER\npmd0 -2000000 smpl=272"
	ctl "load cpu=1"
	ctl start
	new job
	ctl "load cpu=1"
	grep -q "^yielded" "$MNT/ctx/site/state"
	kill -STOP "$MSRSIM"
	{ sleep 10; kill -CONT "$MSRSIM"; } 3>&- 4>&- 5>&- &
	later=$! begun=$SECONDS
	C=$MNT/ctx/site
	ctl stop
	grep -q "^yielded" "$C/state"
	ctl unload
	[ $((SECONDS - begun)) -lt 9 ]
	kill $later
	kill -CONT "$MSRSIM"
}
