"""A screen as a record to store, and its files: JSON, chart, and the least set as a tuning."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pandas as pd

from netlab.charts.chart import show
from netlab.files.recorded_columns import column_json
from netlab.files.writing import write_text
from netlab.report.compare import interval, percent
from netlab.search.screen.design import Design
from netlab.search.screen.page import chart, least_yaml
from netlab.search.screen.probe import Probed
from netlab.search.screen.record import DOCUMENT, VERDICTS, Confirmation, ScreenRecord, write_screen
from netlab.search.screen.request import ScreenRequest
from netlab.tuning.profiles import Tuning, read_tuning


def refused_rows(runs: pd.DataFrame, plan: Design) -> dict[str, int]:
    """Knob -> rows that set it and in which a host recorded it as unsupported."""
    reasons: dict[str, set[str]] = {}
    for row, text in zip(runs["tuning"], runs["unsupported"], strict=True):
        for line in column_json(text, "unsupported"):
            if line["knob"] in plan.rows.get(row, ()):
                reasons.setdefault(line["knob"], set()).add(row)
    return {knob: len(rows) for knob, rows in reasons.items()}


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
