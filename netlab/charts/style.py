"""Theme of all netlab figures, and their output with alt text.

Lines differ in colour, marker and dash at once, so a chart stays readable in grey print and with
colour-blind eyes. The colours differ in lightness, and each has a contrast of at least 3:1 on
white (WCAG 2.1, success criterion 1.4.11). A figure cannot be shown or saved without alt text.

One colour has one meaning on a page: the first three are MTUs, the next three are tunings or
whatever else a page compares beside MTUs.
"""

from __future__ import annotations

import base64
import html
import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import seaborn as sns
from matplotlib import rcsetup
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.text import Text
from matplotlib.ticker import FixedFormatter
from matplotlib.typing import ColorType

from netlab.charts.figure_data import annotate, data_of, mark
from netlab.errors import BadInput
from netlab.units import arrows

PALETTE: tuple[str, ...] = ("#003f7f", "#b0405a", "#c28400", "#000000", "#2b8585", "#7a6f8f")
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

BAND_COLOUR = "#e4e4e4"
"""Of a range that counts as no difference."""

SECOND_SERIES = 3
"""Position of the first colour that is not an MTU's."""

_POSITION_OF_MTU = {1500: 0, 9000: 1, 16114: 2}
CHART_SIZE_IN = (6.4, 3.9)
SMALL_CHART_SIZE_IN = (3.7, 3.0)

_RC: dict[str, Any] = {
    "svg.fonttype": "none",
    "svg.hashsalt": "netlab",
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans", "Verdana", "Arial", "sans-serif"],
    "font.size": 10,
    "axes.titlesize": 10.5,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.labelsize": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.grid.axis": "y",
    "axes.axisbelow": True,
    "grid.color": "#dddddd",
    "grid.linewidth": 0.8,
    "xtick.labelsize": 9,
    "ytick.labelsize": 9,
    "legend.frameon": False,
    "legend.fontsize": 9,
    "lines.linewidth": 1.8,
    "lines.markersize": 5.5,
    "figure.figsize": CHART_SIZE_IN,
    "figure.constrained_layout.use": True,
    "figure.facecolor": "white",
    "savefig.facecolor": "white",
}


DrawnT = TypeVar("DrawnT", Figure, Axes)
_DESCRIBED: WeakKeyDictionary[Figure | Axes, tuple[str, str]] = WeakKeyDictionary()


@contextmanager
def theme() -> Iterator[None]:
    """Context with netlab's theme; global settings stay unchanged.

    Also a decorator: ``@theme()`` above a function that draws.
    """
    base = {**sns.plotting_context("notebook"), **sns.axes_style("ticks")}
    colours = {"axes.prop_cycle": rcsetup.cycler(color=PALETTE), "patch.facecolor": PALETTE[0]}
    settings: dict[Any, Any] = {**base, **colours, **_RC}
    with mpl.rc_context(settings):
        yield


def new_axes(size_in: tuple[float, float] = CHART_SIZE_IN) -> Axes:
    """Axes on a new figure in netlab's theme.

    Parameters
    ----------
    size_in : tuple of float
        Width and height, inches.
    """
    with theme():
        return plt.subplots(figsize=size_in)[1]


def line_style(i: int) -> dict[str, Any]:
    """Keyword arguments for the ``i``-th line of a chart (cycles after six).

    Parameters
    ----------
    i : int
        Position of the line, from 0.

    Returns
    -------
    dict
        ``color``, ``marker``, ``linestyle`` and a white marker edge.
    """
    return {
        "color": PALETTE[i % len(PALETTE)],
        "marker": MARKERS[i % len(MARKERS)],
        "linestyle": DASHES[i % len(DASHES)],
        "markeredgecolor": "white",
        "markeredgewidth": 0.7,
    }


def mtu_styles(mtus_B: Iterable[int]) -> dict[int, dict[str, Any]]:
    """`line_style` of every MTU: 1500, 9000 and 16114 B look the same on all pages.

    Parameters
    ----------
    mtus_B : iterable of int
        All MTUs of a study; others than these three take the positions that are left.
    """
    every = sorted({int(mtu_B) for mtu_B in mtus_B})
    others = [mtu_B for mtu_B in every if mtu_B not in _POSITION_OF_MTU]
    taken = {_POSITION_OF_MTU[mtu_B] for mtu_B in every if mtu_B in _POSITION_OF_MTU}
    free = [i for i in range(len(taken) + len(others)) if i not in taken]
    positions = _POSITION_OF_MTU | dict(zip(others, free, strict=False))
    return {mtu_B: line_style(positions[mtu_B]) for mtu_B in every}


def second_style(i: int) -> dict[str, Any]:
    """`line_style` of the ``i``-th line of a chart whose lines are not MTUs."""
    return line_style(SECOND_SERIES + i)


