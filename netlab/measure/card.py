"""Counts of the cards of a run, and the queues that received its packets."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable

from netlab.measure.exchange import Direction, RunOutcome

Values = dict[str, str | int | None]


def card_columns(outcome: RunOutcome) -> Values:
    """Columns of the cards' own counters and of the receive queues."""
    return {
        "card_counters": _counters(outcome.flows),
        "receive_cpus": _fewest(outcome.flows, "incoming_cpu"),
        "receive_queues": _fewest(outcome.flows, "napi_id"),
        "streams_per_queue": max(
            (max(found.values()) for found in _places(outcome.flows, "napi_id")), default=None
        ),
    }


def _counters(flows: Iterable[Direction]) -> str | None:
    """Growth by end as JSON; of two results of one card the larger, as their times differ."""
    found: dict[str, dict[str, int]] = {}
    for number, flow in enumerate(flows):
        # the reverse direction is sent by the receiver's host
        results = (flow.gen, flow.sink) if number == 0 else (flow.sink, flow.gen)
        for end, result in zip(("sender", "receiver"), results, strict=True):
            grown = result.get("card")
            if grown is None:
                continue
            of_end = found.setdefault(end, {})
            for name, value in grown.items():
                of_end[name] = max(value, of_end.get(name, 0))
    return json.dumps(found, sort_keys=True) if found else None


def _places(flows: Iterable[Direction], key: str) -> list[Counter[int]]:
    """For each sink that knows it, the number of streams at each place."""
    counts = [
        Counter(stream[key] for stream in flow.sink["per_stream"] if stream.get(key) is not None)
        for flow in flows
    ]
    return [found for found in counts if found]


def _fewest(flows: Iterable[Direction], key: str) -> int | None:
    return min((len(found) for found in _places(flows, key)), default=None)
