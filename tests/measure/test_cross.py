"""Datagrams beside the streams of a run: requests, ledger, foreign traffic, columns, faults."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
from measure.datagram_counts import ALL, SIZE_B
from measure.exchanged_run import between, report
from measure.flagged_runs import MTU_B, foreign_traffic_run, interface
from measure.recorded_setting import SETTING
from measure.scripted import SECOND_NS, Clock, ScriptedAgent, good_agent, request, result, side

from netlab.errors import RunError
from netlab.measure.bottleneck import bottleneck
from netlab.measure.cross import cross_columns, cross_fault
from netlab.measure.exchange import Cross, Direction, RunOutcome, measure
from netlab.measure.ledger import Ledger, audit, audit_path, crossed
from netlab.measure.others_traffic import foreign_traffic
from netlab.measure.record import ceiling
from netlab.results.columns import RUN_COLUMNS
from netlab.study import Latency
from netlab.study.groups import CROSS_S

CROSS = Cross(rate_Bps=2_500_000, record_length_B=1200)


def asked(**changes: object) -> tuple[list[dict], list[dict]]:
    """Words of the requests to both sinks and to both gens, cross traffic first."""
    clock = Clock()
    one, other = good_agent(clock), good_agent(clock)
    ends = side("a", one), replace(side("b", other), **changes.pop("to", {}))
    outcome = measure(*ends, request(cross=CROSS, **changes), now=clock, run_number=7)
    assert [len(flow.sink["per_stream"]) for flow in outcome.flows] == [2] * len(outcome.flows)
    assert len(outcome.cross.sink["per_stream"]) == len(outcome.cross.gen["per_stream"]) == 1
    return other.asked("sink"), one.asked("gen")


def test_datagrams_outlast_the_streams():
    (beside, sink), (datagrams, gen) = asked()
    assert (gen["run"], datagrams["run"]) == (7, 8) == (sink["run"], beside["run"])
    assert datagrams["udp"] == beside["udp"] == 1 and "udp" not in gen and "udp" not in sink
    assert (datagrams["pacing_Bps"], datagrams["record_B"]) == (2_500_000, 1200)
    assert datagrams["streams"] == beside["streams"] == 1
    assert datagrams["token"] == beside["token"] != gen["token"] == sink["token"]
    assert datagrams["warmup_ms"] == gen["warmup_ms"] and datagrams["congestion"] == "-"
    assert datagrams["tail_ms"] == gen["tail_ms"] + 1e3 * CROSS_S
    assert beside["drain_ms"] >= sink["drain_ms"] + datagrams["tail_ms"]
    assert datagrams["buffer_B"] == beside["buffer_B"] == 0 < gen["buffer_B"]


def awaiting(clock: Clock) -> ScriptedAgent:
    """An agent whose sinks connect at once and end once they have been started."""
    streams: dict[int, int] = {}

    def sink(words: dict) -> list[dict]:
        run = words["run"]
        streams[run] = words["streams"]
        steps = ["listening", "connected"] if words["await_start_ms"] else ["listening"]
        return [{"event": step, "run": run, "port": 40000} for step in steps]

    def start(words: dict) -> list[dict]:
        run = words["run"]
        return [{"event": "running", "run": run}, result("sink", run=run, streams=streams[run])]

    return good_agent(clock, sink=sink, start=start)


@pytest.mark.parametrize(("both", "order"), [(False, [8, 7]), (True, [8, 9, 7])])
def test_datagrams_start_once_the_streams_are_connected_and_before_their_first_byte(both, order):
    """Of two directions, 7 and 8, the second one's start goes the way of the datagrams."""
    clock = Clock()
    one, other = awaiting(clock), awaiting(clock)
    started = []
    for agent in (one, other):
        agent.replies["start"] = noted(started, agent.replies["start"])
    measure(
        side("a", one), side("b", other), request(cross=CROSS, both=both), now=clock, run_number=7
    )
    assert started == order
    for agent in (one, other):
        assert all(words["await_start_ms"] >= 10_000 for words in agent.asked("sink"))
        verbs = [verb for verb, _ in agent.requests]
        assert verbs == sorted(verbs, key=["sink", "gen", "start"].index)
    plain = good_agent(clock)
    measure(side("a", good_agent(clock)), side("b", plain), request(), now=clock)
    assert "await_start_ms" not in plain.asked("sink")[0] and not plain.asked("start")


