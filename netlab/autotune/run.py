"""A whole search: open and tune the hosts, probe the path, race the candidates."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

from netlab.autotune.candidates import Candidate, factors
from netlab.autotune.race import SearchResult
from netlab.autotune.request import SearchRequest, objective
from netlab.autotune.search import Search
from netlab.autotune.trial import PathUnderTest, timing_for
from netlab.errors import NetlabError
from netlab.experiment.emulation import Emulation
from netlab.experiment.endpoint import Endpoint, open_endpoints, study_lab
from netlab.experiment.visit import stable_facts, wait_for_quiet
from netlab.study import Timing

CLOSING_S = 2.0
"""Part of the budget reserved for writing the result."""

WAIT_SHARE = 0.1
"""Largest part of the budget that is waited for quiet hosts, as long as the study's ``wait``."""

SLACK_S = 30.0
"""Longest overrun of the budget if a host hangs: opening and closing have timeouts of their own."""


@dataclass(frozen=True)
class Tuned:
    """A finished search and its conditions."""

    ask: SearchRequest
    start: Candidate
    outcome: SearchResult
    levels: dict[str, tuple]
    refused: dict[str, str]
    timing: Timing
    mtu_B: int
    hosts: dict[str, dict]
    unsupported: list[dict]
    started_at: str
    used_s: float


def autotune(
    ask: SearchRequest,
    *,
    began_s: float,
    closing_s: float = CLOSING_S,
    now: Callable[[], float] = time.monotonic,
    say: Callable[[str], None] = lambda line: None,
) -> Tuned:
    """Search for the best settings of a path."""
    started_at = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    entered_s = now()
    with (
        study_lab(ask.study) as lab,
        open_endpoints(ask.study, ask.path, lab=lab) as endpoints,
        _held(ask, endpoints) as mtu_B,
    ):
        opened_s = now() - entered_s  # Closing takes as long as opening.
        end_s = began_s + ask.seconds - closing_s - opened_s
        path = PathUnderTest(
            ask.study,
            ask.group,
            endpoints,
            mtu_B=mtu_B,
            timing=timing_for(ask.seconds),
            end_s=end_s,
            emulation=Emulation.of(ask.study, ask.path, lab),
            now=now,
        )
        if ask.study.noise.wait:
            wait_s = min(ask.study.noise.wait, WAIT_SHARE * ask.seconds)
            wait_for_quiet(ask.study, endpoints, wait_s, say=say)
        if now() + path.run_s > end_s:
            raise NetlabError(
                f"the hosts were ready only after {now() - began_s:.0f} s", code="E-AUTOTUNE-015"
            )
        start = ask.start
        found = path.scout(start)
        levels, refused = factors(start, found, engines=ask.engines, given=ask.given)
        say(f"current settings: {start.label()}; runs of {path.run_s:.2g} s")
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
        facts = {name: stable_facts(endpoint.facts) for name, endpoint in endpoints.items()}
        unsupported = [line for endpoint in endpoints.values() for line in endpoint.unsupported()]
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
def _held(ask: SearchRequest, endpoints: dict[str, Endpoint]) -> Iterator[int]:
    """Apply the requested tuning and MTU to both ends; yield the MTU."""
    with ExitStack() as stack:
        mtu_B = ask.mtu_B
        names = ask.study.congestions((ask.group,))
        sessions = [
            stack.enter_context(end.congestion_controls(ask.study, names))
            for end in endpoints.values()
        ]
        if ask.tuning is not None:
            (level,) = (some for some in ask.study.tunings if some.name == ask.tuning)
            mtu_B = mtu_B or level.mtus[0]
            for name, endpoint in endpoints.items():
                profile = ask.study.tuning_profile(name, ask.tuning)
                stack.enter_context(endpoint.tuning(profile, mtu_B))
        elif mtu_B is not None or any(session.knobs for session in sessions):
            for endpoint in endpoints.values():
                stack.enter_context(endpoint.with_mtu(mtu_B))
        for endpoint in endpoints.values():
            endpoint.wait_for_carrier()
        yield mtu_B or min(endpoint.mtu_B() for endpoint in endpoints.values())
