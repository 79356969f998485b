"""Stability of a campaign: drift, a step, carry-over from the run before, rounds that correlate.

Each test looks at the residuals of the runs, in the order of measuring: the logarithm of a run's
goodput less the mean of its cell, over the scatter of the cell. Its p-value is that of a
permutation test. For drift and a step the visits are put in random orders, so that what the runs
of one visit share does not count as many observations; for carry-over the runs are, and for their
correlation the rounds. Rounds keep drift out of the comparison of cells; these tests say whether
there was any.

Drift is stated over the time that was measured, with an interval; an hour only of campaigns that
lasted at least :data:`HOURLY_FROM_H`: nothing is extrapolated.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pandas as pd

from netlab.analysis import t_distribution
from netlab.analysis.cells import CELL_KEYS, usable

PERMUTATIONS = 999
LEVEL = 0.01
"""A finding is stated below this p-value; four tests a campaign."""

MIN_VISITS = 8
MIN_ROUNDS = 8
"""Fewest rounds whose correlation is estimated: with fewer it is biased by more than its size."""

CLIP = 4.0
"""Residuals beyond this many standard deviations count as this many."""

MIN_SIDE = 0.05
"""A step leaves at least this share of the runs on either side."""

HOURLY_FROM_H = 1.0
"""Least length of a campaign whose drift is stated an hour."""

CONFIDENCE = 0.95
"""Level of the interval of the drift."""

COLUMNS = ("test", "estimate", "low", "high", "unit", "p", "found", "text")


def _series(runs: pd.DataFrame) -> pd.DataFrame:
    """Residuals of runs in the order of measuring."""
    keys, good = list(CELL_KEYS), usable(runs).sort_values("started_at")
    n = good.groupby(keys)["run_id"].transform("size")
    good, n = good[n > 1], n[n > 1]
    start = good["started_at"]
    good = good.assign(
        log=np.log(good["goodput_MBps"].astype(float)),
        hours=(start - start.min()).dt.total_seconds() / 3600,
    )
    of_cell, visit = good.groupby(keys), good.groupby(["block_id", "round"], sort=False)
    inflation = np.sqrt(n / (n - 1))
    logs = (good["log"] - of_cell["log"].transform("mean")) * inflation
    scatter = of_cell["log"].transform("std")
    scale = np.sqrt((scatter**2 + scatter.median() ** 2) / 2).replace(0, np.nan)
    series = {
        "scaled": (logs / scale).clip(-CLIP, CLIP).fillna(0),
        "logs": logs,
        "visit": visit.ngroup(),
        "hours": good["hours"],
        "within_h": good["hours"] - of_cell["hours"].transform("mean"),
        "inflation": inflation,
        "before": visit["log"].shift(1),
        "cell": of_cell.ngroup(),
        "round": good["round"],
        "started_at": start,
    }
    return pd.DataFrame(series).reset_index(drop=True)


def stability(runs: pd.DataFrame) -> pd.DataFrame:
    series = _series(runs)
    visits = series["visit"].nunique()
    rng = np.random.default_rng(1)
    rows: list[tuple] = []
    for name, test in (("drift", _drift), ("step", _step), ("carry-over", _carry_over)):
        if visits < MIN_VISITS:
            text = f"{visits} visits are too few for this test; it takes {MIN_VISITS}"
            rows.append((name, *[math.nan] * 3, "", math.nan, False, text))
            continue
        # the ends of an interval are NaN without one; what to say of an effect, and of none
        *figures, p, effect, none = test(series, rng)
        rows.append((name, *figures, p, p < LEVEL, effect if p < LEVEL else none))
    rows.append(_correlation(series, rng))
    return pd.DataFrame.from_records(rows, columns=list(COLUMNS))


def _shuffled(series: pd.DataFrame, rng: np.random.Generator) -> Callable[[], np.ndarray]:
    """Gives the residuals with the visits in a random order, another one at each call."""
    visit = series["visit"].to_numpy()
    of_visits = series["scaled"].to_numpy()[np.argsort(visit, kind="stable")]
    lengths = np.bincount(visit)
    starts, places = np.cumsum(lengths) - lengths, np.arange(len(visit))

    def values() -> np.ndarray:
        # not sorted by run: a permutation of 10^5 runs in 2,000 visits would take ten times as long
        chosen = np.argsort(rng.permutation(len(lengths)))
        own = lengths[chosen]
        return of_visits[np.repeat(starts[chosen] - (np.cumsum(own) - own), own) + places]

    return values


def _p(seen: float, draw: Callable[[], float]) -> float:
    drawn = np.array([draw() for _ in range(PERMUTATIONS)])
    return float((1 + np.sum(drawn >= seen)) / (1 + len(drawn)))


def _drift(series: pd.DataFrame, rng: np.random.Generator) -> tuple:
    """Trend over the order of measuring, by its correlation with the residuals."""
    hours = series["hours"].to_numpy()
    time = hours - hours.mean()
    spread = float((time**2).sum())

    def slope(values: np.ndarray) -> float:
        return abs(float((time * values).sum())) / spread if spread else 0.0

    shuffled = _shuffled(series, rng)
    p = _p(slope(series["scaled"].to_numpy()), lambda: slope(shuffled()))
    span_h = float(np.ptp(hours))
    hourly = span_h >= HOURLY_FROM_H
    estimate, low, high = (
        100 * math.expm1(value * (1.0 if hourly else span_h)) for value in _slope_within(series)
    )
    unit = "% an hour" if hourly else f"% over {_duration(span_h)}"
    interval = f"{100 * CONFIDENCE:g} % interval {low:+.1f} to {high:+.1f} %"
    text = f"{estimate:+.1f} {unit}, {interval}"
    effect = f"goodput drifted by {text} (p = {p:.3f})"
    none = f"no drift is distinguishable from zero: {text} (p = {p:.2f})"
    return estimate, low, high, unit, p, effect, none


def _slope_within(series: pd.DataFrame) -> tuple[float, float, float]:
    """Slope of the logarithms over hours, with a cluster-robust interval: a visit is a cluster."""
    # centred by cell: a mean over cells measured at different times would take trend away
    within_h, inflation = series["within_h"], series["inflation"]
    spread, visits = float((within_h**2).sum()), series["visit"].nunique()
    if not spread or visits < 3:
        return math.nan, math.nan, math.nan
    slope = float((within_h * series["logs"] / inflation).sum()) / spread
    residual = series["logs"] - slope * within_h * inflation
    scores = (within_h * residual).groupby(series["visit"]).sum()
    error = math.sqrt(visits / (visits - 1) * float((scores**2).sum())) / spread
    half = float(t_distribution.t_quantile(visits - 2, 0.5 + CONFIDENCE / 2)) * error
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


def _step(series: pd.DataFrame, rng: np.random.Generator) -> tuple:
    """The largest change of level, by the maximum of the CUSUM statistic."""
    statistic = _cusum(series["scaled"].to_numpy())
    place = int(np.argmax(statistic)) + 1
    shuffled = _shuffled(series, rng)
    p = _p(statistic[place - 1], lambda: _cusum(shuffled()).max())
    before, after = series["logs"][:place], series["logs"][place:]
    estimate = 100 * math.expm1(after.median() - before.median())
    at = series["started_at"][place]
    effect = f"goodput changed by {estimate:+.1f} % at {at:%H:%M:%S} UTC (p = {p:.3f})"
    none = f"no step is distinguishable from zero (p = {p:.2f})"
    return estimate, math.nan, math.nan, "%", p, effect, none


def _carry_over(series: pd.DataFrame, rng: np.random.Generator) -> tuple:
    """Rank correlation of a run's residual with the goodput of the run before in its visit."""
    paired = series.dropna(subset="before")
    before, ranks = (paired[name].rank().to_numpy() for name in ("before", "scaled"))

    def correlation(ranks: np.ndarray) -> float:
        if len(ranks) < 2 or ranks.std() == 0 or before.std() == 0:
            return 0.0
        return float(np.corrcoef(before, ranks)[0, 1])

    seen = correlation(ranks)
    p = _p(abs(seen), lambda: abs(correlation(rng.permutation(ranks))))
    word = "faster" if seen > 0 else "slower"
    effect = f"runs are {word} after a fast run: rank correlation {seen:+.2f} (p = {p:.3f})"
    none = f"no effect of the run before is distinguishable from zero (p = {p:.2f})"
    return seen, math.nan, math.nan, "correlation", p, effect, none


