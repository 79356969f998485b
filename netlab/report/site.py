"""Build a static site from executed notebooks and a measured study; replace it atomically."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any

from markupsafe import Markup

from netlab import wings
from netlab.analysis.measured import Measured
from netlab.errors import BadInput
from netlab.report.active_cache import active
from netlab.report.cache import NOTHING_KEPT
from netlab.report.calibration_pages import calibration_pages
from netlab.report.document import write_pdf
from netlab.report.downloads import write_downloads
from netlab.report.export import Exporter
from netlab.report.front import front, picture
from netlab.report.gate import CALIBRATION, public
from netlab.report.page import OWN_FILES, UNCREDITED, Credit, Page, navigation
from netlab.report.page_writer import PageWriter
from netlab.report.pages import study_pages
from netlab.report.plain_notebook import copy_plain, public_names
from netlab.report.render import render
from netlab.report.run_pages import run_pages, write_records
from netlab.report.site_directory import replacing
from netlab.report.templating import as_html
from netlab.study.schedule import slug

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


@dataclass(frozen=True)
class SiteContent:
    """Content of a site, and its files besides pages."""

    notebooks: Sequence[ExecutedNotebook] = ()
    measured: Measured | None = None
    title: str = ""
    """Default: that of the measured study."""
    built_at: datetime | None = None
    pdf: bool = True
    png: bool = True
    calibrations: Path | None = None
    credit: Credit = UNCREDITED
    left_out: Sequence[str] = ()
    read: Sequence[str | bytes] = ()
    """Digests of all that the measured study was read from; without them the pages of the study are
    made anew, also those whose inputs did not change."""

    @property
    def heading(self) -> str:
        return self.title or (self.measured.study.title if self.measured else "netlab report")


def build_site(
    content: SiteContent,
    out_dir: str | Path,
    *,
    wait: Callable[[Path], None] = lambda notebook: None,
) -> Path:
    """Build the site beside `out_dir`, and replace the old one once it is complete."""
    target, measured, credit = Path(os.path.abspath(out_dir)), content.measured, content.credit
    files = page_files(content.notebooks)
    own: list[Page] = []
    runs: list[Page] = []
    parts: dict[str, object] = {"front": None, "picture": "", "downloads": {}, "cite": None}
    names = public_names(measured.results if measured else None)
    no_pdf = "no measured study is part of this site" if content.pdf else "not requested"
    with replacing(target, measured.study.name if measured else "") as work:
        exporter = Exporter(work, target, png=content.png)
        if measured is not None:
            blocks = {n.block_id: file for n, file in files.items() if n.block_id}
            first = front(measured)
            # the first screen and the gate name files and directories besides the results
            shown = (*(first, public(measured), blocks), *(content.heading, credit))
            inputs = (*content.read, *map(repr, (*shown, content.pdf, content.png)))
            kept = active() if content.read else NOTHING_KEPT
            make = partial(_study_part, measured, content, exporter, blocks)
            study_part = kept.folder("study", inputs, work, make)
            own, runs = (list(map(_page_of, study_part[kind])) for kind in ("own", "runs"))
            exporter.taken |= set(study_part["tables"])
            if content.pdf:
                no_pdf = study_part["no_pdf"]
            if study_part["calibration"]:
                first["pages"][CALIBRATION] = study_part["calibration"]
            parts = {
                "front": first,
                "picture": Markup(study_part["picture"]),
                "cite": _citation(measured, credit),
                "downloads": study_part["downloads"],
            }
        made = {}
        for notebook in sorted(files, key=lambda one: not one.ready):
            if not notebook.ready:
                wait(notebook.path)
            made[notebook] = _page(notebook, files[notebook], files, names)
        (work / NOTEBOOKS).mkdir()
        for notebook in files:
            # without the times and paths that papermill noted in them
            copy_plain(Path(notebook.path), work / made[notebook].notebook, names)
        every = [*own, *(exporter.page(made[notebook]) for notebook in files), *runs]
        listed = navigation([INDEX, *every])
        _, *order = [page for parts in listed.values() for part in parts.values() for page in part]
        writer = PageWriter(
            work,
            INDEX,
            listed,
            site_title=content.heading,
            description=measured.study.description if measured else "",
            built_at=f"{content.built_at:%Y-%m-%d %H:%M %Z}".strip() if content.built_at else "",
            concerns=public(measured) if measured else (),
            credit=credit,
        )
        writer.write_chain(order, INDEX)
        writer.write(
            INDEX.file,
            "index.html.j2",
            after=order[0] if order else None,
            pdf="" if no_pdf else PDF_NAME,
            no_pdf=no_pdf,
            left_out=content.left_out,
            **parts,
        )
    return target / "index.html"


def _study_part(
    measured: Measured, content: SiteContent, exporter: Exporter, blocks: Mapping[str, str]
) -> dict[str, Any]:
    """Write the files of a study's pages; return the pages, and what the index shows of them."""
    site, calibrations = exporter.site, content.calibrations
    written = partial(write_pdf, measured, site, site / PDF_NAME, content.heading, content.credit)
    own = [exporter.page(page) for page in study_pages(measured)]
    about = calibration_pages(measured, calibrations) if calibrations is not None else []
    own += map(exporter.page, about)
    picture_page = exporter.page(replace(INDEX, body=as_html(picture(measured))))
    runs = [exporter.page(page) for page in run_pages(measured, blocks)]
    write_records(measured, site)
    return {
        "own": list(map(asdict, own)),
        "calibration": about[0].file if about else "",
        "picture": picture_page.body,
        "runs": list(map(asdict, runs)),
        "tables": sorted(exporter.taken),
        "downloads": write_downloads(measured, site),
        "no_pdf": written() if content.pdf else "",
    }


def _page_of(stored: Mapping[str, Any]) -> Page:
    contents = tuple((name, text) for name, text in stored["contents"])
    return Page(**{**stored, "body": Markup(stored["body"]), "contents": contents})


def page_files(notebooks: Sequence[ExecutedNotebook]) -> dict[ExecutedNotebook, str]:
    """The file of each notebook's page."""
    files: dict[ExecutedNotebook, str] = {}
    for notebook in notebooks:
        name = (slug(Path(notebook.path).stem) or "notebook") + ".html"
        taken = {*files.values(), *OWN_FILES}
        if name in taken or name.startswith(wings.page_prefixes()):
            text = "another page of the site has this name"
            raise BadInput(text, where=str(notebook.path), code="E-REPORT-007")
        files[notebook] = name
    return files


def _page(
    notebook: ExecutedNotebook,
    file: str,
    files: dict[ExecutedNotebook, str],
    names: Mapping[str, str],
) -> Page:
    # notebooks mention each other by name
    links = {Path(other.path).stem: page for other, page in files.items()}
    page = render(Path(notebook.path), links, names)
    title = notebook.title or page.title
    return replace(
        page,
        file=file,
        title=title,
        short=title.split(":")[0].split(",")[0],
        summary=notebook.summary,
        part=notebook.part,
        notebook=f"{NOTEBOOKS}/{Path(file).stem}.ipynb",
    )


def _citation(m: Measured, credit: Credit) -> dict[str, object]:
    return {
        "bibtex_author": re.sub(r"[\\{}]", "", credit.author),
        "key": f"netlab-{slug(m.study.name)}",
        "title": m.study.title,
        "bibtex_title": re.sub(r"[\\{}]", "", m.study.title),
        "last": m.runs["started_at"].max(),
        "digests": ", ".join(sorted({d[:12] for d in m.runs["study_digest"]})),
    }
