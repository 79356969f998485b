"""Confidence intervals of goodput, made on logarithms so that none reaches below 0."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from netlab.analysis.t_distribution import t_quantile

LEAST_ROUNDS = 3
"""Fewest values that carry an interval: with two, Student's t at 95 % is 12.7, and the interval
would span a factor of tens."""

SYMMETRIC_WITHIN = 0.02
"""Print low to high where the two halves differ by more than this share of the mean."""


@dataclass(frozen=True)
class Interval:
    """A mean with its confidence interval, all in the unit of the values."""

    mean: float
    low: float
    high: float

    @property
    def half_width(self) -> float:
        return (self.high - self.low) / 2


def log_interval(values: np.ndarray, confidence: float = 0.95) -> Interval:
    """Geometric mean of independent values with a Student t interval of their logarithms."""
    values = np.asarray(values, dtype=float)
    if len(values) == 0:
        return Interval(math.nan, math.nan, math.nan)
    if np.any(values <= 0):
        return Interval(float(values.mean()), math.nan, math.nan)
    logs = np.log(values)
    centre, n = float(logs.mean()), len(logs)
    if n < LEAST_ROUNDS:
        return Interval(math.exp(centre), math.nan, math.nan)
    half = float(t_quantile(n - 1, 0.5 + confidence / 2) * logs.std(ddof=1) / math.sqrt(n))
    with np.errstate(over="ignore"):
        return Interval(math.exp(centre), math.exp(centre - half), float(np.exp(centre + half)))


def is_symmetric(mean: float, low: float, high: float) -> bool:
    """True if the two halves of an interval are close enough to print one of them."""
    return abs((high - mean) - (mean - low)) <= SYMMETRIC_WITHIN * mean
