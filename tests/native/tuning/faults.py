"""System calls of `gensink tune` that fail on demand, and the changes left in its journals."""

from __future__ import annotations

import errno
import mmap
import struct
from collections.abc import Iterable
from pathlib import Path
from urllib.parse import unquote

_NAMES = "open read write fsync ioctl socket ftruncate unlink rename fork pipe malloc"
CALLS = {name: 1 << bit for bit, name in enumerate(_NAMES.split())}
ALL = -1
"""Fail every call until it is disarmed."""


class Faults:
    """The page that `tune_faulty.c` reads."""

    def __init__(self, path: Path):
        path.write_bytes(bytes(20))
        self.path = path
        with path.open("r+b") as file:
            self._page = mmap.mmap(file.fileno(), 20)
        self.disarm()

    def arm(self, *calls: str, skip: int = 0, count: int = ALL, error: int = errno.EMFILE) -> None:
        """Fail `count` of the calls after `skip` of them."""
        self.disarm()
        struct.pack_into("=iii", self._page, 4, skip, count, error)
        struct.pack_into("=i", self._page, 0, sum(CALLS[call] for call in calls))

    def disarm(self) -> None:
        """Let every call through."""
        struct.pack_into("=iiiii", self._page, 0, 0, 0, 0, errno.EIO, 0)

    @property
    def failures(self) -> int:
        """Calls that failed since `arm`."""
        return struct.unpack_from("=i", self._page, 16)[0]

    @property
    def environment(self) -> tuple[str, ...]:
        """Words before a command that make it read this page."""
        return ("env", f"NL_FAULTS={self.path}")


def missing(journals: Iterable[Path]) -> set[tuple[str, str, str]]:
    """Kind, name and interface of every knob that journals say is not reverted."""
    found = set()
    for journal in journals:
        for line in journal.read_text().splitlines():
            verb, *words = line.split(" ")
            values = dict(word.split("=", 1) for word in words)
            assert verb == "set" and "old" in values, line
            found.add(tuple(unquote(values.get(key, "")) for key in ("knob", "name", "interface")))
    return found
