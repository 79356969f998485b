"""Counts of a run's bytes at every place agree, or the disagreement is reported."""

import copy
import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from measure.scripted import result
from refusals import refused

from netlab.errors import RunError
from netlab.measure.card_counts import card_columns
from netlab.measure.exchange import Direction, RunOutcome
from netlab.measure.ledger import INTERFACE_SLACK_B, WRAP_B, Ledger, audit
from netlab.measure.transfer_time import transfer_of

MTU_B = 1500


def flow(**options) -> tuple[dict, dict]:
    return result("gen", **options), result("sink", **options)


def audited(*flows: tuple[dict, dict], both: bool = False) -> Ledger:
    return audit(list(flows), mtu_B=MTU_B, both=both)


def test_a_run_whose_counts_agree_closes():
    ledger = audited(flow())
    assert (ledger.problems, ledger.error_B) == ([], 0)
    assert ledger.header_share == pytest.approx(66 / 1448, rel=0.01)


@given(streams=st.integers(1, 20), each_B=st.integers(0, 10**10))
def test_any_amount_over_any_streams_closes(streams, each_B):
    ledger = audited(flow(streams=streams, each_B=each_B))
    assert (ledger.problems, ledger.error_B) == ([], 0)


EXACT = [
    (1, "total_bytes", -5, "forward: send() took 28000000 B, but the sink read 27999995 B"),
    (1, "interval_sum_bytes", 5, "its intervals sum to 28000005 B"),
    (0, "interval_sum_bytes", -5, "the sender's intervals sum to 27999995 B"),
    (1, "per_stream", None, "its streams sum to 14000000 B"),
]


@pytest.mark.parametrize(("end", "key", "by", "sentence"), EXACT)
def test_counts_that_must_be_equal_are_compared_to_the_byte(end, key, by, sentence):
    pair = flow()
    pair[end][key] = pair[end][key][:-1] if by is None else pair[end][key] + by
    ledger = audited(pair)
    (problem,) = (line for line in ledger.problems if sentence in line)
    assert problem.startswith("forward: ")
    assert ledger.error_B == (14_000_000 if by is None else 5)


@pytest.mark.parametrize(
    ("over", "closes"), [(-1, False), (0, True), (1, True), (2, True), (3, False)]
)
@pytest.mark.parametrize(("end", "key"), [(0, "bytes_acked"), (1, "bytes_received")])
def test_tcps_own_counts_hold_the_hello_and_two_sequence_numbers(end, key, over, closes):
    pair = flow()
    stream = pair[end]["per_stream"][1]
    stream["tcp"][key] = stream["bytes"] + 64 + over
    ledger = audited(pair)
    assert (ledger.problems == []) is closes
    if not closes:
        assert f"stream 1 carried {stream['bytes']} B" in ledger.problems[0]
        assert ledger.error_B == abs(over)


@pytest.mark.parametrize("part", [0.001, 0.99, 1.01, 1000])
def test_a_window_that_its_own_samples_contradict_is_a_mismatch(part):
    gen, sink = flow()
    sink["window"]["bytes"] = lie_B = round(part * sink["window"]["bytes"])
    ledger = audited((gen, sink))
    assert ledger.error_B == abs(lie_B - 20_000_000)
    assert ledger.problems == [
        f"forward: the sink's window has {lie_B} B, but its samples 20000000 B"
    ]


@given(st.integers(-(10**9), 10**9), st.integers(-(10**9), 10**9), st.integers(1, 5))
def test_a_window_between_samples_may_have_the_bytes_of_either(before_ns, after_ns, every):
    gen, sink = flow()
    window, samples = sink["window"], sink["samples"]
    moved = {"t0_ns": window["t0_ns"] + before_ns, "t1_ns": window["t1_ns"] + after_ns}
    if moved["t0_ns"] > moved["t1_ns"]:
        return
    edges = np.array([moved["t0_ns"], moved["t1_ns"]])
    begin_B, end_B = np.interp(edges, samples["t_ns"], np.sum(samples["bytes"], axis=0))
    sink["window"] = {**moved, "bytes": round(end_B - begin_B)}
    kept = [*range(0, 14, every), 14]
    samples["t_ns"] = [samples["t_ns"][n] for n in kept]
    samples["bytes"] = [[row[n] for n in kept] for row in samples["bytes"]]
    assert audited((gen, sink)).problems == []


