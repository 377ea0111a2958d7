# SPDX-License-Identifier: MIT
# The Python module: tests/python/test_values.py, and the classes of test_perfmonfs.py, each on a mount of its own.

load common

setup_file() {
	command -v python3 >/dev/null || skip "needs python3"
}

# tests_of CLASS: all its tests pass; their number is that of those in the file
tests_of() {
	local root

	root=$(realpath "$BATS_TEST_DIRNAME/../..")
	run env PERFMONFS="$MNT" PYTHONPATH="$root/python:$root/tests/python" \
		PYTHONDONTWRITEBYTECODE=1 timeout -k 5 "$PATIENCE" python3 -W error -m unittest -v "test_perfmonfs.$1"
	echo "$output"
	[ "$status" = 0 ]
	case $output in
	*"no thread can be followed here"* | *"passes no files through"*)
		skip "$(grep -om 1 'skipped .*' <<<"$output")"
		;;
	esac
	[ "$(grep -c '^test_.* ok$' <<<"$output")" = "$(awk -v class="class $1(" '
		index($0, "class ") == 1 { inside = index($0, class) == 1 }
		inside && / def test_/ { n++ }
		END { print n }' "$root/tests/python/test_perfmonfs.py")" ]
}

@test "texts and bytes" {
	PERFMONFS_JSON=$BUILD/daemon/perfmonfs.json PYTHONPATH="$BATS_TEST_DIRNAME/../../python:$BATS_TEST_DIRNAME/../python" PYTHONDONTWRITEBYTECODE=1 \
		run -0 python3 -W error -m unittest test_values
	[[ $output == *OK* ]]
}

@test "all types are declared" {
	command -v mypy >/dev/null || skip "needs the package mypy"
	cd "$BATS_TEST_DIRNAME/../.."
	run mypy --strict --python-version 3.9 --cache-dir="$BATS_TEST_TMPDIR" python/perfmonfs examples/faults.py
	echo "$output"
	[ "$status" = 0 ]
}

@test "a wheel is built without a network" {
	local root version

	root=$(realpath "$BATS_TEST_DIRNAME/../..")
	# Debian's Python: its packages are setuptools and wheel.
	/usr/bin/python3 -c 'import setuptools, wheel' || skip "needs the packages python3-setuptools and python3-wheel"
	version=$(sed -n "s/^  version: '\(.*\)',/\1/p" "$root/meson.build")
	cp -r "$root/python" "$BATS_TEST_TMPDIR/source"
	cd "$BATS_TEST_TMPDIR/source"
	/usr/bin/python3 -c 'import sys
from setuptools.build_meta import build_wheel
build_wheel(sys.argv[1])' "$BATS_TEST_TMPDIR"
	cd "$BATS_TEST_TMPDIR"
	PYTHONPATH="perfmonfs-$version-py3-none-any.whl" run -0 /usr/bin/python3 -c 'import importlib.metadata, importlib.resources, perfmonfs
print(importlib.metadata.version("perfmonfs"), ".whl/" in perfmonfs.__file__,
      (importlib.resources.files("perfmonfs") / "py.typed").is_file())'
	is "$version True True"
}

@test "counting" {
	serve --backend=sim
	tests_of Counting
}

@test "the mount is found" {
	serve --backend=sim
	unset PERFMONFS
	output=$(with_mounts "$MNT" env PYTHONPATH="$(realpath "$BATS_TEST_DIRNAME/../../python")" \
		PYTHONDONTWRITEBYTECODE=1 python3 -W error -c 'import perfmonfs; print(perfmonfs.find_mount())')
	is "$MNT"
}

@test "errors carry the daemon's sentence" {
	serve --backend=sim
	tests_of Errors
}

@test "lifetimes of contexts, beside fork and kill" {
	serve --backend=sim
	tests_of Lifetimes
	no_contexts
}

@test "event sets" {
	serve --backend=sim
	tests_of Sets
}

@test "messages" {
	serve --backend=sim
	tests_of Messages
}

@test "messages in asyncio" {
	serve --backend=sim
	tests_of Asynchronous
}

@test "sampling buffers" {
	serve --backend=sim
	tests_of Sampling
}

@test "sampling buffers that the kernel has in its cache" {
	serve --backend=sim -o nopassthrough
	tests_of Sampling
	tests_of NoPassthrough
}

@test "live counts" {
	serve --backend=sim
	tests_of LiveCounts
}

@test "threads of this machine" {
	serve --backend=perf
	tests_of Threads
}

# documented KIND: the examples of doc/python.md
documented() {
	local root

	root=$(realpath "$BATS_TEST_DIRNAME/../..")
	PERFMONFS=$MNT PYTHONPATH="$root/python" PYTHONDONTWRITEBYTECODE=1 \
		run timeout -k 5 "$PATIENCE" python3 -W error "$root/tests/python/documented.py" "$1" "$root/doc/python.md"
	echo "$output"
	[ "$status" = 0 ]
}

@test "examples of doc/python.md on the simulator" {
	serve --backend=sim
	documented sim
}

@test "examples of doc/python.md with libpfmfs" {
	serve --backend=sim
	! readelf -d "$BUILD/tools/pfm/libpfmfs.so.1" | grep -q libasan || export LD_PRELOAD=$(cc -print-file-name=libasan.so)
	export LD_LIBRARY_PATH=$BUILD/tools/pfm ASAN_OPTIONS=detect_leaks=0 PFM_EVENTS=$BATS_TEST_DIRNAME/../../tools/pfm/events/data
	documented sim-libpfmfs
}

@test "examples of doc/python.md with a live page" {
	serve --backend=sim
	new page
	[[ $(cat "$C/set/0/live" "$MNT/stats") == *"passthrough 1"* ]] || skip "this kernel passes no files through"
	rmdir "$C"
	documented sim-passthrough
}

@test "examples of doc/python.md on this machine" {
	serve --backend=perf
	documented perf
}
