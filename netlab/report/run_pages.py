"""Pages of runs: one a group, with every cell, its runs, their interval plots and raw records."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache, partial
from pathlib import Path

import pandas as pd
from markupsafe import Markup

from netlab.analysis import cell_texts, printed
from netlab.analysis.batches import timelines
from netlab.analysis.cells import CELL_KEYS
from netlab.analysis.measured import Measured, computed_once
from netlab.analysis.trust import counted
from netlab.charts.live import sparkline
from netlab.files.bounded_json import parse_json
from netlab.files.tables import Table, csv_of
from netlab.files.writing import json_text
from netlab.report import flags
from netlab.report.downloads import FOLDER as DOWNLOADS
from netlab.report.page import MOST_RUNS, Page, Section, page_name, page_of, plain_table
from netlab.study.schedule import slug
from netlab.units import arrows

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
