"""Build and check frames against the schema of a table."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from netlab.errors import NetlabError, shown
from netlab.results.columns import RENAMED, RUN_COLUMNS, SCHEMA_VERSION, Column


def frame_of(rows: list[dict], columns: tuple[Column, ...] = RUN_COLUMNS) -> pd.DataFrame:
    """Build a schema-checked frame from records.

    A column that is nullable or has a default may be left out of a record.
    """
    extra = {key for row in rows for key in row} - {c.name for c in columns}
    if extra:
        raise NetlabError(f"unknown columns in a record: {sorted(extra)}", code="E-RESULTS-005")
    arrays = {}
    for c in columns:
        values = (c.default if row.get(c.name) is None else row[c.name] for row in rows)
        # as objects: pandas would infer float for an integer column with a gap, and lose bytes
        arrays[c.name] = _converted(np.fromiter(values, object), c)
    return pd.DataFrame(arrays)


def joined(parts: list[dict], columns: tuple[Column, ...]) -> pd.DataFrame:
    """Build a frame from several sets of columns, one below the other."""
    frames = [frame for part in parts if len(frame := pd.DataFrame(part))]
    return pd.concat(frames, ignore_index=True) if frames else frame_of([], columns)


def checked(frame: pd.DataFrame, columns: tuple[Column, ...]) -> pd.DataFrame:
    """Return a frame with the exact columns and types of a schema.

    Values are converted only without loss: an integer column takes no fraction, no text
    and no bool.
    """
    names = [c.name for c in columns]
    if list(frame) != names:
        missing = [name for name in names if name not in frame]
        unknown = [name for name in frame if name not in names]
        reason = f"columns missing: {missing}, unknown: {unknown}"
        if not (missing or unknown):
            reason = "columns are out of order or given twice"
        raise _misfit(reason, code="E-RESULTS-001")
    arrays = {c.name: _converted(frame[c.name], c) for c in columns}
    return pd.DataFrame(arrays, frame.index)


_KINDS = {
    **dict.fromkeys(("int64", "Int64", "float64"), ("integer", "floating", "mixed-integer-float")),
    **dict.fromkeys(("bool", "boolean"), ("boolean",)),
    "string": ("string",),
    "datetime64[ns, UTC]": ("datetime", "datetime64"),
}
"""Kinds of values, as pandas infers them, that a column of each type takes."""
_DTYPES = {name: pd.api.types.pandas_dtype(name) for name in _KINDS}
_GAPPED = {"int64": pd.Int64Dtype(), "float64": pd.Float64Dtype(), "bool": pd.BooleanDtype()}


def _converted(values: Any, column: Column) -> Any:
    """An array of the values in their column's type; None, NaN, NA and NaT are missing."""
    dtype = _DTYPES[column.dtype]
    try:
        array = values.array if values.dtype == dtype else _in_type(values, column)
        if not column.nullable and array.isna().any():
            raise _misfit(f"column {column.name!r} lacks a value", code="E-RESULTS-003")
        if column.dtype != "float64":
            return array.astype(dtype, copy=False)
        numbers = array.to_numpy(float, na_value=np.nan)
        if np.isinf(numbers).any():
            raise _unlike(column, values)
        return numbers
    except (ValueError, TypeError, OverflowError) as error:
        reason = " ".join(str(error).split())[:200]
        raise _misfit(f"column {column.name!r}: {reason}", code="E-RESULTS-004") from None


def _in_type(values: Any, column: Column) -> Any:
    """The values in the column's type or in its variant with gaps."""
    kind = pd.api.types.infer_dtype(values)
    if kind == "datetime":
        # of objects: pandas would take times without a zone, or some among others, for UTC
        values = pd.Series(values, dtype=object).infer_objects()
        kind = "mixed" if values.dtype == object and values.notna().any() else kind
    if kind == "floating" and pd.isna(values).all():
        kind = "empty"
    if kind not in (*_KINDS[column.dtype], "empty"):
        raise _unlike(column, values)
    return pd.array(values, dtype=_GAPPED.get(column.dtype, _DTYPES[column.dtype]))


def _unlike(column: Column, values: Any) -> NetlabError:
    held = values[~pd.isna(values)].tolist()
    reason = f"is {column.dtype} and holds {shown(held)}"
    return _misfit(f"column {column.name!r} {reason}", code="E-RESULTS-002")


def _misfit(reason: str, *, code: str) -> NetlabError:
    message = f"results do not fit schema version {SCHEMA_VERSION}: {reason}"
    return NetlabError(message, code=code)


def completed(frame: pd.DataFrame, columns: tuple[Column, ...], *, older: bool) -> pd.DataFrame:
    """Add the columns that a file may lack, in the order of the schema; rename those of old."""
    if older:
        frame = frame.rename(columns=RENAMED)
    lacking = {
        c.name: c.default
        for c in columns
        if c.name not in frame and (c.default is not None or (older and c.nullable))
    }
    if not lacking:
        return frame
    frame = frame.assign(**lacking)
    names = [c.name for c in columns if c.name in frame]
    return frame[names + [name for name in frame if name not in names]]
