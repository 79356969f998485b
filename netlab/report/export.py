"""Files of a report: figures and tables as SVG, PNG, CSV and LaTeX; results; the PDF document."""

from __future__ import annotations

import base64
import hashlib
import html
import math
import os
import re
import shutil
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC
from functools import cache, partial
from pathlib import Path
from typing import Final
from xml.etree import ElementTree

import jinja2
from markupsafe import Markup
from pandas.api.types import is_object_dtype

from netlab.analysis.host_facts import machines
from netlab.analysis.measured import Measured, cell_table, published_values
from netlab.analysis.own_report import own_report
from netlab.analysis.shares import with_shares
from netlab.analysis.trust import gate
from netlab.charts.drawing import csv_in, font_folder
from netlab.files.reading import read_text
from netlab.files.tables import HOLLOW, Table, csv_of
from netlab.files.writing import names_file
from netlab.report import tables
from netlab.report.cache import active
from netlab.report.front import front
from netlab.report.gate import METHOD
from netlab.report.page import TEMPLATES, TITLES, UNCREDITED, Credit, Page, free
from netlab.results.columns import RUN_COLUMNS
from netlab.results.columns import TABLES as RESULT_TABLES
from netlab.results.parquet import write_atomically, write_batches, write_derived
from netlab.results.store import Store
from netlab.study.schedule import slug
from netlab.units import arrows
from netlab.version import RELEASE

try:
    import typst

    NO_PDF = ""
except ImportError:  # an extra: it is a tenth of an installation
    NO_PDF = "typst, which makes it and figures as PNG, is not installed: pip install 'netlab[pdf]'"

# SVG to PNG by typst's renderer, with the fonts that come with matplotlib.

PIXELS_PER_INCH = 144
SOURCE = '#set page(width: auto, height: auto, margin: 0pt)\n#image("figure.svg")\n'


def _compiler(root: str) -> typst.Compiler:
    return typst.Compiler(root=root, font_paths=[str(font_folder())], ignore_system_fonts=True)


class Rasteriser:
    """Renders the figures of a site, in a directory that goes when the object does."""

    def __init__(self) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="netlab-png-")
        self._source = Path(self._folder.name) / "figure.typ"
        self._source.write_text(SOURCE, encoding="utf-8")
        self._compiler = _compiler(self._folder.name)

    def png(self, svg: str) -> bytes:
        """A figure as PNG; empty if it cannot be rendered."""
        figure = self._source.with_name("figure.svg")
        with names_file(figure):  # below TMPDIR, not in the site
            figure.write_text(svg, encoding="utf-8")
        try:
            made = self._compiler.compile(
                input=str(self._source), format="png", ppi=PIXELS_PER_INCH
            )
        except (RuntimeError, typst.TypstError):
            return b""
        return made if isinstance(made, bytes) else b""


# Files behind a page: each figure as SVG, PNG and CSV, each table as CSV and LaTeX.

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


# Downloads of a site: results as Parquet and CSV, tables as CSV and LaTeX.

FOLDER = "downloads"
SAMPLES = {
    "intervals": "the samples within every run",
    "traces": "TCP state at every sample",
    "paths": "the queues of emulated paths within every run",
}
"""Tables of a store besides the runs, with their content; empty ones are not offered."""


def write_downloads(measured: Measured, site: Path) -> dict[str, list[str]]:
    """Write all downloads below ``site/downloads``; the files of each content."""
    folder = site / FOLDER
    folder.mkdir(parents=True)
    made: dict[str, list[str]] = {}

    def note(name: str, what: str) -> Path:
        made.setdefault(what, []).append(f"{FOLDER}/{name}")
        return folder / name

    def export(shown: Table, stem: str, what: str) -> None:
        for file in shown.export(folder / stem):
            note(file.name, what)

    what = "every cell with its interval, disturbed ones with their flags, unrounded"
    cells = with_shares(measured, cell_table(measured))
    note("cells.csv", what).write_text(csv_of(cells), "utf-8")
    # such as a factor that some groups lack
    mixed = [name for name in cells if is_object_dtype(cells[name])]
    write_derived(cells.astype(dict.fromkeys(mixed, "string")), note("cells.parquet", what))
    runs = note("runs.parquet", "every run, flagged ones included, units in the metadata")
    write_atomically(measured.runs, runs, RUN_COLUMNS)
    store = Store(measured.results)
    for table, what in SAMPLES.items():
        if not (measured.results / table).is_dir():
            continue
        if table == "intervals" and measured.samples is not None:
            batches = measured.samples.batches()  # those of all runs fill the memory
        else:
            batches = iter([store.rows(table, campaign=measured.campaign)])
        file = folder / f"{table}.parquet"
        if write_batches(batches, file, RESULT_TABLES[table]):
            note(file.name, what)
    taken: set[str] = set()
    for group in measured.groups:
        shown = tables.of_group(measured, group, "both")
        stem = free(slug(shown.caption.rsplit(",", 1)[0]) or "table", taken)
        taken.add(stem)
        export(shown, stem, shown.title)
    if published_values(measured) is not None:
        export(tables.findings(measured), "findings", "findings of 2003 and their verdicts here")
    return made


