"""``netlab guide``: a page of the documentation in the terminal."""

from __future__ import annotations

import click

from netlab.cli.exitcodes import guarded
from netlab.errors import BadInput

OUTSIDE = ("PROTOCOL.md", "CONTRIBUTING.md")
"""Pages that do not lie in ``docs/``."""


@click.command("guide")
@click.argument("page", default="guide")
@guarded
def guide_command(page: str) -> None:
    """Show a PAGE of the documentation: guide, report, columns, study, ... Default: guide.

    The guide lists the pages. `make docs` in a checkout builds all of them, with the API, as HTML.
    """
    from rich.console import Console
    from rich.markdown import Markdown

    from netlab.files.paths import own_file

    files = [*own_file("guide.md").parent.glob("*.md"), *map(own_file, OUTSIDE)]
    pages = {file.stem.lower(): file for file in files}
    file = pages.get(page.lower().removesuffix(".md"))
    if file is None:
        known = ", ".join(sorted(pages))
        raise BadInput(f"no such page; there are {known}", value=page, code="E-CLI-034")
    console = Console()
    with console.capture() as text:
        console.print(Markdown(file.read_text(encoding="utf-8"), hyperlinks=False))
    click.echo_via_pager(text.get())
