# SPDX-License-Identifier: MIT
# pfm report --html: its data, without a browser, and what a browser makes of it after clicks. Its size is in
# tests/unit/test_pfm_samples.c. pfm report on a terminal: its keys.

load common

setup() {
	bench_setup
	PATH="$BUILD/tools/pfm:$PATH"
	unset PERFMONFS
	cd "$BATS_TEST_TMPDIR"
	export PERFMONFS=$MNT
}

teardown() {
	bench_teardown
}

# A daemon whose samples name threads
serve_sampling() {
	"$BUILD/daemon/perfmonfs" --check --backend=perf | grep -q "samples name the running thread" ||
		skip "the kernel does not let us know who is running"
	serve --backend=perf
}

# record_two: the file recorded, of a program whose threads left and right are in functions of these names until they
# have used as much CPU time; a function of the first has a name that is not one of HTML
record_two() {
	serve_sampling
	cat >two.c <<-'END'
		#include <pthread.h>
		#include <time.h>
		static volatile long sink;
		void hostile(void) __asm__("\"</script><img src=x onerror=alert(1)>\"");
		void __attribute__((noinline)) hostile(void) { for (long i = 0; i < 100000; i++) sink += i; }
		static void __attribute__((noinline)) left(void)
		{
			for (long i = 0; i < 300000; i++)
				sink += i; /* left's line */
		}
		static void __attribute__((noinline)) right(void) { for (long i = 0; i < 100000; i++) sink += i; }
		static int on(void)
		{
			struct timespec t;
			return clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t) == 0 && t.tv_sec * 1000 + t.tv_nsec / 1000000 < 500;
		}
		static void *lefts(void *a)
		{
			pthread_setname_np(pthread_self(), "left");
			while (on()) { left(); hostile(); }
			return a;
		}
		static void *rights(void *a)
		{
			pthread_setname_np(pthread_self(), "right");
			while (on()) right();
			return a;
		}
		int main(void)
		{
			pthread_t t;
			pthread_create(&t, 0, lefts, 0);
			rights(0);
			return pthread_join(t, 0);
		}
	END
	gcc -D_GNU_SOURCE -g -O1 -o two two.c -pthread
	pfm record -o recorded -F 1000 "$PWD/two"
}

@test "pfm report --html: totals and functions are those of pfm report" {
	record_two
	pfm report recorded --html=page.html
	python3 "$BATS_TEST_DIRNAME/page.py" page.html >page
	pfm report recorded --sort=function >flat
	# Addresses in no file are one function of a page.
	diff <(sort page) <(awk '
		!/^#/ {
			n = $2
			$1 = $2 = ""
			sub(/^ */, "")
			all[/^0x/ && length() > 12 ? "[unknown]" : $0] += n
		}
		END { for (f in all) print all[f], f }' flat | sort)
	[ "$(awk '{ n += $1 } END { print n }' page)" = "$(sed -nE 's/^# ([0-9]+) overflows in .*/\1/p' flat)" ]
	grep -qF ' </script><img src=x onerror=alert(1)>' page
	fails grep -q '</script><img' page.html
	grep -q "left's line" page.html
	# The same recording gives the same page.
	pfm report recorded --html=- | cmp - page.html
	run -125 pfm report recorded --html=/dev/full
	[ -n "$output" ]
}

# shown SCRIPT: the page after a script, as text
shown() {
	sed '$d' page.html >clicked.html
	printf '<script>%s</script></body></html>\n' "$1" >>clicked.html
	timeout 120 chromium --headless --no-sandbox --disable-gpu --user-data-dir="$PWD/chromium" \
		--virtual-time-budget=5000 --dump-dom "file://$PWD/clicked.html" 2>chromium.log
}

