"""Several hosts that send to one: their requests, results, ledger and traffic."""

import copy
import json

import numpy as np
import pytest
from measure.recorded_setting import SETTING
from measure.scripted import SECOND_NS, Clock, good_agent, request, result, side

from netlab.errors import RunError
from netlab.measure.exchange import RunEnd, RunOutcome, measure
from netlab.measure.ledger import audit
from netlab.measure.others_traffic import foreign_traffic
from netlab.measure.record import record, trace_rows
from netlab.study.flows import PlannedFlow

FLOWS = (PlannedFlow(count=2), PlannedFlow.model_validate({"from": "c", "count": 3}))
AHEAD_NS = 7_000 * SECOND_NS
"""The clock of the further sender is so far ahead of the first one's."""

SEGMENTS = 20_000


def counted(answer: dict) -> dict:
    """A result whose sockets count what they sent, and whose interface has that and no more."""
    sends, acks = answer["event"] == "gen_result", SEGMENTS // 2
    for stream in answer["per_stream"]:
        sent = {"bytes_sent": stream["bytes"] + 64, "segs_out": SEGMENTS}
        got = {"bytes_sent": 1, "bytes_acked": 2, "segs_out": acks}
        stream["tcp"] |= sent if sends else got
    tx, rx = (SEGMENTS, acks) if sends else (acks, SEGMENTS)
    streams = len(answer["per_stream"])
    for meter in answer["meter"].values():
        meter["interface"] |= {"tx_packets": streams * tx, "rx_packets": streams * rx}
    return answer


def later(answer: dict) -> dict:
    """The same result by the clock of another host."""
    moved = copy.deepcopy(answer)
    for name in ("t_go_ns", "t_first_byte_ns", "t_last_byte_ns"):
        moved[name] += AHEAD_NS
    moved["samples"]["t_ns"] = [t_ns + AHEAD_NS for t_ns in moved["samples"]["t_ns"]]
    for name in ("t0_ns", "t1_ns"):
        moved["window"][name] += AHEAD_NS
    for stream in moved["per_stream"]:
        stream["t_end_ns"] += AHEAD_NS
    return moved


def ends(**replies):
    clock = Clock()

    def sink(words):
        answer = counted(result("sink", run=words["run"], streams=words["streams"]))
        return [{"event": "listening", "run": words["run"], "port": 40000}, answer]

    def gen(words):
        return [counted(result("gen", run=words["run"], streams=words["streams"]))]

    def further(words):
        return [later(answer) for answer in gen(words)]

    script = {"a": {"gen": gen}, "b": {"sink": sink}, "c": {"gen": further}}
    agents = {name: good_agent(clock, **of | replies.get(name, {})) for name, of in script.items()}
    third = RunEnd("c", agents["c"], "198.18.0.5", "data-c", 1003, 2003)
    return clock, agents, (side("a", agents["a"]), side("b", agents["b"])), (third,)


@pytest.fixture
def made() -> RunOutcome:
    clock, _, pair, also = ends()
    return measure(*pair, request(streams=5, flows=FLOWS), now=clock, run_number=7, also=also)


def test_each_sender_gets_its_own_streams_and_the_sink_all():
    clock, agents, pair, also = ends()
    measure(*pair, request(streams=10, flows=FLOWS), now=clock, run_number=7, also=also)
    (sink,), (one,), (other,) = (
        agents["b"].asked("sink"),
        agents["a"].asked("gen"),
        (agents["c"].asked("gen")),
    )
    assert (sink["from"], sink["also_from"]) == ("198.18.0.1", "198.18.0.5")
    assert sink["streams"] == 10
    assert (one["own_streams"], one["sender"], one["streams"]) == ("2*1,3*0", 0, 4)
    assert (other["own_streams"], other["sender"], other["streams"]) == ("2*0,3*1", 1, 6)
    assert (one["from"], other["from"]) == ("198.18.0.1", "198.18.0.5")
    assert (one["interface"], other["interface"]) == ("data-a", "data-c")
    assert one["port"] == other["port"] == 40000
    assert one["token"] == other["token"] == sink["token"] and one["run"] == other["run"] == 7


def test_an_emulator_knows_the_flows_of_all_hosts_apart():
    planned = [flow.model_copy(update={"rtt_ms": 5.0 * at}) for at, flow in enumerate(FLOWS, 1)]
    clock, agents, pair, also = ends()
    measure(*pair, request(streams=5, flows=tuple(planned)), now=clock, also=also)
    (one,), (other,) = (agents[name].asked("gen") for name in "ac")
    assert (one["source_ports"], other["source_ports"]) == ("2*10240", "3*21504")
    assert one["source_span"] == other["source_span"] == 11264


def test_results_of_all_senders_are_one_direction_by_one_clock(made):
    (flow,) = made.flows
    assert [part.host for part in flow.parts] == ["a", "c"]
    assert [part.streams for part in flow.parts] == [(0, 1), (2, 3, 4)]
    assert [row["stream"] for row in flow.gen["per_stream"]] == [0, 1, 2, 3, 4]
    assert len({row["t_end_ns"] for row in flow.gen["per_stream"]}) == 1
    assert flow.gen["total_bytes"] == flow.sink["total_bytes"]
    assert [name for name, _ in made.ends()] == ["sender a", "sender c", "sink"]


