# SPDX-License-Identifier: MIT
# sys/: the files of perfmon2 kernels at /sys/kernel/perfmon. Programs rely on their exact form, so
# each file is compared byte by byte.

load common

# says FILE TEXT: that line and its newline, nothing else
says() {
	bounded cat "$MNT/sys/$1" >"$BATS_TEST_TMPDIR/got"
	printf '%s\n' "$2" >"$BATS_TEST_TMPDIR/want"
	cmp "$BATS_TEST_TMPDIR/got" "$BATS_TEST_TMPDIR/want"
}

@test "the version fits into eight bytes, and is one of perfmon 2" {
	serve --backend=sim
	says version 2.81
}

# libpfm makes system calls of these numbers: they must be numbers that no kernel has.
@test "there is no system call where syscall says they begin" {
	serve --backend=sim
	run -0 bounded cat "$MNT/sys/syscall"
	base=$output
	for ((n = base; n < base + 12; n++)); do
		run -0 perl -e '$! = 0; print syscall($ARGV[0] + 0, -1) == -1 && $!{ENOSYS} ? "ENOSYS" : "one"' "$n"
		is ENOSYS
	done
}

@test "limits and groups are the same as in config/" {
	serve --backend=sim
	says arg_mem_max 4096
	says smpl_buffer_mem_max 16777216
	put ok "$MNT/config/arg_size_max" 8192
	put ok "$MNT/config/smpl_buf_size_max" 1048576
	put ok "$MNT/config/sys_group" any
	put ok "$MNT/config/thread_group" 42
	says arg_mem_max 8192
	says smpl_buffer_mem_max 1048576
	says sys_group -1
	says task_group 42
	put ok "$MNT/config/sys_group" none
	says sys_group 0
}

@test "buffer memory is the memory of all buffers" {
	serve --backend=sim
	says smpl_buffer_mem_cur 0
	new a
	put ok "$C/format" "default size=65536"
	says smpl_buffer_mem_cur 65536
	new b
	put ok "$C/format" "default size=5000"
	says smpl_buffer_mem_cur 73728
	rmdir "$MNT/ctx/a"
	says smpl_buffer_mem_cur 8192
	rmdir "$C"
	says smpl_buffer_mem_cur 0
}

@test "sessions are contexts that are loaded" {
	serve --backend=sim
	says sys_sessions_count 0
	new a
	says sys_sessions_count 0
	ctl "load cpu=1"
	says sys_sessions_count 1
	new b
	refused EBUSY "load cpu=1" taken
	says sys_sessions_count 1
	ctl "load cpu=3"
	says sys_sessions_count 2
	ctl unload
	says sys_sessions_count 1
	rmdir "$MNT/ctx/a"
	says sys_sessions_count 0
	says task_sessions_count 0
}

@test "sessions on threads are counted by themselves" {
	serve --backend=perf
	sleep 60 3>&- &
	new a
	put ok "$C/pmc/0" 0x0100000000430003
	output=$(printf 'load tid=%s' "$!" | bounded fsprobe write "$C/ctl")
	[ "$output" = ok ] || {
		rmdir "$C"
		kill "$!"
		skip "no thread can be followed here: $output"
	}
	says task_sessions_count 1
	says sys_sessions_count 0
	ctl unload
	says task_sessions_count 0
	rmdir "$C"
	kill "$!"
}

@test "formats: a directory each, with the version of its layout" {
	serve --backend=sim
	run -0 ls "$MNT/sys/formats"
	is "$(cut -d ' ' -f 2 "$MNT/formats" | sort)"
	for name in default nway hist correlate stack profile; do
		says "formats/$name/version" 1.0
		[ "$(cat "$MNT/sys/formats/$name/arg_size")" -gt 0 ]
		new "$name"
		put ok "$C/format" "$name"
		# Its offset in each header is in fs-layout.md.
		offset=40
		[[ $name != nway && $name != hist ]] || offset=64
		run -0 bounded fsprobe pread "$C/buffer" 4 "$offset"
		is 00000100
	done
	probe ENOENT open "$MNT/sys/formats/none" rdonly
	probe ENOENT open "$MNT/sys/formats/default/none" rdonly
}

# described REG NAME DEFAULT RESERVED ADDRESS WIDTH
described() {
	local dir=pmu_desc/$1

	says "$dir/name" "$2"
	says "$dir/dfl_val" "$3"
	says "$dir/rsvd_msk" "$4"
	says "$dir/addr" "$5"
	says "$dir/width" "$6"
}

@test "registers: the same as in pmu/, in the kernels' form" {
	serve --backend=sim:intel_v2
	says pmu_desc/model "$(cut -c 1-31 "$MNT/pmu/model")"
	for kind in pmc pmd; do
		while read -r num name type addr def rsvd; do
			width=64
			[ "$kind $type" != "pmd msr" ] || width=40
			described "$kind$num" "$name" "$(printf '0x%x' "$def")" \
				"$(printf '0x%x' "$rsvd")" "$addr" "$width"
		done <"$MNT/pmu/${kind}s"
	done
}

@test "mappings: every register, as in pmu/, in the form of 2006" {
	serve --backend=sim:p6
	cmp "$MNT/sys/pmu_desc/mappings" "$MNT/pmu/mappings"
	run -0 bounded head -2 "$MNT/sys/pmu_desc/mappings"
	is $'PMC0:0x0:0xffc7ffff:PERFEVTSEL0\nPMC1:0x0:0xff87ffff:PERFEVTSEL1'
	probe EACCES open "$MNT/sys/pmu_desc/mappings" wronly
}

@test "what this PMU does not have has no directory, and every one has all files" {
	serve --backend=sim
	for name in pmc3000 pmc4 pmd4 pmc256 pmc00 pmc-1 pmc pmd pm 0 pmx0 pmd271 pmd320 pmd512; do
		probe ENOENT open "$MNT/sys/pmu_desc/$name" rdonly
	done
	run -0 bounded find "$MNT/sys/pmu_desc" -mindepth 2 -type f
	[ "${#lines[@]}" = $((5 * $(cat "$MNT/pmu/pmcs" "$MNT/pmu/pmds" | wc -l))) ]
}

# Programs probe pmcN upwards, read with fscanf or drop what they take for the newline.
@test "each file ends in one newline and can only be read" {
	serve --backend=sim
	run -0 bounded find "$MNT/sys" -type f ! -name mappings
	for f in "${lines[@]}"; do
		[ "$(bounded cat "$f" | wc -l)" = 1 ]
		[ "$(bounded tail -c 1 "$f" | od -An -tx1)" = " 0a" ]
		probe EACCES open "$f" wronly
	done
}

@test "a bind mount of it at another place is the same" {
	serve --backend=sim
	mkdir "$BATS_TEST_TMPDIR/at"
	run -0 unshare -m sh -c 'mount --bind "$1/sys" "$2" && find "$2" -type f -printf "%P " -exec cat {} +' \
		sh "$MNT" "$BATS_TEST_TMPDIR/at"
	is "$(cd "$MNT/sys" && find . -type f -printf "%P " -exec cat {} +)"
}
