"""Columns of the latency probe of a run: the round trips before, under and after its load."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from netlab.measure.exchange import Direction

MINUTE_US = 60e6


def _phase(probes: Sequence[dict], name: str) -> tuple[np.ndarray, int, int]:
    """RTTs of a phase in us, probes sent, and answers out of order; of all directions."""
    phases = [probe[name] for probe in probes]
    rtts_us = [rtt_us for phase in phases for rtt_us in phase["rtt_us"] if rtt_us is not None]
    sent, reordered = (sum(phase[key] for phase in phases) for key in ("sent", "reordered"))
    return np.array(rtts_us, float), sent, reordered


def _percentile(rtts_us: np.ndarray, percent: float) -> float | None:
    return float(np.percentile(rtts_us, percent)) if rtts_us.size else None


def _probes(flows: Sequence[Direction]) -> list[dict]:
    return [probe for flow in flows if (probe := flow.gen.get("latency"))]


def latency_columns(flows: Sequence[Direction]) -> dict[str, float | int | None]:
    """Columns of the probe; empty without one, and the RTTs without an answer."""
    if not (probes := _probes(flows)):
        return {}
    idle_us, after_us = (_phase(probes, name)[0] for name in ("idle", "after"))
    loaded_us, sent, reordered = _phase(probes, "loaded")
    idle_p50_us, loaded_p50_us = _percentile(idle_us, 50), _percentile(loaded_us, 50)
    return {
        "rtt_idle_p50_us": idle_p50_us,
        "rtt_loaded_p50_us": loaded_p50_us,
        "rtt_loaded_p90_us": _percentile(loaded_us, 90),
        "rtt_loaded_p99_us": _percentile(loaded_us, 99),
        "rtt_loaded_max_us": _percentile(loaded_us, 100),
        "rtt_after_p50_us": _percentile(after_us, 50),
        "added_latency_us": None
        if idle_p50_us is None or loaded_p50_us is None
        else loaded_p50_us - idle_p50_us,
        # the resolution of an RTT is 1 us
        "responsiveness_rpm": MINUTE_US / max(1.0, float(loaded_us.mean()))
        if loaded_us.size
        else None,
        "probe_loss_percent": 100 * (1 - loaded_us.size / sent) if sent else None,
        "probe_reordered": reordered,
    }


def probe_fault(flows: Sequence[Direction]) -> str:
    """Reason why the figures of the probe are missing or incomplete; empty without one."""
    probes = _probes(flows)
    if any(probe["clock_steps"] for probe in probes):
        return "latency probe: the clock was set, and probes of that time have no RTT"
    names = ("idle", "loaded", "after")
    if any(not any(probe[name]["received"] for name in names) for probe in probes):
        return "latency probe: no answer; UDP to the port of the receiver may be filtered"
    return ""
