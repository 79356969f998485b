"""Tables for readers: HTML in a notebook, CSV and LaTeX for a paper.

A `Table` is a frame with its presentation: caption, heads, number formats, notes, bold cells.
Every output escapes its input.
"""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import accumulate, groupby, takewhile
from pathlib import Path
from typing import Any

import jinja2
import pandas as pd

from netlab.errors import check, printable
from netlab.files.text_columns import in_columns, left, right
from netlab.files.writing import write_text
from netlab.units import arrows, plain

Formatter = str | Callable[[Any], str]

HOLLOW = "○"
"""Begins the text of a cell that is shown grey: a value that is not a result."""
# Cells up to this length do not wrap; a table wider than the page scrolls.
_WRAP_CHARS = 16
_LATEX_WRAP_CHARS = 30
_LATEX_TEXT_CM = 11.0
_PAGE_ROWS = 40
_LATEX = {
    "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_",
    "{": r"\{", "}": r"\}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}",
    "<": r"\textless{}", ">": r"\textgreater{}", "×": r"$\times$", "→": r"$\rightarrow$",
    "↔": r"$\leftrightarrow$", "±": r"$\pm$", "≤": r"$\leq$", "≥": r"$\geq$", "–": "--",
    "≈": r"$\approx$", "µ": r"\textmu{}", "−": r"$-$",
    HOLLOW: r"$\circ$",
}  # fmt: skip


@dataclass(frozen=True)
class Sentence:
    """A line of text, also in place of an empty table."""

    text: str

    def _repr_html_(self) -> str:
        return f'<p class="netlab-sentence">{html.escape(arrows(self.text))}</p>'

    def __repr__(self) -> str:
        return self.text


class Preformatted(Sentence):
    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(self.text)}</pre>"


