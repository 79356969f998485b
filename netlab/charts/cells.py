"""Cells of one group over the number of streams, on one set of axes; and panels of a group."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from textwrap import fill
from typing import Any

import pandas as pd
from matplotlib.axes import Axes

from netlab.analysis import cell_texts, printed
from netlab.analysis.cells import disturbed
from netlab.charts import axis_bounds, line_labels, looks
from netlab.charts.chart import describe
from netlab.errors import require
from netlab.study import Study
from netlab.units import arrows

QUANTITIES = {
    "goodput_MBps": ("low_MBps", "high_MBps", "goodput, MB/s"),
    "percent_of_bus": ("percent_low", "percent_high", "goodput, % of bus"),
}
"""Column of the cells -> ends of its interval, and the axis label."""

SIZE_IN = (7.2, 4.2)
NOTE_CHARACTERS = 60
"""Width of a line of text in place of lines."""
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
    require(y, QUANTITIES, key="y", code="E-CHARTS-003")
    part = printed.of_group(cells, group)
    labels = cell_texts.tuning_labels(part, study)
    chosen, title = list(labels), group
    if tuning is not None:
        require(tuning, labels, key="tuning", code="E-CHARTS-004")
        chosen, title = [tuning], f"{group}: {labels[tuning]}"
    styles, dashes = looks.mtu_styles(cells["mtu_B"]), looks.tuning_dashes(list(labels))
    words = []
    with looks.theme() if ax is None else nullcontext():
        ax = ax or looks.new_axes(SIZE_IN)
        for name in chosen:
            for mtu_B, line in part[part["tuning"] == name].groupby("mtu_B"):
                label = f"{labels[name]}, {mtu_B} B"
                style = styles[int(mtu_B)] | {"linestyle": dashes[name]}
                line = cell_line(ax, line.assign(place=line["streams"]), y, label, style)
                words.append(
                    f"{label}: {with_streams(line['streams'], line[y]) or 'no valid cell'}"
                )
        axis_bounds.stream_axis(ax, sorted(part["streams"].unique()))
        finish_axes(ax, part, y, study, title)
        line_labels.label_lines(ax)
    alt = f"Line chart of {axis_label(part, y, study)} over streams, {group}"
    return describe(ax, f"{alt}. {'; '.join(words)}.", caption_of_lines(part, study, y))


def with_streams(
    streams: pd.Series, values: Any, text: Callable[[float], str] = cell_texts.number
) -> str:
    """``500 with 1, 744 with 4``."""
    return ", ".join(f"{text(v)} with {n}" for n, v in zip(streams, values, strict=True))


def finish_axes(ax: Axes, part: pd.DataFrame, y: str, study: Study | None, title: str) -> None:
    """Title, axis of `y`, and the bus if all cells have the same and the lines are near it."""
    ax.set(ylabel=axis_label(part, y, study), title=arrows(title))
    if y == "percent_of_bus" and (unknown := printed.unknown_bus_notes(part)):
        text = fill(unknown[0], NOTE_CHARACTERS)
        ax.text(0.5, 0.5, text, transform=ax.transAxes, ha="center", va="center")
    if part["bus_MBps"].nunique() == 1:
        bus_MBps = float(part["bus_MBps"].max())
        at = 100.0 if y == "percent_of_bus" else bus_MBps
        if at < IN_REACH * part[y].fillna(disturbed(part, y)).max():
            name = printed.bus_name(part, study)
            axis_bounds.ceiling_line(ax, at, f"{name}, {cell_texts.number(bus_MBps)} MB/s")
            ax.set_ylim(top=max(ax.get_ylim()[1], HEADROOM * at))
    ax.set_ylim(bottom=0)


def cell_line(
    ax: Axes, line: pd.DataFrame, y: str, label: str, style: dict, *, gaps: bool = False
) -> pd.DataFrame:
    """Draw the cells of a line over their ``place``; return those that have a value."""
    line = line.sort_values("place")
    points, alone = line[line[y].notna()], line[y].isna().all()
    axis_bounds.hollow_points(
        ax, line["place"], disturbed(line, y), label=label, style=style, alone=alone
    )
    joined = line if gaps else points
    if len(joined):
        low, high, _ = QUANTITIES[y]
        bus = joined["bus_MBps"].astype(float)
        axis_bounds.line_with_bars(
            *(ax, joined["place"], joined[y], (joined[low], joined[high])),
            label=label,
            style=style,
            ceiling=bus.where(bus.isna(), 100.0) if y == "percent_of_bus" else bus,
        )
        scale = 100 / bus if y == "percent_of_bus" else 1.0
        ends = (scale * joined[f"within_{end}_MBps"] for end in ("low", "high"))
        axis_bounds.strokes_within_runs(ax, joined["place"], ends, style["color"])
    return points


def axis_label(cells: pd.DataFrame, y: str, study: Study | None) -> str:
    """Label of the axis of ``y``: it says what the sum of both directions is a share of."""
    both = (cells["direction"] == "<->").all()
    label = "goodput, both directions together" if both else "goodput"
    buses = {printed.bus_name(part, study) for _, part in cells.groupby("group")}
    share = f"% of {buses.pop() if len(buses) == 1 else 'bus'}"
    return f"{label}, {share if y == 'percent_of_bus' else 'MB/s'}"


def caption_of_lines(cells: pd.DataFrame, study: Study | None, y: str = "goodput_MBps") -> str:
    """Meaning of the bars, and of a share where both directions are summed."""
    if y == "percent_of_bus" and (unknown := printed.unknown_bus_notes(cells)):
        return unknown[0]
    notes = printed.interval_notes(cells, study.confidence if study else 0.95, "bars")
    return " ".join([*notes, *printed.cell_notes(cells, HOLLOW), *both_ways_note(cells, study)])


def both_ways_note(cells: pd.DataFrame, study: Study | None) -> list[str]:
    return [f"{printed.BOTH_WAYS.capitalize()}."] if printed.both_ways(cells, study) else []
