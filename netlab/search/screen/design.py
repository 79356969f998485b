"""A screening request, the designs of a screen, and the effects of its knobs."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, product
from pathlib import Path

import numpy as np
import pandas as pd

from netlab.analysis import cells
from netlab.analysis.compare import CANNOT_TELL, FASTER, SAME, SLOWER, bonferroni, decide, holm
from netlab.analysis.effects import (
    COMMON_ROUNDS,
    NO_INTERVAL,
    Ratio,
    p_of_ratio,
    p_value,
    paired_ratio,
)
from netlab.errors import BadInput, NetlabError, check, require
from netlab.files import paths
from netlab.files.yaml_file import validated
from netlab.search.screen.record import FOLDER, FULL_TUNING, LEAST_TUNING, NO_ROW
from netlab.study import Group, Study
from netlab.study.base import MAX_NAME
from netlab.study.model import resolved
from netlab.study.schedule import slug
from netlab.study.tuning_checks import fixed_buffer_text, is_moot, moot_knobs
from netlab.tuning.knobs import Choice, Knob
from netlab.tuning.profiles import Profile

# Designs of a screen: the knobs that are set in each row; the others are left as found.
#
# `docs/screen.md` compares them. ``folded`` is a Plackett-Burman design and its mirror image (R. L.
# Plackett, J. P. Burman, "The design of optimum multifactorial experiments", Biometrika 33, 1946;
# fold-over: G. E. P. Box, K. B. Wilson, 1951), at most 2k + 6 rows for up to 24 knobs.

AUTO, FULL, FOLDED, LEAVE_ONE_OUT = "auto", "full", "folded", "leave-one-out"
DESIGNS = (AUTO, FULL, FOLDED, LEAVE_ONE_OUT)

FULL_KNOBS = 4
"""Most knobs for which ``auto`` takes the full factorial: 16 rows."""

MOST_FULL = 8
MOST_KNOBS = 40
ORDERS = (4, 8, 12, 16, 20, 24, 32, 40)
"""Sizes of the Plackett-Burman designs, up to :data:`MOST_KNOBS`."""
CYCLES = {12: ("-+-+++---+-", 1), 20: ("--++----+-+-++++--+", -1)}
"""Row that makes a design of this size, and the places by which each next row is rotated.

