# SPDX-License-Identifier: MIT
"""Access to perfmonfs: contexts, registers, event sets, messages, sampling buffers, live counts.

    import perfmonfs

    with perfmonfs.Mount("/mnt").context() as ctx:
        ctx.pmc[0] = 0x4100c0                 # Intel: instructions retired, user level
        ctx.load(cpu=1)
        ctx.start()
        ...
        ctx.stop()
        print(ctx.pmd[0])

The module reads and writes files of the mount, which fs-layout.md describes. It requires Python 3.9.

Errors are OSError with the daemon's errno. The text is the daemon's sentence from last_error, which
says what to do next, or else that of the errno. Use a context in one thread at a time: an error in
another thread replaces last_error.
"""

import collections
import contextlib
import ctypes
import errno
import functools
import itertools
import mmap
import os
import select
import struct
import time

__all__ = [
    "Mount", "Context", "EventSet", "Registers", "Live", "Message", "Sample", "LiveCount", "Buffer",
    "find_mount", "parse_samples", "region",
]

def _list(numbers):
    """Returns a list of registers or CPUs as text."""
    return ",".join(str(n) for n in numbers)


def _numbers(text):
    """Returns the numbers of a list like 0-3,16."""
    if text == "none":
        return ()
    found = []
    for part in text.split(","):
        first, _, last = part.partition("-")
        found += range(int(first), int(last or first) + 1)
    return tuple(found)


