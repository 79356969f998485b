"""Effect of one factor with all others equal: ratios of goodput with intervals."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import pandas as pd

from netlab.analysis import any_factors, t_distribution
from netlab.analysis.cells import LEVELS, usable
from netlab.analysis.intervals import LEAST_ROUNDS
from netlab.errors import BadInput, require
from netlab.study.factors import level_text

STEP_FACTORS = ("streams", "mtu_B", "tuning", "direction", "sender")
"""Factors that can be compared. ``direction`` compares <-> with -> from the same sender, ``sender``
the two ends of a path as senders; both over the same path."""

STEP = ("factor", "from_level", "to_level")
EFFECT_COLUMNS = (*STEP, "group", *LEVELS, "ratio", "low", "high", "n_from", "n_to")

FASTER, SLOWER, SAME, CANNOT_TELL = "faster", "slower", "the same", "cannot tell"
NO_INTERVAL = "no interval"
"""Not a verdict: too few rounds for an interval, whereas *cannot tell* is an interval too wide."""
VERDICTS = (SLOWER, FASTER, SAME, CANNOT_TELL, NO_INTERVAL)


@dataclass(frozen=True)
class Ratio:
    """A ratio of mean goodputs; the interval is NaN where there are too few values."""

    ratio: float
    low: float
    high: float

    @classmethod
    def of(cls, centre: float, error: float, degrees: float, confidence: float) -> Ratio:
        """Ratio with Student's interval, from a logarithm and its standard error."""
        half = (
            float(t_distribution.t_quantile(degrees, 0.5 + confidence / 2)) * error
            if error
            else 0.0
        )
        with np.errstate(over="ignore"):
            ends = math.exp(centre - half), float(np.exp(centre + half))
        return cls(math.exp(centre), *ends)

    def verdict(self, same_within_percent: float = 0.0) -> str:
        """Verdict: the same if the whole interval is within the bound, else by its side of 1."""
        if math.isnan(self.low) or math.isnan(self.high):
            return NO_INTERVAL
        bound = same_within_percent / 100
        if bound and 1 - bound <= self.low and self.high <= 1 + bound:
            return SAME
        if self.low > 1:
            return FASTER
        return SLOWER if self.high < 1 else CANNOT_TELL


def ratio(before: np.ndarray, after: np.ndarray, confidence: float = 0.95) -> Ratio:
    """Ratio of two sets of goodputs with Welch's interval on their logarithms."""
    before, after = (np.asarray(v, dtype=float) for v in (before, after))
    if not len(before) or not len(after):
        raise BadInput("a ratio needs a value on both sides", code="E-ANALYSIS-004")
    if not (np.all(before > 0) and np.all(after > 0)):
        raise BadInput("a ratio needs positive values", code="E-ANALYSIS-005")
    logs = np.log(before), np.log(after)
    if len(before) < 2 or len(after) < 2:
        return Ratio(math.exp(logs[1].mean() - logs[0].mean()), math.nan, math.nan)
    return Ratio.of(*_welch(*logs), confidence)


def _welch(before: np.ndarray, after: np.ndarray) -> tuple[float, float, float]:
    """Difference of two means, its standard error, and degrees of freedom after Satterthwaite."""
    parts = np.array([values.var(ddof=1) / len(values) for values in (before, after)])
    freedom = np.array([len(before) - 1, len(after) - 1])
    total = float(parts.sum())
    degrees = total**2 / float((parts**2 / freedom).sum()) if total else 1.0
    return float(after.mean() - before.mean()), math.sqrt(total), degrees


def _paired(logs: np.ndarray) -> tuple[float, float, float]:
    """Mean of differences, its standard error, and degrees of freedom."""
    return float(logs.mean()), float(logs.std(ddof=1)) / math.sqrt(len(logs)), len(logs) - 1


def within_rounds(before: pd.Series, after: pd.Series) -> pd.Series:
    """Logarithms of the ratio of two cells in every round that both have."""
    sides = []
    for values in (before, after):  # numpy, since this is done for thousands of pairs
        logs, rounds = np.log(values.to_numpy(dtype=float)), values.index.to_numpy()
        rounds, inverse, counts = np.unique(rounds, return_inverse=True, return_counts=True)
        sides.append((rounds, np.bincount(inverse, logs, len(rounds)) / counts))
    (one, at_one), (other, at_other) = sides
    rounds, first, second = np.intersect1d(one, other, assume_unique=True, return_indices=True)
    return pd.Series(at_other[second] - at_one[first], index=rounds, dtype=float)


