#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Checks the output of `pfm stat -j` or `-x,` on stdin against schema 1, and prints fields of it.

  schema.py json|csv [NAME...]

Each line of NAMEs gives VALUE, or "lost", for the rows of that event or metric.
"""
import csv
import json
import sys

LEVELS = ("u", "k", "uk")
FIELDS = {"value", "unit", "level", "active", "cpu", "tid", "lost", "time_ns", "run"}
REGION = {"region"}  # with --regions


def check(row, is_event):
    natural = lambda v: type(v) is int and v >= 0
    assert FIELDS <= set(row), row
    if row["lost"] is not None:
        assert row["value"] is None and row["lost"], row
    elif is_event:
        assert natural(row["value"]), row
    else:
        assert type(row["value"]) in (int, float) or row["value"] is None, row
    assert row["level"] in LEVELS if is_event else row["level"] is None, row
    assert row["unit"] is None or type(row["unit"]) is str, row
    assert 0 < row["active"] <= 1 or row["lost"], row
    assert natural(row["time_ns"]) and natural(row["run"]) and row["run"] > 0, row
    assert all(row[f] is None or natural(row[f]) for f in ("cpu", "tid")), row


def from_json(text):
    for line in text.splitlines():
        row = json.loads(line, parse_constant=lambda c: sys.exit("no JSON: " + c))
        kind, = {"event", "metric"} & set(row)
        assert set(row) - REGION == FIELDS | {"schema", kind} and row["schema"] == 1, row
        check(row, kind == "event")
        yield row[kind], row


def from_csv(text):
    lines = csv.reader(text.splitlines())
    header = next(lines)
    assert header[:11] == "kind,name,value,unit,level,active,cpu,tid,lost,time_ns,run".split(","), header
    assert header[11:] in ([], ["region"]), header
    for line in lines:
        row = {f: v or None for f, v in zip(header, line, strict=True)}
        for f in ("cpu", "tid", "time_ns", "run"):
            row[f] = row[f] and int(row[f])
        row["active"] = float(row["active"])
        row["value"] = row["value"] and (int if row["kind"] == "event" else float)(row["value"])
        check(row, row["kind"] == "event")
        yield row["name"], row


rows = list({"json": from_json, "csv": from_csv}[sys.argv[1]](sys.stdin.read()))
assert rows, "no rows"
for name in sys.argv[2:]:
    print(" ".join("lost" if r["lost"] else str(r["value"]) for n, r in rows if n == name))
