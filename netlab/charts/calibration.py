"""Charts of a calibration: deviations over their bound."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from netlab.charts.chart import describe
from netlab.charts.labels import legend_below
from netlab.charts.palette import (
    BAND_COLOUR,
    CEILING_COLOUR,
    mtu_styles,
    other_style,
)
from netlab.charts.theme import new_axes, theme

WIDTH_IN, ROW_IN, DOT_IN = 6.2, 0.15, 0.17
HEADROOM = 1.08
WITHIN = "within"
"""Verdict of a cell within its bound."""

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


@dataclass(frozen=True)
class _Columns:
    """Columns of a deviation, its spread and its bound, and their unit."""

    middle: str
    least: str
    greatest: str
    bound: str
    unit: str
    digits: int


_OF_RATES = _Columns(*RATE_COLUMNS[2:6], unit="%", digits=2)
_OF_ROUND_TRIPS = _Columns(*ROUND_TRIP_COLUMNS[2:6], unit="µs", digits=0)


@theme()
def rates(cells: pd.DataFrame, *, title: str = "", ax: Axes | None = None) -> Axes:
    """Draw the deviation from every known rate, a row a rate and a dot an MTU."""
    rows = [f"{rate:g} Mb/s" for rate in cells["rate_Mbps"]]
    if "rtt_ms" in cells:
        rows = [f"{row}, {rtt:g} ms" for row, rtt in zip(rows, cells["rtt_ms"], strict=True)]
    styles = {f"{mtu_B} B": style for mtu_B, style in mtu_styles(cells["mtu_B"]).items()}
    return _deviations(
        cells.assign(row=rows, dot=[f"{mtu_B:.0f} B" for mtu_B in cells["mtu_B"]]),
        {name: styles[name] for name in dict.fromkeys(f"{m:.0f} B" for m in cells["mtu_B"])},
        _OF_RATES,
        title=title or "Deviation from known rates",
        quantity="Goodput against what TCP can carry, %",
        ax=ax,
    )


@theme()
def round_trips(cells: pd.DataFrame, *, title: str = "", ax: Axes | None = None) -> Axes:
    """Draw the deviation from every emulated round-trip time, a dot a load."""
    loads = dict.fromkeys(map(str, cells["load"]))
    return _deviations(
        cells.assign(row=[f"{rtt:g} ms" for rtt in cells["rtt_ms"]], dot=cells["load"].map(str)),
        {load: other_style(place) for place, load in enumerate(loads)},
        _OF_ROUND_TRIPS,
        title=title or "Deviation from emulated round-trip times",
        quantity="Round trip against the one asked for, µs",
        ax=ax,
    )


def _deviations(
    cells: pd.DataFrame,
    styles: Mapping[str, dict[str, Any]],
    columns: _Columns,
    *,
    title: str,
    quantity: str,
    ax: Axes | None,
) -> Axes:
    """Dots of `cells` in rows of their ``row``, each in the style of its ``dot``."""
    names = cells["row"].drop_duplicates().tolist()
    step = ROW_IN + DOT_IN * len(styles)
    ax = ax or new_axes((WIDTH_IN, 1.6 + step * len(names)))
    bounds = cells.groupby("row", sort=False)[columns.bound].max()
    for row, bound in enumerate(bounds):
        ax.barh(-row, 2 * bound, left=-bound, height=0.94, color=BAND_COLOUR, zorder=0)
    ax.axvline(0, color=CEILING_COLOUR, linewidth=1, zorder=1)
    for place, (name, style) in enumerate(styles.items()):
        part = cells[cells["dot"] == name]
        y = np.array([-names.index(row) for row in part["row"]], dtype=float)
        y -= (place - (len(styles) - 1) / 2) * DOT_IN / step
        colour = style["color"]
        ax.hlines(y, part[columns.least], part[columns.greatest], color=colour, linewidth=1.5)
        dots = style | {"linestyle": "none", "markersize": 6.5, "zorder": 3}
        ax.plot(part[columns.middle], y, label=name, **dots)
        off = (part["verdict"] != WITHIN).to_numpy()
        hollow = dots | {"markerfacecolor": "white", "markeredgecolor": colour}
        ax.plot(part[columns.middle][off], y[off], label="_off", **hollow)
    ax.set_yticks([-row for row in range(len(names))], names)
    ax.tick_params(axis="y", length=0)
    ax.grid(axis="y", visible=False)
    ax.grid(axis="x", visible=True)
    reach = HEADROOM * float(np.nanmax(cells[[*_numbers(columns)]].abs().to_numpy()))
    ax.set(xlim=(-reach, reach), ylim=(0.55 - len(names), 0.55), title=title, xlabel=quantity)
    legend_below(ax, ncols=len(styles))
    words = "; ".join(_in_words(row, columns) for row in cells.to_dict("records"))
    alt = (
        f"Dots with least and greatest, {title}: deviation in {columns.unit}, one row a setting; "
        f"a grey band marks the bound of each row. {words}."
    )
    return describe(ax, alt, CAPTION)


def _numbers(columns: _Columns) -> tuple[str, ...]:
    return columns.middle, columns.least, columns.greatest, columns.bound


def _in_words(row: dict, columns: _Columns) -> str:
    """A cell for the alternative text."""
    name = f"{row['row']}, {row['dot']}"
    if pd.isna(row[columns.middle]):
        return f"{name}: {row['verdict']}"
    middle, least, greatest = (f"{row[one]:+.{columns.digits}f}" for one in _numbers(columns)[:3])
    return f"{name}: {middle} {columns.unit} ({least} to {greatest}), {row['verdict']}"
