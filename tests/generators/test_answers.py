"""The output of a tool's two ends becomes a run in the format of netlab's own."""

import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from measure import scripted

from netlab.errors import BadInput, RunError
from netlab.generators.ends import audit_counts, counts_of, flow_of, parse_answers, window_of
from netlab.generators.installed import tool_named
from netlab.generators.tools import TransferRequest
from netlab.measure.exchange import Request
from netlab.measure.ledger import Ledger, audit_interfaces
from netlab.outputs.records import Sample

RECORDED = Path(__file__).parents[1] / "outputs" / "recorded"
PRINTED = {
    "iperf3": ("iperf3-study-client.json", "iperf3-study-server.json"),
    "iperf2": ("iperf2-study-client.txt", "iperf2-study-server.txt"),
    "nuttcp": ("nuttcp-study.txt", None),
}
METER = {"window": None, "total": None}
tools = pytest.mark.parametrize("name", PRINTED)


def request(**changes) -> Request:
    return scripted.request(
        **{"record_length_B": 131072, "warmup_ms": 200, "window_ms": 500} | changes
    )


def printed(name: str) -> tuple[str, str]:
    client, server = PRINTED[name]
    return (RECORDED / client).read_text(), (RECORDED / server).read_text() if server else ""


def transfer(*, streams: int = 2, congestion: str = "cubic") -> TransferRequest:
    return TransferRequest("127.0.0.1", 12000, 12001, streams, 1, 131072, congestion, 1)


def parsed(name: str, **asked):
    return parse_answers(tool_named(name), *printed(name), transfer(**asked))


def flow(name: str, **changes):
    return flow_of(parsed(name), request(**changes), 0.1, METER, METER)


@tools
def test_the_window_begins_past_the_warm_up_and_is_as_long_as_asked_for(name):
    window = flow(name).sink["window"]
    assert window["t0_ns"] / 1e9 == pytest.approx(0.2, abs=0.02)
    assert (window["t1_ns"] - window["t0_ns"]) / 1e9 == pytest.approx(0.5, abs=0.03)
    whole = flow(name).sink["total_bytes"]
    assert 0.4 * whole < window["bytes"] < 0.7 * whole


@tools
def test_both_ends_counts_agree_as_the_tool_printed_them(name):
    one = flow(name)
    error_B, problems = audit_counts(one, parsed(name), tool_named(name))
    assert problems == []
    assert error_B == (None if name == "iperf3" else 0)
    assert 0.98 < one.sink["interval_sum_bytes"] / one.sink["total_bytes"] <= 1
    assert one.gen["total_bytes"] >= one.sink["total_bytes"]


@tools
@pytest.mark.parametrize(
    ("end", "problem"), [("gen", "but the receiver read"), ("sink", "its intervals sum to")]
)
def test_a_total_below_what_was_read_is_a_problem(name, end, problem):
    one = flow(name)
    getattr(one, end)["total_bytes"] -= 100_000_000
    _, problems = audit_counts(one, parsed(name), tool_named(name))
    assert any(problem in line for line in problems)


def test_a_thread_of_iperf3_stopped_in_a_write_does_not_count_its_last_record():
    """The sender of 3.21 counted one record of 128 KiB less than its receiver read."""
    client, server = (
        (RECORDED / f"iperf3-threads-{end}.json").read_text() for end in ("client", "server")
    )
    tool = tool_named("iperf3")

    def audited(client: str, more_B: int = 0) -> tuple[int | None, list[str]]:
        answers = parse_answers(tool, client, server, transfer())
        one = flow_of(answers, request(), 0.1, METER, METER)
        one.sink["total_bytes"] += more_B
        return audit_counts(one, answers, tool)

    assert audited(client) == (131_072, [])
    assert audited(client, 131_072) == (262_144, [])
    said = "the sender gave away 956039168 B, but the receiver read 956301313 B"
    assert audited(client, 131_073) == (262_145, [said])
    (problem,) = audited(client.replace("iperf 3.21+", "iperf 3.12"))[1]
    assert "but the receiver read" in problem


def test_without_usable_intervals_the_window_is_the_whole_transfer():
    client, server = printed("iperf3")
    lacking = re.sub(r'("omitted":\s*false,\s*"sender":\s*false)', r'\1, "bytes": 1', server)
    answers = parse_answers(tool_named("iperf3"), client, lacking, transfer())
    assert answers.receiver.forward.note.endswith("of the bytes are left out")
    sink = flow_of(answers, request(), 0.1, METER, METER).sink
    assert sink["window"]["t0_ns"] == 0
    assert sink["window"]["bytes"] == sink["total_bytes"] == flow("iperf3").sink["total_bytes"]


BUSY_IPERF2 = """\
Server listening on TCP port 5201
[  1] local 192.0.2.2 port 5201 connected with 192.0.2.1 port 40001 (icwnd/mss/irtt=14/1448/18)
[ ID] Interval       Transfer     Bandwidth
[  1] 0.0000-0.1000 sec  12500000 Bytes  1000000000 bits/sec
[SUM] 0.0000-0.1000 sec  12500000 Bytes  1000000000 bits/sec
[  2] local 192.0.2.2 port 5201 connected with 192.0.2.1 port 40002 (icwnd/mss/irtt=14/1448/8)
[  2] 0.0000-0.1000 sec  12500000 Bytes  1000000000 bits/sec
[  1] 0.1000-0.2000 sec  12500000 Bytes  1000000000 bits/sec
[SUM] 0.1000-0.2000 sec  25000000 Bytes  2000000000 bits/sec
[  2] 0.0000-0.2500 sec  25000000 Bytes  800000000 bits/sec
[  1] 0.0000-0.3500 sec  43750000 Bytes  1000000000 bits/sec
[SUM] 0.0000-0.3500 sec  68750000 Bytes  1571428571 bits/sec
"""


