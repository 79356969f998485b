"""Conditions of a measurement: flags, unsupported knobs, overhead and noise."""

from __future__ import annotations

import pandas as pd

from netlab.analysis.cells import valid
from netlab.files.recorded_columns import column_json
from netlab.study import Study

OVERHEAD_LIMIT_S = 0.3
"""Longest time of a run outside warm-up and window, within a block."""

PAUSE_S = 30.0
"""Longest gap between runs of a visit; a longer one means that the visit was interrupted."""


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
        for entry in column_json(str(text), "unsupported", code="E-ANALYSIS-003"):
            host, knob, reason = (entry[name] for name in ("host", "knob", "reason"))
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
