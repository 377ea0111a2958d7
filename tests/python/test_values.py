# SPDX-License-Identifier: MIT
"""What the Python module makes of texts and bytes, without a mount. PERFMONFS_JSON is perfmonfs.json."""

import inspect
import json
import os
import re
import struct
import unittest

import perfmonfs
from perfmonfs import _formats, _live, _values


class Values(unittest.TestCase):
    def test_states(self):
        cases = {
            "unloaded": (),
            "running cpu=1 set=0": dict(cpu=1, set=0),
            "masked tid=7 set=3 throttled gaps=2 lost": dict(tid=7, set=3, throttled=True, gaps=2, lost=True),
            "yielded cpu=1 set=0 stopped gaps=1": dict(cpu=1, set=0, then="stopped", gaps=1),
            "zombie tid=9": dict(tid=9),
        }
        for line, fields in cases.items():
            state = _values.of_state(line)
            self.assertEqual(state, perfmonfs.State(
                perfmonfs.StateKind(line.split()[0]), **dict(fields), text=line))
            self.assertEqual(str(state), line)
        self.assertRaises(ValueError, _values.of_state, "asleep cpu=1")

    def test_words_equal_their_text(self):
        self.assertEqual(perfmonfs.ContextFlag.GAPS, "gaps")
        self.assertEqual("%s" % perfmonfs.MessageKind.END, "end")
        self.assertEqual({perfmonfs.SetFlag.TIME_SWITCH}, {"time_switch"})

    def test_messages(self):
        records = struct.pack("=IIHHIQ5Q", 1, 4, 2, 3, 5, 6, 1 << 5, 0, 0, 0, 1 << 63)
        records += struct.pack("=IIHHIQ5Q", 0x100, 0, 0, 0, 0, 9, 0, 0, 0, 0, 0)
        records += struct.pack("=IIHHIQ5Q", 0x999, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)
        first, lost, unknown = perfmonfs.parse_messages(records)
        self.assertEqual(first, perfmonfs.Message(
            perfmonfs.MessageKind.OVERFLOW, pid=4, set=2, cpu=3, tid=5, ip=6, pmds=(5, 319)))
        self.assertEqual((lost.kind, lost.ip, lost.lost), ("lost", 0, 9))
        self.assertEqual(unknown.kind, 0x999)
        self.assertRaises(struct.error, perfmonfs.parse_messages, records[:-1])

    def test_totals(self):
        total = _values.of_total(
            "pmd0 224 gaps=18 uncertain=90827008\nactive_ns 5\nset=3 pmd16 7\nset=3 active_ns 6\nelapsed_ns 9")
        self.assertEqual((total[0, 0], total[3, 16]), (224, 7))
        self.assertEqual(total.gaps, {(0, 0): (18, 90827008)})
        self.assertEqual((total.active_ns, total.elapsed_ns), ({0: 5, 3: 6}, 9))

    def test_cpus(self):
        cpus, threads = _values.of_cpus(
            "0 online free\n1 online context=a uid=0 pid=4711 yielded=site type=core\n"
            "2 online pmc16 in use by the kernel's NMI watchdog (echo 0 > /proc frees it)\n"
            "3 offline\nthread 12 context=b uid=5 pid=6\nthreads 4 more")
        self.assertEqual([(c.number, c.online, c.free) for c in cpus],
                         [(0, True, True), (1, True, False), (2, True, False), (3, False, False)])
        self.assertEqual((cpus[1].context, cpus[1].uid, cpus[1].tid), ("a", 0, 4711))
        self.assertEqual((cpus[1].yielded, cpus[1].type, cpus[2].context), ("site", "core", None))
        self.assertEqual(threads, [perfmonfs.Thread(12, "b", 5, 6)])

    def test_readings(self):
        self.assertEqual(_values.of_reading("tsc ticks cpu 0 8412345678").value, 8412345678)
        missing = _values.of_reading("energy_core uJ core 3 - ENODATA")
        self.assertEqual((missing.value, missing.missing), (None, "ENODATA"))


def entry(pmd=0, pid=0, tid=0, number=0):
    return struct.pack("=IHHQQQHHI", tid, pmd, 1, 0, 0x400000, 5, 1, number, pid)


SOURCE = struct.pack("=IIQQQ", 1, 30, 2, 3, 4)


