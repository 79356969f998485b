"""Comparison of two sets of runs, cell by cell: ratios B / A with simultaneous intervals.

`docs/compare.md` describes pairing, intervals and verdicts. Holm's test serves for *faster* and
*slower* alone: a cell that is decided rightly could still have been decided wrongly, so that *the
same* is read from Bonferroni's intervals, which hold whatever the cells have in common.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Real

import numpy as np
import pandas as pd

from netlab.analysis.cell_precision import half_width_percent
from netlab.analysis.cells import CELL_KEYS, LEVELS, flags_in, usable
from netlab.analysis.effects import (
    CANNOT_TELL,
    FASTER,
    NO_INTERVAL,
    SLOWER,
    VERDICTS,
    Ratio,
    p_of_ratio,
    paired_ratio,
    ratio,
)
from netlab.analysis.effects import SAME as SAME
from netlab.analysis.intervals import LEAST_ROUNDS
from netlab.analysis.t_distribution import t_quantile
from netlab.errors import NetlabError, check
from netlab.results.flags import counted_flags

BASE = ("group", *(name for name in LEVELS if name != "factors"))
MORE = (
    *("factors", "congestion", "generator", "engine"),
    *("record_length_B", "buffer_B", "receive_buffer_B", "records"),
)
"""Factors that a cell has besides :data:`BASE`, where a side has several levels of them."""


def plain_values(values: pd.Series) -> list:
    """Values with None where one is missing: NaN does not equal itself."""
    plain = values.to_numpy(dtype=object)
    missing = pd.isna(plain)
    return [None if gone else value for value, gone in zip(plain, missing, strict=True)]


def keys_of(a: pd.DataFrame, b: pd.DataFrame, by: str) -> tuple[tuple[str, ...], pd.DataFrame]:
    """Columns that identify a cell, and factors that differ altogether between the sides."""
    apart, keys = [], []
    for column in (*BASE, *MORE):
        of_a, of_b = (set(plain_values(side[column])) for side in (a, b))
        different = len(of_a) == len(of_b) == 1 and of_a != of_b
        # a column that names cells and is not a factor: left out where the sides share no level
        if column == by or different or (column == "group" and not of_a & of_b):
            apart.append((column, _listed(of_a), _listed(of_b)))
        elif column in BASE:
            keys.append(column)
    dropped = {column for column, _, _ in apart}
    for column in MORE:
        if column not in dropped and any(_varies(side, keys, column) for side in (a, b)):
            keys.append(column)
    return tuple(keys), pd.DataFrame.from_records(apart, columns=["item", "a", "b"])


def _varies(runs: pd.DataFrame, keys: list[str], column: str) -> bool:
    """True if a column has several levels among the runs of a cell."""
    if runs[column].nunique(dropna=False) < 2:
        return False
    return bool((runs.groupby(keys, dropna=False)[column].nunique(dropna=False) > 1).any())


def _listed(levels: set, most: int = 6) -> str:
    shown = sorted("none" if level is None else str(level) for level in levels)
    return ", ".join(shown[:most]) + (f" and {len(shown) - most} more" if len(shown) > most else "")


def cells_of(runs: pd.DataFrame, keys: tuple[str, ...]) -> dict[tuple, list[int]]:
    """Positions of the runs of each cell, in the order they appear."""
    rows_by_cell: dict[tuple, list[int]] = {}
    for at, key in enumerate(zip(*(plain_values(runs[column]) for column in keys), strict=True)):
        rows_by_cell.setdefault(key, []).append(at)
    return rows_by_cell


SAME_WITHIN_PERCENT = 5.0

FIGURES = (
    *("ratio", "low", "high", "p_holm", "verdict", "ranked", "reason", "paired"),
    *("n_a", "n_b", "a_MBps", "b_MBps", "a_half_percent", "b_half_percent"),
)
"""Columns of a comparison after those of the cell."""


@dataclass(frozen=True)
class Asked:
    """Requirements of a side's study on its cells."""

    level: float = 0.95
    half_width_percent: float | None = None


