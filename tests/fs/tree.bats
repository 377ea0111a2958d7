# SPDX-License-Identifier: MIT
# The tree as files: names, modes, owners, and common programs.

load common

# Paths, types, modes and link targets, below the mount point.
tree() {
	bounded find "$MNT" -mindepth 1 -printf '%P %y %m %u:%g %l\n' | sort
}

# layout PATTERN: the files that fs-layout.md has, as tree prints them, without owners
layout() {
	awk -F'`' '/^\| `\/[^`]/ {
		path = parent = substr($2, 2)
		split($3, column, "|")
		mode[path] = column[2] + 0
		if ($3 ~ /symbolic link/) {
			type[path] = "l"
			target[path] = " " $4
		}
		if (sub("/[^/]*$", "", parent))
			type[parent] = "d"
	}
	END {
		for (path in mode)
			print path, (path in type ? type[path] : "f"), mode[path] target[path]
	}' "$BATS_TEST_DIRNAME/../../fs-layout.md" | grep "$1"
}

# root_rows: the files of every mount; metrics/ has those of a group when the group is set
root_rows() {
	layout '^[^A-Z]*$' | grep -v '^sys\>\|^sim\>\|^pm_counters\>\|^pmu/energy\>\|^pmu/readings\>\|^metrics/[er]'
}

# sys_rows: with a directory for each of the formats and of the registers that the tree lists
sys_rows() {
	local kind num name

	layout '^sys\>' | grep -v 'NAME\|REG'
	while read -r _ name; do
		layout '^sys/formats/NAME' | sed "s,NAME,$name,"
	done <"$MNT/formats"
	for kind in pmc pmd; do
		while read -r num _; do
			layout '^sys/pmu_desc/REG' | sed "s,REG,$kind$num,"
		done <"$MNT/pmu/${kind}s"
	done
}

# The simulated processor has registers of energy.
sim_rows() {
	layout '^sim\>\|^pm_counters\>\|^pmu/energy\>\|^pmu/readings\>'
}

# context_rows NAME: the files of every context, with the registers that pmu/ lists
context_rows() {
	layout '^ctx/NAME\>' | grep -v '/ID\>\|/TID\>' | sed "s,NAME,$1,"
	set_rows "ctx/$1/set/0"
}

# set_rows PATH: the files of every event set of a context that is on no thread
set_rows() {
	local kind num name type

	layout '^ctx/NAME/set/ID\>' | grep -v '/pm[cd]/[NV]\>' | sed "s,ctx/NAME/set/ID,$1,"
	for kind in pmc pmd; do
		while read -r num name type _; do
			[[ $name != @(cputime|process|thread|tsc|[amp]perf|irperf) ]] || continue
			[ "$type" = virtual ] && type=V || type=N
			layout "^ctx/NAME/set/ID/$kind/$type\>" | sed "s,ctx/NAME/set/ID,$1,; s,$type ,$num ,"
		done <"$MNT/pmu/${kind}s"
	done
}

# owned OWNER: adds the owner to rows
owned() {
	awk -v o="$1" '{ print $1, $2, $3, o, $4 }'
}

whole_tree() {
	mkdir "$MNT/ctx/mine"
	as nobody probe ok mkdir "$MNT/ctx/theirs"
	# A set that root makes in their context is theirs.
	mkdir "$MNT/ctx/theirs/set/65535"
	run -0 tree
	is "$({
		{ root_rows && sys_rows && "$@" && context_rows mine; } | owned root:root
		{ context_rows theirs && set_rows ctx/theirs/set/65535; } | owned "$(id -nu "$NOBODY"):$(getent group "$NOBODY" | cut -d: -f1)"
	} | sort)"
}

@test "names, types, modes and owners: sim" {
	serve --backend=sim
	whole_tree sim_rows
}

# With a directory for each type of CPUs.
hybrid_rows() {
	sim_rows
	for type in core atom; do
		layout '^pmu/TYPE\>' | sed "s,TYPE,$type,"
	done
}

@test "names, types, modes and owners: a hybrid sim" {
	serve --backend=sim:hybrid
	whole_tree hybrid_rows
}

@test "names, types, modes and owners: perf" {
	serve --backend=perf
	whole_tree true
}

@test "sizes are those of no text, directories have two links, files one" {
	serve --backend=sim
	mkdir "$MNT/ctx/a"
	run -0 bounded stat -c '%s %h' "$MNT/version" "$MNT/pmu" "$MNT/ctx/a" "$MNT/ctx/a/pmd/0" \
		"$MNT/ctx/a/regs" "$MNT/cpus" "$MNT/ctx/a/buffer" "$MNT/ctx/a/set/0/live"
	is $'4096 1\n0 2\n0 2\n4096 1\n10 1\n4194304 1\n0 1\n4096 1'
}

