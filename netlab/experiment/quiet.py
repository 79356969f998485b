"""What else uses the hosts of a path, and a wait until it is little, before runs are measured."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from netlab.generators.meters import difference, snapshot
from netlab.measure import RunEnd
from netlab.measure.foreign import ForeignLoad, load_of, own_processes
from netlab.measure.record import others_load, own_us
from netlab.study import Noise

SPAN_S = 0.5
"""Span of a reading: CPU times are known in ticks of 10 ms."""

QUIET_SPANS = 6
"""Quiet readings in a row after a loud one: bursts of other work have pauses."""


@dataclass(frozen=True)
class HostLoad:
    """Work of others on a host, read as in a run."""

    host: str
    steal_percent: float | None
    foreign: ForeignLoad | None

    def is_beyond(self, noise: Noise) -> bool:
        """True if a run under this load would be flagged."""
        foreign = self.foreign.percent if self.foreign else 0.0
        return (
            self.steal_percent or 0
        ) > noise.steal_percent or foreign > noise.foreign_cpu_percent

    @property
    def text(self) -> str:
        """``a: other programs use 48 % of the CPUs, most of it python3 (process 812)``."""
        if self.foreign is None:
            text = "its processes cannot be read"
        else:
            text = f"other programs use {self.foreign.percent:.1f} % of the CPUs"
            text += f", most of it {self.foreign.largest}" if self.foreign.largest else ""
        steal = f", steal {self.steal_percent:.1f} %" if self.steal_percent else ""
        return f"{self.host}: {text}{steal}"


def read_load(ends: Sequence[RunEnd], *, pause: Callable[[float], None]) -> list[HostLoad]:
    """Work of others on each host over one span."""
    before = [snapshot(end, others=True) for end in ends]
    pause(SPAN_S)
    after = [snapshot(end, others=True) for end in ends]
    reports = [late["others"] for late in after]
    own = own_processes([others for others in reports if others])
    loads = []
    for end, early, late, others in zip(ends, before, after, reports, strict=True):
        meter = difference(early, late)
        steal = others_load(meter, own_us(meter))["steal_percent"]
        foreign = load_of(others, len(meter["cpu"]), own) if others else None
        loads.append(HostLoad(end.host, steal, foreign))
    return loads


def wait_until_quiet(
    ends: Sequence[RunEnd],
    noise: Noise,
    at_most_s: float,
    *,
    say: Callable[[str], None] = lambda text: None,
    now: Callable[[], float] = time.monotonic,
    pause: Callable[[float], None] = time.sleep,
) -> float:
    """Say what else uses the hosts; if that is beyond a limit, wait until it is not."""
    began, quiet, first = now(), 0, True
    while True:
        loads = read_load(ends, pause=pause)
        loud = [load for load in loads if load.is_beyond(noise)]
        if first:
            wait = f"; waiting for quiet, {at_most_s:.0f} s at most" if loud else ""
            say("; ".join(load.text for load in loads) + wait)
            if not loud:
                return 0.0
        first, quiet = False, 0 if loud else quiet + 1
        waited_s = now() - began
        if quiet == QUIET_SPANS or waited_s + SPAN_S > at_most_s:
            if loud:
                say(f"not quiet after {waited_s:.0f} s: {loud[0].text}; measuring all the same")
            return waited_s
