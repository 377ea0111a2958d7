# SPDX-License-Identifier: MIT
"""Live counts: perfmonfs/live.h, and "Live counts" of fs-layout.md."""

from __future__ import annotations

import errno
import mmap
import os
import struct
import time
from typing import NamedTuple, Optional

_PAGE = 4096
_HEADER = struct.Struct("=IIIII4xQ")
_PMD = struct.Struct("=QQIHBB")
_COUNTS, _LOST, _NARROW = 1, 4, 8
_TRIES = 10000


class LiveCount(NamedTuple):
    """The count at the daemon's last update (None if it was lost), and whether the PMD counts while
    its set is active."""

    value: Optional[int]
    counts: bool


class Live:
    """A page of live counts. read() makes no system call. It returns the counts at the daemon's last
    update, since Python cannot execute RDPMC; age() tells how old they are, and reading a PMD forces
    an update. The page stays when its context is removed. The module has no memory barriers, which
    x86 does not need for loads."""

    def __init__(self, page: int, clock: int) -> None:
        """page: a descriptor of `live`. clock: one of PMD 256, which this object closes."""
        self._time: Optional[int] = None
        self._clock: Optional[int] = clock
        try:
            self._memory = self._map(page)
            self._seq = memoryview(self._memory).cast("I")
            self._other_clock = self._has_other_clock()
        except BaseException:
            os.close(clock)
            raise

    def __enter__(self) -> Live:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @staticmethod
    def _map(page: int) -> mmap.mmap:
        try:
            return mmap.mmap(page, _PAGE, mmap.MAP_SHARED, mmap.PROT_READ)
        except OSError as error:
            if error.errno != errno.ENODEV:
                raise
            why = error
        raise OSError(
            errno.ENODEV, "this kernel passes no files through: read live_text()") from why

    def _daemon_ns(self) -> int:
        assert self._clock is not None
        return int(os.pread(self._clock, 32, 0))

    def _has_other_clock(self) -> bool:
        """Only the simulator has another clock than CLOCK_MONOTONIC."""
        before = time.monotonic_ns()
        return not before <= self._daemon_ns() <= time.monotonic_ns()

    def _snapshot(self) -> bytes:
        for _ in range(_TRIES):
            seq = self._seq[0]  # a single load of 4 bytes
            if not seq & 1:
                page = self._memory[:]
                if self._seq[0] == seq:
                    return page
        raise BlockingIOError(
            errno.EAGAIN, "the page changes all the time: the daemon is busy or dead")

    def read(self) -> tuple[Optional[int], dict[int, LiveCount]]:
        """Returns a consistent (CPU on which the set counts now, or None; {PMD: LiveCount})."""
        if self._clock is None:
            raise ValueError("the live page is closed")
        page = self._snapshot()
        _, version, active, cpu, npmds, time_ns = _HEADER.unpack_from(page)
        if version != 1:
            raise ValueError("the live page has version %d, not 1" % version)
        self._time = time_ns if active else None
        found = {}
        for n in range(npmds):
            value, _, _, num, width, flags = _PMD.unpack_from(page, _HEADER.size + n * _PMD.size)
            if flags & _NARROW:
                value &= (1 << width) - 1
            found[num] = LiveCount(None if flags & _LOST else value, bool(flags & _COUNTS))
        return cpu if active else None, found

    def age(self) -> float:
        """Returns the age of the counts of the last read(), in seconds; 0 if they do not change,
        because the set is not active. With a scripted clock it is the model's time, for which the
        context must exist."""
        if self._time is None:
            return 0.0
        now = self._daemon_ns() if self._other_clock else time.monotonic_ns()
        return max(now - self._time, 0) / 1e9

    def close(self) -> None:
        if self._clock is not None:
            os.close(self._clock)
            self._clock = None
            self._seq.release()
            self._memory.close()
