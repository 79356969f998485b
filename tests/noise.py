"""What other work on a shared machine does to a test that measures: it takes time, and passes."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

LITTLE = 0.1
"""Of a window; beyond, a try says little."""


def tries(at_once: int, later: int = 6, pause_s: float = 8.0) -> Iterator[int]:
    """Numbers of tries: some at once, then some after pauses, as other work comes in spells."""
    for number in range(1, at_once + later + 1):
        if number > at_once:
            time.sleep(pause_s)
        yield number


@dataclass
class Shares:
    """What was measured over what is expected, try after try.

    What other guests of the machine had of the time, of all CPUs together, is known of each: a link
    or a sender that waits for one of them stands still for as long at most, and moves as much less.
    """

    bound: float
    """How far from 1 a share may be."""
    seen: list[tuple[float, float]] = field(default_factory=list)
    """Share, and what others had of the window."""

    def settled(self, share: float, stolen: float) -> bool:
        """Whether this one is as expected, and others had little; if not, another try may be."""
        self.seen.append((share, stolen))
        return stolen < LITTLE and self._held(share, stolen)

    @property
    def held(self) -> bool:
        """Whether one was as expected, for what others left of the time."""
        return any(self._held(*one) for one in self.seen)

    def _held(self, share: float, stolen: float) -> bool:
        return -self.bound - stolen <= share - 1 <= self.bound


@dataclass
class RoundTrips:
    """Round trips beside what was asked, try after try, in ms."""

    asked_ms: float
    bound_ms: float
    seen: list[tuple[float, float, float]] = field(default_factory=list)
    """Mean, least, and what others had of the time."""

    def settled(self, mean_ms: float, least_ms: float, stolen: float) -> bool:
        """Whether this mean is within the bound."""
        self.seen.append((mean_ms, least_ms, stolen))
        return self._near(mean_ms)

    @property
    def held(self) -> bool:
        """Whether one mean was, or, if others had much of the time in every try, one round trip."""
        disturbed = all(stolen >= LITTLE for _, _, stolen in self.seen)
        return any(
            self._near(mean) or (disturbed and self._near(least)) for mean, least, _ in self.seen
        )

    def _near(self, measured_ms: float) -> bool:
        return abs(measured_ms - self.asked_ms) <= self.bound_ms


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
