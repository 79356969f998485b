"""Charts of a fleet: the matrix of hosts, the links of each host, the slowest links."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from netlab.charts import forest
from netlab.charts.chart import describe
from netlab.charts.looks import CEILING_COLOUR, heat_map, new_axes, other_style, theme
from netlab.errors import check
from netlab.fleet.links import ASYMMETRIC_PERCENT, asymmetric

ANNOTATED = 20
"""Most hosts whose cells have a number."""
NAMED = 3
"""Slowest links that the alt text names."""


@theme()
def host_matrix(links: pd.DataFrame, *, ax: Axes | None = None) -> Axes:
    """Heat map of the links of a fleet."""
    check(len(links), "links", None, "no link has a valid run", "E-CHARTS-010")
    names = sorted({*links["sender"], *links["receiver"]})
    rows, columns = links["sender"].map(names.index), links["receiver"].map(names.index)
    values = np.full((len(names), len(names)), np.nan)
    values[rows, columns] = 100 * links["share"]
    side_in = min(16.0, 1.8 + 0.32 * len(names))
    ax = ax or new_axes((side_in + 0.8, side_in))
    span = max(10.0, float(np.nanmax(np.abs(values - 100))))
    label = {"label": "goodput, % of the median link"}
    heat_map(
        values,
        ax=ax,
        vmin=100 - span,
        vmax=100 + span,
        annot=len(names) <= ANNOTATED,
        fmt=".0f",
        annot_kws={"fontsize": 7},
        square=True,
        cbar_kws={**label, "shrink": 0.6, "aspect": 30, "pad": 0.02},
        xticklabels=names,
        yticklabels=names,
    )
    ax.grid(visible=False)
    slower = asymmetric(links)
    mark: dict[str, Any] = {"marker": "v", "ms": 4, "color": "white", "markeredgecolor": "black"}
    ax.plot(columns[slower] + 0.85, rows[slower] + 0.2, linestyle="", **mark)
    ax.tick_params(axis="y", rotation=0, length=0, labelsize=7)
    ax.tick_params(axis="x", rotation=90, length=0, labelsize=7)
    ax.set(xlabel="receiver", ylabel="sender")
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


MOST = 60
"""Hosts drawn: those whose median link is the slowest."""
ROLES = (("sender", "sends", -0.16), ("receiver", "receives", 0.16))


@theme()
def host_spread(links: pd.DataFrame, *, ax: Axes | None = None) -> Axes:
    check(len(links), "links", None, "no link has a valid run", "E-CHARTS-011")
    both = pd.concat([links.assign(host=links[column]) for column, *_ in ROLES])
    medians = both.groupby("host", observed=True)["share"].median().sort_values()
    names = list(medians.index[:MOST])
    ax = _link_axes(names, ax)
    for place, (column, role, offset) in enumerate(ROLES):
        style = {name: other_style(place)[name] for name in ("marker", "color")}
        style |= {"linestyle": "", "markersize": 3.5, "alpha": 0.7, "label": role}
        drawn = links[links[column].isin(names)]
        ax.plot(100 * drawn["share"], drawn[column].map(names.index) + offset, **style)
    ax.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2)
    of = f"{len(names)} hosts" if len(names) == len(medians) else f"{MOST} of {len(medians)} hosts"
    alt = (
        f"Links of {of} as dots, goodput in per cent of the median link. The host with the slowest "
        f"median link is {names[0]} ({100 * medians.iloc[0]:.0f} %), the one with the fastest of "
        f"those drawn {names[-1]} ({100 * medians.iloc[len(names) - 1]:.0f} %)."
    )
    return describe(ax, alt)


def _link_axes(names: list[str], ax: Axes | None) -> Axes:
    ax = ax or new_axes((6.4, 1.2 + 0.24 * len(names)))
    forest.name_rows(ax, names)
    ax.axvline(100, color=CEILING_COLOUR, linewidth=0.8)
    ax.set_xlabel("goodput of a link, % of the median link")
    return ax


@theme()
def slow_links(links: pd.DataFrame, *, most: int = 20, ax: Axes | None = None) -> Axes:
    check(len(links), "links", None, "no link has a valid run", "E-CHARTS-012")
    shown = links.sort_values("share").head(most)
    names = list(shown["sender"] + " → " + shown["receiver"])
    ax = _link_axes(names, ax)
    for place, (column, label) in enumerate((("share", "link"), ("reverse", "other direction"))):
        style = other_style(place) | {"linestyle": "", "markersize": 5}
        ax.plot(100 * shown[column], range(len(names)), label=label, **style)
    ax.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2)
    words = "; ".join(
        f"{name} {100 * row.share:.0f} %"
        + ("" if pd.isna(row.reverse) else f" (other direction {100 * row.reverse:.0f} %)")
        for name, row in zip(names, shown.itertuples(), strict=True)
    )
    alt = f"Dots of the {len(names)} slowest of {len(links)} links, per cent of the median link."
    return describe(ax, f"{alt} {words}.")
