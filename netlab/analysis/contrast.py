"""The mean ratio of pairs of cells that were measured in different numbers of rounds.

A study that goes on until its cells are precise leaves some with 4 rounds and others with 16.
All of them count: the effect of each round is estimated from every cell of the campaign, so that
drift of the machine cancels although a cell has rounds that the other one lacks.

The interval allows for what cells of one round have in common, such as a visit of a block: it is
the cluster-robust one with rounds as clusters (CR2, Bell and McCaffrey, "Bias reduction in standard
errors for linear regression with multi-stage samples", Survey Methodology 28, 2002) and Student's t
with their degrees of freedom. Where all cells have the same rounds, it is the interval of the
paired ratio. ``docs/precision.md`` has its simulated coverage.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pandas as pd

from netlab.analysis import student
from netlab.analysis.cells import CELL_KEYS
from netlab.analysis.effects import Ratio, ratio
from netlab.errors import BadInput

CONVERGED = 1e-9
MOST_STEPS = 1000


def without_rounds(runs: pd.DataFrame) -> pd.Series:
    """Goodputs without the effects of their rounds.

    The logarithms are fitted as the sum of an effect of the cell and one of the round (least
    squares); the latter, whose mean over the rounds is 0, is subtracted.
    """
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


def mean_ratio(pairs: Sequence[tuple[pd.Series, pd.Series]], confidence: float = 0.95) -> Ratio:
    """Geometric mean of the ratios of several pairs, with an interval from their rounds.

    Unlike that of :func:`~netlab.analysis.effects.pooled`, which is from the spread between
    contexts, the interval covers only the uncertainty of the runs in these contexts.
    """
    if not pairs:
        raise BadInput("a mean ratio needs a pair of cells", code="E-ANALYSIS-007")
    alone = [ratio(a.to_numpy(), b.to_numpy()).ratio for a, b in pairs]
    centre = float(np.mean(np.log(alone)))
    cells = [values for pair in pairs for values in pair]
    logs = np.log(np.concatenate([values.to_numpy(dtype=float) for values in cells]))
    cell = np.repeat(np.arange(len(cells)), [len(values) for values in cells])
    rounds, place = np.unique(
        np.concatenate([values.index.to_numpy() for values in cells]), return_inverse=True
    )
    if min(map(len, cells)) < 2 or len(rounds) < 2:
        return Ratio(math.exp(centre), math.nan, math.nan)
    weights = np.tile([-1.0, 1.0], len(pairs)) / len(pairs)
    error, degrees = _standard_error(logs, cell, place, weights)
    half = float(student.quantile(degrees, 0.5 + confidence / 2)) * error if error else 0.0
    with np.errstate(over="ignore"):
        return Ratio(math.exp(centre), math.exp(centre - half), float(np.exp(centre + half)))


def _standard_error(
    logs: np.ndarray, cell: np.ndarray, place: np.ndarray, weights: np.ndarray
) -> tuple[float, float]:
    """Standard error of a weighted sum of the cells' means, and its degrees of freedom."""
    count = np.bincount(cell)
    residual = logs - (np.bincount(cell, logs) / count)[cell]
    share = (cell[:, None] == cell) / count[cell]  # what each value has in each fitted one
    pull = (weights / count)[cell]
    found, designs = 0.0, []
    for number in range(place.max() + 1):
        here = np.flatnonzero(place == number)
        left, vectors = np.linalg.eigh(np.eye(len(here)) - share[np.ix_(here, here)])
        scale = np.where(left > CONVERGED, 1 / np.sqrt(np.maximum(left, CONVERGED)), 0.0)
        corrected = (vectors * scale) @ (vectors.T @ pull[here])
        found += float(residual[here] @ corrected) ** 2
        design = -share[:, here] @ corrected
        design[here] += corrected
        designs.append(design)
    products = np.array(designs) @ np.array(designs).T
    return math.sqrt(found), float(np.trace(products) ** 2 / np.square(products).sum())
