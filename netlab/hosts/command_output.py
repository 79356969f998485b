"""A command line that marks where its output begins, past what a host's start-up files print."""

from __future__ import annotations

import re
import shlex
import time
from collections.abc import Callable

BEGIN = b"netlab: what follows is of the command\n"
UNSAFE = re.compile(rb"[^ -~]|[\\'!]")
"""Bytes that a login shell may read in another way than sh within single quotes."""

PRINTED_BYTES = 1 << 16
"""Kept of what comes before the mark: the words of a login that runs no command."""


def command_line(argv: tuple[str, ...]) -> bytes:
    """An argv as a line of one meaning to any login shell; start-up files print before `BEGIN`."""
    words = f"exec {shlex.join(argv)}".encode("utf-8", "surrogateescape")
    encoded = UNSAFE.sub(lambda byte: b"\\0%03o" % byte[0][0], words)
    return b"""sh -c 'echo "%s"; eval "$(printf %%b "$1")"' sh '%s'""" % (BEGIN.strip(), encoded)


class CommandOutput:
    """Standard output of a command, after what start-up files print."""

    def __init__(self, receive: Callable[[int, float], bytes]):
        self._receive = receive
        self._before: bytes | None = b""  # None once the command has begun
        self._kept = b""

    @property
    def has_begun(self) -> bool:
        return self._before is None

    def begin(self, timeout_s: float) -> bool:
        """Read until the command has begun, or has not and will not; False at the end."""
        deadline = time.monotonic() + timeout_s
        while self._before is not None:
            chunk = self._receive(65536, max(0.0, deadline - time.monotonic()))
            printed, begins, output = (self._before + chunk).partition(BEGIN)
            if begins or not chunk:
                self._before, self._kept = None, output if begins else printed
                return bool(chunk)
            self._before = printed[-PRINTED_BYTES:]
            if time.monotonic() >= deadline:  # there is always more of what has no end
                raise TimeoutError
        return True

    def read(self, size: int, timeout_s: float) -> bytes:
        self.begin(timeout_s)
        if self._kept:
            chunk, self._kept = self._kept[:size], self._kept[size:]
            return chunk
        return self._receive(size, timeout_s)
