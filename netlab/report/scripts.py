"""Scripts of pages and of outputs of notebooks: small files, put together in one scope."""

from __future__ import annotations

from functools import cache
from pathlib import Path

TEMPLATES = Path(__file__).parent / "templates"


@cache
def script(last: str) -> str:
    """Sorting and filtering of tables, the choosers of an explorer, and what starts them."""
    names = ("tables.js", "explore.js", last)
    parts = "".join((TEMPLATES / name).read_text(encoding="utf-8") for name in names)
    return f'(() => {{\n"use strict";\n{parts}}})();\n'
