# SPDX-License-Identifier: MIT
"""The Python module on a mount: PERFMONFS names it, and tests/fs/python.bats serves it. On the
model, where time passes only by sim/advance, all numbers are exact; class Threads counts what is
real."""

import ctypes
import errno
import os
import select
import struct
import subprocess
import sys
import threading
import time
import unittest

import perfmonfs

USER = 0x4100c0  # 2000 times a microsecond, on the model
BRANCH = 0x4100c4  # 400 times
MS = 1000000


class Case(unittest.TestCase):
    def setUp(self):
        self.mount = perfmonfs.Mount()

    def context(self, *name):
        ctx = self.mount.context(*name)
        self.addCleanup(ctx.close)
        return ctx

    def advance(self, ns):
        self.mount.write("sim/advance", str(ns))

    def running(self, cpu=1, **overflow):
        """A context that counts USER in PMD 0 and BRANCH in PMD 1."""
        ctx = self.context()
        ctx.pmc[0], ctx.pmc[1] = USER, BRANCH
        ctx.pmd.write(0, overflow.pop("value", 0), **overflow)
        ctx.load(cpu=cpu)
        ctx.start()
        return ctx

    def assertErrno(self, name, call, *args, **kwargs):
        with self.assertRaises(OSError) as caught:
            call(*args, **kwargs)
        self.assertEqual(errno.errorcode[caught.exception.errno], name)
        return caught.exception


class Counting(Case):
    def test_counts(self):
        ctx = self.running()
        self.advance(5 * MS)
        ctx.stop()
        self.assertEqual((ctx.pmd[0], ctx.pmd[1]), (10000000, 2000000))
        self.assertEqual(ctx.state, "loaded cpu=1 set=0")

    def test_goes_on_after_stop(self):
        ctx = self.running()
        self.advance(MS)
        ctx.stop()
        self.advance(MS)
        ctx.start()
        self.advance(MS)
        self.assertEqual(ctx.pmd[0], 4000000)
        ctx.unload()
        self.assertEqual(ctx.state, "unloaded")
        self.assertEqual(ctx.pmd[0], 4000000)

    def test_registers_are_what_was_written(self):
        ctx = self.context()
        ctx.pmc[1] = 0x5300c0  # the interrupt bit is reserved
        self.assertEqual(ctx.pmc[1], 0x4300c0)
        ctx.pmd[2] = -1
        self.assertEqual(ctx.pmd[2], 2 ** 64 - 1)

    def test_vector(self):
        ctx, other = self.context(), self.context()
        ctx.set(0).regs = "pmc0 %#x\npmd0 -100 short=-7" % USER
        other.set(0).regs = ctx.set(0).regs
        self.assertEqual(other.set(0).regs, ctx.set(0).regs)
        self.assertIn("short=", other.set(0).regs)

    def test_close_removes_it(self):
        with self.mount.context("here") as ctx:
            self.assertTrue(os.path.isdir(ctx.path))
            ctx.load(cpu=2)
        self.assertFalse(os.path.exists(ctx.path))
        ctx.close()  # once is enough
        self.assertErrno("ENOENT", ctx.start)

    def test_somebody_elses_stays(self):
        with self.mount.context("other"):
            path = os.path.join(self.mount.path, "ctx", "other")
            with perfmonfs.Context(path) as ctx:
                ctx.pmd[0] = 5
            self.assertTrue(os.path.isdir(path))

    def test_total(self):
        ctx = self.running()
        ctx.stop()
        ctx.pmd[3] = 77
        self.assertEqual(ctx.total()[0, 3], 77)

    def test_what_the_mount_says(self):
        self.assertIn("default", self.mount.formats())
        self.assertEqual(self.mount.formats()["default"], "4d72bec0-0664-4143-82b4-d3fd27243c97")
        before = self.mount.stats()["contexts"]
        self.context()
        self.assertEqual(self.mount.stats()["contexts"], before + 1)


