"""A whole screen: probe the hosts, measure the design, choose the least set, confirm it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path

import pandas as pd

from netlab.analysis.cells import nominal_level
from netlab.analysis.compare import SLOWER, Asked, compare
from netlab.charts.chart import show
from netlab.errors import NetlabError, check
from netlab.experiment.campaign import run_study
from netlab.experiment.endpoint import open_endpoints, study_lab
from netlab.experiment.progress import Watcher
from netlab.files.writing import parse_json, write_text
from netlab.report.compare import interval, percent
from netlab.results.conditions import apart, listed
from netlab.results.store import Store, latest, read_conditions
from netlab.search.screen.design import Design, ScreenRequest, design, growing_sets, knob_effects
from netlab.search.screen.page import chart, least_yaml
from netlab.search.screen.record import (
    DOCUMENT,
    EFFECTS,
    FULL_TUNING,
    LEAST_TUNING,
    NO_ROW,
    VERDICTS,
    Against,
    Confirmation,
    ScreenRecord,
    reasons_of,
    write_screen,
)
from netlab.tuning.knobs import Choice, Knob
from netlab.tuning.plan import Change
from netlab.tuning.profiles import Tuning, read_tuning

# Probe of a tuning: find its knobs that change anything on two hosts; nothing is changed there.

CLIPPED = ("net.core.wmem_max", "net.core.rmem_max")
"""Limits of a program's request, which netlab itself observes where a host lacks the sysctl."""


@dataclass(frozen=True)
class Probed:
    """Knobs of a tuning on the hosts of a path."""

    factors: tuple[str, ...]
    unsupported: tuple[dict, ...] = ()
    unchanged: tuple[dict, ...] = ()

    @property
    def left_out(self) -> dict[str, str]:
        return reasons_of(self.unsupported, self.unchanged, self.factors)


def probed(items: Mapping[str, Knob | Choice], planned: Mapping[str, Iterable[Change]]) -> Probed:
    factors, unsupported, unchanged = [], [], []
    for name, item in items.items():
        changing = False
        for host, plan in planned.items():
            changes = [change for change in plan if _of(item, change)]
            supported = [change for change in changes if change.supported]
            if not supported:
                reasons = dict.fromkeys(change.reason or "not supported" for change in changes)
                unsupported.append({"host": host, "knob": name, "reason": "; ".join(reasons)})
                changing |= name in CLIPPED
            elif any(change.changes for change in supported):
                changing = True
            else:
                value = ", ".join(change.new for change in supported)
                unchanged.append({"host": host, "knob": name, "value": value})
        factors += [name] * changing
    return Probed(tuple(factors), tuple(unsupported), tuple(unchanged))


def _of(item: Knob | Choice, change: Change) -> bool:
    if isinstance(item, Choice):
        return change.parameter == item.parameter
    return change.parameter is None and change.key == (item.kind, item.name)


def probe(ask: ScreenRequest) -> Probed:
    """Plan the whole tuning on both hosts of the path."""
    study, path, mtus_B = ask.study, ask.group.path, ask.mtus_B
    with (
        study_lab(study) as lab,
        open_endpoints(study, study.first_link(path), lab=lab) as endpoints,
    ):
        plans = {
            name: endpoint.planned(ask.profile, mtus_B[0] if mtus_B else None)
            for name, endpoint in endpoints.items()
        }
    return probed(ask.items, plans)


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


def refused_rows(runs: pd.DataFrame, plan: Design) -> dict[str, int]:
    """Knob -> rows that set it and in which a host recorded it as unsupported."""
    reasons: dict[str, set[str]] = {}
    for row, text in zip(runs["tuning"], runs["unsupported"], strict=True):
        for line in parse_json(text or "[]", "unsupported", kind=list):
            if line["knob"] in plan.rows.get(row, ()):
                reasons.setdefault(line["knob"], set()).add(row)
    return {knob: len(rows) for knob, rows in reasons.items()}


# A screen as a record to store, and its files: JSON, chart, and the least set as a tuning.

CHART = "effects.svg"
NAME_ROOM = 42
"""Characters of a tuning's name that leave room for ``-least``."""


def record_of(
    ask: ScreenRequest,
    found: Probed,
    plan: Design,
    effects: pd.DataFrame,
    tries: tuple[Confirmation, ...],
    runs: pd.DataFrame,
) -> ScreenRecord:
    """The screen as it is stored, with the least set as a tuning, each knob with its source."""
    least = tries[-1].knobs if tries else ()
    note = f"Screened on {ask.group.path}: no knob of {ask.tuning} was found to help."
    if tries:
        whole = tries[-1].whole
        note = (
            f"Screened on {ask.group.path}: {percent(whole.ratio)} % against all of {ask.tuning} "
            f"({interval(whole.low, whole.high)}), {VERDICTS[whole.verdict]}."
        )
    tuning = Tuning(
        name=f"{ask.tuning[:NAME_ROOM]}-least",
        title=f"Least set of {ask.tuning}",
        source=f"netlab screen {ask.study.name} --tuning {ask.tuning}",
        notes=(note,),
        knobs=tuple(ask.items[knob] for knob in least),
    )
    return ScreenRecord(
        study=ask.study.name,
        tuning=ask.tuning,
        group=ask.group.name,
        path=ask.group.path,
        design=plan.kind,
        started_at=runs["started_at"].min().isoformat(timespec="seconds"),
        rows=plan.rows,
        effects=effects,
        same_within_percent=ask.same_within_percent,
        runs=len(runs),
        valid_runs=int((runs["flags"].fillna("") == "").sum()),
        unsupported=found.unsupported,
        unchanged=found.unchanged,
        refused_rows=refused_rows(runs, plan),
        tries=tries,
        least_tuning=tuning.model_dump(mode="json", exclude_none=True, exclude_defaults=True),
    )


def write_least(record: ScreenRecord, path: Path) -> Path:
    """Write the least set as a tuning file named for its path, and read it back."""
    write_text(path, least_yaml(record, path.stem))
    read_tuning(path)
    return path


def write_files(record: ScreenRecord, place: Path, output: Path | None = None) -> tuple[Path, ...]:
    """Write ``screen.json``, ``effects.svg``, and the least set, named for `output` if given."""
    if output:
        record = replace(record, least_tuning=record.least_tuning | {"name": output.stem})
    output = output or place / f"{record.least_tuning['name']}.yml"
    return (
        write_screen(record, place / DOCUMENT),
        write_text(place / CHART, show(chart(record)).svg),
        write_least(record, output),
    )
