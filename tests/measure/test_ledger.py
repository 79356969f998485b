"""Counts of a run's bytes at every place agree, or the disagreement is reported."""

from __future__ import annotations

import copy

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scripted import result

from netlab.measure.ledger import INTERFACE_SLACK_B, WRAP_B, audit

MTU_B = 1500


def flow(**options) -> tuple[dict, dict]:
    return result("gen", **options), result("sink", **options)


def after(change) -> tuple[dict, dict]:
    """A flow that closed, then changed by a function of gen and sink."""
    gen, sink = flow()
    change(gen, sink)
    return gen, sink


def test_a_run_whose_counts_agree_closes():
    ledger = audit([flow()], mtu_B=MTU_B, both=False)
    assert ledger.problems == []
    assert ledger.error_B == 0
    assert ledger.header_share == pytest.approx(66 / 1448, rel=0.01)


@given(streams=st.integers(1, 20), each_B=st.integers(0, 10**10))
def test_any_amount_over_any_streams_closes(streams, each_B):
    pair = flow(streams=streams, each_B=each_B)
    for end in pair:  # the samples of the golden answer are not what is audited here
        del end["samples"]
    ledger = audit([pair], mtu_B=MTU_B, both=False)
    assert ledger.problems == []
    assert ledger.error_B == 0


def set_key(name, by):
    return lambda gen, sink: sink.__setitem__(name, sink[name] + by)


EXACT = {
    "sink read less": (
        lambda gen, sink: sink.__setitem__("total_bytes", sink["total_bytes"] - 5),
        "forward: send() took 28000000 B, but the sink read 27999995 B",
    ),
    "intervals": (set_key("interval_sum_bytes", 5), "its intervals sum to 28000005 B"),
    "sender's intervals": (
        lambda gen, sink: gen.__setitem__("interval_sum_bytes", gen["total_bytes"] - 5),
        "the sender's intervals sum to 27999995 B",
    ),
    "streams": (
        lambda gen, sink: sink["per_stream"].pop(),
        "its streams sum to 14000000 B",
    ),
}


@pytest.mark.parametrize("name", EXACT)
def test_counts_that_must_be_equal_are_compared_to_the_byte(name):
    change, sentence = EXACT[name]
    ledger = audit([after(change)], mtu_B=MTU_B, both=False)
    (problem,) = (line for line in ledger.problems if sentence in line)
    assert problem.startswith("forward: ")
    assert ledger.error_B == (14_000_000 if name == "streams" else 5)


@pytest.mark.parametrize(
    ("over", "closes"), [(-1, False), (0, True), (1, True), (2, True), (3, False)]
)
@pytest.mark.parametrize(("end", "key"), [(0, "bytes_acked"), (1, "bytes_received")])
def test_tcps_own_counts_hold_the_hello_and_two_sequence_numbers(end, key, over, closes):
    pair = flow()
    stream = pair[end]["per_stream"][1]
    stream["tcp"][key] = stream["bytes"] + 64 + over
    ledger = audit([pair], mtu_B=MTU_B, both=False)
    assert (ledger.problems == []) is closes
    if not closes:
        assert f"stream 1 carried {stream['bytes']} B" in ledger.problems[0]
        assert ledger.error_B == abs(over)


@pytest.mark.parametrize("tcp", [None, {}, {"bytes_acked": None, "bytes_received": None}])
def test_missing_tcp_counts_are_not_compared(tcp):
    pair = flow()
    for end in pair:
        for stream in end["per_stream"]:
            stream["tcp"] = tcp
    assert audit([pair], mtu_B=MTU_B, both=False).problems == []


ENDS = [(0, "tx_bytes", "sender"), (1, "rx_bytes", "sink")]


@pytest.mark.parametrize(("end", "key", "name"), ENDS)
def test_an_interface_that_saw_less_than_the_payload_is_reported(end, key, name):
    pair = flow()
    pair[end]["meter"]["total"]["interface"][key] = pair[1]["total_bytes"] - 1
    (problem,) = audit([pair], mtu_B=MTU_B, both=False).problems
    assert problem.startswith(f"the {name}'s interface")
    assert "expected): a counter that lies" in problem


@pytest.mark.parametrize(("end", "key", "name"), ENDS)
def test_an_interface_that_saw_foreign_traffic_is_a_surplus(end, key, name):
    pair = flow()
    pair[end]["meter"]["total"]["interface"][key] += 3_000_000
    ledger = audit([pair], mtu_B=MTU_B, both=False)
    (surplus,) = ledger.surplus
    assert surplus.startswith(f"the {name}'s interface") and "foreign traffic" in surplus
    assert ledger.problems == []


