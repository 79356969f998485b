"""Requests to two agents in order, answers in any order, and a stop after any failure."""

import copy
import itertools
from dataclasses import replace

import numpy as np
import pytest
from measure.exchanged_run import BELOW_US, FLOWS, asked, between, report
from measure.flagged_runs import BUSY, FINE, LATE, MISSING, TIMING, outcome
from measure.scripted import SECOND_NS, Clock, ScriptedAgent, good_agent, request, result, side
from refusals import refused

from netlab.errors import HostError, RunError
from netlab.measure.exchange import (
    ACCEPT_MS,
    FIXED_BYTES_S,
    GRACE_S,
    STREAM_MS,
    TAIL_MS,
    Direction,
    RunEnd,
    _Inbox,
    arrival_ms,
    measure,
)
from netlab.measure.flags import EMULATOR_LATE_US, flags_of
from netlab.results.columns import PATH_COLUMNS, RUN_COLUMNS
from netlab.results.frames import checked, joined
from netlab.study import Policy, Socket


@pytest.fixture
def clock():
    return Clock()


def test_the_sink_listens_first_and_the_sender_gets_its_port_and_token():
    sink, gen = asked(run_number=7)
    assert gen["port"] == 40000
    assert gen["token"] == sink["token"]
    assert len(bytes.fromhex(sink["token"])) == 16
    assert (sink["run"], gen["run"]) == (7, 7)
    assert (sink["bind"], gen["to"]) == ("198.18.0.2", "198.18.0.2")
    assert (sink["buffer_B"], gen["buffer_B"]) == (2002, 1001)
    assert (sink["interface"], gen["interface"]) == ("data-b", "data-a")


def test_an_end_behind_nat_and_a_firewall_binds_what_it_has():
    behind = {"bind_address": "10.0.0.2", "ports": range(5201, 5204)}
    sink, gen = asked(a={"bind_address": "10.0.0.1"}, b=behind)
    assert (sink["bind"], sink["from"]) == ("10.0.0.2", "198.18.0.1")
    assert (gen["from"], gen["to"]) == ("10.0.0.1", "198.18.0.2")
    assert sink["port"] in (5201, 5202, 5203)


@pytest.mark.parametrize("scope", ["", "%data-a", "%data"])
def test_each_end_names_link_local_addresses_by_its_own_interface(scope):
    sink, gen = asked(a={"address": f"fe80::a{scope}"}, b={"address": f"fe80::b{scope}"})
    assert (sink["bind"], sink["from"]) == ("fe80::b%data-b", "fe80::a%data-b")
    assert (gen["from"], gen["to"]) == ("fe80::a%data-a", "fe80::b%data-a")


def test_many_streams_have_longer_to_arrive_through_a_short_queue():
    """A SYN lost four times is sent for the fifth time after 15 s."""
    assert arrival_ms(1) == 5000
    assert 15_000 > arrival_ms(40) > 14_000
    assert arrival_ms(10_000) == 20_000


def test_both_ends_get_the_same_run():
    sink, gen = asked(request(streams=3))
    for words in (sink, gen):
        assert (words["streams"], words["record_B"], words["congestion"]) == (3, 65536, "cubic")
        assert words["force_buffer"] == 1
        assert (words["warmup_ms"], words["window_ms"], words["interval_ms"]) == (300, 1000, 100)
    assert sink["accept_ms"] == gen["connect_ms"] == ACCEPT_MS + 2 * STREAM_MS
    assert sink["drain_ms"] == 5000
    assert gen["tail_ms"] == TAIL_MS
    assert gen["drain_ms"] == 5000 and "bytes" not in gen
    assert 0 <= sink["run"] < 2**63


