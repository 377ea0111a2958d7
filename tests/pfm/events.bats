# SPDX-License-Identifier: MIT
# pfm list, encode and decode: names of events to values of PMCs, and back.

load common

setup() {
	bench_setup
	PATH="$BUILD/tools/pfm:$PATH"
	export PFM_EVENTS=$BATS_TEST_TMPDIR/events
	mkdir "$PFM_EVENTS"
}

# pfm_run STATUS ARG...: pfm on this mount
pfm_run() {
	run "-$1" bounded pfm "$2" -m "$MNT" "${@:3}"
}

# is_first_lines NAMES: of what decode prints, the lines with names have these, perhaps with others
is_first_lines() {
	local name

	grep -v '^ ' | while read -r line; do
		echo ", $line,"
	done >"$BATS_TEST_TMPDIR/named"
	exec 4<"$BATS_TEST_TMPDIR/named"
	for name in $1; do
		read -r line <&4
		[[ $line == *", $name,"* ]] || {
			echo "no $name in $line"
			return 1
		}
	done
}

@test "encode: the value that a PMC takes" {
	serve --backend=sim:intel_v4
	pfm_run 0 encode instructions cycles:u r412e:k 0x5300c4
	is $'0x4300c0\n0x41003c\n0x42412e\n0x4300c4'
	new a
	put ok "$C/pmc/0" "$(pfm encode -m "$MNT" instructions:u)"
	holds "$C/pmc/0" 0x00000000004100c0
	# An event of a fixed counter alone
	pfm_run 0 encode ref-cycles:u
	is 0x200
}

# By files they count: PMC 64 selects a read of memory on Zen 4.
@test "a counter of the uncore: what to do instead" {
	serve --backend=sim:zen4
	pfm_run 125 encode pmc64=0x8000010a
	[[ $output == *"files of a context, pmc/64" ]]
	pfm_run 125 encode pmc300=0x1
	[[ $output == *"pmu/pmcs of the mount" ]]
	mkdir "$MNT/ctx/memory"
	cd "$MNT/ctx/memory"
	put ok pmc/64 0x8000010a
	put ok ctl "load cpu=0"
	put ok ctl start
	put ok "$MNT/sim/advance" 1000000
	[ "$(cat pmd/64)" -gt 0 ]
}

@test "encode -r: lines for regs, which count" {
	serve --backend=sim:intel_v4
	pfm_run 0 encode -r instructions cycles:u ref-cycles branches:u
	is $'pmc16 0x323\npmc0 0x4100c4'
	regs=$output
	new a
	put ok "$C/regs" "$regs"
	ctl "load cpu=1"
	ctl start
	advance 1000000
	ctl stop
	# At user and kernel level; cycles and branches at user level alone
	holds "$C/pmd/16" 2500000
	holds "$C/pmd/17" 2400000
	holds "$C/pmd/18" 2500000
	holds "$C/pmd/0" 400000
}

@test "on perf, the tree's own events" {
	serve --backend=perf
	pfm_run 0 encode page-faults:u context-switches
	is $'0x100000000410003\n0x100000000430004'
	new a
	put ok "$C/pmc/0" "${lines[0]}"
	holds "$C/pmc/0" 0x0100000000410003
	pfm_run 0 list
	[[ $output == *page-faults* ]]
	pfm_run 0 decode 0x100000000410003
	[ "${lines[0]}" = page-faults ]
	[[ $output == *"user level"* ]]
}

@test "on perf, libpfm4's events are listed where the kernel has a PMU" {
	pfm --version | grep -q '^libpfm4 [0-9]' || skip "pfm was built without libpfm4"
	export LIBPFM_FORCE_PMU=skl
	serve --backend=perf
	if pfm check -m "$MNT" | grep -q '^ok    hardware events'; then
		pfm_run 0 list UOPS_ISSUED
	else
		pfm_run 125 list UOPS_ISSUED
		for name in skl::UOPS_ISSUED:ANY skl::UOPS_ISSUED:NONE skl::BR_INST_RETIRED; do
			pfm_run 125 encode $name
			[[ $output == *"the kernel has no PMU"* ]]
		done
	fi
	pfm_run 0 list skl::UOPS_ISSUED
	pfm_run 0 list
}