def noted(started: list[int], reply: Callable[[dict], list[dict]]) -> Callable[[dict], list[dict]]:
    def start(words: dict) -> list[dict]:
        started.append(words["run"])
        return reply(words)

    return start


def test_streams_that_do_not_connect_are_a_fault_and_stop_the_datagrams():
    clock = Clock()
    one, other = good_agent(clock), good_agent(clock)
    lost = {"event": "error", "run": 7, "code": "timeout", "message": "connect to b: no answer"}
    one.replies["gen"] = lambda words: [lost] if words["run"] == 7 else []
    with pytest.raises(RunError, match="connect to b"):
        measure(side("a", one), side("b", other), request(cross=CROSS), now=clock, run_number=7)
    assert {words["run"] for words in other.asked("stop")} == {7, 8}


def test_they_are_beside_the_probes_after_the_streams_and_not_before():
    (beside, _), (datagrams, gen) = asked(latency=Latency(probe="udp"))
    assert datagrams["warmup_ms"] == gen["warmup_ms"]
    assert beside["await_start_ms"] > gen["latency_idle_ms"] + beside["accept_ms"]
    assert datagrams["tail_ms"] == gen["tail_ms"] + 1e3 * (CROSS_S + 1)
    assert "latency_interval_ms" in gen and "latency_interval_ms" not in datagrams


def test_the_sinks_of_one_host_have_ports_of_their_own():
    for _ in range(20):
        sinks, _ = asked(to={"ports": range(5201, 5203)})
        assert {words["port"] for words in sinks} == {5201, 5202}


def test_of_two_directions_one_has_datagrams_beside():
    clock = Clock()
    one, other = good_agent(clock), good_agent(clock)
    both = request(cross=CROSS, both=True)
    outcome = measure(side("a", one), side("b", other), both, now=clock, run_number=7)
    assert len(outcome.flows) == 2 and outcome.cross is not None
    assert [words["run"] for words in other.asked("sink")] == [9, 7]
    assert [words["run"] for words in one.asked("sink")] == [8]


def beside(each_B: int = 4_200_000, **counts: int) -> Direction:
    """One flow of datagrams, as long as the run of two streams of scripted answers."""
    ends = [result(role, streams=1, each_B=each_B) for role in ("gen", "sink")]
    sent = each_B // SIZE_B
    for end in ends:
        (stream,) = end["per_stream"]
        stream |= {"udp": {**ALL, "sent": sent, "received": sent, **counts}, "tcp": None}
    ends[1]["receive"] = "recvmmsg"
    return Direction(*ends)


def with_cross(outcome: RunOutcome, cross: Direction) -> RunOutcome:
    return replace(outcome, cross=cross)


def test_datagrams_beside_the_streams_are_not_foreign():
    outcome = foreign_traffic_run()
    for end, prefix in (("gen", "tx"), ("sink", "rx")):
        counts = interface(outcome, end)
        counts[f"{prefix}_bytes"] += 4200 * (SIZE_B + 42)
        counts[f"{prefix}_packets"] += 4200
    assert foreign_traffic(outcome, mtu_B=MTU_B) > 5
    for flow in outcome.flows:  # readings of the interfaces, by the clock of the samples
        for end in (flow.gen, flow.sink):
            end["meter"]["total"] |= {"t0_ns": 50 * SECOND_NS, "t1_ns": 52 * SECOND_NS}
    known = with_cross(outcome, beside())
    assert foreign_traffic(known, mtu_B=MTU_B) == 0
    interface(known, "sink")["rx_bytes"] += 3_000_000
    assert foreign_traffic(known, mtu_B=MTU_B) > 5
    # those of before and after the readings explain nothing
    outside = with_cross(outcome, beside())
    for end in (outside.flows[0].gen, outside.flows[0].sink):
        end["meter"]["total"] |= {"t0_ns": 60 * SECOND_NS, "t1_ns": 62 * SECOND_NS}
    assert foreign_traffic(outside, mtu_B=MTU_B) > 5


