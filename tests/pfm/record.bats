# SPDX-License-Identifier: MIT
# pfm record and pfm report: known programs, all outputs, and what goes wrong meanwhile. Recordings
# of programs that run for ever end with the CPU time that these may have.

load common

setup() {
	bench_setup
	PATH="$BUILD/tools/pfm:$PATH"
	unset PERFMONFS
	[ -x "$BATS_RUN_TMPDIR/burner" ] || cp "$BUILD/tests/fs/burner" "$BATS_RUN_TMPDIR"
	cd "$BATS_TEST_TMPDIR"
	export PERFMONFS=$MNT
	CPU_BURNT=$(awk '$1 ~ /^processor/ { cpu = $3 } END { print cpu }' /proc/cpuinfo)
	RECORD=
	GROUP=
}

teardown() {
	[ -z "$RECORD" ] || kill -KILL "$RECORD" || :
	[ -z "$GROUP" ] || remove_groups
	bench_teardown
}

# make_groups NAME...: control groups below GROUP, the folder of one, each with a process that waits
make_groups() {
	local name

	GROUP=$(findmnt -rnt cgroup2 -o TARGET | head -n 1)/pfm-test-$$
	mkdir "$GROUP" 2>/dev/null || {
		GROUP=
		skip "no control group can be made here"
	}
	for name; do
		mkdir "$GROUP/$name"
		sleep 1000 3>&- 9>&- &
		echo $! >"$GROUP/$name/cgroup.procs"
	done
}

remove_groups() {
	find "$GROUP" -name cgroup.procs -exec cat {} + | xargs -r kill -KILL || :
	until_ok find "$GROUP" -depth -type d -exec rmdir {} +
}

# Threads and addresses need the perf backend.
serve_perf() {
	"$BUILD/daemon/perfmonfs" --check --backend=perf | grep -q "samples name the running thread" ||
		skip "the kernel does not let us know who is running"
	serve --backend=perf "$@"
	put ok "$MNT/config/tick_us" 250 # up to 4000 samples a second
	put ok "$MNT/config/overflow_rate_max" 1000000
}

# record FILE OPTION...: RECORD writes to FILE, in the background, where a shell ignores SIGINT
record() {
	perl -e '$SIG{INT} = "DEFAULT"; exec @ARGV' pfm record -o "$@" >"$LOG.command" 2>"$LOG.record" 3>&- &
	RECORD=$!
}

# A sample has 48 bytes, or more: the file has room for so many.
has_samples() { # FILE SAMPLES
	gone "$RECORD" || { [ -s "$1" ] && [ "$(stat -c %s "$1")" -ge $((48 * $2)) ]; }
}

# record_enough COUNT SAMPLES OPTION... -- COMMAND...: the file recorded, of a command that would run for ever
# and gets twice the CPU time that so many samples take. COUNT prints how many there are. Where a machine
# takes nearly as long for a sample as there is from one to the next, the program does not get far between
# them; and the kernel stops counters that interrupt more often than kernel.perf_event_max_sample_rate, which
# it lowers by itself. So fewer a second are tried, too.
record_enough() {
	local count=$1 samples=$2 options=() hz max got
	shift 2
	until [ "$1" = -- ]; do
		options+=("$1")
		shift
	done
	shift
	max=$(cat /proc/sys/kernel/perf_event_max_sample_rate)
	for hz in 4000 1000 250 60; do
		[ "$hz" -le $((max / 2)) ] || continue
		put ok "$MNT/config/tick_us" $((1000000 / hz))
		# shellcheck disable=SC2016 # of the inner shell; 152: SIGXCPU
		pfm record -o recorded -F "$hz" "${options[@]}" sh -c 'ulimit -S -c 0; ulimit -S -t "$0"; exec "$@"' \
			$((1 + 2 * samples / hz)) "$@" || [ $? = 152 ]
		got=$("$count")
		[ "$got" -lt "$samples" ] || return 0
		echo "$hz samples a second: $got"
		pfm report recorded | head -n 20
	done
	return 1
}

# burnt FILE: lines FUNCTION SAMPLES of the burner. Samples, not overflows: when a CPU is taken from us for a
# while, the overflows of that time are those of one sample.
burnt() {
	pfm report "$1" --perf-script | awk '$NF ~ /\/burner\)$/ && $2 ~ /^[abc][+]0x/ { n[substr($2, 1, 1)]++ }
		END { for (f in n) print f, n[f] }'
}

count_burnt() {
	burnt recorded | awk '{ n += $2 } END { print n + 0 }'
}

# finish STATUS [SIGNAL]: RECORD ends with that status
finish() {
	local rc=0 pid=$RECORD

	RECORD=
	[ -z "${2-}" ] || kill "-$2" "$pid"
	until_ok gone "$pid"
	wait "$pid" || rc=$?
	[ "$rc" = "$1" ] || {
		echo "pfm record ends with $rc, not $1"
		cat "$LOG.record"
		return 1
	}
}

# share_is FUNCTION PERCENT: within 5 points among the burner's functions, which is more than five
# standard deviations with 3000 samples
share_is() {
	burnt recorded | awk -v f="$1" -v want="$2" '
		{ all += $2 }
		$1 == f { its = $2 }
		END {
			is = all ? 100 * its / all : 0
			printf "%s: %.2f %% of %d, should be %d %%\n", f, is, all, want
			exit !(all >= 3000 && is >= want - 5 && is <= want + 5)
		}'
}

shares_are_right() {
	share_is a 60
	share_is b 30
	share_is c 10
}

# outputs_agree FUNCTION,...: all outputs have these, and the same stacks
outputs_agree() {
	pfm report recorded --perf-script=script --pprof=pprof --firefox=firefox --flamegraph=flame.svg \
		--folded=stacks --html=page.html
	python3 "$BATS_TEST_DIRNAME/outputs.py" "$1" "$(total <stacks)" pprof firefox flame.svg script stacks page.html
}

total() { # of the weights in folded stacks
	awk '{ n += $NF } END { printf "%.0f\n", n }'
}

@test "a command that starts another program: its functions have their shares, in all outputs" {
	serve_perf
	record_enough count_burnt 3000 -- sh -c "burner $CPU_BURNT shares; true"
	shares_are_right
	pfm report recorded >flat
	grep -q "^# addresses: of the overflow's interrupt" flat
	grep -q "^ctxsw_threads 0" "$MNT/stats"
	grep -qE '^ *[0-9]+\.[0-9]{2}%  +[0-9]+  burner +burner +a$' flat
	all=$(pfm report recorded --folded | total)
	grep -q "^# $all overflows" flat
	[ "$(awk '!/^#/ { n += $2 } END { print n }' flat)" = "$all" ]
	outputs_agree a,b,c
	grep -qE '^	 +[0-9a-f]+ a\+0x[0-9a-f]+ \(.*/burner\)$' script
	no_contexts
}

# chains FILE: functions of each sample, from the outermost on, with a ; after each. Samples, not overflows, as in
# burnt.
chains() {
	pfm report "$1" --perf-script | awk '
		/^\t/ { sub(/[+]0x[0-9a-f]+$/, "", $2); chain = $2 ";" chain }
		/^$/ { print chain; chain = "" }'
}

count_all() {
	chains recorded | wc -l
}

# With call chains up to main()
count_called() {
	chains recorded | grep -c ';main;'
}

# Stacks that are not whole
count_cut() {
	pfm report recorded | awk '/^# [0-9]+ stacks are cut/ { n = $2 } END { print n + 0 }'
}

# called_is FUNCTION PERCENT: of the work, within 5 points
called_is() {
	chains recorded | awk -v f=";main;$1;" -v want="$2" '
		/;main;(heavy|light|down);(.*;)?work;$/ { all++; its += index($0, f) > 0 }
		END {
			is = all ? 100 * its / all : 0
			printf "%s: %.2f %% of %d, should be %d %%\n", f, is, all, want
			exit !(all >= 1800 && is >= want - 5 && is <= want + 5)
		}'
}

# first_caller: the one of work() with most overflows
first_caller() {
	sed -nE 's/.*;(heavy|light|down);work ([0-9]+)$/\1 \2/p' folded |
		awk '{ n[$1] += $2; if (n[$1] > n[first]) first = $1 } END { print first }'
}

@test "call chains: callers have their shares, in all outputs" {
	serve_perf
	record_enough count_called 2500 -g -- "$BUILD/tests/fs/caller" 3
	pfm report recorded --folded >folded
	called_is heavy 60
	called_is light 30
	called_is down 10
	grep -q '^caller;.*;main;down;down;down;down;work ' folded
	# libc's read() has no frame, and hides its caller.
	grep -qE ';main;[^;]+;[^;]+_\[k\](;| )' folded
	outputs_agree heavy,light,down,work
	grep -q ' with call chains$' <(pfm report recorded)
	pfm report recorded --tree >tree
	[ "$(awk 'length > 80 && !/^#/' tree)" = "" ]
	grep -qE '^ +[0-9.]+% +[0-9.]+%      +heavy$' tree
	pfm report recorded --tree=callers --percent-limit=1 | grep -A1 -E '^ +[0-9.]+% +work$' |
		grep -qE "^ +[0-9.]+%  +$(first_caller)$"
	no_contexts
}

