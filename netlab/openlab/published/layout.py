"""Tables of the openlab documents in their printed layout."""

from __future__ import annotations

import numpy as np
import pandas as pd

from netlab import bus
from netlab.errors import check, require
from netlab.files.tables import Table
from netlab.openlab import published

HEADING_OF_TUNING = {"none": "No Tuning", "kernel": "+ Kernel Tuning", "full": "+ Driver Tuning"}
TUNING_WORDS = {tuning: heading.lstrip("+ ") for tuning, heading in HEADING_OF_TUNING.items()}
TITLE_OF_TABLE = {
    1: "Original results (Linux64 → Linux64)",
    2: "Linux64 → Linux64 results",
    3: "Linux64 ↔ Linux64 results",
    4: "Linux32 → Linux64 results",
    5: "Linux64 → Linux32 results",
    6: "Linux32 ↔ Linux64 results",
}
TITLE_OF_SET = {
    "none": "Set 1: default settings",
    "kernel": "Set 2: improved kernel parameters",
    "full": "Set 3: improved kernel and driver parameters",
}
GOAL_PERCENT = 80

# Preliminary notes, after set 3: "about 470 MB/s for single stream with optimal parameters".
HALF_SPEED_MBPS = 470.0


def grid(frame: pd.DataFrame, value: str) -> pd.DataFrame:
    """Rows by tuning and MTU, columns by streams, in the order printed."""
    wide = frame.pivot(index=["tuning", "mtu_B"], columns="streams", values=value)
    present = [t for t in HEADING_OF_TUNING if t in wide.index.get_level_values("tuning")]
    wide = wide.reindex(present, level="tuning")
    rows = [(HEADING_OF_TUNING[tuning], f"{mtu_B} B") for tuning, mtu_B in wide.index]
    wide.index = pd.MultiIndex.from_tuples(rows, names=["Tuning", "MTU"])
    wide.columns = [f"{n} stream" if n == 1 else f"{n} streams" for n in wide.columns]
    return wide


def report_table(number: int, value: str = "throughput_MBps") -> Table:
    """One of tables 1 to 6 as printed, its best cell bold."""
    check(number in TITLE_OF_TABLE, "number", number, "must be 1 to 6", "E-PUBLISHED-010")
    units = {"throughput_MBps": ("MB/s", ".0f"), "percent_of_bus": ("% of the bus", ".1f")}
    require(value, units, key="value", code="E-PUBLISHED-011")
    unit, spec = units[value]
    frame = published.load("openlab-2003").query("table == @number")
    cells = grid(frame, value)
    return Table(
        cells,
        f"Table {number}: {TITLE_OF_TABLE[number]}, {unit}",
        formats=spec,
        note=f"PCI-X bandwidth of the slower host: {frame['bus_MBps'].iloc[0]:g} MB/s."
        if value == "percent_of_bus"
        else "",
        bold=cells == cells.max(axis=None),
    )


def best_cells() -> Table:
    """The best cell of each table of the report, against the goal of 80 per cent."""
    frame = published.load("openlab-2003")
    best = frame.loc[frame.groupby("table")["throughput_MBps"].idxmax()].reset_index(drop=True)
    met = np.where(best["percent_of_bus"] >= GOAL_PERCENT, "met", "missed")
    # The introduction sets the goal for transfers from Linux64 to Linux64 (tables 1 and 2).
    met[~best["table"].isin([1, 2])] = "–"
    hosts = best["table"].map(TITLE_OF_TABLE).str.removesuffix(" results")
    heads = {
        "table": "Table",
        "hosts": "Hosts",
        "tuning": "Tuning",
        "mtu_B": "MTU, B",
        "streams": "Streams",
        "throughput_MBps": "MB/s",
        "percent_of_bus": "% of the bus",
        "met": f"Goal of {GOAL_PERCENT} %",
    }
    return Table(
        best.assign(hosts=hosts, met=met)[list(heads)].rename(columns=heads),
        "The best cell of each table",
        formats={"% of the bus": ".1f"},
        note=f"The goal of {GOAL_PERCENT} % is set for Linux64 → Linux64 (introduction). Of equal "
        "cells the one with fewer streams is listed.",
    )


