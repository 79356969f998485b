"""Match the cells of two sets of runs: which columns identify a cell, and which runs it has."""

from __future__ import annotations

import pandas as pd

from netlab.analysis.cells import valid

BASE = ("group", "path", "sender", "direction", "tuning", "mtu_B", "streams")
MORE = (
    *(
        "factors",
        "congestion",
        "generator",
        "engine",
        "record_length_B",
        "buffer_B",
        "receive_buffer_B",
    ),
    "records",
)
"""Factors that a cell has besides :data:`BASE`, where a side has several levels of them."""

LABELS = ("group",)
"""Columns that name cells and are not factors: left out where the sides share no level."""


def usable(runs: pd.DataFrame) -> pd.DataFrame:
    """Return the valid runs that moved bytes."""
    good = valid(runs)
    return good[good["goodput_MBps"] > 0]


def without_shared(a: pd.DataFrame, b: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame, int]:
    """Both sides without common records: comparing a record with itself has no information."""
    named = [
        pd.MultiIndex.from_frame(side[["run_id", "campaign", "started_at"]].astype(object))
        for side in (a, b)
    ]
    in_b, in_a = named[0].isin(named[1]), named[1].isin(named[0])
    return a[~in_b], b[~in_a], int(in_b.sum())


def _levels(runs: pd.DataFrame, column: str) -> set:
    return set(plain_values(runs[column]))


def plain_values(values: pd.Series) -> list:
    """Values with None where one is missing: NaN does not equal itself."""
    plain = values.to_numpy(dtype=object)
    missing = pd.isna(plain)
    return [None if gone else value for value, gone in zip(plain, missing, strict=True)]


def keys_of(a: pd.DataFrame, b: pd.DataFrame, by: str) -> tuple[tuple[str, ...], pd.DataFrame]:
    """Columns that identify a cell, and factors that differ altogether between the sides."""
    apart, keys = [], []
    for column in (*BASE, *MORE):
        of_a, of_b = _levels(a, column), _levels(b, column)
        one_each = len(of_a) == len(of_b) == 1
        different = column == by or (one_each and of_a != of_b)
        if column in LABELS and not of_a & of_b:
            different = True
        if different:
            apart.append((column, _listed(of_a), _listed(of_b)))
        elif column in BASE:
            keys.append(column)
    dropped = {column for column, _, _ in apart}
    for column in MORE:
        if column not in dropped and any(_varies(side, keys, column) for side in (a, b)):
            keys.append(column)
    return tuple(keys), pd.DataFrame.from_records(apart, columns=["item", "a", "b"])


def _varies(runs: pd.DataFrame, keys: list[str], column: str) -> bool:
    """True if a column has several levels among the runs of a cell."""
    if runs[column].nunique(dropna=False) < 2:
        return False
    return bool((runs.groupby(keys, dropna=False)[column].nunique(dropna=False) > 1).any())


def _listed(levels: set) -> str:
    shown = sorted("none" if level is None else str(level) for level in levels)
    return ", ".join(shown[:6]) + (f" and {len(shown) - 6} more" if len(shown) > 6 else "")


def cells_of(runs: pd.DataFrame, keys: tuple[str, ...]) -> dict[tuple, list[int]]:
    """Positions of the runs of each cell, in the order they appear."""
    found: dict[tuple, list[int]] = {}
    for at, key in enumerate(zip(*(plain_values(runs[column]) for column in keys), strict=True)):
        found.setdefault(key, []).append(at)
    return found
