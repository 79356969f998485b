"""Precision of a cell: its half-width, the rounds needed, and the level of its interval.

Stopping early favours cells that look narrow by chance. So a study that tests its cells more than
once makes its intervals at a level raised by :data:`LOOK_SHARE`; `docs/precision.md` has the
simulated coverage.
"""

from __future__ import annotations

import math
from functools import cache

import numpy as np

from netlab.analysis.intervals import LEAST_ROUNDS, log_interval
from netlab.analysis.t_distribution import t_quantile
from netlab.study import Study
from netlab.study.precision import Precision

LOOK_SHARE = 0.7
"""Share of the error rate that an interval gets where the cells are tested more than once."""

FIRST_TEST = 5
"""Fewest valid runs of a cell that may stop: three or four look narrow by chance too often."""

MOST_ROUNDS = 10_000


def nominal_level(study: Study) -> float:
    """Nominal level of the intervals that cover as often as the study's confidence says."""
    looks = 1 if study.precision is None else len(study.precision.looks)
    return study.confidence if looks == 1 else 1 - LOOK_SHARE * (1 - study.confidence)


def half_width_percent(values: np.ndarray, level: float) -> float:
    interval = log_interval(values, level)
    return 100 * interval.half_width / interval.mean if interval.mean > 0 else math.nan


def precise(values: np.ndarray, precision: Precision, level: float) -> bool:
    """True if a cell may stop: rounds enough for a test, and an interval as narrow as asked."""
    least = max(precision.min_rounds, min(FIRST_TEST, precision.max_rounds))
    half = half_width_percent(values, level)
    return len(values) >= least and half <= precision.half_width_percent


def rounds_needed(values: np.ndarray, target_percent: float, level: float) -> float:
    """Rounds after which the interval would be as narrow as asked, with the spread seen so far."""
    values = np.asarray(values, dtype=float)
    if len(values) < LEAST_ROUNDS or np.any(values <= 0):
        return math.nan
    sd = float(np.log(values).std(ddof=1))
    # half the width of an interval on logarithms, in per cent of the mean, is 100 sinh(half)
    asked = math.asinh(target_percent / 100)
    enough = np.flatnonzero(_standard_errors(level) * sd <= asked)
    return float(LEAST_ROUNDS + enough[0]) if len(enough) else math.inf


@cache
def _standard_errors(level: float) -> np.ndarray:
    """Half width of an interval for a standard deviation of 1, from :data:`LEAST_ROUNDS` on."""
    rounds = np.arange(LEAST_ROUNDS, MOST_ROUNDS)
    return t_quantile(rounds - 1, 0.5 + level / 2) / np.sqrt(rounds)
