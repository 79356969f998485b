"""Arguments and options that several commands share, and their output."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from pathlib import Path
from typing import Any

import click

from netlab.errors import printable
from netlab.files import text_columns

study_argument = click.argument("study")


quick_option = click.option("--quick", is_flag=True, help="Take the short form of the study.")


def together(*given: Callable) -> Callable:
    """One decorator that adds several options and arguments, in the order of the help."""
    return lambda function: reduce(lambda made, option: option(made), reversed(given), function)


def text_option(*names: str, help: str, **more: Any) -> Callable:
    return click.option(*names, default="", show_default=False, help=help, **more)


def file_option(*names: str, help: str, **more: Any) -> Callable:
    kind = click.Path(dir_okay=False, path_type=Path)
    return click.option(*names, type=kind, help=help, **more)


def levels_option(*names: str, help: str, **more: Any) -> Callable:
    """Add an option that may be repeated; the command gets a tuple."""
    return click.option(*names, multiple=True, help=help, **more)


TIMING = ("quick", "rounds", "precision", "max_rounds", "budget", "seconds", "seed")
"""Arguments of ``timing_options``."""

timing_options = together(
    quick_option,
    click.option("--rounds", type=int, help="Rounds, in place of the study's precision."),
    click.option(
        "--precision", type=float, help="Half width of a cell's interval, per cent of its mean."
    ),
    click.option("--max-rounds", type=int, help="Most rounds of a cell."),
    click.option("--budget", help="Time for the whole campaign, such as 20min."),
    click.option("--seconds", type=float, help="Measured seconds of each run."),
    click.option("--seed", type=int, help="Seed of the randomised order."),
)


def _outer(_context: object, _option: object, value: tuple[str, ...]) -> dict[str, str]:
    found: dict[str, str] = {}
    for text in value:
        name, _, level = text.partition("=")
        if not (name and level):
            raise click.BadParameter(f"write NAME=LEVEL, not {text!r}")
        if name in found:
            raise click.BadParameter(f"{name} is given twice")
        found[name] = level
    return found


outer_option = click.option(
    "--outer",
    multiple=True,
    callback=_outer,
    metavar="NAME=LEVEL",
    help="Level that the hosts have now of a factor that a person sets; may be repeated.",
)


def directory_option(*names: str, help: str) -> Callable:
    """Add an option that takes a directory; the command gets an absolute path, or None."""
    kind = click.Path(path_type=Path, file_okay=False)

    def absolute(_context: object, _option: object, value: Path | None) -> Path | None:
        return None if value is None else value.expanduser().absolute()

    return click.option(*names, type=kind, callback=absolute, help=help)


def results_option(*names: str, place: str = "STUDY") -> Callable:
    """Add ``--results`` and other names of it: the directory of the results."""
    text = (
        f"Directory of the results. Default: results/{place} in $NETLAB_HOME or here, "
        f"data/results/{place} in a checkout."
    )
    return directory_option("--results", *names, help=text)


author_option = text_option("--author", help="Name of the person who measured.")


url_option = text_option("--url", help="Address at which the report will be found.")


site_option = directory_option(
    "--site", help="Directory of the report. Default: site in $NETLAB_HOME, in a checkout, or here."
)


def in_columns(*rows: tuple[str, ...]) -> str:
    texts = [[*map(printable, row)] for row in rows]
    return "\n".join(text_columns.in_columns(texts, [text_columns.left] * len(texts[0])))


def note(text: object) -> None:
    click.echo(f"netlab: {text}", err=True)
