"""Forest plots: of a comparison, of generators beside a reference, and of a screen."""

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
from netlab.charts.theme import BAND_COLOUR, CEILING_COLOUR, OTHERS, new_axes, other_style, theme
from netlab.units import arrows

# Forest plot of a comparison: the ratio of every cell with its interval.

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
    reach = _reach(frame, bound)
    draw_rows(ax, names, reach, bound)
    labelled: set[str] = set()
    for y, row in enumerate(rows):
        style = STYLES[row["verdict"]]
        ends = _percent(row["low"]), _percent(row["high"])
        draw_interval(ax, *ends, -y, reach, style["color"])
        at = np.clip(_percent(row["ratio"]), -reach[0], reach[1])
        label = "_" if row["verdict"] in labelled else _legend(row["verdict"], bound)
        labelled.add(row["verdict"])
        ax.plot(at, -y, linestyle="none", markersize=6.5, zorder=3, label=label, **style)
    ax.set(title=title, xlabel=quantity)
    legend_below(ax, ncols=len(labelled))
    return ax


def draw_rows(ax: Axes, names: Sequence[str], reach: tuple[float, float], bound: float) -> None:
    """Draw the band of *the same*, the line of no difference, and a name a row, from 0 down."""
    ax.axvspan(-bound, bound, color=BAND_COLOUR, zorder=0)
    ax.axvline(0, color=CEILING_COLOUR, linewidth=1, zorder=1)
    ax.set_yticks([-y for y in range(len(names))], names)
    ax.tick_params(axis="y", length=0)
    ax.grid(axis="y", visible=False)
    ax.grid(axis="x", visible=True)
    ax.set(xlim=(-reach[0], reach[1]), ylim=(0.6 - len(names), 0.6))


def in_words(frame: pd.DataFrame, names: Sequence[str]) -> str:
    """Rows of a forest plot for its alternative text."""
    return "; ".join(
        f"{name}: {_percent(row['ratio']):+.1f} %"
        f"{span(_percent(row['low']), _percent(row['high']))}, {row['verdict']}"
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


def draw_interval(
    ax: Axes, low: float, high: float, y: float, reach: tuple[float, float], colour: str
) -> None:
    """Draw an interval in per cent, with an arrow at an end beyond the axis."""
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


def span(low: float, high: float) -> str:
    """An interval in per cent for an alternative text."""
    return " (no interval)" if math.isnan(low) else f" ({low:+.1f} to {high:+.1f})"


# Difference of generators from a reference: a dot and an interval each, cell by cell.

AGREEMENT_WIDTH_IN, AGREEMENT_ROW_IN, DOT_IN = 6.2, 0.2, 0.2
AGREEMENT_CLIP_BEYOND = 2.0
"""Largest stretch of the axis by an interval, as a factor of the farthest dot or bound."""


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
    step = AGREEMENT_ROW_IN + DOT_IN * len(names)
    ax = ax or new_axes((AGREEMENT_WIDTH_IN, 1.5 + step * len(cells)))
    reach = (_agreement_reach(part, bound_percent),) * 2
    draw_rows(ax, cells, reach, bound_percent)
    for place, name in enumerate(names):
        rows = part[part["generator"] == name]
        centres = np.array([-cells.index(cell) for cell in rows["cell"]], dtype=float)
        centres -= (place - (len(names) - 1) / 2) * DOT_IN / step
        style = other_style(place) | {"linestyle": "none", "markeredgewidth": 1.0}
        ax.plot(rows["difference_percent"], centres, markersize=6.5, label=name, zorder=3, **style)
        for row, y in zip(rows.itertuples(), centres, strict=True):
            draw_interval(ax, row.low_percent, row.high_percent, y, reach, style["color"])
    ax.set(title=f"Path {path}", xlabel=f"Goodput against {reference}, %")
    legend_below(ax, ncols=len(names))
    words = "; ".join(
        f"{row.generator}, {row.cell}: {row.difference_percent:+.1f} %"
        f"{span(row.low_percent, row.high_percent)}, {row.verdict}"
        for row in part.itertuples()
    )
    return describe(
        ax,
        f"Dots with intervals, path {path}: difference of goodput from {reference} in per cent, "
        f"one row a cell, one dot a generator; a grey band marks {bound_percent:g} % either way. "
        f"{words}.",
    )


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


def _agreement_reach(part: pd.DataFrame, bound_percent: float) -> float:
    """Half the length of the axis: all dots, the band, and intervals up to the clipping limit."""
    least = max(part["difference_percent"].abs().max(), bound_percent)
    widest = np.nanmax([least, part["low_percent"].abs().max(), part["high_percent"].abs().max()])
    return HEADROOM * min(widest, AGREEMENT_CLIP_BEYOND * least)


# Forest plot of a screen: the effect of every knob, and of the pairs that were estimated.


def knob_forest(
    effects: pd.DataFrame, bound: float, *, title: str = "", ax: Axes | None = None
) -> Axes:
    """Draw the effect of every knob with its interval, largest first; pairs below."""
    order = pd.DataFrame(
        {"pair": effects["with_knob"] != "", "size": -effects["ratio"]}
    ).sort_values(["pair", "size"], kind="stable")
    frame = effects.loc[order.index].reset_index(drop=True)
    names = [
        f"{knob} × {second}" if second else knob
        for knob, second in zip(frame["knob"], frame["with_knob"], strict=True)
    ]
    ax = forest_of(
        frame,
        names,
        bound,
        title=title or "Effect of each knob",
        quantity="Goodput with the knob against goodput without, %",
        ax=ax,
    )
    return describe(
        ax,
        f"Forest plot{f', {title}' if title else ''}: effect of each knob on goodput in per cent "
        f"with its simultaneous interval; a grey band marks {bound:g} % either way. "
        f"{in_words(frame, names)}.",
    )
