# SPDX-License-Identifier: MIT
# libperfmonfs: the programs of tests/lib and examples/, on mounts of the simulator and of the perf
# backend. They find the mount by PERFMONFS, because there may be others on this machine.

load common
load track

INCLUDE=$BATS_TEST_DIRNAME/../../include
NS=3000000

setup() {
	bench_setup
	track_setup
	export PERFMONFS=$MNT
}

teardown() {
	track_teardown
	bench_teardown
}

# By the files: what is counted while NS of model time pass, for programs to find the same
count_by_files() {
	new files
	put ok "$C/pmc/0" 0x4100c0
	ctl "load cpu=0"
	ctl start
	advance "$NS"
	ctl stop
	COUNT=$(cat "$C/pmd/0")
	probe ok rmdir "$C"
	[ "$COUNT" -gt 0 ]
}

# works PROGRAM [ARGUMENT...]: of tests/lib
works() {
	timeout -s KILL 120 "${WHO[@]}" "$BUILD/tests/lib/$1" "${@:2}" 3>&- 4>&- 5>&-
}

# Every call of that version of the interface, against the files
same_as_files() {
	serve --backend=sim
	count_by_files
	works "$1" "$NS" "$COUNT"
}

two_cpus() {
	[ "${#CPUS[@]}" -ge 2 ] || skip "needs two CPUs"
}

@test "2.6 to 2.81: every call, every error, the counts of the files" {
	two_cpus
	same_as_files calls_v2
}

@test "2.2: three arguments, UUIDs, microseconds" {
	same_as_files calls_v22
}

@test "2.0: perfmonctl with its numbers and structures" {
	two_cpus
	same_as_files calls_v20
}

@test "2.0: a format of the daemon's directory, with its argument" {
	local formats

	# Not below /tmp, which others can write to.
	formats=$(mktemp -d /run/perfmonfs-test.XXXXXX)
	chmod 755 "$formats"
	install -m 644 "$BUILD/formats/count.so" "$formats"
	serve --backend=sim --formats="$formats"
	rm -r "$formats"
	run -0 works user_format 3
	is "count every=3"
}

@test "2.0: a format that comes and goes while the daemon runs" {
	local formats

	formats=$(mktemp -d /run/perfmonfs-test.XXXXXX)
	chmod 755 "$formats"
	install -m 644 "$BUILD/formats/count.so" "$formats"
	serve --backend=sim --formats=/none
	run ! works user_format 3
	put ok "$MNT/formats" "register $formats/count.so"
	rm -r "$formats"
	run -0 works user_format 3
	is "count every=3"
	# The release of a clone comes some time after close().
	until_ok put ok "$MNT/formats" "unregister count"
	run ! works user_format 3
}

@test "the specification: every command of table 3.1, every error" {
	two_cpus
	same_as_files calls_v06
}

@test "the revision of 2008: sizes, flags and further arguments" {
	two_cpus
	same_as_files calls_r2008
}

@test "structures of each version, field by field" {
	local version

	two_cpus
	serve --backend=sim:intel_v4
	for version in v2 v22 v20 v06 r2008; do
		works "calls_$version"
	done
}

@test "signals by fcntl, of contexts alone" {
	serve --backend=sim
	works signals
	works signals_static
}

@test "signals by fcntl, in a program that is static altogether" {
	[ -x "$BUILD/tests/lib/signals_alone" ] || skip "needs a static C library (libc.a)"
	serve --backend=sim
	works signals_alone
}

@test "signals to oneself, from another PID namespace" {
	unshare -pf --mount-proc true 2>/dev/null || skip "needs a PID namespace with a /proc"
	serve --backend=sim
	# With its own /proc, as the sanitizers want it.
	WHO=(unshare -pf --kill-child --mount-proc)
	works signals namespace
}

@test "a context lives as long as its open file" {
	two_cpus
	serve --backend=sim
	works lifetimes
}

