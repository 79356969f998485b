"""Agreement of a study's generators on one path, cell by cell.

A cell here is a set of levels without the generator: path, direction, tuning, MTU, streams,
congestion control, record length and buffers. In each cell every generator is compared with a
reference, netlab's own where it was measured. The difference is that of the geometric means of the
rounds, in per cent: the mean ratio within a round, with its interval. Two generators

- *agree* where the whole interval lies within a bound that the reader chooses,
- *differ* where the whole interval lies outside the bound,
- and are *undecided* otherwise, also with too few rounds for an interval.
"""

from __future__ import annotations

import math

import pandas as pd

from netlab.analysis.cells import valid
from netlab.analysis.effects import paired_ratio
from netlab.errors import BadInput

OWN = "netlab"
BOUND_PERCENT = 2.0
"""Default bound: two generators agree if the interval lies within it."""

AGREE, DIFFER, UNDECIDED = "agree", "differ", "undecided"
VERDICTS = (AGREE, DIFFER, UNDECIDED)

CELL = (
    *("path", "sender", "direction", "tuning", "mtu_B", "streams"),
    *("congestion", "record_length_B", "buffer_B", "receive_buffer_B"),
)
"""Levels that two compared runs share."""

COMPARED_COLUMNS = (
    *CELL,
    *("generator", "reference", "n", "n_reference", "goodput_MBps", "reference_MBps"),
    *("difference_percent", "low_percent", "high_percent", "verdict"),
)


def generators(runs: pd.DataFrame) -> list[str]:
    """Generators of some runs: netlab's own first, then in the order of the study's groups."""
    found = runs.sort_values("group")["generator"].drop_duplicates().tolist()
    return sorted(found, key=lambda name: name != OWN)


def several(runs: pd.DataFrame) -> bool:
    """True if any cell was measured with more than one generator."""
    counts = runs.groupby(list(CELL), dropna=False)["generator"].nunique()
    return bool((counts > 1).any())


def verdict(low_percent: float, high_percent: float, bound_percent: float) -> str:
    """Verdict on an interval of a difference: within a bound, outside it, or across its end."""
    if math.isnan(low_percent) or math.isnan(high_percent):
        return UNDECIDED
    if -bound_percent <= low_percent and high_percent <= bound_percent:
        return AGREE
    outside = low_percent > bound_percent or high_percent < -bound_percent
    return DIFFER if outside else UNDECIDED


def compare(
    runs: pd.DataFrame,
    *,
    confidence: float = 0.95,
    bound_percent: float = BOUND_PERCENT,
    keep_flagged: bool = False,
) -> pd.DataFrame:
    """Compare every generator with the reference of its cell."""
    if not bound_percent > 0:
        raise BadInput(
            "must be above 0", key="bound_percent", value=bound_percent, code="E-ANALYSIS-001"
        )
    usable = runs[runs["goodput_MBps"].notna()] if keep_flagged else valid(runs)
    usable = usable[usable["goodput_MBps"] > 0]
    order = generators(usable)
    rows = []
    usable = usable.set_index("round")[[*CELL, "generator", "goodput_MBps"]]
    for key, cell in usable.groupby(list(CELL), dropna=False):
        goodputs = {name: part["goodput_MBps"] for name, part in cell.groupby("generator")}
        reference, *others = [name for name in order if name in goodputs]
        for name in others:
            found = paired_ratio(goodputs[reference], goodputs[name], confidence)
            ends = [100 * (end - 1) for end in (found.ratio, found.low, found.high)]
            rows.append(
                dict(zip(CELL, key, strict=True))
                | {
                    "generator": name,
                    "reference": reference,
                    "n": len(goodputs[name]),
                    "n_reference": len(goodputs[reference]),
                    "goodput_MBps": float(goodputs[name].mean()),
                    "reference_MBps": float(goodputs[reference].mean()),
                    "difference_percent": ends[0],
                    "low_percent": ends[1],
                    "high_percent": ends[2],
                    "verdict": verdict(ends[1], ends[2], bound_percent),
                }
            )
    return pd.DataFrame.from_records(rows, columns=list(COMPARED_COLUMNS))


def summary(compared: pd.DataFrame) -> pd.DataFrame:
    """Counts and extremes for each path and generator."""
    rows = [
        {
            "path": path,
            "generator": generator,
            "cells": len(part),
            **{word: int((part["verdict"] == word).sum()) for word in VERDICTS},
            "least_percent": part["difference_percent"].min(),
            "greatest_percent": part["difference_percent"].max(),
        }
        for (path, generator), part in compared.groupby(["path", "generator"], sort=False)
    ]
    columns = ["path", "generator", "cells", *VERDICTS, "least_percent", "greatest_percent"]
    return pd.DataFrame.from_records(rows, columns=columns)


def meters(runs: pd.DataFrame, *, keep_flagged: bool = False) -> pd.DataFrame:
    """Means of the hosts' meters for each generator."""
    usable = runs[runs["goodput_MBps"].notna()] if keep_flagged else valid(runs)
    usable = usable.assign(cpu_s_per_GB=usable["agent_cpu_s"] / usable["received_B"] * 1e9)
    keys = ["path", "mtu_B", "streams", "generator"]
    values = ["goodput_MBps", "sender_cpu_percent", "receiver_cpu_percent", "cpu_s_per_GB"]
    values += ["header_share"]
    grouped = usable.groupby(keys)
    found = grouped[values].mean().astype("float64")
    found.insert(0, "n", grouped.size())
    found = found.reset_index()
    rank = {name: place for place, name in enumerate(generators(runs))}
    return found.sort_values(
        keys, key=lambda c: c.map(rank) if c.name == "generator" else c, ignore_index=True
    )
