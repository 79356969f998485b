"""Values from the openlab report's tables, for the claims about them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from netlab.openlab.published.claims.claim import CheckResult, Verdict, frame_of

# The notes state fluctuations of a few per cent; smaller differences do not count.
FLUCTUATION = 0.03

# Largest over smallest value, less one, of a line called "almost constant" or "flat".
FLAT = 0.10
LEVELS = ["tuning", "mtu_B", "streams"]


def report() -> pd.DataFrame:
    """Tables 1 to 6."""
    return frame_of("openlab-2003")


def chart(table: int, tuning: str) -> pd.DataFrame:
    """Throughput in MB/s of a chart, a row an MTU and a column a stream count."""
    shown = report().query("table == @table and tuning == @tuning")
    return shown.pivot(index="mtu_B", columns="streams", values="throughput_MBps")


def curve(table: int, tuning: str, mtu_B: int) -> pd.Series:
    return chart(table, tuning).loc[mtu_B]


def best(table: int, tuning: str | None = None) -> float:
    """Largest throughput of a table or of one of its tunings, MB/s."""
    frame = report()
    chosen = (frame["table"] == table) & ((frame["tuning"] == tuning) | (tuning is None))
    return float(frame.loc[chosen, "throughput_MBps"].max())


def best_percent(table: int) -> float:
    """Largest per cent of the bus in a table."""
    return float(report().groupby("table")["percent_of_bus"].max()[table])


def ratios(table: int, other: int) -> np.ndarray:
    """Throughput of a table over that of another, for every cell that both have."""
    one, two = (
        report().query("table == @number").set_index(LEVELS)["throughput_MBps"]
        for number in (table, other)
    )
    return (one / two).dropna().to_numpy()


def swings(table: int, tuning: str) -> pd.Series:
    """Largest over smallest value of every line of a chart, less one."""
    lines = chart(table, tuning)
    return lines.max(axis=1) / lines.min(axis=1) - 1


def peaks(table: int, tuning: str) -> list[int]:
    """Stream count of the largest value of every line of a chart."""
    return chart(table, tuning).idxmax(axis=1).tolist()


def mtus_that_gain(table: int, tuning: str) -> list[int]:
    """MTUs whose largest value is not the one of a single stream."""
    return [mtu_B for mtu_B, at in chart(table, tuning).idxmax(axis=1).items() if at != 1]


def rises(table: int, tuning: str) -> list[bool]:
    """True if throughput never falls with more streams, for every line of a chart."""
    return [line.is_monotonic_increasing for _, line in chart(table, tuning).iterrows()]


def listed(line: pd.Series) -> str:
    """Values of a line as text, in the order of streams."""
    return " ".join(f"{value:g}" for value in line)


def lines(table: int, tuning: str) -> str:
    """`listed` of every line of a chart."""
    return " | ".join(listed(line) for _, line in chart(table, tuning).iterrows())


def same_as_notes() -> int:
    """Number of cells of table 1 that equal the preliminary notes' sets 1 to 3."""
    notes = frame_of("openlab-2003-preliminary").set_index(LEVELS)["throughput_MBps"]
    table = report().query("table == 1").set_index(LEVELS)["throughput_MBps"]
    return int((notes.reindex(table.index) == table).sum())


def outside(table: int) -> list[str]:
    """Cells of kernel tuning that do not lie between those of none and of full tuning."""
    names = []
    for mtu_B in (1500, 9000):
        cells = {tuning: curve(table, tuning, mtu_B) for tuning in ("none", "kernel", "full")}
        for streams, none, kernel, full in pd.DataFrame(cells).itertuples():
            if not min(none, full) <= kernel <= max(none, full):
                against = f"{kernel:g} against {none:g} and {full:g}"
                names.append(f"{mtu_B} B, {streams} streams: {against}")
    return names


def largest_change(table: int, before: str, after: str) -> pd.Series:
    """Relative change between two tunings by stream count, of the MTU where it is largest."""
    changes = [abs(curve(table, after, m) / curve(table, before, m) - 1) for m in (1500, 9000)]
    return max(changes, key=lambda line: line.max())


def unchanged_or_better(table: int, mtu_B: int, tunings: Sequence[str]) -> CheckResult:
    """20 streams against 12: a loss within the fluctuation of the notes counts as unchanged."""
    lines = {tuning: curve(table, tuning, mtu_B) for tuning in tunings}
    changes = {tuning: line[20] / line[12] - 1 for tuning, line in lines.items()}
    text = ", ".join(f"{tuning} {100 * change:+.1f} %" for tuning, change in changes.items())
    why = "20 against 12 streams; within the few per cent of fluctuation counts as unchanged"
    worst = min(changes.values())
    verdict = Verdict.ROUNDS if worst >= -FLUCTUATION else Verdict.CONTRADICTED
    return CheckResult(text, Verdict.HOLDS if worst >= 0 else verdict, why)
