"""Values from the openlab report's tables, for the claims about them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import numpy as np
import pandas as pd

from netlab import published
from netlab.published.claims.model import CheckResult, Verdict

# The notes state fluctuations of a few per cent; smaller differences do not count.
FLUCTUATION = 0.03
# Largest over smallest value, less one, of a line called "almost constant" or "flat".
FLAT = 0.10
_LEVELS = ["tuning", "mtu_B", "streams"]


@cache
def report() -> pd.DataFrame:
    """Tables 1 to 6, read once."""
    return published.load("openlab-2003")


def curve(table: int, tuning: str, mtu_B: int) -> pd.Series:
    """Throughput in MB/s by stream count, one line of a chart."""
    frame = report()
    chosen = (frame["table"] == table) & (frame["tuning"] == tuning) & (frame["mtu_B"] == mtu_B)
    return frame[chosen].set_index("streams")["throughput_MBps"]


def curves(table: int, tuning: str) -> dict[int, pd.Series]:
    """All lines of a chart, by MTU."""
    frame = report()
    mtus = frame.loc[(frame["table"] == table) & (frame["tuning"] == tuning), "mtu_B"].unique()
    return {int(mtu_B): curve(table, tuning, mtu_B) for mtu_B in mtus}


def best(table: int, tuning: str | None = None) -> float:
    """Largest throughput of a table or of one of its tunings, MB/s."""
    frame = report()
    chosen = (frame["table"] == table) & ((frame["tuning"] == tuning) | (tuning is None))
    return float(frame.loc[chosen, "throughput_MBps"].max())


def best_percent(table: int) -> float:
    """Largest per cent of the bus in a table."""
    frame = report()
    return float(frame.loc[frame["table"] == table, "percent_of_bus"].max())


def ratios(table: int, other: int) -> np.ndarray:
    """Throughput of a table over that of another, for every cell that both have."""
    frame = report()
    both = [
        frame[frame["table"] == number].set_index(_LEVELS)["throughput_MBps"]
        for number in (table, other)
    ]
    shared = pd.concat(both, axis=1, join="inner").to_numpy()
    return shared[:, 0] / shared[:, 1]


def swing(line: pd.Series) -> float:
    """Largest over smallest value of a line, less one."""
    return float(line.max() / line.min() - 1)


def swings(table: int, tuning: str) -> np.ndarray:
    """`swing` of every line of a chart."""
    return np.array([swing(line) for line in curves(table, tuning).values()])


def gains(table: int, tuning: str, before: int, after: int) -> np.ndarray:
    """Relative change from one stream count to another, for every line of a chart."""
    lines = curves(table, tuning).values()
    return np.array([line[after] / line[before] - 1 for line in lines])


def peak(table: int, tuning: str, mtu_B: int) -> int:
    """`peak_of` one line of a chart."""
    return peak_of(curve(table, tuning, mtu_B))


def peaks(table: int, tuning: str) -> list[int]:
    """`peak` of every line of a chart."""
    return [peak(table, tuning, mtu_B) for mtu_B in curves(table, tuning)]


def mtus_that_gain(table: int, tuning: str) -> list[int]:
    """MTUs whose largest value is not the one of a single stream."""
    return [mtu_B for mtu_B in curves(table, tuning) if peak(table, tuning, mtu_B) != 1]


def rises(table: int, tuning: str) -> list[bool]:
    """True if throughput never falls with more streams, for every line of a chart."""
    return [bool(line.is_monotonic_increasing) for line in curves(table, tuning).values()]


def listed(line: pd.Series) -> str:
    """Values of a line as text, in the order of streams."""
    return " ".join(f"{value:g}" for value in line)


def lines(table: int, tuning: str) -> str:
    """`listed` of every line of a chart."""
    return " | ".join(map(listed, curves(table, tuning).values()))


def same_as_notes() -> int:
    """Number of cells of table 1 that equal the preliminary notes' sets 1 to 3."""
    notes = published.load("openlab-2003-preliminary").set_index(_LEVELS)["throughput_MBps"]
    table = report().query("table == 1").set_index(_LEVELS)["throughput_MBps"]
    return int((notes.reindex(table.index) == table).sum())


def outside(table: int) -> list[str]:
    """Cells of kernel tuning that do not lie between those of none and of full tuning."""
    found = []
    for mtu_B in (1500, 9000):
        cells = {tuning: curve(table, tuning, mtu_B) for tuning in ("none", "kernel", "full")}
        for streams, none, kernel, full in pd.DataFrame(cells).itertuples():
            if not min(none, full) <= kernel <= max(none, full):
                text = f"{mtu_B} B, {streams} streams: {kernel:g} against {none:g} and {full:g}"
                found.append(text)
    return found


def largest_change(table: int, before: str, after: str) -> pd.Series:
    """Relative change between two tunings by stream count, of the MTU where it is largest."""
    changes = [abs(curve(table, after, m) / curve(table, before, m) - 1) for m in (1500, 9000)]
    return max(changes, key=lambda line: line.max())


def peak_of(line: pd.Series) -> int:
    """Stream count of the largest value of a line."""
    return int(line.idxmax())


def from_streams(line: pd.Series, least: int) -> pd.Series:
    """Part of a line from a stream count on."""
    return line[line.index >= least]


def unchanged_or_better(table: int, mtu_B: int, tunings: Sequence[str]) -> CheckResult:
    """20 streams against 12: a loss within the fluctuation of the notes counts as unchanged."""
    lines = {tuning: curve(table, tuning, mtu_B) for tuning in tunings}
    changes = {tuning: line[20] / line[12] - 1 for tuning, line in lines.items()}
    text = ", ".join(f"{tuning} {100 * change:+.1f} %" for tuning, change in changes.items())
    why = "20 against 12 streams; within the few per cent of fluctuation counts as unchanged"
    worst = min(changes.values())
    if worst >= 0:
        return CheckResult(text, Verdict.HOLDS, why)
    within = worst >= -FLUCTUATION
    return CheckResult(text, Verdict.ROUNDS if within else Verdict.CONTRADICTED, why)


FUNCTIONS = (
    *(best, best_percent, curve, from_streams, gains, largest_change, lines, listed),
    *(mtus_that_gain, outside, peak, peak_of, peaks, ratios, rises, same_as_notes, swings),
    unchanged_or_better,
)
NAMES = {function.__name__: function for function in FUNCTIONS} | {"FLAT": FLAT}
"""Names for the expressions of the claims."""
