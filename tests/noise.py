"""Retries of timing tests on a shared machine, and allowance for CPU time that others used."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

LITTLE = 0.1
"""Share of a window that others may use before a try is disturbed."""
PRESSURE = Path("/proc/pressure/cpu")


def tries(at_once: int, later: int = 6, pause_s: float = 8.0) -> Iterator[int]:
    """Numbers of tries: some at once, then some after pauses, as other work comes in spells."""
    for number in range(1, at_once + later + 1):
        if number > at_once:
            time.sleep(pause_s)
        yield number


@dataclass
class Shares:
    """Measured over expected values, try after try.

    Each has the stolen share of its time, of all CPUs together: a link or a sender that waits for a
    CPU stalls for as long at most, and moves as much less.
    """

    bound: float
    """Largest deviation of a share from 1."""
    seen: list[tuple[float, float]] = field(default_factory=list)
    """Share, and the stolen share of the window."""

    def settled(self, share: float, stolen: float) -> bool:
        """Add a try; True if it is as expected and undisturbed, so that no other one is needed."""
        self.seen.append((share, stolen))
        return stolen < LITTLE and self._near(share, stolen)

    @property
    def confirmed(self) -> bool:
        """True if one try was as expected, allowing for the stolen time."""
        return any(self._near(*one) for one in self.seen)

    def _near(self, share: float, stolen: float) -> bool:
        return -self.bound - stolen <= share - 1 <= self.bound


@dataclass
class RoundTrips:
    """Round trips beside the requested one, try after try, in ms."""

    asked_ms: float
    bound_ms: float
    seen: list[tuple[float, float, float]] = field(default_factory=list)
    """Mean, least, and the stolen share of the time."""

    def settled(self, mean_ms: float, least_ms: float, stolen: float) -> bool:
        """Add a try; True if its mean is within the bound."""
        self.seen.append((mean_ms, least_ms, stolen))
        return self._near(mean_ms)

    @property
    def confirmed(self) -> bool:
        """True if one mean was; or one round trip, if every try was disturbed."""
        disturbed = all(stolen >= LITTLE for _, _, stolen in self.seen)
        return any(
            self._near(mean) or (disturbed and self._near(least)) for mean, least, _ in self.seen
        )

    def _near(self, measured_ms: float) -> bool:
        return abs(measured_ms - self.asked_ms) <= self.bound_ms


@contextmanager
def stolen() -> Iterator[Callable[[], float]]:
    """Measure the stolen time during the block; call the result afterwards, for seconds.

    Of all CPUs together: a link or a sender stalls for as long at most.
    """
    before_s = _steal_s()
    taken = [0.0]
    yield lambda: taken[0]
    taken[0] = _steal_s() - before_s


def _steal_s() -> float:
    total = Path("/proc/stat").read_text().splitlines()[0].split()
    return int(total[8]) / os.sysconf("SC_CLK_TCK")


def contended_s() -> float:
    """Seconds so far in which work of this machine waited for a CPU, or another guest had one.

    A kernel without pressure stall information tells the latter only.
    """
    waited_us = 0
    if PRESSURE.exists():
        waited_us = int(PRESSURE.read_text().split("total=")[1].split()[0])
    return waited_us / 1e6 + _steal_s() / (os.cpu_count() or 1)
