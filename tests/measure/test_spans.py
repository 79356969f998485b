"""Two links in a row: what their flows can have together, the counts of each, and the word."""

from __future__ import annotations

import copy
from dataclasses import replace

import numpy as np
import pytest
from measure.exchanged_run import FLOWS, between, report
from measure.read_flows import flow
from measure.recorded_setting import SETTING
from measure.scripted import SECOND_NS

from netlab.measure.bottleneck import bottleneck
from netlab.measure.exchange import RunOutcome
from netlab.measure.fairness import loaded_rtt_s, stream_columns
from netlab.measure.ledger import Ledger, audit_links, audit_path
from netlab.measure.record import record, with_fullest_link
from netlab.measure.spans import Spans
from netlab.study.flows import PlannedFlow
from netlab.study.links import Emulator, LabLink

LOT = ("both", "first", "second")
SHARE = 1448 / 1514


def spans(*over: str, first: float | None = 5.0, second: float | None = 10.0) -> Spans:
    return Spans(first, second, over)


@pytest.mark.parametrize(
    ("over", "most_MBps"),
    [
        (LOT, 15.0 - 2.0 / SHARE),
        (("first", "second"), 15.0),
        (("both", "first"), 5.0),
        (("both", "second"), 10.0),
        (("second",), 10.0),
        (("both", "both", "second", "first"), 15.0 - 4.0 / SHARE),
    ],
)
def test_flows_can_have_what_the_links_carry_and_those_over_both_once(over, most_MBps):
    assert spans(*over).together_MBps([2.0] * len(over), SHARE) == pytest.approx(most_MBps)
    # streams are dealt the flows in turn
    assert spans(*over).together_MBps([1.0] * 2 * len(over), SHARE) == pytest.approx(most_MBps)


def test_a_link_without_a_rate_limits_nothing():
    assert spans(*LOT, second=None).together_MBps([1.0] * 3, SHARE) is None
    assert spans("both", "first", second=None).together_MBps([1.0] * 2, SHARE) == 5.0
    assert spans("second", second=None).together_MBps([1.0], SHARE) is None
    assert spans(*LOT, second=None).links([1.0, 2.0, 4.0]) == [(3.0, 5.0)]


def test_udp_beside_the_flows_takes_a_part_of_both_links():
    """A ceiling takes it off once more."""
    assert spans("first", "second").together_MBps([0.0] * 2, SHARE, 1.0) == pytest.approx(14.0)


@pytest.mark.parametrize(("back", "rates"), [(False, (5.0, 1.0)), (True, (2.5, 1.0))])
def test_the_rates_are_those_of_the_direction_that_carries_data(back, rates):
    link = LabLink(
        emulator=Emulator(rate_Mbps=40.0, reverse={"rate_Mbps": 20.0}, second={"rate_Mbps": 8.0})
    )
    flows = [PlannedFlow(count=2), PlannedFlow(over="first")]
    of = Spans.of(link, flows, back=back)
    assert of == Spans(*rates, ("both", "both", "first"))
    assert Spans.of(link, flows[:1], back=back) is None
    assert link.shaped_Mbps == (8.0, 8.0)


def recorded(*moved_MB: float, over=LOT) -> dict:
    """A run of a second whose flows had so much each, on links of 5 and 10 MB/s."""
    one = flow(*(round(1e6 * moved) for moved in moved_MB))
    setting = replace(SETTING, bus_MBps=None, spans=spans(*over))
    row = record(RunOutcome((one,), 0, 1.0), setting, Ledger())
    row |= {"ceiling_MBps": row["ceiling_MBps"], "direction": "->"}
    return row | {"of_fullest": with_fullest_link(row, setting, one, None)["percent_of_ceiling"]}


@pytest.mark.parametrize(
    ("moved_MB", "word"),
    [
        # both links full, however the flows share them
        ((1.5, 3.28, 8.06), "link"),
        ((0.2, 4.58, 9.36), "link"),
        ((4.0, 0.78, 5.56), "link"),
        # as the sum of the rates would have it, this run had 0.72 of the links
        ((4.7, 0.08, 4.86), "link"),
        # the second link has room
        ((1.5, 3.28, 4.0), "unknown"),
    ],
)
def test_the_word_is_link_where_both_links_are_full(moved_MB, word):
    row = recorded(*moved_MB)
    assert bottleneck({**row, "mtu_B": 1500, "streams": 3}) == word
    assert row["ceiling_kind"] == "link"
    assert row["ceiling_source"] == (
        "links of 5 MB/s and 10 MB/s in a row, as the study states, less what flows over both have"
    )
    assert (row["percent_of_ceiling"] > 95) == (word == "link")


def test_a_link_that_carried_more_than_its_rate_shows_though_the_other_had_room():
    """The sum is far below that of the rates."""
    row = recorded(0.5, 5.5, 1.0)
    assert row["percent_of_ceiling"] < 60
    assert row["of_fullest"] == pytest.approx(100 * 6.0 / (5 * SHARE))


def test_the_index_is_that_of_the_link_that_is_shared_less_evenly():
    one = flow(2, 2, 8)
    found = stream_columns([one], None, spans(*LOT))
    assert found["jain_index"] == pytest.approx(10**2 / (2 * 68))
    alone = stream_columns([flow(3, 7)], None, spans("first", "second"))
    assert alone["jain_index"] == 1.0
    assert [part.tolist() for part in spans(*LOT).by_link(np.array([1, 2, 3]))] == [[1, 2], [1, 3]]


