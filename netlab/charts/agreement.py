"""Difference of generators from a reference: a dot and an interval each, cell by cell."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from netlab.charts.chart import Gallery, describe
from netlab.charts.labels import legend_below
from netlab.charts.palette import BAND_COLOUR, CEILING_COLOUR, other_style
from netlab.charts.theme import new_axes, theme

WIDTH_IN, ROW_IN, DOT_IN = 6.2, 0.2, 0.2
CLIP_BEYOND = 2.0
"""Largest stretch of the axis by an interval, as a factor of the farthest dot or bound."""
HEADROOM = 1.08


def differences(compared: pd.DataFrame, bound_percent: float) -> Gallery:
    """Draw the differences from the reference, one chart a path."""
    names = compared["generator"].drop_duplicates().tolist()
    parts = [part for _, part in compared.groupby("path", sort=False)]
    return Gallery.of(*(of_path(part, names, bound_percent) for part in parts))


@theme()
def of_path(
    part: pd.DataFrame, names: list[str], bound_percent: float, *, ax: Axes | None = None
) -> Axes:
    """Draw the differences on one path, a row a cell, a dot with its interval a generator."""
    part = part.assign(cell=_cells(part))
    path, reference = part["path"].iloc[0], part["reference"].iloc[0]
    cells = part["cell"].drop_duplicates().tolist()
    step = ROW_IN + DOT_IN * len(names)
    ax = ax or new_axes((WIDTH_IN, 1.5 + step * len(cells)))
    ax.axvspan(-bound_percent, bound_percent, color=BAND_COLOUR, zorder=0)
    ax.axvline(0, color=CEILING_COLOUR, linewidth=1, zorder=1)
    reach = _reach(part, bound_percent)
    for place, name in enumerate(names):
        rows = part[part["generator"] == name]
        centres = np.array([-cells.index(cell) for cell in rows["cell"]], dtype=float)
        centres -= (place - (len(names) - 1) / 2) * DOT_IN / step
        style = other_style(place) | {"linestyle": "none", "markeredgewidth": 1.0}
        ax.plot(rows["difference_percent"], centres, markersize=6.5, label=name, zorder=3, **style)
        for row, y in zip(rows.itertuples(), centres, strict=True):
            _interval(ax, row.low_percent, row.high_percent, y, reach, style["color"])
    ax.set_yticks([-i for i in range(len(cells))], cells)
    ax.tick_params(axis="y", length=0)
    ax.grid(axis="y", visible=False)
    ax.grid(axis="x", visible=True)
    ax.set(
        xlim=(-reach, reach),
        ylim=(0.5 - len(cells), 0.5),
        title=f"Path {path}",
        xlabel=f"Goodput against {reference}, %",
    )
    legend_below(ax, ncols=len(names))
    words = "; ".join(
        f"{row.generator}, {row.cell}: {row.difference_percent:+.1f} %{_span(row)}, {row.verdict}"
        for row in part.itertuples()
    )
    return describe(
        ax,
        f"Dots with intervals, path {path}: difference of goodput from {reference} in per cent, "
        f"one row a cell, one dot a generator; a grey band marks {bound_percent:g} % either way. "
        f"{words}.",
    )


def _interval(ax: Axes, low: float, high: float, y: float, reach: float, colour: str) -> None:
    if math.isnan(low):
        return
    ax.plot([max(low, -reach), min(high, reach)], [y, y], color=colour, linewidth=1.5, zorder=2)
    for end, mark in ((low, "<"), (high, ">")):
        cut = abs(end) > reach
        ax.plot(
            math.copysign(min(abs(end), reach), end), y, mark if cut else "|", color=colour,
            markersize=5 if cut else 7, zorder=2, clip_on=False,
        )  # fmt: skip


def _cells(part: pd.DataFrame) -> list[str]:
    """Names of the cells of a path: MTU, streams, and any other level that differs."""
    more = [
        name
        for name in ("direction", "tuning", "congestion", "record_length_B", "buffer_B")
        if part[name].nunique() > 1
    ]
    return [
        ", ".join(
            [f"{row['mtu_B']} B", f"{row['streams']} stream{'s' * (row['streams'] != 1)}"]
            + [str(row[name]) for name in more]
        )
        for row in part.to_dict("records")
    ]


def _reach(part: pd.DataFrame, bound_percent: float) -> float:
    """Half the length of the axis: all dots, the band, and intervals up to the clipping limit."""
    least = max(part["difference_percent"].abs().max(), bound_percent)
    widest = np.nanmax([least, part["low_percent"].abs().max(), part["high_percent"].abs().max()])
    return HEADROOM * min(widest, CLIP_BEYOND * least)


def _span(row) -> str:
    if math.isnan(row.low_percent):
        return " (no interval)"
    return f" ({row.low_percent:+.1f} to {row.high_percent:+.1f})"
