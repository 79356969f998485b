"""A workbook has every value of a frame, in its type, as a reader of its XML finds it."""

from __future__ import annotations

import re
import zipfile
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from refusals import refused

from netlab.errors import BadInput
from netlab.files import workbook
from netlab.files.frame_files import write_frame

MAIN = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"


def sheet_of(path):
    """Rows of the first sheet: the texts, numbers and truth values by the letters of columns."""
    with zipfile.ZipFile(path) as file:
        assert file.testzip() is None
        for name in file.namelist():
            ElementTree.fromstring(file.read(name))
        sheet = ElementTree.fromstring(file.read("xl/worksheets/sheet1.xml"))
    rows = []
    for row in sheet.iter(f"{MAIN}row"):
        assert row.get("r") == str(len(rows) + 1)
        cells = {}
        for cell in row:
            letters = re.fullmatch(rf"([A-Z]+){row.get('r')}", cell.get("r"))[1]
            assert cell.find(f"{MAIN}f") is None, "a formula"
            if cell.get("t") == "inlineStr":
                text = cell.find(f"{MAIN}is/{MAIN}t").text or ""
                value = re.sub("_x([0-9A-F]{4})_", lambda one: chr(int(one[1], 16)), text)
            else:
                number = cell.find(f"{MAIN}v").text
                value = bool(int(number)) if cell.get("t") == "b" else float(number)
            cells[letters] = value
        rows.append(cells)
    return rows


def test_each_type_of_column_is_that_of_its_cells(tmp_path):
    frame = pd.DataFrame(
        {
            "n": pd.array([1, None], dtype="Int64"),
            "rate_MBps": [0.1, np.nan],
            "flags": pd.array(["=1+1", None], dtype="string"),
            "tuning": pd.Categorical(["none", "full"], ["none", "full"], ordered=True),
            "in_window": [True, False],
            "bytes": [2**60, 7],
            "started_at": pd.to_datetime(["2026-01-05T13:00+01:00", None], utc=True),
            "top": [np.inf, 1.0],
        }
    )
    frame["started_at"] = frame["started_at"].dt.tz_convert("Asia/Tokyo")
    heads, first, second = sheet_of(write_frame(frame, tmp_path / "a.xlsx"))
    assert list(heads.values()) == list(frame)
    noon = 46027.5  # days from 1899-12-30 to 2026-01-05 12:00 UTC
    assert list(first.values()) == [1, 0.1, "=1+1", "none", True, str(2**60), noon, "inf"]
    assert second == {"D": "full", "E": False, "F": 7, "H": 1}
    once = (tmp_path / "a.xlsx").read_bytes()
    assert write_frame(frame, tmp_path / "a.xlsx").read_bytes() == once


@given(st.lists(st.text(max_size=20), min_size=1, max_size=5))
def test_any_text_comes_back(tmp_path_factory, texts):
    frame = pd.DataFrame({"text": texts})
    path = write_frame(frame, tmp_path_factory.mktemp("book") / "a.xlsx")
    assert [row["A"] for row in sheet_of(path)[1:]] == texts


def test_columns_beyond_z_have_their_letters(tmp_path):
    frame = pd.DataFrame([range(800)], columns=[f"c{n}" for n in range(800)])
    row = sheet_of(write_frame(frame, tmp_path / "wide.xlsx"))[1]
    assert [row[name] for name in ("A", "Z", "AA", "ZZ", "AAA", "ADT")] == [
        0,
        25,
        26,
        701,
        702,
        799,
    ]


def test_what_no_sheet_takes_is_refused_and_leaves_no_file(tmp_path, monkeypatch):
    with refused(BadInput, "E-FILES-061"):
        write_frame(pd.DataFrame({"a": ["x" * 40_000]}), tmp_path / "a.xlsx")
    monkeypatch.setattr(workbook, "MOST_ROWS", 3)
    assert len(sheet_of(write_frame(pd.DataFrame({"a": [1, 2]}), tmp_path / "b.xlsx"))) == 3
    with refused(BadInput, "E-FILES-060"):
        write_frame(pd.DataFrame({"a": [1, 2, 3]}), tmp_path / "a.xlsx")
    assert [path.name for path in tmp_path.iterdir()] == ["b.xlsx"]


@pytest.mark.parametrize("frame", [pd.DataFrame(), pd.DataFrame({"a": []})])
def test_a_frame_without_rows_is_a_sheet(frame, tmp_path):
    assert sheet_of(write_frame(frame, tmp_path / "a.xlsx")) == [
        dict(zip("A", frame, strict=False))
    ]
