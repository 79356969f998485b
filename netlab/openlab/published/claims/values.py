"""Names for the expressions of the claims."""

from __future__ import annotations

from typing import Any

from netlab.openlab.published.claims import (
    gigabit_values,
    notes_values,
    report_values,
    wide_area_values,
)
from netlab.openlab.published.claims.report_values import FLAT
from netlab.openlab.published.claims.wide_area_values import DVD_CAPACITY_B
from netlab.openlab.published.layout import HALF_SPEED_MBPS

NAMES: dict[str, Any] = {
    name: value
    for module in (report_values, notes_values, wide_area_values, gigabit_values)
    for name, value in vars(module).items()
    if not name.startswith("_") and getattr(value, "__module__", "") == module.__name__
} | {
    **{"FLAT": FLAT, "HALF_SPEED_MBPS": HALF_SPEED_MBPS, "DVD_CAPACITY_B": DVD_CAPACITY_B},
    "MTUS_B": [1500, 9000, 16114],
}
"""Names for the expressions of the claims: the functions of these modules, and constants."""
