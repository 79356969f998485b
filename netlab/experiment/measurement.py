"""One measurement between two endpoints: its ends, its request, its record and its flags.

Studies, preflight, autotune, benchmark and calibration put a run together with these functions.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import pandas as pd

from netlab.experiment.emulation import Emulation
from netlab.experiment.endpoint import Endpoint
from netlab.experiment.path_bus import path_bus
from netlab.generators import TrialResult
from netlab.measure import (
    Emulated,
    RunEnd,
    RunOutcome,
    RunSetting,
    audit,
    interval_rows,
    measure,
    record,
)
from netlab.measure.exchange import Request
from netlab.measure.flags import LIMITS, flags_of
from netlab.measure.foreign import foreign_load
from netlab.measure.machines import one_machine
from netlab.measure.record import with_upper_bound
from netlab.study import Group, Noise, Study, Timing


@dataclass(frozen=True)
class Measurement:
    """One run, recorded and flagged."""

    outcome: RunOutcome
    row: dict
    intervals: pd.DataFrame
    emulated: Emulated | None


def side_of(
    endpoint: Endpoint,
    *,
    buffer_B: int = 0,
    congestion: str | None = None,
    cpus: str | None = None,
) -> RunEnd:
    """One end of a run, its socket buffers clipped to the tuning's limits."""
    send_max_B, receive_max_B = endpoint.buffer_clamps()
    return RunEnd(
        host=endpoint.name,
        channel=endpoint.agent,
        address=endpoint.address,
        interface=endpoint.interface,
        sndbuf_B=min(buffer_B, send_max_B or buffer_B),
        rcvbuf_B=min(buffer_B, receive_max_B or buffer_B),
        congestion=endpoint.kernel_names(congestion) if congestion else None,
        cpus=cpus,
        may_force=endpoint.may_force,
    )


def sides_of(
    study: Study,
    group: Group,
    endpoints: Mapping[str, Endpoint],
    *,
    buffer_B: int,
    receive_buffer_B: int | None = None,
) -> tuple[RunEnd, RunEnd]:
    """Sender and receiver of a group's run."""
    congestion = study.congestion_of(group)
    if receive_buffer_B is None:
        receive_buffer_B = buffer_B
    sender = side_of(
        endpoints[group.sender],
        buffer_B=buffer_B,
        congestion=congestion,
        cpus=study.socket.cpus_sender,
    )
    receiver = side_of(
        endpoints[study.receiver(group)],
        buffer_B=receive_buffer_B,
        congestion=congestion,
        cpus=study.socket.cpus_receiver,
    )
    return sender, receiver


def request_of(
    study: Study,
    timing: Timing,
    *,
    streams: int,
    record_length_B: int,
    congestion: str,
    rtt_s: float = 0.0,
    both: bool = False,
    **options: object,
) -> Request:
    """The request of a run: engine, socket and buffer options of the study, times of `timing`."""
    fields: dict[str, Any] = {
        "force_buffer": study.force_buffer,
        "engine": study.engine,
        "threads": study.threads,
        "send": study.send,
        "receive": study.receive,
        "socket": study.socket,
        "policy": study.policy,
        "warmup_ms": round(1e3 * timing.warmup_at(rtt_s)),
        "window_ms": round(1e3 * timing.seconds),
        "interval_ms": timing.interval_ms,
        "drain_ms": round(1e3 * timing.drain_s),
    }
    return Request(
        streams=streams,
        record_length_B=record_length_B,
        congestion=congestion,
        both=both,
        **(fields | options),
    )


def probe_request(study: Study, timing: Timing) -> Request:
    """The request of a packet size probe: the study's options, without limits of its segments."""
    return request_of(
        study,
        timing,
        streams=1,
        record_length_B=1,
        congestion="reno",  # every kernel has it, and any user may choose it
        force_buffer=False,
        # The other options stay, so that a refusal shows now.
        socket=study.socket.model_copy(update={"mss_B": None, "pacing_MBps": None}),
    )


def link_MBps(study: Study, path: str) -> float | None:
    """Link rate of a path, 10^6 B/s of frames; None when unknown."""
    link = study.path(path).link
    if link is not None and link.shaped_Mbps is not None:
        return link.shaped_Mbps / 8
    return study.path(path).link_MBps


def setting_of(
    study: Study,
    path: str,
    mtu_B: int,
    *,
    memory_MBps: float | None = None,
    memory_source: str = "",
    facts: Mapping[str, Mapping],
) -> RunSetting:
    """Ceilings of a path, and whether one machine has both ends, from the ``facts`` of the hosts.

    The bus is the study's, else the one that they report.
    """
    bus = path_bus(study, path, facts)
    return RunSetting(
        mtu_B=mtu_B,
        bus_MBps=bus.bandwidth_MBps,
        link_MBps=link_MBps(study, path),
        memory_MBps=memory_MBps,
        bus_shared=bus.shared,
        one_machine=one_machine(facts),
        bus_source=bus.source,
        memory_source=memory_source,
    )


def core_run(
    sender: RunEnd,
    receiver: RunEnd,
    request: Request,
    *,
    mtu_B: int,
    now: Callable[[], float] = time.monotonic,
) -> TrialResult:
    """Run netlab's own generator and audit its ledger."""
    outcome = measure(sender, receiver, request, now=now)
    flows = [(flow.gen, flow.sink) for flow in outcome.flows]
    return TrialResult(outcome, audit(flows, mtu_B=mtu_B, both=request.both))


def measured(
    run: Callable[[], TrialResult],
    *,
    setting: RunSetting,
    timing: Timing,
    group: Group,
    endpoints: Iterable[Endpoint],
    run_id: str,
    emulation: Emulation | None = None,
    noise: Noise = LIMITS,
    named: Callable[[TrialResult], dict] = lambda result: {},
) -> Measurement:
    """Make one run, record it and flag it."""
    if emulation is None:
        result, emulated = run(), None
    else:
        result, emulated = emulation.around(group, run)
    drift = [line for endpoint in endpoints for line in endpoint.drift()]
    outcome, ledger = result.outcome, result.ledger
    row = {**named(result), **record(outcome, setting, ledger, emulated), **result.columns}
    intervals = interval_rows(run_id, outcome.flows)
    foreign = foreign_load(outcome, emulated)
    largest = foreign.largest if foreign else ""
    flags = flags_of(
        with_upper_bound(row, setting, both=len(outcome.flows) == 2),
        outcome,
        ledger.problems,
        drift,
        intervals,
        timing,
        emulated,
        noise,
        largest,
        ledger.surplus,
    )
    row |= {"flags": ",".join(flags), "message": "; ".join(flags.values())}
    return Measurement(outcome, row, intervals, emulated)
