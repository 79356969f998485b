"""``netlab report``: publish what a study has measured."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import click

from netlab.analysis.trust import SHORT, Concern
from netlab.cli import guard, options
from netlab.errors import BadInput, printable
from netlab.experiment.progress import Progress
from netlab.files import paths
from netlab.report.cache import NOTHING_KEPT, user_cache
from netlab.report.gate import in_words
from netlab.report.one_file import single_file as as_one
from netlab.report.page import Credit
from netlab.report.publishing import (
    Executions,
    PublishedReport,
    ReportRequest,
    probably_executed,
    publish,
)
from netlab.report.rasteriser import NO_PDF
from netlab.report.site_directory import study_of_site
from netlab.study import Study, load, load_stored
from netlab.study.report_pages import is_own


def report(
    study: Study,
    notebooks: Sequence[Path] | None,
    results: Path | None,
    campaign: str,
    single_file: bool,
    author: str,
    url: str,
    **asked: Any,
) -> None:
    credit = Credit(author, url)
    with Progress() as progress:
        words = {**asked, "credit": credit, "campaign": campaign}
        published = publish_site(study, notebooks, results, progress=progress, **words)
    code, index = gate_code(published.concerns), published.index
    if single_file:
        index = as_one(index.parent)
    click.echo(index)
    sys.exit(code)


def gate_code(found: Iterable[Concern]) -> int:
    """0, or 4 below the quality gate; then say why on standard error.

    A short form alone gives 0, since it was asked for.
    """
    concerns = [concern for concern in found if concern.kind != SHORT]
    for concern in concerns:
        options.note(f"below the quality gate: {in_words(_by_given_file(concern))}")
    return guard.BELOW_GATE if concerns else 0


def _by_given_file(concern: Concern) -> Concern:
    """Name the file that the user gave in place of the stored copy, if it is the same study."""
    given = click.get_current_context().meta[guard.TYPED].get("study", "")
    try:
        file = paths.study_file(given)
    except BadInput:  # the name or directory of results
        return concern
    if not concern.copy or paths.is_stored(file):
        return concern
    measured = load_stored(paths.given_path(concern.copy)).digest()
    for quick in (False, True):
        try:
            own = load(file, quick=quick)
        except BadInput:  # such as a study without a short form
            continue
        if own.digest() == measured:
            return concern.with_own_file([given, *["--quick"] * quick])
    return concern


def publish_site(
    loaded: Study,
    notebooks: Sequence[Path] | None,
    results: Path | None,
    *,
    site: Path | None,
    progress: Progress,
    fresh: bool = False,
    **words: Any,
) -> PublishedReport:
    """Write the site of a measured study, and say which notebooks of its own it executes."""
    if own := [str(file) for file in notebooks or () if is_own(file)]:
        progress.note(f"runs the study's own notebooks: {', '.join(own)}")

    directory = (results or paths.results_dir(loaded.name)).absolute()
    target = site or paths.site_dir()
    cache = NOTHING_KEPT if fresh else user_cache()
    if (before := study_of_site(target)) not in ("", loaded.name):
        text = f"replaces the report of {before} in {target}; --site names another place"
        progress.note(printable(text))
    at_once = not probably_executed(directory, cache)
    with Executions(at_once=at_once, cache=cache) as running:
        request = ReportRequest(notebooks=notebooks, **words)
        published = publish(directory, target, progress.step, request, running=running, cache=cache)
    if NO_PDF:
        progress.note(f"no PDF: {NO_PDF}")
    if published.left_out:
        progress.note(
            f"left out {', '.join(map(repr, published.left_out))}: notebooks of a study's own run "
            f"with its own file, `netlab report FILE --results {directory}`"
        )
    return published
