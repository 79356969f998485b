"""Arguments and options that several commands share."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import click

study_argument = click.argument("study")


quick_option = click.option("--quick", is_flag=True, help="Take the short form of the study.")


def _absolute(
    context: click.Context, parameter: click.Parameter, value: Path | None
) -> Path | None:
    return None if value is None else value.expanduser().absolute()


def timing_options(function: Callable) -> Callable:
    """Add the options that change how long and how often a study measures."""
    for option in (  # the last one is the first of the help
        click.option("--seed", type=int, help="Seed of the randomised order."),
        click.option("--seconds", type=float, help="Measured seconds of each run."),
        click.option("--budget", help="Time for the whole campaign, such as 20min."),
        click.option("--max-rounds", type=int, help="Most rounds of a cell."),
        click.option(
            "--precision", type=float, help="Half width of a cell's interval, per cent of its mean."
        ),
        click.option("--rounds", type=int, help="Rounds, in place of the study's precision."),
        quick_option,
    ):
        function = option(function)
    return function


def _outer(
    context: click.Context, parameter: click.Parameter, value: tuple[str, ...]
) -> dict[str, str]:
    """Parse ``NAME=LEVEL`` pairs."""
    found: dict[str, str] = {}
    for text in value:
        name, equals, level = text.partition("=")
        if not (name and equals and level):
            raise click.BadParameter(f"write NAME=LEVEL, not {text!r}")
        if name in found:
            raise click.BadParameter(f"{name} is given twice")
        found[name] = level
    return found


def outer_option(function: Callable) -> Callable:
    """Add ``--outer NAME=LEVEL``: the levels of factors that a person sets."""
    return click.option(
        "--outer",
        multiple=True,
        callback=_outer,
        metavar="NAME=LEVEL",
        help="Level that the hosts have now of a factor that a person sets; may be repeated.",
    )(function)


def directory_option(*names: str, help: str) -> Callable:
    """Add an option that takes a directory; the command gets an absolute path, or None."""
    kind = click.Path(path_type=Path, file_okay=False)
    return click.option(*names, type=kind, callback=_absolute, help=help)


def results_option(*names: str, place: str = "STUDY") -> Callable:
    """Add ``--results`` and other names of it: the directory of the results."""
    text = (
        f"Directory of the results. Default: results/{place} in $NETLAB_HOME or here, "
        f"data/results/{place} in a checkout."
    )
    return directory_option("--results", *names, help=text)


author_option = click.option("--author", default="", help="Name of the person who measured.")
site_option = directory_option(
    "--site",
    help="Directory of the report. Default: site in $NETLAB_HOME, in a checkout, or here.",
)
