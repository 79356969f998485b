"""One row of the results, with its interval samples, from the agents' answers."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from datetime import UTC, datetime

import numpy as np

from netlab.measure.exchange import TRACED, Direction, Emulated, RunOutcome
from netlab.measure.flags import foreign_load, foreign_traffic, throttling
from netlab.measure.ledger import Ledger, card_columns, transfer_of
from netlab.units import HEADERS_B, payload_share

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
    memory_source: str = ""


def goodput_MBps(sink: dict) -> float | None:
    """Payload per second within the sink's own window; None without a window."""
    window = sink.get("window") or {}
    duration_ns = (window.get("t1_ns") or 0) - (window.get("t0_ns") or 0)
    return window["bytes"] / duration_ns * 1e3 if duration_ns > 0 else None


def ceiling(
    setting: RunSetting, mss_B: float | None, both: bool
) -> tuple[float | None, str | None]:
    """Most payload per second the path can carry, and what sets it.

    Bus and link carry frames, so their payload share is MSS over MTU and Ethernet header; the
    memory copy rate counts payload alone.
    """
    share = payload_share(setting.mtu_B, mss_B or setting.mtu_B - HEADERS_B)
    ways = 2 if both else 1
    limits = []
    bus_MBps = bus_of_run(setting, both)
    if bus_MBps is not None:
        limits.append((bus_MBps * share, "bus"))
    if setting.link_MBps is not None:
        limits.append((setting.link_MBps * share * ways, "link"))
    if setting.memory_MBps is not None:
        limits.append((setting.memory_MBps, "memory"))
    return min(limits) if limits else (None, None)


def ceiling_source(setting: RunSetting, kind: str | None) -> str:
    sources = {
        "bus": setting.bus_source or "the bus",
        "link": f"a link of {setting.link_MBps or 0:g} MB/s, as the study states",
        "memory": setting.memory_source
        or "copies of cold memory by one core, measured before the runs",
    }
    return sources[kind] if kind else ""


def with_upper_bound(row: dict, setting: RunSetting, both: bool) -> dict:
    """A run's record with a ceiling that no valid run exceeds, for the flag ``implausible``.

    On two machines that leaves out the copies: caches may have what is sent and received.
    """
    if setting.one_machine or row["ceiling_kind"] != "memory":
        return row
    top, kind = ceiling(replace(setting, memory_MBps=None), row["mss_B"], both)
    percent = _percent(row["goodput_MBps"], top)
    return {**row, "ceiling_MBps": top, "ceiling_kind": kind, "percent_of_ceiling": percent}


def bus_of_run(setting: RunSetting, both: bool) -> float | None:
    """Bandwidth of the bus that a run has: twice it where each of two directions has it whole."""
    if setting.bus_MBps is None:
        return None
    return setting.bus_MBps * (2 if both and not setting.bus_shared else 1)


def _mean(values: list) -> float | None:
    known = [value for value in values if value is not None]
    return float(np.mean(known)) if known else None


def _tcp(streams: list[dict], name: str) -> list:
    return [(stream.get("tcp") or {}).get(name) for stream in streams]


def _share(streams: list[dict], part: str, whole_us: list) -> float | None:
    shares = [
        value / whole
        for value, whole in zip(_tcp(streams, part), whole_us, strict=True)
        if value is not None and whole is not None and whole > 0
    ]
    return float(np.mean(shares)) if shares else None


def _cpu(meter: dict | None) -> dict[str, float | None]:
    """Busy, softirq and steal shares of all cores and the busiest core's busy share, in %."""
    cores = (meter or {}).get("cpu") or []
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


def _most(values: list) -> float | None:
    known = [value for value in values if value is not None]
    return max(known) if known else None


def _least(values: list) -> int | None:
    return min((value for value in values if value is not None), default=None)


def _foreign_percent(
    cpus: list[dict], own_us: list[float], one_machine: bool, emulator_us: float
) -> float | None:
    """User and system time of neither agents nor emulator, the larger of the machines, in %."""
    if any(cpu["total_us"] is None for cpu in cpus):
        return None
    if one_machine:
        own_us = [sum(own_us) + emulator_us] * len(cpus)
    return _most(
        [
            max(0.0, 100 * (cpu["work_us"] - own) / cpu["total_us"])
            for cpu, own in zip(cpus, own_us, strict=True)
        ]
    )


