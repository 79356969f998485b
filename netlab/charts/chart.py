"""A finished figure with its alt text, which it cannot be shown or saved without.

The charts follow seaborn's distinction. An axes-level function takes ``ax``, draws on it and
returns it, so that its chart fits into a figure of the caller. A figure-level function makes its
own figures and takes no ``ax``: it returns :class:`Panels`, one figure of several axes, or a
:class:`netlab.charts.chart.Gallery` of finished charts.
"""

from __future__ import annotations

import base64
import html
import io
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure, FigureBase
from matplotlib.text import Text
from matplotlib.ticker import FixedFormatter, Formatter, FuncFormatter

from netlab.charts.drawn_numbers import annotate, csv_in, data_of, mark
from netlab.charts.looks import close, look, theme
from netlab.errors import BadInput, NetlabError, check, require
from netlab.files import paths
from netlab.files.writing import replaced
from netlab.units import arrows


@dataclass(frozen=True, eq=False)
class Panels:
    """A figure with its axes, as seaborn's ``FacetGrid`` has them."""

    figure: Figure
    axes: np.ndarray


DrawnT = TypeVar("DrawnT", Figure, Axes)
_DESCRIBED: WeakKeyDictionary[Figure | Axes, tuple[str, str]] = WeakKeyDictionary()


SUFFIXES = (".svg", ".png", ".pdf")
"""Formats of a saved chart."""


@dataclass(frozen=True)
class Chart:
    """A finished figure: deterministic SVG, its alt text and caption; shows itself in a notebook.

    Made by :func:`netlab.show` and by the charts of results.

    Attributes
    ----------
    svg, alt, caption : str
        The picture, its content in words, and the text below it.
    """

    svg: str
    alt: str
    caption: str = ""
    _figure: Figure | None = field(default=None, repr=False, compare=False)

    @property
    def data(self) -> pd.DataFrame:
        """The numbers that the chart draws, one row a point, as its SVG carries them.

        Those of lines with a name, of bars and of heat maps.

        ``panel``, ``series``, ``x_label``, ``y_label``, ``x``, ``y``, and ``low`` and ``high`` of
        its interval; a column without any value is left out.

        Examples
        --------
        >>> import netlab
        >>> chart = netlab.show(netlab.Results("openlab-2003").plot("Linux64 -> Linux64"))
        >>> chart.data.columns.tolist()
        ['panel', 'series', 'x_label', 'y_label', 'x', 'y']
        """
        text = csv_in(self.svg)
        return pd.read_csv(io.StringIO(text)) if text else pd.DataFrame()

    def save(self, path: str | Path, *, dpi: int = 150) -> Path:
        """Write the chart as SVG, PNG or PDF, with its alt text.

        Parameters
        ----------
        path : path-like
            File to write or to replace, see :func:`netlab.files.paths.given_path`; its suffix,
            ``.svg``, ``.png`` or ``.pdf``, is the format. Its directory is made.
        dpi : int
            Pixels per inch of a PNG.

        Returns
        -------
        Path
            The file.

        Raises
        ------
        BadInput
            Another suffix.
        NetlabError
            The file cannot be written.

        Examples
        --------
        >>> import netlab
        >>> chart = netlab.show(netlab.Results("openlab-2003").plot("Linux64 -> Linux64"))
        >>> chart.save("figures/goodput.png").name
        'goodput.png'
        """
        target = paths.given_path(path)
        kind = target.suffix.lower()
        require(kind, SUFFIXES, key="suffix", code="E-CHARTS-013")
        try:
            with replaced(target) as partial:
                if kind == ".svg" or self._figure is None:
                    partial.write_text(self.svg, encoding="utf-8")
                else:
                    _rendered(self._figure, partial, kind[1:], dpi, self.alt)
        except OSError as error:
            reason = f"cannot write {target}: {error.strerror or error}"
            raise NetlabError(reason, code="E-CHARTS-014") from None
        return target

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


def show(drawn: Any, alt: str | None = None, caption: str = "") -> Chart:
    """Turn a figure, its axes or a grid of seaborn into the value of a cell; closes the figure.

    Without `alt` the words are those of :func:`describe`, else the labels of the figure.
    """
    figure = _figure_of(drawn)
    if alt is None:
        described = drawn.figure if isinstance(drawn, Panels) else drawn
        known = _DESCRIBED.get(described) if isinstance(described, Figure | Axes) else None
        alt, caption = known or (_in_words(figure), caption)
    chart = Chart(_svg(figure, alt, caption), arrows(alt), arrows(caption), figure)
    close(figure)
    return chart


