"""The ceiling of each measured cell: the lowest of bus, link and memory copies, and its source."""

from __future__ import annotations

import pandas as pd

from netlab.analysis.cells import CELL_KEYS, valid
from netlab.files.tables import Table
from netlab.units import arrows

CEILING_COLUMNS = (
    *CELL_KEYS,
    *("goodput_MBps", "ceiling_MBps", "ceiling_kind", "ceiling_source", "percent_of_ceiling"),
)


def ceilings(runs: pd.DataFrame, cells: pd.DataFrame) -> pd.DataFrame:
    keys = list(CELL_KEYS)
    by_cell = valid(runs).dropna(subset=["ceiling_MBps"]).groupby(keys, sort=False)
    frame = by_cell.agg(
        {"ceiling_MBps": "median", "ceiling_kind": "first", "ceiling_source": "first"}
    )
    joined = cells[[*keys, "goodput_MBps"]].merge(frame.reset_index(), on=keys, how="inner")
    joined["percent_of_ceiling"] = 100 * joined["goodput_MBps"] / joined["ceiling_MBps"]
    return joined.reindex(columns=list(CEILING_COLUMNS))


def ceilings_table(runs: pd.DataFrame, cells: pd.DataFrame) -> Table | None:
    """Ceilings of each group with their sources, and its best cell; None without a known one."""
    frame = ceilings(runs, cells)
    if frame.empty:
        return None
    of_group = frame.groupby(["group", "ceiling_kind", "ceiling_source"], sort=False)
    rows = of_group.agg(
        low=("ceiling_MBps", "min"),
        high=("ceiling_MBps", "max"),
        best=("percent_of_ceiling", "max"),
    ).reset_index()
    names = {"ceiling_kind": "kind", "ceiling_source": "source"}
    return Table(
        rows.rename(columns=names).assign(group=rows["group"].map(arrows)),
        "Ceiling of each group, and its best cell",
        heads={
            "group": "Group",
            "kind": "Lowest",
            "source": "Source",
            "low": "Payload from, MB/s",
            "high": "to, MB/s",
            "best": "Best cell, %",
        },
        formats={"low": ".0f", "high": ".0f", "best": ".0f"},
        note="The lowest of bus, link and memory copies, less the headers of Ethernet, IP and TCP. "
        "The bus of PCI Express is what full packets of the card's largest size carry; "
        "acknowledgements, flow control and descriptors are not counted.",
    )
