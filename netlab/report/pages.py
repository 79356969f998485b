"""Pages of a measured study besides its index: tables, precision, findings, provenance."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import cache, partial
from pathlib import Path
from typing import Any

import pandas as pd
from markupsafe import Markup

from netlab import wings
from netlab.analysis import any_factors, cell_texts, host_facts, printed, stored_calibrations, trust
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
from netlab.analysis.conditions import flagged
from netlab.analysis.cost_of_cpu import cpu_cost
from netlab.analysis.later_flows import of_newcomers
from netlab.analysis.measured import Measured, computed_once, published_values
from netlab.analysis.over_campaigns import trend
from netlab.analysis.own_report import own_report
from netlab.analysis.percentiles import HISTOGRAMS, with_percentiles
from netlab.analysis.shares import of_each_stream
from netlab.analysis.trust import counted, less_precise
from netlab.charts import cells, experiments, forest, measured
from netlab.charts.chart import Chart, Gallery
from netlab.charts.live import sparkline
from netlab.files.bounded_json import parse_json
from netlab.files.tables import Sentence, Table, csv_of
from netlab.files.writing import json_text
from netlab.report import flags, shares, tables
from netlab.report.cache import DESIGN, chart_of, of_one
from netlab.report.explore import has_factors
from netlab.report.explore import stack as factor_tables
from netlab.report.export import FOLDER as DOWNLOADS
from netlab.report.front import panel, trade_offs
from netlab.report.gate import method_page, reading_page
from netlab.report.page import (
    MOST_LISTED,
    MOST_RUNS,
    PAGES,
    Page,
    Section,
    Shown,
    as_html,
    folded,
    page,
    page_name,
    page_of,
    plain_table,
)
from netlab.study.schedule import slug
from netlab.units import arrows

# Pages of views: per cent of ceiling, bottlenecks, effects, every repeat, CPU cost, trend.


def view_pages(m: Measured) -> list[Page]:
    """The views that a study has something to show in, in reading order."""
    # These charts have a mark a tuning, MTU and stream count; further factors have a page.
    plain = not has_factors(m)
    made = []
    if plain and own_report(m) is None:
        made.append(page("streams", *_groups(m, lambda g: panel(m, g))))
    known = m.cells[m.cells["bus_MBps"].notna() & ~empty(m.cells)]["group"]
    if plain and len(known):
        made.append(_ceiling(m, known))
    made.append(page("bottlenecks", *_groups(m, lambda g: tables.of_group(m, g, "bottleneck"))))
    made += [*_shares(m), *_latency(m), *_datagrams(m), *_effects(m)]
    return [*made, _repeats(m), *_cost(m), *_trend(m)]


def _groups(
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
    labels = cells.row_labels(frame, m.study)
    return Markup("").join(as_html(chart_of(rows, part, labels)) for part in cells.in_parts(frame))


def _ceiling(m: Measured, known: pd.Series) -> Page:
    def draw(group: str) -> Chart:
        return chart_of(cells.ceiling, of_one(m.cells, group), group, study=m.study)

    sections = _groups(m, draw, known)
    table = ceilings_table(m.runs, m.cells)
    if table is not None:
        sections.append(Section("Ceilings and their sources", table, name="sources"))
    return page("ceiling", *sections)


MOST_OVER_TIME = 6
"""Cells of a group whose latency is drawn over time."""


def charts_of(kind: str, m: Measured) -> dict[str, Gallery]:
    """Charts of each group whose runs have further figures of a kind: RTT also over time."""
    frame, drawn = with_further(kind, m.cells, m.runs), {}
    labels = cells.row_labels(frame, m.study)
    for group, part in frame.groupby("group", sort=False):
        axes: list = [chart_of(cells.FURTHER_CHARTS[kind], part, labels)]
        if kind in HISTOGRAMS and len(known := with_percentiles(kind, part, m.runs)):
            axes.append(chart_of(cells.rtt_percentiles, known, labels))
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
            drawn.append(chart_of(measured.under_load_panels, line, run_id, labels[key]))
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
            *_groups(m, drawn.__getitem__, drawn),
            *stacks,
            Section("Jain's index", shares.jain(m)),
            Section("Every stream", folded("Streams", len(of_each_stream(m)), _listed(each))),
        )
    ]


def _latency(m: Measured) -> list[Page]:
    drawn, over_tcp = charts_of(LATENCY, m), charts_of(OVER_TCP, m)
    sections = []
    if drawn:
        sections = [
            *_groups(m, drawn.__getitem__, drawn),
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
    return [page("datagrams", *_groups(m, drawn.__getitem__, drawn), table)] if drawn else []


def _effects(m: Measured) -> list[Page]:
    steps = step_effects(m)
    if steps.empty:
        return []
    labels = cell_texts.tuning_labels(m.cells, m.study)
    names = {f: tables.FACTORS.get(f) or unit_of(f) for f in steps["factor"].unique()}
    drawn = chart_of(forest.step_forest, steps, labels, names)
    return [page("effects", Section("Forest plot", drawn), Section("Table", tables.effects(m)))]


def _repeats(m: Measured) -> Page:
    # without the others: the content of each argument of a chart is digested
    every = m.runs[[name for name in (*DESIGN, *cells.REPEATS) if name in m.runs]]
    runs = every[every["goodput_MBps"].notna()]

    def drawn(group: str) -> Markup:
        def plain() -> Chart:
            return chart_of(cells.repeat_panels, of_one(every, group), group, study=m.study)

        return _drawn(m, runs, group, cells.repeats, plain)

    return page("repeats", *_groups(m, drawn, runs["group"]))


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
            return chart_of(cells.cost_over_streams, of_one(frame, group), group, study=m.study)

        return note + _drawn(m, frame, group, cells.cost, plain)

    return [page("cost", *_groups(m, drawn, frame["group"]))]


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
    return Section("Level", chart_of(measured.trend, frame)), Section(title, table)


# Pages of runs: one a group, with every cell, its runs, their interval plots and raw records.

PART = "Runs, cell by cell"
RECORDS = "records"
JSON_COLUMNS = ("unsupported", "knobs", "provenance")
"""Columns of a record that hold JSON text."""

SHOWN = ("run_id", "round", "started_at", "goodput_MBps", "flags", "message", "block_id")
"""Columns of a run that a page shows; taking all of them takes seconds."""

HEADS = ("run", "round", "started, UTC", "goodput, MB/s", "over time", "flags", "record", "block")


def addresses(m: Measured, group: str) -> pd.DataFrame:
    """Address of every cell of a group, laid out as its printed table."""
    frame = printed.as_printed(m.cells, group, study=m.study, quantity="address")
    return frame.map(lambda name: f"{page_name(group)}#{name}" if name else "")


@computed_once
def shown_runs(m: Measured) -> pd.DataFrame:
    """The runs that the site shows one by one: of a large study the last ones of each cell.

    The last ones, as their samples are in few files.
    """
    if len(m.runs) <= MOST_RUNS:
        return m.runs
    each = max(1, MOST_RUNS // len(m.cells))
    return m.runs.groupby(list(CELL_KEYS), sort=False).tail(each)


def run_pages(m: Measured, blocks: Mapping[str, str]) -> list[Page]:
    return [_page(m, group, blocks) for group in m.groups]


def _page(m: Measured, group: str, blocks: Mapping[str, str]) -> Page:
    labels = cell_texts.tuning_labels(m.cells, m.study)
    runs, shown = (frame[frame["group"] == group] for frame in (m.runs, shown_runs(m)))
    by_run = {}
    if m.samples is not None:  # of this page alone: those of all runs fill the memory
        samples = timelines(m.samples(set(shown["run_id"])))
        by_run = dict(list(samples.groupby("run_id", sort=False)))
    of_cell = dict(list(shown.groupby(list(CELL_KEYS), sort=False)))
    sections = []
    for cell in printed.of_group(m.cells, group).to_dict("records"):
        part = of_cell.get(tuple(cell[key] for key in CELL_KEYS), runs.head(0))
        where = printed.where(cell, labels)
        sections.append(
            Section(where, _cell(cell, part, by_run, blocks), name=printed.cell_address(cell))
        )
    all_shown = len(shown_runs(m)) == len(m.runs)
    sections.insert(0, Section("All runs of the group", _links(group, all_shown=all_shown)))
    title = f"Runs of {arrows(group)}"
    summary = f"{counted(len(runs), 'run')} in {counted(len(sections) - 1, 'cell')}"
    return page_of(page_name(group), title, title, summary, sections, part=PART)


def _links(group: str, *, all_shown: bool) -> Markup:
    """Links to the files that :func:`write_records` makes for the group."""
    link = Markup('<a download href="{}/{}.{}">{}</a>')
    if all_shown:
        kinds = (("csv", "CSV of all these runs"), ("tex", "LaTeX of all these runs"))
    else:
        kinds = (("csv", "CSV of all runs of the group"), ("tex", "LaTeX of those shown"))
    each = [link.format(RECORDS, slug(group), kind, words) for kind, words in kinds]
    if not all_shown:
        each.append(link.format(DOWNLOADS, "runs", "parquet", "every column of all runs"))
    return Markup('<p class="netlab-files">{}</p>').format(Markup(" ").join(each))


def _cell(cell: dict, runs: pd.DataFrame, by_run: dict, blocks: Mapping[str, str]) -> Markup:
    if runs.empty:
        return Markup("<p>{}.</p>").format(cell["missing_because"] or "No run")
    n_flagged = counted(cell["n_flagged"], "flagged run")
    (value,) = cell_texts.texts(pd.DataFrame([cell]))
    said = f"{value} MB/s from {counted(cell['n_valid'], 'valid run')}, {n_flagged} left out"
    if cell["disturbed"]:
        said = f"{value} MB/s, the median of {n_flagged} ({cell['disturbed']}), not a result"
    tops = [by_run[run]["goodput_MBps"].max() for run in runs["run_id"] if run in by_run]
    top = max(tops, default=0.0)
    rows = [
        _row(run, by_run.get(run["run_id"]), top, blocks)
        for run in runs[list(SHOWN)].to_dict("records")
    ]
    if (count := cell["n_valid"] + cell["n_flagged"]) > len(runs):
        said += f"; below the last {len(runs)} of {counted(count, 'run')}"
    label = arrows(f"Runs of {cell['group']}, {printed.cell_address(cell)}")
    return Markup("<p>Cell: {}.</p>").format(said) + plain_table(label, HEADS, rows)


def _row(
    run: dict, line: pd.DataFrame | None, top: float, blocks: Mapping[str, str]
) -> tuple[str, tuple[object, ...]]:
    name = record_name(run["run_id"])
    block = blocks.get(run["block_id"])
    return name, (
        run["run_id"],
        run["round"],
        f"{run['started_at']:%Y-%m-%d %H:%M:%S}",
        cell_texts.number(run["goodput_MBps"]),
        _plot(run, line, top),
        flags.with_titles(run, linked=True),
        Markup('<a href="{}/{}.json">record</a>').format(RECORDS, name),
        Markup('<a href="{}">notebook</a>').format(block) if block else cell_texts.MISSING,
    )


def _plot(run: dict, line: pd.DataFrame | None, top: float) -> Markup:
    if line is None or len(line) < 2:
        return Markup(cell_texts.MISSING)
    t_s, values, inside = (line[name].tolist() for name in ("t_s", "goodput_MBps", "in_window"))
    reach = printed.reach(line["goodput_MBps"])
    words = f"Goodput of {run['run_id']} in {len(line)} samples: {reach} MB/s"
    return Markup(sparkline(t_s, values, inside, top, words))


def record_name(run_id: str) -> str:
    """File name of a run's record, and its id on the page."""
    return slug(run_id)


