"""Comparison of a measured study with the published one: findings of 2003 that hold here.

A finding is the effect of one step of a factor on the rate, all else equal: the geometric mean of
the ratios over the cells that both studies have. Notebook 15 states how a verdict is made. The
measured ratio is held to the same bounds as the published one, so that two measurements of one
ratio contradict each other only if their intervals have nothing in common.

Ratios are of rates: of goodput where measured, of what the interface counted in 2003. Both cells
of a ratio have the same path, so its ceiling cancels, but for the step from one direction to both
where each direction has the full bus: there the ceiling doubles.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise, product
from typing import Any

import numpy as np
import pandas as pd

from netlab.analysis.cell_precision import nominal_level
from netlab.analysis.cells import CELL_KEYS, usable, valid
from netlab.analysis.effects import CANNOT_TELL
from netlab.analysis.findings import DOES_NOT_HOLD, HELD, HOLDS, held
from netlab.analysis.mean_ratios import mean_ratio, without_rounds
from netlab.analysis.measured import Measured, computed_once
from netlab.openlab import published
from netlab.openlab.published.layout import HEADING_OF_TUNING, TUNING_WORDS
from netlab.openlab.published.report import TUNING_OF_PROFILE
from netlab.study import Study
from netlab.units import listed

TABLES = (2, 3, 4, 5, 6)
"""Tables of the report that a group can name; table 1 repeats the earlier notes."""

FLUCTUATION = 0.03
"""Stated tolerance of a published cell: "a few %" (preliminary notes, right before set 1)."""

BAND = (1 + FLUCTUATION) / (1 - FLUCTUATION)
"""Largest error of a published ratio either way, with both of its cells fluctuating."""

RISES, FALLS, STAYS = "rises", "falls", "stays"
UPWARDS = (FALLS, STAYS, RISES)

STEP_FACTORS = ("jumbo frames", "stream count", "tuning", "direction")

DIRECTIONS = (
    (2, 3, "Linux64 → Linux64 to both directions"),
    (4, 6, "Linux32 → Linux64 to both directions"),
    (5, 6, "Linux64 → Linux32 to both directions"),
    (4, 5, "Linux32 → Linux64 to Linux64 → Linux32"),
)
"""Pairs of tables (before, after) over the same hosts that differ in direction alone."""

Step = tuple[str, str, str, dict[str, tuple], dict[str, tuple], tuple[str, ...]]
"""Factor, step and context in words, levels before and after, and the columns that match."""

Pair = tuple[pd.Series, pd.Series]
"""Goodputs of the cells before and after a step."""

CELL_COLUMNS = (
    *("group", "table", "path", "direction", "tuning", "mtu_B", "streams", "factors"),
    *("then_MBps", "then_ceiling_MBps", "then_percent"),
    *("now_MBps", "now_ceiling_MBps", "now_percent", "now_percent_low", "now_percent_high"),
)

COMPARED_COLUMNS = (
    *("factor", "step", "where", "group", "tables", "cases", "left_out", "alike"),
    *("then_from_percent", "then_to_percent", "then_ratio", "then_low", "then_high", "said"),
    *("now_from_percent", "now_to_percent", "now_ratio", "now_low", "now_high", "verdict"),
)


def published_cells() -> pd.DataFrame:
    """Tables 2 to 6 of the report, one row a cell, with its ceiling."""
    frame = published.load("openlab-2003")
    names = {"throughput_MBps": "then_MBps", "bus_MBps": "then_ceiling_MBps"}
    frame = frame[frame["table"].isin(TABLES)].rename(columns=names)
    return frame.rename(columns={"percent_of_bus": "then_percent"})


def published_tunings(study: Study) -> dict[str, str]:
    """Published tuning that each tuning level of a study repeats on all hosts of its paths."""
    hosts = {host for path in study.paths.values() for host in path.hosts}
    repeated = {}
    for level in study.tunings:
        names = {TUNING_OF_PROFILE.get(study.profile(host, level.name)) for host in hosts}
        if len(names) == 1 and None not in names:
            repeated[level.name] = str(*names)
    return repeated


def _as_published(levels: pd.Series, study: Study) -> pd.Series:
    """Published tuning of each level; an empty text for a level of the study's own."""
    repeated = published_tunings(study)
    return pd.Series([repeated.get(name, "") for name in levels], levels.index, dtype=object)


@computed_once
def comparable(m: Measured) -> pd.DataFrame:
    """Cells of both studies with a valid run; a tuning is the published one that it repeats."""
    cells = m.cells[(m.cells["n_valid"] > 0) & m.cells["table"].isin(TABLES)]
    cells = cells.astype({"table": "int64"})
    recorded = valid(m.runs).groupby(list(CELL_KEYS))["ceiling_MBps"].median()
    recorded = recorded.reindex(pd.MultiIndex.from_frame(cells[list(CELL_KEYS)]))
    ceiling = cells["bus_MBps"].where(cells["bus_MBps"] > 0, recorded.to_numpy(dtype=float))
    cells = cells.assign(now_MBps=cells["goodput_MBps"], now_ceiling_MBps=ceiling)
    for ending, column in (("", "goodput"), ("_low", "low"), ("_high", "high")):
        cells[f"now_percent{ending}"] = 100 * cells[f"{column}_MBps"] / ceiling
    cells = cells.assign(tuning=_as_published(cells["tuning"], m.study))
    keys = ["table", "direction", "tuning", "mtu_B", "streams"]
    then = published_cells()[[*keys, "then_MBps", "then_ceiling_MBps", "then_percent"]]
    return cells.merge(then, on=keys)[list(CELL_COLUMNS)]


