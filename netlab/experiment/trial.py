"""The trials of a visit: each run requested, measured by netlab or another tool, and recorded."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

from netlab import core
from netlab.errors import RunError
from netlab.experiment.cc_session import CcSession
from netlab.experiment.emulation import Emulation
from netlab.experiment.endpoint import Endpoint
from netlab.experiment.memory_copy import Copies
from netlab.experiment.path_bus import path_bus
from netlab.files.recorded_facts import BlockConditions, EndFacts, HostFacts
from netlab.generators import TrialResult, run_trial, tool_named, version_text
from netlab.hosts.host_facts import whole_number
from netlab.hosts.path import PathCheck, probe_path
from netlab.hosts.stack import InterfaceStack
from netlab.measure.bottleneck import ONE_SLAVE, bottleneck
from netlab.measure.emulator_report import Emulated
from netlab.measure.exchange import Cross, Request, RunEnd, RunOutcome, measure
from netlab.measure.flags import DEFAULT_NOISE, flags_of
from netlab.measure.ledger import audit, audit_links, audit_path
from netlab.measure.link_local import scoped
from netlab.measure.others_cpu import foreign_load
from netlab.measure.probe_columns import probe_fault
from netlab.measure.record import (
    RunSetting,
    interval_rows,
    record,
    trace_rows,
    with_fullest_link,
    with_upper_bound,
)
from netlab.measure.segment import packet_size, tcp_rtt_s
from netlab.measure.shared_machines import one_machine, with_controller
from netlab.measure.spans import Spans
from netlab.measure.steadiness import cut, may_be_halved, unsteady, variation_percent
from netlab.measure.udp_columns import datagram_notes
from netlab.results.columns import RUN_COLUMNS, SCHEMA_VERSION
from netlab.results.flags import Flag, join_flags
from netlab.study import OWN, UDP, Group, Noise, Study, Timing, Udp
from netlab.study import flows as unequal
from netlab.study.groups import DRAIN_S, FILL_PACKET, WARMUP_RTTS, sends_datagrams
from netlab.study.keys import RULE, provenance_key
from netlab.study.schedule import Run, Visit
from netlab.units import TCP_OPTIONS_MOST_B, udp_headers_B
from netlab.version import version


@dataclass(frozen=True)
class Measurement:
    outcome: RunOutcome
    row: dict
    intervals: list[dict]
    emulated: Emulated | None


def side_of(
    endpoint: Endpoint, *, buffer_B: int = 0, congestion: str | None = None, cpus: str | None = None
) -> RunEnd:
    """One end of a run, its socket buffers clipped to the tuning's limits."""
    send_max_B, receive_max_B = endpoint.buffer_clamps()
    return RunEnd(
        host=endpoint.name,
        channel=endpoint.agent,
        address=endpoint.address,
        bind_address=endpoint.own_address,
        ports=endpoint.ports,
        interface=endpoint.interface,
        sndbuf_B=min(buffer_B, send_max_B or buffer_B),
        rcvbuf_B=min(buffer_B, receive_max_B or buffer_B),
        congestion=endpoint.kernel_names(congestion) if congestion else None,
        cpus=cpus,
        may_force=endpoint.may_force,
        boot_id=endpoint.facts["boot_id"],
        vrf=endpoint.stack.vrf,
    )


def run_of(
    study: Study, group: Group, endpoints: Mapping[str, Endpoint], timing: Timing, **options: Any
) -> tuple[RunEnd, RunEnd, Request]:
    """Sender, receiver and request of a group's run; see :func:`senders_of` for further senders."""
    congestion, receive_B = study.congestion_of(group), group.receive_buffer_B
    sender, *_ = senders_of(study, group, endpoints)
    receiver = side_of(
        endpoints[study.receiver(group)],
        buffer_B=group.buffer_B if receive_B is None else receive_B,
        congestion=congestion,
        cpus=study.socket.cpus_receiver,
    )
    request = request_of(
        study,
        timing,
        record_length_B=group.record_length_B,
        congestion=congestion,
        both=group.direction == "<->",
        buffer_B=sender.sndbuf_B,
        rate_MBps=link_MBps(study, group.path, group),
        cross=cross_of(group),
        **options,
    )
    return sender, receiver, request


