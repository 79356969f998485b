"""An explorer of results: choose levels of factors, see chart, cells and runs.

It is plain HTML. Every choice has a part of its own that can be folded; a small script shows the
chosen part alone, sorts and filters. Where a viewer removes the script, as JupyterLab does in a
notebook that it does not trust, the parts stand one below another.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import product
from typing import get_args

import pandas as pd
from markupsafe import Markup

from netlab.analysis import any_factors, cell_texts, printed
from netlab.analysis.cell_texts import OneQuantity, Quantity
from netlab.analysis.cells import empty, ended
from netlab.analysis.measured import Measured
from netlab.analysis.trust import counted
from netlab.charts.chart import Chart, Gallery, show
from netlab.charts.over_factor import over_factor
from netlab.errors import require
from netlab.files.tables import Table
from netlab.report import flags
from netlab.report.page import MOST_RUNS, plain_table
from netlab.report.tables import Sentence, Tables, unit_of
from netlab.report.templating import as_html, script, template
from netlab.study.factors import level_text
from netlab.units import arrows

MOST = 12
"""Tables or charts on one page; the other combinations stand in the tables of the groups."""

QUANTITIES = {"goodput": "goodput_MBps", "percent": "percent_of_bus"}


def of_two(
    m: Measured, rows: str, columns: str, at: Mapping = {}, quantity: Quantity = "goodput"
) -> Table:
    """Cells by two factors at levels of the others: :func:`netlab.analysis.any_factors.table`."""
    require(quantity, get_args(Quantity), key="quantity", code="E-REPORT-047")
    part = any_factors.of_two(m.cells, rows, columns, at, m.study)
    where = any_factors.at_text(at, cell_texts.tuning_labels(m.cells, m.study))
    caption = f"{any_factors.unit_of(rows)} by {any_factors.unit_of(columns)}"
    unit, notes = unit_of(part, quantity), printed.interval_notes(part, m.study.confidence)
    notes += printed.cell_notes(part)
    if quantity == "percent":
        notes += printed.unknown_bus_notes(part)
    if printed.both_ways(part, m.study):
        unit = unit.replace("of bus", "of twice the bus")
        notes.append(f"{printed.BOTH_WAYS.capitalize()}.")
    return Table(
        any_factors.table(part, rows, columns, quantity, m.study),
        f"{where + ': ' if where else ''}{caption}, {unit}",
        note=" ".join(notes),
        data=part.dropna(axis="columns", how="all"),
    )


def pages(m: Measured) -> tuple[str, str, list[dict]]:
    """Factors of the axis and of the lines, and the combinations of the others."""
    axis, lines = any_factors.layout(m.cells, m.study)
    held = (axis, lines) if lines else (axis,)
    return axis, lines, any_factors.slices(m.cells, held, m.study)


def stack(m: Measured, quantity: Quantity = "goodput") -> Tables:
    """A table of the two factors with the most levels for each combination of the others."""
    axis, lines, each = pages(m)
    if not lines:
        none = "No cells differ in two factors; the tables of groups show them."
        return Tables((Sentence(none),))
    shown: list[Table | Sentence] = [of_two(m, axis, lines, at, quantity) for at in each[:MOST]]
    if (more := len(each) - MOST) > 0:
        shown.append(Sentence(f"{more} further combinations are in the tables of the groups."))
    return Tables(tuple(shown))


def charts(m: Measured, quantity: OneQuantity = "goodput", *, most: int = MOST) -> Gallery:
    """A chart of the two largest factors for each combination of the others that has a value."""
    axis, lines, each = pages(m)
    require(quantity, QUANTITIES, key="quantity", code="E-REPORT-048")
    y = QUANTITIES[quantity]
    shown = m.cells[~empty(m.cells)]
    drawn = [at for at in each if len(any_factors.rows_at(shown, at, m.study))] or each[:1]
    if most < len(drawn):  # those that the headline may be about
        drawn.sort(key=lambda at: -any_factors.rows_at(shown, at, m.study)["goodput_MBps"].max())
    return Gallery.of(
        *(over_factor(m.cells, axis, lines, at=at, y=y, study=m.study) for at in drawn[:most])
    )


def levels(m: Measured) -> Table:
    found = any_factors.varying(m.cells, m.study)
    rows = [
        {"factor": any_factors.unit_of(name), "levels": ", ".join(map(level_text, known))}
        for name, known in found.items()
    ]
    return Table(pd.DataFrame(rows, columns=["factor", "levels"]), "Factors and their levels")


def has_factors(m: Measured) -> bool:
    """True if the study crosses anything besides tuning, MTU and streams."""
    return bool(any_factors.names(m.cells))


MOST_CHARTS = 60
"""Views of one explorer that have a chart; the others have their table and their runs."""

COLUMNS = (
    *("round", "goodput, MB/s", "busiest core, %", "sent again"),
    *("flags", "started, UTC", "run"),
)
NOT_MEASURED = "The study has no cell with these levels."
NO_RUN = "None of these cells was measured."
NOTHING_ENDED = "No cell here has a value: none of {runs} ended ({reasons}). They stand below."
NOT_DRAWN = "Not drawn, as one of many: name levels in explore() to draw them."


@dataclass(frozen=True)
class ExplorerView:
    """Chart, cells and runs at one choice of levels."""

    levels: dict[str, object]
    title: str
    chart: Chart | None
    table: Table | None
    runs: pd.DataFrame

    @property
    def empty_because(self) -> str:
        """Sentence on a view without a value; empty if a run ended."""
        if self.table is None:
            return NOT_MEASURED
        if self.runs.empty:
            return NO_RUN
        if len(ended(self.runs)):
            return ""
        texts = self.runs["flags"].fillna("").replace("", "no goodput")
        counts = Counter(flag for text in texts for flag in str(text).split(","))
        reasons = ", ".join(f"{name} {count}" for name, count in counts.most_common())
        return NOTHING_ENDED.format(runs=counted(len(self.runs), "run"), reasons=reasons)


@dataclass(frozen=True)
class Explorer:
    """Views of results by the levels of their factors; shows choosers and the chosen view."""

    title: str
    x: str
    hue: str
    choices: dict[str, dict[object, str]]
    views: tuple[ExplorerView, ...]

    def _repr_html_(self) -> str:
        key = f"{self.title}{[view.title for view in self.views]}"
        each = product(*(range(len(levels)) for levels in self.choices.values()))
        return template("explore.html.j2").render(
            id=f"explore-{hashlib.sha256(key.encode()).hexdigest()[:8]}",
            title=arrows(self.title),
            choices={
                any_factors.unit_of(factor).partition(",")[0]: list(levels.values())
                for factor, levels in self.choices.items()
            },
            views=[
                {
                    "marks": [f"f{place}-{at}" for place, at in enumerate(marks)],
                    "title": view.title,
                    "lead": view.empty_because or NOT_DRAWN,
                    "chart": as_html(view.chart) if view.chart else "",
                    "table": as_html(view.table) if view.table is not None else "",
                    "runs": _runs(self, view) if view.table is not None else "",
                    "count": counted(len(view.runs), "run"),
                    "flagged": int((view.runs["flags"] != "").sum()),
                }
                for view, marks in zip(self.views, each, strict=True)
            ],
            script=Markup(script("notebook.js")),
        )

    def __repr__(self) -> str:
        known = [view for view in self.views if view.table is not None]
        parts = (f"{view.empty_because}\n{view.table!r}".lstrip() for view in known)
        return "\n\n".join([self.title, *parts])


def explore(m: Measured, x: str = "", hue: str = "", at: Mapping[str, object] = {}) -> Explorer:
    """Views of all cells, by the levels of the factors that are not on the axis or the lines."""
    cells = any_factors.at_levels(m.cells, at, m.study)
    for name in filter(None, (x, hue)):
        any_factors.check_factor(name, cells, m.study)
    x, hue = _axes(m, cells, x, hue)
    labels = cell_texts.tuning_labels(m.cells, m.study)
    held = [name for name in (x, hue) if name]
    known = any_factors.slices(cells, held, m.study)
    choices = {
        name: {level: _name(name, level, labels) for level in _levels(name, known, cells, m)}
        for name in dict.fromkeys(name for one in known for name in one)
    }
    views, drawn = [], 0
    for levels in product(*choices.values()):
        one = {name: v for name, v in zip(choices, levels, strict=True) if v is not None}
        drawn += one in known
        chosen = one if one in known else None
        views.append(_view(m, x, hue, {**at, **one}, labels, chosen, draw=drawn <= MOST_CHARTS))
    over = f"goodput over {any_factors.unit_of(x).partition(',')[0]}"
    lines = f", a line for each {any_factors.unit_of(hue).partition(',')[0]}" if hue else ""
    title = f"{m.study.name}: {over}{lines}, in {counted(len(known), 'view')}"
    return Explorer(title, x, hue, choices, tuple(views))


def _axes(m: Measured, cells: pd.DataFrame, x: str, hue: str) -> tuple[str, str]:
    """The factors given, else two that vary."""
    vary = any_factors.varying(cells, m.study)
    wanted = any_factors.layout(cells, m.study)
    if not any_factors.names(cells) and {"streams", "mtu_B"} <= set(vary):
        wanted = ("streams", "mtu_B")
    x = x or next((name for name in wanted if name != hue), "streams")
    return x, hue or next((name for name in wanted if name != x), "")


def _levels(name: str, known: list[dict], cells: pd.DataFrame, m: Measured) -> list:
    """Levels of a factor in their order; None where some cells do not have it."""
    some = any_factors.ordered(name, any_factors.expanded(cells, m.study)[name], m.study)
    return [*some, *([None] if any(name not in one for one in known) else [])]


def _name(name: str, level: object, tunings: Mapping[str, str]) -> str:
    """A level beside the name of its factor: without that name."""
    if level is None:
        return cell_texts.MISSING
    unit = any_factors.unit_of(name).partition(", ")[2]
    text = level_text(level)
    if name in ("tuning", "group"):
        return any_factors.level_label(name, level, tunings)
    return f"{text} {unit}" if unit else text


def _view(
    m: Measured,
    x: str,
    hue: str,
    levels: dict[str, object],
    labels: Mapping[str, str],
    chosen: dict[str, object] | None,
    *,
    draw: bool,
) -> ExplorerView:
    """The view at some levels; empty without a choice that the study has cells of."""
    title = ", ".join(
        any_factors.level_label(name, level, labels) for name, level in levels.items()
    )
    title = title or m.study.title
    if chosen is None:
        return ExplorerView(levels, title, None, None, m.runs.head(0))
    table = of_two(m, hue, x, levels, "both") if hue else of_two(m, x, "group", levels, "both")
    runs = any_factors.rows_at(m.runs, levels, m.study).sort_values(["round", "started_at"])
    view = ExplorerView(levels, title, None, table, runs)
    if view.empty_because or not draw:
        return view
    return replace(view, chart=show(over_factor(m.cells, x, hue, at=levels, study=m.study)))


def _runs(explorer: Explorer, view: ExplorerView) -> Markup:
    by, shown = [name for name in (explorer.hue, explorer.x) if name], view.runs
    if sum(len(one.runs) for one in explorer.views) > MOST_RUNS:
        shown = shown.tail(max(1, MOST_RUNS // len(explorer.views)))
    rows = [
        (
            "",
            (
                *(level_text(run[name]) for name in by),
                run["round"],
                cell_texts.number(run["goodput_MBps"]),
                cell_texts.number(run["busiest_core_percent"]),
                cell_texts.MISSING if pd.isna(run["retransmits"]) else run["retransmits"],
                flags.with_titles(run, none=""),
                f"{run['started_at']:%Y-%m-%d %H:%M:%S}",
                run["run_id"],
            ),
        )
        for run in shown.to_dict("records")
    ]
    heads = [*map(any_factors.unit_of, by), *COLUMNS]
    last = f"<p>The last {len(shown)} of them.</p>" if len(shown) < len(view.runs) else ""
    return Markup(last) + plain_table(f"Runs: {view.title}", heads, rows)
