"""The mean ratio of pairs of cells that were measured in different numbers of rounds.

`docs/precision.md` describes it. The interval is cluster-robust with rounds as clusters, since
cells of one visit vary together (CR2, Bell and McCaffrey, "Bias reduction in standard errors for
linear regression with multi-stage samples", Survey Methodology 28, 2002), and Student's t with
their degrees of freedom.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pandas as pd

from netlab.analysis import intervals, t_distribution
from netlab.analysis.cells import CELL_KEYS
from netlab.analysis.effects import Ratio, ratio
from netlab.errors import BadInput

CONVERGED = 1e-9
MOST_STEPS = 1000


def without_rounds(runs: pd.DataFrame) -> pd.Series:
    """Goodputs without the effects of their rounds, by least squares on cells and rounds."""
    goodputs = runs["goodput_MBps"]
    if runs.empty:
        return goodputs
    logs = np.log(goodputs.to_numpy(dtype=float))
    cell = runs.groupby(list(CELL_KEYS), dropna=False, sort=False).ngroup().to_numpy()
    _, place = np.unique(runs["round"].to_numpy(), return_inverse=True)
    of_cell, of_round = np.bincount(cell), np.bincount(place)
    effect = np.zeros(len(of_round))
    for _ in range(MOST_STEPS):
        mean = np.bincount(cell, logs - effect[place]) / of_cell
        fitted = np.bincount(place, logs - mean[cell]) / of_round
        fitted -= fitted.mean()
        change, effect = np.abs(fitted - effect).max(), fitted
        if change < CONVERGED:
            break
    return pd.Series(np.exp(logs - effect[place]), index=runs.index)


Pair = tuple[pd.Series, pd.Series]


def mean_ratio(pairs: Sequence[Pair], confidence: float = 0.95) -> Ratio:
    """Geometric mean of the ratios of pairs; the interval is of the runs, not between contexts."""
    if not pairs:
        raise BadInput("a mean ratio needs a pair of cells", code="E-ANALYSIS-007")
    for a, b in pairs:  # both sides have values, and logarithms
        ratio(a.to_numpy(), b.to_numpy())
    logs = [(np.log(a.astype(float)), np.log(b.astype(float))) for a, b in pairs]
    mean = mean_difference(logs, confidence)
    with np.errstate(over="ignore"):
        return Ratio(*(float(np.exp(value)) for value in (mean.mean, mean.low, mean.high)))


def mean_difference(pairs: Sequence[Pair], confidence: float = 0.95) -> intervals.Interval:
    """Mean of the differences of pairs, with the interval of :func:`mean_ratio`."""
    sides = [values for pair in pairs for values in pair]
    values = np.concatenate([side.to_numpy(dtype=float) for side in sides])
    cell = np.repeat(np.arange(len(sides)), [len(side) for side in sides])
    rounds, place = np.unique(
        np.concatenate([side.index.to_numpy() for side in sides]), return_inverse=True
    )
    weights = np.tile([-1.0, 1.0], len(pairs)) / len(pairs)
    centre = float(weights @ (np.bincount(cell, values) / np.bincount(cell)))
    if min(map(len, sides)) < 2 or len(rounds) < 2:
        return intervals.Interval(centre, math.nan, math.nan)
    error, degrees = _standard_error(values, cell, place, weights)
    half = float(t_distribution.t_quantile(degrees, 0.5 + confidence / 2)) * error if error else 0.0
    return intervals.Interval(centre, centre - half, centre + half)


def _standard_error(
    values: np.ndarray, cell: np.ndarray, place: np.ndarray, weights: np.ndarray
) -> tuple[float, float]:
    """Standard error of a weighted sum of the cells' means, and its degrees of freedom.

    A round has a part of its own in each of its cells, so that the matrices of a round are not
    needed: their roots scale the values of a cell, which have one weight.
    """
    count = np.bincount(cell)
    residual = values - (np.bincount(cell, values) / count)[cell]
    pull = (weights / count)[cell]
    variance, designs = 0.0, []
    for number in range(place.max() + 1):
        here = np.flatnonzero(place == number)
        left = 1 - (np.bincount(cell[here], minlength=len(count)) / count)[cell[here]]
        scale = np.where(left > CONVERGED, 1 / np.sqrt(np.maximum(left, CONVERGED)), 0.0)
        corrected = scale * pull[here]
        variance += float(residual[here] @ corrected) ** 2
        design = -(np.bincount(cell[here], corrected, len(count)) * (1 / count))[cell]
        design[here] += corrected
        designs.append(design)
    products = np.array(designs) @ np.array(designs).T
    return math.sqrt(variance), float(np.trace(products) ** 2 / np.square(products).sum())
