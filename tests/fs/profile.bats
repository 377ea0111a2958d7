# SPDX-License-Identifier: MIT
# Sampling from end to end: profiles of a known program, by cpu-clock of the perf backend. As the
# machine may be busy, the tests wait for samples of that program, not for a time.

load common

setup() {
	mapfile -t cpus < <(awk '$1 ~ /^processor/ { print $3 }' /proc/cpuinfo)
	[ "${#cpus[@]}" -ge 2 ] || skip "needs two CPUs"
	perfmonfs_can_tell || skip "the kernel does not let us know who is running"
	# Up to 4000 samples a second are taken.
	[ "$(cat /proc/sys/kernel/perf_event_max_sample_rate)" -ge 8000 ] ||
		skip "kernel.perf_event_max_sample_rate is below 8000"
	BURNERS=()
	bench_setup
	for program in tests/fs/burner tests/fs/smplread; do
		[ -x "$BATS_RUN_TMPDIR/${program##*/}" ] || cp "$BUILD/$program" "$BATS_RUN_TMPDIR"
	done
	BURN=${cpus[1]}
	# The burner uses all of its CPU; of the daemon's threads, only the worker runs there.
	taskset -pc "${cpus[0]}" "$BASHPID" >/dev/null
	RANGES=$BATS_TEST_TMPDIR/ranges
	PROFILE=$BATS_TEST_TMPDIR/profile
}

teardown() {
	burnt_out
	bench_teardown
}

burnt_out() {
	[ "${#BURNERS[@]}" = 0 ] || kill "${BURNERS[@]}"
	BURNERS=()
}

perfmonfs_can_tell() {
	"$BUILD/daemon/perfmonfs" --check --backend=perf | grep -q "samples name the running thread"
}

# burn MODE...: sets RANGES to the addresses of its functions, PID and TID to its busy thread
burn() {
	rm -f "$RANGES"
	burner "$BURN" "$@" >"$RANGES" 3>&- &
	BURNERS+=($!)
	until_ok grep -qs thread "$RANGES"
	read -r _ PID TID < <(grep thread "$RANGES")
}

# sampling TICK-US PERIOD-NS SIZE [OPTION...]: a running context on the burner's CPU
sampling() {
	local clock

	clock=$(awk '$1 == "cpu-clock" { print $2 }' "$MNT/pmu/events")
	put ok "$MNT/config/tick_us" "$1"
	put ok "$MNT/config/overflow_rate_max" 1000000
	new a
	put ok "$C/format" "default size=$3 compact"
	put ok "$C/pmc/0" "$clock"
	put ok "$C/pmd/0" "-$2 short=-$2 long=-$2 notify ${*:4}"
	ctl "load cpu=$BURN"
	ctl start
}

# profile SAMPLES [-w]: sets PROFILE to the output of smplread for SAMPLES of the burner
profile() {
	timeout -s KILL "$PATIENCE" smplread "${@:2}" "$C" "$1" "$RANGES" >"$PROFILE" || {
		cat "$PROFILE" "$C/last_error" "$C/state"
		cat "$C/pmd/0" || cat "$C/last_error"
		return 1
	}
}

# share_is FUNCTION PERCENT TOLERANCE: its share of the samples in the burner's functions. A sample
# stands for all overflows of its tick, so where a host took the CPU, one stands for hundreds.
share_is() {
	awk -v f="$1" -v want="$2" -v by="$3" -v tid="$TID" '
		$1 == "count" && $3 == tid && length($4) == 1 && $4 != "-" { all += $5 }
		$1 == "count" && $3 == tid && $4 == f { its += $5 }
		END {
			is = all ? 100 * its / all : 0
			printf "%s: %.2f %% of %d samples, should be %d %%\n", f, is, all, want
			exit !(is >= want - by && is <= want + by)
		}' "$PROFILE"
}

# attributed: all samples in the burner's functions are the burner's
attributed() {
	awk -v pid="$PID" -v tid="$TID" '
		$1 != "count" { next }
		$4 ~ /^[a-f]$/ && ($2 != pid || $3 != tid) { print "not the burner: " $0; bad = 1 }
		$3 == tid && $2 != pid { print "another process: " $0; bad = 1 }
		END { exit bad }' "$PROFILE"
}

# 10000 samples: the standard deviation of a share of 60 % is half a point.
known_profile() {
	burn shares
	sampling 250 250000 65536
	profile 10000 "$@"
	share_is a 60 2
	share_is b 30 2
	share_is c 10 2
	attributed
	burnt_out
}

@test "60, 30 and 10 % are what is seen, in a mapping" {
	serve --backend=perf
	known_profile
}

@test "60, 30 and 10 % are what is seen without passthrough" {
	serve --backend=perf -o nopassthrough
	known_profile
}

# -w: at any time, the first samples of the buffer are complete and in order.
watched() {
	burn shares
	sampling 250 250000 32768
	profile 3000 -w "$@"
	grep -E '^polls [0-9]{2,}$' "$PROFILE"
	[ "$(awk '$1 == "rounds" { print $2 }' "$PROFILE")" -ge 3 ]
	attributed
	burnt_out
}

@test "a mapping that is read in a loop shows complete samples" {
	serve --backend=perf
	watched
}

@test "a mapping that is read in a loop shows complete samples, without passthrough" {
	serve --backend=perf -o nopassthrough
	watched
}
