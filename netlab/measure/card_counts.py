"""Counts of the cards of a run, and the queues that received its packets."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence

from netlab.files.run_results import EndResult
from netlab.measure.exchange import Direction, RunOutcome
from netlab.measure.ledger import Place

Values = dict[str, str | int | None]


def card_columns(outcome: RunOutcome) -> Values:
    queues = _places(outcome.flows, "napi_id")
    return {
        "card_counters": _counters(outcome.flows),
        "receive_cpus": _fewest(outcome.flows, "incoming_cpu"),
        "receive_queues": _fewest(outcome.flows, "napi_id"),
        "streams_per_queue": max((max(queue.values()) for queue in queues), default=None),
    }


def _counters(flows: Iterable[Direction]) -> str | None:
    """Growth by end as JSON; of two results of one card the larger, as their times differ."""
    counters: dict[str, dict[str, int]] = {}
    for number, flow in enumerate(flows):
        # the reverse direction is sent by the receiver's host
        results = (_card_of_all(flow.gens), flow.sink.get("card"))[:: -1 if number else 1]
        for end, grown in zip(("sender", "receiver"), results, strict=True):
            if grown is not None:
                of_end = counters.setdefault(end, {})
                of_end |= {name: max(value, of_end.get(name, 0)) for name, value in grown.items()}
    return json.dumps(counters, sort_keys=True) if counters else None


def _card_of_all(gens: Sequence[EndResult]) -> dict[str, int] | None:
    """Growth of a counter on the cards of all senders."""
    cards = [card for gen in gens if (card := gen.get("card")) is not None]
    names = dict.fromkeys(name for card in cards for name in card)
    return {name: sum(card.get(name, 0) for card in cards) for name in names} if cards else None


def _places(flows: Iterable[Direction], key: Place) -> list[Counter[int]]:
    """For each sink that knows it, the number of streams at each place."""
    sinks = ([stream.get(key) for stream in flow.sink["per_stream"]] for flow in flows)
    counts = (Counter(place for place in places if place is not None) for places in sinks)
    return [counters for counters in counts if counters]


def _fewest(flows: Iterable[Direction], key: Place) -> int | None:
    return min((len(counters) for counters in _places(flows, key)), default=None)
