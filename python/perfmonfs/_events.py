# SPDX-License-Identifier: MIT
"""Names of events by libpfmfs: perfmonfs/events.h."""

from __future__ import annotations

import ctypes
import functools
import os

_ROOM = 128  # bytes for the lines of an event
_EACH = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_char_p)


@functools.lru_cache(maxsize=None)
def _library() -> ctypes.CDLL:
    library = ctypes.CDLL("libpfmfs.so.1", use_errno=True)
    library.pfm_encode_error.restype = ctypes.c_char_p
    return library


def _call(function: str, mount: str, *args: object) -> None:
    library = _library()
    if getattr(library, function)(os.fsencode(mount), *args) < 0:
        no = ctypes.get_errno()
        raise OSError(no, library.pfm_encode_error().decode(errors="replace"))


def encode(mount: str, event: str) -> tuple[int, int]:
    pmc, value = ctypes.c_uint(), ctypes.c_uint64()
    _call("pfm_encode_event", mount, event.encode(), ctypes.byref(pmc), ctypes.byref(value))
    return pmc.value, value.value


def encode_regs(mount: str, events: tuple[str, ...]) -> tuple[str, tuple[int, ...]]:
    n = len(events)
    pmds, regs = (ctypes.c_uint * n)(), ctypes.create_string_buffer(_ROOM * n + 1)
    names = (ctypes.c_char_p * n)(*(name.encode() for name in events))
    _call("pfm_encode_regs", mount, names, ctypes.c_uint(n), pmds, regs,
          ctypes.c_size_t(len(regs)))
    return regs.value.decode(), tuple(pmds)


def list_events(mount: str) -> dict[str, str]:
    found = {}

    def add(_: object, name: bytes, description: bytes) -> None:
        found[name.decode(errors="replace")] = description.decode(errors="replace")

    _call("pfm_list_events", mount, _EACH(add), None)
    return found
