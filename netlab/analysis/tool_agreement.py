"""Agreement of a study's generators on one path, cell by cell; cells are without the generator.

Every generator is compared with a reference, netlab's own where it was measured. All comparisons
of a study are one family of :func:`netlab.analysis.compare.compare_pairs`.
"""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Real

import pandas as pd

from netlab.analysis import any_factors
from netlab.analysis.cells import LEVELS, usable, valid
from netlab.analysis.compare import FIGURES, VERDICTS, compare_pairs
from netlab.analysis.measured import Measured
from netlab.errors import check
from netlab.study import OWN

BOUND_PERCENT = 2.0
"""Default bound of *the same*."""

CELL = (*LEVELS, "congestion", "record_length_B", "buffer_B", "receive_buffer_B", "records")
"""Levels that two compared runs share; ``factors`` without the generator, which is compared."""

COMPARED_COLUMNS = (*CELL, "generator", "reference", *FIGURES)


def generators(runs: pd.DataFrame) -> list[str]:
    """Generators of some runs: netlab's own first, then in the order of the study's groups."""
    names = runs.sort_values("group")["generator"].drop_duplicates().tolist()
    return sorted(names, key=lambda name: name != OWN)


def _of_cells(runs: pd.DataFrame) -> pd.DataFrame:
    """Runs whose further factors are those of their cell here."""
    return runs.assign(factors=any_factors.without(runs, "generator"))


def several(runs: pd.DataFrame) -> bool:
    """True if any cell was measured with more than one generator."""
    runs = _of_cells(runs)
    counts = runs.groupby(list(CELL), dropna=False)["generator"].nunique()
    return bool((counts > 1).any())


def compare_generators(
    runs: pd.DataFrame, *, confidence: float = 0.95, bound_percent: float = BOUND_PERCENT
) -> pd.DataFrame:
    """Compare every generator, B, with the reference of its cell, A."""
    bound = bound_percent
    fine = isinstance(bound, Real) and bound > 0
    check(fine, "bound_percent", bound, "must be above 0", "E-ANALYSIS-001")
    good = _of_cells(usable(runs))
    order, rows, pairs = generators(good), [], []
    goodputs = good.set_index("round")[[*CELL, "generator", "goodput_MBps"]]
    for key, cell in goodputs.groupby(list(CELL), dropna=False):
        of = {name: part["goodput_MBps"] for name, part in cell.groupby("generator")}
        reference, *others = [name for name in order if name in of]
        for name in others:
            rows.append((*key, name, reference))
            pairs.append((of[reference], of[name]))
    figures = compare_pairs(pairs, level=confidence, same_within_percent=bound_percent)
    frame = pd.DataFrame.from_records(rows, columns=[*CELL, "generator", "reference"])
    return frame.join(pd.DataFrame(figures, columns=list(FIGURES)))


@dataclass(frozen=True, eq=False)
class Agreement:
    measured: Measured
    frame: pd.DataFrame
    bound_percent: float


def agreement(m: Measured, bound_percent: float = BOUND_PERCENT) -> Agreement:
    """Compare the generators of a study at its level of confidence."""
    frame = compare_generators(m.runs, confidence=m.study.confidence, bound_percent=bound_percent)
    return Agreement(m, frame, bound_percent)


def summary(compared: pd.DataFrame) -> pd.DataFrame:
    """Counts and extremes for each path and generator."""
    rows = []
    for (path, generator), part in compared.groupby(["path", "generator"], sort=False):
        counts = [int((part["verdict"] == word).sum()) for word in VERDICTS]
        ends = (100 * (part["ratio"].min() - 1), 100 * (part["ratio"].max() - 1))
        rows.append((path, generator, len(part), *counts, *ends))
    columns = ["path", "generator", "cells", *VERDICTS, "least_percent", "greatest_percent"]
    return pd.DataFrame.from_records(rows, columns=columns)


def meters(runs: pd.DataFrame) -> pd.DataFrame:
    """Means of the hosts' meters for each generator in each cell.

    Columns that are alike in all cells are left out, but for path, MTU and streams.
    """
    good = _of_cells(valid(runs))
    good = good.assign(cpu_s_per_GB=good["agent_cpu_s"] / good["received_B"] * 1e9)
    named = ("path", "mtu_B", "streams")
    keys = [key for key in CELL if key in named or good[key].nunique(dropna=False) > 1]
    keys.append("generator")
    values = ["goodput_MBps", "sender_cpu_percent", "receiver_cpu_percent", "cpu_s_per_GB"]
    grouped, order = good.groupby(keys, dropna=False), generators(runs)
    means = grouped[[*values, "header_share"]].mean().astype("float64")
    means.insert(0, "n", grouped.size())
    return means.reset_index().sort_values(
        keys, key=lambda c: c.map(order.index) if c.name == "generator" else c, ignore_index=True
    )
