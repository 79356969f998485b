"""Bottlenecks of cells, and the evidence for that of a run in a sentence.

The rules are those of :mod:`netlab.measure.bottleneck`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import pandas as pd

from netlab.analysis.cells import CELL_KEYS, valid
from netlab.measure.bottleneck import (
    ASKED,
    LIMITED_SHARE,
    NUMBERS,
    POLICER,
    RECEIVER,
    SENDER,
    SHAPED,
    SHAPED_VARIATION_PERCENT,
    SLAVE,
    SLOW_START,
    TEXTS,
    VERDICTS,
    Evidence,
    bottleneck,
    evidence,
)
from netlab.study.groups import sends_datagrams
from netlab.units import plain


def explain(row: Mapping) -> str:
    """Describe the bottleneck of a run and its evidence in one sentence."""
    seen, verdict = evidence(row), bottleneck(row)
    return f"{verdict}: {_because(row, seen, verdict)}"


def _because(row: Mapping, seen: Evidence, verdict: str) -> str:
    if verdict in ("bus", "link", SLAVE):
        carries = f"{_rate(seen.payload_ceiling_MBps)} MB/s of payload it carries"
        return f"{100 * seen.ceiling_share:.0f} % of the {carries}"
    if verdict == "pacing":
        share = 100 * seen.pacing_share
        return f"{share:.0f} % of the {_rate(seen.pacing_MBps)} MB/s of the pacing rate"
    if verdict == "CPU":
        busy = f"one core was {seen.busiest_core_percent:.0f} % busy"
        softirq = f"; softirq takes {seen.softirq_percent:.0f} % of all cores"
        return busy if math.isnan(seen.softirq_percent) else busy + softirq
    if verdict == RECEIVER:
        share = 100 * seen.closed_share
        return (
            f"the program reads too slowly: its window was almost closed {share:.0f} % of the time"
        )
    if verdict == SENDER:
        share = 100 * seen.idle_share
        return f"the program sends too slowly: it had nothing to send {share:.0f} % of the time"
    asked = verdict == ASKED
    if (verdict == "send buffer" or asked) and seen.sndbuf_limited_share >= LIMITED_SHARE:
        share = 100 * seen.sndbuf_limited_share
        return f"the send buffer was the limit in {share:.0f} % of the busy time"
    if verdict in ("window", "send buffer") or asked:
        if seen.rwnd_limited_share >= LIMITED_SHARE:
            share = 100 * seen.rwnd_limited_share
            return f"the receiver's was the limit in {share:.0f} % of the busy time"
        return (
            f"{100 * seen.window_fill:.0f} % of the smaller socket buffer was in flight "
            f"(bound {_rate(seen.window_bound_MBps)} MB/s)"
        )
    if verdict == SLOW_START:
        trips = f"{seen.window_rtts:.0f} round trips"
        return (
            f"the congestion window grew {_two_digits(seen.growth)}-fold within {trips} and "
            "without a loss: too short a run, or too short a warm-up"
        )
    if verdict == SHAPED:
        return _because_queued(seen)
    if verdict == POLICER:
        rate, times = map(_two_digits, (seen.frames_Mbps, seen.lost_share / seen.random_share))
        return (
            f"a rate of about {rate} Mb/s: {_retransmitted(seen)}, {times} times what random "
            "loss leaves of this rate, and no packet queued"
        )
    if verdict == "loss":
        drops = "an unknown number of" if math.isnan(seen.drops) else f"{seen.drops:.0f}"
        lost = _retransmitted(seen)
        if sends_datagrams(str(row.get("generator"))):
            lost = f"{plain(100 * seen.lost_share, '.2g')} % of the datagrams were lost"
        # a queue of tc that drops counts for itself, and not in its interface
        return f"{lost}, {drops} packets dropped by the hosts' interfaces"
    if verdict == "foreign CPU":
        others = f"{100 * seen.foreign_share:.0f} % of the busy time was other programs'"
        return f"one core was {seen.busiest_core_percent:.0f} % busy, and {others}"
    if pd.isna(row.get("goodput_MBps")):
        return "the run has no goodput"
    reached = f"{100 * seen.ceiling_share:.0f} % of the {seen.ceiling_kind}"
    reached = "no ceiling is known" if math.isnan(seen.ceiling_share) else reached
    return f"{reached}, no core, window or loss stands out"


def _because_queued(seen: Evidence) -> str:
    link = f"a link of about {_two_digits(seen.frames_Mbps)} Mb/s"
    queued = f"packets queued for {plain(seen.queue_us / 1e3, '.2g')} ms"
    if seen.variation_percent <= SHAPED_VARIATION_PERCENT:
        return f"{link}: the rate stayed within {seen.variation_percent:.2g} %, and {queued}"
    # a queue does not prove a constant rate: other flows may have passed it too
    text = f"{link}, or such a share of a faster one: {queued}"
    # imported runs may lack the bytes that were sent
    return text if math.isnan(seen.lost_share) else f"{text}, and {_retransmitted(seen)}"


def _retransmitted(seen: Evidence) -> str:
    return f"{plain(100 * seen.lost_share, '.2g')} % of the segments were retransmitted"


def _rate(value: float) -> str:
    return f"{value:.0f}" if value >= 99.5 else plain(value, ".3g")


def _two_digits(value: float) -> str:
    return f"{float(f'{value:.2g}'):,.0f}" if value >= 10 else plain(value, ".2g")


def of_runs(runs: pd.DataFrame) -> pd.Series:
    """Bottleneck of each run by the rules of this netlab, as those of cells are.

    A record has the word of the netlab that measured it. It stays for a run without goodput.
    """
    ended = runs[runs["goodput_MBps"].notna()]
    words = pd.Series(map(bottleneck, _records(ended)), ended.index, dtype="string")
    stored = runs["bottleneck"] if "bottleneck" in runs else pd.Series(index=runs.index, dtype=str)
    return words.reindex(runs.index).fillna(stored.astype("string"))


def _records(runs: pd.DataFrame) -> list[dict]:
    """The columns that a verdict depends on, and those of cells."""
    numbers = [name for name in NUMBERS if name in runs and name not in CELL_KEYS]
    texts = [name for name in (*CELL_KEYS, *TEXTS) if name in runs]
    # a missing integer as NaN: as NA it raises an error in each of many conversions to a number
    columns = runs[texts].join(runs[numbers].astype("float64"))
    # once: a conversion a group takes most of the time, and that of all columns fills the memory
    return columns.to_dict("records")


def verdicts(runs: pd.DataFrame, words_of_runs: pd.Series | None = None) -> pd.DataFrame:
    """Bottleneck of each cell, by most of its runs; of words that :func:`of_runs` gave, if any."""
    cells: dict[tuple, list[tuple[str, dict]]] = {}
    good = valid(runs)
    each = of_runs(good) if words_of_runs is None else words_of_runs[good.index]
    for word, record in zip(each, _records(good), strict=True):
        cells.setdefault(tuple(record[key] for key in CELL_KEYS), []).append((word, record))
    rows = []
    for key, known in cells.items():
        words = [word for word, _ in known]
        best = max(sorted(set(words), key=VERDICTS.index), key=words.count)
        _, record = known[words.index(best)]
        rows.append((*key, best, words.count(best), len(words), explain(record)))
    columns = [*CELL_KEYS, "bottleneck", "agreeing", "n", "because"]
    return pd.DataFrame.from_records(rows, columns=columns)
