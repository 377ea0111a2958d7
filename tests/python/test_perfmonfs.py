# SPDX-License-Identifier: MIT
"""The Python module on a mount: PERFMONFS names it, and tests/fs/python.bats serves it. On the
model, where time passes only by sim/advance, all numbers are exact; class Threads counts what is
real."""

import array
import asyncio
import errno
import gc
import mmap
import os
import select
import signal
import subprocess
import sys
import tempfile
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
        self.assertEqual(str(ctx.state), "loaded cpu=1 set=0")

    def test_events_by_name(self):
        ctx = self.context()
        ctx.pmc[0], ctx.pmc[1] = "instructions:u", "branches:u"
        self.assertEqual((ctx.pmc[0], ctx.pmc[1]), (USER, BRANCH))
        self.assertEqual(self.mount.events()["instructions"], USER | 0x20000)

    def test_goes_on_after_stop(self):
        ctx = self.running()
        self.advance(MS)
        ctx.stop()
        self.advance(MS)
        ctx.start()
        self.advance(MS)
        self.assertEqual(ctx.pmd[0], 4000000)
        ctx.unload()
        self.assertEqual(ctx.state.kind, perfmonfs.StateKind.UNLOADED)
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

    def test_gaps_flags_and_metrics(self):
        ctx = self.context()
        ctx.flags = {perfmonfs.ContextFlag.GAPS, "raw"}
        self.assertEqual(ctx.flags, {"gaps", "raw"})
        self.assertEqual(ctx.set(0).gaps(), {})
        ctx.metrics = 'pmd0 instructions "Instructions."'
        self.assertIn("perfmonfs_instructions_total", ctx.metrics)

    def test_what_a_set_says(self):
        first = self.running(value=-1000).set(0)
        self.advance(MS)
        self.assertEqual(first.overflows()[0], perfmonfs.Overflows(1, 0, 0))
        pmcs, pmds = first.available
        self.assertIn(0, pmcs)
        self.assertIn(256, pmds)
        self.assertEqual((first.active_ns, first.remaining_ns, first.switch_pmds), (MS, 0, ()))

    def test_what_the_pmu_is(self):
        pmu = self.mount.pmu
        self.assertEqual((pmu.backend, pmu.counter_width), ("sim", 48))
        self.assertTrue(pmu.name and pmu.model)
        first = pmu.pmcs()[0]
        self.assertEqual((first.number, first.type, first.address), (0, "msr", 0x186))
        self.assertIn("clock", [register.name for register in pmu.pmds()])
        self.assertIn("tsc", [reading.name for reading in pmu.readings()])
        self.assertTrue(all(reading.unit == "uJ" for reading in pmu.energy()))
        self.assertEqual(pmu.types(), {})

    def test_config(self):
        before = self.mount.config["tick_us"]
        self.addCleanup(self.mount.config.__setitem__, "tick_us", before)
        self.mount.config["tick_us"] = 2000
        self.assertEqual(self.mount.config["tick_us"], "2000")

    def test_cpus(self):
        ctx = self.running(cpu=2)
        cpu = self.mount.cpus()[2]
        self.assertEqual((cpu.online, cpu.free, cpu.context, cpu.tid),
                         (True, False, os.path.basename(ctx.path), threading.get_native_id()))
        self.assertEqual(self.mount.threads(), [])
        self.assertIn(ctx.path, [other.path for other in self.mount.contexts()])

    def test_a_name_that_a_killed_process_has_left(self):
        path = self.context().path
        left = "%s-%d" % (path.rpartition("-")[0], int(path.rpartition("-")[2]) + 1)
        os.mkdir(left)
        self.addCleanup(os.rmdir, left)
        self.assertNotIn(self.context().path, (path, left))

    def test_another_interface(self):
        with tempfile.TemporaryDirectory() as other:
            with open(os.path.join(other, "version"), "w", encoding="utf-8") as file:
                file.write("perfmonfs 9.0.0 interface 9\n")
            self.assertErrno("EPROTONOSUPPORT", perfmonfs.Mount, other)
            self.assertErrno("ENOENT", perfmonfs.Mount, other + "/none")

    def test_what_the_mount_says(self):
        self.assertRegex(self.mount.version, "^perfmonfs .* interface ")
        self.assertIn("perfmonfs_build_info", self.mount.metrics())
        self.assertIn("default", self.mount.formats())
        self.assertEqual(self.mount.formats()["default"], "4d72bec0-0664-4143-82b4-d3fd27243c97")
        before = self.mount.stats()["contexts"]
        self.context()
        self.assertEqual(self.mount.stats()["contexts"], before + 1)


