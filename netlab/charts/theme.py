"""Theme of all netlab figures: fonts, sizes, spines and grid."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import matplotlib as mpl
import matplotlib.pyplot as plt
import seaborn as sns
from matplotlib import rcsetup
from matplotlib.axes import Axes

from netlab.charts.palette import PALETTE

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
    """Context with netlab's theme; global settings stay unchanged.

    Also a decorator: ``@theme()`` above a function that draws.
    """
    base = {**sns.plotting_context("notebook"), **sns.axes_style("ticks")}
    colours = {"axes.prop_cycle": rcsetup.cycler(color=PALETTE), "patch.facecolor": PALETTE[0]}
    settings: dict[Any, Any] = {**base, **colours, **_RC}
    with mpl.rc_context(settings):
        yield


def new_axes(size_in: tuple[float, float] = CHART_SIZE_IN) -> Axes:
    """Axes on a new figure in netlab's theme."""
    with theme():
        return plt.subplots(figsize=size_in)[1]


def font_folder() -> Path:
    """Directory of the fonts that come with matplotlib, for programs that render a figure."""
    return Path(mpl.get_data_path()) / "fonts" / "ttf"