@test "inode numbers: each file has its own, and none is used again" {
	serve --backend=sim
	mkdir "$MNT/ctx/a" "$MNT/ctx/b"
	run -0 bounded find "$MNT" -printf '%i\n'
	[ "${#lines[@]}" -gt 60 ]
	before=$output
	[ -z "$(sort <<<"$before" | uniq -d)" ]
	rmdir "$MNT/ctx/a"
	mkdir "$MNT/ctx/a"
	run -0 bounded find "$MNT/ctx/a" -printf '%i\n'
	[ -z "$(comm -12 <(sort <<<"$before") <(sort <<<"$output"))" ]
}

@test "what the files at the top say" {
	serve --backend=sim:amd_ext
	run -0 bounded cat "$MNT/version"
	[[ $output =~ ^perfmonfs\ [0-9]+\.[0-9]+\.[0-9]+\ interface\ 3$ ]]
	holds "$MNT/last_error" ok
	holds "$MNT/pmu/backend" sim
	holds "$MNT/pmu/counter_width" 48
	holds "$MNT/cpus" $'0 online free\n1 online free\n2 online free\n3 online free'
	grep -qx "requests [0-9]*" "$MNT/stats" # all keys: recipes.bats
	holds "$MNT/config/allow_kernel" group # all keys: test_config
}

@test "pmu/: a line per register, and the same registers in perfmon2's form" {
	serve --backend=sim:intel_v2
	run -0 bounded cat "$MNT/pmu/pmcs" "$MNT/pmu/pmds"
	registers=${#lines[@]}
	[ "$(grep -vc ' virtual ' <<<"$output")" = 8 ]
	for line in "${lines[@]}"; do
		[[ $line =~ ^2[5-9][0-9]\ [a-z_]+\ virtual\ 0x0\ 0x0{16}\ 0xf{16}$ ]] ||
			[[ $line =~ ^[0-9]+\ [A-Z0-9_]+\ msr\ 0x[0-9a-f]+\ 0x[0-9a-f]{16}\ 0x[0-9a-f]{16}$ ]]
	done
	run -0 bounded cat "$MNT/pmu/mappings"
	[ "${#lines[@]}" = "$registers" ]
	is "$({
		while read -r n name _ _ def rsvd; do
			printf 'PMC%u:0x%x:0x%x:%s\n' "$n" "$def" "$((~rsvd))" "$name"
		done <"$MNT/pmu/pmcs"
		while read -r n name _ _ def rsvd; do
			printf 'PMD%u:0x%x:0x%x:%s\n' "$n" "$def" "$((~rsvd))" "$name"
		done <"$MNT/pmu/pmds"
	})"
}

@test "pmu/events: perf's software events, by value" {
	serve --backend=perf
	run -0 bounded cat "$MNT/pmu/events"
	for event in cpu-clock task-clock page-faults minor-faults major-faults context-switches \
		cpu-migrations alignment-faults emulation-faults; do
		grep -Eq "^$event 0x01[0-9a-f]{14} ." <<<"$output"
	done
}

@test "pmu/events: the architectural events, which count by name" {
	serve --backend=sim
	grep -Fx 'instructions 0x00000000004300c0 instructions retired' "$MNT/pmu/events"
	mkdir "$MNT/ctx/a"
	echo instructions:u >"$MNT/ctx/a/pmc/0"
	[ "$(cat "$MNT/ctx/a/pmc/0")" = 0x00000000004100c0 ]
	# Each name of the file is taken, and gives the value in its line.
	while read -r name value _; do
		echo "$name" >"$MNT/ctx/a/pmc/1"
		[ "$(cat "$MNT/ctx/a/pmc/1")" = "$value" ]
	done <"$MNT/pmu/events"
	run ! bounded sh -c "echo cycles >$MNT/ctx/a/pmc/16"
	grep 'pmc16 is not an event select' "$MNT/ctx/a/last_error"
}

@test "an architectural event by name, with the registers of msr" {
	serve_msrsim --model=zen4 --clock=script
	serve --backend=msr "--dev=$CPU"
	mkdir "$MNT/ctx/a"
	printf 'pmc0 branches:u\npmc1 cycles:k\n' | cat >"$MNT/ctx/a/regs"
	run -0 cat "$MNT/ctx/a/pmc/0" "$MNT/ctx/a/pmc/1"
	[ "$output" = $'0x00000000004100c2\n0x0000000000420076' ]
	# A counter of the cache has other events.
	run ! bounded sh -c "echo branches >$MNT/ctx/a/pmc/32"
}