class Formats(unittest.TestCase):
    """Buffers that the simulator does not make."""

    def stack(self, *samples, gap=0, version=0x10000):
        body = b"".join(samples)
        head = struct.pack("=QQQQQIIQQ", len(samples), 128 + len(body), 0, 4096, 0, version, 0, 7, 8)
        return head + SOURCE + struct.pack("=IIQ8x4s4x", 127, 0, gap, b"stac") + body

    def test_call_chains(self):
        frames = (2 ** 64 - 128, 0xffffffff81000000, 2 ** 64 - 512, 0x400000, 0x400100, 2 ** 64 - 99, 5)
        sample = entry(pid=3, tid=4) + struct.pack("=HHHH", 1, len(frames), 1, 1)
        sample += struct.pack("=8Q", 77, *frames)
        buffer = perfmonfs.parse_samples(self.stack(sample, gap=1), {(0, 0): (5,)}, "stack")
        [found] = buffer.samples
        self.assertEqual((found.pid, found.tid, found.values, found.cut), (3, 4, {5: 77}, True))
        self.assertEqual(found.frames, (("kernel", 0xffffffff81000000), ("user", 0x400000),
                                        ("user", 0x400100), (None, 5)))
        self.assertEqual((buffer.lost, buffer.counts_lost, buffer.gap), (7, 8, 0))
        self.assertEqual(buffer.source, (perfmonfs.FoundBy.INTERRUPTS, 30, 2, 3, 4))

    def test_registers_and_stack(self):
        user = struct.pack("=II17Q", 2, 16, *range(1000, 1017)) + b"sixteen of bytes"
        with_user = entry() + struct.pack("=HHHH", 0, 0, 1, 2) + user
        without = entry() + struct.pack("=HHHH", 0, 0, 1, 0)
        memory = self.stack(with_user, without)
        first, second = perfmonfs.parse_samples(memory, {(0, 0): ()}, "stack").samples
        self.assertEqual((first.user.abi, first.user.stack), (2, b"sixteen of bytes"))
        self.assertEqual([first.user.registers[name] for name in ("ax", "sp", "ip", "r15")],
                         [1000, 1007, 1008, 1016])
        self.assertIsNone(second.user)
        self.assertRaises(ValueError, perfmonfs.parse_samples, self.stack(with_user[:-8]),
                          {(0, 0): ()}, "stack")

    def test_a_value_that_was_unavailable(self):
        sample = entry() + struct.pack("=HHHH", 2, 0, 1, 0) + struct.pack("=2Q", 2 ** 64 - 1, 2 ** 64 - 1)
        buffer = perfmonfs.parse_samples(self.stack(sample), {(0, 0): (260, 1)}, "stack")
        self.assertEqual(buffer.samples[0].values, {1: 2 ** 64 - 1, 260: None})

    def records(self, *records):
        body = b"".join(struct.pack("=II", kind, 8 + len(data)) + data for kind, data in records)
        head = struct.pack("=QQQQQIIQQQ", len(records), 128 + len(body), 0, 4096, 0, 0x10000, 0, 1, 2, 3)
        return head + SOURCE + bytes(24) + body

    def event(self, pid, name):
        return struct.pack("=IIQQQQ", pid, pid, 9, 0x400000, 4096, 8) + name

    def test_events_of_processes(self):
        memory = self.records(
            (2, self.event(5, b"sh\0\0\0\0\0\0")), (3, self.event(5, b"/bin/d\xff\0")),
            (99, b"unknown "), (7, struct.pack("=Q", 6)), (1, entry(pid=5)), (5, self.event(5, bytes(8))))
        buffer = perfmonfs.parse_samples(memory, {(0, 0): ()}, "correlate")
        kinds = [getattr(record, "kind", type(record).__name__) for record in buffer.records]
        self.assertEqual(kinds, ["exec", "mmap", "GapRecord", "Sample", "exit"])
        self.assertEqual(buffer.records[1], perfmonfs.ProcessEvent(
            perfmonfs.EventKind.MMAP, 5, 5, 9, 0x400000, 4096, 8, "/bin/d\udcff"))
        self.assertEqual(buffer.records[2].gaps, 6)
        self.assertEqual([sample.pid for sample in buffer.samples], [5])
        self.assertEqual((buffer.lost, buffer.lost_events, buffer.counts_lost), (1, 2, 3))

    def test_wrong_bytes(self):
        good = self.stack(entry() + struct.pack("=HHHH", 0, 0, 1, 0))
        for memory, lists, name in (
                (good[:100], {(0, 0): ()}, "stack"),
                (good[:-1], {(0, 0): ()}, "stack"),
                (good, {(0, 0): (1,)}, "stack"),
                (good, {}, "stack"),
                (good, {(0, 0): ()}, "count"),
                (self.stack(version=0x20000), {}, "stack"),
                (self.stack(), {}, "default"),
                (good[:120] + b"defa" + good[124:], {(0, 0): ()}, "stack"),
                (self.records((1, entry() + bytes(8))), {(0, 0): ()}, "correlate"),
                (self.records((2, b""))[:-4], {}, "correlate"),
                (b"", {}, "hist")):
            self.assertRaises(ValueError, perfmonfs.parse_samples, memory, lists, name)

    def test_a_record_that_ends_beyond_the_records(self):
        memory = bytearray(self.records((2, self.event(5, bytes(8)))))
        for size in (0, 7, 4096):
            struct.pack_into("=I", memory, 132, size)
            self.assertRaises(ValueError, perfmonfs.parse_samples, bytes(memory), {}, "correlate")


