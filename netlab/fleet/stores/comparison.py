"""Compare two sides of many stores cell by cell, as :mod:`netlab.analysis.compare` does.

DuckDB matches cells and rounds, and reduces them to moments of logarithms.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from netlab.analysis import student
from netlab.analysis.compare import (
    CANNOT_TELL,
    Asked,
    Difference,
    bonferroni,
    holm,
    imprecise,
    verdict,
)
from netlab.analysis.effects import COMMON_ROUNDS, Ratio
from netlab.analysis.intervals import LEAST
from netlab.errors import BadInput, NetlabError
from netlab.fleet.stores.cells import GOOD, STORE_KEYS
from netlab.fleet.stores.database import quoted

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

NO_STUDY_LEVEL = 0.95
"""Level of the intervals of results without a study."""

CAMPAIGN = "campaign"
FIRST, LATEST = "first", "latest"
"""Campaigns of each store by their age, in place of an id."""

CELL = (*STORE_KEYS, "group", "path", "direction", "tuning", "mtu_B", "streams", "factors")
DROPPED = {"study": {"study", "source"}, "source": {"source"}}
"""Columns besides the compared one that differ with it."""

COMPARABLE = ("campaign", "study", "source", "tuning", "mtu_B", "streams", "group", "factors")
TOO_FEW = f"{COMMON_ROUNDS} valid runs of each side are needed"

FIGURES = (
    *("ratio", "low", "high", "p_holm", "verdict", "ranked", "reason", "paired"),
    *("n_a", "n_b", "a_MBps", "b_MBps", "a_half_percent", "b_half_percent"),
)

_SIDES = """
CREATE OR REPLACE TEMP TABLE sides AS
SELECT side, {keys}, ln(goodput_MBps) AS log,
  source || '|' || coalesce(campaign, side) || '@' || round AS round_label,
  level, half_percent
FROM {chosen} LEFT JOIN asked_precision USING (source, counts_in)
WHERE {good} AND goodput_MBps > 0
"""

_BY_COLUMN = """(
  SELECT runs.*, counts_in, CASE WHEN runs."{by}"::VARCHAR = {a} THEN 'A' ELSE 'B' END AS side
  FROM all_runs AS runs JOIN (
    SELECT record, campaign AS counts_in FROM standing WHERE latest
  ) USING (record) WHERE runs."{by}"::VARCHAR IN ({a}, {b}))"""

_BY_CAMPAIGN = """(
  SELECT runs.*, counts_in, chosen.side FROM all_runs AS runs JOIN (
    SELECT record, side, campaign AS counts_in FROM (
      SELECT record, campaign, latest,
        campaign = min(campaign) OVER (PARTITION BY source) AS first FROM standing
    ), (VALUES ('A', {a}), ('B', {b})) AS asked(side, name)
    WHERE campaign = name OR (name = 'first' AND first) OR (name = 'latest' AND latest)
    QUALIFY count(*) OVER (PARTITION BY record) = 1
  ) AS chosen USING (record))"""
"""Records that count on both sides are left out: to compare one with itself says nothing."""

_MOMENTS = """
WITH of_side AS (
  SELECT side, {keys}, count(*) AS n, favg(log) AS centre, var_samp(log) AS variance,
    max(level) AS level, min(half_percent) AS half_percent
  FROM sides GROUP BY ALL
), of_round AS (
  SELECT side, {keys}, round_label, favg(log) AS log FROM sides GROUP BY ALL
), steps AS (
  SELECT {keys}, b.log - a.log AS step
  FROM (SELECT * EXCLUDE (side) FROM of_round WHERE side = 'A') AS a
  JOIN (SELECT * EXCLUDE (side) FROM of_round WHERE side = 'B') AS b USING ({keys}, round_label)
), paired AS (
  SELECT {keys}, count(*) AS rounds, favg(step) AS step, stddev_samp(step) AS step_sd
  FROM steps GROUP BY ALL
)
SELECT {keys}, a.n AS n_a, b.n AS n_b, a.centre AS centre_a, b.centre AS centre_b,
  a.variance AS variance_a, b.variance AS variance_b,
  a.level AS level_a, b.level AS level_b,
  a.half_percent AS half_percent_a, b.half_percent AS half_percent_b,
  coalesce(rounds, 0) AS rounds, step, step_sd