@dataclass(frozen=True)
class Shift:
    """Shift from one campaign to another under the same conditions, which rounds do not show."""

    campaigns: int = 0
    percent: float = math.nan

    def explains(self, ratio: float) -> bool:
        """True if such a shift alone makes this ratio of two campaigns."""
        return abs(math.log(ratio)) <= math.log1p(self.percent / 100)


UNKNOWN_SHIFT = Shift()
LEAST_CAMPAIGNS = 3


def shift_of(campaigns: Sequence[pd.DataFrame], level: float) -> Shift:
    """Estimate the shift from campaigns that repeat each other, with all of their cells.

    Student's limit of the difference of two, from the variance of a cell's mean between campaigns,
    which includes that of its rounds.
    """
    means = [
        usable(runs).groupby(list(CELL_KEYS))["goodput_MBps"].agg(lambda v: np.log(v).mean())
        for runs in campaigns
    ]
    logs = pd.concat(means, axis=1, join="inner").to_numpy(dtype=float)
    count = len(campaigns)
    check(
        count >= LEAST_CAMPAIGNS and len(logs) > 0,
        "repeats",
        f"{count} campaigns, {len(logs)} cells in common",
        f"must make {LEAST_CAMPAIGNS} campaigns with A, and have valid cells in common",
        "E-ANALYSIS-044",
    )
    spread = math.sqrt(2 * float(logs.var(axis=1, ddof=1).mean()))
    limit = float(t_quantile(count - 1, 0.5 + level / 2)) * spread
    return Shift(count, 100 * math.expm1(limit))


@dataclass(frozen=True, eq=False)
class Compared:
    frame: pd.DataFrame
    keys: tuple[str, ...]
    only: pd.DataFrame
    apart: pd.DataFrame
    overall: Ratio
    level: float
    cell_level: float
    same_within_percent: float
    shared: int = 0
    between: bool = False
    """Between campaigns: rounds do not show what shifted from one to the other."""
    shift: Shift = UNKNOWN_SHIFT
    family: int = 0
    """Cells of all comparisons whose statements hold at once."""

    def count(self, verdict: str) -> int:
        return int((self.frame["verdict"] == verdict).sum())


def side_name(place: int) -> str:
    """Name of a side by its place: A, B to Z, then B1, B2 and so on."""
    return chr(ord("A") + place) if place < 26 else f"B{place - 25}"


@dataclass(frozen=True, eq=False)
class OtherRuns:
    """A side to compare with the reference: its runs, and what its study asks for."""

    runs: pd.DataFrame
    asked: Asked = Asked()
    one_store: bool = False
    """In the directory of the reference: a record may count on both sides."""
    label: str = ""
    """Results that a message names; the letter of the side without one."""


def compare(
    a: pd.DataFrame,
    b: pd.DataFrame,
    *,
    by: str = "",
    asked: tuple[Asked, Asked] = (Asked(), Asked()),
    same_within_percent: float = SAME_WITHIN_PERCENT,
    one_store: bool = False,
    shift: Shift = UNKNOWN_SHIFT,
) -> Compared:
    (found,) = compare_all(
        *(a, asked[0], [OtherRuns(b, asked[1], one_store)]),
        by=by,
        same_within_percent=same_within_percent,
        shift=shift,
    )
    return found


