"""A whole screen: probe the hosts, measure the design, choose the least set, confirm it."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd

from netlab.analysis.compare import CANNOT_TELL, FASTER, SAME, SLOWER, Asked, compare
from netlab.analysis.precision import nominal_level
from netlab.errors import BadInput
from netlab.experiment.campaign import run_study
from netlab.experiment.watcher import Watcher
from netlab.results import Store
from netlab.screen.design import NO_ROW, Design, design
from netlab.screen.effects import growing_sets, knob_effects
from netlab.screen.probe import Probed, probe
from netlab.screen.request import FULL_TUNING, LEAST_TUNING, ScreenRequest

if TYPE_CHECKING:
    from netlab.charts.compare import Axes

EFFECTS, CONFIRM = "effects", "least-set"
"""Directories of the campaigns below that of the screen; a second confirmation is `least-set-2`."""

ERROR_SHARES = (0.5, 0.25, 0.25)
"""Share of the error rate of each confirmation, and so their greatest number."""

CONFIRMED = "confirmed"
BETTER = "better than the whole tuning"
NOT_CONFIRMED = "slower than the whole tuning"
UNCLEAR = "cannot tell"

VERDICTS = {SAME: CONFIRMED, FASTER: BETTER, SLOWER: NOT_CONFIRMED, CANNOT_TELL: UNCLEAR}
CONCLUSIVE = (CONFIRMED, BETTER)


@dataclass(frozen=True)
class Against:
    """The least set against another tuning of the confirmation.

    Attributes
    ----------
    other : str
        :data:`FULL_TUNING` or :data:`netlab.screen.design.NO_ROW`.
    ratio, low, high : float
        Goodput of the least set to that of the other.
    verdict : str
    rounds : int
    """

    other: str
    ratio: float
    low: float
    high: float
    verdict: str
    rounds: int


@dataclass(frozen=True)
class Confirmation:
    """A set of knobs against the whole tuning and against no knob, in rounds of its own.

    Attributes
    ----------
    knobs : tuple of str
    against : tuple of Against
    """

    knobs: tuple[str, ...]
    against: tuple[Against, ...]

    @property
    def whole(self) -> Against:
        """The set against the whole tuning."""
        return next(one for one in self.against if one.other == FULL_TUNING)


@dataclass(frozen=True, eq=False, repr=False)
class Screened:
    """A finished screen; shows itself as tables in a notebook.

    Attributes
    ----------
    ask : ScreenRequest
    probed : Probed
    design : Design
    effects : DataFrame
        See :func:`netlab.screen.effects.knob_effects`.
    tries : tuple of Confirmation
        The sets that were confirmed or refuted, smallest first; the last one is the result.
    refused : dict of str to int
        Knob -> rows in which a host did not take it, although it was to be set.
    runs, valid_runs : int
        Of the design, and those that count.
    directory : Path
    """

    ask: ScreenRequest
    probed: Probed
    design: Design
    effects: pd.DataFrame
    tries: tuple[Confirmation, ...]
    refused: dict[str, int]
    runs: int
    valid_runs: int
    directory: Path

    @property
    def least(self) -> tuple[str, ...]:
        """The least set; empty if no knob helps."""
        return self.tries[-1].knobs

    @property
    def verdict(self) -> str:
        """Result of the last confirmation in words."""
        return VERDICTS[self.tries[-1].whole.verdict]

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw a forest plot of the effects, on new axes by default."""
        from netlab.screen.report import chart

        return chart(self, ax)

    def _repr_html_(self) -> str:
        from netlab.screen.report import tables

        return tables(self)._repr_html_()

    def __repr__(self) -> str:
        from netlab.screen.report import to_text

        return to_text(self)

    @property
    def concluded(self) -> bool:
        """True if the least set is confirmed to give the whole gain."""
        return self.verdict in CONCLUSIVE


