"""Texts of cells in tables: goodput with its interval, per cent, streams and tunings."""

from __future__ import annotations

import math
from typing import Literal

import pandas as pd

from netlab.analysis.intervals import is_symmetric
from netlab.errors import require
from netlab.files.tables import HOLLOW
from netlab.study import Study, TuningLevel

QUANTITIES = ("goodput", "percent", "both", "bottleneck", "address")
OneQuantity = Literal["goodput", "percent"]
Quantity = Literal["goodput", "percent", "both"]
CellText = Literal["goodput", "percent", "both", "bottleneck"]
""":data:`QUANTITIES` that a chart, a table of two factors and a table of a group take."""
GoodputColumn = Literal["goodput_MBps", "percent_of_bus"]
"""Columns of the cells that a chart has on its axis."""
MISSING = "–"


def stream_label(streams: int) -> str:
    """``1 Stream``, ``4 Streams``."""
    return f"{streams} Stream" if streams == 1 else f"{streams} Streams"


def number(value: float) -> str:
    """A rate with three significant digits, without decimals from 100 on."""
    return MISSING if pd.isna(value) else f"{value:.{_decimals(value)}f}"


def _decimals(value: float) -> int:
    if abs(value) >= 99.95 or value == 0:
        return 0
    if abs(value) >= 9.995:
        return 1
    return 2 if abs(value) >= 0.0995 else min(9, 2 - math.floor(math.log10(abs(value))))


def with_interval(value: float, low: float, high: float) -> str:
    """``744 ± 8``, ``290 (110 to 764)`` where the halves differ; a dash without a value."""
    if math.isnan(value):
        return MISSING
    return _spread(value, low, high, _decimals(value))


def percent(value: float, low: float = math.nan, high: float = math.nan) -> str:
    """``69.9 ± 0.8 %`` of the bus, ``27 (10 to 72) %``; a dash where the bus is unknown."""
    return MISSING if math.isnan(value) else f"{_spread(value, low, high, 1)} %"


ROUNDING = 1e-9
"""Share of a value below which half of an interval is the rounding of equal numbers."""
MORE_DECIMALS = 2


def _spread(value: float, low: float, high: float, decimals: int) -> str:
    if math.isnan(low) or math.isnan(high):
        return f"{value:.{decimals}f}"
    half = (high - low) / 2
    if half > ROUNDING * abs(value):  # it does not read as 0
        needed = math.ceil(-math.log10(2 * half))
        decimals = max(decimals, min(decimals + MORE_DECIMALS, needed))
        half = max(half, 10.0**-decimals)
    if not is_symmetric(value, low, high):
        return f"{value:.{decimals}f} ({low:.{decimals}f} to {high:.{decimals}f})"
    return f"{value:.{decimals}f} ± {half:.{decimals}f}"


def tuning_label(level: TuningLevel) -> str:
    """Label of a tuning without a leading ``+``; its name where it has none."""
    return (level.label or "").lstrip("+ ") or level.name


def tuning_labels(cells: pd.DataFrame, study: Study | None = None) -> dict[str, str]:
    """Tuning levels in their order, each with its label."""
    tunings = study.tunings if study else ()
    labels = {level.name: tuning_label(level) for level in tunings}
    seen = cells["tuning"].drop_duplicates().tolist()
    return {name: labels.get(name, name) for name in [*(n for n in labels if n in seen), *seen]}


def texts(cells: pd.DataFrame, quantity: str = "goodput") -> list[str]:
    """Cells as text: ``goodput`` in MB/s, ``percent`` of the bus, or ``both``."""
    require(quantity, QUANTITIES, key="quantity", code="E-ANALYSIS-016")
    return [_text(row, quantity) for row in cells.to_dict("records")]


def _text(row: dict, quantity: str) -> str:
    both, mark = quantity == "both", ""
    if row["disturbed"]:  # its median after the mark: ``○ 512``
        mark, rate = f"{HOLLOW} ", number(row["disturbed_MBps"])
        share = percent(100 * row["disturbed_MBps"] / row["bus_MBps"])
    else:
        rate = with_interval(row["goodput_MBps"], row["low_MBps"], row["high_MBps"])
        ends = () if both else (row["percent_low"], row["percent_high"])
        share = percent(row["percent_of_bus"], *ends)
    if quantity == "percent":
        return share if share == MISSING else mark + share
    return f"{mark}{rate} ({share})" if both and share != MISSING else mark + rate
