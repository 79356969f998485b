"""Foreign files opened for reading: regular ones only, so that none blocks its reader."""

from __future__ import annotations

import errno
import os
import re
import stat
from pathlib import Path
from typing import Any

from netlab.errors import BadInput


class NotRegularFile(BadInput, OSError):
    """A FIFO, a socket or a device; an OSError, as for any file that cannot be opened."""

    def __init__(self, path: str, *, code: str):
        super().__init__("is not a regular file", where=path, code=code)
        self.errno, self.strerror = errno.EINVAL, "not a regular file"

    __str__ = Exception.__str__  # that of OSError would lack the path


_DESCRIPTOR = re.compile(r"/dev/(stdin|fd/\d+)")


def open_regular(path: Path | str, mode: str = "rb", *, follow: bool = True, **text: Any) -> Any:
    """Open a regular file; OSError for anything else, and for a link unless links are followed.

    A FIFO without a writer would block :func:`open` for ever, a device may have no end. Only a pipe
    that the user hands to this process, such as ``<(command)`` of a shell, is read too.
    """
    if follow and _DESCRIPTOR.fullmatch(str(path)):
        return open(path, mode, **text)
    links = 0 if follow else os.O_NOFOLLOW
    return open(path, mode, opener=lambda path, flags: _regular(path, flags | links), **text)


def read_bytes(path: Path | str) -> bytes:
    with open_regular(path) as file:
        return file.read()


def read_text(path: Path | str, encoding: str = "utf-8", errors: str = "strict") -> str:
    with open_regular(path, "r", encoding=encoding, errors=errors) as file:
        return file.read()


def _regular(path: str, flags: int) -> int:
    try:
        # without O_NONBLOCK the open of a FIFO waits, before its kind can be known
        opened = os.open(path, flags | os.O_NONBLOCK | os.O_CLOEXEC, 0o666)
    except OSError as error:
        if error.errno == errno.ENXIO:  # a socket, or a FIFO for writing
            raise NotRegularFile(path, code="E-FILES-021") from None
        raise
    kind = os.fstat(opened).st_mode
    if stat.S_ISREG(kind) or stat.S_ISDIR(kind):  # open() refuses a directory
        return opened
    os.close(opened)
    raise NotRegularFile(path, code="E-FILES-022")