@pytest.mark.parametrize(("end", "key", "name"), ENDS)
def test_a_little_else_on_the_interface_is_allowed(end, key, name):
    pair = flow()
    pair[end]["meter"]["total"]["interface"][key] += INTERFACE_SLACK_B
    assert audit([pair], mtu_B=MTU_B, both=False).problems == []


def test_retransmissions_may_pass_the_interfaces():
    pair = flow()
    pair[0]["per_stream"][0]["tcp"]["bytes_retransmitted"] = 3_000_000
    for end, key, _ in ENDS:
        pair[end]["meter"]["total"]["interface"][key] += 3_000_000
    assert audit([pair], mtu_B=MTU_B, both=False).problems == []


@pytest.mark.parametrize("state", ["no meter", "no interface", "reset"])
def test_interfaces_without_counts_are_left_out(state):
    pair = flow()
    for end in pair:
        if state == "no meter":
            end["meter"] = None
        elif state == "no interface":
            end["meter"]["total"]["interface"] = None
        else:
            end["meter"]["total"]["interface"].update(reset=True, rx_bytes=0, tx_bytes=0)
    ledger = audit([pair], mtu_B=MTU_B, both=False)
    assert ledger.problems == []
    assert ledger.header_share is None


def test_the_ledger_of_a_run_without_bytes_closes():
    ledger = audit([flow(each_B=0)], mtu_B=MTU_B, both=False)
    assert ledger.problems == []
    assert ledger.header_share is None


def both_ways() -> list[tuple[dict, dict]]:
    """Both directions between two hosts: each interface carries data one way and acks the other."""
    flows = [flow(), flow(run=8)]
    whole = [flows[0][0]["meter"]["total"]["interface"], flows[0][1]["meter"]["total"]["interface"]]
    data_B, acks_B = whole[0]["tx_bytes"], whole[0]["rx_bytes"]
    for gen, sink in flows:
        for end in (gen, sink):
            interface = end["meter"]["total"]["interface"]
            interface.update(rx_bytes=data_B + acks_B, tx_bytes=data_B + acks_B)
    return flows


def test_in_both_directions_acknowledgements_may_pass_beside_the_payload():
    assert audit(both_ways(), mtu_B=MTU_B, both=True).problems == []


def test_both_directions_are_audited():
    flows = copy.deepcopy(both_ways())
    flows[1][1]["interval_sum_bytes"] -= 7
    ledger = audit(flows, mtu_B=MTU_B, both=True)
    assert [line.split(":")[0] for line in ledger.problems] == ["reverse"]
    assert ledger.error_B == 7


def lost(wraps: int, more_B: int = 0):
    """A run of 6 GB whose sink's interface counted less by some wraps."""
    gen, sink = flow(each_B=3_000_000_000)
    gen["meter"]["total"]["interface"]["tx_bytes"] = 6_200_000_000
    sink["meter"]["total"]["interface"]["rx_bytes"] = 6_200_000_000 - wraps * WRAP_B - more_B
    return audit([(gen, sink)], mtu_B=MTU_B, both=False)


def test_an_undetected_wrap_is_named_as_a_possible_cause():
    assert lost(0).problems == []
    (problem,) = lost(1).problems
    assert "the sink's interface received" in problem
    assert "a 32-bit counter that wrapped unseen once would explain it" in problem
    (problem,) = lost(0, more_B=WRAP_B // 2).problems
    assert problem.endswith("expected): a counter that lies")


def test_of_a_run_so_long_that_any_number_of_wraps_fits_none_is_claimed():
    gen, sink = flow(each_B=10**12)
    sink["meter"]["total"]["interface"]["rx_bytes"] -= 300 * WRAP_B
    (problem,) = audit([(gen, sink)], mtu_B=MTU_B, both=False).problems
    assert problem.endswith("expected): a counter that lies")


def test_segments_that_were_asked_to_be_small_have_a_larger_share_of_headers():
    gen, sink = flow(each_B=10_000_000)
    payload_B = gen["total_bytes"]
    for stream in gen["per_stream"]:
        stream["tcp"]["mss_B"] = 488
    for end, name in ((gen, "tx_bytes"), (sink, "rx_bytes")):
        end["meter"]["total"]["interface"][name] = payload_B + payload_B // 488 * 66
    assert audit([(gen, sink)], mtu_B=MTU_B, both=False).problems == []
    for stream in gen["per_stream"]:
        stream["tcp"]["mss_B"] = 1448
    assert len(audit([(gen, sink)], mtu_B=MTU_B, both=False).surplus) == 2
