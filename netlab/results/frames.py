"""Build and check frames against the schema of a table."""

from __future__ import annotations

import glob
import json
import math
import numbers
import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import TypeAlias

import numpy as np
import pandas as pd
import pyarrow
import pyarrow.parquet

from netlab.errors import NetlabError, shown
from netlab.files.writing import replaced
from netlab.results.columns import READABLE_VERSIONS, RENAMED, RUN_COLUMNS, SCHEMA_VERSION, Column

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


def joined(parts: list[dict], columns: tuple[Column, ...]) -> pd.DataFrame:
    """Build a frame from several sets of columns, one below the other."""
    frames = [frame for part in parts if len(frame := pd.DataFrame(part))]
    return pd.concat(frames, ignore_index=True) if frames else frame_of([], columns)


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


# One table in one Parquet file, written atomically and checked when read.


class DamagedFile(NetlabError):
    """A file that is not whole, or whose content was altered."""


def set_aside(path: Path) -> Path:
    """Rename a damaged file, so that it is not part of the results; return its new path."""
    aside = path.with_name(f"{path.name}.damaged")
    number = 1
    while aside.exists():
        number += 1
        aside = path.with_name(f"{path.name}.damaged-{number}")
    try:
        os.replace(path, aside)
    except OSError as error:
        raise NetlabError(
            f"{path} is damaged and cannot be renamed: {error.strerror or error}",
            code="E-RESULTS-012",
        ) from None
    return aside


def write_atomically(frame: pd.DataFrame, path: Path, columns: tuple[Column, ...]) -> None:
    """Check a frame and write it atomically as Parquet with units in its metadata."""
    table = pyarrow.Table.from_pandas(checked(frame, columns), preserve_index=False)
    units = {c.name: {"unit": c.unit, "meaning": c.meaning} for c in columns}
    table = table.replace_schema_metadata(
        {
            **(table.schema.metadata or {}),
            b"netlab.schema_version": str(SCHEMA_VERSION).encode(),
            b"netlab.columns": json.dumps(units).encode(),
        }
    )
    try:
        _remove_abandoned(path)
        with replaced(path, durable=True) as partial, open(partial, "wb") as sink:
            pyarrow.parquet.write_table(table, sink, write_page_checksum=True)
    except OSError as error:
        raise NetlabError(
            f"cannot write {path}: {error.strerror or error}", code="E-RESULTS-006"
        ) from None


def _remove_abandoned(path: Path) -> None:
    """Remove incomplete files of killed writers of `path`."""
    for partial in path.parent.glob(f".{glob.escape(path.name)}.*.partial"):
        writer = partial.suffixes[-2].removeprefix(".")
        if writer.isdigit() and not Path("/proc", writer).exists():
            partial.unlink(missing_ok=True)


def complete_files(directory: Path) -> list[Path]:
    """Files below a directory, sorted, without those that are being written."""
    found = (path for path in directory.rglob("*") if not path.name.startswith("."))
    return sorted(path for path in found if path.is_file())


def read(path: Path, columns: tuple[Column, ...]) -> pd.DataFrame:
    """Read and check one Parquet file, checksums included.

    Columns that an older schema version did not have are missing in every row.
    """
    return _frame(raw(path), columns, path)


def raw(path: Path) -> pyarrow.Table:
    """Read one Parquet file of a schema version that is known, checksums included."""
    try:
        # half the time of `read_table`: the files are small and many
        with pyarrow.parquet.ParquetFile(path, page_checksum_verification=True) as file:
            table = file.read(use_threads=False)
        version = _version(table)
    except (OSError, ValueError, MemoryError, pyarrow.ArrowException) as error:
        reason = " ".join(str(error).split())[:200]
        raise DamagedFile(
            f"{path} cannot be read as results: {reason}", code="E-RESULTS-007"
        ) from None
    if version not in map(str, READABLE_VERSIONS):
        known = " and ".join(map(str, READABLE_VERSIONS))
        raise NetlabError(
            f"{path} has schema version {shown(version)}, this netlab reads {known}",
            code="E-RESULTS-008",
        )
    return table


def rows_in(path: Path) -> int:
    """Number of rows that the footer of a file states; 0 if it is missing or damaged."""
    try:
        return pyarrow.parquet.read_metadata(path).num_rows
    except (OSError, ValueError, pyarrow.ArrowException):
        return 0


def frame_of_parts(tables: dict[Path, pyarrow.Table], columns: tuple[Column, ...]) -> pd.DataFrame:
    """Check the rows of several files, in their order.

    Files with the same columns are checked together, which takes a fraction of the time.
    """
    alike: dict[tuple, list[Path]] = {}
    for path, table in tables.items():
        alike.setdefault((_version(table), *table.column_names), []).append(path)
    frames = []
    for paths in alike.values():
        try:
            whole = pyarrow.concat_tables([tables[p] for p in paths], promote_options="default")
            frames.append(_frame(whole, columns, paths[0], version=_version(tables[paths[0]])))
        except (NetlabError, pyarrow.ArrowException):
            # one by one, to name the file at fault
            frames += [_frame(tables[path], columns, path) for path in paths]
    order = [path for paths in alike.values() for path in paths]
    lengths = [tables[path].num_rows for path in order]
    found = pd.concat(frames, ignore_index=True) if len(frames) > 1 else frames[0]
    if len(alike) == 1:
        return found
    place = {path: number for number, path in enumerate(tables)}
    places = np.repeat([place[path] for path in order], lengths)
    return found.iloc[np.argsort(places, kind="stable")].reset_index(drop=True)


def _version(table: pyarrow.Table) -> str:
    return (table.schema.metadata or {}).get(b"netlab.schema_version", b"?").decode()


def _frame(
    table: pyarrow.Table, columns: tuple[Column, ...], path: Path, *, version: str = ""
) -> pd.DataFrame:
    try:
        frame = table.to_pandas(ignore_metadata=True, types_mapper=_EXACT.get)
        if (version or _version(table)) != str(SCHEMA_VERSION):
            frame = completed(frame, columns)
        return checked(with_defaults(frame, columns), columns)
    except (NetlabError, ValueError, pyarrow.ArrowException) as error:
        raise NetlabError(
            f"{path} cannot be read as results: {error}", code="E-RESULTS-009"
        ) from None


_EXACT = {pyarrow.int64(): pd.Int64Dtype()}
"""Integers with gaps stay integers."""
