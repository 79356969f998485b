"""The path that candidates are raced on: one bounded run of one candidate becomes one sample."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from netlab.autotune.candidates import (
    ENGINE_WORDS,
    USUAL_BUFFER_B,
    Candidate,
    PathLimits,
    drained_B,
)
from netlab.errors import RunError
from netlab.experiment.emulation import Emulation
from netlab.experiment.endpoint import Endpoint
from netlab.measure import Emulated, Setting, Side, audit, interval_rows, measure, record
from netlab.measure.exchange import TAIL_MS, Channel, Outcome, Request
from netlab.measure.flags import flags_of
from netlab.study import Group, Study, Timing
from netlab.study.schedule import Run

HANG_S = 3.0
"""A run that is so much longer than its warm-up and window is given up."""

ROUND_TRIP_S = 0.1
"""What a run takes beside its warm-up, window and tail, as a first guess."""

KEPT = (
    *("goodput_MBps", "window_s", "window_B", "rtt_us", "min_rtt_us", "mss_B", "retransmits"),
    *("sndbuf_B", "rcvbuf_B", "ledger_error_B", "steal_percent", "foreign_cpu_percent"),
    "busiest_core_percent",
)


@dataclass(frozen=True)
class _Until:
    """An agent that is listened to until a time, whatever patience the run has."""

    channel: Channel
    host: str
    end_s: float
    now: Callable[[], float]

    def send(self, verb: str, **words: object) -> None:
        self.channel.send(verb, **words)

    def poll(self, timeout_s: float) -> dict | None:
        left_s = self.end_s - self.now()
        if left_s <= 0:
            raise RunError(f"{self.host}: the run hung and was given up", code="timeout")
        return self.channel.poll(min(timeout_s, left_s))


class PathUnderTest:
    """A path with both ends open, over which candidates take turns.

    Parameters
    ----------
    study : Study
        Whose path it is.
    group : Group
        Path, sender and direction; its record length and buffer are the candidate's to choose.
    endpoints : dict of str to Endpoint
        Both ends.
    mtu_B : int
        MTU of the path.
    timing : Timing
        Of each run.
    end_s : float
        No run is waited for beyond it.
    emulation : Emulation, optional
        The emulator that the path goes through.
    now : callable
        Monotonic clock in seconds.
    """

    def __init__(
        self,
        study: Study,
        group: Group,
        endpoints: dict[str, Endpoint],
        *,
        mtu_B: int,
        timing: Timing,
        end_s: float,
        emulation: Emulation | None = None,
        now: Callable[[], float] = time.monotonic,
    ):
        self.study, self.group, self.mtu_B = study, group, mtu_B
        self.timing, self._end_s, self._now = timing, end_s, now
        self._emulation = emulation
        self._run = Run("autotune", 0, group, study.streams[0], 1)
        self._ends = [endpoints[group.sender], endpoints[study.receiver(group)]]

    @property
    def one_machine(self) -> bool:
        """Whether both ends run on this machine, as lab hosts do."""
        return self.study.hosts[self.group.sender].kind == "lab"

    @property
    def link_MBps(self) -> float | None:
        """The link's rate as the study has it, 10^6 B/s of frames."""
        path = self.study.paths[self.group.path]
        if path.link is not None and path.link.shaped_Mbps is not None:
            return path.link.shaped_Mbps / 8
        return path.link_MBps

    @property
    def run_s(self) -> float:
        """What a run is expected to take."""
        return self.timing.warmup_s + self.timing.seconds + TAIL_MS / 1e3 + ROUND_TRIP_S

    def scout(self, start: Candidate) -> PathLimits:
        """Look at the path with one short run: how long it is, and what buffers it gives.

        Raises
        ------
        HostError
            An end was lost.
        """
        asked_B = max(start.buffer_B, min(USUAL_BUFFER_B, drained_B(self.link_MBps)))
        sample = self.take(start.at("buffer_B", asked_B))
        cpus = min(int(end.facts.get("cpus") or 1) for end in self._ends)
        files = [count for end in self._ends if (count := end.open_files()) is not None]
        granted_B = bdp_B = None
        if sample.get("sndbuf_B") and sample.get("rcvbuf_B"):
            # the kernel doubles what it grants, for its own bookkeeping
            given_B = int(min(sample["sndbuf_B"], sample["rcvbuf_B"])) // 2
            granted_B = given_B if given_B < asked_B else None
        if sample.get("min_rtt_us"):
            speeds = [end.facts.get("link_speed_Mbps") for end in self._ends]
            card_MBps = min(speeds) / 8 if all(speeds) else None
            rate_MBps = self.link_MBps or card_MBps or sample["goodput_MBps"] or 0.0
            bdp_B = rate_MBps * sample["min_rtt_us"]
            self.timing = lengthened(self.timing, sample["min_rtt_us"] / 1e6)
        return PathLimits(
            bdp_B=bdp_B,
            granted_B=granted_B,
            rate_MBps=self.link_MBps,
            cpus=cpus,
            open_files=min(files) if files else None,
        )

    def take(self, candidate: Candidate) -> dict:
        """Run a candidate once.

        Returns
        -------
        dict
            The columns of :data:`KEPT` and ``cpu_s_per_GB``, where the run gave them; ``flags``,
            ``message``, ``wall_s``, and ``code`` where an agent refused the run or it hung.

        Raises
        ------
        HostError
            An end was lost.
        """
        started_s = self._now()
        limit_s = min(self._end_s, started_s + self.run_s + HANG_S)
        sender, receiver = (self._side(end, candidate, limit_s) for end in self._ends)
        both = self.group.direction == "<->"
        try:
            outcome, emulated = self._exchanged(sender, receiver, self._request(candidate, both))
        except RunError as error:
            wall_s = self._now() - started_s
            failed = {"flags": "failed", "message": str(error), "code": error.code}
            return {**failed, "wall_s": wall_s}
        drift = [line for end in self._ends for line in end.drift()]
        flows = [(flow.gen, flow.sink) for flow in outcome.flows]
        ledger = audit(flows, mtu_B=self.mtu_B, both=both)
        row = record(outcome, self._setting(), ledger, emulated)
        intervals = interval_rows("autotune", outcome.flows)
        flags = flags_of(row, outcome, ledger.problems, drift, intervals, self.timing, emulated)
        return {
            **{name: row[name] for name in KEPT},
            "cpu_s_per_GB": cpu_s_per_GB(outcome, self.one_machine),
            "flags": ",".join(flags),
            "message": "; ".join(flags.values()),
            "wall_s": self._now() - started_s,
        }

    def _exchanged(
        self, sender: Side, receiver: Side, request: Request
    ) -> tuple[Outcome, Emulated | None]:
        if self._emulation is None:
            return measure(sender, receiver, request, now=self._now), None
        before = self._emulation.begin(self._run)
        outcome = measure(sender, receiver, request, now=self._now)
        return outcome, self._emulation.end(self._run, before)

    def _request(self, candidate: Candidate, both: bool) -> Request:
        study, timing = self.study, self.timing
        own = {name: getattr(study, name) for name in ENGINE_WORDS}
        words = {**own, **dict(candidate.words)}
        return Request(
            streams=candidate.streams,
            record_length_B=candidate.record_length_B,
            congestion=study.congestion_of(self.group),
            force_buffer=study.force_buffer,
            warmup_ms=round(1e3 * timing.warmup_s),
            window_ms=round(1e3 * timing.seconds),
            interval_ms=timing.interval_ms,
            both=both,
            threads=0 if words["engine"] == "blocking" else study.threads,
            socket=study.socket,
            **words,
        )

    def _side(self, endpoint: Endpoint, candidate: Candidate, limit_s: float) -> Side:
        send_max_B, receive_max_B = endpoint.buffer_clamps()
        sends, socket = endpoint is self._ends[0], self.study.socket
        asked_B = candidate.buffer_B
        if not sends and candidate.receive_buffer_B is not None:
            asked_B = candidate.receive_buffer_B
        return Side(
            host=endpoint.name,
            channel=_Until(endpoint.agent, endpoint.name, limit_s, self._now),
            address=endpoint.address,
            interface=endpoint.interface,
            sndbuf_B=min(asked_B, send_max_B or asked_B),
            rcvbuf_B=min(asked_B, receive_max_B or asked_B),
            congestion=endpoint.kernel_names(self.study.congestion_of(self.group)),
            cpus=socket.cpus_sender if sends else socket.cpus_receiver,
        )

    def _setting(self) -> Setting:
        path = self.group.path
        return Setting(
            mtu_B=self.mtu_B,
            bus_MBps=self.study.bus_MBps(path),
            link_MBps=self.link_MBps,
            memory_MBps=None,
            bus_shared=self.study.bus_shared(path),
            one_machine=self.one_machine,
        )


