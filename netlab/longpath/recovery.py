"""Cost of a loss: the window before and after it, and the time to recover."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass

import numpy as np
import pandas as pd

from netlab.analysis.shares import stack_name
from netlab.congestion import LAWS, WindowLaw

EPISODE_ROUND_TRIPS = 3.0
"""Retransmits further apart than this belong to two losses."""

LAW_OF_STACK = {law.name: law for law in LAWS}
BACK = 0.99
"""Share of the old window that counts as recovered: samples miss the exact maximum."""

LEAST_FOR_SLOPE = 4
LAW_COLUMNS = ("law_kept", "law_growth_segments", "law_recovery_s")


@dataclass(frozen=True)
class Recovery:
    """One loss in the trace of a stream."""

    before_segments: float
    least_segments: float
    kept: float
    growth_segments: float
    recovery_s: float
    seen_s: float
    rtt_ms: float


def recovery(trace: pd.DataFrame, loss_s: float) -> Recovery | None:
    """Follow the window of one stream through a loss."""
    trace = trace.sort_values("t_s")
    t_s = trace["t_s"].to_numpy(float)
    window = trace["cwnd_segments"].to_numpy(float)
    at = int(np.searchsorted(t_s, loss_s, side="right")) - 1
    if at < 0 or at >= len(t_s) - 1:
        return None
    rtt_s = float(trace["rtt_us"].iloc[at]) / 1e6
    step_s = float(np.median(np.diff(t_s)))
    # The sender learns of the loss a round trip later, and reduces the window over another one.
    until = int(np.searchsorted(t_s, loss_s + EPISODE_ROUND_TRIPS * rtt_s + step_s, side="right"))
    before = float(window[at:until].max())
    top = at + int(np.argmax(window[at:until]))
    least = float(window[top:until].min())
    if least >= before:
        return None
    low = top + int(np.flatnonzero(window[top:until] == least)[-1])
    back = np.flatnonzero(window[low:] >= BACK * before)
    end = low + int(back[0]) if len(back) else len(t_s) - 1
    rtt_ms = float(trace["rtt_us"].iloc[low : end + 1].mean()) / 1e3
    growth = math.nan
    if end - low >= LEAST_FOR_SLOPE:
        slope = np.polyfit(t_s[low : end + 1], window[low : end + 1], 1)[0]
        growth = float(slope) * rtt_ms / 1e3
    return Recovery(
        before_segments=before,
        least_segments=least,
        kept=least / before,
        growth_segments=growth,
        recovery_s=float(t_s[end] - loss_s) if len(back) else math.nan,
        seen_s=float(t_s[-1] - loss_s),
        rtt_ms=rtt_ms,
    )


def law_growth(law: WindowLaw, low: float, round_trips: float) -> float:
    """Mean segments that a law gains in a round trip, over several from a window on."""
    window, steps = low, max(1, round(round_trips))
    for _ in range(steps):
        window += law.growth(window)
    return (window - low) / steps


def beside_law(stack: str, found: Recovery) -> dict[str, float]:
    """Prediction of the stack's published law for the same loss."""
    law, before = LAW_OF_STACK.get(stack), found.before_segments
    if law is None or before < 2:
        return dict.fromkeys(LAW_COLUMNS, math.nan)
    seen_s = found.seen_s if math.isnan(found.recovery_s) else found.recovery_s
    growth = law_growth(law, found.least_segments, 1e3 * seen_s / found.rtt_ms)
    recovery_s = law.recovery_s(before, found.rtt_ms)
    return dict(zip(LAW_COLUMNS, (law.kept(before), growth, recovery_s), strict=True))


def recoveries(runs: pd.DataFrame, traces: pd.DataFrame) -> pd.DataFrame:
    """Every forced loss of a study beside the prediction of its stack's law."""
    rows = []
    traced = dict(list(traces.groupby("run_id", sort=False)))
    lost = runs[runs["forced_loss_s"].notna()] if "forced_loss_s" in runs else runs.iloc[:0]
    for run in lost.itertuples():
        part = traced.get(run.run_id)
        if part is None or run.streams != 1:
            continue
        recovered = recovery(part[part["direction"] == "forward"], float(run.forced_loss_s))
        if recovered is not None:
            stack = stack_name(run.congestion)
            row = {"run_id": run.run_id, "stack": stack, "loss_s": float(run.forced_loss_s)}
            rows.append(row | asdict(recovered) | beside_law(stack, recovered))
    columns = ["run_id", "stack", "loss_s", *Recovery.__dataclass_fields__, *LAW_COLUMNS]
    return pd.DataFrame(rows, columns=columns)
