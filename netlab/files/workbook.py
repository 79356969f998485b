"""A frame as a workbook of one sheet (Office Open XML, ECMA-376), without a package for it."""

from __future__ import annotations

import datetime
import re
import zipfile
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from string import ascii_uppercase
from typing import Any
from xml.sax.saxutils import escape

import numpy as np
import pandas as pd

from netlab.errors import BadInput

MOST_ROWS, MOST_COLUMNS, MOST_CHARACTERS = 1_048_576, 16_384, 32_767
"""Of a sheet, the row of names included; and of a cell."""

MOST_DIGITS = 10**15
"""A number of a spreadsheet has 15 digits; a greater integer is text."""

_EPOCH = datetime.datetime(1899, 12, 30)
_DATES = (datetime.datetime, np.datetime64)
_UNFIT = re.compile("[\x00-\x08\x0b-\x1f\ufffe\uffff\ud800-\udfff]|_(?=x[0-9A-Fa-f]{4}_)")
"""Characters that XML lacks, and the start of what a spreadsheet takes for one of them."""

_HEAD = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n'
_SCHEMAS = "http://schemas.openxmlformats.org"
_MAIN = f'xmlns="{_SCHEMAS}/spreadsheetml/2006/main"'
_OFFICE = f"{_SCHEMAS}/officeDocument/2006/relationships"
_PACKAGE = f"{_SCHEMAS}/package/2006"
_TYPE = "application/vnd.openxmlformats-officedocument.spreadsheetml"
_DATE, _BOLD = 1, 2
"""Formats of cells, by their place in the styles."""

_PARTS = {
    "[Content_Types].xml": (
        f'<Types xmlns="{_PACKAGE}/content-types">'
        '<Default Extension="rels" '
        'ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
        f'<Override PartName="/xl/workbook.xml" ContentType="{_TYPE}.sheet.main+xml"/>'
        f'<Override PartName="/xl/styles.xml" ContentType="{_TYPE}.styles+xml"/>'
        f'<Override PartName="/xl/worksheets/sheet1.xml" ContentType="{_TYPE}.worksheet+xml"/>'
        "</Types>"
    ),
    "_rels/.rels": (
        f'<Relationships xmlns="{_PACKAGE}/relationships"><Relationship Id="rId1" '
        f'Type="{_OFFICE}/officeDocument" Target="xl/workbook.xml"/></Relationships>'
    ),
    "xl/workbook.xml": (
        f'<workbook {_MAIN} xmlns:r="{_OFFICE}"><sheets>'
        '<sheet name="netlab" sheetId="1" r:id="rId1"/></sheets></workbook>'
    ),
    "xl/_rels/workbook.xml.rels": (
        f'<Relationships xmlns="{_PACKAGE}/relationships">'
        f'<Relationship Id="rId1" Type="{_OFFICE}/worksheet" Target="worksheets/sheet1.xml"/>'
        f'<Relationship Id="rId2" Type="{_OFFICE}/styles" Target="styles.xml"/></Relationships>'
    ),
    "xl/styles.xml": (
        f'<styleSheet {_MAIN}><numFmts count="1">'
        '<numFmt numFmtId="164" formatCode="yyyy\\-mm\\-dd\\ hh:mm:ss.000"/></numFmts>'
        '<fonts count="2"><font><sz val="11"/><name val="Calibri"/></font>'
        '<font><b/><sz val="11"/><name val="Calibri"/></font></fonts>'
        '<fills count="2"><fill><patternFill patternType="none"/></fill>'
        '<fill><patternFill patternType="gray125"/></fill></fills>'
        '<borders count="1"><border/></borders>'
        '<cellStyleXfs count="1"><xf numFmtId="0" fontId="0"/></cellStyleXfs>'
        '<cellXfs count="3"><xf numFmtId="0" fontId="0" xfId="0"/>'
        '<xf numFmtId="164" fontId="0" xfId="0" applyNumberFormat="1"/>'
        '<xf numFmtId="0" fontId="1" xfId="0" applyFont="1"/></cellXfs>'
        '<cellStyles count="1"><cellStyle name="Normal" xfId="0" builtinId="0"/></cellStyles>'
        "</styleSheet>"
    ),
}
_START = (
    f'<worksheet {_MAIN}><sheetViews><sheetView workbookViewId="0"><pane ySplit="1" '
    'topLeftCell="A2" activePane="bottomLeft" state="frozen"/></sheetView></sheetViews>'
    "<sheetData>"
)


