"""Series of runs over a long path: samples, windows and means on common axes."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pandas as pd

from netlab.analysis.batches import batch_means
from netlab.analysis.cells import mean_interval
from netlab.analysis.measured import Measured

BATCH_ROUND_TRIPS = 2.0


def carried(intervals: pd.DataFrame, since_s: float) -> pd.DataFrame:
    """Payload rate of a run in each interval that lies between `since_s` and the run's end."""
    inside = intervals[intervals["in_window"]]
    until_s = inside["t_s"].max() if len(inside) else -math.inf
    begins_s = intervals["t_s"] - intervals["interval_s"]
    kept = intervals[(begins_s >= since_s - 1e-9) & (intervals["t_s"] <= until_s + 1e-9)]
    sums = kept.groupby("t_s", as_index=False).agg(
        moved=("bytes", "sum"), interval_s=("interval_s", "max")
    )
    rate_Mbps = sums["moved"] * 8 / sums["interval_s"] / 1e6
    return sums[["t_s", "interval_s"]].assign(goodput_Mbps=rate_Mbps)


def batched_interval(
    values: np.ndarray, step_s: float, rtt_s: float, confidence: float
) -> tuple[float, float]:
    """Mean of correlated samples, and half its interval from means of batches of round trips."""
    values = np.asarray(values, dtype=float)
    if not len(values):
        return math.nan, math.nan
    least = max(1, math.ceil(BATCH_ROUND_TRIPS * rtt_s / step_s)) if step_s > 0 else len(values)
    return float(values.mean()), mean_interval(batch_means(values, least), confidence)[1]


def window(size_B: float) -> str:
    """A window as the page writes it: ``40 M`` is 40 MiB; 0 is the kernel's choice."""
    if size_B == 0:
        return "kernel's"
    mebi = size_B / 2**20
    return f"{mebi:.0f} M" if mebi == round(mebi) else f"{size_B / 1e6:.1f} MB"


QUANTITIES = {
    "goodput": "goodput, Mb/s",
    "window": "window, segments",
    "rtt": "RTT, ms",
    "retransmits": "retransmits",
    "queue": "queue, MB",
}
"""Quantities of a run over time, with the unit; the queue only on an emulated path."""

MOST_POINTS = 1200


def thinned(samples: pd.DataFrame) -> pd.DataFrame:
    """Samples of a line, reduced to means of neighbours beyond :data:`MOST_POINTS`."""
    samples = samples.sort_values("t_s")[["t_s", "stream", "value"]]
    if len(samples) <= MOST_POINTS:
        return samples
    bins = np.arange(len(samples)) * MOST_POINTS // len(samples)
    return samples.astype(float).groupby(bins).mean()


def seconds_mean(samples: pd.DataFrame) -> pd.DataFrame:
    """Mean rate of each second, at its end; a late sample is of the one it should have ended."""
    if samples.empty:
        return samples[["t_s", "value"]]
    last_s, steps_s = samples["t_s"].max(), np.diff(np.unique(samples["t_s"]))
    late_s = np.median(steps_s) / 4 if len(steps_s) else 0.0
    grouped = samples.groupby(np.ceil(samples["t_s"] - late_s - 1e-6))["value"].mean()
    if len(grouped) > 1 and last_s < grouped.index[-1] - 0.5 - 1e-6:
        grouped = grouped.iloc[:-1]
    t_s = np.minimum(grouped.index.to_numpy(), last_s)
    return pd.DataFrame({"t_s": t_s, "value": grouped.to_numpy()})


def traced(results: str | Path) -> bool:
    """True if a store contains traces of senders."""
    return any((Path(results) / "traces").glob("*.parquet"))


def is_traced(measured: Measured) -> bool:
    """True of traced runs on emulated paths."""
    links = [measured.study.paths[name].link for name in measured.runs["path"].unique()]
    emulated = all(link is not None and link.emulator is not None for link in links)
    return emulated and traced(measured.results)
