"""Pages of views: per cent of ceiling, bottlenecks, effects, every repeat, CPU cost, trend."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import pandas as pd
from markupsafe import Markup

from netlab.analysis import any_factors, cell_texts
from netlab.analysis.answers import step_effects
from netlab.analysis.any_factors import unit_of
from netlab.analysis.batches import timelines
from netlab.analysis.cell_ceilings import ceilings_table
from netlab.analysis.cells import (
    CELL_KEYS,
    DATAGRAMS,
    LATENCY,
    OVER_TCP,
    empty,
    ended,
    valid,
    with_further,
)
from netlab.analysis.cost_of_cpu import cpu_cost
from netlab.analysis.later_flows import of_newcomers
from netlab.analysis.measured import Measured
from netlab.analysis.over_campaigns import trend
from netlab.analysis.own_report import own_report
from netlab.analysis.percentiles import HISTOGRAMS, with_percentiles
from netlab.analysis.shares import of_each_stream
from netlab.charts import (
    cell_rows,
    comparisons,
    group_panels,
    round_trips,
    run_samples,
    study_charts,
)
from netlab.charts.chart import Chart, Gallery
from netlab.files.tables import Sentence, Table
from netlab.report import shares, tables
from netlab.report.active_cache import chart_of, of_one
from netlab.report.cache import DESIGN
from netlab.report.explore import has_factors
from netlab.report.front import panel
from netlab.report.notebook_answer import trade_offs
from netlab.report.page import MOST_LISTED, Page, Section, folded, page
from netlab.report.templating import Shown, as_html
from netlab.study.schedule import slug
from netlab.units import arrows


def view_pages(m: Measured) -> list[Page]:
    """The views that a study has something to show in, in reading order."""
    # These charts have a mark a tuning, MTU and stream count; further factors have a page.
    plain = not has_factors(m)
    made = []
    if plain and own_report(m) is None:
        made.append(page("streams", *group_sections(m, lambda g: panel(m, g))))
    known = m.cells[m.cells["bus_MBps"].notna() & ~empty(m.cells)]["group"]
    if plain and len(known):
        made.append(_ceiling(m, known))
    made.append(
        page("bottlenecks", *group_sections(m, lambda g: tables.of_group(m, g, "bottleneck")))
    )
    made += [*_shares(m), *_latency(m), *_datagrams(m), *_effects(m)]
    return [*made, _repeats(m), *_cost(m), *_trend(m)]


def group_sections(
    m: Measured, draw: Callable[[str], Markup | Shown], known: Iterable[str] | None = None
) -> list[Section]:
    """A section a group; only of those that are known, where some are given."""
    names = m.groups if known is None else [g for g in m.groups if g in set(known)]
    return [Section(arrows(g), draw(g), name=slug(g)) for g in names]


def _drawn(
    m: Measured,
    runs: pd.DataFrame,
    group: str,
    rows: Callable[..., Any],
    plain: Callable[[], Chart],
) -> Markup:
    """The chart of a group; for a study of further factors charts with a row a cell."""
    if not has_factors(m):
        return as_html(plain())
    frame = runs[runs["group"] == group]
    labels = cell_rows.row_labels(frame, m.study)
    return Markup("").join(
        as_html(chart_of(rows, part, labels)) for part in cell_rows.in_parts(frame)
    )


def _ceiling(m: Measured, known: pd.Series) -> Page:
    def draw(group: str) -> Chart:
        return chart_of(group_panels.ceiling, of_one(m.cells, group), group, study=m.study)

    sections = group_sections(m, draw, known)
    table = ceilings_table(m.runs, m.cells)
    if table is not None:
        sections.append(Section("Ceilings and their sources", table, name="sources"))
    return page("ceiling", *sections)


MOST_OVER_TIME = 6
"""Cells of a group whose latency is drawn over time."""


def charts_of(kind: str, m: Measured) -> dict[str, Gallery]:
    """Charts of each group whose runs have further figures of a kind: RTT also over time."""
    frame, drawn = with_further(kind, m.cells, m.runs), {}
    labels = cell_rows.row_labels(frame, m.study)
    for group, part in frame.groupby("group", sort=False):
        axes: list = [chart_of(round_trips.FURTHER_CHARTS[kind], part, labels)]
        if kind in HISTOGRAMS and len(known := with_percentiles(kind, part, m.runs)):
            axes.append(chart_of(round_trips.rtt_percentiles, known, labels))
        if kind == LATENCY:
            axes += _under_load(m, part, labels)
        drawn[group] = Gallery.of(*axes)
    return drawn


def _under_load(m: Measured, probed: pd.DataFrame, labels: Mapping[tuple, str]) -> list[Chart]:
    """The median runs of the cells with the most added latency."""
    if m.samples is None:
        return []
    of_cell, drawn = ended(m.runs).groupby(list(CELL_KEYS)), []
    for cell in probed.nlargest(MOST_OVER_TIME, "added_latency_us").to_dict("records"):
        key = tuple(cell[name] for name in CELL_KEYS)
        runs = of_cell.get_group(key)
        runs = runs if cell["disturbed"] else valid(runs)
        distance_us = (runs["added_latency_us"] - cell["added_latency_us"]).abs()
        run_id = runs.loc[distance_us.idxmin(), "run_id"]
        line = timelines(m.samples({run_id}))
        if line["rtt_p50_us"].notna().any():
            drawn.append(chart_of(run_samples.under_load_panels, line, run_id, labels[key]))
    return drawn


def _shares(m: Measured) -> list[Page]:
    drawn = shares.drawn(m)
    if not drawn:
        return []
    each = shares.streams(m)
    stacks = [Section("Each stack", shares.stacks(m))] if len(shares.mixed(m)) else []
    if len(of_newcomers(m)):
        stacks.append(Section("Newcomers", shares.newcomers(m)))
    return [
        page(
            "shares",
            *group_sections(m, drawn.__getitem__, drawn),
            *stacks,
            Section("Jain's index", shares.jain(m)),
            Section("Every stream", folded("Streams", len(of_each_stream(m)), on_a_page(each))),
        )
    ]


def _latency(m: Measured) -> list[Page]:
    drawn, over_tcp = charts_of(LATENCY, m), charts_of(OVER_TCP, m)
    sections = []
    if drawn:
        sections = [
            *group_sections(m, drawn.__getitem__, drawn),
            Section("Goodput against latency", trade_offs(m)),
            Section("Every cell", tables.latency(m)),
            Section("All probes", tables.latency_percentiles(m)),
        ]
    if over_tcp:
        charts = as_html(sum(over_tcp.values(), Gallery()))
        sections.append(Section("Over TCP", charts + as_html(tables.latency_over_tcp(m))))
    return [page("latency", *sections)] if sections else []


def _datagrams(m: Measured) -> list[Page]:
    drawn = charts_of(DATAGRAMS, m)
    table = Section("Every cell", tables.datagrams(m))
    return [page("datagrams", *group_sections(m, drawn.__getitem__, drawn), table)] if drawn else []


def _effects(m: Measured) -> list[Page]:
    steps = step_effects(m)
    if steps.empty:
        return []
    labels = cell_texts.tuning_labels(m.cells, m.study)
    names = {f: tables.FACTOR_NAME.get(f) or unit_of(f) for f in steps["factor"].unique()}
    drawn = chart_of(comparisons.step_forest, steps, labels, names)
    return [page("effects", Section("Forest plot", drawn), Section("Table", tables.effects(m)))]


def _repeats(m: Measured) -> Page:
    # without the others: the content of each argument of a chart is digested
    every = m.runs[[name for name in (*DESIGN, *cell_rows.REPEATS) if name in m.runs]]
    runs = every[every["goodput_MBps"].notna()]

    def drawn(group: str) -> Markup:
        def plain() -> Chart:
            return chart_of(group_panels.repeat_panels, of_one(every, group), group, study=m.study)

        return _drawn(m, runs, group, cell_rows.repeats, plain)

    return page("repeats", *group_sections(m, drawn, runs["group"]))


def _cost(m: Measured) -> list[Page]:
    frame = cpu_cost(m.runs, m.study)
    if frame.empty:
        return []
    note = Markup(
        "<p>Busy time of all cores of the machines at both ends in the window, the kernel's "
        "included, for every GB = 10⁹ bytes of payload. Hosts of a lab share one machine, counted "
        "once.</p>\n"
    )

    def drawn(group: str) -> Markup:
        def plain() -> Chart:
            return chart_of(
                group_panels.cost_over_streams, of_one(frame, group), group, study=m.study
            )

        return note + _drawn(m, frame, group, cell_rows.cost, plain)

    return [page("cost", *group_sections(m, drawn, frame["group"]))]


def _trend(m: Measured) -> list[Page]:
    frame = trend(m) if m.results else pd.DataFrame()
    return [page("trend", *trended(frame, "Campaigns"))] if len(frame) > 1 else []


def trended(frame: pd.DataFrame, title: str) -> tuple[Section, Section]:
    """The level of goodput as a chart, and each step as a table."""
    rows = [
        {
            "of": row.campaign,
            "cells": row.cells,
            "in both": row.common,
            "to the one before": any_factors.ratio_text(row.ratio, row.low, row.high),
            "step": "yes" if row.step else "–",
        }
        for row in frame.itertuples()
    ]
    note = "Ratio: geometric mean over the common cells, with the interval between cells."
    table = Table(pd.DataFrame(rows), f"{title}, each beside the one before", note=note, data=frame)
    return Section("Level", chart_of(study_charts.trend, frame)), Section(title, table)


def on_a_page(table: Table | Sentence) -> Table | Sentence:
    """A table as long as a page shows it."""
    if isinstance(table, Sentence):
        return table
    return table.head(MOST_LISTED, "The CSV has all of them.")