@test "registers that this PMU does not have are not there" {
	serve --backend=sim
	mkdir "$MNT/ctx/a"
	for name in 4 15 00 0x0 -1 +1 x 512 4294967296 18446744073709551616; do
		probe ENOENT open "$MNT/ctx/a/pmc/$name" rdonly
	done
	probe ENOENT open "$MNT/ctx/a/set/1" rdonly
	probe ENOENT open "$MNT/ctx/a/set/00" rdonly
}

@test "sim/ is only there where the backend is sim" {
	serve --backend=perf
	probe ENOENT open "$MNT/sim" rdonly
	run -0 ls "$MNT"
	[[ $output != *sim* ]]
}

@test "an open file shows one snapshot, however small the reads; offset 0 takes the next" {
	serve --backend=sim
	mkdir "$MNT/ctx/a"
	for v in 11111111 99999999; do
		echo $v >"$MNT/ctx/a/pmd/0"
		exec 4<"$MNT/ctx/a/pmd/0"
		run -0 bounded fsprobe pread - 4 0 <&4
		is "$(printf %s ${v:0:4} | od -An -tx1 | tr -d ' \n')"
		echo 55555555 >"$MNT/ctx/a/pmd/0"
		run -0 bounded fsprobe pread - 100 4 <&4
		is "$(printf '%s\n' ${v:4} | od -An -tx1 | tr -d ' \n')"
		run -0 bounded fsprobe pread - 8 0 <&4
		is 3535353535353535
		exec 4<&-
	done
	run -0 bounded dd bs=1 if="$MNT/ctx/a/regs" status=none
	is "$(cat "$MNT/ctx/a/regs")"
}

@test "a first read that is not at offset 0 takes a snapshot, too" {
	serve --backend=sim
	mkdir "$MNT/ctx/a"
	echo 12345678 >"$MNT/ctx/a/pmd/0"
	run -0 bounded dd bs=1 skip=3 if="$MNT/ctx/a/pmd/0" status=none
	is 45678
	probe 0a pread "$MNT/ctx/a/pmd/0" 100 8
	probe "" pread "$MNT/ctx/a/pmd/0" 100 9
	probe EINVAL pread "$MNT/ctx/a/pmd/0" 100 10
	probe EINVAL pread "$MNT/ctx/a/pmd/0" 100 4611686018427387904
	sentence "$MNT/ctx/a/last_error" "9 bytes"
}

# texts: the files of the tree that have text
texts() {
	bounded find "$MNT" -type f ! -name clone ! -name msg ! -name events ! -name buffer
}

# no_text_is_longer: ... than the size of its file. Reading fails where a readings file has no value.
no_text_is_longer() {
	# shellcheck disable=SC2046
	bounded python3 - $(texts) <<-'END'
		import os, sys
		for path in sys.argv[1:]:
		    text = b""
		    try:
		        with open(path, "rb") as f: text = f.read() or text
		    except OSError: pass
		    assert len(text) <= os.stat(path).st_size, path
	END
}

@test "no text is longer than its file's size says" {
	for model in sim:hybrid sim:netburst sim:zen5; do
		serve --backend="$model" --sim-cpus=256
		mkdir "$MNT/ctx/a"
		no_text_is_longer
		stop_daemon
	done
}

