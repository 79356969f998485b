"""The report as a PDF document, set by typst from the results and the figures of the site."""

from __future__ import annotations

import html
import os
import re
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import typst

from netlab import __version__
from netlab.analysis.headline import headline
from netlab.analysis.longpath_study import on_long_path, samples_of
from netlab.analysis.machines import machines
from netlab.analysis.measured import Measured
from netlab.analysis.then_and_now import comparable
from netlab.analysis.trust import gate
from netlab.charts.theme import font_folder
from netlab.files.tables import Table
from netlab.report import cards, longpath, tables
from netlab.report.gate import box, in_words
from netlab.report.method import METHOD
from netlab.report.provenance import provenance
from netlab.report.typst_source import (
    PREAMBLE,
    code,
    figure,
    heading,
    items,
    paragraph,
    string,
    table,
)
from netlab.units import arrows

STANDARD: Final = "ua-1"
SOURCE = "report.typ"
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
    """Write the report of a measured study.

    The time in it is that of the last run, so that the same results give the same bytes.
    """
    source = site / SOURCE
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
            parts += [heading("Bottlenecks"), *_groups(m, "bottleneck")]
        if stem == "effects":
            parts.append(_shown(tables.effects(m)))
    parts += [heading("Precision and order effects"), _stack(tables.precision(m))]
    parts.append(_shown(tables.stability(m)))
    if len(comparable(m)):
        parts += [heading("Findings of 2003"), _shown(tables.findings(m)), _shown(tables.target(m))]
    parts += [heading("Flags, noise and knobs"), _shown(tables.flagged(m)), _shown(tables.noise(m))]
    parts += [_shown(cards.counters(m)), _shown(cards.queues(m))]
    parts += [_shown(tables.unsupported(m)), _shown(tables.missing(m)), heading("Provenance")]
    facts = provenance(m)
    parts += [_shown(facts.differing), _shown(facts.equal), _shown(facts.shared)]
    return "".join(parts)


def _title_page(m: Measured, title: str, author: str) -> str:
    last = m.runs["started_at"].max().floor("us").to_pydatetime().astimezone(UTC)
    program = f"netlab {__version__}"
    named = string(author or program)
    preamble = PREAMBLE.format(title=string(title), author=named, date=_date(last))
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


def _date(at: datetime) -> str:
    return f"datetime(year: {at.year}, month: {at.month}, day: {at.day})"


def _result(m: Measured, site: Path) -> str:
    parts = [heading("Result"), *map(paragraph, headline(m)), *_figures(site, "index")]
    parts += [heading("How far to trust this", 2), items(box(m))]
    concerns = gate(m)
    if concerns:
        parts.append(paragraph("This report is below the quality gate."))
        for concern in concerns:
            parts += [paragraph(in_words(concern).rpartition("; ")[0] + "."), code(concern.command)]
    return "".join(parts)


def _tables(m: Measured) -> Sequence[object]:
    if on_long_path(m):
        return longpath.opening(samples_of(m))
    return [tables.of_group(m, group, "both") for group in m.groups]


def _groups(m: Measured, quantity: str) -> list[str]:
    return [_shown(tables.of_group(m, group, quantity)) for group in m.groups]


def _stack(shown: tables.Tables) -> str:
    return "".join(map(_shown, shown.tables))


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
