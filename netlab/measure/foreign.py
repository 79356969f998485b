"""CPU time that other programs used during a run, and which program used most."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from netlab.measure.emulated import Emulated
from netlab.measure.exchange import RunOutcome

AGENT = "gensink"
"""Names of netlab's processes on a host begin with it, the emulator's as well."""


TICK_US = 10_000
"""Resolution of the CPU time of a process. In a short window a few ticks are several per cent."""


@dataclass(frozen=True)
class ForeignLoad:
    """CPU time of processes that are not part of a run.

    Attributes
    ----------
    percent : float
        Of all CPUs of the host, from before the warm-up to after the window; less one tick,
        so that it is not overstated.
    largest : str
        The process that used most of it, such as ``python3 (process 812)``; empty if there is none.
    """

    percent: float
    largest: str = ""


def foreign_load(
    outcome: RunOutcome, *, one_machine: bool, emulated: Emulated | None = None
) -> ForeignLoad | None:
    """Foreign load of the more loaded host of a run.

    The agents read the CPU time of every process before and after. Counts by clock ticks do not
    serve: they have packet processing apart, so that a run that fills the CPUs hides the work of
    others.

    Parameters
    ----------
    outcome : RunOutcome
        The agents' answers.
    one_machine : bool
        The hosts share a machine, so each sees the processes of the other.
    emulated : Emulated, optional
        The emulator of the path, on that machine.

    Returns
    -------
    ForeignLoad or None
        None where an agent could not read the processes, and for other generators.
    """
    reports = list(_reports(outcome))
    if not reports or any(others is None for others, _ in reports):
        return None
    own = {others["pid"] for others, _ in reports if others} if one_machine else set()
    loads = [_load(others, cpus, own, emulated) for others, cpus in reports if others]
    return max(loads, key=lambda load: load.percent)


def _reports(outcome: RunOutcome) -> Iterator[tuple[dict | None, int]]:
    """Other processes at each end of each flow, and the number of CPUs there."""
    for flow in outcome.flows:
        for result in (flow.gen, flow.sink):
            meter = (result.get("meter") or {}).get("total") or {}
            yield result.get("others"), len(meter.get("cpu") or ())


def _load(others: dict, cpus: int, own: set[int], emulated: Emulated | None) -> ForeignLoad:
    foreign = [
        process
        for process in others["top"]
        if process["pid"] not in own
        and not (emulated is not None and process["name"].startswith(AGENT))
    ]
    us = others["cpu_us"] - sum(p["cpu_us"] for p in others["top"] if p["pid"] in own)
    if emulated is not None:
        us -= emulated.cpu_us(others["t0_ns"], others["t1_ns"])
    span_us = (others["t1_ns"] - others["t0_ns"]) / 1e3
    us -= TICK_US
    if us <= 0 or span_us <= 0 or not cpus:
        return ForeignLoad(0.0)
    largest = foreign[0] if foreign else None
    return ForeignLoad(
        100 * us / (cpus * span_us),
        f"{largest['name']} (process {largest['pid']})" if largest else "",
    )