def others_load(meter: dict, ours_us: float) -> dict[str, float | None]:
    cpu = _cpu(meter)
    foreign = _foreign_percent([cpu], [ours_us], one_machine=True, emulator_us=0.0)
    return {"steal_percent": cpu["steal"], "foreign_cpu_percent": foreign}


def own_us(meter: dict | None) -> float:
    process = (meter or {}).get("process") or {}
    return (process.get("user_us") or 0) + (process.get("system_us") or 0)


def _meters(outcome: RunOutcome, part: str) -> tuple[dict | None, dict | None]:
    """Meter of the sending end and of the receiving end of the forward direction."""
    forward = outcome.flows[0]
    return ((forward.gen.get("meter") or {}).get(part), (forward.sink.get("meter") or {}).get(part))


def _whole(values: list) -> int | None:
    return None if any(value is None for value in values) else int(sum(values))


def _sum(values: list) -> int | None:
    known = [value for value in values if value is not None]
    return int(sum(known)) if known else None


def _interfaces(meters: tuple[dict | None, dict | None], *names: str) -> int | None:
    found = [(meter or {}).get("interface") for meter in meters]
    return _sum([interface[name] for interface in found if interface for name in names])


def _timed(flow: Direction, one_clock: bool) -> tuple[float | None, float | None, float | None]:
    """Goodput in MB/s, duration and error of the duration in s.

    A run of a fixed amount is timed by its bytes, another one by its window.
    """
    ended_well = flow.gen.get("status") == flow.sink.get("status") == "ok"
    if ended_well and any(stream.get("t_last_ns") for stream in flow.sink["per_stream"]):
        transfer = transfer_of(flow.gen, flow.sink, one_clock=one_clock)
        return transfer.goodput_MBps, transfer.seconds, transfer.error_s
    window = flow.sink.get("window")
    window_s = (window["t1_ns"] - window["t0_ns"]) / 1e9 if window else None
    return goodput_MBps(flow.sink), window_s, None


def _policy(flows: tuple[Direction, ...]) -> str | None:
    """Policy of the threads of both ends, as JSON; None if the generator reports none."""
    ends = {"sender": flows[0].gen.get("policy"), "receiver": flows[0].sink.get("policy")}
    return json.dumps(ends, sort_keys=True) if any(ends.values()) else None


def _engine(flows: tuple[Direction, ...]) -> str:
    used = [
        f"{flow.gen.get('engine', 'blocking')}:{flow.gen.get('send', 'copy')}/"
        f"{flow.sink.get('engine', 'blocking')}:{flow.sink.get('receive', 'copy')}"
        for flow in flows
    ]
    return ", ".join(dict.fromkeys(used))


def _per_machine(values: list, one_machine: bool) -> float | None:
    known = [value for value in values if value is not None]
    if not known:
        return None
    return max(known) if one_machine else sum(known)


def _rate(meters: tuple[dict | None, dict | None], name: str, one_machine: bool) -> float | None:
    rates = []
    for meter in meters:
        report = meter or {}
        duration_ns = (report.get("t1_ns") or 0) - (report.get("t0_ns") or 0)
        if duration_ns > 0 and report.get(name) is not None:
            rates.append(report[name] / duration_ns * 1e9)
    return _per_machine(rates, one_machine)


def _emulator_us(emulated: Emulated | None, meter: dict | None) -> float:
    """Processor time of the path's emulator in the window that a meter covers."""
    if emulated is None or meter is None or not meter.get("t1_ns"):
        return 0.0
    return emulated.cpu_us(meter["t0_ns"], meter["t1_ns"])


