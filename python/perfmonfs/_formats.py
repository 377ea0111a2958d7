# SPDX-License-Identifier: MIT
"""Sampling formats: perfmonfs/smpl_*.h, and "Sampling formats" of fs-layout.md."""

from __future__ import annotations

import enum
import mmap
import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, Optional, Union

from ._values import Word

Memory = Union[bytes, mmap.mmap]
Lists = Mapping[tuple[int, int], Sequence[int]]

_MAJOR = 1  # of the layouts of all formats
_START = 128  # offset of what follows a header
_TAG, _NWAY_TAG = 120, 84  # offsets
_VIRTUAL = 256  # the first PMD that may be unavailable
_UNAVAILABLE = 2 ** 64 - 1
_TRIES = 1000


class FoundBy(enum.IntEnum):
    """How overflows are found."""

    NOT_STARTED = 0
    INTERRUPTS = 1
    POLLING = 2


class Source(NamedTuple):
    """How overflows are found, the most ns from an overflow to the moment of its address, the samples
    that the kernel had no room for, how often it has stopped a counter, and the number of gaps."""

    found_by: FoundBy
    skew_ns: int
    dropped: int
    throttled: int
    gaps: int


class Level(Word):
    """Where the code of a frame runs."""

    KERNEL = "kernel"
    USER = "user"
    HYPERVISOR = "hypervisor"


class Frame(NamedTuple):
    """A frame of a call chain: the instruction pointer, or else a return address."""

    level: Optional[Level]
    address: int


class UserState(NamedTuple):
    """A thread at user level: registers by name, and its stack from registers["sp"] on. abi is 1 for
    programs of 32 bits, 2 for programs of 64 bits."""

    abi: int
    registers: dict[str, int]
    stack: bytes


@dataclass
class Sample:
    """A sample of count overflows of a PMD, with the place of the last one. values is {PMD: value} of
    the PMDs in its list smpl; a virtual PMD that was unavailable has None. frames are from the
    innermost on. cut: the stack has more frames. user is there with the parameter user_stack."""

    pmd: int
    count: int
    last_reset: int
    ip: int
    time_ns: int
    cpu: int
    set: int
    pid: int
    tid: int
    values: dict[int, Optional[int]]
    frames: tuple[Frame, ...] = ()
    cut: bool = False
    user: Optional[UserState] = None


class Body(NamedTuple):
    """A sample of "default" with no_hdr or iip_hdr: no_hdr has no ip."""

    ip: Optional[int]
    values: dict[int, Optional[int]]


class EventKind(Word):
    """What a process did."""

    EXEC = "exec"
    MMAP = "mmap"
    COMM = "comm"
    EXIT = "exit"
    WAIT = "wait"


class ProcessEvent(NamedTuple):
    """An event of a process. address, length and offset are those of a mapping, name is its file or
    the command. WAIT: the thread has waited for length ns, which is 0 if that is not known, until time_ns;
    address is 1 if it was preempted."""

    kind: EventKind
    pid: int
    tid: int
    time_ns: int
    address: int
    length: int
    offset: int
    name: str


class GapRecord(NamedTuple):
    """Samples may be missing at this place. gaps is the number of gaps until here."""

    gaps: int


class HistEntry(NamedTuple):
    """The overflows (weight) at one place, and how often they were found (samples)."""

    weight: int
    samples: int
    ip: int
    pid: int
    set: int
    pmd: int


class PartState(enum.IntEnum):
    """The state of a part of "nway"."""

    FREE = 0
    FILLING = 1
    FULL = 2
    HELD = 3


class Part(NamedTuple):
    """A part of "nway". seq counts the fillings of all parts."""

    seq: int
    state: PartState
    samples: list[Sample]
    gap: Optional[int]


Record = Union[Sample, ProcessEvent, GapRecord]


@dataclass
class Buffer:
    """The contents of a sampling buffer. Fields that a format does not have are empty, or 0.

    overflows: how often the buffer (nway: a part) became full. lost: overflows without a sample.
    counts_lost: counts that were lost; from then on, samples are missing. gap: samples may be missing
    before samples[gap]; parts and records have places of their own. bodies: samples without entry.
    records: samples and events of "correlate" and "profile" in their order. entries: of "hist".
    """

    format: str
    size: int
    overflows: int
    lost: int
    counts_lost: int
    source: Source
    samples: list[Sample] = field(default_factory=list)
    gap: Optional[int] = None
    bodies: list[Body] = field(default_factory=list)
    records: list[Record] = field(default_factory=list)
    lost_events: int = 0
    entries: list[HistEntry] = field(default_factory=list)
    parts: list[Part] = field(default_factory=list)
    lost_parts: int = 0
    lost_samples: int = 0


