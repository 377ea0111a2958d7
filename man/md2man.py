#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes a man page of a document in the Markdown that fs-layout.md uses.

md2man.py NAME SECTION DESCRIPTION INPUT OUTPUT
"""
import re
import sys

# A table of more columns than fit here becomes a list: its first column tags the rest.
TABLE_WIDTH = 70

CODE = str.maketrans({"\\": r"\e", "-": r"\-", "'": r"\(aq", "`": r"\(ga", "^": r"\(ha", "~": r"\(ti"})
TEXT = str.maketrans({"\\": r"\e", "^": r"\(ha", "~": r"\(ti"})


def line_safe(s):
    """A line that begins with a control character would be a request."""
    return r"\&" + s if s[:1] in (".", "'") else s


def inline(s):
    """Code and bold become bold, emphasis becomes italic, links become their text."""
    out = []
    s = re.sub(r"\[((?:`[^`]*`|[^\]`])*)\]\([^)]*\)", r"\1", s)
    for i, part in enumerate(re.split(r"`([^`]*)`", s.replace(r"\|", "|"))):
        if i % 2:
            out.append(r"\fB%s\fP" % part.translate(CODE))
            continue
        part = part.translate(TEXT)
        part = re.sub(r"\*\*(.+?)\*\*", r"\\fB\1\\fP", part)
        out.append(re.sub(r"(?<![\w*])\*([^*\s][^*]*?)\*(?![\w*])", r"\\fI\1\\fP", part))
    return "".join(out)


def width(cell):
    return len(re.sub(r"[`*]|\]\([^)]*\)|\[", "", cell))


def cells(row):
    return [c.strip() for c in re.split(r"(?<!\\)\|", row.strip()[1:-1])]


class Page:
    def __init__(self, lines):
        self.lines = lines
        self.at = 0
        self.out = []

    def peek(self):
        return self.lines[self.at] if self.at < len(self.lines) else None

    def take(self):
        self.at += 1
        return self.lines[self.at - 1]

    def emit(self, *lines):
        self.out += lines

    def text(self, s):
        if s:
            self.emit(line_safe(inline(s)))

    def paragraph_lines(self, indent):
        """The rest of a paragraph or list item: lines that begin nothing else."""
        found = []
        while (line := self.peek()) is not None and line.strip():
            if re.match(r"\s*([*] |\d+\. |```|#|\|)", line) or not line.startswith(" " * indent):
                break
            found.append(self.take().strip())
        return " ".join(found)

    def heading(self):
        marks, title = self.take().split(" ", 1)
        if len(marks) == 2:
            self.emit(".SH " + inline(title).upper().replace(r"\FB", r"\fB").replace(r"\FP", r"\fP"))
            if title == "Contents":
                self.out.pop()
                while self.peek() is not None and not self.peek().startswith("## "):
                    self.take()
        elif len(marks) == 3:
            self.emit(".SS " + inline(title))
        elif len(marks) == 4:
            self.emit(".PP", r"\fB%s\fP" % inline(title))

    def code(self):
        self.take()
        self.emit(".PP", ".RS 4", ".EX")
        while self.peek().strip() != "```":
            self.emit(line_safe(self.take().translate(CODE)))
        self.take()
        self.emit(".EE", ".RE")

    def items(self, indent):
        """A list; deeper items are lists of their own. Blank lines between items are allowed."""
        first = True
        while (line := self.peek()) is not None:
            m = re.match(r"( *)([*]|\d+\.) (.*)", line)
            if not m or len(m[1]) < indent:
                break
            if len(m[1]) > indent:
                self.emit(".RS 4")
                self.items(len(m[1]))
                self.emit(".RE")
                continue
            self.take()
            bullet = r"\(bu" if m[2] == "*" else m[2]
            self.emit(".IP %s 4" % bullet if first else ".IP %s" % bullet)
            first = False
            rest = self.paragraph_lines(indent + len(m[2]) + 1)
            self.text((m[3] + " " + rest).strip())
            self.skip_blank_in_list(indent)

    def skip_blank_in_list(self, indent):
        at = self.at
        while at < len(self.lines) and not self.lines[at].strip():
            at += 1
        if at < len(self.lines) and re.match(" {%d,}([*]|\\d+\\.) " % indent, self.lines[at]):
            self.at = at

    def table(self):
        rows = []
        while (line := self.peek()) is not None and line.lstrip().startswith("|"):
            rows.append(cells(self.take()))
        head, rows = rows[0], rows[2:]
        columns = [max(width(r[i]) for r in [head] + rows) for i in range(len(head))]
        if sum(columns) + 2 * (len(columns) - 1) <= TABLE_WIDTH:
            self.small_table(head, rows)
        else:
            self.tagged_table(head, rows)

    def small_table(self, head, rows):
        self.emit(".PP", ".TS", "tab(\t);", " ".join("lb" for _ in head), " ".join("l" for _ in head) + ".")
        for row in [head] + rows:
            self.emit(line_safe("\t".join(inline(c) for c in row)))
        self.emit(".TE")

    def tagged_table(self, head, rows):
        self.emit(".PP")
        for row in rows:
            self.emit(".TP", line_safe(inline(row[0])) or r"\&")
            short = [(h, c) for h, c in zip(head[1:-1], row[1:-1]) if c]
            if short:
                self.emit(line_safe("; ".join(r"\fI%s\fP %s" % (inline(h), inline(c)) for h, c in short)))
                if row[-1]:
                    self.emit(".br")
            if row[-1] or not short:
                named = head[-1] and len(head) > 2
                self.text(("*%s:* %s" % (head[-1], row[-1])) if named else row[-1] or "–")

    def convert(self):
        while (line := self.peek()) is not None:
            if not line.strip():
                self.take()
            elif line.startswith("#"):
                self.heading()
            elif line.startswith("```"):
                self.code()
            elif line.startswith("|"):
                self.table()
            elif re.match(r" *([*]|\d+\.) ", line):
                self.items(len(line) - len(line.lstrip()))
            else:
                self.emit(".PP")
                self.text(self.paragraph_lines(0) or self.take())
        return self.out


def main(name, section, description, source, target):
    with open(source, encoding="utf-8") as f:
        lines = f.read().splitlines()
    body = Page(lines[1:]).convert()
    head = ["'\\\" t", ".TH %s %s" % (name, section), ".SH NAME", r"%s \- %s" % (name.lower(), description),
            ".SH DESCRIPTION"]
    with open(target, "w", encoding="utf-8") as f:
        f.write("\n".join(head + body) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
