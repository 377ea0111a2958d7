#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Checks the output of `pfm stat -j` or `-x,` on stdin against schema 1, and prints fields of it.

  schema.py json|csv [NAME...]

Each line of NAMEs gives VALUE, or "lost", for the rows of that event or metric. "statistics NAME" is
the mean of several runs, "comparison NAME" the change between two commands in percent, or "same".
"""
import csv
import json
import math
import sys

LEVELS = ("u", "k", "uk")
FIELDS = "value,unit,level,active,cpu,tid,lost,time_ns,run".split(",")
REGION = ["region"]  # with --regions
TOPOLOGY = ["socket", "core"]  # with --per-core and --per-socket
STATISTICS = "runs,mean,deviation,median,min,max,outliers".split(",")  # with -r
COMPARISON = ("unit,level,lost,runs_a,runs_b,mean_a,deviation_a,mean_b,deviation_b,change_percent,p,"
              "significant").split(",")
TIMES = ("elapsed", "user", "system")  # of all
NO_VALUE = "value,active,time_ns,run".split(",")  # of statistics
NATURAL = "cpu,tid,time_ns,run,socket,core,runs,outliers,runs_a,runs_b".split(",")


def is_natural(v):
    return type(v) is int and v >= 0


def is_number(v):
    return type(v) in (int, float) and math.isfinite(v)


def check_place(row):
    assert row["level"] in LEVELS + (None,), row
    assert row["unit"] is None or type(row["unit"]) is str, row
    assert row["lost"] is None or row["lost"], row


def check_value(row, kind):
    if row["lost"] is not None:
        assert row["value"] is None, row
    elif kind == "event":
        assert is_natural(row["value"]), row
    else:
        assert is_number(row["value"]) or row["value"] is None, row
    assert (row["level"] is None) == (kind == "metric"), row
    assert 0 <= row["active"] <= 1 and (row["active"] or row["lost"]), row
    assert is_natural(row["time_ns"]) and is_natural(row["run"]) and row["run"] > 0, row
    assert all(row.get(f) is None for f in STATISTICS), row
    return row["value"]


def check_statistics(row):
    assert all(row[f] is None for f in NO_VALUE), row
    assert is_natural(row["runs"]) and row["runs"] > 0, row
    if row["lost"] is not None:
        assert all(row[f] is None for f in STATISTICS[1:]), row
        return None
    assert all(is_number(row[f]) for f in STATISTICS[:-1]), row
    assert row["min"] <= row["median"] <= row["max"] and row["deviation"] >= 0, row
    assert row["min"] <= row["mean"] * (1 + 1e-9) and row["mean"] <= row["max"] * (1 + 1e-9), row
    assert row["outliers"] is None if row["runs"] < 10 else 0 <= row["outliers"] <= row["runs"], row
    return row["mean"]


def check_comparison(row):
    assert set(COMPARISON) <= set(row), row
    assert is_natural(row["runs_a"]) and is_natural(row["runs_b"]), row
    if row["lost"] is not None:
        assert all(row[f] is None for f in COMPARISON[5:]), row
        return None
    assert all(is_number(row[f]) for f in COMPARISON[5:9]) and 0 < row["p"] <= 1, row
    assert type(row["significant"]) is bool and row["significant"] == (row["p"] < 0.05), row
    change = row["change_percent"]
    assert is_number(change) or (change is None and row["mean_a"] == 0), row
    return change if row["significant"] else "same"


def check(row, kind):
    """What is printed of a row that is right; None: it is lost."""
    check_place(row)
    if kind == "comparison":
        return check_comparison(row)
    assert all(row[f] is None or is_natural(row[f]) for f in ("cpu", "tid")), row
    if "core" in row and row["name" if "name" in row else kind] not in TIMES:
        assert is_natural(row["socket"]) and (row["core"] is None or is_natural(row["core"])), row
    return check_statistics(row) if kind == "statistics" else check_value(row, kind)


def named(name, kind):
    return name if kind in ("event", "metric") else kind + " " + name


def from_json(text):
    for line in text.splitlines():
        row = json.loads(line, parse_constant=lambda c: sys.exit("no JSON: " + c))
        kind, = {"event", "metric", "statistics", "comparison"} & set(row)
        fields = {"comparison": COMPARISON, "statistics": FIELDS + STATISTICS}.get(kind, FIELDS)
        assert ("socket" in row) == ("core" in row), row
        assert set(row) - set(REGION + TOPOLOGY) == {"schema", kind, *fields} and row["schema"] == 1, row
        yield named(row[kind], kind), row["lost"], check(row, kind)


def typed(field, text, kind):
    if not text or field in ("kind", "name", "unit", "level", "lost", "region", "comparison"):
        return text or None
    if field == "significant":
        return {"true": True, "false": False}[text]
    return int(text) if field in NATURAL or (field == "value" and kind == "event") else float(text)


def from_csv(text):
    lines = csv.reader(text.splitlines())
    header = next(lines)
    if header[0] == "comparison":
        assert header[1:] == COMPARISON, header
    else:
        assert header[:11] == ["kind", "name"] + FIELDS, header
        assert header[11:] in ([], REGION, TOPOLOGY, STATISTICS, TOPOLOGY + STATISTICS), header
    for line in lines:
        kind = "comparison" if header[0] == "comparison" else line[0]
        row = {f: typed(f, v, kind) for f, v in zip(header, line, strict=True)}
        yield named(row.get("name") or row.get("comparison"), kind), row["lost"], check(row, kind)


rows = list({"json": from_json, "csv": from_csv}[sys.argv[1]](sys.stdin.read()))
assert rows, "no rows"
for wanted in sys.argv[2:]:
    print(" ".join("lost" if lost else str(value) for name, lost, value in rows if name == wanted))