def compare_all(
    a: pd.DataFrame,
    asked: Asked,
    others: Sequence[OtherRuns],
    *,
    label: str = "",
    by: str = "",
    same_within_percent: float = SAME_WITHIN_PERCENT,
    shift: Shift = UNKNOWN_SHIFT,
) -> list[Compared]:
    """Compare others with a reference as one family: all cells of all of them hold at once."""
    number, text = isinstance(same_within_percent, Real), "must lie between 0 and 100"
    fine = number and 0 < same_within_percent < 100
    check(fine, "same_within", same_within_percent, text, "E-ANALYSIS-021")
    names = [side_name(place) for place in range(1, len(others) + 1)]
    matched = [_matched(a, label, b, by, name) for name, b in zip(names, others, strict=True)]
    level = min(asked.level, *(b.asked.level for b in others))
    pairs = [pair for one in matched for pair in one.pairs]
    each = [(asked, b.asked) for one, b in zip(matched, others, strict=True) for _ in one.pairs]
    compared = compare_pairs(
        pairs,
        level=level,
        asked=each,
        names=[name for name, one in zip(names, matched, strict=True) for _ in one.pairs],
        same_within_percent=same_within_percent,
    )
    figures = iter(compared)
    found = []
    for one in matched:
        rows = [next(figures) for _ in one.pairs]
        if shift.campaigns:
            rows = [_beyond(row, shift) for row in rows]
        cells = pd.DataFrame.from_records(one.cells, columns=list(one.keys))
        found.append(
            Compared(
                frame=_sorted(cells.join(pd.DataFrame(rows, columns=list(FIGURES)))),
                keys=one.keys,
                only=one.only,
                apart=one.apart,
                overall=_overall(one.pairs, level),
                level=level,
                cell_level=bonferroni(level, len(pairs)),
                same_within_percent=same_within_percent,
                shared=one.shared,
                between=not by,
                shift=shift,
                family=len(pairs),
            )
        )
    return found


@dataclass(frozen=True, eq=False)
class _Matched:
    """Cells that both sides have, with the goodput of each side by round."""

    keys: tuple[str, ...]
    apart: pd.DataFrame
    cells: list[tuple]
    pairs: list[tuple[pd.Series, pd.Series]]
    only: pd.DataFrame
    shared: int


def _flags_of(runs: pd.DataFrame) -> str:
    flags = counted_flags(runs["flags"])
    return f"; flagged {flags}" if flags else ""


def _matched(a: pd.DataFrame, label: str, against: OtherRuns, by: str, name: str) -> _Matched:
    b, shared = against.runs, 0
    if against.one_store:  # comparing a record with itself has no information
        of_a, of_b = _records_of(a), _records_of(b)
        both = set(of_a) & set(of_b)
        shared = sum(record in both for record in of_a)
        a, b = (
            runs[[record not in both for record in records]] if both else runs
            for runs, records in ((a, of_a), (b, of_b))
        )
    keys, apart = keys_of(a, b, by)
    sides = [
        _measured(usable(runs), keys, side, against.one_store)
        for side, runs in (("A", a), (name, b))
    ]
    common = [key for key in sides[0] if key in sides[1]]
    if not common:
        named = [
            f"{one or letter} ({len(usable(runs))} of {len(runs)} runs valid{_flags_of(runs)})"
            for one, letter, runs in ((label, "A", a), (against.label, name, b))
        ]
        why = f"; {shared} count on both and are left out" if shared else ""
        why = why or _without_common_level(sides[0], sides[1], keys)
        text = f"{' and '.join(named)} have no cell with valid runs in common{why}"
        raise NetlabError(text, code="E-ANALYSIS-022")
    pairs = [(sides[0][key], sides[1][key]) for key in common]
    return _Matched(keys, apart, common, pairs, _only(a, b, keys, sides, name), shared)


def _without_common_level(
    a: dict[tuple, pd.Series], b: dict[tuple, pd.Series], keys: tuple[str, ...]
) -> str:
    """Factors of which two sides that were measured share no level, with these levels."""
    if not (a and b):
        return ""
    levels = [tuple(map(set, zip(*side, strict=True))) for side in (a, b)]
    words = [
        f"{key} {_listed(of_a, 3)} against {_listed(of_b, 3)}"
        for key, of_a, of_b in zip(keys, *levels, strict=True)
        if key != "factors" and not of_a & of_b
    ]
    return f": {'; '.join(words) or 'they share single levels, and no combination of them'}"


def _records_of(runs: pd.DataFrame) -> list[tuple]:
    """Names of the records of runs, each of one run in one store."""
    names = ("run_id", "campaign", "started_at")
    return list(zip(*(plain_values(runs[name]) for name in names), strict=True))


