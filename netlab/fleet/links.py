"""Links of a fleet: the goodput of every ordered pair of hosts beside that of all others.

A cell is what the study calls so; all pairs have the same cells. The share of a link in a cell is
its goodput over the median of all links, so that cells of different goodput can be pooled.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from netlab.analysis.cells import usable
from netlab.analysis.intervals import LEAST_ROUNDS
from netlab.analysis.t_distribution import t_quantile
from netlab.errors import NetlabError
from netlab.results.flags import PAGE, counted_flags
from netlab.study.schedule import cell_of

LINK = ["sender", "receiver"]
ASYMMETRIC_PERCENT = 10.0
"""Least difference between the two directions of a pair that is called an asymmetry."""


def link_cells(runs: pd.DataFrame, confidence: float = 0.95) -> pd.DataFrame:
    """Goodput of each cell of each link."""
    good = usable(runs)
    cells = {run_id: cell_of(run_id) for run_id in good["run_id"].unique()}
    logs = np.log(good["goodput_MBps"].astype(float))
    frame = good[LINK].assign(cell=good["run_id"].map(cells), log=logs)
    by_cell = frame.groupby([*LINK, "cell"], observed=True)["log"]
    summary = by_cell.agg(["count", "mean", "std"]).reset_index()
    count, mean = summary["count"], summary["mean"]
    quantile = t_quantile(np.maximum(count - 1, 1), 0.5 + confidence / 2)
    half = (quantile * summary["std"] / np.sqrt(count)).where(count >= LEAST_ROUNDS)
    median = summary.groupby("cell", observed=True)["mean"].transform("median")
    return summary[[*LINK, "cell"]].assign(
        runs=count,
        goodput_MBps=np.exp(mean),
        low_MBps=np.exp(mean - half),
        high_MBps=np.exp(mean + half),
        share=np.exp(mean - median),
    )


def links(cells: pd.DataFrame) -> pd.DataFrame:
    """Links of a fleet, the slowest first."""
    logs = cells.assign(log=np.log(cells["share"])).groupby(LINK, observed=True)["log"]
    frame = logs.agg(cells="count", share="mean").reset_index()
    frame["share"] = np.exp(frame["share"])
    ends = {"sender": "receiver", "receiver": "sender", "share": "reverse"}
    frame = frame.merge(frame[[*LINK, "share"]].rename(columns=ends), on=LINK, how="left")
    return frame.sort_values("share", ignore_index=True)


def require_links(found: pd.DataFrame, runs: pd.DataFrame) -> None:
    """Refuse a fleet without a valid run, with the flags of those that it has."""
    if found.empty:
        text, flags = "no link of the fleet has a valid run", counted_flags(runs["flags"])
        text += f"; runs by flag: {flags}; {PAGE} says what to do about each" if flags else ""
        raise NetlabError(text, code="E-REPORT-012")


def asymmetric(found: pd.DataFrame) -> pd.Series:
    """Mask of the links slower than their other direction by :data:`ASYMMETRIC_PERCENT` or more."""
    return found["share"] < (1 - ASYMMETRIC_PERCENT / 100) * found["reverse"]


def asymmetric_pairs(found: pd.DataFrame) -> pd.DataFrame:
    """Pairs with an asymmetric link, the widest first."""
    pairs = found[asymmetric(found)].drop(columns="cells")
    return pairs.assign(ratio=pairs["share"] / pairs["reverse"]).sort_values(
        "ratio", ignore_index=True
    )


def host_links(found: pd.DataFrame) -> pd.DataFrame:
    both = pd.concat([found.assign(host=found[column], role=column) for column in LINK])
    by_host = both.groupby("host", observed=True)["share"]
    shares = by_host.agg(links="count", median="median", slowest="min", fastest="max")
    for role, name in zip(LINK, ("sends", "receives"), strict=True):
        of_role = both[both["role"] == role]
        shares[name] = of_role.groupby("host", observed=True)["share"].median()
    return shares.sort_values("median").reset_index()