def test_in_both_directions_each_host_keeps_its_cpus_and_whether_it_may_force_buffers(clock):
    a, b = good_agent(clock), good_agent(clock)
    limited = replace(side("b", b), may_force=False)
    measure(side("a", a), limited, replace(request(), both=True), now=clock)
    assert [words["force_buffer"] for words in (*a.asked("sink"), *a.asked("gen"))] == [1, 1]
    assert [words["force_buffer"] for words in (*b.asked("sink"), *b.asked("gen"))] == [0, 0]
    a, b = good_agent(clock), good_agent(clock)
    ends = replace(side("a", a), cpus="0"), replace(side("b", b), cpus="1")
    measure(*ends, request(both=True), now=clock)
    assert {words["cpus"] for verb, words in a.requests if verb in ("gen", "sink")} == {"0"}
    assert {words["cpus"] for verb, words in b.requests if verb in ("gen", "sink")} == {"1"}


def test_a_run_of_fixed_bytes_names_them_to_the_sender_and_no_window():
    amount = {"warmup_ms": 0, "window_ms": 0, "bytes_per_stream": 1 << 34, "drain_ms": 60_000}
    sink, gen = asked(request(**amount))
    assert gen["bytes"] == 1 << 34
    assert "window_ms" not in gen and "tail_ms" not in gen
    assert (sink["window_ms"], sink["drain_ms"], gen["drain_ms"]) == (0, 60_000, 60_000)


def test_a_run_returns_both_results_and_its_duration(clock):
    a, b = good_agent(clock), good_agent(clock)
    outcome = measure(side("a", a), side("b", b), request(), now=clock, run_number=7)
    (flow,) = outcome.flows
    assert flow.gen == result("gen", run=7)
    assert flow.sink == result("sink", run=7)
    assert outcome.wall_s == 0.0
    assert a.asked("stop") == b.asked("stop") == []


def test_run_ids_and_tokens_are_new_each_time(clock):
    seen = set()
    for _ in range(20):
        b = good_agent(clock)
        measure(side("a", good_agent(clock)), side("b", b), request(both=True), now=clock)
        (words,) = b.asked("sink")
        seen |= {words["run"], words["token"]}
    assert len(seen) == 40


def both_ways(order: tuple[int, ...]):
    """Two good agents for both directions, each saying its three answers in a given order."""
    clock = Clock()
    pair = []
    for index in range(2):

        def gen(words, index=index):
            agent = pair[index]
            kept = [*agent.answers, result("gen", run=words["run"])]
            agent.answers.clear()
            ranks = {"gen_result": order[0], "sink_result": order[1], "error": order[2]}
            late = {"event": "error", "run": 1, "code": "peer", "message": "of an earlier run"}
            return sorted([*kept, late], key=lambda answer: ranks.get(answer["event"], -1))

        pair.append(good_agent(clock, gen=gen))
    return clock, pair


@pytest.mark.parametrize("order", list(itertools.permutations(range(3))), ids=str)
def test_directions_stay_separate_in_any_order_of_answers(order):
    clock, (a, b) = both_ways(order)
    outcome = measure(side("a", a), side("b", b), request(both=True), now=clock, run_number=7)
    forward, reverse = outcome.flows
    assert (forward.gen["run"], forward.sink["run"]) == (7, 7)
    assert (reverse.gen["run"], reverse.sink["run"]) == (8, 8)
    assert forward.gen["event"] == reverse.gen["event"] == "gen_result"
    assert [words["token"] for words in a.asked("gen")] == [w["token"] for w in b.asked("sink")]
    assert a.asked("sink")[0]["token"] != b.asked("sink")[0]["token"]
    assert b.asked("gen")[0]["to"] == "198.18.0.1"
    assert b.asked("gen")[0]["buffer_B"] == 1002


@pytest.mark.parametrize(
    "late",
    [
        {"event": "listening", "run": 3, "port": 1},
        {"event": "sink_result", "run": 3, "status": "stopped"},
        {"event": "error", "run": 3, "code": "peer", "message": "gone"},
        {"event": "pong", "t_ns": 1},
        {},
    ],
    ids=lambda late: str(late.get("event")),
)
def test_the_late_echo_of_an_earlier_run_is_passed_over(clock, late):
    a, b = good_agent(clock), good_agent(clock)
    a.answers.append(late)
    b.answers.extend([late, late])
    outcome = measure(side("a", a), side("b", b), request(), now=clock, run_number=7)
    assert outcome.flows[0].sink["run"] == 7


