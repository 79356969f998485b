"""Runs that are measured again, and those that failed."""

from __future__ import annotations

import pandas as pd

from netlab.measure.flags import INTERFERENCE, LATE_CLOSE, LATE_WATCH

EXPLAINED = frozenset({INTERFERENCE, "implausible"})
"""Flags that a load explains: it disturbs a run, and lowers the ceiling measured before it."""


def disturbed(runs: pd.DataFrame) -> pd.Series:
    """Mask of the runs flagged ``interference``, and nothing that a load does not explain."""
    flags = runs["flags"].str.split(",").map(set)
    return flags.map(lambda some: INTERFERENCE in some and some <= EXPLAINED)


def held_up(runs: pd.DataFrame) -> pd.Series:
    """Mask of the runs that failed because a thread that ends a window got no CPU in time."""
    late = [runs["message"].str.contains(text, regex=False) for text in (LATE_CLOSE, LATE_WATCH)]
    return failed(runs) & (late[0] | late[1])


def failed(runs: pd.DataFrame) -> pd.Series:
    """Mask of the runs that failed; some have a goodput."""
    return runs["flags"].str.split(",").map(lambda flags: "failed" in flags)
