"""Bounds of the rates that paths carry without loss, or with little, as a search stored them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import pandas as pd

from netlab.errors import NetlabError, why
from netlab.files.tables import Table
from netlab.results import campaign_files
from netlab.results.conditions import of_another

FOLDER, DOCUMENT = "mlrsearch", "bounds.csv"
"""A search of a study is in ``mlrsearch/`` below its results, with the records of its trials."""

OF_SEARCH = ("campaign", "cell_key")
"""Columns of the conditions of a cell: the search's campaign, and the key of the cell."""

RATES = ("lower", "upper", "throughput")
HEADS = {
    "record_length_B": "B",
    "loss_percent": "goal, % lost",
    **{f"{name}_MBps": f"{name}, MB/s" for name in RATES},
    "throughput_per_s": "datagrams/s",
}
NOTE = (
    "Payload of one direction, 10⁶ B/s: bounds of the load, and what arrives of the lower one. "
    "Without an upper bound the limit is not the path: the sender, the receiver, or the highest "
    "rate of the search."
)


def bounds_table(bounds: pd.DataFrame) -> Table:
    """A row a goal of each cell, which is named by what sets it apart within its group."""
    parts = bounds["cell"].str.split("@")
    shared = set.intersection(*map(set, parts)) if len(parts) else set()
    shown = {"group", *HEADS}
    named = [
        ", ".join(p for p in cell if p not in {*shared, group} and p.split("=")[0] not in shown)
        for group, cell in zip(bounds["group"], parts, strict=True)
    ]
    frame = bounds[["group", *HEADS, "limit", "trials"]].rename(columns=HEADS)
    if any(named):
        frame.insert(1, "cell", named)
    formats = {name: ".4g" for name in HEADS.values() if name != "B"}
    formats |= {"datagrams/s": ",.0f"}
    return Table(frame, "Rates by MLRsearch", formats=formats, note=NOTE, data=bounds)


@dataclass(frozen=True)
class StoredBounds:
    """Bounds of a search that were found under the conditions of a report."""

    rows: pd.DataFrame
    notes: tuple[str, ...] = ()
    """Sentences on bounds that are left out, or whose conditions are unknown."""


def stored_bounds(results: Path, campaign: str | None) -> StoredBounds | None:
    """Bounds of a study's search below its results; None without one.

    Those found under other conditions than a campaign of the study are left out, and named.
    """
    place = results / FOLDER
    file = place / DOCUMENT
    if not file.is_file():
        return None
    try:
        rows = pd.read_csv(file)
        _ = bounds_table(rows)
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        text = f"{file} cannot be read as bounds of a search: {why(error)}"
        raise NetlabError(text, code="E-ANALYSIS-047") from None
    if not {*OF_SEARCH} <= set(rows):
        return StoredBounds(rows, ("An older netlab found them, and stored no conditions.",))
    now = campaign_files.read_conditions(results, campaign)
    if now is None:
        return StoredBounds(rows)
    wanted = rows["cell"].map(now.keys)
    other = rows[wanted.notna() & (wanted != rows["cell_key"])]
    notes = [_note(place, str(of), part, now) for of, part in other.groupby("campaign")]
    return StoredBounds(rows.drop(other.index), tuple(notes))


def _note(place: Path, campaign: str, rows: pd.DataFrame, now: campaign_files.Conditions) -> str:
    cells = rows["cell"].nunique()
    return (
        f"Bounds of {cells} {'cell' if cells == 1 else 'cells'} are left out, searched from "
        f"{datetime.strptime(campaign[:8], '%Y%m%d'):%-d %B %Y} under other settings than the "
        f"study's runs: {of_another(place, campaign, now)}; `netlab mlrsearch` searches again."
    )
