"""Stacks of the threads of a process that hangs, and of the processes below it."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from pathlib import Path

WRITTEN_S = 2.0


def below(pid: int) -> list[int]:
    """A process and all processes below it, the lowest first."""
    found = []
    for children in Path(f"/proc/{pid}/task").glob("*/children"):
        with contextlib.suppress(OSError):
            found += [each for child in children.read_text().split() for each in below(int(child))]
    return [*found, pid]


def dumped(pid: int) -> str:
    """End a process and all below it by SIGABRT; return the stacks that Python ones print.

    They were started with ``PYTHONFAULTHANDLER=1``. Standard error of one may be a file that is
    deleted, or a pipe that this process reads.
    """
    parts = []
    for each in below(pid):
        with contextlib.suppress(OSError):
            argv = Path(f"/proc/{each}/cmdline").read_bytes().replace(b"\0", b" ").decode()
            wait = Path(f"/proc/{each}/wchan").read_text()
            error = os.open(f"/proc/{each}/fd/2", os.O_RDONLY | os.O_NONBLOCK)
            os.kill(each, signal.SIGABRT)
            time.sleep(WRITTEN_S)
            text = ""
            with contextlib.suppress(BlockingIOError):
                text = os.read(error, 1 << 20).decode("utf-8", "replace")
            os.close(error)
            parts.append(f"--- process {each}, {argv}\nwaits in {wait}\n{text[-6000:]}")
    return "\n".join(parts)
