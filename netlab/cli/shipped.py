"""Commands on what comes with netlab: ``guide``, ``notebooks``, ``schema``."""

from __future__ import annotations

from pathlib import Path

import click

from netlab.cli.main import main


@main.command("guide", runs="netlab.cli.own_files:guide")
@click.argument("page", default="guide")
def guide_command() -> None:
    """Show a PAGE of the documentation: guide, report, columns, study, ... Default: guide.

    The guide lists the pages. The name of a flag, as `netlab guide stalled`, shows its meaning and
    what to do. `make docs` in a checkout builds all of them, with the API, as HTML.
    """


@main.command("notebooks", runs="netlab.cli.own_files:notebooks")
@click.argument(
    "directory", type=click.Path(path_type=Path, file_okay=False), default=Path("notebooks")
)
@click.option("--force", is_flag=True, help="Replace notebooks that were changed.")
@click.option("--keep", is_flag=True, help="Leave notebooks that are there, and copy the others.")
def notebooks_command() -> None:
    """Copy the notebooks that come with netlab into DIRECTORY, and print it.

    Default: notebooks in the current directory. A file there that differs is left alone, and
    nothing is copied, unless --force or --keep is given. Notebooks in a directory called notebooks
    or work share their results with commands that run in its parent; $NETLAB_HOME names another
    place.
    """


@main.command("schema", runs="netlab.cli.own_files:schema")
@click.option("--reference", is_flag=True, help="Print every key as Markdown instead.")
def schema_command() -> None:
    """Print the JSON Schema of a study file, with a description and an example for each key.

    An editor completes and checks a study that begins with the line
    "# yaml-language-server: $schema=study.schema.json", after netlab schema > study.schema.json.
    """
