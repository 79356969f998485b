"""Labels and bounds of a chart, and the numbers that it draws as CSV and hover values."""

from __future__ import annotations

import html
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.collections import QuadMesh
from matplotlib.container import ErrorbarContainer
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.text import Text
from matplotlib.ticker import NullFormatter, NullLocator

from netlab.charts.theme import CEILING_COLOUR, CEILING_DASH, HOLLOW_COLOUR, text_colour
from netlab.errors import BadInput
from netlab.files.tables import csv_of

# Names of lines: at their ends, or in a legend below the figure.

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
    """Write each line's name at its right end; call it after the axis limits are final."""
    named = _named_lines(ax)
    lines, names = list(named), list(named.values())
    if isinstance(labels, Mapping):
        names = [labels.get(name, name) for name in names]
    elif labels is not None:
        names = list(labels)
    if len(names) != len(lines):
        raise BadInput(
            f"{len(names)} labels for {len(lines)} lines", key="labels", code="E-CHARTS-007"
        )
    if not lines:
        return []
    ends = [tuple(_points(line)[-1].tolist()) for line in lines]
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
        at_edge = not inside and share > AT_EDGE  # beside the axes no grid runs through a name
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
    bars = _bars(ax)
    lines = [line for line in ax.get_lines() if line.get_transform() is ax.transData]  # no ceiling
    named = {line: str(bars.get(line, line).get_label()) for line in lines}
    drawn = {line: name for line, name in named.items() if not name.startswith("_")}
    return {line: name for line, name in drawn.items() if len(_points(line))}


def _bars(ax: Axes) -> dict[Line2D, ErrorbarContainer]:
    """Lines that have bars, each with its bars."""
    return {
        container.lines[0]: container
        for container in ax.containers
        if isinstance(container, ErrorbarContainer) and container.lines[0] is not None
    }


def _points(line: Line2D) -> np.ndarray:
    """Points of a line that have a value."""
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


# Numbers that a figure draws: its data as CSV inside the SVG, and hover values on its marks.

COLUMNS = ("panel", "series", "x_label", "y_label", "x", "y", "low", "high")
GID = "netlab-line-"
_USE = re.compile(r"<use ([^>]*)/>")
_DATA = re.compile(r'<metadata class="netlab-data">(.*?)</metadata>', re.DOTALL)


@dataclass(frozen=True)
class Series:
    """Points of one line of a figure, with the ends of their bars where it has bars."""

    panel: str
    label: str
    axes: Axes
    line: Line2D
    low: np.ndarray
    high: np.ndarray

    def points(self) -> Iterator[tuple]:
        """Its points as a reader sees them: x, y, low, high."""
        x = _shown(self.axes, np.atleast_1d(self.line.get_xdata()), "x")
        y = _shown(self.axes, np.atleast_1d(self.line.get_ydata()), "y")
        return zip(x, y, self.low, self.high, strict=True)


def series_of(fig: Figure) -> list[Series]:
    """Lines of a figure that stand for data: those with a name, and those with bars."""
    return [
        Series(_panel(ax), label, ax, line, low, high)
        for ax in fig.axes
        for line, label, low, high in _lines(ax)
    ]


def _panel(ax: Axes) -> str:
    return (ax.get_title(loc="left") or ax.get_title()).replace("\n", ", ")


def keep_interval(bars: ErrorbarContainer, low: np.ndarray, high: np.ndarray) -> None:
    """Give bars that are cut at an edge of the chart the interval that they stand for."""
    ends = (np.asarray(low, dtype=float), np.asarray(high, dtype=float))
    bars.netlab_interval = ends  # type: ignore[attr-defined]


def keep_name(line: Line2D, name: str) -> None:
    """Name a line in the data of its figure that has no name in the figure itself."""
    line.netlab_name = name  # type: ignore[attr-defined]


def _lines(ax: Axes) -> Iterator[tuple[Line2D, str, np.ndarray, np.ndarray]]:
    with_bars = _bars(ax)
    for line in ax.get_lines():
        points = len(np.atleast_1d(line.get_xdata()))
        blank = np.full(points, np.nan)
        if line in with_bars:
            yield line, str(with_bars[line].get_label()), *_interval(with_bars[line], blank)
        elif not (name := getattr(line, "netlab_name", str(line.get_label()))).startswith("_"):
            yield line, name, blank, blank


