"""Pages of searches and screens in the report of a study."""

from __future__ import annotations

from netlab.analysis.measured import Measured
from netlab.errors import NetlabError
from netlab.files.tables import Sentence
from netlab.report import tables
from netlab.report.page import Page, Section, page_of
from netlab.report.templating import Shown
from netlab.search.mlrsearch.bounds import bounds_table, stored_bounds
from netlab.search.screen.page import screen_pages

RATES = "mlrsearch.html"
TITLE = "Rates without loss"
SUMMARY = "bounds of the rate of datagrams for each goal of loss, by MLRsearch"


def pages(m: Measured) -> list[Page]:
    """Bounds of the rate of datagrams if they were searched, and each screen."""
    return [*_rates(m), *screen_pages(m.results, m.campaign)]


def _rates(m: Measured) -> list[Page]:
    """The page of a search for rates; one that cannot be read says so."""
    try:
        searched = stored_bounds(m.results, m.campaign)
    except NetlabError as error:
        return [_page(Sentence(str(error)))]
    if searched is None:
        return []
    rows, notes = searched.rows, tuple(map(Sentence, searched.notes))
    shown = (bounds_table(rows),) if len(rows) else ()
    return [_page(tables.Tables((*notes, *shown)))]


def _page(bounds: Shown) -> Page:
    return page_of(RATES, TITLE, TITLE, SUMMARY, [Section("Bounds", bounds)])
