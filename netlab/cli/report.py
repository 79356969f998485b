"""``netlab report``: publish what a study has measured."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from netlab.cli.exitcodes import guarded
from netlab.cli.options import quick_option, results_option, site_option, study_argument
from netlab.cli.validation import load_study

if TYPE_CHECKING:
    from netlab.experiment.progress import Bar
    from netlab.study import Study


@click.command("report")
@study_argument
@quick_option
@results_option()
@site_option
@click.option("--against", default="", help="Add a page that compares with these other results.")
@guarded
def report_command(
    study: str, quick: bool, results: Path | None, site: Path | None, against: str
) -> None:
    """Write the report of what STUDY has measured, and print its path.

    STUDY is the name of a study or the path of its file. The report is of the study as it was
    measured last, whatever its file says by now.
    """
    loaded = load_study(study, quick=quick)
    from netlab.experiment.progress import Bar

    with Bar() as bar:
        index = publish_site(loaded, results, site, bar, against)
    click.echo(index)


def publish_site(
    loaded: Study, results: Path | None, site: Path | None, bar: Bar, against: str = ""
) -> Path:
    """Write the site of a measured study; its first page."""
    from netlab.files import paths
    from netlab.report.publish import publish

    directory = results or paths.results_dir(loaded.name)
    return publish(directory, site or paths.site_dir(), bar.step, against=against)
