"""Calls that run at the same time."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

from netlab.files.uncut import interrupts_wait

T = TypeVar("T")


def together(calls: Iterable[Callable[[], T]], *, at_once: int) -> list[Future[T]]:
    """Make calls, several at a time; return when all have ended."""
    with interrupts_wait(), ThreadPoolExecutor(max_workers=at_once) as pool:
        return [pool.submit(call) for call in calls]
