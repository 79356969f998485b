"""``netlab rerun``: measure the study of a bundle again."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

import click

from netlab.cli.exitcodes import guarded
from netlab.cli.options import outer_option, results_option
from netlab.cli.run import exit_code, measure
from netlab.cli.validation import asked_outer, check_tunings
from netlab.errors import NetlabError


@click.command("rerun")
@click.argument("bundle", type=click.Path(path_type=Path, dir_okay=False))
@outer_option
@results_option(place="NAME-rerun")
@guarded
def rerun_command(bundle: Path, outer: dict[str, str], results: Path | None) -> None:
    """Measure the study of BUNDLE again, and print the command that compares the two.

    The study and its tunings are those of the bundle; its hosts are reached as the study says, or
    made by the lab. The records of the bundle are unpacked into a directory beside the new results,
    whose name ends in -bundle. Exit code 1: all runs of a cell failed, or a file of the bundle was
    changed; 4: measured, and a cell has only disturbed runs, or none yet.
    """
    from netlab.files import paths
    from netlab.report.bundle import STUDY, keep_records, unpacked
    from netlab.report.verify import changed_files
    from netlab.study import load_stored

    with unpacked(bundle) as directory:
        changed = changed_files(directory)
        if changed:
            raise NetlabError(
                f"{bundle} was changed: {changed[0]}; `netlab verify` lists all", code="E-CLI-023"
            )
        loaded = load_stored(directory / STUDY)
        check_tunings(loaded)
        levels = asked_outer(loaded, outer)
        target = results or paths.results_dir(f"{loaded.name}-rerun")
        before = keep_records(directory, target.with_name(f"{target.name}-bundle"))
    from netlab.experiment.progress import Progress

    with Progress(report=False) as progress:
        campaign = measure(loaded, target, progress, levels)
    click.echo(shlex.join(["netlab", "compare", str(before), str(campaign.directory)]))
    sys.exit(exit_code(campaign))
