# SPDX-License-Identifier: MIT
# pfm top: lines of the simulator, whose counts are known, tables of threads on the backend perf, and a
# terminal.

load common

setup() {
	bench_setup
	PATH="$BUILD/tools/pfm:$PATH"
	export PERFMONFS=$MNT TERM=xterm ASAN_OPTIONS=${ASAN_OPTIONS-}:detect_leaks=0
	PROGRAMS=()
}

teardown() {
	[ "${#PROGRAMS[@]}" = 0 ] || kill -KILL "${PROGRAMS[@]}"
	bench_teardown
}

# program: three threads that run, and one that waits; PID is the process
program() {
	# The name is not fit for a terminal.
	python3 - >"$BATS_TEST_TMPDIR/ready" 3>&- 4>&- 5>&- <<-'END' &
		import threading, time
		def work():
		    while True:
		        pass
		open("/proc/self/comm", "wb").write(b"a\x1b[31m\xff")
		for _ in range(3):
		    threading.Thread(target=work, daemon=True).start()
		print("ready", flush=True)
		time.sleep(1000)
	END
	PID=$!
	PROGRAMS+=("$PID")
	until_ok grep -q ready "$BATS_TEST_TMPDIR/ready"
}

@test "sim: rates of CPUs, in lines" {
	serve --backend=sim --clock=real
	run -0 bounded pfm top -n 3 -I 200 -e instructions:u,cycles:u
	[ "$(grep -c instructions:u <<<"${lines[0]}")" = 1 ]
	[ "${#lines[@]}" -ge 4 ]
	# All CPUs at once run the same model, 2000 instructions in 2400 cycles.
	awk 'NR > 1 { gsub(",", ""); if ($3 !~ /G?/ || $3 <= 0) exit 1
		i = $3; c = $5
		if ($4 != "G" || $6 != "G" || i / c < 0.83 || i / c > 0.84) exit 1 }' <<<"$output"
	no_contexts
	run -0 bounded pfm top -n 1 -I 200 -C 1 -e instructions:u
	[ "${#lines[@]}" = 2 ]
	[[ ${lines[1]} =~ ^\ +[0-9.]+\ +1\  ]]
	run -0 bounded pfm top -n 1 -I 200
	fails grep -qE '^.{81}' <<<"$output"
}

@test "sim: errors" {
	serve --backend=sim
	for words in "-n 0" "-I 99" "-s nothing" "-B core" "-p 1" "-C 0 -a" "-C 99999999" "-e nothing" "true" "--nothing"; do
		# shellcheck disable=SC2086
		run -125 pfm top $words
		[ "${#lines[@]}" = 1 ]
	done
}

# loaded NAME CPU PMC0...: a context that counts
loaded() {
	local i=0 value

	mkdir "$MNT/ctx/$1"
	for value in "${@:3}"; do put ok "$MNT/ctx/$1/pmc/$((i++))" "$value"; done
	put ok "$MNT/ctx/$1/ctl" "load cpu=$2"
	put ok "$MNT/ctx/$1/ctl" start
}