def _beyond(row: dict, shift: Shift) -> dict:
    """The row, without a rank where a shift between campaigns explains its difference."""
    if row["verdict"] not in (FASTER, SLOWER) or not shift.explains(row["ratio"]):
        return row
    reason = f"a shift between campaigns of up to ±{shift.percent:.1f} % explains it"
    return row | {"verdict": CANNOT_TELL, "ranked": False, "reason": reason}


def compare_pairs(
    pairs: Sequence[tuple[pd.Series, pd.Series]],
    *,
    level: float = 0.95,
    asked: Sequence[tuple[Asked, Asked]] = (),
    names: Sequence[str] = (),
    same_within_percent: float = SAME_WITHIN_PERCENT,
) -> list[dict]:
    """Compare pairs of series as one family: their statements hold at once.

    ``asked`` has what is asked of each pair; without it the pairs need no precision. ``names`` has
    the name of the second side of each pair, B by default.
    """
    cell_level, rows = bonferroni(level, len(pairs) or 1), []
    p_values = holm([p_of_ratio(*pair) for pair in pairs])
    every = asked or [(Asked(), Asked())] * len(pairs)
    named = names or ["B"] * len(pairs)
    for pair, p_holm, sides, name in zip(pairs, p_values, every, named, strict=True):
        both, paired = _compared(*pair, cell_level)
        goodputs, (n_a, n_b) = [values.to_numpy() for values in pair], map(len, pair)
        halves = [half_width_percent(g, one.level) for g, one in zip(goodputs, sides, strict=True)]
        means = [math.exp(float(np.log(values).mean())) for values in goodputs]
        few = f"{n_a} and {n_b} valid runs, {LEAST_ROUNDS} of each are needed"
        few = "" if min(n_a, n_b) >= LEAST_ROUNDS else few
        ends = (math.nan, math.nan) if few else (both.low, both.high)
        reason = few or _imprecise(halves, sides, ("A", name))
        word = decide(both, p_holm, 1 - level, same_within_percent)
        word = NO_INTERVAL if few else CANNOT_TELL if reason else word
        why = reason or ("the interval is too wide" if word == CANNOT_TELL else "")
        row = (both.ratio, *ends, p_holm, word, not reason, why, paired, n_a, n_b, *means, *halves)
        rows.append(dict(zip(FIGURES, row, strict=True)))
    return rows


def bonferroni(level: float, count: int) -> float:
    """Level of each of several intervals that hold at once at ``level``."""
    return 1 - (1 - level) / count


def decide(found: Ratio, p_holm: float, alpha: float, same_within_percent: float) -> str:
    """Verdict on an interval, or on Holm's test where the interval decides nothing."""
    word = found.verdict(same_within_percent)
    if word != CANNOT_TELL or not p_holm < alpha or found.ratio == 1:
        return word
    return FASTER if found.ratio > 1 else SLOWER


def holm(p: Sequence[float]) -> list[float]:
    """Adjust p-values by Holm's step-down method (1979); tests may have anything in common."""
    values = np.where(np.isnan(np.asarray(p, dtype=float)), np.inf, np.asarray(p, dtype=float))
    order = np.argsort(values, kind="stable")
    steps = np.maximum.accumulate(values[order] * np.arange(len(values), 0, -1))
    adjusted = np.empty(len(values))
    adjusted[order] = np.where(np.isinf(steps), np.nan, np.minimum(steps, 1.0))
    return adjusted.tolist()


def _measured(
    runs: pd.DataFrame, keys: tuple[str, ...], side: str, one_store: bool
) -> dict[tuple, pd.Series]:
    """Goodput of every cell by round; each campaign and store has rounds of its own."""
    goodputs = runs["goodput_MBps"].to_numpy(dtype=float)
    groups = runs["group"].to_numpy()
    campaigns = plain_values(runs["campaign"]) if one_store else [None] * len(runs)
    rounds = [
        f"{side if campaign is None else campaign}@{number}"
        for campaign, number in zip(campaigns, runs["round"], strict=True)
    ]
    measured = {}
    for key, rows in cells_of(runs, keys).items():
        several = set(groups[rows])
        if len(several) > 1:
            raise NetlabError(
                f"the groups {', '.join(sorted(map(repr, several)))} of {side} have the same "
                "factors and would make one cell; compare two groups by name, --by group=X,Y",
                code="E-ANALYSIS-023",
            )
        measured[key] = pd.Series(goodputs[rows], index=[rounds[row] for row in rows])
    return measured


