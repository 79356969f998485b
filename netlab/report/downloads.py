"""Downloads of a site: results as Parquet and CSV, tables as CSV and LaTeX."""

from __future__ import annotations

from pathlib import Path

from pandas.api.types import is_object_dtype

from netlab.analysis.measured import Measured, cell_table, published_values
from netlab.analysis.shares import with_shares
from netlab.files.tables import Table, csv_of
from netlab.report import tables
from netlab.report.page import free
from netlab.results.columns import RUN_COLUMNS
from netlab.results.columns import TABLES as RESULT_TABLES
from netlab.results.parquet import write_atomically, write_batches, write_derived
from netlab.results.store import Store
from netlab.study.schedule import slug

FOLDER = "downloads"
SAMPLES = {
    "intervals": "the samples within every run",
    "traces": "TCP state at every sample",
    "paths": "the queues of emulated paths within every run",
}
"""Tables of a store besides the runs, with their content; empty ones are not offered."""


def write_downloads(measured: Measured, site: Path) -> dict[str, list[str]]:
    """Write all downloads below ``site/downloads``; the files of each content."""
    folder = site / FOLDER
    folder.mkdir(parents=True)
    made: dict[str, list[str]] = {}

    def note(name: str, what: str) -> Path:
        made.setdefault(what, []).append(f"{FOLDER}/{name}")
        return folder / name

    def export(shown: Table, stem: str, what: str) -> None:
        for file in shown.export(folder / stem):
            note(file.name, what)

    what = "every cell with its interval, flagged ones with their flags, unrounded"
    cells = with_shares(measured, cell_table(measured))
    note("cells.csv", what).write_text(csv_of(cells), "utf-8")
    # such as a factor that some groups lack
    mixed = [name for name in cells if is_object_dtype(cells[name])]
    write_derived(cells.astype(dict.fromkeys(mixed, "string")), note("cells.parquet", what))
    runs = note("runs.parquet", "every run, flagged ones included, units in the metadata")
    write_atomically(measured.runs, runs, RUN_COLUMNS)
    store = Store(measured.results)
    for table, what in SAMPLES.items():
        if not (measured.results / table).is_dir():
            continue
        if table == "intervals" and measured.samples is not None:
            batches = measured.samples.batches()  # those of all runs fill the memory
        else:
            batches = iter([store.rows(table, campaign=measured.campaign)])
        file = folder / f"{table}.parquet"
        if write_batches(batches, file, RESULT_TABLES[table]):
            note(file.name, what)
    taken: set[str] = set()
    for group in measured.groups:
        shown = tables.of_group(measured, group, "both")
        stem = free(slug(shown.caption.rsplit(",", 1)[0]) or "table", taken)
        taken.add(stem)
        export(shown, stem, shown.title)
    if published_values(measured) is not None:
        export(tables.findings(measured), "findings", "findings of 2003 and their verdicts here")
    return made
