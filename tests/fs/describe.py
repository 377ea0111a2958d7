#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""perfmonfs.json says what a live mount is, and fs-layout.md.

  describe.py JSON DOCUMENT MNT

MNT has a context `demo`. Prints each difference, and fails if there is any."""
import fcntl
import json
import os
import re
import stat
import sys

JSON, DOCUMENT, MNT = sys.argv[1:]
with open(JSON) as f:
    DESCRIBED = json.load(f)
with open(DOCUMENT) as f:
    TEXT = f.read()
# Exist while threads are followed, or on a kind of machine.
ABSENT = {"/ctx/NAME/children/TID"}
if "ABSENT" in os.environ:
    ABSENT |= {row["path"] for row in DESCRIBED["files"] if "/%(ABSENT)s" % os.environ in row["path"]}
differences = []


def check(true, what):
    if not true:
        differences.append(what)


def patterns():
    """(compiled path, row), literal paths first: NAME, ID, N and so on stand for members."""
    rows = sorted(DESCRIBED["files"], key=lambda r: len(re.findall(r"\b[A-Z]+\b", r["path"])))
    for row in rows:
        yield re.compile(re.sub(r"\b[A-Z]+\b", "[^/]+", re.escape(row["path"]).replace(r"\-", "-"))), row


def files():
    """Every file of the mount is described, with its mode; every described file is there."""
    seen, table = set(), list(patterns())
    for top, dirs, names in os.walk(MNT):
        for name in dirs + names + [""] * (top == MNT):
            path = os.path.join(top, name).rstrip("/")
            st, tree = os.lstat(path), path[len(MNT):] or "/"
            rows = [row for pattern, row in table if pattern.fullmatch(tree)]
            if "/pmd/" in tree:
                rows = [row for row in rows if row["path"].endswith("V") == (int(name) >= 256)]
            check(rows, "%s is not described" % tree)
            if not rows:
                continue
            row = rows[0]
            seen.add(row["path"])
            kind = {stat.S_IFDIR: "directory", stat.S_IFLNK: "link"}.get(stat.S_IFMT(st.st_mode), "file")
            check(row["type"] == kind, "%s is a %s" % (tree, kind))
            check(row["mode"] == "%04o" % (st.st_mode & 0o7777), "%s has the mode %o" % (tree, st.st_mode))
            if kind == "link":
                check(row["target"] == os.readlink(path), "%s is a link to another file" % tree)
    for row in DESCRIBED["files"]:
        check(row["path"] in seen or row["path"] in ABSENT or row.get("optional"), "%(path)s is missing" % row)


def ctl(text):
    """The sentence of a command that is no command."""
    try:
        with open(MNT + "/ctx/demo/ctl", "w") as f:
            f.write(text)
    except OSError:
        pass
    with open(MNT + "/ctx/demo/last_error") as f:
        return f.read()


def commands():
    names = [c["name"] for c in DESCRIBED["commands"]]
    # Words of the usage, as in 'load' lacks an argument: write 'load cpu=N [set=ID]'
    args = set(re.findall(r"\b([a-z_]+)(?=[]=]|'? or |'?, )", ctl("load") + ctl("signal")))
    args |= {a["name"] for c in DESCRIBED["commands"] for a in c["args"]}
    # The sentence lists the verbs: write load, start, stop or signal
    listed = re.search(r"write (.*)", ctl("nonsense")).group(1)
    check(sorted(re.split(", | or ", listed)) == sorted(names), "the commands are %s" % listed)
    for command in DESCRIBED["commands"]:
        for arg in args:
            # The second `nonsense` is no argument of any command, so that nothing is done.
            sentence = ctl("%s %s=1 nonsense" % (command["name"], arg))
            known = "'%s' is not an argument" % arg not in sentence
            check(known == (arg in [a["name"] for a in command["args"]]), "%(name)s: %%s" % command % arg)


def known_ioctl(number):
    fd = os.open(MNT + "/clone", os.O_RDWR)
    try:
        fcntl.ioctl(fd, number, bytearray(number >> 16 & 0x3fff or 1))
    except OSError as e:
        return e.strerror != os.strerror(25)
    finally:
        os.close(fd)
    return True


def ioctls():
    numbers = {i["number"] for i in DESCRIBED["ioctls"]}
    sizes = {s["name"]: s["size"] for s in DESCRIBED["structs"]}
    for i in DESCRIBED["ioctls"]:
        check(known_ioctl(i["number"]), "clone does not know %(name)s" % i)
        check("struct" not in i or sizes[i["struct"]] == i["number"] >> 16 & 0x3fff, "%(name)s has a size" % i)
    there = {n & ~(0x3fff << 16) for n in numbers}
    for nr in (direction << 30 | 0x7000 | n for n in range(256) for direction in range(4)):
        check(nr in there or not known_ioctl(nr | bool(nr >> 30) << 19), "clone knows ioctl 0x%x" % nr)


def document():
    """Errors, messages, ioctls and offsets are those of the document's tables."""
    errors = re.findall(r"^\| (E[A-Z0-9]+) \|", TEXT.split("### Errors")[1].split("Limits (ENOSPC)")[0], re.M)
    check(sorted(errors) == sorted(DESCRIBED["errors"]), "the document's errors are %s" % errors)
    ioctls = re.findall(r"^\| `([A-Z0-9_]+)` \| (0x[0-9a-f]+) \| (?:`(\w+)`)? \|", TEXT, re.M)
    described = [(i["name"][8:], "0x%08x" % i["number"], i.get("struct", "")) for i in DESCRIBED["ioctls"]]
    check(sorted(ioctls) == sorted(described), "the document's ioctls: %s" % (set(ioctls) ^ set(described)))
    offsets = dict(re.findall(r"^\| `(pfm_ioc_\w+)` \| [0-9]+ \| (.*) \|$", TEXT, re.M))
    for struct in DESCRIBED["structs"]:
        if struct["name"].startswith("pfm_ioc"):
            fields = ["%(name)s %(offset)d" % f for f in struct["fields"]]
            check([re.sub(r" \S+ ", " ", f) for f in offsets.get(struct["name"], "").split(", ")] == fields,
                  "the document's offsets of %(name)s" % struct)
    for word in DESCRIBED["messages"]:
        check("`%s" % word in TEXT, "the document has no message %s" % word)
    with open(MNT + "/formats") as f:
        served = [line.split()[:2] for line in f]
    check(served == [[f["uuid"], f["name"]] for f in DESCRIBED["formats"]], "the formats are %s" % served)


