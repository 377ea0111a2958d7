#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Parses what perfmonfs exports, strictly, and prints what it has found.

    exposition.py prom FILE...   Prometheus' text format, version 0.0.4
    exposition.py lp FILE...     Influx's line protocol

A line "NAME{LABELS} VALUE" for each sample, sorted, in the same form for both: labels sorted, values as
written, without the integer suffix and the time. The exit status is 1, with a sentence, for anything that
the formats do not allow, and for what they allow and monitoring stumbles over.
"""
import re
import sys

NAME = r"[a-zA-Z_][a-zA-Z0-9_]*"
VALUE = r"[0-9]+(?:\.[0-9]+)?"
LABEL = re.compile(r'(%s)="((?:[^"\\\n]|\\["\\n])*)"(,|\}(?= ))' % NAME)


class Wrong(Exception):
    pass


def need(condition, what, line):
    if not condition:
        raise Wrong("%s: %r" % (what, line))


def prom_labels(text, line):
    """{label: value} at the beginning of @text, which follows "{", and what follows "}"."""
    labels = {}
    while True:
        m = LABEL.match(text)
        need(m, "no label", line)
        need(m.group(1) not in labels, "a label is there twice", line)
        labels[m.group(1)] = re.sub(r"\\(.)", lambda e: {"n": "\n"}.get(e.group(1), e.group(1)), m.group(2))
        text = text[m.end():]
        if m.group(3) != ",":
            return labels, text


def prom(text):
    """(name, labels, value) of each sample. All of a family is together, after its HELP and TYPE."""
    family, kind, ended, helped = None, None, set(), None
    for line in text.split("\n")[:-1]:
        m = re.fullmatch(r"# HELP (%s) (\S.*)" % NAME, line)
        if m:
            need(m.group(1) not in ended and m.group(1) != family, "a family begins twice", line)
            need(not re.sub(r"\\[\\n]", "", m.group(2)).count("\\"), "an escape that does not exist", line)
            ended.add(family)
            family, kind, helped = None, None, m.group(1)
            continue
        m = re.fullmatch(r"# TYPE (%s) (counter|gauge)" % NAME, line)
        if m:
            need(m.group(1) == helped, "TYPE is not of the family of HELP", line)
            family, kind, helped = m.group(1), m.group(2), None
            need(family.endswith("_total") == (kind == "counter"), "_total is for counters", line)
            continue
        m = re.match("(%s)(.)" % NAME, line)
        need(m and m.group(2) in "{ ", "no sample", line)
        need(m.group(1) == family, "a sample outside of its family", line)
        labels, rest = {}, line[m.end() - 1:]
        if m.group(2) == "{":
            labels, rest = prom_labels(line[m.end():], line)
        need(re.fullmatch(" " + VALUE, rest), "no value, or more than that", line)
        yield m.group(1), labels, rest[1:]


def lp_split(text, at):
    """The pieces of @text between those characters that no backslash precedes."""
    return re.split(r"(?<!\\)" + at, text)


def lp(text):
    times = set()
    for line in text.split("\n")[:-1]:
        parts = lp_split(line, " ")
        need(len(parts) == 3, "not three parts", line)
        name, *tags = lp_split(parts[0], ",")
        need(re.fullmatch(NAME, name), "no name", line)
        labels = {}
        for tag in tags:
            pair = lp_split(tag, "=")
            need(len(pair) == 2 and pair[1], "no tag", line)
            need(pair[0] not in labels, "a tag is there twice", line)
            labels[pair[0]] = re.sub(r"\\(.)", r"\1", pair[1])
        need(list(labels) == sorted(labels), "tags are not sorted", line)
        m = re.fullmatch("value=(%s)(u?)" % VALUE, parts[1])
        need(m and ("." in m.group(1)) != bool(m.group(2)), "no value", line)
        need(re.fullmatch(r"1[0-9]{18}", parts[2]), "no time in ns", line)
        times.add(parts[2])
        yield name, labels, m.group(1)
    need(len(times) == 1, "several times", times)


def show(path):
    with open(path, encoding="utf-8", newline="") as f:
        text = f.read()
    need(text.endswith("\n") and "\r" not in text, "no newline at the end", text[-20:])
    seen = set()
    out = []
    for name, labels, value in {"prom": prom, "lp": lp}[sys.argv[1]](text):
        series = (name, tuple(sorted(labels.items())))
        need(series not in seen, "a series is there twice", series)
        seen.add(series)
        braces = "{%s}" % ",".join('%s="%s"' % pair for pair in series[1]) if labels else ""
        out.append("%s%s %s" % (name, braces, value))
    print("\n".join(sorted(out)))


if __name__ == "__main__":
    try:
        for file in sys.argv[2:]:
            show(file)
    except Wrong as e:
        sys.exit("exposition: %s" % e)
