"""Names of lines: at their ends, or in a legend below the figure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.container import ErrorbarContainer
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.text import Text

from netlab.charts.looks import text_colour

GAP_PT = 5
"""From the end of a line to its name."""

AT_EDGE = 0.85
"""Share of the axes' width from which a line ends at the right edge."""

GLYPH = 0.62
"""Mean width of a character, in units of the font size."""

MOST_ROOM = 0.5
"""Largest share of the axes that names of lines take inside them."""


def spread(positions: Sequence[float], gap: float) -> list[float]:
    """Move positions apart until neighbours are ``gap`` apart, as little as possible."""
    from scipy.optimize import isotonic_regression  # 0.2 s, for charts with names at lines

    # less their ranks times the gap, they only have to rise: a regression in the least squares
    order = np.argsort(positions, kind="stable")
    ranks = gap * np.arange(len(order))
    placed = np.zeros(len(order))
    if len(order):
        placed[order] = isotonic_regression(np.asarray(positions, float)[order] - ranks).x + ranks
    return placed.tolist()


def figure_of(ax: Axes) -> Figure:
    """The whole figure that axes are on, also when they are on a part of it."""
    fig = ax.figure
    return fig if isinstance(fig, Figure) else fig.figure


def label_lines(
    ax: Axes,
    labels: Mapping[str, str] | None = None,
    *,
    size_pt: float = 9,
    inside: bool = False,
    laid_out: bool = False,
) -> list[Text]:
    """Write each line's name at its right end; call it after the axis limits are final."""
    named = _named_lines(ax)
    if not named:
        return []
    names = [(labels or {}).get(name, name) for name in named.values()]
    ends = [_points(line)[-1] for line in named]
    fig = figure_of(ax)
    if not laid_out and (layout := fig.get_layout_engine()):
        layout.execute(fig)  # it decides how far apart the ends are
    ax.get_xlim(), ax.get_ylim()  # autoscale
    if inside:
        _make_room(ax, max(x for x, _ in ends), max(map(len, names)) * GLYPH * size_pt + 2 * GAP_PT)
    wanted = [float(ax.transData.transform(end)[1]) * 72 / fig.dpi for end in ends]
    placed = spread(wanted, gap=size_pt * 1.25)
    box = {"facecolor": "white", "edgecolor": "none", "pad": 0.4} if inside else None
    texts: list[Text] = []
    for line, name, end, new_pt, old_pt in zip(named, names, ends, placed, wanted, strict=True):
        share = ax.transAxes.inverted().transform(ax.transData.transform(end))[0]
        at_edge = not inside and share > AT_EDGE  # beside the axes no grid runs through a name
        text = ax.annotate(
            name,
            xy=(1, float(end[1])) if at_edge else tuple(end.tolist()),
            xycoords=("axes fraction", "data") if at_edge else "data",
            xytext=(GAP_PT, new_pt - old_pt),
            textcoords="offset points",
            va="center",
            ha="left",
            fontsize=size_pt,
            color=text_colour(line.get_color()),
            bbox=box,
            annotation_clip=False,
        )
        texts.append(text)
    return texts


def _named_lines(ax: Axes) -> dict[Line2D, str]:
    """Lines of the axes that have a name, in their order; of those with bars the bars have it."""
    bars = bars_of(ax)
    lines = [line for line in ax.get_lines() if line.get_transform() is ax.transData]  # no ceiling
    named = {line: str(bars.get(line, line).get_label()) for line in lines}
    return {x: name for x, name in named.items() if not name.startswith("_") and len(_points(x))}


def bars_of(ax: Axes) -> dict[Line2D, ErrorbarContainer]:
    bars = [each for each in ax.containers if isinstance(each, ErrorbarContainer)]
    return {each.lines[0]: each for each in bars if each.lines[0] is not None}


def _points(line: Line2D) -> np.ndarray:
    points = np.asarray(line.get_xydata(), dtype=float)
    return points[~np.isnan(points).any(axis=1)]


def _make_room(ax: Axes, last: float, need_pt: float) -> None:
    """Extend the horizontal axis until a text of that width fits right of the last point."""
    fig = figure_of(ax)
    width_pt = ax.get_window_extent().width * 72 / fig.dpi
    share = min(need_pt / width_pt, MOST_ROOM)
    scale = ax.xaxis.get_transform()
    left, end = (float(v) for v in scale.transform(np.array([ax.get_xlim()[0], last])))
    right = left + (end - left) / (1 - share)
    wanted = float(scale.inverted().transform(np.array([right]))[0])
    ax.set_xlim(right=max(wanted, ax.get_xlim()[1]))  # panels that share the axis may need more


def legend_below(ax: Axes, *legend: Any, ncols: int = 1) -> None:
    """Put a legend below the figure if the axes are alone on it, else on the axes."""
    handles, labels = legend or ax.get_legend_handles_labels()
    if not handles:
        return
    fig = figure_of(ax)
    if len(fig.axes) == 1 and fig.get_layout_engine() is not None:
        fig.legend(handles, labels, ncols=ncols, loc="outside lower center")
    else:
        ax.legend(handles, labels, ncols=ncols, loc="best")
