"""A whole screen: probe the hosts, measure the design, choose the least set, confirm it."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from pathlib import Path

import pandas as pd

from netlab.analysis.cell_precision import nominal_level
from netlab.analysis.compare import SLOWER, Asked, compare
from netlab.errors import NetlabError, check
from netlab.experiment.campaign import run_study
from netlab.experiment.watcher import Watcher
from netlab.results.campaign_files import latest, read_conditions
from netlab.results.conditions import apart, listed
from netlab.results.store import Store
from netlab.search.screen.design import design
from netlab.search.screen.effects import growing_sets, knob_effects
from netlab.search.screen.probe import Probed, probe
from netlab.search.screen.record import (
    EFFECTS,
    FULL_TUNING,
    LEAST_TUNING,
    NO_ROW,
    Against,
    Confirmation,
    ScreenRecord,
)
from netlab.search.screen.request import ScreenRequest
from netlab.search.screen.written import record_of

CONFIRM = "least-set"
"""Directory of a confirmation's campaign below that of the screen; a second is `least-set-2`."""

ERROR_SHARES = (0.5, 0.25, 0.25)
"""Share of the error rate of each confirmation, and so their greatest number."""


def screen(
    ask: ScreenRequest,
    directory: Path,
    *,
    read: Callable[[ScreenRequest], Probed] = probe,
    measure: Callable[..., object] = run_study,
    watch: Callable[[], AbstractContextManager[Watcher]] | None = None,
    say: Callable[[str], None] = lambda line: None,
) -> ScreenRecord:
    """Screen a tuning; runs that have a valid record in the directory are not repeated.

    A least set that is slower than the whole tuning lacks a knob whose effect was not found. The
    one with the largest estimate is then added, and the set is compared anew.
    """
    watch = watch or (lambda: nullcontext(Watcher()))
    stored = read(ask)
    for knob, why in stored.left_out.items():
        say(f"not a factor: {knob}: {why}")
    text = "no knob of it changes anything on these hosts; see the lines above"
    check(stored.factors, "tuning", ask.tuning, text, "E-SCREEN-011")
    plan = design(stored.factors, ask.design)
    study = ask.screen_study(plan)
    say(f"{plan.kind} design: {len(plan.knobs)} knobs in {len(plan.rows)} rows")
    with watch() as watcher:
        measure(study, directory=directory / EFFECTS, watcher=watcher)
    runs = Store(directory / EFFECTS).runs()
    within = ask.same_within_percent
    effects = knob_effects(runs, plan, confidence=nominal_level(study), same_within_percent=within)
    tries: list[Confirmation] = []
    for share, least in zip(ERROR_SHARES, growing_sets(effects), strict=False):
        say(f"least set: {', '.join(least) or 'no knob'}")
        if not least:
            break  # a comparison of no knob with no knob has no information
        confirm = ask.confirm_study(least)
        place = directory / (f"{CONFIRM}-{len(tries) + 1}" if tries else CONFIRM)
        with watch() as watcher:
            measure(confirm, directory=place, watcher=watcher)
        _check_alike(directory / EFFECTS, place)
        level = 1 - share * (1 - confirm.confidence)
        tries.append(Confirmation(least, confirmation(Store(place).runs(), ask, level)))
        if tries[-1].whole.verdict != SLOWER:
            break
    record = record_of(ask, stored, plan, effects, tuple(tries), runs)
    return replace(record, campaign=latest(directory / EFFECTS) or "")


def _check_alike(effects: Path, confirmed: Path) -> None:
    """Refuse a confirmation under other conditions than those of the effects."""
    before, now = (read_conditions(place, latest(place)) for place in (effects, confirmed))
    changed = apart(before, now) if before is not None and now is not None else ()
    if changed:
        text = "the hosts changed between the effects and their confirmation"
        reason = listed([one.change() for one in changed])
        raise NetlabError(f"{text}: {reason}; screen again", code="E-SCREEN-013")


def confirmation(runs: pd.DataFrame, ask: ScreenRequest, confidence: float) -> tuple[Against, ...]:
    """The least set against the whole tuning and against no knob, both at once."""
    others = (FULL_TUNING, NO_ROW)
    asked = Asked(1 - (1 - confidence) / len(others))
    tunings = []
    for other in others:
        result = compare(
            runs[runs["tuning"] == other],
            runs[runs["tuning"] == LEAST_TUNING],
            by="tuning",
            asked=(asked, asked),
            same_within_percent=ask.same_within_percent,
            one_store=True,
        )
        (row,) = result.frame.to_dict("records")
        figures = {name: row[name] for name in ("ratio", "low", "high", "verdict")}
        tunings.append(Against(other, **figures, rounds=min(row["n_a"], row["n_b"])))
    return tuple(tunings)