def read(path):
    with open(path) as f:
        return f.read()


def registers(pmu):
    """Lines of pmcs and pmds as pmu.json has them."""
    shared = {"cpu": "", "core": " core", "ccx": " ccx", "package": " package"}
    head = "{num} {name} {type} 0x{address:x} 0x{d:016x} 0x{r:016x}"
    pmcs = [head.format(d=int(r["default"], 16), r=int(r["reserved"], 16), **r) + shared[r["scope"]]
            for r in pmu["pmcs"]]
    pmds = [head.format(d=0, r=0, **r) + " buffer" * r["buffer"] + shared[r["scope"]] +
            (" umc=%(umc)d" % r if "umc" in r else "") for r in pmu["pmds"]]
    virtual = {"type": "virtual", "address": 0, "d": 0, "r": 2 ** 64 - 1}
    return pmcs, pmds + [head.format(**virtual, **r) for r in pmu["virtual_pmds"]]


def machine():
    """Each pmu.json is the text files beside it, both ways."""
    tops = [top for top, _, names in os.walk(MNT + "/pmu") if "pmu.json" in names]
    check(tops, "there is no pmu.json")
    for top in tops:
        pmu = json.loads(read(top + "/pmu.json"))
        for name in "name", "model", "counter_width":
            check(str(pmu[name]) == read("%s/%s" % (top, name))[:-1], "%s: another %s" % (top, name))
        check(pmu["backend"] == read(MNT + "/pmu/backend")[:-1], "another backend")
        pmcs, pmds = registers(pmu)
        lines = [re.sub(" escr=.*", "", line) for line in read(top + "/pmcs").splitlines()]
        check(pmcs == lines, "%s: other PMCs: %s" % (top, set(pmcs) ^ set(lines)))
        lines = read(top + "/pmds").splitlines()
        check(pmds == lines, "%s: other PMDs: %s" % (top, set(pmds) ^ set(lines)))
        events = ["%s 0x%016x %s" % (e["name"], int(e["value"], 16), e["description"]) for e in pmu["events"]]
        check(events == read(top + "/events").splitlines(), "%s: other events" % top)
        numbers = {p["num"] for p in pmu["pmcs"]}
        check(all(d["pmc"] in numbers and 0 < d["width"] <= 64 for d in pmu["pmds"]), "%s: a PMD's PMC" % top)


for part in files, commands, ioctls, document, machine:
    part()
print("\n".join(differences))
sys.exit(bool(differences))
