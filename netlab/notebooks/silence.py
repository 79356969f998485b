"""A watch over a kernel: end it if it sends no progress for too long, and save its stacks."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Self

from netlab.errors import NetlabError

PREPARE = """
import faulthandler, signal
_stacks = open({path!r}, "w")
faulthandler.register(signal.SIGUSR1, file=_stacks, all_threads=True)
"""
"""Code for the kernel: SIGUSR1 writes the stacks of its threads to the file `path`."""

DUMP_S = 2.0
"""Time for a process to write its stacks."""


class SilentNotebook(NetlabError):
    """A notebook sent no progress for too long; its kernel was ended."""


class SilenceWatch:
    """End a process that is silent for `limit_s`; a context manager."""

    def __init__(
        self,
        pid: int,
        limit_s: float,
        end_s: float,
        stacks: Path,
        clock: Callable[[], float] = time.monotonic,
    ):
        self._pid, self.limit_s, self._end_s, self._clock = pid, limit_s, end_s, clock
        self._stacks = stacks
        self._done = threading.Event()
        self._last_progress_s = clock()
        self._thread = threading.Thread(target=self._watch, name="silence", daemon=True)
        self.silent = False
        self.text = ""

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_exception: object) -> None:
        self._done.set()
        self._thread.join()

    def progressed(self) -> None:
        self._last_progress_s = self._clock()

    def _watch(self) -> None:
        while (left_s := self._last_progress_s + self.limit_s - self._clock()) > 0:
            if self._done.wait(left_s):
                return
        self.silent = True
        self._signal(signal.SIGUSR1)
        self._done.wait(DUMP_S)
        with suppress(OSError):
            self.text = self._stacks.read_text(errors="replace")
        self._signal(signal.SIGINT)
        if not self._done.wait(self._end_s):
            self._signal(signal.SIGKILL)

    def _signal(self, number: signal.Signals) -> None:
        if not self._done.is_set():
            with suppress(ProcessLookupError):
                os.kill(self._pid, number)