def _figure_of(drawn: Any) -> Figure:
    """The figure of axes, panels, a part of a figure, or a plot of seaborn or pandas."""
    if isinstance(drawn, np.ndarray) and drawn.size:  # as `DataFrame.plot(subplots=True)` gives
        drawn = drawn.flat[0]
    if hasattr(drawn, "on") and hasattr(drawn, "plot"):  # seaborn.objects.Plot
        target = Figure()
        drawn.on(target).plot()
        return target
    whole = getattr(drawn, "figure", None)
    figure = whole.figure if isinstance(whole, FigureBase) else whole  # not a part of a figure
    if not isinstance(figure, Figure):
        text = "must be a matplotlib figure or axes, or a grid or plot of seaborn"
        raise BadInput(text, key="drawn", value=type(drawn).__name__, code="E-CHARTS-015")
    return figure


def _in_words(figure: Figure) -> str:
    """Labels, titles and legends of a figure; empty if it has none."""
    axes = [ax for ax in figure.axes if ax.get_label() != "<colorbar>"]
    y, x = (_listed(getattr(ax, name)() for ax in axes) for name in ("get_ylabel", "get_xlabel"))
    titles = (ax.get_title() or ax.get_title(loc="left") for ax in axes)
    words = [" over ".join(filter(None, (y, x))), _listed([figure.get_suptitle(), *titles])]
    for legend in (*figure.legends, *filter(None, (ax.get_legend() for ax in axes))):
        texts = _listed(text.get_text() for text in legend.get_texts())
        words.append(f"{legend.get_title().get_text() or 'lines'}: {texts}")
    found = ". ".join(filter(None, words))
    return f"Figure of {found}." if found else ""


def _listed(texts: Iterable[str]) -> str:
    return ", ".join(dict.fromkeys(text.replace("\n", " ") for text in texts if text.strip()))


def _rendered(figure: Figure, path: Any, kind: str, dpi: float, alt: str) -> None:
    metadata = {
        "svg": {"Date": None, "Creator": None, "Format": None, "Type": None, "Title": alt},
        "png": {"Description": alt},
        "pdf": {"Title": alt, "CreationDate": None},
    }[kind]
    # a figure without a layout of its own would be cut at its labels
    box = None if figure.get_layout_engine() else "tight"
    own = any(drawn in _DESCRIBED for drawn in (figure, *figure.axes))
    with theme() if own else look(), _laid_out_without_drawing(figure):
        figure.savefig(path, format=kind, dpi=dpi, metadata=metadata, bbox_inches=box)


@contextmanager
def _laid_out_without_drawing(figure: Figure) -> Iterator[None]:
    """Save a figure with half of the work: matplotlib draws it twice, once for its layout alone."""
    engine = figure.get_layout_engine()
    if engine is None or not figure.axes:
        yield
        return

    def lay_out(_renderer: object) -> None:
        del vars(figure)["draw"]
        with suppress(ValueError):  # as matplotlib does
            engine.execute(figure)

    vars(figure)["draw"] = lay_out
    try:
        yield
    finally:
        vars(figure).pop("draw", None)


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


_TAG = re.compile(r"<metadata>.*?</metadata>\s*|<[^>]*>\s*", re.DOTALL)
_IDLE = re.compile(
    r'<metadata.*|\n\s*| transform="rotate\(-0 [^)]*\)"|(?<=\.\d\d)\d{3,}', re.DOTALL
)
"""A fifth of what matplotlib writes: the title again, indentation, no turn, less than 0.01 pt."""


def _svg(fig: Figure, alt: str, caption: str = "") -> str:
    text = "a figure without labels needs alt text: its content in words"
    check(alt.strip(), "alt", alt, text, "E-CHARTS-008")
    alt = arrows(alt)
    _with_arrows(fig)
    buffer = io.StringIO()
    hover = mark(fig)
    _rendered(fig, buffer, "svg", fig.dpi, alt)
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
    return arrows(str(formatter(value, place)))  # a heat map's ticks may be numbers