# The report as a PDF document, set by typst from the results and the figures of the site.

STANDARD: Final = "ua-1"
DOCUMENT_SOURCE = "report.typ"
LINE_PT, NARROW_PERCENT, LEAST_TEXT_PT = 470, 70, 7
"""Length of a line; the least share of it that a figure takes, more where its smallest text would
be smaller than the last."""

MOST_ROWS = 60
"""Longest table that is printed whole; the site has all rows."""

SHORT_ROWS = 30
"""Longest table that stays on one page, with its caption and its note."""

WIDE_CHARACTERS, MOST_CHARACTERS = 26, 60
"""A column beyond the first shares the line by its longest text, up to the second: a column of
sentences would leave no room for the words of the others."""

_PRINTED = re.compile(r"Table (\d+): (.*)")
_LONG_WORD = re.compile(r"\S{14,}")
_JOINT = re.compile(r"[^\w\s]|_|\w{16}")
_WIDTH = re.compile(r'<svg [^>]*width="([0-9.]+)pt"')
_TEXT = re.compile(r"\bfont[^;\"]*?([0-9.]+)px")
_LABEL = re.compile(r'aria-label="([^"]*)"')
_DESCRIPTION = re.compile(r"<desc>(.*?)</desc>")


@cache
def markup() -> jinja2.Environment:
    """Templates of Typst markup; macros of ``macros.typ.j2`` set the parts of a document."""
    made = jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATES),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
    )
    made.globals |= {"widths": _widths, "hollow": HOLLOW, "short_rows": SHORT_ROWS}
    made.filters |= {"typst": _string, "breakable": _breakable, "arrows": arrows}
    # the document numbers its tables; the caption of a published one begins with its own number
    made.filters["renumbered"] = partial(_PRINTED.sub, r"\2; table \1 in the source report")
    return made


def _string(text: str) -> str:
    """A string literal: shown as it is, whatever it contains."""
    escaped = str(text).replace("\\", "\\\\").replace('"', '\\"').replace("\n", " ")
    return f'"{escaped}"'


def _breakable(text: str) -> str:
    """The text with places to break words that are too long for a column."""
    return _LONG_WORD.sub(lambda word: _JOINT.sub("\\g<0>\u200b", word[0]), text)


def _widths(heads: Sequence[Sequence[str]], body: Sequence[Sequence[str]]) -> list[str]:
    """Widths: short columns as wide as their text, long ones share what is left."""
    longest = (max(map(len, column)) for column in zip(*heads, *body, strict=True))
    return [f"{min(n, MOST_CHARACTERS)}fr" if n > WIDE_CHARACTERS else "auto" for n in longest]


def write_pdf(
    m: Measured, site: Path, target: Path, title: str, credit: Credit = UNCREDITED
) -> str:
    """Write the report with the time of the last run, so that equal results give equal bytes."""
    if NO_PDF:
        return NO_PDF
    text = document(m, site, title, credit)
    last = int(m.runs["started_at"].max().floor("us").timestamp())
    figures = sorted((site / FIGURES).glob("*.svg"))
    inputs = [text, str(last), *(part for one in figures for part in (one.name, one.read_bytes()))]
    try:
        target.write_bytes(active().once("pdf", inputs, lambda: _typeset(text, site, last)))
    except RuntimeError as error:
        return f"typst failed: {str(error).splitlines()[0]}"
    return ""


