"""The table of formats has all of them."""

from __future__ import annotations

from pathlib import Path

from netlab.imports.formats import FORMATS


def test_the_table_of_formats_has_all_of_them():
    page = (Path(__file__).parents[2] / "docs" / "imports.md").read_text()
    rows = page.partition("## Formats")[2].split("\n| ")[2:]
    assert {row.partition(" |")[0] for row in rows} == {form.name for form in FORMATS}
