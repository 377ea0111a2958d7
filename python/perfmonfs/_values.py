# SPDX-License-Identifier: MIT
"""The values that files of the tree show: states, flags, messages, lines."""

from __future__ import annotations

import enum
import struct
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple, Optional, Union


class Word(str, enum.Enum):
    """A word of the tree. It equals its text."""

    def __str__(self) -> str:
        return str(self.value)


class StateKind(Word):
    """The first word of `state`."""

    UNLOADED = "unloaded"
    LOADED = "loaded"
    RUNNING = "running"
    MASKED = "masked"
    YIELDED = "yielded"
    ZOMBIE = "zombie"


class ContextFlag(Word):
    """A flag of a context."""

    SYSTEM_WIDE = "system_wide"
    NOTIFY_BLOCK = "notify_block"
    OVFL_NO_MSG = "ovfl_no_msg"
    RAW = "raw"
    GAPS = "gaps"
    BACKGROUND = "background"


class SetFlag(Word):
    """A flag of an event set."""

    OVFL_SWITCH = "ovfl_switch"
    TIME_SWITCH = "time_switch"
    EXPL_NEXT = "expl_next"
    EXCL_IDLE = "excl_idle"


class MessageKind(Word):
    """The kind of a message."""

    OVERFLOW = "overflow"
    END = "end"
    LOST = "lost"
    THROTTLE = "throttle"
    COUNT_LOST = "count_lost"
    SAMPLES_DROPPED = "samples_dropped"
    GAP = "gap"


def to_list(numbers: Iterable[int]) -> str:
    """Returns a LIST of registers or CPUs."""
    return ",".join(str(n) for n in numbers)


def of_list(text: str) -> tuple[int, ...]:
    """Returns the numbers of a LIST like 0-3,16."""
    if text in ("", "none"):
        return ()
    found: list[int] = []
    for part in text.split(","):
        first, _, last = part.partition("-")
        found += range(int(first), int(last or first) + 1)
    return tuple(found)


def of_flags(text: str) -> frozenset[str]:
    """Returns the words of a file `flags`."""
    return frozenset(text.split()) - {"none"}


def options(words: Iterable[str]) -> dict[str, str]:
    """Returns the options KEY=VALUE of a line, and its other words with the value ""."""
    return {key: value for key, _, value in (word.partition("=") for word in words)}


@dataclass(frozen=True)
class State:
    """A state of a context. Its text is the line of the file `state`."""

    kind: StateKind
    cpu: Optional[int] = None
    tid: Optional[int] = None
    set: Optional[int] = None  # the active event set
    throttled: bool = False
    then: Optional[str] = None  # yielded: "stopped" or "masked", unless it will count
    gaps: int = 0
    lost: bool = False
    text: str = ""

    def __str__(self) -> str:
        return self.text


def of_state(text: str) -> State:
    kind, *words = text.split()
    found = options(words)
    number = {key: int(value) for key, value in found.items() if value}
    return State(
        StateKind(kind), number.get("cpu"), number.get("tid"), number.get("set"),
        "throttled" in found, next((w for w in ("stopped", "masked") if w in found), None),
        number.get("gaps", 0), "lost" in found, text)


# Messages: perfmonfs/msg.h

_MESSAGE = struct.Struct("=IIHHIQ5Q")
MESSAGE_BYTES = _MESSAGE.size
_KINDS = {
    1: MessageKind.OVERFLOW, 2: MessageKind.END, 0x100: MessageKind.LOST,
    0x101: MessageKind.THROTTLE, 0x102: MessageKind.COUNT_LOST, 0x103: MessageKind.SAMPLES_DROPPED,
    0x104: MessageKind.GAP,
}


@dataclass(frozen=True)
class Message:
    """A message. kind is a number if this module does not know it. pid, tid and ip are 0 if they are
    unknown. lost is the number of messages that found no room, of the kind LOST."""

    kind: Union[MessageKind, int]
    pid: int = 0
    set: int = 0
    cpu: int = 0
    tid: int = 0
    ip: int = 0
    pmds: tuple[int, ...] = ()
    lost: int = 0