@test "calls in signal handlers and in two threads" {
	two_cpus
	serve --backend=sim
	works together
}

@test "a thread that is to be cancelled makes its calls" {
	two_cpus
	serve --backend=sim
	works cancelled
}

@test "contexts of two mounts are not taken for each other" {
	local other=$MNT.other daemon

	two_cpus
	serve --backend=sim
	mkdir "$other"
	perfmonfs -f --backend=sim "$other" 2>"$LOG.other" 3>&- 4>&- 5>&- &
	daemon=$!
	until_ok cat "$other/version" || {
		kill -TERM "$daemon"
		return 1
	}
	run works two_mounts "$other"
	kill -TERM "$daemon"
	wait "$daemon"
	[ "$status" = 0 ]
}

# said CALL ERRNO NOUN: one line on stderr says that CALL failed with ERRNO, with that noun
said() {
	[ "$(grep -c "^perfmonfs: $1: $2: .*$3" <<<"$stderr")" = 1 ]
}

@test "PERFMONFS_DEBUG: each call that fails, and why" {
	serve --backend=sim
	run --separate-stderr -0 works failing
	[ -z "$stderr" ]
	export PERFMONFS_DEBUG=1
	run --separate-stderr -0 works failing
	said pfm_stop EBADF descriptor
	said pfm_write_pmcs EINVAL pmc319
	said pfm_load_context EINVAL PERFMONFS_ANYCPU # the library's own reason
	[ "$(wc -l <<<"$stderr")" = 4 ]
	PERFMONFS_ANYCPU=1 run --separate-stderr -0 works failing
	said pfm_load_context EINVAL 4000 # the daemon's
	put ok "$MNT/config/thread_group" none
	run --separate-stderr as nobody works create
	said pfm_create_context EPERM thread_group
	PERFMONFS=$MNT/nothing run --separate-stderr works create
	said pfm_create_context ENOSYS PERFMONFS
}

@test "PERFMONFS_DEBUG: which of several mounts is taken" {
	local second=$BATS_TEST_TMPDIR/second

	serve --backend=sim
	export PERFMONFS_DEBUG=1
	run --separate-stderr -0 works create
	[ -z "$stderr" ]
	unset PERFMONFS
	mkdir "$second"
	# shellcheck disable=SC2016
	run --separate-stderr -0 with_mounts "$MNT" \
		sh -c 'mount --bind "$1" "$2" && exec "$0"' "$BUILD/tests/lib/create" "$MNT" "$second"
	[ "$(wc -l <<<"$stderr")" = 2 ]
	[[ $stderr == "perfmonfs: taken "*": $MNT; "*$'\n'"perfmonfs: not taken "*": $second; "* ]]
}

@test "no perfmonfs: ENOSYS" {
	[ "$(works create)" = ENOSYS ] # a directory
	PERFMONFS=$MNT/nothing
	[ "$(works create)" = ENOSYS ]
	PERFMONFS=
	[ "$(with_mounts "" "$BUILD/tests/lib/create")" = ENOSYS ]
}

@test "the mount is found by its type, whatever its name" {
	local odd="$BATS_TEST_TMPDIR/an odd \\ name"

	serve --backend=sim
	unset PERFMONFS
	mkdir "$odd"
	# shellcheck disable=SC2016
	output=$(with_mounts "$MNT" sh -c 'mount --bind "$1" "$2" && umount -l "$1" && exec "$0"' \
		"$BUILD/tests/lib/create" "$MNT" "$odd")
	is ok
}

# A dead mount that has only the type's name: using it is an error.
mount_of_user_nobody() {
	exec 4<>/dev/fuse
	mkdir "$1"
	mount -i -t fuse.perfmonfs -o "fd=4,rootmode=40000,user_id=$NOBODY,group_id=$NOBODY,allow_other" none "$1"
	exec 4>&-
}