def _interval(container: ErrorbarContainer, blank: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The interval of each point: what :func:`keep_interval` stored, else the ends of the bars."""
    if hasattr(container, "netlab_interval"):
        return container.netlab_interval
    bars = container.lines[2]
    ends = _ends(bars[0].get_segments()) if bars else blank
    return tuple(ends.T) if ends.shape == (len(blank), 2) else (blank, blank)


def _ends(segments: list[np.ndarray]) -> np.ndarray:
    """Lower and upper end of each bar; NaN for the bar of a missing point."""
    rows = [(bar[0][1], bar[1][1]) if len(bar) == 2 else (np.nan, np.nan) for bar in segments]
    return np.array(rows, dtype=float).reshape(-1, 2)


def data_of(fig: Figure) -> pd.DataFrame:
    """The points of a figure, the fields of its heat maps and its bars, with :data:`COLUMNS`."""
    rows: list[tuple] = []
    for one in series_of(fig):
        names = (one.panel, one.label, one.axes.get_xlabel(), one.axes.get_ylabel())
        rows += [(*names, *point) for point in one.points()]
    for ax in fig.axes:
        names = (_panel(ax), "", ax.get_xlabel(), ax.get_ylabel())
        for mesh in ax.collections:
            if isinstance(mesh, QuadMesh) and ax.get_label() != "<colorbar>":
                rows += _fields(ax, mesh, names)
        for bar in ax.patches:
            if hasattr(bar, "get_height") and hasattr(bar, "get_x"):
                rows.append((*names, bar.get_x(), bar.get_height(), np.nan, np.nan))
    frame = pd.DataFrame.from_records(rows, columns=list(COLUMNS))
    return frame.dropna(axis="columns", how="all")


def _shown(ax: Axes, values: np.ndarray, which: str) -> list:
    """Values, or the names of their ticks where the axis has names."""
    axis = ax.xaxis if which == "x" else ax.yaxis
    names = dict(
        zip(axis.get_ticklocs(), (t.get_text() for t in axis.get_ticklabels()), strict=False)
    )
    if any(re.search(r"[A-Za-z]", text) for text in names.values()):
        return [names.get(value, value) for value in values.tolist()]
    return values.tolist()


def _fields(ax: Axes, mesh: QuadMesh, names: tuple) -> list[tuple]:
    array = mesh.get_array()
    if array is None:
        return []
    values: np.ndarray = np.ma.filled(np.ma.asarray(array, dtype=float), np.nan)
    columns = [text.get_text() for text in ax.get_xticklabels()]
    labels = [text.get_text() for text in ax.get_yticklabels()]
    if values.size != len(columns) * len(labels):
        return []
    grid = values.reshape(len(labels), len(columns))
    return [
        (names[0], label, names[2], names[3], column, value, np.nan, np.nan)
        for label, row in zip(labels, grid, strict=True)
        for column, value in zip(columns, row, strict=True)
    ]


def mark(fig: Figure) -> list[list[str]]:
    """Give each line of data an id, and return the hover text of its points."""
    texts = []
    for number, one in enumerate(series_of(fig)):
        one.line.set_gid(f"{GID}{number}")
        texts.append([_hover(one, *point) for point in one.points()])
    return texts


def _hover(one: Series, x: object, y: object, low: float, high: float) -> str:
    text = ", ".join(part for part in (one.label, f"{one.axes.get_xlabel()} {_number(x)}") if part)
    text += f": {_number(y)}"
    if not (np.isnan(low) or np.isnan(high)):
        text += f" ({_number(low)} to {_number(high)})"
    unit = one.axes.get_ylabel().rpartition(", ")[2]
    return f"{text} {unit}".strip()


def _number(value: object) -> str:
    return f"{value:.5g}" if isinstance(value, float) else str(value)


def annotate(svg: str, texts: list[list[str]], data: pd.DataFrame) -> str:
    """Add hover texts to the marks of an SVG, and its data as CSV."""
    for number, points in enumerate(texts):
        start = svg.find(f'<g id="{GID}{number}">')
        if start < 0:
            continue
        end = svg.find('<g id="', start + 4)
        part = svg[start : end if end > 0 else len(svg)]
        if len(_USE.findall(part)) == len(points):
            svg = svg[:start] + _with_titles(part, points) + svg[start + len(part) :]
    if data.empty:
        return svg
    text = html.escape(csv_of(data))
    at = svg.rindex("</svg>")
    return f'{svg[:at]}<metadata class="netlab-data">{text}</metadata>{svg[at:]}'


def _with_titles(part: str, points: list[str]) -> str:
    words = iter(points)

    def titled(use: re.Match) -> str:
        return f"<use {use[1]}><title>{html.escape(next(words))}</title></use>"

    return _USE.sub(titled, part)


def csv_in(svg: str) -> str:
    """The data that :func:`annotate` put into an SVG; empty if there is none."""
    found = _DATA.search(svg)
    return html.unescape(found[1]) if found else ""


# Bounds of a chart: its ceiling as a named line, and intervals that end at zero and at it.

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
) -> ErrorbarContainer:
    """Draw a line with the interval of each point; the data of the figure have whole intervals."""
    means = np.asarray(values, dtype=float)
    low, high = within(means, *ends, ceiling)
    bars = ax.errorbar(
        np.asarray(x, dtype=float),
        means,
        yerr=[np.nan_to_num(means - low), np.nan_to_num(high - means)],
        label=label,
        capsize=3,
        elinewidth=1.1,
        **style,
    )
    keep_interval(bars, np.asarray(ends[0], dtype=float), np.asarray(ends[1], dtype=float))
    return bars


def hollow_points(
    ax: Axes, x: Any, values: Any, *, label: str, style: dict[str, Any], alone: bool
) -> None:
    """Draw the medians of disturbed cells: the marks of their line, hollow, grey and not joined."""
    x, values = np.asarray(x, dtype=float), np.asarray(values, dtype=float)
    some = ~np.isnan(values)
    if not some.any():
        return
    (points,) = ax.plot(
        x[some], values[some], linestyle="none", marker=style["marker"], markerfacecolor="none",
        color=HOLLOW_COLOUR, markeredgewidth=1.2, label=label if alone else "_hollow",
    )  # fmt: skip
    keep_name(points, f"{label}, disturbed".lstrip(", "))


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
    ax.set_xlabel("TCP streams")


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
