"""Fairness of several flows on a path: Jain's index over time, and its mean with an interval."""

from __future__ import annotations

import pandas as pd

from netlab.analysis.share_over_time import LEAST_SHARE_S, SHARE_ROUND_TRIPS, rates_over_time
from netlab.analysis.shares import stack_of_stream
from netlab.longpath.series import batched_interval
from netlab.measure.fairness import jain


def fairness(
    runs: pd.DataFrame, intervals: pd.DataFrame, traces: pd.DataFrame, confidence: float = 0.95
) -> pd.DataFrame:
    """The index of every run of several flows, over its window."""
    rows = []
    for run in runs[runs["streams"] > 1].itertuples():
        part = intervals[intervals["run_id"] == run.run_id]
        part, trace = part[part["direction"] == "forward"], traces[traces["run_id"] == run.run_id]
        window = part[part["in_window"]]
        if window.empty or trace.empty:
            continue
        rtt_s = float(trace["rtt_us"].median()) / 1e6
        moved = window.groupby("stream")[["bytes", "interval_s"]].sum()
        means = moved["bytes"] * 8e-6 / moved["interval_s"]
        begin_s = (window["t_s"] - window["interval_s"]).min()
        over_time = rates_over_time(part, rtt_s)
        inside = over_time.loc[over_time.index > begin_s, "jain"].dropna()
        step_s = float(window["interval_s"].median())
        # Neighbouring running means share all but one of their samples.
        width_s = max(rtt_s, SHARE_ROUND_TRIPS * rtt_s / 2, LEAST_SHARE_S / 2)
        interval = batched_interval(inside.to_numpy(), step_s, width_s, confidence)
        flows = [stack_of_stream(run.congestion, int(stream)) for stream in means.index]
        whole = float(jain(means.to_numpy()))
        rows.append((run.run_id, flows, means.tolist(), whole, *interval))
    columns = ["run_id", "flows", "flows_Mbps", "jain_of_means", "jain", "half_width"]
    return pd.DataFrame(rows, columns=columns)
