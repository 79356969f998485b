"""Forest plot of a comparison: the ratio of every cell with its interval."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from netlab.analysis.compare import CANNOT_TELL, FASTER, SAME, SLOWER, Compared
from netlab.charts.chart import Gallery, describe
from netlab.charts.labels import legend_below
from netlab.charts.palette import BAND_COLOUR, CEILING_COLOUR, OTHERS
from netlab.charts.theme import new_axes, theme
from netlab.units import arrows

WIDTH_IN, ROW_IN = 6.6, 0.24
ROWS_OF_A_CHART = 40
"""More cells than this are drawn as one chart a group."""

CLIP_BEYOND = 2.5
"""Largest stretch of the axis by an interval, as a factor of the farthest dot or bound."""
HEADROOM = 1.08

STYLES: dict[str, dict[str, Any]] = {
    SLOWER: {"color": OTHERS[1], "marker": "v"},
    FASTER: {"color": OTHERS[4], "marker": "^"},
    SAME: {"color": OTHERS[2], "marker": "o"},
    CANNOT_TELL: {"color": CEILING_COLOUR, "marker": "o", "markerfacecolor": "white"},
}
"""Colour and marker of each verdict; a hollow dot for no verdict."""


@theme()
def forest(
    compared: Compared,
    *,
    cells: pd.DataFrame | None = None,
    title: str = "",
    ax: Axes | None = None,
) -> Axes:
    """Draw the difference of every cell, a row each, by verdict and size of the effect."""
    frame = compared.frame if cells is None else cells
    ax = forest_of(
        frame,
        _names(frame, compared),
        compared.same_within_percent,
        title=title or "B against A",
        quantity="Goodput of B against A, %",
        ax=ax,
    )
    return describe(
        ax,
        f"Forest plot{f', {title}' if title else ''}: goodput of B against A in per cent, one row "
        "a cell with its simultaneous interval; a grey band marks "
        f"{compared.same_within_percent:g} % either way. "
        f"{in_words(frame, _names(frame, compared))}.",
    )


@theme()
def forest_of(
    frame: pd.DataFrame,
    names: Sequence[str],
    bound: float,
    *,
    title: str,
    quantity: str,
    ax: Axes | None = None,
) -> Axes:
    """Draw ratios with intervals, a row each."""
    rows = frame.to_dict("records")
    ax = ax or new_axes((WIDTH_IN, 1.5 + ROW_IN * len(rows)))
    ax.axvspan(-bound, bound, color=BAND_COLOUR, zorder=0)
    ax.axvline(0, color=CEILING_COLOUR, linewidth=1, zorder=1)
    reach = _reach(frame, bound)
    labelled: set[str] = set()
    for y, row in enumerate(rows):
        style = STYLES[row["verdict"]]
        _interval(ax, row, -y, reach, style["color"])
        at = np.clip(_percent(row["ratio"]), -reach[0], reach[1])
        label = "_" if row["verdict"] in labelled else _legend(row["verdict"], bound)
        labelled.add(row["verdict"])
        ax.plot(at, -y, linestyle="none", markersize=6.5, zorder=3, label=label, **style)
    ax.set_yticks([-y for y in range(len(rows))], names)
    ax.tick_params(axis="y", length=0)
    ax.grid(axis="y", visible=False)
    ax.grid(axis="x", visible=True)
    ax.set(
        xlim=(-reach[0], reach[1]),
        ylim=(0.6 - len(rows), 0.6),
        title=title,
        xlabel=quantity,
    )
    legend_below(ax, ncols=len(labelled))
    return ax


def in_words(frame: pd.DataFrame, names: Sequence[str]) -> str:
    """Rows of a forest plot for its alternative text."""
    return "; ".join(
        f"{name}: {_percent(row['ratio']):+.1f} %{_span(row)}, {row['verdict']}"
        for name, row in zip(names, frame.to_dict("records"), strict=True)
    )


def panels(compared: Compared) -> Gallery:
    """Forest plots of a comparison: one, or one a group if there are many cells."""
    frame = compared.frame
    several = len(frame) > ROWS_OF_A_CHART and "group" in compared.keys
    if not several:
        return Gallery.of(forest(compared))
    parts = frame.groupby("group", sort=False)
    return Gallery.of(*(forest(compared, cells=part, title=str(name)) for name, part in parts))


def _percent(ratio: float) -> float:
    return 100 * (ratio - 1)


def _legend(verdict: str, bound: float) -> str:
    return f"{verdict} within {bound:g} %" if verdict == SAME else verdict


def _names(frame: pd.DataFrame, compared: Compared) -> list[str]:
    """Cells by the levels that tell them apart."""
    words = {"mtu_B": "{} B", "record_length_B": "records {} B"}
    keys: list[str] = []
    for key in compared.keys:  # not those that follow from the ones before, as path from group
        levels = frame[keys].drop_duplicates() if keys else frame.iloc[:1]
        if len(frame[[*keys, key]].drop_duplicates()) > len(levels):
            keys.append(key)
    keys = keys or list(compared.keys[:1])
    return [
        arrows(
            ", ".join(
                f"{row[key]} stream{'s' * (row[key] != 1)}"
                if key == "streams"
                else words.get(key, "{}").format(row[key])
                for key in keys
            )
        )
        for row in frame.to_dict("records")
    ]


def _reach(frame: pd.DataFrame, bound: float) -> tuple[float, float]:
    """Length of the axis to the left and to the right of 0: dots, band, and nearby intervals."""
    found = []
    for sign, end in ((-1, "low"), (1, "high")):
        dots = max(*(sign * _percent(ratio) for ratio in frame["ratio"]), 1.2 * bound)
        ends = float((sign * (100 * (frame[end] - 1))).max())
        widest = dots if math.isnan(ends) else max(dots, float(ends))
        found.append(HEADROOM * min(widest, CLIP_BEYOND * dots))
    return found[0], found[1]


def _interval(ax: Axes, row: dict, y: float, reach: tuple[float, float], colour: str) -> None:
    low, high = _percent(row["low"]), _percent(row["high"])
    if math.isnan(low) or math.isnan(high):
        return
    shown = max(low, -reach[0]), min(high, reach[1])
    ax.plot(shown, [y, y], color=colour, linewidth=1.5, zorder=2, label="_")
    for end, at, mark in ((low, shown[0], "<"), (high, shown[1], ">")):
        cut = at != end
        ax.plot(
            at, y, mark if cut else "|", color=colour, markersize=5 if cut else 7, zorder=2,
            clip_on=False, label="_",
        )  # fmt: skip


def _span(row: dict) -> str:
    if math.isnan(row["low"]):
        return " (no interval)"
    return f" ({_percent(row['low']):+.1f} to {_percent(row['high']):+.1f})"
