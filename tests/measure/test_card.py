"""Counters of the cards and receive queues become columns of a run."""

from __future__ import annotations

import json

from scripted import result

from netlab.measure.card import card_columns
from netlab.measure.exchange import Direction, RunOutcome


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


def test_streams_on_one_queue_are_counted():
    columns = card_columns(outcome((gen(), sink(napi_ids=(17, 17, 18, 17)))))
    assert columns["receive_queues"] == 2 and columns["streams_per_queue"] == 3
    assert columns["receive_cpus"] == 2


def test_of_two_directions_the_fewer_queues_and_the_fullest_queue_count():
    wide = (gen(), sink(napi_ids=(1, 2, 3, 4), cpus=(0, 1, 2, 3)))
    narrow = (gen(), sink(napi_ids=(9, 9, 9, 9), cpus=(5, 5, 5, 5)))
    columns = card_columns(outcome(wide, narrow))
    assert (columns["receive_queues"], columns["streams_per_queue"]) == (1, 4)
    assert columns["receive_cpus"] == 1


def test_without_counters_queues_or_cpus_the_values_are_missing():
    bare = card_columns(outcome((gen(card=None), sink(cpus=(None,) * 4, card=None))))
    assert set(bare.values()) == {None}
    # another tool's answers lack the keys
    assert set(card_columns(outcome((result("gen"), result("sink")))).values()) == {None}
