"""Pages of runs: one a group, with every cell, its runs, their interval plots and raw records."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from functools import cache
from pathlib import Path

import pandas as pd
from markupsafe import Markup

from netlab.analysis import printed
from netlab.analysis.cells import CELL_KEYS
from netlab.analysis.measured import Measured
from netlab.analysis.timeline import timelines
from netlab.analysis.trust import counted
from netlab.charts.sparkline import sparkline
from netlab.files.json_file import json_text
from netlab.files.tables import Table
from netlab.report.page import Page, Section, page_of
from netlab.study.schedule import slug
from netlab.units import arrows

PART = "Runs, cell by cell"
RECORDS = "records"
JSON_COLUMNS = ("unsupported", "knobs", "provenance")
"""Columns of a record that hold JSON text."""

SHOWN = ("run_id", "round", "started_at", "goodput_MBps", "flags", "message", "block_id")
"""Columns of a run that a page shows; taking all of them takes seconds."""

HEADS = ("run", "round", "started, UTC", "goodput, MB/s", "over time", "flags", "record", "block")


def page_name(group: str) -> str:
    """Address of the page of a group's runs."""
    return f"runs-{slug(group)}.html"


def addresses(m: Measured, group: str) -> pd.DataFrame:
    """Address of every cell of a group, laid out as its printed table."""
    frame = printed.as_printed(m.cells, group, study=m.study, quantity="address")
    return frame.map(lambda name: f"{page_name(group)}#{name}" if name else "")


def run_pages(m: Measured, blocks: Mapping[str, str]) -> list[Page]:
    """A page of runs for each group."""
    samples = None if m.intervals is None else timelines(m.intervals)
    by_run = {} if samples is None else dict(list(samples.groupby("run_id", sort=False)))
    return [_page(m, group, by_run, blocks) for group in m.groups]


def _page(m: Measured, group: str, by_run: dict, blocks: Mapping[str, str]) -> Page:
    labels = printed.tuning_labels(m.cells, m.study)
    runs = m.runs[m.runs["group"] == group]
    of_cell = dict(list(runs.groupby(list(CELL_KEYS), sort=False)))
    sections = []
    for cell in printed.of_group(m.cells, group).to_dict("records"):
        part = of_cell.get(tuple(cell[key] for key in CELL_KEYS), runs.head(0))
        where = printed.where(cell, labels)
        sections.append(
            Section(where, _cell(cell, part, by_run, blocks), name=printed.cell_address(cell))
        )
    sections.insert(0, Section("All runs of the group", _links(group)))
    title = f"Runs of {arrows(group)}"
    summary = f"{counted(len(runs), 'run')} in {counted(len(sections) - 1, 'cell')}"
    return page_of(page_name(group), title, title, summary, sections, part=PART)


def _links(group: str) -> Markup:
    """Links to the files that :func:`write_records` makes for the group."""
    link = Markup('<a download href="{}/{}.{}">{} of all these runs</a>')
    kinds = (("csv", "CSV"), ("tex", "LaTeX"))
    each = (link.format(RECORDS, slug(group), kind, name) for kind, name in kinds)
    return Markup('<p class="netlab-files">{}</p>').format(Markup(" ").join(each))


def _cell(cell: dict, runs: pd.DataFrame, by_run: dict, blocks: Mapping[str, str]) -> Markup:
    if runs.empty:
        return Markup("<p>{}.</p>").format(cell["missing_because"] or "No run")
    n_flagged = counted(cell["n_flagged"], "flagged run")
    (value,) = printed.texts(pd.DataFrame([cell]))
    said = f"{value} MB/s from {counted(cell['n_valid'], 'valid run')}, {n_flagged} left out"
    if cell["disturbed"]:
        said = f"{value} MB/s, the median of {n_flagged} ({cell['disturbed']}), not a result"
    tops = [by_run[run]["goodput_MBps"].max() for run in runs["run_id"] if run in by_run]
    top = max(tops, default=0.0)
    rows = [
        _row(run, by_run.get(run["run_id"]), top, blocks)
        for run in runs[list(SHOWN)].to_dict("records")
    ]
    head = Markup("").join(Markup('<th scope="col">{}</th>').format(text) for text in HEADS)
    caption = f"Runs of {cell['group']}, {printed.cell_address(cell)}"
    return Markup("<p>Cell: {}.</p>").format(said) + Markup(
        '<div class="netlab-table runs" tabindex="0" role="region" aria-label="{}"><table>'
        "<thead><tr>{}</tr></thead><tbody>{}</tbody></table></div>"
    ).format(arrows(caption), head, Markup("").join(rows))


