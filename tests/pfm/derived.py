# SPDX-License-Identifier: MIT
"""Compares all that pfm stat, top and report derive with values that are computed here, as fractions,
from the counts and times that the tree has at the end of the same run, or that the recording has.

    derived.py MNT FOLDER

A command under pfm lets the model's time pass, and copies the registers and times of all contexts before
it ends; from then on, no time passes. Where time goes on passing at any moment, also between two system
calls of pfm, rates have to be those of the model.
"""
import itertools
import json
import math
import os
import re
import statistics
import struct
import subprocess
import sys
import threading
from fractions import Fraction

MNT, FOLDER = sys.argv[1:]
NS = 10**9
EVENTS = "instructions:u,cycles:u,branches:u,branch-misses:u,cache-references:u,cache-misses:u"
# The PMD of each event, by the selector that its PMC has
CODES = {"branches:u": 0x4100c4, "branch-misses:u": 0x4100c5, "cache-references:u": 0x414f2e,
         "cache-misses:u": 0x41412e, "r00c4:k": 0x4200c4, "r00c5:k": 0x4200c5, "b": 0x4100c4}
FIXED = {"instructions:u": "pmd16", "cycles:u": "pmd17", "i": "pmd16"}
RATIOS = {"instructions:u": ("cycles:u", 1, "ipc"), "branch-misses:u": ("branches:u", 100, "branch-miss-rate"),
          "cache-misses:u": ("cache-references:u", 100, "cache-miss-rate")}
# Copies the registers of each context into a folder of this run; a run's time is its number's.
SCRIPT = r"""
n=$(ls "$1" | wc -l); mkdir "$1/$n"
for ns in $2; do [ "$ns" != N ] || ns=$(((n + 1) * 1000000)); echo "$ns" >"$0/sim/advance"; eval "$3"; done
for c in "$0"/ctx/*; do
	read -r _ cpu _ <"$c/state"; gaps=$(sed -n 's/.*gaps=//p' "$c/state")
	for s in "$c"/set/*; do
		f="$1/$n/${cpu#cpu=}.${s##*/}"; cat "$s/regs" >"$f"; echo "gaps ${gaps:-0}" >>"$f"
		echo "active $(cat "$s/active_ns")" >>"$f"
	done
done
"""


# Copies them in the middle of a run, into a folder that is named after the last step of the time.
COPY = r"""
mkdir "$1.$ns"
for s in "$0"/ctx/*/set/*; do
	{ cat "$s/regs"; echo "active $(cat "$s/active_ns")"; } >"$1.$ns/1.${s##*/}"
done
sleep 0.05
"""


class Raw:
    """The sets of a context, as it was: {CPU: [{register: number}]}."""

    def __init__(self, folder, since=None):
        self.cpus = {}
        for name in sorted(os.listdir(folder)):
            with open(os.path.join(folder, name)) as f:
                words = [line.split() for line in f]
            self.cpus.setdefault(int(name.split(".")[0]), []).append({w[0]: int(w[1], 0) for w in words})
        for cpu, sets in since.cpus.items() if since else ():
            for now, before in zip(self.cpus[cpu], sets):
                for name in now:
                    now[name] -= 0 if name.startswith("pmc") else before[name]

    def set_of(self, sets, event):
        """The set that counts it, and its PMD there."""
        for regs in sets:
            pmd = FIXED.get(event)
            if event in CODES:
                pmc = [r for r, v in regs.items() if r.startswith("pmc") and v == CODES[event]]
                pmd = "pmd" + pmc[0][3:] if pmc else None
            if pmd and (event in CODES or regs["pmc16"]):
                return regs, pmd
        raise KeyError(event)

    def has(self, event):
        try:
            return bool(self.set_of(next(iter(self.cpus.values())), event))
        except KeyError:
            return False

    def count(self, event, cpus=None):
        """(estimate of the count, share of its set, mean time of a CPU)"""
        cpus = sorted(cpus if cpus is not None else self.cpus)
        found = [self.set_of(self.cpus[c], event) for c in cpus]
        whole = sum(s["active"] for c in cpus for s in self.cpus[c])
        active = sum(regs["active"] for regs, _ in found)
        value = Fraction(sum(regs[pmd] for regs, pmd in found) * whole, active)
        return math.floor(value + Fraction(1, 2)), Fraction(active, whole), Fraction(whole, len(cpus))