@test "sim: by context, of all users" {
	serve --backend=sim --clock=real
	run -0 bounded pfm top -B context -n 1 -I 100
	[ "${#lines[@]}" = 1 ]
	loaded a 1 0x4100c0 0x4300c4 0x410000
	loaded idle 2 0x4200c0
	put ok "$MNT/ctx/idle/ctl" stop
	# Its overflows set it again.
	mkdir "$MNT/ctx/samples" "$MNT/ctx/empty"
	put ok "$MNT/ctx/samples/pmc/0" 0x4100c0
	put ok "$MNT/ctx/samples/pmd/0" "-100000000 long=-100000000"
	put ok "$MNT/ctx/samples/ctl" "load cpu=3"
	put ok "$MNT/ctx/samples/ctl" start
	run -0 bounded pfm top -B context -n 2 -I 200
	[[ ${lines[0]} =~ TIME\ CONTEXT\ +OWNER\ +WHERE\ +PER\ SECOND\ EVENT$ ]]
	[ "${#lines[@]}" = 11 ]
	for from in 1 6; do
		[[ ${lines[from]} =~ \ a\ +root\ +CPU\ 1\ +[0-9.]+\ G\ instructions:u$ ]]
		[[ ${lines[from + 1]} =~ \ a\ +root\ +CPU\ 1\ +[0-9][0-9.,G\ ]+\ branches$ ]]
		[[ ${lines[from + 2]} =~ \ pmc2=0x410000$ ]]
		[[ ${lines[from + 3]} =~ \ idle\ +root\ +CPU\ 2\ +0\ instructions:k$ ]]
		[[ ${lines[from + 4]} =~ \ samples\ +root\ +CPU\ 3\ +-\ instructions:u$ ]]
	done
	# It is not told what contexts of others count.
	run -0 bounded setpriv --reuid=65534 --clear-groups "$BUILD/tools/pfm/pfm" top -B context -n 1 -I 100
	[ "${#lines[@]}" = 4 ]
	[[ ${lines[1]} =~ \ a\ +root\ +CPU\ 1\ +-\ only\ its\ owner\ and\ root\ can\ read\ it$ ]]
	for words in "-e cycles" "-g default" "-s id" "-C 1" "-a" "-p 1"; do
		# shellcheck disable=SC2086
		run -125 pfm top -B context $words
		[[ $output == *"leave out -e"* ]]
	done
	rmdir "$MNT/ctx/"*
}

@test "sim: a lost count is the exit status" {
	serve --backend=sim --clock=real
	loaded a 1 0x4100c0
	echo "1 0x186 0x4300c4" >"$MNT/sim/poke"
	run -3 bounded pfm top -B context -n 1 -I 100
	[[ $output =~ \ a\ +root\ +CPU\ 1\ +-\ .*(taken|stolen|in\ use|lost) ]]
	rmdir "$MNT/ctx/a"
	echo "1 0x186 0" >"$MNT/sim/poke"
	run -3 bounded bash -c "pfm top -n 2 -I 300 -C 1 -e r00c4:u,r00c5:u | { read -r _
		read -r _; echo '1 0x186 0x4300c4' >$MNT/sim/poke; cat; }; exit \${PIPESTATUS[0]}"
	[[ $output == *"<lost>"* ]]
}

# What ran would have a rate, too; but where a switch is missed, its count is lost.
@test "perf: by context, of a process in one row" {
	serve --backend=perf
	python3 - >"$BATS_TEST_TMPDIR/ready" 3>&- 4>&- 5>&- <<-'END' &
		import threading, time
		for _ in range(3):
		    threading.Thread(target=time.sleep, args=(1000,)).start()
		print("ready", flush=True)
	END
	PID=$!
	PROGRAMS+=("$PID")
	until_ok grep -q ready "$BATS_TEST_TMPDIR/ready"
	mkdir "$MNT/ctx/a"
	echo task-clock >"$MNT/ctx/a/pmc/0"
	put ok "$MNT/ctx/a/ctl" "load pid=$PID"
	put ok "$MNT/ctx/a/ctl" start
	run -0 bounded pfm top -B context -n 1 -I 300
	[ "${#lines[@]}" = 2 ]
	[[ ${lines[1]} =~ \ a\ +root\ +thread\ $PID\ python3\ +0.[0-9]\ %\ task-clock ]]
	"$BATS_TEST_DIRNAME/terminal.py" 24 60 pfm top -I 200 -B context <<-'END'
		shows ^contexts: 1; perf;
		shows ^CONTEXT        OWNER     WHERE                     PER SECON$
		key s
		key b
		key q
		ends 0
	END
	rmdir "$MNT/ctx/a"
}

