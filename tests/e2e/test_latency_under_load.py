"""The latency probe on emulated paths with queues of known length."""

from __future__ import annotations

import pytest
import yaml
from e2e.conftest import measured_through, run_netlab
from studies import two_hosts

from netlab.results.store import Store

RTT_MS, RATE_MBPS = 20.0, 100.0
QUEUES_MS = {125_000: 10, 1_250_000: 100}
"""Bytes of a queue with tail drop, and the time that the rate needs for them."""
MARKED, MARK_ABOVE_B = 0, 62_500
"""Key of the cell whose long queue marks packets (ECN), and from where on."""


def content() -> dict:
    emulator = {"with": "netlab", "rtt_ms": RTT_MS, "rate_Mbps": RATE_MBPS}
    marked = {"queue_B": [max(QUEUES_MS)], "mark_above_B": [MARK_ABOVE_B]}
    ecn = {"kind": "sysctl", "name": "net.ipv4.tcp_ecn", "value": 1}
    return two_hosts(
        "queues",
        {"emulator": emulator},
        {"name": "tail drop", "factors": {"queue_B": [*QUEUES_MS]}},
        {"name": "marked", "factors": marked},
        **{"tunings": [{"name": "ecn", "knobs": [ecn]}], "congestion": "cubic"},
        latency={"probe": "both", "interval_ms": 5},
        timing={"rounds": 3, "seconds": 1.5, "warmup_s": 1.5},
    )


@pytest.fixture(scope="module")
def medians(tmp_path_factory):
    """Medians of each column over the rounds of a queue: a run beside other tests may be late."""
    work = tmp_path_factory.mktemp("queues")
    (work / "queues.yml").write_text(yaml.safe_dump(content(), sort_keys=False))
    results = str(work / "r")
    measured_through(run_netlab("run", str(work / "queues.yml"), "--results", results))
    runs = Store(work / "r").runs()
    assert not runs["flags"].str.contains("failed|lost_host").any(), runs["message"].tolist()
    runs["queue_B"] = runs["factors"].str.extract(r"queue_B\D+(\d+)").astype(int)
    runs.loc[runs["group"] == "marked", "queue_B"] = MARKED
    return runs.groupby("queue_B").median(numeric_only=True)


@pytest.mark.parametrize("queue_B", QUEUES_MS)
def test_an_idle_path_has_its_own_rtt(medians, queue_B):
    for phase in ("idle", "after"):
        assert RTT_MS <= medians.loc[queue_B, f"rtt_{phase}_p50_us"] / 1e3 <= RTT_MS + 1
    # a thread without a processor may add two intervals: the kernel joins what it did not read
    assert RTT_MS <= medians.loc[queue_B, "tcp_rtt_idle_p50_us"] / 1e3 <= RTT_MS + 11


@pytest.mark.parametrize("queue_B", QUEUES_MS)
def test_a_loaded_path_adds_what_its_queue_allows(medians, queue_B):
    row, full_ms = medians.loc[queue_B], QUEUES_MS[queue_B]
    assert RTT_MS <= row["rtt_loaded_p50_us"] / 1e3 <= RTT_MS + full_ms + 2
    assert row["rtt_loaded_p50_us"] <= row["rtt_loaded_p99_us"] <= row["rtt_loaded_max_us"]
    # no upper bound: a question of TCP may wait for the window after a loss
    assert RTT_MS <= row["tcp_rtt_loaded_p50_us"] / 1e3 <= row["tcp_rtt_loaded_p99_us"] / 1e3
    assert 60e6 / row["rtt_loaded_max_us"] <= row["responsiveness_rpm"] <= 60e6 / (RTT_MS * 1e3)


def test_a_longer_queue_adds_more(medians):
    small, large = medians.loc[[*QUEUES_MS], "added_latency_us"]
    assert large > max(3 * small, 10_000)
    row = medians.loc[max(QUEUES_MS)]
    assert abs(row["added_forward_us"] - large) < 5000 > abs(row["added_return_us"])


def test_marks_hold_the_queue_where_they_begin_and_cost_no_packet(medians):
    marked, dropped = medians.loc[MARKED], medians.loc[max(QUEUES_MS)]
    assert marked["path_marked"] > 0 and marked["delivered_ce"] > 0
    assert marked["path_queue_drops"] == marked["retransmits"] == 0
    assert marked["added_latency_us"] < dropped["added_latency_us"] / 2
    assert (medians.loc[[*QUEUES_MS], ["path_marked", "delivered_ce"]] == 0).all(axis=None)
