"""Counters of the cards of each run, and streams that share a receive queue."""

from __future__ import annotations

from collections import defaultdict
from functools import cache

import pandas as pd

from netlab.files.recorded_columns import column_json
from netlab.files.recorded_facts import provenance_of
from netlab.measure.bottleneck import ENDS
from netlab.measure.counter_meanings import meaning

COUNTERS = ("end", "counter", "runs", "median", "worst", "meaning")
QUEUES = ("group", "streams", "runs", "receive_cpus", "receive_queues", "streams_per_queue")


def counters(runs: pd.DataFrame) -> pd.DataFrame | None:
    """Drop, error and pause counters that grew, of each end's card, and what they mean."""
    counted = runs.loc[runs["card_counters"].notna(), [*ENDS, "card_counters", "provenance"]]
    if counted.empty:
        return None
    grown = defaultdict(list)
    recorded = cache(provenance_of)  # most runs of a block share theirs
    for row in counted.itertuples():
        ends = column_json(row.card_counters, "card_counters")
        if not any(ends.values()):
            continue
        hosts = recorded(row.provenance)["hosts"]
        for end, values in ends.items():
            facts = hosts.get(getattr(row, end, ""))
            driver = facts and facts["nic_driver"]
            for name, value in values.items():
                if cause := meaning(driver, name):
                    grown[end, name, cause].append(value)
    rows = [
        (end, name, len(values), pd.Series(values).median(), max(values), cause)
        for (end, name, cause), values in sorted(grown.items())
    ]
    return pd.DataFrame.from_records(rows, columns=list(COUNTERS))


def collisions(runs: pd.DataFrame) -> pd.DataFrame | None:
    """Groups and stream counts of which several streams shared a receive queue."""
    hashed = runs[runs["streams_per_queue"].notna()]
    if hashed.empty:
        return None
    places = list(QUEUES[3:])
    shared = hashed[hashed["streams_per_queue"] > 1].astype(dict.fromkeys(places, "float64"))
    by_cell = shared.groupby(["group", "streams"])
    return by_cell[places].median().assign(runs=by_cell.size()).reset_index()[list(QUEUES)]
