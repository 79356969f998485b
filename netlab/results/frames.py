"""Build and check frames against the schema of a table."""

from __future__ import annotations

import math
import numbers

import numpy as np
import pandas as pd

from netlab.errors import NetlabError, shown
from netlab.results.columns import RENAMED, RUN_COLUMNS, SCHEMA_VERSION, Column


def frame_of(rows: list[dict], columns: tuple[Column, ...] = RUN_COLUMNS) -> pd.DataFrame:
    """Build a schema-checked frame from records.

    A column that is nullable or has a default may be left out of a record.

    Raises
    ------
    NetlabError
        A record lacks another column, has one too many, or holds a value of another type.
    """
    extra = {key for row in rows for key in row} - {c.name for c in columns}
    if extra:
        raise NetlabError(f"unknown columns in a record: {sorted(extra)}", code="E-RESULTS-005")
    # as objects: pandas would infer float for an integer column with a gap, and lose bytes
    values = {c.name: pd.Series([_value(row, c) for row in rows], dtype=object) for c in columns}
    return checked(pd.DataFrame(values), columns)


def _value(row: dict, column: Column) -> object:
    value = row.get(column.name)
    return column.default if value is None else value


def checked(frame: pd.DataFrame, columns: tuple[Column, ...]) -> pd.DataFrame:
    """Return a frame with the exact columns and types of a schema.

    Values are converted only without loss: an integer column takes no fraction, no text
    and no bool.

    Parameters
    ----------
    frame : DataFrame
        With the columns of the schema, in its order.
    columns : tuple of Column
        One of :data:`netlab.results.TABLES`.

    Raises
    ------
    NetlabError
        A column is missing, unknown or out of order, or holds a value that does not fit.
    """
    names, found = [c.name for c in columns], list(frame)
    if found != names:
        missing = [name for name in names if name not in found]
        unknown = [name for name in found if name not in names]
        if missing or unknown:
            reason = f"columns missing: {missing}, unknown: {unknown}"
        else:
            reason = "columns are out of order or given twice"
        raise _misfit(reason, code="E-RESULTS-001")
    converted = {}
    for column in columns:
        values = frame[column.name]
        exact = values.dtype == column.dtype and column.dtype != "float64"
        if not exact and not _lossless(values.dropna(), column.dtype):
            reason = f"is {column.dtype} and holds {shown(values.dropna().tolist())}"
            raise _misfit(f"column {column.name!r} {reason}", code="E-RESULTS-002")
        if not column.nullable and values.isna().any():
            raise _misfit(f"column {column.name!r} lacks a value", code="E-RESULTS-003")
        try:
            converts = values.dtype != pd.api.types.pandas_dtype(column.dtype)
            converted[column.name] = values.astype(column.dtype) if converts else values
        except (ValueError, TypeError, OverflowError) as error:
            reason = " ".join(str(error).split())[:200]
            raise _misfit(f"column {column.name!r}: {reason}", code="E-RESULTS-004") from None
    return pd.DataFrame(converted, index=frame.index)


def _misfit(reason: str, *, code: str) -> NetlabError:
    message = f"results do not fit schema version {SCHEMA_VERSION}: {reason}"
    return NetlabError(message, code=code)


def completed(frame: pd.DataFrame, columns: tuple[Column, ...]) -> pd.DataFrame:
    """Rename and add columns of an older file, and sort them in the order of the schema."""
    frame = frame.rename(columns=RENAMED)
    missing = [c.name for c in columns if c.nullable and c.name not in frame]
    known = [c.name for c in columns if c.name in frame or c.nullable]
    others = [name for name in frame if name not in known]
    return frame.assign(**dict.fromkeys(missing, None))[known + others]


def with_defaults(frame: pd.DataFrame, columns: tuple[Column, ...]) -> pd.DataFrame:
    """Add the columns that have a default and that a file of this version may lack."""
    for place, column in enumerate(columns):
        if column.default is not None and column.name not in frame:
            at = min(place, len(frame.columns))
            frame.insert(at, column.name, pd.Series(column.default, frame.index, column.dtype))
    return frame


def _lossless(values: pd.Series, dtype: str) -> bool:
    """Return whether values, none missing, convert to `dtype` without loss."""
    types = pd.api.types
    if values.empty:
        return True
    if dtype in ("bool", "boolean"):
        return types.is_bool_dtype(values.infer_objects())
    if dtype == "string":
        return isinstance(values.dtype, pd.StringDtype) or all(isinstance(v, str) for v in values)
    if dtype not in ("int64", "Int64", "float64"):
        return isinstance(values.infer_objects().dtype, pd.DatetimeTZDtype)
    if types.is_object_dtype(values):
        if not all(isinstance(v, numbers.Real) and not isinstance(v, bool) for v in values):
            return False
    elif not types.is_numeric_dtype(values) or types.is_bool_dtype(values):
        return False
    if types.is_integer_dtype(values):
        return True
    if types.is_float_dtype(values):
        found = values.to_numpy(float)
        whole = dtype == "float64" or bool((found == np.trunc(found)).all())
        return whole and bool(np.isfinite(found).all())
    return all(math.isfinite(v) and (dtype == "float64" or v == int(v)) for v in values)
