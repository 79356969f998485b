"""A whole search: hosts opened and held tuned, the path looked at, candidates raced."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

from netlab.autotune.ask import Ask
from netlab.autotune.candidate import Candidate
from netlab.autotune.objective import objective
from netlab.autotune.outcome import Outcome
from netlab.autotune.path import PathUnderTest, timing_for
from netlab.autotune.search import Search
from netlab.autotune.space import factors
from netlab.errors import NetlabError
from netlab.experiment.block import stable_facts
from netlab.experiment.emulation import Emulation
from netlab.experiment.endpoint import Station, open_stations, study_lab
from netlab.study import Timing
from netlab.study.schedule import Block

CLOSING_S = 2.0
"""Kept back for writing what was found."""

SLACK_S = 30.0
"""How long after its budget a search ends at the latest where hosts hang: opening and closing a
host have limits of their own."""


@dataclass(frozen=True)
class Tuned:
    """A search that was made, with what it was made on.

    Attributes
    ----------
    ask : Ask
        What was asked.
    start : Candidate
        The present setting.
    outcome : Outcome
        What was found.
    levels : dict of str to tuple
        What could be tried of each factor.
    refused : dict of str to str
        ``option=word`` -> why this netlab cannot try it.
    timing : Timing
        Of each run.
    mtu_B : int
    hosts : dict of str to dict
        Facts of both ends.
    unsupported : list of dict
        Knobs of the tuning that a host does not have.
    started_at : str
        UTC.
    used_s : float
        Of the budget.
    """

    ask: Ask
    start: Candidate
    outcome: Outcome
    levels: dict[str, tuple]
    refused: dict[str, str]
    timing: Timing
    mtu_B: int
    hosts: dict[str, dict]
    unsupported: list[dict]
    started_at: str
    used_s: float


def autotune(
    ask: Ask,
    *,
    began_s: float,
    closing_s: float = CLOSING_S,
    now: Callable[[], float] = time.monotonic,
    say: Callable[[str], None] = lambda line: None,
) -> Tuned:
    """Search for the best setting of a path.

    Parameters
    ----------
    ask : Ask
        What to search.
    began_s : float
        When the budget began, on `now`'s clock.
    closing_s : float
        What is to be left of the budget when the hosts are closed again.
    now : callable
        Monotonic clock in seconds.
    say : callable
        Takes one line of what the search does.

    Raises
    ------
    HostError, TuningError
        A host was lost, or did not take the tuning; what was changed is reverted.
    NetlabError
        The budget was used up before the first run.
    """
    started_at = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    entered_s = now()
    with (
        study_lab(ask.study) as lab,
        open_stations(ask.study, ask.path, lab=lab) as stations,
        _held(ask, stations) as mtu_B,
    ):
        opened_s = now() - entered_s  # and as long to close them again
        end_s = began_s + ask.seconds - closing_s - opened_s
        path = PathUnderTest(
            ask.study,
            ask.group,
            stations,
            mtu_B=mtu_B,
            timing=timing_for(ask.seconds),
            end_s=end_s,
            emulation=Emulation.of(ask.study, Block("autotune", ask.path, "", mtu_B, ()), lab),
            now=now,
        )
        if now() + path.run_s > end_s:
            raise NetlabError(f"the hosts were ready only after {now() - began_s:.0f} s")
        start = ask.start
        found = path.scout(start)
        levels, refused = factors(start, found, engines=ask.engines, given=ask.given)
        say(f"present setting: {start.label()}; runs of {path.run_s:.2g} s")
        for word, why in refused.items():
            say(f"not tried: {word}: {why}")
        search = Search(
            start,
            levels,
            path.take,
            objective(ask.aim),
            end_s=end_s,
            run_s=path.run_s,
            now=now,
            generator=random.Random(ask.study.seed if ask.seed is None else ask.seed),
            error=ask.error,
            count_disturbed=ask.noisy,
            say=say,
        )
        outcome = search.run()
        facts = {name: stable_facts(station.facts) for name, station in stations.items()}
        unsupported = [line for station in stations.values() for line in station.unsupported()]
    return Tuned(
        ask=ask,
        start=start,
        outcome=outcome,
        levels=levels,
        refused=refused,
        timing=path.timing,
        mtu_B=mtu_B,
        hosts=facts,
        unsupported=unsupported,
        started_at=started_at,
        used_s=now() - began_s,
    )


@contextmanager
def _held(ask: Ask, stations: dict[str, Station]) -> Iterator[int]:
    """Hold both ends at the tuning and MTU asked for, or leave them as they are; the MTU."""
    with ExitStack() as stack:
        mtu_B = ask.mtu_B
        names = ask.study.congestions((ask.group,))
        held = [stack.enter_context(end.stacks(ask.study, names)) for end in stations.values()]
        if ask.tuning is not None:
            (level,) = (some for some in ask.study.tunings if some.name == ask.tuning)
            mtu_B = mtu_B or level.mtus[0]
            for name, station in stations.items():
                profile = ask.study.tuning_profile(name, ask.tuning)
                stack.enter_context(station.tuning(profile, mtu_B))
        elif mtu_B is not None or any(stacks.knobs for stacks in held):
            for station in stations.values():
                stack.enter_context(station.with_mtu(mtu_B))
        yield mtu_B or min(station.mtu_B() for station in stations.values())
