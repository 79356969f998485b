"""Two links in a row on a lab: which flows pass which, and what each link has to share."""

import json

import pytest
from e2e.conftest import EARLY_US, run_on_lab
from studies import two_hosts

import netlab
from netlab.results.store import Store

FIRST_MBPS, SECOND_MBPS, FIRST_MS, SECOND_MS = 4, 12, 10, 20
LATE = 1.5
"""Late reads at the window's begin show more than a link carried."""


@pytest.fixture(scope="module")
def measured(tmp_path_factory):
    """A flow over both links beside one over each; one over each alone; one over the path."""
    folder = tmp_path_factory.mktemp("parking-lot")
    second = {"rtt_ms": SECOND_MS, "rate_Mbps": SECOND_MBPS, "queue_packets": 30}
    link = {"rtt_ms": FIRST_MS, "rate_Mbps": FIRST_MBPS, "queue_packets": 20, "second": second}
    each = [{"over": "first"}, {"over": "second"}]
    content = two_hosts(
        "parking-lot",
        {"emulator": link},
        {"name": "lot", "flows": [{"over": "both"}, *each], "streams": [3]},
        {"name": "apart", "flows": each, "streams": [2]},
        {"name": "back", "sender": "right", "flows": each, "streams": [2]},
        {"name": "whole", "streams": [1]},
        **{"path": "lot", "streams": [1, 2, 3], "congestion": "reno", "trace": True},
        timing={"rounds": 1, "seconds": 5, "drain_s": 60},
    )
    run_on_lab(folder, content, timeout_s=240)
    return netlab.Results(folder / "r"), Store(folder / "r")


@pytest.fixture
def results(measured):
    return measured[0]


@pytest.fixture
def streams(results):
    """Goodput of each stream of a group and link, Mb/s, by the links that it passes."""
    frame = results.tables.stream_shares().data
    frame = frame.assign(over=frame["control"].str.partition("@")[2])
    return 8 * frame.set_index(["group", "way", "over"])["goodput_MBps"]


def test_no_segment_is_answered_before_the_round_trip_of_its_links(measured):
    results, store = measured
    traces = store.rows("traces").merge(results.runs[["run_id", "group", "flows"]], on="run_id")
    own_ms = {"first": FIRST_MS, "second": SECOND_MS, "both": FIRST_MS + SECOND_MS}
    seen = traces[traces["rtt_us"] > 0].groupby(["group", "flows", "stream"])["rtt_us"].min()
    assert len(seen) == 3 + 2 + 2 + 1
    for (_, flows, stream), rtt_us in seen.items():
        each = json.loads(flows) if flows else [{}]
        assert rtt_us > 1000 * own_ms[each[stream].get("over", "both")] - EARLY_US


@pytest.mark.parametrize("group", ["apart", "back"])
def test_a_flow_over_one_link_has_that_link_alone(streams, group):
    """Each its own rate, whichever end sends: three times as much on the second one."""
    first, second = (streams[group, f"{hop} link", hop] for hop in ("first", "second"))
    assert 0 < first < second < LATE * SECOND_MBPS and first < LATE * FIRST_MBPS


def test_a_flow_over_both_links_has_least_and_each_link_is_shared(streams):
    """It meets two queues, and the longest round trip."""
    both = streams["lot", "first link", "both"]
    assert both == streams["lot", "second link", "both"]
    first, second = streams["lot", "first link", "first"], streams["lot", "second link", "second"]
    assert 0 < both < first < second
    assert both + first < LATE * FIRST_MBPS and both + second < LATE * SECOND_MBPS


def test_shares_and_index_are_of_each_link(results):
    shares = results.tables.shares().data
    lot = shares[shares["group"] == "lot"].groupby("way")["share_percent"]
    assert list(lot.sum()) == pytest.approx([100, 100]) and list(lot.size()) == [2, 2]
    index = results.tables.jain_index().data.set_index(["group", "way"])["jain_index"]
    for link in ("first link", "second link"):
        assert 0.5 < index["lot", link] < 1
        assert index["apart", link] == 1  # one flow has all of it


def test_the_ceiling_is_what_the_links_leave_their_flows(results):
    rows = results.runs.set_index("group")
    slower, both = FIRST_MBPS / 8, (FIRST_MBPS + SECOND_MBPS) / 8
    assert rows.loc["whole", "link_MBps"] == pytest.approx(slower)
    assert rows.loc["whole", "goodput_MBps"] < LATE * slower
    assert rows.loc[["apart", "back"], "link_MBps"].to_list() == pytest.approx([both] * 2)
    # flows over both take a part of each
    assert slower < rows.loc["lot", "link_MBps"] < both
    assert (rows["path_rtt_us"] == 1000 * (FIRST_MS + SECOND_MS)).all()


def test_queues_and_drops_are_those_of_each_link(measured):
    """A flow over the whole path waits before the slower link."""
    results, store = measured
    run_id = results.runs.set_index("group").loc["whole", "run_id"]
    rows = store.rows("paths")
    most = rows[rows["run_id"] == run_id].groupby("direction")["queue_packets"].max()
    assert set(most.index) == {"forward", "reverse", "forward second", "reverse second"}
    assert most["forward"] > most["forward second"]
    dropped = rows.groupby("direction")["drops"].sum()
    assert dropped["forward"] > 0 and dropped["forward second"] > 0


def test_every_ledger_closes(results):
    assert len(results.runs) == 4
    assert not results.runs["flags"].str.contains("failed|ledger").any()
    assert (results.runs["ledger_error_B"] == 0).all()
