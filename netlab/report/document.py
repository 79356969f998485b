"""The report as a PDF document, set by typst from the results and the figures of the site."""

from __future__ import annotations

import html
import math
import os
import re
from collections.abc import Sequence
from datetime import UTC
from functools import cache, partial
from pathlib import Path
from typing import Final

import jinja2

from netlab.analysis.host_facts import machines
from netlab.analysis.measured import Measured, published_values
from netlab.analysis.own_report import own_report
from netlab.files.reading import read_text
from netlab.files.tables import HOLLOW
from netlab.files.text_columns import cells_of
from netlab.report import card_tables, provenance_tables, tables
from netlab.report.active_cache import active
from netlab.report.export import FIGURES
from netlab.report.front import front
from netlab.report.gate import public
from netlab.report.how_to_read import METHOD
from netlab.report.page import TITLES, UNCREDITED, Credit
from netlab.report.rasteriser import NO_PDF, typst_compiler
from netlab.report.templating import TEMPLATES
from netlab.units import arrows
from netlab.version import RELEASE

STANDARD: Final = "ua-1"
DOCUMENT_SOURCE = "report.typ"
LINE_PT, NARROW_PERCENT, LEAST_TEXT_PT = 470, 70, 7
"""Length of a line; the least share of it that a figure takes, more where its smallest text would
be smaller than the last."""

HIGHEST_PT = 620
"""Height of a figure that fits on a page with its caption; a higher one would be cut off."""

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
_SIZE = re.compile(r'<svg [^>]*?width="([0-9.]+)pt" height="([0-9.]+)pt"')
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
    longest = (max(map(cells_of, column)) for column in zip(*heads, *body, strict=True))
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
        made = typst_compiler(str(site)).compile(
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
        concerns=public(m),
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
        *(tables.flagged, tables.noise, card_tables.counters, card_tables.queues),
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
        ("Provenance", provenance_tables.provenance(m).tables),
    ]


def _figures(site: Path, stem: str) -> list[dict[str, object]]:
    """Figures of one page of the site, in their order."""
    found = (site / "figures").glob(f"{stem}-*.svg")
    parts: list[dict[str, object]] = []
    for file in sorted(found, key=lambda path: int(path.stem.rpartition("-")[2])):
        svg = read_text(file)
        label = _LABEL.search(svg)
        alt = html.unescape(label[1]) if label else stem
        words = [arrows(alt.partition(": ")[0].partition(". ")[0]) + "."]
        words += map(html.unescape, _DESCRIPTION.findall(svg))
        part = {"path": f"figures/{file.name}", "alt": alt, "caption": " ".join(words)}
        parts.append({**part, "percent": percent_of_line(svg)})
    return parts


def percent_of_line(svg: str) -> int:
    """Width of a figure as a share of the line: all of it fits on a page.

    On a line it is as wide as its smallest text needs to be read.
    """
    size = _SIZE.search(svg)
    if size is None:
        return 100
    width_pt, height_pt = map(float, size.groups())
    most = math.floor(100 * HIGHEST_PT * width_pt / height_pt / LINE_PT)
    smallest_pt = min(map(float, _TEXT.findall(svg)), default=LEAST_TEXT_PT)
    needed = math.ceil(100 * LEAST_TEXT_PT / smallest_pt * width_pt / LINE_PT)
    return max(1, min(max(needed, NARROW_PERCENT), 100, most))
