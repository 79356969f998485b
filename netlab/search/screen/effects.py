"""Effects of knobs: ratios of goodput within rounds, corrected for the number of knobs.

A round measures each row once, and its own level cancels, since an effect is a difference between
rows. In a balanced two-level design half of the rows have a knob and half have not; the standard
error of every such difference is the same, whatever the spread of each row, and comes from what
rounds and rows leave unexplained. Without balance (``leave-one-out``) a difference between two
rows has its own spread over the rounds. Verdicts are those of :mod:`netlab.analysis.compare`;
knobs and pairs are one family.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import combinations

import numpy as np
import pandas as pd

from netlab.analysis import cells, t_distribution
from netlab.analysis.compare import CANNOT_TELL, FASTER, SAME, SLOWER, bonferroni, decide, holm
from netlab.analysis.effects import NO_INTERVAL, Ratio, p_of_ratio, p_value, paired_ratio
from netlab.analysis.intervals import LEAST_ROUNDS
from netlab.errors import NetlabError
from netlab.search.screen.design import LEAVE_ONE_OUT, Design

EFFECT_COLUMNS = ("knob", "with_knob", "ratio", "low", "high", "p_holm", "verdict")

MOST_PAIRED = 5
"""Most knobs whose pairs are estimated in a folded design."""


def row_means(
    logs: np.ndarray, rows: np.ndarray, rounds: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray, int]:
    """Rows, the mean logarithm of each in an average round, their covariance, and its freedom."""
    present, row = np.unique(rows, return_inverse=True)
    _, round_ = np.unique(rounds, return_inverse=True)
    n_rows, n_rounds = len(present), round_.max(initial=-1) + 1
    # Rounds as deviations from their mean: row means are then those of an average round.
    of_round = np.eye(n_rounds)[round_] - 1 / max(n_rounds, 1)
    model = np.column_stack([np.eye(n_rows)[row], of_round[:, : max(n_rounds - 1, 0)]])
    inverse = np.linalg.pinv(model.T @ model)
    fitted = inverse @ (model.T @ logs)
    freedom = len(logs) - int(np.linalg.matrix_rank(model))
    rest = logs - model @ fitted
    variance = float(rest @ rest) / freedom if freedom > 0 else math.nan
    return present, fitted[:n_rows], variance * inverse[:n_rows, :n_rows], freedom


def estimates(found: tuple, terms: np.ndarray, confidence: float) -> np.ndarray:
    """Estimate the coefficients of a model of the rows, all but the mean."""
    rows, means, covariance, freedom = found
    model = np.column_stack([np.ones(len(rows)), terms[rows]])
    if np.linalg.matrix_rank(model) < model.shape[1]:
        raise NetlabError(
            f"{len(terms) - len(rows)} of {len(terms)} rows have no valid run, and the rest "
            "does not determine every effect; measure again, or take another design",
            code="E-SCREEN-003",
        )
    weights = 2 * np.linalg.pinv(model)[1:]
    centres = weights @ means
    errors = np.sqrt(np.einsum("ij,jk,ik->i", weights, covariance, weights))
    # NaN without a degree of freedom, and so are the intervals
    half = float(t_distribution.t_quantile(freedom, 0.5 + confidence / 2)) * errors
    p = [p_value(*one, freedom) for one in zip(centres, errors, strict=True)]
    return np.column_stack([centres, centres - half, centres + half, p])


def knob_effects(
    runs: pd.DataFrame,
    design: Design,
    *,
    confidence: float = 0.95,
    same_within_percent: float = 5.0,
) -> pd.DataFrame:
    """Effect of every knob, and of every pair that can be estimated."""
    names = list(design.rows)
    good = cells.usable(runs[runs["tuning"].isin(names)])
    if design.kind == LEAVE_ONE_OUT:
        of_rows = _left_out(good, design, bonferroni(confidence, len(design.knobs)))
        terms = [(knob, "") for knob in design.knobs]
        return _frame(terms, of_rows, confidence, same_within_percent)
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
    found: tuple,
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
    singles, skipped = len(design.knobs), len(design.knobs) if alone else 0
    names = [*((knob, "") for knob in design.knobs), *pairs][skipped:]
    estimated = estimates(found, terms, bonferroni(confidence, len(names)))
    # Half of a knob's effect with the other to half of that without: twice the contrast.
    estimated[singles:, :3] *= 2
    return _frame(names, estimated[skipped:], confidence, same_within_percent)


def _left_out(runs: pd.DataFrame, design: Design, level: float) -> np.ndarray:
    """All knobs against all but one, by the ratios within rounds."""
    cells = {name: part.set_index("round")["goodput_MBps"] for name, part in runs.groupby("tuning")}
    rows, effects = {frozenset(chosen): name for name, chosen in design.rows.items()}, []
    for knob in design.knobs:
        before, after = (
            cells.get(rows[frozenset(design.knobs) - gone]) for gone in ({knob}, set())
        )
        if before is None or after is None:
            text = f"{knob}: the row with all knobs or the row without it has no valid run"
            raise NetlabError(text, code="E-SCREEN-004")
        ratio: Ratio = paired_ratio(before, after, level)
        few = min(len(before), len(after)) < LEAST_ROUNDS
        ends = (math.nan, math.nan) if few else (math.log(ratio.low), math.log(ratio.high))
        effects.append((math.log(ratio.ratio), *ends, p_of_ratio(before, after)))
    return np.array(effects)


def _frame(
    names: Sequence[tuple[str, str]], made: np.ndarray, confidence: float, within_percent: float
) -> pd.DataFrame:
    """Effects from differences of logarithms: centre, low and high end, two-sided p-value."""
    rows, adjusted = [], holm(made[:, 3].tolist())
    for name, ratio, p in zip(names, np.exp(made[:, :3]).tolist(), adjusted, strict=True):
        word = decide(Ratio(*ratio), p, 1 - confidence, within_percent)
        rows.append((*name, *ratio, p, word))
    return pd.DataFrame.from_records(rows, columns=list(EFFECT_COLUMNS))


def _matters(frame: pd.DataFrame) -> pd.Series:
    return ~frame["verdict"].isin((SAME, CANNOT_TELL, NO_INTERVAL))


def least_set(frame: pd.DataFrame) -> tuple[str, ...]:
    """The fewest knobs with the highest goodput that the effects found predict.

    Only effects that were found count, pairs among them: a knob is taken if it is *faster* by
    itself, or with another one that is taken.
    """
    kept = frame[_matters(frame)]
    if not (kept["with_knob"] != "").any():
        return tuple(kept.loc[kept["verdict"] == FASTER, "knob"])
    order, knobs = frame.loc[frame["with_knob"] == "", "knob"], {*kept["knob"], *kept["with_knob"]}
    involved = [knob for knob in order if knob in knobs]

    def predicted(chosen: tuple[str, ...]) -> float:
        sign = {knob: 1 if knob in chosen else -1 for knob in involved}
        return sum(
            sign[row.knob]
            * math.log(row.ratio)
            * (sign[row.with_knob] / 4 if row.with_knob else 0.5)
            for row in kept.itertuples()
        )

    sets = [some for n in range(len(involved) + 1) for some in combinations(involved, n)]
    scores = [predicted(some) for some in sets]
    return next(
        some for some, score in zip(sets, scores, strict=True) if score >= max(scores) - 1e-9
    )


def growing_sets(frame: pd.DataFrame) -> Iterator[tuple[str, ...]]:
    """The least set, then larger ones: each adds the knob with the largest effect of the others.

    Knobs that are *slower* are never added, nor those estimated to cost goodput.
    """
    single, chosen = frame[frame["with_knob"] == ""], {*least_set(frame)}
    rest = single[(single["ratio"] > 1) & (single["verdict"] != SLOWER)]
    rest = rest[~rest["knob"].isin(chosen)].sort_values("ratio", ascending=False, kind="stable")
    for added in (set(), *({knob} for knob in rest["knob"])):
        chosen |= added
        yield tuple(knob for knob in single["knob"] if knob in chosen)
