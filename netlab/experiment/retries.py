"""Runs that are measured again, and those that failed."""

from __future__ import annotations

import pandas as pd

from netlab.measure.flags import LATE_CLOSE, LATE_WATCH

INTERFERENCE = "interference"


IMPLAUSIBLE = "implausible"


def disturbed(runs: pd.DataFrame) -> pd.Series:
    """Mask of the runs with no other flag than ``interference``.

    ``implausible`` may stand beside it: the load that disturbs a run lowers the ceiling that was
    measured before it.
    """
    flags = runs["flags"].str.split(",").map(set)
    return flags.map(lambda some: INTERFERENCE in some and some <= {INTERFERENCE, IMPLAUSIBLE})


def held_up(runs: pd.DataFrame) -> pd.Series:
    """Mask of the runs that failed because a thread that ends a window got no CPU in time."""
    late = [runs["message"].str.contains(text, regex=False) for text in (LATE_CLOSE, LATE_WATCH)]
    return failed(runs) & (late[0] | late[1])


def failed(runs: pd.DataFrame) -> pd.Series:
    """Mask of the runs that failed; some have a goodput."""
    return runs["flags"].str.split(",").map(lambda flags: "failed" in flags)