def pfm(*options, advance="1000000 2000000", wait=":", command=None, place=("-C", "1")):
    """(JSON rows or the text, the raw counts of each run)"""
    folder = os.path.join(FOLDER, "run%d" % len(os.listdir(FOLDER)))
    os.mkdir(folder)
    out = folder + ".out"
    argv = command or ["--", "sh", "-c", SCRIPT, MNT, folder, advance, wait]
    subprocess.run(["pfm", "stat", "--mount=" + MNT, "-o", out, *place, *options, *argv], check=True,
                   stdin=subprocess.DEVNULL)
    with open(out) as f:
        text = f.read()
    rows = [json.loads(line) for line in text.splitlines()] if "-j" in options else text
    return rows, [Raw(os.path.join(folder, str(n))) for n in range(len(os.listdir(folder)))]


def same(got, wanted, what):
    """To the last digit that is shown: 9 of a quotient, all of a count."""
    shown = float("%.9g" % float(wanted)) if isinstance(wanted, Fraction) else wanted
    assert got == shown, "%s: %r, not %r" % (what, got, shown)
    print("ok", what, got)


def value_of(rows, kind, name, **where):
    found = [r for r in rows if r.get(kind) == name and all(r[k] == v for k, v in where.items())]
    assert len(found) == 1, (kind, name, where, found)
    return found[0]


def text_of(text, name, label=""):
    """(number, level and share, number behind #, its unit) of a line"""
    line = re.search(r"^%s *([\d,.]+) +(?:ms )?%s +(\w*(?: +\[\d+ %%\])?) *(?:# ([\d,.]+) (.*))?$" %
                     (label, re.escape(name)), text, re.M)
    assert line, (name, text)
    return [v and v.strip() for v in line.groups()]


def grouped(number, decimals=0):
    return "{:,.{}f}".format(float(number), decimals)


def check_counts(rows, raw, events, what, cpus=None, **where):
    for event in events:
        value, share, _ = raw.count(event, cpus)
        row = value_of(rows, "event", event, **where)
        same(row["value"], value, "%s: %s" % (what, event))
        assert row["active"] == float("%.4f" % share), row
        if event in RATIOS and raw.has(RATIOS[event][0]):
            base, scale, name = RATIOS[event]
            ratio = Fraction(scale * value, raw.count(base, cpus)[0])
            same(value_of(rows, "metric", name, **where)["value"], ratio, "%s: %s" % (what, name))


def check_text(text, raw, events, what, cpus=None, label=""):
    for event in events:
        value, share, ns = raw.count(event, cpus)
        number, level, derived, unit = text_of(text, event, label)
        same(number, grouped(value), "%s: %s" % (what, event))
        assert level == (event[-1] if share == 1 else "%s  [%.0f %%]" % (event[-1], 100 * share)), (level, share)
        if event in RATIOS:
            base, scale, _ = RATIOS[event]
            wanted = grouped(Fraction(scale * value, raw.count(base, cpus)[0]), 2)
        else:
            wanted = grouped(Fraction(value * NS, ns))
        # A line that is full leaves this away.
        assert derived or len(label) + len(number) > 30 or unit is None, (event, text)
        if derived:
            same(derived, wanted, "%s: %s %s" % (what, event, unit))


def counts():
    names = EVENTS.split(",")
    rows, (raw,) = pfm("-j", "-e", EVENTS)
    check_counts(rows, raw, names, "one CPU")
    text, (raw,) = pfm("-e", EVENTS)
    check_text(text, raw, names, "one CPU, text")
    text, (raw,) = pfm("-e", EVENTS, place=("-C", "0,1"))
    check_text(text, raw, names, "sum of CPUs, text")
    rows, (raw,) = pfm("-j", "-e", EVENTS, place=("-C", "0,1"))
    check_counts(rows, raw, names, "sum of CPUs")
    rows, (raw,) = pfm("-j", "-e", EVENTS, "--no-aggr", place=("-C", "0,1"))
    text, (other,) = pfm("-e", EVENTS, "--no-aggr", place=("-C", "0,1"))
    for cpu in 0, 1:
        check_counts(rows, raw, names, "CPU%d" % cpu, [cpu], cpu=cpu)
        check_text(text, other, names[2:3], "CPU%d, text" % cpu, [cpu], "CPU%d" % cpu)


def topology(cpu, what):
    with open("/sys/devices/system/cpu/cpu%d/topology/%s" % (cpu, what)) as f:
        return int(re.match(r"\d+", f.read()).group())


