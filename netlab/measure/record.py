"""One row of the results, with its interval samples, from the agents' answers."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, Literal, cast

import numpy as np

from netlab.files.run_results import (
    EndResult,
    HostCounts,
    InterfaceKey,
    Meter,
    Process,
    ReadEnd,
    SentEnd,
    Softnet,
    StreamEnd,
    TcpKey,
    ToolMeter,
    ZeroCopy,
)
from netlab.measure.card_counts import card_columns
from netlab.measure.cpu_frequency import throttling
from netlab.measure.cross import cross_columns, cross_frames_MBps
from netlab.measure.emulator_report import Emulated
from netlab.measure.exchange import TRACED, Direction, RunOutcome, meter_of, tcp_of, window_of
from netlab.measure.fairness import stream_columns
from netlab.measure.ledger import Ledger
from netlab.measure.others_cpu import TICK_US, foreign_load
from netlab.measure.others_traffic import foreign_traffic
from netlab.measure.probe_columns import latency_columns, rtts_over
from netlab.measure.spans import Spans
from netlab.measure.transfer_time import transfer_of
from netlab.measure.udp_columns import datagram_columns
from netlab.results.columns import FURTHER_SENDER
from netlab.units import (
    HEADERS_B,
    IPV4_HEADER_B,
    UDP_HEADER_B,
    datagram_share,
    full_packet_B,
    payload_share,
)

CWND_COLUMNS = ("cwnd_start_segments", "cwnd_t0_segments", "cwnd_max_segments")


@dataclass(frozen=True)
class RunSetting:
    """Facts of a run that the agents do not measure: ceilings, and whether it is one machine."""

    mtu_B: int
    bus_MBps: float | None
    link_MBps: float | None
    memory_MBps: float | None
    bus_shared: bool
    one_machine: bool
    bus_source: str = ""
    link_source: str = ""
    memory_source: str = ""
    hot_MBps: float | None = None
    datagram_B: int | None = None
    cross_B: int | None = None
    burst_B: int = 0
    """Of a bucket of tokens: what may pass beside the rate of the link, all ways together."""
    cross_frames_MBps: float = 0.0
    spans: Spans | None = None
    """Two links in a row of which flows pass one alone; None where all pass the whole path."""

    @property
    def whole_datagrams(self) -> bool:
        """True for a UDP run whose datagrams fit a packet each."""
        headers_B = UDP_HEADER_B + IPV4_HEADER_B
        return self.datagram_B is not None and self.datagram_B + headers_B <= self.mtu_B


def goodput_MBps(sink: ReadEnd) -> float | None:
    """Payload per second within the sink's own window; None without a window."""
    window = window_of(sink)
    duration_ns = (window.get("t1_ns") or 0) - (window.get("t0_ns") or 0)
    return window["bytes"] / duration_ns * 1e3 if duration_ns > 0 else None


def ceiling(
    setting: RunSetting, mss_B: float | None, both: bool
) -> tuple[float | None, str | None]:
    """Most payload per second the path can carry, and what sets it.

    Bus and link carry frames, so their payload share is MSS over MTU and Ethernet header, or a
    datagram over its frames; the memory copy rate counts payload alone.
    """
    share = payload_share(setting.mtu_B, mss_B or setting.mtu_B - HEADERS_B)
    if setting.datagram_B:
        share = datagram_share(setting.mtu_B, setting.datagram_B)
    ways = 2 if both else 1
    limits = []
    bus_MBps = bus_of_run(setting, both)
    if bus_MBps is not None:
        limits.append((bus_MBps * share, "bus"))
    if setting.link_MBps is not None:
        left_MBps = max(0.0, setting.link_MBps * ways - setting.cross_frames_MBps)
        limits.append((left_MBps * share, "link"))
    if setting.memory_MBps is not None:
        limits.append((setting.memory_MBps, "memory"))
    return min(limits) if limits else (None, None)


def ceiling_source(setting: RunSetting, kind: str | None) -> str:
    copies = "copies of cold memory by one core, measured before the runs"
    sources = {
        "bus": setting.bus_source or "the bus",
        "link": (
            setting.link_source or f"a link of {setting.link_MBps or 0:g} MB/s, as the study states"
        )
        + (", less the UDP beside the streams" if setting.cross_frames_MBps else ""),
        "memory": setting.memory_source or copies,
    }
    return sources[kind] if kind else ""