def senders_of(study: Study, group: Group, endpoints: Mapping[str, Endpoint]) -> tuple[RunEnd, ...]:
    """Hosts that send the streams of a group's run, its sender first."""
    default = group.congestion or study.congestion or ""

    def side(name: str) -> RunEnd:
        own = unequal.sent_by(group.flows, group.sender, name)
        return side_of(
            endpoints[name],
            buffer_B=group.buffer_B,
            congestion=unequal.congestion(own, default),
            cpus=study.socket.cpus_sender,
        )

    return tuple(side(name) for name in study.senders(group))


def cross_of(group: Group) -> Cross | None:
    """Datagrams beside the streams of a group's run, whose size is known; None without any."""
    if not group.cross_udp_Mbps or not group.cross_udp_B:
        return None
    return Cross(round(group.cross_udp_Mbps * 1e6 / 8), group.cross_udp_B)


def request_of(
    study: Study,
    timing: Timing,
    *,
    streams: int,
    record_length_B: int,
    congestion: str,
    rtt_s: float = 0.0,
    both: bool = False,
    buffer_B: int = 0,
    rate_MBps: float | None = None,
    **options: object,
) -> Request:
    """The request of a run: engine, socket and buffer options of the study, times of `timing`.

    Buffer and rate of the link bound the time that data in flight take.
    """
    drain_s = timing.drain_at(streams, rtt_s, buffer_B=buffer_B, link_MBps=rate_MBps or 0.0)
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
        "drain_ms": round(1e3 * drain_s),
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
        # a segment that does not arrive takes as long
        timing.model_copy(update={"drain_s": timing.drain_s or DRAIN_S}),
        streams=1,
        record_length_B=1,
        congestion="reno",  # every kernel has it, and any user may choose it
        force_buffer=False,
        # The other options stay, so that a refusal shows now.
        socket=study.socket.model_copy(update={"mss_B": None, "pacing_MBps": None}),
    )


def link_MBps(study: Study, path: str, group: Group) -> float | None:
    """Link rate of a path for the runs of a group, 10^6 B/s of frames; None when unknown.

    The mean of both directions where both carry data; of two links in a row the slower one's.
    """
    at = study.path(path)
    both = at.link.shaped_Mbps if at.link is not None else (None, None)
    rates = [*both] if group.direction == "<->" else [both[group.sender != at.ends[0].host]]
    known = [rate for rate in rates if rate is not None]
    return at.link_MBps if len(known) < len(rates) else sum(known) / len(known) / 8


def spans_of(study: Study, path: str, group: Group) -> Spans | None:
    """Two links in a row of which flows of a group pass one alone; None without such flows."""
    at = study.path(path)
    return Spans.of(at.link, group.flows, back=group.sender != at.ends[0].host)


def link_burst_B(study: Study, path: str, group: Group) -> int:
    """Bytes that buckets of tokens let pass beside the rate, on the ways that carry data."""
    at = study.path(path)
    if at.link is None or at.link.emulator is None:
        return 0
    both = at.link.emulator.ways
    ways = both if group.direction == "<->" else (both[group.sender != at.ends[0].host],)
    return sum(way.burst_B or 0 for way in ways)


def setting_of(
    study: Study,
    path: str,
    mtu_B: int,
    *,
    group: Group,
    memory_MBps: float | None = None,
    memory_source: str = "",
    hot_MBps: float | None = None,
    facts: Mapping[str, HostFacts],
    datagram_B: int | None = None,
    streams: int = 0,
) -> RunSetting:
    """Ceilings of a group's runs, and whether one machine has both ends.

    That is from the ``facts`` of the hosts. The bus is the study's, else the one that they report.
    """
    bus = path_bus(study, path, facts, study.senders(group))
    stated_MBps = link_MBps(study, path, group)
    spans = spans_of(study, path, group)
    # of several senders each has a part of the streams, and the receiver all
    receiver = study.receiver(group)
    with_all = facts if len(study.senders(group)) == 1 else {receiver: facts[receiver]}
    slave_MBps, slave = (None, "") if stated_MBps else _slave(with_all, streams)
    return RunSetting(
        mtu_B=mtu_B,
        bus_MBps=bus.bandwidth_MBps if bus else None,
        link_MBps=None if spans else stated_MBps or slave_MBps,
        link_source=slave,
        memory_MBps=memory_MBps,
        bus_shared=bus is not None and bus.shared,
        one_machine=one_machine(facts),
        bus_source=bus.text() if bus else "",
        memory_source=memory_source,
        hot_MBps=hot_MBps,
        datagram_B=datagram_B,
        cross_B=group.cross_udp_B if group.cross_udp_Mbps else None,
        burst_B=link_burst_B(study, path, group),
        spans=spans,
    )


