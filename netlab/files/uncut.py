"""Work that a signal must not cut in the middle."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

# SIGINT is the last whose handler comes back: an interrupt then finds the others in place
_WAITING = (signal.SIGHUP, signal.SIGTERM, signal.SIGINT)


@contextmanager
def interrupts_wait() -> Iterator[None]:
    """Keep a Ctrl-C, SIGTERM or SIGHUP until the end of the block, and act on it there.

    An exception that a signal raises in the middle of a lock's own code leaves it locked for ever:
    a thread pool, used by the main thread, then never ends. In other threads this does nothing, as
    Python handles signals in the main one.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    handlers = {int(number): signal.getsignal(number) for number in _WAITING}
    kept: list[int] = []

    def keep(number: int, _frame: FrameType | None) -> None:
        kept.append(number)

    try:
        for number, handler in handlers.items():
            if callable(handler):
                signal.signal(number, keep)
        yield
    finally:
        for number, handler in handlers.items():
            if callable(handler):
                signal.signal(number, handler)
        for number in dict.fromkeys(kept):
            signal.raise_signal(number)
