"""Reports published: a branch of a git repository with every report and an index of all."""

from __future__ import annotations

import html
import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path

import pandas as pd
from markupsafe import Markup

from netlab.analysis.over_campaigns import trend_of
from netlab.bundle.pages_repository import PagesRepository, regular_files
from netlab.bundle.redaction import words_of
from netlab.errors import BadInput, NetlabError, printable
from netlab.files.reading import read_text
from netlab.files.recorded_facts import provenance_of
from netlab.files.scratch_directory import scratch
from netlab.files.writing import write_text
from netlab.report.downloads import FOLDER
from netlab.report.export import Exporter
from netlab.report.page import Section, page_of
from netlab.report.page_writer import PageWriter
from netlab.report.site_directory import MARKER
from netlab.report.templating import as_html
from netlab.report.view_pages import trended
from netlab.results.columns import RUN_COLUMNS
from netlab.results.parquet import read
from netlab.study.schedule import slug

INDEX, RUNS = "index.html", f"{FOLDER}/runs.parquet"
OWN_FILES = (MARKER,)
"""Files of a site that are not published."""

CONFIDENCE = 0.95
_TITLE = re.compile(r"<title>(.*?)</title>", re.DOTALL)
PASSED = "Quality gate passed"
_STATE = re.compile(r'<aside class="gate".*?<summary>(.*?)</summary>', re.DOTALL)
_ANSWER = re.compile(r'<p class="answer">(.*?)</p>', re.DOTALL)


@dataclass(frozen=True, eq=False)
class IndexedReport:
    """A report below the index: of which study, when measured last, and what it answers."""

    place: str
    study: str
    last: pd.Timestamp
    title: str
    answer: str
    state: str
    """Concerns that keep it below the quality gate; empty without any."""
    runs: pd.DataFrame


def published(site: Path) -> IndexedReport:
    """The report in a directory; its address is that of the study and its last run."""
    try:
        page = read_text(site / INDEX)
        runs = read(site / RUNS, RUN_COLUMNS)
        study, last = str(runs["study"].iloc[-1]), runs["started_at"].max()
        whole = not ((site / INDEX).is_symlink() or (site / RUNS).is_symlink())
    except (OSError, UnicodeDecodeError, IndexError):
        whole = False
    if not whole:
        reason = "is not a report of a study: netlab report, then give the directory of its page"
        raise BadInput(reason, where=str(site), code="E-REPORT-015")
    title, answer, state = (_words(pattern, page) for pattern in (_TITLE, _ANSWER, _STATE))
    place = f"{slug(study) or 'study'}/{last:%Y%m%dT%H%M%SZ}"
    return IndexedReport(place, study, last, title or study, answer, state, runs)


def _report(site: Path) -> IndexedReport | None:
    """A report of the branch, which may have other pages too."""
    try:
        return published(site)
    except NetlabError:
        return None


def _words(pattern: re.Pattern, page: str) -> str:
    found = pattern.search(page)
    return html.unescape(re.sub(r"<[^>]*>", "", found[1])).strip() if found else ""


def publish_sites(
    sites: Sequence[Path], repository: str, branch: str, agreed: Callable[[str], bool]
) -> str:
    """Add reports to a branch, renew its index, and push it if what they expose is agreed to.

    The commit that was pushed; none if it was not agreed to, or if nothing is new.
    """
    reports = [published(site) for site in sites]
    exposed = words_of(None, *(site / part for site in sites for part in (FOLDER, "records")))
    hosts = set().union(*(_hosts(one.runs) for one in reports))
    exposed = replace(exposed, hosts=tuple(sorted(hosts.union(exposed.hosts))))
    if twice := [place for place, n in Counter(one.place for one in reports).items() if n > 1]:
        reason = f"two reports are of one study and one last run: {', '.join(twice)}; give one"
        raise BadInput(reason, key="SITES", code="E-REPORT-023")
    others = [printable(str(site / path)) for site in sites for path in regular_files(site)[1]]
    links = (
        f"; left out, as they are not regular files with a printable name: {', '.join(others)}"
        if others
        else ""
    )
    if not agreed(f"the reports expose {exposed} of a network{links}"):
        return ""
    added = {one.place: site for one, site in zip(reports, sites, strict=True)}
    with scratch("publish") as work:
        pages = PagesRepository(work, repository, branch)
        pages.fetch()
        in_way = [
            path for place, site in added.items() for path in pages.replace(place, site, OWN_FILES)
        ]
        if in_way:
            raise NetlabError(
                f"{branch} has a file or link where the directory of a report has to be: "
                f"{', '.join(in_way)}; remove it from the branch, or publish into another one",
                code="E-REPORT-021",
            )
        write_index(pages.tree)
        commit = pages.commit(f"reports: {', '.join(added)}")
        if not commit:
            return ""
        for place, site in added.items():
            if other := pages.differing(commit, place, site, OWN_FILES):
                reason = f"{len(other)} files of {site} are not what git stored, first {other[0]}"
                raise NetlabError(f"{reason}; nothing was pushed", code="E-REPORT-022")
        return pages.push(commit)


def _hosts(runs: pd.DataFrame) -> set[str]:
    """Names of the hosts of runs: of both ends, and of others that sent or could have sent."""
    texts = runs["provenance"].dropna().unique()
    stated = (provenance_of(text)["hosts"] for text in texts)
    return {*runs["sender"], *runs["receiver"]}.union(*stated)


def write_index(directory: Path) -> None:
    """The index of all reports below a directory: studies by their last run, the newest first."""
    found = [one for file in directory.glob(f"*/*/{INDEX}") if (one := _report(file.parent))]
    found.sort(key=lambda one: (one.study, one.last))
    studies = [list(reports) for _, reports in groupby(found, key=lambda one: one.study)]
    studies.sort(key=lambda reports: reports[-1].last, reverse=True)
    page = page_of(INDEX, "Reports", "Reports", "", [_study(reports) for reports in studies])
    page = Exporter(directory, directory, png=False).page(page)
    PageWriter(directory, page, {"": {"": [page]}}, site_title="Reports").write_chain([page])
    write_text(directory / ".nojekyll", "")


def _study(reports: Sequence[IndexedReport]) -> Section:
    """A study's latest answer, its reports, and its cells from report to report."""
    link = Markup('<li><a href="{}/index.html">{:%Y-%m-%d %H:%M} UTC</a>{}</li>\n')
    listed = Markup("").join(
        link.format(one.place, one.last, f": {one.state or PASSED}") for one in reversed(reports)
    )
    body = Markup("<p>{}</p>\n<ul>\n{}</ul>\n").format(reports[-1].answer, listed)
    frame = trend_of(((f"{one.last:%Y%m%dT%H%MZ}", one.runs) for one in reports), CONFIDENCE)
    if len(frame) > 1:
        for section in trended(frame, "Reports"):
            body += as_html(section.body)
    return Section(reports[-1].title, body, slug(reports[-1].study))
