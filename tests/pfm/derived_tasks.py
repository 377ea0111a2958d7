# SPDX-License-Identifier: MIT
"""Compares what pfm stat shows of threads, processes, commands and regions with what the tree has at the
end of the same run, when all threads sleep, and with times that are measured here.

    derived_tasks.py MNT FOLDER REGIONS

FOLDER has the group `mine`, whose metrics are the time and the rate of the event i.
"""
import json
import os
import subprocess
import sys
import time

MNT, FOLDER, REGIONS = sys.argv[1:]
# Lets the threads work, and copies the counts of all contexts when they have.
SCRIPT = r"""
echo go >"$1/go"; read -r _ <"$1/done"
for c in "$0"/ctx/* "$0"/ctx/*/children/*; do
	[ -d "$c" ] || continue
	sed -n 's/.*tid=\([0-9]*\).*/tid \1/p' "$c/state"; grep "^pmd[01] " "$c/regs"
done >"$1/copy"
cat "$0"/ctx/*/total >"$1/total"
cat "$0"/ctx/*/threads >"$1/threads"
"""
PAGES = (100, 1000, 30)


def stat(*options):
    out = os.path.join(FOLDER, "out")
    begin = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
    subprocess.run(["pfm", "stat", "--mount=" + MNT, "-j", "-o", out, *options], check=True,
                   env={**os.environ, "PFM_EVENTS": FOLDER})
    elapsed = time.clock_gettime_ns(time.CLOCK_MONOTONIC) - begin
    with open(out, encoding="utf-8") as f:
        return [json.loads(line) for line in f], elapsed


def same(got, wanted, what):
    assert got == wanted, "%s: %r, not %r" % (what, got, wanted)
    print("ok", what, got)


def check_rate(rows, what):
    """The time is shown with 9 digits, of which the rate may differ in the last one."""
    found = {r.get("event") or r.get("metric"): r["value"] for r in rows}
    rate = found["i"] / found["time"]
    assert found["time"] > 0 and abs(found["rate"] - rate) <= rate * 2e-8, (what, found)
    return found


class Program:
    """Threads that each touch pages when they are told to, and then sleep."""

    CODE = """
import mmap, sys, threading
def work(pages, go, over):
    go.wait()
    m = mmap.mmap(-1, pages * 4096)
    for i in range(pages):
        m[i * 4096] = 1
    over.wait()
    threading.Event().wait()
go, over = threading.Event(), threading.Barrier(%d)
for pages in %r:
    threading.Thread(target=work, args=(pages, go, over), daemon=True).start()
print("ready", flush=True)
for _ in range(2):
    open("%s/go").read()
    go.set()
    over.wait()
    open("%s/done", "w").write("done\\n")
    threading.Event().wait()
"""

    def __enter__(self):
        for name in "go", "done":
            path = os.path.join(FOLDER, name)
            if not os.path.exists(path):
                os.mkfifo(path)
        code = self.CODE % (len(PAGES) + 1, PAGES, FOLDER, FOLDER)
        self.process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE)
        self.process.stdout.readline()
        return str(self.process.pid)

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()


def copied():
    """{thread: its counts}"""
    threads = {}
    with open(os.path.join(FOLDER, "copy")) as f:
        for line in f:
            name, value = line.split()[:2]
            if name == "tid":
                counts = threads.setdefault(int(value), {})
            else:
                counts[name] = int(value)
    return threads


def each_thread():
    """{thread: its counts}, of a process that one context counts"""
    with open(os.path.join(FOLDER, "threads")) as f:
        lines = [line.split() for line in f]
    return {int(line[0][len("tid="):]): dict(zip(line[1::2], map(int, line[2::2]))) for line in lines}


def per_thread():
    with Program() as pid:
        rows, _ = stat("-p", pid, "--per-thread", "-e", "page-faults:u,minor-faults:u", "--", "sh", "-c", SCRIPT,
                       MNT, FOLDER)
    threads = each_thread()
    assert len(threads) == len(PAGES) + 1, threads
    for event, pmd in ("page-faults:u", "pmd0"), ("minor-faults:u", "pmd1"):
        shown = {r["tid"]: r["value"] for r in rows if r.get("event") == event}
        same(shown, {tid: counts[pmd] for tid, counts in threads.items()}, "--per-thread: " + event)
        assert sorted(shown.values())[-1] >= max(PAGES)


def process():
    """Also the sum of threads that are counted one by one, and rates of each."""
    with Program() as pid:
        rows, _ = stat("-p", pid, "-e", "page-faults:u", "--", "sh", "-c", SCRIPT, MNT, FOLDER)
    with open(os.path.join(FOLDER, "total")) as f:
        total = dict(line.split()[:2] for line in f)
    same([r["value"] for r in rows if "event" in r], [int(total["pmd0"])], "-p: page-faults:u")
    assert int(total["pmd0"]) >= sum(PAGES)
    with Program() as pid:
        rows, _ = stat("-p", pid, "--per-thread", "-g", "mine", "--", "sh", "-c", SCRIPT, MNT, FOLDER)
    for tid in each_thread():
        check_rate([r for r in rows if r["tid"] == tid], "--per-thread: metrics")


def command():
    """Elapsed: at least what the command measures, and at most what is measured around pfm."""
    code = ("import time\nt = time.CLOCK_MONOTONIC\na = time.clock_gettime_ns(t)\nwhile time.process_time() < 0.1:\n"
            "    pass\nprint(time.clock_gettime_ns(t) - a, file=open(%r, 'w'))" % os.path.join(FOLDER, "inner"))
    rows, outer = stat("-g", "mine", sys.executable, "-c", code)
    found = check_rate(rows, "command")
    with open(os.path.join(FOLDER, "inner")) as f:
        inner = int(f.read())
    times = [int(round(found[name] * 10**9)) for name in ("elapsed", "time")]
    assert all(inner <= ns <= outer for ns in times), (inner, times, outer)
    assert 0.09 <= found["user"] + found["system"] <= outer / 10**9 * os.cpu_count()


def children():
    """A command's sum is that of its processes, of which each touches its own pages."""
    touch = "import mmap\nm = mmap.mmap(-1, %d * 4096)\nfor i in range(%d):\n    m[i * 4096] = 1\n"
    one = [sys.executable, "-S", "-c"]
    alone = []
    for pages in 0, 5000:
        rows, _ = stat("-e", "page-faults:u", *one, touch % (pages + 1, pages + 1))
        alone.append(rows[0]["value"])
    rows, _ = stat("-e", "page-faults:u", "sh", "-c", '"$@" & "$@" & wait', "sh", *one, touch % (5001, 5001))
    # Two of them, and the shell; each start differs a little.
    assert 2 * 5000 <= 2 * (alone[1] - 500) <= rows[0]["value"] <= 2 * (alone[1] + 500) + 1000, (alone, rows[0])


def regions():
    rows, _ = stat("--regions", "-g", "mine", REGIONS, "1000")
    names = {r["region"] for r in rows if r["region"]}
    assert names == {"all", "part"}, names
    for name in names:
        mine = [r for r in rows if r["region"] == name]
        found = check_rate(mine, "region " + name)
        same(found["time"], found["elapsed"], "region %s: time" % name)


for case in per_thread, process, command, children, regions:
    case()
