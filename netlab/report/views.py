"""Pages of views: per cent of ceiling, bottlenecks, effects, every repeat, CPU cost, trend."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pandas as pd
from markupsafe import Markup

from netlab.analysis import printed
from netlab.analysis.ceilings import ceilings_table
from netlab.analysis.cells import empty
from netlab.analysis.cost import cpu_cost
from netlab.analysis.factors import unit_of
from netlab.analysis.longpath_study import on_long_path
from netlab.analysis.measured import Measured
from netlab.analysis.trend import trend
from netlab.charts import rows, views
from netlab.charts.chart import show
from netlab.files.tables import Table
from netlab.report import tables
from netlab.report.factors import has_factors
from netlab.report.front import panel
from netlab.report.page import Page, Section, as_html, page_of
from netlab.study.schedule import slug
from netlab.units import arrows


def view_pages(m: Measured) -> list[Page]:
    """The views that a study has something to show in, in reading order."""
    # These charts have a mark a tuning, MTU and stream count; further factors have a page.
    plain = not has_factors(m)
    made = [_streams(m)] if plain and not on_long_path(m) else []
    if plain and (m.cells["bus_MBps"].notna() & ~empty(m.cells)).any():
        made.append(_ceiling(m))
    return [*made, _bottlenecks(m), *_effects(m), _repeats(m), *_cost(m), *_trend(m)]


def _groups(m: Measured, draw) -> list[Section]:
    return [Section(arrows(g), as_html(draw(g)), name=slug(g)) for g in m.groups]


def _note(text: str) -> Markup:
    return Markup("<p>{}</p>\n").format(text)


def _in_rows(m: Measured, frame: pd.DataFrame, draw: Callable[..., Any]) -> Markup:
    """Charts with a row a cell, for studies of any factors."""
    labels = rows.row_labels(frame, m.study)
    parts = (as_html(show(draw(part, labels))) for part in rows.in_parts(frame))
    return Markup("").join(parts)


def _streams(m: Measured) -> Page:
    return page_of(
        "streams.html",
        "Goodput over streams",
        "Streams",
        "goodput of each group over the number of streams, one panel a tuning",
        _groups(m, lambda g: panel(m, g)),
    )


def _ceiling(m: Measured) -> Page:
    known = m.cells[m.cells["bus_MBps"].notna() & ~empty(m.cells)]["group"].unique()
    sections = [
        Section(arrows(g), as_html(show(views.ceiling(m.cells, g, study=m.study))), name=slug(g))
        for g in m.groups
        if g in known
    ]
    table = ceilings_table(m.runs, m.cells)
    if table is not None:
        sections.append(Section("Ceilings and their sources", as_html(table), name="sources"))
    return page_of(
        "ceiling.html",
        "Per cent of the bus",
        "% of bus",
        "heat maps: tuning and MTU over streams, on one scale",
        sections,
    )


def _bottlenecks(m: Measured) -> Page:
    return page_of(
        "bottlenecks.html",
        "Bottlenecks",
        "Bottlenecks",
        "what limited each cell",
        _groups(m, lambda g: tables.of_group(m, g, "bottleneck")),
    )


def _effects(m: Measured) -> list[Page]:
    steps = tables.steps(m)
    if steps.empty:
        return []
    labels = printed.tuning_labels(m.cells, m.study)
    names = {f: tables.FACTORS.get(f) or unit_of(f) for f in steps["factor"].unique()}
    drawn = show(views.effects(steps, labels, names))
    sections = [
        Section("Forest plot", as_html(drawn)),
        Section("Table", as_html(tables.effects(m))),
    ]
    return [
        page_of(
            "effects.html",
            "Effect of each factor",
            "Effects",
            "ratio of goodput for each step of tuning, MTU, streams and direction",
            sections,
        )
    ]


def _repeats(m: Measured) -> Page:
    runs = m.runs[m.runs["goodput_MBps"].notna()]

    def drawn(group: str) -> Markup:
        if has_factors(m):
            return _in_rows(m, runs[runs["group"] == group], rows.repeats)
        return as_html(show(views.repeat_panels(m.runs, group, study=m.study)))

    measured = set(runs["group"])
    sections = [Section(arrows(g), drawn(g), name=slug(g)) for g in m.groups if g in measured]
    return page_of(
        "repeats.html",
        "Every repeat",
        "Every repeat",
        "the goodput of every run as a dot, flagged runs as crosses",
        sections,
    )


def _cost(m: Measured) -> list[Page]:
    frame = cpu_cost(m.runs, m.study)
    if frame.empty:
        return []
    note = _note(
        "Busy time of all cores of the machines at both ends in the window, the kernel's included, "
        "for every GB = 10⁹ bytes of payload. Hosts of a lab share one machine, counted once."
    )

    def drawn(group: str) -> Markup:
        if has_factors(m):
            return _in_rows(m, frame[frame["group"] == group], rows.cost)
        return as_html(show(views.cost(frame, group, study=m.study)))

    known = set(frame["group"])
    sections = [Section(arrows(g), note + drawn(g), name=slug(g)) for g in m.groups if g in known]
    return [
        page_of(
            "cost.html",
            "CPU cost per byte",
            "CPU cost",
            "CPU seconds for every GB of payload",
            sections,
        )
    ]


def _trend(m: Measured) -> list[Page]:
    frame = trend(m) if m.results else pd.DataFrame()
    if len(frame) < 2:
        return []
    shown = pd.DataFrame(
        {
            "campaign": frame["campaign"],
            "cells": frame["cells"],
            "in both": frame["common"],
            "to the one before": [
                tables.ratio_text(*row) for row in frame[["ratio", "low", "high"]].to_numpy()
            ],
            "step": ["yes" if step else "–" for step in frame["step"]],
        }
    )
    note = "Ratio: geometric mean over the common cells, with the interval between cells."
    table = Table(shown, "Campaigns of this directory", note=note, data=frame)
    sections = [
        Section("Level", as_html(show(views.trend(frame)))),
        Section("Campaigns", as_html(table)),
    ]
    summary = "each campaign beside the one before, and the steps between them"
    return [page_of("trend.html", "Trend over campaigns", "Trend", summary, sections)]
