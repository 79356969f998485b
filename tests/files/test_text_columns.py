"""Text in columns is aligned by the cells of a terminal, and frames are printed with it."""

from __future__ import annotations

import pandas as pd
import pytest

from netlab.cli.options import in_columns
from netlab.files.frame_text import frame_text
from netlab.files.tables import Table
from netlab.files.text_columns import cells_of, left

NAMES = ("rack", "机架一", "서버", "e\u0301te\u0301", "ﾗｯｸ", "हिन्दी")


@pytest.mark.parametrize(
    ("text", "cells"),
    [
        ("rack", 4),
        ("机架", 4),
        ("Ａ", 2),
        ("e\u0301", 1),
        ("ﾗｯｸ", 3),
        ("\u1112\u1161\u11ab", 2),
        ("→", 1),
    ],
)
def test_cells_of_a_terminal_that_a_text_takes(text, cells):
    assert cells_of(text) == cells


def _places(lines: list[str], marks: str) -> set[int]:
    """Cells before the first of the marks in each line."""
    return {cells_of(line[: min(line.index(m) for m in marks if m in line)]) for line in lines}


def test_a_table_as_text_is_aligned_with_wide_letters_and_accents():
    frame = pd.DataFrame({"group": NAMES, "goodput": [1.5] * len(NAMES)})
    lines = repr(Table(frame, "机架", formats="#.1f")).splitlines()
    assert _places(lines[2:], "1") == {max(map(cells_of, NAMES)) + 2 + len("goodput") - 3}


def test_columns_of_a_command_are_aligned_with_wide_letters():
    rows = in_columns(*((name, "|") for name in NAMES)).splitlines()
    assert len(rows) == len(NAMES) and len(_places(rows, "|")) == 1


def test_a_frame_of_a_command_is_aligned_and_has_no_control_character():
    frame = pd.DataFrame({"group": [*NAMES, "\x1b[31mred"], "goodput": [1.25] * 7})
    heads, *lines = frame_text(frame, head=left).splitlines()
    assert heads.startswith("group") and "\x1b" not in "".join(lines)
    assert len(_places(lines, "1")) == 2  # the escape has a 1 of its own


def test_numbers_of_a_frame_do_not_depend_on_options_of_pandas():
    frame = pd.DataFrame({"a": [1.25, None, 1234567.5], "b": ["x", None, "y"]})
    printed = frame_text(frame, missing="-")
    assert printed.split() == ["a", "b", "1.25", "x", "-", "-", "1234567.50", "y"]
    options = ("display.precision", 1, "display.float_format", "{:.9f}".format)
    with pd.option_context(*options):
        assert frame_text(frame, missing="-") == printed
    assert frame_text(frame, number="{:.0f}".format, missing="-").split()[2:5] == ["1", "x", "-"]