@test "the mount is found among those of root and of the caller" {
	local fake=$BATS_TEST_TMPDIR/fake alone

	alone=(with_mounts "$MNT"$'\n'"$fake")
	mount_of_user_nobody "$fake"
	serve --backend=sim
	unset PERFMONFS
	output=$("${alone[@]}" "$BUILD/tests/lib/create")
	is ok || (umount "$fake"; false)
	output=$("${alone[@]}" setpriv --reuid="$NOBODY" --regid="$NOBODY" --clear-groups "$BUILD/tests/lib/create")
	is ENOSYS || (umount "$fake"; false)
	umount "$fake"
	output=$("${alone[@]}" setpriv --reuid="$NOBODY" --regid="$NOBODY" --clear-groups "$BUILD/tests/lib/create")
	is ok # root's mount
}

@test "creating contexts without permission: EPERM" {
	local group=54321

	serve --backend=sim
	put ok "$MNT/config/sys_group" $group
	[ "$(as nobody works create)" = ok ]
	[ "$(as nobody works create system_wide)" = EPERM ]
	[ "$(as $group works create system_wide)" = ok ]
	put ok "$MNT/config/thread_group" none
	[ "$(as nobody works create)" = EPERM ]
	[ "$(as nobody works create system_wide)" = EPERM ]
	[ "$(as $group works create)" = EPERM ]
	[ "$(as $group works create system_wide)" = ok ]
	[ "$(works create)" = ok ]
}

# compiles VERSION HEADER...: a file that includes these, after perfmon.h for that version
compiles() {
	printf '#include <perfmon/%s>\n' perfmon.h "${@:2}" |
		cc -I"$INCLUDE" -DPERFMON_ABI="$1" -Wall -Wextra -Werror -fsyntax-only -x c - 2>/dev/null
}

@test "a source file has one version of the interface" {
	command -v cc >/dev/null || skip "needs a C compiler"
	local -A header=([281]=perfmon_v2.h [202]=perfmon_v22.h [200]=perfmon_compat.h [6]=perfmon_v06.h
		[2008]=perfmon_r2008.h)
	local version other

	for version in "${!header[@]}"; do
		for other in "${!header[@]}"; do
			if [ "$version" = "$other" ]; then
				compiles "$version" "${header[$other]}"
			else
				run ! compiles "$version" "${header[$other]}"
			fi
		done
	done
	run ! compiles 3
}

# A source of its time, in C of 1989 and with all that follows it in a program
@test "headers: with perfmonfs/msg.h before and after, in C of 1989, in C++" {
	command -v cc >/dev/null || skip "needs a C compiler"
	local version order std
	local -A smpl=([200]=perfmon_default_smpl.h [6]=perfmon_default_smpl.h)

	for version in 281 202 200 6 2008; do
		for order in "perfmonfs/msg.h perfmon/perfmon.h" "perfmon/perfmon.h perfmonfs/msg.h"; do
			# shellcheck disable=SC2086
			printf '#include <%s>\n' $order |
				cc -I"$INCLUDE" -DPERFMON_ABI=$version -Wall -Wextra -Werror -fsyntax-only -x c -
		done
		for std in c89 gnu89 c11; do
			printf '#include <perfmon/%s>\nint x;\n' "${smpl[$version]-perfmon_dfl_smpl.h}" |
				cc -I"$INCLUDE" -DPERFMON_ABI=$version -std=$std -Wall -Wpedantic -Werror -fsyntax-only -x c -
		done
		command -v c++ >/dev/null || continue
		printf '#include <%s>\n' perfmon/perfmon.h istream |
			c++ -I"$INCLUDE" -DPERFMON_ABI=$version -DPERFMON_NO_READ -Wall -Werror -fsyntax-only -x c++ -
	done
}