def _typeset(text: str, site: Path, timestamp: int) -> bytes:
    source = site / DOCUMENT_SOURCE
    source.write_text(text, encoding="utf-8")
    try:
        made = _compiler(str(site)).compile(
            input=str(source), format="pdf", pdf_standards=[STANDARD], timestamp=timestamp
        )
    finally:
        os.unlink(source)
    return made if isinstance(made, bytes) else b"".join(made or ())


def document(m: Measured, site: Path, title: str, credit: Credit = UNCREDITED) -> str:
    started, found, program = (
        m.runs["started_at"],
        machines(m.runs, m.study),
        f"netlab {RELEASE}",
    )
    first, last = started.min(), started.max().floor("us").to_pydatetime().astimezone(UTC)
    facts = [
        *([("Author", credit.author)] if credit.author else []),
        *([("Address", credit.url)] if credit.url else []),
        ("Measured with", program := f"netlab {RELEASE}"),
        ("Measured", f"{first:%Y-%m-%d %H:%M} to {last:%Y-%m-%d %H:%M} UTC"),
        ("Hosts", ", ".join(m.study.hosts)),
        ("Machine", ", ".join([*found.fact("CPU"), *found.fact("kernel")]) or "not recorded"),
        ("Study digest", ", ".join(sorted(map(str, m.runs["study_digest"].unique())))),
    ]
    template = markup().get_template("report.typ.j2")
    return template.render(
        title=title,
        author=credit.author,
        program=program,
        last=last,
        description=m.study.description,
        facts=facts,
        front=front(m),
        opening=_figures(site, "index"),
        concerns=gate(m),
        method=METHOD,
        chapters=_chapters(m, site),
        most_rows=MOST_ROWS,
    )


def _chapters(m: Measured, site: Path) -> list[tuple[str, Sequence[object]]]:
    """Heading and content of each part after the method: tables, sentences, figures."""

    def drawn(*stems: str) -> list[tuple[str, Sequence[object]]]:
        each = ((stem, _figures(site, stem)) for stem in stems)
        return [(TITLES[stem], figures) for stem, figures in each if figures]

    own = own_report(m)
    measured = own.tables(m) if own else tables.stack(m, "both").tables
    disturbing = (
        *(tables.flagged, tables.noise, tables.counters, tables.queues),
        *(tables.unsupported, tables.missing),
    )
    of_2003 = [("Findings of 2003", (tables.findings(m), tables.target(m)))]
    return [
        ("Measured tables", measured),
        *drawn("streams", "ceiling"),
        ("Bottlenecks", tables.stack(m, "bottleneck").tables),
        (TITLES["effects"], [*_figures(site, "effects"), tables.effects(m)]),
        *drawn("repeats", "cost", "trend"),
        ("Precision and order effects", (*tables.precision(m).tables, tables.stability(m))),
        *(of_2003 if published_values(m) is not None else []),
        ("Flags, noise and knobs", [shown(m) for shown in disturbing]),
        ("Provenance", tables.provenance(m).tables),
    ]


def _figures(site: Path, stem: str) -> list[dict[str, object]]:
    """Figures of one page of the site, in their order."""
    found = (site / "figures").glob(f"{stem}-*.svg")
    parts: list[dict[str, object]] = []
    for file in sorted(found, key=lambda path: int(path.stem.rpartition("-")[2])):
        svg = read_text(file)
        label, width = _LABEL.search(svg), _WIDTH.search(svg)
        alt = html.unescape(label[1]) if label else stem
        words = [arrows(alt.partition(": ")[0].partition(". ")[0]) + "."]
        words += map(html.unescape, _DESCRIPTION.findall(svg))
        percent = _percent(svg, float(width[1])) if width else 100
        place = f"figures/{file.name}"
        parts.append({"path": place, "alt": alt, "caption": " ".join(words), "percent": percent})
    return parts


def _percent(svg: str, width_pt: float) -> int:
    """Share of the line at which the smallest text of a figure can be read; at most the line."""
    smallest_pt = min(map(float, _TEXT.findall(svg)), default=LEAST_TEXT_PT)
    needed = math.ceil(100 * LEAST_TEXT_PT / smallest_pt * width_pt / LINE_PT)
    return min(max(needed, NARROW_PERCENT), 100)
