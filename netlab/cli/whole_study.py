"""``netlab study``: a whole study, from the first run to the report."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import click

from netlab.cli import guard
from netlab.cli.measuring import exit_code, measure
from netlab.experiment.progress import Progress
from netlab.study import Study


def measure_and_report(
    study: Study,
    notebooks: Sequence[Path] | None,
    results: Path | None,
    site: Path | None,
    outer: dict[str, str],
) -> None:
    with Progress() as progress:
        campaign = measure(study, results, outer, progress)
        # a second, in which the kernel of the campaign would not start
        from netlab.cli.reporting import gate_code, publish_site

        published = publish_site(study, notebooks, campaign.directory, site=site, progress=progress)
    below, without = gate_code(published.concerns), exit_code(campaign)
    click.echo(published.index)
    sys.exit(guard.BELOW_GATE if below or without else 0)
