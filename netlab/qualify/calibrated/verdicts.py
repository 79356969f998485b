"""Verdicts of calibrated cells, and the flags behind them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from netlab.results.flags import Flag, join_flags, split_flags

WITHIN, OUTSIDE, DISTURBED, NOT_MEASURED = "within", "outside", "disturbed", "not measured"
"""Disturbed: the cell is off its bound, but every try beyond it had steal or foreign load."""

EVERY_TRY = (
    "Every try counts: the figure is the median of all, between the least and the greatest; a cell "
    "of which half the tries or more failed is not measured."
)
"""The rule for the tries of a cell, for notes."""


def judge(cell: Any, tries: list[dict]) -> str:
    """The verdict of a cell, on the median of all its tries that have a figure."""
    known = [(off, one) for one in tries if (off := cell.excess(one)) is not None]
    if 2 * len(known) <= len(tries):
        return NOT_MEASURED
    if abs(float(np.median([off for off, _ in known]))) <= 1:
        return WITHIN
    # Other work on the machine never shortens a round trip, nor raises a rate.
    beyond = [(off, one) for off, one in known if abs(off) > 1]
    clean = any(
        off < -1 or Flag.INTERFERENCE not in split_flags(one["flags"]) for off, one in beyond
    )
    return OUTSIDE if clean else DISTURBED


def figure_text(tries: list[dict], name: str) -> pd.Series:
    return pd.Series([one.get(name) for one in tries], dtype=float)


def spread_text(values: pd.Series, unit: str, middle: str) -> dict[str, float]:
    ends = {f"least_{unit}": values.min(), f"greatest_{unit}": values.max()}
    return {f"{middle}_{unit}": values.median(), **ends}


class CellTable(NamedTuple):
    """A table of the cells of one kind: its key in the document, and what its columns have.

    :data:`netlab.analysis.stored_calibrations.TABLES` has its caption and keys.
    """

    name: str
    figures: Callable[[Any, list[dict]], dict]
    counts: tuple[str, ...]

    def frame(self, cells: Sequence[Any], samples: list[dict]) -> pd.DataFrame:
        rows = []
        for cell in cells:
            tries = [one for one in samples if cell.key.items() <= one.items()]
            good = [one for one in tries if cell.excess(one) is not None]
            counts = zip(self.counts, (len(tries), len(tries) - len(good)), strict=False)
            flags = sorted({flag for one in tries for flag in split_flags(one["flags"])})
            row = {**cell.key, **self.figures(cell, good), "verdict": judge(cell, tries)}
            rows.append({**row, **dict(counts), "flags": join_flags(flags)})
        return pd.DataFrame.from_records(rows)