def _slave(facts: Mapping[str, HostFacts], streams: int) -> tuple[float | None, str]:
    """Rate of the one slave of a bond that all streams of a run take, MB/s, and in words."""
    slowest = []
    for host, of in facts.items():
        stack = InterfaceStack.of(of.get("layers"))
        if streams and stack.takes_one_slave(streams) and stack.group and stack.speed_Mbps:
            slowest.append((stack.speed_Mbps / 8, f"{ONE_SLAVE} {stack.group.name} on {host}"))
    return min(slowest, default=(None, ""))


def core_run(
    sender: RunEnd,
    receiver: RunEnd,
    request: Request,
    *,
    mtu_B: int,
    now: Callable[[], float] = time.monotonic,
    also: Sequence[RunEnd] = (),
) -> TrialResult:
    """Run netlab's own generator and audit its ledger."""
    outcome = measure(sender, receiver, request, now=now, also=also)
    flows = [(flow.gen, flow.sink) for flow in outcome.flows]
    parts = outcome.flows[0].parts
    ledger = audit(flows, mtu_B=mtu_B, both=request.both, cross=outcome.cross, parts=parts)
    return TrialResult(outcome, ledger)


def measurement(
    run: Callable[[], TrialResult],
    *,
    setting: RunSetting,
    timing: Timing,
    group: Group,
    endpoints: Iterable[Endpoint],
    run_id: str,
    emulation: Emulation | None = None,
    noise: Noise = DEFAULT_NOISE,
    named: Callable[[TrialResult], dict] = lambda result: {},
) -> Measurement:
    if emulation is None:
        result, emulated = run(), None
    else:
        result, emulated = emulation.around(group, run)
    drift = [line for endpoint in endpoints for line in endpoint.drift()]
    outcome, ledger = result.outcome, result.ledger
    # it counts no fragments, and the greetings of other tools
    whole = setting.whole_datagrams and group.generator == UDP
    if emulated is not None and (whole or outcome.cross is not None):
        audit_path(ledger, outcome, emulated)
    if emulated is not None:
        audit_links(ledger, emulated, over_one=unequal.has_spans(group.flows))
    row = {**named(result), **record(outcome, setting, ledger, emulated), **result.columns}
    intervals = interval_rows(run_id, outcome.flows)
    row["rate_variation_percent"] = variation_percent(intervals)
    forced = group.force_loss_at_s is not None  # its step is the study's
    cut_intervals = cut(intervals, outcome.together_s)
    step = None if forced else unsteady(cut_intervals, halved=may_be_halved(row))
    foreign = foreign_load(outcome, emulated)
    largest = foreign.largest if foreign else ""
    judged = with_upper_bound(row, setting, both=len(outcome.flows) == 2)
    flags = flags_of(
        with_fullest_link(judged, setting, outcome.flows[0], emulated),
        outcome,
        ledger.problems,
        drift,
        intervals,
        timing,
        emulated,
        noise,
        largest,
        ledger.surplus,
        step,
    )
    if step and Flag.UNSTEADY in flags:
        row |= step.columns
    notes = filter(None, [*flags.values(), result.columns.get("message")])
    row |= {"flags": join_flags(flags), "message": "; ".join(notes)}
    return Measurement(outcome, row, intervals, emulated)