def timing_for(seconds: float) -> Timing:
    """How long a run is, from the budget of the search: short, so that there are many."""
    window_s = min(max(seconds / 240, 0.2), 2.0)
    return Timing(
        repeats=1, seconds=window_s, warmup_s=0.3 * window_s, interval_ms=round(100 * window_s)
    )


def lengthened(timing: Timing, rtt_s: float) -> Timing:
    """The same for a path of that round-trip time: slow start is over, the window holds some."""
    return timing.model_copy(
        update={
            "seconds": max(timing.seconds, 5 * rtt_s),
            "warmup_s": max(timing.warmup_s, 10 * rtt_s),
        }
    )


def cpu_s_per_GB(outcome: Outcome, one_machine: bool) -> float | None:
    """CPU seconds of both agents and of both machines' interrupts, per 10^9 B of payload.

    Interrupts are hard and soft ones of all cores in the window, whoever's they are; on one
    machine they are counted once.

    Returns
    -------
    float or None
        None where a meter or the window is missing.
    """
    forward = outcome.flows[0]
    meters = [(end.get("meter") or {}).get("window") for end in (forward.gen, forward.sink)]
    moved_B = sum((flow.sink.get("window") or {}).get("bytes") or 0 for flow in outcome.flows)
    if not all(meters) or not moved_B:
        return None
    interrupts_us = [
        sum(core["irq_us"] + core["softirq_us"] for core in meter["cpu"]) for meter in meters
    ]
    own_us = sum(m["process"]["user_us"] + m["process"]["system_us"] for m in meters)
    interrupt_us = max(interrupts_us) if one_machine else sum(interrupts_us)
    return (own_us + interrupt_us) / 1e6 / (moved_B / 1e9)
