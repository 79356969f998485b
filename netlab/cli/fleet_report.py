"""``netlab fleet report``: matrix of hosts, slowest links and hosts of a fleet as a site."""

from __future__ import annotations

from pathlib import Path

import click

from netlab.cli.exitcodes import guarded
from netlab.cli.options import site_option


@click.command("report")
@click.argument("results", type=click.Path(path_type=Path))
@site_option
@guarded
def report_command(results: Path, site: Path | None) -> None:
    """Write the report of the fleet in RESULTS, and print its path.

    RESULTS is a directory, or the name of a study. The pages show the matrix of hosts, the slowest
    links and asymmetric pairs, the links of each host and the hosts that stand out, and the state
    of the campaign. `netlab report` of a pair's own study has all its cells.
    """
    from netlab.face.fleet import Fleet

    click.echo(Fleet(results).report(site).index)
