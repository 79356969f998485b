"""``netlab report``: publish what a study has measured."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from netlab.cli.exitcodes import BELOW_GATE, guarded
from netlab.cli.options import (
    author_option,
    quick_option,
    results_option,
    site_option,
    study_argument,
)
from netlab.cli.validation import load_study, notebooks_of

if TYPE_CHECKING:
    from netlab.analysis.trust import Concern
    from netlab.experiment.progress import Progress
    from netlab.report.publish import PublishedReport
    from netlab.study import Study


@click.command("report")
@study_argument
@quick_option
@results_option()
@site_option
@author_option
@click.option("--against", default="", help="Add a page that compares with these other results.")
@guarded
def report_command(
    study: str,
    quick: bool,
    results: Path | None,
    site: Path | None,
    author: str,
    against: str,
) -> None:
    """Write the report of what STUDY has measured, and print its path.

    STUDY is the name of a study or the path of its file. The report is of the study as it was
    measured last, whatever its file says by now. Exit code 4: it is written, with a banner: below
    the quality gate, cells are empty, disturbed or less precise than asked, or more than 5 % of the
    runs are flagged.
    """
    loaded = load_study(study, quick=quick)
    notebooks = notebooks_of(loaded, study)
    from netlab.experiment.progress import Progress

    with Progress() as progress:
        published = publish_site(loaded, notebooks, results, site, progress, against, author)
    click.echo(published.index)
    sys.exit(gate_code(published.concerns))


def gate_code(found: Iterable[Concern]) -> int:
    """0, or 4 below the quality gate; then say why on standard error.

    A short form alone gives 0, since it was asked for.
    """
    from netlab.analysis.trust import SHORT
    from netlab.report.gate import in_words

    concerns = [concern for concern in found if concern.kind != SHORT]
    for concern in concerns:
        click.echo(f"netlab: below the quality gate: {in_words(concern)}", err=True)
    return BELOW_GATE if concerns else 0


def publish_site(
    loaded: Study,
    notebooks: Sequence[Path] | None,
    results: Path | None,
    site: Path | None,
    progress: Progress,
    against: str = "",
    author: str = "",
) -> PublishedReport:
    """Write the site of a measured study, and say which notebooks of its own it executes."""
    from netlab.files import paths
    from netlab.report.execution import Executions
    from netlab.study.pages import is_own

    if own := [str(file) for file in notebooks or () if is_own(file)]:
        progress.note(f"runs the study's own notebooks: {', '.join(own)}")

    directory = (results or paths.results_dir(loaded.name)).absolute()
    target = site or paths.site_dir()
    with Executions() as running:
        from netlab.report.publish import publish  # seconds, in which the kernel imports as well

        published = publish(
            *(directory, target, progress.step),
            against=against,
            notebooks=notebooks,
            author=author,
            running=running,
        )
    if published.left_out:
        progress.note(
            f"left out {', '.join(map(repr, published.left_out))}: notebooks of a study's own run "
            f"with its own file, `netlab report FILE --results {directory}`"
        )
    return published