class Slaves:
    """Bytes of each slave of an end's bond or team, from its making on."""

    def __init__(self, endpoint: Endpoint):
        assert endpoint.stack.group is not None
        self.endpoint, self.group = endpoint, endpoint.stack.group
        self._before = self._read()

    def _read(self) -> list[int]:
        argv = ("sh", "-c", SLAVES, "slaves", *self.group.lower)
        printed = self.endpoint.host.run(argv, check=False).stdout.split()
        return [whole_number(word) or 0 for word in printed]

    def text(self) -> str:
        """Share of each slave since then; empty if the host does not count."""
        now = self._read()
        if not len(now) == len(self._before) == len(self.group.lower):
            return ""
        each = [late - early for late, early in zip(now, self._before, strict=True)]
        if (total := sum(each)) <= 0:
            return ""
        shares = zip(self.group.lower, each, strict=True)
        listed = ", ".join(f"{name} {100 * part / total:.0f} %" for name, part in shares)
        return f"{self.endpoint.name}: of {self.group.name} carried {listed}"


# Arguments: interfaces. Prints the bytes that each sent and received.
SLAVES = r"""
for i in "$@"; do
  s=/sys/class/net/$i/statistics
  echo $(($(cat "$s/tx_bytes" 2>/dev/null || echo 0) + $(cat "$s/rx_bytes" 2>/dev/null || echo 0)))
done
"""


