"""Values from the preliminary notes, and one claim for each stated total."""

from __future__ import annotations

from functools import cache

import numpy as np
import pandas as pd

from netlab import published
from netlab.published.claims import openlab
from netlab.published.claims.model import CheckResult, Claim, PrintedValue, Verdict
from netlab.published.layout import HALF_SPEED_MBPS

DOCUMENT = "openlab-preliminary"
_SET_OF_TUNING = {"none": 1, "kernel": 2, "full": 3}
# A per-stream figure is cut or rounded to 1 MB/s, so each stream may be 1 MB/s off.
_PER_STREAM_TOLERANCE_MBPS = 1.0


@cache
def _notes() -> pd.DataFrame:
    return published.load("openlab-2003-preliminary")


def cells(tuning: str, mtus_B: int | list[int], streams: int | list[int]) -> np.ndarray:
    """Throughputs of one set, MB/s, for several MTUs or several stream counts."""
    frame = _notes()[_notes()["tuning"] == tuning].set_index(["mtu_B", "streams"])
    pairs = np.broadcast(np.array(mtus_B), np.array(streams))
    return np.array([float(frame.loc[pair, "throughput_MBps"]) for pair in pairs])


def cell(tuning: str, mtu_B: int, streams: int) -> float:
    """Throughput of one cell, MB/s."""
    return float(cells(tuning, [mtu_B], streams)[0])


def largest_total(tuning: str | None = None) -> float:
    """Largest total of several streams in all sets or in one, without the misprints, MB/s."""
    frame = _notes().drop(misprints().index)
    chosen = (frame["streams"] > 1) & ((frame["tuning"] == tuning) | (tuning is None))
    return float(frame.loc[chosen, "throughput_MBps"].max())


def most_of_report() -> float:
    """Largest throughput of the later report, MB/s."""
    return float(openlab.report()["throughput_MBps"].max())


def check_total(per_stream_MBps: float, streams: int, printed: PrintedValue) -> CheckResult:
    """Compare a stated total with streams times the per-stream figure."""
    each_MBps = printed.number / streams
    result = printed.against(
        per_stream_MBps * streams,
        f"{streams} x {per_stream_MBps:g}; the total means {each_MBps:.2f} a stream",
        unit="MB/s",
        tolerance=streams * _PER_STREAM_TOLERANCE_MBPS,
    )
    if result.verdict is not Verdict.CONTRADICTED:
        return result
    off = abs(each_MBps - per_stream_MBps)
    why = f"{result.why}, {off:.0f} MB/s off: a misprint in one of the two"
    return CheckResult(result.recomputed, result.verdict, why)


def totals() -> tuple[Claim, ...]:
    """One claim for each stated total, in the order of the notes."""
    return tuple(
        Claim(
            DOCUMENT,
            f"Set {_SET_OF_TUNING[row.tuning]}, MTU {row.mtu_B}, {row.streams} streams",
            f"Total of {row.streams} streams of {row.per_stream_MBps:g} MB/s",
            PrintedValue(f"tot:{row.stated_total_MBps:g}"),
            NAMES,
            check=f"check_total({row.per_stream_MBps}, {row.streams}, printed)",
        )
        for row in _stated().itertuples(index=False)
    )


def misprints() -> pd.DataFrame:
    """Rows whose stated total cannot be the sum of their streams."""
    wrong = [claim.checked().verdict is Verdict.CONTRADICTED for claim in totals()]
    found = _stated()[wrong]
    return found.assign(streams_times_MBps=found["per_stream_MBps"] * found["streams"])


def _stated() -> pd.DataFrame:
    return _notes().dropna(subset="stated_total_MBps")


FUNCTIONS = (cell, cells, check_total, largest_total, most_of_report)
NAMES = {function.__name__: function for function in FUNCTIONS} | {
    "HALF_SPEED_MBPS": HALF_SPEED_MBPS,
    "MTUS_B": [1500, 9000, 16114],
}
"""Names for the expressions of the claims."""
