"""Effects of knobs: ratios of goodput within rounds, corrected for the number of knobs.

Every figure is a logarithm of goodput. A round measures each row of the design once, and its own
level cancels, since an effect is a difference between rows. In a balanced two-level design half
of the rows have a knob and half have not; the standard error of every such difference is the same,
whatever the spread of each row, and comes from what rounds and rows leave unexplained. Without
balance (``leave-one-out``) a difference between two rows has its own spread over the rounds.

As in :mod:`netlab.analysis.compare`, intervals are simultaneous (Bonferroni), *faster* and *slower*
are read from Holm's test, and *the same* from the interval. Knobs and pairs are one family.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import pandas as pd

from netlab.analysis import student
from netlab.analysis.compare import CANNOT_TELL, FASTER, SAME, SLOWER, Difference, holm, verdict
from netlab.analysis.effects import COMMON_ROUNDS, Ratio, p_of_ratio, paired_ratio
from netlab.analysis.matching import usable
from netlab.errors import NetlabError
from netlab.screen.design import ALL_ROW, LEAVE_ONE_OUT, Design

EFFECT_COLUMNS = ("knob", "with_knob", "ratio", "low", "high", "p_holm", "verdict")

MOST_PAIRED = 5
"""Most knobs whose pairs are estimated in a folded design."""


@dataclass(frozen=True)
class Contrast:
    """A difference of logarithms with its test.

    ``low`` and ``high`` are at the level of one comparison; ``p`` is two-sided.
    """

    centre: float
    low: float
    high: float
    p: float


@dataclass(frozen=True, eq=False)
class RowMeans:
    """Mean logarithm of each row, with the level of the rounds removed."""

    rows: tuple[int, ...]
    means: np.ndarray
    covariance: np.ndarray
    freedom: int


def row_means(logs: np.ndarray, rows: np.ndarray, rounds: np.ndarray) -> RowMeans:
    """Fit row plus round to the logarithms of goodput."""
    there, row = np.unique(rows, return_inverse=True)
    _, round_ = np.unique(rounds, return_inverse=True)
    n_rows, n_rounds = len(there), round_.max(initial=-1) + 1
    # Rounds as deviations from their mean: row means are then those of an average round.
    of_round = np.eye(n_rounds)[round_] - 1 / max(n_rounds, 1)
    model = np.column_stack([np.eye(n_rows)[row], of_round[:, : max(n_rounds - 1, 0)]])
    inverse = np.linalg.pinv(model.T @ model)
    fitted = inverse @ (model.T @ logs)
    freedom = len(logs) - int(np.linalg.matrix_rank(model))
    rest = logs - model @ fitted
    variance = float(rest @ rest) / freedom if freedom > 0 else math.nan
    return RowMeans(
        tuple(int(one) for one in there),
        fitted[:n_rows],
        variance * inverse[:n_rows, :n_rows],
        freedom,
    )


def estimates(found: RowMeans, terms: np.ndarray, confidence: float) -> list[Contrast]:
    """Estimate the coefficients of a model of the rows, all but the mean."""
    model = np.column_stack([np.ones(len(found.rows)), terms[list(found.rows)]])
    if np.linalg.matrix_rank(model) < model.shape[1]:
        raise NetlabError(
            f"{len(terms) - len(found.rows)} of {len(terms)} rows have no valid run, and the rest "
            "does not determine every effect; measure again, or take another design",
            code="E-SCREEN-003",
        )
    weights = 2 * np.linalg.pinv(model)[1:]
    centres = weights @ found.means
    errors = np.sqrt(np.einsum("ij,jk,ik->i", weights, found.covariance, weights))
    return [
        _estimate(*pair, found.freedom, confidence) for pair in zip(centres, errors, strict=True)
    ]


def _estimate(centre: float, error: float, freedom: int, confidence: float) -> Contrast:
    if freedom < 1 or math.isnan(error):
        return Contrast(centre, math.nan, math.nan, math.nan)
    half = float(student.quantile(freedom, 0.5 + confidence / 2)) * error
    p = 2 * student.cumulative(freedom, -abs(centre) / error) if error else float(centre == 0)
    return Contrast(centre, centre - half, centre + half, p)


def knob_effects(
    runs: pd.DataFrame,
    design: Design,
    *,
    confidence: float = 0.95,
    same_within_percent: float = 5.0,
) -> pd.DataFrame:
    """Effect of every knob, and of every pair that can be estimated."""
    names = list(design.rows)
    good = usable(runs[runs["tuning"].isin(names)])
    if design.kind == LEAVE_ONE_OUT:
        terms: list[tuple[str, str]] = [(knob, "") for knob in design.knobs]
        level = 1 - (1 - confidence) / len(terms)
        made = _left_out(good, design, level)
        return _frame(terms, made, confidence, same_within_percent)
    found = row_means(
        np.log(good["goodput_MBps"].to_numpy(dtype=float)),
        np.array([names.index(name) for name in good["tuning"]], dtype=int),
        good["round"].to_numpy(dtype=int),
    )
    frame = effects_of(found, design, design.pairs, confidence, same_within_percent)
    active = tuple(frame.loc[_matters(frame), "knob"])
    if design.pairs or not 2 <= len(active) <= MOST_PAIRED:
        return frame
    # Pairs of a folded design are mixed with each other: those of knobs that matter come first.
    pairs = tuple(combinations(active, 2))
    try:
        both = effects_of(found, design, pairs, confidence, same_within_percent, alone=True)
    except NetlabError:
        return frame
    return pd.concat([frame, both], ignore_index=True)


def effects_of(
    found: RowMeans,
    design: Design,
    pairs: Sequence[tuple[str, str]],
    confidence: float,
    same_within_percent: float,
    *,
    alone: bool = False,
) -> pd.DataFrame:
    """Effects of all knobs and of some pairs from the means of a balanced design.

    With `alone`, the pairs are the family, and only they are returned.
    """
    at = {knob: column for column, knob in enumerate(design.knobs)}
    products = [design.levels[:, at[a]] * design.levels[:, at[b]] for a, b in pairs]
    terms = np.column_stack([design.levels, *products])
    names = [*((knob, "") for knob in design.knobs), *pairs]
    skipped = len(design.knobs) if alone else 0
    level = 1 - (1 - confidence) / len(names[skipped:])
    made = estimates(found, terms, level)
    # Half of a knob's effect with the other to half of that without: twice the contrast.
    made = [
        Contrast(2 * one.centre, 2 * one.low, 2 * one.high, one.p) if second else one
        for (_, second), one in zip(names, made, strict=True)
    ]
    return _frame(names[skipped:], made[skipped:], confidence, same_within_percent)


def _left_out(runs: pd.DataFrame, design: Design, level: float) -> list[Contrast]:
    """All knobs against all but one, by the ratios within rounds."""
    cells = {name: part.set_index("round")["goodput_MBps"] for name, part in runs.groupby("tuning")}
    lacking = {name: set(design.knobs) - set(chosen) for name, chosen in design.rows.items()}
    made = []
    for knob in design.knobs:
        without = next(name for name, gone in lacking.items() if gone == {knob})
        if ALL_ROW not in cells or without not in cells:
            raise NetlabError(
                f"{knob}: the row with all knobs or the row without it has no valid run",
                code="E-SCREEN-004",
            )
        before, after = cells[without], cells[ALL_ROW]
        ratio: Ratio = paired_ratio(before, after, level)
        few = min(len(before), len(after)) < COMMON_ROUNDS
        low, high = (math.nan, math.nan) if few else (math.log(ratio.low), math.log(ratio.high))
        made.append(Contrast(math.log(ratio.ratio), low, high, p_of_ratio(before, after)))
    return made


def _frame(
    names: Iterable[tuple[str, str]],
    made: Sequence[Contrast],
    confidence: float,
    same_within_percent: float,
) -> pd.DataFrame:
    rows = []
    adjusted = holm([one.p for one in made])
    for (knob, second), one, p in zip(names, made, adjusted, strict=True):
        ratio, low, high = (float(np.exp(v)) for v in (one.centre, one.low, one.high))
        word = verdict(low, high, same_within_percent)
        if word == CANNOT_TELL:
            word = Difference(p, 1 - confidence).verdict(Ratio(ratio, low, high))
        rows.append((knob, second, ratio, low, high, p, word))
    return pd.DataFrame.from_records(rows, columns=list(EFFECT_COLUMNS))


def _matters(frame: pd.DataFrame) -> pd.Series:
    """Mask of the effects found to differ from 1 by more than the bound allows."""
    return ~frame["verdict"].isin((SAME, CANNOT_TELL))


def least_set(frame: pd.DataFrame) -> tuple[str, ...]:
    """The fewest knobs with the highest goodput that the effects found predict.

    Only effects that were found count, pairs among them: a knob is taken if it is *faster* by
    itself, or with another one that is taken.
    """
    single = frame["with_knob"] == ""
    order = tuple(frame.loc[single, "knob"])
    kept = frame[_matters(frame)]
    involved = [knob for knob in order if knob in set(kept["knob"]) | set(kept["with_knob"])]
    terms = [
        (row["knob"], row["with_knob"], math.log(row["ratio"])) for row in kept.to_dict("records")
    ]
    if not (kept["with_knob"] != "").any():
        return tuple(kept.loc[kept["verdict"] == FASTER, "knob"])

    def predicted(chosen: tuple[str, ...]) -> float:
        sign = {knob: 1 if knob in chosen else -1 for knob in involved}
        return sum(
            sign[knob] * sign[second] * size / 4 if second else sign[knob] * size / 2
            for knob, second, size in terms
        )

    sets = [some for n in range(len(involved) + 1) for some in combinations(involved, n)]
    best = max(predicted(some) for some in sets)
    return next(some for some in sets if predicted(some) >= best - 1e-9)


def growing_sets(frame: pd.DataFrame) -> Iterator[tuple[str, ...]]:
    """The least set, then larger ones: each adds the knob with the largest effect of the others.

    Knobs that are *slower* are never added, nor those estimated to cost goodput.
    """
    single = frame[frame["with_knob"] == ""]
    chosen = set(least_set(frame))
    order = tuple(single["knob"])
    yield tuple(knob for knob in order if knob in chosen)
    rest = single[(single["ratio"] > 1) & (single["verdict"] != SLOWER)]
    for knob in rest.sort_values("ratio", ascending=False, kind="stable")["knob"]:
        if knob not in chosen:
            chosen.add(knob)
            yield tuple(one for one in order if one in chosen)