def write_records(m: Measured, site: Path) -> None:
    """Write the record of each run shown as JSON, each group's as LaTeX, and all its runs as CSV.

    Where not every run is shown, the CSV has fewer columns: all of them would be most of the site.
    """
    folder = site / RECORDS
    folder.mkdir()
    shown = shown_runs(m)
    plain = m.runs.drop(columns=list(JSON_COLUMNS))
    if len(shown) < len(m.runs):
        plain = plain[[name for name in plain if name in (*CELL_KEYS, *SHOWN, "order")]]
    for group in m.groups:
        own = plain[plain["group"] == group]
        (folder / f"{slug(group)}.csv").write_text(csv_of(own), "utf-8")
        _printed(shown[shown["group"] == group], group).to_latex(folder / f"{slug(group)}.tex")
    parsed = cache(partial(parse_json, kind=object))  # most runs of a block share their provenance
    known = shown.astype(object).where(shown.notna(), None)
    for record in known.to_dict("records"):
        record["started_at"] = record["started_at"].isoformat()
        record |= {name: parsed(record[name] or "null") for name in JSON_COLUMNS}
        text = json_text(record) + "\n"
        (folder / f"{record_name(record['run_id'])}.json").write_text(text, encoding="utf-8")


def _printed(runs: pd.DataFrame, group: str) -> Table:
    """Runs of a group as a table to print, without the links of its page."""
    rows = [
        {
            "run": run["run_id"],
            "round": run["round"],
            "started, UTC": f"{run['started_at']:%Y-%m-%d %H:%M:%S}",
            "goodput, MB/s": float(run["goodput_MBps"]),
            "flags": flags.as_text(run),
        }
        for run in runs.to_dict("records")
    ]
    frame = pd.DataFrame(rows)
    return Table(frame, f"Runs of {group}", formats={"goodput, MB/s": cell_texts.number})