def _bits(vector: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(n for n in range(64 * len(vector)) if vector[n // 64] >> n % 64 & 1)


def parse_messages(records: bytes) -> list[Message]:
    """Returns the messages in records, bytes that were read from msg."""
    found = []
    for code, pid, number, cpu, tid, last, *pmds in _MESSAGE.iter_unpack(records):
        kind = _KINDS.get(code, code)
        lost = last if kind == MessageKind.LOST else 0
        ip = 0 if kind == MessageKind.LOST else last
        found.append(Message(kind, pid, number, cpu, tid, ip, _bits(tuple(pmds)), lost))
    return found


class Gaps(NamedTuple):
    """The gaps of a count, and the time in ns that is missing in it."""

    number: int
    uncertain_ns: int


def of_gaps(words: Iterable[str]) -> Optional[Gaps]:
    found = options(words)
    if "gaps" not in found:
        return None
    return Gaps(int(found["gaps"]), int(found["uncertain"]))


@dataclass(frozen=True)
class Total:
    """The sums over a context and its children: total[SET, PMD] is a count. active_ns are the times
    of the sets. elapsed_ns is the time since the first start; None before it."""

    counts: dict[tuple[int, int], int]
    gaps: dict[tuple[int, int], Gaps]
    active_ns: dict[int, int]
    elapsed_ns: Optional[int]

    def __getitem__(self, key: tuple[int, int]) -> int:
        return self.counts[key]


def of_total(text: str) -> Total:
    total = Total({}, {}, {}, None)
    elapsed = None
    for line in text.splitlines():
        words = line.split()
        number = int(words.pop(0)[4:]) if words[0].startswith("set=") else 0
        key, value, *rest = words
        if key == "elapsed_ns":
            elapsed = int(value)
        elif key == "active_ns":
            total.active_ns[number] = int(value)
        elif key.startswith("pmd"):
            total.counts[number, int(key[3:])] = int(value)
            gaps = of_gaps(rest)
            if gaps:
                total.gaps[number, int(key[3:])] = gaps
    return Total(total.counts, total.gaps, total.active_ns, elapsed)


@dataclass(frozen=True)
class Overflows:
    """The overflows of a PMD since it was written, the value last loaded into it, and the rest of
    its threshold."""

    overflows: int
    last_reset: int
    thresh_left: int


@dataclass(frozen=True)
class RegisterInfo:
    """A line of pmu/pmcs or pmu/pmds. words are the words after the mask of reserved bits."""

    number: int
    name: str
    type: str
    address: int
    default: int
    reserved: int
    words: tuple[str, ...] = ()


def of_register(line: str) -> RegisterInfo:
    number, name, kind, address, default, reserved, *words = line.split()
    return RegisterInfo(int(number), name, kind, int(address, 0), int(default, 0),
                        int(reserved, 0), tuple(words))


@dataclass(frozen=True)
class Reading:
    """A free-running register. value is None if it is missing; missing says why: "offline" or the
    name of an errno."""

    name: str
    unit: str
    scope: str
    number: int
    value: Optional[int]
    missing: str = ""


def of_reading(line: str) -> Reading:
    name, unit, scope, number, value, *missing = line.split()
    return Reading(name, unit, scope, int(number), None if value == "-" else int(value),
                   " ".join(missing))


@dataclass(frozen=True)
class Cpu:
    """A line of the file `cpus` about a CPU. free: the line says so. context is loaded there, by the
    thread tid of the user uid; the context yielded has yielded. text is the line."""

    number: int
    online: bool
    free: bool
    context: Optional[str]
    uid: Optional[int]
    tid: Optional[int]
    yielded: Optional[str]
    type: Optional[str]
    text: str


@dataclass(frozen=True)
class Thread:
    """A line of the file `cpus` about a thread: its context, and the thread that loaded it."""

    tid: int
    context: str
    uid: int
    loader: int


def of_cpus(text: str) -> tuple[list[Cpu], list[Thread]]:
    cpus, threads = [], []
    for line in text.splitlines():
        first, second, *words = line.split()
        found = options(words)
        if first.isdigit():
            owner = words[:1] != [] and words[0].startswith("context=")
            cpus.append(Cpu(
                int(first), second == "online", words[:1] == ["free"],
                found["context"] if owner else None, int(found["uid"]) if owner else None,
                int(found["pid"]) if owner else None, found.get("yielded"), found.get("type"),
                line))
        elif first == "thread":
            threads.append(Thread(
                int(second), found["context"], int(found["uid"]), int(found["pid"])))
    return cpus, threads
