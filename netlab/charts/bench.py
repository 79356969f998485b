"""Chart of a benchmark: goodput of gensink over that of every other contender, cell by cell."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from netlab.analysis.compare import CANNOT_TELL
from netlab.charts.chart import describe
from netlab.charts.labels import legend_below
from netlab.charts.palette import CEILING_COLOUR, MARKERS, OTHERS
from netlab.charts.panels import Panels
from netlab.charts.theme import new_axes, theme
from netlab.errors import BadInput

ROW_IN = 0.42
TITLES = {"same": "Same settings", "best": "Each at its best"}


@theme()
def ratio_panels(ratios: pd.DataFrame) -> Panels:
    """Draw the ratios with their intervals, one panel of :func:`ratios_of` a mode."""
    known = _known(ratios)
    modes = [mode for mode in TITLES if (known["mode"] == mode).any()]
    rows = list(dict.fromkeys(known["cell"]))
    others = sorted(known["other"].unique())
    size = (3.6 * len(modes) + 1.6, 1.5 + ROW_IN * len(rows))
    fig, axes = plt.subplots(1, len(modes), sharex=True, sharey=True, squeeze=False, figsize=size)
    for ax, mode in zip(axes[0], modes, strict=True):
        _draw(ax, known[known["mode"] == mode], rows, others)
        ax.set_title(TITLES[mode])
    fig.legend(*_legend(others), loc="outside lower center", ncols=len(others))
    describe(fig, ratios_alt(ratios))
    return Panels(fig, axes)


@theme()
def ratios_of(ratios: pd.DataFrame, mode: str, *, ax: Axes | None = None) -> Axes:
    """Draw the ratios of one mode with their intervals, one row a cell."""
    part = _known(ratios[ratios["mode"] == mode])
    rows = list(dict.fromkeys(part["cell"]))
    others = sorted(part["other"].unique())
    ax = ax or new_axes((5.2, 1.5 + ROW_IN * len(rows)))
    _draw(ax, part, rows, others)
    ax.set_title(TITLES[mode])
    legend_below(ax, *_legend(others), ncols=len(others))
    return describe(ax, ratios_alt(part))


def _known(ratios: pd.DataFrame) -> pd.DataFrame:
    """The ratios that are drawn, with the name of their cell."""
    known = ratios[(ratios["other"] == ratios["against"]) & ratios["ratio"].notna()]
    if known.empty:
        raise BadInput("no cell has a ratio to draw", key="ratios", code="E-CHARTS-002")
    return known.assign(cell=known.apply(_cell, axis=1))


def _legend(others: list[str]) -> tuple[list[Line2D], list[str]]:
    """Handles and labels of the contenders."""
    handles = [
        Line2D([], [], linestyle="", **_mark(i), markerfacecolor=OTHERS[i % len(OTHERS)])
        for i in range(len(others))
    ]
    return handles, others


def ratios_alt(ratios: pd.DataFrame) -> str:
    """Alt text of :func:`ratio_panels`."""
    ratios = ratios[(ratios["other"] == ratios["against"]) & ratios["ratio"].notna()]
    parts = []
    for (mode, other), part in ratios.groupby(["mode", "other"]):
        parts.append(
            f"{TITLES[mode].lower()}, {other}: {part['ratio'].min():.2f} to "
            f"{part['ratio'].max():.2f} in {len(part)} cells"
        )
    return f"Ratio of gensink's goodput to that of every other contender. {'; '.join(parts)}."


def _cell(row: pd.Series) -> str:
    streams = f"{row['streams']} stream" + ("s" if row["streams"] > 1 else "")
    return f"{streams}, MTU {row['mtu_B']}, offloads {row['offloads']}"


def _mark(i: int) -> dict:
    return {"marker": MARKERS[i % len(MARKERS)], "color": OTHERS[i % len(OTHERS)]}


def _draw(ax: Axes, part: pd.DataFrame, rows: list[str], others: list[str]) -> None:
    for i, other in enumerate(others):
        shift = 0.6 * ((i + 0.5) / len(others) - 0.5)
        for row in part[part["other"] == other].to_dict("records"):
            _ratio(ax, row, rows.index(row["cell"]) + shift, i)
    ax.axvline(1.0, color=CEILING_COLOUR, linewidth=1.3, linestyle=(0, (1, 1)), zorder=1)
    ax.set_xlabel("gensink over the other")
    ax.grid(axis="x")
    ax.set_yticks(range(len(rows)), rows)
    ax.set_ylim(len(rows) - 0.5, -0.5)


def _ratio(ax: Axes, row: dict, y: float, i: int) -> None:
    reach = np.nan_to_num(
        [[row["ratio"] - row["low"]], [row["high"] - row["ratio"]]], nan=0.0
    ).clip(min=0.0)
    concluded = row["verdict"] != CANNOT_TELL
    ax.errorbar(
        [row["ratio"]],
        [y],
        xerr=reach,
        linestyle="",
        capsize=2,
        elinewidth=1.1,
        markerfacecolor=OTHERS[i % len(OTHERS)] if concluded else "white",
        **_mark(i),
    )
