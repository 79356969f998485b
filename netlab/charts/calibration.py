"""Charts of a calibration: deviations over their bound."""

from __future__ import annotations

from typing import Any

import pandas as pd
from matplotlib.axes import Axes

from netlab.charts import forest
from netlab.charts.looks import mtu_styles, other_style

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