def write_workbook(frame: pd.DataFrame, path: Path) -> None:
    """Write numbers as numbers, times as UTC, and text as text, never as a formula."""
    if len(frame) >= MOST_ROWS or len(frame.columns) > MOST_COLUMNS:
        most = f"a sheet has {MOST_ROWS - 1:,} rows and {MOST_COLUMNS:,} columns at most"
        raise BadInput(
            f"{most}; choose some, or write a .csv", value=frame.shape, code="E-FILES-060"
        )
    columns = [_plain(column) for _, column in frame.items()]
    letters = _letters(len(columns))
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        for name, text in _PARTS.items():
            file.writestr(_entry(name), _HEAD + text)
        with file.open(_entry("xl/worksheets/sheet1.xml"), "w", force_zip64=True) as sheet:
            sheet.write(f"{_HEAD}{_START}".encode())
            for row in _rows(frame.columns, columns, letters):
                sheet.write(row.encode())
            sheet.write(b"</sheetData></worksheet>")


def _entry(name: str) -> zipfile.ZipInfo:
    """A file without the time, so that equal frames give equal bytes."""
    entry = zipfile.ZipInfo(name)
    entry.compress_type = zipfile.ZIP_DEFLATED
    return entry


def _letters(count: int) -> list[str]:
    """Names of columns: A to Z, AA to ZZ, and so on."""
    names: list[str] = []
    for length in (1, 2, 3):
        names += map("".join, product(ascii_uppercase, repeat=length))
    return names[:count]


def _plain(column: pd.Series) -> list[Any]:
    """Values of a column; None in place of a missing one, and times in UTC without a zone."""
    if isinstance(column.dtype, pd.DatetimeTZDtype):
        column = column.dt.tz_convert("UTC").dt.tz_localize(None)
    return [
        None if missing else value for value, missing in zip(column, column.isna(), strict=True)
    ]


def _rows(heads: pd.Index, columns: list[list[Any]], letters: list[str]) -> Iterator[str]:
    names = (
        _text(f"{letter}1", str(name), _BOLD) for letter, name in zip(letters, heads, strict=True)
    )
    yield f'<row r="1">{"".join(names)}</row>'
    for number, values in enumerate(zip(*columns, strict=True), start=2):
        cells = (
            _cell(f"{letter}{number}", value)
            for letter, value in zip(letters, values, strict=True)
            if value is not None
        )
        yield f'<row r="{number}">{"".join(cells)}</row>'


def _cell(place: str, value: Any) -> str:
    if isinstance(value, bool | np.bool_):
        return f'<c r="{place}" t="b"><v>{int(value)}</v></c>'
    if isinstance(value, _DATES):
        days = (pd.Timestamp(value) - _EPOCH) / datetime.timedelta(days=1)
        return f'<c r="{place}" s="{_DATE}"><v>{days!r}</v></c>'
    if isinstance(value, int | np.integer) and abs(int(value)) < MOST_DIGITS:
        return f'<c r="{place}"><v>{int(value)}</v></c>'
    if isinstance(value, float | np.floating) and np.isfinite(value):
        return f'<c r="{place}"><v>{float(value)!r}</v></c>'
    return _text(place, str(value))


def _text(place: str, text: str, style: int = 0) -> str:
    if len(text) > MOST_CHARACTERS:
        most = f"a cell has {MOST_CHARACTERS:,} characters at most; write a .csv"
        raise BadInput(most, key=place, value=text, code="E-FILES-061")
    fit = escape(_UNFIT.sub(lambda one: f"_x{ord(one[0]):04X}_", text))
    named = f' s="{style}"' if style else ""
    return f'<c r="{place}"{named} t="inlineStr"><is><t xml:space="preserve">{fit}</t></is></c>'
