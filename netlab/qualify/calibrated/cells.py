"""Studies of calibrated cells, and the streams of their runs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from netlab.errors import check
from netlab.lab.pair import lab_pair
from netlab.study import Study

RECORD_LENGTH_B = 65536
INTERVAL_MS = 50


@dataclass(frozen=True)
class Stream:
    mtu_B: int
    buffer_B: int
    warmup_s: float
    window_s: float
    congestion: str
    pacing_MBps: float | None = None
    record_length_B: int = RECORD_LENGTH_B


def study_of(cells: Sequence[Any], mtus_B: Iterable[int], title: str, congestion: str) -> Study:
    links = {cell.path: cell.link for cell in cells}
    return lab_pair(
        "calibration",
        title,
        links,
        [{"name": name, "path": name, "record_length_B": RECORD_LENGTH_B} for name in links],
        mtus_B=sorted(set(mtus_B)),
        congestion=congestion,
        force_buffer=True,
    )


def check_levels(*limits: tuple[str, float, float, Sequence[float]]) -> None:
    for key, low, high, levels in limits:
        check(levels, key, None, "has no level", "E-CALIBRATION-001")
        text = f"is from {low:g} to {high:g}"
        for value in levels:
            check(low <= value <= high, key, value, text, "E-CALIBRATION-002")