UNREACHED = "connect to 198.18.0.2 port 40000: Connection timed out"
DROPPED = "198.18.0.2 port 40000 did not answer within 5250 ms"


@pytest.mark.parametrize("code", ["bad_request", "in_use", "refused", "peer", "timeout", "limit"])
@pytest.mark.parametrize("verb", ["sink", "gen"])
@pytest.mark.parametrize(
    ("message", "says"),
    [
        ("bind: no", "bind: no$"),
        (UNREACHED, f"{UNREACHED}; if a firewall.*`port`"),
        (DROPPED, f"{DROPPED}; if a firewall.*`port`"),
    ],
)
def test_an_agents_error_ends_the_run_with_its_code_and_stops_both_ends(
    clock, verb, code, message, says
):
    def fail(words):
        return [{"event": "error", "run": words["run"], "code": code, "message": message}]

    failing, fine = good_agent(clock, **{verb: fail}), good_agent(clock)
    a, b, name = (fine, failing, "b") if verb == "sink" else (failing, fine, "a")
    with refused(RunError, "E-MEASURE-002", match=f"^{name}: {says}") as caught:
        measure(side("a", a), side("b", b), request(), now=clock, run_number=7)
    assert caught.value.reason == code
    assert a.asked("stop") == b.asked("stop") == [{"run": 7}]


def test_an_error_that_names_no_run_is_of_this_run_and_stops_both_directions(clock):
    a = good_agent(clock, gen=lambda _: [{"event": "error", "run": None, "code": "bad_request"}])
    b = good_agent(clock)
    with refused(RunError, "E-MEASURE-002", match=r"^a: bad_request$") as caught:
        measure(side("a", a), side("b", b), request(both=True), now=clock, run_number=7)
    assert caught.value.reason == "bad_request"
    assert a.asked("stop") == b.asked("stop") == [{"run": 7}, {"run": 8}]


class Chatter(ScriptedAgent):
    def poll(self, timeout_s):
        self.clock.now_s += 0.5
        return {"event": "pong", "t_ns": 1}


FIXED = {"warmup_ms": 0, "window_ms": 0, "bytes_per_stream": 1}
LONGEST_S = 1.3 + (TAIL_MS + arrival_ms(2) + 5000) / 1e3


@pytest.mark.parametrize(
    ("of_a", "of_b", "changes", "says", "least_s", "most_s"),
    [
        (good_agent, ScriptedAgent, {}, "b: no listening", GRACE_S, GRACE_S),
        (good_agent, Chatter, {}, "b: no listening", GRACE_S, GRACE_S + 1),
        (ScriptedAgent, good_agent, {}, "a: no gen_result", LONGEST_S, LONGEST_S + 2 * GRACE_S),
        # a run of fixed bytes may take long, but not for ever
        (ScriptedAgent, good_agent, FIXED, "a: no gen_result", FIXED_BYTES_S, FIXED_BYTES_S + 30),
    ],
)
def test_an_answer_is_awaited_for_as_long_as_the_run_may_take_and_no_longer(
    clock, of_a, of_b, changes, says, least_s, most_s
):
    a, b, started = of_a(clock), of_b(clock), clock.now_s
    with refused(RunError, "E-MEASURE-001", match=f"^{says} in time$") as caught:
        measure(side("a", a), side("b", b), request(**changes), now=clock, run_number=7)
    assert caught.value.reason == "timeout"
    assert least_s - 1e-6 <= clock.now_s - started <= most_s + 1e-6
    assert b.asked("stop") == [{"run": 7}]


class Interrupted(ScriptedAgent):
    def poll(self, timeout_s):
        raise KeyboardInterrupt


class Lost(ScriptedAgent):
    def __init__(self, clock):
        super().__init__(clock)
        self.gone = True