def _correlation(series: pd.DataFrame, rng: np.random.Generator) -> tuple:
    """Correlation of a cell's goodput in neighbouring rounds: its interval takes them as unrelated.

    The mean over cells, without the bias of a short series (Kendall 1954: -(1 + 4 r) / n).
    """
    name, none = "correlation of rounds", [math.nan] * 3
    wide = series.astype({"logs": float}).pivot_table("logs", "cell", "round").to_numpy(dtype=float)
    wide = wide[(~np.isnan(wide)).all(axis=1) & (wide.std(axis=1) > 0)] if wide.size else wide
    rounds = wide.shape[1]
    if rounds < MIN_ROUNDS or not len(wide):
        text = (
            f"{rounds} rounds are too few to estimate whether neighbours correlate, which makes "
            f"intervals too narrow; it takes {MIN_ROUNDS}"
        )
        return name, *none, "", math.nan, False, text
    wide -= wide.mean(axis=1, keepdims=True)
    squares = (wide**2).sum(axis=1)

    def neighbours(of: np.ndarray) -> float:
        return float(np.mean((of[:, 1:] * of[:, :-1]).sum(axis=1) / squares))

    seen = neighbours(wide)
    p = _p(seen, lambda: neighbours(wide[:, rng.permutation(rounds)]))
    estimate = float(np.clip((seen + 1 / rounds) / (1 - 4 / rounds), -0.99, 0.99))
    factor = math.sqrt((1 + estimate) / (1 - estimate))
    effect = (
        f"neighbouring rounds correlate by {estimate:+.2f} (p = {p:.3f}): intervals of cells are "
        f"off by a factor of about {factor:.1f}; measure rounds further apart"
    )
    fine = f"no correlation of neighbouring rounds is distinguishable from zero (p = {p:.2f})"
    found = p < LEVEL
    return name, estimate, *none[1:], "correlation", p, found, effect if found else fine
