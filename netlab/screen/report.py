"""A screen as a record to store, and its files: JSON, chart, and the least set as a tuning."""

from __future__ import annotations

from pathlib import Path

from netlab.analysis.screened import DOCUMENT, ScreenRecord, write_screen
from netlab.charts.chart import show
from netlab.files.json_file import write_text
from netlab.report.compare import interval, percent
from netlab.report.screen import chart, least_yaml
from netlab.screen.run import Screened
from netlab.tuning.profiles import Tuning, read_tuning

CHART = "effects.svg"
NAME_ROOM = 42
"""Characters of a tuning's name that leave room for ``-least``."""


def least_name(tuning: str) -> str:
    """Default name of the least set of a tuning."""
    return f"{tuning[:NAME_ROOM]}-least"


def record_of(found: Screened, name: str = "") -> ScreenRecord:
    """The screen as it is stored; `name` is that of the least set as a tuning."""
    ask, plan = found.ask, found.design
    least = least_tuning(found, name or least_name(ask.tuning))
    return ScreenRecord(
        study=ask.study.name,
        tuning=ask.tuning,
        group=ask.group.name,
        path=ask.group.path,
        design=plan.kind,
        started_at=found.started_at,
        rows=plan.rows,
        effects=found.effects,
        same_within_percent=ask.same_within_percent,
        runs=found.runs,
        valid_runs=found.valid_runs,
        unsupported=found.probed.unsupported,
        unchanged=found.probed.unchanged,
        refused_rows=found.refused,
        tries=found.tries,
        least_tuning=least.model_dump(mode="json", exclude_none=True, exclude_defaults=True),
    )


def least_tuning(found: Screened, name: str) -> Tuning:
    """The least set as a tuning, each knob with its source."""
    ask = found.ask
    whole = found.tries[-1].whole
    note = (
        f"Screened on {ask.group.path}: {percent(whole.ratio)} % against all of {ask.tuning} "
        f"({interval(whole.low, whole.high)}), {found.verdict}."
    )
    return Tuning(
        name=name,
        title=f"Least set of {ask.tuning}",
        source=f"netlab screen {ask.study.name} --tuning {ask.tuning}",
        notes=(note,),
        knobs=tuple(ask.items[knob] for knob in found.least_set),
    )


def write_least(record: ScreenRecord, path: Path) -> Path:
    """Write the least set as a tuning file named for its path, and read it back."""
    write_text(path, least_yaml(record, path.stem))
    read_tuning(path)
    return path


def write_files(found: Screened, place: Path, output: Path | None = None) -> tuple[Path, ...]:
    """Write ``screen.json``, ``effects.svg``, and the least set."""
    record = record_of(found, output.stem if output else "")
    output = output or place / f"{record.least_tuning['name']}.yml"
    return (
        write_screen(record, place / DOCUMENT),
        write_text(place / CHART, show(chart(record)).svg),
        write_least(record, output),
    )
