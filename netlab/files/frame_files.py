"""A frame in a file for another program: CSV, Excel, Stata, Arrow or Parquet by its suffix."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pandas as pd

from netlab.errors import NetlabError, require
from netlab.files.tables import csv_of
from netlab.files.workbook import write_workbook
from netlab.files.writing import replaced

STR_MOST_B = 2045
"""Longest text of a Stata variable that is not a strL."""
LABEL_MOST = 80
"""Characters of a variable's label."""


def _csv(frame: pd.DataFrame, path: Path) -> None:
    path.write_text(csv_of(frame), encoding="utf-8")


def _stata(frame: pd.DataFrame, path: Path) -> None:
    """Times become UTC without a zone, missing text is empty: Stata has neither.

    A name with other characters than Stata's has ``_`` in their place, and is in the label.
    """
    plain = frame.copy()
    long = []
    for name, column in frame.items():
        if isinstance(column.dtype, pd.DatetimeTZDtype):
            plain[name] = column.dt.tz_convert("UTC").dt.tz_localize(None)
        elif pd.api.types.is_string_dtype(column.dtype) or column.dtype == object:
            plain[name] = column.astype(object).where(column.notna(), "").map(str)
            if plain[name].str.encode("utf-8").str.len().max() > STR_MOST_B:
                long.append(name)
    units = {name: unit for name, unit in frame.attrs.get("units", {}).items() if name in plain}
    names = {name: re.sub(r"\W", "_", str(name)) for name in plain}
    if len(set(names.values())) < len(names):
        names = {}  # pandas numbers them, with a warning
    for name, short in names.items():
        if name != short:
            units[name] = ", ".join(filter(None, [str(name), units.get(name)]))[:LABEL_MOST]
    plain.rename(columns=names).to_stata(
        path,
        write_index=False,
        version=118,
        convert_strl=[names.get(name, name) for name in long],
        variable_labels={names.get(name, name): label for name, label in units.items()},
    )


def _arrow(frame: pd.DataFrame, path: Path) -> None:
    frame.to_feather(path)


def _parquet(frame: pd.DataFrame, path: Path) -> None:
    frame.to_parquet(path, index=False)


WRITERS: dict[str, Callable[[pd.DataFrame, Path], None]] = {
    ".csv": _csv,
    ".dta": _stata,
    ".arrow": _arrow,
    ".feather": _arrow,
    ".parquet": _parquet,
    ".xlsx": write_workbook,
}


def write_frame(frame: pd.DataFrame, path: Path) -> Path:
    """Write a frame in the format of the path's suffix, atomically; an index becomes columns."""
    kind = path.suffix.lower()
    require(kind, WRITERS, key="suffix", code="E-FILES-027")
    named = any(name is not None for name in frame.index.names)
    plain = frame.reset_index(drop=not named)
    try:
        with replaced(path) as partial:
            WRITERS[kind](plain, partial)
    except OSError as error:
        reason = f"cannot write {path}: {error.strerror or error}"
        raise NetlabError(reason, code="E-FILES-028") from None
    return path
