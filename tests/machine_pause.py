"""Longest time for which the machine ran nothing of a test: other work had every processor."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

STEP_S = 0.02


class Pause:
    """Longest pause between two wakes of a thread that sleeps for `STEP_S`."""

    longest_s = 0.0


@contextmanager
def watched() -> Iterator[Pause]:
    pause, ended = Pause(), threading.Event()

    def watch() -> None:
        before_s = time.monotonic()
        while not ended.wait(STEP_S):
            now_s = time.monotonic()
            pause.longest_s = max(pause.longest_s, now_s - before_s - STEP_S)
            before_s = now_s

    thread = threading.Thread(target=watch)
    thread.start()
    try:
        yield pause
    finally:
        ended.set()
        thread.join()