@test "sim: a reader that goes, and a signal" {
	serve --backend=sim --clock=real
	bounded pfm top -I 100 -e cycles:u 2>"$BATS_TEST_TMPDIR/err" | head -n 2 >"$BATS_TEST_TMPDIR/out"
	[ "$(wc -l <"$BATS_TEST_TMPDIR/out")" = 2 ]
	grep -q EPIPE "$BATS_TEST_TMPDIR/err"
	# In another file, where there is nothing as yet.
	pfm top -I 100 -e cycles:u >"$BATS_TEST_TMPDIR/more" 3>&- 4>&- 5>&- &
	until_ok grep -q cycles "$BATS_TEST_TMPDIR/more"
	kill "$!"
	wait "$!"
	no_contexts
}

# Python lets one of them run at a time: when a CPU is taken from us, others may have no turn for a while.
those_that_run_come_first() {
	bounded pfm top -n 1 -I 300 -p "$PID" -e task-clock | awk '
		NR > 1 && NR < 5 && $3 <= 0 { bad = 1 }
		NR == 5 { last = $2 == pid && $3 <= 1 }
		END { exit bad || !last }' pid="$PID"
}

@test "sim: the daemon ends" {
	local by rc

	for by in "-a -e cycles:u" "-B context"; do
		serve --backend=sim --clock=real
		loaded a 1 0x4100c0
		# shellcheck disable=SC2086
		pfm top --mount="$MNT" -b -I 100 $by >"$BATS_TEST_TMPDIR/out" 2>"$BATS_TEST_TMPDIR/err" 3>&- 4>&- 5>&- &
		until_ok grep -q ' G' "$BATS_TEST_TMPDIR/out"
		stop_daemon
		rc=0
		wait "$!" || rc=$?
		[ $rc = 3 ]
		grep -q '^pfm top: .*the daemon has ended' "$BATS_TEST_TMPDIR/err"
		rm "$BATS_TEST_TMPDIR/out"
	done
}

