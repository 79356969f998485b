"""A measured study beside a published table of the user's own, of goodput or of another quantity.

Cells pair where all columns of the table have the same levels. A step of one factor, all other
columns equal, is judged by its size, within the fluctuation that the table states. So is a ratio
that was published without its cells, of one factor or of several at once.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import pandas as pd

from netlab.analysis import any_factors
from netlab.analysis.cell_precision import nominal_level
from netlab.analysis.cells import CELL_KEYS, valid
from netlab.analysis.effects import CANNOT_TELL
from netlab.analysis.intervals import LEAST_ROUNDS, Interval, log_interval
from netlab.analysis.mean_ratios import without_rounds
from netlab.analysis.measured import Measured, computed_once
from netlab.analysis.shares import bounded_interval
from netlab.analysis.shares import of_runs as shares_of_runs
from netlab.openlab.then_and_now import Pair, effect_over_cases, geometric_mean, side, size_verdict
from netlab.study.factors import level_text, levels_text
from netlab.study.published import SHARE, Published, PublishedStep, quantity_name
from netlab.units import listed

STEP_COLUMNS = (
    *("factor", "step", "cases", "rounds", "then_ratio", "then_low", "then_high", "said"),
    *("now_ratio", "now_low", "now_high", "verdict", "missing"),
)


def band(table: Published) -> float:
    """Largest error of a published ratio either way, with both of its cells fluctuating."""
    share = table.fluctuation_percent / 100
    return (1 + share) / (1 - share)


def _values(m: Measured) -> pd.DataFrame:
    """Valid runs with the table's quantity as ``value``."""
    quantity, runs = _table(m).quantity, valid(m.runs)
    if SHARE.fullmatch(quantity):
        runs = runs.join(shares_of_runs(m).reindex(columns=[quantity]), on="run_id")
    return runs.assign(value=runs[quantity].astype(float)).dropna(subset="value")


@computed_once
def _series(m: Measured) -> dict[tuple, pd.Series]:
    """Values of each cell by round; logarithms of positive ones without effects of the rounds."""
    runs = _values(m)
    steady = runs["value"]
    if (steady > 0).all():
        steady = without_rounds(runs.assign(goodput_MBps=runs["value"]))
    by_round = runs.assign(steady=steady).set_index("round")
    return {key: part["steady"] for key, part in by_round.groupby(list(CELL_KEYS))}


def _fitting(m: Measured, wide: pd.DataFrame, levels: Mapping) -> tuple[dict | None, str]:
    """The one measured cell at some levels, else the reason for none."""
    if absent := [name for name in levels if name not in wide]:
        return None, f"no measured cell has a level of {listed(absent)}"
    at = any_factors.rows_at(wide, levels)
    text = levels_text(tuple(levels.items()))
    if at.empty:
        return None, f"no measured cell has {text}"
    # of several levels that the table leaves out, such as outer ones, one may be measured alone
    measured = at[at["n_valid"] > 0]
    if len(measured) == 1:
        return measured.iloc[0].to_dict(), ""
    if measured.empty:
        return None, f"no valid run of {text}"
    vary = [name for name in any_factors.varying(measured, m.study) if name not in levels]
    named = listed(vary) if vary else "group"
    return None, f"{text} fits {len(measured)} measured cells: name a level of {named}"


@computed_once
def _paired(m: Measured) -> tuple[list[dict], list[str]]:
    table, wide, series = _table(m), any_factors.expanded(m.cells, m.study), _series(m)
    rows, missing = [], []
    for cell in table.cells:
        levels = {name: cell[name] for name in table.factors if name in cell}
        one, because = _fitting(m, wide, levels)
        key = () if one is None else tuple(one[name] for name in CELL_KEYS)
        if one is not None and key not in series:
            because = f"no valid run of {levels_text(tuple(levels.items()))} has {table.quantity}"
        if because:
            missing.append(because)
            continue
        now = _interval(series[key], table.quantity, nominal_level(m.study))
        rows.append(
            levels
            | {"then": float(cell[table.quantity])}
            | dict(zip(OF_KEYS, key, strict=True))
            | {
                "now": now.mean,
                "now_low": now.low,
                "now_high": now.high,
                "rounds": len(series[key]),
            }
        )
    return rows, missing


OF_KEYS = tuple(f"of_{name}" for name in CELL_KEYS)


def _interval(values: pd.Series, quantity: str, level: float) -> Interval:
    """Mean with its interval: of the logarithms, of a share or an index of the values."""
    if quantity == "jain_index" or SHARE.fullmatch(quantity):
        most = 1.0 if quantity == "jain_index" else 100.0
        return Interval(*bounded_interval(values.to_numpy(dtype=float), 0.0, most, level))
    return log_interval(values.to_numpy(dtype=float), level)


def paired(m: Measured) -> pd.DataFrame:
    """Published cells with a measured one each: ``then`` and ``now`` in the table's quantity."""
    columns = [*_table(m).factors, "then", *OF_KEYS, "now", "now_low", "now_high", "rounds"]
    return pd.DataFrame.from_records(_paired(m)[0], columns=columns)