def test_times_of_samples_that_run_back_are_a_mismatch():
    gen, sink = flow()
    times = sink["samples"]["t_ns"]
    times[4], times[5] = times[5], times[4]
    assert audited((gen, sink)).problems == ["forward: the times of the sink's samples run back"]


@pytest.mark.parametrize("tcp", [None, {}, {"bytes_acked": None, "bytes_received": None}])
def test_missing_tcp_counts_are_not_compared(tcp):
    pair = flow()
    for end in pair:
        for stream in end["per_stream"]:
            stream["tcp"] = tcp
    assert audited(pair).problems == []


ENDS = [(0, "tx_bytes", "sender"), (1, "rx_bytes", "sink")]


@pytest.mark.parametrize(("end", "key", "name"), ENDS)
def test_an_interface_may_see_a_little_more_than_the_payload_and_no_less(end, key, name):
    def counting(count_B: int) -> Ledger:
        pair[end]["meter"]["total"]["interface"][key] = count_B
        return audited(pair)

    pair = flow()
    own_B = pair[end]["meter"]["total"]["interface"][key]
    (problem,) = counting(pair[1]["total_bytes"] - 1).problems
    assert problem.startswith(f"the {name}'s interface")
    assert "expected): a counter that lies" in problem
    ledger = counting(own_B + 3_000_000)
    (surplus,) = ledger.surplus
    assert surplus.startswith(f"the {name}'s interface") and "foreign traffic" in surplus
    assert ledger.problems == []
    assert counting(own_B + INTERFACE_SLACK_B).problems == []


def test_retransmissions_may_pass_the_interfaces():
    pair = flow()
    pair[0]["per_stream"][0]["tcp"]["bytes_retransmitted"] = 3_000_000
    for end, key, _ in ENDS:
        pair[end]["meter"]["total"]["interface"][key] += 3_000_000
    assert audited(pair).problems == []


@pytest.mark.parametrize("state", ["no meter", "no interface", "reset", "no bytes"])
def test_interfaces_without_counts_and_runs_without_bytes_are_left_out(state):
    pair = flow(each_B=0) if state == "no bytes" else flow()
    for end in pair:
        if state == "no meter":
            end["meter"] = None
        elif state == "no interface":
            end["meter"]["total"]["interface"] = None
        elif state == "reset":
            end["meter"]["total"]["interface"].update(reset=True, rx_bytes=0, tx_bytes=0)
    ledger = audited(pair)
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


def test_both_directions_are_audited_and_acknowledgements_may_pass_beside_the_payload():
    flows = copy.deepcopy(both_ways())
    assert audited(*flows, both=True).problems == []
    flows[1][1]["interval_sum_bytes"] -= 7
    ledger = audited(*flows, both=True)
    assert [line.split(":")[0] for line in ledger.problems] == ["reverse"]
    assert ledger.error_B == 7


def lost(wraps: int, more_B: int = 0):
    """A run of 6 GB whose sink's interface counted less by some wraps."""
    gen, sink = flow(each_B=3_000_000_000)
    gen["meter"]["total"]["interface"]["tx_bytes"] = 6_200_000_000
    sink["meter"]["total"]["interface"]["rx_bytes"] = 6_200_000_000 - wraps * WRAP_B - more_B
    return audited((gen, sink))


