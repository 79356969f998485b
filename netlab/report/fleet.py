"""The report of a fleet: matrix of hosts, slowest links, hosts, and state, as a static site."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pandas as pd
from markupsafe import Markup

from netlab.charts.chart import show
from netlab.charts.host_matrix import host_matrix
from netlab.charts.host_spread import host_spread
from netlab.charts.slow_links import slow_links
from netlab.errors import NetlabError
from netlab.report import fleet_tables
from netlab.report.export import Exporter
from netlab.report.page import Page, Section, Shown, as_html, folded, page_of
from netlab.report.place import replacing
from netlab.report.tables import Sentence
from netlab.report.writer import PageWriter

SHOWN_LINKS, SHOWN_CELLS = 20, 500
"""Rows of tables; their CSV files have every link and cell."""

METHOD = (
    "In each cell the share of a link is its goodput, the geometric mean over rounds, over the "
    "median of all links; the share of the link is the geometric mean over its cells. A triangle "
    "in the matrix marks a link that is slower than its other direction by 10 % or more.",
    "A host stands out by a rank-sum test of its links against those of the others, as sender and "
    "as receiver, with what the partners contribute taken out, corrected for the number of hosts "
    "and roles. It takes at least 4 links and a difference of 2 %.",
    "Flagged runs are left out.",
)


@dataclass(frozen=True, eq=False)  # frames have no single truth value
class FleetResults:
    """A measured fleet, for its report."""

    title: str
    description: str
    runs: pd.DataFrame
    cells: pd.DataFrame
    links: pd.DataFrame
    outlying: pd.DataFrame
    state: Shown


def build_fleet_site(
    found: FleetResults, out_dir: str | Path, *, built_at: str = "", png: bool = True
) -> Path:
    """Build the site of a fleet and replace the old one."""
    if found.links.empty:
        raise NetlabError("no link of the fleet has a valid run", code="E-REPORT-012")
    target = Path(os.path.abspath(out_dir))
    with replacing(target) as work:
        exporter = Exporter(work, target, png=png)
        home, *pages = (exporter.page(make(found)) for make in PAGES)
        writer = PageWriter(
            work,
            home,
            pages,
            site_title=found.title,
            description=found.description,
            built_at=built_at,
            concerns=(),
        )
        writer.write_chain([home, *pages], None)
    return target / "index.html"


def _overview(found: FleetResults) -> Page:
    lead = Markup("<p>{}</p>").format(found.description) if found.description else Markup("")
    said = as_html(Sentence(fleet_tables.answer(found.links, found.outlying)))
    method = Markup("").join(Markup("<p>{}</p>\n").format(text) for text in METHOD)
    return page_of(
        "index.html",
        found.title,
        "Overview",
        "",
        [
            Section("In short", lead + said),
            Section("Matrix of hosts", as_html(show(host_matrix(found.links)))),
            Section("Runs", as_html(fleet_tables.runs(found.runs))),
            Section("Method", method),
        ],
    )


def _links(found: FleetResults) -> Page:
    cells = fleet_tables.cells(found.cells).head(SHOWN_CELLS, "The CSV file has all.")
    return page_of(
        "links.html",
        "Slowest links",
        "Links",
        "the slowest links, asymmetric pairs, and every cell with its interval",
        [
            Section("Slowest links", as_html(show(slow_links(found.links)))),
            Section("As a table", as_html(fleet_tables.slowest(found.links, SHOWN_LINKS))),
            Section("Asymmetric pairs", as_html(fleet_tables.asymmetries(found.links))),
            Section("Cells", folded("Cells of every link", len(found.cells), cells)),
        ],
    )


def _hosts(found: FleetResults) -> Page:
    table = fleet_tables.hosts(found.links)
    return page_of(
        "hosts.html",
        "Hosts",
        "Hosts",
        "every link of each host, and the hosts that stand out",
        [
            Section("Outlying hosts", as_html(fleet_tables.outlying_hosts(found.outlying))),
            Section("Distribution", as_html(show(host_spread(found.links)))),
            Section("As a table", folded("Hosts", len(table.frame), table)),
        ],
    )


def _state(found: FleetResults) -> Page:
    return page_of(
        "state.html",
        "State of the campaign",
        "State",
        "jobs of each host, and the reason of its last failure",
        [Section("Jobs and hosts", as_html(found.state))],
    )


PAGES: tuple[Callable[[FleetResults], Page], ...] = (_overview, _links, _hosts, _state)
"""In reading order; the first one is the index."""
