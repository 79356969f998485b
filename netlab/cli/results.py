"""Commands on results: ``results``, ``compare``."""

from __future__ import annotations

import click

from netlab.cli import options
from netlab.cli.main import main

given_argument = options.together(
    click.argument("results", metavar="RESULTS"), options.quick_option
)


@main.group("results")
def results_group() -> None:
    """List, show, prune and repair the campaigns of a directory of results.

    RESULTS is a directory, or the name of a study or the path of its file. `netlab results list`
    names those that there are.
    """


@results_group.command("list", runs="netlab.cli.campaigns:list_campaigns")
@click.argument("results", metavar="[RESULTS]", default="")
@options.quick_option
def list_command() -> None:
    """List the campaigns of RESULTS, oldest first; without it those of all results.

    All results are those in the directory `results` of $NETLAB_HOME or here, `data/results` in a
    checkout. A later campaign supersedes the records of an earlier one, and deletes none.
    """


@results_group.command("show", runs="netlab.cli.campaigns:show")
@given_argument
@click.argument("campaign", default="")
def show_command() -> None:
    """Show one campaign of RESULTS; the latest unless CAMPAIGN names another."""


@results_group.command("prune", runs="netlab.cli.campaigns:prune_results")
@given_argument
@click.option("--yes", is_flag=True, help="Remove without asking.")
def prune_command() -> None:
    """Remove superseded records of RESULTS and their notebooks, never what counts.

    Every file that goes is listed first. Without --yes it asks.
    """


@results_group.command("repair", runs="netlab.cli.campaigns:repair")
@given_argument
def repair_command() -> None:
    """Rename damaged files of RESULTS, so that what they held is measured again.

    Each then lies beside the others as FILE.damaged. A campaign's lost conditions.json is made
    again from the facts that its records hold.
    """


FORMATS = ("text", "csv", "json")


@main.command("compare", runs="netlab.cli.comparing:compare")
@click.argument("results", nargs=-1, required=True, metavar="A [B ...]")
@options.text_option("--by", help="Two levels of a factor within A, such as tuning=none,full.")
@click.option(
    "--same-within",
    type=float,
    default=5.0,
    help="Two cells are the same if the whole interval lies within this, per cent.",
)
@options.levels_option(
    "--repeat",
    "repeats",
    help="A further campaign under the conditions of A, for the shift between campaigns; at least "
    "two.",
)
@options.levels_option(
    "--fail-if",
    "conditions",
    help="Exit with 3 if a cell meets this condition, such as 'slower > 5 %'; repeatable.",
)
@click.option("--format", "form", type=click.Choice(FORMATS), default="text", help="Output.")
def compare_command() -> None:
    """Compare goodput of B, and of further results, with that of A, cell by cell.

    Each is compared with A, the reference; the intervals and tests of all are one family. They are
    directories of results, names of studies, or DIR@CAMPAIGN. With --by, two levels of
    a factor within A are compared. What else differs between the two sides is listed first. All
    intervals hold at once. Verdicts: slower, faster, the same (the whole interval within
    --same-within), cannot tell (an interval too wide), no interval (below three rounds).

    Verdicts on two campaigns are between campaigns: a shift from one to the other is in the ratio.
    --repeat, given twice or more, estimates that shift, and no smaller difference is decided.

    Conditions: slower, faster, cannot tell (no interval included), no interval, not the same,
    missing (a cell that one side lacks); slower > N %, faster > N %, ratio < X, ratio > X (by the
    whole interval). Exit code 3 if one is met.
    """
