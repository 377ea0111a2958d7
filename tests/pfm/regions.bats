# SPDX-License-Identifier: MIT
# pfm stat --regions: parts of a program, which it names by pfm_region_begin() of libperfmonfs.

load common

# Monitored threads are traced, and the leak sanitizer wants to trace them itself.
setup() {
	bench_setup
	PATH="$BUILD/tools/pfm:$PATH"
	export ASAN_OPTIONS=${ASAN_OPTIONS-}:detect_leaks=0
	CALLS=$BUILD/tests/pfm/region_calls
	OUT=$BATS_TEST_TMPDIR/out
}

# regions OPTION... PROGRAM...: on the backend perf; the counts are in $OUT
regions() {
	run --separate-stderr bounded pfm stat --mount="$MNT" --regions -e page-faults:u -o "$OUT" "$@" 3>&- 4>&- 5>&-
	# shellcheck disable=SC2154
	printf '%s\n' "$stderr"
	cat "$OUT" 2>/dev/null || :
}

# rows REGION NAME: the value of that event or metric, of JSON
rows() {
	"$BATS_TEST_DIRNAME/schema.py" json <"$OUT"
	output=$(python3 - "$OUT" "$@" <<-'END'
		import json, sys
		for line in open(sys.argv[1]):
		    row = json.loads(line)
		    if row["region"] == sys.argv[2] and sys.argv[3] in (row.get("event"), row.get("metric")):
		        print("lost" if row["lost"] else row["value"])
	END
	)
}

@test "faults of a region are those of the pages that it touches, within each other and by thread" {
	serve --backend=perf
	regions -j "$BUILD/examples/regions" 1000
	[ "$status" = 0 ]
	rows all page-faults:u
	is 6060
	rows part page-faults:u
	is 60
	rows part calls
	is 6
	rows part elapsed
	python3 -c 'assert 0 < float(input()) < 1000' <<<"$output"
	no_contexts
	regions "$BUILD/examples/regions" 100
	grep -qE '^all: 6 calls, [0-9.]+ s$' "$OUT"
	grep -qE '^ +660 +page-faults:u +u ' "$OUT"
	regions -x, "$BUILD/examples/regions" 100
	"$BATS_TEST_DIRNAME/schema.py" csv page-faults:u <"$OUT" | grep -qx "660 60"
	grep -q '^event,page-faults:u,660,.*,all$' "$OUT"
}

# Bits 63:56 of a code choose the class of the kernel's event, and a class has bits that it refuses.
@test "an event that the perf backend refuses is refused by regions, too" {
	serve --backend=perf
	for code in 0200000000000001 0100000000800005; do
		regions -e "r$code" "$CALLS" threads
		[ "$status" != 0 ]
	done
}

@test "errors of the calls" {
	serve --backend=perf
	regions "$CALLS" errors
	[ "$status" = 3 ]
	[[ $stderr == *"64 regions"* ]]
	grep -q '^one: 1 call, ' "$OUT"
	grep -q '^r63: 0 calls, .*, and 1 without an end$' "$OUT"
}

@test "without pfm, the calls have no effect" {
	run -0 "$CALLS" alone
	PFM_REGIONS=/nothing run ! "$CALLS" alone
	# Of another version
	head -c 1000000 /dev/zero >"$BATS_TEST_TMPDIR/table"
	PFM_REGIONS=$BATS_TEST_TMPDIR/table run ! "$CALLS" alone
	[[ $output == *"Protocol error"* ]]
}

@test "a program that is killed keeps the counts of the regions before" {
	serve --backend=perf
	regions "$CALLS" killed
	[ "$status" = 137 ]
	grep -q '^before: 1 call, ' "$OUT"
	grep -q '^within: 0 calls, .*, and 1 without an end$' "$OUT"
	no_contexts
}

@test "a child of fork begins without regions, and keeps the descriptors of others" {
	serve --backend=perf
	regions -j "$CALLS" fork
	[ "$status" = 0 ]
	rows parent calls
	is 1
	rows child calls
	is 1
	regions "$CALLS" fork-other
	[ "$status" = 0 ]
	no_contexts
}

