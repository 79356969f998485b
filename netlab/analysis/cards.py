"""Counters of the cards, and streams that share a receive queue."""

from __future__ import annotations

import json
from collections import defaultdict

import pandas as pd

COUNTERS = ("end", "counter", "runs", "median", "worst")
QUEUES = ("group", "streams", "runs", "receive_cpus", "receive_queues", "streams_per_queue")


def counters(runs: pd.DataFrame) -> pd.DataFrame | None:
    """Drop, error and pause counters that grew, of each end's card."""
    texts = runs["card_counters"].dropna()
    if texts.empty:
        return None
    grown = defaultdict(list)
    for text in texts:
        for end, values in json.loads(text).items():
            for name, value in values.items():
                grown[end, name].append(value)
    rows = [
        (end, name, len(values), pd.Series(values).median(), max(values))
        for (end, name), values in sorted(grown.items())
    ]
    return pd.DataFrame.from_records(rows, columns=list(COUNTERS))


def collisions(runs: pd.DataFrame) -> pd.DataFrame | None:
    """Groups and stream counts of which several streams shared a receive queue."""
    known = runs[runs["streams_per_queue"].notna()]
    if known.empty:
        return None
    shared = known[known["streams_per_queue"] > 1]
    places = list(QUEUES[3:])
    by_cell = shared.astype(dict.fromkeys(places, "float64")).groupby(["group", "streams"])
    found = by_cell[places].median()
    found.insert(0, "runs", by_cell.size())
    return found.reset_index()[list(QUEUES)]
