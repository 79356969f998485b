"""``netlab report``: publish what a study has measured."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from netlab.cli.exitcodes import guarded
from netlab.cli.options import results_option, site_option, study_argument, timing_options
from netlab.cli.validation import load_study

if TYPE_CHECKING:
    from netlab.experiment.progress import Bar
    from netlab.study import Study


@click.command("report")
@study_argument
@timing_options
@results_option()
@site_option
@guarded
def report_command(study: str, results: Path | None, site: Path | None, **timing: Any) -> None:
    """Write the report of what STUDY has measured, and print its path.

    STUDY is the name of a study or the path of its file.
    """
    loaded = load_study(study, **timing)
    from netlab.experiment.progress import Bar

    with Bar() as bar:
        index = publish_site(loaded, results, site, bar)
    click.echo(index)


def publish_site(loaded: Study, results: Path | None, site: Path | None, bar: Bar) -> Path:
    """Write the site of a measured study; its first page."""
    from netlab.files import paths
    from netlab.report.publish import publish

    directory = results or paths.results_dir(loaded.name)
    return publish(loaded, directory, site or paths.site_dir(), bar.step)
