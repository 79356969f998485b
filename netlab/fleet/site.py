"""The report of a fleet as a site."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pandas as pd
from markupsafe import Markup

from netlab.charts.chart import show
from netlab.fleet import tables as fleet_tables
from netlab.fleet.charts import host_matrix, host_spread, slow_links
from netlab.fleet.links import require_links
from netlab.report.export import Exporter
from netlab.report.page import Page, Section, folded, page_of
from netlab.report.page_writer import PageWriter
from netlab.report.site_directory import replacing
from netlab.report.tables import Sentence
from netlab.report.templating import Shown, as_html

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
    not_counted: tuple[str, ...] = ()


def build_fleet_site(found: FleetResults, out_dir: str | Path, *, built_at: str = "") -> Path:
    """Build the site of a fleet and replace the old one."""
    require_links(found.links, found.runs)
    target = Path(os.path.abspath(out_dir))
    with replacing(target) as work:
        exporter = Exporter(work, target)
        home, *pages = map(exporter.page, _fleet_pages(found))
        about = {"description": found.description, "built_at": built_at}
        every = {"": {"": [home, *pages]}}
        writer = PageWriter(work, home, every, site_title=found.title, **about)
        writer.write_chain([home, *pages])
    return target / "index.html"


def _fleet_pages(found: FleetResults) -> Iterator[Page]:
    """Pages of a fleet in reading order; the first one is the index."""
    lead = Markup("<p>{}</p>").format(found.description) if found.description else Markup("")
    said = as_html(Sentence(fleet_tables.answer(found.links, found.outlying)))
    others = "; ".join(found.not_counted)
    method = Markup("").join(Markup("<p>{}</p>\n").format(text) for text in METHOD)
    yield page_of(
        *("index.html", found.title, "Overview", ""),
        [
            Section("In short", lead + said),
            Section("Matrix of hosts", show(host_matrix(found.links))),
            Section("Runs", fleet_tables.runs(found.runs)),
            *([Section("Not counted", Sentence(others))] if others else []),
            Section("Method", method),
        ],
    )
    cells = fleet_tables.cells(found.cells).head(SHOWN_CELLS, "The CSV file has all.")
    summary = "the slowest links, asymmetric pairs, and every cell with its interval"
    yield page_of(
        *("links.html", "Slowest links", "Links", summary),
        [
            Section("Slowest links", show(slow_links(found.links))),
            Section("As a table", fleet_tables.slowest(found.links, SHOWN_LINKS)),
            Section("Asymmetric pairs", fleet_tables.asymmetries(found.links)),
            Section("Cells", folded("Cells of every link", len(found.cells), cells)),
        ],
    )
    table = fleet_tables.hosts(found.links)
    summary = "every link of each host, and the hosts that stand out"
    yield page_of(
        *("hosts.html", "Hosts", "Hosts", summary),
        [
            Section("Outlying hosts", fleet_tables.outlying_hosts(found.outlying)),
            Section("Distribution", show(host_spread(found.links))),
            Section("As a table", folded("Hosts", len(table.frame), table)),
        ],
    )
    summary = "jobs of each host, and the reason of its last failure"
    state = [Section("Jobs and hosts", found.state)]
    yield page_of("state.html", "State of the campaign", "State", summary, state)
