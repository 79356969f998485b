"""Numbers that a figure draws: its data as CSV inside the SVG, and hover values on its marks."""

from __future__ import annotations

import html
import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.collections import QuadMesh
from matplotlib.container import ErrorbarContainer
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Rectangle

from netlab.charts.line_labels import bars_of
from netlab.files.tables import csv_of
from netlab.units import plain

COLUMNS = ("panel", "series", "x_label", "y_label", "x", "y", "low", "high")
GID = "netlab-line-"
_DATA = re.compile(r'<metadata class="netlab-data">(.*?)</metadata>', re.DOTALL)


@dataclass(frozen=True)
class Series:
    """Points of one line of a figure, with the ends of their bars where it has bars."""

    label: str
    axes: Axes
    line: Line2D
    ends: np.ndarray
    """``low, high`` of each point."""
    words: Sequence[Mapping[float, str]]
    """Texts of the ticks of both axes where these are words."""

    def points(self) -> Iterator[tuple]:
        """Its points as a reader sees them: x, y, low, high."""
        each = zip(self.words, (self.line.get_xdata(), self.line.get_ydata()), strict=True)
        x, y = ([words.get(v, v) for v in np.atleast_1d(data).tolist()] for words, data in each)
        return zip(x, y, *self.ends.T, strict=True)


def series_of(fig: Figure) -> Iterator[Series]:
    """Lines of a figure that stand for data: those with a name, and those with bars."""
    for ax in fig.axes:
        with_bars = bars_of(ax)
        # once for all lines, as matplotlib computes every tick anew
        words = [_tick_words(axis) for axis in (ax.xaxis, ax.yaxis)] if ax.lines else []
        for line in ax.get_lines():
            ends = np.full((len(np.atleast_1d(line.get_xdata())), 2), np.nan)
            if bars := with_bars.get(line):
                yield Series(str(bars.get_label()), ax, line, _interval(bars, ends), words)
            elif not (name := getattr(line, "netlab_name", str(line.get_label()))).startswith("_"):
                yield Series(name, ax, line, ends, words)


def keep_interval(bars: ErrorbarContainer, low: Any, high: Any) -> None:
    """Give bars that are cut at an edge of the chart the interval that they stand for."""
    ends = np.transpose([np.asarray(low, dtype=float), np.asarray(high, dtype=float)])
    bars.netlab_interval = ends  # type: ignore[attr-defined]


def _interval(bars: ErrorbarContainer, blank: np.ndarray) -> np.ndarray:
    """The interval of each point: what :func:`keep_interval` stored, else the ends of the bars."""
    if hasattr(bars, "netlab_interval"):
        return bars.netlab_interval
    segments = bars.lines[2][0].get_segments() if bars.lines[2] else []
    if len(segments) != len(blank):
        return blank
    ends = [bar[:, 1] if len(bar) == 2 else (np.nan, np.nan) for bar in segments]
    return np.array(ends, dtype=float).reshape(-1, 2)


def data_of(fig: Figure) -> pd.DataFrame:
    """The points of a figure, the fields of its heat maps and its bars, with :data:`COLUMNS`."""
    rows: list[tuple] = []
    for one in series_of(fig):
        panel, _, *labels = _names(one.axes)
        rows += [(panel, one.label, *labels, *point) for point in one.points()]
    for ax in fig.axes:
        for mesh in ax.collections:
            if isinstance(mesh, QuadMesh) and ax.get_label() != "<colorbar>":
                rows += _fields(ax, mesh)
        for bar in ax.patches:
            if isinstance(bar, Rectangle):
                rows.append((*_names(ax), bar.get_x(), bar.get_height(), np.nan, np.nan))
    frame = pd.DataFrame.from_records(rows, columns=list(COLUMNS))
    return frame.dropna(axis="columns", how="all")


def _names(ax: Axes, series: str = "") -> tuple[str, str, str, str]:
    panel = (ax.get_title(loc="left") or ax.get_title()).replace("\n", ", ")
    return panel, series, ax.get_xlabel(), ax.get_ylabel()


def _tick_words(axis: Axis) -> dict[float, str]:
    texts = (text.get_text() for text in axis.get_ticklabels())
    names = dict(zip(axis.get_ticklocs(), texts, strict=False))
    return names if any(re.search(r"[A-Za-z]", text) for text in names.values()) else {}


def _fields(ax: Axes, mesh: QuadMesh) -> list[tuple]:
    values: np.ndarray = np.ma.filled(np.ma.asarray(mesh.get_array(), dtype=float), np.nan)
    columns, rows = ax.get_xticklabels(), ax.get_yticklabels()
    if values.size != len(columns) * len(rows):
        return []
    fields = zip(itertools.product(rows, columns), values.flat, strict=True)
    return [
        (*_names(ax, row.get_text()), column.get_text(), value, np.nan, np.nan)
        for (row, column), value in fields
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
    return plain(value, ".5g") if isinstance(value, float) else str(value)


def annotate(svg: str, texts: list[list[str]], data: pd.DataFrame) -> str:
    """Add hover texts to the marks of an SVG, and its data as CSV."""
    for number, points in enumerate(texts):
        head, line, rest = svg.partition(f'<g id="{GID}{number}">')
        part, group, tail = rest.partition('<g id="')
        first, *uses = part.split("<use ")
        if len(uses) == len(points):
            titles = [f"><title>{html.escape(point)}</title></use>" for point in points]
            marks = (use.replace("/>", title, 1) for use, title in zip(uses, titles, strict=True))
            svg = "".join((head, line, "<use ".join([first, *marks]), group, tail))
    if data.empty:
        return svg
    at = svg.rindex("</svg>")
    text = html.escape(csv_of(data))
    return f'{svg[:at]}<metadata class="netlab-data">{text}</metadata>{svg[at:]}'


def csv_in(svg: str) -> str:
    """The data that :func:`annotate` put into an SVG; empty if there is none."""
    data = _DATA.search(svg)
    return html.unescape(data[1]) if data else ""
