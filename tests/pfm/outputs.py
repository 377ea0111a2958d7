# SPDX-License-Identifier: MIT
"""Checks what pfm report has written of a recording, as its readers would take it: all have these
functions, and the same stacks.

    outputs.py FUNCTION,... OVERFLOWS PPROF FIREFOX SVG SCRIPT FOLDED PAGE [UNIT EVENT]
"""
import collections
import gzip
import json
import re
import sys
import xml.etree.ElementTree

import page

FUNCTIONS = set(sys.argv[1].split(","))
UNIT, EVENT = sys.argv[9:] or ("overflows", "task-clock")


def plain(name):
    """A name in all formats: some have addresses, or marks of the kernel and of inlined functions."""
    name = re.sub(r"_\[[ki]\]$", "", name or "[unknown]")
    return "[unknown]" if name.startswith("0x") else name


def stack_of(names):
    """Plain names; addresses that are no functions are one, as in the folded stacks."""
    stack = list(map(plain, names))
    return tuple(n for i, n in enumerate(stack) if n != "[unknown]" or i == 0 or stack[i - 1] != n)


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
    assert types == [[UNIT, "nanoseconds" if UNIT == "ns" else "count"], [EVENT, "nanoseconds"]], types
    functions = {message(f)[1][0]: strings[message(f)[2][0]] for f in profile[5]}
    mappings = {message(m)[1][0]: strings[message(m)[5][0]] for m in profile[3]}
    names = {}
    for entry in map(message, profile[4]):
        assert 2 not in entry or entry[2][0] in mappings
        # The innermost of the functions is the first.
        names[entry[1][0]] = [functions[message(line)[1][0]] for line in entry.get(4, [])] or [None]
    values = [packed(s[2][0]) for s in map(message, profile[2])]
    assert sum(v[0] for v in values) == overflows
    assert sum(v[1] for v in values) == overflows * profile[12][0]
    stacks = collections.Counter()
    for sample, value in zip(map(message, profile[2]), values):
        innermost = [name for n in packed(sample[1][0]) for name in names[n]]
        stacks[stack_of(reversed(innermost))] += value[0]
    return stacks


def period_of(pprof):
    """ns from one overflow to the next."""
    with open(pprof, "rb") as f:
        data = f.read()
    return message(gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data)[12][0]


NUMBER, TEXT, NULL = (int, float), (str,), (type(None),)
# Version 49 of the viewer's types (firefox-devtools/profiler, src/types/profile.js): the columns of its
# tables, and what is required of others.
TABLES = {
    "samples": {"stack": (int,), "time": NUMBER, "weight": NUMBER},
    "frameTable": {"address": (int,), "inlineDepth": (int,), "category": (int,), "subcategory": (int,), "func": (int,),
                   "nativeSymbol": NULL + (int,), "innerWindowID": NULL + (int,), "line": NULL + (int,),
                   "column": NULL + (int,)},
    "funcTable": {"name": (int,), "isJS": (bool,), "relevantForJS": (bool,), "resource": (int,),
                  "fileName": NULL + (int,), "lineNumber": NULL + (int,), "columnNumber": NULL + (int,)},
    "resourceTable": {"lib": NULL + (int,), "name": (int,), "host": NULL + (int,), "type": (int,)},
    "stackTable": {"prefix": NULL + (int,), "frame": (int,), "category": (int,), "subcategory": (int,)},
    "nativeSymbols": {"libIndex": (int,), "address": (int,), "name": (int,), "functionSize": NULL + (int,)},
    "markers": {"data": NULL + (dict,), "name": (int,), "startTime": NULL + NUMBER, "endTime": NULL + NUMBER,
                "phase": (int,), "category": (int,)},
}
THREAD = {"processType": TEXT, "processStartupTime": NUMBER, "processShutdownTime": NULL + NUMBER,
          "registerTime": NUMBER, "unregisterTime": NULL + NUMBER, "pausedRanges": (list,), "name": TEXT,
          "isMainThread": (bool,), "processName": TEXT, "pid": TEXT, "stringArray": (list,)}
LIB = {"arch": TEXT, "name": TEXT, "path": TEXT, "debugName": TEXT, "debugPath": TEXT, "breakpadId": TEXT,
       "codeId": NULL + TEXT}
META = {"interval": NUMBER, "startTime": NUMBER, "processType": (int,), "categories": (list,), "product": TEXT,
        "stackwalk": (int,), "version": (int,), "preprocessedProfileVersion": (int,), "symbolicated": (bool,),
        "markerSchema": (list,), "sampleUnits": (dict,), "extensions": (dict,)}


def check_types(record, types):
    for name, wanted in types.items():
        assert type(record[name]) in wanted, (name, record[name])


def check_table(table, kind, **references):
    """All columns have the table's length and their types, and refer to rows that exist."""
    assert set(table) - {"length", "weightType"} == set(TABLES[kind]), kind
    for column, wanted in TABLES[kind].items():
        assert len(table[column]) == table["length"], (kind, column)
        assert {type(value) for value in table[column]} <= set(wanted), (kind, column)
    for column, length in references.items():
        for index in table[column]:
            assert index is None or -1 <= index < length, (kind, column, index)