PRINTED_NOTE = (
    "Goodput in MB/s = 10⁶ bytes of payload per second, in the table layout of the report of 2003."
)
FACTORS_NOTE = "Goodput in MB/s = 10⁶ bytes of payload per second, by the two largest factors."


def measured_pages(m: Measured) -> list[Page]:
    """Pages of a measured study besides its index, in reading order."""
    of_wings = [page for build in wings.pages() for page in build(m)]
    made = [_tables(m), *view_pages(m), *of_wings, _precision(m)]
    if published_values(m) is not None:
        made.append(page("findings", Section("Verdicts", tables.findings(m))))
    return [*made, reading_page(), method_page(m), _provenance(m)]


def _tables(m: Measured) -> Page:
    n_missing = int((m.cells["n_valid"] == 0).sum())
    if own := own_report(m):
        note, sections = own.note, [Section("Goodput", tables.Tables(own.tables(m)))]
    elif has_factors(m):
        note, sections = FACTORS_NOTE, [Section("Factors", factor_tables(m))]
    else:
        note = PRINTED_NOTE
        sections = _groups(m, lambda g: tables.of_group(m, g, "both", links=addresses(m, g)))
    lead = Section("In short", Markup("<p>{}</p>").format(note) + as_html(tables.summary(m)))
    missing = folded("Disturbed and empty cells", n_missing, tables.missing(m))
    return page(
        "tables",
        lead,
        Section("Target", tables.target(m)),
        *sections,
        Section("Disturbed and empty cells", missing, name="empty-cells"),
    )