def paired_ratio(before: pd.Series, after: pd.Series, confidence: float = 0.95) -> Ratio:
    """Mean over rounds of the ratio within a round, as drift cancels; else as :func:`ratio`."""
    whole = ratio(before.to_numpy(), after.to_numpy(), confidence)
    logs = within_rounds(before, after)
    return whole if logs.empty else mean_ratio_of(logs.to_numpy(), confidence)


def p_of_ratio(before: pd.Series, after: pd.Series) -> float:
    """Two-sided p-value of a ratio of 1, of the test that a comparison's interval belongs to."""
    if min(len(before), len(after)) < LEAST_ROUNDS:
        return math.nan
    if len(set(before.index) & set(after.index)) >= LEAST_ROUNDS:
        return p_value(*_paired(within_rounds(before, after).to_numpy()))
    return p_value(*_welch(*(np.log(values.to_numpy(dtype=float)) for values in (before, after))))


def p_value(centre: float, error: float, degrees: float) -> float:
    """Two-sided p-value of a ratio of 1, from a logarithm and its standard error."""
    if not error:
        return float(centre == 0)
    return 2 * t_distribution.t_cumulative(degrees, -abs(centre) / error)


def mean_ratio_of(logs: np.ndarray, confidence: float) -> Ratio:
    """Geometric mean of ratios with Student's interval from their logarithms."""
    if len(logs) < 2:
        return Ratio(math.exp(float(logs.mean())), math.nan, math.nan)
    return Ratio.of(*_paired(logs), confidence)


def effects(
    runs: pd.DataFrame, factor: str, *, levels: tuple | None = None, confidence: float = 0.95
) -> pd.DataFrame:
    """Effect of each step of a factor in every context where both of its levels were measured."""
    rows = []
    for named, *sides in steps(runs, factor, levels):
        before, after = (side["goodput_MBps"] for side in sides)
        ratio = paired_ratio(before, after, confidence)
        few = min(len(before), len(after)) < LEAST_ROUNDS
        low, high = (math.nan, math.nan) if few else (ratio.low, ratio.high)
        ends = {"ratio": ratio.ratio, "low": low, "high": high}
        rows.append(named | ends | {"n_from": len(before), "n_to": len(after)})
    return pd.DataFrame.from_records(rows, columns=list(EFFECT_COLUMNS))


def steps(
    runs: pd.DataFrame,
    factor: str,
    levels: tuple | None = None,
    values: Sequence[str] = ("goodput_MBps",),
) -> Iterator[tuple[dict, pd.DataFrame, pd.DataFrame]]:
    """Yield name and context of each step of a factor, and the runs on both sides, by round."""
    further = any_factors.names(runs) if factor not in STEP_FACTORS else []
    require(factor, (*STEP_FACTORS, *further), key="factor", code="E-ANALYSIS-006")
    if further:
        level = any_factors.column(runs, factor)
        runs = runs.assign(**{factor: level, "factors": any_factors.without(runs, factor)})
        runs = runs[level.notna()]
    good = usable(runs)
    if levels is None:
        levels = tuple(good[factor].drop_duplicates().tolist())
        numbers = all(isinstance(level, int | float) for level in levels)
        if numbers or not (further or factor == "tuning"):
            levels = tuple(sorted(levels))
    within = () if factor in ("direction", "sender") else ("group",)
    context = [*within, *(c for c in LEVELS if c != factor)]
    # Without the other columns: splitting all of them takes ten times as long.
    needed = good.set_index("round")[list(dict.fromkeys([*context, factor, *values]))]
    for key, part in needed.groupby(context, sort=False):
        by_level = dict(list(part.groupby(factor)))
        for a, b in pairwise(level for level in levels if level in by_level):
            step = (factor, level_text(a), level_text(b))
            named = dict(zip((*context, *STEP), (*key, *step), strict=True))
            yield named, by_level[a], by_level[b]
