"""Files behind a page: each figure as SVG, PNG and CSV, each table as CSV and LaTeX."""

from __future__ import annotations

import base64
import hashlib
import html
import re
import shutil
from dataclasses import replace
from pathlib import Path

from markupsafe import Markup

from netlab.charts.figure_data import csv_in
from netlab.report.page import Page
from netlab.report.picture import Rasteriser
from netlab.study.schedule import slug

FIGURES, TABLES = "figures", "tables"
LONGEST_NAME = 60

_FIGURE = re.compile(
    r'(<figure class="netlab-figure"[^>]*>)<img ([^>]*?)'
    r'src="data:image/svg\+xml;base64,([^"]+)"([^>]*?)/?>(.*?)</figure>',
    re.DOTALL,
)
_TABLE = re.compile(
    r'<template class="netlab-csv" data-name="([^"]*)">(.*?)</template>'
    r'<template class="netlab-tex">(.*?)</template>',
    re.DOTALL,
)
_BOX = re.compile(r'<div(?= [^>]*\bclass="netlab-table")')
"""Start of a table's frame; nbconvert sorts its attributes."""

_ALT = re.compile(r'alt="([^"]*)"')
_IDS = re.compile(r'(\bid="|url\(#|href="#)')


class Exporter:
    """Writes the files of a site's figures and tables, and links to them below each."""

    def __init__(self, site: Path, before: Path, *, png: bool = True):
        self._site = site
        self._drawn = _drawn(before / FIGURES)
        self._taken: set[str] = set()
        self._raster = Rasteriser() if png else None
        for folder in (FIGURES, TABLES):
            (site / folder).mkdir(exist_ok=True)

    def page(self, page: Page) -> Page:
        """The page with its files written and linked."""
        return replace(page, body=self.body(page.body, Path(page.file).stem))

    def body(self, body: str, stem: str) -> Markup:
        """HTML with its figures inline and its files written and linked."""
        figures = iter(range(1, 10_000))
        body = _FIGURE.sub(lambda found: self._figure(found, f"{stem}-{next(figures)}"), str(body))
        return Markup(self._tables(body))

    def _figure(self, found: re.Match, name: str) -> str:
        if 'role="img"' not in found[2] + found[4]:
            return found[0]  # a picture of another program stays a picture
        svg = base64.b64decode(found[3]).decode()
        folder = self._site / FIGURES
        (folder / f"{name}.svg").write_text(svg, encoding="utf-8")
        kinds = ["svg"]
        if self._png(svg, name):
            kinds.append("png")
        if data := csv_in(svg):
            (folder / f"{name}.csv").write_text(data, encoding="utf-8")
            kinds.append("csv")
        alt = _ALT.search(found[2] + found[4])
        words = html.unescape(alt[1]).partition(".")[0] if alt else name
        links = _links([(f"{FIGURES}/{name}.{kind}", kind.upper()) for kind in kinds], words)
        return f"{found[1]}{_inline(svg, name)}{found[5]}{links}</figure>"

    def _png(self, svg: str, name: str) -> bool:
        """Write the PNG; copy that of an equal figure, of this site or of the former one."""
        if self._raster is None:
            return False
        new, drawn = self._site / FIGURES / f"{name}.png", _digest(svg)
        if drawn in self._drawn:
            shutil.copyfile(self._drawn[drawn], new)
            return True
        made = self._raster.png(svg)
        if made:
            new.write_bytes(made)
            self._drawn[drawn] = new
        return bool(made)

    def _tables(self, body: str) -> str:
        """The body with the files of its tables written and linked, and an id on each table."""
        parts, end = [], 0
        for found in _TABLE.finditer(body):
            before, end = body[end : found.start()], found.end()
            name, links = self._table(found)
            *_, at = (0, *(box.end() for box in _BOX.finditer(before)))
            mark = f' id="{_free_id(name, body)}"' if at else ""
            parts += [before[:at], mark, before[at:], links]
        return "".join([*parts, body[end:]])

    def _table(self, found: re.Match) -> tuple[str, str]:
        """Write the files of a table; return its name and the links to them."""
        caption = html.unescape(found[1])
        name = base = slug(caption)[:LONGEST_NAME].strip("-") or "table"
        number = 1
        while name in self._taken:
            number += 1
            name = f"{base}-{number}"
        self._taken.add(name)
        folder = self._site / TABLES
        for kind, text in (("csv", found[2]), ("tex", found[3])):
            (folder / f"{name}.{kind}").write_text(html.unescape(text), encoding="utf-8")
        files = [(f"{TABLES}/{name}.csv", "CSV"), (f"{TABLES}/{name}.tex", "LaTeX")]
        return name, _links(files, caption)


def _free_id(name: str, body: str) -> str:
    """Id of a table, which no heading of the page has."""
    name = name if name.startswith("table-") else f"table-{name}"
    while f'id="{name}"' in body:
        name += "-table"
    return name


def _drawn(folder: Path) -> dict[str, Path]:
    """PNG files of a site by the digest of their figure."""
    return {
        _digest(svg.read_text(encoding="utf-8")): png
        for svg in sorted(folder.glob("*.svg"))
        if (png := svg.with_suffix(".png")).is_file()
    }


def _digest(svg: str) -> str:
    return hashlib.sha256(svg.encode()).hexdigest()


def _links(files: list[tuple[str, str]], words: str) -> str:
    name = html.escape(words, quote=True)
    each = (f'<a download href="{f}" aria-label="{kind}: {name}">{kind}</a>' for f, kind in files)
    return f'<p class="netlab-files">{" ".join(each)}</p>'


def _inline(svg: str, name: str) -> str:
    """An SVG as part of a page: its ids made unique, its data and description left to the file."""
    svg = re.sub(r"<metadata.*?</metadata>", "", svg, flags=re.DOTALL)
    svg = svg[svg.index("<svg ") :]
    return _IDS.sub(lambda found: f"{found[1]}{name}-", svg)
