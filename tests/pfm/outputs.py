# SPDX-License-Identifier: MIT
"""Checks what pfm report has written of a recording of the burner, as its readers would take it.

    outputs.py OVERFLOWS PPROF FIREFOX SVG
"""
import gzip
import json
import sys
import xml.etree.ElementTree

FUNCTIONS = {"a", "b", "c"}


def varint(data, at):
    value = shift = 0
    while True:
        value |= (data[at] & 0x7f) << shift
        shift += 7
        at += 1
        if data[at - 1] < 0x80:
            return value, at


def message(data):
    """{field: [numbers, or bytes]} of a protocol buffer message."""
    fields = {}
    at = 0
    while at < len(data):
        key, at = varint(data, at)
        assert key & 7 in (0, 2), "a type that profile.proto does not have"
        value, at = varint(data, at)
        if key & 7 == 2:
            assert at + value <= len(data)
            value, at = data[at:at + value], at + value
        fields.setdefault(key >> 3, []).append(value)
    return fields


def packed(data):
    numbers = []
    at = 0
    while at < len(data):
        number, at = varint(data, at)
        numbers.append(number)
    return numbers


def check_pprof(path, overflows):
    with open(path, "rb") as f:
        data = f.read()
    profile = message(gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data)
    strings = [s.decode() for s in profile[6]]
    assert strings[0] == ""
    types = [[strings[message(t)[n][0]] for n in (1, 2)] for t in profile[1]]
    assert types == [["overflows", "count"], ["task-clock", "nanoseconds"]], types
    functions = {message(f)[1][0]: strings[message(f)[2][0]] for f in profile[5]}
    mappings = {message(m)[1][0]: strings[message(m)[5][0]] for m in profile[3]}
    names = {}
    for entry in map(message, profile[4]):
        assert 2 not in entry or entry[2][0] in mappings
        line = message(entry[4][0]) if 4 in entry else None
        names[entry[1][0]] = functions[line[1][0]] if line else None
    values = [packed(s[2][0]) for s in map(message, profile[2])]
    assert sum(v[0] for v in values) == overflows
    assert sum(v[1] for v in values) == overflows * profile[12][0]
    seen = {names[packed(s[1][0])[0]] for s in map(message, profile[2])}
    assert FUNCTIONS <= seen, seen


def check_table(table, **references):
    """All columns have the table's length, and refer to rows that exist."""
    for name, column in table.items():
        if name not in ("length", "weightType"):
            assert len(column) == table["length"], name
    for name, length in references.items():
        for index in table[name]:
            assert index is None or -1 <= index < length, (name, index)


def check_thread(thread, libs):
    strings = len(thread["stringArray"])
    functions, frames = thread["funcTable"], thread["frameTable"]
    resources, stacks = thread["resourceTable"], thread["stackTable"]
    check_table(functions, name=strings, resource=resources["length"])
    check_table(frames, func=functions["length"], category=3)
    check_table(resources, name=strings, lib=libs)
    check_table(stacks, frame=frames["length"], prefix=stacks["length"], category=3)
    check_table(thread["samples"], stack=stacks["length"])
    check_table(thread["markers"])
    check_table(thread["nativeSymbols"])
    assert thread["samples"]["time"] == sorted(thread["samples"]["time"])
    for row, prefix in enumerate(stacks["prefix"]):
        assert prefix is None or prefix < row
    return sum(thread["samples"]["weight"])


def check_firefox(path, overflows):
    with open(path, encoding="utf-8") as f:
        profile = json.load(f)
    assert profile["meta"]["preprocessedProfileVersion"] == 49
    libs = len(profile["libs"])
    assert sum(check_thread(t, libs) for t in profile["threads"]) == overflows
    names = {s for t in profile["threads"] for s in t["stringArray"]}
    assert FUNCTIONS <= names, names


def check_flamegraph(path, overflows):
    svg = xml.etree.ElementTree.parse(path).getroot()
    assert svg.tag == "{http://www.w3.org/2000/svg}svg"
    frames = {g.get("data-n"): g for g in svg.iter() if g.get("class") == "f"}
    assert {"all", "burner"} | FUNCTIONS <= set(frames), set(frames)
    assert "%d overflows" % overflows in frames["all"][0].text
    for g in frames.values():
        assert 0 <= float(g.get("data-x")) <= float(g.get("data-x")) + float(g.get("data-w")) < 1.0001


check_pprof(sys.argv[2], int(sys.argv[1]))
check_firefox(sys.argv[3], int(sys.argv[1]))
check_flamegraph(sys.argv[4], int(sys.argv[1]))