def places():
    for option in "--per-core", "--per-socket":
        rows, (raw,) = pfm("-j", "-e", EVENTS, option, place=("-C", "0,1"))
        groups = {}
        for cpu in raw.cpus:
            core = topology(cpu, "thread_siblings_list") if option == "--per-core" else None
            groups.setdefault((topology(cpu, "physical_package_id"), core), []).append(cpu)
        for (socket, core), cpus in groups.items():
            check_counts([r for r in rows if "core" in r and r.get("metric") not in ("elapsed", "user", "system")],
                         raw, EVENTS.split(","), "%s %s %s" % (option, socket, core), cpus, socket=socket, core=core)


def sets():
    events = "branches:u,branch-misses:u,cache-references:u,cache-misses:u,r00c4:k,r00c5:k"
    rows, (raw,) = pfm("-j", "--mux", "-e", events, advance="10000000 1234567")
    check_counts(rows, raw, events.split(","), "--mux")
    text, (raw,) = pfm("--mux", "-e", events, advance="10000000 1234567", place=("-C", "0,1"))
    check_text(text, raw, events.split(","), "--mux, text")
    # The second run takes longer. Each event has the rate of its own run.
    text, raws = pfm("--rerun", "-e", events, advance="N")
    assert len(raws) == 2
    for raw in raws:
        check_text(text, raw, [e for e in events.split(",") if raw.has(e)], "--rerun, text")


def groups_of_runs():
    """The second run takes longer: the time of a metric is that of the run that counted its event."""
    rows, raws = pfm("-j", "--rerun", "-g", "five", advance="N")
    assert len(raws) == 2
    codes = ("branches:u", "branch-misses:u", "cache-references:u", "cache-misses:u", "r00c4:k")
    for i, event in enumerate(codes):
        found = [raw.count(event) for raw in raws if raw.has(event)]
        assert len(found) == 1
        value, _, ns = found[0]
        same(value_of(rows, "metric", "rate%d" % i)["value"], Fraction(value * NS, ns), "--rerun: rate of " + event)


def groups():
    rows, (raw,) = pfm("-j", "-g", "mine", place=("-C", "0,1"))
    (i, _, ns), (b, _, _) = raw.count("i"), raw.count("b")
    wanted = {"rate": Fraction(i * NS, ns), "share": Fraction(100 * b, i), "less": Fraction(b - i)}
    for name, value in wanted.items():
        same(value_of(rows, "metric", name)["value"], value, "group: " + name)


def runs():
    rows, raws = pfm("-j", "-r", "12", "-g", "mine", "-e", "branch-misses:u", advance="N")
    values = [raw.count("i")[0] for raw in raws]
    less = [raw.count("b")[0] - raw.count("i")[0] for raw in raws]
    for name, v in ("i", values), ("less", less):
        row = value_of(rows, "statistics", name)
        for field, wanted in (("mean", statistics.mean(v)), ("median", statistics.median(v)), ("min", min(v)),
                              ("max", max(v)), ("deviation", statistics.stdev(v)), ("outliers", 0), ("runs", 12)):
            same(row[field], float("%.15g" % wanted), "-r: %s of %s" % (field, name))
    # Means and medians that are no integers, of few runs
    text, raws = pfm("-r", "3", "-e", "branch-misses:u", advance="N 125")
    v = [raw.count("branch-misses:u")[0] for raw in raws]
    mean = statistics.mean([Fraction(x) for x in v])
    line = re.search(r"([\d,.]+) +branch-misses:u +u +\+- *([\d.]+) %\n +median ([\d,.]+), ([\d,.]+) to ([\d,.]+)\n", text)
    same(line.groups(), (grouped(mean, 0 if mean.denominator == 1 else 2),
                         "%.2f" % (100 * statistics.stdev(v) / float(mean)), grouped(statistics.median(v)),
                         grouped(min(v)), grouped(max(v))), "-r, text")
    rows, raws = pfm("-j", "-r", "12", "-e", "branch-misses:u", advance="N", wait='[ $n != 7 ] || echo 99000000 >"$0/sim/advance"')
    assert value_of(rows, "statistics", "branch-misses:u")["outliers"] == 1