# alone HEADER STANDARD: the header compiles as the only one, for one of the versions that it may have
alone() {
	local version compiler=(cc -x c)

	[[ $2 != c++* ]] || compiler=(c++ -x c++)
	for version in 281 202 200 6 2008; do
		echo "#include <$1>" | "${compiler[@]}" -std="$2" -I"$INCLUDE" -DPERFMON_ABI=$version -Wall -Wextra \
			-Wpedantic -Werror -fsyntax-only - 2>"$BATS_TEST_TMPDIR/why" && return 0
	done
	cat "$BATS_TEST_TMPDIR/why"
	return 1
}

@test "headers: each that is installed, alone, in C of 1999 and 2011 and in C++17, pedantically" {
	command -v cc >/dev/null || skip "needs a C compiler"
	local header standard headers standards=(c99 c11)

	! command -v c++ >/dev/null || standards+=(c++17)
	headers=$(grep -oE 'include/perfmon(fs)?/[a-z_0-9]+[.]h' "$BUILD/meson-info/intro-installed.json" | sort -u)
	[ "$(wc -l <<<"$headers")" -ge 27 ]
	for header in $headers; do
		for standard in "${standards[@]}"; do
			alone "${header#include/}" "$standard" || {
				echo "$header, $standard"
				return 1
			}
		done
	done
}

