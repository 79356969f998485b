"""Estimated times of visits and runs, as measured in labs on two CPUs."""

from __future__ import annotations

from collections.abc import Iterable

from netlab.study import OWN, Study
from netlab.study.groups import CROSS_S, UDP
from netlab.study.schedule import Run
from netlab.study.tool_limits import limits_of

VISIT_S = 2.0
"""Time of a visit besides its runs: to connect to the hosts, tune and revert them, and to save."""

OVERHEAD_S = {OWN: 0.15, UDP: 0.5}
"""Time of a run besides warm-up and window on a path without RTT; tools have it in their limits."""

OVERHEAD_RTTS = 3
"""Round trips that it takes besides."""


def run_s(study: Study, run: Run | None = None) -> float:
    """Estimated time of a run, s; of a run with the study's own timing unless given."""
    if run is None:
        timed_s = study.timing.warmup_at() + study.timing.seconds
        return timed_s + study.latency.extra_s + OVERHEAD_S[OWN]
    generator = run.group.generator
    own_s = OVERHEAD_S.get(generator)
    overhead_s = limits_of(generator).overhead_s if own_s is None else own_s
    overhead_s += OVERHEAD_RTTS * study.longest_rtt_s(run.group, run.link)
    if run.group.cross_udp_Mbps:
        overhead_s += CROSS_S
    return measuring_s(study, (run,)) + study.latency.extra_s + overhead_s


def measuring_s(study: Study, runs: Iterable[Run]) -> float:
    """Seconds of warm-up and window of runs."""
    timings = ((run.study(study).timing, study.longest_rtt_s(run.group, run.link)) for run in runs)
    return sum(timing.warmup_at(rtt_s) + timing.seconds for timing, rtt_s in timings)