def comparison():
    folder = os.path.join(FOLDER, "compared")
    os.mkdir(folder)
    lines = ["n=$(ls %s | wc -l); : >%s/$n; echo $(((n / 2 * %d + %d) * 1000)) >%s/sim/advance"
             % (folder, folder, step, first, MNT) for step, first in ((1, 1000), (3, 1004))]
    rows, _ = pfm("-j", "-r", "5", "-g", "mine", "-e", "instructions:u", "--compare", command=lines)
    a, b = ([2 * (n * step + first) * 1000 for n in range(5)] for step, first in ((1, 1000), (3, 1004)))
    row = value_of(rows, "comparison", "instructions:u")
    same((row["mean_a"], row["mean_b"]), (statistics.mean(a), statistics.mean(b)), "--compare: means")
    same((row["deviation_a"], row["deviation_b"]), tuple(float("%.15g" % statistics.stdev(v)) for v in (a, b)),
         "--compare: deviations")
    # The group has a branch in five instructions.
    less = value_of(rows, "comparison", "less")
    same((less["mean_a"], less["mean_b"]), tuple(float(-statistics.mean(v) * 4 / 5) for v in (a, b)),
         "--compare: means of a metric")
    # Of a negative number, too, a change below 0 is a decrease.
    same((less["change_percent"], less["p"]), (-row["change_percent"], row["p"]), "--compare: change of a metric")
    change = Fraction(100 * (sum(b) - sum(a)), sum(a))
    same(row["change_percent"], change, "--compare: change")
    ranks = [2 * sum(y < x for y in a + b) + (a + b).count(x) + 1 for x in a + b]
    expected = Fraction(5 * sum(ranks), 10)
    far = abs(sum(ranks[:5]) - expected)
    all_of = list(itertools.combinations(ranks, 5))
    same(row["p"], Fraction(sum(abs(sum(c) - expected) >= far for c in all_of), len(all_of)), "--compare: p")


def background():
    rows, (raw,) = pfm("-j", "--background", "-e", "branches:u", place=("-C", "0,1"))
    check_counts(rows, raw, ["branches:u"], "--background")
    sets = [s for c in raw.cpus.values() for s in c]
    same(value_of(rows, "metric", "counted")["value"], Fraction(sum(s["active"] for s in sets), NS), "counted")
    same(value_of(rows, "metric", "gaps")["value"], sum(s["gaps"] for s in sets), "gaps")


def intervals():
    rows, (raw,) = pfm("-j", "-I", "10", "-e", EVENTS, advance="1000000 3000000 7000000", wait="sleep 0.02")
    for event in EVENTS.split(","):
        mine = [r["value"] for r in rows if r.get("event") == event]
        assert len(mine) > 1
        same(sum(mine), raw.count(event)[0], "sum of intervals: " + event)


def each_interval():
    """Time passes in steps, each at one moment: an interval has one of them, or several, or nothing."""
    steps = (12345678, 23456789, 34567890)
    n = len(os.listdir(FOLDER))
    rows, _ = pfm("-j", "-I", "10", "-e", EVENTS, advance="%d %d %d" % steps, wait=COPY)
    copies = [os.path.join(FOLDER, "run%d.%d" % (n, step)) for step in steps]
    by_time = {}
    for row in rows:
        if row.get("metric") not in ("elapsed", "user", "system"):
            by_time.setdefault(row["time_ns"], []).append(row)
    before, names = None, EVENTS.split(",")
    for interval in by_time.values():
        value = value_of(interval, "event", names[0])["value"]
        while value:
            raw = Raw(copies.pop(0), before)
            if raw.count(names[0])[0] == value:
                check_counts(interval, raw, names, "step until %s" % len(copies))
                before = Raw(os.path.join(FOLDER, "run%d.%d" % (n, steps[-1 - len(copies)])))
                value = 0
    assert not copies


class Passing:
    """Time that passes all the time."""

    def __enter__(self):
        self.over = threading.Event()
        self.thread = threading.Thread(target=self.pass_time)
        self.thread.start()

    def __exit__(self, *_):
        self.over.set()
        self.thread.join()

    def pass_time(self):
        while not self.over.is_set():
            with open(MNT + "/sim/advance", "w") as f:
                f.write("12345")


def late():
    """A pfm that is late at any of its steps."""
    _, (raw,) = pfm("-e", "branches:u,instructions:u")
    value, _, ns = raw.count("branches:u")
    with Passing():
        for options in (), ("-I", "10"), ("-I", "10", "--mux"):
            text, _ = pfm("-e", "branches:u,branch-misses:u", *options, place=("-C", "0,1"),
                          command=["--", "sleep", "0.1"])
            rates = re.findall(r"branches:u +u +(?:\[\d+ %\] +)?# ([\d,]+) /s", text)
            assert rates, text
            for rate in rates:
                same(rate, grouped(Fraction(2 * value * NS, ns)), "late, %s: rate" % " ".join(options))


