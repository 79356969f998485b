"""``netlab bundle``: results and report in one file that others can verify and rerun."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from netlab.cli.exitcodes import guarded
from netlab.cli.options import author_option, quick_option, results_option, study_argument
from netlab.cli.report import gate_code
from netlab.cli.validation import load_study, notebooks_of


@click.command("bundle")
@study_argument
@quick_option
@results_option()
@click.option(
    "--out",
    type=click.Path(path_type=Path, dir_okay=False),
    help="ZIP file to write. Default: NAME.zip in the current directory.",
)
@click.option("--license", "licence", default="", help="URL of the licence of the results.")
@author_option
@guarded
def bundle_command(
    study: str, quick: bool, results: Path | None, out: Path | None, licence: str, author: str
) -> None:
    """Write the results of STUDY and their report into one ZIP file, and print its path.

    The file is an RO-Crate 1.1 (Process Run Crate 0.5): records, site and PDF with executed
    notebooks, study, tunings, published figures, locked versions, provenance, and the SHA-256 of
    every file. The same results give the same bytes. Exit code 4: the file is written, and its
    report is below the quality gate, see `netlab report`.
    """
    loaded = load_study(study, quick=quick)
    from netlab.experiment.progress import Progress
    from netlab.files import paths
    from netlab.report.bundle import bundle

    directory = results or paths.results_dir(loaded.name)
    target = (out or Path(f"{loaded.name}.zip")).expanduser().absolute()
    with Progress() as progress:
        made = bundle(
            *(directory, target, progress.step),
            notebooks=notebooks_of(loaded, study),
            licence=licence,
            author=author,
        )
    click.echo(made.file)
    sys.exit(gate_code(made.concerns))