_SOURCE = struct.Struct("=IIQQQ")
_ENTRY = struct.Struct("=IHHQQQHHI")


def _source(memory: Memory, at: int) -> Source:
    found_by, *rest = _SOURCE.unpack_from(memory, at)
    return Source(FoundBy(found_by), *rest)


def _place(number: int) -> Optional[int]:
    """Returns the index of a sample that is counted from 1, or None for 0."""
    return number - 1 if number else None


def _check(memory: Memory, format: str, version: int) -> None:
    """The header has the first letters of the format's name, or 0."""
    tag = struct.unpack_from("=I", memory, _NWAY_TAG if format == "nway" else _TAG)[0]
    if tag and tag != int.from_bytes(format[:4].encode(), "little"):
        raise ValueError("the buffer is not of the format %s: its tag is %#x" % (format, tag))
    if version >> 16 != _MAJOR:
        raise ValueError("layout %d.%d, not %d" % (version >> 16, version & 0xffff, _MAJOR))


def _values(memory: Memory, at: int, pmds: Sequence[int]) -> dict[int, Optional[int]]:
    values = struct.unpack_from("=%dQ" % len(pmds), memory, at)
    return {pmd: None if pmd >= _VIRTUAL and value == _UNAVAILABLE else value
            for pmd, value in zip(sorted(pmds), values)}


def _list_of(sampled: Lists, number: int, pmd: int) -> Sequence[int]:
    if (number, pmd) not in sampled:
        raise ValueError("a sample of PMD %d in set %d, which has no list smpl" % (pmd, number))
    return sampled[number, pmd]


def _sample(memory: Memory, at: int, sampled: Lists) -> tuple[Sample, int]:
    """Returns a sample of "default", and the offset after it."""
    tid, pmd, n, last_reset, ip, now, cpu, number, pid = _ENTRY.unpack_from(memory, at)
    pmds = _list_of(sampled, number, pmd)
    at += _ENTRY.size
    sample = Sample(pmd, n, last_reset, ip, now, cpu, number, pid, tid, _values(memory, at, pmds))
    return sample, at + 8 * len(pmds)


_STACK = struct.Struct("=HHHH")
_MARKER = 2 ** 64 - 4095
_LEVELS = {2 ** 64 - 128: Level.KERNEL, 2 ** 64 - 512: Level.USER, 2 ** 64 - 32: Level.HYPERVISOR}
_CUT = 1
_USER = 2
_STATE = struct.Struct("=II17Q")
_REGISTERS = "ax bx cx dx si di bp sp ip r8 r9 r10 r11 r12 r13 r14 r15".split()
_EARLIER = 3


def _chain(frames: Sequence[int]) -> tuple[Frame, ...]:
    found, level = [], None
    for frame in frames:
        if frame >= _MARKER:
            level = _LEVELS.get(frame)
        else:
            found.append(Frame(level, frame))
    return tuple(found)


def _stack_sample(memory: Memory, at: int, sampled: Lists) -> tuple[Sample, int]:
    """Returns a sample of "stack", and the offset after it."""
    tid, pmd, n, last_reset, ip, now, cpu, number, pid = _ENTRY.unpack_from(memory, at)
    npmds, nframes, how, flags = _STACK.unpack_from(memory, at + _ENTRY.size)
    if how == _EARLIER:  # the ip is not where the thread was at the overflow
        ip = 0
    at += _ENTRY.size + _STACK.size
    pmds = _list_of(sampled, number, pmd)
    if len(pmds) != npmds:
        raise ValueError("a sample has %d values, and its list smpl %d" % (npmds, len(pmds)))
    frames = struct.unpack_from("=%dQ" % nframes, memory, at + 8 * npmds)
    sample = Sample(pmd, n, last_reset, ip, now, cpu, number, pid, tid, _values(memory, at, pmds),
                    _chain(frames), bool(flags & _CUT))
    at += 8 * (npmds + nframes)
    if flags & _USER:
        abi, size, *registers = _STATE.unpack_from(memory, at)
        at += _STATE.size + size
        sample.user = UserState(abi, dict(zip(_REGISTERS, registers)), bytes(memory[at - size:at]))
    return sample, at