def screen(
    ask: ScreenRequest,
    directory: Path,
    *,
    read: Callable[[ScreenRequest], Probed] = probe,
    measure: Callable[..., object] = run_study,
    watch: Callable[[], AbstractContextManager[Watcher]] | None = None,
    say: Callable[[str], None] = lambda line: None,
) -> Screened:
    """Screen a tuning; runs that have a valid record in the directory are not repeated.

    A least set that is slower than the whole tuning lacks a knob whose effect was not found. The
    one with the largest estimate is then added, and the set is compared anew.

    Parameters
    ----------
    ask : ScreenRequest
    directory : Path
        Of the campaigns, :data:`EFFECTS` and :data:`CONFIRM`.
    read : callable
        Reads the knobs of the hosts.
    measure : callable
        Measures a study, as :func:`netlab.experiment.campaign.run_study`.
    watch : callable, optional
        Makes a context manager that yields the :class:`Watcher` of a campaign.
    say : callable
        Takes one line of the log.

    Raises
    ------
    BadInput
        No knob of the tuning changes anything on these hosts.
    NetlabError
        A visit failed, or rows without a valid run leave an effect undetermined. Earlier results
        are kept, and a second call resumes.
    """
    watch = watch or _unwatched
    found = read(ask)
    for knob, why in found.left_out.items():
        say(f"not a factor: {knob}: {why}")
    if not found.factors:
        raise BadInput(
            "no knob of it changes anything on these hosts; see the lines above",
            key="tuning",
            value=ask.tuning,
            code="E-SCREEN-011",
        )
    plan = design(found.factors, ask.design)
    study = ask.screen_study(plan)
    say(f"{plan.kind} design: {len(plan.knobs)} knobs in {len(plan.rows)} rows")
    with watch() as watcher:
        measure(study, directory=directory / EFFECTS, watcher=watcher)
    runs = Store(directory / EFFECTS).runs()
    effects = knob_effects(
        runs,
        plan,
        confidence=nominal_level(study),
        same_within_percent=ask.same_within_percent,
    )
    tries: list[Confirmation] = []
    for share, least in zip(ERROR_SHARES, growing_sets(effects), strict=False):
        say(f"least set: {', '.join(least) or 'no knob'}")
        confirm = ask.confirm_study(least)
        place = directory / (f"{CONFIRM}-{len(tries) + 1}" if tries else CONFIRM)
        with watch() as watcher:
            measure(confirm, directory=place, watcher=watcher)
        level = 1 - share * (1 - confirm.confidence)
        tries.append(Confirmation(least, confirmation(Store(place).runs(), ask, level)))
        if tries[-1].whole.verdict != SLOWER:
            break
    return Screened(
        ask=ask,
        probed=found,
        design=plan,
        effects=effects,
        tries=tuple(tries),
        refused=refused_rows(runs, plan),
        runs=len(runs),
        valid_runs=int((runs["flags"].fillna("") == "").sum()),
        directory=directory,
    )


@contextmanager
def _unwatched() -> Iterator[Watcher]:
    yield Watcher()


def confirmation(runs: pd.DataFrame, ask: ScreenRequest, confidence: float) -> tuple[Against, ...]:
    """The least set against the whole tuning and against no knob, both at once.

    Raises
    ------
    NetlabError
        A side has no valid run.
    """
    others = (FULL_TUNING, NO_ROW)
    asked = Asked(1 - (1 - confidence) / len(others))
    made = []
    for other in others:
        found = compare(
            runs[runs["tuning"] == other],
            runs[runs["tuning"] == LEAST_TUNING],
            by="tuning",
            asked=(asked, asked),
            same_within_percent=ask.same_within_percent,
            one_store=True,
        )
        (row,) = found.frame.to_dict("records")
        figures = {name: row[name] for name in ("ratio", "low", "high", "verdict")}
        made.append(Against(other, **figures, rounds=min(row["n_a"], row["n_b"])))
    return tuple(made)


def refused_rows(runs: pd.DataFrame, plan: Design) -> dict[str, int]:
    """Knob -> rows that set it and in which a host recorded it as unsupported."""
    found: dict[str, set[str]] = {}
    for row, text in zip(runs["tuning"], runs["unsupported"], strict=True):
        for line in json.loads(text) if text else ():
            if line["knob"] in plan.rows.get(row, ()):
                found.setdefault(line["knob"], set()).add(row)
    return {knob: len(rows) for knob, rows in found.items()}


def smallest_effect_percent(effects: pd.DataFrame) -> float:
    """Half the widest interval of a knob, in per cent: smaller effects may have been missed."""
    single = effects[effects["with_knob"] == ""]
    widths = (single["high"] / single["low"]).astype(float) ** 0.5 - 1
    return math.nan if widths.isna().any() else 100 * float(widths.max())
