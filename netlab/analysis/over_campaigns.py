"""Goodput over campaigns: each beside the one before, and the steps between them."""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np
import pandas as pd

from netlab.analysis.cells import CELL_KEYS, usable
from netlab.analysis.effects import Ratio, mean_ratio_of
from netlab.analysis.measured import Measured
from netlab.results.campaign_files import ids
from netlab.results.store import Store

TREND_COLUMNS = (
    *("campaign", "started_at", "cells", "common"),
    *("ratio", "low", "high", "level", "step"),
)


def trend(m: Measured) -> pd.DataFrame:
    """Compare every campaign in a directory of results with the one before it."""
    campaigns, store = ids(m.results), Store(m.results)
    if m.campaign in campaigns:
        campaigns = campaigns[: campaigns.index(m.campaign) + 1]  # none that began since
    needed = (*CELL_KEYS, "campaign", "started_at", "flags", "goodput_MBps")
    measured = store.of_campaigns(campaigns if len(campaigns) > 1 else (), needed)
    own = ((campaign, runs[runs["campaign"] == campaign]) for campaign, runs in measured)
    return trend_of(own, m.study.confidence)


def trend_of(measured: Iterable[tuple[str, pd.DataFrame]], confidence: float) -> pd.DataFrame:
    """Compare runs with those before them, cell by cell."""
    rows: list[tuple] = []
    before, level = pd.Series(dtype=float), 1.0
    for name, runs in measured:
        own = usable(runs)
        if own.empty:
            continue
        logs = np.log(own["goodput_MBps"].astype(float))
        cells = logs.groupby([own[key] for key in CELL_KEYS]).mean()
        change = (cells - before).dropna().to_numpy() if rows else np.empty(0)
        ratio = Ratio(math.nan, math.nan, math.nan)
        if len(change):
            ratio = mean_ratio_of(change, confidence)
        level *= ratio.ratio if rows else 1.0
        figures = (ratio.ratio, ratio.low, ratio.high, level, ratio.low > 1 or ratio.high < 1)
        rows.append((name, own["started_at"].min(), len(cells), len(change), *figures))
        before = cells
    return pd.DataFrame.from_records(rows, columns=list(TREND_COLUMNS))
