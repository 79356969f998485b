"""``netlab run``: measure a study."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from netlab.cli.exitcodes import guarded
from netlab.cli.options import results_option, study_argument, timing_options
from netlab.cli.validation import load_measurable

if TYPE_CHECKING:
    from netlab.experiment.progress import Bar
    from netlab.study import Study


@click.command("run")
@study_argument
@timing_options
@results_option()
@guarded
def run_command(study: str, results: Path | None, **timing: Any) -> None:
    """Measure every run of STUDY that has no valid record yet.

    Print the directory of the results. STUDY is the name of a study or the path of its file.
    """
    loaded = load_measurable(study, **timing)
    from netlab.experiment.progress import Bar

    with Bar(report=False) as bar:
        directory = measure(loaded, results, bar)
    click.echo(directory)


def measure(loaded: Study, results: Path | None, bar: Bar) -> Path:
    """Measure a study, say on standard error what was measured, and return the directory."""
    from netlab.experiment.campaign import run_study

    campaign = run_study(loaded, directory=results, watcher=bar)
    click.echo(
        f"netlab: {campaign.measured} runs measured in {campaign.visits} visits, "
        f"{campaign.kept} kept from before",
        err=True,
    )
    return campaign.directory