def nothing_because(m: Measured) -> str:
    """Reason that no cell can be compared; empty if some can."""
    if len(comparable(m)):
        return ""
    cells = m.cells[m.cells["table"].isin(TABLES)]
    if cells.empty:
        return "no group of this study states which of tables 2 to 6 of the report it repeats"
    then, repeated = published_cells(), cells.assign(tuning=_as_published(cells["tuning"], m.study))
    words = {"tuning": "tunings", "mtu_B": "MTUs in bytes", "streams": "stream counts"}
    for column, name in words.items():
        if not repeated[column].isin(then[column]).any():
            here, known = (
                ", ".join(map(str, sorted(frame[column].unique()))) for frame in (cells, then)
            )
            return f"the {name} of this study ({here}) do not occur in 2003 ({known})"
    if not (cells["n_valid"] > 0).any():
        return "no cell of a group that repeats one of the report's tables has a valid run"
    return "no valid cell of this study has the direction and the levels of a published one"


def steps(cells: pd.DataFrame) -> Iterator[Step]:
    """Steps that the comparable cells allow, in the order of :data:`STEP_FACTORS`."""
    tunings = [t for t in HEADING_OF_TUNING if (cells["tuning"] == t).any()]
    mtus = sorted(cells["mtu_B"].unique())
    streams = tuple(sorted(cells["streams"].unique()))
    group = ("group", "path", "table")
    for (a, b), tuning in product(pairwise(mtus), tunings):
        before, after = ({"mtu_B": (mtu_B,), "tuning": (tuning,)} for mtu_B in (a, b))
        words = ("jumbo frames", f"{a} B to {b} B", TUNING_WORDS[tuning])
        yield *words, before, after, (*group, "streams")
    sizes = {"1500 B": [m for m in mtus if m <= 1500], "larger MTUs": [m for m in mtus if m > 1500]}
    first, last = streams[:1], streams[-1:]
    for tuning, (size, of_size) in product(tunings if len(streams) > 1 else (), sizes.items()):
        before, after = (
            {"streams": counts, "tuning": (tuning,), "mtu_B": tuple(of_size)}
            for counts in (first, last)
        )
        step, where = f"{first[0]} to {last[0]} streams", f"{TUNING_WORDS[tuning]}, {size}"
        yield "stream count", step, where, before, after, (*group, "mtu_B")
    for (a, b), counts in product(pairwise(tunings), filter(None, (first, streams[1:]))):
        before, after = ({"tuning": (tuning,), "streams": counts} for tuning in (a, b))
        step = f"{TUNING_WORDS[a]} to {TUNING_WORDS[b]}"
        where = f"{listed(counts)} {'stream' if counts == (1,) else 'streams'}"
        yield "tuning", step, where, before, after, (*group, "mtu_B", "streams")
    for (table_a, table_b, step), tuning in product(DIRECTIONS, tunings):
        before, after = ({"table": (n,), "tuning": (tuning,)} for n in (table_a, table_b))
        across = ("path", "mtu_B", "streams")
        yield "direction", step, TUNING_WORDS[tuning], before, after, across


def side(ratio: float, band: float = BAND) -> str:
    """Position of a ratio relative to the band around 1: ``rises``, ``falls`` or ``stays``."""
    if ratio > band:
        return RISES
    return FALLS if ratio < 1 / band else STAYS


def verdict(said: str, low: float, high: float, band: float = BAND) -> str:
    """Verdict on a published effect by the measured interval of the same ratio."""
    if math.isnan(low) or math.isnan(high):
        return CANNOT_TELL
    first, last = (UPWARDS.index(side(end, band)) for end in (low, high))
    seen = UPWARDS[first : last + 1]
    if said not in seen:
        return DOES_NOT_HOLD
    return HOLDS if seen == (said,) else CANNOT_TELL


LARGER, SMALLER = "same direction, larger", "same direction, smaller"
BESIDE = (HOLDS, LARGER, SMALLER, DOES_NOT_HOLD, CANNOT_TELL)
"""Verdicts on the size of a published step."""


def size_verdict(then: float, low: float, high: float, band: float) -> str:
    """Verdict on a published ratio by the measured interval: its size, not its direction alone.

    It holds if the interval reaches the ratio within its stated fluctuation, and goes nowhere else
    but in its direction.
    """
    if math.isnan(low) or math.isnan(high):
        return CANNOT_TELL
    said = side(then, band)
    first, last = (UPWARDS.index(side(end, band)) for end in (low, high))
    same = UPWARDS[first : last + 1] == (said,)
    if low <= then * band and high >= then / band:
        return HOLDS if same else CANNOT_TELL
    if said == STAYS or not same:
        return DOES_NOT_HOLD
    return LARGER if (low > then * band) == (said == RISES) else SMALLER