@test "decode: the event, its fields, its level and its counters" {
	serve --backend=sim:intel_v4
	pfm_run 0 decode 0x4300c0
	is $'instructions\n  event 0xc0, unit mask 0x0\n  user and kernel level, PMD 0-3,16'
	pfm_run 0 decode pmc16=0x30
	is $'cycles\n  user and kernel level, PMD 17'
	pfm_run 0 decode 0x24500c4 0x410151
	[ "${lines[0]}" = branches ]
	[[ ${lines[1]} == *"counter mask 2, edge" ]]
	[ "${lines[3]}" = "no event with a name" ]
	for bad in "" cycles 0xzz 0x2000c0 pmc9=0x1 r00c0; do
		pfm_run 125 decode "$bad"
	done
}

# What is printed for a unit mask is what encode gives it, without the level.
@test "list -v: the code of each unit mask" {
	local name code rest n=0

	pfm --version | grep -q '^libpfm4 [0-9]' || skip "pfm was built without libpfm4"
	serve --backend=sim:skylake
	pfm_run 0 list skl::BR_MISP_RETIRED
	[ "${#lines[@]}" = 2 ]
	pfm_run 0 list -v skl::BR_
	while read -r name code rest; do
		[[ $name == skl::*:* ]] || continue
		[[ $rest == "PMD "* ]]
		pfm_run 0 encode "$name:u"
		is "$(printf '0x%x' $((code | 0x410000)))"
		n=$((n + 1))
	done <<<"$output"
	[ "$n" -ge 10 ]
	# Descriptions are in lines of 80 columns, with all their words.
	pfm_run 0 list -v skl::
	fails grep -E '^.{81}' <<<"$(grep -v :: <<<"$output")"
	[[ $output == *"clock signal on the specific core is"$'\n'"    running (not halted)"* ]]
	pfm_run 0 list --verbose skl::OFFCORE_RESPONSE_0
	grep -Eq '^  skl::OFFCORE_RESPONSE_0:DMND_DATA_RD +0x01b7\+0x10001 ' <<<"$output"
}

@test "decode: the names of libpfm4, of a PMU that the user names" {
	pfm --version | grep -q '^libpfm4 [0-9]' || skip "pfm was built without libpfm4"
	serve --backend=sim:intel_v4
	pfm_run 0 decode 0x410151
	[ "${lines[0]}" = "no event with a name" ]
	pfm_run 0 decode --pmu=skl 0x410151 0x2410151
	[ "${lines[0]}" = skl::L1D:REPLACEMENT ]
	[ "${lines[3]}" = skl::L1D:REPLACEMENT ]
	code=$(pfm encode -m "$MNT" skl::L1D:REPLACEMENT)
	[ "$code" = 0x430151 ]
	pfm_run 125 decode --pmu=nonsense 0x410151
}

# What encode makes, decode understands: agree [--type=TYPE]
agree() {
	pfm_run 0 list "$@"
	names=$(awk '/^[^ ]/ { print $1 }' <<<"$output")
	[ "$(wc -w <<<"$names")" -ge 4 ]
	# shellcheck disable=SC2086
	pfm_run 0 encode $names
	values=()
	for name in $names; do
		value=${lines[${#values[@]}]}
		case $name in
		*ref-cycles* | *slots*) values+=("pmc16=$value") ;;
		*) values+=("$value") ;;
		esac
	done
	pfm_run 0 decode "$@" "${values[@]}"
	is_first_lines "$names" <<<"$(sed 's,^\(cpu_[a-z]*\): \(.*\),\1/\2/,' <<<"$output")"
}

# Of each event that list shows, on each PMU.
@test "list, encode and decode agree, on each PMU of the simulator" {
	models=$(perfmonfs --help | sed -n 's/^Models of sim: //p')
	[ "$(wc -w <<<"$models")" -ge 9 ]
	for model in $models; do
		case $model in
		netburst* | itanium2) continue ;; # netburst.bats; the events of the other have no names.
		esac
		serve --backend="sim:$model"
		for type in core atom; do
			[ -d "$MNT/pmu/$type" ] && agree "--type=$type"
		done
		[ -d "$MNT/pmu/core" ] || agree
		stop_daemon
		DAEMON=
		until_ok not_mounted
	done
}

