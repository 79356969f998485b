"""Rate at which one core copies memory."""

from __future__ import annotations

from dataclasses import dataclass

from netlab._core import ffi, lib
from netlab.core.library import check
from netlab.errors import CoreError


@dataclass(frozen=True)
class CopyRate:
    """Copy rate of one thread per second of its CPU time, within the cache and far beyond it."""

    hot_MBps: float
    cold_MBps: float


def memory_copy_MBps(budget_ms: int = 200) -> CopyRate:
    """Measure how fast one thread copies memory on this machine."""
    out, err = ffi.new("struct nl_copy_report *"), ffi.new("struct nl_err *")
    if not 0 <= budget_ms < 2**64:
        raise CoreError("budget_ms: out of range", reason="bad_request", code="E-CORE-005")
    check(lib.nl_copy_rate(budget_ms, out, err), err)
    return CopyRate(hot_MBps=out.hot_Bps / 1e6, cold_MBps=out.cold_Bps / 1e6)
