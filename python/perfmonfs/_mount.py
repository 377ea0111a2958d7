# SPDX-License-Identifier: MIT
"""The mount, and what it says about the machine."""

from __future__ import annotations

import errno
import itertools
import os
from typing import Optional, Union

from . import _events
from ._context import Context
from ._files import Descriptor, Directory
from ._values import Cpu, Reading, RegisterInfo, Thread, of_cpus, of_reading, of_register


def find_mount() -> str:
    """Returns PERFMONFS of the environment, or the first mount by root or by the caller."""
    named = os.environ.get("PERFMONFS")
    if named:
        return named
    trusted = {b"user_id=0", b"user_id=%d" % os.geteuid()}
    with open("/proc/self/mountinfo", "rb") as mounts:
        for line in mounts:
            _, _, _, root, path, *_, kind, _, options = line.split()
            if kind == b"fuse.perfmonfs" and root == b"/" and trusted & set(options.split(b",")):
                # The kernel escapes blanks and similar characters in octal.
                return os.fsdecode(path.decode("unicode_escape").encode("latin-1"))
    raise FileNotFoundError(
        errno.ENOENT, "perfmonfs is not mounted: mount it, or set PERFMONFS to its mount point")


class Pmu(Directory):
    """The logical PMU, or that of a type of CPUs."""

    @property
    def name(self) -> str:
        return self.read("name")

    @property
    def model(self) -> str:
        return self.read("model")

    @property
    def backend(self) -> str:
        return self.read("backend")

    @property
    def counter_width(self) -> int:
        return int(self.read("counter_width"))

    def pmcs(self) -> list[RegisterInfo]:
        return [of_register(line) for line in self.read("pmcs").splitlines()]

    def pmds(self) -> list[RegisterInfo]:
        return [of_register(line) for line in self.read("pmds").splitlines()]

    def events(self) -> dict[str, int]:
        """Returns {NAME: VALUE for a PMC} of the events that the backend defines."""
        lines = [line.split() for line in self.read("events").splitlines()]
        return {words[0]: int(words[1], 0) for words in lines}

    def readings(self) -> list[Reading]:
        """Returns the free-running registers, for root and for config/sys_group."""
        return [of_reading(line) for line in self.read("readings").splitlines()]

    def energy(self) -> list[Reading]:
        """Returns the registers of energy, for root and for config/energy_group."""
        return [of_reading(line) for line in self.read("energy").splitlines()]

    def types(self) -> dict[str, Pmu]:
        """Returns {TYPE: its PMU} where CPUs have different ones."""
        with os.scandir(self.path) as found:
            return {entry.name: Pmu(entry.path, self._home) for entry in found if entry.is_dir()}


class Config(Directory):
    """The global properties: config["tick_us"]. Root can change them."""

    def __getitem__(self, key: str) -> str:
        return self.read(key)

    def __setitem__(self, key: str, value: Union[int, str]) -> None:
        self.write(key, str(value))


_INTERFACE = "3"  # of `version`


class Mount(Directory):
    """A mount of perfmonfs. Without a path, find_mount() finds it."""

    _serial = itertools.count()

    def __init__(self, path: Optional[str] = None) -> None:
        path = os.path.abspath(path or find_mount())
        super().__init__(path, path)
        interface = self.version.split()[-1]
        if interface != _INTERFACE:
            raise OSError(errno.EPROTONOSUPPORT, "this module knows interface %s, not %s: install "
                          "that of the daemon" % (_INTERFACE, interface), path)
        self.pmu = Pmu(os.path.join(path, "pmu"), path)
        self.config = Config(os.path.join(path, "config"), path)

    def context(self, name: Optional[str] = None) -> Context:
        """Creates a context. Close it, or use it in a with statement. It stays when the program is
        killed."""
        name = name or self._unused()
        if "/" in name:
            raise ValueError("the name of a context has no '/': %r" % name)
        path = os.path.join(self.path, "ctx", name)
        self._name(path, os.mkdir)
        try:
            return Context(path, created=True)
        except BaseException:
            os.rmdir(path)
            raise

    def _unused(self) -> str:
        """Returns a name that no process with this number has left."""
        while True:
            name = "python-%d-%d" % (os.getpid(), next(self._serial))
            if not os.path.isdir(os.path.join(self.path, "ctx", name)):
                return name

    def clone(self) -> Context:
        """Creates a context that ends with the program, even if it is killed."""
        clone = Descriptor(self._open("clone", os.O_RDWR))
        _, path = os.read(clone.number, 256).decode().split()
        return Context(os.path.join(self.path, path), created=True, clone=clone)

    def contexts(self) -> list[Context]:
        """Returns the existing contexts, of all users; close() does not remove them."""
        directory = os.path.join(self.path, "ctx")
        names = self._name(directory, os.listdir)
        return [Context(os.path.join(directory, name)) for name in sorted(names)]

    @property
    def version(self) -> str:
        return self.read("version")

    @property
    def last_error(self) -> str:
        """The daemon's last sentence for this user outside of contexts."""
        return self.read("last_error")

    def events(self) -> dict[str, int]:
        """Returns {NAME: VALUE for a PMC} of the events that the backend defines."""
        return self.pmu.events()

    def all_events(self) -> dict[str, str]:
        """Returns {NAME: description} of the events that pfm knows. This and the next two need
        libpfmfs. A PMC takes names of events() without it."""
        return _events.list_events(self.path)

    def encode(self, event: str) -> tuple[int, int]:
        """Returns (PMC, value) for any event that pfm knows: ctx.pmc[PMC] = value."""
        return _events.encode(self.path, event)

    def encode_regs(self, *events: str) -> tuple[str, tuple[int, ...]]:
        """Returns the lines for EventSet.regs, and the PMD that counts each event."""
        return _events.encode_regs(self.path, events)

    def formats(self) -> dict[str, str]:
        """Returns {NAME: UUID} of the sampling formats."""
        lines = [line.split() for line in self.read("formats").splitlines()]
        return {name: uuid for uuid, name in lines}

    def register_format(self, path: str) -> None:
        """Registers the sampling format of a shared object, for root."""
        self.write("formats", "register " + path)

    def unregister_format(self, name: str) -> None:
        self.write("formats", "unregister " + name)

    def stats(self) -> dict[str, int]:
        """Returns {KEY: VALUE} of the daemon's statistics."""
        lines = [line.split() for line in self.read("stats").splitlines()]
        return {key: int(n) for key, n in lines}

    def cpus(self) -> list[Cpu]:
        return of_cpus(self.read("cpus"))[0]

    def threads(self) -> list[Thread]:
        """Returns the contexts on threads that the caller may see."""
        return of_cpus(self.read("cpus"))[1]

    def metrics(self, file: str = "node.prom") -> str:
        """Returns a file of metrics/."""
        return self.read("metrics/" + file)
