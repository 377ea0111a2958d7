# SPDX-License-Identifier: MIT
"""Reading and writing files of the tree, with the daemon's sentences in errors."""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

# The kernel detects these errors of open, mkdir and rmdir, and last_error has an older sentence.
_KERNEL = {
    errno.EACCES, errno.EEXIST, errno.EISDIR, errno.ELOOP, errno.EMFILE, errno.ENAMETOOLONG,
    errno.ENFILE, errno.ENOENT, errno.ENOTDIR,
}


def _text(found: bytes) -> str:
    """Returns a text of the tree. A sentence may repeat a part of a character."""
    return found.decode(errors="replace")


class Descriptor:
    """An open file. It is closed with the last reference to it, so no thread closes it while another
    thread uses it."""

    def __init__(self, number: int) -> None:
        self.number = number

    def __del__(self) -> None:
        os.close(self.number)


class Directory:
    """The files of a directory. The file `last_error` of the directory home explains their errors."""

    def __init__(self, path: str, home: str) -> None:
        self.path = path
        self._home = home

    def __repr__(self) -> str:
        return "%s(%r)" % (type(self).__name__, self.path)

    def _sentence_of(self, error: OSError, path: str, home: str) -> OSError:
        """Returns the same error with the sentence in the directory home."""
        try:
            fd = os.open(os.path.join(home, "last_error"), os.O_RDONLY | os.O_CLOEXEC)
        except OSError:
            return error
        try:
            sentence = _text(os.read(fd, 4096)).strip()
        except OSError:
            sentence = "ok"
        finally:
            os.close(fd)
        if sentence == "ok" or sentence.startswith("note: "):
            sentence = error.strerror or ""
        return OSError(error.errno, sentence, path)

    def _sentence_of_file(self, error: OSError, path: str, fd: int) -> OSError:
        """Returns the same error with the sentence of the call on fd that has failed, which no other
        thread replaces."""
        try:
            sentence = _text(os.pread(fd, 4096, 1)).strip()  # at 0 it is the file's text
        except OSError:
            sentence = ""  # the context was removed
        return OSError(error.errno, sentence or error.strerror or "", path)

    def _explain(self, error: OSError, path: str) -> OSError:
        """Returns the error of a path with its sentence, if it has one."""
        if error.errno not in _KERNEL:
            return self._sentence_of(error, path, self._home)
        if error.errno != errno.ENOENT:
            return error
        mount, _, rest = self._home.rpartition("/ctx/")
        if rest and not os.path.isdir(self._home):
            return self._sentence_of(error, path, mount)
        if re.search(r"/pm[cd]/\d+$", path) and os.path.isdir(os.path.dirname(path)):
            return self._sentence_of(error, path, self._home)
        return error

    def _name(self, path: str, call: Callable[..., T], *args: object) -> T:
        """Calls call(path, *args). Its errors are the daemon's or the kernel's."""
        try:
            return call(path, *args)
        except OSError as error:
            explained = self._explain(error, path)
        raise explained

    def _open(self, name: str, flags: int) -> int:
        return self._name(os.path.join(self.path, name), os.open, flags | os.O_CLOEXEC)

    def read(self, name: str) -> str:
        """Returns the text of a file without its last newline."""
        path = os.path.join(self.path, name)
        fd = self._open(name, os.O_RDONLY)
        try:
            return _text(b"".join(iter(lambda: os.read(fd, 65536), b""))).rstrip("\n")
        except OSError as error:
            explained = self._sentence_of_file(error, path, fd)
        finally:
            os.close(fd)
        raise explained

    def write(self, name: str, text: str) -> None:
        """Writes a file with one write(2), which is one command."""
        path = os.path.join(self.path, name)
        fd = self._open(name, os.O_RDWR)
        try:
            os.write(fd, text.encode())
        except OSError as error:
            explained = self._sentence_of_file(error, path, fd)
        else:
            return
        finally:
            os.close(fd)
        raise explained
