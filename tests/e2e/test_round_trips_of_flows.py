"""Flows with round trips of their own on a lab: what each measures, and the shares that follow."""

import json

import pytest
from e2e.conftest import EARLY_US, run_on_lab
from studies import two_hosts

import netlab
from netlab.results.store import Store

SHORT_MS, LONG_MS, WINDOW_B = 10, 50, 60_000


@pytest.fixture(scope="module")
def measured(tmp_path_factory):
    """Reno on a link of 20 Mb/s, and windows of a fixed size without a rate; two flows each."""
    folder = tmp_path_factory.mktemp("round-trips")
    entries = [{"rtt_ms": SHORT_MS}, {"rtt_ms": LONG_MS}]
    link = {"rtt_ms": 2, "rate_Mbps": 20, "queue_B": 30_000}
    content = two_hosts(
        "round-trips",
        {"emulator": link},
        {"name": "link", "flows": entries},
        {"name": "windows", "path": "open", "buffer_B": WINDOW_B, "flows": entries},
        **{"path": "link", "streams": [2, 4], "congestion": "reno", "trace": True},
        timing={"rounds": 1, "seconds": 4, "drain_s": 60},
    )
    opened = {**content["paths"]["link"], "link": {"emulator": {"delay_ms": [0, 4]}}}
    content["paths"]["open"] = opened
    run_on_lab(folder, content, timeout_s=240)
    return netlab.Results(folder / "r"), Store(folder / "r").rows("traces")


@pytest.fixture
def results(measured):
    return measured[0]


def test_no_segment_of_a_flow_is_answered_before_its_round_trip(measured):
    """From the SYN on: the kernel's estimate starts there, and is smoothed over all answers."""
    results, traces = measured
    assert len(results.runs) == 4
    assert set(results.runs["path_rtt_us"]) == {1000 * LONG_MS}
    least_us = traces[traces["rtt_us"] > 0].groupby(["run_id", "stream"])["rtt_us"].min()
    for (_, stream), rtt_us in least_us.items():
        own_us = 1000 * (LONG_MS if stream % 2 else SHORT_MS)
        assert rtt_us > own_us - EARLY_US
    of_windows = least_us[["windows" in run for run in least_us.index.get_level_values("run_id")]]
    assert of_windows.xs(0, level="stream").max() < 1000 * LONG_MS


def test_flows_of_a_fixed_window_share_as_their_round_trips(results):
    """Rates are a window over the round trip: five parts to one on a processor of their own."""
    shares = results.tables.shares().data
    assert set(shares["control"]) == {f"reno@{ms}ms" for ms in (SHORT_MS, LONG_MS)}
    windows = shares[shares["group"] == "windows"].set_index(["streams", "control"])
    for streams in (2, 4):
        short = windows.loc[streams, f"reno@{SHORT_MS}ms"]
        long = windows.loc[streams, f"reno@{LONG_MS}ms"]
        assert short["flows"] == long["flows"] == streams // 2
        # waits for processors that others use lengthen both alike
        assert short["share_percent"] > long["share_percent"]


def test_a_shared_link_is_divided_between_the_round_trips(results):
    """Which has more is a matter of phases where a plain queue is short, and of a few losses."""
    shares = results.tables.shares().data
    link = shares[shares["group"] == "link"].set_index(["streams", "control"])["share_percent"]
    for streams in (2, 4):
        each = [link[streams, f"reno@{ms}ms"] for ms in (SHORT_MS, LONG_MS)]
        assert min(each) > 0 and sum(each) == pytest.approx(100)
    # of disturbed runs as well, of which cells have no columns
    assert len(results.tables.jain_index().data) == 4


def test_the_flows_are_in_the_record_and_its_ledger_closes(results):
    runs = results.runs
    assert json.loads(runs["flows"].iloc[0]) == [{"rtt_ms": SHORT_MS}, {"rtt_ms": LONG_MS}]
    assert not runs["flags"].str.contains("failed|ledger").any()
    assert (runs["ledger_error_B"] == 0).all()
    # 20 round trips of the longest
    assert set(runs["warmup_s"]) == {20 * LONG_MS / 1e3}