def test_an_undetected_wrap_is_named_as_a_possible_cause_unless_any_number_fits():
    assert lost(0).problems == []
    (problem,) = lost(1).problems
    assert "the sink's interface received" in problem
    assert "a 32-bit counter that wrapped unseen once would explain it" in problem
    (problem,) = lost(0, more_B=WRAP_B // 2).problems
    assert problem.endswith("expected): a counter that lies")
    gen, sink = flow(each_B=10**12)
    sink["meter"]["total"]["interface"]["rx_bytes"] -= 300 * WRAP_B
    (problem,) = audited((gen, sink)).problems
    assert problem.endswith("expected): a counter that lies")


def test_an_interface_that_carried_next_to_nothing_may_not_be_that_of_the_traffic():
    gen, sink = flow(each_B=10_000_000)
    sink["meter"]["total"]["interface"]["rx_bytes"] = 4_000
    (problem,) = audited((gen, sink)).problems
    assert "received 4000 B for" in problem and "another interface carries it" in problem


def test_segments_that_were_asked_to_be_small_have_a_larger_share_of_headers():
    gen, sink = flow(each_B=10_000_000)
    payload_B = gen["total_bytes"]
    for stream in gen["per_stream"]:
        stream["tcp"]["mss_B"] = 488
    for end, name in ((gen, "tx_bytes"), (sink, "rx_bytes")):
        end["meter"]["total"]["interface"][name] = payload_B + payload_B // 488 * 66
    assert audited((gen, sink)).problems == []
    for stream in gen["per_stream"]:
        stream["tcp"]["mss_B"] = 1448
    assert len(audited((gen, sink)).surplus) == 2


@pytest.mark.parametrize("mss_B", [1428, None])
def test_packets_of_ipv6_have_larger_headers(mss_B):
    """As recorded over a veth link: 86 B a packet; another program may not say its segments."""
    gen, sink = flow(each_B=40_000_000)
    payload_B = gen["total_bytes"]
    interfaces = [(gen, "tx_bytes"), (sink, "rx_bytes")]

    def counting(each_B: int) -> Ledger:
        for end, name in interfaces:
            counted_B = payload_B + payload_B // 1428 * each_B
            end["meter"]["total"]["interface"][name] = counted_B
        return audited((gen, sink))

    for stream in gen["per_stream"]:
        stream["tcp"]["mss_B"] = mss_B
    assert counting(86).surplus == counting(86).problems == []
    assert len(counting(106).surplus) == 2
    for stream in gen["per_stream"]:
        stream["tcp"]["mss_B"] = 1448
    assert len(counting(86).surplus) == 2


def outcome(*flows: tuple[dict, dict]) -> RunOutcome:
    return RunOutcome(tuple(Direction(*flow) for flow in flows), started_unix_ns=0, wall_s=1.0)


def gen(**values) -> dict:
    return result("gen", streams=4) | values


def sink(napi_ids=(None,) * 4, cpus=(0, 1, 0, 1), **values) -> dict:
    of = result("sink", streams=4) | values
    for stream, napi_id, cpu in zip(of["per_stream"], napi_ids, cpus, strict=True):
        stream |= {"napi_id": napi_id, "incoming_cpu": cpu}
    return of


def test_growth_is_listed_by_end_and_a_reverse_flow_is_sent_by_the_receiver():
    forward = (gen(card={"tx_pause": 3}), sink(card={}))
    reverse = (gen(card={"rx_missed_errors": 7}), sink(card={"tx_pause": 2, "rx_crc_errors": 1}))
    one = json.loads(card_columns(outcome(forward))["card_counters"])
    assert one == {"sender": {"tx_pause": 3}, "receiver": {}}
    both = json.loads(card_columns(outcome(forward, reverse))["card_counters"])
    assert both == {
        "sender": {"tx_pause": 3, "rx_crc_errors": 1},
        "receiver": {"rx_missed_errors": 7},
    }


def test_streams_on_a_queue_are_counted_at_the_fullest_of_two_directions_or_missing():
    columns = card_columns(outcome((gen(), sink(napi_ids=(17, 17, 18, 17)))))
    assert columns["receive_queues"] == 2 and columns["streams_per_queue"] == 3
    assert columns["receive_cpus"] == 2
    wide = (gen(), sink(napi_ids=(1, 2, 3, 4), cpus=(0, 1, 2, 3)))
    narrow = (gen(), sink(napi_ids=(9, 9, 9, 9), cpus=(5, 5, 5, 5)))
    columns = card_columns(outcome(wide, narrow))
    assert (columns["receive_queues"], columns["streams_per_queue"]) == (1, 4)
    assert columns["receive_cpus"] == 1
    bare = card_columns(outcome((gen(card=None), sink(cpus=(None,) * 4, card=None))))
    assert set(bare.values()) == {None}
    # another tool's answers lack the keys
    assert set(card_columns(outcome((result("gen"), result("sink")))).values()) == {None}


MS_NS = 1_000_000


def ends(*, ahead_ns: int = 0, there_ns: int = 0, back_ns: int = 0, took_ns: int = 400 * MS_NS):
    """Results of a transfer: the sink's clock is ahead, G and bytes take a while each way."""
    gen, sink = result("gen"), result("sink")
    go_ns = 1000 * MS_NS
    sent_ns = go_ns + back_ns + 3 * MS_NS  # the gen is not at once ready to send
    sink.update(t_go_ns=go_ns + ahead_ns, t_first_byte_ns=sent_ns + there_ns + ahead_ns)
    gen.update(t_let_go_ns=go_ns + back_ns, t_go_ns=sent_ns, t_first_byte_ns=sent_ns)
    for stream, early_ns in zip(sink["per_stream"], (0, 7 * MS_NS), strict=True):
        stream["t_last_ns"] = sent_ns + took_ns - early_ns + ahead_ns
    return gen, sink


def test_on_one_clock_the_time_is_exact_whatever_the_samples():
    gen, sink = ends(there_ns=MS_NS, back_ns=2 * MS_NS, took_ns=400 * MS_NS + 1)
    timed = transfer_of(gen, sink, one_clock=True)
    assert (timed.seconds, timed.error_s, timed.bytes) == (0.400000001, 0.0, 28_000_000)
    assert timed.goodput_MBps == pytest.approx(70.0)
    gen, sink = ends()
    timed = transfer_of(gen, sink, one_clock=True)
    for interval_ms in (10, 100, 1000, 60_000):
        sink["samples"] = {"interval_ms": interval_ms, "t_ns": [0, 10**9 * interval_ms]}
        assert transfer_of(gen, sink, one_clock=True) == timed


@given(
    ahead_ns=st.integers(-(10**15), 10**15),
    there_ns=st.integers(0, 10**9),
    back_ns=st.integers(0, 10**9),
    took_ns=st.integers(10**9, 10**12),
)
def test_between_two_clocks_the_true_time_lies_within_the_stated_error(
    ahead_ns, there_ns, back_ns, took_ns
):
    gen, sink = ends(ahead_ns=ahead_ns, there_ns=there_ns, back_ns=back_ns, took_ns=took_ns)
    timed = transfer_of(gen, sink, one_clock=False)
    assert timed.error_s == pytest.approx((there_ns + back_ns) / 2e9, abs=1e-9)
    assert abs(timed.seconds - took_ns / 1e9) <= timed.error_s + 1e-6


def test_a_run_that_failed_or_was_timed_is_refused():
    gen, sink = ends()
    with refused(RunError, "E-MEASURE-004", match="sink: streams did not end"):
        failed = {**sink, "status": "timeout", "message": "streams did not end"}
        transfer_of(gen, failed, one_clock=True)
    for stream in sink["per_stream"]:
        stream["t_last_ns"] = 0
    with refused(RunError, "E-MEASURE-005"):
        transfer_of(gen, sink, one_clock=True)


@pytest.mark.parametrize(
    ("ahead_ns", "one_clock"), [(5 * MS_NS, True), (-5 * MS_NS, True), (5 * MS_NS, False)]
)
def test_moments_in_no_possible_order_are_refused(ahead_ns, one_clock):
    gen, sink = ends(there_ns=MS_NS, ahead_ns=ahead_ns)
    if not one_clock:  # stepped between the start and the first byte
        sink["t_first_byte_ns"] -= 20 * MS_NS
    with refused(RunError, "E-MEASURE-006"):
        transfer_of(gen, sink, one_clock=one_clock)
