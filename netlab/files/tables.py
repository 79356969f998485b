"""Tables for readers: HTML in a notebook, CSV and LaTeX for a paper.

A `Table` is a frame with its presentation: caption, heads, number formats, notes, bold cells.
Every output escapes its input.
"""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pandas as pd

from netlab.errors import BadInput
from netlab.units import arrows

Formatter = str | Callable[[Any], str]

_STYLE = {
    "table": "border-collapse:collapse;margin:0.5em 0;font-size:0.95em",
    "caption": "caption-side:top;text-align:left;font-weight:600;padding:0.3em 0",
    "head": "border-bottom:2px solid #555;padding:0.25em 0.7em;text-align:{align};"
    "vertical-align:bottom",
    "cell": "border-bottom:1px solid #ccc;padding:0.2em 0.7em;text-align:{align};"
    "vertical-align:top",
    "note": "font-size:0.9em;margin:0.2em 0 0.8em;max-width:60em",
    "hollow": "color:#6b6b6b",
}
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
    """Text in the layout that a program prints."""

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
    bold: pd.DataFrame | Callable[[pd.DataFrame], pd.DataFrame] | str | None = None
    """Which cells are bold; a text names a column."""
    links: pd.DataFrame | None = None
    data: pd.DataFrame | None = None

    def __post_init__(self) -> None:
        if not self.caption.strip():
            raise BadInput(
                "must not be empty", key="caption", value=self.caption, code="E-FILES-001"
            )
        marked = self._marked()
        if marked is not None and marked.shape != self.frame.shape:
            raise BadInput(
                f"has shape {marked.shape}, the frame {self.frame.shape}",
                key="bold",
                code="E-FILES-002",
            )

    @property
    def title(self) -> str:
        """The caption as it is shown, with arrows; files are named after `caption`."""
        return arrows(self.caption)

    def _repr_html_(self) -> str:
        align = self._alignment()
        rows = [
            f"<tr>{''.join(_head_cell(*cell, align[cell[0]]) for cell in head)}</tr>"
            for head in self._head_rows()
        ]
        body = []
        links = self._link_rows()
        for row, (cells, bold) in enumerate(
            zip(self._body(repeat=True), self._bold_rows(), strict=True)
        ):
            parts = []
            for at, (text, strong) in enumerate(zip(cells, bold, strict=True)):
                inner = html.escape(text)
                if text.startswith(HOLLOW):
                    style = _STYLE["hollow"]
                    inner = f'<span class="netlab-hollow" style="{style}">{inner}</span>'
                if href := links[row][at]:
                    inner = f'<a href="{html.escape(href, quote=True)}">{inner}</a>'
                inner = f"<strong>{inner}</strong>" if strong else inner
                tag, scope = ("th", ' scope="row"') if at < self._index_width else ("td", "")
                weight = ";font-weight:normal" if tag == "th" else ""
                wrap = "" if len(text) > _WRAP_CHARS else ";white-space:nowrap"
                style = _STYLE["cell"].format(align=align[at]) + weight + wrap
                parts.append(f'<{tag}{scope} style="{style}">{inner}</{tag}>')
            body.append(f"<tr>{''.join(parts)}</tr>")
        note = html.escape(arrows(self.note))
        note = f'<p style="{_STYLE["note"]}">{note}</p>' if note else ""
        caption = html.escape(self.title, quote=True)
        return (
            f'<div class="netlab-table" style="overflow-x:auto" tabindex="0" role="region" '
            f'aria-label="{caption}">'
            f'<table style="{_STYLE["table"]}">'
            f'<caption style="{_STYLE["caption"]}">{caption}</caption>'
            f"<thead>{''.join(rows)}</thead><tbody>{''.join(body)}</tbody></table>{note}"
            f"{self._carried()}</div>"
        )

    def _carried(self) -> str:
        """CSV and LaTeX in elements that no browser shows; a site makes files of them."""
        name = html.escape(self.caption, quote=True)
        return (
            f'<template class="netlab-csv" data-name="{name}">{html.escape(self.csv_text())}'
            f'</template><template class="netlab-tex">{html.escape(self.to_latex())}</template>'
        )

    def __repr__(self) -> str:
        return f"{self.caption}\n{self.frame.to_string()}"

    def to_csv(self, path: str | Path) -> Path:
        """Write the data, unrounded, as CSV."""
        return _write(path, self.csv_text())

    def csv_text(self) -> str:
        """The data, unrounded, as CSV."""
        if self.data is not None:
            return csv_of(self.data)
        flat = self.frame.copy()
        if flat.columns.nlevels > 1:
            flat.columns = [" ".join(str(part) for part in column) for column in flat.columns]
        return csv_of(flat, index=self._index_width > 0)

    def to_latex(self, path: str | Path | None = None) -> str:
        r"""The table as LaTeX (``booktabs``), rounded as shown; written if a path is given."""
        body, columns = self._body(), self._latex_heads()
        bold = pd.DataFrame(self._bold_rows(), columns=columns, dtype=bool)
        styler = pd.DataFrame(body, columns=columns, dtype=object).style
        styler = styler.format(latex_escape).format_index(latex_escape, axis="columns")
        styler = styler.apply(lambda _: bold.map(_latex_bold), axis=None).hide(axis="index")
        paged = len(body) > _PAGE_ROWS
        text = styler.to_latex(
            caption=latex_escape(self.title),
            column_format=self._latex_columns(body),
            environment="longtable" if paged else None,
            hrules=True,
            multicol_align="c",
            position_float=None if paged else "centering",
        )
        if self.note:
            note = rf"\par\smallskip\footnotesize {latex_escape(arrows(self.note))}"
            end = "\\end{table}"
            text = f"{text}{{{note}}}\n" if paged else text.replace(end, f"{note}\n{end}")
        if path is not None:
            _write(path, text)
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
        """The table cut after so many rows, with a note that says so; itself if it is shorter."""
        if len(self.frame) <= rows:
            return self
        said = f"The first {rows} of {len(self.frame)} rows. {note}"
        bold = self._marked()
        return replace(
            self,
            frame=self.frame.head(rows),
            note=f"{self.note} {said}".strip(),
            bold=None if bold is None else bold.head(rows),
            links=None,
        )

    def _latex_columns(self, body: list[list[str]]) -> str:
        """Column letters; columns of long text share the width by the length of their text."""
        letters = {"left": "l", "right": "r", "center": "c"}
        lengths = [[len(cell) for cell in column] for column in zip(*body, strict=True)]
        align = self._alignment()
        long = {
            at: sum(column)
            for at, column in enumerate(lengths)
            if align[at] == "left" and max(column) > _LATEX_WRAP_CHARS
        }
        weights = {at: total**0.5 for at, total in long.items()}
        return "".join(
            rf"p{{{_LATEX_TEXT_CM * weights[at] / sum(weights.values()):.1f}cm}}"
            if at in long
            else letters[side]
            for at, side in enumerate(align)
        )

    def _latex_heads(self) -> pd.Index:
        """Heads as column labels; blanks make equal ones unique, LaTeX ignores them."""
        rows = []
        for head in self._head_rows():
            rows.append([text for _, span, text in head for _ in range(span)])
        last = [text + " " * rows[-1][:at].count(text) for at, text in enumerate(rows[-1])]
        if len(rows) == 1:
            return pd.Index(last)
        width = self._index_width
        upper = [[" " * at for at in range(width)] + row[width:] for row in rows[:-1]]
        return pd.MultiIndex.from_arrays([*upper, last])

    @property
    def _index_width(self) -> int:
        index = self.frame.index
        plain = isinstance(index, pd.RangeIndex) and index.name is None
        return 0 if plain else index.nlevels

    def _head(self, name: Any) -> str:
        if name is None:
            return ""
        return arrows(str(self.heads.get(name, name) if isinstance(name, str) else name))

    def _head_rows(self) -> list[list[tuple[int, int, str]]]:
        """Per head row: (position, columns spanned, text)."""
        width, columns = self._index_width, self.frame.columns
        rows = []
        for level in range(columns.nlevels):
            last = level == columns.nlevels - 1
            names = self.frame.index.names if last else [None] * width
            row = [(at, 1, self._head(name)) for at, name in enumerate(names[:width])]
            values = list(columns.get_level_values(level))
            start = 0
            for at in range(1, len(values) + 1):
                if at == len(values) or last or values[at] != values[start]:
                    row.append((width + start, at - start, self._head(values[start])))
                    start = at
            rows.append(row)
        return rows

    def _body(self, *, repeat: bool = False) -> list[list[str]]:
        """Text of all cells. `repeat` gives every row all its labels, so that rows can be sorted.

        Otherwise a repeated outer label is shown once, as printed tables do.
        """
        index = self.frame.index
        formatted = [
            [arrows(self._format(column, value)) for value in self.frame.iloc[:, at]]
            for at, column in enumerate(self.frame.columns)
        ]
        rows: list[list[str]] = []
        before: tuple[Any, ...] | None = None
        for at in range(len(self.frame)):
            keys: list[str] = []
            if self._index_width:
                key = index[at] if index.nlevels > 1 else (index[at],)
                same = 0
                while not repeat and before and same < len(key) - 1 and key[same] == before[same]:
                    same += 1
                keys = ["" if i < same else arrows(str(part)) for i, part in enumerate(key)]
                before = key
            rows.append(keys + [column[at] for column in formatted])
        return rows

    def _bold_rows(self) -> list[list[bool]]:
        marked = self._marked()
        blank = [False] * self._index_width
        if marked is None:
            return [blank + [False] * self.frame.shape[1]] * len(self.frame)
        return [blank + [bool(cell) for cell in row] for row in marked.to_numpy()]

    def _link_rows(self) -> list[list[str]]:
        width = self._index_width
        if self.links is None:
            return [[""] * (width + self.frame.shape[1])] * len(self.frame)
        return [[""] * width + [str(href) for href in row] for row in self.links.to_numpy()]

    def _marked(self) -> pd.DataFrame | None:
        if isinstance(self.bold, str):
            return self.frame.apply(lambda column: column.map(lambda _: column.name == self.bold))
        return self.bold(self.frame) if callable(self.bold) else self.bold

    def _format(self, column: Any, value: Any) -> str:
        if pd.api.types.is_scalar(value) and pd.isna(value):
            return "–"
        chosen = self.formats
        if isinstance(chosen, Mapping):
            chosen = chosen.get(column, "")
        if callable(chosen):
            return chosen(value)
        if chosen and not isinstance(value, str):
            return format(value, chosen)
        return f"{value:g}" if isinstance(value, float) else str(value)

    def _alignment(self) -> list[str]:
        numeric = [pd.api.types.is_numeric_dtype(dtype) for dtype in self.frame.dtypes]
        return ["left"] * self._index_width + ["right" if n else "left" for n in numeric]


def table_or(
    none: str, rows: pd.DataFrame | list[dict], caption: str, *more: Any, **by_name: Any
) -> Table | Sentence:
    """The table of some rows, or a sentence where there is none."""
    frame = rows if isinstance(rows, pd.DataFrame) else pd.DataFrame(rows)
    return Sentence(none) if frame.empty else Table(frame, caption, *more, **by_name)


def _head_cell(at: int, span: int, text: str, align: str) -> str:
    """A head, or an empty data cell where there is no text: a head must have a name."""
    style = _STYLE["head"].format(align=align)
    if not text:
        return f'<td colspan="{span}" style="{style}"></td>'
    scope = "colgroup" if span > 1 else "col"
    return f'<th scope="{scope}" colspan="{span}" style="{style}">{html.escape(text)}</th>'


def _latex_bold(strong: bool) -> str:
    return "textbf:--rwrap;" if strong else ""


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


def _write(path: str | Path, text: str) -> Path:
    target = Path(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(text, encoding="utf-8")
    return target
