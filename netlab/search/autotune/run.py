"""A whole search: open and tune the hosts, probe the path, race the candidates."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from dataclasses import dataclass

from netlab.errors import NetlabError
from netlab.experiment.conditions import stable_facts
from netlab.experiment.emulation import Emulation
from netlab.experiment.endpoint import open_endpoints, tuned_ends
from netlab.experiment.quiet import LoadReader, wait_until_quiet
from netlab.experiment.study_hosts import study_lab
from netlab.files.recorded_facts import Settings, StableFacts
from netlab.search.autotune.candidates import Candidate, factors
from netlab.search.autotune.request import SearchRequest, objective
from netlab.search.autotune.search import Search, SearchResult
from netlab.search.autotune.trial import PathUnderTest, timing_for
from netlab.study import Timing

CLOSING_S = 2.0
"""Part of the budget reserved for writing the result."""

WAIT_SHARE = 0.1
"""Largest part of the budget that is waited for quiet hosts, as long as the study's ``wait``."""

SLACK_S = 30.0
"""Longest overrun of the budget if a host hangs: opening and closing have timeouts of their own."""


class TunedHost(StableFacts):
    found: Settings


@dataclass(frozen=True)
class Tuned:
    ask: SearchRequest
    start: Candidate
    outcome: SearchResult
    levels: dict[str, tuple]
    refused: dict[str, str]
    timing: Timing
    mtu_B: int
    hosts: dict[str, TunedHost]
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
    started_at = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    level = next((level for level in ask.study.tunings if level.name == ask.tuning), None)
    asked_B = ask.mtu_B or (level.mtus[0] if level else None)
    entered_s = now()
    with (
        study_lab(ask.study) as lab,
        open_endpoints(ask.study, ask.path, lab=lab) as endpoints,
    ):
        with tuned_ends(ask.study, endpoints, [ask.group], ask.tuning, asked_B):
            mtu_B = asked_B or min(endpoint.mtu_B() for endpoint in endpoints.values())
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
                wait_until_quiet(LoadReader.of(endpoints), ask.study.noise, wait_s, say=say)
            if now() + path.run_s > end_s:
                text = f"the hosts were ready only after {now() - began_s:.0f} s"
                raise NetlabError(text, code="E-AUTOTUNE-015")
            start = ask.start
            scouted = path.scout(start)
            levels, refused = factors(start, scouted, engines=ask.engines, given=ask.given)
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
                generator=random.Random(ask.own_seed),
                error=ask.error,
                count_disturbed=ask.noisy,
                say=say,
            )
            outcome = search.run()
            unsupported = [line for end in endpoints.values() for line in end.unsupported()]
        changed = [
            line for end in endpoints.values() for line in end.changed_since_opened(ask.study)
        ]
        if changed:
            text = f"settings changed during the search, which has no result: {'; '.join(changed)}"
            raise NetlabError(text, code="E-AUTOTUNE-027")
        facts: dict[str, TunedHost] = {
            name: {**stable_facts(end.facts), "found": end.facts["found"]}
            for name, end in endpoints.items()
        }
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