def _compared(before: pd.Series, after: pd.Series, level: float) -> tuple[Ratio, bool]:
    """Ratio of two cells, and whether it is within rounds."""
    if len(set(before.index) & set(after.index)) >= LEAST_ROUNDS:
        return paired_ratio(before, after, level), True
    return ratio(before.to_numpy(), after.to_numpy(), level), False


def _imprecise(halves: Sequence[float], asked: Sequence[Asked], names: Sequence[str]) -> str:
    """Reason why a cell is not ranked: a side is less precise than its study asked."""
    wide = [
        f"{name} is within ±{half:.1f} %, its study asks for {one.half_width_percent:g} %"
        for name, half, one in zip(names, halves, asked, strict=True)
        if one.half_width_percent is not None and not half <= one.half_width_percent
    ]
    return "; ".join(wide)


def _sorted(frame: pd.DataFrame) -> pd.DataFrame:
    def rank(column: pd.Series) -> pd.Series:
        if column.name == "verdict":
            return column.map(VERDICTS.index)
        return -np.log(column.astype(float)).abs()

    return frame.sort_values(["verdict", "ratio"], key=rank, ignore_index=True)


def _only(
    a: pd.DataFrame, b: pd.DataFrame, keys: tuple[str, ...], sides: list[dict], b_name: str
) -> pd.DataFrame:
    """Cells with a valid run on one side alone."""
    rows = []
    for name, other, (own, others) in (("A", b, sides), (b_name, a, sides[::-1])):
        every = cells_of(other, keys)
        for key in own:
            if key not in others:
                flags = other["flags"].iloc[every.get(key, [])]
                words = f"{len(flags)} runs, none valid: "
                words += ", ".join(flags_in(flags)) or "no goodput"
                rows.append((*key, name, words if len(flags) else "not measured"))
    return pd.DataFrame.from_records(rows, columns=[*keys, "side", "reason"])


def _by_round(cells: Sequence[pd.Series]) -> pd.Series:
    """Geometric mean of the cells in each round that all of them have; of a cell its runs first."""
    labels = np.concatenate([cell.index.to_numpy(dtype=object) for cell in cells])
    rounds, at = np.unique(labels.astype(str), return_inverse=True)
    shape = (len(cells), len(rounds))
    places = np.repeat(np.arange(len(cells)), [len(cell) for cell in cells]) * len(rounds) + at
    logs = np.log(np.concatenate([cell.to_numpy(dtype=float) for cell in cells]))
    runs = np.bincount(places, minlength=math.prod(shape)).reshape(shape)
    sums = np.bincount(places, logs, math.prod(shape)).reshape(shape)
    common = (runs > 0).all(axis=0)
    means = (sums[:, common] / runs[:, common]).mean(axis=0)
    return pd.Series(np.exp(means), index=rounds[common].astype(object), dtype=float)


def _overall(pairs: list[tuple[pd.Series, pd.Series]], level: float) -> Ratio:
    """Geometric mean of all ratios, by round first: a round's effect counts once, not by cell."""
    means, rounds = [], []
    for side in zip(*pairs, strict=True):
        means.append(float(np.mean([np.log(cell.to_numpy()).mean() for cell in side])))
        rounds.append(_by_round(side))
    whole = math.exp(means[1] - means[0])
    if min(map(len, rounds)) < LEAST_ROUNDS:
        return Ratio(whole, math.nan, math.nan)
    overall, _ = _compared(rounds[0], rounds[1], level)
    # rounds that only some cells have move the centre, not the spread between rounds
    shift = whole / overall.ratio
    return Ratio(whole, overall.low * shift, overall.high * shift)
