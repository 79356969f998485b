"""Waits of tests: for a state, never for a time that a busy machine may exceed."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

WAIT_S = 30.0
"""A machine that stands still for seconds does not exceed it."""
T = TypeVar("T")


def until(condition: Callable[[], T], timeout_s: float = WAIT_S, every_s: float = 0.02) -> T:
    """Poll a condition; its first true value."""
    end = time.monotonic() + timeout_s
    while not (value := condition()):
        assert time.monotonic() < end, f"not so within {timeout_s:g} s"
        time.sleep(every_s)
    return value