@pytest.mark.parametrize(("agent", "error"), [(Interrupted, KeyboardInterrupt), (Lost, HostError)])
def test_an_interrupt_or_a_lost_host_ends_the_run_and_stops_what_is_left(clock, agent, error):
    a, b = good_agent(clock), agent(clock)
    with pytest.raises(error):
        measure(side("a", a), side("b", b), request(), now=clock, run_number=7)
    assert a.asked("stop") == [{"run": 7}]
    assert b.gone or b.asked("stop") == [{"run": 7}]


def test_a_run_that_did_not_end_well_has_a_result_that_says_so(clock):
    stopped = {**result("sink", run=7), "status": "timeout", "message": "2 of 4 streams came"}
    listening = {"event": "listening", "run": 7, "port": 1}
    b = good_agent(clock, sink=lambda _: [listening, stopped])
    outcome = measure(
        side("a", good_agent(clock)), side("b", b), request(), now=clock, run_number=7
    )
    assert outcome.flows[0].sink["status"] == "timeout"


def test_streams_are_dealt_the_congestion_controls_or_the_hosts_and_the_sender_traces():
    sink, gen = asked(request(congestion="scalable+reno", trace=True))
    assert (gen["congestion"], gen["trace"]) == ("scalable,reno", 1)
    assert "trace" not in sink
    assert [words["congestion"] for words in asked(request(congestion=""))] == ["-", "-"]


PLAIN_SINK = {
    *("run", "bind", "from", "token", "buffer_B", "interface", "receive", "accept_ms", "drain_ms"),
    *("streams", "record_B", "force_buffer", "congestion"),
    *("warmup_ms", "window_ms", "interval_ms"),
}
PLAIN_GEN = (PLAIN_SINK - {"bind", "receive", "accept_ms"}) | {
    *("to", "port", "tail_ms", "connect_ms")
}


EVERY = {
    **{"engine": "epoll", "threads": 3, "send": "zerocopy", "receive": "splice"},
    "socket": Socket(pacing_MBps=12.5, dscp=46, mss_B=1000, nodelay=True, busy_poll_us=50),
}
AT_BOTH = {"engine": "epoll", "threads": 3, "dscp": 46, "mss_B": 1000}
AT_BOTH |= {"nodelay": 1, "busy_poll_us": 50}
POLICY = Policy(batch_B=65536, yield_B="never", read_delay=False, spread=True)
FOLLOWS = {"follow_incoming_cpu": 1}


@pytest.mark.parametrize(
    ("changes", "cpus", "of_sink", "of_gen"),
    [
        ({}, (None, None), {}, {}),
        (
            EVERY,
            ("0", "1-2"),
            AT_BOTH | {"cpus": "1-2"},
            AT_BOTH | {"cpus": "0", "send": "zerocopy", "pacing_Bps": 12_500_000},
        ),
        (
            {"policy": POLICY},
            (None, None),
            {"batch_B": "65536", "spread": "on", "read_delay": "off"},
            {"batch_B": "65536", "spread": "on", "yield_B": "never"},
        ),
        ({"socket": Socket(follow_incoming_cpu=True)}, (None, None), FOLLOWS, FOLLOWS),
    ],
)
def test_options_that_differ_from_their_default_reach_the_end_that_has_them(
    changes, cpus, of_sink, of_gen
):
    sink, gen = asked(request(**changes), a={"cpus": cpus[0]}, b={"cpus": cpus[1]})
    assert sink.keys() >= PLAIN_SINK and gen.keys() >= PLAIN_GEN
    assert {key: sink[key] for key in sink.keys() - PLAIN_SINK} == of_sink
    assert {key: gen[key] for key in gen.keys() - PLAIN_GEN} == of_gen
    assert sink["receive"] == changes.get("receive", "copy")


@pytest.mark.parametrize(
    ("boots", "changes", "yields"),
    [
        (("1", "1"), {}, None),
        (("1", None), {}, None),
        (("1", "2"), {}, "never"),
        (("1", "2"), {"policy": Policy(yield_B=65536)}, "65536"),
        (("1", "2"), {"engine": "plain"}, None),
    ],
)
def test_a_gen_yields_by_itself_only_where_its_sink_may_be(boots, changes, yields):
    sink, gen = asked(request(**changes), a={"boot_id": boots[0]}, b={"boot_id": boots[1]})
    assert gen.get("yield_B") == yields and "yield_B" not in sink


