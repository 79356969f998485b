"""Goodput of every run over time: the interval samples, summed over streams and directions."""

from __future__ import annotations

import pandas as pd


def timelines(intervals: pd.DataFrame) -> pd.DataFrame:
    """Sum the samples of all streams of a run, sample by sample."""
    known = intervals[intervals["interval_s"] > 0].sort_values(
        ["run_id", "direction", "stream", "t_s"]
    )
    stream = [known["run_id"], known["direction"], known["stream"]]
    sample = known.groupby(stream).cumcount()
    rate_MBps = known["bytes"] / known["interval_s"] / 1e6
    frame = known.assign(sample=sample, goodput_MBps=rate_MBps, n=1)
    summed = frame.groupby(["run_id", "sample"], as_index=False).agg(
        {"t_s": "mean", "goodput_MBps": "sum", "in_window": "all", "n": "sum"}
    )
    whole = summed["n"] == summed.groupby("run_id")["n"].transform("max")
    return summed.loc[whole, ["run_id", "t_s", "goodput_MBps", "in_window"]].reset_index(drop=True)