def test_a_busy_iperf2_prints_before_its_last_stream_connects_and_leaves_intervals_out():
    (record,) = tool_named("iperf2").records(BUSY_IPERF2, transfer())
    assert record.streams == 2 and record.forward.window_B == 68_750_000
    shorter = re.sub(r"\[  1\] 0\.1000.*\n", "", BUSY_IPERF2)
    with pytest.raises(BadInput, match="do not reach the total's end"):
        tool_named("iperf2").records(shorter, transfer())


def test_a_value_that_a_tool_does_not_report_is_missing():
    tcp = {name: flow(name).gen["per_stream"][0]["tcp"] for name in PRINTED}
    assert all(one["mss_B"] == 8948 for one in tcp.values())
    assert tcp["iperf3"]["rtt_us"] > 0 and tcp["iperf3"]["retransmits"] is not None
    assert tcp["iperf2"]["rtt_us"] is None and tcp["iperf2"]["retransmits"] == 0
    assert tcp["nuttcp"]["retransmits"] is None
    assert [flow(name).gen["losses_unknown"] for name in PRINTED] == [False, False, True]


def test_a_sender_without_loss_counts_is_not_compared_with_its_interface():
    sent, got = flow("nuttcp").gen, flow("nuttcp").sink
    carried_B = round(got["total_bytes"] * 1.01)
    sent["total_bytes"] = None  # as of a client that neper's output leaves out
    sent["meter"] = {"total": {"interface": {"tx_bytes": 2 * carried_B, "reset": False}}}
    got["meter"] = {"total": {"interface": {"rx_bytes": carried_B, "reset": False}}}
    ledger = Ledger()
    audit_interfaces(ledger, [(sent, got)], mtu_B=9000, both=False)
    assert ledger.problems == ledger.surplus == []
    assert ledger.header_share == pytest.approx(0.01)
    sent["losses_unknown"] = False
    audit_interfaces(ledger, [(sent, got)], mtu_B=9000, both=False)
    assert "the sender's interface" in ledger.surplus[0]


@tools
def test_streams_of_nuttcp_come_together_and_those_of_others_apart(name):
    assert len(flow(name).sink["samples"]["bytes"]) == (1 if name == "nuttcp" else 2)


@tools
def test_what_was_not_asked_for_is_a_failed_run(name):
    with pytest.raises(RunError, match=f"{name}'s client ran 2 streams in place of 4"):
        parsed(name, streams=4)
    if name != "nuttcp":
        with pytest.raises(RunError, match="ran cubic in place of reno"):
            parsed(name, congestion="reno")
    with pytest.raises(RunError, match="nothing after the warm-up"):
        flow(name, warmup_ms=5000)


@pytest.mark.parametrize(
    ("name", "end"), [("iperf3", 0), ("iperf3", 1), ("iperf2", 0), ("iperf2", 1), ("nuttcp", 0)]
)
def test_damaged_output_is_a_failed_run_that_names_the_end(name, end):
    texts = list(printed(name))
    texts[end] = texts[end][: len(texts[end]) // 2]
    with pytest.raises(RunError, match=f"{name}'s {('client', 'server')[end]} printed damaged"):
        parse_answers(tool_named(name), *texts, transfer())


def test_several_results_are_not_one_run():
    client, server = printed("iperf3")
    with pytest.raises(RunError, match="2 results for one run"):
        parse_answers(tool_named("iperf3"), client, server + server, transfer())


samples = st.lists(
    st.tuples(st.integers(0, 3), st.integers(1, 40), st.integers(0, 2**40)),
    unique_by=lambda one: one[:2],
    min_size=1,
    max_size=60,
).map(lambda rows: tuple(Sample(stream, k / 10, 0.1, size) for stream, k, size in rows))


@given(samples)
def test_counts_only_grow_and_end_at_the_sum(given_samples):
    t_s, counts = counts_of(given_samples)
    assert counts.shape == (len({s.stream for s in given_samples}), len(t_s))
    assert t_s[0] == 0 and (np.diff(t_s) >= 0).all()
    assert (counts[:, 0] == 0).all() and (np.diff(counts, axis=1) >= 0).all()
    assert counts[:, -1].sum() == sum(s.bytes for s in given_samples)


@given(st.integers(2, 300), st.floats(0, 5), st.floats(0.05, 20))
def test_a_window_lies_within_the_reported_samples(length, warmup_s, seconds):
    t_s = np.arange(length + 1) / 10
    try:
        opens, closes = window_of(t_s, warmup_s, seconds, 0.1)
    except RunError:
        assert t_s[-1] <= warmup_s + 0.1
        return
    assert 0 <= opens < closes <= length
    assert t_s[opens] >= warmup_s - 0.011
    assert closes == length or seconds - 0.011 <= t_s[closes] - t_s[opens] <= seconds + 0.1