class Errors(Case):
    def test_the_sentence_is_the_daemons(self):
        ctx = self.running()
        error = self.assertErrno("EBUSY", ctx.load, cpu=1)
        self.assertEqual(error.strerror, ctx.last_error)
        self.assertNotEqual(error.strerror, os.strerror(errno.EBUSY))
        self.assertEqual(error.filename, os.path.join(ctx.path, "ctl"))

    def test_outside_of_contexts(self):
        self.context("twice")
        self.assertErrno("EEXIST", self.mount.context, "twice")
        for call in (lambda: self.mount.context("not this"),
                     lambda: self.mount.write("config/tick_us", "soon")):
            error = self.assertErrno("EINVAL", call)
            self.assertEqual(error.strerror, self.mount.read("last_error"))
            self.assertNotEqual(error.strerror, os.strerror(errno.EINVAL))

    def test_registers_that_are_not_there(self):
        ctx = self.context()
        self.assertErrno("ENOENT", ctx.pmc.__getitem__, 31)
        self.assertErrno("ENOENT", ctx.pmd.__setitem__, 31, 0)
        self.assertErrno("ENODATA", ctx.pmd.__getitem__, 257)

    def test_a_sentence_of_something_else_is_not_told(self):
        ctx = self.context()
        self.assertErrno("EINVAL", ctx.start)
        error = self.assertErrno("ENOENT", ctx.read, "nothing")
        self.assertEqual(error.strerror, os.strerror(errno.ENOENT))

    def test_load_on_one_thing(self):
        ctx = self.context()
        self.assertRaises(ValueError, ctx.load)
        self.assertRaises(ValueError, ctx.load, cpu=1, tid=1)


class Sets(Case):
    def test_multiplexing(self):
        ctx = self.context()
        ctx.make_set(1)
        self.assertEqual([s.id for s in ctx.sets()], [0, 1])
        for s, event in zip(ctx.sets(), (USER, BRANCH)):
            s.pmc[0] = event
            s.flags = {"time_switch"}
            s.timeout_ns = MS
            self.assertEqual((s.flags, s.timeout_ns), ({"time_switch"}, MS))
        ctx.load(cpu=1)
        ctx.start()
        self.advance(10 * MS)
        ctx.stop()
        active = [s.active_ns for s in ctx.sets()]
        self.assertEqual(sum(active), 10 * MS)
        self.assertEqual(ctx.set(0).pmd[0], 2 * active[0])
        self.assertEqual(ctx.set(1).pmd[0] * 10, 4 * active[1])
        self.assertGreater(ctx.set(1).runs, 3)

    def test_next_and_flags(self):
        ctx = self.context()
        ctx.make_set(7)
        first = ctx.set(0)
        self.assertIsNone(first.next)
        first.next = 7
        self.assertEqual((first.next, first.flags), (7, {"expl_next"}))
        first.next = None
        self.assertEqual((first.next, first.flags), (None, set()))
        ctx.remove_set(7)
        self.assertEqual([s.id for s in ctx.sets()], [0])
        self.assertErrno("EINVAL", ctx.remove_set, 0)

    def test_switch_by_overflow(self):
        ctx = self.context()
        ctx.make_set(3)
        first = ctx.set(0)
        first.pmc[0] = USER
        first.pmd.write(0, -2000, thresh=1)
        first.flags = {"ovfl_switch"}
        ctx.load(cpu=1)
        ctx.start()
        self.advance(5 * MS)
        self.assertEqual(ctx.state, "running cpu=1 set=3")
        self.assertEqual(first.switch_pmds, (0,))
        ctx.start(set=0)
        self.assertEqual(ctx.state.split()[-1], "set=0")


class Messages(Case):
    def test_overflow(self):
        ctx = self.running(value=-2000, long=-4000, notify=True)
        self.assertEqual(ctx.messages(timeout=0), [])
        self.advance(5 * MS)
        [message] = ctx.messages()
        self.assertEqual((message.kind, message.cpu, message.set, message.pmds),
                         ("overflow", 1, 0, (0,)))
        self.assertEqual(ctx.state, "masked cpu=1 set=0")
        ctx.restart()
        self.assertEqual(ctx.pmd[0], 2 ** 64 - 4000)

    def test_poll(self):
        ctx = self.running(value=-2000, notify=True)
        poll = select.poll()
        poll.register(ctx, select.POLLIN)
        self.assertEqual(poll.poll(0), [])
        self.advance(5 * MS)
        self.assertEqual(poll.poll(60000), [(ctx.fileno(), select.POLLIN)])

    def test_who_waits_is_woken(self):
        ctx = self.running(value=-2000, notify=True)
        got = []
        thread = threading.Thread(target=lambda: got.extend(ctx.messages()))
        thread.start()
        self.advance(5 * MS)
        thread.join()
        self.assertEqual([message.kind for message in got], ["overflow"])

    def test_nobody_comes(self):
        self.assertEqual(self.context().messages(timeout=0.01), [])

    def test_records(self):
        records = struct.pack("=IIHHIQ5Q", 1, 4, 2, 3, 5, 6, 1 << 5, 0, 0, 0, 1 << 63)
        records += struct.pack("=IIHHIQ5Q", 0x100, 0, 0, 0, 0, 9, 0, 0, 0, 0, 0)
        records += struct.pack("=IIHHIQ5Q", 0x999, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)
        first, lost, unknown = perfmonfs.parse_messages(records)
        self.assertEqual(first, ("overflow", 4, 2, 3, 5, 6, (5, 319)))
        self.assertEqual((lost.kind, lost.ip), ("lost", 9))
        self.assertEqual(unknown.kind, 0x999)