def record(
    outcome: RunOutcome, setting: RunSetting, ledger: Ledger, emulated: Emulated | None = None
) -> dict:
    """The measured columns of one run, see :data:`~netlab.results.columns.RUN_COLUMNS`.

    The columns that name the run, its tuning and its provenance are the caller's; those of an
    emulated path are there if the run had one.
    """
    flows = outcome.flows
    both = len(flows) == 2
    timed = [_timed(flow, setting.one_machine) for flow in flows]
    rates = [rate for rate, _, _ in timed]
    measured = [rate for rate in rates if rate is not None]
    total = sum(measured) if len(measured) == len(rates) else None
    senders = [stream for flow in flows for stream in flow.gen["per_stream"]]
    sinks = [stream for flow in flows for stream in flow.sink["per_stream"]]
    busy_us = _tcp(senders, "busy_us")
    window_us = [
        (stream.get("t_end_ns", 0) - flow.gen["t_go_ns"]) / 1e3
        for flow in flows
        for stream in flow.gen["per_stream"]
    ]
    mss_B = _mean(_tcp(senders, "mss_B"))
    top, kind = ceiling(setting, mss_B, both)
    bus_MBps = bus_of_run(setting, both)
    in_window, whole = _meters(outcome, "window"), _meters(outcome, "total")
    cpus = [_cpu(meter) for meter in in_window]
    # of another tool only the CPU time of its whole life is known
    known = whole if flows[0].gen.get("own_cpu_whole") else in_window
    min_rtts = [value for value in _tcp(senders, "min_rtt_us") if value is not None]
    softnet = [((meter or {}).get("softnet") or {}).get("dropped") for meter in whole]
    traffic = foreign_traffic(outcome, mtu_B=setting.mtu_B)
    throttled = throttling(outcome)
    foreign = foreign_load(outcome, emulated)
    return {
        "engine": _engine(flows),
        "policy": _policy(flows),
        "started_at": datetime.fromtimestamp(outcome.started_unix_ns / 1e9, UTC),
        "wall_s": outcome.wall_s,
        "window_s": _mean([window_s for _, window_s, _ in timed]),
        "window_error_s": _most([error_s for _, _, error_s in timed]),
        "goodput_MBps": total,
        "goodput_forward_MBps": rates[0],
        "goodput_reverse_MBps": rates[1] if both else None,
        "sent_B": _whole([flow.gen["total_bytes"] for flow in flows]),
        "received_B": sum(flow.sink["total_bytes"] for flow in flows),
        "interval_sum_B": sum(flow.sink["interval_sum_bytes"] for flow in flows),
        "acked_B": _sum(_tcp(senders, "bytes_acked")),
        "tcp_received_B": _sum(_tcp(sinks, "bytes_received")),
        "window_B": sum(flow.sink["window"]["bytes"] for flow in flows if flow.sink.get("window")),
        "interface_tx_B": _interfaces(whole, "tx_bytes"),
        "interface_rx_B": _interfaces(whole, "rx_bytes"),
        "counter_wraps": _interfaces(whole, "wraps"),
        "ledger_error_B": ledger.error_B,
        "header_share": ledger.header_share,
        "rtt_us": _mean(_tcp(senders, "rtt_us")),
        "min_rtt_us": float(min(min_rtts)) if min_rtts else None,
        "cwnd_segments": _mean(_tcp(senders, "cwnd_segments")),
        **{name: _mean([one.get(name) for one in senders]) for name in CWND_COLUMNS},
        "congestion_in_force": "+".join(
            dict.fromkeys(one["congestion"] for one in senders if one.get("congestion"))
        )
        or None,
        "window_scale": _least(_tcp(senders, "snd_wscale")),
        "mss_B": mss_B,
        "retransmits": _sum(_tcp(senders, "retransmits")),
        "busy_share": _share(senders, "busy_us", window_us),
        "rwnd_limited_share": _share(senders, "rwnd_limited_us", busy_us),
        "sndbuf_limited_share": _share(senders, "sndbuf_limited_us", busy_us),
        "sndbuf_start_B": _mean([stream.get("sndbuf_start_B") for stream in senders]),
        "rcvbuf_start_B": _mean([stream.get("rcvbuf_start_B") for stream in sinks]),
        "sndbuf_B": _mean([stream.get("sndbuf_B") for stream in senders]),
        "rcvbuf_B": _mean([stream.get("rcvbuf_B") for stream in sinks]),
        "sender_cpu_percent": cpus[0]["busy"],
        "receiver_cpu_percent": cpus[1]["busy"],
        "sender_softirq_percent": cpus[0]["softirq"],
        "receiver_softirq_percent": cpus[1]["softirq"],
        "busiest_core_percent": _most([cpu["busiest"] for cpu in cpus]),
        "steal_percent": _most([cpu["steal"] for cpu in cpus]),
        "foreign_cpu_percent": foreign.percent
        if foreign
        else _foreign_percent(
            [_cpu(meter) for meter in known],
            [own_us(meter) + (meter or {}).get("controller_us", 0) for meter in known],
            setting.one_machine,
            _emulator_us(emulated, known[1]),
        ),
        "foreign_traffic_percent": traffic.percent if traffic else None,
        "throttle_events": throttled.events,
        "cpu_frequency_percent": throttled.frequency_percent,
        "agent_cpu_s": sum(own_us(meter) for meter in whole) / 1e6,
        "interface_drops": _interfaces(whole, "rx_dropped", "tx_dropped"),
        "softnet_drops": _per_machine(softnet, setting.one_machine),
        **card_columns(outcome),
        "interrupts_per_s": _rate(in_window, "interrupts", setting.one_machine),
        "context_switches_per_s": _rate(in_window, "context_switches", setting.one_machine),
        "bus_MBps": bus_MBps,
        "bus_shared": None if bus_MBps is None else setting.bus_shared,
        "link_MBps": setting.link_MBps,
        "pacing_MBps": _pacing_MBps(senders),
        "ceiling_MBps": top,
        "ceiling_kind": kind,
        "ceiling_source": ceiling_source(setting, kind),
        "percent_of_bus": _percent(total, bus_MBps),
        "percent_of_ceiling": _percent(total, top),
        **({} if emulated is None else emulated.columns(flows)),
    }


