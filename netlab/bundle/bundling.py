"""``netlab bundle | publish | verify | rerun``: write, push, check and measure again."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import click

from netlab.bundle.pack import STUDY, bundle
from netlab.bundle.publish import publish_sites
from netlab.bundle.unpacking import keep_records, unpacked
from netlab.bundle.verify import Deviation, changed_files, other_figures, other_versions
from netlab.cli import loading, options
from netlab.cli.measuring import exit_code, measure
from netlab.cli.reporting import gate_code
from netlab.errors import NetlabError
from netlab.experiment.progress import Progress
from netlab.files import paths
from netlab.files.scratch_directory import scratch
from netlab.study import Study, load_stored


def write_bundle(study: Study, results: Path | None, out: Path | None, **asked: Any) -> None:
    directory = results or paths.results_dir(study.name)
    target = (out or Path(f"{study.name}.zip")).expanduser().absolute()
    with Progress() as progress:
        concerns = bundle(
            *(directory, target, progress.step), say=partial(click.echo, err=True), **asked
        )
    click.echo(target)
    sys.exit(gate_code(concerns))


def publish(sites: tuple[Path, ...], repository: str, branch: str, yes: bool) -> None:
    def agreed(exposed: str) -> bool:
        options.note(exposed)
        return yes or click.confirm("Push them?", err=True)

    pushed = publish_sites(sites, repository, branch, agreed)
    click.echo(f"{repository} {branch} {pushed}" if pushed else "nothing pushed")


VERIFY_SHOWN = 50
"""Differences that are listed; all are counted."""


def verify(bundle: Path) -> None:
    with unpacked(bundle) as directory, scratch("verify") as work:
        for version in other_versions(directory):
            options.note(version)
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
    for difference in found[:VERIFY_SHOWN]:
        click.echo(difference)
    if len(found) > VERIFY_SHOWN:
        click.echo(f"and {len(found) - VERIFY_SHOWN} more")


def _counted(found: Sequence[Deviation], noun: str) -> str:
    plural = "s" * (len(found) != 1)
    return f"{len(found)} {noun}{plural} differ{'s' * (not plural)}"


def rerun(bundle: Path, outer: dict[str, str], results: Path | None) -> None:
    with unpacked(bundle) as directory:
        changed = changed_files(directory)
        if changed:
            text = f"{bundle} was changed: {changed[0]}; `netlab verify` lists all"
            raise NetlabError(text, code="E-CLI-023")
        loaded = loading.with_tunings(load_stored(directory / STUDY))
        levels = loading.asked_outer(loaded, outer)
        target = results or paths.results_dir(f"{loaded.name}-rerun")
        before = keep_records(directory, target.with_name(f"{target.name}-bundle"))
    with Progress(report=False) as progress:
        campaign = measure(loaded, target, levels, progress)
    click.echo(shlex.join(["netlab", "compare", str(before), str(campaign.directory)]))
    sys.exit(exit_code(campaign))