@test "a source may keep its own things called read" {
	command -v cc >/dev/null || skip "needs a C compiler"
	local version number

	for version in 202:22 200:20 6:06; do
		number=${version#*:}
		cc -I"$INCLUDE" -DPERFMON_ABI="${version%:*}" -DPERFMON_NO_READ -Werror -fsyntax-only -x c - <<-END
			struct device { int (*read)(void); };
			#include <perfmon/perfmon.h>
			int first(struct device *d) { return d->read(); }
			ssize_t next(pfm_msg_t *m) { return pfm_v${number}_read(3, m, sizeof(*m)); }
			#ifdef read
			#error "it is a macro"
			#endif
		END
	done
}

@test "names that sources of 2.6 to 2.81 and of 2.0 use" {
	command -v cc >/dev/null || skip "needs a C compiler"
	cc -I"$INCLUDE" -Werror -fsyntax-only -x c - <<-END
		#include <perfmon/perfmon.h>
		os_err_t rc; pid_t pid; union pfarg_msg msg; int bits[PFM_BPL == 64 ? 1 : -1];
	END
	cc -I"$INCLUDE" -DPERFMON_ABI=200 -Werror -fsyntax-only -x c - <<-END
		#include <perfmon/perfmon.h>
		#include <perfmon/perfmon_default_smpl.h>
		unsigned long size = PFM_DEFAULT_SMPL_MIN_BUF_SIZE; pfarg_dbreg_t reg;
		int ends(pfm_msg_t *m) { return m->type == PFM_MSG_END && m->pfm_end_msg.msg_type == PFM_MSG_END; }
	END
}

# The compiler may have no C library for 32 bits: what the headers need of it is little.
@test "layouts are the same in 32-bit programs" {
	local stub=$BATS_TEST_TMPDIR/stub version

	echo | cc -m32 -ffreestanding -fsyntax-only -x c - || skip "the compiler cannot make 32-bit code"
	mkdir -p "$stub/sys"
	echo 'typedef int ssize_t, pid_t;' >"$stub/sys/types.h"
	: >"$stub/unistd.h"
	for version in v2 v22 r2008; do
		cc -m32 -std=gnu11 -ffreestanding -fsyntax-only -I"$stub" -I"$INCLUDE/.." -I"$INCLUDE" \
			"$BATS_TEST_DIRNAME/../lib/layout_$version.c"
	done
}

@test "symbols: the twelve calls, perfmonctl, regions and live pages, and none of an event library's" {
	command -v nm >/dev/null || skip "needs nm (binutils)"
	local symbol

	nm -D --defined-only "$BUILD/lib/libperfmonfs.so" | awk '{ print $3 }' | sed 's/@.*//' >"$BATS_TEST_TMPDIR/symbols"
	for symbol in pfm_create_context pfm_write_pmcs pfm_write_pmds pfm_read_pmds pfm_load_context \
		pfm_start pfm_stop pfm_restart pfm_create_evtsets pfm_getinfo_evtsets pfm_delete_evtsets \
		pfm_unload_context perfmonctl fcntl fcntl64 mmap mmap64; do
		grep -qx "$symbol" "$BATS_TEST_TMPDIR/symbols"
	done
	run ! grep -vE '^(pfm_(create_context|write_pm[cd]s|read_pmds|load_context|start|stop|restart|(create|getinfo|delete)_evtsets|unload_context|region_(begin|end)|live_(permit|read_thread))|perfmonctl|(fcntl|mmap)(64)?|pfm_(v06|v20|v22|r2008)_.*|PERFMONFS_1)$' \
		"$BATS_TEST_TMPDIR/symbols"
	# What is within must not meet the names of programs.
	nm -g --defined-only "$BUILD/lib/libperfmonfs.a" | awk 'NF == 3 { print $3 }' | sort >"$BATS_TEST_TMPDIR/static"
	diff <(grep -v PERFMONFS_1 "$BATS_TEST_TMPDIR/symbols" | sort) "$BATS_TEST_TMPDIR/static"
}

# Threads that are monitored are traced, and the leak sanitizer wants to trace them itself.
example() {
	timeout -s KILL "$PATIENCE" env ASAN_OPTIONS="${ASAN_OPTIONS-}:detect_leaks=0" "$BUILD/examples/$1" "${@:2}" 3>&- 4>&- 5>&-
}

serve_perf() {
	serve --backend=perf
	FAULTS=$(user_event page-faults)
}

@test "on threads: errors of load, and the end of a thread" {
	serve_perf
	ASAN_OPTIONS=${ASAN_OPTIONS-}:detect_leaks=0 works on_threads "$FAULTS" || lost
	ASAN_OPTIONS=${ASAN_OPTIONS-}:detect_leaks=0 works on_threads_v06 "$FAULTS"
}

@test "on threads: close() of one of two processes, and the last one (figures 3.9 to 3.11)" {
	serve_perf
	ASAN_OPTIONS=${ASAN_OPTIONS-}:detect_leaks=0 works last_close "$FAULTS" || lost
}

@test "a message names what the overflow has interrupted, without a sampling format" {
	serve_perf
	ASAN_OPTIONS=${ASAN_OPTIONS-}:detect_leaks=0 works msg_ip "$(event cpu-clock)" || lost
}

@test "on threads: NOTIFY_BLOCK, from overflow to restart" {
	serve_perf
	ASAN_OPTIONS=${ASAN_OPTIONS-}:detect_leaks=0 works blocking "$FAULTS" || lost
}

@test "examples: what is installed compiles with what pkg-config says" {
	local at=$BATS_TEST_TMPDIR/at pc example

	bounded meson install -C "$BUILD" --destdir "$at" --no-rebuild --quiet
	pc=$(find "$at" -name libperfmonfs.pc)
	export PKG_CONFIG_PATH=${pc%/*} PKG_CONFIG_SYSROOT_DIR=$at
	for example in "$at"/*/*/share/doc/perfmonfs/examples/*.c; do
		# shellcheck disable=SC2046
		cc -Wall -Wextra -Werror -fsyntax-only $(pkg-config --cflags libperfmonfs) "$example"
	done
}

# links LINE SOURCE: LINE of the manual page links SOURCE with the installed library, which stays in it
# although the linker leaves out what is not needed
links() {
	local line=${1/cc file.c/cc -Wl,--as-needed $2 -o "$BATS_TEST_TMPDIR/linked"}

	bash -ec "$line"
	readelf -d "$BATS_TEST_TMPDIR/linked" | grep -q 'NEEDED.*libperfmonfs'
}

@test "the manual page's lines link with --as-needed" {
	command -v readelf >/dev/null || skip "needs readelf (binutils)"
	local at=$BATS_TEST_TMPDIR/at lines page

	bounded meson install -C "$BUILD" --destdir "$at" --no-rebuild --quiet
	PKG_CONFIG_PATH=$(find "$at" -name libperfmonfs.pc -printf %h)
	export PKG_CONFIG_PATH PKG_CONFIG_SYSROOT_DIR=$at
	page=$(find "$at" -name libperfmonfs.7)
	mapfile -t lines < <(sed -n 's/^\.Dl \(cc file.c .*\)/\1/p' "$page")
	[ "${#lines[@]}" = 2 ]
	links "${lines[0]}" "$BATS_TEST_DIRNAME/../../examples/self.c"
	# Its own source makes no call.
	echo 'int main(void) { return 0; }' >"$BATS_TEST_TMPDIR/none.c"
	links "${lines[1]}" "$BATS_TEST_TMPDIR/none.c"
}

@test "examples: a thread counts itself" {
	serve_perf
	output=$(example self "$FAULTS" 5000) || lost
	# A fault or two of its own besides, in the libraries, the first time they are called.
	[ "${output#pmd0 }" -ge 5000 ] && [ "${output#pmd0 }" -lt 7000 ]
}

@test "examples: a program with all that it starts" {
	serve_perf
	output=$(example task "$MNT" "$FAULTS" sh -c 'ls / >/dev/null; true') || lost
	[[ $output == "pmd0 "* ]]
	[ "$(awk '$1 == "pmd0" { print $2 }' <<<"$output")" -gt 50 ]
	run ! example task "$MNT" "$FAULTS" false
}

@test "examples: all CPUs, each by a thread that runs there" {
	local cpu

	serve_perf
	output=$(example allcpus "$(event cpu-clock)" 50)
	for cpu in "${CPUS[@]}"; do
		[ "$(awk -v c="cpu$cpu" '$1 == c { print $2 }' <<<"$output")" -ge 40000000 ]
	done
}

@test "examples: notification by SIGIO" {
	serve_perf
	output=$(example notify "$FAULTS" 500 20000) || lost
	[ "${output#notified }" -ge 1 ] && [ "${output#notified }" -le 50 ]
}

@test "examples: samples of a CPU" {
	serve_perf
	taskset -c "$ONE" spinner "$ONE" burn >/dev/null 3>&- 4>&- 5>&- &
	PROGRAMS+=("$!")
	example sampling "$ONE" "$(event cpu-clock)" 1000000 300 >"$BATS_TEST_TMPDIR/samples"
	[ "$(grep -c " cpu $ONE pmd 0$" "$BATS_TEST_TMPDIR/samples")" -ge 300 ]
	grep -q "^pid $! tid $! ip 0x[0-9a-f]* " "$BATS_TEST_TMPDIR/samples"
}

@test "examples: one counter for two events, by turns" {
	serve_perf
	output=$(example multiplex 40000 "$FAULTS" "$(event task-clock)") || lost
	echo "$output"
	[ "$(awk '$1 == "set0" { print ($2 > 4000 && $2 < 400000) }' <<<"$output")" = 1 ]
	[ "$(awk '$4 >= 2 { n++ } END { print n }' <<<"$output")" = 2 ]
}

# old_client PROGRAM...: it counts at least 5000 faults of that
old_client() {
	output=$(ASAN_OPTIONS=${ASAN_OPTIONS-}:detect_leaks=0 works old_client "$FAULTS" "$@") || lost
	[ "$(awk '$1 == "PMD0" { print $2 }' <<<"$output")" -ge 5000 ]
}

@test "a client as they were written: its child is traced and stopped when it loads" {
	serve_perf
	old_client fsprobe touch 5000
}

@test "a client as they were written, of an ordinary user, with a child that calls exec" {
	serve_perf
	as nobody old_client fsprobe touch 5000
	as nobody old_client sh -c 'exec fsprobe touch 5000'
}
