# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154
# Samples of a thread, each with its call chain: functions for guest.sh, whose helpers they use, and those of
# sets.sh, thread.sh and perf.sh. The overflows are those of user instructions.
#
# The emulated PMU interrupts late: where the program enters the kernel next, or is interrupted by the
# clock. So the shares of functions are not what is tested here. And periods are longer than a tick of
# the kernel's clock: an interrupt that came for several overflows between the kernel's reading of the
# counter and its noting of that would make the kernel's count leap.
ticks_apart=20000000

header() { od -An -t"$2" -j"$1" -N"${2#u}" buffer | tr -d ' '; } # OFFSET TYPE: of the buffer

# chains FORMAT PROGRAM PROCESS THREAD: a line "FUNCTION;CALLER;... OVERFLOWS SOURCE" for each call chain
# of the samples in buffer, and "FUNCTION OVERFLOWS" in a format without. What is above main() is left out;
# what is not the program's is "kernel" or "elsewhere".
chains() {
	perl -e '
		my ($format, $program, $pid, $tid) = @ARGV;
		my ($start, $end, @symbols, %n) = (0);
		open my $maps, "<", "/proc/$pid/maps" or die;
		while (<$maps>) {
			next unless /^([0-9a-f]+)-([0-9a-f]+) .*\Q$program\E$/;
			$start ||= hex $1;
			$end = hex $2;
		}
		for (qx(nm -n "$program")) { push @symbols, [hex $1, $2] if /^([0-9a-f]+) [tT] (\w+)/ }
		sub function_at {
			my ($at, $name) = (shift, "elsewhere");
			return "kernel" if $at >> 63;
			return $name if $at < $start || $at >= $end;
			for (@symbols) { $name = $_->[1] if $_->[0] <= $at - $start }
			return $name;
		}
		open my $buffer, "<", "buffer" or die;
		my $all = do { local $/; <$buffer> };
		my ($count, $offset) = unpack "QQ", $all;
		my ($from, $user) = (128, ~511);
		for (1 .. $count) {
			my ($thread, $pmd, $overflows, $reset, $ip, $time, $cpu, $set, $process) =
				unpack "LSSQQQSSL", substr $all, $from, 40;
			my ($source, @chain) = ("", $ip);
			my $own = $thread == $tid && $process == $pid && $pmd == 0;
			$from += 40;
			if ($format eq "stack") {
				(my ($npmds, $nframes), $source) = unpack "SSS", substr $all, $from, 8;
				@chain = unpack "Q*", substr $all, $from + 8 + 8 * $npmds, 8 * $nframes;
				$from += 8 + 8 * ($npmds + $nframes);
				$own &&= !@chain || $chain[1] == $ip;
				shift @chain while @chain && $chain[0] != $user;
				shift @chain;
			}
			my $text = join ";", map { function_at($chain[$_] - ($_ > 0)) } 0 .. $#chain;
			$text =~ s/;main\K.*//;
			$text = "unknown" if $text eq "";
			$text = "another" unless $own;
			$n{"$text $source"} += $overflows;
		}
		die "samples end at $from, not at $offset" if $from != $offset;
		while (my ($key, $overflows) = each %n) {
			my ($text, $source) = split " ", $key;
			print "$text $overflows $source\n";
		}' "$1" "$here/$2" "$3" "$4" >/tmp/chains
	sed "s/^/# $scenario: $1: /" /tmp/chains
}
overflows_of() { awk -v p="$1" '$1 ~ p { n += $2 } END { print n + 0 }' /tmp/chains; } # PATTERN

# sample FORMAT PERIOD TID: a running context that samples by PMD 0; PMD 1 counts the same events
sample() {
	make_context
	check "$1: a format" write format "$1 size=1048576"
	write pmc/0 $selector
	write pmc/1 $selector
	write pmd/0 "-$2 short=-$2 long=-$2"
	check "$1: load" write ctl "load tid=$3"
	check "$1: start" write ctl start
}
# Each overflow of the counts is a sample, and nothing is missing.
is_complete() { # FORMAT PERIOD
	count=$(cat pmd/1)
	is "$1: nothing is lost" "$(cat last_error) $(header 48 u8) $(header 56 u8) $(header 72 u8) $(header 80 u8)" "ok 0 0 0 0"
	is "$1: overflows of $count events" "$(overflows_of .)" $((count / $2))
	is "$1: what is left of the period" "$(cat pmd/0)" "$(printf %u $((count % $2 - $2)))"
	is "$1: of another thread, or with a wrong address" "$(overflows_of '^another$')" 0
}