@dataclass
class Trials:
    """Measures the runs of a visit whose endpoints are open and tuned."""

    study: Study
    visit: Visit
    endpoints: dict[str, Endpoint]
    context: BlockConditions
    emulation: Emulation | None
    copies: Copies
    campaign: str = ""
    controls: dict[str, CcSession] = field(default_factory=dict)
    path_check: PathCheck | None = None
    rtt_s: float = 0.0
    packet_faults: dict[tuple[str, str], str] = field(default_factory=dict)
    filling_B: int = 0
    """Payload of a datagram that fills a packet of the path; 0 until a run needs it."""

    def check_path(self) -> None:
        """Ping and trace the path from the sender of its first group; a path may ignore pings."""
        group = next(group for group in self.study.groups if group.path == self.visit.path)
        sender, receiver = (
            self.endpoints[name] for name in (group.sender, self.study.receiver(group))
        )
        ends = (sender.own_address, scoped(receiver.address, sender.interface), sender.vrf_card)
        self.path_check = probe_path(sender.host, *ends)
        if self.path_check.avg_ms is not None:
            self.rtt_s = self.path_check.avg_ms / 1e3
            return
        request = probe_request(self.study, self.study.timing)
        with suppress(RunError):  # the first run fails for the same reason, and is recorded
            self.rtt_s = tcp_rtt_s(side_of(sender), side_of(receiver), request)

    def _congestion_source(self, run: Run) -> str:
        """Source of the congestion control on each sending host; once if all agree."""
        congestion = self.study.congestion_of(run.group)
        if not congestion:
            return "as found"
        senders = [*self.study.senders(run.group)]
        if run.group.direction == "<->":
            senders.append(self.study.receiver(run.group))
        texts = [self.controls[name].text(congestion) for name in senders]
        return " / ".join(dict.fromkeys(texts))

    @property
    def facts(self) -> dict[str, EndFacts]:
        return {name: endpoint.facts for name, endpoint in self.endpoints.items()}

    @property
    def mtu_B(self) -> int:
        """The visit's MTU; where it stays as found, the smaller of the two ends'."""
        if self.visit.mtu_B is not None:
            return self.visit.mtu_B
        return min(endpoint.mtu_B() for endpoint in self.endpoints.values())

    def measure_run(self, run: Run) -> tuple[dict, dict[str, list[dict]]]:
        started = time.monotonic()
        study, group = run.study(self.study), self._sized(run.group)
        memory_MBps, memory_source = self.copies.ceiling(study, run, self.facts)
        amount_B = (group.records or 0) * group.record_length_B
        sender, receiver, request = run_of(
            study,
            group,
            self.endpoints,
            study.timing,
            streams=run.streams,
            rtt_s=unequal.longest_rtt_s(group.flows, self.rtt_s),
            trace=study.trace,
            flows=group.flows,
            latency=study.latency,
            udp=study.udp if sends_datagrams(group.generator) else None,
            **({"bytes_per_stream": amount_B, "warmup_ms": 0, "window_ms": 0} if amount_B else {}),
        )
        counted = [Slaves(end) for end in self.endpoints.values() if end.stack.group]
        outcome = measurement(
            lambda: self._run(run, sender, receiver, request),
            setting=setting_of(
                study,
                self.visit.link,
                self.mtu_B,
                group=group,
                memory_MBps=memory_MBps,
                memory_source=memory_source,
                hot_MBps=self.copies.hot_MBps if "copy" in (study.send, study.receive) else None,
                facts=self.facts,
                streams=run.streams,
                datagram_B=group.record_length_B if sends_datagrams(group.generator) else None,
            ),
            timing=study.timing,
            group=group,
            endpoints=self.endpoints.values(),
            run_id=run.run_id,
            emulation=self.emulation,
            noise=study.noise,
            named=lambda result: self._named(run, result),
        )
        row, flows = outcome.row, outcome.outcome.flows
        row["congestion"] = row["congestion"] or row["congestion_in_force"] or ""
        if any(not flow.sink.get("total_bytes", 1) for flow in flows):
            fault = self._packet_fault(sender, receiver)
            row["message"] = "; ".join(text for text in (fault, row["message"]) if text)
        most_B = self.mtu_B - udp_headers_B(sender.address)
        whole_B = most_B if group.record_length_B > most_B else None
        carried = [slaves.text() for slaves in counted]
        beside = (outcome.outcome.cross,) if outcome.outcome.cross else ()
        udp = (datagram_notes(flows, whole_B), datagram_notes(beside))
        notes = (row["message"], probe_fault(flows), *udp, *carried)
        row["message"] = "; ".join(text for text in notes if text)
        row["bottleneck"] = bottleneck(row)
        row["wall_s"] = time.monotonic() - started
        row["overhead_s"] = row["wall_s"] - row["warmup_s"] - (row["window_s"] or 0.0)
        samples = {"intervals": outcome.intervals, "traces": trace_rows(run.run_id, flows)}
        if outcome.emulated is not None:
            samples["paths"] = outcome.emulated.rows(run.run_id, flows)
        return row, samples

    def _sized(self, group: Group) -> Group:
        """A group whose datagrams have a size."""
        own, beside = group.record_length_B, group.cross_udp_Mbps and group.cross_udp_B is None
        names = [*(["record_length_B"] * (own == FILL_PACKET)), *(["cross_udp_B"] * bool(beside))]
        if not names:
            return group
        self.filling_B = self.filling_B or self._filling_B(group)
        return group.model_copy(update=dict.fromkeys(names, self.filling_B))

    def _filling_B(self, group: Group) -> int:
        """As much as the largest packet carries that passes both ways, found by TCP."""
        names = (group.sender, self.study.receiver(group))
        one, other = (side_of(self.endpoints[name]) for name in names)
        request = probe_request(self.study, self.study.timing)
        packet_B = self.mtu_B
        with suppress(RunError):  # the run fails for the same reason, and is recorded
            for size in (packet_size(one, other, request), packet_size(other, one, request)):
                if 0 < size.passed_B < self.mtu_B - TCP_OPTIONS_MOST_B:
                    packet_B = min(packet_B, size.passed_B)
        return min(packet_B - udp_headers_B(one.address), Udp.sizes_B[-1])

    def _packet_fault(self, sender: RunEnd, receiver: RunEnd) -> str:
        """Reason that no byte arrived, from a probe of each direction; empty for a sound path."""
        ends = (sender.host, receiver.host)
        if ends not in self.packet_faults:
            request = probe_request(self.study, self.study.timing)
            try:
                ways = ((sender, receiver), (receiver, sender))
                sizes = [packet_size(*way, request) for way in ways]
                faults = [size.text() for size in sizes if not size.passes]
            except RunError as error:
                faults = [str(error)]
            text = f"path {self.visit.path}: {'; '.join(faults)}"
            self.packet_faults[ends] = text if faults else ""
        return self.packet_faults[ends]

    def _run(self, run: Run, sender: RunEnd, receiver: RunEnd, request: Request) -> TrialResult:
        """Measure with the generator of the run's group."""
        name, mtu_B = run.group.generator, self.mtu_B
        if name in (OWN, UDP):
            _, *also = senders_of(run.study(self.study), run.group, self.endpoints)
            return core_run(sender, receiver, request, mtu_B=mtu_B, also=also)
        cpus = self.facts[sender.host]["cpus"] or 1
        return run_trial(
            tool_named(name),
            sender,
            receiver,
            replace(request, threads=min(cpus, request.streams)),
            hosts={host: endpoint.host for host, endpoint in self.endpoints.items()},
            versions=self.context["generators"][name],
            mtu_B=mtu_B,
            with_controller=with_controller(self.facts),
        )

    def _named(self, run: Run, made: TrialResult | None = None) -> dict:
        """The columns that name a run, its tuning and its provenance."""
        study, visit, group = run.study(self.study), self.visit, run.group
        send_max_B, _ = self.endpoints[group.sender].buffer_clamps()
        _, receive_max_B = self.endpoints[study.receiver(group)].buffer_clamps()
        return {
            "schema_version": SCHEMA_VERSION,
            "study": study.name,
            "study_digest": self.study.digest(),
            "provenance_key": provenance_key(self.study, visit, run, self.context),
            "campaign": self.campaign or None,
            "run_id": run.run_id,
            "block_id": visit.block_id,
            "order": run.order,
            "group": group.name,
            "table": group.table,
            "path": visit.path,
            "sender": group.sender,
            "receiver": study.receiver(group),
            "direction": group.direction,
            "tuning": visit.tuning,
            "mtu_B": self.mtu_B,
            "streams": run.streams,
            "factors": run.factors,
            "round": run.round,
            "seed": study.seed,
            "record_length_B": group.record_length_B or self.filling_B,
            "buffer_B": group.buffer_B,
            "buffer_clamp_sender_B": send_max_B,
            "buffer_clamp_receiver_B": receive_max_B,
            "receive_buffer_B": group.receive_buffer_B,
            "congestion": study.congestion_of(group),
            "congestion_source": self._congestion_source(run),
            "flows": unequal.as_text(unequal.with_hosts(group.flows, group.sender)),
            "cross_udp_Mbps": group.cross_udp_Mbps,
            "cross_udp_B": (group.cross_udp_B or self.filling_B) if group.cross_udp_Mbps else None,
            "generator": group.generator,
            "generator_version": version_text(self.context["generators"].get(group.generator)),
            "records": group.records,
            "engine": f"{study.engine}:{study.send}/{study.engine}:{study.receive}"
            if group.generator == OWN
            else group.generator,
            **self._warmup(study.timing, group),
            **(self.path_check.columns() if self.path_check else {}),
            "unsupported": json.dumps(
                [line for endpoint in self.endpoints.values() for line in endpoint.unsupported()]
            ),
            "knobs": json.dumps({n: s.knobs() for n, s in self.endpoints.items()}, sort_keys=True),
            "provenance": json.dumps(
                {
                    "netlab": version(),
                    "agent": core.source_digest(),
                    "rule": RULE,
                    "hosts": self.facts,
                    "link": {n: s.link_settings for n, s in self.endpoints.items()},
                    "path_check": self.path_check and self.path_check.printed(),
                    "emulated_with": self.context["emulated_with"],
                    "task_group": self.context["task_group"],
                    "user_namespace": self.context.get("user_namespace", False),
                    "socket": study.socket.model_dump(mode="json", exclude_defaults=True),
                    **({"outer": dict(visit.outer)} if visit.outer else {}),
                    **({"generator": made.provenance} if made and made.provenance else {}),
                },
                sort_keys=True,
            ),
        }

    def _warmup(self, timing: Timing, group: Group) -> dict[str, float | str | None]:
        """Warm-up of a run, and its rule."""
        if group.records:
            return {"warmup_s": 0.0, "warmup_rule": None}
        rtt_s = unequal.longest_rtt_s(group.flows, self.rtt_s)
        least_s, warmup_s = timing.warmup_at(), timing.warmup_at(rtt_s)
        follows = f"{WARMUP_RTTS} RTTs" if warmup_s > least_s else "default"
        rule = "stated" if timing.warmup_s is not None else follows
        return {"warmup_s": warmup_s, "warmup_rule": rule}

    def failed_row(self, run: Run, flag: Flag, message: str) -> dict:
        """The record of a failed run: named, flagged, and otherwise empty."""
        empty = dict.fromkeys(column.name for column in RUN_COLUMNS)
        times = {"started_at": datetime.now(UTC), "wall_s": 0.0, "overhead_s": 0.0}
        return empty | self._named(run) | times | {"flags": join_flags([flag]), "message": message}
