"""Calls that run at the same time, and work that a signal must not interrupt."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from types import FrameType
from typing import TypeVar

T = TypeVar("T")

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


def together(calls: Iterable[Callable[[], T]], *, at_once: int) -> list[Future[T]]:
    """Make calls, several at a time; return when all have ended.

    Parameters
    ----------
    calls : iterable of callables
        Without arguments.
    at_once : int
        Largest number of calls under way.

    Returns
    -------
    list of Future
        In the order of `calls`; each has ended with a result or an exception.

    Raises
    ------
    KeyboardInterrupt
        A Ctrl-C came meanwhile. All calls have ended.
    """
    with interrupts_wait(), ThreadPoolExecutor(max_workers=at_once) as pool:
        return [pool.submit(call) for call in calls]
