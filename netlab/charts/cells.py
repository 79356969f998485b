"""Cells of one group over the number of streams, on one set of axes."""

from __future__ import annotations

from contextlib import nullcontext

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from netlab.analysis import printed
from netlab.charts.labels import label_lines
from netlab.charts.palette import CEILING_COLOUR, DASHES, mtu_styles
from netlab.charts.theme import theme
from netlab.errors import BadInput
from netlab.study import Study

QUANTITIES = {
    "goodput_MBps": ("low_MBps", "high_MBps", "goodput, MB/s"),
    "percent_of_bus": ("percent_low", "percent_high", "goodput, % of bus"),
}
"""Column of the cells -> ends of its interval, and the axis label."""

SIZE_IN = (7.2, 4.2)
LINEAR_UP_TO = 32
"""Stream counts that span more than this factor go on a logarithmic axis."""


def over_streams(
    cells: pd.DataFrame,
    group: str,
    *,
    y: str = "goodput_MBps",
    tuning: str | None = None,
    study: Study | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw the cells of a group over streams: a colour and marker an MTU, a dash a tuning.

    Parameters
    ----------
    cells : DataFrame
        From :class:`netlab.analysis.cells.Cells`.
    group : str
        Name of the group.
    y : str
        One of :data:`QUANTITIES`.
    tuning : str, optional
        Only this tuning.
    study : Study, optional
        Gives the labels of the tunings.
    ax : Axes, optional
        Axes to draw on; new ones, in netlab's theme, by default.

    Returns
    -------
    Axes
        Bars are the cells' intervals; the grey line is the bus where it is in reach.

    Raises
    ------
    BadInput
        Unknown group, quantity or tuning.
    """
    if y not in QUANTITIES:
        raise BadInput(
            f"choose from {', '.join(QUANTITIES)}", key="y", value=y, code="E-CHARTS-003"
        )
    part = printed.of_group(cells, group)
    labels = printed.tuning_labels(part, study)
    if tuning is not None and tuning not in labels:
        raise BadInput(
            f"choose from {', '.join(labels)}", key="tuning", value=tuning, code="E-CHARTS-004"
        )
    with theme() if ax is None else nullcontext():
        if ax is None:
            _, ax = plt.subplots(figsize=SIZE_IN)
        chosen = [tuning] if tuning is not None else list(labels)
        styles = mtu_styles(cells["mtu_B"])
        for name in chosen:
            dash = DASHES[(len(labels) - 1 - list(labels).index(name)) % len(DASHES)]
            for mtu_B, line in part[part["tuning"] == name].groupby("mtu_B"):
                style = styles[int(mtu_B)] | {"linestyle": dash}
                _line(ax, line, y, f"{labels[name]}, {mtu_B} B", style)
        _axes(ax, part, y)
        ax.set_title(group if tuning is None else f"{group}: {labels[tuning]}")
        label_lines(ax)
    return ax


def _line(ax: Axes, line: pd.DataFrame, y: str, label: str, style: dict) -> None:
    """Draw the cells of one tuning and MTU that have a value."""
    line = line[line[y].notna()].sort_values("streams")
    if line.empty:
        return
    low, high, _ = QUANTITIES[y]
    values = line[y].to_numpy()
    reach = np.array([values - line[low], line[high] - values])
    streams = line["streams"].to_numpy()
    ax.plot(streams, values, label=label, **style)
    ax.errorbar(
        *(streams, values, np.nan_to_num(reach)),
        fmt="none",
        ecolor=style["color"],
        elinewidth=1.1,
        capsize=3,
    )


def _axes(ax: Axes, part: pd.DataFrame, y: str) -> None:
    """Set ticks, limits and labels, and draw the bus."""
    streams = sorted(part["streams"].unique())
    if streams[-1] / streams[0] > LINEAR_UP_TO:
        ax.set_xscale("log")
        ax.minorticks_off()
    ax.set_xticks(streams, [str(count) for count in streams])
    ax.set_xlabel("TCP streams")
    ax.set_ylabel(QUANTITIES[y][2])
    bus = 100.0 if y == "percent_of_bus" else part["bus_MBps"].max()
    if part["bus_MBps"].notna().any():
        ax.axhline(bus, color=CEILING_COLOUR, linewidth=1.3, linestyle=(0, (1, 1)), zorder=1)
    ax.set_ylim(bottom=0)
