"""Other use of the hosts of a path, and a wait until it is little, before runs are measured."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from netlab.experiment.endpoint import Endpoint
from netlab.experiment.trial import side_of
from netlab.generators.tool_meters import difference, snapshot
from netlab.measure.exchange import RunEnd
from netlab.measure.others_cpu import ForeignLoad, load_of, own_processes
from netlab.measure.record import others_load, own_us
from netlab.measure.shared_machines import one_machine
from netlab.study import Noise

SPAN_S = 0.2
"""Span of a reading: CPU times are known in ticks of 10 ms."""

NOTED_PERCENT = 2.0
"""Load of others that is said although it is within the limits; a login and a ping are less."""

QUIET_SPANS = 15
"""Quiet readings in a row after a loud one: bursts of other work have pauses."""


@dataclass(frozen=True)
class HostLoad:
    """Work of others on a host, read as in a run."""

    host: str
    steal_percent: float | None
    foreign: ForeignLoad | None

    def is_beyond(self, noise: Noise) -> bool:
        """True if a run under this load would be flagged."""
        steal, foreign = self.steal_percent or 0.0, self.foreign.percent if self.foreign else 0.0
        return steal > noise.steal_percent or foreign > noise.foreign_cpu_percent

    @property
    def is_noted(self) -> bool:
        """True if others use the host, or not all processes of its machine can be read."""
        return self.foreign is None or self.foreign.percent >= NOTED_PERCENT

    @property
    def text(self) -> str:
        """``a: other programs use 48 % of the CPUs, most of it python3 (process 812)``."""
        if self.foreign is None:
            text = "not all processes of its machine can be read"
        else:
            text = f"other programs use {self.foreign.percent:.1f} % of the CPUs"
            text += f", most of it {self.foreign.largest}" if self.foreign.largest else ""
        steal = f", steal {self.steal_percent:.1f} %" if self.steal_percent else ""
        return f"{self.host}: {text}{steal}"


@dataclass(frozen=True)
class LoadReader:
    """Reads the work of others on each host."""

    ends: Sequence[RunEnd]
    now: Callable[[], float] = time.monotonic
    pause: Callable[[float], None] = time.sleep

    @classmethod
    def of(cls, endpoints: dict[str, Endpoint]) -> LoadReader:
        """Reads it on the machines of a path."""
        one = one_machine({name: endpoint.facts for name, endpoint in endpoints.items()})
        return cls([side_of(endpoint) for endpoint in endpoints.values()][: 1 if one else None])

    def loads(self) -> list[HostLoad]:
        """Work of others on each host, over `SPAN_S`."""
        before = [snapshot(end, others=True) for end in self.ends]
        self.pause(SPAN_S)
        after = [snapshot(end, others=True) for end in self.ends]
        reports = [late["others"] for late in after]
        own = own_processes([others for others in reports if others])
        loads = []
        for end, early, late, others in zip(self.ends, before, after, reports, strict=True):
            meter = difference(early, late)
            steal = others_load(meter, own_us(meter))["steal_percent"]
            foreign = load_of(others, len(meter["cpu"]), own) if others else None
            loads.append(HostLoad(end.host, steal, foreign))
        return loads


def wait_until_quiet(
    reader: LoadReader, noise: Noise, at_most_s: float, *, say: Callable[[str], None]
) -> float:
    """Say what else uses the hosts; if that is beyond a limit, wait until it is not."""
    began_s, quiet, first = reader.now(), 0, True
    while True:
        loads = reader.loads()
        loud = [load for load in loads if load.is_beyond(noise)]
        if first:
            wait = f"; waiting for quiet, {at_most_s:.0f} s at most" if loud else ""
            if noted := [load.text for load in loads if load in loud or load.is_noted]:
                say("; ".join(noted) + wait)
            if not loud:
                return 0.0
        first, quiet = False, 0 if loud else quiet + 1
        waited_s = reader.now() - began_s
        if quiet == QUIET_SPANS or waited_s + SPAN_S > at_most_s:
            if loud:
                say(f"not quiet after {waited_s:.0f} s: {loud[0].text}; measuring all the same")
            return waited_s
