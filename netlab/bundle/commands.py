"""``netlab bundle | publish | verify | rerun``: results that others check and measure again."""

from __future__ import annotations

from pathlib import Path

import click

from netlab.cli import options
from netlab.cli.main import main


@main.command(
    "bundle",
    validates="netlab.cli.loading:latest_measured",
    runs="netlab.bundle.bundling:write_bundle",
)
@options.study_argument
@options.quick_option
@options.results_option()
@options.file_option("--out", help="ZIP file to write. Default: NAME.zip in the current directory.")
@options.text_option("--license", "licence", help="URL of the licence of the results.")
@options.author_option
@click.option("--redact", is_flag=True, help="Pseudonyms for hosts, addresses, MACs and users.")
def bundle_command() -> None:
    """Write the results of STUDY and their report into one ZIP file, and print its path.

    The file is an RO-Crate 1.1 (Process Run Crate 0.5): records, site and PDF with executed
    notebooks, study, tunings, published figures, locked versions, provenance, and the SHA-256 of
    every file. The same results give the same bytes. --redact replaces names and addresses of
    hosts, MAC addresses and users in all of it, before the report is made; a host named like a
    word of records, such as `sender`, keeps its name. Exit code 4: the file is written, and its
    report is below the quality gate, see `netlab report`.
    """


@main.command("publish", runs="netlab.bundle.bundling:publish")
@click.argument("sites", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option(
    "--to",
    "repository",
    required=True,
    help="Git repository: a URL, a directory, or a remote's name.",
)
@click.option("--branch", default="gh-pages", help="Branch of the site.")
@click.option("--yes", is_flag=True, help="Push without asking about what the reports expose.")
def publish_command() -> None:
    """Add the reports of SITES to a branch of a git repository, and push it.

    SITES are directories that `netlab report` wrote, or of an unpacked bundle (with `--redact`:
    without the names of a network). Each gets an address of its own, STUDY/TIME of its last run;
    an index lists all, the newest first, with the cells of a study from report to report. How many
    names and addresses they expose is printed first, and confirmed.
    """


@main.command("verify", runs="netlab.bundle.bundling:verify")
@click.argument("bundle", type=click.Path(path_type=Path, dir_okay=False))
def verify_command() -> None:
    """Check the files of BUNDLE by their digests, and recompute its figures from its records.

    Versions that differ are named first. If no file was changed, every cell and interval, and the
    data of every chart and table, are made anew by this netlab's own notebooks and compared with
    those of the bundle; no code of the bundle is executed. Differences are printed as file, cell,
    was, is. Exit code 0: none, 1: some, 2: not a bundle.
    """


@main.command("rerun", runs="netlab.bundle.bundling:rerun")
@click.argument("bundle", type=click.Path(path_type=Path, dir_okay=False))
@options.outer_option
@options.results_option(place="NAME-rerun")
def rerun_command() -> None:
    """Measure the study of BUNDLE again, and print the command that compares the two.

    The study and its tunings are those of the bundle; its hosts are reached as the study says, or
    made by the lab. The records of the bundle are unpacked into a directory beside the new results,
    whose name ends in -bundle. Exit code 1: all runs of a cell failed, or a file of the bundle was
    changed; 4: measured, and a cell has only flagged runs, or none yet.
    """
