#!/bin/sh
# SPDX-License-Identifier: MIT
# Runs inside the guest, as root, in the directory that holds perfmonfs and loop: one scenario, its
# results as "ok - what" and "not ok - what" lines that the host numbers.
scenario=$1
here=$(pwd)
mnt=/tmp/mnt
mkdir -p $mnt
. ./sets.sh
. ./smpl.sh
. ./stacks.sh
. ./thread.sh
. ./service.sh
. ./perf.sh
. ./pfm.sh
. ./background.sh
. ./readings.sh
. ./self.sh

# While the host stops a CPU of the guest in a thread of the daemon, that thread seems to run. With the
# limit of real-time threads, the scheduler could then take the CPU from it between the stop of one set
# and the start of the next, and the program that is counted would run in between.
echo -1 >/proc/sys/kernel/sched_rt_runtime_us

ok() { echo "ok - $scenario: $*"; }
not_ok() { echo "not ok - $scenario: $*"; }
check() { # WHAT COMMAND...: the command succeeds
	what=$1
	shift
	if "$@" >/tmp/out 2>&1; then ok "$what"; else not_ok "$what"; sed 's/^/# /' /tmp/out; fi
}
is() { # WHAT GOT WANTED
	if [ "$2" = "$3" ]; then ok "$1"; else not_ok "$1: got '$2', wanted '$3'"; fi
}
like() { # WHAT GOT PATTERN
	case $2 in *$3*) ok "$1" ;; *) not_ok "$1: got '$2', wanted '*$3*'" ;; esac
}
write() { echo "$2" 2>/dev/null >"$1"; } # FILE TEXT, quiet