@dataclass(frozen=True, eq=False)  # frames have no single truth value
class Table:
    """A frame with its presentation for readers."""

    frame: pd.DataFrame
    caption: str
    heads: Mapping[str, str] = field(default_factory=dict)
    formats: Mapping[str, Formatter] | Formatter = field(default_factory=dict)
    note: str = ""
    bold: pd.DataFrame | str | None = None
    """Bold cells; a text names a column."""
    links: pd.DataFrame | None = None
    data: pd.DataFrame | None = None

    def __post_init__(self) -> None:
        has_text = self.caption.strip()
        check(has_text, "caption", self.caption, "must not be empty", "E-FILES-001")
        if isinstance(self.bold, pd.DataFrame):
            text = f"has shape {self.bold.shape}, the frame {self.frame.shape}"
            check(self.bold.shape == self.frame.shape, "bold", None, text, "E-FILES-002")

    @property
    def title(self) -> str:
        """The caption as it is shown, with arrows; files are named after `caption`."""
        return arrows(self.caption)

    def _repr_html_(self) -> str:
        none = [[""] * self.frame.shape[1]] * len(self.frame)
        links = none if self.links is None else self.links.to_numpy()
        rows = zip(self._body(repeat=True), self._marks(), self._padded(links), strict=True)
        return _template("table.html.j2").render(
            table=self,
            heads=self._head_rows(),
            rows=[list(zip(*parts, strict=True)) for parts in rows],
            align=self.alignment(),
            width=self._index_width,
            note=arrows(self.note),
            hollow=HOLLOW,
            wrap=_WRAP_CHARS,
        )

    def __repr__(self) -> str:
        """Caption, heads, cells and note as a page has them, whatever the options of pandas.

        Names stay as they are typed: an arrow is ``->``.
        """
        heads = [
            [text for _, span, text in row for _ in range(span)] for row in self._head_rows(str)
        ]
        rows = [[_plain(cell) for cell in row] for row in heads + self._body(words=str)]
        lines = in_columns(rows, [right if side == "right" else left for side in self.alignment()])
        return "\n".join(filter(None, [_plain(self.caption), *lines, _plain(self.note)]))

    def to_csv(self, path: str | Path) -> Path:
        """Write the data, unrounded, as CSV."""
        return write_text(Path(path), self.csv_text())

    def csv_text(self) -> str:
        """The data, unrounded, as CSV."""
        return csv_of(self._data, index=self.data is None and self._index_width > 0)

    @property
    def _data(self) -> pd.DataFrame:
        if self.data is not None:
            return self.data
        flat = self.frame.copy()
        if flat.columns.nlevels > 1:
            flat.columns = [" ".join(str(part) for part in column) for column in flat.columns]
        return flat

    def to_latex(self, path: str | Path | None = None) -> str:
        r"""The table as LaTeX (``booktabs``), rounded as shown; written if a path is given."""
        body, columns = self._body(), ""
        lengths = [[len(cell) for cell in column] for column in zip(*body, strict=True)]
        sides = self.alignment()
        # columns of long text share the width by the length of their text
        weights = {
            at: sum(column) ** 0.5
            for at, column in enumerate(lengths)
            if sides[at] == "left" and max(column) > _LATEX_WRAP_CHARS
        }
        for at, side in enumerate(sides):
            share = _LATEX_TEXT_CM * weights.get(at, 0) / (sum(weights.values()) or 1)
            columns += f"p{{{share:.1f}cm}}" if at in weights else side[0]
        rows = [
            [
                rf"\textbf{{{latex_escape(cell)}}}" if bold else latex_escape(cell)
                for cell, bold in zip(*row, strict=True)
            ]
            for row in zip(body, self._marks(), strict=True)
        ]
        wide = r"\multicolumn{%d}{c}{%s}"
        heads = [
            [wide % (s, latex_escape(h)) if s > 1 else latex_escape(h) for _, s, h in row]
            for row in self._head_rows()
        ]
        text = _template("table.tex.j2").render(
            caption=latex_escape(self.title),
            columns=columns,
            count=len(sides),
            heads=heads,
            rows=rows,
            paged=len(body) > _PAGE_ROWS,
            note=latex_escape(arrows(self.note)),
        )
        if path is not None:
            write_text(Path(path), text)
        return text

    def export(self, stem: str | Path) -> tuple[Path, Path]:
        """Write ``stem.csv`` and ``stem.tex`` in one call."""
        base = Path(stem)
        tex = base.with_name(base.name + ".tex")
        csv = self.to_csv(base.with_name(base.name + ".csv"))
        self.to_latex(tex)
        return csv, tex

    def texts(self) -> tuple[list[list[str]], list[list[str]]]:
        """Rows of heads and rows of cells as text; a head that spans columns stands in each."""
        heads = [[text for _, span, text in row for _ in range(span)] for row in self._head_rows()]
        return heads, self._body(repeat=True)

    def head(self, rows: int, note: str) -> Table:
        """The table cut after so many rows, with a note that says so; itself if it is shorter.

        Its CSV still has all of them.
        """
        if len(self.frame) <= rows:
            return self
        text = f"The first {rows} of {len(self.frame)} rows. {note}"
        bold = self.bold.head(rows) if isinstance(self.bold, pd.DataFrame) else self.bold
        note = f"{self.note} {text}".strip()
        frame, data = self.frame.head(rows), self._data
        return replace(self, frame=frame, note=note, bold=bold, links=None, data=data)

    @property
    def _index_width(self) -> int:
        index = self.frame.index
        plain = isinstance(index, pd.RangeIndex) and index.name is None
        return 0 if plain else index.nlevels

    def _head(self, name: Any, words: Callable[[str], str]) -> str:
        if name is None:
            return ""
        return words(str(self.heads.get(name, name) if isinstance(name, str) else name))

    def _head_rows(self, words: Callable[[str], str] = arrows) -> list[list[tuple[int, int, str]]]:
        """Per head row: (position, columns spanned, text)."""
        width, columns = self._index_width, self.frame.columns
        rows = []
        for level in range(columns.nlevels):
            last = level == columns.nlevels - 1
            names = self.frame.index.names[:width] if last else [None] * width
            spans = [[name] for name in names]
            values = columns.get_level_values(level)
            spans += [[v] for v in values] if last else [list(same) for _, same in groupby(values)]
            starts = accumulate(map(len, spans), initial=0)
            each = zip(starts, spans, strict=False)
            rows.append([(at, len(span), self._head(span[0], words)) for at, span in each])
        return rows

    def _body(
        self, *, repeat: bool = False, words: Callable[[str], str] = arrows
    ) -> list[list[str]]:
        """Text of all cells. `repeat` gives every row all its labels, so that rows can be sorted.

        Otherwise a repeated outer label is shown once, as printed tables do.
        """
        keys = [key if isinstance(key, tuple) else (key,) for key in self.frame.index]
        rows = [[words(str(part)) for part in key[: self._index_width]] for key in keys]
        if not repeat:
            for row, key, before in zip(rows[1:], keys[1:], keys, strict=False):
                pairs = zip(row[:-1], key, before, strict=False)
                same = len(list(takewhile(lambda pair: pair[1] == pair[2], pairs)))
                row[:same] = [""] * same
        for name, values in self.frame.items():
            for row, value in zip(rows, values, strict=True):
                row.append(words(self._format(name, value)))
        return rows

    def _padded(self, values: Iterable[Iterable[Any]]) -> list[list[Any]]:
        """Rows of the frame with nothing for the labels."""
        return [[""] * self._index_width + list(row) for row in values]

    def _marks(self) -> list[list[Any]]:
        if isinstance(self.bold, pd.DataFrame):
            return self._padded(self.bold.to_numpy())
        return self._padded([[name == self.bold for name in self.frame]] * len(self.frame))

    def _format(self, column: Any, value: Any) -> str:
        if pd.api.types.is_scalar(value) and pd.isna(value):
            return "–"
        chosen = self.formats
        if isinstance(chosen, Mapping):
            chosen = chosen.get(column, "")
        if callable(chosen):
            return chosen(value)
        if chosen and not isinstance(value, str):
            return plain(value, chosen) if chosen.endswith("g") else format(value, chosen)
        return plain(value, "g") if isinstance(value, float) else str(value)

    def alignment(self) -> list[str]:
        """Side of each column: numbers stand on the right."""
        numeric = [pd.api.types.is_numeric_dtype(dtype) for dtype in self.frame.dtypes]
        return ["left"] * self._index_width + ["right" if n else "left" for n in numeric]