@test "pfm report --html: a browser shows what is selected" {
	command -v chromium >/dev/null || skip "needs chromium"
	record_two
	pfm report recorded --html=page.html
	shown '' >all
	if [ ! -s all ]; then
		cat chromium.log
		skip "chromium does not run here"
	fi
	fails grep -q '<img' all
	grep -q '<td class="code" title="left">left</td>' all
	grep -q '<td class="code" title="right">right</td>' all
	shown '[...document.querySelectorAll("#functions tr")].find(row=>row.children[2].title==="left").click()' >left
	grep -q '<tr class="chosen">' left
	grep -q '<span>[0-9.]* %</span><span>[0-9]*</span> *sink += i; /[*] left.s line' left
	# One thread
	shown '[...document.querySelectorAll(".lane button")].find(b=>b.textContent.startsWith("right ")).click()' >right
	fails grep -q '<td class="code" title="left">' right
	grep -q '<td class="code" title="right">right</td>' right
	grep -qE '<span id="selection">[45][0-9]\.[0-9]+ % of all overflows: ' right
	# By the mouse: a part of the time, in all lanes
	# shellcheck disable=SC2016
	shown 'const c=[...document.querySelectorAll("canvas")],a=c[0].getBoundingClientRect(),b=c.pop().getBoundingClientRect();
		const send=(to,type,x,y)=>to.dispatchEvent(new PointerEvent(type,{clientX:x,clientY:y,bubbles:true}));
		send(c[0],"pointerdown",a.left+a.width/4,a.top+2);send(window,"pointermove",a.left+a.width/2,b.top+2);
		send(window,"pointerup",a.left+a.width/2,b.top+2);' >part
	share=$(awk '{ n[FILENAME] += $1 } END { printf "%.2f", 100 * n[ARGV[1]] / n[ARGV[2]] }' \
		<(python3 "$BATS_TEST_DIRNAME/page.py" page.html 1024 2048) <(python3 "$BATS_TEST_DIRNAME/page.py" page.html))
	grep -qF "<span id=\"selection\">$share % of all overflows: " part
	# Callers, and a function's own callers
	shown 'document.getElementById("up").click()' >up
	grep -qE '<div class="frame[^>]*data-i="1"[^>]*>(left|right)</div>' up
	shown 'const f=document.getElementById("filter");f.value="RIGHT";f.dispatchEvent(new Event("input"))' >found
	fails grep -q '<td class="code" title="left">' found
	grep -qE '<span id="found">1 function, self [45][0-9]\.[0-9]+ %' found
}

