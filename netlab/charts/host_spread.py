"""Spread of every host's links: each link as a dot, as sender above and as receiver below."""

from __future__ import annotations

import pandas as pd
from matplotlib.axes import Axes

from netlab.charts.chart import describe
from netlab.charts.palette import CEILING_COLOUR, other_style
from netlab.charts.theme import new_axes, theme
from netlab.errors import BadInput

ROW_IN, MARGIN_IN, WIDTH_IN = 0.24, 1.2, 6.4
MOST = 60
"""Hosts drawn: those whose median link is the slowest."""
ROLES = (("sender", "sends", -0.16), ("receiver", "receives", 0.16))


@theme()
def host_spread(links: pd.DataFrame, *, ax: Axes | None = None) -> Axes:
    """Draw the links of each host."""
    if links.empty:
        raise BadInput("no link has a valid run", key="links", code="E-CHARTS-011")
    both = pd.concat([links.assign(host=links[column]) for column, *_ in ROLES])
    medians = both.groupby("host", observed=True)["share"].median().sort_values()
    names = list(medians.index[:MOST])
    rows = {name: row for row, name in enumerate(names)}
    ax = ax or new_axes((WIDTH_IN, MARGIN_IN + ROW_IN * len(names)))
    for place, (column, role, offset) in enumerate(ROLES):
        look = other_style(place)
        drawn = links[links[column].isin(names)]
        ax.plot(
            100 * drawn["share"], drawn[column].map(rows) + offset, linestyle="",
            marker=look["marker"], color=look["color"], markersize=3.5, alpha=0.7, label=role,
        )  # fmt: skip
    ax.axvline(100, color=CEILING_COLOUR, linewidth=0.8)
    ax.set_yticks(range(len(names)), names)
    ax.set_ylim(len(names) - 0.5, -0.5)
    ax.set_xlabel("goodput of a link, % of the median link")
    ax.grid(axis="x")
    ax.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2)
    of = f"{len(names)} hosts" if len(names) == len(medians) else f"{MOST} of {len(medians)} hosts"
    alt = (
        f"Links of {of} as dots, goodput in per cent of the median link. The host with the slowest "
        f"median link is {names[0]} ({100 * medians.iloc[0]:.0f} %), the one with the fastest of "
        f"those drawn {names[-1]} ({100 * medians.iloc[len(names) - 1]:.0f} %)."
    )
    return describe(ax, alt)
