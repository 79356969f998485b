"""Reports published: a branch of a git repository with every report and an index of all."""

from __future__ import annotations

import html
import re
import shutil
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path

import pandas as pd
from markupsafe import Markup

from netlab.analysis.measured import trend_of
from netlab.errors import BadInput, NetlabError
from netlab.files.writing import scratch, write_text
from netlab.report.bundle import words_of
from netlab.report.export import FOLDER, Exporter
from netlab.report.page import MARKER, Section, as_html, page_of
from netlab.report.pages import trended
from netlab.report.render import PageWriter
from netlab.results.columns import RUN_COLUMNS
from netlab.results.frames import read
from netlab.study.schedule import slug

INDEX, RUNS = "index.html", f"{FOLDER}/runs.parquet"
CONFIDENCE = 0.95
_TITLE = re.compile(r"<title>(.*?)</title>", re.DOTALL)
_ANSWER = re.compile(r'<p class="answer">(.*?)</p>', re.DOTALL)


@dataclass(frozen=True, eq=False)
class IndexedReport:
    """A report below the index: of which study, when measured last, and what it answers."""

    place: str
    study: str
    last: pd.Timestamp
    title: str
    answer: str
    runs: pd.DataFrame


def published(site: Path) -> IndexedReport:
    """The report in a directory; its address is that of the study and its last run."""
    try:
        page = (site / INDEX).read_text(encoding="utf-8")
        runs = read(site / RUNS, RUN_COLUMNS)
        study, last = str(runs["study"].iloc[-1]), runs["started_at"].max()
    except (OSError, UnicodeDecodeError, IndexError):
        reason = "is not a report of a study: netlab report, then give the directory of its page"
        raise BadInput(reason, where=str(site), code="E-REPORT-015") from None
    title, answer = (_words(pattern, page) for pattern in (_TITLE, _ANSWER))
    place = f"{slug(study) or 'study'}/{last:%Y%m%dT%H%M%SZ}"
    return IndexedReport(place, study, last, title or study, answer, runs)


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
    hosts = {name for one in reports for end in ("sender", "receiver") for name in one.runs[end]}
    exposed = replace(exposed, hosts=tuple(sorted(hosts.union(exposed.hosts))))
    if not agreed(f"the reports expose {exposed} of a network"):
        return ""
    added = {one.place: site for one, site in zip(reports, sites, strict=True)}
    if Path(repository).exists():  # git runs in another directory
        repository = str(Path(repository).absolute())
    with scratch("publish") as work:
        known = _git(work, "ls-remote", "--heads", repository, f"refs/heads/{branch}")
        _git(work, "init", "--quiet", "--initial-branch", branch)
        if known:
            _git(work, "fetch", "--quiet", "--depth", "1", repository, branch)
            _git(work, "reset", "--quiet", "--hard", "FETCH_HEAD")
        for place, site in added.items():
            shutil.rmtree(work / place, ignore_errors=True)
            shutil.copytree(site, work / place, ignore=shutil.ignore_patterns(MARKER))
        write_index(work)
        _git(work, "add", "--all")
        if not _git(work, "status", "--porcelain"):
            return ""
        _git(work, "commit", "--quiet", "--message", f"reports: {', '.join(added)}")
        _git(work, "push", "--quiet", repository, f"HEAD:refs/heads/{branch}")
        return _git(work, "rev-parse", "--short", "HEAD")


def _git(work: Path, *words: str) -> str:
    """Run git as the user is known to it, without a question; what it prints."""
    argv = ["git", "-c", "core.hooksPath=/dev/null", *words]
    done = subprocess.run(
        argv, cwd=work, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL
    )
    if done.returncode:
        raise NetlabError(f"git {words[0]}: {done.stderr.strip()}", code="E-REPORT-016")
    return done.stdout.strip()


def write_index(directory: Path) -> None:
    """The index of all reports below a directory: studies by their last run, the newest first."""
    found = [published(file.parent) for file in directory.glob(f"*/*/{INDEX}")]
    found.sort(key=lambda one: (one.study, one.last))
    studies = [list(reports) for _, reports in groupby(found, key=lambda one: one.study)]
    studies.sort(key=lambda reports: reports[-1].last, reverse=True)
    page = page_of(INDEX, "Reports", "Reports", "", [_study(reports) for reports in studies])
    page = Exporter(directory, directory, png=False).page(page)
    PageWriter(directory, page, {"": {"": [page]}}, site_title="Reports").write_chain([page])
    write_text(directory / ".nojekyll", "")


def _study(reports: Sequence[IndexedReport]) -> Section:
    """A study's latest answer, its reports, and its cells from report to report."""
    link = Markup('<li><a href="{}/index.html">{:%Y-%m-%d %H:%M} UTC</a></li>\n')
    listed = Markup("").join(link.format(one.place, one.last) for one in reversed(reports))
    body = Markup("<p>{}</p>\n<ul>\n{}</ul>\n").format(reports[-1].answer, listed)
    frame = trend_of(((f"{one.last:%Y%m%dT%H%MZ}", one.runs) for one in reports), CONFIDENCE)
    if len(frame) > 1:
        for section in trended(frame, "Reports"):
            body += as_html(section.body)
    return Section(reports[-1].title, body, slug(reports[-1].study))
