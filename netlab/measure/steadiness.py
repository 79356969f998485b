"""A step down within a run: a path that lets a burst pass, and then carries less.

Token buckets of clouds and of shapers do that: full speed until their credit ends. The mean over
such a window is a rate that the path never had. The test is the likelihood ratio for one change
of the mean of normal values (Worsley, JASA 74, 1979) on the logarithms of a run's intervals. Its
largest t is judged by Bonferroni's bound over the possible times. Neighbouring intervals are alike,
so they count as fewer: AR(1) of the residuals.

Significance alone is not enough: TCP's window moves too. So a step is a fall that the window
cannot make, to a rate that then stays. A rise is not a step: slow start and growing windows rise.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from netlab.measure.bottleneck import BUSY_CORE_PERCENT
from netlab.units import plain

LEAST_INTERVALS = 10
"""Fewest intervals of a window for a test; of fewer, a change cannot be told from noise."""

LEAST_BEFORE, LEAST_AFTER = 1, 3
"""Fewest intervals with bytes on either side. What is left of one timeout is not a later side."""

FALL, FALL_FURTHER = 1.5, 2.5
"""Least ratio of the rates: other programs take a third of a CPU. A loss halves a window, and the
recovery costs a further round trip; a scheduler that moves two threads to one CPU halves a rate."""

STAYS = 1.25
"""Largest ratio of the later half of what follows a step over its earlier half: a window that
recovers from losses grows."""

FALSE_ALARMS = 1e-4
"""Significance level of the test; tests/nightly simulates what correlated intervals make of it."""

SILENT_SHARE = 1e-3
"""Share of the mean rate that stands for an interval without a byte, which has no logarithm."""

MOST_CORRELATION = 0.95

SMALL = 1e-9
"""Sum of squares below which intervals are equal but for rounding."""


@dataclass(frozen=True)
class Step:
    """Rates before and after a step; ``at_s`` is the time since the start of the window."""

    at_s: float
    before_MBps: float
    after_MBps: float

    def text(self) -> str:
        return (
            f"{rate_text(self.before_MBps)} until {plain(self.at_s, '.2g')} s, then "
            f"{rate_text(self.after_MBps)} MB/s"
        )


def rate_text(rate_MBps: float) -> str:
    return f"{rate_MBps:,.0f}" if rate_MBps >= 100 else f"{rate_MBps:.3g}"


def step_of(moved_B: np.ndarray, lengths_s: np.ndarray, *, halved: bool) -> Step | None:
    """The step of consecutive intervals, if there is one.

    ``halved`` says that something else than the path may have halved the rate.
    """
    n = len(moved_B)
    if n < LEAST_INTERVALS or not moved_B.sum() > 0:
        return None
    rates = moved_B / lengths_s
    logs = np.log(np.maximum(rates, SILENT_SHARE * rates.mean()))
    k, t, degrees = _largest_fall(logs)
    if not k or degrees < 1:
        return None
    (before, after) = (
        moved_B[part].sum() / lengths_s[part].sum() / 1e6 for part in (slice(k), slice(k, n))
    )
    busy = moved_B > 0
    if busy[:k].sum() < LEAST_BEFORE or busy[k:].sum() < LEAST_AFTER:
        return None
    if before < (FALL_FURTHER if halved else FALL) * after or not _stays(
        moved_B[k:], lengths_s[k:]
    ):
        return None
    from scipy.special import stdtr  # takes 0.3 s to load, and few runs come this far

    if 2 * (n - 1) * stdtr(degrees, -t) > FALSE_ALARMS:
        return None
    return Step(float(lengths_s[:k].sum()), float(before), float(after))


def _largest_fall(logs: np.ndarray) -> tuple[int, float, float]:
    """Intervals before the change of the mean with the largest t, that t, and its degrees.

    No intervals if the mean rises. Correlated intervals count as fewer independent ones.
    """
    n = len(logs)
    k = np.arange(LEAST_BEFORE, n - LEAST_AFTER + 1)
    sums, squares = np.cumsum(logs), np.cumsum(logs**2)
    before, after = sums[k - 1] / k, (sums[-1] - sums[k - 1]) / (n - k)
    within = np.maximum(squares[-1] - k * before**2 - (n - k) * after**2, SMALL)
    t = (before - after) * np.sqrt(k * (n - k) / n * (n - 2) / within)
    best = int(np.argmax(np.abs(t)))
    if t[best] <= 0:
        return 0, 0.0, 0.0
    at = int(k[best])
    residuals = logs - np.where(np.arange(n) < at, before[best], after[best])
    power = float(residuals @ residuals)
    alike = float(residuals[1:] @ residuals[:-1]) / power if power > SMALL else 0.0
    alike += (1 + 4 * alike) / n  # of a short series it comes out too small (Kendall, 1954)
    alike = min(max(alike, 0.0), MOST_CORRELATION)
    independent = (1 - alike) / (1 + alike)
    return at, float(t[best]) * math.sqrt(independent), n * independent - 2


BURST_SPARE, BURST_PARTS = 1.5, 10
"""A warm-up and a window that leave a burst out, in times of the longest one until its end."""


def longer(burst_ends_s: float) -> str:
    """Times of a study that leave a burst out, which ended so long after the start of a run."""
    warmup_s, seconds = (math.ceil(times * burst_ends_s) for times in (BURST_SPARE, BURST_PARTS))
    return (
        f"measure longer: timing.warmup_s of {warmup_s} leaves the burst out, timing.seconds of "
        f"{seconds} all but a tenth of it"
    )


def _stays(moved_B: np.ndarray, lengths_s: np.ndarray) -> bool:
    middle = len(moved_B) // 2
    early, late = (
        moved_B[part].sum() / lengths_s[part].sum() for part in (slice(middle), slice(middle, None))
    )
    return bool(late <= STAYS * early)


def in_window(part: Mapping) -> tuple[np.ndarray, np.ndarray]:
    """Bytes of all streams of a direction, and length of each interval within the window."""
    inside = part["in_window"]
    _, first, at = np.unique(part["t_s"][inside], return_index=True, return_inverse=True)
    return np.bincount(at, part["bytes"][inside]), part["interval_s"][inside][first]


ROUNDING_S = 1e-9


def whole_within(part: Mapping, first_s: float, last_s: float) -> np.ndarray:
    """Marks the intervals of a direction that lie wholly between two times since the start."""
    begins = part["t_s"] - part["interval_s"] >= first_s - ROUNDING_S
    return begins & (part["t_s"] <= last_s + ROUNDING_S)


def cut(intervals: Sequence[Mapping], together_s: tuple[float, float] | None) -> Sequence[Mapping]:
    """Intervals whose window is the time of it in which all flows are on."""
    if together_s is None:
        return intervals
    return [
        {**part, "in_window": part["in_window"] & whole_within(part, *together_s)}
        for part in intervals
    ]


@dataclass(frozen=True)
class Unsteady:
    """A run whose window has a step, the earlier one of two directions."""

    direction: str
    step: Step
    sustained_MBps: float

    @property
    def columns(self) -> dict[str, float]:
        return {
            "burst_MBps": self.step.before_MBps,
            "burst_s": self.step.at_s,
            "sustained_MBps": self.sustained_MBps,
        }


def may_be_halved(row: Mapping) -> bool:
    """True if a loss, or a scheduler of a full core, may have halved the rate of a run."""
    busiest_percent = row.get("busiest_core_percent")
    return row.get("retransmits") != 0 or (busiest_percent or 0) >= BUSY_CORE_PERCENT


def unsteady(intervals: Sequence[Mapping], *, halved: bool) -> Unsteady | None:
    """The step of a run's directions; None of a steady run. ``halved`` as of `step_of`."""
    found, sustained_MBps = [], 0.0
    for part in intervals:
        moved_B, lengths_s = in_window(part)
        if not len(moved_B):
            continue
        if step := step_of(moved_B, lengths_s, halved=halved):
            found.append((step.at_s, part["direction"], step))
            sustained_MBps += step.after_MBps
        else:
            sustained_MBps += float(moved_B.sum() / lengths_s.sum() / 1e6)
    if not found:
        return None
    _, direction, step = min(found, key=lambda one: one[0])
    return Unsteady(direction, step, sustained_MBps)


PARTS = 10
"""Equal parts of a window whose rates are compared: long enough for a queue's own unrest."""


def variation_percent(intervals: Sequence[Mapping]) -> float | None:
    """Standard deviation of the rate over ten parts of the window, % of its mean.

    The larger of two directions; None where a window has fewer intervals than parts.
    """
    found = []
    for part in intervals:
        moved_B, lengths_s = in_window(part)
        if len(moved_B) < PARTS or not moved_B.sum() > 0:
            return None
        pieces = zip(np.array_split(moved_B, PARTS), np.array_split(lengths_s, PARTS), strict=True)
        rates = np.array([moved.sum() / lengths.sum() for moved, lengths in pieces])
        found.append(100 * float(rates.std(ddof=1) / rates.mean()))
    return max(found, default=None)