def two_links(t_ns: int = 0, **changes) -> dict:
    """A report; `changes` name a link, a direction and a count: ``first_ab_in_packets``."""
    whole = report(t_ns)
    whole["second"] = copy.deepcopy(whole["directions"])
    for name, value in changes.items():
        hop, direction, count = name.split("_", 2)
        whole["directions" if hop == "first" else "second"][["ab", "ba"].index(direction)][
            count
        ] = value
    return whole


PASSED = {
    **{"first_ab_in_packets": 100, "first_ab_out_packets": 90, "first_ab_stored_packets": 10},
    **{"first_ab_passed_packets": 60, "second_ab_in_packets": 80, "second_ab_out_packets": 80},
    **{"second_ba_in_packets": 9, "second_ba_out_packets": 9, "second_ba_passed_packets": 5},
    **{"first_ba_in_packets": 6, "first_ba_out_packets": 6},
}


@pytest.mark.parametrize(
    ("changes", "over_one", "problem"),
    [
        ({}, True, ""),
        ({"first_ab_out_packets": 91}, True, "100 packets came to the first link (ab), and 101"),
        ({"second_ba_in_packets": 10}, True, "10 packets came to the second link (ba), and 9"),
        ({"first_ab_passed_packets": 81}, True, "the first link passed 81 packets on (ab), and 80"),
        ({"second_ba_passed_packets": 7}, True, "the second link passed 7 packets on (ba), and 6"),
        # all flows pass both: nothing enters between the links
        ({"second_ba_passed_packets": 6}, False, "the first link passed 60 packets on (ab)"),
    ],
)
def test_every_packet_of_a_link_is_accounted_for(changes, over_one, problem):
    ledger = Ledger()
    audit_links(ledger, between(two_links(), two_links(**PASSED | changes)), over_one=over_one)
    assert len(ledger.problems) == bool(problem) and problem in "".join(ledger.problems)


def test_one_link_is_audited_as_well():
    ledger, after = Ledger(), report()
    after["directions"][1]["in_packets"] = 3
    audit_links(ledger, between(report(), after), over_one=False)
    assert ledger.problems == [
        "3 packets came to the first link (ba), and 0 left it, were dropped or wait"
    ]


def test_a_packet_over_both_links_counts_once_and_a_drop_of_either_does():
    after = two_links(
        **PASSED, first_ab_in_bytes=5000, first_ab_passed_bytes=3000, second_ab_in_bytes=4000,
        first_ab_max_queue_B=100, second_ab_max_queue_B=70,
    )  # fmt: skip
    after["second"][0]["dropped"]["queue"] = 4
    after["directions"][1]["dropped"]["loss"] = 1
    columns = between(two_links(), after).columns(FLOWS)
    assert columns["path_packets"] == 100 + 80 + 9 + 6 - 60 - 5
    assert columns["path_B"] == 6000 and columns["path_drops"] == 5
    assert columns["path_queue_drops"] == 4 and columns["path_queue_max_B"] == 100
    assert columns["path_rtt_us"] == 20_000


@pytest.mark.parametrize(
    ("forward", "taken", "delivered"),
    [("ab", "first_ab", "second_ab"), ("ba", "second_ba", "first_ba")],
)
def test_datagrams_enter_by_one_link_and_leave_by_the_other(forward, taken, delivered):
    changes = {f"{taken}_in_datagrams": 50, f"{taken}_out_datagrams": 45}
    changes |= {f"{delivered}_in_datagrams": 45, f"{delivered}_out_datagrams": 44}
    emulated = between(two_links(), two_links(**changes), forward)
    assert next(emulated.datagrams()) == (50, 44)
    audit_path(Ledger(), RunOutcome((flow(1),), 0, 1.0), emulated)
    assert emulated.columns(FLOWS)["path_datagram_drops"] == 6


def test_samples_of_each_link_are_rows(forward="ab"):
    after = two_links()
    names = ("ab", "ba", "ab_second", "ba_second")
    after["samples"] = {
        **{"t_ns": [10 * SECOND_NS, 12 * SECOND_NS], "cpu_us": [0, 0]},
        **{f"{n}_queue_{u}": [at, at + 10] for at, n in enumerate(names) for u in ("B", "packets")},
        **{f"{n}_dropped": [0, at] for at, n in enumerate(names)},
    }
    rows = between(two_links(), after, forward).rows("r", FLOWS)
    assert [row["direction"] for row in rows] == [
        *("forward", "reverse", "forward second", "reverse second")
    ]
    assert [row["queue_B"].tolist() for row in rows] == [[at, at + 10] for at in range(4)]
    assert [row["drops"].tolist() for row in rows] == [[0, at] for at in range(4)]


def test_a_stall_is_longer_than_the_wait_in_both_queues():
    after = two_links(
        first_ab_max_queue_B=50_000, first_ab_rate_bps=4_000_000,
        second_ab_max_queue_B=25_000, second_ab_rate_bps=1_000_000,
    )  # fmt: skip
    for way in (*after["directions"], *after["second"]):
        way.setdefault("rate_bps", 0)
    emulated = between(two_links(), after)
    assert emulated.queue_s == pytest.approx(0.1 + 0.2)
    row = {"path_rtt_us": 20_000, "link_MBps": 9.0, "path_queue_max_B": 1, "ceiling_kind": None}
    setting = replace(SETTING, spans=spans(*LOT))
    judged = with_fullest_link(row, setting, flow(1), emulated)
    assert loaded_rtt_s(judged) == pytest.approx(0.32)
    assert loaded_rtt_s(row) < 0.021
