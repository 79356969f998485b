"""Choose results by name, and runs by the levels of their factors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import pandas as pd

from netlab.errors import BadInput
from netlab.files import paths


def is_directory(name: str | Path) -> bool:
    """True if a name is a directory of results rather than the name of a study."""
    path = paths.given_path(name)
    if isinstance(name, str) and "/" not in name and paths.results_dir(name).is_dir():
        return False
    return path.is_dir() and any((path / "runs").glob("*.parquet"))


def chosen(
    runs: pd.DataFrame, cells: pd.DataFrame, factors: Sequence[str], levels: Mapping[str, object]
) -> pd.DataFrame:
    """Select runs by column and value, or a list of values.

    Parameters
    ----------
    runs, cells : DataFrame
        A value may be that of a run, or of a cell of the design without a run.
    factors : sequence of str
        Columns that a message names.
    levels : mapping
        Column and the value wanted, or several.

    Raises
    ------
    BadInput
        The runs have no such column, or nothing has the value.
    """
    for column in levels:
        if column not in runs:
            raise BadInput(
                f"the runs have no such column; factors are {', '.join(factors)}",
                key=column,
                code="E-FACE-002",
            )
    found = runs
    for column, wanted in levels.items():
        values = list(wanted) if isinstance(wanted, list | tuple | set) else [wanted]
        _check(runs, cells, column, values)
        found = found[found[column].isin(values)]
    return found


def _check(runs: pd.DataFrame, cells: pd.DataFrame, column: str, values: list) -> None:
    known = runs[column].dropna().unique().tolist()
    if column in cells:
        known += cells[column].unique().tolist()
    known = sorted(set(known))
    for value in values:
        if value not in known:
            listed = ", ".join(map(str, known[:12])) + (", ..." if len(known) > 12 else "")
            raise BadInput(
                f"no run has this value; there are {listed}",
                key=column,
                value=value,
                code="E-FACE-003",
            )