def top(*options):
    """Intervals in which no time has passed, as this program did not run, have no rates: that is no error here."""
    done = subprocess.run(["pfm", "top", "-b", "-I", "100", "-n", "3", "--mount=" + MNT, *options],
                          stdout=subprocess.PIPE, text=True)
    assert done.returncode in (0, 3), done
    return [line.split() for line in done.stdout.splitlines()[1:]]


def write(path, text):
    with open(os.path.join(MNT, path), "w") as f:
        f.write(text)


def tops():
    """Rates of CPUs, and of contexts whose sets take turns."""
    _, (raw,) = pfm("-e", "branches:u,instructions:u,cycles:u")
    rates = {}
    for event in "branches:u", "instructions:u", "cycles:u":
        value, _, ns = raw.count(event)
        rate = Fraction(value * NS, ns)
        rates[event] = [grouped(rate / 10**9, 3), "G"] if rate > 999999999 else [grouped(rate)]
    shown = set()
    with Passing():
        while not shown:
            lines = top("-C", "1", "-e", "branches:u,instructions:u")
            assert len(lines) == 3
            for line in lines:
                if line[2:] != ["<lost>", "<lost>"]:
                    same(line[1:], ["1"] + rates["branches:u"] + rates["instructions:u"], "top")
                    shown.add(line[0])
    os.mkdir(MNT + "/ctx/turns")
    os.mkdir(MNT + "/ctx/turns/set/1")
    turns = {"instructions:u": 0x4100c0, "cycles:u": 0x41003c}
    for number, code in enumerate(turns.values()):
        write("ctx/turns/set/%d/pmc/0" % number, hex(code))
        write("ctx/turns/set/%d/timeout_ns" % number, "1000000")
        write("ctx/turns/set/%d/flags" % number, "time_switch")
    for command in "load cpu=1", "start":
        write("ctx/turns/ctl", command)
    shown = set()
    with Passing():
        while shown != set(turns):
            lines = top("-B", "context")
            assert len(lines) == 6
            for line, event in zip(lines, list(turns) * 3):
                if line[5] not in ("-", "0"):
                    same(line[5:5 + len(rates[event])], rates[event], "top --by=context: " + event)
                    shown.add(event)
    os.rmdir(MNT + "/ctx/turns")


def record(kind, body):
    body += bytes(-len(body) % 8)
    return struct.pack("=II", kind, len(body) + 8) + body


def percent(part, total):
    return "%.2f%%" % (100 * Fraction(part, total))


def recording(name, stacks):
    """A recording of a sample for each stack, which is a function with its callers and a weight."""
    path = os.path.join(FOLDER, name)
    data = b"PFMDATA\n" + struct.pack("=II", 1, 0x01020304) + record(1, b"pmu sim\n\0")
    data += record(2, struct.pack("=QQ", 1000, 1) + b"event\0")
    data += record(4, struct.pack("=QQQQIB20s", 1, 0x1000, 0x1000, 0, 10, 0, b"") + b"/none\0")
    for time, (frames, weight) in enumerate(stacks):
        # Return addresses are behind the call.
        ips = [0x1000 + f + (i > 0) for i, f in enumerate(frames)]
        data += record(8, struct.pack("=QQIIIIII", time + 2, weight, 10, 10, 0, len(ips) + 1, 0, 0) +
                       struct.pack("=%dQ" % (len(ips) + 1), 2**64 - 512, *ips))
    with open(path, "wb") as f:
        f.write(data + record(7, struct.pack("=Q", 99)))
    return path


