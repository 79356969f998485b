"""A measured study beside a published table of the user's own.

Cells pair where all columns of the table have the same levels. A step of one factor, all other
columns equal, is a finding: it recurs or not by the rules of :mod:`netlab.analysis.then_and_now`,
with the fluctuation that the table states in place of that of 2003.
"""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pandas as pd

from netlab.analysis import factors
from netlab.analysis.cells import CELL_KEYS, valid
from netlab.analysis.contrast import mean_ratio, without_rounds
from netlab.analysis.measured import Measured
from netlab.analysis.precision import nominal_level
from netlab.analysis.then_and_now import side, verdict
from netlab.study.factors import level_text, same
from netlab.study.published import Published

STEP_COLUMNS = (
    *("factor", "step", "cases", "then_ratio", "said", "now_ratio", "low", "high", "verdict"),
)


def band(table: Published) -> float:
    """Largest error of a published ratio either way, with both of its cells fluctuating."""
    share = table.fluctuation_percent / 100
    return (1 + share) / (1 - share)


def paired(m: Measured) -> pd.DataFrame:
    """Published cells with a measured one each."""
    table = _table(m)
    wide = factors.expanded(m.cells, m.study)
    rows = []
    for cell in table.cells:
        fits = np.ones(len(wide), dtype=bool)
        for name in table.factors:
            values = wide[name] if name in wide else pd.Series([None] * len(wide))
            fits &= np.array([same(value, cell[name]) for value in values], dtype=bool)
        if fits.sum() != 1:
            continue
        found = wide[fits].iloc[0]
        rows.append(
            {name: cell[name] for name in table.factors}
            | {"then_MBps": cell["goodput_MBps"]}
            | {f"of_{key}": found[key] for key in CELL_KEYS}
            | {
                "now_MBps": found["goodput_MBps"],
                "now_low": found["low_MBps"],
                "now_high": found["high_MBps"],
            }
        )
    keys = [f"of_{key}" for key in CELL_KEYS]
    columns = [*table.factors, "then_MBps", *keys, "now_MBps", "now_low", "now_high"]
    return pd.DataFrame.from_records(rows, columns=columns)


def steps(m: Measured) -> pd.DataFrame:
    """Every step of a factor between neighbouring levels of the table, with the verdict."""
    table, pairs = _table(m), paired(m)
    usable = valid(m.runs)
    usable = usable[usable["goodput_MBps"] > 0]
    usable = usable.assign(goodput_MBps=without_rounds(usable))
    goodputs = {
        key: part.set_index("round")["goodput_MBps"]
        for key, part in usable.groupby(list(CELL_KEYS))
    }
    rows = []
    for factor in table.factors:
        others = [name for name in table.factors if name != factor]
        levels = factors.ordered(factor, pairs[factor], m.study)
        for a, b in pairwise(levels):
            found = _cases(pairs, factor, (a, b), others, goodputs)
            if not found:
                continue
            now = mean_ratio([case[1:] for case in found], nominal_level(m.study))
            then = math.exp(float(np.mean([math.log(case[0]) for case in found])))
            said = side(then, band(table))
            rows.append(
                (
                    *(factor, f"{level_text(a)} to {level_text(b)}", len(found), then, said),
                    *(now.ratio, now.low, now.high, verdict(said, now.low, now.high, band(table))),
                )
            )
    return pd.DataFrame.from_records(rows, columns=list(STEP_COLUMNS))


def _cases(
    pairs: pd.DataFrame, factor: str, levels: tuple, others: list[str], goodputs: dict
) -> list[tuple]:
    """Published ratio and both measured series of every context that has both levels."""
    sides = [
        {tuple(row[name] for name in others): row for row in part.to_dict("records")}
        for part in (pairs[[same(v, level) for v in pairs[factor]]] for level in levels)
    ]
    found = []
    for context in sides[0].keys() & sides[1].keys():
        a, b = sides[0][context], sides[1][context]
        keys = [tuple(row[f"of_{key}"] for key in CELL_KEYS) for row in (a, b)]
        if all(key in goodputs for key in keys):
            found.append((b["then_MBps"] / a["then_MBps"], *(goodputs[key] for key in keys)))
    return found


def _table(m: Measured) -> Published:
    if m.study.published is None:
        raise ValueError("the study names no published table")
    return m.study.published