def _row(run: dict, line: pd.DataFrame | None, top: float, blocks: Mapping[str, str]) -> Markup:
    name = record_name(run["run_id"])
    block = blocks.get(run["block_id"])
    cells = [
        Markup('<th scope="row">{}</th>').format(run["run_id"]),
        _td(run["round"]),
        _td(f"{run['started_at']:%Y-%m-%d %H:%M:%S}"),
        _td(printed.number(_float(run["goodput_MBps"]))),
        _td(_plot(run, line, top)),
        _td(f"{run['flags']}: {run['message']}" if run["flags"] else "valid"),
        _td(Markup('<a href="{}/{}.json">record</a>').format(RECORDS, name)),
        _td(Markup('<a href="{}">notebook</a>').format(block) if block else printed.MISSING),
    ]
    return Markup('<tr id="{}">{}</tr>').format(name, Markup("").join(cells))


def _td(content: object) -> Markup:
    return Markup("<td>{}</td>").format(content)


def _float(value: object) -> float:
    return math.nan if pd.isna(value) else float(value)  # type: ignore[arg-type]


def _plot(run: dict, line: pd.DataFrame | None, top: float) -> Markup:
    if line is None or len(line) < 2:
        return Markup(printed.MISSING)
    values = line["goodput_MBps"]
    reach = f"{printed.number(values.min())} to {printed.number(values.max())} MB/s"
    words = f"Goodput of {run['run_id']} in {len(line)} samples: {reach}"
    t_s, inside = line["t_s"].tolist(), line["in_window"].tolist()
    return Markup(sparkline(t_s, values.tolist(), inside, top, words))


def record_name(run_id: str) -> str:
    """File name of a run's record, and its id on the page."""
    return slug(run_id)


def write_records(m: Measured, site: Path) -> None:
    """Write the record of every run as JSON, its nested columns parsed; each group's runs as CSV
    with all other columns, and as LaTeX with those that its page shows.
    """
    folder = site / RECORDS
    folder.mkdir()
    for group in m.groups:
        part = m.runs[m.runs["group"] == group]
        plain = part.drop(columns=list(JSON_COLUMNS))
        plain.to_csv(folder / f"{slug(group)}.csv", index=False, lineterminator="\n")
        _printed(part, group).to_latex(folder / f"{slug(group)}.tex")
    nested = cache(_nested)  # most runs of a block share their provenance
    gaps = m.runs.isna().to_numpy()
    names = [f" {json.dumps(name)}: " for name in m.runs]
    inner = [column for column, name in enumerate(m.runs) if name in JSON_COLUMNS]
    for row, missing in zip(m.runs.to_dict("records"), gaps, strict=True):
        row["started_at"] = row["started_at"].isoformat()
        values = list(row.values())
        texts = _scalars([None if gap else v for v, gap in zip(values, missing, strict=True)])
        for column in inner:
            texts[column] = nested(values[column] or "null")
        text = ",\n".join(map(str.__add__, names, texts))
        (folder / f"{record_name(row['run_id'])}.json").write_text(
            f"{{\n{text}\n}}\n", encoding="utf-8"
        )


def _printed(runs: pd.DataFrame, group: str) -> Table:
    """Runs of a group as a table to print, without the links of its page."""
    reasons = [
        f"{flags}: {message}" if flags else "valid"
        for flags, message in zip(runs["flags"], runs["message"], strict=True)
    ]
    frame = pd.DataFrame(
        {
            "run": runs["run_id"].to_numpy(),
            "round": runs["round"].to_numpy(),
            "started, UTC": [f"{at:%Y-%m-%d %H:%M:%S}" for at in runs["started_at"]],
            "goodput, MB/s": runs["goodput_MBps"].astype(float).to_numpy(),
            "flags": reasons,
        }
    )
    return Table(frame, f"Runs of {group}", formats={"goodput, MB/s": printed.number})


def _nested(text: str) -> str:
    """JSON text of a column as part of a record: indented by one more."""
    return json_text(json.loads(text)).replace("\n", "\n ")


def _scalars(values: list[object]) -> list[str]:
    """JSON text of each value; one call for all, with a line feed, which no text of them has."""
    finite = [None if isinstance(v, float) and not math.isfinite(v) else v for v in values]
    text = json.dumps(finite, ensure_ascii=False, separators=("\n", ":"), default=_plain)
    return text[1:-1].split("\n")


def _plain(value: object) -> object:
    """Python's own number for one of numpy."""
    if not hasattr(value, "item"):
        raise TypeError(f"not a value of a record: {value!r}")
    return value.item()
