"""Names of lines: at their ends, or in a legend below the figure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.container import ErrorbarContainer
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.text import Text

from netlab.charts.palette import text_colour
from netlab.errors import BadInput

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
    order = sorted(range(len(positions)), key=lambda i: positions[i])
    clusters: list[list[int]] = []
    centres: list[float] = []
    for i in order:
        clusters.append([i])
        centres.append(positions[i])
        while len(clusters) > 1:
            reach = gap * (len(clusters[-1]) + len(clusters[-2])) / 2
            if centres[-1] - centres[-2] >= reach:
                break
            clusters[-2].extend(clusters.pop())
            centres.pop()
            centres[-1] = sum(positions[k] for k in clusters[-1]) / len(clusters[-1])
    placed = [0.0] * len(positions)
    for cluster, centre in zip(clusters, centres, strict=True):
        first = centre - gap * (len(cluster) - 1) / 2
        for rank, i in enumerate(cluster):
            placed[i] = first + gap * rank
    return placed


def figure_of(ax: Axes) -> Figure:
    """The whole figure that axes are on, also when they are on a part of it."""
    fig = ax.figure
    return fig if isinstance(fig, Figure) else fig.figure


def label_lines(
    ax: Axes,
    labels: Iterable[str] | Mapping[str, str] | None = None,
    *,
    size_pt: float = 9,
    inside: bool = False,
    laid_out: bool = False,
) -> list[Text]:
    """Write each line's name at its right end, in its hue, without overlaps.

    Call it after the axis limits are final. Names of lines that end at the right edge stand
    beside the axes, so that no grid or ceiling runs through them.
    """
    named = _named_lines(ax)
    lines, own = list(named), list(named.values())
    if labels is None:
        names = own
    elif isinstance(labels, Mapping):
        names = [labels.get(name, name) for name in own]
    else:
        names = list(labels)
    if len(names) != len(lines):
        raise BadInput(
            f"{len(names)} labels for {len(lines)} lines", key="labels", code="E-CHARTS-007"
        )
    if not lines:
        return []
    ends = [_last_point(line) for line in lines]
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
    for line, name, end, new_pt, old_pt in zip(lines, names, ends, placed, wanted, strict=True):
        share = ax.transAxes.inverted().transform(ax.transData.transform(end))[0]
        at_edge = not inside and share > AT_EDGE
        texts.append(
            ax.annotate(
                name,
                xy=(1, end[1]) if at_edge else end,
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
        )
    return texts


def _named_lines(ax: Axes) -> dict[Line2D, str]:
    """Lines of the axes that have a name, in their order; of those with bars the bars have it."""
    bars = {
        container.lines[0]: str(container.get_label())
        for container in ax.containers
        if isinstance(container, ErrorbarContainer) and container.lines[0] is not None
    }
    lines = [line for line in ax.get_lines() if line.get_transform() is ax.transData]
    named = {line: bars.get(line, str(line.get_label())) for line in lines}  # no ceiling
    drawn = {line: name for line, name in named.items() if not name.startswith("_")}
    return {line: name for line, name in drawn.items() if _has_point(line)}


def _points(line: Line2D) -> np.ndarray:
    """Points of a line that have a value."""
    points = np.asarray(line.get_xydata(), dtype=float)
    return points[~np.isnan(points).any(axis=1)]


def _has_point(line: Line2D) -> bool:
    return len(_points(line)) > 0


def _last_point(line: Line2D) -> tuple[float, float]:
    x, y = _points(line)[-1]
    return float(x), float(y)


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