def with_upper_bound(row: dict, setting: RunSetting, both: bool) -> dict:
    """A record for ``implausible``: caches may have what is copied, and a bucket its tokens."""
    if row["ceiling_kind"] == "link":
        return {**row, "burst_B": setting.burst_B}
    if row["ceiling_kind"] != "memory":
        return row
    top, kind = ceiling(replace(setting, memory_MBps=setting.hot_MBps), row["mss_B"], both)
    percent = _percent(row["goodput_MBps"], top)
    return {**row, "ceiling_MBps": top, "ceiling_kind": kind, "percent_of_ceiling": percent}


def with_fullest_link(
    row: dict, setting: RunSetting, flow: Direction, emulated: Emulated | None
) -> dict:
    """A record for its flags: of two links in a row the one that carried most of its rate.

    ``path_queue_s`` is the time in the queues of both.
    """
    if emulated is not None and len(emulated.hops) > 1:
        row = {**row, "path_queue_s": emulated.queue_s}
    if setting.spans is None or row["ceiling_kind"] != "link":
        return row
    share, goodputs = _payload_of(setting, flow), _goodputs_MBps(flow)
    cross_MBps = cross_frames_MBps(row.get("cross_goodput_MBps"), setting.cross_B, setting.mtu_B)
    links = setting.spans.links(goodputs)
    shares = (
        (100 * had_MBps / (left_MBps * share), left_MBps * share)
        for had_MBps, rate_MBps in links
        if (left_MBps := rate_MBps - cross_MBps) > 0
    )
    percent, top = max(shares, default=(row["percent_of_ceiling"], row["ceiling_MBps"]))
    return {**row, "ceiling_MBps": top, "percent_of_ceiling": percent}


def bus_of_run(setting: RunSetting, both: bool) -> float | None:
    """Bandwidth of the bus that a run has: twice it where each of two directions has it whole."""
    if setting.bus_MBps is None:
        return None
    return setting.bus_MBps * (2 if both and not setting.bus_shared else 1)


def _of_known(fold: Callable, values: Iterable) -> Any:
    """A figure of the values that are known; None without one."""
    numbers = [value for value in values if value is not None]
    return fold(numbers) if numbers else None


def _mean(values: Iterable) -> float | None:
    return _of_known(lambda known: float(np.mean(known)), values)


def _tcp(streams: Sequence[StreamEnd], name: TcpKey) -> list[int | None]:
    return [tcp_of(stream).get(name) for stream in streams]


def copied_B(gen: SentEnd) -> int | None:
    """Bytes of a sender's zero-copy sends that its kernel copied; None of other sends."""
    return (gen.get("zerocopy") or ZeroCopy()).get("copied_bytes")


def packet_B(stream: StreamEnd) -> int | None:
    """Full packet of a sender at its end: the MTU of its path, or less where its MSS is."""
    tcp = tcp_of(stream)
    path_B, mss_B = tcp.get("pmtu_B") or 0, tcp.get("mss_B") or 0
    return int(full_packet_B(path_B, mss_B)) if path_B and mss_B else None


def _share(streams: Sequence[StreamEnd], part: TcpKey, whole_us: list) -> float | None:
    pairs = zip(_tcp(streams, part), whole_us, strict=True)
    return _mean(value / whole for value, whole in pairs if value is not None and (whole or 0) > 0)


def _sampled_share(
    streams: Sequence[StreamEnd], part: Literal["idle_us", "closed_us"]
) -> float | None:
    """Share of the time that the samples of a window cover, mean of streams."""
    times = [(stream.get(part), stream.get("sampled_us")) for stream in streams]
    return _mean((part_us or 0) / whole_us for part_us, whole_us in times if whole_us)


def _waited_share(result: EndResult) -> float | None:
    """Share of a run that the threads of an end waited for a CPU; None of another tool."""
    waited_us, threads = result.get("waited_us"), result.get("threads")
    span_us = ((result.get("t_last_byte_ns") or 0) - (result.get("t_go_ns") or 0)) / 1e3
    return (
        waited_us / threads / span_us if threads and waited_us is not None and span_us > 0 else None
    )