_Parser = Callable[[Memory, int, Lists], tuple[Sample, int]]


def _samples(
        memory: Memory, at: int, end: int, count: int, sampled: Lists,
        parse: _Parser) -> list[Sample]:
    found = []
    for _ in range(count):
        if at >= end:
            break
        sample, at = parse(memory, at, sampled)
        found.append(sample)
    if at != end or len(found) != count:
        raise ValueError("the samples do not end where they should: not these lists smpl")
    return found


_DEFAULT = struct.Struct("=QQQQQIIQQ")
_NO_HDR, _IIP_HDR = 1, 2


def _bodies(memory: Memory, end: int, count: int, sampled: Lists, with_ip: bool) -> list[Body]:
    """Only one list smpl is possible: the samples do not say which PMD has overflowed."""
    lists = {tuple(sorted(pmds)) for pmds in sampled.values()}
    if count and len(lists) != 1:
        raise ValueError("samples without entry, of PMDs with different lists smpl")
    pmds = lists.pop() if lists else ()
    found, at = [], _START
    for _ in range(count):
        ip = struct.unpack_from("=Q", memory, at)[0] if with_ip else None
        at += 8 * with_ip
        found.append(Body(ip, _values(memory, at, pmds)))
        at += 8 * len(pmds)
    if at != end:
        raise ValueError("the samples do not end where they should: not this list smpl")
    return found


def _parse_default(memory: Memory, sampled: Lists, _filling: bool) -> Buffer:
    count, end, overflows, size, _, version, flags, lost, gone = _DEFAULT.unpack_from(memory)
    _check(memory, "default", version)
    gap = _place(struct.unpack_from("=Q", memory, 96)[0])
    buffer = Buffer("default", size, overflows, lost, gone, _source(memory, 64), gap=gap)
    if flags & (_NO_HDR | _IIP_HDR):
        buffer.bodies = _bodies(memory, end, count, sampled, bool(flags & _IIP_HDR))
    else:
        buffer.samples = _samples(memory, _START, end, count, sampled, _sample)
    return buffer


def _parse_stack(memory: Memory, sampled: Lists, _filling: bool) -> Buffer:
    count, end, overflows, size, _, version, _, lost, gone = _DEFAULT.unpack_from(memory)
    _check(memory, "stack", version)
    gap = _place(struct.unpack_from("=Q", memory, 104)[0])
    samples = _samples(memory, _START, end, count, sampled, _stack_sample)
    return Buffer("stack", size, overflows, lost, gone, _source(memory, 64), samples, gap)


_NWAY = struct.Struct("=QQQQQQQQIIIIIIQ")
_PART = struct.Struct("=QQQII")


def _part(memory: Memory, record: int, at: int, sampled: Lists, filling: bool) -> Optional[Part]:
    """Returns a part, or None if there is nothing to read in it, or it was refilled meanwhile."""
    before = _PART.unpack_from(memory, record)
    seq, count, size, code, gap = before
    state = PartState(code)
    if not count or state == PartState.FREE or state == PartState.FILLING and not filling:
        return None
    copy = memory[at:at + size]
    if _PART.unpack_from(memory, record) != before:
        return None
    return Part(seq, state, _samples(copy, 0, size, count, sampled, _sample), _place(gap))


def _parse_nway(memory: Memory, sampled: Lists, filling: bool) -> Buffer:
    (overflows, lost_parts, lost_samples, lost, size, first, part_size, _, version, _, nparts, *_,
     gone) = _NWAY.unpack_from(memory)
    _check(memory, "nway", version)
    parts = [_part(memory, _START + n * _PART.size, first + n * part_size, sampled, filling)
             for n in range(nparts)]
    found = sorted((part for part in parts if part), key=lambda part: part.seq)
    samples = [sample for part in found for sample in part.samples]
    return Buffer("nway", size, overflows, lost, gone, _source(memory, 96), samples, parts=found,
                  lost_parts=lost_parts, lost_samples=lost_samples)


