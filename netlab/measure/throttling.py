"""Thermal throttling and changes of the CPU's frequency during a run, where hosts report them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from netlab.measure.exchange import RunOutcome

BUSY_SHARE = 0.8
"""Least busy share of a CPU in the window: an idle one lowers its frequency without harm."""

IDLE = ("idle_us", "iowait_us")
SPENT = ("user_us", "nice_us", "system_us", "irq_us", "softirq_us", "steal_us", *IDLE)


@dataclass(frozen=True)
class Throttling:
    """Throttling of the CPUs of all hosts of a run."""

    events: int | None
    frequency_percent: float | None


def throttling(outcome: RunOutcome) -> Throttling:
    """Read the throttling of a run's hosts from the meters of its agents."""
    whole = [cpu.get("throttled") for cpu in _cpus(outcome, "total")]
    events = [count for count in whole if count is not None]
    changes = [
        100 * (cpu["frequency_kHz"] / cpu["first_frequency_kHz"] - 1)
        for cpu in _cpus(outcome, "window")
        if cpu.get("frequency_kHz") and cpu.get("first_frequency_kHz") and _busy(cpu)
    ]
    return Throttling(max(events, default=None), min(changes, default=None))


def _cpus(outcome: RunOutcome, part: str) -> Iterator[dict]:
    for flow in outcome.flows:
        for result in (flow.gen, flow.sink):
            yield from ((result.get("meter") or {}).get(part) or {}).get("cpu") or ()


def _busy(cpu: dict) -> bool:
    spent_us = sum(cpu.get(name) or 0 for name in SPENT)
    idle_us = sum(cpu.get(name) or 0 for name in IDLE)
    return spent_us > 0 and (spent_us - idle_us) / spent_us >= BUSY_SHARE