def _cpu(meter: Meter) -> dict[str, float | None]:
    """Busy, softirq and steal shares of all cores and the busiest core's busy share, in %."""
    cores = meter.get("cpu") or []
    names = ("user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal")
    spent = np.array([[core.get(f"{name}_us") or 0 for name in names] for core in cores], float)
    if spent.size == 0 or spent.sum() == 0:
        return dict.fromkeys(("busy", "softirq", "steal", "busiest", "work_us", "total_us"))
    column = dict(zip(names, spent.T, strict=True))
    per_core = spent.sum(axis=1)
    busy = per_core - column["idle"] - column["iowait"]
    with np.errstate(invalid="ignore", divide="ignore"):
        busiest = np.nanmax(np.where(per_core > 0, busy / per_core, 0.0))
    total = spent.sum()
    work = (column["user"] + column["nice"] + column["system"]).sum()
    return {
        "busy": 100 * busy.sum() / total,
        "softirq": 100 * (column["softirq"] + column["irq"]).sum() / total,
        "steal": 100 * column["steal"].sum() / total,
        "busiest": 100 * busiest,
        "work_us": work,
        "total_us": total,
    }


def _foreign_percent(
    cpus: list[dict], own_us: list[float], one_machine: bool, emulator_us: float
) -> float | None:
    """User and system time of neither agents nor emulator, the larger of the machines, in %.

    Less the standard error of a CPU's time in ticks, which is counted by samples: in a window of
    0.2 s several per cent. A CPU that is never idle has none.
    """
    if any(cpu["total_us"] is None for cpu in cpus):
        return None
    if one_machine:
        own_us = [sum(own_us) + emulator_us] * len(cpus)
    shares = zip(cpus, own_us, strict=True)
    return max(
        max(0.0, 100 * (cpu["work_us"] - own - _tick_error_us(cpu)) / cpu["total_us"])
        for cpu, own in shares
    )


def _tick_error_us(cpu: dict) -> float:
    variance = TICK_US * cpu["work_us"] * (1 - cpu["busy"] / 100)
    return float(np.sqrt(max(0.0, variance)))  # the kernel's idle time may go back


def others_load(meter: Meter, ours_us: float) -> dict[str, float | None]:
    cpu = _cpu(meter)
    foreign = _foreign_percent([cpu], [ours_us], one_machine=True, emulator_us=0.0)
    return {"steal_percent": cpu["steal"], "foreign_cpu_percent": foreign}


def own_us(meter: HostCounts) -> float:
    process = meter.get("process") or Process()
    return (process.get("user_us") or 0) + (process.get("system_us") or 0)


def _interfaces(meters: Sequence[Meter], *names: InterfaceKey) -> int | None:
    cards = [meter.get("interface") for meter in meters]
    return _of_known(sum, [interface[name] for interface in cards if interface for name in names])


def _timed(flow: Direction, one_clock: bool) -> tuple[float | None, float | None, float | None]:
    """Goodput, duration and its error: by the bytes of a fixed amount, else by the window."""
    ended_well = flow.gen.get("status") == flow.sink.get("status") == "ok"
    if ended_well and any(stream.get("t_last_ns") for stream in flow.sink["per_stream"]):
        transfer = transfer_of(flow.gen, flow.sink, one_clock=one_clock)
        return transfer.goodput_MBps, transfer.seconds, transfer.error_s
    window = flow.sink.get("window")
    window_s = (window["t1_ns"] - window["t0_ns"]) / 1e9 if window else None
    return goodput_MBps(flow.sink), window_s, None


def _rate(
    meters: Sequence[Meter], name: Literal["interrupts", "context_switches"], one_machine: bool
) -> float | None:
    rates = []
    for meter in meters:
        duration_ns = (meter.get("t1_ns") or 0) - (meter.get("t0_ns") or 0)
        if duration_ns > 0 and meter.get(name) is not None:
            rates.append(meter[name] / duration_ns * 1e9)
    return _of_known(max if one_machine else sum, rates)


