"""``netlab guide | notebooks | schema``: copy or show what comes with netlab."""

from __future__ import annotations

import filecmp
import shutil
from pathlib import Path

import click
from rich.console import Console
from rich.markdown import Markdown

from netlab.cli import options
from netlab.errors import BadInput, NetlabError, check
from netlab.files import paths
from netlab.files.writing import json_text
from netlab.results.flags import known_flag
from netlab.study.schema import as_markdown, json_schema

OUTSIDE = ("PROTOCOL.md", "CONTRIBUTING.md")
"""Pages that do not lie in ``docs/``."""


def guide(page: str) -> None:
    files = [*paths.own_file("guide.md").parent.glob("*.md"), *map(paths.own_file, OUTSIDE)]
    pages = {file.stem.lower(): file for file in files}
    flag = known_flag(page.lower())
    file = pages["flags"] if flag else pages.get(page.lower().removesuffix(".md"))
    if file is None:
        known = ", ".join(sorted(pages))
        raise BadInput(f"no such page; there are {known}", value=page, code="E-CLI-034")
    console = Console()
    shown = flag.as_markdown() if flag else file.read_text(encoding="utf-8")
    with console.capture() as text:
        console.print(Markdown(shown, hyperlinks=False))
    click.echo_via_pager(text.get())


def notebooks(directory: Path, force: bool, keep: bool) -> None:
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
    options.note(f"{len(names)} files; open {target / paths.FIRST_NOTEBOOK}")
    click.echo(target)


def schema(reference: bool) -> None:
    click.echo(as_markdown().rstrip("\n") if reference else json_text(json_schema()))
