"""Fairness of several flows on a path: Jain's index over time, and its mean with an interval."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd

from netlab.analysis.longpath import batched_interval, stack_of_stream
from netlab.errors import BadInput

SHARE_ROUND_TRIPS = 5.0
"""Least round trips that a share covers: flows are bursty, one window at a time."""

LEAST_SHARE_S = 1.0


def jain(rates: np.ndarray) -> np.ndarray:
    """Jain's fairness index: 1 if all flows get the same, 1/n if one of n gets everything.

    R. Jain, D. Chiu, W. Hawe, "A quantitative measure of fairness", DEC-TR-301, 1984.
    """
    rates = np.asarray(rates, dtype=float)
    if rates.ndim == 0 or rates.shape[-1] == 0:
        raise BadInput(
            "needs at least one flow", key="rates", value=rates.shape, code="E-ANALYSIS-008"
        )
    if (rates < 0).any():
        raise BadInput(
            "must not be below 0", key="rates", value=float(rates.min()), code="E-ANALYSIS-009"
        )
    # Scale first: squares of tiny rates underflow, squares of huge ones overflow.
    most = rates.max(axis=-1, keepdims=True)
    with np.errstate(invalid="ignore", divide="ignore"):
        scaled = rates / most
        return scaled.sum(axis=-1) ** 2 / (rates.shape[-1] * (scaled**2).sum(axis=-1))


def shares(intervals: pd.DataFrame, rtt_s: float) -> pd.DataFrame:
    """Running mean of the goodput of every flow of a run, and the index at every sample."""
    inside = intervals[intervals["in_window"]]
    until_s = inside["t_s"].max() if len(inside) else -math.inf
    kept = intervals[intervals["t_s"] <= until_s + 1e-9]
    moved = kept.pivot_table(index="t_s", columns="stream", values="bytes", aggfunc="sum")
    if moved.empty:
        return pd.DataFrame(columns=["jain"])
    step_s = kept.groupby("t_s")["interval_s"].max()
    width = max(1, round(max(SHARE_ROUND_TRIPS * rtt_s, LEAST_SHARE_S) / float(step_s.median())))
    summed = moved.rolling(width, min_periods=width).sum()
    lasted = step_s.rolling(width, min_periods=width).sum()
    rates = summed.mul(8e-6).div(lasted, axis=0).dropna()
    return rates.assign(jain=jain(rates.to_numpy()) if len(rates) else [])


def fairness(
    runs: pd.DataFrame, intervals: pd.DataFrame, traces: pd.DataFrame, confidence: float = 0.95
) -> pd.DataFrame:
    """The index of every run of several flows, over its window."""
    rows = []
    for run in runs[runs["streams"] > 1].itertuples():
        part = intervals[
            (intervals["run_id"] == run.run_id) & (intervals["direction"] == "forward")
        ]
        window = part[part["in_window"]]
        trace = traces[traces["run_id"] == run.run_id]
        if window.empty or trace.empty:
            continue
        rtt_s = float(trace["rtt_us"].median()) / 1e6
        lasted_s = window.groupby("stream")["interval_s"].sum()
        means = window.groupby("stream")["bytes"].sum() * 8e-6 / lasted_s
        begin_s = (window["t_s"] - window["interval_s"]).min()
        over_time = shares(part, rtt_s)
        inside = over_time.loc[over_time.index > begin_s, "jain"].dropna()
        step_s = float(window["interval_s"].median())
        # Neighbouring running means share all but one of their samples.
        width_s = max(rtt_s, SHARE_ROUND_TRIPS * rtt_s / 2, LEAST_SHARE_S / 2)
        mean, half = batched_interval(inside.to_numpy(), step_s, width_s, confidence)
        rows.append(
            {
                "run_id": run.run_id,
                "flows": [stack_of_stream(run.congestion, int(stream)) for stream in means.index],
                "flows_Mbps": [float(value) for value in means],
                "jain_of_means": float(jain(means.to_numpy())),
                "jain": mean,
                "half_width": half,
            }
        )
    columns = ["run_id", "flows", "flows_Mbps", "jain_of_means", "jain", "half_width"]
    return pd.DataFrame(rows, columns=columns)
