# SPDX-License-Identifier: MIT
"""What the clients of tests/soak do, each an endless series of measurements, as users without rights.

A measurement is a function that takes a Client. It raises Wrong if an answer cannot be right. Errors that
chaos explains (a CPU in use, an offline one, a dead target, a daemon that was killed) end it, counted.
"""

import contextlib
import errno
import mmap
import os
import random
import signal
import subprocess
import time
import traceback

import exposition
import perfmonfs

# What is counted, in memory that a killed client leaves behind.
KEYS = ("measurements", "loads", "reads", "overflows", "restarts", "samples", "switches", "ends",
        "scrapes", "exported", "refused", "counts_lost", "cut_off", "targets", "targets_killed")

# The mount has gone, or what was in it.
GONE = {errno.ENODEV, errno.ENOTCONN, errno.ENOENT, errno.ECONNABORTED, errno.ECONNREFUSED}
# Another context has the CPU or the thread; a limit; a thread that has ended or is executing a program.
REFUSED = {errno.EBUSY, errno.EAGAIN, errno.ENOSPC, errno.ESRCH}
# The CPU is offline, or was.
LOST = {errno.EIO, errno.ENXIO}

PATIENCE = 120
INSTRUCTIONS = 0x4100c0  # of the model: two a nanosecond
EVENTS_PER_NS = 2


class Wrong(Exception):
    """An answer that cannot be right."""


class Tally:
    """A row of numbers for each client, shared by processes: each writes its own row."""

    def __init__(self, rows):
        self.cells = memoryview(mmap.mmap(-1, rows * len(KEYS) * 8)).cast("Q")

    def add(self, row, key, n):
        self.cells[row * len(KEYS) + KEYS.index(key)] += n

    def sums(self):
        return {key: sum(self.cells[at::len(KEYS)]) for at, key in enumerate(KEYS)}


class Client:
    """One client process: row is its number, site where it measures, chaos what all processes share."""

    def __init__(self, row, site, chaos, seed):
        self.row = row
        self.site = site
        self.chaos = chaos
        self.random = random.Random(seed)
        self.mount = perfmonfs.Mount(site.mnt)
        self.serial = 0

    def add(self, key, n=1):
        self.chaos.tally.add(self.row, key, n)

    def pause(self, most=0.05):
        time.sleep(self.random.random() * most)

    def context(self):
        self.serial += 1
        return self.mount.context("soak-%d-%d-%d" % (self.row, os.getpid(), self.serial))

    def check(self, right, what, *values):
        if not right:
            raise Wrong(what % values)

    def read(self, ctx, pmd=0):
        self.add("reads")
        return ctx.pmd[pmd]

    def load_cpu(self, ctx, cpus=None):
        cpu = self.random.choice(cpus or self.site.cpus)
        ctx.load(cpu=cpu)
        self.add("loads")
        return cpu

    def run(self):
        while not self.chaos.stopping():
            life = self.site.life()
            try:
                self.random.choice(self.site.measurements)(self)
                self.add("measurements")
            except OSError as error:
                self.explain(error, life)
            except Exception:  # pylint: disable=broad-except
                self.chaos.tell(self.row, traceback.format_exc())

    def explain(self, error, life):
        """Counts an error that chaos explains, and tells of another."""
        if error.errno in LOST:
            self.add("counts_lost")
        elif error.errno in REFUSED:
            self.add("refused")
        elif error.errno in GONE and (self.site.is_down() or life != self.site.life()):
            self.add("cut_off")
            self.pause(0.2)
        else:
            self.chaos.tell(self.row, "".join(traceback.format_exception(error)))


def now():
    return time.monotonic_ns()


class Window:
    """Between which numbers of events a counter of the model may be that ran from start to stop."""

    def __init__(self, ctx):
        self.outer = now()
        ctx.start()
        self.inner = now()
        self.ctx = ctx

    def stop(self):
        least = now() - self.inner
        self.ctx.stop()
        return EVENTS_PER_NS * least, EVENTS_PER_NS * (now() - self.outer)


def count(client):
    """A count never goes back, is what the time allows, and stays when it has stopped."""
    with client.context() as ctx:
        ctx.pmc[0] = client.site.event
        cpu = client.load_cpu(ctx)
        window = Window(ctx)
        last = 0
        for _ in range(client.random.randrange(1, 6)):
            client.pause()
            seen = client.read(ctx)
            client.check(seen >= last, "a count went back from %d to %d", last, seen)
            last = seen
        least, most = window.stop()
        seen = client.read(ctx)
        client.check(seen >= last, "a count went back from %d to %d", last, seen)
        if client.site.modelled:
            if cpu in client.site.frail_cpus:
                least = 0  # an offline CPU executes nothing
            client.check(least <= seen <= most, "%d instructions, not %d to %d", seen, least, most)
        client.check(client.read(ctx) == seen, "a stopped count changed from %d", seen)


def notify(client):
    """Each overflow masks, gives one message, and waits for one restart."""
    period = client.random.randrange(2, 20) * 1000000
    overflows = restarts = 0
    with client.context() as ctx:
        ctx.pmc[0] = INSTRUCTIONS
        ctx.pmd.write(0, -period, long=-period, notify=True)
        client.load_cpu(ctx)
        ctx.start()
        for _ in range(client.random.randrange(1, 10)):
            found = [m.kind for m in ctx.messages(PATIENCE)]
            client.check(found, "no message of an overflow in %d s: %s", PATIENCE, ctx.state)
            if "count_lost" in found:
                return client.add("counts_lost")
            client.check(found == ["overflow"], "messages %s instead of one overflow", found)
            overflows += 1
            ctx.restart()
            restarts += 1
        ctx.stop()
        left = [m.kind for m in ctx.messages(0)]
        overflows += left.count("overflow")
        if "count_lost" not in left:
            client.check(overflows - restarts in (0, 1), "%d overflows, %d restarts", overflows, restarts)
    client.add("overflows", overflows)
    client.add("restarts", restarts)