def check_meta(meta):
    check_types(meta, META)
    assert meta["preprocessedProfileVersion"] == 49
    assert any(category["color"] == "grey" for category in meta["categories"])
    assert all(category["subcategories"][0] == "Other" for category in meta["categories"])


def check_thread(thread, libs):
    check_types(thread, THREAD)
    strings = len(thread["stringArray"])
    assert all(isinstance(string, str) for string in thread["stringArray"])
    functions, frames = thread["funcTable"], thread["frameTable"]
    resources, stacks = thread["resourceTable"], thread["stackTable"]
    check_table(functions, "funcTable", name=strings, resource=resources["length"], fileName=strings)
    check_table(frames, "frameTable", func=functions["length"], category=3)
    check_table(resources, "resourceTable", name=strings, lib=libs)
    check_table(stacks, "stackTable", frame=frames["length"], prefix=stacks["length"], category=3)
    assert thread["samples"]["weightType"] == ("tracing-ms" if UNIT == "ns" else "samples")
    check_table(thread["samples"], "samples", stack=stacks["length"])
    check_table(thread["markers"], "markers")
    check_table(thread["nativeSymbols"], "nativeSymbols")
    assert thread["samples"]["time"] == sorted(thread["samples"]["time"])
    for row, prefix in enumerate(stacks["prefix"]):
        assert prefix is None or prefix < row
    assert len(set(zip(stacks["prefix"], stacks["frame"]))) == stacks["length"]


def thread_stacks(thread):
    """The stack of each sample, by going through the tables as the viewer does."""
    stacks, names = thread["stackTable"], []
    for row, prefix in enumerate(stacks["prefix"]):
        name = thread["funcTable"]["name"][thread["frameTable"]["func"][stacks["frame"][row]]]
        callers = () if prefix is None else names[prefix]
        names.append(callers + (thread["stringArray"][name],))
    total = collections.Counter()
    for stack, weight in zip(thread["samples"]["stack"], thread["samples"]["weight"]):
        total[stack_of(names[stack])] += round(weight * 1e6) if UNIT == "ns" else weight
    return total


def check_firefox(path, overflows):
    with open(path, encoding="utf-8") as f:
        profile = json.load(f)
    check_meta(profile["meta"])
    for lib in profile["libs"]:
        check_types(lib, LIB)
    libs = len(profile["libs"])
    for thread in profile["threads"]:
        check_thread(thread, libs)
    stacks = sum(map(thread_stacks, profile["threads"]), collections.Counter())
    assert sum(stacks.values()) == overflows
    return stacks


def check_flamegraph(path, overflows):
    svg = xml.etree.ElementTree.parse(path).getroot()
    assert svg.tag == "{http://www.w3.org/2000/svg}svg"
    frames = list(next(g for g in svg.iter() if g.get("id") == "frames"))
    titles = [re.fullmatch(r"(.*?)( \([^()]*\))?, [0-9.]+ %, ([0-9]+) " + UNIT, g[0].text) for g in frames]
    # Its script needs them.
    assert {"reset", "search", "found", "details"} <= {e.get("id") for e in svg.iter()}
    assert titles[0][1] == "all" and int(titles[0][3]) == overflows
    assert FUNCTIONS <= {title[1] for title in titles}
    for rect in (g[1] for g in frames):
        assert 10 <= float(rect.get("x")) <= float(rect.get("x")) + float(rect.get("width")) < 1190.001


def script_stacks(path, period):
    """What stackcollapse-perf.pl makes of it, by its patterns."""
    stacks, frames, weight = collections.Counter(), [], 0
    with open(path, encoding="utf-8") as f:
        for line in f:
            line = line.rstrip("\n")
            if event := re.match(r"(\S.+?)\s+(\d+)/*(\d+)*\s+.*:\s*(\d+)*\s+(\S+):\s*$", line):
                weight = int(event[4]) // period
            elif frame := re.match(r"\s*(\w+)\s*(.+) \((.*)\)", line):
                frames.insert(0, re.sub(r"\+0x[\da-f]+$", "", frame[2]))
            else:
                assert line == "", line
                stacks[stack_of(frames)] += weight
                frames = []
    return stacks


def folded_stacks(path):
    stacks = collections.Counter()
    with open(path, encoding="utf-8") as f:
        for line in f:
            stack, weight = line.rsplit(" ", 1)
            stacks[stack_of(stack.split(";")[1:])] += int(weight)
    return stacks


def page_stacks(path):
    total = collections.Counter()
    for stack, weight in page.stacks(page.read(path)).items():
        total[stack_of(stack[1:])] += weight
    return total


def check(overflows, pprof, firefox, svg, script, folded, html):
    stacks = folded_stacks(folded)
    assert sum(stacks.values()) == overflows
    assert FUNCTIONS <= {name for stack in stacks for name in stack}
    check_flamegraph(svg, overflows)
    for name, other in (("pprof", check_pprof(pprof, overflows)),
                        ("firefox", check_firefox(firefox, overflows)),
                        ("page", page_stacks(html)),
                        ("script", script_stacks(script, period_of(pprof)))):
        assert other == stacks, (name, (other - stacks).most_common(3), (stacks - other).most_common(3))


check(int(sys.argv[2]), *sys.argv[3:9])