# lib_encode EVENT...: by libpfmfs
lib_encode() {
	bounded "$BUILD/tests/lib/encode" "$MNT" "$@"
}

@test "libpfmfs: its values are those of pfm encode, its errors have sentences" {
	local name names sent

	serve --backend=sim:hybrid
	names=$(pfm list -m "$MNT" | awk '/^[^ ].* 0x/ { print $1 }')
	[ "$(wc -w <<<"$names")" -ge 8 ]
	for name in $names instructions:u cycles:k:c=2 cpu_atom/cycles/; do
		[ "$(lib_encode "$name" | cut -d ' ' -f 2)" = "$(pfm encode -m "$MNT" "$name")" ]
	done
	run -0 lib_encode instructions:u branches:u cycles
	[ "$(grep -v pmds <<<"$output")" = "$(pfm encode -m "$MNT" -r instructions:u branches:u cycles)" ]
	[[ ${lines[-1]} =~ ^pmds( [0-9]+){3}$ ]]
	run -1 lib_encode instrucions
	[[ $output == "ENOENT "*"is it instructions?"* ]]
	run -1 lib_encode cycles cycles cycles cycles cycles cycles cycles cycles cycles cycles cycles cycles
	[[ $output == "ENOSPC "* ]]
	MNT=/ run -1 lib_encode cycles
	stop_daemon
	until_ok not_mounted
	serve --backend=sim:zen5
	echo 'MINE 0x123 * not of the tree' >"$PFM_EVENTS/mine.events"
	diff <(lib_encode | sort) <(pfm list -m "$MNT" | awk '/^[^ ].* 0x/ { print $1 }' | sort)
	rm "$PFM_EVENTS/mine.events"
	stop_daemon
	until_ok not_mounted
	serve --backend=sim:netburst
	PFM_EVENTS=$BATS_TEST_DIRNAME/../../tools/pfm/events/data
	run -1 lib_encode cycles
	[[ $output == "EOPNOTSUPP "*pfm_encode_regs* ]]
	run -0 lib_encode cycles instructions
	[ "$(grep -c '^pmc' <<<"$output")" = 4 ]
}

@test "libpfmfs: only its calls are seen" {
	command -v nm >/dev/null || skip "needs nm (binutils)"
	nm -D --defined-only "$BUILD/tools/pfm/libpfmfs.so" | awk '{ print $3 }' | sort >"$BATS_TEST_TMPDIR/symbols"
	diff "$BATS_TEST_TMPDIR/symbols" - <<-'END'
		PFMFS_1
		pfm_encode_error@@PFMFS_1
		pfm_encode_event@@PFMFS_1
		pfm_encode_regs@@PFMFS_1
		pfm_list_events@@PFMFS_1
	END
	[ "$(sed -n 's/^Libs: .*-l//p' "$BUILD"/meson-private/libpfmfs.pc)" = pfmfs ]
}

# words_of FILE: the functions of libpfmfs that it names, each once
words_of() {
	grep -oE 'pfm_(encode|list)_[a-z]+' "$1" | grep -v '_t$' | sort -u
}

