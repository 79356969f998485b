"""``netlab verify``: digests of a bundle, and its figures recomputed."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from netlab.cli.exitcodes import guarded
from netlab.cli.report import PUBLISHING

if TYPE_CHECKING:
    from netlab.report.verify import Deviation

SHOWN = 50
"""Differences that are listed; all are counted."""


@click.command("verify")
@click.argument("bundle", type=click.Path(path_type=Path, dir_okay=False))
@guarded
def verify_command(bundle: Path) -> None:
    """Check the files of BUNDLE by their digests, and recompute its figures from its records.

    Every cell and interval, and the data of every chart and table, are made anew by this netlab and
    compared with those of the bundle; versions that differ are named first. Differences are
    printed as file, cell, was, is. Exit code 0: none, 1: some, 2: not a bundle.
    """
    from netlab.files.scratch import Scratch
    from netlab.notebooks.forkserver import fork_server
    from netlab.report.bundle import unpacked
    from netlab.report.verify import changed_files, other_figures, other_versions

    with unpacked(bundle) as directory, Scratch("verify") as work:
        for version in other_versions(directory):
            click.echo(f"netlab: {version}", err=True)
        changed = changed_files(directory)
        _list(changed)
        with fork_server(*PUBLISHING):
            figures = other_figures(directory, work)
        _list(figures)
    click.echo(f"{_counted(changed, 'file')}, {_counted(figures, 'figure')}")
    sys.exit(1 if changed or figures else 0)


def _list(found: Sequence[Deviation]) -> None:
    for difference in found[:SHOWN]:
        click.echo(difference)
    if len(found) > SHOWN:
        click.echo(f"and {len(found) - SHOWN} more")


def _counted(found: Sequence[Deviation], noun: str) -> str:
    plural = "s" * (len(found) != 1)
    return f"{len(found)} {noun}{plural} differ{'s' * (not plural)}"
