# SPDX-License-Identifier: MIT
# metrics/, and metrics of contexts: what is exported, the rights, and what it costs.

load common

GID=54321
USER=0x4100c0

setup() {
	FORMATS=
	PIDS=()
	bench_setup
}

teardown() {
	[ ${#PIDS[@]} = 0 ] || kill "${PIDS[@]}"
	[ ${#PIDS[@]} = 0 ] || wait "${PIDS[@]}" || :
	bench_teardown || return
	[ -z "$FORMATS" ] || rm -rf "$FORMATS"
}

# samples [prom|lp [PATTERN]]: those of the node whose names are not the daemon's, as exposition.py prints
# them; with a pattern, those that it matches
samples() {
	sleep 0.02 # what has just been read is shown again
	bounded "${WHO[@]}" cat "$MNT/metrics/node.${1:-prom}" >"$BATS_TEST_TMPDIR/node"
	output=$("$BATS_TEST_DIRNAME/exposition.py" "${1:-prom}" "$BATS_TEST_TMPDIR/node") || {
		cat "$BATS_TEST_TMPDIR/node"
		return 1
	}
	output=$(grep -E "${2-.}" <<<"$output" | grep -v '^perfmonfs_\(daemon\|build\)_') || :
}

# own: those of the context C
own() {
	bounded cat "$C/metrics" >"$BATS_TEST_TMPDIR/own"
	output=$("$BATS_TEST_DIRNAME/exposition.py" prom "$BATS_TEST_TMPDIR/own")
}

# counting NAME CPU [LINES]: C is a context that counts there, and exports
counting() {
	new "$1"
	put ok "$C/pmc/0" $USER
	put ok "$C/metrics" "${3-pmd0 instructions \"Retired.\"}"
	ctl "load cpu=$2"
	ctl start
}

@test "a loaded context exports what its owner has named" {
	serve --backend=sim
	samples
	is ""
	new site
	own || :
	put ok "$C/pmc/0" $USER
	size=$(stat -c %s "$MNT/metrics/node.prom")
	put ok "$C/metrics" 'pmd0 instructions "Retired."\npmd1 busy_seconds/1000000000\n'
	# Its size, which readers may take for a limit, has room for them.
	[ "$(stat -c %s "$MNT/metrics/node.prom")" = $((size + 2 * 2048)) ]
	own
	is 'perfmonfs_busy_seconds_total{context="site"} 0.000000000
perfmonfs_instructions_total{context="site"} 0'
	samples
	is ""
	ctl "load cpu=3"
	ctl start
	put ok "$C/pmd/1" 1234567890
	advance 1000000
	ctl stop
	samples
	is 'perfmonfs_busy_seconds_total{context="site",cpu="3"} 1.234567890
perfmonfs_instructions_total{context="site",cpu="3"} 2000000'
	holds "$C/pmd/0" 2000000
	is 2000000
	own
	is 'perfmonfs_busy_seconds_total{context="site",cpu="3"} 1.234567890
perfmonfs_instructions_total{context="site",cpu="3"} 2000000'
	samples lp
	is 'perfmonfs_busy_seconds_total{context="site",cpu="3"} 1.234567890
perfmonfs_instructions_total{context="site",cpu="3"} 2000000'
	ctl unload
	samples
	is ""
	ctl "load cpu=0"
	put ok "$C/metrics" '\n'
	samples
	is ""
	own || :
	is ""
}

@test "the daemon's own counts are those of stats" {
	serve --backend=sim
	new a
	samples prom daemon
	"$BATS_TEST_DIRNAME/exposition.py" prom "$BATS_TEST_TMPDIR/node" |
		sed -n 's/^perfmonfs_daemon_\([a-z_]*\) .*/\1/p' | sed 's/_total$//' | sort >"$BATS_TEST_TMPDIR/exported"
	sed 's/ .*//' "$MNT/stats" | grep -v '^memory_bytes\|^thread_workers' | sort | diff - "$BATS_TEST_TMPDIR/exported"
	[ "$(awk '$1 == "perfmonfs_daemon_contexts" { print $2 }' "$BATS_TEST_TMPDIR/node")" = 1 ]
	grep -qx "perfmonfs_build_info{backend=\"sim\",pmu=\"$(cat "$MNT/pmu/name")\",version=\"[0-9.]*\"} 1" \
		"$BATS_TEST_TMPDIR/node"
}

@test "names that several contexts have make one family, and a name with all that a name may have is a label" {
	serve --backend=sim
	counting a 0
	counting '-@:,.+' 1 'pmd0 instructions "Other \\ words."'
	counting c 2 'pmd0 cycles'
	advance 500
	samples
	is 'perfmonfs_cycles_total{context="c",cpu="2"} 1000
perfmonfs_instructions_total{context="-@:,.+",cpu="1"} 1000
perfmonfs_instructions_total{context="a",cpu="0"} 1000'
	[ "$(grep -c 'HELP perfmonfs_instructions_total Retired[.]$' "$BATS_TEST_TMPDIR/node")" = 1 ]
	probe ok rmdir "$MNT/ctx/a"
	samples lp
	is 'perfmonfs_cycles_total{context="c",cpu="2"} 1000
perfmonfs_instructions_total{context="-@:,.+",cpu="1"} 1000'
	samples
	grep -qxF '# HELP perfmonfs_instructions_total Other \\ words.' "$BATS_TEST_TMPDIR/node"
}

@test "a lost count has no sample, but says that it is lost; that of its neighbour stays" {
	serve --backend=sim
	counting a 1 'pmd0 instructions\npmd1 cycles'
	advance 500
	put ok "$MNT/sim/poke" "1 0x186 0"
	probe EIO read "$C/pmd/0" 100 rdonly
	samples
	is 'perfmonfs_count_lost{context="a",cpu="1",metric="instructions"} 1
perfmonfs_cycles_total{context="a",cpu="1"} 0'
	own
	is 'perfmonfs_count_lost{context="a",cpu="1",metric="instructions"} 1
perfmonfs_cycles_total{context="a",cpu="1"} 0'
}

@test "event sets" {
	serve --backend=sim
	new a
	probe ok mkdir "$C/set/3"
	put ok "$C/pmc/0" $USER
	put ok "$C/set/3/pmd/0" 77
	put ok "$C/metrics" 'pmd0 first\nset=3 pmd0 second\nset=9 pmd0 third'
	ctl "load cpu=1"
	ctl start
	advance 500
	samples
	is 'perfmonfs_first_total{context="a",cpu="1"} 1000
perfmonfs_second_total{context="a",cpu="1"} 77'
}

@test "what cannot be named" {
	serve --backend=sim
	new a
	while read -r expected noun line; do
		put "$expected" "$C/metrics" "$line"
		sentence "$C/last_error" "$noun"
	done <<-'END'
		ENOENT pmd99 pmd99 x
		EINVAL name pmd0
		EINVAL quote pmd0 a "b"c"
		EINVAL divisor pmd0 a/7
		EINVAL two pmd0 a\npmd1 a
		ERANGE set set=65536 pmd0 a
	END
	own || :
	is ""
}

@test "everyone reads the node's; exporting is the owner's choice, and takes sys_group" {
	serve --backend=sim
	put ok "$MNT/config/sys_group" $GID
	C=$MNT/ctx/theirs
	as nobody probe ok mkdir "$C"
	as nobody put ok "$C/metrics" 'pmd0 theirs'
	as nobody sentence "$C/last_error" "note: "
	as $GID put ok "$C/ctl" "load cpu=0"
	as nobody samples
	is ""
	output=$(as nobody bounded cat "$C/metrics" | tail -1)
	as $GID put ok "$C/metrics" 'pmd0 theirs'
	holds "$C/last_error" ok
	as nobody samples
	is 'perfmonfs_theirs_total{context="theirs",cpu="0"} 0'
	new mine
	as nobody put EACCES "$C/metrics" 'pmd0 mine'
	as nobody probe EACCES open "$C/metrics" rdonly
	as nobody probe EACCES open "$MNT/metrics/node.prom" wronly
	probe EACCES open "$MNT/metrics/node.prom" wronly
}

@test "a user exports 1024 counts, not more" {
	serve --backend=sim
	put ok "$MNT/config/sys_group" $GID
	perl -e 'printf "set=%d pmd0 name%d\n", $_, $_ for 1 .. 64' >"$BATS_TEST_TMPDIR/lines"
	for n in $(seq 17); do
		C=$MNT/ctx/n$n
		as $GID probe ok mkdir "$C"
		output=$(bounded setpriv --reuid=$NOBODY --regid=$NOBODY --groups=$GID \
			fsprobe write "$C/metrics" <"$BATS_TEST_TMPDIR/lines")
		[ "$n" = 17 ] || is ok
	done
	is ENOSPC
	sentence "$C/last_error" 1024
	echo 'pmd0 x' >"$MNT/ctx/n1/metrics"
	output=$(bounded setpriv --reuid=$NOBODY --regid=$NOBODY --groups=$GID \
		fsprobe write "$C/metrics" <"$BATS_TEST_TMPDIR/lines")
	is ENOSPC
	probe ok rmdir "$MNT/ctx/n1"
	output=$(bounded setpriv --reuid=$NOBODY --regid=$NOBODY --groups=$GID \
		fsprobe write "$C/metrics" <"$BATS_TEST_TMPDIR/lines")
	is ok
}

# serve_stuck: contexts a, whose format takes 2 s for a sample, on CPU 1, and b on CPU 2
serve_stuck() {
	FORMATS=$(mktemp -d /run/perfmonfs-test.XXXXXX)
	install -m 644 "$BUILD/tests/fs/badformat.so" "$FORMATS"
	serve --backend=sim --clock=real --formats="$FORMATS"
	counting b 2
	new a
	put ok "$C/pmc/0" $USER
	put ok "$C/format" "bad good=1000000 ms=2000"
	put ok "$C/pmd/0" "-1000000 short=-1000000 long=-1000000 smpl=256"
	put ok "$C/metrics" 'pmd0 instructions'
	ctl "load cpu=1"
	ctl start
}

# late NAME: the scan has not waited for that context; the one on CPU 2 is there
late() {
	samples && [[ $output == *"perfmonfs_context_late{context=\"$1\",cpu=\"1\"} 1"* ]] &&
		[[ $output == *'perfmonfs_instructions_total{context="b",cpu="2"} '* ]] &&
		[[ $output != *"perfmonfs_instructions_total{context=\"$1\""* ]]
}

@test "a context that does not answer is left out, and named" {
	serve_stuck
	until_ok late a
	probe ok rmdir "$C"
	samples prom late
	is ""
}

@test "a context that is named while a scan waits for another one is not late" {
	serve_stuck
	# The first scan that finds it busy waits; later ones do not.
	run -0 bounded python3 - "$MNT" <<-'END'
		import sys, threading, time
		seen = ""
		def read():
		    global seen
		    while 'late{context="a"' not in seen:
		        with open(sys.argv[1] + "/metrics/node.prom") as f:
		            seen = f.read()
		reader = threading.Thread(target=read)
		reader.start()
		while reader.is_alive():
		    with open(sys.argv[1] + "/ctx/b/metrics", "w") as f:
		        f.write("pmd0 instructions")
		    time.sleep(0.005)
		assert 'late{context="b"' not in seen, seen
	END
}

@test "contexts on threads are exported on request alone, and not with gaps" {
	perfmonfs --check --backend=perf >"$BATS_TEST_TMPDIR/check" || :
	grep -q "ok *threads: " "$BATS_TEST_TMPDIR/check" || skip "no thread can be followed here"
	local pid

	serve --backend=perf
	sleep 1000 3>&- &
	pid=$!
	new a
	put ok "$C/pmc/0" page-faults:u
	put ok "$C/metrics" 'pmd0 faults'
	ctl "load tid=$pid"
	ctl start
	samples
	is ""
	put ok "$C/metrics" 'threads\npmd0 faults'
	samples
	[[ $output =~ ^perfmonfs_faults_total\{context=\"a\",tid=\"$pid\"\}\ [0-9]+$ ]]
	ctl unload
	new b
	put ok "$C/flags" gaps
	put ok "$C/pmc/0" page-faults:u
	put ok "$C/metrics" 'threads\npmd0 faults'
	ctl "load tid=$pid"
	samples
	is ""
	kill "$pid"
}

@test "times of the node's files are those of now" {
	serve --backend=sim
	local before after mtime

	before=$(date +%s)
	mtime=$(stat -c %Y "$MNT/metrics/node.prom")
	after=$(date +%s)
	[ "$before" -le "$mtime" ] && [ "$mtime" -le "$after" ]
}

# commands: that contexts have got so far
commands() {
	awk '$1 == "commands" { print $2 }' "$MNT/stats"
}

@test "reads share a scan, however many there are; one at an offset goes on in its own" {
	serve --backend=sim
	counting a 0
	cat >"$BATS_TEST_TMPDIR/hammer" <<-'END'
		import os, sys, threading, time
		os.setgroups([])
		os.setgid(65534)
		os.setuid(65534)
		end = time.monotonic() + 1
		def run():
		    global n
		    fd = os.open(sys.argv[1], os.O_RDONLY)
		    while time.monotonic() < end:
		        head = os.pread(fd, 100, 0)
		        rest = os.pread(fd, 1 << 20, 100)
		        assert head.startswith(b"# HELP") and rest.endswith(b"\n")
		        n += 1
		n = 0
		threads = [threading.Thread(target=run) for _ in range(8)]
		begin = time.monotonic()
		for t in threads: t.start()
		for t in threads: t.join()
		print(n, int(100 * (time.monotonic() - begin)) + 2)
	END
	local before n scans most

	before=$(commands)
	read -r n most < <(bounded python3 "$BATS_TEST_TMPDIR/hammer" "$MNT/metrics/node.prom")
	scans=$(($(commands) - before))
	echo "$n reads, $scans scans, at most $most"
	[ "$n" -gt 0 ] && [ "$scans" -gt 0 ] && [ "$scans" -le "$most" ]
}

@test "contexts come and go, and change their names, while others read" {
	serve --backend=sim
	local pids=() n pid

	for n in 1 2; do
		(for i in {1..60}; do
			cat "$MNT/metrics/node.prom" >"$BATS_TEST_TMPDIR/read$n.$i"
		done) 3>&- &
		pids+=($!)
	done
	(for _ in $(seq 200); do
		mkdir "$MNT/ctx/a" && echo 'pmd0 a' >"$MNT/ctx/a/metrics" && echo "load cpu=0" >"$MNT/ctx/a/ctl" &&
			cat "$MNT/ctx/a/metrics" >/dev/null && printf 'pmd0 a\npmd1 b\n' | cat >"$MNT/ctx/a/metrics" &&
			rmdir "$MNT/ctx/a" || exit 1
	done) 3>&- &
	pids+=($!)
	for pid in "${pids[@]}"; do
		wait "$pid"
	done
	"$BATS_TEST_DIRNAME/exposition.py" prom "$BATS_TEST_TMPDIR"/read* >/dev/null
	samples
	is ""
}

@test "the daemon ends while reads wait" {
	serve --backend=sim
	counting a 0
	(while cat "$MNT/metrics/node.prom" "$C/metrics"; do :; done >/dev/null 2>&1) 3>&- &
	sleep 0.2
	stop_daemon
	wait $! || :
}

@test "256 CPUs: all are there, and scrapes leave nothing charged" {
	serve --backend=sim --sim-cpus=256
	needs_files 1024
	for n in {0..255}; do
		mkdir "$MNT/ctx/c$n"
		for line in "pmc/0 $USER" "metrics pmd0 instructions" "ctl load cpu=$n" "ctl start"; do
			echo "${line#* }" >"$MNT/ctx/c$n/${line%% *}"
		done
	done
	advance 500
	samples
	[ "$(grep -c '^perfmonfs_instructions_total{context="c[0-9]*",cpu="[0-9]*"} 1000$' <<<"$output")" = 256 ]
	scrape() {
		for _ in $(seq "$1"); do
			cat "$MNT/metrics/node.prom" "$MNT/metrics/node.lp" >/dev/null
			sleep 0.01
		done
	}
	bytes() { awk '$1 == "memory_bytes" { print $2 }' "$MNT/stats"; }
	scrape 20
	local charged
	charged=$(bytes)
	scrape 100
	[ "$(bytes)" = "$charged" ]
}

@test "promtool finds nothing to mend" {
	command -v promtool >/dev/null || skip "promtool (Debian's package prometheus) is not installed"
	serve --backend=sim:skylake
	counting a 0 'pmd0 instructions "Retired."\npmd1 busy_seconds/1000000000'
	counting b 1 'pmd0 instructions'
	put ok "$MNT/sim/poke" "1 0x186 0"
	probe EIO read "$C/pmd/0" 100 rdonly
	bounded cat "$MNT/metrics/node.prom" >"$BATS_TEST_TMPDIR/node"
	grep -q count_lost "$BATS_TEST_TMPDIR/node"
	run -0 bounded promtool check metrics <"$BATS_TEST_TMPDIR/node"
	is ""
	put ok "$MNT/config/sys_group" any
	put ok "$MNT/config/energy_group" any
	advance 1000000000
	for file in readings energy; do
		bounded cat "$MNT/metrics/$file.prom" >"$BATS_TEST_TMPDIR/$file"
		[ -s "$BATS_TEST_TMPDIR/$file" ]
		run -0 bounded promtool check metrics <"$BATS_TEST_TMPDIR/$file"
		is ""
	done
}

# free_port: a TCP port that nothing listens on
free_port() {
	python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'
}

# fetch URL PATTERN: what the page has there
fetch() {
	python3 - "$1" <<-'END' 2>/dev/null | grep "$2"
		import sys, urllib.request
		opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
		print(opener.open(sys.argv[1], timeout=10).read().decode())
	END
}

# begin_exporter PORT DIRECTORY: a node_exporter that takes the text files there
begin_exporter() {
	setpriv --reuid=$NOBODY --regid=$NOBODY --clear-groups prometheus-node-exporter \
		--web.listen-address="127.0.0.1:$1" --collector.disable-defaults --collector.textfile \
		--collector.textfile.directory="$2" >"$BATS_TEST_TMPDIR/exporter" 2>&1 3>&- &
	PIDS+=($!)
}

@test "node_exporter and Prometheus scrape the mount, and a query gives what cat gives" {
	command -v prometheus prometheus-node-exporter >/dev/null ||
		skip "prometheus and prometheus-node-exporter (Debian's packages) are not installed"
	local exporter prometheus

	serve --backend=sim
	counting site 3
	advance 1000000
	exporter=$(free_port) prometheus=$(free_port)
	begin_exporter "$exporter" "$MNT/metrics"
	cat >"$BATS_TEST_TMPDIR/prometheus.yml" <<-END
		global: {scrape_interval: 1s}
		scrape_configs:
		  - job_name: node
		    static_configs: [{targets: ["127.0.0.1:$exporter"]}]
	END
	(cd "$BATS_TEST_TMPDIR" && exec prometheus --config.file=prometheus.yml --web.listen-address="127.0.0.1:$prometheus" \
		--storage.tsdb.path="$BATS_TEST_TMPDIR/tsdb") >"$BATS_TEST_TMPDIR/server" 2>&1 3>&- &
	PIDS+=($!)
	until_ok fetch "http://127.0.0.1:$exporter/metrics" \
		'^perfmonfs_instructions_total{context="site",cpu="3"} 2e+06$'
	fetch "http://127.0.0.1:$exporter/metrics" '^node_textfile_scrape_error 0$'
	until_ok fetch "http://127.0.0.1:$prometheus/api/v1/query?query=perfmonfs_instructions_total" \
		"\"cpu\":\"3\".*\"$(cat "$C/pmd/0")\"\]"
	advance 500
	until_ok fetch "http://127.0.0.1:$prometheus/api/v1/query?query=perfmonfs_instructions_total" \
		"\"cpu\":\"3\".*\"$(cat "$C/pmd/0")\"\]"
}

@test "a background context exports how often it has yielded" {
	serve --backend=sim
	new site && put ok "$C/flags" background
	put ok "$C/pmc/0" $USER && put ok "$C/metrics" 'pmd0 instructions'
	ctl "load cpu=1" && ctl start && advance 1000000
	samples
	counted=$output
	[[ $counted == 'perfmonfs_instructions_total{context="site",cpu="1"} '[1-9]* ]]
	new job && ctl "load cpu=1" && advance 1000000
	samples
	is 'perfmonfs_context_gaps_total{context="site",cpu="1"} 1
'"$counted"
	samples lp gaps
	is 'perfmonfs_context_gaps_total{context="site",cpu="1"} 1'
	ctl unload
	advance 1000000
	samples prom gaps
	is 'perfmonfs_context_gaps_total{context="site",cpu="1"} 1'
}