@test "perf: threads of a process, by thread and as a sum" {
	serve --backend=perf
	program
	run -0 --separate-stderr bounded pfm top -n 2 -I 300 -p "$PID" -e task-clock,page-faults:u
	# The header, and twice each thread; those that run come first.
	[ "${#lines[@]}" = 9 ]
	for tid in "/proc/$PID/task/"*; do
		[ "$(awk -v tid="${tid##*/}" '$2 == tid' <<<"$output" | wc -l)" = 2 ]
	done
	grep -q 'a?\[31m?$' <<<"$output"
	until_ok those_that_run_come_first
	run -0 --separate-stderr bounded pfm top -n 1 -I 300 -B process -p "$PID" -e task-clock
	[ "${#lines[@]}" = 2 ]
	awk 'NR == 2 { exit $2 != pid }' pid="$PID" <<<"$output"
	run -0 --separate-stderr bounded pfm top -n 1 -I 300 -t "$PID" -s id -e task-clock
	[ "${#lines[@]}" = 2 ]
	# More threads than there are descriptors by default
	run -0 --separate-stderr bounded prlimit --nofile=12: pfm top -n 1 -I 300 -p "$PID" -e task-clock
	[ "${#lines[@]}" = 5 ]
	no_contexts
}

# functions_of PID...: lines of its functions; what several interrupts of a slow machine hit may have none
functions_of() {
	bounded pfm top -f -b -n 2 -I 500 "$@" >"$BATS_TEST_TMPDIR/functions" &&
		[ "$(grep -c PyEval "$BATS_TEST_TMPDIR/functions")" -ge 2 ]
}

@test "perf: functions, in lines and on a terminal" {
	serve --backend=perf
	program
	until_ok functions_of -p "$PID" -F 500
	head -n 1 "$BATS_TEST_TMPDIR/functions" | grep -qE '^ +TIME +share +overflows +object +function$'
	grep -qE '^ +[0-9.]+ +[0-9.]+% +[0-9]+  [^ ]*python[^ ]* +.*PyEval' "$BATS_TEST_TMPDIR/functions"
	until_ok functions_of -a -e cpu-clock
	"$BATS_TEST_DIRNAME/terminal.py" 20 70 pfm top -f -I 300 -p "$PID" <<-'END'
		shows ^task-clock: [0-9]+ samples.*; perf; every 300 ms$
		shows ^q: quit  s: next table .by function.$
		shows ^  share   overflows  object  .* function
		shows ^ *[0-9.]+%  .*PyEval
		key s
		shows ^q: quit  s: next table .by command and function.$
		shows ^ *[0-9.]+%  +[0-9]+  a\?\[31m\?
		key s
		key s
		shows by command.$
		shows ^ *[0-9.]+%  +[0-9]+  a\?\[31m\?$
		size 5 40
		shows ^q: quit
		kill SIGTERM
		ends 0
	END
	no_contexts
}

@test "perf: functions of what ends, and of what cannot be sampled" {
	serve --backend=perf
	perl -e '1 while (times)[0] < 0.5' 3>&- &
	run -0 bounded pfm top -f -I 100000 -b -p $!
	grep -q '% .*perl' <<<"$output"
	run -125 bounded pfm top -f -p $!
	for words in "-f -g default" "-f -s id" "-f -B process" "-f -B context" "-F 10" "-f -F 1000001" "-f -F 0" \
		"-f -e page-faults,cpu-clock" "-f -e nothing"; do
		# shellcheck disable=SC2086
		run -125 pfm top $words
		[ "${#lines[@]}" = 1 ]
	done
	no_contexts
}

@test "sim: functions of CPUs that run no programs" {
	serve --backend=sim --clock=real
	run -0 bounded pfm top -f -b -n 2 -I 200 -C 1 -e cycles
	[ "${#lines[@]}" -ge 2 ]
}

# has_shown N: so many threads
has_shown() {
	[ "$(awk 'NR > 1 { print $2 }' "$BATS_TEST_TMPDIR/out" | sort -u | wc -l)" -ge "$1" ]
}

@test "perf: threads that begin and end, and the end of all" {
	serve --backend=perf
	# One after the other, until the tables have had enough of them.
	python3 - "$BATS_TEST_TMPDIR/over" 3>&- 4>&- 5>&- <<-'END' &
		import os, sys, threading, time
		while not os.path.exists(sys.argv[1]):
		    thread = threading.Thread(target=time.sleep, args=(0.5,))
		    thread.start()
		    thread.join()
	END
	PID=$!
	pfm top -I 200 -p "$PID" -e task-clock >"$BATS_TEST_TMPDIR/out" 2>"$BATS_TEST_TMPDIR/err" 3>&- 4>&- 5>&- &
	PROGRAMS+=("$PID" "$!")
	until_ok has_shown 4
	: >"$BATS_TEST_TMPDIR/over"
	until_ok gone "$!"
	wait "$!"
	wait "$PID"
	PROGRAMS=()
	[ ! -s "$BATS_TEST_TMPDIR/err" ]
	run -125 pfm top -p "$PID"
	[[ $output == *"there is no process"* ]]
	no_contexts
}

# It stays as a zombie. In the second round, its first thread is one from the beginning.
@test "perf: the end of a process that is not waited for" {
	local order

	serve --backend=perf
	for order in main other; do
		python3 - $order >"$BATS_TEST_TMPDIR/$order" 3>&- 4>&- 5>&- <<-'END' &
			import ctypes, os, sys, threading, time
			child = os.fork()
			if child == 0:
			    if sys.argv[1] == "other":
			        threading.Thread(target=time.sleep, args=(1000,)).start()
			        ctypes.CDLL(None).pthread_exit(None)
			    time.sleep(1000)
			print(child, flush=True)
			time.sleep(1000)
		END
		PROGRAMS+=("$!")
		until_ok grep -q . "$BATS_TEST_TMPDIR/$order"
		PID=$(cat "$BATS_TEST_TMPDIR/$order")
		PROGRAMS+=("$PID")
		if [ $order = other ]; then until_ok grep -q zombie "/proc/$PID/status"; fi
		pfm top -I 100 -p "$PID" -e task-clock >"$BATS_TEST_TMPDIR/$order.out" 2>&1 3>&- 4>&- 5>&- &
		until_ok grep -q python "$BATS_TEST_TMPDIR/$order.out"
		kill -KILL "$PID"
		wait "$!"
		[ "$(grep -c task-clock "$BATS_TEST_TMPDIR/$order.out")" = 1 ]
	done
	no_contexts
}

@test "perf: a thread that cannot be counted" {
	serve --backend=perf
	program
	mkdir "$MNT/ctx/a"
	echo "load tid=$PID" >"$MNT/ctx/a/ctl"
	run -125 pfm top -n 1 -t "$PID"
	[[ $output == *"monitored already"* ]]
	# The others are.
	run -0 bounded pfm top -n 1 -I 200 -p "$PID" -e task-clock
	[ "${#lines[@]}" = 4 ]
	"$BATS_TEST_DIRNAME/terminal.py" 24 80 pfm top -I 200 -p "$PID" -e task-clock <<-'END'
		shows ^1 not counted: .*monitored already
		key q
		ends 0
	END
	rmdir "$MNT/ctx/a"
}

@test "perf: a terminal: keys, and other sizes" {
	serve --backend=perf
	program
	"$BATS_TEST_DIRNAME/terminal.py" 24 80 pfm top -I 200 -p "$PID" <<-END
		shows ^threads: 4; perf;
		shows sort \(task-clock\)
		shows ^    TID    task-clock context-switc .* COMMAND$
		shows ^ *$PID .* a\?\[31m\?$
		key s
		shows sort \(context-switches\)
		key b
		shows b: by \(process\)
		shows ^    PID
		lacks ^ *$((PID + 1)) 
		key ssss
		shows sort \(task-clock\)
		size 4 40
		shows ^    PID    task-clock COMMAND\$
		size 2 5
		shows \Athrea\nq: qu\Z
		size 50 200
		shows ^    PID    task-clock context-switches .* COMMAND$
		key b
		shows ^    TID
		key x
		key q
		ends 0
	END
	no_contexts
}

# Until the first table, which the test does not wait for, a line says when it comes.
@test "perf: a terminal: CPUs, by events that tell them apart" {
	serve --backend=perf
	"$BATS_TEST_DIRNAME/terminal.py" 24 200 pfm top -I 1000000 <<-'END'
		shows ^  the first table comes after 1000000 ms$
		shows ^    CPU context-switches cpu-migrations   page-faults  major-faults$
		key q
		ends 0
	END
	no_contexts
}

@test "perf: a terminal is left as it was, however top ends" {
	serve --backend=perf
	program
	for end in $'key \003\nends 0' $'kill SIGTERM\nends 0'; do
		"$BATS_TEST_DIRNAME/terminal.py" 24 80 pfm top -a -I 200 <<<$'shows ^CPUs: \n'"$end"
	done
	"$BATS_TEST_DIRNAME/terminal.py" 24 80 pfm top -n 1 -I 200 <<<"ends 0"
	# That of a shell: it echoes again, line by line.
	"$BATS_TEST_DIRNAME/terminal.py" 24 80 sh -c 'stty -a >"$0"; pfm top -n 1 -I 100; stty -a >"$1"' \
		"$BATS_TEST_TMPDIR/before" "$BATS_TEST_TMPDIR/after" <<<"ends 0"
	diff "$BATS_TEST_TMPDIR/before" "$BATS_TEST_TMPDIR/after"
	# Its page ends with what is counted.
	"$BATS_TEST_DIRNAME/terminal.py" 24 80 pfm top -I 200 -p "$PID" <<-END
		shows ^threads: 4
		sh kill -KILL $PID
		ends 0
	END
	PROGRAMS=()
}

@test "a terminal that can do nothing gets lines" {
	serve --backend=perf
	TERM=dumb run -0 bounded script -qec "pfm top -n 1 -I 100 -e task-clock" /dev/null
	[[ $output == *TIME* && $output != *$'\033'* ]]
}
