"""Stability of a campaign: drift, a step, and carry-over from the run before.

Each test looks at the residuals of the runs, in the order of measuring: the logarithm of a run's
goodput less the mean of its cell, over the scatter of the cell. Its p-value is that of a
permutation test. For drift and a step the visits are put in random orders, so that what the runs of
one visit share does not count as many observations; for carry-over the runs are. Rounds keep drift
out of the comparison of cells; these tests say whether there was any.

Drift is stated over the time that was measured, with an interval; an hour only of campaigns that
lasted at least :data:`HOURLY_FROM_H`: nothing is extrapolated.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pandas as pd

from netlab.analysis import student
from netlab.analysis.cells import CELL_KEYS, valid

PERMUTATIONS = 999
LEVEL = 0.01
"""A finding is stated below this p-value; three tests a campaign."""

MIN_VISITS = 8
CLIP = 4.0
"""Residuals beyond this many standard deviations count as this many."""

MIN_SIDE = 0.05
"""A step leaves at least this share of the runs on either side."""

HOURLY_FROM_H = 1.0
"""Least length of a campaign whose drift is stated an hour."""

CONFIDENCE = 0.95
"""Level of the interval of the drift."""

COLUMNS = ("test", "estimate", "low", "high", "unit", "p", "found", "text")


Sentence = Callable[[bool], str]


@dataclass(frozen=True)
class _Series:
    """Residuals of runs in the order of measuring."""

    scaled: np.ndarray
    logs: np.ndarray
    visit: np.ndarray
    hours: np.ndarray
    within_h: np.ndarray
    inflation: np.ndarray
    before: np.ndarray
    started_at: pd.Series


def _series(runs: pd.DataFrame) -> _Series:
    good = valid(runs)
    good = good[good["goodput_MBps"] > 0].sort_values("started_at")
    logs = np.log(good["goodput_MBps"].astype(float))
    cell = [good[key] for key in CELL_KEYS]
    count = logs.groupby(cell).transform("size")
    good, logs = good[count > 1], logs[count > 1]
    cell = [good[key] for key in CELL_KEYS]
    n = logs.groupby(cell).transform("size")
    inflation = np.sqrt(n / (n - 1))
    residual = (logs - logs.groupby(cell).transform("mean")) * inflation
    scatter = logs.groupby(cell).transform("std")
    typical = scatter.median() if len(scatter) else math.nan
    scale = np.sqrt((scatter**2 + typical**2) / 2).replace(0, np.nan)
    visit = good.groupby(["block_id", "round"], sort=False).ngroup()
    before = logs.groupby(visit).shift(1)
    start = good["started_at"]
    hours = pd.Series(dtype=float)
    if len(good):
        hours = (start - start.min()).dt.total_seconds() / 3600
    return _Series(
        scaled=(residual / scale).clip(-CLIP, CLIP).fillna(0).to_numpy(dtype=float),
        logs=residual.to_numpy(dtype=float),
        visit=visit.to_numpy(),
        hours=hours.to_numpy(),
        within_h=(hours - hours.groupby(cell).transform("mean")).to_numpy(),
        inflation=inflation.to_numpy(dtype=float),
        before=before.to_numpy(dtype=float),
        started_at=start.reset_index(drop=True),
    )


Found = tuple[float, float, float, str, float, Sentence]
"""Estimate, low and high end of its interval (NaN without one), unit, p-value and sentence."""

Test = Callable[[_Series, np.random.Generator], Found]


def stability(runs: pd.DataFrame, *, seed: int = 1) -> pd.DataFrame:
    """Test a campaign for drift, a step and carry-over."""
    series = _series(runs)
    visits = len(np.unique(series.visit))
    rng = np.random.default_rng(seed)
    tests: tuple[tuple[str, Test], ...] = (
        ("drift", _drift),
        ("step", _step),
        ("carry-over", _carry_over),
    )
    rows = []
    for name, test in tests:
        if visits < MIN_VISITS:
            text = f"{visits} visits are too few for this test; it takes {MIN_VISITS}"
            rows.append((name, math.nan, math.nan, math.nan, "", math.nan, False, text))
            continue
        estimate, low, high, unit, p, sentence = test(series, rng)
        found = p < LEVEL
        rows.append((name, estimate, low, high, unit, p, found, sentence(found)))
    return pd.DataFrame.from_records(rows, columns=list(COLUMNS))


def _shuffled(series: _Series, rng: np.random.Generator) -> np.ndarray:
    """Indices of the runs with the visits in a random order."""
    order = rng.permutation(series.visit.max() + 1)
    return np.argsort(order[series.visit], kind="stable")


def _p(seen: float, drawn: np.ndarray) -> float:
    return float((1 + np.sum(drawn >= seen)) / (1 + len(drawn)))


def _drift(series: _Series, rng: np.random.Generator) -> Found:
    """Trend over the order of measuring, by its correlation with the residuals."""
    time = series.hours - series.hours.mean()
    spread = float((time**2).sum())

    def slope(values: np.ndarray) -> float:
        return float((time * values).sum()) / spread if spread else 0.0

    drawn = [abs(slope(series.scaled[_shuffled(series, rng)])) for _ in range(PERMUTATIONS)]
    p = _p(abs(slope(series.scaled)), np.array(drawn))
    span_h = float(np.ptp(series.hours))
    hourly = span_h >= HOURLY_FROM_H
    estimate, low, high = (
        100 * math.expm1(value * (1.0 if hourly else span_h)) for value in _slope_within(series)
    )
    unit = "% an hour" if hourly else f"% over {_duration(span_h)}"
    interval = f"{100 * CONFIDENCE:g} % interval {low:+.1f} to {high:+.1f} %"

    def text(found: bool) -> str:
        if not found:
            return (
                f"no drift is distinguishable from zero: {estimate:+.1f} {unit}, "
                f"{interval} (p = {p:.2f})"
            )
        return f"goodput drifted by {estimate:+.1f} {unit}, {interval} (p = {p:.3f})"

    return estimate, low, high, unit, p, text


def _slope_within(series: _Series) -> tuple[float, float, float]:
    """Slope of the logarithms over hours within cells, with an interval.

    Both are centred by cell: a mean over cells that were measured at different times would take
    a part of the trend away. The runs of a visit are one observation (cluster-robust variance,
    Student t).
    """
    spread = float((series.within_h**2).sum())
    visits = len(np.unique(series.visit))
    if not spread or visits < 3:
        return math.nan, math.nan, math.nan
    slope = float((series.within_h * series.logs / series.inflation).sum()) / spread
    residual = series.logs - slope * series.within_h * series.inflation
    scores = np.bincount(series.visit, series.within_h * residual)
    error = math.sqrt(visits / (visits - 1) * float((scores**2).sum())) / spread
    half = float(student.quantile(visits - 2, 0.5 + CONFIDENCE / 2)) * error
    return slope, slope - half, slope + half


def _duration(hours: float) -> str:
    """``95 min``, ``3.1 min``, ``42 s``."""
    minutes = 60 * hours
    if minutes < 1:
        return f"{60 * minutes:.0f} s"
    return f"{minutes:.1f} min" if minutes < 10 else f"{minutes:.0f} min"


def _cusum(values: np.ndarray) -> np.ndarray:
    """Difference of means before and after each place, over its standard error."""
    n = len(values)
    after = np.arange(1, n)
    total = np.cumsum(values)[:-1]
    statistic = np.abs(total - after * values.mean()) * np.sqrt(n / (after * (n - after)))
    least = max(1, round(MIN_SIDE * n))
    statistic[: least - 1] = 0
    statistic[n - least :] = 0
    return statistic


def _step(series: _Series, rng: np.random.Generator) -> Found:
    """The largest change of level, by the maximum of the CUSUM statistic."""
    statistic = _cusum(series.scaled)
    place = int(np.argmax(statistic)) + 1
    drawn = [_cusum(series.scaled[_shuffled(series, rng)]).max() for _ in range(PERMUTATIONS)]
    p = _p(float(statistic[place - 1]), np.array(drawn))
    change = float(np.median(series.logs[place:]) - np.median(series.logs[:place]))
    estimate = 100 * math.expm1(change)

    def text(found: bool) -> str:
        if not found:
            return f"no step is distinguishable from zero (p = {p:.2f})"
        at = series.started_at[place]
        return f"goodput changed by {estimate:+.1f} % at {at:%H:%M:%S} UTC (p = {p:.3f})"

    return estimate, math.nan, math.nan, "%", p, text


def _carry_over(series: _Series, rng: np.random.Generator) -> Found:
    """Rank correlation of a run's residual with the goodput of the run before in its visit."""
    has = ~np.isnan(series.before)
    before = pd.Series(series.before[has]).rank().to_numpy()
    scaled = series.scaled[has]

    def correlation(values: np.ndarray) -> float:
        ranks = pd.Series(values).rank().to_numpy()
        if len(ranks) < 2 or ranks.std() == 0 or before.std() == 0:
            return 0.0
        return float(np.corrcoef(before, ranks)[0, 1])

    seen = correlation(scaled)
    drawn = [abs(correlation(rng.permutation(scaled))) for _ in range(PERMUTATIONS)]
    p = _p(abs(seen), np.array(drawn))

    def text(found: bool) -> str:
        if not found:
            return f"no effect of the run before is distinguishable from zero (p = {p:.2f})"
        word = "faster" if seen > 0 else "slower"
        return f"runs are {word} after a fast run: rank correlation {seen:+.2f} (p = {p:.3f})"

    return seen, math.nan, math.nan, "correlation", p, text