class Sampling(Case):
    def sampling(self, line, **options):
        ctx = self.context()
        ctx.format = line
        ctx.pmc[0], ctx.pmc[1] = USER, BRANCH
        # Once per millisecond, at each poll.
        ctx.pmd.write(0, -2000000, short=-2000000, long=-2000000, **options)
        ctx.load(cpu=1)
        ctx.start()
        return ctx

    def test_samples(self):
        ctx = self.sampling("default size=65536", smpl=[1, 256])
        self.advance(10 * MS)
        ctx.stop()
        taken = ctx.samples()
        self.assertEqual((taken.overflows, taken.lost, taken.size, taken.counts_lost), (0, 0, 65536, 0))
        self.assertEqual(sum(sample.count for sample in taken.samples), 10)
        for before, sample in zip(taken.samples, taken.samples[1:]):
            self.assertEqual((sample.pmd, sample.cpu, sample.set), (0, 1, 0))
            self.assertEqual(sample.last_reset, 2 ** 64 - 2000000)
            self.assertEqual(set(sample.values), {1, 256})
            passed = sample.time_ns - before.time_ns
            self.assertGreater(passed, 0)
            # Branches and the clock, as recorded, are what happens in that time.
            self.assertEqual(sample.values[1] - before.values[1], passed * 4 // 10)
            self.assertEqual(sample.values[256] - before.values[256], passed)

    def test_full(self):
        ctx = self.sampling("default size=512", notify=True)
        self.advance(50 * MS)
        [message] = ctx.messages()
        self.assertEqual(message.kind, "overflow")
        full = ctx.samples()
        self.assertEqual(full.overflows, 1)
        self.assertGreater(len(full.samples), 1)
        ctx.restart()
        self.assertEqual(ctx.samples().samples, [])
        self.assertEqual(ctx.samples().overflows, 1)

    def test_more_than_one_set(self):
        ctx = self.context()
        ctx.format = "default"
        ctx.make_set(1)
        for s, pmds in zip(ctx.sets(), ([], [0, 1])):
            s.pmc[0] = USER
            s.pmd.write(0, -2000000, short=-2000000, smpl=pmds)
            s.flags = {"time_switch"}
            s.timeout_ns = 5 * MS
        ctx.load(cpu=1)
        ctx.start()
        self.advance(30 * MS)
        ctx.stop()
        taken = {(sample.set, tuple(sample.values)) for sample in ctx.samples().samples}
        self.assertEqual(taken, {(0, ()), (1, (0, 1))})

    def test_other_lists_are_noticed(self):
        ctx = self.sampling("default", smpl=[1, 3])
        self.advance(10 * MS)
        ctx.stop()
        with ctx.buffer() as memory:
            self.assertRaises(ValueError, perfmonfs.parse_samples, memory, {(0, 0): ()})

    def test_without_entries(self):
        ctx = self.sampling("default no_hdr")
        self.assertRaises(ValueError, ctx.samples)

    def test_nobody_can_change_it(self):
        ctx = self.context()
        self.assertErrno("ENODEV", ctx.buffer)
        ctx.format = "default"
        with ctx.buffer() as memory:
            with self.assertRaises(TypeError):
                memory[0] = 1

    def test_format(self):
        ctx = self.context()
        self.assertEqual(ctx.format, "none")
        ctx.format = "hist size=8192"
        self.assertEqual(ctx.format, "hist size=8192")
        self.assertErrno("EINVAL", setattr, ctx, "format", "nothing")


class LiveCounts(Case):
    def live(self, ctx):
        live = ctx.set(0).live()
        self.addCleanup(live.close)
        return live

    def setUp(self):
        super().setUp()
        with self.mount.context() as ctx:
            ctx.set(0).read("live")
        if self.mount.stats()["passthrough"] != 1:
            self.skipTest("this kernel passes no files through")

    def test_read(self):
        ctx = self.running()
        live = self.live(ctx)
        self.advance(MS)
        self.assertEqual(ctx.pmd[0], 2000000)  # has the daemon look
        cpu, counts = live.read()
        self.assertEqual(cpu, 1)
        self.assertEqual((counts[0], counts[1].value), ((2000000, True), 400000))
        self.assertEqual(counts[2], (0, False))
        ctx.stop()
        self.assertIsNone(live.read()[0])

    def test_lost(self):
        ctx = self.running()
        live = self.live(ctx)
        self.mount.write("sim/poke", "1 0x186 0x4200c0")
        self.addCleanup(self.mount.write, "sim/poke", "1 0x186 0")
        self.assertErrno("EIO", ctx.pmd.__getitem__, 0)
        self.assertIsNone(live.read()[1][0].value)

    def test_no64(self):
        ctx = self.context()
        ctx.pmd.write(0, -1, no64=True)
        self.assertLess(self.live(ctx).read()[1][0].value, 2 ** 64 - 1)

    def test_stays_after_the_context(self):
        ctx = self.running()
        live = self.live(ctx)
        self.advance(MS)
        ctx.stop()
        ctx.close()
        cpu, counts = live.read()
        self.assertIsNone(cpu)
        self.assertEqual(counts[0].value, 2000000)

    def test_in_change_all_the_time(self):
        ctx = self.context()
        live = self.live(ctx)
        live._seq = ctypes.c_uint32(1)  # as a dead daemon may leave it
        self.assertErrno("EAGAIN", live.read)

    def test_closed(self):
        live = self.live(self.context())
        live.close()
        self.assertRaises(ValueError, live.read)


class Threads(Case):
    """With --backend=perf."""

    FAULTS = """if True:
        import mmap, sys
        sys.stdin.readline()
        area = mmap.mmap(-1, 300 * 4096, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        if hasattr(mmap, "MADV_NOHUGEPAGE"):
            area.madvise(mmap.MADV_NOHUGEPAGE)
        for page in range(300):
            area[page * 4096] = 1
    """

    def program(self):
        child = subprocess.Popen([sys.executable, "-c", self.FAULTS], stdin=subprocess.PIPE)
        self.addCleanup(child.stdin.close)
        self.addCleanup(child.wait)
        self.addCleanup(child.kill)
        return child

    def followed(self, child, **options):
        ctx = self.context()
        ctx.pmc[0] = self.mount.events()["page-faults"]
        try:
            ctx.load(tid=child.pid, **options)
        except OSError as error:
            if error.errno in (errno.EPERM, errno.ENOSYS, errno.ENOENT):
                self.skipTest("no thread can be followed here: %s" % error.strerror)
            raise
        ctx.start()
        return ctx

    def lost_switches(self):
        stats = self.mount.stats()
        return stats["ctxsw_missed"] + stats["ctxsw_late"] + stats["ctxsw_stalled"]

    def ended(self):
        """Returns a context whose program has ended, and its count. A missed or late task switch loses that."""
        lost = self.lost_switches()
        child = self.program()
        ctx = self.followed(child, follow=True)
        child.communicate(b"\n")
        [end] = ctx.messages()
        self.assertEqual((end.kind, end.pid, end.tid), ("end", child.pid, child.pid))
        self.assertEqual(ctx.state, "zombie tid=%d" % child.pid)
        if self.lost_switches() == lost:
            return ctx, ctx.pmd[0]
        self.assertErrno("EIO", ctx.pmd.__getitem__, 0)
        return self.skipTest("the kernel has not told of a switch, or too late: the count is lost")

    def test_page_faults_of_a_program(self):
        ctx, count = self.ended()
        self.assertEqual(ctx.children(), [])
        self.assertGreaterEqual(count, 300)
        self.assertEqual(ctx.total()[0, 0], count)

    def test_age_of_its_live_page(self):
        if self.mount.stats()["passthrough"] != 1:
            self.skipTest("this kernel passes no files through")
        child = self.program()
        ctx = self.context()
        ctx.load(tid=child.pid)
        live = ctx.set(0).live()
        self.addCleanup(live.close)
        ctx.start()
        began = time.monotonic()
        live.read()
        while live.age() >= time.monotonic() - began:
            live.read()
        ctx.stop()
        live.read()
        self.assertEqual(live.age(), 0.0)

    def test_no_such_thread(self):
        child = subprocess.Popen(["true"])
        child.wait()
        self.assertErrno("ESRCH", self.context().load, tid=child.pid)


if __name__ == "__main__":
    unittest.main()