def record(
    outcome: RunOutcome, setting: RunSetting, ledger: Ledger, emulated: Emulated | None = None
) -> dict:
    """The measured columns of one run; those that name it and its tuning are the caller's."""
    flows = outcome.flows
    both = len(flows) == 2
    beside = cross_columns(outcome)
    frames_MBps = cross_frames_MBps(
        beside.get("cross_goodput_MBps"), setting.cross_B, setting.mtu_B
    )
    setting = replace(setting, cross_frames_MBps=frames_MBps)
    setting = _with_spans(setting, flows[0])
    timed = [_timed(flow, setting.one_machine) for flow in flows]
    rates = [rate for rate, _, _ in timed]
    measured = [rate for rate in rates if rate is not None]
    total = sum(measured) if len(measured) == len(rates) else None
    senders = [stream for flow in flows for stream in flow.gen["per_stream"]]
    sinks = [stream for flow in flows for stream in flow.sink["per_stream"]]
    busy_us = _tcp(senders, "busy_us")
    planned = outcome.together_s is not None
    window_us = [
        (stream.get("t_end_ns", 0) - (stream["t_first_ns"] if planned else flow.gen["t_go_ns"]))
        / 1e3
        for flow in flows
        for stream in flow.gen["per_stream"]
    ]
    begun = [  # as the window begins
        stream
        for flow in flows
        for stream in flow.gen["per_stream"]
        if not planned or stream["t_first_ns"] <= flow.gen["window"]["t0_ns"]
    ]
    mss_B = _mean(_tcp(senders, "mss_B"))
    top, kind = ceiling(setting, mss_B, both)
    bus_MBps = bus_of_run(setting, both)
    forward = (*flows[0].gens, flows[0].sink)
    in_window, whole = ([meter_of(end, part) for end in forward] for part in ("window", "total"))
    cpus = [_cpu(meter) for meter in in_window]
    # of another tool only the CPU time of its whole life is known
    whole_cpu = whole if flows[0].gen.get("own_cpu_whole") else in_window
    *sender_cpus, receiver_cpu = cpus
    softnet = [(meter.get("softnet") or Softnet()).get("dropped") for meter in whole]
    policy = {"sender": flows[0].gen.get("policy"), "receiver": flows[0].sink.get("policy")}
    # a further sender may be a host of the name sender or receiver
    policy |= {
        f"{FURTHER_SENDER}{part.host}": part.gen.get("policy") for part in flows[0].parts[1:]
    }
    engines = [
        f"{gen.get('engine', 'blocking')}:{gen.get('send', 'copy')}/"
        f"{flow.sink.get('engine', 'blocking')}:{flow.sink.get('receive', 'copy')}"
        for flow in flows
        for gen in flow.gens
    ]
    named = [one["congestion"] for one in senders if one.get("congestion")]
    # each host may have another default: a name for each stream
    congestion = named if flows[0].parts and len({*named}) > 1 else dict.fromkeys(named)
    foreign = foreign_load(outcome, emulated)
    if foreign is None:
        emulator_us = 0.0
        if emulated is not None and whole_cpu[-1].get("t1_ns"):
            emulator_us = emulated.cpu_us(whole_cpu[-1]["t0_ns"], whole_cpu[-1]["t1_ns"])
        foreign_percent = _foreign_percent(
            [_cpu(meter) for meter in whole_cpu],
            [own_us(meter) + cast(ToolMeter, meter).get("controller_us", 0) for meter in whole_cpu],
            setting.one_machine,
            emulator_us,
        )
    sent_B = [flow.gen["total_bytes"] for flow in flows]
    pacing_Bps = [stream.get("pacing_Bps") or 0 for stream in senders]
    return {
        "engine": ", ".join(dict.fromkeys(engines)),
        "policy": json.dumps(policy, sort_keys=True) if any(policy.values()) else None,
        "started_at": datetime.fromtimestamp(outcome.started_unix_ns / 1e9, UTC),
        "wall_s": outcome.wall_s,
        "window_s": _mean([window_s for _, window_s, _ in timed]),
        "window_error_s": _of_known(max, [error_s for _, _, error_s in timed]),
        "goodput_MBps": total,
        "goodput_forward_MBps": rates[0],
        "goodput_reverse_MBps": rates[1] if both else None,
        "sent_B": None if None in sent_B else int(sum(sent_B)),
        "received_B": sum(flow.sink["total_bytes"] for flow in flows),
        "interval_sum_B": sum(flow.sink["interval_sum_bytes"] for flow in flows),
        "zerocopy_copied_B": _of_known(sum, [copied_B(gen) for flow in flows for gen in flow.gens]),
        "acked_B": _of_known(sum, _tcp(senders, "bytes_acked")),
        "tcp_received_B": _of_known(sum, _tcp(sinks, "bytes_received")),
        "window_B": sum(flow.sink["window"]["bytes"] for flow in flows if flow.sink.get("window")),
        **stream_columns(flows, outcome.together_s, setting.spans),
        "interface_tx_B": _interfaces(whole, "tx_bytes"),
        "interface_rx_B": _interfaces(whole, "rx_bytes"),
        "counter_wraps": _interfaces(whole, "wraps"),
        "ledger_error_B": ledger.error_B,
        "header_share": ledger.header_share,
        "rtt_us": _mean(_tcp(senders, "rtt_us")),
        "min_rtt_us": _of_known(lambda values: float(min(values)), _tcp(senders, "min_rtt_us")),
        **latency_columns(flows),
        **datagram_columns(flows),
        **beside,
        "cwnd_segments": _mean(_tcp(begun, "cwnd_segments")),
        **{name: _mean([one.get(name) or None for one in begun]) for name in CWND_COLUMNS},
        "congestion_in_force": "+".join(congestion) or None,
        "window_scale": _of_known(min, _tcp(senders, "snd_wscale")),
        "mss_B": mss_B,
        "packet_B": _of_known(min, map(packet_B, senders)),
        "retransmits": _of_known(sum, _tcp(senders, "retransmits")),
        "delivered_ce": _of_known(sum, _tcp(senders, "delivered_ce")),
        "busy_share": _share(senders, "busy_us", window_us),
        "rwnd_limited_share": _share(senders, "rwnd_limited_us", busy_us),
        "sndbuf_limited_share": _share(senders, "sndbuf_limited_us", busy_us),
        "idle_share": _sampled_share(senders, "idle_us"),
        "closed_share": _sampled_share(senders, "closed_us"),
        "sender_waited_share": _of_known(
            max, [_waited_share(gen) for flow in flows for gen in flow.gens]
        ),
        "receiver_waited_share": _of_known(max, [_waited_share(flow.sink) for flow in flows]),
        **{
            name: _mean([one.get(name) for one in senders])
            for name in ("sndbuf_start_B", "sndbuf_B")
        },
        **{
            name: _mean([one.get(name) for one in sinks]) for name in ("rcvbuf_start_B", "rcvbuf_B")
        },
        # of several senders the busiest one's
        "sender_cpu_percent": _of_known(max, [cpu["busy"] for cpu in sender_cpus]),
        "receiver_cpu_percent": receiver_cpu["busy"],
        "sender_softirq_percent": _of_known(max, [cpu["softirq"] for cpu in sender_cpus]),
        "receiver_softirq_percent": receiver_cpu["softirq"],
        "busiest_core_percent": _of_known(max, [cpu["busiest"] for cpu in cpus]),
        "steal_percent": _of_known(max, [cpu["steal"] for cpu in cpus]),
        "foreign_cpu_percent": foreign_percent if foreign is None else foreign.percent,
        "foreign_traffic_percent": foreign_traffic(outcome, mtu_B=setting.mtu_B),
        **throttling(outcome),
        "agent_cpu_s": sum(own_us(meter) for meter in whole) / 1e6,
        "interface_drops": _interfaces(whole, "rx_dropped", "tx_dropped"),
        "softnet_drops": _of_known(max if setting.one_machine else sum, softnet),
        **card_columns(outcome),
        "interrupts_per_s": _rate(in_window, "interrupts", setting.one_machine),
        "context_switches_per_s": _rate(in_window, "context_switches", setting.one_machine),
        "bus_MBps": bus_MBps,
        "bus_shared": None if bus_MBps is None else setting.bus_shared,
        "link_MBps": setting.link_MBps,
        "pacing_MBps": sum(pacing_Bps) / 1e6 if pacing_Bps and all(pacing_Bps) else None,
        "ceiling_MBps": top,
        "ceiling_kind": kind,
        "ceiling_source": ceiling_source(setting, kind),
        "percent_of_bus": _percent(total, bus_MBps),
        "percent_of_ceiling": _percent(total, top),
        **({} if emulated is None else emulated.columns(flows)),
    }


