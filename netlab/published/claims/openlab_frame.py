"""Reading curves and bests out of the report's tables, for the claims about them."""

from __future__ import annotations

from functools import cache

import pandas as pd

from netlab import published

# The notes state fluctuations of a few per cent; a difference within this is none.
FLUCTUATION = 0.03
# What "almost constant" or "flat" may vary by, largest over smallest.
FLAT = 0.10


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


def best(table: int) -> float:
    """Largest throughput of a table, MB/s."""
    frame = report()
    return float(frame.loc[frame["table"] == table, "throughput_MBps"].max())


def best_percent(table: int) -> float:
    """Largest per cent of the bus in a table."""
    frame = report()
    return float(frame.loc[frame["table"] == table, "percent_of_bus"].max())


def paired(table: int, other: int) -> pd.DataFrame:
    """Cells that two tables share: columns ``this`` and ``other``, MB/s."""
    frame = report()
    levels = ["tuning", "mtu_B", "streams"]
    both = [frame[frame["table"] == t].set_index(levels)["throughput_MBps"] for t in (table, other)]
    return pd.concat(both, axis=1, keys=["this", "other"], join="inner")


def swing(line: pd.Series) -> float:
    """How far a line is from flat: largest over smallest, less one."""
    return float(line.max() / line.min() - 1)


def listed(line: pd.Series) -> str:
    """A line's values as text, in the order of streams."""
    return " ".join(f"{value:g}" for value in line)