def test_the_ledger_has_both_and_closes_for_the_datagrams_too():
    gen, sink = result("gen"), result("sink")
    for end, name in ((gen, "tx_bytes"), (sink, "rx_bytes")):
        end["meter"]["total"] |= {"t0_ns": 50 * SECOND_NS, "t1_ns": 52 * SECOND_NS}
        end["meter"]["total"]["interface"][name] += 4200 * (SIZE_B + 42)
    assert audit([(gen, sink)], mtu_B=1500, both=False).surplus
    ledger = audit([(gen, sink)], mtu_B=1500, both=False, cross=beside())
    assert ledger.problems == ledger.surplus == [] and ledger.header_share is None
    lost = beside()
    lost.sink["total_bytes"] -= SIZE_B
    (problem, *_) = audit([(gen, sink)], mtu_B=1500, both=False, cross=lost).problems
    assert problem.startswith("cross traffic: send() took 4200000 B")
    assert crossed(gen, sink, None) == [(0, 0), (0, 0)]


@pytest.mark.parametrize(("taken", "says"), [(4200, ""), (4150, "took 4150 of 4200")])
def test_an_emulator_counts_the_datagrams_beside_the_streams(taken, says):
    outcome = with_cross(foreign_traffic_run(), beside())
    emulated = between(report(), report(in_datagrams=taken, out_datagrams=taken))
    audit_path(ledger := Ledger(), outcome, emulated)
    assert says in "".join(ledger.problems) and bool(says) == bool(ledger.problems)
    outcome.flows[0].gen["latency"] = {"sent": 1}
    audit_path(again := Ledger(), outcome, emulated)
    assert again.problems == []


def test_their_columns_are_of_the_window_of_the_streams_and_of_the_whole_run():
    outcome = with_cross(foreign_traffic_run(), beside(lost=420))
    row = cross_columns(outcome)
    assert row["cross_goodput_MBps"] == pytest.approx(3.0)  # 4.2 MB in 1.4 s
    assert (row["cross_sent_datagrams"], row["cross_lost_percent"]) == (4200, 10.0)
    assert row.keys() < {column.name for column in RUN_COLUMNS}
    assert cross_columns(foreign_traffic_run()) == {}


@pytest.mark.parametrize(
    ("end", "change", "fault"),
    [
        ("sink", {}, None),
        ("sink", {"status": "timeout", "message": "no end"}, "sink of the cross traffic: no end"),
        ("gen", {"status": "error"}, "sender of the cross traffic: error"),
        ("sink", {"t_go_ns": 51 * SECOND_NS}, "began 0.70 s after the window"),
        ("gen", {"t_last_byte_ns": 51 * SECOND_NS}, "ended 0.30 s before the window"),
    ],
)
def test_datagrams_that_were_not_beside_the_whole_window_are_a_fault(end, change, fault):
    cross = beside()
    getattr(cross, end).update(change)
    found = cross_fault(with_cross(foreign_traffic_run(), cross))
    assert (found is None) if fault is None else fault in found


def test_the_ceiling_and_the_bottleneck_are_of_what_they_leave_of_a_link():
    link = replace(SETTING, link_MBps=12.5, bus_MBps=None, memory_MBps=None, mtu_B=1500)
    whole, _ = ceiling(link, 1448, both=False)
    left, kind = ceiling(replace(link, cross_frames_MBps=2.5), 1448, both=False)
    assert kind == "link" and left == pytest.approx(0.8 * whole)
    assert ceiling(replace(link, cross_frames_MBps=20.0), 1448, both=False)[0] == 0
    row = {"goodput_MBps": 9.4, "link_MBps": 12.5, "mtu_B": 1500, "direction": "->"}
    assert bottleneck(row) != "link"
    of_udp = {"cross_goodput_MBps": 2.5 * 1200 / 1242, "cross_udp_B": 1200}
    assert bottleneck(row | of_udp) == "link"
