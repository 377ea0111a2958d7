# SPDX-License-Identifier: MIT
"""Compares the waits of a recording with those that the threads of tests/fs/waiter.c have measured:
waits.py RECORDING LINES STEAL_NS. All times of --wall are the wall time of the thread. While the
hypervisor runs something else, a thread neither waits nor uses CPU time: STEAL_NS is that time. No wait
of a thread begins before the previous one has ended. While a full buffer waits to be read, which takes
long on a busy machine, CPU time is not sampled, but waits are recorded. What the recording says to have
lost may be missing."""
import collections
import struct
import sys

WAITING, PREEMPTED = 2**64 - 1024, 2**64 - 1025
SAMPLE, STACK, EVENT, LOST = 5, 8, 2, 6
# A buffer that never was full: bytes of its records, with what each has there besides its bytes in the file.
ROOM, MORE = 100000, 72


def records(path):
    with open(path, "rb") as f:
        data = f.read()
    at = 16
    while at < len(data):
        kind, size = struct.unpack_from("=II", data, at)
        yield kind, data[at + 8:at + size]
        at += size


def main(path, lines, steal):
    samples, room, wall, lost = collections.defaultdict(list), collections.Counter(), False, False
    for kind, body in records(path):
        lost |= kind == LOST
        if kind == EVENT:
            wall = b"wall-clock" in body
            assert struct.unpack_from("=Q", body) == (1,)
        if kind in (SAMPLE, STACK):
            time, weight, _, tid, _, frames = struct.unpack_from("=QQIIIH", body)
            room[tid] += len(body) + MORE
            first = struct.unpack_from("=Q", body, 40)[0] if kind == STACK and frames else 0
            samples[tid].append((time, weight, first))
    for own in samples.values():
        last = 0
        for time, weight, _ in sorted(s for s in own if s[2] in (WAITING, PREEMPTED)):
            assert weight and last <= time - weight, (last, time, weight)
            last = time
    for line in lines.splitlines():
        name, tid, start, end, cpu = line.split()[0], *map(int, line.split()[1:])
        own = [s for s in samples[tid] if start < s[0] <= end]
        waited, preempted = (sum(weight for _, weight, first in own if first == state)
                             for state in (WAITING, PREEMPTED))
        off, took = waited + preempted, end - start
        print(f"{line}: off-CPU {took - cpu}, recorded {off}, all {sum(weight for _, weight, _ in own)} of {took}")
        assert off <= (took - cpu) * 1.02 + steal
        assert lost or off >= (took - cpu) * 0.98 - steal
        # A page fault may wait, too.
        assert preempted > waited if name == "computes" else waited
        if wall:
            # A sample stands for the last ms of CPU time.
            over = sum(weight for _, weight, _ in own) - took
            assert over <= took / 50 + 2e6 + steal
            assert lost or room[tid] >= ROOM or over >= -took / 50 - 2e6 - steal


main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