# Calls of work() below heavy(), light() and down() are known to their last frame; the C library's
# read() has no frame, and hides the one of in_kernel().
calls='^(work;heavy|work;light|work;down;down;down;down|elsewhere);main$'
calls_are_known() { # SOURCE PERCENT: how many at least
	between "stack: of $(overflows_of .), known chains" "$(overflows_of "$calls")" $(($(overflows_of .) * $2 / 100)) "$(overflows_of .)"
	for f in heavy light down; do
		check "stack: work() below $f()" test "$(overflows_of "^work;$f;")" -gt 0
	done
	# 3: by polling, after a time slice without a tick
	is "stack: how the samples were found" "$(awk '$3 != 3 { print $3 }' /tmp/chains | sort -u) $(header 64 u4)" "$1 $1"
}
begin_calls() {
	taskset -c 1 "$here/caller" 3 &
	caller=$!
	soon grep -qx caller /proc/$caller/comm
}
end_calls() {
	kill $caller
	wait $caller 2>/dev/null
	cd /
	remove a
}

stacks_by_interrupts() { # PERIOD SECONDS
	begin_calls
	sample stack "$1" $caller
	sleep "$2"
	check "stack: stop" write ctl stop
	chains stack caller $caller $caller
	is_complete stack "$1"
	calls_are_known 1 95
	end_calls
}

# Each instruction of the program is known, so the count is, too.
addresses_by_interrupts() { # PERIOD COUNT
	begin_loops 1 1 "$2"
	sample default "$1" "$tid"
	for _ in 1 2 3; do loops_again; done
	check "default: stop" write ctl stop
	chains default loopn "$pid" "$tid"
	is "default: the count is exact" "$(cat pmd/1)" $((3 * truth))
	is_complete default "$1"
	is "default: how the samples were found" "$(header 64 u4)" 1
	between "default: in the loop" "$(overflows_of '^loops$')" $(($(overflows_of .) * 3 / 4)) "$(overflows_of .)"
	# A late interrupt can find it there.
	is "default: or in the kernel" "$(overflows_of '^(loops|kernel)$')" "$(overflows_of .)"
	cd /
	remove a
	end_loops
}

# A counter that interrupts too often is stopped by the kernel: its count is lost, and the sentence says
# what to do.
too_many_a_second() {
	begin_calls
	limits 250 0
	sample stack 100000 $caller
	check "stack: the kernel stops the counter" soon grep -q lost state
	write ctl stop
	check "stack: and that is told" test "$(header 80 u8)" -gt 0
	if v=$(cat pmd/0 2>/dev/null); then not_ok "stack: a number of what it has missed: $v"
	else ok "stack: no number of what it has missed"; fi
	like "stack: a sentence" "$(cat last_error)" "kernel.perf_event_max_sample_rate: write a longer period"
	limits 100000 0
	end_calls
}

# The limit of samples a second; the kernel lowers it as it finds interrupts to take more than PERCENT of
# the time. It can be written only while that is not 0.
limits() { # HZ PERCENT
	write /proc/sys/kernel/perf_cpu_time_max_percent 25
	write /proc/sys/kernel/perf_event_max_sample_rate "$1"
	write /proc/sys/kernel/perf_cpu_time_max_percent "$2"
}

stacked() {
	taskset -pc 0 $$ >/dev/null
	start_daemon --backend=perf
	write $mnt/config/overflow_rate_max 1000000
	limits 100000 0
	stacks_by_interrupts $ticks_apart 4
	addresses_by_interrupts $ticks_apart 200000000
	too_many_a_second
	limits 100000 25
	stop_daemon
	# The msr backend finds stacks by the kernel's clock, if it has interrupted the thread.
	start_daemon
	begin_calls
	sample stack 1000000 $caller
	sleep 3
	check "stack: stop" write ctl stop
	chains stack caller $caller $caller
	calls_are_known 2 75
	end_calls
	stop_daemon
}
