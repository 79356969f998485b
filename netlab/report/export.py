"""Files of a report: figures and tables as SVG, PNG, CSV and LaTeX; results; the PDF document."""

from __future__ import annotations

import base64
import hashlib
import html
import os
import re
import shutil
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC
from pathlib import Path
from typing import Final
from xml.etree import ElementTree

from markupsafe import Markup

from netlab import __version__
from netlab.analysis.longpath_study import on_long_path, samples_of
from netlab.analysis.measured import Measured
from netlab.analysis.then_and_now import comparable
from netlab.analysis.trust import gate, machines
from netlab.charts.labels import csv_in
from netlab.charts.theme import font_folder
from netlab.files.tables import HOLLOW, Table, csv_of
from netlab.report import longpath, tables
from netlab.report.front import front
from netlab.report.gate import METHOD, in_words
from netlab.report.page import Page, free
from netlab.report.tables import provenance
from netlab.results.columns import RUN_COLUMNS
from netlab.results.columns import TABLES as RESULT_TABLES
from netlab.results.frames import write_atomically
from netlab.results.store import Store
from netlab.study.schedule import slug
from netlab.units import arrows

try:
    import typst

    NO_PDF = ""
except ImportError:  # an extra: it is a tenth of an installation
    NO_PDF = "typst, which makes it and figures as PNG, is not installed: pip install 'netlab[pdf]'"

# SVG to PNG by typst's renderer, with the fonts that come with matplotlib.

PIXELS_PER_INCH = 144
SOURCE = '#set page(width: auto, height: auto, margin: 0pt)\n#image("figure.svg")\n'


class Rasteriser:
    """Renders the figures of a site, in a directory that goes when the object does."""

    def __init__(self) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="netlab-png-")
        self._source = Path(self._folder.name) / "figure.typ"
        self._source.write_text(SOURCE, encoding="utf-8")
        self._compiler = typst.Compiler(
            root=self._folder.name, font_paths=[str(font_folder())], ignore_system_fonts=True
        )

    def png(self, svg: str) -> bytes:
        """A figure as PNG; empty if it cannot be rendered."""
        self._source.with_name("figure.svg").write_text(svg, encoding="utf-8")
        try:
            made = self._compiler.compile(
                input=str(self._source), format="png", ppi=PIXELS_PER_INCH
            )
        except (RuntimeError, typst.TypstError):
            return b""
        return made if isinstance(made, bytes) else b""


# Files behind a page: each figure as SVG, PNG and CSV, each table as CSV and LaTeX.

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
        self._site = site
        self._drawn = _drawn(before / FIGURES)
        self._taken: set[str] = set()
        self._raster = Rasteriser() if png and not NO_PDF else None
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
        svg = base64.b64decode(found[3]).decode("utf-8", "replace")
        if 'role="img"' not in found[2] + found[4] or not is_inert(svg):
            return found[0]  # a picture of another program stays a picture, which runs nothing
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
        files = [(f"{FIGURES}/{name}.{kind}", kind.upper()) for kind in kinds]
        start = found[1].replace('figure"', f'figure" id="figure-{name}"', 1)
        links = _links(files, words, f"figure-{name}")
        return f"{start}{_inline(svg, name)}{found[5]}{links}</figure>"

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
            name, files, caption = self._table(found)
            *_, at = (0, *(box.end() for box in _BOX.finditer(before)))
            address = _free_id(name, body) if at else ""
            mark = f' id="{address}"' if at else ""
            parts += [before[:at], mark, before[at:], _links(files, caption, address)]
        return "".join([*parts, body[end:]])

    def _table(self, found: re.Match) -> tuple[str, list[tuple[str, str]], str]:
        """Write the files of a table; return its name, the files and its caption."""
        caption = html.unescape(found[1])
        name = free(slug(caption)[:LONGEST_NAME].strip("-") or "table", self._taken)
        self._taken.add(name)
        folder = self._site / TABLES
        for kind, text in (("csv", found[2]), ("tex", found[3])):
            (folder / f"{name}.{kind}").write_text(html.unescape(text), encoding="utf-8")
        files = [(f"{TABLES}/{name}.csv", "CSV"), (f"{TABLES}/{name}.tex", "LaTeX")]
        return name, files, caption


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


def _links(files: list[tuple[str, str]], words: str, address: str) -> str:
    name = html.escape(words, quote=True)
    each = [f'<a download href="{f}" aria-label="{kind}: {name}">{kind}</a>' for f, kind in files]
    if address:
        each += [
            f'<a href="#{address}" aria-label="Address: {name}">address</a>',
            f'<a href="index.html#cite" aria-label="Cite: {name}">cite</a>',
        ]
    return f'<p class="netlab-files">{" ".join(each)}</p>'


