"""Checks of input that the bus models share."""

from __future__ import annotations

import math
from numbers import Integral, Real

from netlab.errors import check


def is_number(value: object) -> bool:
    if isinstance(value, bool) or not isinstance(value, Real):
        return False
    return math.isfinite(value)


def is_whole(value: object) -> bool:
    return isinstance(value, Integral) and not isinstance(value, bool)


def percent_of(bandwidth_MBps: float, throughput_MBps: float) -> float:
    """A throughput as per cent of a bandwidth; negative and non-numeric input is refused."""
    fine = is_number(throughput_MBps) and throughput_MBps >= 0
    check(fine, "throughput_MBps", throughput_MBps, "must be 0 or more", "E-BUS-001")
    return 100 * float(throughput_MBps) / bandwidth_MBps
