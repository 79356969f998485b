"""Matrix of hosts: the share of every link of a fleet, senders as rows, receivers as columns."""

from __future__ import annotations

import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes

from netlab.analysis.links import ASYMMETRIC_PERCENT, asymmetric
from netlab.charts.chart import describe
from netlab.charts.theme import new_axes, theme
from netlab.errors import BadInput

CELL_IN, MARGIN_IN, LARGEST_IN = 0.32, 1.8, 16.0
ANNOTATED = 20
"""Most hosts whose cells have a number."""
NAMED = 3
"""Slowest links that the alt text names."""


@theme()
def host_matrix(links: pd.DataFrame, *, ax: Axes | None = None) -> Axes:
    """Heat map of the links of a fleet."""
    if links.empty:
        raise BadInput("no link has a valid run", key="links", code="E-CHARTS-010")
    names = sorted({*links["sender"], *links["receiver"]})
    at = {name: position for position, name in enumerate(names)}
    rows, columns = links["sender"].map(at), links["receiver"].map(at)
    values = np.full((len(names), len(names)), np.nan)
    values[rows, columns] = 100 * links["share"]
    side_in = min(LARGEST_IN, MARGIN_IN + CELL_IN * len(names))
    ax = ax or new_axes((side_in + 0.8, side_in))
    span = max(10.0, float(np.nanmax(np.abs(values - 100))))
    sns.heatmap(
        values,
        ax=ax,
        vmin=100 - span,
        vmax=100 + span,
        cmap="cividis",
        annot=len(names) <= ANNOTATED,
        fmt=".0f",
        annot_kws={"fontsize": 7},
        square=True,
        cbar_kws={
            "label": "goodput, % of the median link",
            "shrink": 0.6,
            "aspect": 30,
            "pad": 0.02,
        },
        xticklabels=names,
        yticklabels=names,
    )
    ax.grid(visible=False)
    slower = asymmetric(links)
    ax.plot(
        columns[slower] + 0.85, rows[slower] + 0.2, linestyle="", marker="v", ms=4, color="white",
        markeredgecolor="black",
    )  # fmt: skip
    ax.tick_params(axis="y", rotation=0, length=0, labelsize=7)
    ax.tick_params(axis="x", rotation=90, length=0, labelsize=7)
    ax.set_xlabel("receiver")
    ax.set_ylabel("sender")
    slowest = links.sort_values("share").head(NAMED)
    named = ", ".join(
        f"{row.sender} to {row.receiver} {100 * row.share:.0f} %" for row in slowest.itertuples()
    )
    alt = (
        f"Heat map of {len(links)} links between {len(names)} hosts, goodput in per cent of the "
        f"median link. The slowest: {named}. {int(slower.sum())} of {len(links)} are slower than "
        f"their other direction by {ASYMMETRIC_PERCENT:.0f} % or more."
    )
    return describe(ax, alt)
