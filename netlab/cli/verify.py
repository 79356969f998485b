"""``netlab verify``: digests of a bundle, and its figures recomputed."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from netlab.cli.exitcodes import guarded

if TYPE_CHECKING:
    from netlab.report.verify import Deviation

SHOWN = 50
"""Differences that are listed; all are counted."""


@click.command("verify")
@click.argument("bundle", type=click.Path(path_type=Path, dir_okay=False))
@guarded
def verify_command(bundle: Path) -> None:
    """Check the files of BUNDLE by their digests, and recompute its figures from its records.

    Versions that differ are named first. If no file was changed, every cell and interval, and the
    data of every chart and table, are made anew by this netlab's own notebooks and compared with
    those of the bundle; no code of the bundle is executed. Differences are printed as file, cell,
    was, is. Exit code 0: none, 1: some, 2: not a bundle.
    """
    from netlab.files.scratch import Scratch
    from netlab.report.bundle import unpacked
    from netlab.report.verify import changed_files, other_figures, other_versions

    with unpacked(bundle) as directory, Scratch("verify") as work:
        for version in other_versions(directory):
            click.echo(f"netlab: {version}", err=True)
        changed = changed_files(directory)
        _list(changed)
        if changed:
            click.echo(f"{_counted(changed, 'file')}; the figures were not recomputed")
            sys.exit(1)
        figures = other_figures(directory, work, partial(click.echo, err=True))
        _list(figures)
    click.echo(f"0 files differ, {_counted(figures, 'figure')}")
    sys.exit(1 if figures else 0)


def _list(found: Sequence[Deviation]) -> None:
    for difference in found[:SHOWN]:
        click.echo(difference)
    if len(found) > SHOWN:
        click.echo(f"and {len(found) - SHOWN} more")


def _counted(found: Sequence[Deviation], noun: str) -> str:
    plural = "s" * (len(found) != 1)
    return f"{len(found)} {noun}{plural} differ{'s' * (not plural)}"