def missing_beside(m: Measured) -> tuple[str, ...]:
    """Reasons why published cells and ratios have no verdict, each once."""
    of_steps = steps_beside(m)["missing"]
    return tuple(dict.fromkeys([*_paired(m)[1], *(text for text in of_steps if text)]))


@computed_once
def steps_beside(m: Measured) -> pd.DataFrame:
    """Every step of a factor between neighbouring levels of the table, with the verdict.

    The ratios that the table has besides its cells follow.
    """
    table, pairs, series = _table(m), paired(m), _series(m)
    rows = []
    for factor in table.factors:
        others = [name for name in table.factors if name != factor]
        for a, b in pairwise(any_factors.ordered(factor, pairs[factor], m.study)):
            if cases := _cases(pairs, factor, (a, b), others, series):
                words = {"factor": factor, "step": f"{level_text(a)} to {level_text(b)}"}
                rows.append(words | _judged(m, cases))
    wide = any_factors.expanded(m.cells, m.study)
    for step in table.steps:
        sides = [_fitting(m, wide, {**step.at, **levels}) for levels in (step.before, step.after)]
        words = {"factor": ", ".join(step.before), "step": _in_words(step)}
        because = next((text for _, text in sides if text), "")
        keys = [tuple(one[name] for name in CELL_KEYS) for one, _ in sides if one is not None]
        if not because and (empty := [key for key in keys if key not in series]):
            because = f"no valid run of {empty[0][0]} has {table.quantity}"
        if because:
            rows.append(words | _unjudged(step.ratio, band(table), because))
        else:
            pair = (series[keys[0]], series[keys[1]])
            rows.append(words | _judged(m, [(step.ratio, pair)]))
    return pd.DataFrame.from_records(rows, columns=list(STEP_COLUMNS))


def _in_words(step: PublishedStep) -> str:
    """``send copy to zerocopy and pacing_MBps 10 to 20, at mtu_B 9000``."""
    one = len(step.before) == 1
    parts = [
        ("" if one else f"{name} ") + f"{level_text(level)} to {level_text(step.after[name])}"
        for name, level in step.before.items()
    ]
    at = f", at {levels_text(tuple(step.at.items()))}" if step.at else ""
    return listed(parts) + at


def _judged(m: Measured, cases: list[tuple[float, Pair]]) -> dict[str, Any]:
    """A published and a measured ratio, with the verdict on its size, or the reason for none."""
    wide, rounds = band(_table(m)), max(min(map(len, pair)) for _, pair in cases)
    then = geometric_mean([ratio for ratio, _ in cases])
    if any((side <= 0).any() for _, pair in cases for side in pair):
        text = "a measured value is 0, which has no ratio"
        return _unjudged(then, wide, text) | {"cases": len(cases), "rounds": rounds}
    figures: dict[str, Any] = {"cases": len(cases), "rounds": rounds, "missing": ""}
    figures |= effect_over_cases(cases, nominal_level(m.study), wide)
    if rounds < LEAST_ROUNDS:
        needed = f"{rounds} of the {LEAST_ROUNDS} rounds that a verdict needs"
        return figures | {"verdict": CANNOT_TELL, "missing": needed}
    interval = (figures["now_low"], figures["now_high"])
    return figures | {"verdict": size_verdict(figures["then_ratio"], *interval, wide)}


def _unjudged(then: float, wide: float, because: str) -> dict[str, Any]:
    figures = {"then_ratio": then, "then_low": then / wide, "then_high": then * wide}
    now = dict.fromkeys(("now_ratio", "now_low", "now_high"), math.nan)
    words = {"said": side(then, wide), "verdict": CANNOT_TELL, "missing": because}
    return {"cases": 0, "rounds": 0} | figures | now | words


def levels_beside(m: Measured) -> str:
    """Words on the measured cells at another level than the published; empty if none."""
    pairs, wide = paired(m), band(_table(m))
    ratios = (pairs["now"] / pairs["then"]).replace(math.inf, math.nan).dropna()
    other = ratios[(ratios > wide) | (ratios < 1 / wide)]
    if other.empty:
        return ""
    reach = " to ".join(dict.fromkeys(f"×{end:.2f}" for end in (other.min(), other.max())))
    number = f"{len(other)} of {len(ratios)} cells"
    name = quantity_name(_table(m).quantity).partition(", ")[0]
    return (
        f"{name[0].upper()}{name[1:]} is at another level than published in {number}, {reach} of it"
    )


def _cases(
    pairs: pd.DataFrame, factor: str, levels: tuple, others: list[str], series: dict
) -> list[tuple[float, Pair]]:
    """Published ratio and the pair of measured series of every context that has both levels."""
    before, after = (
        {tuple(row[name] for name in others): row for row in part.to_dict("records")}
        for part in (any_factors.rows_at(pairs, {factor: level}) for level in levels)
    )
    cases = []
    for context in before.keys() & after.keys():
        a, b = before[context], after[context]
        if a["then"] > 0 and b["then"] > 0:
            one, other = (series[tuple(row[name] for name in OF_KEYS)] for row in (a, b))
            cases.append((b["then"] / a["then"], (one, other)))
    return cases


def _table(m: Measured) -> Published:
    if m.study.published is None:
        raise ValueError("the study names no published table")
    return m.study.published
