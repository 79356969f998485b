"""A whole screen: probe the hosts, measure the design, choose the least set, confirm it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from netlab.analysis.compare import SLOWER, Asked, compare
from netlab.analysis.precision import nominal_level
from netlab.analysis.screened import (
    FULL_TUNING,
    LEAST_TUNING,
    NO_ROW,
    Against,
    Concluded,
    Confirmation,
)
from netlab.errors import BadInput
from netlab.experiment.campaign import run_study
from netlab.experiment.watcher import Watcher
from netlab.results import Store
from netlab.screen.design import Design, design
from netlab.screen.effects import growing_sets, knob_effects
from netlab.screen.probe import Probed, probe
from netlab.screen.request import ScreenRequest

EFFECTS, CONFIRM = "effects", "least-set"
"""Directories of the campaigns below that of the screen; a second confirmation is `least-set-2`."""

ERROR_SHARES = (0.5, 0.25, 0.25)
"""Share of the error rate of each confirmation, and so their greatest number."""


@dataclass(frozen=True, eq=False)
class Screened(Concluded):
    """A finished screen; :func:`netlab.screen.report.record_of` makes the record to show."""

    ask: ScreenRequest
    probed: Probed
    design: Design
    effects: pd.DataFrame
    tries: tuple[Confirmation, ...]
    refused: dict[str, int]
    runs: int
    valid_runs: int
    directory: Path
    started_at: str = ""


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
        started_at=runs["started_at"].min().isoformat(timespec="seconds"),
    )


@contextmanager
def _unwatched() -> Iterator[Watcher]:
    yield Watcher()


def confirmation(runs: pd.DataFrame, ask: ScreenRequest, confidence: float) -> tuple[Against, ...]:
    """The least set against the whole tuning and against no knob, both at once."""
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
