"""A link whose rate follows a trace: the samples of a run follow it, too."""

from __future__ import annotations

import numpy as np
from e2e.conftest import run_on_lab
from studies import two_hosts

import netlab

SLOW_MBPS, FAST_MBPS, HALF_S = 5, 20, 2
FRAME_BITS = 1514 * 8


def lines() -> list[int]:
    """Two seconds at a slow rate, two at a fast one, ms of each packet of 1500 B."""
    slow, fast = (
        np.arange(0, 1000 * HALF_S, FRAME_BITS / rate / 1e3) for rate in (SLOW_MBPS, FAST_MBPS)
    )
    times = [*slow, *(1000 * HALF_S + fast), 2000 * HALF_S]
    return [int(ms) for ms in times]


def test_the_samples_of_a_run_follow_the_trace_of_its_link(tmp_path, machine_untouched):
    """Datagrams at 30 Mb/s, above both rates; the trace begins with the run."""
    (tmp_path / "steps.trace").write_text("".join(f"{ms}\n" for ms in lines()))
    emulator = {"rtt_ms": 10, "trace": "steps.trace", "queue_packets": 20}
    emulator["reverse"] = {"rate_Mbps": 100.0}
    content = two_hosts(
        "steps",
        {"emulator": emulator},
        {"name": "datagrams", "generator": "udp"},
        {"name": "tcp", "factors": {"pacing_MBps": [0]}},
        factors={"pacing_MBps": [3.75]},
        timing={"rounds": 1, "seconds": 7, "warmup_s": 0.5, "drain_s": 30, "interval_ms": 100},
    )
    run_on_lab(tmp_path, content, timeout_s=180)
    results = netlab.Results(tmp_path / "r")
    assert not results.runs["flags"].str.contains("failed|ledger|implausible").any()
    mean_MBps = len(lines()) * 1514 / (2 * HALF_S) / 1e6
    assert np.allclose(results.runs["link_MBps"], mean_MBps)
    (datagrams,) = results.runs[results.runs["group"] == "datagrams"]["run_id"]
    samples = results.intervals[results.intervals["run_id"] == datagrams]
    at_s = samples["t_s"].to_numpy() - samples["interval_s"].to_numpy() / 2
    rates = samples["bytes"].to_numpy() / samples["interval_s"].to_numpy() / 1e6
    # within a half, a quarter of a second from its edges: the run begins as the trace does
    phase_s = at_s % (2 * HALF_S)
    in_run = at_s < 7.4
    slow = rates[in_run & (phase_s > 0.25) & (phase_s < HALF_S - 0.25)].mean()
    fast = rates[in_run & (phase_s > HALF_S + 0.25) & (phase_s < 2 * HALF_S - 0.25)].mean()
    of_payload = 1472 / 1514
    assert 0.5 < slow / (SLOW_MBPS / 8 * of_payload) < 1.15
    assert 0.5 < fast / (FAST_MBPS / 8 * of_payload) < 1.15
    whole = (samples["bytes"].sum() / samples["interval_s"].sum()) / 1e6
    assert whole < 1.1 * mean_MBps
    (tcp,) = results.runs[results.runs["group"] == "tcp"].to_dict("records")
    assert 0.3 * mean_MBps < tcp["goodput_MBps"] < 1.02 * tcp["ceiling_MBps"]
