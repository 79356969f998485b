"""Precision of a cell: its half-width, the rounds needed, and the level of its interval.

A study with a ``precision`` tests its cells after several rounds and stops where they are narrow
enough. Stopping early favours cells that look narrow by chance, so that an interval of nominal
level 95 % would cover less. Intervals of such a study are made at a level raised by
:data:`LOOK_SHARE`. `docs/precision.md` has the table of simulated coverage, made by
``tests/analysis/test_coverage.py``.
"""

from __future__ import annotations

import math
from functools import cache

import numpy as np

from netlab.analysis import student
from netlab.analysis.intervals import LEAST, log_interval
from netlab.study import Study

LOOK_SHARE = 0.7
"""Share of the error rate that an interval gets where the cells are tested more than once."""

MOST_ROUNDS = 10_000


def nominal_level(study: Study) -> float:
    """Nominal level of the intervals that cover as often as the study's confidence says."""
    looks = 1 if study.precision is None else len(study.precision.looks)
    return study.confidence if looks == 1 else 1 - LOOK_SHARE * (1 - study.confidence)


def half_width_percent(values: np.ndarray, level: float) -> float:
    """Half the width of a cell's interval, in per cent of its mean."""
    found = log_interval(values, level)
    return 100 * found.half_width / found.mean if found.mean > 0 else math.nan


def rounds_needed(values: np.ndarray, target_percent: float, level: float) -> float:
    """Rounds after which the interval would be as narrow as asked, with the spread seen so far."""
    values = np.asarray(values, dtype=float)
    if len(values) < LEAST or np.any(values <= 0):
        return math.nan
    sd = float(np.log(values).std(ddof=1))
    # half the width of an interval on logarithms, in per cent of the mean, is 100 sinh(half)
    asked = math.asinh(target_percent / 100)
    enough = np.flatnonzero(_standard_errors(level) * sd <= asked)
    return float(LEAST + enough[0]) if len(enough) else math.inf


@cache
def _standard_errors(level: float) -> np.ndarray:
    """Half width of an interval for a standard deviation of 1, from :data:`LEAST` rounds on."""
    rounds = np.arange(LEAST, MOST_ROUNDS)
    return student.quantile(rounds - 1, 0.5 + level / 2) / np.sqrt(rounds)