def sample(client):
    """The buffer has no more samples than the counter had periods."""
    period = client.random.randrange(2, 20) * 1000000
    with client.context() as ctx:
        ctx.format = "default size=16384"
        ctx.pmc[0] = INSTRUCTIONS
        ctx.pmd.write(0, -period, long=-period, short=-period)
        client.load_cpu(ctx, client.site.real_cpus)  # as samples name what runs there
        window = Window(ctx)
        client.pause(0.2)
        _, most = window.stop()
        found = ctx.samples()
        if found.counts_lost:
            return client.add("counts_lost")
        n = sum(s.count for s in found.samples) + found.lost
        client.check(n <= most // period, "%d samples, not %d", n, most // period)
        client.add("samples", n)


def sets(client):
    """Event sets take turns, and together were active no longer than the context."""
    with client.context() as ctx:
        for number in range(client.random.randrange(2, 6)):
            event_set = ctx.make_set(number) if number else ctx.set(0)
            event_set.pmc[0] = INSTRUCTIONS
            event_set.timeout_ns = client.random.randrange(1, 5) * 1000000
            event_set.flags = {"time_switch"}
        client.load_cpu(ctx)
        window = Window(ctx)
        client.pause(0.1)
        _, most = window.stop()
        all_sets = ctx.sets()
        counted = sum(s.pmd[0] for s in all_sets)
        client.check(counted <= most, "%d instructions in all sets, not %d", counted, most)
        active = sum(s.active_ns for s in all_sets)
        client.check(active * EVENTS_PER_NS <= most, "the sets were active for %d ns", active)
        client.add("switches", sum(s.runs for s in all_sets))


def scrape(client):
    """Reads what monitoring reads, whole. What the background contexts export is what the time allows."""
    for name in ("stats", "cpus", "version"):
        client.mount.read(name)
        client.add("scrapes")
    for name, labels, value in exposition.prom(client.mount.read("metrics/node.prom") + "\n"):
        if name == "perfmonfs_instructions_total":
            client.check(int(value) <= EVENTS_PER_NS * now(), "%s instructions of %s", value, labels)
            client.add("exported")
    client.add("scrapes")
    client.pause()


@contextlib.contextmanager
def target(client):
    """A program with threads or processes, of the client's user and session."""
    programs = ("subject -t 3 -w 3000 cpu 1000000000", "subject -t 5 -w 1 faults 1000000000",
                "waves threads 1000000000 5 50", "waves forks 1000000000 5 50")
    words = client.random.choice(programs).split()
    words[0] = os.path.join(client.site.programs, words[0])
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          preexec_fn=lambda: os.setpgid(0, 0)) as process:
        try:
            client.add("targets")
            client.check(process.stdout.readline(), "%s has ended", words[0])
            process.stdin.write(b"\n")
            process.stdin.flush()
            yield process
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)


def runs_freely(client, pid):
    """The thread is neither stopped nor traced, and goes on."""
    end = time.monotonic() + PATIENCE
    while True:
        with open("/proc/%d/status" % pid, encoding="ascii") as file:
            status = dict(line.rstrip("\n").split(":\t", 1) for line in file if ":\t" in line)
        if status["State"][0] not in "tT" and status["TracerPid"] == "0":
            return
        client.check(time.monotonic() < end, "thread %d is %s, traced by %s", pid, status["State"],
                     status["TracerPid"])
        time.sleep(0.02)


def thread(client):
    """A thread, a process, or all that it starts: counted, sampled or notified of, until it is killed."""
    with target(client) as process, client.context() as ctx:
        kind = client.random.choice(({"tid": process.pid}, {"tid": process.pid, "follow": True},
                                     {"pid": process.pid}))
        period = client.random.randrange(1, 1000)
        way = client.random.choice(("count", "notify", "sample"))
        ctx.pmc[0] = client.site.user_event
        if way == "sample":
            ctx.format = "default size=16384"
            ctx.pmd.write(0, -period, long=-period, short=-period)
        elif way == "notify":
            ctx.pmd.write(0, -period, long=-period, notify=True)
        ctx.load(**kind)
        client.add("loads")
        ctx.start()
        for _ in range(client.random.randrange(1, 6)):
            client.pause(0.1)
            client.read(ctx)
            ctx.total()
            if way == "notify" and any(m.kind == "overflow" for m in ctx.messages(0)):
                client.add("overflows")
                ctx.restart()
                client.add("restarts")
        if client.random.random() < 0.5:
            end_of(client, process, ctx)
        else:
            ctx.unload()
            runs_freely(client, process.pid)


def end_of(client, process, ctx):
    """A killed thread gives one message of its end, the last one of its context."""
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    client.add("targets_killed")
    end = time.monotonic() + PATIENCE
    kinds = []
    while "end" not in kinds:
        kinds += [m.kind for m in ctx.messages(1)]
        client.check(time.monotonic() < end, "no message of the end of %d, but %s, %s", process.pid, kinds,
                     ctx.state)
    client.check(ctx.state.kind == "zombie", "after its end, it is %s", ctx.state)
    client.add("ends")
