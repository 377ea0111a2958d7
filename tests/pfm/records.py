# SPDX-License-Identifier: MIT
"""Checks that a recording has at least so many records of a type: records.py FILE TYPE NUMBER."""
import struct
import sys

with open(sys.argv[1], "rb") as f:
    data = f.read()
at, found = 16, 0
while at < len(data):
    kind, size = struct.unpack_from("=II", data, at)
    found += kind == int(sys.argv[2])
    at += size
assert found >= int(sys.argv[3]), found
