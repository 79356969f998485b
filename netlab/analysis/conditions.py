"""Conditions of a measurement: flags, bottlenecks, ceilings, cards, cost, time line."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping
from functools import cache, partial
from typing import Any

import numpy as np
import pandas as pd

from netlab.analysis.cells import CELL_KEYS, usable, valid
from netlab.files.tables import Table
from netlab.files.writing import parse_json
from netlab.measure.bottleneck import (
    ASKED,
    ENDS,
    LIMITED_SHARE,
    NUMBERS,
    POLICER,
    RECEIVER,
    SENDER,
    SHAPED,
    SLAVE,
    SLOW_START,
    TEXTS,
    VERDICTS,
    Evidence,
    bottleneck,
    evidence,
)
from netlab.measure.ledger import meaning, one_machine
from netlab.study import Study
from netlab.study.flows import from_text, has_hosts
from netlab.units import arrows

# Conditions of the measurement: flags, unsupported knobs, overhead and noise.

OVERHEAD_LIMIT_S = 0.3
"""Longest time of a run outside warm-up and window, within a block."""

PAUSE_S = 30.0
"""Longest gap between runs of a visit; a longer one means that the visit was interrupted."""


def json_of(text: str, column: str, *, code: str) -> Any:
    """Content of a value of a column; None of an empty one."""
    where = f"column {column} of the results"
    return parse_json(text or "null", where, kind=object, code=code)


def flagged(runs: pd.DataFrame) -> pd.DataFrame:
    """Runs that are stored but excluded from the cells, in the order of measurement."""
    columns = ["order", "run_id", "group", "tuning", "mtu_B", "streams", "round"]
    columns += ["goodput_MBps", "flags", "message"]
    out = runs.loc[~runs.index.isin(valid(runs).index), columns].copy()
    out["flags"] = out["flags"].where(out["flags"] != "", "no goodput")
    return out.sort_values("order", ignore_index=True)


def flag_counts(runs: pd.DataFrame) -> pd.DataFrame:
    """Number of runs with each flag; a run may have several."""
    flags = runs["flags"].str.split(",").explode()
    counts = flags[flags.fillna("") != ""].value_counts()
    return pd.DataFrame({"flag": counts.index.astype(str), "runs": counts.to_numpy(int)})


def unsupported(runs: pd.DataFrame, study: Study | None = None) -> pd.DataFrame:
    """Knobs of the tunings that hosts lack, with the reason."""
    refused: dict[tuple[str, str], tuple[set[str], pd.Index]] = {}
    for text, rows in runs.groupby("unsupported", sort=False).groups.items():
        for entry in json_of(str(text), "unsupported", code="E-ANALYSIS-003") or []:
            host, knob, reason = (str(entry.get(name, "")) for name in ("host", "knob", "reason"))
            hosts, before = refused.get((knob, reason), (set(), rows[:0]))
            refused[knob, reason] = (hosts | {host}, before.union(rows))
    levels = [level.name for level in study.tunings] if study else []
    order = [*levels, *runs["tuning"].unique()]
    rows = []
    for (knob, reason), (hosts, of) in sorted(refused.items(), key=lambda item: item[0]):
        tunings = sorted(runs.loc[of, "tuning"].unique(), key=order.index)
        rows.append((", ".join(sorted(hosts)), knob, reason, ", ".join(tunings), len(of)))
    columns = ["hosts", "knob", "reason", "tunings", "runs"]
    return pd.DataFrame.from_records(rows, columns=columns)


def outside_s(runs: pd.DataFrame) -> pd.Series:
    """Overhead of each run and the gap to the next of its visit, s, but for an interruption."""
    ordered = runs.sort_values("started_at")
    start = ordered["started_at"]
    end = start + pd.to_timedelta(ordered["wall_s"], unit="s")
    following = start.groupby([ordered["block_id"], ordered["round"]]).shift(-1)
    gap_s = (following - end).dt.total_seconds().fillna(0.0).clip(lower=0.0)
    return (ordered["overhead_s"] + gap_s.where(gap_s <= PAUSE_S, 0.0)).reindex(runs.index)


def overhead(runs: pd.DataFrame) -> pd.DataFrame:
    """Time outside warm-up and window of each block's runs, and of all runs."""
    took = outside_s(runs)
    whole = [("all blocks", took)] if len(runs) else []
    rows = [
        (name, len(part), part.median(), part.max(), int((part > OVERHEAD_LIMIT_S).sum()))
        for name, part in [*took.groupby(runs["block_id"]), *whole]
    ]
    columns = ["block", "runs", "median_s", "max_s", "above_limit"]
    return pd.DataFrame.from_records(rows, columns=columns)


