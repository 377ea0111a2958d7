# SPDX-License-Identifier: MIT
"""Background contexts of tests/soak, one for each CPU of the model: they give way to clients, and come back."""

import errno

import perfmonfs

from chaos.clients import EVENTS_PER_NS, GONE, INSTRUCTIONS, LOST, now
from chaos.site import soon


class Monitor:
    """One context. All methods return faults, as lists of sentences."""

    def __init__(self, site, cpu):
        self.site = site
        self.cpu = cpu
        self.seen = self.gaps = 0
        self.lost = False
        self.begun = now()
        self.ctx = perfmonfs.Mount(site.mnt).context("monitor-%d" % cpu)
        self.ctx.flags = {"background"}
        self.ctx.pmc[0] = INSTRUCTIONS
        self.ctx.write("metrics", "pmd0 instructions")
        self.ctx.load(cpu=cpu)
        self.ctx.start()

    def look(self):
        """A count never goes back, and is what the time allows at most. Lost, it stays so."""
        try:
            state, seen = self.ctx.state, self.ctx.pmd[0]
        except OSError as error:
            self.lost |= error.errno in LOST
            return [] if error.errno in LOST | GONE else ["CPU %d: %s" % (self.cpu, error)]
        faults = []
        most = EVENTS_PER_NS * (now() - self.begun)
        if not self.seen <= seen <= most:
            faults.append("CPU %d: %d instructions, not %d to %d" % (self.cpu, seen, self.seen, most))
        if state.gaps < self.gaps:
            faults.append("CPU %d: %d gaps after %d" % (self.cpu, state.gaps, self.gaps))
        self.seen, self.gaps = seen, state.gaps
        return faults

    def resumes(self):
        """All clients have gone: it runs, and its count rises."""
        if not soon(lambda: self.ctx.state.kind == "running"):
            return ["CPU %d: it does not come back: %s" % (self.cpu, self.ctx.state)]
        before = self.seen
        faults = self.look()
        if not self.lost and not faults and not soon(lambda: self.look() or self.seen > before):
            faults.append("CPU %d: its count stands at %d" % (self.cpu, self.seen))
        if self.lost and self.cpu not in self.site.frail_cpus:
            faults.append("CPU %d: its count is lost" % self.cpu)
        return faults


class Monitors:
    """Those of a site, from begin() to end()."""

    def __init__(self, site):
        self.site = site
        self.all = []
        self.faults = []
        self.yields = 0

    def begin(self):
        self.all = [Monitor(self.site, cpu) for cpu in self.site.cpus if cpu not in self.site.frail_cpus]
        for cpu in self.site.frail_cpus:
            try:
                self.all.append(Monitor(self.site, cpu))
            except OSError as error:
                if error.errno not in LOST:
                    raise

    def look(self):
        for monitor in self.all:
            self.faults += monitor.look()

    def end(self):
        """Removes the contexts. Returns the faults of all the time."""
        for monitor in self.all:
            self.faults += monitor.resumes()
            self.yields += monitor.gaps
            monitor.ctx.close()
        found, self.faults, self.all = self.faults, [], []
        return found

    def killed(self):
        """The daemon, and their contexts with it."""
        self.yields += sum(monitor.gaps for monitor in self.all)
        self.all = []
