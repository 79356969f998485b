"""Report of one end of a run on this machine."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np


@dataclass(frozen=True)
class RunReport:
    """Report of a sink or gen at the end of its run."""

    role: str
    status: str
    code: str
    message: str
    streams: int
    accepted: int
    t_go_ns: int
    t_first_byte_ns: int
    t_last_byte_ns: int
    window_t0_ns: int
    window_t1_ns: int
    window_bytes: int
    total_bytes: int
    interval_sum_bytes: int
    engine: str
    method: str
    threads: int
    policy: dict[str, int | bool | None]
    completed_bytes: int
    copied_bytes: int
    mapped_bytes: int
    watch_cpu_ns: int
    watch_late_ns: int
    rejected: dict[str, int]
    per_stream: tuple[dict[str, Any], ...]
    sample_t_ns: np.ndarray = field(repr=False)
    sample_bytes: np.ndarray = field(repr=False)
    trace: dict[str, np.ndarray] = field(repr=False)

    @property
    def goodput_MBps(self) -> float:
        """Bytes of the window over its own length, in 10^6 B/s; NaN for an empty window."""
        span_ns = self.window_t1_ns - self.window_t0_ns
        return self.window_bytes / span_ns * 1e3 if span_ns else float("nan")