def noise(runs: pd.DataFrame) -> pd.DataFrame:
    """Noise of the machines: steal, foreign load, drops, and spread over the rounds."""
    rows = []
    for column, unit, what in (
        ("steal_percent", "%", "CPU taken by the hypervisor (steal), of all cores"),
        ("foreign_cpu_percent", "%", "CPU used by other processes, of all cores"),
        ("foreign_traffic_percent", "%", "traffic of others on an interface, of the run's own"),
        ("throttle_events", "events", "thermal throttling of a CPU, a run"),
        ("interface_drops", "packets", "dropped by the interfaces, a run"),
        ("softnet_drops", "packets", "dropped by the softnet backlog, a run"),
        ("ledger_error_B", "B", "largest disagreement in the ledger, a run"),
    ):
        values = runs[column].dropna().astype(float)
        if len(values):
            rows.append((what, unit, values.median(), values.max()))
    good = valid(runs)
    keys = ["group", "tuning", "mtu_B", "streams", "factors"]
    spread = good.groupby(keys)["goodput_MBps"].agg(["mean", "std", "count"])
    variation = (100 * spread["std"] / spread["mean"])[spread["count"] > 1]
    if len(variation):
        what = "standard deviation of a cell's rounds, of its mean"
        rows.append((what, "%", variation.median(), variation.max()))
    return pd.DataFrame.from_records(rows, columns=["quantity", "unit", "median", "worst"])


# Bottlenecks of cells, and the evidence for that of a run in a sentence.
#
# The rules are those of :mod:`netlab.measure.bottleneck`.


def explain(row: Mapping) -> str:
    """Describe the bottleneck of a run and its evidence in one sentence."""
    seen, verdict = evidence(row), bottleneck(row)
    return f"{verdict}: {_because(row, seen, verdict)}"


def _because(row: Mapping, seen: Evidence, verdict: str) -> str:
    if verdict in ("bus", "link", SLAVE):
        carries = f"{seen.payload_ceiling_MBps:.0f} MB/s of payload it carries"
        return f"{100 * seen.ceiling_share:.0f} % of the {carries}"
    if verdict == "pacing":
        share = 100 * seen.pacing_share
        return f"{share:.0f} % of the {seen.pacing_MBps:.0f} MB/s of the pacing rate"
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
            f"(bound {seen.window_bound_MBps:.0f} MB/s)"
        )
    if verdict == SLOW_START:
        trips = f"{seen.window_rtts:.0f} round trips"
        return (
            f"the congestion window grew {_two_digits(seen.growth)}-fold within {trips} and "
            "without a loss: too short a run, or too short a warm-up"
        )
    if verdict == SHAPED:
        return (
            f"a link of about {_two_digits(seen.frames_Mbps)} Mb/s: the rate stayed within "
            f"{seen.variation_percent:.2g} %, and packets queued for {seen.queue_us / 1e3:.2g} ms"
        )
    if verdict == POLICER:
        rate, times = map(_two_digits, (seen.frames_Mbps, seen.lost_share / seen.random_share))
        return (
            f"a rate of about {rate} Mb/s: {100 * seen.lost_share:.2g} % of the segments were "
            f"retransmitted, {times} times what random loss leaves of this rate, and no packet "
            "queued"
        )
    if verdict == "loss":
        drops = "an unknown number of" if math.isnan(seen.drops) else f"{seen.drops:.0f}"
        lost = f"{100 * seen.lost_share:.2g} % of the segments were retransmitted"
        return f"{lost}, {drops} packets dropped on the hosts"
    if verdict == "foreign CPU":
        others = f"{100 * seen.foreign_share:.0f} % of the busy time was other programs'"
        return f"one core was {seen.busiest_core_percent:.0f} % busy, and {others}"
    if pd.isna(row.get("goodput_MBps")):
        return "the run has no goodput"
    reached = f"{100 * seen.ceiling_share:.0f} % of the {seen.ceiling_kind}"
    reached = "no ceiling is known" if math.isnan(seen.ceiling_share) else reached
    return f"{reached}, no core, window or loss stands out"


def _two_digits(value: float) -> str:
    return f"{float(f'{value:.2g}'):,.0f}" if value >= 10 else f"{value:.2g}"


def verdicts(runs: pd.DataFrame) -> pd.DataFrame:
    """Bottleneck of each cell, by most of its runs."""
    cells: dict[tuple, list[dict]] = {}
    good = valid(runs)
    numbers = [name for name in NUMBERS if name in good and name not in CELL_KEYS]
    texts = [name for name in (*CELL_KEYS, *TEXTS) if name in good]
    # a missing integer as NaN: as NA it raises an error in each of many conversions to a number
    columns = good[texts].join(good[numbers].astype("float64"))
    # once: a conversion a group takes most of the time, and that of all columns fills the memory
    for record in columns.to_dict("records"):
        cells.setdefault(tuple(record[key] for key in CELL_KEYS), []).append(record)
    rows = []
    for key, records in cells.items():
        words = [bottleneck(record) for record in records]
        best = max(sorted(set(words), key=VERDICTS.index), key=words.count)
        record = records[words.index(best)]
        rows.append((*key, best, words.count(best), len(words), explain(record)))
    columns = [*CELL_KEYS, "bottleneck", "agreeing", "n", "because"]
    return pd.DataFrame.from_records(rows, columns=columns)


# Counters of the cards, and streams that share a receive queue.

