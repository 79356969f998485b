"""Pages of a measured study besides its index: tables, precision, findings, provenance."""

from __future__ import annotations

from collections.abc import Iterable

from markupsafe import Markup

from netlab.analysis.conditions import flagged
from netlab.analysis.longpath_study import on_long_path, samples_of
from netlab.analysis.measured import Measured
from netlab.analysis.then_and_now import comparable
from netlab.analysis.trust import less_precise
from netlab.report import cards, tables
from netlab.report import longpath as longpath_tables
from netlab.report.factors import has_factors
from netlab.report.factors import stack as factor_tables
from netlab.report.method import method_page, reading_page
from netlab.report.page import Page, Section, Shown, as_html, folded, page_of
from netlab.report.provenance import provenance
from netlab.report.runs import addresses
from netlab.report.screen import screen_pages
from netlab.report.views import view_pages
from netlab.study.schedule import slug
from netlab.units import arrows

PRINTED_NOTE = (
    "Goodput in MB/s = 10⁶ bytes of payload per second, in the table layout of the report of 2003."
)
FACTORS_NOTE = "Goodput in MB/s = 10⁶ bytes of payload per second, by the two largest factors."
LONG_PATH_NOTE = "Goodput in Mb/s = 10⁶ bits of payload per second, after slow start."


OWN_FILES = tuple(
    f"{name}.html"
    for name in (
        *(
            "index",
            "tables",
            "precision",
            "findings",
            "method",
            "provenance",
            "calibration",
            "how-to-read",
        ),
        *("streams", "ceiling", "bottlenecks", "effects", "repeats", "cost", "trend"),
    )
)
"""Pages that a notebook cannot take the name of."""


def measured_pages(m: Measured) -> list[Page]:
    """Pages of a measured study besides its index, in reading order."""
    made = [_tables(m), *view_pages(m), *screen_pages(m.results), _precision(m)]
    if len(comparable(m)):
        made.append(_findings(m))
    return [*made, reading_page(), method_page(m), _provenance(m)]


def _tables(m: Measured) -> Page:
    n_missing = int((m.cells["n_valid"] == 0).sum())
    if on_long_path(m):
        note, each = LONG_PATH_NOTE, longpath_tables.opening(samples_of(m))
        sections = [Section("Goodput", _joined(each))]
    else:
        note = FACTORS_NOTE if has_factors(m) else PRINTED_NOTE
        if has_factors(m):
            sections = [Section("Factors", as_html(factor_tables(m)))]
        else:
            sections = [
                Section(
                    arrows(group),
                    as_html(tables.of_group(m, group, "both", links=addresses(m, group))),
                    name=slug(group),
                )
                for group in m.groups
            ]
    lead = Section("In short", Markup("<p>{}</p>").format(note) + as_html(tables.summary(m)))
    missing = folded("Disturbed and empty cells", n_missing, tables.missing(m))
    return page_of(
        "tables.html",
        "Measured tables",
        "Tables",
        "every cell with its interval; disturbed and empty ones with the reason",
        [
            lead,
            Section("Target", as_html(tables.target(m))),
            *sections,
            Section("Disturbed and empty cells", missing, name="empty-cells"),
        ],
    )


def _joined(shown: Iterable[Shown]) -> Markup:
    return Markup("").join(as_html(one) for one in shown)


def _precision(m: Measured) -> Page:
    n_flagged = len(flagged(m.runs))
    return page_of(
        "precision.html",
        "Precision, flags and noise",
        "Precision and flags",
        "how precise each cell is, order effects, flagged runs with the reason",
        [
            Section(
                "Precision",
                folded("Cells and how precise they are", len(less_precise(m)), tables.precision(m)),
            ),
            Section("Order effects", as_html(tables.stability(m))),
            Section("Flagged runs", folded("Flagged runs", n_flagged, tables.flagged(m))),
            Section("Knobs that a host lacks", as_html(tables.unsupported(m))),
            Section("Noise", as_html(tables.noise(m))),
            Section("Card counters", as_html(cards.counters(m))),
            Section("Receive queues", as_html(cards.queues(m))),
            Section("Time outside measuring", as_html(tables.overhead(m))),
        ],
    )


def _findings(m: Measured) -> Page:
    return page_of(
        "findings.html",
        "Findings of 2003, tested here",
        "Findings",
        "each finding of the report of 2003 with its verdict on these runs",
        [Section("Verdicts", as_html(tables.findings(m)))],
    )


def _provenance(m: Measured) -> Page:
    shown = provenance(m)
    same = Markup('<details class="rows"><summary>{}: {}</summary>{}</details>').format(
        "The same on all hosts", len(shown.equal.frame), as_html(shown.equal)
    )
    return page_of(
        "provenance.html",
        "Provenance",
        "Provenance",
        "machines, versions, digests and settings, one column a host",
        [
            Section("Hosts", as_html(shown.differing) + same),
            Section("Campaign", as_html(shown.shared)),
        ],
    )
