# SPDX-License-Identifier: MIT
"""Regions: perfmonfs/region.h."""

from __future__ import annotations

import contextlib
import ctypes
import functools
import os
from collections.abc import Iterator


@functools.lru_cache(maxsize=None)
def _library() -> ctypes.CDLL:
    return ctypes.CDLL("libperfmonfs.so.1", use_errno=True)


def _call(function: str, name: str) -> None:
    if getattr(_library(), function)(os.fsencode(name)) < 0:
        no = ctypes.get_errno()
        raise OSError(no, "region %s: %s" % (name, os.strerror(no)))


@contextlib.contextmanager
def region(name: str) -> Iterator[None]:
    """Counts a block, or with @region(NAME) the calls of a function, if the program was started by
    `pfm stat --regions`, which prints the counts. Otherwise it has no effect. It counts the thread
    that enters the block, including the work of the interpreter for it."""
    if not os.environ.get("PFM_REGIONS"):
        yield
        return
    _call("pfm_region_begin", name)
    try:
        yield
    finally:
        _call("pfm_region_end", name)
