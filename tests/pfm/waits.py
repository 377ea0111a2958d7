# SPDX-License-Identifier: MIT
"""Compares the waits of a recording with those that the threads of tests/fs/waiter.c have measured:
waits.py RECORDING LINES STEAL_NS. All times of --wall are the wall time of the thread. While the
hypervisor runs something else, a thread neither waits nor uses CPU time: STEAL_NS is that time. No wait
of a thread begins before the previous one has ended."""
import collections
import struct
import sys

WAITING, PREEMPTED = 2**64 - 1024, 2**64 - 1025
SAMPLE, STACK, EVENT = 5, 8, 2


def records(path):
    with open(path, "rb") as f:
        data = f.read()
    at = 16
    while at < len(data):
        kind, size = struct.unpack_from("=II", data, at)
        yield kind, data[at + 8:at + size]
        at += size


def main(path, lines, steal):
    samples, wall = collections.defaultdict(list), False
    for kind, body in records(path):
        if kind == EVENT:
            wall = b"wall-clock" in body
            assert struct.unpack_from("=Q", body) == (1,)
        if kind in (SAMPLE, STACK):
            time, weight, _, tid, _, frames = struct.unpack_from("=QQIIIH", body)
            samples[tid].append((time, weight, struct.unpack_from("=Q", body, 40)[0] if kind == STACK and frames else 0))
    for own in samples.values():
        last = 0
        for time, weight, _ in sorted(s for s in own if s[2] in (WAITING, PREEMPTED)):
            assert weight and last <= time - weight, (last, time, weight)
            last = time
    for line in lines.splitlines():
        name, tid, start, end, cpu = line.split()[0], *map(int, line.split()[1:])
        own = [s for s in samples[tid] if start < s[0] <= end]
        off = sum(weight for _, weight, first in own if first in (WAITING, PREEMPTED))
        took = end - start
        print(f"{line}: off-CPU {took - cpu}, recorded {off}, all {sum(weight for _, weight, _ in own)} of {took}")
        assert abs(off - (took - cpu)) <= (took - cpu) / 50 + steal
        if name == "computes":
            assert off and not any(first == WAITING for _, _, first in own)
        else:
            assert any(first == WAITING for _, _, first in own)
        if wall:
            # A sample stands for the last ms of CPU time.
            assert abs(sum(weight for _, weight, _ in own) - took) <= took / 50 + 2e6 + steal


main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