Plackett and Burman's; other sizes are a power of two or twice one of these.
"""

ALL_ROW = "all-knobs"


@dataclass(frozen=True, eq=False)
class Design:
    kind: str
    knobs: tuple[str, ...]
    levels: np.ndarray

    @property
    def rows(self) -> dict[str, tuple[str, ...]]:
        """Name of each row -> knobs that it sets."""
        by_row = {}
        for number, row in enumerate(self.levels, 1):
            chosen = tuple(knob for knob, level in zip(self.knobs, row, strict=True) if level > 0)
            name = {len(self.knobs): ALL_ROW, 0: NO_ROW}.get(len(chosen), f"row-{number:02d}")
            by_row[name] = chosen
        return by_row

    @property
    def pairs(self) -> tuple[tuple[str, str], ...]:
        """Pairs whose effect the design estimates beside those of all knobs."""
        return tuple(combinations(self.knobs, 2)) if self.kind == FULL else ()


def design(knobs: Iterable[str], kind: str = AUTO) -> Design:
    names = tuple(knobs)
    require(kind, DESIGNS, key="design", code="E-SCREEN-001")
    if kind == AUTO:
        kind = FULL if len(names) <= FULL_KNOBS else FOLDED
    most = MOST_FULL if kind == FULL else MOST_KNOBS
    fine = 1 <= len(names) <= most and len(set(names)) == len(names)
    text = f"a {kind} design takes 1 to {most} knobs, each once; there are {len(names)}"
    check(fine, "knobs", ", ".join(names), text, "E-SCREEN-002")
    make = {FULL: _full, FOLDED: _folded, LEAVE_ONE_OUT: _leave_one_out}[kind]
    return Design(kind, names, make(len(names)).astype(int))


def _full(knobs: int) -> np.ndarray:
    return np.array([*product((-1, 1), repeat=knobs)])


def _hadamard(order: int) -> np.ndarray:
    """A matrix of signs with orthogonal columns, the first of them ones."""
    if order == 1:
        return np.ones((1, 1))
    if order not in CYCLES:
        return np.kron([[1, 1], [1, -1]], _hadamard(order // 2))
    signs, step = CYCLES[order]
    row = np.array([1 if sign == "+" else -1 for sign in signs])
    cycle = np.array([np.roll(row, step * number) for number in range(order - 1)])
    return np.vstack([np.ones(order), np.insert(cycle, 0, 1, axis=1)])


def _folded(knobs: int) -> np.ndarray:
    """A Plackett-Burman design with a column of ones, and all of it with signs changed.

    The ones and their mirror image are a column of their own, so that n runs serve n knobs.
    """
    if knobs <= 2:  # rows would repeat
        return _full(knobs)
    order = next(size for size in ORDERS if size >= knobs)
    whole = _hadamard(order)[::-1, :knobs]
    return np.vstack([whole, -whole])


def _leave_one_out(knobs: int) -> np.ndarray:
    ones = np.ones((1, knobs))
    rows = [ones, -ones, *([1 - 2 * np.eye(knobs)] if knobs > 1 else [])]
    return np.vstack(rows)


# Effects of knobs: ratios of goodput within rounds, corrected for the number of knobs.
#
# A round measures each row once, and its own level cancels, since an effect is a difference between
# rows. In a balanced two-level design half of the rows have a knob and half have not; the standard
# error of every such difference is the same, whatever the spread of each row, and comes from what
# rounds and rows leave unexplained. Without balance (``leave-one-out``) a difference between two
# rows has its own spread over the rounds. Verdicts are those of :mod:`netlab.analysis.compare`;
# knobs and pairs are one family.

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
    half = float(cells.t_quantile(freedom, 0.5 + confidence / 2)) * errors
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
        few = min(len(before), len(after)) < COMMON_ROUNDS
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


# A screening request: a group of a study, a tuning, and how long to measure.

CONFIRM_ROUNDS = 10


@dataclass(frozen=True)
class ScreenRequest:
    study: Study
    tuning: str
    group_name: str | None = None
    streams: int | None = None
    mtu_B: int | None = None
    design: str = DESIGNS[0]
    same_within_percent: float = 5.0
    confirm_rounds: int = CONFIRM_ROUNDS

    def __post_init__(self) -> None:
        require(self.design, DESIGNS, key="design", code="E-SCREEN-005")
        percent, text = self.same_within_percent, "must lie between 0 and 100"
        check(0 < percent < 100, "same_within", percent, text, "E-SCREEN-006")
        rounds = self.confirm_rounds
        check(3 <= rounds <= 1000, "confirm_rounds", rounds, "is from 3 to 1000", "E-SCREEN-007")
        study, group = self.study, self.group
        crossed = [*group.factors.over(study.factors).given(), *study.outer]
        text = (
            f"{group.name} crosses {', '.join(crossed)}, and a screen crosses knobs only; "
            "take a copy of the study without `factors` and `outer`"
        )
        check(not crossed, "group", group.name, text, "E-SCREEN-009")
        text = "this tuning sets nothing, so there is nothing to screen"
        check(self.profile.items, "tuning", self.tuning, text, "E-SCREEN-008")
        if is_moot(study, group, self.profile):
            text = fixed_buffer_text(study, group, moot_knobs(study, group, self.profile))
            raise BadInput(text, key="tuning", value=self.tuning, code="E-SCREEN-012")

    @property
    def group(self) -> Group:
        groups = {group.name: group for group in self.study.groups}
        name = next(iter(groups)) if len(groups) == 1 else ""
        name = name if self.group_name is None else self.group_name
        text = f"choose one of the study's groups: {', '.join(groups)}"
        check(name in groups, "group", self.group_name, text, "E-SCREEN-010")
        return groups[name]

    @property
    def directory(self) -> Path:
        """Default directory of the screen, below the results of the study."""
        several = len(self.study.groups) > 1
        name = f"{self.tuning}-{slug(self.group.name)}" if several else self.tuning
        return paths.results_dir(self.study.name) / FOLDER / name

    @property
    def profile(self) -> Profile:
        """The tuning with all that it extends."""
        named = {level.name: level.profile for level in self.study.tunings}.get(self.tuning)
        return resolved(self.study, named or self.tuning)

    @property
    def items(self) -> dict[str, Knob | Choice]:
        """Name -> knob or choice of the tuning, in the order they are applied."""
        return {
            item.parameter if isinstance(item, Choice) else item.label: item
            for item in self.profile.items
        }

    @property
    def mtus_B(self) -> tuple[int] | None:
        """The MTU to set in all rows; None to leave it as found, or to a knob of the tuning."""
        if self.mtu_B is not None:
            return (self.mtu_B,)
        levels = [level for level in self.study.tunings if level.name == self.tuning]
        mtus = [mtu_B for level in levels for mtu_B in level.mtus]
        return None if "mtu" in self.items or not mtus or mtus[0] is None else (mtus[0],)

    def screen_study(self, design: Design) -> Study:
        """The study whose tunings are the rows of a design."""
        return self._study("screen", f"Screen of {self.tuning}", design.rows, {})

    def confirm_study(self, least: tuple[str, ...]) -> Study:
        """The study that compares the whole tuning, its least set, and no knob at all."""
        rows = {FULL_TUNING: tuple(self.items), LEAST_TUNING: least, NO_ROW: ()}
        timing = self.study.timing.model_dump() | {"rounds": self.confirm_rounds}
        title = f"Least set of {self.tuning} against all of it"
        return self._study("least", title, rows, {"timing": timing, "precision": None})

    def _study(
        self, suffix: str, title: str, rows: dict[str, tuple[str, ...]], keys: dict
    ) -> Study:
        study, group, items = self.study, self.group, self.items
        streams = self.streams or (group.streams or study.streams)[0]
        path = study.paths[group.path]
        hosts = {
            end.host: study.hosts[end.host].model_dump(mode="python") | {"profiles": {}}
            for end in path.ends
        }
        only = {"tunings": None, "mtus_B": None, "streams": None, "exclude": (), "table": None}
        levels = [
            {
                "name": name,
                "mtus_B": self.mtus_B,
                "knobs": [items[knob].model_dump(mode="python") for knob in chosen],
            }
            for name, chosen in rows.items()
        ]
        content = study.model_dump(mode="python") | {
            "name": f"{study.name[: MAX_NAME - len(suffix) - 1]}-{suffix}",
            "title": f"{title}: {study.title}"[:200],
            "hosts": hosts,
            "paths": {group.path: path.model_dump(mode="python")},
            "groups": [group.model_dump(mode="python") | only],
            "tunings": levels,
            "profiles": {},
            "exclude": (),
            "streams": (streams,),
            "published": None,
            "report": None,
            "quick": None,
        }
        return validated(Study, content | keys, study.name)