@test "libpfmfs: its man page has all calls, in each name, and its example is C" {
	local root call

	root=$(realpath "$BATS_TEST_DIRNAME/../..")
	words_of "$root/tools/pfm/libpfmfs.map" >"$BATS_TEST_TMPDIR/calls"
	diff "$BATS_TEST_TMPDIR/calls" <(sed -n '/^\.Sh NAME/,/^\.Sh LIB/p' "$root/man/pfm_encode_event.3" >"$BATS_TEST_TMPDIR/name"
		words_of "$BATS_TEST_TMPDIR/name")
	while read -r call; do
		[ "$call" = pfm_encode_event ] || grep -qx '\.so man3/pfm_encode_event.3' "$root/man/$call.3"
		grep -q "'$call.3'" "$root/man/meson.build"
	done <"$BATS_TEST_TMPDIR/calls"
	grep -q "^ (symver)$(awk '/{/ { print $1; exit }' "$root/tools/pfm/libpfmfs.map") " "$root/debian/libperfmonfs1.symbols"
	{
		echo '#include <err.h>'
		sed -n '/^\.Sh EXAMPLES/,/^\.Ed/p' "$root/man/pfm_encode_event.3" | grep '^#'
		echo 'int main(void) {'
		sed -n '/^\.Bd/,/^\.Ed/p' "$root/man/pfm_encode_event.3" | grep -v '^[.#]'
		echo '}'
	} >"$BATS_TEST_TMPDIR/example.c"
	cat "$BATS_TEST_TMPDIR/example.c"
	cc -Wall -Werror -fsyntax-only -I "$root/include" "$BATS_TEST_TMPDIR/example.c"
}

@test "list WORD: by name and description" {
	serve --backend=sim:intel_v4
	pfm_run 0 list last-level
	is "$(printf '%-44s 0x4f2e  PMD 0-3\n    %s\n%-44s 0x412e  PMD 0-3\n    %s' cache-references \
		'references to the last-level cache' cache-misses 'misses of the last-level cache')"
	pfm_run 0 list CYCLES
	[ "$(grep -c PMD <<<"$output")" = 3 ]
	pfm_run 125 list no-such-word
	[[ $output == *no-such-word* ]]
	pfm_run 125 list a b
}

@test "event files: of this PMU, of another, of none" {
	serve --backend=sim:intel_v4
	printf '%s\n' 'pmu intel_arch_v4' 'L1D.REPLACEMENT 0x0151 2-3 lines brought into the L1 data cache' \
		>"$PFM_EVENTS/mine.events"
	printf '%s\n' 'cpu intel 6 151' 'ELSEWHERE 0x0152 * another CPU' >"$PFM_EVENTS/other.events"
	pfm_run 0 encode l1d:replacement
	is 0x430151
	pfm_run 0 list l1d
	is "$(printf '%-44s 0x0151  PMD 2-3\n    %s' L1D.REPLACEMENT 'lines brought into the L1 data cache')"
	pfm_run 0 encode -r l1d.replacement:u
	is "pmc2 0x410151"
	pfm_run 125 encode ELSEWHERE
	pfm_run 0 encode other::ELSEWHERE:k
	is 0x420152
	pfm_run 0 list other::
	[[ $output == other::ELSEWHERE* ]]
	# The first directory of the list decides.
	mkdir "$BATS_TEST_TMPDIR/first"
	echo 'L1D.REPLACEMENT 0x0251 0 another code' >"$BATS_TEST_TMPDIR/first/z.events"
	PFM_EVENTS=$BATS_TEST_TMPDIR/first:$PFM_EVENTS pfm_run 0 encode L1D.REPLACEMENT
	is 0x430251
}

@test "event files: what is wrong is told with its line" {
	serve --backend=sim
	printf '# first\nA 0x1 *\nB 0x1 5-2\n' >"$PFM_EVENTS/bad.events"
	pfm_run 125 encode instructions
	[[ $output == *"bad.events:3"* ]]
	mkdir "$PFM_EVENTS/dir.events"
	rm "$PFM_EVENTS/bad.events"
	pfm_run 125 encode instructions
	[[ $output == *"dir.events"* ]]
	# A directory that does not exist is empty.
	PFM_EVENTS=$BATS_TEST_TMPDIR/none pfm_run 0 encode instructions
}

