"""Bounds of the rates that paths carry without loss, or with little, as a search stored them."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from netlab.files.tables import Table

FOLDER, DOCUMENT = "mlrsearch", "bounds.csv"
"""A search of a study is in ``mlrsearch/`` below its results, with the records of its trials."""

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


def stored_bounds(results: Path) -> pd.DataFrame | None:
    """Bounds of a study's search below its results; None without one."""
    file = results / FOLDER / DOCUMENT
    return pd.read_csv(file) if file.is_file() else None
