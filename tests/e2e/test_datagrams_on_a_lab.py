"""UDP studies on emulated paths whose emulator counts what it drops."""

from __future__ import annotations

import pytest
from e2e.conftest import measured_through, run_on_lab
from e2e.datagram_study import study

from netlab.results.store import Store
from netlab.units import datagram_share

LOSS, RATE_MBPS, QUEUE_PACKETS = 0.05, 20.0, 50


def measured(work, content: dict):
    """Rows of the runs of a study, none of which failed or has a ledger that is open."""
    measured_through(run_on_lab(work, content))
    runs = Store(work / "r").runs()
    bad = "failed|lost_host|ledger_mismatch"
    assert not runs["flags"].str.contains(bad).any(), runs["message"].tolist()
    return runs


def assert_closed(runs) -> None:
    """Each datagram that was lost is one that the emulator, the socket or an interface dropped."""
    lost = runs["sent_datagrams"] - runs["received_datagrams"]
    assert (lost >= runs["path_datagram_drops"] + runs["socket_drops"]).all()
    counted = runs["path_datagram_drops"] + runs["socket_drops"] + runs["interface_drops"]
    assert (lost <= counted).all(), runs[["sent_datagrams", "received_datagrams"]]
    assert (runs["received_B"] == runs["received_datagrams"] * runs["record_length_B"]).all()
    assert (runs["ledger_error_B"] == 0).all()


def test_random_loss_and_order_are_those_of_the_emulator(tmp_path):
    emulator = {"rtt_ms": 10.0, "loss": LOSS, "reorder": 0.2, "reorder_ms": 20.0}
    runs = measured(tmp_path, study("loss", emulator, socket={"pacing_MBps": 0.4}))
    assert_closed(runs)
    for row in runs.itertuples():
        expected = LOSS * row.sent_datagrams
        assert abs(row.path_datagram_drops - expected) < 6 * expected**0.5
        assert row.lost_percent > 0 and row.loss_burst_max >= row.loss_burst_mean >= 1
        assert row.reordered > 0 and row.duplicates == 0
        assert row.generator == "udp" and row.engine == "udp:sendmmsg/udp:recvmmsg"
        assert row.pacing_MBps == pytest.approx(0.8)


def test_other_tools_measure_the_same_path(tmp_path):
    tools = ["udp", "iperf3-udp", "iperf2-udp"]
    factors = {"record_length_B": [1472], "pacing_MBps": [0.5, 4.0]}
    emulator = {"rtt_ms": 2.0, "rate_Mbps": RATE_MBPS, "queue_packets": QUEUE_PACKETS}
    content = study("tools", emulator, factors=factors, streams=[1])
    (group,) = content["groups"]
    content["groups"] = [{**group, "name": name, "generator": name} for name in tools]
    runs = measured(tmp_path, content)
    assert sorted(runs["generator"]) == sorted(2 * tools)
    most_MBps = RATE_MBPS / 8 * datagram_share(1500, 1472)
    for row in runs.itertuples():
        assert row.sent_datagrams >= row.received_datagrams > 0
        assert row.goodput_MBps < 1.05 * most_MBps and row.skipped_datagrams >= 0
        assert row.pacing_MBps < most_MBps or row.lost_percent > 10


@pytest.mark.parametrize("gso", [False, True])
def test_above_the_rate_of_a_link_its_queue_drops_the_difference(tmp_path, gso):
    """An emulator is never early: by any time it has delivered at most what the rate carries."""
    emulator = {"rtt_ms": 2.0, "rate_Mbps": RATE_MBPS, "queue_packets": QUEUE_PACKETS}
    factors = {"record_length_B": [1472], "pacing_MBps": [0.5, 2.5]}
    runs = measured(tmp_path, study("rate", emulator, factors=factors, udp={"gso": gso}))
    assert_closed(runs)
    payload_MBps = RATE_MBPS / 8 * datagram_share(1500, 1472)
    intervals = Store(tmp_path / "r").intervals()
    for row in runs.itertuples():
        each = intervals[intervals["run_id"] == row.run_id].groupby("t_s")["bytes"].sum().cumsum()
        assert (each.to_numpy() <= 1e6 * payload_MBps * each.index.to_numpy() + 1472).all()
        carried = 1e6 * payload_MBps * each.index[-1] / 1472 + QUEUE_PACKETS
        assert row.sent_datagrams - row.received_datagrams >= row.sent_datagrams - carried
        assert row.engine == f"udp:{'gso' if gso else 'sendmmsg'}/udp:recvmmsg"
    assert runs["path_queue_drops"].max() > 0
