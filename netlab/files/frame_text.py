"""A frame as text for a terminal, whatever the options of pandas."""

from __future__ import annotations

from collections.abc import Callable

import pandas as pd

from netlab.errors import printable
from netlab.files.text_columns import Pad, cells_of, right


def frame_text(
    frame: pd.DataFrame,
    *,
    number: Callable[[float], str] | None = None,
    missing: str = "NaN",
    head: Pad = right,
) -> str:
    """A frame without its index; numbers as pandas prints them, text printable."""
    columns = [
        [printable(str(name)), *_texts(frame.iloc[:, at], number, missing)]
        for at, name in enumerate(frame.columns)
    ]
    if not columns:
        return frame.to_string(index=False)
    heads = [column[0] for column in columns]
    widths = [max(map(cells_of, column)) for column in columns]
    rows = [map(head, heads, widths)]
    rows += [map(right, row, widths) for row in list(zip(*columns, strict=True))[1:]]
    return "\n".join("  ".join(row).rstrip() for row in rows)


def _texts(column: pd.Series, number: Callable[[float], str] | None, missing: str) -> list[str]:
    if pd.api.types.is_numeric_dtype(column.dtype) and len(column):
        with pd.option_context("display.precision", 6, "display.float_format", None):
            printed = column.to_frame().to_string(
                index=False, header=False, float_format=number, na_rep=missing
            )
        return [line.strip() for line in printed.split("\n")]
    return [_text(value, number, missing) for value in column]


def _text(value: object, number: Callable[[float], str] | None, missing: str) -> str:
    if pd.api.types.is_scalar(value) and pd.isna(value):
        return missing
    if isinstance(value, float) and number is not None:
        return number(value)
    return printable(str(value))