def _pacing_MBps(senders: list[dict]) -> float | None:
    rates_Bps = [stream.get("pacing_Bps") or 0 for stream in senders]
    return sum(rates_Bps) / 1e6 if rates_Bps and all(rates_Bps) else None


def _percent(part: float | None, whole: float | None) -> float | None:
    return None if part is None or not whole else 100 * part / whole


def trace_rows(run_id: str, flows: tuple[Direction, ...]) -> list[dict]:
    """TCP state of a run's senders at every sample: columns of a direction, by stream."""
    parts = []
    for name, flow in zip(("forward", "reverse"), flows, strict=False):
        trace = flow.gen.get("trace")
        if trace is None:
            continue
        t_s = (np.asarray(flow.gen["samples"]["t_ns"], np.int64) - flow.gen["t_go_ns"]) / 1e9
        streams = len(trace["rtt_us"])
        parts.append(
            {
                "run_id": run_id,
                "direction": name,
                "stream": np.repeat(np.arange(streams), t_s.size),
                "t_s": np.tile(t_s, streams),
                **{key: np.asarray(trace[key], dtype=np.int64).ravel() for key in TRACED},
            }
        )
    return parts


def interval_rows(run_id: str, flows: tuple[Direction, ...]) -> list[dict]:
    """Interval samples of a run's sinks: columns of a direction, by stream."""
    parts = []
    for name, flow in zip(("forward", "reverse"), flows, strict=False):
        samples = flow.sink["samples"]
        t_ns = np.asarray(samples["t_ns"], dtype=np.int64)
        counts = np.asarray(samples["bytes"], dtype=np.int64)
        if t_ns.size < 2:
            continue
        window = flow.sink.get("window") or {"t0_ns": 0, "t1_ns": 0}
        inside = (t_ns[:-1] >= window["t0_ns"]) & (t_ns[1:] <= window["t1_ns"])
        streams, intervals = counts.shape[0], t_ns.size - 1
        parts.append(
            {
                "run_id": run_id,
                "direction": name,
                "stream": np.repeat(np.arange(streams), intervals),
                "t_s": np.tile((t_ns[1:] - flow.sink["t_go_ns"]) / 1e9, streams),
                "interval_s": np.tile(np.diff(t_ns) / 1e9, streams),
                "bytes": np.diff(counts, axis=1).ravel(),
                "in_window": np.tile(inside, streams),
            }
        )
    return parts
