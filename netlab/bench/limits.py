"""The physical limit of moving bytes on one machine: how fast its cores copy memory."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from threading import Barrier

from netlab import core

BUDGET_MS = 400
START_S = 30.0


@dataclass(frozen=True)
class CopyLimits:
    """Memory copy rates, 10^6 B/s: in the cache (hot) and far beyond it (cold).

    Over a lab path every byte is copied twice, into the kernel and out of it, by the same cores, so
    a transfer that copies cannot reach the rate of all cores.
    """

    cores: int
    one_hot_MBps: float
    one_cold_MBps: float
    all_hot_MBps: float
    all_cold_MBps: float


def copy_limits(budget_ms: int = BUDGET_MS) -> CopyLimits:
    """Measure how fast one core and all cores together copy memory.

    Parameters
    ----------
    budget_ms : int
        Time each thread copies, half of it hot.
    """
    one = core.memory_copy_MBps(budget_ms)
    cores = sorted(os.sched_getaffinity(0))
    together = Barrier(len(cores))

    def copy_on(cpu: int) -> core.CopyRate:
        os.sched_setaffinity(0, {cpu})  # of this thread alone
        together.wait(START_S)
        return core.memory_copy_MBps(budget_ms)

    with ThreadPoolExecutor(max_workers=len(cores)) as pool:
        rates = list(pool.map(copy_on, cores))
    return CopyLimits(
        cores=len(cores),
        one_hot_MBps=one.hot_MBps,
        one_cold_MBps=one.cold_MBps,
        all_hot_MBps=sum(rate.hot_MBps for rate in rates),
        all_cold_MBps=sum(rate.cold_MBps for rate in rates),
    )
