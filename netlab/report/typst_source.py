"""Typst markup for a report: headings, text, tables and figures, with everything escaped."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from netlab.files.tables import HOLLOW, Table
from netlab.units import arrows

PREAMBLE = """\
#set document(title: {title}, author: {author}, date: {date})
#set text(lang: "en", font: "Libertinus Serif", size: 10.5pt)
#set page(paper: "a4", margin: (x: 22mm, y: 24mm), numbering: none)
#set heading(numbering: "1.1")
#set par(justify: true)
#show heading.where(level: 1): set block(above: 1.8em, below: 0.9em)
#show figure.where(kind: table): set block(breakable: true)
#show figure.where(kind: table): set figure.caption(position: top)
#show figure.caption: set align(left)
#show figure.caption: set block(sticky: true)
#show figure.caption: set text(size: 9.5pt)
#show table.cell: set text(size: 8pt)
#show table.cell: set par(justify: false)
#show table.cell.where(y: 0): set text(weight: "bold")
#show raw: set text(size: 8.5pt)
#set table(stroke: none, inset: (x: 4pt, y: 2.6pt))
"""


_PRINTED = re.compile(r"Table (\d+): (.*)")
SHORT_ROWS = 30
"""Longest table that stays on one page, with its caption and its note."""

WIDE_CHARACTERS, MOST_CHARACTERS = 26, 60
"""A column beyond the first shares the line by its longest text, up to the second: a column of
sentences would leave no room for the words of the others."""

_LONG_WORD = re.compile(r"\S{14,}")
_JOINT = re.compile(r"[^\w\s]|_|\w{16}")


def string(text: str) -> str:
    """A string literal: shown as it is, whatever it contains."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", " ")
    return f'"{escaped}"'


def paragraph(text: str) -> str:
    """A paragraph of plain text."""
    return f"#{string(text)}\n\n"


def heading(text: str, level: int = 1) -> str:
    """A numbered heading; it is in the contents and in the bookmarks."""
    return f"#heading(level: {level}, {string(text)})\n\n"


def items(rows: Iterable[tuple[str, str]]) -> str:
    """A list of terms, each with a sentence."""
    terms = "".join(f"terms.item({string(term)}, {string(text)}), " for term, text in rows)
    return f"#terms(tight: false, {terms})\n\n"


def code(text: str) -> str:
    """A line of code of its own."""
    return f"#raw({string(text)}, block: true)\n\n"


def figure(path: str, alt: str, caption: str, width_percent: int = 100) -> str:
    """An image with its description and a numbered caption."""
    image = f"image({string(path)}, alt: {string(alt)}, width: {width_percent}%)"
    return f"#figure({image}, alt: {string(alt)}, caption: {string(caption)})\n\n"


def table(shown: Table) -> str:
    """A table with a numbered caption, and its note below; its head repeats on every page."""
    heads, body = shown.texts()
    width = len(heads[-1]) if heads else 1
    cells = [_row(row) for row in body]
    top = ", ".join(_row(row) for row in heads)
    line = "table.hline(stroke: 0.6pt)"
    inner = ", ".join([f"table.header({top})", line, *cells, line])
    columns = _columns(heads, body)
    note = paragraph(arrows(shown.note)) if shown.note else ""
    made = f"table(columns: {columns}, align: left, {inner})" if width else ""
    # the document numbers its tables; the caption of a published one begins with its own number
    caption = _PRINTED.sub(r"\2; table \1 in the source report", shown.title)
    drawn = f"#figure(kind: table, {made}, caption: {string(caption)})\n\n{note}"
    return f"#block(breakable: false)[\n{drawn}]\n\n" if len(body) <= SHORT_ROWS else drawn


def _row(cells: Sequence[str]) -> str:
    return ", ".join(
        f"[#text(fill: luma(40%), {text})]" if cell.startswith(HOLLOW) else f"[#{text}]"
        for cell in cells
        for text in [string(_breakable(cell))]
    )


def _breakable(text: str) -> str:
    """The text with places to break words that are too long for a column."""
    return _LONG_WORD.sub(lambda word: _JOINT.sub("\\g<0>\u200b", word[0]), text)


def _columns(heads: Sequence[Sequence[str]], body: Sequence[Sequence[str]]) -> str:
    """Widths: short columns as wide as their text, long ones share what is left."""
    longest = [
        max(len(row[at]) for row in [*heads, *body]) for at in range(len(heads[-1]) if heads else 0)
    ]
    widths = ", ".join(
        f"{min(length, MOST_CHARACTERS)}fr" if length > WIDE_CHARACTERS else "auto"
        for length in longest
    )
    return f"({widths},)"
