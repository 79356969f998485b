"""Labels and bounds of a chart, and the numbers that it draws as CSV and hover values."""

from __future__ import annotations

import html
import itertools
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.collections import QuadMesh
from matplotlib.container import ErrorbarContainer
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Rectangle
from matplotlib.text import Text
from matplotlib.ticker import NullFormatter, NullLocator
from matplotlib.typing import ColorType

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
    bars = _bars(ax)
    lines = [line for line in ax.get_lines() if line.get_transform() is ax.transData]  # no ceiling
    named = {line: str(bars.get(line, line).get_label()) for line in lines}
    return {x: name for x, name in named.items() if not name.startswith("_") and len(_points(x))}


def _bars(ax: Axes) -> dict[Line2D, ErrorbarContainer]:
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


# Numbers that a figure draws: its data as CSV inside the SVG, and hover values on its marks.

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
        with_bars = _bars(ax)
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
    return f"{value:.5g}" if isinstance(value, float) else str(value)


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
    """Draw the medians of disturbed cells: the marks of their line, hollow, grey and not joined."""
    x, values = (np.asarray(v, dtype=float) for v in (x, values))
    some = ~np.isnan(values)
    if not some.any():
        return
    (points,) = ax.plot(
        x[some], values[some], linestyle="none", marker=style["marker"], markerfacecolor="none",
        color=HOLLOW_COLOUR, markeredgewidth=1.2, label=label if alone else "_hollow",
        clip_on=False,
    )  # fmt: skip
    points.netlab_name = f"{label}, disturbed".lstrip(", ")  # type: ignore[attr-defined]


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


# Colours, markers and dashes by meaning: an MTU, a tuning, then or now, or something else.
#
# Lines differ in colour, marker and dash at once, so a chart stays readable in grey print and with
# colour-blind eyes. The colours differ in lightness, and each has a contrast of at least 3:1 on
# white (WCAG 2.1, success criterion 1.4.11).
#
# The first three colours of :data:`PALETTE` are MTUs, the next three tunings. The other meanings
# have colours of their own, so that one colour means one thing on all pages.

HOUSE: dict = dict(
    mpl.rc_params_from_file(Path(__file__).with_name("netlab.mplstyle"), use_default_template=False)
)
"""Fonts, lines and colours of netlab's figures, as ``plt.style.use("netlab.charts.netlab")`` has
them. A layout is not among them: seaborn's grids lay out themselves."""

PALETTE: tuple[str, ...] = tuple(HOUSE["axes.prop_cycle"].by_key()["color"])
MARKERS: tuple[str, ...] = ("o", "s", "^", "D", "v", "P")
DASHES: tuple[Any, ...] = (
    "-",
    (0, (5, 1.5)),
    (0, (1.5, 1.2)),
    (0, (6, 1.5, 1.5, 1.5)),
    (0, (3, 1, 1, 1, 1, 1)),
    (0, (8, 3)),
)
CEILING_COLOUR = "#666666"
"""Of reference lines: the bus, the link, a goal, zero."""

CEILING_DASH: tuple[Any, ...] = (0, (1, 1))

MEDIAN_COLOUR = "#d0021b"
"""Of a running median over the runs of all tunings."""

COUNT_COLOUR = "#9a9a9a"
"""Of counts, and of arrows from one value to another."""

HOLLOW_COLOUR = "#767676"
"""Of the marks of disturbed cells, which are not results."""

BAND_COLOUR = "#e4e4e4"
"""Of a range that counts as no difference."""

SECOND_SERIES = 3
"""Position of the first colour that is not an MTU's."""

_POSITION_OF_MTU = {1500: 0, 9000: 1, 16114: 2}

SIDES: dict[str, str] = {"then": "#5e2a84", "now": "#5d8f1f"}
"""Colours of 2003 and of what was measured here."""

OTHERS: tuple[str, ...] = ("#6b3e26", "#c2559d", "#4a6fa5", "#7d7d00", "#007a5e", "#555555")
"""Colours of everything else: factors, generators, TCP stacks, verdicts."""


