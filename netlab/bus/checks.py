"""Checks of input that the bus models share."""

from __future__ import annotations

import math
from numbers import Integral, Real

from netlab.errors import BadInput


def is_number(value: object) -> bool:
    """True for a finite real number."""
    if isinstance(value, bool) or not isinstance(value, Real):
        return False
    return math.isfinite(value)


def is_whole(value: object) -> bool:
    """True for an integer."""
    return isinstance(value, Integral) and not isinstance(value, bool)


def percent_of(bandwidth_MBps: float, throughput_MBps: float) -> float:
    """A throughput as per cent of a bandwidth; negative and non-numeric input is refused."""
    if not is_number(throughput_MBps) or throughput_MBps < 0:
        raise BadInput(
            "must be 0 or more", key="throughput_MBps", value=throughput_MBps, code="E-BUS-001"
        )
    return 100 * float(throughput_MBps) / bandwidth_MBps
