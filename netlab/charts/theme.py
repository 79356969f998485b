"""Theme of all netlab figures: fonts, sizes, spines and grid."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import matplotlib as mpl
import matplotlib.pyplot as plt
import seaborn as sns
from matplotlib import rcsetup
from matplotlib.axes import Axes
from matplotlib.typing import ColorType
from seaborn.utils import relative_luminance

# Colours, markers and dashes by meaning: an MTU, a tuning, then or now, or something else.
#
# Lines differ in colour, marker and dash at once, so a chart stays readable in grey print and with
# colour-blind eyes. The colours differ in lightness, and each has a contrast of at least 3:1 on
# white (WCAG 2.1, success criterion 1.4.11).
#
# The first three colours of :data:`PALETTE` are MTUs, the next three tunings. The other meanings
# have colours of their own, so that one colour means one thing on all pages.

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
    """Keyword arguments for the ``i``-th line of a chart (cycles after six)."""
    return {
        "color": colours[i % len(colours)],
        "marker": MARKERS[i % len(MARKERS)],
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
    """Style of the ``i``-th line besides MTUs, tunings and sides (cycles after six)."""
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
    while 1.05 / (relative_luminance(channels) + 0.05) < 4.5:
        red, green, blue = channels
        channels = (0.95 * red, 0.95 * green, 0.95 * blue)
    return mpl.colors.to_hex(channels)


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


@contextmanager
def theme() -> Iterator[None]:
    """Context and decorator with netlab's theme; global settings stay unchanged."""
    base = {**sns.plotting_context("notebook"), **sns.axes_style("ticks")}
    colours = {"axes.prop_cycle": rcsetup.cycler(color=PALETTE), "patch.facecolor": PALETTE[0]}
    with mpl.rc_context(base | colours | _RC):
        yield


def new_axes(size_in: tuple[float, float] = CHART_SIZE_IN) -> Axes:
    with theme():
        return plt.subplots(figsize=size_in)[1]


def font_folder() -> Path:
    """Directory of the fonts that come with matplotlib, for programs that render a figure."""
    return Path(mpl.get_data_path()) / "fonts" / "ttf"
