# SPDX-License-Identifier: MIT
"""Contexts, their event sets and registers."""

from __future__ import annotations

import contextlib
import errno
import mmap
import os
import select
import time
import warnings
from collections.abc import AsyncIterator, Iterable
from typing import TYPE_CHECKING, Optional, Union

from ._files import Descriptor, Directory
from ._formats import Buffer, parse_samples
from ._live import Live
from ._values import (
    MESSAGE_BYTES, Gaps, Message, MessageKind, Overflows, State, StateKind, Total, of_flags,
    of_gaps, of_list, of_state, of_total, options, parse_messages, to_list)

if TYPE_CHECKING:
    import asyncio

_QUEUE = 32  # the most messages of one read
_CLOCK = 256  # PMD


class Pmcs:
    """The PMCs of an event set, by their logical numbers. A PMC is written as a value, or as the name
    of an event with levels: "page-faults:u"."""

    def __init__(self, directory: Directory) -> None:
        self._directory = directory

    def __getitem__(self, num: int) -> int:
        return int(self._directory.read("pmc/%d" % num), 0)

    def __setitem__(self, num: int, event: Union[int, str]) -> None:
        self._directory.write("pmc/%d" % num, str(event))


class Pmds:
    """The PMDs of an event set, by their logical numbers."""

    def __init__(self, directory: Directory) -> None:
        self._directory = directory

    def __getitem__(self, num: int) -> int:
        return int(self._directory.read("pmd/%d" % num))

    def __setitem__(self, num: int, value: int) -> None:
        self.write(num, value)

    def write(self, num: int, value: int, *, short: Optional[int] = None, long: Optional[int] = None,
              reset: Iterable[int] = (), notify: bool = False, random: bool = False,
              mask: Optional[int] = None, seed: Optional[int] = None, thresh: Optional[int] = None,
              no64: bool = False, smpl: Iterable[int] = (), eventid: Optional[int] = None) -> None:
        """Writes a value and all options: those that are not given become 0 or off, as
        "Registers" of fs-layout.md says."""
        numbers = {"short": short, "long": long, "mask": mask, "seed": seed, "thresh": thresh,
                   "eventid": eventid}
        lists = {"reset": to_list(reset), "smpl": to_list(smpl)}
        flags = {"notify": notify, "random": random, "no64": no64}
        words = ["%d" % value]
        words += ["%s=%d" % (key, n) for key, n in numbers.items() if n is not None]
        words += ["%s=%s" % (key, text) for key, text in lists.items() if text]
        words += [key for key, on in flags.items() if on]
        self._directory.write("pmd/%d" % num, " ".join(words))


class _Flagged(Directory):
    @property
    def flags(self) -> frozenset[str]:
        """The words of the file `flags`, which members of ContextFlag or SetFlag equal."""
        return of_flags(self.read("flags"))

    @flags.setter
    def flags(self, words: Iterable[str]) -> None:
        self.write("flags", " ".join(sorted(str(word) for word in words)) or "none")