def report():
    """Shares of functions, and of calls with what they call, of a recording that is written here."""
    # The function, its callers, and the number of overflows
    stacks = [((0x111,), 7), ((0x222, 0x111), 11), ((0x333, 0x222, 0x111), 13), ((0x333,), 1), ((0x222,), 2)]
    total = sum(n for _, n in stacks)
    path = recording("recording", stacks)
    shown = {}
    for option in "--sort=function", "--tree", "--folded":
        shown[option] = subprocess.run(["pfm", "report", path, option], check=True, stdout=subprocess.PIPE,
                                       text=True).stdout
    own = {}
    for frames, weight in stacks:
        own[frames[0]] = own.get(frames[0], 0) + weight
    for function, weight in own.items():
        line = re.search(r"^ *(\S+) +(\d+) +0x%x$" % function, shown["--sort=function"], re.M)
        same(line.groups(), (percent(weight, total), str(weight)), "report: 0x%x" % function)
    calls = {}
    for frames, weight in stacks:
        for i in range(len(frames)):
            path = frames[::-1][:i + 1]
            both = calls.get(path, (0, 0))
            calls[path] = (both[0] + weight, both[1] + (weight if i + 1 == len(frames) else 0))
    lines = re.findall(r"^ *(\S+%) *(\S+%)  ( *)(0x\w+)$", shown["--tree"], re.M)
    wanted = {(2 * len(path), hex(path[-1]), percent(all_of, total), percent(alone, total))
              for path, (all_of, alone) in calls.items()}
    same({(len(indent), name, a, b) for a, b, indent, name in lines}, wanted, "report --tree")
    folded = dict(line.rsplit(" ", 1) for line in shown["--folded"].splitlines())
    same({k.split(";", 1)[1]: int(v) for k, v in folded.items()},
         {";".join(hex(f) for f in frames[::-1]): n for frames, n in stacks}, "report --folded")


def diff():
    """Shares of two recordings that are written here, their changes, and what is chance in them."""
    before = [((0x111,), w) for w in (7, 1, 4)] + [((0x222, 0x111), w) for w in (11, 2)] + [((0x333,), 5)]
    after = [((0x111,), 3)] + [((0x222,), w) for w in (40, 1, 1)] + [((0x444,), 9)]
    paths = recording("before", before), recording("after", after)
    table, folded = (subprocess.run(["pfm", "diff", *paths, *options], check=True, stdout=subprocess.PIPE, text=True).stdout
                     for options in ([], ["--folded"]))
    wanted = {}
    for function in {frames[0] for frames, _ in before + after}:
        shares, variance = [], Fraction()
        for stacks in before, after:
            total = sum(w for _, w in stacks)
            share = Fraction(sum(w for frames, w in stacks if frames[0] == function), total)
            # Of each sample: how far the share would be off without it
            off = sum(((frames[0] == function) - share)**2 * Fraction(w, total)**2 for frames, w in stacks)
            shares.append(100 * share)
            variance += max(off, Fraction(1, len(stacks)**2))
        change, noise = shares[1] - shares[0], 200 * math.sqrt(variance)
        wanted[hex(function)] = ("%.2f%%" % shares[0], "%.2f%%" % shares[1],
                                 "%+.2f%s" % (change, "*" if abs(change) > noise else ""), "%.2f" % noise)
    lines = [line.split() for line in table.splitlines() if not line.startswith("#")]
    same({line[-1]: tuple(line[:4]) for line in lines}, wanted, "diff")
    changes = [abs(float(line[2].rstrip("*"))) for line in lines]
    same(changes, sorted(changes, reverse=True), "diff: order")
    scale = Fraction(sum(w for _, w in after), sum(w for _, w in before))
    own = {}
    for which, stacks in enumerate((before, after)):
        for frames, w in stacks:
            own.setdefault(";".join(hex(f) for f in frames[::-1]), [0, 0])[which] += w
    got = {line.rsplit(" ", 2)[0].split(";", 1)[1]: [int(n) for n in line.split()[-2:]] for line in folded.splitlines()}
    same(got, {k: [round(scale * a), b] for k, (a, b) in own.items()}, "diff --folded")


def samples():
    """Overflows are the periods that were counted. A sample stands for those that one poll has found."""
    advance, path = 3 * 10**6, os.path.join(FOLDER, "counted")
    done = subprocess.run(["pfm", "record", "--mount=" + MNT, "-o", path, "-C", "1", "-e", "instructions:u", "-c", "700",
                           "sh", "-c", "echo %d >%s/sim/advance" % (advance, MNT)], stderr=subprocess.PIPE, text=True)
    assert done.returncode == 0, done.stderr
    said = re.search(r"pfm record: ([\d,]+) samples in ", done.stderr).group(1)
    shown = subprocess.run(["pfm", "report", path, "--sort=cpu"], check=True, stdout=subprocess.PIPE, text=True).stdout
    wanted = 2 * advance // 700
    same(re.search(r"^# (\d+) overflows in (\d+) samples$", shown, re.M).groups(), (str(wanted), said.replace(",", "")),
         "record: samples")
    same([line.split()[:2] for line in shown.splitlines() if not line.startswith("#")], [["100.00%", str(wanted)]],
         "record: shares")


for case in (counts, places, sets, groups, groups_of_runs, runs, comparison, background, intervals, each_interval, late, tops,
             report, diff, samples):
    case()
