"""Runs that are measured again, and those that failed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

import pandas as pd

from netlab.analysis.intervals import LEAST_ROUNDS
from netlab.measure.flags import LATE_CLOSE, LATE_WATCH
from netlab.results.flags import Flag
from netlab.study import Study
from netlab.study.schedule import Visit, cell_of

EXPLAINED = frozenset({Flag.INTERFERENCE, Flag.IMPLAUSIBLE})
"""Flags that a load explains: it disturbs a run, and lowers the ceiling measured before it."""


def disturbed(runs: pd.DataFrame) -> pd.Series:
    """Mask of the runs flagged ``interference``, and nothing that a load does not explain."""
    flags = runs["flags"].str.split(",").map(set)
    return flags.map(lambda some: Flag.INTERFERENCE in some and some <= EXPLAINED)


def next_lot(
    runs: pd.DataFrame,
    planned: Sequence[Sequence[Visit]],
    tried: Mapping[str, int],
    study: Study,
    going: frozenset[str] | None = None,
) -> set[str]:
    """Ids of the disturbed runs that are measured again next: one a cell, of the neediest cells."""
    enough = min(study.min_rounds, LEAST_ROUNDS)
    clean = Counter(runs.loc[runs["flags"] == "", "run_id"].map(cell_of))
    again = set(runs.loc[disturbed(runs) | held_up(runs), "run_id"])
    lots: dict[int, dict[str, str]] = {}
    for run in (run for each in planned for visit in each for run in visit.runs):
        if run.run_id not in again or tried.get(run.run_id, 0) >= study.noise.retries:
            continue
        if clean[run.cell_id] < enough and (going is None or run.cell_id in going):
            lots.setdefault(clean[run.cell_id], {}).setdefault(run.cell_id, run.run_id)
    return set(lots[min(lots)].values()) if lots else set()


def held_up(runs: pd.DataFrame) -> pd.Series:
    """Mask of the runs that failed because a thread that ends a window got no CPU in time."""
    late = [runs["message"].str.contains(text, regex=False) for text in (LATE_CLOSE, LATE_WATCH)]
    return failed(runs) & (late[0] | late[1])


def failed(runs: pd.DataFrame) -> pd.Series:
    return runs["flags"].str.split(",").map(lambda flags: Flag.FAILED in flags)
