"""Values from the preliminary notes, and one claim for each stated total."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd

from netlab.openlab.published.claims.claim import (
    CheckResult,
    Claim,
    PrintedValue,
    Verdict,
    frame_of,
)
from netlab.openlab.published.claims.report_values import LEVELS

PRELIMINARY = "openlab-preliminary"
_SET_OF_TUNING = {"none": 1, "kernel": 2, "full": 3}

# A per-stream figure is cut or rounded to 1 MB/s, so each stream may be 1 MB/s off.
_PER_STREAM_TOLERANCE_MBPS = 1.0


def cells(tuning: str, mtus_B: int | list[int], streams: int | list[int]) -> np.ndarray:
    """Throughputs of one set, MB/s, for several MTUs or several stream counts."""
    frame = frame_of("openlab-2003-preliminary").set_index(LEVELS)["throughput_MBps"]
    pairs = np.broadcast(np.array(mtus_B), np.array(streams))
    return np.array([float(frame[(tuning, *pair)]) for pair in pairs])


def cell(tuning: str, mtu_B: int, streams: int) -> float:
    """Throughput of one cell, MB/s."""
    return float(cells(tuning, [mtu_B], streams)[0])


def largest_total(tuning: str | None = None) -> float:
    """Largest total of several streams in all sets or in one, without the misprints, MB/s."""
    frame = frame_of("openlab-2003-preliminary").drop(misprints().index)
    chosen = (frame["streams"] > 1) & ((frame["tuning"] == tuning) | (tuning is None))
    return float(frame.loc[chosen, "throughput_MBps"].max())


def check_total(per_stream_MBps: float, streams: int, printed: PrintedValue) -> CheckResult:
    """Compare a stated total with streams times the per-stream figure."""
    each_MBps, tolerance = printed.number / streams, streams * _PER_STREAM_TOLERANCE_MBPS
    why = f"{streams} x {per_stream_MBps:g}; the total means {each_MBps:.2f} a stream"
    total_MBps = per_stream_MBps * streams
    result = printed.against(total_MBps, why, unit="MB/s", tolerance=tolerance)
    if result.verdict is not Verdict.CONTRADICTED:
        return result
    off = abs(each_MBps - per_stream_MBps)
    return replace(result, why=f"{why}, {off:.0f} MB/s off: a misprint in one of the two")


def totals() -> tuple[Claim, ...]:
    """One claim for each stated total, in the order of the notes."""
    return tuple(
        Claim(
            PRELIMINARY,
            f"Set {_SET_OF_TUNING[row.tuning]}, MTU {row.mtu_B}, {row.streams} streams",
            f"Total of {row.streams} streams of {row.per_stream_MBps:g} MB/s",
            PrintedValue(f"tot:{row.stated_total_MBps:g}"),
            {"check_total": check_total},
            check=f"check_total({row.per_stream_MBps}, {row.streams}, printed)",
        )
        for row in _stated().itertuples(index=False)
    )


def misprints() -> pd.DataFrame:
    """Rows whose stated total cannot be the sum of their streams."""
    wrong = [claim.checked().verdict is Verdict.CONTRADICTED for claim in totals()]
    stated = _stated()[wrong]
    return stated.assign(streams_times_MBps=stated["per_stream_MBps"] * stated["streams"])


def _stated() -> pd.DataFrame:
    return frame_of("openlab-2003-preliminary").dropna(subset="stated_total_MBps")