@test "a thread that ends within a region" {
	serve --backend=perf
	regions "$CALLS" threads
	[ "$status" = 0 ]
	grep -q '^thread: 2 calls, .*, and 1 without an end$' "$OUT"
}

# meets CASE COMMAND...: while the program waits
meets() {
	mkfifo "$BATS_TEST_TMPDIR/in"
	# shellcheck disable=SC2016
	regions -j sh -c 'exec 7<>"$0"; "$@" <&7 | { read -r line; eval "$MEANWHILE"; echo >&7; cat; }' \
		"$BATS_TEST_TMPDIR/in" "$CALLS" "$1"
}

# counts_by CONTEXTS CASE: a region is counted, with so many contexts
counts_by() {
	serve --backend=perf
	MEANWHILE="ls $MNT/ctx | wc -l >$BATS_TEST_TMPDIR/contexts" meets "$2"
	[ "$status" = 0 ]
	rows one calls
	is 1
	run -0 cat "$BATS_TEST_TMPDIR/contexts"
	is "$1"
}

@test "a thread counts itself without a context where the kernel lets it" {
	counts_by 0 own
}

@test "a thread counts itself by a context where the kernel refuses events" {
	counts_by 1 forbidden
}

@test "a program that closes all descriptors loses counts, and no data of its files" {
	serve --backend=perf
	printf data\\n >"$BATS_TEST_TMPDIR/data"
	regions -j "$CALLS" closed <"$BATS_TEST_TMPDIR/data"
	[ "$status" = 3 ]
	rows good page-faults:u
	is 0
	rows bad page-faults:u
	is lost
}

@test "a lost count is no number" {
	serve --backend=perf
	MEANWHILE="rmdir $MNT/ctx/[0-9]*" meets lost
	[ "$status" = 3 ]
	rows good page-faults:u
	is 0
	rows bad page-faults:u
	is lost
}

@test "a thread that cannot be counted" {
	serve --backend=perf
	MEANWHILE="mkdir $MNT/ctx/a; echo load tid=\$(pgrep -n region_calls) >$MNT/ctx/a/ctl" meets refused
	[ "$status" = 3 ]
	[[ $stderr == *"monitored already"* ]]
	rmdir "$MNT/ctx/a"
}

@test "names that are no text" {
	serve --backend=perf
	regions "$CALLS" name
	[ "$status" = 0 ]
	grep -qF 'a?[31m?"b,?: 1 call' "$OUT"
	regions -j "$CALLS" name
	rows 'a?[31m?"b,?' calls
	is 1
	regions -x, "$CALLS" name
	"$BATS_TEST_DIRNAME/schema.py" csv calls <"$OUT" | grep -qx 1.0
}

@test "a program that writes into what it shares with pfm" {
	serve --backend=perf
	# shellcheck disable=SC2016
	regions sh -c 'truncate -s 0 "$PFM_REGIONS"; exit 7'
	[ "$status" = 7 ]
	# shellcheck disable=SC2016
	regions sh -c 'n=$(stat -Lc %s "$PFM_REGIONS"); yes "$(printf "\\377")" | tr -d "\\n" | head -c "$n" |
		dd of="$PFM_REGIONS" conv=notrunc status=none'
	[ "$status" = 3 ]
	grep -qE '^\?+: ' "$OUT"
	[ "$(wc -l <"$OUT")" -lt 20 ]
}