COUNTERS = ("end", "counter", "runs", "median", "worst", "meaning")
QUEUES = ("group", "streams", "runs", "receive_cpus", "receive_queues", "streams_per_queue")


def counters(runs: pd.DataFrame) -> pd.DataFrame | None:
    """Drop, error and pause counters that grew, of each end's card, and what they mean."""
    counted = runs.loc[runs["card_counters"].notna(), [*ENDS, "card_counters", "provenance"]]
    if counted.empty:
        return None
    grown = defaultdict(list)
    facts = cache(partial(parse_json, where="provenance"))  # most runs of a block share theirs
    for row in counted.itertuples():
        ends = parse_json(row.card_counters, "card_counters")
        if not any(ends.values()):
            continue
        hosts = facts(row.provenance or "{}").get("hosts") or {}
        for end, values in ends.items():
            driver = (hosts.get(getattr(row, end)) or {}).get("nic_driver")
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


# Ceiling of each measured cell: the lowest of bus, link and memory copies, and its source.

CEILING_COLUMNS = (
    *CELL_KEYS,
    *("goodput_MBps", "ceiling_MBps", "ceiling_kind", "ceiling_source", "percent_of_ceiling"),
)


def ceilings(runs: pd.DataFrame, cells: pd.DataFrame) -> pd.DataFrame:
    keys = list(CELL_KEYS)
    by_cell = valid(runs).dropna(subset=["ceiling_MBps"]).groupby(keys, sort=False)
    frame = by_cell.agg(
        {"ceiling_MBps": "median", "ceiling_kind": "first", "ceiling_source": "first"}
    )
    joined = cells[[*keys, "goodput_MBps"]].merge(frame.reset_index(), on=keys, how="inner")
    joined["percent_of_ceiling"] = 100 * joined["goodput_MBps"] / joined["ceiling_MBps"]
    return joined.reindex(columns=list(CEILING_COLUMNS))


def ceilings_table(runs: pd.DataFrame, cells: pd.DataFrame) -> Table | None:
    """Ceilings of each group with their sources, and its best cell; None without a known one."""
    frame = ceilings(runs, cells)
    if frame.empty:
        return None
    of_group = frame.groupby(["group", "ceiling_kind", "ceiling_source"], sort=False)
    rows = of_group.agg(
        low=("ceiling_MBps", "min"),
        high=("ceiling_MBps", "max"),
        best=("percent_of_ceiling", "max"),
    ).reset_index()
    names = {"ceiling_kind": "kind", "ceiling_source": "source"}
    return Table(
        rows.rename(columns=names).assign(group=rows["group"].map(arrows)),
        "Ceiling of each group, and its best cell",
        heads={
            "group": "Group",
            "kind": "Lowest",
            "source": "Source",
            "low": "Payload from, MB/s",
            "high": "to, MB/s",
            "best": "Best cell, %",
        },
        formats={"low": ".0f", "high": ".0f", "best": ".0f"},
        note="The lowest of bus, link and memory copies, less the headers of Ethernet, IP and TCP. "
        "The bus of PCI Express is what full packets of the card's largest size carry; "
        "acknowledgements, flow control and descriptors are not counted.",
    )


# CPU time that a byte of payload costs: all cores of the machines over the goodput.

COLUMNS = (*CELL_KEYS, "cpu_s_per_GB", "low", "high", "n")
OF_BUSY = (
    *("path", "sender", "receiver", "sender_cpu_percent", "receiver_cpu_percent", "provenance"),
    "flows",
)
"""Columns that the busy time of a run is computed from."""


def cpu_cost(runs: pd.DataFrame, study: Study) -> pd.DataFrame:
    """Busy time of all cores of both machines, other work included, a GB of payload, by cell."""
    good = usable(runs)
    texts = good["provenance"].unique()
    facts = {text: parse_json(text or "{}", "provenance").get("hosts") or {} for text in texts}
    rows = good[list(OF_BUSY)].to_dict("records")
    busy = [_busy_cores(row, facts[row["provenance"]], study) for row in rows]
    cost = np.asarray(busy, dtype=float) / (good["goodput_MBps"].astype(float) / 1e3)
    by_cell = good.assign(cost=cost).dropna(subset="cost").groupby(list(CELL_KEYS), sort=False)
    frame = by_cell["cost"].agg(cpu_s_per_GB="median", low="min", high="max", n="size")
    return frame.reset_index()[list(COLUMNS)]


def _busy_cores(row: Mapping, facts: Mapping[str, Mapping], study: Study) -> float:
    """Cores that were busy in the window, at both ends together; NaN if unknown."""
    ends = [("sender", row["sender"])]
    if not (study.in_lab(row["path"]) or one_machine(facts)):
        if has_hosts(from_text(row["flows"])):
            return math.nan  # the record has the busiest sender's share alone
        ends.append(("receiver", row["receiver"]))
    cores = 0.0
    for end, host in ends:
        share, cpus = row[f"{end}_cpu_percent"], facts.get(host, {}).get("cpus") or math.nan
        cores += (math.nan if pd.isna(share) else float(share)) / 100 * cpus
    return cores
