# SPDX-License-Identifier: MIT
# msrsim as /dev/cpu: what the kernel's own tools for it, rdmsr and wrmsr, see, and the answers of
# the files that those tools do not ask for. BUILD is the build directory.

bats_require_minimum_version 1.5.0
load probe

setup() {
	PATH="$BUILD/tools:$BUILD/tests:$BUILD/tests/fs:$PATH"
	[ "$(id -u)" = 0 ] || skip "needs root"
	[ -w /dev/fuse ] || skip "needs /dev/fuse"
	MNT=$BATS_TEST_TMPDIR/cpu
	LOG=$BATS_TEST_TMPDIR/log
	mkdir "$MNT"
}

teardown() {
	[ -z "$MNT" ] || ! mountpoint -q "$MNT" || umount -l "$MNT"
}

# The clock only moves by sim/advance unless a test says otherwise.
serve() {
	msrsim --clock=script --log="$LOG" "$@" "$MNT" 3>&-
}

needs_msr_tools() {
	command -v rdmsr wrmsr >/dev/null || skip "needs rdmsr and wrmsr (msr-tools)"
	unshare -m true 2>/dev/null || skip "needs a private mount namespace"
}

# Runs a command that finds the tree at /dev/cpu, where the host may have something or nothing.
# shellcheck disable=SC2016
as_dev_cpu() {
	unshare -m sh -c '
		tree=$1
		shift
		if ! [ -d /dev/cpu ]; then
			mount -t tmpfs tmpfs /dev && mkdir /dev/cpu && mknod -m 666 /dev/null c 1 3
		fi
		mount --bind "$tree" /dev/cpu && exec "$@"' sh "$MNT" "$@"
}

@test "rdmsr reads what wrmsr wrote" {
	needs_msr_tools
	serve
	run -0 as_dev_cpu wrmsr -p 1 0x186 0x4300c0
	run -0 as_dev_cpu rdmsr -p 1 0x186
	is 4300c0
	run -0 as_dev_cpu rdmsr -p 0 0x186
	is 0
}

@test "a fault is rdmsr's and wrmsr's exit status 4" {
	needs_msr_tools
	serve
	run -4 as_dev_cpu rdmsr 0x600
	run -4 as_dev_cpu wrmsr 0x186 0x10000000000
	run -4 as_dev_cpu wrmsr 0x38e 0
}

@test "an offline or missing CPU is rdmsr's exit status 2" {
	needs_msr_tools
	serve
	echo 1 >"$MNT/sim/offline"
	run -2 as_dev_cpu rdmsr -p 1 0x186
	run -2 as_dev_cpu wrmsr -p 1 0x186 0
	run -0 as_dev_cpu rdmsr -p 2 0x186
	echo >"$MNT/sim/offline"
	run -0 as_dev_cpu rdmsr -p 1 0x186
}

@test "the real clock moves by itself" {
	msrsim "$MNT" 3>&-
	first=$(cat "$MNT/sim/advance")
	sleep 0.05
	second=$(cat "$MNT/sim/advance")
	[ $((second - first)) -ge 50000000 ]
}

@test "msr: a size that is not a multiple of 8 is EINVAL, a longer one repeats" {
	serve
	probe EINVAL pread "$MNT/0/msr" 4 0x186
	probe EINVAL pread "$MNT/0/msr" 12 0x186
	probe EINVAL pwrite "$MNT/0/msr" 0x186 00000000
	probe 16 pwrite "$MNT/0/msr" 0xc1 01000000000000000200000000000000
	probe 02000000000000000200000000000000 pread "$MNT/0/msr" 16 0xc1
	run -0 cat "$LOG"
	is "cpu0 wrmsr 0xc1 0x0000000000000001
cpu0 wrmsr 0xc1 0x0000000000000002
cpu0 rdmsr 0xc1 0x0000000000000002
cpu0 rdmsr 0xc1 0x0000000000000002"
}

@test "msr: what was written before a fault counts" {
	serve
	probe 8 pwrite "$MNT/0/msr" 0x186 c0004300000000000000000000000001
	probe EIO pwrite "$MNT/0/msr" 0x186 0000000000000001c000430000000000
	probe c000430000000000 pread "$MNT/0/msr" 8 0x186
}

@test "msr: only the low half of the position counts" {
	serve
	probe 8 pwrite "$MNT/0/msr" 0x100000186 7700000000000000
	probe 7700000000000000 pread "$MNT/0/msr" 8 0x186
}

@test "msr: errno of faults, offline CPUs and wrong opens" {
	serve
	probe EIO pread "$MNT/0/msr" 8 0x600
	probe EIO pwrite "$MNT/0/msr" 0x600 0000000000000000
	echo 0 >"$MNT/sim/offline"
	probe ENXIO open "$MNT/0/msr" rdonly
	probe ENXIO open "$MNT/0/cpuid" rdonly
	probe ok open "$MNT/1/msr" rdwr
	probe ENOENT open "$MNT/4/msr" rdonly
	probe ENOENT open "$MNT/0x1/msr" rdonly
}

