"""Links of a fleet: the goodput of every ordered pair of hosts beside that of all others.

A cell is what the study calls so; all pairs have the same cells. The share of a link in a cell is
its goodput over the median of all links, so that cells of different goodput can be pooled.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from netlab.analysis import student
from netlab.analysis.cells import valid
from netlab.analysis.intervals import LEAST
from netlab.study.schedule import cell_of

LINK = ["sender", "receiver"]
ASYMMETRIC_PERCENT = 10.0
"""Least difference between the two directions of a pair that is called an asymmetry."""


def link_cells(runs: pd.DataFrame, confidence: float = 0.95) -> pd.DataFrame:
    """Goodput of each cell of each link."""
    good = valid(runs)
    good = good[good["goodput_MBps"] > 0]
    cells = {run_id: cell_of(run_id) for run_id in good["run_id"].unique()}
    frame = good[LINK].assign(
        cell=good["run_id"].map(cells), log=np.log(good["goodput_MBps"].astype(float))
    )
    found = (
        frame.groupby([*LINK, "cell"], observed=True)["log"]
        .agg(["count", "mean", "std"])
        .reset_index()
    )
    count = found["count"]
    enough = count >= LEAST
    quantile = student.quantile(np.maximum(count - 1, 1), 0.5 + confidence / 2)
    half = (quantile * found["std"] / np.sqrt(count)).where(enough)
    median = found.groupby("cell", observed=True)["mean"].transform("median")
    return pd.DataFrame(
        {
            **{key: found[key] for key in (*LINK, "cell")},
            "runs": count,
            "goodput_MBps": np.exp(found["mean"]),
            "low_MBps": np.exp(found["mean"] - half),
            "high_MBps": np.exp(found["mean"] + half),
            "share": np.exp(found["mean"] - median),
        }
    )


def links(cells: pd.DataFrame) -> pd.DataFrame:
    """Links of a fleet, the slowest first."""
    logs = cells.assign(log=np.log(cells["share"]))
    found = logs.groupby(LINK, observed=True)["log"].agg(cells="count", share="mean").reset_index()
    found["share"] = np.exp(found["share"])
    other = found[[*LINK, "share"]].rename(
        columns={"sender": "receiver", "receiver": "sender", "share": "reverse"}
    )
    found = found.merge(other, on=LINK, how="left")
    return found.sort_values("share", ignore_index=True)


def asymmetric(found: pd.DataFrame, percent: float = ASYMMETRIC_PERCENT) -> pd.Series:
    """Mask of the links that are slower than their other direction by more than `percent`."""
    return found["share"] < (1 - percent / 100) * found["reverse"]


def asymmetric_pairs(found: pd.DataFrame) -> pd.DataFrame:
    """Pairs whose directions differ by :data:`ASYMMETRIC_PERCENT` or more, the widest first."""
    pairs = found[asymmetric(found)]
    pairs = pairs.assign(ratio=pairs["share"] / pairs["reverse"])
    return pairs.drop(columns="cells").sort_values("ratio", ignore_index=True)


def host_links(found: pd.DataFrame) -> pd.DataFrame:
    """The links of each host."""
    both = pd.concat([found.assign(host=found[column], role=column) for column in LINK])
    by_host = both.groupby("host", observed=True)["share"]
    shares = by_host.agg(links="count", median="median", slowest="min", fastest="max")
    for role, name in zip(LINK, ("sends", "receives"), strict=True):
        of_role = both[both["role"] == role]
        shares[name] = of_role.groupby("host", observed=True)["share"].median()
    return shares.sort_values("median").reset_index()
