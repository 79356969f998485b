"""``netlab study``: a whole study, from the first run to the report."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from netlab.cli.exitcodes import guarded
from netlab.cli.options import (
    outer_option,
    results_option,
    site_option,
    study_argument,
    timing_options,
)
from netlab.cli.report import gate_code, publish_site
from netlab.cli.run import exit_code, measure
from netlab.cli.validation import asked_outer, load_measurable, notebooks_of


@click.command("study")
@study_argument
@timing_options
@outer_option
@results_option()
@site_option
@guarded
def study_command(
    study: str, results: Path | None, site: Path | None, outer: dict[str, str], **timing: Any
) -> None:
    """Measure STUDY and write its report: `run`, then `report`.

    Print the path of the report. STUDY is the name of a study or the path of its file. Exit code 4:
    the report is written, with a banner: below the quality gate, see `netlab report`; 1: all runs
    of a cell failed.
    """
    loaded = load_measurable(study, **timing)
    notebooks, outer = notebooks_of(loaded, study), asked_outer(loaded, outer)
    from netlab.experiment.progress import Progress

    with Progress() as progress:
        campaign = measure(loaded, results, progress, outer)
        published = publish_site(loaded, notebooks, campaign.directory, site, progress)
    click.echo(published.index)
    below = gate_code(published.concerns)
    sys.exit(exit_code(campaign) or below)
