# SPDX-License-Identifier: MIT
"""Access to perfmonfs: contexts, registers, event sets, messages, sampling buffers, live counts.

    import perfmonfs

    with perfmonfs.Mount("/mnt").context() as ctx:
        ctx.pmc[0] = "page-faults:u"
        ctx.load(cpu=1)
        ctx.start()
        ...
        ctx.stop()
        print(ctx.pmd[0])

The module reads and writes files of the mount, which fs-layout.md describes. Any file can be read and
written by its name: mount.read("metrics/node.prom"). It requires Python 3.9.

Errors are OSError with the daemon's errno. The text is the daemon's sentence, which says what to do
next, or else that of the errno. The sentence of a failed write is its own. That of a failed read is
in last_error, where an error in another thread replaces it.

After fork, parent and child have the same contexts. Only the process that created a context removes
it.
"""

from ._context import Context, EventSet, Pmcs, Pmds
from ._formats import (
    Body, Buffer, EventKind, FoundBy, Frame, GapRecord, HistEntry, Level, Part, PartState,
    ProcessEvent, Sample, Source, UserState, parse_samples)
from ._live import Live, LiveCount
from ._mount import Config, Mount, Pmu, find_mount
from ._region import region
from ._values import (
    ContextFlag, Cpu, Gaps, Message, MessageKind, Overflows, Reading, RegisterInfo, SetFlag, State,
    StateKind, Thread, Total, parse_messages)

__all__ = [
    "Body", "Buffer", "Config", "Context", "ContextFlag", "Cpu", "EventKind", "EventSet",
    "FoundBy", "Frame", "GapRecord", "Gaps", "HistEntry", "Level", "Live", "LiveCount",
    "Message", "MessageKind", "Mount", "Overflows", "Part", "PartState", "Pmcs", "Pmds", "Pmu",
    "ProcessEvent", "Reading", "RegisterInfo", "Sample", "SetFlag", "Source", "State",
    "StateKind", "Thread", "Total", "UserState", "find_mount", "parse_messages", "parse_samples", "region",
]
