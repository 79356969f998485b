"""Static sites: the report of a study, and that of a fleet."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

import pandas as pd
from markupsafe import Markup

from netlab.analysis.measured import Measured
from netlab.analysis.trust import gate
from netlab.charts.chart import show
from netlab.charts.fleet import host_matrix, host_spread, slow_links
from netlab.errors import BadInput, NetlabError
from netlab.report import tables
from netlab.report.calibration import calibration_pages
from netlab.report.export import Exporter, write_downloads, write_pdf
from netlab.report.front import front, picture
from netlab.report.gate import CALIBRATION
from netlab.report.page import (
    OWN_FILES,
    Page,
    Section,
    Shown,
    as_html,
    folded,
    navigation,
    page_of,
    replacing,
)
from netlab.report.pages import measured_pages, run_pages, write_records
from netlab.report.render import PageWriter, copy_plain, render
from netlab.report.screen import PAGE as SCREEN_PAGE
from netlab.report.tables import Sentence
from netlab.study.schedule import slug

# Build a static site from executed notebooks and a measured study; replace it atomically.

PDF_NAME = "report.pdf"
NOTEBOOKS = "notebooks"

INDEX = Page("index.html", "Overview", "Overview", "", Markup(""))


@dataclass(frozen=True)
class ExecutedNotebook:
    """A notebook with its outputs, as a page of the site."""

    path: Path
    title: str | None = None
    summary: str = ""
    part: str = ""
    block_id: str = ""
    ready: bool = True


def build_site(
    notebooks: Sequence[ExecutedNotebook],
    out_dir: str | Path,
    *,
    measured: Measured | None = None,
    title: str | None = None,
    built_at: datetime | None = None,
    pdf: bool = True,
    png: bool = True,
    wait: Callable[[Path], None] = lambda notebook: None,
    calibrations: Path | None = None,
    author: str = "",
    left_out: Sequence[str] = (),
) -> Path:
    """Build the site beside `out_dir`, and replace the old one once it is complete."""
    target = Path(os.path.abspath(out_dir))
    files = page_files(notebooks)
    own: list[Page] = []
    runs: list[Page] = []
    parts: dict[str, object] = {"front": None, "picture": "", "downloads": (), "cite": None}
    title = title or (measured.study.title if measured else "netlab report")
    no_pdf = "no measured study is part of this site" if pdf else "not requested"
    with replacing(target) as work:
        exporter = Exporter(work, target, png=png)
        if measured is not None:
            blocks = {n.block_id: file for n, file in files.items() if n.block_id}
            own, first = [exporter.page(page) for page in measured_pages(measured)], front(measured)
            about = calibration_pages(measured, calibrations) if calibrations is not None else []
            if about:
                own += map(exporter.page, about)
                first = replace(first, pages={**first.pages, CALIBRATION: about[0].file})
            picture_page = exporter.page(replace(INDEX, body=as_html(picture(measured))))
            runs = [exporter.page(page) for page in run_pages(measured, blocks)]
            write_records(measured, work)
            parts = {"front": first, "picture": picture_page.body, "cite": _citation(measured)}
            parts["downloads"] = write_downloads(measured, work)
            if pdf:
                no_pdf = write_pdf(measured, work, work / PDF_NAME, title, author)
        made = {n: _page(n, file, files) for n, file in files.items() if n.ready}
        for notebook, file in files.items():
            if notebook not in made:
                wait(notebook.path)
                made[notebook] = _page(notebook, file, files)
        (work / NOTEBOOKS).mkdir()
        for notebook in files:
            # without the times and paths that papermill noted in them
            copy_plain(Path(notebook.path), work / made[notebook].notebook)
        order = [*own, *(exporter.page(made[notebook]) for notebook in files), *runs]
        writer = PageWriter(
            work,
            INDEX,
            navigation([INDEX, *order]),
            site_title=title,
            description=measured.study.description if measured else "",
            built_at=f"{built_at:%Y-%m-%d %H:%M %Z}".strip() if built_at else "",
            concerns=gate(measured) if measured else (),
        )
        writer.write_chain(order, INDEX)
        writer.write(
            INDEX.file,
            "index.html.j2",
            after=order[0] if order else None,
            pdf="" if no_pdf else PDF_NAME,
            no_pdf=no_pdf,
            left_out=left_out,
            **parts,
        )
    return target / "index.html"


def page_files(notebooks: Sequence[ExecutedNotebook]) -> dict[ExecutedNotebook, str]:
    """The file of each notebook's page."""
    files: dict[ExecutedNotebook, str] = {}
    for notebook in notebooks:
        name = (slug(Path(notebook.path).stem) or "notebook") + ".html"
        taken = {*files.values(), *OWN_FILES}
        if name in taken or name.startswith(SCREEN_PAGE):
            raise BadInput(
                "another page of the site has this name",
                where=str(notebook.path),
                code="E-REPORT-007",
            )
        files[notebook] = name
    return files


