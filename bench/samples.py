# SPDX-License-Identifier: MIT
"""Writes one recording twice, as DIR/pfm.data and as DIR/perf.data: samples.py DIR SAMPLES FRAMES STACKS.

SAMPLES samples, each with one of STACKS different call chains of FRAMES frames in DIR/functions.so, which has 1000
functions with 4 addresses each. The frames of a chain are random, so that chains share little more than their outermost callers.
"""
import os
import random
import struct
import subprocess
import sys

FUNCTIONS, SIZE, BASE, PID, PERIOD = 1000, 64, 0x7f0000000000, 4711, 1000000
USER = 2**64 - 512


def make_object(directory):
    """Compiles the functions. Returns the file's name, its build ID, and the first function's offset."""
    path = os.path.join(directory, "functions.so")
    code = "".join(f".globl f{i}\n.type f{i},@function\nf{i}: .skip {SIZE},0x90\n.size f{i},{SIZE}\n"
                   for i in range(FUNCTIONS))
    subprocess.run(["gcc", "-shared", "-nostdlib", "-Wl,--build-id=sha1", "-x", "assembler", "-", "-o", path],
                   input=".text\n" + code, text=True, check=True)
    notes = subprocess.run(["readelf", "-n", path], capture_output=True, text=True, check=True).stdout
    symbols = subprocess.run(["nm", "-D", path], capture_output=True, text=True, check=True).stdout
    first = next(line.split()[0] for line in symbols.splitlines() if line.endswith(" f0"))
    return path, bytes.fromhex(notes.split("Build ID: ")[1].split()[0]), int(first, 16)


def chains(frames, stacks, first):
    """The chains, from the innermost address on, as bytes."""
    made = set()
    while len(made) < stacks:
        made.add(struct.pack(f"={frames}Q", *(BASE + first + SIZE * random.randrange(FUNCTIONS) + random.randrange(8, SIZE, 16)
                                              for _ in range(frames))))
    return sorted(made)


def text(s):
    """A string with its NUL, filled to a multiple of 8 bytes."""
    return s.encode() + bytes(8 - len(s.encode()) % 8)


def names_of(name, build_id, first):
    """The bodies of the records with the names of the functions, as pfm record finds them: (type, body)."""
    strings = b"".join(s.encode() + b"\0" for s in ["", *(f"f{i}" for i in range(FUNCTIONS))])
    yield 12, struct.pack("=II", FUNCTIONS + 1, 0) + strings
    yield 11, struct.pack("=IIIIB20s", 0, 0, 0, 0, 20, build_id) + os.path.abspath(name).encode() + b"\0"
    # A return address is looked up one byte before.
    places = [(SIZE * i + at - before, i, at - before)
              for i in range(FUNCTIONS) for at in range(8, SIZE, 16) for before in (0, 1)]
    yield 13, struct.pack("=II", 0, len(places)) + b"".join(
        struct.pack("=QQIIIIII", first + offset, first + offset, i + 1, within, 0, 0, 0, 0) for offset, i, within in places)


def write_pfm(path, samples, frames, functions):
    name, build_id, first = functions

    def record(kind, body):
        body += bytes(-len(body) % 8)
        return struct.pack("=II", kind, 8 + len(body)) + body

    with open(path, "wb") as f:
        f.write(struct.pack("=8sII", b"PFMDATA\n", 2, 0x01020304))
        f.write(record(1, b"command bench\naddresses interrupt\n\0"))
        f.write(record(2, struct.pack("=QQ", PERIOD, 0) + b"task-clock\0"))
        f.write(record(3, struct.pack("=QIII", 1, PID, PID, 0) + b"bench\0"))
        f.write(record(4, struct.pack("=QQQQIB20s", 1, BASE, os.path.getsize(name), 0, PID, 20, build_id)
                       + os.path.abspath(name).encode() + b"\0"))
        for i, chain in enumerate(samples):
            fields = 1000 + i * PERIOD, 1, PID, PID, i % 2
            if frames > 1:
                f.write(struct.pack("=IIQQIIIIIIQ", 8, 56 + len(chain), *fields, frames + 1, 0, 0, USER) + chain)
            else:
                f.write(struct.pack("=IIQQIIII", 5, 48, *fields, 1) + chain)
        for kind, body in names_of(name, build_id, first):
            f.write(record(kind, body))
        f.write(record(7, struct.pack("=Q", 2**62)))


def write_perf(path, samples, frames, functions):
    """IP, TID, TIME, CALLCHAIN, CPU and PERIOD of perf_event_open(2)."""
    def record(kind, misc, body):
        return struct.pack("=IHH", kind, misc, 8 + len(body)) + body

    sample_type = 1 | 2 | 4 | 128 | 256 | (32 if frames > 1 else 0)
    attr = struct.pack("=IIQQQQQ", 1, 128, 1, PERIOD, sample_type, 0, 0).ljust(128, b"\0")
    with open(path, "wb") as f:
        f.write(bytes(104) + attr + struct.pack("=QQ", 0, 0))
        begin = f.tell()
        f.write(record(3, 0, struct.pack("=II", PID, PID) + text("bench")))
        f.write(record(1, 2, struct.pack("=IIQQQ", PID, PID, BASE, os.path.getsize(functions[0]), 0)
                       + text(os.path.abspath(functions[0]))))
        for i, chain in enumerate(samples):
            body = chain[:8] + struct.pack("=IIQIIQ", PID, PID, 1000 + i * PERIOD, i % 2, 0, PERIOD)
            if frames > 1:
                body += struct.pack("=QQ", frames + 1, USER) + chain
            f.write(record(9, 2, body))
        end = f.tell()
        f.seek(0)
        f.write(struct.pack("=8sQQQQQQQQQ", b"PERFILE2", 104, 144, 104, 144, begin, end - begin, 0, 0, 0))


def main(directory, nsamples, frames, stacks):
    random.seed(1)
    functions = make_object(directory)
    known = chains(frames, stacks, functions[2])
    samples = [known[i] if i < stacks else random.choice(known) for i in range(nsamples)]
    random.shuffle(samples)
    write_pfm(os.path.join(directory, "pfm.data"), samples, frames, functions)
    write_perf(os.path.join(directory, "perf.data"), samples, frames, functions)


main(sys.argv[1], *map(int, sys.argv[2:]))
