"""The physical limit of a transfer within one machine: its memory copy rate."""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import partial
from threading import Barrier

from netlab import core
from netlab.hosts.together import together

BUDGET_MS = 200
TRIES = 3
START_S = 30.0


@dataclass(frozen=True)
class CopyLimits:
    """Memory copy rates, 10^6 B/s: within the cache (hot) and far beyond it (cold).

    On a lab path the same cores copy every byte twice, into the kernel and out of it, so a transfer
    that copies cannot reach the rate of all cores.
    """

    cores: int
    one_hot_MBps: float
    one_cold_MBps: float
    all_hot_MBps: float
    all_cold_MBps: float


def copy_limits(budget_ms: int = BUDGET_MS) -> CopyLimits:
    """Measure the memory copy rate of one core and of all cores together.

    Each figure is the highest of :data:`TRIES`, the least disturbed.
    """
    ones = [core.memory_copy_MBps(budget_ms) for _ in range(TRIES)]
    alls = [_together(budget_ms) for _ in range(TRIES)]
    return CopyLimits(
        cores=len(alls[0]),
        one_hot_MBps=max(rate.hot_MBps for rate in ones),
        one_cold_MBps=max(rate.cold_MBps for rate in ones),
        all_hot_MBps=max(sum(rate.hot_MBps for rate in rates) for rates in alls),
        all_cold_MBps=max(sum(rate.cold_MBps for rate in rates) for rates in alls),
    )


def _together(budget_ms: int) -> list[core.CopyRate]:
    """The rate of each core while all of them copy."""
    cores = sorted(os.sched_getaffinity(0))
    begin = Barrier(len(cores))

    def copy_on(cpu: int) -> core.CopyRate:
        os.sched_setaffinity(0, {cpu})  # Applies to this thread only.
        begin.wait(START_S)
        return core.memory_copy_MBps(budget_ms)

    copies = together([partial(copy_on, cpu) for cpu in cores], at_once=len(cores))
    return [copy.result() for copy in copies]
