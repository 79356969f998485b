"""Downloads of a site: results as Parquet and CSV, tables as CSV and LaTeX."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from netlab import results
from netlab.analysis.measured import Measured
from netlab.analysis.then_and_now import comparable
from netlab.report import tables
from netlab.study.schedule import slug

FOLDER = "downloads"
SAMPLES = {
    "intervals": "the samples within every run",
    "traces": "TCP state at every sample",
    "paths": "the queues of emulated paths within every run",
}
"""Tables of a store besides the runs, with their content; empty ones are not offered."""


@dataclass(frozen=True)
class Download:
    """A file of the site, relative to its root, and its content."""

    file: str
    what: str


def write_downloads(measured: Measured, site: Path) -> list[Download]:
    """Write all downloads below ``site/downloads`` and list them in reading order."""
    folder = site / FOLDER
    folder.mkdir(parents=True)
    made = []

    def note(name: str, what: str) -> Path:
        made.append(Download(f"{FOLDER}/{name}", what))
        return folder / name

    measured.cells.to_csv(
        note(
            "cells.csv", "every cell with its interval, disturbed ones with their flags, unrounded"
        ),
        index=False,
        lineterminator="\n",
    )
    runs = note("runs.parquet", "every run, flagged ones included, units in the metadata")
    results.write_atomically(measured.runs, runs, results.RUN_COLUMNS)
    store = results.Store(measured.results)
    for table, what in SAMPLES.items():
        if not (measured.results / table).is_dir():
            continue
        known = measured.intervals if table == "intervals" else None
        rows = store.rows(table, campaign=measured.campaign) if known is None else known
        if len(rows):
            results.write_atomically(rows, note(f"{table}.parquet", what), results.TABLES[table])
    taken: set[str] = set()
    for group in measured.groups:
        shown = tables.of_group(measured, group, "both")
        stem = slug(shown.caption.rsplit(",", 1)[0]) or "table"
        while stem in taken:
            stem += "-2"
        taken.add(stem)
        note(f"{stem}.csv", shown.title)
        shown.export(folder / stem)
        note(f"{stem}.tex", f"{shown.title}, LaTeX")
    if len(comparable(measured)):
        note("findings.csv", "findings of 2003 and their verdicts here")
        note("findings.tex", "findings of 2003 and their verdicts here, LaTeX")
        tables.findings(measured).export(folder / "findings")
    return made
