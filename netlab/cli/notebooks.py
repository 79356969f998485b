"""``netlab notebooks``: a copy of the notebooks to work in."""

from __future__ import annotations

import filecmp
import shutil
from pathlib import Path

import click

from netlab.cli.exitcodes import guarded
from netlab.errors import BadInput, NetlabError


@click.command("notebooks")
@click.argument(
    "directory", type=click.Path(path_type=Path, file_okay=False), default=Path("notebooks")
)
@click.option("--force", is_flag=True, help="Replace notebooks that were changed.")
@click.option("--keep", is_flag=True, help="Leave notebooks that are there, and copy the others.")
@guarded
def notebooks_command(directory: Path, force: bool, keep: bool) -> None:
    """Copy the notebooks that come with netlab into DIRECTORY, and print it.

    Default: notebooks in the current directory. A file there that differs is left alone, and
    nothing is copied, unless --force or --keep is given. Notebooks in a directory of that name
    share their results with commands that run in its parent; $NETLAB_HOME names another place.
    """
    from netlab.files import paths

    source, target = paths.notebooks_dir(), directory.expanduser().absolute()
    wanted = [*sorted(source.glob("*.ipynb")), *sorted(source.glob("images/*"))]
    if not wanted:
        raise NetlabError(f"{source} holds no notebooks; install netlab again", code="E-CLI-009")
    if target.resolve() == source.resolve():
        raise BadInput(
            "the notebooks are there already",
            key="DIRECTORY",
            value=str(directory),
            code="E-CLI-010",
        )
    names = [path.relative_to(source) for path in wanted]
    if keep:
        names = [name for name in names if not (target / name).exists()]
    changed = [name for name in names if _differs(source / name, target / name)]
    if changed and not force:
        raise BadInput(
            f"holds {', '.join(map(str, changed))} with other content; name another directory, or "
            "replace them with --force",
            where=str(target),
            code="E-CLI-011",
        )
    try:
        for name in names:
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source / name, target / name)
    except OSError as error:
        raise NetlabError(
            f"cannot write {target}: {error.strerror or error}", code="E-CLI-012"
        ) from None
    click.echo(f"netlab: {len(names)} files; open {target / paths.FIRST_NOTEBOOK}", err=True)
    click.echo(target)


def _differs(shipped: Path, there: Path) -> bool:
    return there.exists() and not filecmp.cmp(shipped, there, shallow=False)
