"""Records become frames that fit the schema, or are refused."""

from __future__ import annotations

import math
import numbers

import pandas as pd
import pandera.pandas as pa

from netlab.errors import NetlabError, shown
from netlab.results.columns import RUN_COLUMNS, SCHEMA_VERSION, TABLES, Column


def _schema(columns: tuple[Column, ...]) -> pa.DataFrameSchema:
    return pa.DataFrameSchema(
        {c.name: pa.Column(c.dtype, nullable=c.nullable, coerce=True) for c in columns},
        strict=True,
        ordered=True,
    )


SCHEMAS = {columns: _schema(columns) for columns in TABLES.values()}


def frame_of(rows: list[dict], columns: tuple[Column, ...] = RUN_COLUMNS) -> pd.DataFrame:
    """Build a schema-checked frame from records; a nullable column may be left out of a record.

    Raises
    ------
    NetlabError
        A record lacks another column, has one too many, or holds a value of another type.
    """
    extra = {key for row in rows for key in row} - {c.name for c in columns}
    if extra:
        raise NetlabError(f"a record has columns the schema does not know: {sorted(extra)}")
    # as objects: pandas would infer float for an integer column with a gap, and lose bytes
    values = {c.name: pd.Series([row.get(c.name) for row in rows], dtype=object) for c in columns}
    return checked(pd.DataFrame(values), columns)


def checked(frame: pd.DataFrame, columns: tuple[Column, ...]) -> pd.DataFrame:
    """Coerce and check a frame against a schema; raises NetlabError with the first failure.

    Only what loses nothing is coerced: an integer is no float with a fraction, no text, no bool.
    """
    for column in columns:
        if column.name in frame and not _lossless(frame[column.name].dropna(), column.dtype):
            raise NetlabError(
                f"results do not fit schema version {SCHEMA_VERSION}: column {column.name!r} "
                f"is {column.dtype} and holds {shown(frame[column.name].dropna().tolist())}"
            )
        if column.name in frame and not column.nullable and frame[column.name].isna().any():
            raise NetlabError(
                f"results do not fit schema version {SCHEMA_VERSION}: column {column.name!r} "
                "may not be missing"
            )
    try:
        return SCHEMAS[columns].validate(frame)
    except (pa.errors.SchemaError, pa.errors.SchemaErrors) as error:
        reason = " ".join(str(error).split())[:200]
        raise NetlabError(f"results do not fit schema version {SCHEMA_VERSION}: {reason}") from None


def completed(frame: pd.DataFrame, columns: tuple[Column, ...]) -> pd.DataFrame:
    """Columns in their order, those that may be missing added where they are not there."""
    missing = [c.name for c in columns if c.nullable and c.name not in frame]
    known = [c.name for c in columns if c.name in frame or c.nullable]
    others = [name for name in frame if name not in known]
    return frame.assign(**dict.fromkeys(missing, None))[known + others]


def _lossless(values: pd.Series, dtype: str) -> bool:
    """Whether values, none missing, become `dtype` without a change of meaning."""
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
    return all(math.isfinite(v) and (dtype == "float64" or v == int(v)) for v in values)
