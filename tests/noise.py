"""What other work on a shared machine does to a test that measures: it takes time, and passes."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path


def tries(at_once: int, later: int = 6, pause_s: float = 8.0) -> Iterator[int]:
    """Numbers of tries: some at once, then some after pauses, as other work comes in spells."""
    for number in range(1, at_once + later + 1):
        if number > at_once:
            time.sleep(pause_s)
        yield number


def as_expected(share: float, bound: float, stolen_share: float = 0.0) -> bool:
    """Whether what was measured is the expected within a bound.

    Parameters
    ----------
    share
        Measured goodput over the expected.
    bound
        How far from 1 it may be.
    stolen_share
        What others had of the window, of all CPUs together: goodput may be less by as much. More
        than a tenth says nothing any more.
    """
    return -bound - min(stolen_share, 0.1) <= share - 1 <= bound


@contextmanager
def stolen() -> Iterator[Callable[[], float]]:
    """While entered; afterwards, ask for the CPU time that other guests had instead, in s.

    Of all CPUs together: a link or a sender stands still for as long at most.
    """
    before_s = _steal_s()
    taken = [0.0]
    yield lambda: taken[0]
    taken[0] = _steal_s() - before_s


def _steal_s() -> float:
    total = Path("/proc/stat").read_text().splitlines()[0].split()
    return int(total[8]) / os.sysconf("SC_CLK_TCK")
