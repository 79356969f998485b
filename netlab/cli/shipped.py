"""``netlab guide | notebooks | schema``: what comes with netlab."""

from __future__ import annotations

import filecmp
import shutil
from pathlib import Path

import click

from netlab.cli.main import main
from netlab.cli.options import note
from netlab.errors import BadInput, NetlabError, check
from netlab.files import paths
from netlab.files.writing import json_text

OUTSIDE = ("PROTOCOL.md", "CONTRIBUTING.md")
"""Pages that do not lie in ``docs/``."""


@main.command("guide")
@click.argument("page", default="guide")
def guide_command(page: str) -> None:
    """Show a PAGE of the documentation: guide, report, columns, study, ... Default: guide.

    The guide lists the pages. `make docs` in a checkout builds all of them, with the API, as HTML.
    """
    from rich.console import Console
    from rich.markdown import Markdown

    files = [*paths.own_file("guide.md").parent.glob("*.md"), *map(paths.own_file, OUTSIDE)]
    pages = {file.stem.lower(): file for file in files}
    file = pages.get(page.lower().removesuffix(".md"))
    if file is None:
        known = ", ".join(sorted(pages))
        raise BadInput(f"no such page; there are {known}", value=page, code="E-CLI-034")
    console = Console()
    with console.capture() as text:
        console.print(Markdown(file.read_text(encoding="utf-8"), hyperlinks=False))
    click.echo_via_pager(text.get())


@main.command("notebooks")
@click.argument(
    "directory", type=click.Path(path_type=Path, file_okay=False), default=Path("notebooks")
)
@click.option("--force", is_flag=True, help="Replace notebooks that were changed.")
@click.option("--keep", is_flag=True, help="Leave notebooks that are there, and copy the others.")
def notebooks_command(directory: Path, force: bool, keep: bool) -> None:
    """Copy the notebooks that come with netlab into DIRECTORY, and print it.

    Default: notebooks in the current directory. A file there that differs is left alone, and
    nothing is copied, unless --force or --keep is given. Notebooks in a directory of that name
    share their results with commands that run in its parent; $NETLAB_HOME names another place.
    """
    source, target = paths.notebooks_dir(), directory.expanduser().absolute()
    wanted = [*sorted(source.glob("*.ipynb")), *sorted(source.glob("images/*"))]
    if not wanted:
        raise NetlabError(f"{source} holds no notebooks; install netlab again", code="E-CLI-009")
    elsewhere, text = target.resolve() != source.resolve(), "the notebooks are there already"
    check(elsewhere, "DIRECTORY", str(directory), text, "E-CLI-010")
    names = [str(path.relative_to(source)) for path in wanted]
    _, changed, absent = filecmp.cmpfiles(source, target, names, shallow=False)
    if keep:
        names = absent
    elif changed and not force:
        remedy = "name another directory, or replace them with --force"
        text = f"holds {', '.join(changed)} with other content; {remedy}"
        raise BadInput(text, where=str(target), code="E-CLI-011")
    try:
        for name in names:
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source / name, target / name)
    except OSError as error:
        text = f"cannot write {target}: {error.strerror or error}"
        raise NetlabError(text, code="E-CLI-012") from None
    note(f"{len(names)} files; open {target / paths.FIRST_NOTEBOOK}")
    click.echo(target)


@main.command("schema")
@click.option("--reference", is_flag=True, help="Print every key as Markdown instead.")
def schema_command(reference: bool) -> None:
    """Print the JSON Schema of a study file, with a description and an example for each key.

    An editor completes and checks a study that begins with the line
    "# yaml-language-server: $schema=study.schema.json", after netlab schema > study.schema.json.
    """
    from netlab.study.file import as_markdown, json_schema

    click.echo(as_markdown().rstrip("\n") if reference else json_text(json_schema()))