def _page(notebook: ExecutedNotebook, file: str, files: dict[ExecutedNotebook, str]) -> Page:
    # notebooks mention each other by name
    links = {Path(other.path).stem: page for other, page in files.items()}
    rendered = render(Path(notebook.path), links)
    title = notebook.title or rendered.title
    return Page(
        file=file,
        title=title,
        short=title.split(":")[0].split(",")[0],
        summary=notebook.summary,
        part=notebook.part,
        body=Markup(rendered.body),
        contents=rendered.contents,
        notebook=f"{NOTEBOOKS}/{Path(file).stem}.ipynb",
        failed=rendered.failed,
    )


def _citation(m: Measured) -> dict[str, object]:
    return {
        "key": f"netlab-{slug(m.study.name)}",
        "title": m.study.title,
        "bibtex_title": re.sub(r"[\\{}]", "", m.study.title),
        "last": m.runs["started_at"].max(),
        "digests": ", ".join(sorted({d[:12] for d in m.runs["study_digest"]})),
    }


# The report of a fleet: matrix of hosts, slowest links, hosts, and state, as a static site.

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
        home, *pages = map(exporter.page, _fleet_pages(found))
        writer = PageWriter(
            work,
            home,
            {"": {"": [home, *pages]}},
            site_title=found.title,
            description=found.description,
            built_at=built_at,
            concerns=(),
        )
        writer.write_chain([home, *pages], None)
    return target / "index.html"


def _fleet_pages(found: FleetResults) -> Iterator[Page]:
    """Pages of a fleet in reading order; the first one is the index."""
    lead = Markup("<p>{}</p>").format(found.description) if found.description else Markup("")
    said = as_html(Sentence(tables.answer(found.links, found.outlying)))
    method = Markup("").join(Markup("<p>{}</p>\n").format(text) for text in METHOD)
    yield page_of(
        *("index.html", found.title, "Overview", ""),
        [
            Section("In short", lead + said),
            Section("Matrix of hosts", show(host_matrix(found.links))),
            Section("Runs", tables.runs(found.runs)),
            Section("Method", method),
        ],
    )
    cells = tables.cells(found.cells).head(SHOWN_CELLS, "The CSV file has all.")
    summary = "the slowest links, asymmetric pairs, and every cell with its interval"
    yield page_of(
        *("links.html", "Slowest links", "Links", summary),
        [
            Section("Slowest links", show(slow_links(found.links))),
            Section("As a table", tables.slowest(found.links, SHOWN_LINKS)),
            Section("Asymmetric pairs", tables.asymmetries(found.links)),
            Section("Cells", folded("Cells of every link", len(found.cells), cells)),
        ],
    )
    table = tables.hosts(found.links)
    summary = "every link of each host, and the hosts that stand out"
    yield page_of(
        *("hosts.html", "Hosts", "Hosts", summary),
        [
            Section("Outlying hosts", tables.outlying_hosts(found.outlying)),
            Section("Distribution", show(host_spread(found.links))),
            Section("As a table", folded("Hosts", len(table.frame), table)),
        ],
    )
    summary = "jobs of each host, and the reason of its last failure"
    state = [Section("Jobs and hosts", found.state)]
    yield page_of("state.html", "State of the campaign", "State", summary, state)