def goal_sentence() -> str:
    """A sentence on the goal of the introduction for Linux64 to Linux64: met or not."""
    frame = published.load("openlab-2003").query("table in (1, 2)")
    best = frame.loc[frame["percent_of_bus"].idxmax()]
    outcome = "was met" if best["percent_of_bus"] >= GOAL_PERCENT else "was not met"
    needed = GOAL_PERCENT / 100 * best["bus_MBps"]
    return (
        f"The goal of {GOAL_PERCENT} % of PCI-X, {needed:.0f} MB/s from Linux64 to Linux64, "
        f"{outcome}: the most is {best['throughput_MBps']:g} MB/s (table {best['table']}), "
        f"{best['percent_of_bus']:.1f} %."
    )


def preliminary_set(tuning: str) -> Table:
    """One of sets 1 to 3 of the notes: per stream and total in each cell."""
    require(tuning, TITLE_OF_SET, key="tuning", code="E-PUBLISHED-012")
    frame = published.load("openlab-2003-preliminary").query("tuning == @tuning")
    cells = [
        f"{row.stated_total_MBps:g} ({row.streams} × {row.per_stream_MBps:g})"
        if row.streams > 1
        else f"{row.throughput_MBps:g}"
        for row in frame.itertuples()
    ]
    return Table(
        grid(frame.assign(cell=cells), "cell").droplevel("Tuning"),
        f"{TITLE_OF_SET[tuning]}, MB/s",
        note="Stated total, and in brackets streams × MB/s per stream.",
    )


def slot_table() -> Table:
    """The half-speed and the full-speed PCI-X slot of the notes, against their bandwidth."""
    notes = published.load("openlab-2003-preliminary")
    full = notes.query("tuning == 'full' and mtu_B == 16114 and streams == 1")
    slots = [
        ("Slot 4, half speed", bus.shared(bus.PCI_X_133, half_speed_slot=True), HALF_SPEED_MBPS),
        ("Slot 1, full speed", bus.PCI_X_133, float(full["throughput_MBps"].iloc[0])),
        ("Slot 1, as hoped for", bus.PCI_X_133, 2.0 * HALF_SPEED_MBPS),
    ]
    shown = pd.DataFrame(
        [(name, one.bandwidth_MBps, rate, one.percent(rate)) for name, one, rate in slots],
        columns=["Slot", "Bandwidth, MB/s", "One stream, MB/s", "% of the bus"],
    )
    return Table(
        shown,
        "One stream with all tuning, by slot",
        formats={"% of the bus": ".0f"},
        note="The hoped-for rate is twice that of the half-speed slot, had the CPU been faster.",
    )


def notes_against_report() -> Table:
    """Number of the notes' cells that are equal, changed or absent in table 1 of the report."""
    levels, fates = ["tuning", "mtu_B", "streams"], ["the same in table 1", "changed"]
    fates.append("left out of table 1")
    notes = published.load("openlab-2003-preliminary").set_index(levels)["throughput_MBps"]
    table = published.load("openlab-2003").query("table == 1").set_index(levels)
    report = table["throughput_MBps"].reindex(notes.index)
    fate = np.select([report.isna(), notes == report], [fates[2], fates[0]], fates[1])
    sets = notes.index.get_level_values("tuning").map(TITLE_OF_SET)
    rows = pd.crosstab(sets, fate, rownames=["Set"], colnames=[None])
    return Table(
        rows.reindex(columns=fates, fill_value=0),
        "Cells of the notes in table 1 of the report",
        note="Left out are the columns for 8 streams, and 16114 B without driver tuning.",
    )


def notes_sentence() -> str:
    """A sentence on the highest total of the notes, and on totals that contradict their streams."""
    frame = published.load("openlab-2003-preliminary")
    best = frame.loc[frame["throughput_MBps"].idxmax()]
    differ = (frame["throughput_MBps"] - frame["streams"] * frame["per_stream_MBps"]).abs()
    wrong = int((differ > frame["streams"]).sum())
    streams = int(best["streams"])
    return (
        f"The highest total is {best['throughput_MBps']:g} MB/s, with {streams} "
        f"stream{'s' * (streams != 1)}, MTU {best['mtu_B']} B and "
        f"{TUNING_WORDS[best['tuning']]}; {wrong} of {len(frame)} totals cannot be right."
    )
