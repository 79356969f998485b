"""Conditions of the measurement: flags, unsupported knobs, overhead and noise."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

import pandas as pd

from netlab.analysis.cells import valid
from netlab.errors import NetlabError
from netlab.study import Study

OVERHEAD_LIMIT_S = 0.3
"""Longest time of a run outside warm-up and window, within a block."""

PAUSE_S = 30.0
"""Longest gap between runs of a visit; a longer one means that the visit was interrupted."""


def _parsed(runs: pd.DataFrame, column: str) -> Iterable[tuple[str, Any]]:
    """Distinct JSON texts of a column, parsed once each."""
    for text in runs[column].drop_duplicates():
        try:
            yield text, json.loads(text or "null")
        except ValueError:
            raise NetlabError(
                f"column {column} of the results contains text that is not JSON",
                code="E-ANALYSIS-003",
            ) from None


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
    found: dict[tuple[str, str], tuple[set[str], pd.Index]] = {}
    for text, entries in _parsed(runs, "unsupported"):
        rows = runs.index[runs["unsupported"] == text]
        for entry in entries or []:
            host, knob, reason = (str(entry.get(name, "")) for name in ("host", "knob", "reason"))
            hosts, before = found.get((knob, reason), (set(), rows[:0]))
            found[knob, reason] = (hosts | {host}, before.union(rows))
    levels = [level.name for level in study.tunings] if study else []
    order = [*levels, *(name for name in runs["tuning"].unique() if name not in levels)]
    return pd.DataFrame.from_records(
        [
            {
                "hosts": ", ".join(sorted(hosts)),
                "knob": knob,
                "reason": reason,
                "tunings": ", ".join(sorted(runs.loc[rows, "tuning"].unique(), key=order.index)),
                "runs": len(rows),
            }
            for (knob, reason), (hosts, rows) in sorted(found.items(), key=lambda item: item[0])
        ],
        columns=["hosts", "knob", "reason", "tunings", "runs"],
    )


def outside_s(runs: pd.DataFrame) -> pd.Series:
    """Time of each run outside warm-up and window, up to the next run of its visit, s.

    The sum of its ``overhead_s`` and the gap to the next run of the block in the same round. A gap
    longer than :data:`PAUSE_S` is an interruption and does not count.
    """
    ordered = runs.sort_values("started_at")
    start = ordered["started_at"]
    end = start + pd.to_timedelta(ordered["wall_s"], unit="s")
    following = start.groupby([ordered["block_id"], ordered["round"]]).shift(-1)
    gap_s = (following - end).dt.total_seconds().fillna(0.0).clip(lower=0.0)
    return (ordered["overhead_s"] + gap_s.where(gap_s <= PAUSE_S, 0.0)).reindex(runs.index)


def overhead(runs: pd.DataFrame) -> pd.DataFrame:
    """Time outside warm-up and window of each block's runs, and of all runs."""
    took = outside_s(runs)
    rows = []
    whole = [("all blocks", took)] if len(runs) else []
    for name, part in [*took.groupby(runs["block_id"]), *whole]:
        above = int((part > OVERHEAD_LIMIT_S).sum())
        rows.append((name, len(part), part.median(), part.max(), above))
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
