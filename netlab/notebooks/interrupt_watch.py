"""Ctrl-C at the terminal, for work in a thread.

Python handles signals in the main thread, and a thread that it waits for goes on: `asyncio.run`
waits for those of `asyncio.to_thread`, and an executor for its own. A process in the foreground
of the terminal receives the signal as well, and ends by it.
"""

from __future__ import annotations

import signal
import subprocess
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Self

from netlab.files.blocked_loop import cancels_a_task

PROCESS = ("cat",)
"""It ends with its standard input, so that it never outlives this process."""


class InterruptWatch:
    """Call a function once on Ctrl-C, in a thread of its own; a context manager.

    Not where the caller has a handler of SIGINT of their own, or ignores it.
    """

    def __init__(self, on_interrupt: Callable[[], None]):
        self._on_interrupt = on_interrupt

    def __enter__(self) -> Self:
        self._process: subprocess.Popen[bytes] | None = None
        with suppress(OSError):  # without such a process all else works
            self._process = subprocess.Popen(
                PROCESS, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL
            )
            self._thread = threading.Thread(target=self._wait, args=[self._process], daemon=True)
            self._thread.start()
        return self

    def __exit__(self, *_exception: object) -> None:
        if self._process is not None and self._process.stdin is not None:
            self._process.stdin.close()
            self._thread.join()

    def _wait(self, process: subprocess.Popen[bytes]) -> None:
        interrupted = process.wait() == -signal.SIGINT
        handler = signal.getsignal(signal.SIGINT)
        if interrupted and (handler is signal.default_int_handler or cancels_a_task(handler)):
            self._on_interrupt()