def table_or(
    none: str, rows: pd.DataFrame | list[dict], caption: str, *more: Any, **by_name: Any
) -> Table | Sentence:
    """The table of some rows, or a sentence where there is none."""
    frame = rows if isinstance(rows, pd.DataFrame) else pd.DataFrame(rows)
    return Sentence(none) if frame.empty else Table(frame, caption, *more, **by_name)


def _plain(text: str) -> str:
    """Text for a terminal, where a space that does not break is a space."""
    return printable(text.replace("\N{NO-BREAK SPACE}", " "))


@cache
def _template(name: str) -> jinja2.Template:
    folder = jinja2.FileSystemLoader(Path(__file__).parent)
    escaped = jinja2.select_autoescape(["html.j2"])
    return jinja2.Environment(loader=folder, autoescape=escaped).get_template(name)


def latex_escape(text: str) -> str:
    """Text with all characters escaped that are special in LaTeX."""
    return re.sub("|".join(map(re.escape, _LATEX)), lambda found: _LATEX[found[0]], text)


def csv_of(frame: pd.DataFrame, *, index: bool = False, float_format: str | None = None) -> str:
    """A frame as CSV in which a spreadsheet takes no text for a formula."""
    plain = frame.copy()
    for at, dtype in enumerate(frame.dtypes):
        if not pd.api.types.is_numeric_dtype(dtype):
            plain.isetitem(at, frame.iloc[:, at].map(_no_formula, na_action="ignore"))
    plain.columns = pd.Index([_no_formula(name) for name in frame.columns])
    if index:
        keys = [key if isinstance(key, tuple) else (key,) for key in frame.index]
        plain.index = pd.MultiIndex.from_tuples(
            [tuple(map(_no_formula, key)) for key in keys],
            names=[_no_formula(name) for name in frame.index.names],
        )
    return plain.to_csv(index=index, lineterminator="\n", float_format=float_format)


def _no_formula(value: Any) -> Any:
    """A text that begins as a formula does, and is not a number, behind an apostrophe."""
    if not isinstance(value, str):
        return value
    value = value.replace("\r", " ")  # which pandas does not quote, and a reader ends a row at
    if value == "->" or not value.lstrip().startswith(("=", "+", "-", "@")):  # a direction
        return value
    try:
        float(value)
    except ValueError:
        return f"'{value}"
    return value
