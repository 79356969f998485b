"""Runs over a long path: end of slow start, and goodput after it.

All values come from the samples of a run: the sink's bytes at every interval, and the sender's
RTT, congestion window and retransmits.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import pandas as pd

from netlab.longpath.recovery import EPISODE_ROUND_TRIPS
from netlab.longpath.series import batched_interval, carried

GROWS = 1.25
"""Least growth in a round trip that counts as slow start, which doubles the window."""


@dataclass(frozen=True)
class SlowStart:
    """End of the slow start of a stream."""

    end_s: float
    over_s: float
    window_segments: float
    ended_by: str


def slow_start(trace: pd.DataFrame) -> SlowStart:
    trace = trace.sort_values("t_s")
    t_s = trace["t_s"].to_numpy(float)
    window = trace["cwnd_segments"].to_numpy(float)
    again = trace["retransmits"].to_numpy(float)
    rtt_s = trace["rtt_us"].to_numpy(float) / 1e6
    if len(t_s) < 2:
        return SlowStart(math.nan, math.nan, math.nan, "")
    # Samples are the finest resolution, so growth is measured over at least one interval.
    step_s = float(np.median(np.diff(t_s)))
    reach_s = np.maximum(rtt_s, step_s) + step_s / 2
    lost = np.flatnonzero(again > again[0])
    before = np.searchsorted(t_s, t_s - reach_s + 1e-9, side="right") - 1
    settled = (t_s >= t_s[0] + 2 * reach_s) & (window < GROWS * window[before])
    flat = np.flatnonzero(settled & (before >= 0))
    ends = [(lost[0], "loss")] if len(lost) else []
    ends += [(flat[0], "no more growth")] if len(flat) else []
    if not ends:
        return SlowStart(math.nan, math.nan, float(window.max()), "")
    at, ended_by = min(ends)
    # After an overshoot the window stops before the first retransmit is counted.
    soon = at + np.searchsorted(t_s[at:], t_s[at] + EPISODE_ROUND_TRIPS * reach_s[at])
    over_s = t_s[at]
    if len(lost) and lost[0] < soon:
        ended_by = "loss"
        over_s = episode_end_s(t_s, again, reach_s, int(lost[0]))
    return SlowStart(float(t_s[at]), float(over_s), float(window[: soon + 1].max()), ended_by)


def episode_end_s(t_s: np.ndarray, again: np.ndarray, rtt_s: np.ndarray, at: int) -> float:
    """Time of the last retransmit of the loss at sample `at`, plus one round trip."""
    last = at
    for k in np.flatnonzero(np.diff(again) > 0) + 1:
        if k > last and t_s[k] - t_s[last] <= EPISODE_ROUND_TRIPS * rtt_s[last]:
            last = int(k)
    return float(t_s[last] + rtt_s[last])


def after_slow_start(
    runs: pd.DataFrame, intervals: pd.DataFrame, traces: pd.DataFrame, confidence: float = 0.95
) -> pd.DataFrame:
    """Goodput of each run after the slow start of all its streams."""
    rows = []
    by_run = dict(list(intervals.groupby("run_id", sort=False)))
    traced = dict(list(traces.groupby("run_id", sort=False)))
    for run_id in runs["run_id"]:
        row = {"run_id": run_id, "ended_by": ""}
        if run_id in traced and run_id in by_run:
            streams = traced[run_id].groupby(["direction", "stream"])
            starts = [slow_start(part) for _, part in streams]
            since_s = float(np.max([s.over_s for s in starts]))  # NaN if one is not over
            rate = carried(by_run[run_id], since_s)
            step_s = float(rate["interval_s"].median()) if len(rate) else 0.0
            rtt_s = float(traced[run_id]["rtt_us"].median()) / 1e6
            mean, half = batched_interval(
                rate["goodput_Mbps"].to_numpy(), step_s, rtt_s, confidence
            )
            row |= {
                "slow_start_s": float(np.max([s.end_s for s in starts])),
                "since_s": since_s,
                "ended_by": ", ".join(sorted({s.ended_by or "not over" for s in starts})),
                "top_segments": max(s.window_segments for s in starts),
                "mean_Mbps": mean,
                "half_width_Mbps": half,
                "after_s": float(rate["interval_s"].sum()),
            }
        rows.append(row)
    numbers = ["slow_start_s", "since_s", "top_segments", "mean_Mbps", "half_width_Mbps", "after_s"]
    frame = pd.DataFrame(rows, columns=["run_id", "ended_by", *numbers])
    return frame.astype(dict.fromkeys(numbers, float))
