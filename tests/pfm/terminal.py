#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs a program in a terminal, and does what stdin says, a line each:

  terminal.py LINES COLUMNS PROGRAM [ARG...]

  shows REGEX      waits until the page has that; a page begins where the cursor goes home
  lacks REGEX      the same, for what it has not
  key KEYS         types; \\t and the like are keys, too
  size LINES COLUMNS
  kill SIGNAL
  sh COMMAND
  ends STATUS      waits for its end, by which the terminal is as before
"""
import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time

PATIENCE = 120


class Terminal:
    def __init__(self, lines, columns, argv):
        self.output, self.status = b"", None
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            self.fd = 0
        self.resize(lines, columns)
        if self.pid == 0:
            os.execvp(argv[0], argv)

    def resize(self, lines, columns):
        self.lines, self.columns = int(lines), int(columns)
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", self.lines, self.columns, 0, 0))

    def read(self):
        """Reads what there is. False: the program has closed the terminal."""
        if not select.select([self.fd], [], [], 0.05)[0]:
            return True
        try:
            self.output += os.read(self.fd, 65536)
        except OSError:
            return False
        return True

    def page(self):
        """The last page that is complete, without control sequences."""
        pages = self.output.split(b"\x1b[H")
        whole = [page for page in pages[1:] if b"\x1b[J" in page]
        if not whole:
            return ""
        text = whole[-1].split(b"\x1b[J")[0].decode()
        for sequence in ("\x1b[K", "\x1b[7m", "\x1b[m"):
            text = text.replace(sequence, "")
        assert "\x1b" not in text, text
        return re.sub("\r+\n", "\n", text)

    def wait(self, wanted):
        end = time.monotonic() + PATIENCE
        while not wanted():
            assert time.monotonic() < end and self.read(), "%s\nwaited in vain; the page is\n%s" % (self.output[-500:], self.page())

    def fits(self):
        lines = self.page().split("\n")
        return len(lines) <= self.lines and all(len(line) <= self.columns for line in lines)

    def shows(self, regex):
        self.wait(lambda: re.search(regex, self.page(), re.M) and self.fits())

    def lacks(self, regex):
        self.wait(lambda: not re.search(regex, self.page(), re.M) and self.fits())

    def ends(self, status):
        while self.read():
            pass
        _, raw = os.waitpid(self.pid, 0)
        assert os.waitstatus_to_exitcode(raw) == int(status), raw
        # The first page, the cursor and wrapping
        last = self.output[-40:]
        assert b"\x1b[?1049l" in last and b"\x1b[?25h" in last and b"\x1b[?7h" in last, last



terminal = Terminal(*sys.argv[1:3], sys.argv[3:])
for line in sys.stdin:
    word, *rest = line.split(None, 1)
    rest = rest[0].rstrip("\n") if rest else ""
    if word == "shows":
        terminal.shows(rest)
    elif word == "lacks":
        terminal.lacks(rest)
    elif word == "key":
        os.write(terminal.fd, rest.encode().decode("unicode_escape").encode("latin-1"))
    elif word == "size":
        terminal.resize(*rest.split())
    elif word == "kill":
        os.kill(terminal.pid, getattr(signal, rest))
    elif word == "sh":
        subprocess.run(["sh", "-c", rest], check=True)
    else:
        assert word == "ends", line
        terminal.ends(rest)
