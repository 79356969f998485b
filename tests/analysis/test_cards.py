"""Counters of cards are summed up by name, and shared receive queues by cell."""

from __future__ import annotations

import json

import pandas as pd

from netlab.analysis.cards import collisions, counters


def runs(*rows: dict) -> pd.DataFrame:
    empty = {
        "group": "a -> b",
        "streams": 4,
        "card_counters": None,
        "receive_cpus": None,
        "receive_queues": None,
        "streams_per_queue": None,
    }
    return pd.DataFrame([empty | row for row in rows])


def grown(**ends: dict[str, int]) -> dict:
    return {"card_counters": json.dumps(ends)}


def test_growth_of_a_counter_is_summarised_over_the_runs_in_which_it_grew():
    table = counters(
        runs(
            grown(sender={"tx_pause": 4}, receiver={}),
            grown(sender={"tx_pause": 10}, receiver={"rx_missed_errors": 1}),
            grown(sender={}, receiver={}),
        )
    )
    assert table.values.tolist() == [
        ["receiver", "rx_missed_errors", 1, 1.0, 1],
        ["sender", "tx_pause", 2, 7.0, 10],
    ]


def test_cards_that_lost_nothing_differ_from_cards_without_counters():
    assert counters(runs(grown(sender={}))).empty
    assert counters(runs({})) is None


def test_only_runs_with_a_shared_queue_are_collisions():
    apart = {"receive_cpus": 4, "receive_queues": 4, "streams_per_queue": 1}
    shared = {"receive_cpus": 2, "receive_queues": 2, "streams_per_queue": 3}
    table = collisions(runs(apart, shared, shared | {"streams": 12}))
    assert table["streams"].tolist() == [4, 12]
    assert table["runs"].tolist() == [1, 1]
    assert table["streams_per_queue"].tolist() == [3.0, 3.0]
    assert collisions(runs(apart)).empty
    assert collisions(runs({})) is None
