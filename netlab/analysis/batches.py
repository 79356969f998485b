"""Interval of a single run: means of batches of its samples."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd

from netlab.analysis.intervals import Interval, log_interval

MAX_BATCHES = 10
MIN_BATCHES = 3
BATCH_SAMPLES = 2
"""Neighbouring samples of a stream are correlated, so an interval from within one run is taken
over means of at least this many of them, where the run has enough."""


def window_rates(intervals: pd.DataFrame) -> pd.Series:
    """Goodput in each sample of a run's window, MB/s, summed over streams and directions."""
    inside = intervals[intervals["in_window"]]
    return timelines(inside).set_index("run_id")["goodput_MBps"]


def timelines(intervals: pd.DataFrame) -> pd.DataFrame:
    """Sum the samples of all streams of a run, sample by sample; of RTTs the larger direction's."""
    stream = ["run_id", "direction", "stream"]
    timed = intervals[intervals["interval_s"] > 0].sort_values([*stream, "t_s"])
    sample, rate_MBps = timed.groupby(stream).cumcount(), timed["bytes"] / timed["interval_s"] / 1e6
    frame = timed.assign(sample=sample, goodput_MBps=rate_MBps, n=1)
    rtts = [name for name in ("rtt_p50_us", "rtt_p99_us") if name in timed]
    summed = frame.groupby(["run_id", "sample"], as_index=False).agg(
        {"t_s": "mean", "goodput_MBps": "sum", "in_window": "all", "n": "sum"}
        | dict.fromkeys(rtts, "max")
    )
    whole = summed["n"] == summed.groupby("run_id")["n"].transform("max")
    columns = ["run_id", "t_s", "goodput_MBps", "in_window", *rtts]
    return summed.loc[whole, columns].reset_index(drop=True)


def batch_interval(rates: np.ndarray, confidence: float) -> Interval:
    """Interval of a mean from batch means of correlated samples."""
    rates = np.asarray(rates, dtype=float)
    means = batch_means(rates, BATCH_SAMPLES)
    means = means if len(means) else rates
    if len(means) < MIN_BATCHES:
        return Interval(float(rates.mean()) if len(rates) else math.nan, math.nan, math.nan)
    return log_interval(means, confidence)


def batch_means(values: np.ndarray, least: int) -> np.ndarray:
    """Means of batches of at least `least` correlated samples; none of too few samples."""
    batches = min(MAX_BATCHES, len(values) // least)
    if batches < MIN_BATCHES:
        return np.empty(0)
    return np.array([part.mean() for part in np.array_split(values, batches)])