_HIST = struct.Struct("=QQQQQQQQIIQ")
_HIST_ENTRY = struct.Struct("=QQQIHH")
_CLEARS = 48  # offset


def _parse_hist(memory: Memory, _sampled: Lists, _filling: bool) -> Buffer:
    for _ in range(_TRIES):
        clears = struct.unpack_from("=Q", memory, _CLEARS)[0]
        copy = memory[:]
        if clears % 2 == 0 and struct.unpack_from("=Q", memory, _CLEARS)[0] == clears:
            break
    else:
        raise BlockingIOError("the buffer is being cleared all the time")
    _, slots, _, _, _, dropped, _, size, version, _, gone = _HIST.unpack_from(copy)
    _check(copy, "hist", version)
    table = copy[_START:_START + slots * _HIST_ENTRY.size]
    entries = [HistEntry(*entry) for entry in _HIST_ENTRY.iter_unpack(table)]
    return Buffer("hist", size, 0, dropped, gone, _source(copy, 80),
                  entries=[entry for entry in entries if entry.weight])


_CORRELATE = struct.Struct("=QQQQQIIQQQ")
_RECORD = struct.Struct("=II")
_EVENT = struct.Struct("=IIQQQQ")
_EVENTS = {2: EventKind.EXEC, 3: EventKind.MMAP, 4: EventKind.COMM, 5: EventKind.EXIT,
           9: EventKind.WAIT}
_SAMPLES: dict[int, _Parser] = {1: _sample, 6: _stack_sample}
_GAP = 7


def _record(memory: Memory, at: int, end: int, kind: int, sampled: Lists) -> Optional[Record]:
    """Returns the record without its type and size from at to end, or None for an unknown type."""
    if kind in _SAMPLES:
        sample, last = _SAMPLES[kind](memory, at, sampled)
        if last != end:
            raise ValueError("a sample does not end where it should: not these lists smpl")
        return sample
    if kind == _GAP:
        return GapRecord(struct.unpack_from("=Q", memory, at)[0])
    if kind not in _EVENTS:
        return None
    pid, tid, now, address, length, offset = _EVENT.unpack_from(memory, at)
    name = memory[at + _EVENT.size:end].partition(b"\0")[0].decode(errors="surrogateescape")
    return ProcessEvent(_EVENTS[kind], pid, tid, now, address, length, offset, name)


def _parse_records(memory: Memory, sampled: Lists, format: str) -> Buffer:
    (count, end, overflows, size, _, version, _, lost, lost_events,
     gone) = _CORRELATE.unpack_from(memory)
    _check(memory, format, version)
    buffer = Buffer(
        format, size, overflows, lost, gone, _source(memory, 72), lost_events=lost_events)
    at = _START
    for _ in range(count):
        kind, length = _RECORD.unpack_from(memory, at)
        if length < _RECORD.size or at + length > end:
            raise ValueError("a record at %d has %d bytes" % (at, length))
        record = _record(memory, at + _RECORD.size, at + length, kind, sampled)
        if record is not None:
            buffer.records.append(record)
        at += length
    buffer.samples = [record for record in buffer.records if isinstance(record, Sample)]
    return buffer


def _parse_correlate(memory: Memory, sampled: Lists, _filling: bool) -> Buffer:
    return _parse_records(memory, sampled, "correlate")


def _parse_profile(memory: Memory, sampled: Lists, _filling: bool) -> Buffer:
    return _parse_records(memory, sampled, "profile")


_PARSERS = {
    "default": _parse_default, "nway": _parse_nway, "hist": _parse_hist, "stack": _parse_stack,
    "correlate": _parse_correlate, "profile": _parse_profile,
}


def parse_samples(
        memory: Memory, sampled: Lists, format: str = "default", filling: bool = False) -> Buffer:
    """Parses a buffer. sampled is {(SET, PMD): its list smpl}. filling: also the part of "nway" that
    is being filled, which is complete if the context does not count."""
    if format not in _PARSERS:
        raise ValueError("this module cannot read the format %s: use buffer()" % format)
    try:
        return _PARSERS[format](memory, sampled, filling)
    except struct.error as error:
        raise ValueError("the buffer is too short: %s" % error) from error
