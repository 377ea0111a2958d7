#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""documented.py KIND FILE: runs the examples of a document, "```pycon KIND" up to "```", as doctests
on the mount PERFMONFS, which replaces /mnt. Each is a program of its own."""

import doctest
import os
import re
import sys

kind, path = sys.argv[1:]
with open(path, encoding="utf-8") as file:
    text = file.read()
parser = doctest.DocTestParser()
runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
for block in re.finditer(r"^```pycon %s\n(.*?)^```$" % kind, text, re.S | re.M):
    line = text.count("\n", 0, block.start(1))
    example = re.sub(r"/mnt\b", os.environ["PERFMONFS"], block[1])
    runner.run(parser.get_doctest(example, {"__name__": "__main__"}, path, path, line))
print("%d examples" % runner.tries)
sys.exit(runner.failures != 0 or runner.tries == 0)