# Waits for the command to succeed; in short sleeps, of which a leap of the guest's clock ends one.
soon() { # COMMAND...
	i=0
	until "$@"; do
		[ $i -lt 600 ] || return
		i=$((i + 1))
		sleep 0.1
	done
}
processes() { pidof perfmonfs | wc -w; }
processes_are() { [ "$(processes)" = "$1" ]; } # HOW-MANY
unmounted() { ! grep -q perfmonfs /proc/mounts; }
# All of its threads have: its files are closed then, of which one is a locked journal.
has_ended() { ! sed 's/.*) //' /proc/"$1"/task/*/stat 2>/dev/null | grep -qv '^[ZX]'; } # PID
kill_daemon() {
	killed=$(pidof perfmonfs)
	pkill -9 -x perfmonfs
	check "the mount went with the daemon" soon unmounted
	for p in $killed; do soon has_ended "$p"; done
}
see_lockdown() {
	[ -e /sys/kernel/security/lockdown ] || mount -t securityfs securityfs /sys/kernel/security
}
restored() { ! grep -q unrestored $mnt/cpus; }

# A scenario takes some ten seconds, or up to 300 where the host has little time for it. One that hangs
# says what each thread in it waits for; and without the daemon it fails, and goes on to its end. So
# nothing else has a time limit. This one waits where nothing is counted, and in parts, for the same
# leaps.
limit=600
watch() {
	taskset -c 0 perl -e 'sleep 10 for 1 .. shift() / 10' $limit
	not_ok "it takes more than $limit s"
	for t in /proc/[0-9]*/task/*; do
		readlink -q "${t%/task/*}/exe" >/dev/null || continue # the kernel's
		echo "# ${t#/proc/} $(cat "$t/comm") $(sed 's/.*) //' "$t/stat" | cut -d' ' -f1,16,37,38) $(cat "$t/syscall")"
		sed 's/\[<0>\] /#   /' "$t/stack" | grep -v entry_SYSCALL | head -n 6
	done 2>/dev/null
	for p in $(pidof perfmonfs); do
		sed 's/^/# /' "/proc/$p/maps" | head -n 3
		kill -KILL "$p"
	done
}

start_daemon() { # OPTION...
	taskset -c 0 "${daemon:-$here/perfmonfs}" "$@" $mnt 2>/tmp/err || { not_ok "daemon starts"; sed 's/^/# /' /tmp/err; exit 1; }
}
stop_daemon() {
	is "no count was taken for one that another program wrote" "$(stat leapt)" 0
	umount $mnt
	soon processes_are 0
	is "daemon ends" "$(pidof perfmonfs)" ""
}
make_context() { mkdir $mnt/ctx/a && cd $mnt/ctx/a || exit 1; }

# All registers of the PMU on these CPUs, as the kernel's driver has them. Where the PMU has them, status
# and in-use registers follow from the others. One program reads all: to start one takes longest here.
registers_of() { # CPU...
	perl -e 'my @addr = split " ", shift;
		for my $cpu (@ARGV) {
			open my $msr, "<:raw", "/dev/cpu/$cpu/msr" or die "CPU $cpu: $!";
			for (@addr) {
				sysseek($msr, hex, 0);
				my $n = sysread($msr, my $v, 8);
				print "$cpu:$_=", $n ? sprintf("%x", unpack("Q", $v)) : $!, " ";
			}
		}' "$(awk '$3 == "msr" { print $4 }' $mnt/pmu/pmcs $mnt/pmu/pmds) $global" "$@"
}
# The address of its global control, or nothing
global_of() { # PMU
	case $1 in
	intel*) echo 0x38f ;;
	amd64_v2) echo 0xc0000301 ;;
	esac
}
registers() { registers_of 1; }
both_cpus() { registers_of 0 1; }

# A loop of known length, five rounds: at most 200 user instructions over the truth in each. A narrow
# counter is looked at every few seconds, which a slow round may take.
exact() { # PMC VALUE PMD
	start_daemon
	is "PMU" "$(cat $mnt/pmu/name)" "$pmu"
	before=$(registers)
	make_context
	check "program PMC $1" write pmc/"$1" "$2"
	check "load" write ctl "load cpu=1"
	n=$(stat polls)
	taskset -c 0 "$here/loop" . 1 "$3" 5 10000000 >/tmp/rounds
	n=$(($(stat polls) - n))
	is "five rounds" "$(wc -l </tmp/rounds)" 5
	while read -r over; do
		between "PMD $3: user instructions over 30,000,008 ($n looks)" "$over" 0 $((200 + n * per_look))
	done </tmp/rounds
	check "unload" write ctl unload
	is "registers are as before" "$(registers)" "$before"
	cd /
	rmdir $mnt/ctx/a
	stop_daemon
}

four='pmc2 0x4100c5
pmc3 0x41003c' # what two more general counters count
if [ "$scenario" != bench ]; then
	watch &
	trap "kill $! 2>/dev/null" EXIT
fi
case $scenario in
intel)
	pmu=intel_arch_v4 global=0x38f
	exact 0 0x5100c0 0
	exact 16 0x2 16
	# CPU 1 has nothing to do: what user instructions there are, reading would have caused.
	taskset -pc 0 $$ >/dev/null
	start_daemon
	make_context
	write pmc/0 0x5100c0
	write ctl "load cpu=1"
	write ctl start
	sleep 0.3
	read -r first <pmd/0
	for _ in 1 2 3 4 5 6 7 8 9; do read -r last <pmd/0; done
	is "reading while it counts adds no user instruction" "$last" "$first"
	write ctl stop
	write pmd/0 7
	write ctl start
	write ctl stop
	spliced=$("$here/fsprobe" splice pmd/0 64 rdonly) # since Linux 6.5 it fails, and programs read
	[ "$spliced" = EINVAL ] || is "splice copies what read gives" "$spliced" "$(od -An -tx1 pmd/0 | tr -d ' ')"
	cd /
	rmdir $mnt/ctx/a
	stop_daemon
	sets "$four" long
	;;
intel2)
	pmu=intel_arch_v2 global=0x38f
	exact 1 0x5100c0 1
	sets 'pmc16 0x22'
	;;
intel5)
	pmu=intel_arch_v5 global=0x38f
	exact 7 0x5100c0 7
	sets "$four"
	;;
amdv2)
	pmu=amd64_v2 global=0xc0000301
	exact 0 0x5100c0 0
	sets "$four"
	;;
amdext)
	pmu=amd64_ext global=
	exact 5 0x5100c0 5
	sets "$four"
	;;
amdlegacy)
	pmu=amd64 global=
	exact 3 0x5100c0 3
	sets "$four"
	;;

taken)
	# Other users of the counters: wrmsr, and the kernel's perf through our own perf backend.
	pmu=intel_arch_v4 global=0x38f
	start_daemon
	make_context
	write pmc/0 0x4100c0
	wrmsr -p 1 0x186 0x4100c4
	write ctl "load cpu=1"
	is "a held counter is not loaded" "$(cat state)" unloaded
	like "the sentence says what holds it" "$(cat last_error)" "another program"
	like "cpus says so" "$(cat $mnt/cpus)" "1 online pmc0 in use by another program"
	is "its selector is untouched" "$(rdmsr -p 1 0x186)" 4100c4
	wrmsr -p 1 0x186 0
	check "free again, it loads" write ctl "load cpu=1"
	write ctl start
	check "and counts" test "$(cat pmd/0)" -gt 0
	mkdir -p /tmp/perf
	ours=$(processes)
	"$here/perfmonfs" --backend=perf /tmp/perf
	mkdir /tmp/perf/ctx/b
	for n in 0 1 2 3; do write /tmp/perf/ctx/b/pmc/$n $((0x4300c4 + n * 0x100)); done
	write /tmp/perf/ctx/b/ctl "load cpu=1"
	is "perf loads" "$(cat /tmp/perf/ctx/b/last_error)" ok
	write /tmp/perf/ctx/b/ctl start
	is "perf counts" "$(cat /tmp/perf/ctx/b/last_error)" ok
	check "perf has taken pmc0" test "$(rdmsr -p 1 0x186)" != 4100c0
	if cat pmd/0 >/tmp/out 2>&1; then not_ok "a stolen counter gives no number: $(cat /tmp/out)"
	else ok "a stolen counter gives no number"; fi
	like "but a sentence" "$(cat last_error)" "taken over"
	like "and stats count it" "$(cat $mnt/stats)" "stolen 1"
	held=$(rdmsr -p 1 0x186)
	check "stop works" write ctl stop
	check "unload works" write ctl unload
	is "and leaves perf its selector" "$(rdmsr -p 1 0x186)" "$held"
	cd /
	umount /tmp/perf
	soon processes_are "$ours"
	cd $mnt/ctx/a || exit 1
	write pmd/0 0
	check "what perf leaves behind, disabled, is free to take" write ctl "load cpu=1"
	write ctl start
	check "and counts again" test "$(cat pmd/0)" -gt 0
	cd /
	rmdir $mnt/ctx/a
	stop_daemon
	;;

watchdog)
	pmu=intel_arch_v4 global=0x38f
	write /proc/sys/kernel/nmi_watchdog 1
	is "the watchdog is on" "$(cat /proc/sys/kernel/nmi_watchdog)" 1
	fixed=$(rdmsr -p 1 0x38d)
	start_daemon
	make_context
	write pmc/16 0x20
	write ctl "load cpu=1"
	is "its counter is not loaded" "$(cat state)" unloaded
	like "the sentence names it" "$(cat last_error)" "NMI watchdog"
	write pmc/16 0x2
	check "its neighbour in the same register is" write ctl "load cpu=1"
	write ctl start
	is "only our nibble is changed" "$(rdmsr -p 1 0x38d)" "$(printf '%x' $((0x$fixed | 2)))"
	check "it counts" test "$(cat pmd/16)" -gt 0
	write ctl unload
	is "and is put back" "$(rdmsr -p 1 0x38d)" "$fixed"
	cd /
	rmdir $mnt/ctx/a
	stop_daemon
	is "the watchdog is still on" "$(rdmsr -p 1 0x38d)" "$fixed"
	write /proc/sys/kernel/nmi_watchdog 0
	;;

offline)
	pmu=intel_arch_v4 global=0x38f
	start_daemon
	make_context
	write pmc/0 0x4100c0
	write ctl "load cpu=1"
	write ctl start
	echo 0 >/sys/devices/system/cpu/cpu1/online
	if cat pmd/0 >/tmp/out 2>&1; then not_ok "no number from an offline CPU: $(cat /tmp/out)"
	else ok "no number from an offline CPU"; fi
	like "but a sentence" "$(cat last_error)" "offline"
	like "cpus says so" "$(cat $mnt/cpus)" "1 offline context=a"
	check "unload works all the same" write ctl unload
	write ctl "load cpu=1"
	is "an offline CPU is not loaded" "$(cat state)" "unloaded lost"
	echo 1 >/sys/devices/system/cpu/cpu1/online
	write pmd/0 0
	check "back online, it loads" write ctl "load cpu=1"
	is "no error" "$(cat last_error)" ok
	write ctl start
	check "and counts" test "$(cat pmd/0)" -gt 0
	cd /
	rmdir $mnt/ctx/a
	stop_daemon
	;;

killed)
	pmu=intel_arch_v4 global=0x38f
	start_daemon
	before=$(registers)
	make_context
	write pmc/0 0x4100c0
	write pmc/16 0x22
	write pmd/0 "-100000000"
	write ctl "load cpu=1"
	write ctl start
	cd /
	is "counting" "$(rdmsr -p 1 0x186)" 4100c0
	pkill -STOP -x perfmonfs # or it would clear the overflow status itself
	taskset -c 1 sh -c 'i=0; while [ $i -lt 30000 ]; do i=$((i + 1)); done'
	is "an overflow" "$(rdmsr -f 0:0 -p 1 0x38e)" 1
	kill_daemon
	is "its registers are left behind" "$(rdmsr -p 1 0x186)" 4100c0
	start_daemon
	is "the next daemon puts them back" "$(registers)" "$before"
	is "and clears the overflow status" "$(rdmsr -p 1 0x38e)" 0
	make_context
	write pmc/0 0x4100c0
	write ctl "load cpu=1"
	write ctl start
	cd /
	kill_daemon
	echo 0 >/sys/devices/system/cpu/cpu1/online
	start_daemon
	like "registers of an offline CPU are told" "$(cat $mnt/cpus)" "1 offline unrestored=0x38f,0x186"
	like "by --check, too" "$("$here/perfmonfs" --check)" "could not be restored"
	echo 1 >/sys/devices/system/cpu/cpu1/online
	soon restored
	is "they are put back when it is online" "$(registers)" "$before"
	stop_daemon
	is "no journal is left" "$(find /run/perfmonfs -name 'journal*' | wc -l)" 0
	;;

service)
	pmu=intel_arch_v4 global=0x38f
	service "$2"
	;;

nopmu)
	# A virtual machine whose PMU registers forget what is written to them, or that has none.
	if "$here/perfmonfs" $mnt 2>/tmp/err; then not_ok "the daemon starts nevertheless"
	else ok "the daemon does not start"; fi
	like "for want of a PMU" "$(cat /tmp/err)" "without"
	like "and with a remedy" "$(cat /tmp/err)" "--backend=perf"
	"$here/perfmonfs" --check >/dev/null
	is "--check fails too" $? 1
	;;

refused)
	# The driver refuses writes: lockdown, or allow_writes=off.
	see_lockdown
	writes=/sys/module/msr/parameters/allow_writes
	[ "$2" != allow_writes ] || write $writes off
	if "$here/perfmonfs" $mnt 2>/tmp/err; then not_ok "the daemon starts nevertheless"
	else ok "the daemon does not start"; fi
	is "with one line" "$(wc -l </tmp/err)" 1
	like "that names the reason" "$(cat /tmp/err)" "$2"
	like "as --check does" "$("$here/perfmonfs" --check)" "$2"
	"$here/perfmonfs" --check >/dev/null
	is "which fails too" $? 1
	write $writes default
	;;

locked)
	see_lockdown
	like "the kernel is locked down" "$(cat /sys/kernel/security/lockdown)" "\\[$2\\]"
	perf_locked_down
	;;

sampled)
	global=
	sampled "$2"
	;;

threads)
	global=$(global_of "$2")
	threads "$2"
	;;

pfm)
	global=$(global_of "$2")
	case $2 in
	intel*) selector=0x186 ;;
	*) selector=0xc0010200 ;;
	esac
	pfm "$2" $selector
	;;

background)
	global=$(global_of "$2")
	background
	;;

readings)
	readings
	;;

moved)
	global=0x38f
	moved
	;;

addressed)
	addressed
	;;

robbed)
	robbed
	;;

hidden)
	hidden
	;;

stalled)
	stalled
	throttled
	;;

self)
	self
	;;

perf)
	perf_backend "$2"
	;;

evicted)
	evicted
	;;

profiled)
	profiled
	;;

stacked)
	stacked
	;;

bench)
	# Not a test: see bench/run. Its argument is the two events' lines.
	two_sets "$2"
	start_daemon
	bench_sets
	umount $mnt
	;;
*)
	not_ok "no such scenario"
	;;
esac
