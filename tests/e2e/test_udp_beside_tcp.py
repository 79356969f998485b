"""UDP beside TCP on a lab: TCP has what the datagrams leave of the link, and both are counted."""

from __future__ import annotations

import pytest
from e2e.conftest import run_on_lab
from studies import two_hosts

import netlab

LINK_MBPS, PAYLOAD = 2.5, 1448 / 1514
SIZE_B, FRAME_B = 1200, 1242


def test_tcp_has_what_udp_leaves_of_a_link(tmp_path, machine_untouched):
    """On 20 Mb/s of frames: none, 8 Mb/s of payload, and 16, most of the link."""
    emulator = {"with": "netlab", "rtt_ms": 10, "rate_Mbps": 20, "queue_packets": 50}
    content = two_hosts(
        "beside",
        {"emulator": emulator},
        {"cross_udp_B": SIZE_B},
        **{"factors": {"cross_udp_Mbps": [0, 8, 16]}, "streams": [2], "congestion": "cubic"},
        timing={"rounds": 1, "seconds": 4, "warmup_s": 1.5, "drain_s": 30},
    )
    run_on_lab(tmp_path, content, timeout_s=180)
    runs = netlab.Results(tmp_path / "r").runs.sort_values("cross_udp_Mbps", na_position="first")
    bad = "ledger_mismatch|implausible|failed"
    assert not runs["flags"].str.contains(bad).any(), runs["message"].tolist()
    alone, beside, most = runs.to_dict("records")
    assert (runs["ledger_error_B"] == 0).all() and (runs["foreign_traffic_percent"] < 1).all()
    columns = ("cross_udp_B", "cross_goodput_MBps", "cross_sent_datagrams", "cross_lost_percent")
    assert runs[[*columns]].iloc[0].isna().all()
    assert (runs["cross_udp_B"].iloc[1:] == SIZE_B).all()
    assert 0 < alone["goodput_MBps"] < 1.05 * LINK_MBPS * PAYLOAD
    for run in (beside, most):
        left_MBps = LINK_MBPS - run["cross_goodput_MBps"] * FRAME_B / SIZE_B
        assert run["ceiling_MBps"] == pytest.approx(left_MBps * PAYLOAD, abs=1e-6)
        assert run["path_datagram_drops"] <= run["cross_sent_datagrams"]
        assert run["goodput_MBps"] < 1.05 * left_MBps * PAYLOAD  # how near is a matter of CPUs
    assert beside["goodput_MBps"] > 0 and beside["cross_lost_percent"] < 50
    assert 0 < beside["cross_goodput_MBps"] <= 1.1
    assert most["goodput_MBps"] < alone["goodput_MBps"]
    assert most["cross_goodput_MBps"] > beside["cross_goodput_MBps"]


def test_streams_connect_through_a_plain_queue_that_udp_fills(tmp_path, machine_untouched):
    """At four times the link a SYN beside the datagrams is dropped three times of four."""
    emulator = {"with": "netlab", "rtt_ms": 10, "rate_Mbps": 5, "queue_packets": 50}
    group = {"cross_udp_Mbps": 20, "cross_udp_B": SIZE_B}
    content = two_hosts(
        "flooded",
        {"emulator": emulator},
        group,
        {**group, "name": "both ways", "direction": "<->"},
        **{"streams": [16], "congestion": "cubic"},
        latency={"probe": "udp"},  # for a second before the streams connect
        timing={"rounds": 1, "seconds": 2, "warmup_s": 0, "drain_s": 60},
    )
    run_on_lab(tmp_path, content, timeout_s=300)
    runs = netlab.Results(tmp_path / "r").runs
    bad = "ledger_mismatch|implausible|failed"
    assert len(runs) == 2 and not runs["flags"].str.contains(bad).any(), runs["message"].tolist()
    assert (runs["ledger_error_B"] == 0).all() and (runs["foreign_traffic_percent"] < 1).all()
    assert (runs["cross_lost_percent"] > 0).all() and (runs["path_datagram_drops"] > 0).all()
    one_way = runs.loc[runs["direction"] == "->", ["ceiling_MBps", "cross_goodput_MBps"]]
    ((ceiling_MBps, beside_MBps),) = one_way.to_numpy()
    assert ceiling_MBps < 5 / 8 * PAYLOAD and beside_MBps > 0
