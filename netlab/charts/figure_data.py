"""Numbers that a figure draws: its data as CSV inside the SVG, and hover values on its marks."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.collections import QuadMesh
from matplotlib.container import ErrorbarContainer
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

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


def series_of(fig: Figure) -> list[Series]:
    """Lines of a figure that stand for data: those with a name, and those with bars."""
    found = []
    for ax in fig.axes:
        panel = ax.get_title(loc="left") or ax.get_title() or ""
        for line, label, low, high in _lines(ax):
            found.append(Series(panel.replace("\n", ", "), label, ax, line, low, high))
    return found


def keep_interval(bars: ErrorbarContainer, low: np.ndarray, high: np.ndarray) -> None:
    """Give bars that are cut at an edge of the chart the interval that they stand for."""
    ends = (np.asarray(low, dtype=float), np.asarray(high, dtype=float))
    bars.netlab_interval = ends  # type: ignore[attr-defined]


def keep_name(line: Line2D, name: str) -> None:
    """Name a line in the data of its figure that has no name in the figure itself."""
    line.netlab_name = name  # type: ignore[attr-defined]


def _lines(ax: Axes) -> Iterator[tuple[Line2D, str, np.ndarray, np.ndarray]]:
    with_bars = {}
    for container in ax.containers:
        if isinstance(container, ErrorbarContainer) and container.lines[0] is not None:
            with_bars[container.lines[0]] = container
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
    """The points of a figure with :data:`COLUMNS`; a heat map has one row a field.

    Bars without a line (histograms) have their left edge as ``x`` and their height as ``y``.
    """
    rows: list[tuple] = []
    for one in series_of(fig):
        names = (one.panel, one.label, one.axes.get_xlabel(), one.axes.get_ylabel())
        x = _shown(one.axes, np.atleast_1d(one.line.get_xdata()), "x")
        y = _shown(one.axes, np.atleast_1d(one.line.get_ydata()), "y")
        rows += [(*names, *point) for point in zip(x, y, one.low, one.high, strict=True)]
    for ax in fig.axes:
        panel = (ax.get_title(loc="left") or ax.get_title() or "").replace("\n", ", ")
        names = (panel, "", ax.get_xlabel(), ax.get_ylabel())
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
        x = _shown(one.axes, np.atleast_1d(one.line.get_xdata()), "x")
        y = _shown(one.axes, np.atleast_1d(one.line.get_ydata()), "y")
        texts.append([_hover(one, *point) for point in zip(x, y, one.low, one.high, strict=True)])
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
    text = html.escape(data.to_csv(index=False, lineterminator="\n"))
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