def late(writes: dict[int, int], max_us: float) -> dict:
    """Lateness of the given number of writes below each edge of the bins; 0 is the open bin."""
    count = [writes.get(edge, 0) for edge in (*BELOW_US, 0)]
    return {"max_ns": round(max_us * 1000), "late": 0, "below_us": BELOW_US, "count": count}


def test_counts_are_of_the_run_alone_and_of_both_directions():
    before = report(in_packets=100, in_bytes=1000)
    after = report(in_packets=150, in_bytes=9000, in_datagrams=9, out_datagrams=7, marked=2)
    after["directions"][0]["max_queue_B"] = 77
    before["directions"][0]["dropped"]["queue"] = 3
    after["directions"][0]["dropped"].update(queue=5, loss=1)
    after["directions"][1]["dropped"]["refused"] = 1
    after["directions"][1]["max_queue_B"] = 99
    columns = between(before, after).columns(FLOWS)
    assert columns["path_packets"] == 100 and columns["path_B"] == 16_000
    assert columns["path_datagram_drops"] == columns["path_marked"] == 4
    assert columns["path_drops"] == 4 and columns["path_queue_drops"] == 2
    assert columns["path_queue_max_B"] == 99 and columns["path_rtt_us"] == 10_000
    assert columns["path_forced_drops"] == 0 and columns["forced_loss_s"] is None
    assert set(columns) <= {column.name for column in RUN_COLUMNS}


def test_a_forced_loss_is_timed_on_the_axis_of_the_intervals():
    after = report()
    after["directions"][0]["dropped"]["forced"] = 1
    after["directions"][0]["forced_ns"] = 11 * SECOND_NS + SECOND_NS // 2
    assert between(report(), after).columns(FLOWS)["forced_loss_s"] == 1.5
    # one of an earlier run is none of this one
    earlier = report()
    earlier["directions"][0].update(forced_ns=1, dropped=after["directions"][0]["dropped"])
    assert between(earlier, after).columns(FLOWS)["forced_loss_s"] is None


@pytest.mark.parametrize(
    ("writes", "max_us", "late_us"),
    [
        ({10: 4990, 2000: 10}, 1700.0, 10.0),  # of 10,000 a hundred may be later
        ({10: 4940, 2000: 60}, 1700.0, 1700.0),
        ({10: 4940, 2000: 60}, 3000.0, 2000.0),
        ({50: 49, 0: 1}, 90_000.0, 90_000.0),  # two of 100 are late: one may be
        ({50: 50}, 42.0, 42.0),
        ({}, 0.0, None),
    ],
)
def test_lateness_bounds_all_writes_but_one_in_a_hundred(writes, max_us, late_us):
    """Both directions alike."""
    emulated = between(report(), report(lateness=late(writes, max_us)))
    assert emulated.late_us == late_us


def test_neither_a_single_late_write_of_a_few_nor_lateness_before_the_run_counts():
    after = report(lateness=late({10: 50}, 5.0))
    after["directions"][1]["lateness"] = late({10: 49, 0: 1}, 50_000.0)
    assert between(report(), after).late_us == 10.0
    before = report(lateness=late({0: 500}, 70_000.0))
    assert between(before, report(lateness=late({10: 1000, 0: 500}, 8.0))).late_us == 8.0