@test "regs with all options, and total with many sets, are no longer than their sizes say" {
	local all d f i

	serve --backend=sim:zen5
	mkdir "$MNT/ctx/a"
	# Every second register, so that no list is a short range.
	all=$(awk '$1 < 256 && NR % 2 { printf "%s%s", sep, $1; sep = "," }' "$MNT/pmu/pmds")
	for d in ${all//,/ }; do
		echo "1 long=0x7fffffffffffffff short=0x7fffffffffffffff smpl=$all reset=$all" \
			>"$MNT/ctx/a/set/0/pmd/$d"
	done
	for i in {1..99}; do
		mkdir "$MNT/ctx/a/set/$i"
		for d in ${all//,/ }; do echo "$((1 << 60))" >"$MNT/ctx/a/set/$i/pmd/$d"; done
	done
	for f in set/0/regs total; do
		run -0 bounded stat -c %s "$MNT/ctx/a/$f"
		[ "$(bounded cat "$MNT/ctx/a/$f" | wc -c)" -le "$output" ]
	done
}

@test "stats is no longer than its size says, with many users" {
	local uid

	serve --backend=sim
	echo any >"$MNT/config/thread_group"
	for uid in {10001..10099}; do
		setpriv --reuid $uid --regid $uid --clear-groups mkdir "$MNT/ctx/$uid"
	done
	[ "$(bounded cat "$MNT/stats" | wc -c)" -le "$(bounded stat -c %s "$MNT/stats")" ]
}

# copies_what_cat_shows FILE...: by splice(2) and sendfile(2), which may fail: programs read(2) then, as
# busybox and Python do. With O_DIRECT they never fail.
copies_what_cat_shows() {
	bounded python3 - "$BATS_TEST_TMPDIR/copied" "$@" <<-'END'
		import errno, os, shutil, sys
		def copy(call, path, flags):
		    fd, (end, into) = os.open(path, os.O_RDONLY | flags), os.pipe()
		    try:
		        return os.read(end, 16384) if call(fd, into) else b""
		    except OSError as e:
		        return e.errno
		    finally:
		        for each in fd, end, into: os.close(each)
		calls = (lambda fd, into: os.splice(fd, into, 16384), lambda fd, into: os.sendfile(into, fd, None, 16384))
		def read(path):
		    with open(path, "rb") as f: return f.read()
		for path in sys.argv[2:]:
		    want = read(path)
		    for call in calls:
		        assert copy(call, path, 0) in (want, errno.EINVAL), path
		        assert copy(call, path, os.O_DIRECT) == want, path
		    shutil.copyfile(path, sys.argv[1])
		    assert read(sys.argv[1]) == want, path
	END
	bounded busybox cat "$@" | cmp - <(cat "$@")
	bounded busybox cp "$1" "$BATS_TEST_TMPDIR/copied"
	bounded cmp "$BATS_TEST_TMPDIR/copied" "$1"
}

@test "splice and sendfile give what read gives, or fail, after all kinds of writes" {
	command -v busybox >/dev/null || skip "needs busybox"
	serve --backend=sim
	mkdir "$MNT/ctx/a"
	cd "$MNT/ctx/a"
	echo 0x4100c0 >pmc/0
	echo load cpu=0 >ctl
	for write in 'echo 7 >' 'echo 7 >>' 'printf 7 >' ': >' 'truncate -s 0' 'truncate -s 100' touch \
		'echo 7 | tee' 'echo 7 | dd status=none conv=notrunc of='; do
		eval "$write pmd/0" 2>/dev/null || eval "${write}pmd/0"
		copies_what_cat_shows pmd/0
		echo start >ctl
		echo 1000000 >"$MNT/sim/advance"
		echo stop >ctl
		[ "$(wc -c <pmd/0)" -gt 6 ]
		copies_what_cat_shows pmd/0
	done
	# The others change with time.
	# shellcheck disable=SC2046
	copies_what_cat_shows $(texts | grep -v '/sim/\|/stats$\|/metrics/\|/readings$\|/energy$\|/pm_counters/\|/live$\|/2..$')
	bounded busybox cp pmd/0 pmd/1
	[ "$(cat pmd/1)" = "$(cat pmd/0)" ]
}

# requests COMMAND...: how many the kernel sends for the command
requests() {
	local before between after key='$1 == "requests" { print $2 }'

	before=$(awk "$key" "$MNT/stats")
	between=$(awk "$key" "$MNT/stats")
	"$@" >/dev/null
	after=$(awk "$key" "$MNT/stats")
	output=$((after - between - (between - before)))
}

@test "how many requests reads and writes take" {
	serve --backend=sim
	mkdir "$MNT/ctx/a"
	cd "$MNT/ctx/a/pmd"
	cat 0 1 2 >/dev/null # the kernel has looked them up then
	requests cat 0
	before=$output
	requests cat 0 1 2
	is $((before + 8)) # each: open, stat, read, read of the end; close is not counted
	requests eval 'echo 1 >0'
	before=$output
	requests eval 'echo 1 >0; echo 1 >1; echo 1 >2'
	is $((before + 6)) # each: open, truncate, write
	requests eval 'echo 1 >>0'
	before=$output
	requests eval 'echo 1 >>0; echo 1 >>1; echo 1 >>2'
	is $((before + 4)) # without truncate
}

# names_take N FILE: requests, after the first use
names_take() {
	fsprobe pread "$2" 10 0 >/dev/null
	requests fsprobe pread "$2" 10 0
	echo "$2: $output"
	is "$(($1 + 2))" # open, read
}

# The kernel remembers all other names, the owners and modes of directories, and where links lead.
@test "a name takes one request for each part that may be removed, and no other" {
	serve --backend=sim
	mkdir -p "$MNT/ctx/a/set/1"
	for file in state pmd/0 pmc/0 regs set/0/pmd/0; do names_take 1 "$MNT/ctx/a/$file"; done
	names_take 2 "$MNT/ctx/a/set/1/pmd/0"
	names_take 0 "$MNT/pmu/events"
	names_take 0 "$MNT/config/tick_us"
}

@test "common programs can read" {
	serve --backend=sim
	mkdir "$MNT/ctx/a"
	f=$MNT/ctx/a/regs
	for ((i = 0; i < 4; i++)); do
		echo "pmc$i 0x00000000004100c$i" >>"$f"
	done
	bounded dd if="$f" of="$BATS_TEST_TMPDIR/copy" bs=64k status=none
	want=$BATS_TEST_TMPDIR/copy
	[ "$(grep -c . "$want")" = 12 ]
	[ "$(bounded head -n 3 "$f")" = "$(head -n 3 "$want")" ]
	[ "$(bounded tail -c +9 "$f")" = "$(tail -c +9 "$want")" ]
	[ "$(bounded wc -c "$f")" = "$(wc -c <"$want") $f" ]
	# From the end: not of a table that may be longer than 8192 bytes.
	[ "$(bounded tac "$MNT/version")" = "$(cat "$MNT/version")" ]
	run -1 bounded tac "$f"
	[[ $output == *"Invalid argument"* ]]
	bounded cmp "$f" "$want"
	read -r first <"$f"
	[ "$first" = "$(head -n 1 "$want")" ]
	bounded cp "$f" "$BATS_TEST_TMPDIR/copy2"
	cmp "$BATS_TEST_TMPDIR/copy2" "$want"
	run -0 bounded cp -r "$MNT/ctx/a/set" "$BATS_TEST_TMPDIR/copy3"
	is ""
	cmp "$BATS_TEST_TMPDIR/copy3/0/regs" "$want"
	bounded ls -laR "$MNT" >/dev/null
	bounded stat -f "$MNT" >/dev/null
	bounded df "$MNT" >/dev/null
	bounded du -s "$MNT" >/dev/null
}

@test "common programs can write" {
	serve --backend=sim
	mkdir "$MNT/ctx/a"
	f=$MNT/ctx/a/pmd/1
	echo 1 >"$f"
	holds "$f" 1
	echo 2 >>"$f"
	holds "$f" 2
	printf 3 >"$f"
	holds "$f" 3
	echo 4 | bounded tee "$f"
	holds "$f" 4
	echo 5 | bounded dd of="$f" status=none
	holds "$f" 5
	echo 6 >"$BATS_TEST_TMPDIR/six"
	bounded cp "$BATS_TEST_TMPDIR/six" "$f"
	holds "$f" 6
	bounded truncate -s 0 "$f"
	holds "$f" 6
	bounded touch "$f"
	: >"$f"
	holds "$f" 6
	exec 4<>"$f"
	echo 7 >&4
	echo 8 >&4
	run -0 bounded fsprobe pread - 10 0 <&4
	is 380a
}

@test "owners and modes are fixed, and only contexts and sets are made or removed" {
	serve --backend=sim
	mkdir "$MNT/ctx/a"
	a=$MNT/ctx/a
	probe EPERM chmod "$a" 755
	probe EPERM chmod "$a/ctl" 666
	probe EPERM chown "$a" "$NOBODY"
	probe EPERM chown "$MNT/config/sys_group" "$NOBODY"
	probe EPERM open "$MNT/new" wronly,creat
	probe EPERM open "$MNT/ctx/new" wronly,creat
	probe EPERM open "$a/new" wronly,creat
	probe EPERM unlink "$MNT/version"
	probe EPERM unlink "$a/ctl"
	probe EPERM unlink "$a/pmd/0"
	probe EPERM rename "$MNT/ctx/a" "$MNT/ctx/b"
	probe EPERM rename "$a/ctl" "$a/flags"
	probe EPERM link "$a/ctl" "$a/link"
	probe EPERM link "$a/ctl" "$MNT/ctx/link"
	probe EPERM symlink x "$MNT/ctx/link"
	probe EPERM mkdir "$MNT/new"
	probe EPERM mkdir "$MNT/pmu/new"
	probe EPERM mkdir "$a/new"
	probe EPERM rmdir "$MNT/pmu"
	probe EPERM rmdir "$MNT/ctx"
	probe EPERM rmdir "$a/set"
	probe EPERM mkdir "$a/set/0/new"
	probe EPERM rmdir "$a/set/0/pmc"
	sentence "$a/last_error" "rmdir of its context"
	probe ENOENT mkdir "$a/sets/1"
	sentence "$a/last_error" "mkdir set/1"
	mkdir "$MNT/ctx/b"
	probe EPERM rename "$MNT/ctx/b" "$MNT/ctx/c"
	sentence "$MNT/last_error" "mkdir a context"
	rmdir "$MNT/ctx/b"
	probe ENOENT rmdir "$MNT/ctx/none"
	run -0 tree
	is "$({ root_rows && sys_rows && sim_rows && context_rows a; } | owned root:root | sort)"
}

@test "a read-only file is not opened for writing, not even by root" {
	local file

	serve --backend=sim
	mkdir "$MNT/ctx/a"
	# The many of a register are all alike.
	while read -r file; do
		probe EACCES open "$file" rdwr
		probe EACCES open "$file" wronly,trunc
	done < <(find "$MNT" -type f ! -perm /222 ! -path "*/pmu_desc/pm*" ! -path "*/pm[cd]/*")
	probe EACCES truncate "$MNT/version" 0
	sentence "$MNT/last_error" read-only
	sentence "$MNT/ctx/a/last_error" read-only
}

@test "open files of a removed context are dead, not the next context's" {
	serve --backend=sim
	mkdir "$MNT/ctx/a"
	echo 1111 >"$MNT/ctx/a/pmd/0"
	exec 4<>"$MNT/ctx/a/pmd/0"
	cd "$MNT/ctx/a"
	rmdir "$MNT/ctx/a"
	mkdir "$MNT/ctx/a"
	echo 2222 >"$MNT/ctx/a/pmd/0"
	run -0 bounded fsprobe pread - 10 0 <&4
	is ENODEV
	run -0 bounded fsprobe write - <<<3333
	is ENODEV
	for f in pmd/0 set/0/pmd/0 state; do
		run -0 bounded fsprobe pread "$f" 10 0
		[[ $output =~ ^(ENOENT|ENODEV)$ ]]
	done
	run -0 bounded fsprobe mkdir x
	[[ $output =~ ^(ENOENT|ENODEV)$ ]]
	holds "$MNT/ctx/a/pmd/0" 2222
}

@test "a snapshot outlives neither its context nor its file" {
	serve --backend=sim
	mkdir "$MNT/ctx/a"
	exec 4<"$MNT/ctx/a/regs"
	run -0 bounded fsprobe pread - 10 0 <&4
	rmdir "$MNT/ctx/a"
	run -0 bounded fsprobe pread - 10 10 <&4
	is ENODEV
}

@test "only its creator can use a context" {
	serve --backend=sim
	mkdir "$MNT/ctx/a"
	as nobody probe ok mkdir "$MNT/ctx/b"
	as nobody probe EACCES open "$MNT/ctx/a/state" rdonly
	as nobody probe EACCES open "$MNT/ctx/a" rdonly
	as nobody probe EACCES open "$MNT/ctx/a/none" rdonly
	as nobody probe EPERM rmdir "$MNT/ctx/a"
	as nobody probe EACCES open "$MNT/sim/advance" rdonly
	as nobody probe EACCES open "$MNT/config/sys_group" wronly
	as nobody probe ok open "$MNT/config/sys_group" rdonly
	as nobody probe ok open "$MNT/ctx/b/state" rdonly
	as nobody probe ok rmdir "$MNT/ctx/b"
	[ -d "$MNT/ctx/a" ]
}

@test "a listing while contexts come and go misses none that stays" {
	serve --backend=sim
	mkdir "$MNT"/ctx/keep{001..200}
	bounded bash -c 'for ((i = 0; i < 150; i++)); do
		mkdir "$1/ctx/x$i" && rmdir "$1/ctx/x$i"
	done' sh "$MNT" &
	for _ in 1 2 3 4 5 6 7 8; do
		[ "$(bounded ls "$MNT/ctx" | grep -c ^keep)" = 200 ]
		[ -z "$(bounded ls "$MNT/ctx" | sort | uniq -d)" ]
	done
	wait $!
	rmdir "$MNT"/ctx/*
	run -0 ls "$MNT/ctx"
	is ""
}