def _with_spans(setting: RunSetting, flow: Direction) -> RunSetting:
    """The setting with what flows over two links can have together as the rate of its link."""
    if setting.spans is None:
        return setting
    share, goodputs = _payload_of(setting, flow), _goodputs_MBps(flow)
    together_MBps = setting.spans.together_MBps(goodputs, share, setting.cross_frames_MBps)
    return replace(setting, link_MBps=together_MBps, link_source=setting.spans.text())


def _payload_of(setting: RunSetting, flow: Direction) -> float:
    """Part of the frames of a direction that is payload."""
    mss_B = _mean(_tcp(flow.gen["per_stream"], "mss_B")) or setting.mtu_B - HEADERS_B
    return payload_share(setting.mtu_B, mss_B)


def _goodputs_MBps(flow: Direction) -> list[float]:
    """Goodput of each stream of a direction in its window; empty without a window."""
    window = window_of(flow.sink)
    window_ns = (window.get("t1_ns") or 0) - (window.get("t0_ns") or 0)
    streams = flow.sink["per_stream"] if window_ns > 0 else ()
    return [(stream.get("window_bytes") or 0) / window_ns * 1e3 for stream in streams]


def _percent(part: float | None, whole: float | None) -> float | None:
    return None if part is None or not whole else 100 * part / whole