def _inline(svg: str, name: str) -> str:
    """An SVG as part of a page: its ids made unique, its data and description left to the file."""
    svg = re.sub(r"<metadata.*?</metadata>", "", svg, flags=re.DOTALL)
    svg = svg[svg.index("<svg ") :]
    return _IDS.sub(lambda found: f"{found[1]}{name}-", svg)


# Downloads of a site: results as Parquet and CSV, tables as CSV and LaTeX.

FOLDER = "downloads"
SAMPLES = {
    "intervals": "the samples within every run",
    "traces": "TCP state at every sample",
    "paths": "the queues of emulated paths within every run",
}
"""Tables of a store besides the runs, with their content; empty ones are not offered."""


@dataclass(frozen=True)
class Download:
    """A file of the site, relative to its root, and its content."""

    file: str
    what: str


def write_downloads(measured: Measured, site: Path) -> list[Download]:
    """Write all downloads below ``site/downloads`` and list them in reading order."""
    folder = site / FOLDER
    folder.mkdir(parents=True)
    made = []

    def note(name: str, what: str) -> Path:
        made.append(Download(f"{FOLDER}/{name}", what))
        return folder / name

    what = "every cell with its interval, disturbed ones with their flags, unrounded"
    note("cells.csv", what).write_text(csv_of(measured.cells), "utf-8")
    runs = note("runs.parquet", "every run, flagged ones included, units in the metadata")
    write_atomically(measured.runs, runs, RUN_COLUMNS)
    store = Store(measured.results)
    for table, what in SAMPLES.items():
        if not (measured.results / table).is_dir():
            continue
        known = measured.intervals if table == "intervals" else None
        rows = store.rows(table, campaign=measured.campaign) if known is None else known
        if len(rows):
            write_atomically(rows, note(f"{table}.parquet", what), RESULT_TABLES[table])
    taken: set[str] = set()
    for group in measured.groups:
        shown = tables.of_group(measured, group, "both")
        stem = free(slug(shown.caption.rsplit(",", 1)[0]) or "table", taken)
        taken.add(stem)
        note(f"{stem}.csv", shown.title)
        shown.export(folder / stem)
        note(f"{stem}.tex", f"{shown.title}, LaTeX")
    if len(comparable(measured)):
        note("findings.csv", "findings of 2003 and their verdicts here")
        note("findings.tex", "findings of 2003 and their verdicts here, LaTeX")
        tables.findings(measured).export(folder / "findings")
    return made


# Typst markup for a report: headings, text, tables and figures, with everything escaped.

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


# The report as a PDF document, set by typst from the results and the figures of the site.

STANDARD: Final = "ua-1"
DOCUMENT_SOURCE = "report.typ"
NARROW_PT, NARROW_PERCENT = 500, 70
"""A figure up to this width takes this share of the line."""

MOST_ROWS = 60
"""Longest table that is printed whole; the site has all rows."""

_VIEWS = (
    ("Goodput over streams", "streams"),
    ("Per cent of the bus", "ceiling"),
    ("Effect of each factor", "effects"),
    ("Every repeat", "repeats"),
    ("CPU cost per byte", "cost"),
    ("Trend over campaigns", "trend"),
)
_WIDTH = re.compile(r'<svg [^>]*width="([0-9.]+)pt"')
_LABEL = re.compile(r'aria-label="([^"]*)"')


def write_pdf(m: Measured, site: Path, target: Path, title: str, author: str = "") -> str:
    """Write the report with the time of the last run, so that equal results give equal bytes."""
    if NO_PDF:
        return NO_PDF
    source = site / DOCUMENT_SOURCE
    source.write_text(document(m, site, title, author), encoding="utf-8")
    last = m.runs["started_at"].max().floor("us").to_pydatetime()
    compiler = typst.Compiler(
        root=str(site), font_paths=[str(font_folder())], ignore_system_fonts=True
    )
    try:
        compiler.compile(
            input=str(source),
            output=str(target),
            format="pdf",
            pdf_standards=[STANDARD],
            timestamp=int(last.timestamp()),
        )
    except RuntimeError as error:
        target.unlink(missing_ok=True)
        return f"typst failed: {str(error).splitlines()[0]}"
    finally:
        os.unlink(source)
    return ""


