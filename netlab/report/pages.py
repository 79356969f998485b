"""Pages of a measured study besides its index: tables, precision, findings, provenance."""

from __future__ import annotations

from markupsafe import Markup

from netlab import wings
from netlab.analysis.conditions import flagged
from netlab.analysis.measured import Measured, published_values
from netlab.analysis.own_report import own_report
from netlab.analysis.trust import less_precise
from netlab.report import card_tables, provenance_tables, tables
from netlab.report.explore import has_factors
from netlab.report.explore import stack as factor_tables
from netlab.report.how_to_read import method_page, reading_page
from netlab.report.page import Page, Section, folded, page
from netlab.report.run_pages import addresses
from netlab.report.templating import as_html
from netlab.report.view_pages import group_sections, on_a_page, view_pages

PRINTED_NOTE = (
    "Goodput in MB/s = 10⁶ bytes of payload per second, in the table layout of the report of 2003."
)
FACTORS_NOTE = "Goodput in MB/s = 10⁶ bytes of payload per second, by the two largest factors."


def study_pages(m: Measured) -> list[Page]:
    """Pages of a measured study besides its index, in reading order."""
    of_wings = [page for build in wings.pages() for page in build(m)]
    made = [_tables(m), *view_pages(m), *of_wings, _precision(m)]
    if published_values(m) is not None:
        made.append(page("findings", Section("Verdicts", tables.findings(m))))
    return [*made, reading_page(), method_page(m), _provenance(m)]


def _tables(m: Measured) -> Page:
    n_missing = int((m.cells["n_valid"] == 0).sum())
    if own := own_report(m):
        note, sections = own.note, [Section("Goodput", tables.Tables(own.tables(m)))]
    elif has_factors(m):
        note, sections = FACTORS_NOTE, [Section("Factors", factor_tables(m))]
    else:
        note = PRINTED_NOTE
        sections = group_sections(m, lambda g: tables.of_group(m, g, "both", links=addresses(m, g)))
    lead = Section("In short", Markup("<p>{}</p>").format(note) + as_html(tables.summary(m)))
    missing = folded("Flagged and empty cells", n_missing, tables.missing(m))
    return page(
        "tables",
        lead,
        Section("Target", tables.target(m)),
        *sections,
        Section("Flagged and empty cells", missing, name="empty-cells"),
    )


def _precision(m: Measured) -> Page:
    cells = folded("Cells and how precise they are", len(less_precise(m)), tables.precision(m))
    runs = folded("Flagged runs", len(flagged(m.runs)), on_a_page(tables.flagged(m)))
    return page(
        "precision",
        Section("Precision", cells),
        Section("Order effects", tables.stability(m)),
        Section("Flagged runs", runs),
        Section("Knobs that a host lacks", tables.unsupported(m)),
        Section("Noise", tables.noise(m)),
        Section("Card counters", card_tables.counters(m)),
        Section("Receive queues", card_tables.queues(m)),
        Section("Time outside measuring", tables.overhead(m)),
    )


def _provenance(m: Measured) -> Page:
    differing, equal, campaign = provenance_tables.provenance(m).tables
    same = folded("The same on all hosts", len(equal.frame), equal, above=-1)
    hosts = Section("Hosts", as_html(differing) + same)
    return page("provenance", hosts, Section("Campaign", campaign))
