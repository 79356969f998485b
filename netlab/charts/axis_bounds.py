"""Bounds of a chart: its ceiling as a named line, and intervals that end at zero and at it."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import NullFormatter, NullLocator
from matplotlib.typing import ColorType

from netlab.charts.drawn_numbers import keep_interval
from netlab.charts.looks import CEILING_COLOUR, CEILING_DASH, HOLLOW_COLOUR

LINEAR_UP_TO = 32
"""Stream counts that span more than this factor go on a logarithmic axis."""

RATIOS = (1, 2, 0.5, 5, 0.2, 10, 0.1, 20, 0.05, 1.5, 0.7, 3, 0.3, 1.2, 0.8, 1.1, 0.9)
"""Ticks of an axis of ratios, the most wanted first."""

LEAST_GAP = 0.12
"""Distance of two ticks of an axis of ratios, as a share of the axis."""


def within(
    values: Any, low: Any, high: Any, ceiling: Any = math.inf
) -> tuple[np.ndarray, np.ndarray]:
    """Ends of intervals as they are drawn: not below zero, and not across the ceiling."""
    means, low, high = (np.asarray(v, dtype=float) for v in (values, low, high))
    top = np.broadcast_to(np.asarray(ceiling, dtype=float), means.shape)
    cut = (means <= top) & (high > top)
    return np.where(low < 0, 0.0, low), np.where(cut, top, high)


def line_with_bars(
    ax: Axes,
    x: Any,
    values: Any,
    ends: tuple[Any, Any],
    *,
    label: str,
    style: dict[str, Any],
    ceiling: Any = math.inf,
) -> None:
    """Draw a line with the interval of each point; the data of the figure have whole intervals."""
    x, means = (np.asarray(v, dtype=float) for v in (x, values))
    low, high = within(means, *ends, ceiling)
    bars = {"yerr": np.nan_to_num([means - low, high - means]), "capsize": 3, "elinewidth": 1.1}
    keep_interval(ax.errorbar(x, means, label=label, **bars, **style), *ends)


def strokes_within_runs(
    ax: Axes, places: Any, ends: Iterable[Any], colour: ColorType, *, upright: bool = True
) -> None:
    """Draw intervals within single runs: broad, pale and without caps, unlike those over rounds."""
    places, low, high = (np.asarray(v, dtype=float) for v in (places, *ends))
    some, draw = ~np.isnan(low), ax.vlines if upright else ax.hlines
    if some.any():
        draw(places[some], low[some], high[some], label="_within a run", colors=colour,
             linewidth=9, alpha=0.3, zorder=1)  # fmt: skip


def hollow_points(
    ax: Axes, x: Any, values: Any, *, label: str, style: dict[str, Any], alone: bool
) -> None:
    """Draw the medians of flagged cells: the marks of their line, hollow, grey and not joined."""
    x, values = (np.asarray(v, dtype=float) for v in (x, values))
    some = ~np.isnan(values)
    if not some.any():
        return
    (points,) = ax.plot(
        x[some], values[some], linestyle="none", marker=style["marker"], markerfacecolor="none",
        color=HOLLOW_COLOUR, markeredgewidth=1.2, label=label if alone else "_hollow",
        clip_on=False,
    )  # fmt: skip
    points.netlab_name = f"{label}, flagged".lstrip(", ")  # type: ignore[attr-defined]


def ceiling_line(ax: Axes, value: float, name: str, *, written: bool = True) -> None:
    """Draw a dotted line at the ceiling, with its name above its left end."""
    if math.isnan(value):
        return
    ax.axhline(value, label=name, zorder=1, color=CEILING_COLOUR, linewidth=1.3,
               linestyle=CEILING_DASH)  # fmt: skip
    if written:
        ax.annotate(name, (0, value), xycoords=("axes fraction", "data"), xytext=(4, 3),
                    textcoords="offset points", fontsize=8.5, color=CEILING_COLOUR, va="bottom",
                    annotation_clip=False)  # fmt: skip


def stream_axis(ax: Axes, streams: list[int]) -> None:
    """Set the ticks of an axis of stream counts: every count, logarithmic where they span much."""
    if streams[-1] / streams[0] > LINEAR_UP_TO:
        ax.set_xscale("log")
        ax.minorticks_off()
    ax.set_xticks(streams, [str(count) for count in streams])
    ax.set_xlabel("streams")


def ratio_axis(ax: Axes, reach: tuple[float, float]) -> None:
    """Make the horizontal axis logarithmic, with ticks such as ``×2`` that do not touch."""
    ax.set_xscale("log")
    ax.set_xlim(*reach)
    width = math.log(reach[1] / reach[0])
    ticks: list[float] = []
    for wanted in RATIOS:
        near = any(abs(math.log(wanted / tick)) < LEAST_GAP * width for tick in ticks)
        if reach[0] <= wanted <= reach[1] and not near:
            ticks.append(wanted)
    ax.set_xticks(sorted(ticks), [f"×{tick:g}" for tick in sorted(ticks)])
    ax.xaxis.set_minor_locator(NullLocator())
    ax.xaxis.set_minor_formatter(NullFormatter())
    ax.grid(axis="x", visible=True)