def _bits(vector):
    """Returns the numbers of the bits that are set."""
    return tuple(n for n in range(64 * len(vector)) if vector[n // 64] >> n % 64 & 1)


def find_mount():
    """Returns PERFMONFS of the environment, or the first mount by root or by the caller."""
    if os.environ.get("PERFMONFS"):
        return os.environ["PERFMONFS"]
    trusted = {b"user_id=0", b"user_id=%d" % os.geteuid()}
    with open("/proc/self/mountinfo", "rb") as mounts:
        for line in mounts:
            _, _, _, root, path, *_, kind, _, options = line.split()
            if kind == b"fuse.perfmonfs" and root == b"/" and trusted & set(options.split(b",")):
                # The kernel escapes blanks and similar characters in octal.
                return os.fsdecode(path.decode("unicode_escape").encode("latin-1"))
    raise FileNotFoundError(
        errno.ENOENT, "perfmonfs is not mounted: mount it, or set PERFMONFS to the mount")


class _Directory:
    """The files of a directory. The file `last_error` explains their errors."""

    def __init__(self, path, last_error):
        self.path = path
        self._last_error = last_error

    def __repr__(self):
        return "%s(%r)" % (type(self).__name__, self.path)

    def _with_sentence(self, error, path):
        """Returns the same error with the daemon's sentence."""
        try:
            with open(self._last_error, "rb") as file:
                sentence = file.read().decode().strip()
        except OSError:
            sentence = "ok"  # removed with its context
        if sentence == "ok":
            sentence = error.strerror
        return OSError(error.errno, sentence, path)

    def _open(self, name, flags):
        """Opens a file. Most errors come from the kernel and have no sentence."""
        return os.open(os.path.join(self.path, name), flags | os.O_CLOEXEC)

    def _call(self, path, call, *args, kernel=()):
        """Calls call(*args) and adds the sentence to an error. Errors in kernel may come from the
        kernel alone, and pass unchanged."""
        try:
            return call(*args)
        except OSError as error:
            if error.errno in kernel:
                raise
            explained = self._with_sentence(error, path)
        raise explained

    def read(self, name):
        """Returns the text of a file without its last newline."""
        path = os.path.join(self.path, name)
        fd = self._open(name, os.O_RDONLY)
        try:
            pieces = iter(lambda: self._call(path, os.read, fd, 65536), b"")
            return b"".join(pieces).decode().rstrip("\n")
        finally:
            os.close(fd)

    def write(self, name, text):
        """Writes a file with one write(2), which is one command."""
        path = os.path.join(self.path, name)
        fd = self._open(name, os.O_WRONLY)
        try:
            self._call(path, os.write, fd, text.encode())
        finally:
            os.close(fd)

    def _mkdir(self, path):
        self._call(path, os.mkdir, path, kernel=(errno.EEXIST, errno.ENOENT))

    def _rmdir(self, path):
        self._call(path, os.rmdir, path, kernel=(errno.ENOENT,))


class Mount(_Directory):
    """A mount of perfmonfs. Without a path, find_mount() finds it."""

    _serial = itertools.count()

    def __init__(self, path=None):
        path = os.path.abspath(path or find_mount())
        super().__init__(path, os.path.join(path, "last_error"))

    def context(self, name=None):
        """Creates a context. Close it, or use it in a with statement."""
        name = name or "python-%d-%d" % (os.getpid(), next(self._serial))
        path = os.path.join(self.path, "ctx", name)
        self._mkdir(path)
        return Context(path, created_by=self)

    def events(self):
        """Returns {NAME: VALUE for a PMC} of the events that the backend defines."""
        lines = self.read("pmu/events").splitlines()
        return {name: int(value, 0) for name, value, *_ in map(str.split, lines)}

    def formats(self):
        """Returns {NAME: UUID} of the sampling formats."""
        return {name: uuid for uuid, name in map(str.split, self.read("formats").splitlines())}

    def stats(self):
        """Returns {KEY: VALUE} of the daemon's statistics."""
        return {key: int(n) for key, n in map(str.split, self.read("stats").splitlines())}


class Registers:
    """The PMCs or PMDs of an event set, by their logical numbers."""

    def __init__(self, directory, kind):
        self._directory = directory
        self._kind = kind

    def __getitem__(self, num):
        return int(self._directory.read("%s/%d" % (self._kind, num)), 0)

    def __setitem__(self, num, value):
        self.write(num, value)

    def write(self, num, value, **options):
        """Writes a value. Options of a PMD: the numbers short, long, mask, seed, thresh, eventid; the
        lists of PMDs reset and smpl; the flags notify, random, no64. Each write sets all of them;
        the default is 0 or off."""
        self._directory.write("%s/%d" % (self._kind, num), self._line(value, options))

    @staticmethod
    def _line(value, options):
        words = [str(int(value))]
        for key, given in options.items():
            if given is True:
                words.append(key)
            elif isinstance(given, int) and given is not False:
                words.append("%s=%d" % (key, given))
            elif given:
                words.append("%s=%s" % (key, _list(given)))
        return " ".join(words)


class _Flagged(_Directory):
    @property
    def flags(self):
        """A set of words. Context: system_wide, notify_block, ovfl_no_msg, raw, gaps, background.
        Event set: ovfl_switch, time_switch, expl_next."""
        return set(self.read("flags").split()) - {"none"}

    @flags.setter
    def flags(self, words):
        self.write("flags", " ".join(sorted(words)) or "none")


class EventSet(_Flagged):
    """An event set: its PMCs and PMDs, and the condition for a switch to the next set."""

    def __init__(self, context, number):
        super().__init__(os.path.join(context.path, "set", str(number)), context._last_error)
        self.id = number
        self.pmc = Registers(self, "pmc")
        self.pmd = Registers(self, "pmd")

    @property
    def regs(self):
        """All registers as text, which can be written back."""
        return self.read("regs")

    @regs.setter
    def regs(self, lines):
        """Writes registers, one per line, in one command."""
        self.write("regs", lines)

    @property
    def timeout_ns(self):
        return int(self.read("timeout_ns"))

    @timeout_ns.setter
    def timeout_ns(self, ns):
        self.write("timeout_ns", str(ns))

    @property
    def next(self):
        """The explicit next set, or None."""
        text = self.read("next")
        return None if text == "default" else int(text)

    @next.setter
    def next(self, number):
        self.write("next", "default" if number is None else str(number))

    @property
    def runs(self):
        return int(self.read("runs"))

    @property
    def active_ns(self):
        return int(self.read("active_ns"))

    @property
    def remaining_ns(self):
        return int(self.read("remaining_ns"))

    @property
    def switch_pmds(self):
        return _numbers(self.read("switch_pmds"))

    def sampled(self):
        """Returns {PMD: the PMDs whose values its overflows record}."""
        found = {}
        for line in self.regs.splitlines():
            register, *words = line.split()
            if register.startswith("pmd"):
                lists = [word[5:] for word in words if word.startswith("smpl=")]
                found[int(register[3:])] = _numbers(lists[0]) if lists else ()
        return found

    def live(self):
        """Maps the live page. Close it, or use it in a with statement."""
        fd = self._open("live", os.O_RDONLY)
        try:
            return Live(fd)
        finally:
            os.close(fd)


class Context(_Flagged):
    """A context. close() removes it if Mount.context() created it. Context(PATH) opens an
    existing context, which close() does not remove."""

    def __init__(self, path, created_by=None):
        super().__init__(path, os.path.join(path, "last_error"))
        self._created_by = created_by
        self._msg = None
        self.pmc = self.set(0).pmc
        self.pmd = self.set(0).pmd

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def set(self, number):
        return EventSet(self, number)

    def make_set(self, number):
        path = os.path.join(self.path, "set", str(number))
        self._mkdir(path)
        return self.set(number)

    def remove_set(self, number):
        self._rmdir(os.path.join(self.path, "set", str(number)))

    def sets(self):
        """Returns the event sets, sorted by number."""
        numbers = sorted(int(name) for name in os.listdir(os.path.join(self.path, "set")))
        return [self.set(number) for number in numbers]

    def children(self):
        """Returns the contexts of the threads that it follows."""
        directory = os.path.join(self.path, "children")
        return [Context(os.path.join(directory, name)) for name in sorted(os.listdir(directory))]

    def total(self):
        """Returns {(SET, PMD): sum over this context and its children}."""
        found = {}
        for line in self.read("total").splitlines():
            words = line.split()
            number = int(words.pop(0)[4:]) if words[0].startswith("set=") else 0
            if words[0].startswith("pmd"):
                found[number, int(words[0][3:])] = int(words[1])
        return found

    @property
    def state(self):
        return self.read("state")

    @property
    def last_error(self):
        return self.read("last_error")

    def ctl(self, command):
        self.write("ctl", command)

    def load(self, cpu=None, tid=None, set=None, follow=False, cpus=(), ptrace=True, pid=None):
        """Loads the context on a CPU, on a thread, or on all threads of a process."""
        targets = [("cpu", cpu), ("tid", tid), ("pid", pid)]
        words = ["load"] + ["%s=%d" % target for target in targets if target[1] is not None]
        if len(words) != 2:
            raise ValueError("load on a CPU, on a thread or on a process")
        if set is not None:
            words.append("set=%d" % set)
        if follow:
            words.append("follow")
        if cpus:
            words.append("cpus=" + _list(cpus))
        if not ptrace:
            words.append("ptrace=no")
        self.ctl(" ".join(words))

    def start(self, set=None):
        self.ctl("start" if set is None else "start set=%d" % set)

    def stop(self):
        self.ctl("stop")

    def restart(self):
        self.ctl("restart")

    def unload(self):
        self.ctl("unload")

    def fileno(self):
        """Returns the descriptor of the message queue, for select, poll and selectors."""
        if self._msg is None:
            self._msg = self._open("msg", os.O_RDONLY | os.O_NONBLOCK)
        return self._msg

    def messages(self, timeout=None):
        """Returns the queued messages. If there are none, waits for messages for at most timeout
        seconds; with None, without limit."""
        fd = self.fileno()
        deadline = None if timeout is None else time.monotonic() + timeout
        ready = select.poll()
        ready.register(fd, select.POLLIN)
        while True:
            try:
                return parse_messages(self._call(self.path, os.read, fd, 32 * _MESSAGE.size))
            except BlockingIOError:
                pass  # empty, or another reader was faster
            left = None if deadline is None else max(0, deadline - time.monotonic())
            if left == 0 or not ready.poll(None if left is None else left * 1000):
                return []

    @property
    def format(self):
        """The sampling format with its parameters, or "none"."""
        return self.read("format")

    @format.setter
    def format(self, line):
        self.write("format", line)

    def buffer(self):
        """Maps the sampling buffer read-only. Close it."""
        fd = self._call(self.path, self._open, "buffer", os.O_RDONLY)
        try:
            return mmap.mmap(fd, os.fstat(fd).st_size, mmap.MAP_SHARED, mmap.PROT_READ)
        finally:
            os.close(fd)

    def samples(self):
        """Returns the contents of a buffer of the format "default" as a Buffer. They are consistent
        after a message, stop, unload or restart, until counting continues."""
        sampled = {(s.id, pmd): pmds for s in self.sets() for pmd, pmds in s.sampled().items()}
        with self.buffer() as memory:
            return parse_samples(memory, sampled)

    def close(self):
        """Stops, unloads and removes the context if Mount.context() created it."""
        if self._msg is not None:
            os.close(self._msg)
            self._msg = None
        if self._created_by is not None:
            mount, self._created_by = self._created_by, None
            mount._rmdir(self.path)


# Messages: perfmonfs/msg.h

_MESSAGE = struct.Struct("=IIHHIQ5Q")
_KINDS = {1: "overflow", 2: "end", 0x100: "lost", 0x101: "throttle", 0x102: "count_lost"}

Message = collections.namedtuple("Message", "kind pid set cpu tid ip pmds")
Message.__doc__ = """A message. kind is overflow, end, lost, throttle, count_lost, or a number
that this module does not know. ip of lost is the number of lost messages. pid, tid and ip are 0 if unknown."""


def parse_messages(records):
    """Returns the messages in records, bytes that were read from msg."""
    found = []
    for kind, pid, number, cpu, tid, ip, *pmds in _MESSAGE.iter_unpack(records):
        found.append(Message(_KINDS.get(kind, kind), pid, number, cpu, tid, ip, _bits(pmds)))
    return found


# The sampling format "default": perfmonfs/smpl_dfl.h

_HEADER = struct.Struct("=QQQQQIIQQ")
_ENTRIES = 128  # offset of the first entry
_ENTRY = struct.Struct("=IHHQQQHHI")
_VERSION = 1  # major number
_COMPACT = 4  # flag: samples have a count

Buffer = collections.namedtuple("Buffer", "samples overflows lost size counts_lost")
Buffer.__doc__ = """The samples of a buffer; how often it became full; the number of overflows without
a sample; its size in bytes; the number of counts that were lost: from then on, samples are missing."""
Sample = collections.namedtuple(
    "Sample", "pmd count last_reset ip time_ns cpu set pid tid values")
Sample.__doc__ = """A sample of count overflows of a PMD, with the place of the last one. count is 1
unless the format has the flag compact. values is {PMD: value} of the PMDs in its list smpl."""


def parse_samples(memory, sampled):
    """Parses a buffer of the format "default". sampled is {(SET, PMD): its list smpl}."""
    count, end, overflows, size, _, version, flags, lost, gone = _HEADER.unpack_from(memory)
    if version >> 16 != _VERSION:
        raise ValueError("layout %d.%d, not 1" % (version >> 16, version & 0xffff))
    if flags & ~_COMPACT:
        raise ValueError("samples have no entry (no_hdr, iip_hdr): read the buffer directly")
    samples = []
    at = _ENTRIES
    for _ in range(count):
        tid, pmd, n, last_reset, ip, now, cpu, number, pid = _ENTRY.unpack_from(memory, at)
        if at >= end or (number, pmd) not in sampled:
            raise ValueError("the samples do not end where they should: not these lists smpl")
        pmds = sorted(sampled[number, pmd])
        values = struct.unpack_from("=%dQ" % len(pmds), memory, at + _ENTRY.size)
        at += _ENTRY.size + 8 * len(pmds)
        samples.append(Sample(
            pmd, n, last_reset, ip, now, cpu, number, pid, tid, dict(zip(pmds, values))))
    if at != end:
        raise ValueError("the samples do not end where they should: not these lists smpl")
    return Buffer(samples, overflows, lost, size, gone)


# Live counts: perfmonfs/live.h

_LIVE_PAGE = 4096
_LIVE_HEADER = struct.Struct("=IIIII4xQ")
_LIVE_PMD = struct.Struct("=QQIHBB")
_COUNTS, _LOST, _NARROW = 1, 4, 8
_TRIES = 10000

LiveCount = collections.namedtuple("LiveCount", "value counts")
LiveCount.__doc__ = """The count at the daemon's last update (None if it was lost), and whether the PMD
counts while its set is active."""


class Live:
    """A page of live counts. read() makes no system call. It returns the counts at the daemon's last
    update, since Python cannot execute RDPMC; age() tells how old they are, and reading a PMD forces
    an update. The module has no memory barriers, which x86 does not need for loads."""

    def __init__(self, fd):
        # Uses libc: the mmap module maps at most the size of the file, which is 0.
        self._libc = ctypes.CDLL(None, use_errno=True)
        self._libc.mmap.restype = ctypes.c_void_p
        self._time = None
        self._at = self._libc.mmap(None, ctypes.c_size_t(_LIVE_PAGE), mmap.PROT_READ,
                                   mmap.MAP_SHARED, fd, ctypes.c_long(0))
        if self._at == ctypes.c_void_p(-1).value:
            no, self._at = ctypes.get_errno(), None
            raise OSError(no, "cannot map the live page: %s" % os.strerror(no))
        self._seq = ctypes.c_uint32.from_address(self._at)  # a single load of 4 bytes

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def _snapshot(self):
        for _ in range(_TRIES):
            seq = self._seq.value
            if not seq & 1:
                page = ctypes.string_at(self._at, _LIVE_PAGE)
                if self._seq.value == seq:
                    return page
        raise BlockingIOError(
            errno.EAGAIN, "the page changes all the time: the daemon is busy or dead")

    def read(self):
        """Returns a consistent (CPU on which the set counts now, or None; {PMD: LiveCount})."""
        if self._at is None:
            raise ValueError("the live page is closed")
        page = self._snapshot()
        _, version, active, cpu, npmds, time_ns = _LIVE_HEADER.unpack_from(page)
        if version != 1:
            raise ValueError("the live page has version %d, not 1" % version)
        self._time = time_ns if active else None
        found = {}
        for n in range(npmds):
            value, _, _, num, width, flags = _LIVE_PMD.unpack_from(
                page, _LIVE_HEADER.size + n * _LIVE_PMD.size)
            if flags & _NARROW:
                value &= (1 << width) - 1
            found[num] = LiveCount(None if flags & _LOST else value, bool(flags & _COUNTS))
        return cpu if active else None, found

    def age(self):
        """Returns the age of the counts of the last read(), in seconds; 0 if they do not change,
        because the set is not active."""
        if self._time is None:
            return 0.0
        return max(time.clock_gettime_ns(time.CLOCK_MONOTONIC) - self._time, 0) / 1e9

    def close(self):
        if self._at is not None:
            self._libc.munmap(ctypes.c_void_p(self._at), ctypes.c_size_t(_LIVE_PAGE))
            self._at = self._seq = None


# Regions: perfmonfs/region.h

@functools.lru_cache(maxsize=None)
def _library():
    return ctypes.CDLL("libperfmonfs.so.1", use_errno=True)


def _region_call(function, name):
    if function(os.fsencode(name)) < 0:
        no = ctypes.get_errno()
        raise OSError(no, "region %s: %s" % (name, os.strerror(no)))


@contextlib.contextmanager
def region(name):
    """Counts a block, or with @region(NAME) the calls of a function, if the program was started by
    `pfm stat --regions`, which prints the counts. Otherwise it has no effect. It counts the thread
    that enters the block, including the work of the interpreter for it."""
    if not os.environ.get("PFM_REGIONS"):
        yield
        return
    _region_call(_library().pfm_region_begin, name)
    try:
        yield
    finally:
        _region_call(_library().pfm_region_end, name)