class Lifetimes(Case):
    def script(self, text):
        """Runs a program that has the mount."""
        return subprocess.Popen(
            [sys.executable, "-W", "error", "-c", "import os, perfmonfs\nmount = perfmonfs.Mount()\n" + text],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def test_a_child_process_leaves_it(self):
        program = self.script("""if True:
            with mount.context("parents") as ctx:
                child = os.fork()
                if child:
                    status = os.waitpid(child, 0)[1]
                    print(status, ctx.state.kind, os.path.isdir(ctx.path))
            if child:
                print(os.path.isdir(ctx.path))
        """)
        self.assertEqual(program.communicate()[0].split(), ["0", "unloaded", "True", "False"])

    def test_a_child_process_has_a_context_of_its_own(self):
        program = self.script("""if True:
            with mount.context("parents"):
                child = os.fork()
                if child:
                    os.waitpid(child, 0)
                else:
                    with mount.context("childs") as ctx:
                        pass
                    os.write(1, b"%d" % os.path.isdir(ctx.path))
        """)
        self.assertEqual(program.communicate()[0], "0")

    def test_unclosed(self):
        ctx = self.mount.context()
        path = ctx.path
        with self.assertWarnsRegex(ResourceWarning, path):
            del ctx
            gc.collect()
        self.assertFalse(os.path.exists(path))

    def test_an_existing_context_may_be_unclosed(self):
        ctx = self.context()
        perfmonfs.Context(ctx.path).fileno()
        self.assertTrue(os.path.isdir(ctx.path))

    def test_removed_by_another_program(self):
        with self.mount.context() as ctx:
            os.rmdir(ctx.path)

    def test_another_context_has_its_name(self):
        with self.mount.context() as ctx:
            os.rmdir(ctx.path)
            os.mkdir(ctx.path)
        self.assertTrue(os.path.isdir(ctx.path))
        os.rmdir(ctx.path)

    def test_clone(self):
        with self.mount.clone() as ctx:
            ctx.pmc[0] = USER
            ctx.pmd.write(0, -2000000, short=-2000000)
            ctx.format = "hist"
            ctx.load(cpu=2)
            ctx.start()
            self.advance(MS)
            self.assertEqual(sum(entry.weight for entry in ctx.samples().entries), 1)
            self.assertTrue(os.path.isdir(ctx.path))
        self.assertFalse(os.path.exists(ctx.path))

    def test_none_is_left_without_descriptors(self):
        program = self.script("""if True:
            import resource
            def limit(n):
                resource.setrlimit(resource.RLIMIT_NOFILE, (n, all[1]))
            all = resource.getrlimit(resource.RLIMIT_NOFILE)
            for make, free in (mount.context, 0), (mount.clone, 0), (mount.clone, 1):
                fd = os.dup(0)
                os.close(fd)
                limit(fd + free)
                try:
                    make()
                except OSError as error:
                    print(error.errno)
                limit(all[0])
            print(os.listdir(mount.path + "/ctx"))
        """)
        self.assertEqual(program.communicate()[0].split(), ["24", "24", "24", "[]"])

    def test_closed_while_another_thread_waits(self):
        for make in self.mount.context, self.mount.clone:
            ctx = make()
            ctx.fileno()
            outcome = []

            def wait():
                outcome.append(self.assertErrno("ENODEV", ctx.messages).strerror)

            threads = [threading.Thread(target=wait) for _ in range(4)]
            for thread in threads:
                thread.start()
            ctx.close()
            others = [os.open("/dev/zero", os.O_RDONLY) for _ in range(8)]  # they get its numbers
            for thread in threads:
                thread.join()
            for fd in others:
                os.close(fd)
            self.assertEqual(outcome, 4 * ["the context has been removed"])

    def test_closed_by_many_threads(self):
        for _ in range(20):
            ctx, errors = self.mount.clone(), []

            def close():
                try:
                    ctx.close()
                except OSError as error:
                    errors.append(error)

            threads = [threading.Thread(target=close) for _ in range(4)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            self.assertEqual((errors, os.path.exists(ctx.path)), ([], False))

    def test_an_exception_goes_on_and_the_context_goes(self):
        for make in self.mount.context, self.mount.clone:
            with self.assertRaisesRegex(KeyError, "mine"):
                with make() as ctx:
                    ctx.load(cpu=1)
                    raise KeyError("mine")
            self.assertFalse(os.path.exists(ctx.path))

    def test_only_names(self):
        with tempfile.TemporaryDirectory() as other:
            self.assertRaises(ValueError, self.mount.context, other + "/new")
            self.assertRaises(ValueError, self.mount.context, "../config/new")
            self.assertEqual(os.listdir(other), [])

    def test_clone_of_a_killed_program(self):
        program = self.script("ctx = mount.clone()\nprint(ctx.path, flush=True)\ninput()")
        path = program.stdout.readline().strip()
        self.assertTrue(os.path.isdir(path))
        program.kill()
        program.communicate()
        while os.path.exists(path):  # the last close is not waited for
            time.sleep(0.01)

    def test_clone_that_a_child_process_has(self):
        with self.mount.clone() as ctx:
            child = os.fork()
            if not child:
                signal.pause()
        self.assertFalse(os.path.exists(ctx.path))
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


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

    def test_sentences_of_names(self):
        ctx = self.context()
        for call in (lambda: ctx.pmc[31], lambda: ctx.pmd.write(31, 0), lambda: ctx.pmd[257],
                     lambda: ctx.make_set(70000), ctx.buffer):
            with self.assertRaises(OSError) as caught:
                call()
            self.assertEqual(caught.exception.strerror, ctx.last_error)
            self.assertNotEqual(caught.exception.strerror, os.strerror(caught.exception.errno))
        ctx.close()
        error = self.assertErrno("ENOENT", ctx.start)
        self.assertIn(os.path.basename(ctx.path), error.strerror)
        self.assertEqual(error.strerror, self.mount.last_error)

    def test_the_sentence_is_that_of_the_thread(self):
        ctx = self.context()
        wrong = []

        def fail(command):
            for _ in range(200):
                try:
                    ctx.ctl(command)
                except OSError as error:
                    if command not in error.strerror:
                        wrong.append(error)

        threads = [threading.Thread(target=fail, args=("wrong%d" % n,)) for n in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(wrong, [])

    def test_the_sentence_of_a_read_is_that_of_the_thread(self):
        ctx = self.running()
        self.mount.write("sim/poke", "1 0x186 0x4200c0")
        self.addCleanup(self.mount.write, "sim/poke", "1 0x186 0")
        wrong = []

        def fail(number):
            for _ in range(200):
                try:
                    wrong.append(ctx.pmd[number])
                except OSError as error:
                    if "pmd%d" % number not in error.strerror:
                        wrong.append(error)

        threads = [threading.Thread(target=fail, args=(number,)) for number in (0, 257, 0, 257)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(wrong, [])

    def test_a_sentence_that_repeats_a_part_of_a_character(self):
        ctx = self.context()
        for shift in ("", "x", "xy", "xyz"):
            self.assertErrno("EINVAL", ctx.ctl, shift + 500 * "\U0001f40c")
            self.assertErrno("EINVAL", self.mount.write, "config/tick_us", shift + 500 * "\U0001f40c")

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
        self.assertEqual(str(ctx.state), "running cpu=1 set=3")
        self.assertEqual(first.switch_pmds, (0,))
        ctx.start(set=0)
        self.assertEqual(ctx.state.set, 0)


class Messages(Case):
    def test_overflow(self):
        ctx = self.running(value=-2000, long=-4000, notify=True)
        self.assertEqual(ctx.messages(timeout=0), [])
        self.advance(5 * MS)
        [message] = ctx.messages()
        self.assertEqual((message.kind, message.cpu, message.set, message.pmds),
                         ("overflow", 1, 0, (0,)))
        self.assertEqual(str(ctx.state), "masked cpu=1 set=0")
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

    def test_signal(self):
        got = []
        before = signal.signal(signal.SIGUSR1, lambda *_: got.append(1))
        self.addCleanup(signal.signal, signal.SIGUSR1, before)
        ctx = self.running(value=-2000, notify=True)
        ctx.signal(signal.SIGUSR1, tid=threading.get_native_id())
        self.advance(5 * MS)
        self.assertEqual(got, [1])
        ctx.signal(0)

    def test_the_end_of_the_queue(self):
        ctx = self.running(value=-2000, notify=True)
        other = perfmonfs.Context(ctx.path)
        other.fileno()
        self.advance(5 * MS)
        ctx.close()
        self.assertEqual([message.kind for message in other.messages()], ["overflow"])
        self.assertErrno("ENODEV", other.messages)
        other.close()

    def test_nobody_comes(self):
        self.assertEqual(self.context().messages(timeout=0.01), [])


class Asynchronous(Case):
    def run_for(self, coroutine):
        return asyncio.run(asyncio.wait_for(coroutine, 60))

    def test_messages(self):
        ctx = self.running(value=-2000, long=-2000, notify=True)

        async def take(number):
            found = []
            async for message in ctx:
                found.append(message)
                if len(found) == number:
                    return found
                ctx.restart()
                self.advance(5 * MS)

        async def both():
            task = asyncio.ensure_future(take(3))
            await asyncio.sleep(0)
            self.advance(5 * MS)
            return await task

        found = self.run_for(both())
        self.assertEqual([(m.kind, m.cpu, m.pmds) for m in found], 3 * [("overflow", 1, (0,))])

    def test_messages_that_are_left(self):
        ctx = self.running(value=-2000, notify=True)
        other = perfmonfs.Context(ctx.path)

        async def left():
            found = []
            async for message in other:
                found.append(message.kind)
                ctx.close()
            return found

        self.advance(5 * MS)
        self.assertEqual(self.run_for(left()), ["overflow"])
        self.assertErrno("ENOENT", ctx.messages)

    async def all_of(self, ctx):
        return [message async for message in ctx]

    def test_it_ends_with_the_context(self):
        for end in (lambda ctx: ctx.close(), lambda ctx: os.rmdir(ctx.path)):
            ctx = self.context()
            other = perfmonfs.Context(ctx.path)

            async def wait():
                tasks = [asyncio.ensure_future(self.all_of(c)) for c in (ctx, ctx, other)]
                await asyncio.sleep(0.01)
                end(ctx)
                return await asyncio.gather(*tasks)

            self.assertEqual(self.run_for(wait()), [[], [], []])

    def test_it_ends_with_close(self):
        other = perfmonfs.Context(self.context().path)

        async def wait():
            task = asyncio.ensure_future(self.all_of(other))
            await asyncio.sleep(0.01)
            threading.Thread(target=other.close).start()
            return await task

        self.assertEqual(self.run_for(wait()), [])

    def test_cancelled(self):
        ctx = self.running(value=-2000, notify=True)

        async def wait():
            with self.assertRaises(asyncio.TimeoutError):
                await asyncio.wait_for(self.all_of(ctx), 0.01)

        self.run_for(wait())
        self.advance(5 * MS)
        self.assertEqual(len(ctx.messages(timeout=0)), 1)

    def test_of_a_removed_context(self):
        ctx = self.context()
        ctx.close()
        self.assertRaises(FileNotFoundError, self.run_for, self.all_of(ctx))


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
        for flag, with_ip in (("no_hdr", False), ("iip_hdr", True)):
            ctx = self.sampling("default size=4096 " + flag, smpl=[1, 256])
            self.advance(5 * MS)
            ctx.stop()
            taken = ctx.samples()
            self.assertEqual((len(taken.bodies), taken.samples), (5, []))
            for body in taken.bodies:
                self.assertEqual(body.ip is not None, with_ip)
                self.assertEqual(sorted(body.values), [1, 256])
            clocks = [body.values[256] for body in taken.bodies]
            self.assertEqual(clocks, sorted(clocks))
            ctx.close()

    def test_without_entries_of_different_lists(self):
        ctx = self.context()
        ctx.format = "default no_hdr"
        ctx.pmc[0], ctx.pmc[1] = USER, BRANCH
        ctx.pmd.write(0, -2000000, short=-2000000, smpl=[256])
        ctx.pmd.write(1, -400000, short=-400000)
        ctx.load(cpu=1)
        ctx.start()
        self.advance(5 * MS)
        ctx.stop()
        self.assertRaises(ValueError, ctx.samples)

    def test_parts(self):
        ctx = self.sampling("nway size=4096 parts=4", notify=True, smpl=[1])
        self.advance(60 * MS)
        counting = ctx.samples()
        self.assertNotIn(perfmonfs.PartState.FILLING, [part.state for part in counting.parts])
        ctx.stop()
        taken = ctx.samples()
        self.assertGreater(len(taken.parts), len(counting.parts))
        self.assertEqual([part.seq for part in taken.parts], sorted(part.seq for part in taken.parts))
        self.assertEqual(sum(s.count for s in taken.samples) + taken.lost_samples + taken.lost, 60)
        times = [sample.time_ns for sample in taken.samples]
        self.assertEqual(times, sorted(times))

    def test_histogram(self):
        ctx = self.sampling("hist size=8192")
        self.advance(10 * MS)
        taken = ctx.samples()  # while it counts
        self.assertEqual(sum(entry.weight for entry in taken.entries), 10)
        self.assertEqual({(entry.set, entry.pmd) for entry in taken.entries}, {(0, 0)})
        ctx.restart()
        self.assertEqual(ctx.samples().entries, [])

    def test_stacks_and_records(self):
        # The model runs no programs: there are no call chains, and no events of processes.
        for name in ("stack", "correlate", "profile"):
            ctx = self.sampling(name + " size=65536", smpl=[1, 256])
            self.advance(10 * MS)
            ctx.stop()
            taken = ctx.samples()
            self.assertEqual(taken.format, name)
            self.assertEqual(sum(sample.count for sample in taken.samples), 10)
            self.assertEqual({(s.frames, tuple(s.values)) for s in taken.samples}, {((), (1, 256))})
            self.assertEqual(taken.records, [] if name == "stack" else taken.samples)
            ctx.close()

    def test_a_map_stays_after_its_context(self):
        ctx = self.sampling("default size=8192")
        self.advance(10 * MS)
        ctx.stop()
        with ctx.buffer() as memory:
            before = bytes(memory)
            ctx.close()
            self.assertErrno("ENOENT", ctx.buffer)
            self.context().pmd[0] = 5
            self.assertEqual(memory[:], before)
            self.assertEqual(len(perfmonfs.parse_samples(memory, {(0, 0): ()}).samples), 10)

    def test_no_map_beyond_the_end(self):
        ctx = self.context()
        ctx.format = "default size=5000"
        with ctx.buffer() as memory:
            self.assertEqual(len(memory), 5000)
            with self.assertRaises(IndexError):
                memory[5000]
        with open(os.path.join(ctx.path, "buffer"), "rb") as file:
            self.assertRaises(ValueError, mmap.mmap, file.fileno(), 5001, mmap.MAP_SHARED, mmap.PROT_READ)

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


class NoPassthrough(Case):
    def test_no_live_page(self):
        ctx = self.running()
        error = self.assertErrno("ENODEV", ctx.set(0).live)
        self.assertIn("live_text", error.strerror)
        self.assertIn("pmd0 0 counts", ctx.set(0).live_text())


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

    def test_age(self):
        ctx = self.running()
        live = self.live(ctx)
        self.advance(MS)
        self.assertEqual(ctx.pmd[0], 2000000)
        live.read()
        self.assertEqual(live.age(), 0.0)
        self.advance(MS // 4)
        self.assertEqual(live.age(), 0.00025)
        ctx.stop()
        live.read()
        self.advance(MS)
        self.assertEqual(live.age(), 0.0)

    def test_as_text(self):
        ctx = self.running()
        self.advance(MS)
        self.assertIn("pmd0 2000000 counts", ctx.set(0).live_text())

    def test_in_change_all_the_time(self):
        ctx = self.context()
        live = self.live(ctx)
        live._seq.release()
        live._seq = memoryview(array.array("I", [1]))  # as a dead daemon may leave it
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
        ctx.pmc[0] = "page-faults"
        self.assertEqual(ctx.pmc[0], self.mount.events()["page-faults"])
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
        self.assertEqual((ctx.state.kind, ctx.state.tid), (perfmonfs.StateKind.ZOMBIE, child.pid))
        if self.lost_switches() == lost:
            return ctx, ctx.pmd[0]
        self.assertErrno("EIO", ctx.pmd.__getitem__, 0)
        return self.skipTest("the kernel has not told of a switch, or too late: the count is lost")

    def test_page_faults_of_a_program(self):
        ctx, count = self.ended()
        self.assertEqual(ctx.children(), [])
        self.assertGreaterEqual(count, 300)
        self.assertEqual(ctx.total()[0, 0], count)

    def test_levels(self):
        ctx = self.context()
        event, user, kernel = self.mount.events()["page-faults"], 0x10000, 0x20000
        for name, value in (("page-faults:u", event & ~kernel), ("page-faults:k", event & ~user),
                            ("page-faults:uk", event)):
            ctx.pmc[0] = name
            self.assertEqual(ctx.pmc[0], value)
        error = self.assertErrno("EINVAL", ctx.pmc.__setitem__, 0, "no-such-event")
        self.assertEqual(error.strerror, ctx.last_error)

    def test_children(self):
        child = subprocess.Popen(["sh", "-c", "kill -STOP $$; /bin/true; /bin/true; true"])
        self.addCleanup(child.wait)
        os.waitid(os.P_PID, child.pid, os.WSTOPPED | os.WNOWAIT)
        ctx = self.followed(child, follow=True)
        child.send_signal(signal.SIGCONT)
        self.assertEqual([message.kind for message in ctx.messages()], ["end"])
        self.assertEqual({str(c.state.kind) for c in ctx.children()}, {"zombie"})
        self.assertEqual(len(ctx.children()), 2)
        ctx.children()[0].remove()
        self.assertEqual(len(ctx.children()), 1)

    def test_one_sum_for_all(self):
        child = self.program()
        ctx = self.context()
        ctx.pmc[0] = "page-faults:u"
        ctx.load(tid=child.pid, inherit=True)
        ctx.start()
        child.communicate(b"\n")
        self.assertEqual([message.kind for message in ctx.messages()], ["end"])
        self.assertGreaterEqual(ctx.pmd[0], 300)

    def test_async_end(self):
        child = self.program()
        ctx = self.context()
        ctx.pmc[0] = "page-faults:u"
        ctx.load(tid=child.pid, inherit=True)

        async def all_of():
            child.communicate(b"\n")
            return [message.kind async for message in ctx]

        self.assertEqual(asyncio.run(all_of()), ["end"])

    BURN = "kill -STOP $$; exec python3 -c 'for n in range(10000000): pass'"

    def test_call_chains_and_events(self):
        child = subprocess.Popen(["sh", "-c", self.BURN])
        self.addCleanup(child.wait)
        self.addCleanup(child.kill)
        os.waitid(os.P_PID, child.pid, os.WSTOPPED | os.WNOWAIT)
        ctx = self.context()
        ctx.format = "profile size=1048576 frames=5"
        ctx.pmc[0] = "task-clock"
        ctx.pmd.write(0, -MS, short=-MS, smpl=[256])
        ctx.load(tid=child.pid)
        ctx.start()
        child.send_signal(signal.SIGCONT)
        child.wait()
        self.assertEqual(ctx.messages()[-1].kind, "end")
        taken = ctx.samples()
        self.assertGreater(len(taken.samples), 20)
        self.assertEqual({sample.pid for sample in taken.samples}, {child.pid})
        self.assertIn("user", {frame.level for sample in taken.samples for frame in sample.frames})
        self.assertLessEqual(max(len(sample.frames) for sample in taken.samples), 5)
        events = [record for record in taken.records if isinstance(record, perfmonfs.ProcessEvent)]
        self.assertIn("exec", {event.kind for event in events})
        names = [event.name for event in events if event.kind == perfmonfs.EventKind.MMAP]
        self.assertTrue(any("python3" in name for name in names), names)

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
