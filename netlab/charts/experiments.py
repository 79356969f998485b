"""Charts of a search, of a benchmark, of a calibration and of a fleet."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from netlab.analysis.fleet import ASYMMETRIC_PERCENT, asymmetric
from netlab.charts import forest
from netlab.charts.chart import describe
from netlab.charts.drawing import (
    CEILING_COLOUR,
    heat_map,
    mtu_styles,
    new_axes,
    other_style,
    theme,
)
from netlab.errors import check

# Chart of a search: loss of each candidate against the best of its race, and its outcome.


def _legend_of(fig: Figure, styles: forest.Styles) -> None:
    looks = ({k: style[k] for k in ("color", "marker")} for style in styles.values())
    handles = [Line2D([], [], linestyle="", **look) for look in looks]
    fig.legend(handles, list(styles), loc="outside lower center", ncols=len(styles))


# Charts of a calibration: deviations over their bound.

CAPTION = (
    "Dots: medians of all runs; lines: least to greatest; grey: the bound of each row. "
    "A hollow dot is not within its bound."
)
RATE_COLUMNS = (
    *("rate_Mbps", "mtu_B", "error_percent", "least_percent", "greatest_percent"),
    *("within_percent", "verdict"),
)
ROUND_TRIP_COLUMNS = (
    *("rtt_ms", "load", "deviation_us", "least_us", "greatest_us"),
    *("bound_us", "verdict"),
)


def rates(
    cells: pd.DataFrame, *, title: str = "Deviation from known rates", ax: Axes | None = None
) -> Axes:
    """Draw the deviation from every known rate, a row a rate and a dot an MTU."""
    rows = [f"{rate:g} Mb/s" for rate in cells["rate_Mbps"]]
    if "rtt_ms" in cells:
        rows = [f"{row}, {rtt:g} ms" for row, rtt in zip(rows, cells["rtt_ms"], strict=True)]
    styles = mtu_styles(cells["mtu_B"])
    names = cells["mtu_B"].map("{:.0f} B".format)
    series = {name: styles[int(mtu_B)] for name, mtu_B in zip(names, cells["mtu_B"], strict=True)}
    quantity = "Goodput against what TCP can carry, %"
    return _deviations(
        cells.assign(row=rows, series=names),
        *(series, RATE_COLUMNS, forest.Scale("+.2f")),
        title=title,
        quantity=quantity,
        ax=ax,
    )


def round_trips(
    cells: pd.DataFrame,
    *,
    title: str = "Deviation from emulated round-trip times",
    ax: Axes | None = None,
) -> Axes:
    """Draw the deviation from every emulated round-trip time, a dot a load."""
    loads = cells["load"].map(str)
    series = {load: other_style(place) for place, load in enumerate(dict.fromkeys(loads))}
    return _deviations(
        cells.assign(row=cells["rtt_ms"].map("{:g} ms".format), series=loads),
        *(series, ROUND_TRIP_COLUMNS, forest.Scale("+.0f", " µs")),
        title=title,
        quantity="Round trip against the one asked for, µs",
        ax=ax,
    )


def _deviations(
    cells: pd.DataFrame, styles: forest.Styles, columns: tuple, scale: forest.Scale, **labels: Any
) -> Axes:
    """Medians with least and greatest value, over the bound of their row."""
    names = dict(zip(columns[2:6], ("centre", "low", "high", "bound"), strict=True))
    marks = cells.rename(columns=names).assign(hollow=cells["verdict"] != "within")
    about = (
        f"medians with least and greatest deviation in{scale.unit}, one row a setting; a grey "
        "band marks the bound of each row"
    )
    return forest.forest(marks, styles, about, scale=scale, caption=CAPTION, **labels)


# Matrix of hosts: the share of every link of a fleet, senders as rows, receivers as columns.

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


# Spread of every host's links: each link as a dot, as sender above and as receiver below.

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


# The slowest links of a fleet: each beside its other direction.


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