@test "msr: a CPU that goes offline while open" {
	serve
	exec 4<"$MNT/1/msr"
	echo 1 >"$MNT/sim/offline"
	run -0 fsprobe pread - 8 0x186 <&4
	is ENXIO
	echo >"$MNT/sim/offline"
	run -0 fsprobe pread - 8 0x186 <&4
	is 0000000000000000
	exec 4<&-
}

@test "cpuid: 16 bytes a leaf, consecutive ones in a longer read" {
	serve
	probe 1600000047656e756e74656c696e6549 pread "$MNT/1/cpuid" 16 0
	probe 1600000047656e756e74656c696e6549c9060500000000010080000030000000 \
		pread "$MNT/1/cpuid" 32 0
	probe 04043007000000000000000003060000 pread "$MNT/0/cpuid" 16 0x10000000a
	probe EINVAL pread "$MNT/0/cpuid" 8 0
	probe EINVAL pwrite "$MNT/0/cpuid" 0 00000000000000000000000000000000
}

@test "knobs: errno of what they refuse" {
	serve
	probe EINVAL pwrite "$MNT/sim/advance" 0 78
	probe ERANGE pwrite "$MNT/sim/offline" 0 34
	probe EINVAL pwrite "$MNT/sim/poke" 0 30
	probe E2BIG pwrite "$MNT/sim/fault" 0 "$(printf '%08194d' 0)"
	probe EIO pwrite "$MNT/sim/poke" 0 "$(printf '0 0x600 0' | od -An -tx1 | tr -d ' \n')"
}

@test "the tree: names, modes, sizes" {
	serve --cpus=2
	run -0 ls "$MNT" "$MNT/0" "$MNT/sim"
	is "$MNT:
0
1
sim

$MNT/0:
cpuid
msr

$MNT/sim:
advance
fault
offline
poke"
	probe 8 pwrite "$MNT/0/msr" 0x186 0000000000000000
	run -0 stat -c '%a %u %s' "$MNT/0/msr" "$MNT/0/cpuid" "$MNT/sim/poke"
	is $'600 0 0\n444 0 0\n600 0 0'
}

@test "many CPUs" {
	serve --cpus=4096
	run -0 sh -c "ls '$MNT' | wc -l"
	is 4097
	probe 0000000000000000 pread "$MNT/4095/msr" 8 0x186
	probe ENOENT open "$MNT/4096/msr" rdonly
}

@test "the tree cannot be changed" {
	serve
	probe EPERM mkdir "$MNT/new"
	probe EPERM rmdir "$MNT/0"
	probe EPERM unlink "$MNT/0/msr"
	probe EPERM rename "$MNT/0" "$MNT/9"
	probe EPERM symlink x "$MNT/link"
	probe EPERM chmod "$MNT/0/msr" 666
	probe EPERM open "$MNT/new" wronly,creat
	[ -e "$MNT/0/msr" ]
}

@test "other users do not get in" {
	serve
	run -0 setpriv --reuid=65534 --clear-groups "$(command -v fsprobe)" open "$MNT/0/cpuid" rdonly
	is EACCES
}

# ended_by COMMAND...: a foreground msrsim is stopped by the command and exits 0
ended_by() {
	msrsim -f --clock=script "$MNT" 3>&- &
	pid=$!
	until_ok test -d "$MNT/sim"
	"$@"
	wait "$pid"
	run ! mountpoint -q "$MNT"
}

@test "SIGTERM unmounts and exits 0" {
	terminate() { kill -TERM "$pid"; }
	ended_by terminate
}

@test "unmounting ends it with exit 0" {
	ended_by umount "$MNT"
}

@test "options: what is refused, and with which words" {
	run -1 msrsim --model=z80 "$MNT"
	[[ $output == *"'z80'"*"--help"* ]]
	run -1 msrsim --cpus=0 "$MNT"
	[[ $output == *"1 to 4096"* ]]
	run -1 msrsim --cpus=x "$MNT"
	run -1 msrsim --clock=sun "$MNT"
	run -1 msrsim --log=/nonexistent/log "$MNT"
	[[ $output == *"/nonexistent/log"*ENOENT* ]]
	run -1 msrsim
	run -1 msrsim "$MNT" "$MNT"
	run -1 msrsim /nonexistent/dir
	run -0 msrsim --help
	[[ $output == Usage:* ]]
	run -0 msrsim --version
	[[ $output == "msrsim "* ]]
}

@test "rdmsr sees what a daemon on /dev/cpu has programmed, and wrmsr steals it" {
	needs_msr_tools
	serve
	mkdir "$BATS_TEST_TMPDIR/pfm"
	# shellcheck disable=SC2016
	run -0 as_dev_cpu bash -c '
		"$0" "$1" 3>&- && mkdir "$1/ctx/a" && cd "$1/ctx/a" || exit 1
		echo 0x5300c0 >pmc/0 && echo load cpu=1 >ctl && echo start >ctl
		rdmsr -p 1 0x186
		wrmsr -p 1 0x186 0x4300c4
		cat pmd/0 2>/dev/null || echo no number
		echo unload >ctl
		rdmsr -p 1 0x186
		cd / && umount "$1"' "$BUILD/daemon/perfmonfs" "$BATS_TEST_TMPDIR/pfm"
	is $'4300c0\nno number\n4300c4'
}
