"""Wait until the hosts of a path are quiet, before disturbed runs are measured again."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from netlab.generators.meters import difference, snapshot
from netlab.measure import RunEnd
from netlab.measure.record import others_load, own_us
from netlab.study import Noise

SPAN_S = 1.0
"""Span of a reading: CPU times are known in ticks of 10 ms."""

QUIET_SPANS = 3
"""Quiet readings in a row: bursts of other work have pauses."""


@dataclass(frozen=True)
class Wait:
    """The end of a wait.

    Attributes
    ----------
    waited_s : float
        Its duration, s.
    load : str
        The last load beyond a limit, and its host; empty if the hosts were quiet at the end.
    """

    waited_s: float
    load: str


def load_beyond(noise: Noise, host: str, load: dict[str, float | None]) -> str:
    """The first load of a host that is beyond its limit, in words; empty without.

    Parameters
    ----------
    noise : Noise
        The limits.
    host : str
        Name of the host.
    load : dict
        ``steal_percent`` and ``foreign_cpu_percent``, None where unknown.
    """
    for name, words in (("steal_percent", "steal"), ("foreign_cpu_percent", "foreign CPU load")):
        seen, limit = load.get(name), getattr(noise, name)
        if seen is not None and seen > limit:
            return f"{host}: {words} {seen:.0f} %"
    return ""


def read_load(ends: Sequence[RunEnd], *, pause: Callable[[float], None]) -> list[dict]:
    """Steal and foreign CPU load of each host over one span.

    Raises
    ------
    HostError
        A host is lost.
    """
    before = [snapshot(end) for end in ends]
    pause(SPAN_S)
    meters = [difference(early, snapshot(end)) for early, end in zip(before, ends, strict=True)]
    # agents of one machine: what all of them used is netlab's
    ours_us = sum(own_us(meter) for meter in meters)
    return [others_load(meter, ours_us) for meter in meters]


def wait_until_quiet(
    ends: Sequence[RunEnd],
    noise: Noise,
    at_most_s: float,
    *,
    say: Callable[[str], None] = lambda text: None,
    now: Callable[[], float] = time.monotonic,
    pause: Callable[[float], None] = time.sleep,
) -> Wait:
    """Wait until no load of the hosts has been beyond its limit for some spans in a row.

    Parameters
    ----------
    ends : sequence of RunEnd
        Both ends of the path.
    noise : Noise
        The limits of the study.
    at_most_s : float
        Longest wait, s.
    say : callable
        Called once, with the load that is waited for.
    now, pause : callable
        Monotonic clock, and sleep.

    Raises
    ------
    HostError
        A host is lost.
    """
    began, quiet, load, said = now(), 0, "", False
    while True:
        loads = read_load(ends, pause=pause)
        found = [load_beyond(noise, end.host, one) for end, one in zip(ends, loads, strict=True)]
        load = next(filter(None, found), "")
        quiet = 0 if load else quiet + 1
        waited_s = now() - began
        if quiet == QUIET_SPANS or waited_s + SPAN_S > at_most_s:
            return Wait(waited_s, load)
        if load and not said:
            say(f"waiting for quiet hosts, {at_most_s:.0f} s at most: {load}")
            said = True