def _listed(table: Table | Sentence) -> Table | Sentence:
    """A table as long as a page shows it."""
    if isinstance(table, Sentence):
        return table
    return table.head(MOST_LISTED, "The CSV has all of them.")


def _precision(m: Measured) -> Page:
    cells = folded("Cells and how precise they are", len(less_precise(m)), tables.precision(m))
    runs = folded("Flagged runs", len(flagged(m.runs)), _listed(tables.flagged(m)))
    return page(
        "precision",
        Section("Precision", cells),
        Section("Order effects", tables.stability(m)),
        Section("Flagged runs", runs),
        Section("Knobs that a host lacks", tables.unsupported(m)),
        Section("Noise", tables.noise(m)),
        Section("Card counters", tables.counters(m)),
        Section("Receive queues", tables.queues(m)),
        Section("Time outside measuring", tables.overhead(m)),
    )


def _provenance(m: Measured) -> Page:
    differing, equal, campaign = tables.provenance(m).tables
    same = folded("The same on all hosts", len(equal.frame), equal, above=-1)
    hosts = Section("Hosts", as_html(differing) + same)
    return page("provenance", hosts, Section("Campaign", campaign))


# The stored calibrations: a chart, tables and method of each part.

PARTS = {stored_calibrations.RATES: "Known rates", stored_calibrations.EMULATOR: "Path emulator"}

