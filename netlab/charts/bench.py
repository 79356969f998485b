"""Chart of a benchmark: goodput of gensink over that of every other contender, cell by cell."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from netlab.analysis.compare import CANNOT_TELL
from netlab.charts.palette import CEILING_COLOUR, MARKERS, OTHERS
from netlab.charts.theme import theme
from netlab.errors import BadInput

ROW_IN = 0.42
TITLES = {"same": "Same settings", "best": "Each at its best"}


@theme()
def ratios_figure(ratios: pd.DataFrame) -> Figure:
    """Draw the ratios with their intervals, one row a cell, one panel a mode.

    Parameters
    ----------
    ratios : DataFrame
        ``mode offloads mtu_B streams other against ratio low high verdict``, one row a cell and
        other contender. Rows whose ``other`` is not ``against`` repeat another and are left out.

    Returns
    -------
    Figure
        A hollow marker stands for the verdict *cannot tell*.
    """
    ratios = ratios[(ratios["other"] == ratios["against"]) & ratios["ratio"].notna()]
    if ratios.empty:
        raise BadInput("no cell has a ratio to draw", key="ratios", code="E-CHARTS-002")
    modes = [mode for mode in TITLES if (ratios["mode"] == mode).any()]
    labels = ratios.apply(_cell, axis=1)
    rows = list(dict.fromkeys(labels))
    others = sorted(ratios["other"].unique())
    size = (3.6 * len(modes) + 1.6, 1.5 + ROW_IN * len(rows))
    fig, axes = plt.subplots(1, len(modes), sharex=True, sharey=True, squeeze=False, figsize=size)
    for ax, mode in zip(axes[0], modes, strict=True):
        for i, other in enumerate(others):
            part = ratios[(ratios["mode"] == mode) & (ratios["other"] == other)]
            _draw(ax, part, labels, rows, i, len(others))
        ax.axvline(1.0, color=CEILING_COLOUR, linewidth=1.3, linestyle=(0, (1, 1)), zorder=1)
        ax.set_title(TITLES[mode])
        ax.set_xlabel("gensink over the other")
        ax.grid(axis="x")
        ax.set_yticks(range(len(rows)), rows)
        ax.set_ylim(len(rows) - 0.5, -0.5)
    handles = [
        plt.Line2D([], [], linestyle="", **_mark(i), markerfacecolor=OTHERS[i % len(OTHERS)])
        for i in range(len(others))
    ]
    fig.legend(handles, others, loc="outside lower center", ncols=len(others))
    return fig


def ratios_alt(ratios: pd.DataFrame) -> str:
    """Alt text of :func:`ratios_figure`."""
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


def _draw(ax, part: pd.DataFrame, labels: pd.Series, rows: list[str], i: int, others: int) -> None:
    shift = 0.6 * ((i + 0.5) / others - 0.5)
    for at, row in part.iterrows():
        reach = np.nan_to_num(
            [[row["ratio"] - row["low"]], [row["high"] - row["ratio"]]], nan=0.0
        ).clip(min=0.0)
        concluded = row["verdict"] != CANNOT_TELL
        ax.errorbar(
            [row["ratio"]],
            [rows.index(labels[at]) + shift],
            xerr=reach,
            linestyle="",
            capsize=2,
            elinewidth=1.1,
            markerfacecolor=OTHERS[i % len(OTHERS)] if concluded else "white",
            **_mark(i),
        )
