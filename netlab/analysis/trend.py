"""Goodput over campaigns: each beside the one before, and the steps between them."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd

from netlab.analysis import student
from netlab.analysis.cells import CELL_KEYS, valid
from netlab.analysis.measured import Measured
from netlab.results import Store
from netlab.results.campaigns import ids

COLUMNS = ("campaign", "started_at", "cells", "common", "ratio", "low", "high", "level", "step")


def trend(m: Measured) -> pd.DataFrame:
    """Compare every campaign in a directory of results with the one before it."""
    rows: list[tuple] = []
    before: pd.Series | None = None
    level = 1.0
    store = Store(m.results)
    campaigns = ids(m.results)
    if m.campaign in campaigns:
        campaigns = campaigns[: campaigns.index(m.campaign) + 1]  # none that began since
    for campaign in campaigns if len(campaigns) > 1 else ():
        runs = valid(store.runs(campaign=campaign))
        own = runs[(runs["campaign"] == campaign) & (runs["goodput_MBps"] > 0)]
        if own.empty:
            continue
        logs = np.log(own["goodput_MBps"].astype(float))
        cells = logs.groupby([own[key] for key in CELL_KEYS]).mean()
        ratio, low, high, common = math.nan, math.nan, math.nan, 0
        if before is not None:
            change = (cells - before).dropna().to_numpy()
            common = len(change)
            ratio, low, high = _ratio(change, m.study.confidence)
            level = level * ratio if common else math.nan
        step = bool(low > 1 or high < 1)
        started = own["started_at"].min()
        rows.append((campaign, started, len(cells), common, ratio, low, high, level, step))
        before = cells
    return pd.DataFrame.from_records(rows, columns=list(COLUMNS))


def _ratio(logs: np.ndarray, confidence: float) -> tuple[float, float, float]:
    if not len(logs):
        return math.nan, math.nan, math.nan
    centre = float(logs.mean())
    if len(logs) < 2:
        return math.exp(centre), math.nan, math.nan
    spread = float(logs.std(ddof=1)) / math.sqrt(len(logs))
    half = float(student.quantile(len(logs) - 1, 0.5 + confidence / 2)) * spread
    return math.exp(centre), math.exp(centre - half), math.exp(centre + half)
