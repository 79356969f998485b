"""CPU time that other programs used during a run, and which program used most."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from netlab.errors import printable
from netlab.files.run_results import Others
from netlab.measure.emulator_report import Emulated
from netlab.measure.exchange import RunOutcome, meter_of
from netlab.measure.shared_machines import controller_processes

AGENT = "gensink"
"""Names of netlab's processes on a host begin with it, the emulator's as well."""


TICK_US = 10_000
"""Resolution of the CPU time of a process. In a short window a few ticks are several per cent."""


@dataclass(frozen=True)
class ForeignLoad:
    percent: float
    largest: str = ""


def foreign_load(outcome: RunOutcome, emulated: Emulated | None = None) -> ForeignLoad | None:
    """Foreign load of the more loaded host of a run.

    The agents read the CPU time of every process before and after. Counts by clock ticks do not
    serve: they have packet processing apart, so that a run that fills the CPUs hides the work of
    others. Agents of both ends and the controller are netlab's, on whichever machine they are.
    """
    reports: list[Any] = [result.get("others") for _, result in outcome.ends()]
    if None in reports:
        return None
    cpus = [len(meter_of(result, "total").get("cpu") or ()) for _, result in outcome.ends()]
    own = own_processes(reports)
    loads = [load_of(*report, own, emulated) for report in zip(reports, cpus, strict=True)]
    return max(loads, key=lambda load: load.percent)


def own_processes(reports: Iterable[Others]) -> Counter[tuple[str, int]]:
    """Name and start of the agents that made the reports, and of the controller."""
    agents: set[tuple[str, int]] = {(AGENT, others["born_ticks"]) for others in reports}
    return controller_processes() | Counter(agents)


def load_of(
    others: Others, cpus: int, own: Counter[tuple[str, int]], emulated: Emulated | None = None
) -> ForeignLoad:
    us = float(others["cpu_us"] - TICK_US)
    foreign, left = [], Counter(own)
    # Of two programs of one name, born in one tick, the busier one is foreign.
    for process in sorted(others["top"], key=lambda process: process["cpu_us"]):
        is_agent = process["name"].startswith(AGENT)
        key = (AGENT if is_agent else process["name"], process["born_ticks"])
        if left[key] > 0:
            us -= process["cpu_us"]
            left[key] -= not is_agent  # agents of several hosts of one machine
        elif emulated is None or not is_agent:
            foreign.append(process)
    if emulated is not None:
        us -= emulated.cpu_us(others["t0_ns"], others["t1_ns"])
    span_us = (others["t1_ns"] - others["t0_ns"]) / 1e3
    if us <= 0 or span_us <= 0 or not cpus:
        return ForeignLoad(0.0)
    largest = foreign[-1] if foreign else None
    return ForeignLoad(
        # many processes, each rounded to a tick, may be more than the CPUs had in a short window
        min(100.0, 100 * us / (cpus * span_us)),
        f"{printable(largest['name'])} (process {largest['pid']})" if largest else "",
    )
