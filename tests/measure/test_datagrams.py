"""UDP runs: what agents are asked for, columns, notes, and a ledger that closes to the datagram."""

from __future__ import annotations

from dataclasses import replace

import pytest
from measure.datagram_counts import ALL, SENT, SIZE_B
from measure.exchanged_run import asked, between, report
from measure.recorded_setting import SETTING
from measure.scripted import request, result

from netlab.measure.bottleneck import bottleneck
from netlab.measure.exchange import Direction, RunOutcome
from netlab.measure.ledger import Ledger, audit, audit_path
from netlab.measure.record import ceiling
from netlab.measure.udp_columns import datagram_columns, datagram_notes
from netlab.results.columns import RUN_COLUMNS
from netlab.study import Socket, Udp

ALL |= {"burst_max": 0, "jitter_ns": 0, "socket_drops": 0, "skipped": 0}
LOSSES = {"received": SENT - 300, "lost": 300, "bursts": 100, "burst_max": 40, "socket_drops": 50}


def flow(**counts: int) -> Direction:
    """A flow of two streams, each of which sent as many datagrams and has these counts."""
    gen, sink = result("gen", each_B=SENT * SIZE_B), result("sink", each_B=SENT * SIZE_B)
    for end, own in ((gen, {"skipped": counts.pop("skipped", 0)}), (sink, counts)):
        for stream in end["per_stream"]:
            stream |= {"udp": {**ALL, "sent": SENT, **own}, "tcp": None}
            stream["bytes"] = stream["udp"]["received"] * SIZE_B
        end["total_bytes"] = end["interval_sum_bytes"] = sum(s["bytes"] for s in end["per_stream"])
    sink["rejected"]["datagrams"] = 0
    return Direction(gen, sink)


def test_both_agents_are_asked_for_datagrams_at_a_rate():
    udp = Udp(gso=True, gro=True, kernel_pacing=True, fragment=True)
    sink, gen = asked(request(udp=udp, socket=Socket(pacing_MBps=5.0)))
    names = ("udp", "gso", "gro", "kernel_pacing", "fragment", "pacing_Bps")
    assert {name: sink[name] for name in names if name in sink} == {"udp": 1, "gro": 1}
    of_gen = {"udp": 1, "gso": 1, "kernel_pacing": 1, "fragment": 1, "pacing_Bps": 5_000_000}
    assert {name: gen[name] for name in names if name in gen} == of_gen
    far = asked(request(udp=Udp()), {"boot_id": "a"}.items(), {"boot_id": "b"}.items())
    assert not any({"gso", "gro", "yield_B"} & words.keys() for words in far)
    assert not any({*names} & words.keys() for words in asked(request()))


def test_the_columns_are_of_all_streams_and_directions():
    flows = [flow(**LOSSES, jitter_ns=2000, skipped=7), flow(jitter_ns=4000, reordered=1)]
    row = datagram_columns(flows)
    assert row["sent_datagrams"] == 4 * SENT and row["received_datagrams"] == 4 * SENT - 600
    assert row["lost_percent"] == pytest.approx(100 * 600 / (4 * SENT))
    assert (row["reordered"], row["duplicates"], row["socket_drops"]) == (2, 0, 100)
    assert row["skipped_datagrams"] == 14
    assert (row["jitter_us"], row["loss_burst_mean"], row["loss_burst_max"]) == (3.0, 3.0, 40)
    assert row.keys() < {column.name for column in RUN_COLUMNS}


def test_nothing_received_has_no_jitter_and_nothing_sent_no_loss():
    row = datagram_columns([flow(received=0, lost=SENT, bursts=1, burst_max=SENT)])
    assert (row["lost_percent"], row["jitter_us"]) == (100, None)
    row = datagram_columns([flow(sent=0, received=0)])
    assert row["loss_burst_mean"] is None and row["loss_burst_max"] == 0
    assert datagram_columns([Direction(result("gen"), result("sink"))]) == {}


