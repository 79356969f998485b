"""CPU time that other programs used during a run, and which program used most."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass

from netlab.measure.emulated import Emulated
from netlab.measure.exchange import RunOutcome
from netlab.measure.machines import controller_processes

AGENT = "gensink"
"""Names of netlab's processes on a host begin with it, the emulator's as well."""


TICK_US = 10_000
"""Resolution of the CPU time of a process. In a short window a few ticks are several per cent."""


@dataclass(frozen=True)
class ForeignLoad:
    """CPU time of processes that are not part of a run."""

    percent: float
    largest: str = ""


def foreign_load(outcome: RunOutcome, emulated: Emulated | None = None) -> ForeignLoad | None:
    """Foreign load of the more loaded host of a run.

    The agents read the CPU time of every process before and after. Counts by clock ticks do not
    serve: they have packet processing apart, so that a run that fills the CPUs hides the work of
    others. Agents of both ends and the controller are netlab's, on whichever machine they are.
    """
    reports = list(_reports(outcome))
    known = [(others, cpus) for others, cpus in reports if others is not None]
    if not known or len(known) < len(reports):
        return None
    own = own_processes([others for others, _ in known])
    loads = [load_of(others, cpus, own, emulated) for others, cpus in known]
    return max(loads, key=lambda load: load.percent)


def own_processes(reports: Iterable[dict]) -> frozenset[tuple[str, int]]:
    """Name and start of netlab's processes: the agents that made the reports, and the controller.

    The name of an agent is :data:`AGENT`.
    """
    agents = {(AGENT, others["born_ticks"]) for others in reports}
    return controller_processes() | agents


def load_of(
    others: dict, cpus: int, own: Collection[tuple[str, int]], emulated: Emulated | None = None
) -> ForeignLoad:
    """Foreign load of one host."""
    us = others["cpu_us"] - TICK_US
    foreign = []
    for process in others["top"]:
        is_agent = process["name"].startswith(AGENT)
        if (AGENT if is_agent else process["name"], process["born_ticks"]) in own:
            us -= process["cpu_us"]
        elif emulated is None or not is_agent:
            foreign.append(process)
    if emulated is not None:
        us -= emulated.cpu_us(others["t0_ns"], others["t1_ns"])
    span_us = (others["t1_ns"] - others["t0_ns"]) / 1e3
    if us <= 0 or span_us <= 0 or not cpus:
        return ForeignLoad(0.0)
    largest = foreign[0] if foreign else None
    return ForeignLoad(
        # many processes, each rounded to a tick, may be more than the CPUs had in a short window
        min(100.0, 100 * us / (cpus * span_us)),
        f"{largest['name']} (process {largest['pid']})" if largest else "",
    )


def _reports(outcome: RunOutcome) -> Iterator[tuple[dict | None, int]]:
    """Other processes at each end of each flow, and the number of CPUs there."""
    for flow in outcome.flows:
        for result in (flow.gen, flow.sink):
            meter = (result.get("meter") or {}).get("total") or {}
            yield result.get("others"), len(meter.get("cpu") or ())
