# SPDX-License-Identifier: MIT
"""A daemon with its mount, for tests/soak: how it begins, is killed, and what it has when it rests."""

import collections
import os
import re
import struct
import subprocess
import time

import perfmonfs

PATIENCE = 120
# Other words than these in what a daemon says are a failure.
SUSPICIOUS = re.compile(r"error|warning|sanitizer|leak|runtime", re.IGNORECASE)
# CPUs in names of threads, and inodes in those of files.
NUMBER = re.compile(r"\d+")


def soon(condition):
    """Waits until it holds; returns whether it does."""
    end = time.monotonic() + PATIENCE
    while not condition():
        if time.monotonic() >= end:
            return False
        time.sleep(0.02)
    return True


def mounted(path):
    with open("/proc/self/mounts", encoding="utf-8") as mounts:
        return any(line.split()[1] == path for line in mounts)


def named(directory, read):
    """How many entries have each name that read() finds, without numbers. Entries may go meanwhile."""
    found = collections.Counter()
    for entry in os.listdir(directory):
        try:
            found[NUMBER.sub("N", read(directory + "/" + entry))] += 1
        except (FileNotFoundError, ProcessLookupError):
            pass
    return found


def thread_name(path):
    with open(path + "/comm", encoding="utf-8", errors="replace") as file:
        return file.read().rstrip("\n")


def tasks_stopped(session):
    """The processes of a session, and those of them that are stopped or traced."""
    found, stopped = [], []
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open("/proc/%s/stat" % name, encoding="utf-8", errors="replace") as file:
                state, _, _, its_session = file.read().rsplit(") ", 1)[1].split()[:4]
            with open("/proc/%s/status" % name, encoding="utf-8", errors="replace") as file:
                traced = "\nTracerPid:\t0\n" not in file.read()
        except OSError:
            continue
        if int(its_session) != session or state in "ZX":
            continue
        found.append(int(name))
        if state in "tT" or traced:
            stopped.append(int(name))
    return found, stopped


class Msrsim:
    """A model of a machine's registers that outlives the daemon."""

    def __init__(self, build, path, cpus):
        self.path = path
        self.cpus = cpus
        os.mkdir(path)
        self.process = subprocess.Popen(  # pylint: disable=consider-using-with
            [build + "/tools/msrsim", "-f", "--cpus=%d" % cpus, path])
        if not soon(lambda: os.path.isdir(path + "/sim")):
            raise TimeoutError("msrsim does not serve")
        for cpu in range(cpus):
            self.write(cpu, 0x187, 0x30c1)  # another user's, disabled
            self.write(cpu, 0xc2, 0x77 + cpu)

    def write(self, cpu, address, value):
        fd = os.open("%s/%d/msr" % (self.path, cpu), os.O_WRONLY)
        os.pwrite(fd, struct.pack("<Q", value), address)
        os.close(fd)

    def dump(self, addresses):
        """The values of all these registers of all CPUs."""
        found = []
        for cpu in range(self.cpus):
            fd = os.open("%s/%d/msr" % (self.path, cpu), os.O_RDONLY)
            found += [(cpu, hex(at), struct.unpack("<Q", os.pread(fd, 8, at))[0]) for at in addresses]
            os.close(fd)
        return found

    def offline(self, cpus):
        with open(self.path + "/sim/offline", "w", encoding="ascii") as file:
            file.write(",".join(map(str, cpus)) + "\n")

    def end(self):
        self.process.terminate()
        return self.process.wait()


