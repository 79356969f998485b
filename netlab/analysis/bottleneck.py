"""Bottlenecks of cells, and the evidence for that of a run in a sentence.

The rules are those of :mod:`netlab.measure.bottleneck`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import pandas as pd

from netlab.analysis.cells import CELL_KEYS, valid
from netlab.measure.bottleneck import ASKED, LIMITED_SHARE, VERDICTS, bottleneck, evidence


def explain(row: Mapping) -> str:
    """Describe the bottleneck of a run and its evidence in one sentence."""
    seen, verdict = evidence(row), bottleneck(row)
    if verdict in ("bus", "link"):
        return (
            f"{verdict}: {100 * seen.ceiling_share:.0f} % of the "
            f"{seen.payload_ceiling_MBps:.0f} MB/s of payload it carries"
        )
    if verdict == "pacing":
        share = 100 * seen.pacing_share
        return f"pacing: {share:.0f} % of the {seen.pacing_MBps:.0f} MB/s of the pacing rate"
    if verdict == "CPU":
        softirq = (
            ""
            if math.isnan(seen.softirq_percent)
            else f"; softirq takes {seen.softirq_percent:.0f} % of all cores"
        )
        return f"CPU: one core was {seen.busiest_core_percent:.0f} % busy{softirq}"
    if verdict == "send buffer" or (
        verdict == ASKED and seen.sndbuf_limited_share >= LIMITED_SHARE
    ):
        share = 100 * seen.sndbuf_limited_share
        return f"{verdict}: the send buffer was the limit in {share:.0f} % of the busy time"
    if verdict in ("window", ASKED):
        if seen.rwnd_limited_share >= LIMITED_SHARE:
            return (
                f"{verdict}: the receiver's was the limit in "
                f"{100 * seen.rwnd_limited_share:.0f} % of the busy time"
            )
        return (
            f"{verdict}: {100 * seen.window_fill:.0f} % of the smaller socket buffer was in flight "
            f"(bound {seen.window_bound_MBps:.0f} MB/s)"
        )
    if verdict == "loss":
        return (
            f"loss: {100 * seen.lost_share:.2g} % of the segments were retransmitted, "
            f"{_count(seen.drops)} packets dropped on the hosts"
        )
    if pd.isna(row.get("goodput_MBps")):
        return "unknown: the run has no goodput"
    reached = (
        "no ceiling is known"
        if math.isnan(seen.ceiling_share)
        else f"{100 * seen.ceiling_share:.0f} % of the {seen.ceiling_kind}"
    )
    return f"unknown: {reached}, no core, window or loss stands out"


def _count(value: float) -> str:
    return "an unknown number of" if math.isnan(value) else f"{value:.0f}"


def verdicts(runs: pd.DataFrame, *, keep_flagged: bool = False) -> pd.DataFrame:
    """Bottleneck of each cell, by most of its runs."""
    usable = runs if keep_flagged else valid(runs)
    cells: dict[tuple, list[dict]] = {}
    for record in usable.to_dict("records"):  # once: a conversion a group takes most of the time
        cells.setdefault(tuple(record[key] for key in CELL_KEYS), []).append(record)
    rows = []
    for key, records in cells.items():
        words = [bottleneck(record) for record in records]
        best = max(sorted(set(words), key=VERDICTS.index), key=words.count)
        record = records[words.index(best)]
        rows.append((*key, best, words.count(best), len(words), explain(record)))
    columns = [*CELL_KEYS, "bottleneck", "agreeing", "n", "because"]
    return pd.DataFrame.from_records(rows, columns=columns)
