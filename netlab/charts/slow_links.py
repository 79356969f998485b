"""The slowest links of a fleet: each beside its other direction."""

from __future__ import annotations

import pandas as pd
from matplotlib.axes import Axes

from netlab.charts.chart import describe
from netlab.charts.palette import CEILING_COLOUR, other_style
from netlab.charts.theme import new_axes, theme
from netlab.errors import BadInput

ROW_IN, MARGIN_IN, WIDTH_IN = 0.24, 1.2, 6.4
MOST = 20


@theme()
def slow_links(links: pd.DataFrame, *, most: int = MOST, ax: Axes | None = None) -> Axes:
    """Draw the slowest links."""
    if links.empty:
        raise BadInput("no link has a valid run", key="links", code="E-CHARTS-012")
    shown = links.sort_values("share").head(most)
    names = list(shown["sender"] + " → " + shown["receiver"])
    rows = range(len(shown))
    ax = ax or new_axes((WIDTH_IN, MARGIN_IN + ROW_IN * len(shown)))
    for place, (column, label) in enumerate((("share", "link"), ("reverse", "other direction"))):
        look = other_style(place) | {"linestyle": "", "markersize": 5}
        ax.plot(100 * shown[column], rows, label=label, **look)
    ax.axvline(100, color=CEILING_COLOUR, linewidth=0.8)
    ax.set_yticks(rows, names)
    ax.set_ylim(len(names) - 0.5, -0.5)
    ax.set_xlabel("goodput, % of the median link")
    ax.grid(axis="x")
    ax.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2)
    words = "; ".join(
        f"{name} {100 * row.share:.0f} %"
        + ("" if pd.isna(row.reverse) else f" (other direction {100 * row.reverse:.0f} %)")
        for name, row in zip(names, shown.itertuples(), strict=True)
    )
    alt = f"Dots of the {len(names)} slowest of {len(links)} links, per cent of the median link."
    return describe(ax, f"{alt} {words}.")