def trace_rows(run_id: str, flows: tuple[Direction, ...]) -> list[dict]:
    """TCP state of a run's senders at every sample: columns of a direction, by stream."""
    parts = []
    for name, flow in zip(("forward", "reverse"), flows, strict=False):
        streams_of: list = [part.streams for part in flow.parts] or [None]
        for gen, streams in zip(flow.gens, streams_of, strict=True):
            if (trace := gen.get("trace")) is None:
                continue
            t_s = (np.asarray(gen["samples"]["t_ns"], np.int64) - gen["t_go_ns"]) / 1e9
            tables = {key: np.asarray(trace[key], np.int64) for key in TRACED}
            own = range(len(trace["rtt_us"])) if streams is None else streams
            parts.append(_by_stream(run_id, name, own, t_s=t_s, **tables))
    return parts


def interval_rows(run_id: str, flows: tuple[Direction, ...]) -> list[dict]:
    """Interval samples of a run's sinks: columns of a direction, by stream."""
    parts = []
    for name, flow in zip(("forward", "reverse"), flows, strict=False):
        t_ns, counts = (
            np.asarray(flow.sink["samples"][key], np.int64) for key in ("t_ns", "bytes")
        )
        if t_ns.size < 2:
            continue
        window = flow.sink.get("window") or {"t0_ns": 0, "t1_ns": 0}
        inside = (t_ns[:-1] >= window["t0_ns"]) & (t_ns[1:] <= window["t1_ns"])
        edges_s = (t_ns - flow.sink["t_go_ns"]) / 1e9
        columns: dict[str, np.ndarray] = {"t_s": edges_s[1:], "interval_s": np.diff(t_ns) / 1e9}
        columns |= {"bytes": np.diff(counts, axis=1), "in_window": inside}
        columns |= rtts_over(flow.gen, edges_s)
        parts.append(_by_stream(run_id, name, range(len(counts)), **columns))
    return parts


def _by_stream(run_id: str, direction: str, streams: Sequence[int], **columns: np.ndarray) -> dict:
    """Columns of some streams of a direction; a table has a row for each, a list is of all."""
    count = columns["t_s"].size
    rows = {
        name: values.ravel() if values.ndim == 2 else np.tile(values, len(streams))
        for name, values in columns.items()
    }
    stream = np.repeat(np.asarray(streams), count)
    return {"run_id": run_id, "direction": direction, "stream": stream, **rows}