def text_colour(colour: ColorType) -> str:
    """A line's colour, darkened until text in it has a contrast of 4.5:1 on white.

    Parameters
    ----------
    colour : colour of matplotlib
        Such as ``#rrggbb``.

    Returns
    -------
    str
        ``#rrggbb``.
    """
    channels = mpl.colors.to_rgb(colour)
    while 1.05 / (_luminance(channels) + 0.05) < 4.5:
        red, green, blue = channels
        channels = (0.95 * red, 0.95 * green, 0.95 * blue)
    return mpl.colors.to_hex(channels)


def _luminance(channels: Sequence[float]) -> float:
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


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


@dataclass(frozen=True)
class Chart:
    """A finished figure: deterministic SVG and its alt text.

    Parameters
    ----------
    svg : str
        The image.
    alt : str
        Content of the figure in words.
    caption : str
        Text under the figure; may be empty.
    """

    svg: str
    alt: str
    caption: str = ""

    def _repr_html_(self) -> str:
        data = base64.b64encode(self.svg.encode()).decode()
        alt = html.escape(self.alt, quote=True)
        caption = f"<figcaption>{html.escape(self.caption)}</figcaption>" if self.caption else ""
        return (
            '<figure class="netlab-figure" tabindex="0" style="margin:0.5em 0">'
            f'<img role="img" alt="{alt}" aria-label="{alt}" '
            'style="max-width:100%;height:auto;background:white" '
            f'src="data:image/svg+xml;base64,{data}"/>{caption}</figure>'
        )

    def __repr__(self) -> str:
        return f"Chart: {self.alt}"


def describe(drawn: DrawnT, alt: str, caption: str = "") -> DrawnT:
    """Attach alt text and caption to axes or a figure, for :func:`show`; returns them."""
    _DESCRIBED[drawn] = (alt, caption)
    return drawn


def show(drawn: Figure | Axes, alt: str | None = None, caption: str = "") -> Chart:
    """Turn a figure into the value of a notebook cell; closes the figure.

    Parameters
    ----------
    drawn : Figure or Axes
        A figure, or axes on it.
    alt : str, optional
        Its alt text; by default the text given to :func:`describe`.
    caption : str, optional
        Text under the figure.

    Returns
    -------
    Chart

    Raises
    ------
    BadInput
        Without alt text.
    """
    if alt is None:
        alt, caption = _DESCRIBED.get(drawn, ("", caption))
    fig = figure_of(drawn) if isinstance(drawn, Axes) else drawn
    chart = Chart(_svg(fig, alt), arrows(alt), arrows(caption))
    plt.close(fig)
    return chart


@dataclass(frozen=True)
class Gallery:
    """Charts side by side, as many to a row as the page is wide.

    Parameters
    ----------
    charts : tuple of Chart
        The charts.
    """

    charts: tuple[Chart, ...] = ()

    @classmethod
    def of(cls, *drawn: Chart | Figure | Axes) -> Gallery:
        """A gallery of charts, and of figures and axes as :func:`show` turns them into charts."""
        return cls(tuple(one if isinstance(one, Chart) else show(one) for one in drawn))

    def _repr_html_(self) -> str:
        parts = "".join(chart._repr_html_() for chart in self.charts)
        return f'<div style="display:flex;flex-wrap:wrap;gap:0.3em 0.8em">{parts}</div>'

    def __repr__(self) -> str:
        return "\n".join(map(repr, self.charts))


def font_folder() -> Path:
    """Directory of the fonts that come with matplotlib, for programs that render a figure."""
    return Path(mpl.get_data_path()) / "fonts" / "ttf"


def save_svg(fig: Figure, path: str | Path, alt: str) -> Path:
    """Write a figure as an SVG file with its alt text; the same figure gives the same bytes.

    Parameters
    ----------
    fig : Figure
        The figure; stays open.
    path : str or Path
        File to write; its directory is made.
    alt : str
        Alt text; required.

    Returns
    -------
    Path
        The file written.
    """
    target = Path(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(_svg(fig, alt), encoding="utf-8")
    return target


def _svg(fig: Figure, alt: str) -> str:
    if not alt.strip():
        raise BadInput("a figure needs alt text", key="alt", value=alt, code="E-CHARTS-008")
    alt = arrows(alt)
    _with_arrows(fig)
    buffer = io.StringIO()
    metadata = {"Date": None, "Creator": None, "Format": None, "Type": None, "Title": alt}
    hover = mark(fig)
    with theme():
        fig.savefig(buffer, format="svg", metadata=metadata)
    label = html.escape(alt, quote=True)
    svg = annotate(buffer.getvalue(), hover, data_of(fig))
    return svg[svg.index("<svg ") :].replace("<svg ", f'<svg role="img" aria-label="{label}" ', 1)


def _with_arrows(fig: Figure) -> None:
    """Show ``->`` as an arrow in every text of a figure, those of its ticks included."""
    for ax in fig.axes:
        for axis in (ax.xaxis, ax.yaxis):
            formatter = axis.get_major_formatter()
            if isinstance(formatter, FixedFormatter):
                formatter.seq = [arrows(str(text)) for text in formatter.seq]
    for text in fig.findobj(Text):
        if isinstance(text, Text) and ">" in text.get_text():
            text.set_text(arrows(text.get_text()))