def test_a_failure_at_any_host_stops_all():
    def silent(words):
        return []

    clock, agents, pair, also = ends(c={"gen": silent})
    with pytest.raises(RunError, match="c: no gen_result in time"):
        measure(*pair, request(streams=5, flows=FLOWS), now=clock, also=also)
    assert all(len(agents[name].asked("stop")) == 1 for name in "abc")


def audited(made: RunOutcome):
    (flow,) = made.flows
    return audit([(flow.gen, flow.sink)], mtu_B=1500, both=False, parts=flow.parts)


def test_the_ledger_of_each_host_closes(made):
    ledger = audited(made)
    assert (ledger.error_B, ledger.problems, ledger.surplus) == (0, [], [])


def test_bytes_that_one_host_lost_are_named_with_it(made):
    """As many in sum: another host's surplus does not hide them."""
    one, other = made.flows[0].gens
    one["total_bytes"] += 1000
    other["total_bytes"] -= 1000
    problems = audited(made).problems
    assert any(problem.startswith("from a: send() took") for problem in problems)
    assert any(problem.startswith("from c: send() took") for problem in problems)


def test_a_senders_interface_that_sent_too_little_is_named(made):
    made.flows[0].gens[1]["meter"]["total"]["interface"]["tx_bytes"] = 5
    (problem,) = audited(made).problems
    assert problem.startswith("c's interface sent 5 B")


def test_other_senders_are_not_foreign_traffic(made):
    assert foreign_traffic(made, mtu_B=1500) == 0


@pytest.mark.parametrize("end", [0, 1, 2])
def test_what_no_sender_sent_is_foreign_at_any_host(made, end):
    (flow,) = made.flows
    interface = (*flow.gens, flow.sink)[end]["meter"]["total"]["interface"]
    for name in ("rx_bytes", "tx_bytes"):
        interface[name] += 50_000_000
    assert foreign_traffic(made, mtu_B=1500) > 10


def test_a_record_has_the_counts_of_all_hosts(made):
    (flow,) = made.flows
    row = record(made, SETTING, audited(made))
    interfaces = [end["meter"]["total"]["interface"] for _, end in made.ends()]
    assert row["interface_tx_B"] == sum(of["tx_bytes"] for of in interfaces)
    assert row["sent_B"] == row["received_B"] == flow.sink["total_bytes"]
    assert row["congestion_in_force"] == "cubic" and row["jain_index"] == 1
    for stream in flow.parts[1].gen["per_stream"]:
        assert stream["congestion"] == "cubic"


def test_a_further_sender_may_have_the_name_of_an_end():
    def batched(records):
        def answer(words):
            gen = counted(result("gen", run=words["run"], streams=words["streams"]))
            return [later(gen | {"policy": {"batch_B": records}})]

        return answer

    clock, agents, pair, _ = ends(a={"gen": batched(1)}, c={"gen": batched(2)})
    also = (RunEnd("receiver", agents["c"], "198.18.0.5", "data-c", 1003, 2003),)
    flows = (FLOWS[0], PlannedFlow.model_validate({"from": "receiver", "count": 3}))
    made = measure(*pair, request(streams=5, flows=flows), now=clock, also=also)
    policy = json.loads(record(made, SETTING, audited(made))["policy"])
    assert policy["sender"] == {"batch_B": 1} and policy["from receiver"] == {"batch_B": 2}
    assert policy["receiver"] == made.flows[0].sink.get("policy")


def test_hosts_with_other_defaults_are_recorded_stream_by_stream():
    def of_reno(words):
        answer = later(counted(result("gen", run=words["run"], streams=words["streams"])))
        answer["per_stream"] = [{**row, "congestion": "reno"} for row in answer["per_stream"]]
        return [answer]

    clock, _, pair, also = ends(c={"gen": of_reno})
    made = measure(*pair, request(streams=5, flows=FLOWS), now=clock, also=also)
    assert (
        record(made, SETTING, audited(made))["congestion_in_force"] == "cubic+cubic+reno+reno+reno"
    )


def test_a_trace_has_the_streams_of_each_host_by_its_own_clock(made):
    for gen in made.flows[0].gens:
        streams, samples = len(gen["per_stream"]), len(gen["samples"]["t_ns"])
        table = np.zeros((streams, samples), np.int64)
        gen["trace"] = dict.fromkeys(("rtt_us", "cwnd_segments", "retransmits"), table)
    one, other = trace_rows("run", made.flows)
    assert {*one["stream"]} == {0, 1} and {*other["stream"]} == {2, 3, 4}
    assert one["t_s"].max() == other["t_s"].max() < 2


@pytest.mark.parametrize(
    "consequence",
    [
        "198.18.0.2 port 5 did not release the streams within 5500 ms",
        "the sink closed stream 0 before its start",
    ],
)
def test_the_sender_that_did_not_connect_is_named_and_not_one_that_waited(consequence):
    def fails(message):
        def answer(words):
            return [{"event": "error", "run": words["run"], "code": "peer", "message": message}]

        return {"gen": answer}

    clock, _, pair, also = ends(a=fails(consequence), c=fails("connect to b: no route"))
    with pytest.raises(RunError, match="c: connect to b: no route"):
        measure(*pair, request(streams=5, flows=FLOWS), now=clock, also=also)
    clock, _, pair, also = ends(a=fails(consequence), c=fails(consequence))
    with pytest.raises(RunError, match=f"a: {consequence}"):
        measure(*pair, request(streams=5, flows=FLOWS), now=clock, also=also)