@pytest.mark.parametrize(
    ("counts", "note"),
    [
        ({}, ""),
        (LOSSES, ""),
        ({"skipped": SENT // 200}, ""),
        ({"skipped": SENT}, "udp: the sender skipped 50.0 % of its datagrams"),
        ({"invalid": 3}, "udp: 6 datagrams were not of their stream"),
        ({"received": 0, "lost": SENT}, "udp: no datagram arrived"),
    ],
)
def test_notes_say_what_the_figures_do_not(counts, note):
    said = datagram_notes([flow(**counts)])
    assert said.startswith(note) and bool(said) == bool(note)


def test_strays_are_noted_and_a_tcp_run_has_no_notes():
    one = flow()
    one.sink["rejected"]["datagrams"] = 9
    assert "9 datagrams came from elsewhere" in datagram_notes([one])
    assert datagram_notes([Direction(result("gen"), result("sink"))]) == ""


def problems(one: Direction) -> list[str]:
    for end in (one.gen, one.sink):
        end["meter"]["total"]["interface"] = None
    return audit([(one.gen, one.sink)], mtu_B=1500, both=False).problems


def test_a_ledger_closes_with_lost_datagrams_and_only_with_them():
    assert problems(flow()) == problems(flow(**LOSSES)) == []
    one = flow(**LOSSES)
    one.sink["per_stream"][0]["udp"]["lost"] -= 1
    assert "599000 B of them lost" in problems(one)[0]
    assert "but 602 by the socket alone" in problems(flow(**LOSSES | {"socket_drops": 301}))[0]


def test_interfaces_may_carry_the_headers_of_small_datagrams():
    one = flow()
    for end, name in ((one.gen, "tx_bytes"), (one.sink, "rx_bytes")):
        end["meter"]["total"]["interface"][name] = 2 * SENT * (SIZE_B + 42)
    assert audit([(one.gen, one.sink)], mtu_B=9000, both=False).surplus == []


DELIVERED = 2 * (SENT - 250)


@pytest.mark.parametrize(
    ("taken", "delivered", "changes", "problem"),
    [
        (2 * SENT, DELIVERED, {}, ""),
        (2 * SENT - 2, DELIVERED, {}, ""),  # two dropped by the sender's interface
        (2 * SENT - 3, DELIVERED, {}, "the emulator took 19997 of 20000"),
        (2 * SENT + 1, DELIVERED, {}, "the emulator took 20001 of 20000"),
        (2 * SENT, DELIVERED + 1, {}, "delivered 19501 datagrams, of which 19400 were received"),
        (2 * SENT, DELIVERED - 1, {}, "delivered 19499"),
        (2 * SENT, DELIVERED + 1, {"receive": "gro"}, ""),  # a drop of two that were joined
        (2 * SENT, DELIVERED - 1, {"receive": "gro"}, "delivered 19499"),
    ],
)
def test_an_emulator_counts_what_was_sent_and_arrived_to_the_datagram(
    taken, delivered, changes, problem
):
    one, ledger = flow(**LOSSES), Ledger()
    one.sink.update({"receive": "recvmmsg", **changes})
    emulated = between(report(), report(in_datagrams=taken, out_datagrams=delivered))
    audit_path(ledger, RunOutcome((one,), 0, 1.0), emulated)
    assert len(ledger.problems) == bool(problem) and problem in "".join(ledger.problems)
    one.gen["latency"] = {"sent": 1}
    audit_path(again := Ledger(), RunOutcome((one,), 0, 1.0), emulated)
    assert again.problems == []


def test_the_ceiling_of_a_link_is_in_payload_of_datagrams():
    link = replace(SETTING, link_MBps=100.0, bus_MBps=None, memory_MBps=None)
    for size_B, mtu_B, frames_B in ((18, 1500, 60), (1472, 1500, 1514), (2000, 1500, 2076)):
        most, kind = ceiling(replace(link, mtu_B=mtu_B, datagram_B=size_B), None, both=False)
        assert (most, kind) == (pytest.approx(100 * size_B / frames_B), "link")


@pytest.mark.parametrize(
    ("goodput_MBps", "lost_percent", "verdict"),
    [(29.5, 0.0, "link"), (20.0, 0.0, "pacing"), (15.0, 25.0, "loss"), (15.0, 0.0, "unknown")],
)
def test_the_bottleneck_of_datagrams_is_link_rate_or_loss(goodput_MBps, lost_percent, verdict):
    row = {"record_length_B": 18, "mtu_B": 1500, "link_MBps": 100.0}
    row |= {"goodput_MBps": goodput_MBps, "pacing_MBps": 20.0 if goodput_MBps < 25 else 40.0}
    row |= {"lost_percent": lost_percent, "direction": "->"}
    assert bottleneck(row | {"generator": "udp"}) == verdict
    assert bottleneck(row | {"generator": "iperf3-udp"}) == verdict
