"""Run one candidate on the path with a time limit, and return one sample."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace

from netlab.errors import RunError
from netlab.experiment.emulation import Emulation
from netlab.experiment.endpoint import Endpoint
from netlab.experiment.trial import core_run, link_MBps, measurement, run_of, setting_of
from netlab.generators import TrialResult
from netlab.measure.exchange import TAIL_MS, AgentChannel, RunOutcome, meter_of, window_of
from netlab.results.flags import Flag
from netlab.search.autotune.candidates import (
    ENGINE_WORDS,
    USUAL_BUFFER_B,
    Candidate,
    PathLimits,
    drained_B,
)
from netlab.study import Group, Study, Timing

HANG_S = 3.0
"""Abort a run this long after its expected end."""

ROUND_TRIP_S = 0.1
"""First estimate of a run's time besides warm-up, window and tail."""

KEPT = (
    *("goodput_MBps", "window_s", "window_B", "rtt_us", "min_rtt_us", "mss_B", "retransmits"),
    *("sndbuf_B", "rcvbuf_B", "ledger_error_B", "steal_percent", "foreign_cpu_percent"),
    *("busiest_core_percent", "flags", "message"),
)

OF_GROUP = ("record_length_B", "buffer_B", "receive_buffer_B")
"""Keys of a candidate that its group has; streams are those of a run, and words of its study."""


@dataclass(frozen=True)
class _Until:
    """An agent with a deadline for the whole run."""

    channel: AgentChannel
    host: str
    end_s: float
    now: Callable[[], float]

    def send(self, verb: str, **words: str | int | float | bool) -> None:
        self.channel.send(verb, **words)

    def poll(self, timeout_s: float) -> dict | None:
        left_s = self.end_s - self.now()
        if left_s <= 0:
            text = f"{self.host}: the run hung and was aborted"
            raise RunError(text, reason="timeout", code="E-AUTOTUNE-016")
        return self.channel.poll(min(timeout_s, left_s))


@dataclass
class PathUnderTest:
    study: Study
    group: Group
    endpoints: dict[str, Endpoint]
    mtu_B: int
    timing: Timing
    end_s: float
    emulation: Emulation | None = None
    now: Callable[[], float] = time.monotonic

    def __post_init__(self) -> None:
        self._link_MBps = link_MBps(self.study, self.group.path, self.group)
        ends = (self.group.sender, self.study.receiver(self.group))
        self._ends = [self.endpoints[name] for name in ends]

    @property
    def run_s(self) -> float:
        return self.timing.warmup_at() + self.timing.seconds + TAIL_MS / 1e3 + ROUND_TRIP_S

    def scout(self, start: Candidate) -> PathLimits:
        """Probe the path with one short run: round-trip time, granted buffers and limits."""
        asked_B = max(start.buffer_B, min(USUAL_BUFFER_B, drained_B(self._link_MBps)))
        sample = self.take(start.at("buffer_B", asked_B))
        files = [count for end in self._ends if (count := end.open_files()) is not None]
        granted_B = bdp_B = None
        if sample.get("sndbuf_B") and sample.get("rcvbuf_B"):
            # The kernel doubles the size that it grants, for its own bookkeeping.
            given_B = int(min(sample["sndbuf_B"], sample["rcvbuf_B"])) // 2
            granted_B = given_B if given_B < asked_B else None
        if sample.get("min_rtt_us"):
            card_MBps = min(end.facts["link_speed_Mbps"] or 0 for end in self._ends) / 8
            rate_MBps = self._link_MBps or card_MBps or sample["goodput_MBps"] or 0.0
            bdp_B = rate_MBps * sample["min_rtt_us"]
            self.timing = lengthened(self.timing, sample["min_rtt_us"] / 1e6)
        return PathLimits(
            bdp_B=bdp_B,
            granted_B=granted_B,
            rate_MBps=self._link_MBps,
            cpus=min(end.facts["cpus"] or 1 for end in self._ends),
            open_files=min(files, default=None),
        )

    def take(self, candidate: Candidate) -> dict:
        started_s = self.now()
        limit_s = min(self.end_s, started_s + self.run_s + HANG_S)
        facts = {end.name: end.facts for end in self._ends}
        setting = setting_of(self.study, self.group.path, self.mtu_B, group=self.group, facts=facts)
        try:
            row = measurement(
                lambda: self._run(candidate, limit_s),
                setting=setting,
                timing=self.timing,
                group=self.group,
                endpoints=self._ends,
                run_id="autotune",
                emulation=self.emulation,
                noise=self.study.noise,
            )
        except RunError as error:
            sample: dict = {"flags": Flag.FAILED, "message": str(error), "code": error.reason}
        else:
            sample = {name: row.row[name] for name in KEPT}
            sample["cpu_s_per_GB"] = cpu_s_per_GB(row.outcome, setting.one_machine)
        return {**sample, "wall_s": self.now() - started_s}

    def _run(self, candidate: Candidate, limit_s: float) -> TrialResult:
        levels = candidate.as_dict() | {"receive_buffer_B": candidate.receive_buffer_B}
        group = self.group.model_copy(update={name: levels[name] for name in OF_GROUP})
        study = self.study.model_copy(update={name: levels[name] for name in ENGINE_WORDS})
        *sides, request = run_of(
            study,
            group,
            self.endpoints,
            self.timing,
            streams=candidate.streams,
            threads=0 if candidate.engine == "blocking" else study.threads,
        )
        sender, receiver = (
            replace(side, channel=_Until(side.channel, side.host, limit_s, self.now))
            for side in sides
        )
        return core_run(sender, receiver, request, mtu_B=self.mtu_B, now=self.now)


def timing_for(seconds: float) -> Timing:
    """Times of a run from the budget of the search: short, so that many runs fit."""
    window_s = min(max(seconds / 240, 0.2), 2.0)
    return Timing(
        rounds=1, seconds=window_s, warmup_s=0.3 * window_s, interval_ms=round(100 * window_s)
    )


def lengthened(timing: Timing, rtt_s: float) -> Timing:
    """Lengthen the times for a round-trip time: ten in the warm-up, five in the window."""
    return timing.model_copy(
        update={
            "seconds": max(timing.seconds, 5 * rtt_s),
            "warmup_s": max(timing.warmup_at(), 10 * rtt_s),
        }
    )


def cpu_s_per_GB(outcome: RunOutcome, one_machine: bool) -> float | None:
    """CPU seconds of both agents and of both machines' interrupts, per 10^9 B of payload.

    Interrupt time is hard and soft, of all cores in the window and for any cause; it is counted
    once if both ends are on one machine.
    """
    forward = outcome.flows[0]
    meters = [meter_of(forward.gen, "window"), meter_of(forward.sink, "window")]
    moved_B = sum(window_of(flow.sink).get("bytes") or 0 for flow in outcome.flows)
    if not all(meters) or not moved_B:
        return None
    interrupts_us = [
        sum(core["irq_us"] + core["softirq_us"] for core in meter["cpu"]) for meter in meters
    ]
    own_us = sum(m["process"]["user_us"] + m["process"]["system_us"] for m in meters)
    interrupt_us = max(interrupts_us) if one_machine else sum(interrupts_us)
    return (own_us + interrupt_us) / 1e6 / (moved_B / 1e9)