class Site:
    """A mount. The measurements are those of its clients; the lives are counted where all processes see it."""

    def __init__(self, name, build, directory, options, lives):
        self.name = name
        self.cpus = self.real_cpus = self.frail_cpus = ()  # all; those of this machine; that go offline
        self.event = self.user_event = 0  # for CPUs and threads; 0: threads are not counted here
        self.modelled = False  # the event is the model's
        self.measurements = ()
        self.build = build
        self.mnt = os.path.join(directory, name)
        self.log = os.path.join(directory, name + ".log")
        self.options = options
        self.config = os.path.join(directory, name + ".conf")
        with open(self.config, "w", encoding="ascii") as file:
            file.write("sys_group = any\naudit = off\nsmpl_buf_size_max = 268435456\n")
        self.programs = build + "/tests/track"
        self.lives = lives  # two cells: how often it has begun, and how often it was to be killed
        self.daemon = None
        self.rest = None  # what it had when it rested first, in its first life
        self.names = None  # of its files and threads then
        self.leapt = 0  # counts in earlier lives that were wrongly taken for written ones
        os.mkdir(self.mnt)

    def life(self):
        """Changes before the daemon is killed, and after it has begun."""
        return self.lives[0], self.lives[1]

    def is_down(self):
        return self.lives[0] == self.lives[1]

    def begin(self):
        with open(self.log, "ab") as log:
            self.daemon = subprocess.Popen(  # pylint: disable=consider-using-with
                [self.build + "/daemon/perfmonfs", "-f", "--config=" + self.config, *self.options, self.mnt],
                stdout=log, stderr=log)
        if not soon(lambda: self.daemon.poll() is not None or mounted(self.mnt)):
            raise TimeoutError("%s does not serve" % self.name)
        self.lives[0] += 1

    def kill(self):
        self.lives[1] += 1
        self.leapt += perfmonfs.Mount(self.mnt).stats()["leapt"]
        self.daemon.kill()
        self.daemon.wait()
        if not soon(lambda: not mounted(self.mnt)):
            raise TimeoutError("%s is mounted still" % self.name)

    def end(self):
        self.daemon.terminate()
        return self.daemon.wait(PATIENCE)

    def complaints(self):
        """Lines of the daemon's log that are no news of a restart."""
        with open(self.log, encoding="utf-8", errors="replace") as log:
            return [line.rstrip() for line in log if SUSPICIOUS.search(line)]

    def remove_contexts(self):
        """What killed clients have left. A context may go by itself meanwhile."""
        for name in os.listdir(self.mnt + "/ctx"):
            try:
                os.rmdir("%s/ctx/%s" % (self.mnt, name))
            except FileNotFoundError:
                pass

    def names_now(self):
        proc = "/proc/%d/" % self.daemon.pid
        return {"files": named(proc + "fd", os.readlink), "threads": named(proc + "task", thread_name)}

    def holdings(self):
        """What the daemon has that clients can make it have."""
        names = self.names_now()
        kinds = {key: sum(names[key].values()) for key in names}
        kinds["perf events"] = names["files"]["anon_inode:[perf_event]"]
        stats = perfmonfs.Mount(self.mnt).stats()
        for key in ("contexts", "buffer_bytes", "threads", "memory_bytes_all"):
            kinds["stats " + key] = stats[key]
        kinds["leaps of counts, which no program writes"] = self.leapt + stats["leapt"]
        kinds["users' bytes and workers"] = sum(
            n for key, n in stats.items() if key.startswith(("memory_bytes_", "thread_workers_")) and key[-2:] != "_0")
        return kinds

    def exceeds(self):
        """What it has too much of: files and threads are as many as when it rested first, all else ends."""
        found = self.holdings()
        return {key: "%d, not %d" % (n, self.rest.get(key, 0))
                for key, n in found.items() if n > self.rest.get(key, 0)}

    def new_names(self):
        """Of the files and threads that it has more of than when it rested first."""
        now = self.names_now()
        more = {key: now[key] - self.names[key] for key in now}
        return ["more %s: %s" % (key, ", ".join("%d %s" % (n, name) for name, n in names.items()))
                for key, names in more.items() if names]

    def busy(self):
        """It has what ends with its clients."""
        return {key: n for key, n in self.holdings().items() if n and key not in ("files", "threads")}

    def rests(self):
        """What it has open now, it may have open from now on."""
        self.rest = {key: n for key, n in self.holdings().items() if key in ("files", "threads")}
        self.names = self.names_now()

    def rss_kib(self):
        with open("/proc/%d/status" % self.daemon.pid, encoding="ascii") as file:
            return next(int(line.split()[1]) for line in file if line.startswith("VmRSS"))