# 1024 threads with 64 regions each, as the program writes it. Compared with each other, they would be
# 2 thousand million pairs of names.
@test "as many names as there is room for" {
	serve --backend=perf
	cat >"$BATS_TEST_TMPDIR/names.py" <<-'END'
		import os, struct, sys
		size = os.stat(os.environ["PFM_REGIONS"]).st_size
		thread = (size - 8) // 1024 // 8 * 8
		region = (thread - 8) // 64
		with open(os.environ["PFM_REGIONS"], "r+b") as f:
		    for i in range(1024):
		        at = size - (1024 - i) * thread
		        f.seek(at)
		        f.write(struct.pack("II", 0, 64))
		        for j in range(64):
		            f.seek(at + 8 + j * region)
		            f.write(b"r%d" % ((i * 64 + j) % int(sys.argv[1])) + b"\0" * 8)
	END
	regions -x, python3 "$BATS_TEST_TMPDIR/names.py" 65536
	[ "$status" = 0 ]
	[ "$(grep -c ',r[0-9]*$' "$OUT")" = $((3 * 65536)) ]
	regions -x, python3 "$BATS_TEST_TMPDIR/names.py" 1000
	[ "$(sed -n 's/.*,\(r[0-9]*\)$/\1/p' "$OUT" | uniq | head -n 3 | xargs)" = "r0 r1 r2" ]
	[ "$(grep -c ',r[0-9]*$' "$OUT")" = 3000 ]
}

@test "a program without regions, and options that do not go together" {
	serve --backend=perf
	regions true
	[ "$status" = 0 ]
	[[ $stderr == *"no region"* ]]
	regions false
	[ "$status" = 1 ]
	for option in "-r 2" "-I 100" --mux --rerun --no-aggr -a "-p 1"; do
		# shellcheck disable=SC2086
		regions $option true
		[ "$status" = 125 ]
	done
}

@test "a private daemon" {
	unshare -m true || skip "needs a mount namespace"
	run --separate-stderr -0 without_mounts timeout -s KILL "$PATIENCE" pfm stat --regions -j -e page-faults:u -o "$OUT" \
		"$BUILD/examples/regions" 10 3>&- 4>&- 5>&-
	rows part page-faults:u
	is 60
}

# needs_python: that finds the library, and PRELOAD, which it then needs
needs_python() {
	command -v python3 >/dev/null || skip "needs python3"
	PRELOAD=
	! readelf -d "$BUILD/lib/libperfmonfs.so.1" | grep -q libasan || PRELOAD=$(cc -print-file-name=libasan.so)
	PYTHONPATH=$(realpath "$BATS_TEST_DIRNAME/../..")/python
	export PYTHONPATH PYTHONDONTWRITEBYTECODE=1 LD_LIBRARY_PATH=$BUILD/lib
}

@test "the library is closed before its thread ends" {
	needs_python
	cat >"$BATS_TEST_TMPDIR/close.py" <<-'END'
		import _ctypes, ctypes, threading
		library = ctypes.CDLL("libperfmonfs.so.1")
		counted, closed = threading.Event(), threading.Event()
		def work():
		    assert library.pfm_region_begin(b"one") == 0
		    assert library.pfm_region_end(b"one") == 0
		    counted.set()
		    closed.wait()
		thread = threading.Thread(target=work)
		thread.start()
		counted.wait()
		_ctypes.dlclose(library._handle)
		closed.set()
		thread.join()
	END
	serve --backend=perf
	regions -j env LD_PRELOAD="$PRELOAD" python3 "$BATS_TEST_TMPDIR/close.py"
	[ "$status" = 0 ]
	rows one calls
	is 1
}

@test "Python" {
	needs_python
	cat >"$BATS_TEST_TMPDIR/regions.py" <<-'END'
		import mmap
		import perfmonfs

		@perfmonfs.region("function")
		def touch(pages):
		    with mmap.mmap(-1, pages * 4096, mmap.MAP_PRIVATE) as memory:
		        memory.madvise(mmap.MADV_NOHUGEPAGE)
		        for n in range(pages):
		            memory[n * 4096] = 1

		touch(1)
		with perfmonfs.region("block"):
		    touch(5000)
		try:
		    with perfmonfs.region("block"), perfmonfs.region("block"):
		        pass
		except OSError as error:
		    print(error)
	END
	run -0 python3 "$BATS_TEST_TMPDIR/regions.py"
	is ""
	serve --backend=perf
	regions -j env LD_PRELOAD="$PRELOAD" python3 -W error "$BATS_TEST_TMPDIR/regions.py"
	[ "$status" = 0 ]
	[[ $output == *"region block"* ]]
	rows function calls
	is 2
	rows block calls
	is 2
	rows block page-faults:u
	[ "$output" -ge 5000 ] && [ "$output" -lt 6000 ]
}
