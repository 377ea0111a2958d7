#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""faults.py MOUNT PROGRAM [ARG...]: counts the page faults of PROGRAM at user level. PROGRAM
prints a line when it is ready, waits for a line, works, and prints a line when it is done; pages.c
is such a program. The count is from ready to done. faults.sh, faults.pl and faults.c do the same."""

import subprocess
import sys

import perfmonfs


def faults(mount: perfmonfs.Mount, command: list[str]) -> int:
    if "page-faults" not in mount.events():
        raise OSError("%s counts no page faults: see --backend=perf" % mount.path)
    with mount.context() as ctx, subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0) as program:
        assert program.stdin and program.stdout
        ctx.pmc[0] = "page-faults:u"
        if not program.stdout.readline():
            raise OSError("the program has ended")
        ctx.load(tid=program.pid)
        ctx.start()
        program.stdin.write(b"\n")
        program.stdout.readline()
        ctx.stop()
        return ctx.pmd[0]


if len(sys.argv) < 3:
    sys.exit("usage: faults.py MOUNT PROGRAM [ARG...]")
try:
    print(faults(perfmonfs.Mount(sys.argv[1]), sys.argv[2:]))
except OSError as error:
    sys.exit("faults.py: %s" % error)