class Layouts(unittest.TestCase):
    """The module has the numbers of perfmonfs.json."""

    STRUCTS = {
        "pfm_msg": _values._MESSAGE, "pfm_live": _live._HEADER, "pfm_live_pmd": _live._PMD,
        "pfm_smpl_source": _formats._SOURCE, "pfm_dfl_smpl_entry": _formats._ENTRY,
        "pfm_dfl_smpl_hdr": _formats._DEFAULT, "pfm_stack_smpl_hdr": _formats._DEFAULT,
        "pfm_stack_smpl_user": _formats._STATE,
        "pfm_nway_smpl_hdr": _formats._NWAY, "pfm_nway_smpl_part": _formats._PART,
        "pfm_hist_smpl_hdr": _formats._HIST, "pfm_hist_smpl_entry": _formats._HIST_ENTRY,
        "pfm_correlate_smpl_hdr": _formats._CORRELATE, "pfm_correlate_smpl_rec": _formats._RECORD,
        "pfm_correlate_smpl_event": _formats._EVENT,
    }
    WHOLE = {"pfm_msg", "pfm_live_pmd", "pfm_smpl_source", "pfm_dfl_smpl_entry", "pfm_nway_smpl_part",
             "pfm_stack_smpl_user",
             "pfm_hist_smpl_entry", "pfm_correlate_smpl_rec", "pfm_correlate_smpl_event"}

    def setUp(self):
        with open(os.environ["PERFMONFS_JSON"], encoding="utf-8") as file:
            self.numbers = json.load(file)
        self.structs = {s["name"]: s for s in self.numbers["structs"]}

    def fields_of(self, layout):
        found, at = [], 0
        for count, code in re.findall(r"(\d*)([QIHBx])", layout.format):
            found.append((at, int(count or 1) * struct.calcsize("=" + code)))
            at += found[-1][1]
        return found

    def test_structures(self):
        for name, layout in self.STRUCTS.items():
            wanted = sorted({(f["offset"], f["size"]) for f in self.structs[name]["fields"]})
            fields = self.fields_of(layout)
            self.assertEqual(fields, wanted[:len(fields)], name)
            if name in self.WHOLE:
                self.assertEqual(layout.size, self.structs[name]["size"], name)

    def test_fields_that_are_read_alone(self):
        places = {("pfm_dfl_smpl_hdr", "hdr_source"): 64, ("pfm_dfl_smpl_hdr", "hdr_gap"): 96,
                  ("pfm_stack_smpl_hdr", "hdr_source"): 64, ("pfm_stack_smpl_hdr", "hdr_gap"): 104,
                  ("pfm_nway_smpl_hdr", "hdr_source"): 96, ("pfm_hist_smpl_hdr", "hdr_source"): 80,
                  ("pfm_hist_smpl_hdr", "hdr_clears"): _formats._CLEARS,
                  ("pfm_correlate_smpl_hdr", "hdr_source"): 72,
                  ("pfm_stack_smpl_entry", "npmds"): _formats._ENTRY.size}
        for (name, field), place in places.items():
            found = {f["name"]: f["offset"] for f in self.structs[name]["fields"]}
            self.assertEqual(found[field], place, (name, field))
        for name in ("dfl", "stack", "nway", "hist", "correlate"):
            header = self.structs["pfm_%s_smpl_hdr" % name]
            tag = _formats._NWAY_TAG if name == "nway" else _formats._TAG
            self.assertEqual(header["size"], _formats._START)
            self.assertIn(("hdr_tag", tag), [(f["name"], f["offset"]) for f in header["fields"]])
        for form in self.numbers["formats"]:
            self.assertEqual(form["tag"], int.from_bytes(form["name"][:4].encode(), "little"))

    def test_messages_and_formats(self):
        self.assertEqual({str(kind): code for code, kind in _values._KINDS.items()}, self.numbers["messages"])
        self.assertEqual(set(perfmonfs.MessageKind), set(self.numbers["messages"]))
        formats = {f["name"]: f["version"] >> 16 for f in self.numbers["formats"]}
        self.assertEqual(formats, dict.fromkeys(_formats._PARSERS, _formats._MAJOR))

    def test_commands(self):
        for command in self.numbers["commands"]:
            method = getattr(perfmonfs.Context, command["name"])
            arguments = {argument["name"] for argument in command["args"]}
            self.assertEqual(arguments, set(inspect.signature(method).parameters) - {"self"})


if __name__ == "__main__":
    unittest.main()
