"""Most goodput that a window can show: the ceiling, and what arrived earlier and was read in it.

The sink counts bytes when they are read. At the start of the window some have arrived and are not
read yet, so that a short window shows more than the path carried in it:

* the reader waits for a CPU, and on an emulated path so does the emulator, which then delivers a
  burst; both together for some milliseconds;
* after a loss TCP delivers nothing until the missing segment is there. What arrived meanwhile, a
  round trip and the time in the queue before the bottleneck, is then read at once.

Both are times at the ceiling's rate; their share of the window is the tolerance.
"""

from __future__ import annotations

from dataclasses import dataclass

from netlab.measure.fairness import loaded_rtt_s

BASE_PERCENT = 1.0
"""Errors of the clocks, of headers and of the token bucket of a link."""

READ_LATE_S = 0.004
"""Wait of a reader for a CPU: a time slice of the scheduler."""

BURST_B = 65_536
"""Largest unit that the kernel passes on at once."""


@dataclass(frozen=True)
class Most:
    percent: float
    late_s: float
    held_s: float


def most_percent(row: dict) -> Most:
    window_s = row.get("window_s")
    if not window_s:
        return Most(100 + BASE_PERCENT, 0.0, 0.0)
    ceiling_Bps = 1e6 * (row.get("ceiling_MBps") or 0.0)
    late_s = READ_LATE_S + (row.get("emulator_late_us") or 0.0) / 1e6
    if ceiling_Bps:
        late_s += max(BURST_B, row.get("burst_B") or 0) / ceiling_Bps
    held_s = 0.0 if row.get("retransmits") == 0 else _held_s(row, ceiling_Bps)
    percent = 100 + BASE_PERCENT + 100 * (late_s + held_s) / window_s
    return Most(percent, late_s, held_s)


def _held_s(row: dict, ceiling_Bps: float) -> float:
    """Time of a recovery, as far as the receive buffers hold what arrives meanwhile."""
    recovery_s = loaded_rtt_s(row)
    buffers_B = (row.get("rcvbuf_B") or 0.0) * (row.get("streams") or 1)
    bounded = ceiling_Bps and buffers_B
    return min(recovery_s, buffers_B / ceiling_Bps) if bounded else recovery_s
