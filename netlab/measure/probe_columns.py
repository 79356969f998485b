"""Columns of the latency probe of a run: the round trips before, under and after its load."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from netlab.files.run_results import PhaseName, ProbeWay, SentEnd, SentProbes
from netlab.measure.exchange import Direction
from netlab.results import histogram

MINUTE_US = 60e6
PHASES: tuple[PhaseName, ...] = ("idle", "loaded", "after")
WAYS: tuple[ProbeWay, ...] = ("latency", "latency_tcp")


def _phase(probes: Sequence[SentProbes], name: PhaseName) -> tuple[np.ndarray, int, int]:
    """RTTs of a phase in us, probes sent, and answers out of order; of all directions."""
    phases = [probe[name] for probe in probes]
    rtts_us = [rtt_us for phase in phases for rtt_us in phase["rtt_us"] if rtt_us is not None]
    sent, reordered = (sum(phase[key] for phase in phases) for key in ("sent", "reordered"))
    return np.array(rtts_us, float), sent, reordered


def _percentile(rtts_us: np.ndarray, percent: float) -> float | None:
    return float(np.percentile(rtts_us, percent)) if rtts_us.size else None


def _probes(flows: Sequence[Direction], way: ProbeWay) -> list[SentProbes]:
    return [probe for flow in flows if (probe := flow.gen.get(way))]


def _one_way(probe: SentProbes) -> dict[str, np.ndarray]:
    """Times of each probe there and back in us, by phase.

    The clocks of two hosts differ. Of the fastest round trip before the streams, and of the one
    after, half is taken for each way; the clocks run apart evenly between the two. A path whose
    ways differ shifts all times alike, so that only changes of a way are known.
    """
    phases, clocks = {}, []
    for name in PHASES:
        made = [probe[name][key] for key in ("t_ns", "arrived_ns", "rtt_us")]
        rows = [row for row in zip(*made, strict=True) if row[2] is not None]
        t_ns, arrived_ns, rtt_us = np.array(rows, np.int64).reshape(-1, 3).T
        phases[name] = (t_ns, (arrived_ns - t_ns) / 1e3, rtt_us)
        if name != "loaded" and len(rows):
            fastest = rtt_us.argmin()
            ahead_us = phases[name][1][fastest] - rtt_us[fastest] / 2
            clocks.append((t_ns[fastest], ahead_us))
    if not clocks:
        return {}
    at_ns, ahead_us = np.array(clocks, float).T
    ways: dict[str, np.ndarray] = {}
    for name, (t_ns, there_us, rtt_us) in phases.items():
        there_us = there_us - np.interp(t_ns, at_ns, ahead_us)
        ways[name] = np.array([there_us, rtt_us - there_us])
    return ways


def _added_one_way(probes: Sequence[SentProbes]) -> dict[str, float]:
    """Delay added to each way by the load, and the error of the exchanges before and after."""
    made = [ways for probe in probes if (ways := _one_way(probe))]
    if not made:
        return {}
    phases = (np.concatenate([ways[name] for ways in made], axis=1) for name in PHASES)
    idle, loaded, after = phases
    if not idle.size or not loaded.size:
        return {}
    added_us = np.median(loaded, axis=1) - np.median(idle, axis=1)
    rtts_us = [ways.sum(axis=0) for ways in (idle, after) if ways.size]
    error_us = sum((np.median(rtt_us) - rtt_us.min()) / 2 for rtt_us in rtts_us)
    names = ("added_forward_us", "added_return_us", "one_way_error_us")
    return dict(zip(names, map(float, (*added_us, error_us)), strict=True))


def latency_columns(flows: Sequence[Direction]) -> dict[str, float | int | str | None]:
    """Columns of the probe; empty without one, and the RTTs without an answer."""
    over_tcp: dict[str, float | int | str | None] = {}
    if probes := _probes(flows, "latency_tcp"):
        idle_us, loaded_us = (_phase(probes, name)[0] for name in ("idle", "loaded"))
        over_tcp = {
            "tcp_rtt_idle_p50_us": _percentile(idle_us, 50),
            "tcp_rtt_loaded_p50_us": _percentile(loaded_us, 50),
            "tcp_rtt_loaded_p99_us": _percentile(loaded_us, 99),
            "tcp_rtt_loaded_hdr": histogram.encode(loaded_us),
        }
    if not (probes := _probes(flows, "latency")):
        return over_tcp
    idle_us, after_us = (_phase(probes, name)[0] for name in ("idle", "after"))
    loaded_us, sent, reordered = _phase(probes, "loaded")
    added_us = None
    if idle_us.size and loaded_us.size:
        added_us = float(np.median(loaded_us) - np.median(idle_us))
    known = sent and not _clock_was_set(flows, "latency")
    # the resolution of an RTT is 1 us
    rpm = MINUTE_US / max(1.0, float(loaded_us.mean())) if loaded_us.size else None
    return {
        "rtt_idle_p50_us": _percentile(idle_us, 50),
        "rtt_loaded_p50_us": _percentile(loaded_us, 50),
        "rtt_loaded_p90_us": _percentile(loaded_us, 90),
        "rtt_loaded_p99_us": _percentile(loaded_us, 99),
        "rtt_loaded_max_us": _percentile(loaded_us, 100),
        "rtt_loaded_hdr": histogram.encode(loaded_us),
        "rtt_after_p50_us": _percentile(after_us, 50),
        "added_latency_us": added_us,
        **_added_one_way(probes),
        "responsiveness_rpm": rpm,
        "probe_loss_percent": 100 * (1 - loaded_us.size / sent) if known else None,
        "probe_reordered": reordered,
        **over_tcp,
    }


def rtts_over(gen: SentEnd, edges_s: np.ndarray) -> dict[str, np.ndarray]:
    """Percentiles of the probes sent between each two times since the start; NaN without any."""
    parts = [np.empty(0)] * (len(edges_s) - 1)
    if probe := gen.get("latency"):
        phases = [probe[name] for name in ("warmup", "loaded")]
        t_ns = np.array([t for phase in phases for t in phase["t_ns"]], np.int64)
        rtt_us = np.array([rtt for phase in phases for rtt in phase["rtt_us"]], float)
        t_s, known = (t_ns - gen["t_go_ns"]) / 1e9, ~np.isnan(rtt_us)
        parts = np.split(rtt_us[known], np.searchsorted(t_s[known], edges_s))[1:-1]
    return {
        f"rtt_p{percent}_us": np.array([_percentile(part, percent) for part in parts], float)
        for percent in (50, 99)
    }


def _clock_was_set(flows: Sequence[Direction], way: ProbeWay) -> bool:
    """True if an end saw a step, after which answers had no RTT for a second."""
    probes = [probe for flow in flows for end in (flow.gen, flow.sink) if (probe := end.get(way))]
    return any(probe["clock_steps"] for probe in probes)


def probe_fault(flows: Sequence[Direction]) -> str:
    """Reason why the figures of the probe are missing or incomplete; empty without one."""
    for way in WAYS:
        probes = _probes(flows, way)
        if _clock_was_set(flows, way):
            return "latency probe: the clock was set, and probes of that time have no RTT"
        if any(not any(probe[name]["received"] for name in PHASES) for probe in probes):
            filtered = "; UDP to the port of the receiver may be filtered"
            return f"latency probe: no answer{filtered if way == 'latency' else ' over TCP'}"
    return ""
