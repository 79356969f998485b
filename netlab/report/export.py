"""Files behind a page: each figure as SVG, PNG and CSV, each table as CSV and LaTeX."""

from __future__ import annotations

import base64
import hashlib
import html
import re
import shutil
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

from markupsafe import Markup

from netlab.charts.drawn_numbers import csv_in
from netlab.files.reading import read_text
from netlab.report.active_cache import active
from netlab.report.page import Page, free
from netlab.report.rasteriser import NO_PDF, Rasteriser
from netlab.study.schedule import slug

FIGURES, OF_TABLES = "figures", "tables"
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
_INERT = (
    "svg g path line polyline rect circle text tspan title desc defs use style clipPath pattern "
    "image symbol"
)
_STYLE = "*{stroke-linejoin: round; stroke-linecap: butt}"
"""The one style sheet that Matplotlib writes."""

_IDS = re.compile(r'(\bid="|url\(#|href="#)')


def is_inert(svg: str) -> bool:
    """True for a figure that is the same in HTML and in XML, and has no script and no address."""
    if re.search(r"<\?|<!(?!-- )", svg):
        return False
    try:
        svg = re.sub(r"<metadata.*?</metadata>", "", svg, flags=re.DOTALL)  # not shown
        elements = list(ElementTree.fromstring(svg).iter())
    except ElementTree.ParseError:
        return False
    return all(
        element.tag.removeprefix("{http://www.w3.org/2000/svg}") in _INERT.split()
        and (not element.tag.endswith("}style") or (element.text or "").strip() == _STYLE)
        and not any(
            name.lower().startswith("on")
            or (name.endswith("href") and not value.startswith(("#", "data:image/png;")))
            for name, value in element.items()
        )
        for element in elements
    )


class Exporter:
    """Writes the files of a site's figures and tables, and links to them below each."""

    def __init__(self, site: Path, before: Path, *, png: bool = True):
        self.site = site
        # PNG files by the digest of their figure
        self._drawn = {
            _digest(read_text(svg)): svg.with_suffix(".png")
            for svg in sorted((before / FIGURES).glob("*.svg"))
            if svg.with_suffix(".png").is_file()
        }
        self.taken: set[str] = set()
        """Names of the tables' files."""
        self._raster = Rasteriser() if png and not NO_PDF else None
        for folder in (FIGURES, OF_TABLES):
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
        svg = base64.b64decode(found[3]).decode("utf-8", "replace")
        if 'role="img"' not in found[2] + found[4] or not is_inert(svg):
            return found[0]  # a picture of another program stays a picture, which runs nothing
        folder = self.site / FIGURES
        (folder / f"{name}.svg").write_text(svg, encoding="utf-8")
        kinds = ["svg"]
        if self._png(svg, name):
            kinds.append("png")
        if data := csv_in(svg):
            (folder / f"{name}.csv").write_text(data, encoding="utf-8")
            kinds.append("csv")
        alt = _ALT.search(found[2] + found[4])
        words = html.unescape(alt[1]).partition(".")[0] if alt else name
        files = [(f"{FIGURES}/{name}.{kind}", kind.upper()) for kind in kinds]
        start = found[1].replace('figure"', f'figure" id="figure-{name}"', 1)
        links = _links(files, words, f"figure-{name}")
        # ids are made unique; the data and the description are left to the file
        svg = re.sub(r"<metadata.*?</metadata>|<desc>.*?</desc>", "", svg, flags=re.DOTALL)
        svg = _IDS.sub(rf"\g<1>{name}-", svg[svg.index("<svg ") :])
        return f"{start}{svg}{found[5]}{links}</figure>"

    def _png(self, svg: str, name: str) -> bool:
        """Write the PNG; copy that of an equal figure, of this site or of the former one."""
        if self._raster is None:
            return False
        new, drawn = self.site / FIGURES / f"{name}.png", _digest(svg)
        if drawn in self._drawn:
            shutil.copyfile(self._drawn[drawn], new)
            return True
        raster = self._raster
        made = active().once("png", [svg], lambda: raster.png(svg))
        if made:
            new.write_bytes(made)
            self._drawn[drawn] = new
        return bool(made)

    def _tables(self, body: str) -> str:
        """The body with the files of its tables written and linked, and an id on each table."""
        parts, end = [], 0
        for found in _TABLE.finditer(body):
            before, end = body[end : found.start()], found.end()
            caption = html.unescape(found[1])
            name = free(slug(caption)[:LONGEST_NAME].strip("-") or "table", self.taken)
            self.taken.add(name)
            stem = f"{OF_TABLES}/{name}"
            for kind, text in (("csv", found[2]), ("tex", found[3])):
                (self.site / f"{stem}.{kind}").write_text(html.unescape(text), encoding="utf-8")
            files = [(f"{stem}.csv", "CSV"), (f"{stem}.tex", "LaTeX")]
            *_, at = (0, *(box.end() for box in _BOX.finditer(before)))
            address = name if name.startswith("table-") else f"table-{name}"
            while f'id="{address}"' in body:  # no heading of the page has it
                address += "-table"
            address = address if at else ""
            mark = f' id="{address}"' if at else ""
            parts += [before[:at], mark, before[at:], _links(files, caption, address)]
        return "".join([*parts, body[end:]])


def _digest(svg: str) -> str:
    return hashlib.sha256(svg.encode()).hexdigest()


def _links(files: list[tuple[str, str]], words: str, address: str) -> str:
    name = html.escape(words, quote=True)
    each = [f'<a download href="{f}" aria-label="{kind}: {name}">{kind}</a>' for f, kind in files]
    if address:
        each += [
            f'<a href="#{address}" aria-label="Address: {name}">address</a>',
            f'<a href="index.html#cite" aria-label="Cite: {name}">cite</a>',
        ]
    return f'<p class="netlab-files">{" ".join(each)}</p>'
