"""``netlab bundle | publish | verify | rerun``: results that others check and measure again."""

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
from netlab.cli.main import main
from netlab.cli.measuring import exit_code, measure
from netlab.cli.reporting import gate_code
from netlab.errors import BadInput, NetlabError
from netlab.experiment.progress import Progress
from netlab.files import paths
from netlab.files.writing import scratch
from netlab.results.store import latest
from netlab.study import load_stored


@main.command("bundle")
@options.study_argument
@options.quick_option
@options.results_option()
@options.file_option("--out", help="ZIP file to write. Default: NAME.zip in the current directory.")
@options.text_option("--license", "licence", help="URL of the licence of the results.")
@options.author_option
@click.option("--redact", is_flag=True, help="Pseudonyms for hosts, addresses, MACs and users.")
def bundle_command(
    study: str, quick: bool, results: Path | None, out: Path | None, **asked: Any
) -> None:
    """Write the results of STUDY and their report into one ZIP file, and print its path.

    The file is an RO-Crate 1.1 (Process Run Crate 0.5): records, site and PDF with executed
    notebooks, study, tunings, published figures, locked versions, provenance, and the SHA-256 of
    every file. The same results give the same bytes. --redact replaces names and addresses of
    hosts, MAC addresses and users in all of it, before the report is made. Exit code 4: the file
    is written, and its report is below the quality gate, see `netlab report`.
    """
    loaded, results, campaign = loading.load_measured_study(study, quick=quick, results=results)
    directory = results or paths.results_dir(loaded.name)
    if campaign not in ("", latest(directory)):
        text = "a bundle has all campaigns, and its report is of the latest"
        raise BadInput(text, where=str(directory), value=campaign, code="E-REPORT-050")
    target = (out or Path(f"{loaded.name}.zip")).expanduser().absolute()
    with Progress() as progress:
        concerns = bundle(
            *(directory, target, progress.step),
            notebooks=loading.notebooks_of(loaded, study),
            say=partial(click.echo, err=True),
            **asked,
        )
    click.echo(target)
    sys.exit(gate_code(concerns))


@main.command("publish")
@click.argument("sites", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option(
    "--to",
    "repository",
    required=True,
    help="Git repository: a URL, a directory, or a remote's name.",
)
@click.option("--branch", default="gh-pages", help="Branch of the site.")
@click.option("--yes", is_flag=True, help="Push without asking about what the reports expose.")
def publish_command(sites: tuple[Path, ...], repository: str, branch: str, yes: bool) -> None:
    """Add the reports of SITES to a branch of a git repository, and push it.

    SITES are directories that `netlab report` wrote, or of an unpacked bundle (with `--redact`:
    without the names of a network). Each gets an address of its own, STUDY/TIME of its last run;
    an index lists all, the newest first, with the cells of a study from report to report. How many
    names and addresses they expose is printed first, and confirmed.
    """

    def agreed(exposed: str) -> bool:
        options.note(exposed)
        return yes or click.confirm("Push them?", err=True)

    pushed = publish_sites(sites, repository, branch, agreed)
    click.echo(f"{repository} {branch} {pushed}" if pushed else "nothing pushed")


VERIFY_SHOWN = 50
"""Differences that are listed; all are counted."""


@main.command("verify")
@click.argument("bundle", type=click.Path(path_type=Path, dir_okay=False))
def verify_command(bundle: Path) -> None:
    """Check the files of BUNDLE by their digests, and recompute its figures from its records.

    Versions that differ are named first. If no file was changed, every cell and interval, and the
    data of every chart and table, are made anew by this netlab's own notebooks and compared with
    those of the bundle; no code of the bundle is executed. Differences are printed as file, cell,
    was, is. Exit code 0: none, 1: some, 2: not a bundle.
    """
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


@main.command("rerun")
@click.argument("bundle", type=click.Path(path_type=Path, dir_okay=False))
@options.outer_option
@options.results_option(place="NAME-rerun")
def rerun_command(bundle: Path, outer: dict[str, str], results: Path | None) -> None:
    """Measure the study of BUNDLE again, and print the command that compares the two.

    The study and its tunings are those of the bundle; its hosts are reached as the study says, or
    made by the lab. The records of the bundle are unpacked into a directory beside the new results,
    whose name ends in -bundle. Exit code 1: all runs of a cell failed, or a file of the bundle was
    changed; 4: measured, and a cell has only disturbed runs, or none yet.
    """
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