# record_events: the file recorded, of a program that takes time in busy() and page faults in grow()
record_events() {
	serve_sampling
	cat >events.c <<-'END'
		#include <sys/mman.h>
		#include <time.h>
		static volatile long sink;
		static void __attribute__((noinline)) busy(void) { for (long i = 0; i < 3000000; i++) sink += i; /* busy's line */ }
		static void __attribute__((noinline)) grow(void)
		{
			char *p = mmap(0, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
			madvise(p, 1 << 20, MADV_NOHUGEPAGE);
			for (long i = 0; i < 1 << 20; i += 4096)
				p[i] = 1; /* grow's line */
			munmap(p, 1 << 20);
		}
		int main(void)
		{
			while (clock() < CLOCKS_PER_SEC / 2) { busy(); grow(); }
			return 0;
		}
	END
	gcc -D_GNU_SOURCE -g -O1 -o events events.c
	pfm record -o recorded -e task-clock -F 1000 -e page-faults -c 1 "$PWD/events"
}

@test "pfm report --html: each of several events" {
	record_events
	pfm report recorded --html=page.html
	pfm report recorded -e page-faults --html=faults.html
	for event in task-clock page-faults; do
		[ "$(python3 "$BATS_TEST_DIRNAME/page.py" page.html $event | awk '{ n += $1 } END { print n }')" = \
			"$(pfm report recorded -e $event | sed -nE 's/^# ([0-9]+) overflows in .*/\1/p')" ]
	done
	python3 "$BATS_TEST_DIRNAME/page.py" page.html page-faults | cmp - <(python3 "$BATS_TEST_DIRNAME/page.py" faults.html)
	command -v chromium >/dev/null || skip "needs chromium"
	shown '' >first
	if [ ! -s first ]; then
		cat chromium.log
		skip "chromium does not run here"
	fi
	# A zoom, a chosen function and a selection of the first event end with it.
	shown 'document.querySelector("#functions tr").click();document.querySelector(".lane button").click();
		[...document.querySelectorAll(".frame")].pop().click();
		const e=document.getElementById("event");e.value=1;e.dispatchEvent(new Event("change"))' >second
	cp faults.html page.html
	shown '' >faults
	for page in first second; do [ "$(grep -o '<div class="lane">' $page | wc -l)" = 1 ]; done
	grep -q '<title>pfm: task-clock</title>' first
	grep -q '<title>pfm: page-faults</title>' second
	grep -q 'sink += i; /[*] busy.s line' first
	grep -q 'p\[i\] = 1; /[*] grow.s line' second
	[ "$(grep -o '<td class="code" title="[a-z]*">' first | head -n 1)" = '<td class="code" title="busy">' ]
	[ "$(grep -o '<td class="code" title="[a-z]*">' second | head -n 1)" = '<td class="code" title="grow">' ]
	# The event is all that differs from a page that begins with it.
	for page in second faults; do
		sed -E '/^<script/,$d; s/ (hidden|class)=""//g; s/(id="range")[^>]*/\1/' $page >$page.body
	done
	cmp second.body faults.body
}

# record_inliner OPTION...: the file recorded, with frames, of a program that calls outer(), into which middle() and
# inner() are inlined
record_inliner() {
	serve_sampling
	cp "$BATS_TEST_DIRNAME/../fs/inliner.c" .
	gcc -g -O1 -fno-omit-frame-pointer -I"$BATS_TEST_DIRNAME/../.." -o inliner inliner.c
	pfm record -g -F 1000 -o recorded "$@" sh -c 'ulimit -S -c 0; ulimit -S -t 1; exec ./inliner' || [ $? = 152 ]
}

# terminal LINES COLUMNS COMMAND...: see terminal.py
terminal() {
	"$BATS_TEST_DIRNAME/terminal.py" "$@"
}

@test "a terminal: functions, trees that unfold, search, source" {
	record_inliner
	terminal 24 80 pfm report recorded <<-'END'
		shows ^task-clock: [0-9]+ overflows, functions$
		shows ^> +[34][0-9]\.[0-9]{2}% .*(inner|outer)  \(inliner\)$
		key /MIDDLE\n
		shows ^> .* middle  \(inliner\)$
		key \t
		shows , callees below their callers$
		shows ^> +[0-9.]+% +0\.00%  \+ inliner$
		lacks middle
		key \x1b[C
		shows   - inliner$
		shows - outer$
		key /inner\r
		shows ^> .*  [ +] inner \[i\]$
		shows   - middle \[i\]$
		key h
		shows ^> .*  \+ middle \[i\]$
		lacks inner \[i\]
		key \t
		shows , callers below what they call$
		key g/nothing of this kind\n
		shows ^not found: nothing of this kind$
		key /inner\n
		shows ^> .*  \+ inner \[i\]$
		key l
		shows   - middle \[i\]$
		key s
		shows , source$
		key /line */\n
		shows ^> .*WORK\(4 \* unit\); /\* inner's line \*/$
		key q
		shows , callers below what they call$
		size 3 20
		shows \Atask-clock: [0-9]+ o[a-z]*\n
		key q
		ends 0
	END
}

@test "a terminal: several events, and its end by Ctrl-C and by a signal" {
	record_inliner -e task-clock,page-faults
	terminal 24 80 pfm report recorded <<-'END'
		shows ^task-clock: .*functions$
		key e
		shows ^page-faults: .*functions$
		key i
		shows , about the recording$
		shows ^.# event: page-faults
		key \x1b
		shows functions$
		key \tGkjbshle
		shows ^task-clock: 
		key \003
		ends 0
	END
	terminal 24 80 pfm report -e page-faults recorded <<<$'shows ^page-faults: \nkill SIGTERM\nends 0'
}

@test "text instead of a browser: --stdio, --sort, --tree, --lines, --percent-limit, a pipe" {
	serve --backend=sim
	pfm record -o recorded -C 1 -e instructions:u -c 1000000 sh -c "echo 100000000 >$MNT/sim/advance"
	pfm report recorded | grep -q '^# event: instructions:u'
	for args in --stdio --sort=command --tree --lines --percent-limit=1; do
		script -qec "pfm report $args recorded" /dev/null </dev/null >shown
		grep -q '^# event: instructions:u' shown
		fails grep -q $'\033' shown
	done
}