def effect_over_cases(
    cases: Sequence[tuple[float, Pair]], level: float, band: float
) -> dict[str, Any]:
    """A published and a measured effect over several cases, with the verdict."""
    then = geometric_mean([ratio for ratio, _ in cases])
    now = mean_ratio([pair for _, pair in cases], level)
    word = side(then, band)
    return {
        "then_ratio": then,
        "then_low": then / band,
        "then_high": then * band,
        "said": word,
        "now_ratio": now.ratio,
        "now_low": now.low,
        "now_high": now.high,
        "verdict": verdict(word, now.low, now.high, band),
    }


def _goodputs(m: Measured, tunings: Callable[[pd.Series], pd.Series] = lambda s: s) -> dict:
    """Goodputs of each cell by round, without the effects of the rounds."""
    good = usable(m.runs)
    good = good.assign(goodput_MBps=without_rounds(good), tuning=tunings(good["tuning"]))
    good = good.set_index("round")[[*CELL_KEYS, "goodput_MBps"]]
    return {key: part["goodput_MBps"] for key, part in good.groupby(list(CELL_KEYS))}


@computed_once
def compare(m: Measured) -> pd.DataFrame:
    """Every finding in every group with the numbers of both sides and the verdict."""
    cells = comparable(m)
    goodputs = _goodputs(m, lambda levels: _as_published(levels, m.study))
    rows = []
    for factor, step, where, before, after, match in steps(cells) if len(cells) else ():
        agreed, sides = [*match, "factors"], []  # of equal values, which both sides have
        for side, ending in ((before, "_a"), (after, "_b")):
            part = cells[np.logical_and.reduce([cells[c].isin(v) for c, v in side.items()])]
            sides.append(part.add_suffix(ending).assign(**{c: part[c] for c in agreed}))
        for (a, b), part in sides[0].merge(sides[1], on=agreed).groupby(GROUPS, sort=False):
            row = _compared(part, goodputs, nominal_level(m.study))
            if row is not None:
                words = {"factor": factor, "step": step, "where": where}
                rows.append(words | {"group": a if a == b else f"{b} over {a}"} | row)
    return pd.DataFrame.from_records(rows, columns=list(COMPARED_COLUMNS))


NOTHING, GROUPS = pd.Series(dtype=float), ["group_a", "group_b"]


def _compared(part: pd.DataFrame, goodputs: dict, level: float) -> dict | None:
    names = ([name + end for name in CELL_KEYS] for end in ("_a", "_b"))
    keys = (part[each].itertuples(index=False, name=None) for each in names)
    sides = ([goodputs.get(key, NOTHING) for key in of_side] for of_side in keys)
    both = list(zip(*sides, strict=True))
    rounds = np.array([min(map(len, each)) for each in both])
    # With one round the ratio is shown without an interval.
    kept = rounds > 1 if (rounds > 1).any() else rounds > 0
    if not kept.any():
        return None
    part, values = part[kept], [both[at] for at in np.flatnonzero(kept)]
    ratios = (part["then_MBps_b"] / part["then_MBps_a"]).tolist()
    cases = list(zip(ratios, values, strict=True))
    a, b = part.iloc[0]["table_a"], part.iloc[0]["table_b"]
    return {
        "tables": str(a) if a == b else f"{b} over {a}",
        "cases": len(part),
        "left_out": len(both) - len(part),
        "alike": sum(side(t) == side(mean_ratio([v], level).ratio) for t, v in cases),
        **effect_over_cases(cases, level, BAND),
        **{
            f"{when}_{end}_percent": geometric_mean(part[f"{when}_percent{ending}"])
            for when in ("then", "now")
            for end, ending in (("from", "_a"), ("to", "_b"))
        },
    }


def geometric_mean(values: Sequence[float] | pd.Series) -> float:
    return float(np.exp(np.log(np.asarray(values, dtype=float)).mean()))


def summary(compared: pd.DataFrame) -> pd.DataFrame:
    keys, rows = ["factor", "step", "where"], []
    for key, part in compared.groupby(keys, sort=False):
        ratios = [geometric_mean(part[name]) for name in ("then_ratio", "now_ratio")]
        totals = [int((part["said"] == word).sum()) for word in (RISES, FALLS, STAYS)]
        counts = {word: int((part["verdict"] == word).sum()) for word in HELD}
        overall = held(counts[HOLDS], counts[DOES_NOT_HOLD], len(part))
        rows.append((*key, *ratios, *totals, *counts.values(), overall))
    columns = [*keys, "then_ratio", "now_ratio", RISES, FALLS, STAYS, *HELD, "verdict"]
    return pd.DataFrame.from_records(rows, columns=columns)