class EventSet(_Flagged):
    """An event set: its PMCs and PMDs, and the condition for a switch to the next set."""

    def __init__(self, context: Context, number: int) -> None:
        super().__init__(os.path.join(context.path, "set", str(number)), context.path)
        self.id = number
        self.pmc = Pmcs(self)
        self.pmd = Pmds(self)

    @property
    def regs(self) -> str:
        """All registers as text, which can be written back: one per line, in one command."""
        return self.read("regs")

    @regs.setter
    def regs(self, lines: str) -> None:
        self.write("regs", lines)

    @property
    def timeout_ns(self) -> int:
        return int(self.read("timeout_ns"))

    @timeout_ns.setter
    def timeout_ns(self, ns: int) -> None:
        self.write("timeout_ns", str(ns))

    @property
    def next(self) -> Optional[int]:
        """The explicit next set, or None."""
        text = self.read("next")
        return None if text == "default" else int(text)

    @next.setter
    def next(self, number: Optional[int]) -> None:
        self.write("next", "default" if number is None else str(number))

    @property
    def runs(self) -> int:
        return int(self.read("runs"))

    @property
    def active_ns(self) -> int:
        return int(self.read("active_ns"))

    @property
    def remaining_ns(self) -> int:
        return int(self.read("remaining_ns"))

    @property
    def switch_pmds(self) -> tuple[int, ...]:
        return of_list(self.read("switch_pmds"))

    @property
    def available(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """The PMCs and the PMDs that the set can use."""
        lists = dict(line.split() for line in self.read("available").splitlines())
        return of_list(lists["pmcs"]), of_list(lists["pmds"])

    def overflows(self) -> dict[int, Overflows]:
        """Returns {PMD: its overflows}."""
        found = {}
        for line in self.read("overflows").splitlines():
            register, *words = line.split()
            o = options(words)
            found[int(register[3:])] = Overflows(
                int(o["overflows"]), int(o["last_reset"]), int(o["thresh_left"]))
        return found

    def _pmds(self) -> dict[int, list[str]]:
        """Returns {PMD: the words after its value in regs}."""
        lines = [line.split() for line in self.regs.splitlines()]
        return {int(words[0][3:]): words[2:] for words in lines if words[0].startswith("pmd")}

    def gaps(self) -> dict[int, Gaps]:
        """Returns {PMD: the gaps of its count} of the PMDs that have any."""
        found = {pmd: of_gaps(words) for pmd, words in self._pmds().items()}
        return {pmd: gaps for pmd, gaps in found.items() if gaps}

    def sampled(self) -> dict[int, tuple[int, ...]]:
        """Returns {PMD: the PMDs whose values its overflows record}."""
        return {pmd: of_list(options(words).get("smpl", "")) for pmd, words in self._pmds().items()}

    def live_text(self) -> str:
        """Returns the live counts as text, which works on every kernel."""
        return self.read("live")

    def live(self) -> Live:
        """Maps the live page. Close it, or use it in a with statement."""
        fd = self._open("live", os.O_RDONLY)
        try:
            return Live(fd, self._open("pmd/%d" % _CLOCK, os.O_RDONLY))
        finally:
            os.close(fd)


def _settle(ready: asyncio.Future[bool], value: bool) -> None:
    if not ready.done():
        ready.set_result(value)


class Context(_Flagged):
    """A context. Mount.context() creates it, and close() removes it, except in a child process that
    has inherited it. Context(PATH) opens an existing context, which close() does not remove."""

    def __init__(
            self, path: str, created: bool = False, clone: Optional[Descriptor] = None) -> None:
        """created: close() removes it. clone: the open file that it is."""
        path = os.path.abspath(path)
        super().__init__(path, path)
        self._msg: Optional[Descriptor] = None
        self._clone = clone
        self._owner: Optional[int] = None
        self._closed = False
        self._waiting: list[asyncio.Future[bool]] = []
        self.pmc = self.set(0).pmc
        self.pmd = self.set(0).pmd
        # Tells this context from a later one of the same name.
        self._place = (
            Descriptor(os.open(path, os.O_PATH | os.O_CLOEXEC)) if created else None)
        if created:
            self._owner = os.getpid()

    def __enter__(self) -> Context:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __del__(self) -> None:
        if getattr(self, "_owner", None) != os.getpid():
            return
        try:
            warnings.warn("unclosed %r" % self, ResourceWarning, source=self, stacklevel=2)
        finally:
            # The daemon may have ended. Nothing can catch an error here.
            with contextlib.suppress(OSError):
                self.close()

    def set(self, number: int) -> EventSet:
        return EventSet(self, number)

    def make_set(self, number: int) -> EventSet:
        self._name(os.path.join(self.path, "set", str(number)), os.mkdir)
        return self.set(number)

    def remove_set(self, number: int) -> None:
        self._name(os.path.join(self.path, "set", str(number)), os.rmdir)

    def sets(self) -> list[EventSet]:
        """Returns the event sets, sorted by number."""
        names = self._name(os.path.join(self.path, "set"), os.listdir)
        return [self.set(number) for number in sorted(int(name) for name in names)]

    def children(self) -> list[Context]:
        """Returns the contexts of the threads that it follows."""
        directory = os.path.join(self.path, "children")
        names = self._name(directory, os.listdir)
        return [Context(os.path.join(directory, name)) for name in sorted(names)]

    def remove(self) -> None:
        """Stops, unloads and removes the context, and what it has in children."""
        self._name(self.path, os.rmdir)

    def total(self) -> Total:
        """Returns the sums over this context and its children."""
        return of_total(self.read("total"))

    @property
    def state(self) -> State:
        return of_state(self.read("state"))

    @property
    def last_error(self) -> str:
        """The last sentence of the daemon: "ok", "note: ..." after a success, or an error."""
        return self.read("last_error")

    @property
    def metrics(self) -> str:
        """The counts that have names, as Prometheus' text exposition. A write names them, by lines
        like 'pmd0 instructions "Instructions retired."'."""
        return self.read("metrics")

    @metrics.setter
    def metrics(self, lines: str) -> None:
        self.write("metrics", lines)

    def ctl(self, command: str) -> None:
        self.write("ctl", command)

    def load(self, cpu: Optional[int] = None, tid: Optional[int] = None, set: Optional[int] = None,
             follow: bool = False, cpus: Iterable[int] = (), ptrace: bool = True,
             pid: Optional[int] = None, inherit: bool = False, on_exec: bool = False) -> None:
        """Loads the context on a CPU, on a thread, or on all threads of a process."""
        targets = {"cpu": cpu, "tid": tid, "pid": pid}
        words = ["%s=%d" % (key, n) for key, n in targets.items() if n is not None]
        if len(words) != 1:
            raise ValueError("load on a CPU, on a thread or on a process")
        if set is not None:
            words.append("set=%d" % set)
        flags = {"follow": follow, "inherit": inherit, "on_exec": on_exec, "ptrace=no": not ptrace}
        words += [word for word, on in flags.items() if on]
        listed = to_list(cpus)
        if listed:
            words.append("cpus=" + listed)
        self.ctl("load " + " ".join(words))

    def start(self, set: Optional[int] = None) -> None:
        self.ctl("start" if set is None else "start set=%d" % set)

    def stop(self) -> None:
        self.ctl("stop")

    def restart(self) -> None:
        self.ctl("restart")

    def unload(self) -> None:
        self.ctl("unload")

    def signal(self, sig: int, tid: Optional[int] = None) -> None:
        """Requests a signal at each notification, to the calling thread or to thread tid; 0: none."""
        self.ctl("signal sig=%d" % sig + ("" if tid is None else " tid=%d" % tid))

    def _queue(self) -> Descriptor:
        """Returns the message queue. A caller that keeps it can use it while another thread closes
        the context."""
        found = self._msg
        if found is None:
            found = self._msg = Descriptor(self._open("msg", os.O_RDONLY | os.O_NONBLOCK))
        return found

    def fileno(self) -> int:
        """Returns the descriptor of the message queue, for select, poll and selectors. It is closed
        with the context."""
        return self._queue().number

    def _take(self, fd: int) -> list[Message]:
        """Returns the queued messages, if there are any. Fails with ENODEV if there will be none."""
        try:
            records = os.read(fd, _QUEUE * MESSAGE_BYTES)
        except BlockingIOError:
            return []
        if not records:
            raise OSError(errno.ENODEV, "the context has been removed", self.path)
        return parse_messages(records)

    def messages(self, timeout: Optional[float] = None) -> list[Message]:
        """Returns the queued messages. If there are none, waits for messages for at most timeout
        seconds; with None, without limit."""
        queue = self._queue()
        deadline = None if timeout is None else time.monotonic() + timeout
        ready = select.poll()
        ready.register(queue.number, select.POLLIN)
        while True:
            found = self._take(queue.number)
            left = None if deadline is None else max(0.0, deadline - time.monotonic())
            if found or left == 0 or not ready.poll(None if left is None else left * 1000):
                return found

    async def __aiter__(self) -> AsyncIterator[Message]:
        """Returns the messages as they come. It ends after the message END, and when the context is
        closed or removed."""
        fd = self._open("msg", os.O_RDONLY | os.O_NONBLOCK)
        try:
            while await self._readable(fd):
                for message in self._take(fd):
                    yield message
                    if message.kind == MessageKind.END:
                        return
        except OSError as error:
            if error.errno != errno.ENODEV:
                raise
        finally:
            os.close(fd)

    async def _readable(self, fd: int) -> bool:
        """Waits until fd is ready (True), or until close() (False)."""
        import asyncio  # only for programs that have it already

        loop = asyncio.get_running_loop()
        ready: asyncio.Future[bool] = loop.create_future()
        loop.add_reader(fd, _settle, ready, True)
        self._waiting.append(ready)
        try:
            return not self._closed and await ready  # in this order, beside close()
        finally:
            loop.remove_reader(fd)
            self._waiting.remove(ready)

    @property
    def format(self) -> str:
        """The sampling format with its parameters, or "none"."""
        return self.read("format")

    @format.setter
    def format(self, line: str) -> None:
        self.write("format", line)

    def buffer(self) -> mmap.mmap:
        """Maps the sampling buffer read-only. Close it. It stays when the context is removed."""
        fd = self._open("buffer", os.O_RDONLY)
        try:
            return mmap.mmap(fd, os.fstat(fd).st_size, mmap.MAP_SHARED, mmap.PROT_READ)
        finally:
            os.close(fd)

    def _lists(self, only_overflowed: bool) -> dict[tuple[int, int], tuple[int, ...]]:
        """Returns {(SET, PMD): its list smpl}."""
        found = {}
        for one in self.sets():
            overflows = one.overflows() if only_overflowed else {}
            for pmd, pmds in one.sampled().items():
                if not only_overflowed or overflows[pmd].overflows:
                    found[one.id, pmd] = pmds
        return found

    def samples(self) -> Buffer:
        """Returns the contents of the sampling buffer. They are consistent after a message, stop,
        unload or restart, until counting continues; those of "hist" and "nway" always."""
        name, *words = self.format.split()
        without_entry = not {"no_hdr", "iip_hdr"}.isdisjoint(words)
        counting = self.state.kind == StateKind.RUNNING
        with self.buffer() as memory:
            return parse_samples(memory, self._lists(without_entry), name, filling=not counting)

    def _is_there(self) -> bool:
        """Whether its name is still that of this context."""
        place = self._place
        try:
            return place is not None and os.path.samestat(os.fstat(place.number), os.stat(self.path))
        except OSError:
            return False

    def _wake(self) -> None:
        """Ends each `async for` over the messages."""
        for ready in list(self._waiting):
            loop = ready.get_loop()
            if not loop.is_closed():
                loop.call_soon_threadsafe(_settle, ready, False)

    def close(self) -> None:
        """Stops, unloads and removes the context if Mount.context() or Mount.clone() created it in
        this process."""
        owner, self._owner = self._owner, None
        self._closed = True
        self._wake()
        try:
            if owner == os.getpid() and self._is_there():
                self.remove()
        except OSError:
            if self._is_there():  # no other thread or program was faster
                raise
        finally:
            self._msg = self._clone = self._place = None