FROM (SELECT * EXCLUDE (side) FROM of_side WHERE side = 'A') AS a
JOIN (SELECT * EXCLUDE (side) FROM of_side WHERE side = 'B') AS b USING ({keys})
LEFT JOIN paired USING ({keys})
ORDER BY {keys}
"""


def compare_sides(
    connection: DuckDBPyConnection,
    by: str,
    sides: tuple[str, str],
    asked: pd.DataFrame,
    *,
    confidence: float,
    same_within_percent: float,
) -> pd.DataFrame:
    """Ratios B / A of all cells that both sides have; see :meth:`Stores.compare`.

    `asked` has ``source counts_in level half_percent``: what the study of each campaign asks for.
    Of a side with several studies the narrowest interval at the highest level is asked.
    """
    if by not in COMPARABLE:
        raise BadInput(
            f"cannot be compared; choose from {', '.join(COMPARABLE)}",
            key="by",
            value=by,
            code="E-FLEET-047",
        )
    keys = [key for key in CELL if key != by and key not in DROPPED.get(by, ())]
    a, b = map(quoted, sides)
    names = ", ".join(f'"{key}"' for key in keys)
    form = _BY_CAMPAIGN if by == CAMPAIGN else _BY_COLUMN
    chosen = form.format(by=by, a=a, b=b)
    connection.register("asked_precision", asked)
    connection.execute(_SIDES.format(keys=names, chosen=chosen, good=GOOD))
    connection.unregister("asked_precision")
    found = connection.execute(_MOMENTS.format(keys=names)).df()
    if found.empty:
        raise NetlabError(
            f"no cell has valid runs of {by} {sides[0]} and of {by} {sides[1]}", code="E-FLEET-048"
        )
    return _with_verdicts(found, keys, confidence, same_within_percent)


def _with_verdicts(
    found: pd.DataFrame, keys: list[str], confidence: float, same_within_percent: float
) -> pd.DataFrame:
    """Add ratios with simultaneous intervals (Bonferroni) and verdicts (Holm)."""
    paired = found["rounds"].to_numpy() >= COMMON_ROUNDS
    few = found[["n_a", "n_b"]].min(axis=1).to_numpy() < COMMON_ROUNDS
    centre, error, degrees = _moments(found, paired)
    cell_level = bonferroni(confidence, len(found))
    half = student.quantile(degrees, 0.5 + cell_level / 2) * error
    half = np.where(few, np.nan, half)
    with np.errstate(over="ignore"):
        low, high = np.exp(centre - half), np.exp(centre + half)
    p_values = [
        math.nan if skip else _p(*each)
        for skip, *each in zip(few, centre, error, degrees, strict=True)
    ]
    adjusted = holm(p_values)
    halves = np.column_stack([_half_percent(found, side) for side in "ab"])
    unranked = [
        TOO_FEW if skip else imprecise(half, asked)
        for skip, half, asked in zip(few, halves, _asked(found), strict=True)
    ]
    verdicts, reasons = [], []
    for row in zip(np.exp(centre), low, high, adjusted, unranked, strict=True):
        word, reason = _verdict(*row, 1 - confidence, same_within_percent)
        verdicts.append(word)
        reasons.append(reason)
    figures = found.assign(
        ratio=np.exp(centre),
        low=low,
        high=high,
        p_holm=adjusted,
        verdict=verdicts,
        ranked=[not reason for reason in unranked],
        reason=reasons,
        paired=paired,
        a_MBps=np.exp(found["centre_a"]),
        b_MBps=np.exp(found["centre_b"]),
        a_half_percent=halves[:, 0],
        b_half_percent=halves[:, 1],
    )
    return figures[[*keys, *FIGURES]]


def _half_percent(found: pd.DataFrame, side: str) -> np.ndarray:
    """Half the width of the interval of a side's cell, per cent of its mean; NaN for too few."""
    n = found[f"n_{side}"].to_numpy(float)
    level = found[f"level_{side}"].fillna(NO_STUDY_LEVEL).to_numpy(float)
    deviation = np.sqrt(found[f"variance_{side}"].to_numpy(float))
    half = student.quantile(np.maximum(n - 1, 1), 0.5 + level / 2) * deviation / np.sqrt(n)
    with np.errstate(over="ignore"):
        return np.where(n < LEAST, np.nan, 100 * np.sinh(half))


def _asked(found: pd.DataFrame) -> list[list[Asked]]:
    """Precision of both sides of each cell."""
    sides = (found[f"half_percent_{side}"].astype(float) for side in "ab")
    return [
        [Asked(half_width_percent=None if math.isnan(half) else half) for half in pair]
        for pair in zip(*sides, strict=True)
    ]


def _moments(found: pd.DataFrame, paired: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Logarithm of each ratio, its standard error, and degrees of freedom."""
    rounds = np.maximum(found["rounds"].to_numpy(float), 1)
    n = found[["n_a", "n_b"]].to_numpy(float)
    parts = found[["variance_a", "variance_b"]].to_numpy(float) / n
    total = parts.sum(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        welch = total**2 / (parts**2 / (n - 1)).sum(axis=1)
    welch = np.where(total > 0, welch, 1.0)
    difference = (found["centre_b"] - found["centre_a"]).to_numpy(float)
    centre = np.where(paired, found["step"].to_numpy(float), difference)
    within = found["step_sd"].to_numpy(float) / np.sqrt(rounds)
    error = np.where(paired, within, np.sqrt(total))
    return centre, error, np.where(paired, np.maximum(rounds - 1, 1), welch)


def _p(centre: float, error: float, degrees: float) -> float:
    """Two-sided p-value of a ratio of 1."""
    if not error:
        return float(centre == 0)
    return 2 * student.cumulative(degrees, -abs(centre) / error)


def _verdict(
    ratio: float,
    low: float,
    high: float,
    p_holm: float,
    unranked: str,
    alpha: float,
    same_within_percent: float,
) -> tuple[str, str]:
    if unranked:
        return CANNOT_TELL, unranked
    word = verdict(low, high, same_within_percent)
    if word == CANNOT_TELL:
        word = Difference(p_holm, alpha).verdict(Ratio(ratio, low, high))
    return word, "the interval is too wide" if word == CANNOT_TELL else ""