def test_processor_time_is_found_between_samples():
    after = report()
    after["process"] = {"user_us": 300, "system_us": 500, "waited_us": 400_000}
    after["samples"] = {"t_ns": [10 * SECOND_NS, 11 * SECOND_NS], "cpu_us": [0, 600]}
    emulated = between(report(), after)
    assert emulated.cpu_us(10 * SECOND_NS, 11 * SECOND_NS) == 600
    assert emulated.cpu_us(10 * SECOND_NS + SECOND_NS // 2, 12 * SECOND_NS) == 300 + 100
    assert emulated.waited_percent == 10.0
    assert emulated.columns(FLOWS)["emulator_cpu_percent"] == pytest.approx(0.02)


@pytest.mark.parametrize("forward", ["ab", "ba"])
def test_queues_are_rows_from_the_common_start_on(forward):
    after = report()
    after["samples"] = {
        "t_ns": [9 * SECOND_NS + 1, 10 * SECOND_NS, 12 * SECOND_NS],
        "cpu_us": [0, 0, 0],
        **{f"{way}_queue_{unit}": [1, 20, 30] for way in ("ab", "ba") for unit in ("B", "packets")},
        "ab_dropped": [1, 1, 4],
        "ba_dropped": [0, 0, 0],
    }
    parts = between(report(), after, forward).rows("r", FLOWS)
    frame = checked(joined(parts, PATH_COLUMNS), PATH_COLUMNS)
    assert frame["t_s"].tolist() == [0.0, 2.0, 0.0, 2.0]
    assert frame["queue_B"].tolist() == [20, 30, 20, 30]
    dropped = frame[frame["direction"] == ("forward" if forward == "ab" else "reverse")]
    assert dropped["drops"].tolist() == [0, 3]
    assert frame["drops"].sum() == 3


def test_a_run_that_never_started_has_no_time_to_count_from():
    after = report(dropped=report()["directions"][0]["dropped"] | {"forced": 1}, forced_ns=5)
    zeros = dict.fromkeys(
        f"{way}_{what}" for way in ("ab", "ba") for what in ("queue_B", "queue_packets", "dropped")
    )
    after["samples"] = {"t_ns": [5], "cpu_us": [0], **{key: [0] for key in zeros}}
    emulated, never = between(report(), after), (Direction(gen={}, sink={"t_go_ns": 0}),)
    assert emulated.rows("r", never) == between(report(), report()).rows("r", FLOWS) == []
    assert emulated.columns(never)["forced_loss_s"] is None


def late_of(writes: dict[int, int], max_us: float, **changes) -> dict:
    return report(lateness=late({10: 9000, **writes}, max_us), **changes)


WAITED, FULL = report(), report()
WAITED["process"]["waited_us"] = 250_000
FULL["directions"][0]["dropped"]["memory"] = 2


@pytest.mark.parametrize(
    ("after", "says"),
    [
        (late_of({1000: 20}, EMULATOR_LATE_US), ""),
        (late_of({2000: 200}, 1900.0), "over 1000 us late"),
        # of the 306 writes of both directions chance makes six late, and not twelve
        (report(lateness=late({10: 150, 2000: 3}, 1900.0)), ""),
        (report(lateness=late({10: 150, 2000: 6}, 1900.0)), "over 1000 us late"),
        (report(lateness=late({10: 20, 2000: 1}, 1900.0)), "over 1000 us late"),
        (report(lateness=late({10: 40, 2000: 1}, 1900.0)), ""),
        # 1.9 ms is less than half a per cent of 400 ms
        (late_of({2000: 200}, 1900.0, delay_us=200_000), ""),
        (WAITED, "6.2 % of the run"),
        (FULL, "no memory for 2 packets"),
    ],
)
def test_a_run_is_flagged_when_its_emulator_was_late_waited_or_had_no_memory(after, says):
    emulated = between(report(), after)
    flags = flags_of(FINE, outcome(), [], [], BUSY, TIMING, emulated)
    assert list(flags) == ["emulator_late"] * bool(says)
    assert says in flags.get("emulator_late", "")


class Scripted:
    """An agent with a list of answers."""

    def __init__(self, answers):
        self.answers = list(answers)

    def poll(self, _timeout_s):
        return self.answers.pop(0) if self.answers else None


def part(table, first, values):
    words = {"event": "samples", "run": 7, "role": "gen", "table": table}
    return {**words, "first": first, "values": values}


RESULT = {
    **{"event": "gen_result", "run": 7, "status": "ok", "t_go_ns": 1, "total_bytes": 2},
    **{"interval_sum_bytes": 2, "per_stream": [{"bytes": 1}] * 2, "trace": None},
    "window": {"t0_ns": 1, "t1_ns": 2, "bytes": 1},
    "samples": {"interval_ms": 50, "count": 3, "parts": 3},
}
PARTS = [part("t_ns", 0, [1, 2, 3]), part("bytes", 0, [0, 1, 2, 10]), part("bytes", 4, [11, 12])]


def received(answers):
    times = iter(range(1000))
    side = RunEnd("h", Scripted(copy.deepcopy(answers)), "198.18.0.1", "data0", 0, 0)
    return _Inbox(side, {7: 2}, lambda: next(times)).wait("gen_result", 7, 100)


def test_the_parts_become_one_table_per_stream_and_a_trace_three():
    samples = received([*PARTS, RESULT])["samples"]
    assert samples["t_ns"].tolist() == [1, 2, 3]
    assert samples["bytes"].tolist() == [[0, 1, 2], [10, 11, 12]]
    names = ("rtt_us", "cwnd_segments", "retransmits")
    traced = [part(name, 0, [5, 6, 7, 8, 9, 10]) for name in names]
    samples = {**RESULT["samples"], "parts": 6}
    trace = received([*PARTS, *traced, {**RESULT, "trace": {}, "samples": samples}])["trace"]
    assert set(trace) == set(names)
    assert all(np.array_equal(table, [[5, 6, 7], [8, 9, 10]]) for table in trace.values())


@pytest.mark.parametrize(
    "parts",
    [PARTS[:2], [*PARTS, PARTS[2]], [PARTS[0], PARTS[2], PARTS[1]], [PARTS[0], *PARTS[:2]]],
    ids=["one missing", "one too many", "out of order", "twice"],
)
def test_incomplete_parts_fail_the_run(parts):
    with pytest.raises(RunError, match="h: the samples of its gen_result are") as caught:
        received([*parts, RESULT])
    assert caught.value.code == "E-MEASURE-007" and caught.value.reason == "peer"


@pytest.mark.parametrize("table", ["t_ns", "bytes"])
def test_empty_parts_fail_the_run(table):
    parts = [{**one, "first": 0, "values": []} if one["table"] == table else one
             for one in PARTS[:2]]  # fmt: skip
    result = {**RESULT, "samples": {**RESULT["samples"], "parts": 2}}
    with refused(RunError, "E-MEASURE-007", "E-MEASURE-008", match="^h: "):
        received([*parts, result])


TRACE = dict.fromkeys(("rtt_us", "cwnd_segments", "retransmits"), [[1] * 15] * 2)


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"per_stream": result("gen")["per_stream"][:1]}, "1 streams of 2"),
        ({"window": {"t0_ns": 2, "t1_ns": 1, "bytes": 1}}, "window "),
        ({"samples": {"interval_ms": 1, "t_ns": [1, 2]}}, "no samples"),
        ({"samples": {"interval_ms": 1, "t_ns": [1, 2], "bytes": [[1], [1, 2]]}}, "its 2 times"),
        ({"trace": {**TRACE, "rtt_us": [[1]]}}, "rtt_us of 1 streams"),
        ({"trace": {"rtt_us": TRACE["rtt_us"]}}, "a trace without "),
    ],
)
def test_a_result_whose_parts_do_not_fit_each_other_fails_the_run(clock, changes, says):
    a = good_agent(clock, gen=lambda words: [{**result("gen", run=words["run"]), **changes}])
    with refused(RunError, "E-MEASURE-008", match=f"^a: its gen_result has .*{says}"):
        measure(side("a", a), side("b", good_agent(clock)), request(), now=clock, run_number=7)


@pytest.mark.parametrize(("enters_ppb", "advice"), [(0, "timing.drain_s"), (9, "loss_in_burst")])
def test_a_run_that_a_burst_of_losses_stopped_is_not_told_to_wait(enters_ppb, advice):
    emulated = between(report(), report(enter_bad_ppb=enters_ppb))
    stopped = outcome(**LATE)
    found = flags_of(FINE | MISSING, stopped, [], [], BUSY, TIMING, emulated)["failed"]
    assert "4215128 B had not arrived" in found and advice in found
