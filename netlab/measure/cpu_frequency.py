"""Thermal throttling and changes of the CPU's frequency during a run, where hosts report them."""

from __future__ import annotations

from collections.abc import Iterator

from netlab.files.run_results import Cpu, ProcessorTime
from netlab.measure.exchange import MeterPart, RunOutcome, meter_of

BUSY_SHARE = 0.8
"""Least busy share of a CPU in the window: an idle one lowers its frequency without harm."""

IDLE: tuple[ProcessorTime, ...] = ("idle_us", "iowait_us")
SPENT: tuple[ProcessorTime, ...] = (
    *("user_us", "nice_us", "system_us", "irq_us", "softirq_us", "steal_us"),
    *IDLE,
)


def throttling(outcome: RunOutcome) -> dict[str, int | float | None]:
    """Columns: events of throttling, and the largest drop of the frequency of a busy CPU."""
    whole = [cpu.get("throttled") for cpu in _cpus(outcome, "total")]
    changes = [
        100 * (last_kHz / first_kHz - 1)
        for cpu in _cpus(outcome, "window")
        if (last_kHz := cpu.get("frequency_kHz"))
        and (first_kHz := cpu.get("first_frequency_kHz"))
        and _busy(cpu)
    ]
    return {
        "throttle_events": max((count for count in whole if count is not None), default=None),
        "cpu_frequency_percent": min(changes, default=None),
    }


def _cpus(outcome: RunOutcome, part: MeterPart) -> Iterator[Cpu]:
    for _, result in outcome.ends():
        yield from meter_of(result, part).get("cpu") or ()


def _busy(cpu: Cpu) -> bool:
    spent_us = sum(cpu.get(name) or 0 for name in SPENT)
    idle_us = sum(cpu.get(name) or 0 for name in IDLE)
    return spent_us > 0 and (spent_us - idle_us) / spent_us >= BUSY_SHARE