CHARTS: dict[str, tuple[Callable, tuple[str, ...]]] = {
    "round_trips": (experiments.round_trips, experiments.ROUND_TRIP_COLUMNS)
}
"""Chart of a table, and the columns that it draws: figure third, its bound sixth."""

METHODS = PAGES["calibration"]["methods"]
"""Method of each part, in words."""


def calibration_pages(m: Measured, directory: Path) -> list[Page]:
    """The page of the calibrations stored in a directory; none if nothing is stored."""
    found = stored_calibrations.stored(directory)
    if not found.parts:
        return []
    about = host_facts.machines(m.runs, m.study).hosts
    facts = [host_facts.FACTS["cpu_model"], host_facts.FACTS["cpus"]]
    hosts = {host: _cpu_in_words(*map(about[host].get, facts)) for host in about.columns}
    sections = [Section("In short", Sentence(f"Latest: {trust.calibration(directory)}."))]
    sections += [
        Section(PARTS[name], _part(part, hosts), name=name) for name, part in found.parts.items()
    ]
    if found.damaged:
        names = pd.DataFrame({"file": [f"{f.parent.name}/{f.name}" for f in found.damaged]})
        table = Table(names, "Calibrations that cannot be read")
        sections.append(Section("Damaged files", folded("Files", len(names), table)))
    return [page("calibration", *sections)]


def _part(part: stored_calibrations.CalibratedPart, hosts: Mapping[str, str]) -> Markup:
    drawn, tables = Markup(""), Markup("")
    for name, (_, caption, names) in stored_calibrations.TABLES[part.name].items():
        frame = part.table(name)
        draw, columns = CHARTS.get(name, (experiments.rates, experiments.RATE_COLUMNS))
        if frame.empty:
            continue
        # null and text in the place of a figure are missing values
        figures = [name for name in frame if name in stored_calibrations.FORMATS]
        frame = frame.assign(**{n: pd.to_numeric(frame[n], errors="coerce") for n in figures})
        if (
            {*names, *columns} <= set(frame)
            and frame[[*names, columns[5]]].notna().all(axis=None)
            and frame[columns[2]].notna().any()
        ):
            drawn += as_html(chart_of(draw, frame, title=caption.partition(",")[0]))
        keys = [key for key in names if key in frame]
        texts = {
            key: [f"{v:g}" if isinstance(v, int | float) else str(v) for v in frame[key]]
            for key in keys
        }
        shown = frame.assign(**texts).set_index(keys) if keys else frame
        table = Table(
            shown, caption, stored_calibrations.HEADS, stored_calibrations.FORMATS, data=frame
        )
        tables += folded("Cells", len(frame), table)
    return drawn + tables + as_html(Sentence(f"{METHODS[part.name]} {_measured(part, hosts)}"))


def _measured(part: stored_calibrations.CalibratedPart, hosts: Mapping[str, str]) -> str:
    """When and where a part was measured, and the hosts of the study that are another machine."""
    kernel = part.machine.get("kernel")
    system = f"Linux {kernel}" if kernel else "kernel not recorded"
    machine = _cpu_in_words(part.machine.get("cpu_model"), part.machine.get("cpus"))
    text = f"Measured on {part.date} with netlab {part.version} on {machine}, {system}."
    others: dict[str, list[str]] = {}
    for host, its in hosts.items():
        if its != machine:
            others.setdefault(its, []).append(host)
    if others:
        named = "; ".join(f"{', '.join(names)} ({its})" for its, names in others.items())
        text += f" Hosts of this study on another machine: {named}."
    return text


def _cpu_in_words(model: object, cpus: object) -> str:
    """CPU model and count: all that tells machines apart, since hosts of a lab are namespaces."""
    if not model or not cpus or host_facts.NOT_RECORDED in (model, cpus):
        return f"a machine whose CPU is {host_facts.NOT_RECORDED}"
    return f"{model}, {cpus} CPU{'' if str(cpus) == '1' else 's'}"
