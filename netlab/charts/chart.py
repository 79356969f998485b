"""A finished figure with its alt text, which it cannot be shown or saved without."""

from __future__ import annotations

import base64
import html
import io
import re
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TypeVar
from weakref import WeakKeyDictionary

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.text import Text
from matplotlib.ticker import FixedFormatter, Formatter, FuncFormatter

from netlab.charts.drawing import annotate, data_of, figure_of, mark, theme
from netlab.errors import check
from netlab.units import arrows

# A figure of several axes, as figure-level functions return it.
#
# The charts follow seaborn's distinction. An axes-level function takes ``ax``, draws on it and
# returns it, so that its chart fits into a figure of the caller. A figure-level function makes its
# own figures and takes no ``ax``: it returns :class:`Panels`, one figure of several axes, or a
# :class:`netlab.charts.chart.Gallery` of finished charts.


@dataclass(frozen=True, eq=False)
class Panels:
    """A figure with its axes, as seaborn's ``FacetGrid`` has them."""

    figure: Figure
    axes: np.ndarray


DrawnT = TypeVar("DrawnT", Figure, Axes)
_DESCRIBED: WeakKeyDictionary[Figure | Axes, tuple[str, str]] = WeakKeyDictionary()


@dataclass(frozen=True)
class Chart:
    """A finished figure: deterministic SVG and its alt text."""

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


def show(drawn: Figure | Axes | Panels, alt: str | None = None, caption: str = "") -> Chart:
    """Turn a figure into the value of a notebook cell; closes the figure."""
    if isinstance(drawn, Panels):
        drawn = drawn.figure
    if alt is None:
        alt, caption = _DESCRIBED.get(drawn, ("", caption))
    fig = figure_of(drawn) if isinstance(drawn, Axes) else drawn
    chart = Chart(_svg(fig, alt, caption), arrows(alt), arrows(caption))
    plt.close(fig)
    return chart


@dataclass(frozen=True)
class Gallery:
    """Charts side by side, as many to a row as the page is wide."""

    charts: tuple[Chart, ...] = ()

    @classmethod
    def of(cls, *drawn: Chart | Figure | Axes | Panels) -> Gallery:
        """A gallery of charts, and of figures and axes as :func:`show` turns them into charts."""
        return cls(tuple(one if isinstance(one, Chart) else show(one) for one in drawn))

    def __add__(self, other: Gallery) -> Gallery:
        return Gallery(self.charts + other.charts)

    def _repr_html_(self) -> str:
        parts = "".join(chart._repr_html_() for chart in self.charts)
        return f'<div style="display:flex;flex-wrap:wrap;gap:0.3em 0.8em">{parts}</div>'

    def __repr__(self) -> str:
        return "\n".join(map(repr, self.charts))


def save(drawn: Panels, path: Path) -> Path:
    """Write panels as SVG or PNG, by the suffix, with their alt text; closes the figure."""
    fig, (alt, _) = drawn.figure, _DESCRIBED[drawn.figure]
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.suffix.lower() == ".svg":
        path.write_text(_svg(fig, alt), encoding="utf-8")
    else:
        fig.savefig(path, format="png", dpi=150, metadata={"Description": alt})
    plt.close(fig)
    return path


_TAG = re.compile(r"<metadata>.*?</metadata>\s*|<[^>]*>\s*", re.DOTALL)
_IDLE = re.compile(
    r'<metadata.*|\n\s*| transform="rotate\(-0 [^)]*\)"|(?<=\.\d\d)\d{3,}', re.DOTALL
)
"""A fifth of what matplotlib writes: the title again, indentation, no turn, less than 0.01 pt."""


def _svg(fig: Figure, alt: str, caption: str = "") -> str:
    check(alt.strip(), "alt", alt, "a figure needs alt text", "E-CHARTS-008")
    alt = arrows(alt)
    _with_arrows(fig)
    buffer = io.StringIO()
    metadata = {"Date": None, "Creator": None, "Format": None, "Type": None, "Title": alt}
    hover = mark(fig)
    with theme():
        fig.savefig(buffer, format="svg", metadata=metadata)
    label = html.escape(alt, quote=True)
    drawn = _TAG.sub(lambda tag: _IDLE.sub("", tag[0]), buffer.getvalue())
    svg = annotate(drawn, hover, data_of(fig))
    svg = svg[svg.index("<svg ") :].replace("<svg ", f'<svg role="img" aria-label="{label}" ', 1)
    described = f"<desc>{html.escape(arrows(caption))}</desc>" if caption else ""
    return svg.replace(">", f">{described}", 1)


def _with_arrows(fig: Figure) -> None:
    """Show ``->`` as an arrow in every text of a figure, those of its ticks included."""
    for ax in fig.axes:
        for axis in (ax.xaxis, ax.yaxis):
            formatter = axis.get_major_formatter()
            if isinstance(formatter, FixedFormatter):
                formatter.seq = [arrows(str(text)) for text in formatter.seq]
            elif isinstance(formatter, FuncFormatter):  # of ticks set together with their texts
                axis.set_major_formatter(FuncFormatter(partial(_arrowed, formatter)))
    for text in fig.findobj(Text):
        if isinstance(text, Text) and ">" in text.get_text():
            text.set_text(arrows(text.get_text()))


def _arrowed(formatter: Formatter, value: float, place: int | None = None) -> str:
    return arrows(formatter(value, place))