# Of outer() and what is inlined there
count_inlined() {
	chains recorded | grep -c ';outer;'
}

# inlined_is FUNCTION PERCENT: within 5 points, of the samples of the program. Samples, as in burnt.
inlined_is() {
	chains recorded | awk -v f=";$1;" -v want="$2" '
		/;(inner|middle|outer);$/ { all++; its += $0 ~ f "$" }
		END {
			is = all ? 100 * its / all : 0
			printf "%s: %.2f %% of %d, should be %d %%\n", f, is, all, want
			exit !(is >= want - 5 && is <= want + 5)
		}'
}

# line_of FUNCTION: FILE:LINE of its work
line_of() {
	grep -n "/\* $1's line \*/" tests/fs/inliner.c | sed 's/:.*//; s/^/inliner.c:/'
}

@test "inlined functions and source lines, in all outputs" {
	cp "$BATS_TEST_DIRNAME/../fs/inliner.c" .
	mkdir -p tests/fs && mv inliner.c tests/fs
	serve_perf
	record_enough count_inlined 2500 -g -- "$BUILD/tests/fs/inliner"
	inlined_is inner 40
	inlined_is middle 20
	inlined_is outer 40
	pfm report recorded --tree | grep -A2 -E '% +outer$' >tree
	sed -n 2p tree | grep -qE '% +middle \[i\]$'
	sed -n 3p tree | grep -qE '% +inner \[i\]$'
	outputs_agree outer,middle,inner
	grep -qE '^	 +[0-9a-f]+ inner \(inlined\)$' script
	grep -qE '(^|;)outer;middle_\[i\];inner_\[i\] [0-9]+$' stacks
	pfm report recorded --lines >lines
	for f in inner middle outer; do
		[ "$(awk -v f=$f '$5 == f { print $6; exit }' lines | sed 's,.*/,,')" = "$(line_of $f)" ]
	done
	[ "$(pfm report recorded --sort=line | awk '!/^#/ { print $3; exit }' | sed 's,.*/,,')" = \
		"$(awk '!/^#/ { print $6; exit }' lines | sed 's,.*/,,')" ]
	pfm report recorded --folded --lines | grep -qE ";outer [^;]*inliner.c:[0-9]+;middle [^;]*inliner.c:[0-9]+_\[i\];inner [^;]*$(line_of inner)_\[i\] [0-9]+$"
	# All is the function's that is there.
	pfm report recorded --no-inline --sort=object,function >whole
	[ "$(awk '$3 == "inliner" { print $4; exit }' whole)" = outer ]
	fails grep -qwE 'inner|middle' whole
	# The source has the same numbers.
	pfm annotate outer -i recorded --no-asm >outer
	[ "$(awk '!/^#/ && $1 ~ /%$/ { n += $2 } END { print n }' outer)" = \
		"$(awk '$4 == "outer" { print $2 }' whole)" ]
	pfm annotate -i recorded inner >inner
	[ "$(awk "/inner's line/ { print \$2 }" inner)" = \
		"$(awk -v line="$(line_of inner)" '$5 == "inner" && index($6, line) { print $2 }' lines)" ]
	fails grep -q "middle's line" <(grep % inner)
	# Its loops
	pfm --version | grep -qE '^without (capstone|elfutils)' ||
		pfm annotate outer -i recorded | grep -qE ' j[a-z]+ +outer[+]0x[0-9a-f]+$'
}

@test "a recording has its names: no other file is opened to report it" {
	printf '%s\n' '#include <stdint.h>' 'static volatile uint64_t sink;' \
		'__attribute__((noinline)) void hot(void) { for (unsigned i = 0; i < 1000000; i++)' \
		'sink += i; }' 'int main(void) { for (;;) hot(); }' >own.c
	gcc -g -O1 -o own own.c
	serve_perf
	record_enough count_all 200 -- "$PWD/own"
	cp recorded named
	record raw --no-symbols "$PWD/own"
	until_ok has_samples raw 200
	finish 143 TERM
	pfm report raw --sort=function | grep -qE ' hot$'
	rm own own.c
	pfm report named --lines | grep -qE ' own +hot +own.c:4$'
	command -v strace >/dev/null || skip "needs strace"
	ASAN_OPTIONS=detect_leaks=0 strace -f -o opened -e trace=open,openat pfm report named >/dev/null
	grep -q '"named"' opened
	fails grep -qE '/own|kallsyms|\.build-id' opened
	pfm report raw >flat
	grep -qE '^# addresses instead of names: .*/own: ENOENT \([0-9]+ samples\)$' flat
	fails grep -qw hot flat
	pfm record -o - sh -c ':' | pfm report - | grep -q '^# command: sh'
}

# burns FUNCTION: a program without a build ID, in the file FUNCTION, that runs for ever
burns() {
	printf 'volatile long x; __attribute__((noinline)) void %s(void) { for (long i = 0; i < 1000000; i++) x += i; }
		int main(void) { for (;;) %s(); }\n' "$1" "$1" | gcc -O1 -Wl,--build-id=none -x c -o "$1" -
}

# recorded_while SECOND...: a recording of ./program, with SECOND after its first samples, in the file flat
recorded_while() {
	rm -f recorded
	record recorded ./program
	until_ok has_samples recorded 200
	"$@"
	finish 143 TERM
	pfm report recorded --sort=object,function | grep -v '^#' >flat
}

@test "a program that was replaced, one that was removed, and the kernel's [vdso]" {
	burns was_recorded
	burns never_ran
	serve_perf
	cp was_recorded program
	recorded_while cp --remove-destination never_ran program
	grep -q ' was_recorded$' flat
	fails grep -q never_ran flat
	cp was_recorded program
	recorded_while rm program
	grep -q ' was_recorded$' flat
	printf '#include <time.h>
		int main(void) { struct timespec t; for (;;) clock_gettime(CLOCK_MONOTONIC, &t); }' >clock.c
	gcc -O1 -o program clock.c
	recorded_while true
	grep -qE ' \[vdso\] +.*gettime$' flat
	# Its instructions are in the recording. Their shares are that of the function.
	f=$(awk '$3 == "[vdso]" { print $4; exit }' flat)
	if ! pfm --version | grep -qE '^without (capstone|elfutils)'; then
		pfm annotate -i recorded "$f" >code
		grep -qE '^ +([0-9.]+%)? +[0-9a-f]+ [+]0 +[a-z]' code
		awk -v whole="$(awk -v f="$f" '$4 == f { print $1; exit }' flat)" '
			!/^#/ && $1 ~ /%$/ { all += $1 }
			END { exit all < whole - 1 || all > whole + 1 }' code
	fi
}

# makes_code FUNCTION: a program that copies a loop into memory and names it FUNCTION
makes_code() {
	cat >made.c <<-'END'
		#include <stdio.h>
		#include <string.h>
		#include <sys/mman.h>
		#include <unistd.h>
		int main(int argc, char **argv)
		{
			static const unsigned char loop[] = {0x48, 0xff, 0xcf, 0x75, 0xfb, 0xc3};
			void *p = mmap(0, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
			char path[64];
			snprintf(path, sizeof(path), "/tmp/perf-%d.map", getpid());
			FILE *f = argc > 1 ? fopen(path, "w") : 0;
			memcpy(p, loop, sizeof(loop));
			if (f) {
				fprintf(f, "%lx 10 older\n%lx %zx %s\n", (long)p, (long)p, sizeof(loop), argv[1]);
				fclose(f);
				if (argc > 2 && chown(path, 65534, 65534))
					return 1;
			}
			for (;;)
				((void (*)(long))p)(100000);
		}
	END
	gcc -O1 -o made made.c
}

# The map files of the processes in the report
rm_made() {
	sed -nE 's,.* (perf-[0-9]+\.map) .*,/tmp/\1,p' flat | sort -u | xargs rm -f
}

@test "code that a process makes has the names of its map file, if the file is its user's" {
	makes_code
	serve_perf
	record_enough count_all 200 -- ./made $'a fun\xff\x1bction'
	pfm report recorded >flat
	grep -qE ' perf-[0-9]+.map +a fun\?\?ction$' flat
	run -125 pfm annotate -i recorded "$(awk -F'map +' '/perf-[0-9]+.map/ { print $2; exit }' flat)"
	pfm --version | grep -q '^without .*capstone' || [[ $output == *"if the process writes a jitdump"* ]]
	rm_made
	rm recorded
	record_enough count_all 200 -- ./made other nobody
	pfm report recorded >flat
	rm_made
	fails grep -qE ' other$' flat
	cat flat
	grep -qE '^# addresses instead of names: process [0-9]+ has made code, and no /tmp/perf-[0-9]+.map' flat
	# Two processes with one number, each in a mount and a PID namespace of its own
	# shellcheck disable=SC2016
	run -0 pfm record -F 4000 -o recorded sh -c 'for f in one two; do
		timeout -s KILL 1 unshare -fpm --kill-child --mount-proc sh -c "mount -t tmpfs none /tmp && exec ./made $f"; done; :'
	pfm report recorded >flat
	rm_made
	grep -q ' one$' flat
	grep -q ' two$' flat
}

# jit_share FUNCTION: percent of the samples of jitter
jit_share() {
	awk -v f="$1" '$1 ~ /%$/ && $5 == f { n += $1 } END { print int(n) }' flat
}

@test "functions of a jitdump: one after the other at one address, one that moves, and lines" {
	serve_perf
	jitter=$BUILD/tests/pfm/jitter
	run -0 pfm record -F 1000 -o recorded "$jitter" "$PWD" 200000000
	rm jit-*.dump
	pfm report recorded >flat
	for f in first second moved; do
		[ "$(jit_share $f)" -ge 12 ]
	done
	# The work of the first is twice that of the others.
	[ "$(jit_share first)" -gt "$(jit_share second)" ]
	grep -qE '% +[0-9]+ +jitter +jit-[0-9]+.dump +first$' flat
	[ $(($(jit_share first) + $(jit_share second) + $(jit_share moved))) -ge 90 ]
	pfm report --lines recorded >flat
	grep -q ' first  */nowhere/source.js:10$' flat
	grep -q ' moved  */nowhere/source.js:30$' flat
	# The recording has their instructions.
	for f in first moved; do
		pfm --version | grep -q '^without .*capstone' || pfm annotate -i recorded $f >code
		pfm --version | grep -q '^without .*capstone' || grep -qE " [+]0x3 +jne +$f$" code
	done
	# Each piece of a recording reads the dump again.
	run -0 pfm record -F 1000 -o piece --rotate=300ms "$jitter" "$PWD" 300000000
	pfm report piece.1 | grep -qE ' jit-[0-9]+.dump +first$'
	rm jit-*.dump
}

@test "a jitdump of another user, one that makes no sense, and one with times of another clock" {
	serve_perf
	jitter=$BUILD/tests/pfm/jitter
	run -0 pfm record -F 1000 -o recorded "$jitter" "$PWD" 100000000 65534
	pfm report recorded >flat
	run -1 grep -E ' (first|second|moved)$' flat
	grep -qE '^# addresses instead of names: process [0-9]+ has made code' flat
	for overwrite in '"nonsense"' 'pack("L4 x16 Q", 0x4A695444, 1, 40, 62, 1)'; do
		pfm record -F 1000 -o recorded perl -e 'my $pid = fork; exec @ARGV if !$pid; my $f;
			until (open($f, "+<", "jit-$pid.dump") && -s $f) { select(undef, undef, undef, 0.01) }
			waitpid($pid, 0); print $f '"$overwrite" "$jitter" "$PWD" 100000000
		pfm report recorded >flat
		cat flat
		grep -qE '^# addresses instead of names: /.*/jit-[0-9]+.dump: (not a jitdump|its times)' flat
	done
}

# Opening a FIFO waits for its writer.
@test "a program that names a FIFO as its debug file" {
	burns was_recorded
	objcopy --only-keep-debug was_recorded link.debug
	objcopy --add-gnu-debuglink=link.debug was_recorded program
	rm link.debug && mkfifo link.debug
	serve_perf
	recorded_while true
	grep -q ' was_recorded$' flat
}

# Of a program that was compiled here.
@test "pfm annotate: a source that was changed, is no file, or is not here" {
	{
		printf '/* \033[2J */\n\n\n\n'
		cat "$BATS_TEST_DIRNAME/../fs/inliner.c"
	} >own.c
	gcc -g -O1 -I"$BATS_TEST_DIRNAME/../.." -o own own.c
	serve_perf
	record_enough count_all 200 --no-symbols -- "$PWD/own"
	pfm annotate -i recorded >source
	grep -qx "# $PWD/own.c" source
	grep -qE "^ *[0-9.]+% +[0-9]+ +[0-9]+          uint64_t|^ *[0-9.]+% +[0-9]+ +[0-9]+ +WORK\(4 \* unit\); /\* (inn|out)er's" source
	fails grep -q 'changed after' source
	sed -i 's/.*WORK(.* unit).*/\x1b[2J\tred/' own.c
	touch -d '+1 hour' own.c
	pfm annotate -i recorded >source
	grep -q '^# the source was changed after the recording' source
	grep -qE '%.*  \?\[2J    red$' source
	fails grep -q $'\033' source
	if [ "$(id -u)" = 0 ]; then
		# The program of another user may name a file that only root can read.
		chmod 600 own.c
		pfm annotate -i recorded >source
		grep -q '^# the source cannot be read: EACCES' source
		fails grep -q ' red$' source
		pfm report recorded --html=page.html
		[ "$(stat -c %a page.html)" = 600 ]
		fails grep -q '    red"' page.html
		chown 1 own
		chown 2 own.c
		pfm annotate -i recorded >source
		grep -q '^# the source cannot be read: EACCES' source
		# The owner of the program can read it.
		chown 1 own.c
		pfm annotate -i recorded >source
		grep -q ' red$' source
		chown 0 own own.c
		chmod 644 own.c
		pfm report recorded --html=page.html
		grep -q '    red"' page.html
	fi
	rm own.c && mkfifo own.c
	bounded pfm annotate -i recorded >source
	grep -q '^# the source cannot be read: it is not a regular file$' source
	grep -qE '^ *[0-9.]+% +[0-9]+ +[0-9]+$' source
	rm own.c
	pfm annotate -i recorded | grep -q '^# the source cannot be read: ENOENT'
	run -125 pfm annotate -i recorded no_such_function
	[[ $output == *"pfm report --sort=function"* ]]
	strip -g own && run -125 pfm annotate -i recorded --no-asm outer
	[[ $output == *"compile its program with -g"* || $output == *"no sample is in"* ]]
}

# asm_is LINE PERCENT: the source file's LINE has that share within 5 points, and the instruction after which
# "rep" is written has nearly all of it
asm_is() {
	awk -v line="$(sed -n "/\/\* $1 \*\//=" "$PWD/own.c")" -v want="$2" '
		/^#/ { next }
		$1 ~ /%$/ && $3 ~ /^[0-9]+$/ { on = $3 == line; if (on) all = $1 + 0; next }
		on && $1 ~ /%$/ && $3 ~ /^[+]/ && $4 == "rep" { rep = $1 + 0 }
		END { exit !(all > want - 5 && all < want + 5 && rep > 0.9 * all && rep <= all) }' source
}

@test "pfm annotate: instructions of one of two objects" {
	[ "$(uname -m)" = x86_64 ] || skip "the instructions are those of x86"
	! pfm --version | grep -qE '^without (capstone|elfutils)' || skip "pfm was built without capstone or elfutils"
	printf '%s\n' 'static volatile long sink;' \
		'static void __attribute__((noinline)) hot(void) { for (long i = 0; i < 100000; i++) sink += i; }' \
		'void NAME(void) { hot(); }' >hot.c
	echo 'void one(void), two(void); int main(void) { for (;;) { one(); two(); } }' >main.c
	gcc -g -O1 -DNAME=two -shared -fPIC -o libtwo.so hot.c
	gcc -g -O1 -DNAME=one -o own main.c hot.c "$PWD/libtwo.so"
	serve_perf
	pfm record -o recorded sh -c 'ulimit -S -c 0; ulimit -S -t 1; exec ./own' || [ $? = 152 ]
	pfm annotate -i recorded hot >both
	fails grep -q 'instructions are not shown' both
	rm libtwo.so
	pfm annotate -i recorded hot >source
	grep -q '^# some instructions are not shown: .*/libtwo.so: ENOENT$' source
	grep -qE '^ +[0-9.]+% +[0-9a-f]+ \+0x[0-9a-f]+ +' source
}

@test "pfm annotate: instructions under the lines, with their shares" {
	[ "$(uname -m)" = x86_64 ] || skip "the program is for x86"
	! pfm --version | grep -qE '^without (capstone|elfutils)' || skip "pfm was built without capstone or elfutils"
	cp "$BATS_TEST_DIRNAME/../fs/liner.c" own.c
	gcc -g -O1 -I"$BATS_TEST_DIRNAME/../.." -o own own.c
	serve_perf
	record_enough count_all 2500 -- "$PWD/own"
	pfm annotate -i recorded >source
	cat source
	asm_is 60 60
	asm_is 30 30
	asm_is 10 10
	# Addresses are those of the file.
	address=$(objdump -d own | awk '/rep lods/ { sub(":", "", $1); print $1; exit }')
	grep -qE "^ +[0-9.]+% +$address \\+0x[0-9a-f]+ +rep lodsb" source
	# Calls of libraries go through stubs.
	grep -qE ' call[a-z]* +rand_r@plt$' source
	grep -qE ' call[a-z]* +called_by_a_name_that_is_longer_than_f[.]{2}$' source
	# Without lines, instructions alone
	strip -g own
	pfm record -o raw --no-symbols sh -c 'ulimit -S -t 1; exec ./own' || [ $? = 152 ]
	pfm annotate -i raw >alone
	grep -q '^# no source lines: compile the program with -g' alone
	grep -qE '^ +[0-9.]+% +[0-9a-f]+ \+0x[0-9a-f]+ +rep lodsb' alone
	# Those of another program are not shown.
	printf 'int main(void) { return 0; }' | gcc -x c -o own -
	pfm annotate -i recorded lines >source
	grep -q '^# instructions are not shown: .*/own has another build ID than when it was recorded$' source
	grep -q '60 \*/$' source
	fails grep -qE '^[^#].* [+]0x' source
	rm own
	pfm annotate -i recorded lines | grep -q '^# instructions are not shown: .*/own: ENOENT$'
}

# The kernel records 127 frames by default.
@test "call chains: what is deeper is cut, and said" {
	[ "$(cat /proc/sys/kernel/perf_event_max_stack)" = 127 ] || skip "perf_event_max_stack is not 127"
	serve_perf
	record_enough count_cut 50 -g -- "$BUILD/tests/fs/caller" 200
	# 125 below work(), after the command
	pfm report recorded --folded | grep -qE '^caller(;down){125};work [0-9]+$'
}

@test "call chains: of a CPU, by its interrupts" {
	serve_perf
	record_enough count_called 2500 -g -C "$CPU_BURNT" -- taskset -c "$CPU_BURNT" "$BUILD/tests/fs/caller" 3
	called_is heavy 60
	called_is light 30
	grep -q "^# addresses: of the overflow's interrupt" <(pfm report recorded)
	no_contexts
}

# frameless_whole PERCENT: the share of the samples in frameless whose chains have all twelve functions, or more
frameless_whole() {
	pfm report recorded --folded | awk -v want="$1" '
		/^frameless;/ && /;f12[; ]/ { all += $NF }
		/^frameless;_start;.*;main;f1;f2;f3;f4;f5;f6;f7;f8;f9;f10;f11;f12[; ]/ { whole += $NF }
		END {
			printf "%d of %d\n", whole, all
			exit !(all && 100 * whole >= want * all)
		}'
}

@test "call chains: of code without frame pointers, by registers and stacks" {
	serve_perf
	run pfm record -o recorded --call-graph=dwarf true
	[[ $status = 0 ]] || skip "$output"
	pfm record -o recorded --call-graph=dwarf "$BUILD/tests/fs/frameless" 1000
	frameless_whole 99
	[ "$(pfm report recorded --folded | awk '{ n += $NF } END { print n }')" -gt 100 ]
	[ "$(stat -c %s recorded)" -lt 1000000 ]
	pfm report recorded | grep '^# call chains: from 8192 bytes of stack, '
	# Of three processes, two at the same time
	cat >script <<-END
		"$BUILD/tests/fs/frameless" 200 &
		"$BUILD/tests/fs/frameless" 200
		wait
	END
	pfm record -o recorded --call-graph=dwarf,16384 sh script
	frameless_whole 99
	# In pieces, each with its own numbers of files
	pfm record -o pieces --rotate 200ms,2 --call-graph=dwarf "$BUILD/tests/fs/frameless" 2000
	cp "$(printf '%s\n' pieces.* | sort -V | tail -n 1)" recorded
	frameless_whole 99
	# A running process, in which nothing is mapped any more
	"$BUILD/tests/fs/frameless" 100000 &
	RECORD=$!
	pfm record -o recorded --call-graph=dwarf -p $RECORD sleep 1
	frameless_whole 99
	no_contexts
}

@test "call chains: of code whose call frame information is in a separate debug file" {
	serve_perf
	gcc -g -O1 -fomit-frame-pointer -fno-asynchronous-unwind-tables -fno-unwind-tables -I"$BATS_TEST_DIRNAME/../.." \
		-o frameless "$BATS_TEST_DIRNAME/../fs/frameless.c"
	objcopy --only-keep-debug frameless frameless.debug
	strip -g frameless
	run pfm record -o recorded --call-graph=dwarf ./frameless 300
	[[ $status = 0 ]] || skip "$output"
	pfm report recorded | grep -qE '^# call chains: [0-9]+ cut: the code has no call frame information'
	objcopy --add-gnu-debuglink=frameless.debug frameless
	pfm record -o recorded --call-graph=dwarf ./frameless 300
	frameless_whole 99
	mkdir .debug
	mv frameless.debug .debug
	pfm record -o recorded --call-graph=dwarf ./frameless 300
	frameless_whole 99
	# By a link of the program's owner, which must not lead elsewhere, and as the file was when the program was built
	mv .debug/frameless.debug own.debug
	ln -s ../own.debug .debug/frameless.debug
	chown nobody frameless
	pfm record -o recorded --call-graph=dwarf ./frameless 300
	pfm report recorded | grep -qE '^# call chains: [0-9]+ cut: the code has no call frame information'
	rm .debug/frameless.debug
	cp own.debug .debug/frameless.debug
	chown nobody .debug/frameless.debug
	pfm record -o recorded --call-graph=dwarf ./frameless 300
	frameless_whole 99
	echo >>.debug/frameless.debug
	pfm record -o recorded --call-graph=dwarf ./frameless 300
	pfm report recorded | grep -qE '^# call chains: [0-9]+ cut: the code has no call frame information'
}

@test "call chains: root that may not become another user" {
	serve_perf
	run pfm record -o recorded --call-graph=dwarf true
	[[ $status = 0 ]] || skip "$output"
	[ "$(id -u)" = 0 ] && command -v setpriv >/dev/null || skip "needs root and setpriv"
	for right in setuid setgid; do
		run -125 setpriv --bounding-set=-$right "$(command -v pfm)" record -o none --call-graph=dwarf touch began
		[[ $output == *CAP_SETUID*-g* && ! -e none && ! -e began ]]
	done
}

@test "call chains: of a CPU, by registers and stacks" {
	serve_perf
	run pfm record -o recorded --call-graph=dwarf true
	[[ $status = 0 ]] || skip "$output"
	pfm record -o recorded --call-graph=dwarf -C "$CPU_BURNT" taskset -c "$CPU_BURNT" "$BUILD/tests/fs/frameless" 1000
	# The record of the program's end may come before its last samples, which are cut then: two to six of them.
	frameless_whole 95
	no_contexts
}

@test "call chains: a piece of the stack that is too short" {
	serve_perf
	run pfm record -o recorded --call-graph=dwarf,64 "$BUILD/tests/fs/frameless" 300
	[[ $status = 0 ]] || skip "$output"
	pfm report recorded | grep -qE '^# call chains: [0-9]+ cut: the stack is deeper'
	pfm report recorded --folded | grep ';f11;f12 '
	run ! grep ';f1;.*;f12 ' <(pfm report recorded --folded)
}

@test "call chains: registers and stacks are for threads of the perf backend" {
	serve_perf
	new stacks
	put EINVAL "$C/format" "stack user_stack=1025"
	put EINVAL "$C/format" "stack user_stack=1024 no_user"
	put ok "$C/format" "stack user_stack=1024 size=65536"
	refused EOPNOTSUPP "load tid=$$ cpus=$CPU_BURNT" user_stack
	put ok "$C/format" "profile waits"
	refused EINVAL "load cpu=$CPU_BURNT" waits
	refused EOPNOTSUPP "load tid=$$ cpus=$CPU_BURNT" waits
	# The kernel's ring buffer has room for 32 samples, and is charged.
	held() { awk '$1 == "memory_bytes_0" { print $2 }' "$MNT/stats"; }
	sleep 100 3>&- &
	RECORD=$!
	put ok "$C/format" "stack size=131072 user_stack=65528"
	put ok "$C/regs" "pmc0 $(awk '$1 == "task-clock" { print $2 }' "$MNT/pmu/events")\\npmd0 -1000000 short=-1000000"
	before=$(held)
	ctl "load tid=$RECORD"
	[ $(($(held) - before)) -ge $((32 * 65528)) ]
	ctl unload
	until_ok test "$(held)" -lt $((before + 65528))
	# They show memory of the thread to the owner of the context, a user that may not trace it.
	C=$MNT/ctx/theirs
	as nobody probe ok mkdir "$C"
	as nobody put ok "$C/format" "stack size=131072 user_stack=8"
	as nobody put ok "$C/pmc/0" task-clock:u
	as nobody put ok "$C/pmd/0" "-1000000 short=-1000000"
	refused EPERM "load tid=$RECORD" "the context is of uid $NOBODY"
	# On a CPU, they show memory of all users: also a member of sys_group needs root for that.
	put ok "$MNT/config/sys_group" any
	as nobody put ok "$C/pmc/0" cpu-clock:u
	as nobody put EPERM "$C/ctl" "load cpu=$CPU_BURNT"
	as nobody put ok "$C/format" "stack size=65536"
	as nobody put ok "$C/ctl" "load cpu=$CPU_BURNT"
}

@test "call chains: without elfutils, those by frame pointers are left" {
	! pfm --version | grep -q '^without elfutils' || skip "pfm was built without elfutils"
	serve_perf
	# shellcheck disable=SC2016 # of the inner shell
	run -125 unshare -m sh -c 'mount --bind /dev/null "$0"; exec pfm record --call-graph=dwarf true' \
		"$(ldconfig -p | awk '$1 == "libdw.so.1" && /x86-64/ { print $NF; exit }')"
	[[ $output == *libdw1*-g* ]]
}

@test "call chains: the msr backend records no registers and stacks" {
	serve_msrsim
	serve --backend=msr --dev="$CPU"
	run -125 pfm record --call-graph=dwarf -C 0 true
	[[ $output == *"msr backend"*-g* ]]
}

@test "call chains: simulated CPUs have no registers and stacks of threads" {
	serve --backend=sim
	run -125 pfm record --call-graph=dwarf -C 1
	[[ $output == *"simulated CPUs run no programs"* ]]
	new stacks
	put EOPNOTSUPP "$C/format" "profile user_stack=1024"
	put EOPNOTSUPP "$C/format" "profile waits"
	put EINVAL "$C/format" "stack waits"
	run -125 pfm record --off-cpu -C 1
	[[ $output == *"--off-cpu: the sim backend "*"--backend=perf"* ]]
	put ok "$C/format" "profile user_stack=0"
}

@test "call chains: simulated CPUs have none" {
	serve --backend=sim
	run -125 pfm record -g -C 1
	[[ $output == *"simulated CPUs run no programs"* ]]
}

# Of a stripped program. The linker gives it a build ID, by which debuginfod names its files.
@test "names from separate debug files: beside the program, and of debuginfod" {
	local id

	! pfm --version | grep -q '^without elfutils' || skip "pfm was built without elfutils"
	serve_perf
	objcopy --only-keep-debug "$BATS_RUN_TMPDIR/burner" burner.debug
	objcopy --strip-all --add-gnu-debuglink=burner.debug "$BATS_RUN_TMPDIR/burner" burner
	record_enough count_all 500 --no-symbols -- ./burner 1 shares
	[ "$(burnt recorded | cut -d' ' -f1 | sort | paste -sd' ')" = "a b c" ]
	# What is read for a user's program is what that user may read.
	chown "$NOBODY" burner
	chmod 600 burner.debug
	[ -z "$(burnt recorded)" ]
	chown "$NOBODY" burner.debug
	[ "$(burnt recorded | cut -d' ' -f1 | sort | paste -sd' ')" = "a b c" ]
	chown 0 burner
	id=$(readelf -n burner | awk '/Build ID/ { print $3 }')
	mkdir -p "server/buildid/$id"
	mv burner.debug "server/buildid/$id/debuginfo"
	[ -z "$(burnt recorded)" ]
	ldconfig -p | grep -q libdebuginfod || skip "no libdebuginfod, which elfutils opens"
	export DEBUGINFOD_URLS=file://$PWD/server DEBUGINFOD_CACHE_PATH=$PWD/cache
	[ "$(burnt recorded | cut -d' ' -f1 | sort | paste -sd' ')" = "a b c" ]
}

# stolen: ns for which hypervisors have run something else
stolen() {
	awk -v hz="$(getconf CLK_TCK)" '$1 == "cpu" { printf "%.0f\n", $9 * 1e9 / hz }' /proc/stat
}

# waits_are_right OPTION...: those of threads that have measured them, and the functions in which they wait
waits_are_right() {
	local before lines
	before=$(stolen)
	lines=$(pfm record -o recorded "$@" "$BUILD/tests/fs/waiter" "$CPU_BURNT")
	# A tick more, as they are rounded
	python3 "$BATS_TEST_DIRNAME/waits.py" recorded "$lines" \
		$(($(stolen) - before + 1000000000 / $(getconf CLK_TCK)))
	pfm report recorded --folded >stacks
	grep -q '^waiter;.*;naps;.*;\[waiting\]_\[k\] ' stacks
	grep -q '^waiter;.*;reads;.*;\[waiting\]_\[k\] ' stacks
	grep -q '^waiter;.*;futexes;.*;\[waiting\]_\[k\] ' stacks
	grep -q '^waiter;.*;computes.*;\[preempted\]_\[k\] ' stacks
}

@test "waits: as the threads have measured them, and all of the time with what they compute" {
	serve_perf
	pfm record -o recorded --off-cpu true
	waits_are_right --off-cpu
	run ! grep -vE ';\[(waiting|preempted)\]_\[k\] [0-9]+$' stacks
	pfm report recorded >flat
	grep -qx '# event: off-cpu' flat
	grep -qE '^# [0-9]+ ns in [0-9]+ samples, ' flat
	pfm report recorded --perf-script=script --pprof=pprof --firefox=firefox --flamegraph=flame.svg --html=page.html
	python3 "$BATS_TEST_DIRNAME/outputs.py" '[waiting],[preempted],naps' "$(total <stacks)" pprof firefox flame.svg \
		script stacks page.html ns off-cpu
	# So many that some may be lost
	# shellcheck disable=SC2016 # of Perl
	pfm record -o many --off-cpu perl -e 'pipe A, B; pipe C, D; $pid = fork;
		for (1 .. 20000) { $pid ? (syswrite(B, "x"), sysread C, $_, 1) : (sysread(A, $_, 1), syswrite D, "x") }'
	python3 "$BATS_TEST_DIRNAME/waits.py" many '' 0
	pfm report many --folded | grep -q '^perl;.*;\[waiting\]_\[k\] '
	waits_are_right --wall
	grep ';computes[; ]' stacks | grep -qvE ';\[(waiting|preempted)\]_\[k\] '
	pfm report recorded | grep -qx '# event: wall-clock'
	pfm diff recorded recorded | grep -E '\[kernel\] +\[waiting\]$'
	no_contexts
}

@test "waits: those that last until the end, and those that had begun before" {
	serve_perf
	mkfifo fifo
	exec 9<>fifo
	# A process that does not run meanwhile: where it waits is not known.
	sh -c 'read -r line <fifo' 3>&- &
	RECORD=$!
	until_ok grep -q '^State:.S' "/proc/$RECORD/status"
	for option in --off-cpu --wall; do
		pfm record -o recorded $option -p "$RECORD" --duration=200ms
		[ "$(pfm report recorded --folded)" = "sh;[unknown]_[k];[waiting]_[k] $(awk '/ns in 1 samples/ { print $2 }' \
			<(pfm report recorded))" ]
		[[ $(pfm report recorded | awk '/ns in 1 samples/ { print int($2 / 1000000) }') -ge 200 ]]
	done
	# What it begins meanwhile is known.
	sh -c 'sleep 0.5; echo >fifo' 3>&- 9>&- &
	pfm record -o recorded --off-cpu -p "$RECORD"
	[[ $(pfm report recorded --folded | head -n 1) == "sh;[unknown]_[k];[waiting]_[k] "* ]]
	RECORD=
	# A command that waits when the time is over
	record ended --wall --duration=300ms sh -c 'read -r line <fifo; exit 3'
	until_ok grep -q 'the command goes on$' "$LOG.record"
	echo >fifo
	finish 3
	pfm report ended --folded | grep '^sh;.*read.*;\[waiting\]_\[k\] '
	run -125 pfm record --off-cpu -a true
	[[ $output == *"not for CPUs"*"-p or -t"* ]]
	run -125 pfm record --wall -e page-faults true
	[[ $output == *"leave -e out"* ]]
	run -125 pfm record --off-cpu -F 10 true
	[[ $output == *"every wait"* ]]
	run -125 setpriv --reuid="$NOBODY" --regid="$NOBODY" --clear-groups pfm record --off-cpu true
	[[ $output == *"--off-cpu: threads wait in the kernel, and "*config/allow_kernel* ]]
}

@test "waits: where ctxsw threads switch the counters, the option is refused with what to mount" {
	serve_perf --threads=ctxsw
	for option in --off-cpu --wall; do
		run -125 pfm record $option true
		[[ $output == "pfm record: $option: waits: "*--threads=ctxsw* ]]
	done
}

@test "a control group: its processes, those of groups below it, and no other" {
	serve_perf
	make_groups web web/api other
	mkdir "$GROUP/web/none"
	members=$(sort "$GROUP/web/cgroup.procs" "$GROUP/web/api/cgroup.procs")
	# A zombie, one of another PID namespace, and one that has ended; pfm itself is added below
	# shellcheck disable=SC2016 # of Perl
	perl -e '$| = 1; my $pid = fork or exit; print "$pid\n"; sleep 1000' \
		>processes 3>&- 9>&- &
	RECORD=$!
	until_ok test -s processes
	until_ok grep -q '^State:.Z' "/proc/$(<processes)/status"
	sh -c 'exit' &
	wait $!
	{ cat "$GROUP/web/cgroup.procs"; printf '%s\n' 0 $!; } >>processes
	pids() { pfm report recorded --sort=pid | awk '!/^#/ { print $3 }' | sort; }
	for group in "${GROUP##*/}/web" "/${GROUP##*/}/web" "$GROUP/web"; do
		# shellcheck disable=SC2016 # of the inner shell
		run -0 unshare -m sh -c 'echo $$ >>processes; mount --bind processes "$0/web/cgroup.procs"
			exec pfm record -o recorded --wall --cgroup="$1" --duration=100ms' "$GROUP" "$group"
		[ "$output" = "pfm record: 2 samples in recorded: pfm report --tree recorded" ]
		[ "$(pids)" = "$members" ]
	done
	pfm record -o recorded --off-cpu -G "$GROUP/web/api" sleep 0.1
	[ "$(pids)" = "$(<"$GROUP/web/api/cgroup.procs")" ]
	run -0 pfm stat -e task-clock,context-switches -G "$GROUP/web" sleep 0.1
	[[ $output == *"processes $GROUP/web"*context-switches* ]]
	run -0 --separate-stderr pfm top -b -n 1 -I 100 -G "$GROUP/web"
	[ -z "$stderr" ]
	# The rights are those to each of them.
	chmod a+x .
	for command in "record -o - -e task-clock:u" "stat -e page-faults:u"; do
		# shellcheck disable=SC2086 # words
		run -125 setpriv --reuid="$NOBODY" --regid="$NOBODY" --clear-groups \
			pfm $command -G "$GROUP/other"
		echo "$output"
		[[ $output == *"control group $GROUP/other, process $(<"$GROUP/other/cgroup.procs"): "* ]]
	done
}

@test "a control group: pfm and its daemon are not measured, and no other folder is a group" {
	serve_perf
	make_groups
	unset PERFMONFS
	# shellcheck disable=SC2016 # of the inner shell
	run -125 without_mounts sh -c 'echo $$ >"$0/cgroup.procs"
		exec pfm record -o recorded -e task-clock --duration=100ms -G "$0"' "$GROUP"
	echo "$output"
	[[ $output == *"has no process to measure"* ]]
	mkdir folder
	mkfifo folder/cgroup.procs
	run -125 bounded pfm record --duration=100ms -G "$PWD/folder"
	[[ $output == *"there is no control group $PWD/folder"* ]]
}

@test "a recording goes through a FIFO, and one without an end is refused" {
	serve_perf
	pfm record -o recorded -F 4000 sh -c 'i=0; while [ $i -lt 400000 ]; do i=$((i+1)); done'
	mkfifo fifo
	cat recorded >fifo 3>&- &
	pfm report fifo --sort=command >flat
	grep -qE '^100.00% .* sh$' flat
	run -125 pfm report - < <(head -c 16 recorded; cat /dev/zero)
	[[ $output == *"damaged at byte 16"* ]]
}

# /proc has other numbers there than samples.
@test "in a container, the command's own file is known" {
	serve_perf
	unshare --pid --fork --mount-proc true || skip "needs a PID namespace"
	shell=$(readlink -f /bin/sh)
	unshare --pid --fork --mount-proc pfm record -o recorded -F 4000 sh -c \
		'i=0; while [ $i -lt 400000 ]; do i=$((i+1)); done'
	pfm report recorded --sort=command,object | grep -E "%  +[0-9]+  sh +${shell##*/}$"
}

@test "more threads than a process may have open files by default" {
	serve_perf
	cat >threads.py <<-'END'
		import threading
		end = threading.Event()
		for _ in range(60):
		    threading.Thread(target=end.wait).start()
		end.set()
	END
	(
		ulimit -S -n 64
		pfm record -o recorded python3 threads.py
		[ "$(pfm record -o recorded sh -c 'ulimit -S -n')" = 64 ]
	)
	no_contexts
}

@test "each overflow of the simulated PMU is in the recording" {
	serve --backend=sim
	# 2 instructions a nanosecond
	pfm record -o recorded -C 1 -e instructions:u -c 1000000 sh -c \
		"echo 1000000000 >$MNT/sim/advance"
	grep -qx '# 2000 overflows in .*' <(pfm report recorded)
	pfm record -o recorded -C 0-1 -e instructions:u -c 500000 sh -c \
		"echo 100000000 >$MNT/sim/advance"
	[ "$(pfm report recorded --sort=cpu | awk '!/^#/ { print $1, $2, $3 }')" = \
		"50.00% 400 0
50.00% 400 1" ]
	no_contexts
}

# The profile is written in one piece, of which what fits is on the disk.
@test "an output on a full disk" {
	serve --backend=sim
	pfm record -o recorded -C 1 -e instructions:u -c 1000000 sh -c "echo 1000000000 >$MNT/sim/advance"
	mkdir small
	mount -t tmpfs -o size=16k none small
	for format in firefox perf-script; do
		run -125 pfm report recorded "--$format=small/out"
		[[ $output == *small/out* ]]
		rm small/out
	done
	umount small
}

# The buffer of a CPU has room for 2700 samples.
@test "a buffer that fills is emptied" {
	serve --backend=sim
	pfm record -o recorded -C 1 -e instructions:u -c 2000000 sh -c \
		"for _ in 1 2 3 4 5 6 7 8; do echo 1000000000 >$MNT/sim/advance; done"
	pfm report recorded --sort=cpu >flat
	# While it is emptied, nothing is counted, and no overflow is lost.
	run -1 grep lost flat
	[ "$(awk '!/^#/ { print $2 }' flat)" -ge 2700 ]
}

# lost_is PATTERN: the recording has a loss of that kind, and pfm record has said so
lost_is() {
	grep -q missing said
	pfm report recorded | grep "^# lost: $1"
}

@test "a counter that other software takes over" {
	serve --backend=sim
	pfm record -o recorded -C 1 -e branches:u -c 1000000 sh -c \
		"echo 100000000 >$MNT/sim/advance
		echo '1 0x186 0x4300c0' >$MNT/sim/poke
		echo 100000000 >$MNT/sim/advance" 2>said
	lost_is '[0-9]* counts .*pmd0'
	pfm report recorded | grep '^# 40 overflows'
}

@test "too short a period" {
	serve --backend=sim
	pfm record -o recorded -C 1 -e instructions:u -c 100 sh -c \
		"echo 1000000000 >$MNT/sim/advance" 2>said
	lost_is '[0-9]* pauses'
}

# with_max_rate HZ COMMAND...: only the command takes this for the kernel's limit, which stops counters of other
# programs, too.
with_max_rate() {
	echo "$1" >max_rate
	shift
	unshare -m --propagation private sh -c \
		'mount --bind max_rate /proc/sys/kernel/perf_event_max_sample_rate && exec "$@"' sh "$@"
}

@test "more samples a second than the kernel lets a counter have" {
	serve_perf
	unshare -m true 2>/dev/null || skip "needs a private mount namespace"
	run -125 with_max_rate 500 pfm record -o recorded -F 1000 true
	[[ $output == *"-F 250"* ]]
	run -0 with_max_rate 500 pfm record -o recorded true
	pfm report recorded | grep -qx '# event: task-clock, an overflow each 4000000'
}

# A loop of system calls, nearly all of whose time is the kernel's: only what is at user level counts.
@test "a user with root's daemon records a clock at user level, and none of the kernel" {
	local seconds

	serve_perf
	put ok "$MNT/config/tick_us" 1000
	mkdir -m 777 of_user
	run -0 setpriv --reuid="$NOBODY" --regid="$NOBODY" --clear-groups sh -c 'cd of_user &&
		pfm record dd if=/dev/zero of=/dev/null bs=1M count=3000 && pfm report'
	[[ $output == *"# event: task-clock:u, an overflow each 1000000"* && $output != *\[kernel* ]]
	run -125 setpriv --reuid="$NOBODY" --regid="$NOBODY" --clear-groups pfm record -e task-clock true
	[[ $output == *"such as task-clock:u"* ]]
	run -125 pfm stat -e task-clock:u true
	[[ $output == *"leave out the level"* ]]
}

# noid FUNCTION [BUILD-ID]: a program without a build ID, or with one of that kind, in the file FUNCTION, that
# runs for a few ms
noid() {
	printf 'volatile long x; __attribute__((noinline)) void %s(void) { for (long i = 0; i < 1000000; i++) x += i; }
		int main(void) { %s(); return 0; }\n' "$1" "$1" | gcc -O1 "-Wl,--build-id=${2-none}" -x c -o "$1" -
}

@test "a program in another mount namespace, without a build ID, that has ended: never another file's names" {
	command -v gcc >/dev/null || skip "needs gcc"
	serve_perf
	put ok "$MNT/config/tick_us" 1000
	noid was_recorded
	noid never_ran
	mkdir inside
	cp never_ran inside/program
	# shellcheck disable=SC2016
	run -0 pfm record -o recorded unshare -m sh -c \
		'mount -t tmpfs none inside && cp was_recorded inside/program && for i in $(seq 30); do inside/program; done'
	run -0 pfm report recorded
	[[ $output == *" program "* && $output != *never_ran* ]]
}

# Most have ended, and have a successor at their path, before pfm reads that they were mapped.
@test "programs that have ended have their own names, whatever has their paths since" {
	local id

	serve_perf
	put ok "$MNT/config/tick_us" 1000
	for id in none sha1; do
		noid was_recorded "$id"
		noid never_ran "$id"
		for i in {1..20}; do
			cp was_recorded "replaced$i"
			cp was_recorded "stays$i"
		done
		sleep 0.02 # Files that are changed at the time of their mapping are not identified.
		# shellcheck disable=SC2016
		run -0 pfm record -F 1000 -o recorded sh -c 'for i in $(seq 20); do
			./stays$i; ./replaced$i; cp --remove-destination never_ran replaced$i; done'
		pfm report recorded --sort=object,function >flat
		[ "$(grep -cE ' stays[0-9]+ +was_recorded$' flat)" -ge 15 ]
		fails grep -E ' never_ran$|instead.*stays' flat
	done
}

@test "the exit status is the command's" {
	serve_perf
	run -7 pfm record -o recorded sh -c 'ls >/dev/null; exit 7'
	# The ends of threads, which tell that a number is used again
	python3 "$BATS_TEST_DIRNAME/records.py" recorded 9 1
	run -137 pfm record -o recorded sh -c 'kill -KILL $$'
	run -127 pfm record -o recorded no-such-command
	run -126 pfm record -o recorded /etc/passwd
	no_contexts
}

@test "a signal for pfm is the command's, which ends as it wants to" {
	serve_perf
	record recorded sh -c 'trap "echo over >ended; exit 1" TERM
		: >trapped
		while :; do :; done'
	until_ok test -e trapped
	finish 143 TERM
	[ "$(cat ended)" = over ]
	no_contexts
}

# The program is in the function a until the file two appears, then in b. It has a thread that is younger than the
# recording, and is another program than its shell.
in_two_phases() {
	cat >phases.c <<-'END'
		#include <pthread.h>
		#include <unistd.h>
		static volatile int over;
		static __attribute__((noinline)) void a(void) { for (volatile int i = 0; i < 100000; i++); }
		static __attribute__((noinline)) void b(void) { for (volatile int i = 0; i < 100000; i++); }
		static void *second(void *arg) { while (!over) b(); return arg; }
		int main(void) {
			pthread_t t;
			while (access("two", F_OK)) a();
			pthread_create(&t, 0, second, 0);
			while (access("three", F_OK)) b();
			over = 1;
			return pthread_join(t, 0) + 3;
		}
	END
	gcc -O1 -pthread -o phases phases.c
}

# sampled FILE: the ns for which it says it was sampled
sampled() {
	pfm report "$1" | sed -nE 's/^# sampled for ([0-9]+)[.]([0-9]{3}) s.*/\1\2/p'
}

@test "a delay and a duration: what is before and after them is not recorded, and the command goes on" {
	serve_perf
	in_two_phases
	# The delay ends long after the phase of a has: its first moments are those of a.
	record recorded -F 500 --delay=1s --duration=300ms sh -c ': >two; exec ./phases'
	until_ok grep -qs '; the command goes on$' "$LOG.record"
	fails gone "$RECORD"
	until_ok no_contexts
	pfm report recorded --sort=function,command >flat
	grep -q '% .* b  *phases$' flat
	run -1 grep -E ' (a|main)  *phases$' flat
	grep -q '^# sampled for 0[.][0-9]* s, after a delay of 1.000 s$' flat
	[ "$(sampled recorded)" -ge 300 ] && [ "$(sampled recorded)" -le 900 ]
	[ "$(pfm report recorded --sort=tid | grep -c '%')" = 2 ]
	: >three
	finish 3
}

@test "a delay that the command does not live to see, and one that Ctrl-C ends" {
	serve_perf
	run -5 --separate-stderr pfm record -o recorded --delay=1h sh -c 'exit 5'
	[[ $stderr == *"no samples: all was over before the delay was"* ]]
	pfm report recorded | grep -q '^# 0 overflows in 0 samples'
	sleep 1000 3>&- &
	sleeping=$!
	record waiting --delay=1h -p $sleeping
	until_ok test -s waiting
	finish 0 INT
	kill $sleeping
	run -125 pfm record --delay=-1 true
	run -125 pfm record --duration=5 true
	[[ $output == *"with its unit"* ]]
	run -125 pfm record --duration=0s true
	no_contexts
}

@test "a duration without a command, of CPUs" {
	serve_perf
	run -0 --separate-stderr pfm record -o recorded -a -D 10 --duration=100ms
	[[ $stderr != *"goes on"* ]]
	[ "$(sampled recorded)" -ge 100 ]
	python3 "$BATS_TEST_DIRNAME/records.py" recorded 7 1
	no_contexts
}

# whole FILE: it has a beginning, mappings, names and an end
whole() {
	for type in 1 4 11 13 7; do
		python3 "$BATS_TEST_DIRNAME/records.py" "$1" $type 1
	done
	fails grep -q 'no end' <(pfm report "$1")
}

@test "pieces: the newest are kept, each a whole recording" {
	serve_perf
	in_two_phases
	touch piece.7 piece.007 piece.8x piece other.9
	record piece -F 500 --rotate=200ms,3 sh -c 'exec ./phases'
	until_ok test -e piece.9
	fails test -e piece.8.old
	rm piece.8
	echo mine >piece.8
	: >two
	until_ok test -e piece.13
	: >three
	finish 3
	last=$(sed -nE 's/^pfm record: [0-9,]+ samples, the newest in piece.[0-9]+ to piece.([0-9]+): pfm report piece.[0-9]+$/\1/p' \
		"$LOG.record")
	rm piece.8x
	[ "$(ls piece.[1-9]* | sort -V | tr '\n' ' ')" = \
		"piece.7 piece.8 piece.$((last - 2)) piece.$((last - 1)) piece.$last " ]
	[ "$(cat piece.8)" = mine ]
	for n in $((last - 2)) $((last - 1)); do
		whole piece.$n
		# The program was executed, and its first thread named, in the first piece.
		pfm report piece.$n --sort=command,function >flat
		grep -q '% .* phases  *b$' flat
		[ "$(sampled piece.$n)" -ge 200 ]
	done
	no_contexts
}

@test "pieces of a size, and what they cannot be" {
	serve_perf
	for args in 1 10K 64 5s,1 5s,x 50ms 100m,20000 M; do
		run -125 pfm record --rotate=$args true
		[[ $output == *"--rotate $args"* ]]
	done
	run -125 pfm record --rotate=1M -o - true
	[[ $output == *"-o FILE"* ]]
	in_two_phases
	record size -F 4000 --rotate=64K,2 ./phases
	until_ok test -e size.4
	: >two
	: >three
	finish 3
	[[ $(cat "$LOG.record") =~ the\ newest\ in\ size.([0-9]+)\ to\ size.([0-9]+): ]]
	[ "${BASH_REMATCH[1]}" = $((BASH_REMATCH[2] - 1)) ]
	[ "$(ls size.* | wc -l)" = 2 ]
	whole "size.${BASH_REMATCH[1]}"
	[ "$(stat -c %s "size.${BASH_REMATCH[1]}")" -ge 65536 ]
	run -0 --separate-stderr pfm record -e page-faults -c 1 --rotate=1G -o one true
	[[ $stderr == *" samples in one.1: pfm report one.1" ]]
	until_ok no_contexts
}

@test "pieces on a full disk: those before stay whole" {
	serve_perf
	mkdir small
	mount -t tmpfs -o size=500k none small
	record small/piece -F 4000 --rotate=64K,100 sh -c "$WAITS"
	goes_on 125
	grep -q 'small/piece.*ENOSPC' "$LOG.record"
	whole small/piece.1
	whole small/piece.2
	for piece in small/piece.*; do
		pfm report --sort=command "$piece" | grep -q '% .* sh$'
	done
	umount small
	until_ok no_contexts
}

@test "wrong usage and what does not exist" {
	serve_perf
	for args in "" "-F 0 true" "-F 1 -c 1 true" "-c 0 true" "-p 1 -a" "-e nonsense true" \
		"-e page-faults -F 10 -c 1 true" "-C 4000" "-t 4194305" "-o /nonexistent/file true" \
		"--nonsense"; do
		# shellcheck disable=SC2086 # words
		run -125 pfm record $args
		[ -n "$output" ]
	done
	run -125 pfm report nonexistent
	run -125 pfm report /etc/passwd
	run -125 pfm report /dev/zero
	run -125 pfm report "$PWD"
	run -125 pfm report --sort=weather
	run -125 pfm record -m /nonexistent true
	no_contexts
}

# It is not shown where the terminal is a command's, or can do nothing.
@test "progress on a terminal, while there is no command" {
	serve --backend=sim --clock=real
	for TERM in xterm dumb; do
		export TERM
		bounded script -qfc 'echo $$ >pid; exec pfm record -o recorded -C 1 -e cycles:u -c 1000000' typescript \
			>/dev/null 2>&1 3>&- &
		until_ok grep -qs . pid
		[ $TERM = dumb ] || until_ok grep -qE $'\r\033\\[K[0-9]+ s, [0-9,]+ samples; Ctrl-C ends\r' typescript
		until_ok has_samples recorded 6000 # 2.5 s: it is shown each second
		kill -INT "$(cat pid)"
		wait $!
		[ $TERM = dumb ] || grep -qE $'\r\033\\[K(pfm record: .*)?\r?$' typescript
		[ $TERM = xterm ] || fails grep -q ' samples; ' typescript
		rm pid typescript recorded
	done
}

@test "several events, each with its period or its rate" {
	serve_perf
	run -0 pfm record -o recorded -F 100 -e task-clock -F 500 -e page-faults,context-switches -c 1 \
		dd if=/dev/zero of=/dev/null bs=16M count=40
	pfm report recorded >flat
	[ "$(grep -c '^# event: ' flat)" = 3 ]
	grep -qx '# event: task-clock, an overflow each 2000000' flat
	grep -qx '# event: page-faults, an overflow each 1' flat
	[ "$(pfm report recorded -e page-faults --folded | total)" -ge 100 ]
	[ "$(pfm report recorded --folded | total)" = "$(sed -nE '/event: task-clock/,/samples/s/^# ([0-9]+) overflows.*/\1/p' flat)" ]
	run -125 pfm report recorded -e cycles
	[[ $output == *"has no such event"* ]]
	run -125 pfm record -e page-faults -c 1 -e task-clock,page-faults -o a true
	[[ $output == *"-e page-faults: the event is there twice"* && ! -e a ]]
	printf '#include <sys/mman.h>
		int main(void) { for (;;) {
			volatile char *p = mmap(0, 1 << 24, 3, 0x22, -1, 0);
			for (int i = 0; i < 1 << 24; i += 4096) p[i] = 1;
			munmap((void *)p, 1 << 24); } }' >faults.c
	gcc -O1 -o faults faults.c
	run -0 pfm record -o recorded -e page-faults -F 200 timeout -s KILL 4 ./faults || [ "$status" = 137 ]
	pfm report recorded >flat
	grep -q '^# event: page-faults, about 200 samples a second' flat
	pfm report recorded --pprof=pprof --flamegraph=flame.svg
	fails grep -q 'overflows<' flame.svg
	zcat -f pprof | grep -aq events
	fails grep -aq overflows <(zcat -f pprof)
	samples=$(sed -nE 's/^# [0-9]+ events in ([0-9]+) samples.*/\1/p' flat)
	[ "$samples" -ge 50 ] && [ "$samples" -le 4000 ]
}

@test "simulated PMUs have no threads" {
	serve --backend=sim
	run -125 pfm record true
	[[ $output == *"choose CPUs with -C or -a" ]]
	run -125 pfm record -p 99999999
	[[ $output == *"choose CPUs with -C or -a" ]]
}

@test "an older recording stays if there is nothing to record" {
	serve --backend=sim
	echo older >recorded
	run -125 pfm record -o recorded -C 1000
	run -126 pfm record -o recorded -C 1 -- /etc/passwd
	run -125 pfm record -o new -C 1000
	[ "$(cat recorded)" = older ]
	[ ! -e new ]
}

@test "the last line: how many samples, where, and what shows them; an older file is kept" {
	serve --backend=perf
	echo older >pfm.data
	run -0 --separate-stderr pfm record -e page-faults -c 1 true
	[[ $stderr =~ ^pfm\ record:\ ([0-9]+)\ samples\ in\ pfm.data:\ pfm\ report$ ]]
	[ "$(cat pfm.data.old)" = older ]
	pfm report | grep -q " ${BASH_REMATCH[1]} samples"
	run -0 --separate-stderr pfm record -g -e page-faults -c 1 -o a true
	[[ $stderr == "pfm record: "*" samples in a: pfm report --tree a" ]]
	run -0 --separate-stderr pfm record -e page-faults -c 1000000000 -o a true
	[[ $stderr == "pfm record: no samples: "*"-F or -c" ]]
	[ -s a.old ]
	pfm record -e page-faults -c 1 -o - true 2>said | pfm report - >/dev/null
	[ ! -s said ]
	mkdir pfm.data.old.old
	run -125 pfm record -e page-faults -o pfm.data.old true
	[[ $output == *"pfm.data.old.old: EISDIR"* ]]
}

# can_be_reported: what was recorded before it went wrong
can_be_reported() {
	pfm report recorded --sort=command >flat
	grep -q 'no end$' flat
	grep -qE '^100.00% .* sh$' flat
}

BUSY='while :; do :; done'
# Until it is told to end; it says that it has come to its end.
WAITS='until [ -e over ]; do :; done; : >ended'

# goes_on STATUS: pfm has said that, then the command ends, and pfm with that status
goes_on() {
	until_ok grep -q 'goes on$' "$LOG.record"
	[ ! -e ended ]
	: >over
	finish "$1"
	[ -e ended ]
}

@test "a full disk, and the command goes on" {
	serve_perf
	mkdir small
	mount -t tmpfs -o size=16k none small
	ln -s small/recorded recorded
	record recorded -F 4000 sh -c "$WAITS"
	goes_on 125
	grep -q ENOSPC "$LOG.record"
	can_be_reported
	umount small
	until_ok no_contexts
}

@test "a full disk, and a file that is appended to" {
	serve_perf
	mkdir small
	mount -t tmpfs -o size=16k none small
	head -c 5000 /dev/zero >small/appended
	pfm record -o - -F 4000 sh -c "until [ -s said ]; do :; done" >>small/appended 2>said ||
		[ $? = 125 ]
	grep -q ENOSPC said
	cmp -n 5000 small/appended /dev/zero
	[ "$(stat -c %s small/appended)" -gt 16000 ] # a record has less than 300 bytes
	tail -c +5001 small/appended >recorded
	umount small
	can_be_reported
	no_contexts
}

@test "a pipe without a reader" {
	serve_perf
	run -0 bash -c "pfm record -o - sh -c 'until grep -q EPIPE said; do :; done' 2>said | true
		echo \${PIPESTATUS[0]}"
	[ "$output" = 125 ]
	grep -q EPIPE said
	no_contexts
}

@test "a daemon that is killed meanwhile" {
	serve_perf
	record recorded -F 4000 sh -c "$WAITS"
	until_ok has_samples recorded 300
	kill -KILL "$DAEMON"
	goes_on 3
	ended 137
	until_ok not_mounted
	can_be_reported
}

@test "a recording that is killed leaves no context, and what it has written" {
	serve_perf
	record recorded -F 4000 sh -c "$BUSY"
	until_ok has_samples recorded 300
	finish 137 KILL
	until_ok no_contexts
	can_be_reported
}

@test "pfm report: no output replaces a recording" {
	serve --backend=sim
	pfm record -o a.data -C 1 -e instructions:u -c 1000000 true
	cp a.data pfm.data
	cp a.data keep
	for o in folded flamegraph html perf-script pprof firefox; do
		run -125 pfm report --$o=a.data
		[[ $output == *"a.data is a recording"* ]]
		run -125 pfm report --$o=a.data a.data
		cmp a.data keep
	done
	run -125 pfm report --flamegraph a.data # =graph.svg was forgotten
	cmp a.data keep
	pfm report --folded=text a.data
	pfm report --folded=text a.data
}
