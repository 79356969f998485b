"""Build and check frames against the schema of a table."""

from __future__ import annotations

import math
import numbers
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import TypeAlias

import numpy as np
import pandas as pd

from netlab.errors import NetlabError, shown
from netlab.results.columns import RENAMED, RUN_COLUMNS, SCHEMA_VERSION, Column

_Array: TypeAlias = np.ndarray | pd.api.extensions.ExtensionArray


def frame_of(rows: list[dict], columns: tuple[Column, ...] = RUN_COLUMNS) -> pd.DataFrame:
    """Build a schema-checked frame from records.

    A column that is nullable or has a default may be left out of a record.
    """
    extra = {key for row in rows for key in row} - {c.name for c in columns}
    if extra:
        raise NetlabError(f"unknown columns in a record: {sorted(extra)}", code="E-RESULTS-005")
    # from objects: pandas would infer float for an integer column with a gap, and lose bytes
    values = {c.name: _of_objects([_value(row, c) for row in rows], c) for c in columns}
    return pd.DataFrame(values)


def _value(row: dict, column: Column) -> object:
    value = row.get(column.name)
    return column.default if value is None else value


def checked(frame: pd.DataFrame, columns: tuple[Column, ...]) -> pd.DataFrame:
    """Return a frame with the exact columns and types of a schema.

    Values are converted only without loss: an integer column takes no fraction, no text
    and no bool.
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
    converted = {
        column.name: _converted(values, column)
        for column, (_, values) in zip(columns, frame.items(), strict=True)
    }
    return pd.DataFrame(converted, index=frame.index)


def _converted(values: pd.Series, column: Column) -> _Array:
    """The values of a column in its type."""
    wanted = _type_of(column.dtype)
    if values.dtype == object:
        return _of_objects(values.tolist(), column)
    if not _lossless(values, column.dtype):
        raise _unlike(column, values.dropna().tolist())
    if not column.nullable and values.isna().any():
        raise _lacking(column)
    if values.dtype == wanted:
        return values.array
    with _conversion(column):
        return values.astype(wanted).array


def _of_objects(values: list, column: Column) -> _Array:
    """Values of any types in that of a column; None, NaN and NA are missing, NaT among times."""
    of_time = column.dtype.startswith("datetime")
    gaps = [
        value is None or value is pd.NA or (value != value and (of_time or value is not pd.NaT))
        for value in values
    ]
    present = [value for value, gap in zip(values, gaps, strict=True) if not gap]
    if not _all_lossless(present, column.dtype):
        raise _unlike(column, present)
    if len(present) < len(values) and not column.nullable:
        raise _lacking(column)
    with _conversion(column):
        return _in_type(values, gaps, column.dtype)


@contextmanager
def _conversion(column: Column) -> Iterator[None]:
    try:
        yield
    except (ValueError, TypeError, OverflowError) as error:
        reason = " ".join(str(error).split())[:200]
        raise _misfit(f"column {column.name!r}: {reason}", code="E-RESULTS-004") from None


def _in_type(values: list, gaps: list[bool], dtype: str) -> _Array:
    match dtype:
        case "int64":
            return np.array([int(value) for value in values], dtype)
        case "Int64":
            whole = [0 if gap else int(v) for v, gap in zip(values, gaps, strict=True)]
            return pd.arrays.IntegerArray(np.array(whole, "int64"), np.array(gaps, bool))
        case "float64":
            given = zip(values, gaps, strict=True)
            return np.array([math.nan if gap else value for value, gap in given], dtype)
    return pd.Series(values, dtype=object).astype(_type_of(dtype)).array


@lru_cache
def _type_of(dtype: str) -> np.dtype | pd.api.extensions.ExtensionDtype:
    return pd.api.types.pandas_dtype(dtype)


def _unlike(column: Column, values: list) -> NetlabError:
    reason = f"is {column.dtype} and holds {shown(values)}"
    return _misfit(f"column {column.name!r} {reason}", code="E-RESULTS-002")


def _lacking(column: Column) -> NetlabError:
    return _misfit(f"column {column.name!r} lacks a value", code="E-RESULTS-003")


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
    """Return whether a series of one type converts to `dtype` without loss; it may have gaps."""
    types = pd.api.types
    if values.dtype == _type_of(dtype):
        return dtype != "float64" or not np.isinf(values.to_numpy()).any()
    if dtype == "string" and isinstance(values.dtype, pd.StringDtype):
        return True
    present = values.dropna()
    if present.empty:
        return True
    if dtype in ("bool", "boolean"):
        return types.is_bool_dtype(values)
    if dtype == "string":
        return False
    if dtype not in ("int64", "Int64", "float64"):
        return isinstance(values.dtype, pd.DatetimeTZDtype)
    if not types.is_numeric_dtype(values) or types.is_bool_dtype(values):
        return False
    if types.is_integer_dtype(values):
        return True
    found = present.to_numpy(float)
    whole = dtype == "float64" or bool((found == np.trunc(found)).all())
    return whole and bool(np.isfinite(found).all())


def _all_lossless(present: list, dtype: str) -> bool:
    """Return whether objects, none missing, convert to `dtype` without loss."""
    if not present:
        return True
    if dtype in ("bool", "boolean"):
        return all(isinstance(value, bool | np.bool_) for value in present)
    if dtype == "string":
        return all(isinstance(value, str) for value in present)
    if dtype not in ("int64", "Int64", "float64"):
        found = pd.Series(present, dtype=object).infer_objects().dtype
        return isinstance(found, pd.DatetimeTZDtype)
    return all(
        isinstance(value, numbers.Real)
        and not isinstance(value, bool)
        and math.isfinite(value)
        and (dtype == "float64" or value % 1 == 0)
        for value in present
    )