# shipped_lists FILE MODEL: the PMU counts every event of it
shipped_lists() {
	serve --backend="sim:$2"
	pfm_run 0 list "$1::"
	is_as_many=$(grep -cE '^[A-Za-z]+[^ ]* +0x' "$PFM_EVENTS/$1.events")
	[ "$(grep -c "^$1::.* PMD [0-9]" <<<"$output")" = "$is_as_many" ]
	stop_daemon
	until_ok not_mounted
}

@test "event files that are installed: each PMU counts all events of its file" {
	PFM_EVENTS=$BATS_TEST_DIRNAME/../../tools/pfm/events/data
	shipped_lists p6 p6
	shipped_lists zen5 amd_v2
	shipped_lists amd_umc zen5
	shipped_lists alderlake_p intel_v5
	shipped_lists granite_rapids intel_v5
	shipped_lists alderlake_e intel_v5
	serve --backend=sim:amd_v2
	pfm_run 0 encode zen5::ls_dispatch.all:u zen5::op_cache_hit_miss.op_cache_miss
	is $'0x410729\n0x20043048f'
	pfm_run 125 encode alderlake_p::L1D.REPLACEMENT
	# A simulated CPU is of no model.
	pfm_run 125 encode ls_dispatch.all
}

@test "groups: those whose events the PMU has" {
	PFM_EVENTS=$BATS_TEST_DIRNAME/../../tools/pfm/events/data
	serve --backend=sim:p6
	pfm_run 0 list pmccount
	[ "$(grep -c '^    .* = ' <<<"$output")" = 10 ]
	[[ $output == "group pmccount"* && $output == *"    MFLOPS = flops / seconds / 1000000"* ]]
	pfm_run 0 list L1-hit-rate
	[[ $output == "group pmccount"* ]]
	stop_daemon
	until_ok not_mounted
	serve --backend=sim:intel_v4
	pfm_run 125 list pmccount
	pfm_run 0 list last-level
	[[ $output == *"group caches"* ]]
	# Broken files are told with their line.
	PFM_EVENTS=$BATS_TEST_TMPDIR
	printf 'group mine\nevent cycles\nmetric m = cyles\n' >"$PFM_EVENTS/mine.group"
	pfm_run 125 list
	[[ $output == *"mine.group:3: 'cyles'"* ]]
}

@test "the machine's events are not those of a simulated PMU" {
	pfm --version | grep -q '^libpfm4 [0-9]' || skip "pfm was built without libpfm4"
	# libpfm4 takes this machine for one.
	export LIBPFM_FORCE_PMU=skl
	serve --backend=sim:intel_v4
	pfm_run 125 encode INST_RETIRED:ANY_P
	pfm_run 0 encode skl::INST_RETIRED:ANY_P
	is 0x4300c0
	pfm_run 125 list UOPS_ISSUED
	pfm_run 0 list skl::UOPS_ISSUED
	pfm_run 0 list skl::INSTRUCTION_RETIRED
	[[ ${lines[0]} == "skl::INSTRUCTION_RETIRED  "*"0x00c0  PMD 0-3,16  libpfm4" ]]
	# It has no code without a unit mask.
	pfm_run 0 list skl::BR_INST_RETIRED
	[[ ${lines[0]} == "skl::BR_INST_RETIRED  "*" libpfm4" ]]
}

@test "what is unknown: the nearest names are offered" {
	serve --backend=sim
	pfm_run 125 encode instrucions
	[[ $output == *"is it instructions?"* ]]
	pfm_run 125 encode
	pfm_run 125 encode --nonsense
	pfm_run 125 decode
	pfm_run 125 encode instructions nonsense
	[[ $output != *0x* ]]
}
