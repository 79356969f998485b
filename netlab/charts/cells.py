"""Cells of one group over the number of streams, on one set of axes."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import nullcontext

import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.axes import Axes

from netlab.analysis import printed
from netlab.analysis.cells import disturbed
from netlab.charts.bounds import ceiling_line, hollow_points, line_with_bars, stream_axis
from netlab.charts.chart import describe
from netlab.charts.labels import label_lines
from netlab.charts.palette import mtu_styles, tuning_dashes
from netlab.charts.theme import theme
from netlab.errors import BadInput
from netlab.study import Study
from netlab.units import arrows

QUANTITIES = {
    "goodput_MBps": ("low_MBps", "high_MBps", "goodput, MB/s"),
    "percent_of_bus": ("percent_low", "percent_high", "goodput, % of bus"),
}
"""Column of the cells -> ends of its interval, and the axis label."""

SIZE_IN = (7.2, 4.2)
HOLLOW = "Hollow and grey"
HEADROOM = 1.1
"""Room above the bus for its name, as a factor."""

IN_REACH = 3
"""A bus above this multiple of the highest cell is not drawn: it would flatten the lines."""


def over_streams(
    cells: pd.DataFrame,
    group: str,
    *,
    y: str = "goodput_MBps",
    tuning: str | None = None,
    study: Study | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw the cells of a group over streams: a colour and marker an MTU, a dash a tuning."""
    if y not in QUANTITIES:
        raise BadInput(
            f"choose from {', '.join(QUANTITIES)}", key="y", value=y, code="E-CHARTS-003"
        )
    part = printed.of_group(cells, group)
    labels = printed.tuning_labels(part, study)
    chosen = list(labels) if tuning is None else [tuning]
    title = group if tuning is None else f"{group}: {chosen_label(labels, tuning)}"
    with theme() if ax is None else nullcontext():
        if ax is None:
            _, ax = plt.subplots(figsize=SIZE_IN)
        styles, dashes = mtu_styles(cells["mtu_B"]), tuning_dashes(list(labels))
        words = []
        for name in chosen:
            for mtu_B, line in part[part["tuning"] == name].groupby("mtu_B"):
                style = styles[int(mtu_B)] | {"linestyle": dashes[name]}
                words.append(_line(ax, line, y, f"{labels[name]}, {mtu_B} B", style))
        stream_axis(ax, sorted(part["streams"].unique()))
        ax.set_ylabel(axis_label(part, y, study))
        bus(ax, part, y, study)
        ax.set_ylim(bottom=0)
        ax.set_title(arrows(title))
        label_lines(ax)
    alt = f"Line chart of {axis_label(part, y, study)} over TCP streams, {group}"
    return describe(ax, f"{alt}. {'; '.join(words)}.", caption(part, study))


def chosen_label(labels: Mapping[str, str], tuning: str) -> str:
    """The label of a tuning."""
    if tuning not in labels:
        raise BadInput(
            f"choose from {', '.join(labels)}", key="tuning", value=tuning, code="E-CHARTS-004"
        )
    return labels[tuning]


def _line(ax: Axes, line: pd.DataFrame, y: str, label: str, style: dict) -> str:
    """Draw the cells of one tuning and MTU that have a value; return them in words."""
    line = line.sort_values("streams")
    hollow, alone = disturbed(line, y), line[y].isna().all()
    hollow_points(ax, line["streams"], hollow, label=label, style=style, alone=alone)
    line = line[line[y].notna()]
    if line.empty:
        return f"{label}: no valid cell"
    low, high, _ = QUANTITIES[y]
    line_with_bars(
        *(ax, line["streams"], line[y], (line[low], line[high])),
        label=label,
        style=style,
        ceiling=ceiling_of(line, y),
    )
    values = zip(line[y], line["streams"], strict=True)
    return f"{label}: " + ", ".join(f"{printed.number(v)} with {n}" for v, n in values)


def ceiling_of(cells: pd.DataFrame, y: str) -> pd.Series:
    """The ceiling of each cell in the unit of ``y``; NaN where the bus is unknown."""
    known = cells["bus_MBps"].astype(float)
    return known.where(known.isna(), 100.0) if y == "percent_of_bus" else known


def axis_label(cells: pd.DataFrame, y: str, study: Study | None) -> str:
    """Label of the axis of ``y``: it says what the sum of both directions is a share of."""
    both = (cells["direction"] == "<->").all()
    label = "goodput, both directions together" if both else "goodput"
    buses = {printed.bus_name(part, study) for _, part in cells.groupby("group")}
    share = f"% of {buses.pop() if len(buses) == 1 else 'bus'}"
    return f"{label}, {share if y == 'percent_of_bus' else 'MB/s'}"


def caption(cells: pd.DataFrame, study: Study | None) -> str:
    """Meaning of the bars, and of a share where both directions are summed."""
    notes = printed.interval_notes(cells, study.confidence if study else 0.95, "bars")
    notes += printed.cell_notes(cells, HOLLOW)
    if printed.both_ways(cells, study):
        notes.append(f"{printed.BOTH_WAYS.capitalize()}.")
    return " ".join(notes)


def bus(ax: Axes, cells: pd.DataFrame, y: str, study: Study | None) -> None:
    """Draw the bus with its name, if all cells have the same and it is in reach of the lines."""
    if cells["bus_MBps"].nunique() != 1:
        return
    known = float(cells["bus_MBps"].max())
    name = printed.bus_name(cells, study)
    text = f"{name}, {printed.number(known)} MB/s"
    at = 100.0 if y == "percent_of_bus" else known
    if at < IN_REACH * cells[y].fillna(disturbed(cells, y)).max():
        ceiling_line(ax, at, text)
        ax.set_ylim(top=max(ax.get_ylim()[1], HEADROOM * at))
