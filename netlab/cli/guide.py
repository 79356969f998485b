"""``netlab guide``: the guide and the API reference as pages."""

from __future__ import annotations

from pathlib import Path

import click

from netlab.cli.exitcodes import guarded
from netlab.cli.options import directory_option


@click.command("guide")
@directory_option(
    "--site",
    help="Directory of the pages. Default: guide in $NETLAB_HOME, in a checkout, or here.",
)
@guarded
def guide_command(site: Path | None) -> None:
    """Write the guide and the API reference as pages, and print the path of the first.

    Every report has them as well. They need no network and no server.
    """
    from netlab.files import paths
    from netlab.report.guide.site import build_guide

    click.echo(build_guide(site or paths.guide_dir()))
