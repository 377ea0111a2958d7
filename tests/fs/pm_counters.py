#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Reads files of pm_counters/ as Slurm's acct_gather_energy/pm_counters does: pm_counters.py FILE...

That opens the file, and scans a number, whose unit and time it leaves. This also asks for both: "VALUE J|W TIME
us" and a newline, and nothing else, with a time within a minute of now. Prints the value of each file.
"""
import re
import sys
import time

for path in sys.argv[1:]:
    with open(path, encoding="ascii") as f:
        text = f.read()
    m = re.fullmatch(r"(\d+) ([JW]) (\d+) us\n", text)
    if not m or m[2] != ("W" if path.endswith("power") else "J"):
        sys.exit("%s: not VALUE UNIT TIME us: %r" % (path, text))
    if abs(int(m[3]) / 1e6 - time.time()) > 60:
        sys.exit("%s: another time: %s" % (path, text))
    print(m[1])
