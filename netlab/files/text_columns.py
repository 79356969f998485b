"""Columns of text for a terminal, by the cells that it shows: a wide letter takes two."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterable, Sequence

WITHOUT_WIDTH = frozenset({"Mn", "Me", "Cf"})
"""Categories of marks on the letter before them, and of characters that are not shown."""
_JAMO = range(0x1160, 0x1200)
"""Vowels and finals of Hangul: in the cells of the consonant before them."""


def cells_of(text: str) -> int:
    """Number of cells of a terminal that a text takes."""
    if text.isascii():
        return len(text)
    return sum(map(_cells_of_character, text))


def _cells_of_character(character: str) -> int:
    if unicodedata.category(character) in WITHOUT_WIDTH or ord(character) in _JAMO:
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def left(text: str, cells: int) -> str:
    """The text with spaces after it."""
    return text + " " * (cells - cells_of(text))


def right(text: str, cells: int) -> str:
    """The text behind spaces."""
    return " " * (cells - cells_of(text)) + text


Pad = Callable[[str, int], str]


def in_columns(rows: Iterable[Sequence[str]], pads: Sequence[Pad]) -> list[str]:
    """Lines of rows whose columns are as wide as their widest text."""
    texts = [list(row) for row in rows]
    widths = [max(map(cells_of, column)) for column in zip(*texts, strict=True)]
    lines = []
    for row in texts:
        padded = [pad(text, cells) for pad, text, cells in zip(pads, row, widths, strict=True)]
        lines.append("  ".join(padded).rstrip())
    return lines
