# SPDX-License-Identifier: MIT
"""The data of a page of pfm report --html, as its script takes them.

    page.py PAGE [FROM TO]      lines WEIGHT FUNCTION, the heaviest first, of these ticks
    page.py PAGE EVENT          the same of that event
"""
import base64
import collections
import json
import re
import sys


def read(path, event=None):
    """The JSON of an event, by default the one that is shown first. The page has it in an element of its own."""
    with open(path, encoding="utf-8") as f:
        page = f.read()
    data = re.findall(r'<script id="data" type="application/json">(.*?)</script>', page, re.S)
    assert len(data) == 1 and "<" not in data[0]
    assert page.lower().count("<script") == page.lower().count("</script") == 2
    assert not re.search(r"https?:|\bsrc=|\bhref=|@import|url\(", page.replace(data[0], "")), "it needs another file"
    all_events = json.loads(data[0])
    return next(of for i, of in enumerate(all_events["events"])
                if of["event"] == event or event is None and i == all_events["shown"])


def unpack(packed):
    numbers, value, shift = [], 0, 0
    for byte in base64.b64decode(packed, validate=True):
        value |= (byte & 0x7f) << shift
        shift += 7
        if byte < 0x80:
            numbers.append(value)
            value = shift = 0
    assert shift == 0
    return numbers


def tree(data):
    """For each node the names from the command on; of the root, none."""
    packed, paths = unpack(data["nodes"]), [()]
    for distance, name in zip(packed[::2], packed[1::2]):
        assert 0 < distance <= len(paths)
        assert -1 <= data["names"][3 * name + 1] < len(data["objects"])
        paths.append(paths[len(paths) - distance] + (data["names"][3 * name],))
    return paths


def sums(data, lane):
    """(tick, node, weight) of a lane."""
    numbers, tick, node, found = iter(unpack(lane[3])), 0, 0, []
    for head in numbers:
        step = head // 2
        node = next(numbers) + (node if found and not step else 0)
        tick += step
        found.append((tick, node, next(numbers) if head % 2 else 1))
    assert all(0 <= tick < data["ticks"] for tick, _, _ in found)
    return found


def stacks(data, ticks=None):
    """The weight of each stack."""
    paths, total = tree(data), collections.Counter()
    for lane in data["lanes"]:
        for tick, node, weight in sums(data, lane):
            if ticks is None or tick in ticks:
                total[paths[node]] += weight
    assert ticks is not None or sum(total.values()) == data["weight"]
    return total


if __name__ == "__main__":
    functions = collections.Counter()
    part = range(*map(int, sys.argv[2:])) if len(sys.argv) > 3 else None
    for stack, weight in stacks(read(*sys.argv[1:2 + (len(sys.argv) == 3)]), part).items():
        functions[stack[-1]] += weight
    for function, weight in functions.most_common():
        print(weight, function)