def line_style(i: int, colours: Sequence[str] = PALETTE) -> dict[str, Any]:
    """Keyword arguments for the ``i``-th line of a chart; each pass takes other markers."""
    return {
        "color": colours[i % len(colours)],
        "marker": MARKERS[(i + i // len(colours)) % len(MARKERS)],
        "linestyle": DASHES[i % len(DASHES)],
        "markeredgecolor": "white",
        "markeredgewidth": 0.7,
    }


def mtu_styles(mtus_B: Iterable[int]) -> dict[int, dict[str, Any]]:
    """`line_style` of every MTU: 1500, 9000 and 16114 B look the same on all pages."""
    every = sorted({int(mtu_B) for mtu_B in mtus_B})
    taken = {_POSITION_OF_MTU[mtu_B] for mtu_B in every if mtu_B in _POSITION_OF_MTU}
    free = (i for i in range(len(every)) if i not in taken)
    positions = {m: _POSITION_OF_MTU[m] if m in _POSITION_OF_MTU else next(free) for m in every}
    return {mtu_B: line_style(position) for mtu_B, position in positions.items()}


def second_style(i: int) -> dict[str, Any]:
    """`line_style` of the ``i``-th line of a chart whose lines are not MTUs."""
    return line_style(SECOND_SERIES + i)


def tuning_dashes(tunings: Sequence[str]) -> dict[str, Any]:
    """Dash of each tuning where colours are MTUs: the last one, the fullest, is solid."""
    last = len(tunings) - 1
    return {name: DASHES[(last - i) % len(DASHES)] for i, name in enumerate(tunings)}


def side_style(side: str) -> dict[str, Any]:
    """Style of a line of 2003 (``then``) or of the measured side (``now``)."""
    return line_style(list(SIDES).index(side), list(SIDES.values()))


def other_style(i: int) -> dict[str, Any]:
    """Style of the ``i``-th line besides MTUs, tunings and sides."""
    return line_style(i, OTHERS)


def level_styles(factor: str, levels: Iterable[Any]) -> dict[Any, dict[str, Any]]:
    ordered = list(levels)
    if factor == "mtu_B":
        return dict(mtu_styles(ordered))
    style = second_style if factor == "tuning" else other_style
    return {level: style(i) for i, level in enumerate(ordered)}


def text_colour(colour: ColorType) -> str:
    """A line's colour, darkened until text in it has a contrast of 4.5:1 on white."""
    channels = mpl.colors.to_rgb(colour)
    while 1.05 / (_luminance(channels) + 0.05) < 4.5:
        red, green, blue = channels
        channels = (0.95 * red, 0.95 * green, 0.95 * blue)
    return mpl.colors.to_hex(channels)


def _luminance(channels: Sequence[float]) -> float:
    """Relative luminance as WCAG 2 defines it."""
    shares = np.array(channels)
    linear = np.where(shares <= 0.04045, shares / 12.92, ((shares + 0.055) / 1.055) ** 2.4)
    return float(linear @ (0.2126, 0.7152, 0.0722))


def heat_map(values: np.ndarray, **options: Any) -> None:
    """Draw a heat map with seaborn."""
    import seaborn as sns  # half of the time that a notebook's first cell takes, were it above

    sns.heatmap(values, cmap="cividis", **options)


CHART_SIZE_IN = (6.4, 3.9)
SMALL_CHART_SIZE_IN = (3.7, 3.0)

WIDEST_IN, LEAST_PANEL_IN = 7.9, 1.1
"""Width at which text of 8.5 pt still has 7 pt on a line of the PDF; the narrowest panel."""


def width_of_panels(count: int, each_in: float) -> float:
    """Width of a row of panels: narrower ones where the row would be too wide to be printed."""
    frame_in = 1.0
    widest = max(WIDEST_IN, frame_in + LEAST_PANEL_IN * count)
    return min(frame_in + each_in * count, widest)


@contextmanager
def theme() -> Iterator[None]:
    """Context and decorator of netlab's own charts; global settings stay unchanged.

    What the theme does not state is matplotlib's default, whatever a matplotlibrc says: the same
    results give the same chart for everybody, also without the LaTeX or the fonts of its reader.
    """
    own = {
        name: value
        for name, value in mpl.rcParamsDefault.items()
        if name not in _OF_A_PROCESS and mpl.rcParams[name] != value
    }
    with _settings({**own, **HOUSE, "figure.constrained_layout.use": True}):
        yield


@contextmanager
def look() -> Iterator[None]:
    """Context and decorator with the theme over the user's settings, for figures of one's own."""
    with _settings(HOUSE):
        yield


@contextmanager
def _settings(rc: dict) -> Iterator[None]:
    # A notebook's backend makes figures interactive when it is loaded, by the first figure. Loaded
    # within the context, the end of that would take it back, and no later figure would be shown.
    plt.draw_if_interactive()
    with mpl.rc_context(rc):
        yield


_OF_A_PROCESS = ("backend", "backend_fallback", "interactive", "figure.max_open_warning")
"""Settings that change no file; the first figure sets the backend."""


def settings() -> str:
    """Matplotlib's settings outside netlab's theme, which keeps those that it does not state."""
    known = {name: value for name, value in mpl.rcParams.items() if name not in _OF_A_PROCESS}
    return repr(sorted((name, str(value)) for name, value in known.items()))


def new_axes(size_in: tuple[float, float] = CHART_SIZE_IN) -> Axes:
    with theme():
        return plt.subplots(figsize=size_in)[1]


def font_folder() -> Path:
    """Directory of the fonts that come with matplotlib, for programs that render a figure."""
    return Path(mpl.get_data_path()) / "fonts" / "ttf"
