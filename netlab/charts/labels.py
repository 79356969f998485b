"""Names of lines: at their ends, or in a legend below the figure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.text import Text

from netlab.charts.palette import text_colour
from netlab.errors import BadInput


def spread(positions: Sequence[float], gap: float) -> list[float]:
    """Move positions apart until neighbours are ``gap`` apart, as little as possible.

    Parameters
    ----------
    positions : sequence of float
        Wanted positions, in any order.
    gap : float
        Least distance between two of them, same unit.

    Returns
    -------
    list of float
        New positions in the order given; clusters stay centred on their mean.
    """
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
    ax: Axes, labels: Iterable[str] | Mapping[str, str] | None = None, *, size_pt: float = 9
) -> list[Text]:
    """Write each line's name at its right end, in its hue, without overlaps.

    Call it after the axis limits are final.

    Parameters
    ----------
    ax : Axes
        Axes whose lines are labelled. Lines whose label starts with ``_`` are left alone.
    labels : iterable of str or mapping, optional
        Names in the order of the lines, or a mapping from line label to name. By default each
        line's own label.
    size_pt : float
        Font size.

    Returns
    -------
    list of Text
        One per labelled line, in their order.

    Raises
    ------
    BadInput
        ``labels`` has another length than the lines.
    """
    lines = [ln for ln in ax.get_lines() if not str(ln.get_label()).startswith("_")]
    own = [str(ln.get_label()) for ln in lines]
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
    fig = figure_of(ax)
    fig.draw_without_rendering()  # the layout decides how far apart the ends are
    ends = [(float(x), float(y)) for x, y in (np.asarray(ln.get_xydata())[-1] for ln in lines)]
    wanted = [float(ax.transData.transform(end)[1]) * 72 / fig.dpi for end in ends]
    placed = spread(wanted, gap=size_pt * 1.25)
    return [
        ax.annotate(
            name,
            xy=end,
            xytext=(6, new_pt - old_pt),
            textcoords="offset points",
            va="center",
            ha="left",
            fontsize=size_pt,
            color=text_colour(ln.get_color()),
            annotation_clip=False,
        )
        for ln, name, end, new_pt, old_pt in zip(lines, names, ends, placed, wanted, strict=True)
    ]


def legend_below(ax: Axes, *legend: Any, ncols: int = 1) -> None:
    """Put a legend below the figure if the axes are alone on it, else on the axes.

    Parameters
    ----------
    ax : Axes
        Axes whose lines are listed.
    *legend
        Handles and labels; by default those of the axes.
    ncols : int
        Columns of the legend.
    """
    handles, labels = legend or ax.get_legend_handles_labels()
    if not handles:
        return
    fig = figure_of(ax)
    if len(fig.axes) == 1 and fig.get_layout_engine() is not None:
        fig.legend(handles, labels, ncols=ncols, loc="outside lower center")
    else:
        ax.legend(handles, labels, ncols=ncols, loc="best")