def document(m: Measured, site: Path, title: str, author: str = "") -> str:
    """Typst source of the report."""
    parts = [_title_page(m, title, author), _result(m, site), heading("Method")]
    parts += [paragraph(text) for text in METHOD]
    parts += [heading("Measured tables"), *map(_shown, _tables(m))]
    for name, stem in _VIEWS:
        drawn = _figures(site, stem)
        if drawn:
            parts += [heading(name), *drawn]
        if stem == "ceiling":
            parts += [heading("Bottlenecks"), *map(_shown, tables.stack(m, "bottleneck").tables)]
        if stem == "effects":
            parts.append(_shown(tables.effects(m)))
    precise = (*tables.precision(m).tables, tables.stability(m))
    parts += [heading("Precision and order effects"), *map(_shown, precise)]
    if len(comparable(m)):
        parts += [heading("Findings of 2003"), _shown(tables.findings(m)), _shown(tables.target(m))]
    disturbing = (tables.flagged, tables.noise, tables.counters, tables.queues)
    shown = [_shown(table(m)) for table in (*disturbing, tables.unsupported, tables.missing)]
    parts += [heading("Flags, noise and knobs"), *shown, heading("Provenance")]
    facts = provenance(m)
    return "".join([*parts, *map(_shown, (facts.differing, facts.equal, facts.shared))])


def _title_page(m: Measured, title: str, author: str) -> str:
    last = m.runs["started_at"].max().floor("us").to_pydatetime().astimezone(UTC)
    program = f"netlab {__version__}"
    named = string(author or program)
    date = f"datetime(year: {last.year}, month: {last.month}, day: {last.day})"
    preamble = PREAMBLE.format(title=string(title), author=named, date=date)
    found = machines(m.runs, m.study)
    digests = ", ".join(sorted({str(digest) for digest in m.runs["study_digest"]}))
    first = m.runs["started_at"].min()
    rows = [
        *([("Author", author)] if author else []),
        ("Measured with", program),
        ("Measured", f"{first:%Y-%m-%d %H:%M} to {last:%Y-%m-%d %H:%M} UTC"),
        ("Hosts", ", ".join(m.study.hosts)),
        ("Machine", ", ".join([*found.fact("CPU"), *found.fact("kernel")]) or "not recorded"),
        ("Study digest", digests),
    ]
    return "".join(
        [
            preamble,
            "#v(5cm)\n",
            "#par(justify: false)[#text("
            f'size: 24pt, weight: "bold", hyphenate: false, {string(title)})]\n\n#v(0.5cm)\n',
            paragraph(m.study.description) if m.study.description else "",
            "#v(1fr)\n",
            items(rows),
            '#pagebreak()\n#set page(numbering: "1")\n#counter(page).update(1)\n',
            '#outline(title: "Contents", depth: 2)\n#pagebreak()\n',
        ]
    )


def _result(m: Measured, site: Path) -> str:
    first = front(m)
    parts = [heading("Result"), paragraph(first.answer), *_figures(site, "index")]
    parts += [heading("How far to trust this", 2), items(first.box)]
    concerns = gate(m)
    if concerns:
        parts.append(paragraph("This report is below the quality gate."))
        for concern in concerns:
            parts += [paragraph(in_words(concern).rpartition("; ")[0] + "."), code(concern.command)]
    parts += [heading("What was measured", 2), *map(paragraph, first.sentences)]
    return "".join(parts)


def _tables(m: Measured) -> Sequence[object]:
    if on_long_path(m):
        return longpath.opening(samples_of(m))
    return tables.stack(m, "both").tables


def _shown(shown: object) -> str:
    """A table, cut where it is long, or a sentence."""
    if not isinstance(shown, Table):
        return paragraph(arrows(str(shown)))
    return table(shown.head(MOST_ROWS, "The site has all rows."))


def _figures(site: Path, stem: str) -> list[str]:
    """Figures of one page of the site, in their order."""
    found = (site / "figures").glob(f"{stem}-*.svg")
    parts = []
    for file in sorted(found, key=lambda path: int(path.stem.rpartition("-")[2])):
        svg = file.read_text(encoding="utf-8")
        label, width = _LABEL.search(svg), _WIDTH.search(svg)
        alt = html.unescape(label[1]) if label else stem
        caption = alt.partition(": ")[0].partition(". ")[0]
        percent = 100 if width is None or float(width[1]) > NARROW_PT else NARROW_PERCENT
        parts.append(figure(f"figures/{file.name}", alt, arrows(caption) + ".", percent))
    return parts
